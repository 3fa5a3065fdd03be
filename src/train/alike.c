/* alike.c - see alike.h. What is compared is a text, a line for each thing, so that a difference can be named.
 * Ranks compute many things twice and rely on equal results, so processors must be of one kind, too: BLAS has
 * other bytes on another. */
#include "train/alike.h"

#include "base/memory.h"
#include "base/setting.h"
#include "base/text.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "ranks/ranks.h"
#include "train/settings.h"
#include "train/trainer.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static uint64_t program_hash(void)
{
    static char piece[1 << 16];
    FILE *file = fopen("/proc/self/exe", "rb");
    uint64_t hash = 0;
    size_t size;
    while (file && (size = fread(piece, 1, sizeof piece, file)) > 0)
        hash = XXH3_64bits_withSeed(piece, size, hash);
    if (file)
        fclose(file);
    return hash;
}

static uint64_t ids_hash(const struct inmo_dataset *data)
{
    uint64_t hash = 0;
    const struct inmo_idmap *names[2] = {&data->users, &data->items};
    for (int side = 0; side < 2; side++)
        for (int32_t n = 0; n < names[side]->count; n++) {
            const char *name = inmo_idmap_id(names[side], n);
            hash = XXH3_64bits_withSeed(name, strlen(name), hash);
        }
    return hash;
}

static char *describe(const struct inmo_dataset *data, const struct inmo_train_options *options)
{
    struct inmo_text text = {0};
    size_t count;
    const struct inmo_setting *settings = inmo_train_settings(&count);
    const char *core = openblas_get_corename();
    inmo_text_format(&text, "program: inmo %s, build %016llx\n", INMO_VERSION, (unsigned long long)program_hash());
    inmo_text_format(&text, "processor: kernels %s, OpenBLAS core %s\n", inmo_kernels()->name, core ? core : "?");
    for (size_t n = 0; n < count; n++) {
        char *value = inmo_settings_json(settings + n, 1, options);
        inmo_text_format(&text, "option %s\n", value ? value : "?");
        inmo_free(value);
    }
    inmo_text_format(&text, "data: %d users, %d items, %lld training and %lld validation interactions\n",
                     data->users.count, data->items.count, (long long)inmo_csr_count(&data->train),
                     (long long)inmo_csr_count(&data->valid));
    inmo_text_format(&text, "data: interactions with hash %016llx\n",
                     (unsigned long long)inmo_trainer_data_hash(data));
    inmo_text_format(&text, "data: ids with hash %016llx\n", (unsigned long long)ids_hash(data));
    return inmo_text_take(&text);
}

/* The line of a text in which it differs from another, cut to fit. */
static void line_of(const char *text, size_t at, char *line, size_t size)
{
    size_t begin = at, length;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    length = strcspn(text + begin, "\n");
    snprintf(line, size, "%.*s", (int)(length < size ? length : size - 1), text + begin);
}

enum inmo_status inmo_alike_check(const struct inmo_dataset *data, const struct inmo_train_options *options,
                                  struct inmo_error *error)
{
    char *own = NULL, *first = NULL, found[256], expected[256];
    uint64_t length;
    size_t at = 0;
    enum inmo_status status = INMO_OK;
    if (inmo_ranks() == 1)
        return INMO_OK;
    /* A rank that waits for ever for memory would keep all others waiting. */
    status = inmo_blas_reserve(error);
    if (status)
        return status;
    own = describe(data, options);
    length = own ? strlen(own) + 1 : 0;
    inmo_ranks_broadcast(0, &length, sizeof length);
    first = inmo_alloc((size_t)length, 1);
    if (!own || !first) {
        status = inmo_fail_memory(error, "training");
        goto done;
    }
    if (inmo_own_rank() == 0)
        memcpy(first, own, (size_t)length);
    inmo_ranks_broadcast(0, first, (size_t)length);
    while (own[at] && own[at] == first[at])
        at++;
    if (own[at] != first[at]) {
        line_of(own, at, found, sizeof found);
        line_of(first, at, expected, sizeof expected);
        status = inmo_fail(error, INMO_INPUT, "all ranks must be alike: found '%s', expected '%s' as on rank 0",
                           found, expected);
    }
done:
    inmo_free(first);
    inmo_free(own);
    return status;
}
