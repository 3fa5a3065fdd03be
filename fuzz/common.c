/* common.c - see fuzz.h. */
#include "fuzz.h"

#include "base/tensorfile_layout.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

void inmo_fuzz_broken(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fputs("fuzz: ", stderr);
    vfprintf(stderr, format, values);
    fputs("\n", stderr);
    va_end(values);
    abort();
}

int inmo_fuzz_ended(const char *call, enum inmo_status status, const struct inmo_error *error)
{
    if (status == INMO_OK)
        return 1;
    if (status == INMO_INTERNAL)
        inmo_fuzz_broken("%s: a fault inside: %s", call, error->message);
    if (getenv("INMO_FUZZ_SHOW"))
        fprintf(stderr, "fuzz: %s: %s\n", call, error->message);
    if (error->code != status)
        inmo_fuzz_broken("%s returns %d, its error says %d", call, (int)status, (int)error->code);
    if (!*error->message || strchr(error->message, '\n'))
        inmo_fuzz_broken("%s fails with \"%s\", expected one sentence", call, error->message);
    return 0;
}

static long uses;

void inmo_fuzz_used(void)
{
    uses++;
}

long inmo_fuzz_uses(void)
{
    return uses;
}

/* ---- Files --------------------------------------------------------------------------------------------------- */

static char folder[64];

static void remove_folder(void)
{
    DIR *stream = opendir(folder);
    struct dirent *entry;
    while (stream && (entry = readdir(stream)))
        unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream)
        closedir(stream);
    rmdir(folder);
}

const char *inmo_fuzz_folder(void)
{
    if (!*folder) {
        const char *parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(folder, sizeof folder, "%s/inmo-fuzz-XXXXXX", parent);
        if (!mkdtemp(folder))
            inmo_fuzz_broken("cannot make %s", folder);
        atexit(remove_folder);
    }
    return folder;
}

const char *inmo_fuzz_file(const char *name, const void *data, size_t size)
{
    static char path[160];
    FILE *stream;
    snprintf(path, sizeof path, "%s/%s", inmo_fuzz_folder(), name);
    stream = fopen(path, "wb");
    if (!stream || fwrite(data, 1, size, stream) != size || fclose(stream) != 0)
        inmo_fuzz_broken("cannot write %s", path);
    return path;
}

/* ---- Checksums ----------------------------------------------------------------------------------------------- */

int inmo_fuzz_reseal(uint8_t *data, size_t size)
{
    static const char key[] = "\"inmo.checksum\":\"", zeros[] = "0000000000000000";
    char digits[INMO_TENSORFILE_DIGITS + 1];
    uint64_t length;
    size_t header, at = INMO_TENSORFILE_DIGITS_AT + INMO_TENSORFILE_DIGITS;
    if (size < at)
        return 0;
    memcpy(&length, data, sizeof length);
    if (length > size - INMO_TENSORFILE_LENGTH || length + INMO_TENSORFILE_LENGTH < at)
        return 0;
    header = (size_t)length + INMO_TENSORFILE_LENGTH;
    for (; at + sizeof key - 1 + INMO_TENSORFILE_DIGITS <= header; at++)
        if (memcmp(data + at, key, sizeof key - 1) == 0) {
            snprintf(digits, sizeof digits, "%016" PRIx64, (uint64_t)XXH3_64bits(data + header, size - header));
            memcpy(data + at + sizeof key - 1, digits, INMO_TENSORFILE_DIGITS);
            break;
        }
    memcpy(data + INMO_TENSORFILE_DIGITS_AT, zeros, INMO_TENSORFILE_DIGITS);
    snprintf(digits, sizeof digits, "%016" PRIx64, (uint64_t)XXH3_64bits(data, header));
    memcpy(data + INMO_TENSORFILE_DIGITS_AT, digits, INMO_TENSORFILE_DIGITS);
    return 1;
}

uint8_t *inmo_fuzz_resealed(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    if (!copy)
        inmo_fuzz_broken("not enough memory");
    memcpy(copy, data, size);
    inmo_fuzz_reseal(copy, size);
    return copy;
}

/* ---- A small world ------------------------------------------------------------------------------------------- */

struct inmo_dataset *inmo_fuzz_prepared(const char *scenario)
{
    static const char *const user[] = {"u0", "u0", "u0", "u1", "u1", "u1", "u2", "u2", "u2", "u3", "u3", "u3",
                                       "u4", "u4", "u4", "u5", "u5", "u5", "u6", "u6", "u6", "u6", "u0", "u1"};
    static const char *const item[] = {"i0", "i1", "i2", "i1", "i2", "i3", "i2", "i3", "i4", "i3", "i4", "i5",
                                       "i4", "i5", "i0", "i5", "i0", "i1", "i0", "i2", "i4", "i5", "i3", "i4"};
    struct inmo_error error = {0};
    struct inmo_prepare_options options;
    struct inmo_dataset *made = NULL;
    struct inmo_log *log = NULL;
    inmo_set_threads(1);
    inmo_prepare_options_init(&options);
    options.split = "50/25/25";
    options.scenario = scenario;
    if (inmo_log_from_pairs(sizeof user / sizeof *user, user, item, NULL, &log, &error) ||
        inmo_dataset_prepare(log, &options, &made, &error))
        inmo_fuzz_broken("cannot make a data set: %s", error.message);
    inmo_log_free(log);
    return made;
}

const struct inmo_dataset *inmo_fuzz_dataset_at_hand(void)
{
    static struct inmo_dataset *made;
    if (!made)
        made = inmo_fuzz_prepared("transductive");
    return made;
}

void inmo_fuzz_train_options(struct inmo_train_options *options, const char *model)
{
    struct inmo_error error = {0};
    if (inmo_train_options_init(options, model, "paper", &error))
        inmo_fuzz_broken("%s", error.message);
    options->dim = 2;
    options->layers = 1;
    options->batch = 8;
    options->learning_rate = 0.02;
    options->epochs = 3;
    options->order = "none";
    options->checkpoint_seconds = 1e6;
}
