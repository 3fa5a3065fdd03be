/* checkpoint.c - the whole state of a run between two steps, in one file: parameters, Adam's moments, how far each
 * row is behind (lazy.h), the parameters of the best epoch, and the counters. Random numbers need no state: they
 * are functions of the step number. */
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/setting.h"
#include "base/tensorfile_layout.h"
#include "ranks/ranks.h"
#include "train/settings.h"
#include "train/trainer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { CHECKPOINT_VERSION = INMO_CHECKPOINT_VERSION, MOST_ARRAYS = INMO_CHECKPOINT_ARRAYS };

static uint64_t hash_csr(uint64_t seed, const struct inmo_csr *csr)
{
    if (!csr->offset)
        return seed;
    seed = XXH3_64bits_withSeed(csr->offset, ((size_t)csr->rows + 1) * sizeof *csr->offset, seed);
    seed = XXH3_64bits_withSeed(csr->column, (size_t)inmo_csr_count(csr) * sizeof *csr->column, seed);
    return csr->weight ? XXH3_64bits_withSeed(csr->weight, (size_t)inmo_csr_count(csr) * sizeof *csr->weight, seed)
                       : seed;
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
    struct inmo_train_options neutral;
    inmo_recipe_plain(&neutral, inmo_model_kind_find(options->model));
    neutral.model = ""; /* it always counts */
    if (graph->origin)  /* rows are in this order, and an SVD on another processor may give another one */
        hash = XXH3_64bits_withSeed(graph->origin, (size_t)graph->nodes * sizeof *graph->origin, hash);
    for (size_t n = 0; n < inmo_train_settings_of_model(); n++)
        if (!inmo_train_setting_may_differ(settings + n, options)) {
            char *value = inmo_settings_json(settings + n, 1, options),
                 *ordinary = inmo_settings_json(settings + n, 1, &neutral);
            int failed = !value || !ordinary;
            /* Neutral ones do not count, so that a checkpoint outlives options that the program gets later. */
            if (!failed && strcmp(value, ordinary) != 0)
                hash = XXH3_64bits_withSeed(value, strlen(value), hash);
            inmo_free(ordinary);
            inmo_free(value);
            if (failed)
                return inmo_fail_memory(error, "the checkpoint");
        }
    *fingerprint = hash;
    return INMO_OK;
}

size_t inmo_checkpoint_arrays(const struct inmo_trainer *trainer, struct inmo_tensor *array)
{
    const struct inmo_learner *learner = trainer->learner;
    const struct inmo_block *block = &learner->block;
    size_t count = 0;
    array[count++] = (struct inmo_tensor){"parameter", INMO_F32, block->rows, block->dim, block->parameter};
    if (block->m) {
        array[count++] = (struct inmo_tensor){"adam.m", INMO_F32, block->rows, block->dim, block->m};
        array[count++] = (struct inmo_tensor){"adam.root", INMO_F32, block->rows, block->dim, block->root};
    }
    if (learner->type->arrays)
        count += learner->type->arrays(learner, array + count);
    if (trainer->best)
        array[count++] = (struct inmo_tensor){"best", INMO_F32, block->rows, block->dim, trainer->best};
    return count;
}

/* Saves the counters and these arrays. parts > 0: the others are in so many files of this slot. */
static enum inmo_status save(const struct inmo_trainer *trainer, const char *path, int parts, int slot,
                             const struct inmo_tensor *array, size_t arrays, struct inmo_error *error)
{
    char fingerprint[32], numbers[7][48], part_count[16], part_slot[2] = {(char)(slot ? 'b' : 'a'), 0};
    size_t count = 10;
    struct inmo_metadata metadata[13] = {
        {"model", trainer->options->model},
        {"fingerprint", fingerprint},
        {"epoch", numbers[0]},
        {"step", numbers[1]},
        {"loss_sum", numbers[2]},
        {"final_loss", numbers[3]},
        {"best_epoch", numbers[4]},
        {"best_score", numbers[5]},
        {"record", trainer->record},
        {"epochs", numbers[6]},
    };
    if (parts > 0) {
        snprintf(part_count, sizeof part_count, "%d", parts);
        metadata[count++] = (struct inmo_metadata){"parts", part_count};
        metadata[count++] = (struct inmo_metadata){"slot", part_slot};
    }
    if (trainer->before) /* only in a second pass (refit.h) */
        metadata[count++] = (struct inmo_metadata){"before", trainer->before};
    snprintf(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)trainer->fingerprint);
    snprintf(numbers[0], sizeof *numbers, "%d", trainer->epoch);
    snprintf(numbers[1], sizeof *numbers, "%lld", (long long)trainer->step);
    inmo_format(numbers[2], sizeof *numbers, "%a", trainer->loss_sum);
    inmo_format(numbers[3], sizeof *numbers, "%a", trainer->final_loss);
    snprintf(numbers[4], sizeof *numbers, "%d", trainer->best_epoch);
    inmo_format(numbers[5], sizeof *numbers, "%a", trainer->best_score);
    snprintf(numbers[6], sizeof *numbers, "%d", trainer->options->epochs);
    return inmo_tensorfile_write(path, 1, "checkpoint", CHECKPOINT_VERSION, metadata, count, array, arrays, error);
}

