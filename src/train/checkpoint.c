/* checkpoint.c - everything a run is between two steps, in one file: parameters, Adam's two moments and (lazy.h)
 * how far each row is behind, the best epoch's parameters, and the counters. Random numbers need no state: they
 * are functions of the step's number. */
#include "base/memory.h"
#include "base/number.h"
#include "base/setting.h"
#include "base/tensorfile_layout.h"
#include "train/settings.h"
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { CHECKPOINT_VERSION = 2, MOST_ARRAYS = 6 };

static uint64_t hash_csr(uint64_t seed, const struct inmo_csr *csr)
{
    if (!csr->offset)
        return seed;
    seed = XXH3_64bits_withSeed(csr->offset, ((size_t)csr->rows + 1) * sizeof *csr->offset, seed);
    return XXH3_64bits_withSeed(csr->column, (size_t)inmo_csr_count(csr) * sizeof *csr->column, seed);
}

uint64_t inmo_trainer_data_hash(const struct inmo_dataset *data)
{
    return hash_csr(hash_csr(0, &data->train), &data->valid);
}

enum inmo_status inmo_trainer_fingerprint(const struct inmo_dataset *data, const struct inmo_graph *graph,
                                          const struct inmo_train_options *options, uint64_t *fingerprint,
                                          struct inmo_error *error)
{
    size_t count;
    const struct inmo_setting *settings = inmo_train_settings(&count);
    uint64_t hash = inmo_trainer_data_hash(data);
    if (graph->origin) /* rows lie in this order, and an SVD on another processor may give another one */
        hash = XXH3_64bits_withSeed(graph->origin, (size_t)graph->nodes * sizeof *graph->origin, hash);
    for (size_t n = 0; n < inmo_train_settings_of_model(); n++)
        if (!inmo_train_setting_may_differ(settings + n, options)) {
            char *value = inmo_settings_json(settings + n, 1, options);
            if (!value)
                return inmo_fail_memory(error, "the checkpoint");
            hash = XXH3_64bits_withSeed(value, strlen(value), hash);
            inmo_free(value);
        }
    *fingerprint = hash;
    return INMO_OK;
}

/* NULL: the steps update all rows, or without Adam. */
static struct inmo_lazy *lazy_of(const struct inmo_trainer *trainer)
{
    return trainer->stepper && trainer->stepper->lazy.touched ? &trainer->stepper->lazy : NULL;
}

/* The run's arrays, in the order of the file: saved from where they are, and restored to there. */
static size_t list_arrays(const struct inmo_trainer *trainer, struct inmo_tensor *array)
{
    const struct inmo_block *block = &trainer->block;
    const struct inmo_lazy *lazy = lazy_of(trainer);
    size_t count = 0;
    array[count++] = (struct inmo_tensor){"parameter", INMO_F32, block->rows, block->dim, block->parameter};
    if (block->m) {
        array[count++] = (struct inmo_tensor){"adam.m", INMO_F32, block->rows, block->dim, block->m};
        array[count++] = (struct inmo_tensor){"adam.root", INMO_F32, block->rows, block->dim, block->root};
    }
    if (lazy) {
        array[count++] = (struct inmo_tensor){"adam.touched", INMO_I32, lazy->block.rows, 0, lazy->touched};
        array[count++] = (struct inmo_tensor){"adam.rate", INMO_F64, INMO_LAZY_RING, 0, lazy->rate};
    }
    if (trainer->best)
        array[count++] = (struct inmo_tensor){"best", INMO_F32, block->rows, block->dim, trainer->best};
    return count;
}

enum inmo_status inmo_checkpoint_save(const struct inmo_trainer *trainer, const char *path,
                                      struct inmo_error *error)
{
    struct inmo_tensor array[MOST_ARRAYS];
    size_t arrays = list_arrays(trainer, array);
    char fingerprint[32], numbers[8][48];
    struct inmo_metadata metadata[] = {
        {"model", trainer->options->model},
        {"fingerprint", fingerprint},
        {"epoch", numbers[0]},
        {"step", numbers[1]},
        {"loss_sum", numbers[2]},
        {"final_loss", numbers[3]},
        {"best_epoch", numbers[4]},
        {"best_score", numbers[5]},
        {"record", trainer->record},
    };
    snprintf(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)trainer->fingerprint);
    snprintf(numbers[0], sizeof *numbers, "%d", trainer->epoch);
    snprintf(numbers[1], sizeof *numbers, "%lld", (long long)trainer->step);
    inmo_format(numbers[2], sizeof *numbers, "%a", trainer->loss_sum);
    inmo_format(numbers[3], sizeof *numbers, "%a", trainer->final_loss);
    snprintf(numbers[4], sizeof *numbers, "%d", trainer->best_epoch);
    inmo_format(numbers[5], sizeof *numbers, "%a", trainer->best_score);
    return inmo_tensorfile_write(path, 1, "checkpoint", CHECKPOINT_VERSION, metadata,
                                 sizeof metadata / sizeof *metadata, array, arrays, error);
}

