/* checkpoint_parts.c - the rows of a checkpoint that several ranks write: see trainer.h.
 *
 * MODEL.checkpoint names a complete set of files, MODEL.checkpoint.a.0, .a.1, ... of as many ranks as there
 * were. The next set is .b.0, ..., and so on in turn: until all of its files are there, the one before is whole
 * and named. A file has stretches of rows and where they are among all rows, so that any number of ranks can go
 * on from it. */
#include "base/memory.h"
#include "base/tensorfile.h"
#include "ranks/ranks.h"
#include "train/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RANKS = 100000 };

static char *part_path(const char *path, int slot, int rank)
{
    size_t size = strlen(path) + 24;
    char *name = inmo_alloc(size, 1);
    if (name)
        snprintf(name, size, "%s.%c.%d", path, slot ? 'b' : 'a', rank);
    return name;
}

static size_t entry_bytes(const struct inmo_tensor *array)
{
    return (array->dtype == INMO_I32 ? sizeof(int32_t) : sizeof(float)) *
           (size_t)(array->columns > 0 ? array->columns : 1);
}

/* Extra rows are on all ranks, and saved by one. */
static int is_saved(int stretch)
{
    return stretch < 2 || inmo_own_rank() == 0;
}

enum inmo_status inmo_checkpoint_save_part(const struct inmo_trainer *trainer, const char *path, int slot,
                                           struct inmo_error *error)
{
    const struct inmo_learner *learner = trainer->learner;
    struct inmo_tensor array[INMO_CHECKPOINT_ARRAYS], part[INMO_CHECKPOINT_ARRAYS * INMO_STRETCHES];
    char name[INMO_CHECKPOINT_ARRAYS * INMO_STRETCHES][32], first[INMO_STRETCHES][24], step[24], fingerprint[24];
    struct inmo_metadata metadata[2 + INMO_STRETCHES] = {{"step", step}, {"fingerprint", fingerprint}};
    static const char *const first_key[INMO_STRETCHES] = {"first.0", "first.1", "first.2"};
    size_t arrays = inmo_checkpoint_arrays(trainer, array), parts = 0;
    char *own = part_path(path, slot, inmo_own_rank());
    int32_t failed = 0;
    enum inmo_status status = own ? INMO_OK : inmo_fail_memory(error, "the checkpoint");
    snprintf(step, sizeof step, "%lld", (long long)trainer->step);
    snprintf(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)trainer->fingerprint);
    for (int s = 0; s < INMO_STRETCHES; s++) {
        snprintf(first[s], sizeof first[s], "%lld", (long long)learner->stretch[s].whole);
        metadata[2 + s] = (struct inmo_metadata){first_key[s], first[s]};
    }
    for (size_t n = 0; n < arrays; n++)
        for (int s = 0; s < INMO_STRETCHES && array[n].dtype != INMO_F64; s++) {
            part[parts] = array[n];
            snprintf(name[parts], sizeof name[parts], "%s.%d", array[n].name, s);
            part[parts].name = name[parts];
            part[parts].rows = is_saved(s) ? learner->stretch[s].count : 0;
            part[parts].data =
                (const char *)array[n].data + (size_t)learner->stretch[s].here * entry_bytes(&array[n]);
            parts++;
        }
    if (!status)
        status = inmo_tensorfile_write(own, 1, "checkpoint-part", INMO_CHECKPOINT_VERSION, metadata,
                                       sizeof metadata / sizeof *metadata, part, parts, error);
    failed = status != INMO_OK;
    inmo_free(own);
    if (!failed) /* one that failed ends the others */
        inmo_ranks_most(&failed, 1);
    return status;
}

/* Copies what of these rows of the whole, from first on, is this rank's. Returns how many. */
static int64_t take_rows(const struct inmo_learner *learner, const struct inmo_tensor *array, int64_t first,
                         int64_t rows, const void *data)
{
    int64_t taken = 0;
    for (int s = 0; s < INMO_STRETCHES; s++) {
        const struct inmo_stretch *stretch = learner->stretch + s;
        int64_t begin = first > stretch->whole ? first : stretch->whole, end = first + rows;
        if (end > stretch->whole + stretch->count)
            end = stretch->whole + stretch->count;
        if (begin >= end)
            continue;
        memcpy((char *)array->data + (size_t)(stretch->here + begin - stretch->whole) * entry_bytes(array),
               (const char *)data + (size_t)(begin - first) * entry_bytes(array),
               (size_t)(end - begin) * entry_bytes(array));
        taken += end - begin;
    }
    return taken;
}