enum inmo_status inmo_checkpoint_save(struct inmo_trainer *trainer, const char *path, struct inmo_error *error)
{
    struct inmo_tensor array[MOST_ARRAYS];
    size_t arrays = inmo_checkpoint_arrays(trainer, array), common = 0;
    enum inmo_status status;
    if (inmo_ranks() == 1)
        return save(trainer, path, 0, 0, array, arrays, error);
    status = inmo_checkpoint_save_part(trainer, path, !trainer->slot, error);
    for (size_t n = 0; n < arrays; n++)
        if (array[n].dtype == INMO_F64)
            array[common++] = array[n];
    if (!status && inmo_own_rank() == 0)
        status = save(trainer, path, inmo_ranks(), !trainer->slot, array, common, error);
    if (!status)
        inmo_ranks_agree(0); /* none goes on before the set is complete */
    trainer->slot = !trainer->slot;
    return status;
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

enum inmo_status inmo_checkpoint_record(const char *path, char **record, struct inmo_error *error)
{
    struct inmo_tensorfile *file = NULL;
    enum inmo_status status = inmo_tensorfile_open(path, "checkpoint", CHECKPOINT_VERSION, &file, error);
    if (!status) {
        const char *found = inmo_tensorfile_metadata(file, "record");
        *record = inmo_copy_string(found ? found : "");
        status = *record ? INMO_OK : inmo_fail_memory(error, "the training record");
    }
    inmo_tensorfile_close(file);
    return status;
}

enum inmo_status inmo_checkpoint_before(const char *path, char **before, struct inmo_error *error)
{
    struct inmo_tensorfile *file = NULL;
    enum inmo_status status = inmo_tensorfile_open(path, "checkpoint", CHECKPOINT_VERSION, &file, error);
    if (!status && inmo_tensorfile_metadata(file, "before")) {
        *before = inmo_copy_string(inmo_tensorfile_metadata(file, "before"));
        status = *before ? INMO_OK : inmo_fail_memory(error, "the training record");
    }
    inmo_tensorfile_close(file);
    return status;
}

/* ---- Loading: nothing is believed because a checksum fits it ------------------------------------------------- */

static enum inmo_status bad(const char *path, const char *what, struct inmo_error *error)
{
    return inmo_fail(error, INMO_FORMAT, "%s is not a checkpoint of this run: its %s cannot be", path, what);
}

/* 0 if the text is absent or is not a number within the bounds. */
static int whole_number(const struct inmo_tensorfile *file, const char *key, int64_t least, int64_t most,
                        int64_t *number)
{
    const char *text = inmo_tensorfile_metadata(file, key);
    char *end = NULL;
    errno = 0;
    *number = text && *text ? strtoll(text, &end, 10) : 0;
    return end && !*end && !errno && *number >= least && *number <= most;
}

static int real_number(const struct inmo_tensorfile *file, const char *key, double *number)
{
    const char *text = inmo_tensorfile_metadata(file, key);
    char *end = NULL;
    *number = text && *text ? inmo_real(text, &end) : 0;
    return end && !*end;
}

/* Loads the counters and checks that they agree with each other. */
static enum inmo_status load_counters(struct inmo_trainer *trainer, const struct inmo_tensorfile *file,
                                      const char *path, struct inmo_error *error)
{
    const int64_t steps = trainer->steps_per_epoch;
    int64_t epoch, step, best_epoch;
    if (!whole_number(file, "epoch", 0, INT32_MAX - 1, &epoch))
        return bad(path, "epoch", error);
    /* After the last step of an epoch, the epoch is not over until its end has been processed. */
    if (!whole_number(file, "step", 0, INT64_C(1) << 53, &step) || step < epoch * steps ||
        step - epoch * steps > steps)
        return bad(path, "epoch or step", error);
    if (!real_number(file, "loss_sum", &trainer->loss_sum) || !isfinite(trainer->loss_sum))
        return bad(path, "loss_sum", error);
    if (!real_number(file, "final_loss", &trainer->final_loss) ||
        (epoch > 0 ? !isfinite(trainer->final_loss) : !isnan(trainer->final_loss)))
        return bad(path, "final_loss", error);
    if (!whole_number(file, "best_epoch", -1, epoch - 1, &best_epoch) ||
        (best_epoch >= 0 && (!trainer->best || best_epoch < inmo_stage_at(trainer, (int32_t)epoch).first)))
        return bad(path, "best_epoch", error);
    if (!real_number(file, "best_score", &trainer->best_score) ||
        (best_epoch >= 0 ? !(trainer->best_score >= 0 && trainer->best_score <= 1 + 1e-9)
                         : !isnan(trainer->best_score)))
        return bad(path, "best_score", error);
    trainer->epoch = (int32_t)epoch;
    trainer->step = step;
    trainer->best_epoch = (int32_t)best_epoch;
    return INMO_OK;
}

/* 1 if the record starts with what was chosen before the first epoch (choose.h). */
static size_t has_chosen(const json_t *record)
{
    return json_object_get(json_array_get(record, 0), "chosen") != NULL;
}

/* Loads the record: one JSON object for each finished epoch. It becomes part of the model file. */
static enum inmo_status load_record(struct inmo_trainer *trainer, const struct inmo_tensorfile *file,
                                    const char *path, struct inmo_error *error)
{
    const char *text = inmo_tensorfile_metadata(file, "record");
    size_t size = text ? strlen(text) : 0, index;
    enum inmo_status status = INMO_OK;
    char *list = NULL;
    json_t *parsed = NULL, *entry;
    if (!text)
        return bad(path, "record", error);
    list = inmo_alloc(size + 3, 1);
    if (!list)
        return inmo_fail_memory(error, "the training record");
    snprintf(list, size + 3, "[%s]", text);
    status = inmo_json_parse(list, size + 2, 0, &parsed, NULL);
    if (status == INMO_MEMORY)
        status = inmo_fail_memory(error, "the training record");
    else if (status || json_array_size(parsed) - has_chosen(parsed) != (size_t)trainer->epoch)
        status = bad(path, "record", error);
    json_array_foreach(parsed, index, entry) {
        if (!json_is_object(entry) && !status)
            status = bad(path, "record", error);
    }
    json_decref(parsed);
    if (!status) {
        list[size + 1] = 0; /* without the brackets */
        memmove(list, list + 1, size + 1);
        inmo_free(trainer->record);
        trainer->record = list;
        trainer->record_size = size;
        trainer->record_capacity = size + 1;
        list = NULL;
    }
    inmo_free(list);
    return status;
}

/* Checks that the file belongs to this run. */
static enum inmo_status check_fingerprint(const struct inmo_trainer *trainer, const struct inmo_tensorfile *file,
                                          const char *path, struct inmo_error *error)
{
    const struct inmo_train_options *options = trainer->options;
    const char *found = inmo_tensorfile_metadata(file, "fingerprint");
    int longer = strcmp(options->schedule, "constant") == 0;
    char fingerprint[32];
    int64_t epochs;
    snprintf(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)trainer->fingerprint);
    if (found && strcmp(found, fingerprint) == 0)
        return INMO_OK;
    if (!longer && whole_number(file, "epochs", 1, INT32_MAX, &epochs) && epochs != options->epochs)
        return inmo_fail(
            error, INMO_FORMAT,
            "%s is of a run of %lld epochs, and `epochs` is %d: with `schedule` %s the learning rate falls "
            "over all of them, so `resume` needs `epochs` %lld (a run with `schedule` constant can be made "
            "longer)",
            path, (long long)epochs, options->epochs, options->schedule, (long long)epochs);
    return inmo_fail(error, INMO_FORMAT,
                     "%s belongs to a run on other data or with other options; `resume` needs the same (only "
                     "%s`patience` and the run's own options may differ)",
                     path, longer ? "`epochs`, " : "");
}