enum inmo_status inmo_checkpoint_is_of(const char *path, const char *model, int *is, struct inmo_error *error)
{
    struct inmo_tensorfile *file = NULL;
    enum inmo_status status = inmo_tensorfile_open(path, "checkpoint", CHECKPOINT_VERSION, &file, error);
    if (!status) {
        const char *found = inmo_tensorfile_metadata(file, "model");
        *is = found && strcmp(found, model) == 0;
    }
    inmo_tensorfile_close(file);
    return status;
}

static double number_of(const struct inmo_tensorfile *file, const char *key)
{
    const char *text = inmo_tensorfile_metadata(file, key);
    return text ? inmo_real(text, NULL) : NAN;
}

enum inmo_status inmo_checkpoint_load(struct inmo_trainer *trainer, const char *path, struct inmo_error *error)
{
    struct inmo_tensor array[MOST_ARRAYS], found;
    size_t arrays = list_arrays(trainer, array);
    struct inmo_tensorfile *file = NULL;
    const char *text;
    char fingerprint[32];
    enum inmo_status status = inmo_tensorfile_open(path, "checkpoint", CHECKPOINT_VERSION, &file, error);
    if (status)
        goto done;
    snprintf(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)trainer->fingerprint);
    text = inmo_tensorfile_metadata(file, "fingerprint");
    if (!text || strcmp(text, fingerprint) != 0) {
        status = inmo_fail(error, INMO_FORMAT,
                           "%s belongs to a run on other data or with other options; `resume` needs the same (only "
                           "`epochs`, `patience` and the run's own options may differ)",
                           path);
        goto done;
    }
    for (size_t n = 0; n < arrays && !status; n++) {
        status = inmo_tensorfile_get(file, array[n].name, array[n].dtype, array[n].rows, array[n].columns, &found,
                                     error);
        if (!status)
            memcpy((void *)array[n].data, found.data, (size_t)inmo_tensor_bytes(&found));
    }
    if (status)
        goto done;
    trainer->epoch = (int32_t)number_of(file, "epoch");
    trainer->step = (int64_t)number_of(file, "step");
    trainer->loss_sum = number_of(file, "loss_sum");
    trainer->final_loss = number_of(file, "final_loss");
    trainer->best_epoch = (int32_t)number_of(file, "best_epoch");
    trainer->best_score = number_of(file, "best_score");
    if (lazy_of(trainer))
        inmo_lazy_restore(lazy_of(trainer), inmo_stepper_updates(trainer->stepper, trainer->step));
    text = inmo_tensorfile_metadata(file, "record");
    inmo_free(trainer->record);
    trainer->record_size = strlen(text ? text : "");
    trainer->record_capacity = trainer->record_size + 1;
    trainer->record = inmo_copy_string(text ? text : "");
    if (!trainer->record)
        status = inmo_fail_memory(error, "the training record");
done:
    inmo_tensorfile_close(file);
    return status;
}

enum inmo_status inmo_trainer_note_epoch(struct inmo_trainer *trainer, double loss, double score,
                                         struct inmo_error *error)
{
    char line[160];
    int length = inmo_format(line, sizeof line, "%s{\"epoch\": %d, \"loss\": %.9g",
                             trainer->record_size ? ",\n" : "", trainer->epoch, loss);
    if (!isnan(score))
        length += inmo_format(line + length, sizeof line - (size_t)length, ", \"ndcg@20\": %.9g", score);
    length += snprintf(line + length, sizeof line - (size_t)length, "}");
    if (trainer->record_size + (size_t)length + 1 > trainer->record_capacity) {
        size_t capacity = 2 * trainer->record_capacity + sizeof line;
        char *record = inmo_resize(trainer->record, trainer->record_size + 1, capacity, 1);
        if (!record)
            return inmo_fail_memory(error, "the training record");
        trainer->record = record;
        trainer->record_capacity = capacity;
    }
    memcpy(trainer->record + trainer->record_size, line, (size_t)length + 1);
    trainer->record_size += (size_t)length;
    return INMO_OK;
}