static enum inmo_status bad(const char *path, const char *what, struct inmo_error *error)
{
    return inmo_fail(error, INMO_FORMAT, "%s is not a checkpoint of this run: its %s cannot be", path, what);
}

/* Takes this rank's rows from one file of the set. */
static enum inmo_status load_part(const struct inmo_trainer *trainer, const struct inmo_tensorfile *set,
                                  const char *path, int64_t *taken, struct inmo_error *error)
{
    const struct inmo_learner *learner = trainer->learner;
    struct inmo_tensor array[INMO_CHECKPOINT_ARRAYS], found;
    size_t arrays = inmo_checkpoint_arrays(trainer, array);
    struct inmo_tensorfile *file = NULL;
    static const char *const same[] = {"step", "fingerprint"};
    enum inmo_status status = inmo_tensorfile_open(path, "checkpoint-part", INMO_CHECKPOINT_VERSION, &file, error);
    for (int n = 0; n < 2 && !status; n++) {
        const char *own = inmo_tensorfile_metadata(file, same[n]), *wanted = inmo_tensorfile_metadata(set, same[n]);
        if (!own || !wanted || strcmp(own, wanted) != 0)
            status = bad(path, same[n], error);
    }
    for (size_t n = 0; n < arrays && !status; n++)
        for (int s = 0; s < INMO_STRETCHES && array[n].dtype != INMO_F64 && !status; s++) {
            char name[32], key[16], *end = NULL;
            const char *text;
            int64_t first;
            snprintf(name, sizeof name, "%s.%d", array[n].name, s);
            snprintf(key, sizeof key, "first.%d", s);
            text = inmo_tensorfile_metadata(file, key);
            first = text && *text ? strtoll(text, &end, 10) : -1;
            status = inmo_tensorfile_get(file, name, array[n].dtype, -1, array[n].columns, &found, error);
            if (!status && (!end || *end || first < 0 || first > learner->whole_rows ||
                            found.rows > learner->whole_rows - first))
                status = bad(path, key, error);
            if (!status)
                taken[n] += take_rows(learner, &array[n], first, found.rows, found.data);
        }
    inmo_tensorfile_close(file);
    return status;
}

enum inmo_status inmo_checkpoint_load_rows(struct inmo_trainer *trainer, const struct inmo_tensorfile *file,
                                           const char *path, struct inmo_error *error)
{
    const struct inmo_learner *learner = trainer->learner;
    struct inmo_tensor array[INMO_CHECKPOINT_ARRAYS], found;
    size_t arrays = inmo_checkpoint_arrays(trainer, array);
    const char *parts = inmo_tensorfile_metadata(file, "parts"), *slot = inmo_tensorfile_metadata(file, "slot");
    int64_t taken[INMO_CHECKPOINT_ARRAYS] = {0}, own = 0;
    int count = parts ? atoi(parts) : 0;
    enum inmo_status status = INMO_OK;
    if (parts && (count < 1 || count > MOST_RANKS || !slot || (strcmp(slot, "a") != 0 && strcmp(slot, "b") != 0)))
        return bad(path, "set of files", error);
    for (size_t n = 0; n < arrays && !parts && !status; n++) {
        if (array[n].dtype == INMO_F64)
            continue;
        /* Some arrays have no rows for what is on all ranks, at the end. */
        status = inmo_tensorfile_get(file, array[n].name, array[n].dtype,
                                     learner->whole_rows - (learner->block.rows - array[n].rows), array[n].columns,
                                     &found, error);
        if (!status)
            take_rows(learner, &array[n], 0, found.rows, found.data);
    }
    for (int rank = 0; parts && rank < count && !status; rank++) {
        char *name = part_path(path, slot[0] == 'b', rank);
        status = name ? load_part(trainer, file, name, taken, error) : inmo_fail_memory(error, "the checkpoint");
        inmo_free(name);
    }
    for (int s = 0; s < INMO_STRETCHES; s++)
        own += learner->stretch[s].count;
    for (size_t n = 0; n < arrays && parts && !status; n++)
        if (array[n].dtype != INMO_F64 && taken[n] != own)
            status = bad(path, array[n].name, error);
    if (!status)
        trainer->slot = slot && slot[0] == 'b';
    return status;
}

void inmo_checkpoint_remove(const char *path)
{
    unlink(path);
    for (int slot = 0; slot < 2; slot++)
        for (int rank = 0, found = 1; found && rank < MOST_RANKS; rank++) {
            char *name = part_path(path, slot, rank);
            found = name && unlink(name) == 0;
            inmo_free(name);
        }
}