enum inmo_status inmo_checkpoint_load(struct inmo_trainer *trainer, const char *path, struct inmo_error *error)
{
    struct inmo_tensor array[MOST_ARRAYS], found;
    size_t arrays = inmo_checkpoint_arrays(trainer, array);
    struct inmo_tensorfile *file = NULL;
    struct inmo_learner *learner = trainer->learner;
    const char *wrong = NULL;
    enum inmo_status status = inmo_tensorfile_open(path, "checkpoint", CHECKPOINT_VERSION, &file, error);
    if (!status)
        status = check_fingerprint(trainer, file, path, error);
    if (!status)
        status = load_counters(trainer, file, path, error);
    if (!status)
        status = inmo_checkpoint_load_rows(trainer, file, path, error);
    for (size_t n = 0; n < arrays && !status; n++) {
        if (array[n].dtype != INMO_F64)
            continue;
        status = inmo_tensorfile_get(file, array[n].name, array[n].dtype, array[n].rows, array[n].columns, &found,
                                     error);
        if (!status)
            memcpy((void *)array[n].data, found.data, (size_t)inmo_tensor_bytes(&found));
    }
    if (!status && learner->type->check)
        wrong = learner->type->check(learner, trainer->step);
    if (wrong)
        status = bad(path, wrong, error);
    if (!status)
        status = load_record(trainer, file, path, error);
    if (!status && learner->type->restored)
        learner->type->restored(learner, trainer->step);
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
