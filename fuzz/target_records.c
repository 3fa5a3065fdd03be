/* target_records.c - what a stopped call leaves behind and goes on from: checkpoints of a training, the runs of the
 * paper's lab, the trials of a search. */
#define _GNU_SOURCE /* memmem */
#include "fuzz.h"

#include "lab/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int stop_at_once(void *context)
{
    (void)context;
    return 1;
}

static const struct inmo_hooks stopping = {.interrupted = stop_at_once};

static char *whole_file(const char *path, size_t *size)
{
    enum { MOST = 1 << 18 };
    char *text = calloc(1, MOST);
    FILE *stream = fopen(path, "rb");
    if (!stream || !text)
        inmo_fuzz_broken("cannot read %s", path);
    *size = fread(text, 1, MOST - 1, stream);
    fclose(stream);
    return text;
}

/* ---- Checkpoints --------------------------------------------------------------------------------------------- */

static const char fingerprint_key[] = "\"fingerprint\":\"";
enum { FINGERPRINT = 16 };

static const void *find(const void *where, size_t size, const char *what)
{
    return memmem(where, size, what, strlen(what));
}

/* A checkpoint of a training that is stopped at once: its bytes, made at the first call. */
static const uint8_t *own_checkpoint(const struct inmo_train_options *options, size_t *size)
{
    static char *bytes;
    static size_t count;
    if (!bytes) {
        struct inmo_error error = {0};
        struct inmo_model *model = NULL;
        unlink(options->checkpoint);
        if (inmo_train(inmo_fuzz_dataset_at_hand(), options, &stopping, &model, NULL, &error) != INMO_INTERRUPTED)
            inmo_fuzz_broken("a training that should stop at once does not: %s", error.message);
        bytes = whole_file(options->checkpoint, &count);
    }
    *size = count;
    return (const uint8_t *)bytes;
}

static void options_with_checkpoint(struct inmo_train_options *options, const char *model)
{
    static char path[160];
    snprintf(path, sizeof path, "%s/checkpoint", inmo_fuzz_folder());
    inmo_fuzz_train_options(options, model);
    options->checkpoint = path;
    options->resume = 1;
}

/* Goes on from the file, to the end. */
static void resume(const struct inmo_train_options *options, const uint8_t *file, size_t size)
{
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    inmo_fuzz_file("checkpoint", file, size);
    if (inmo_fuzz_ended("inmo_train", inmo_train(inmo_fuzz_dataset_at_hand(), options, NULL, &model, NULL, &error),
                        &error)) {
        struct inmo_model_info info;
        inmo_model_info(model, &info);
        inmo_model_free(model);
        inmo_fuzz_used();
    }
}

/* The input is a checkpoint of another day: it gets the fingerprint of this training, as one with another is
 * refused before anything else in it is looked at. */
void inmo_fuzz_checkpoint(const uint8_t *data, size_t size)
{
    struct inmo_train_options options;
    const uint8_t *own, *from;
    uint8_t *copy = malloc(size + 1), *to;
    size_t own_size;
    options_with_checkpoint(&options, "lightgcn");
    own = own_checkpoint(&options, &own_size);
    if (!copy)
        inmo_fuzz_broken("not enough memory");
    memcpy(copy, data, size);
    from = find(own, own_size, fingerprint_key);
    to = (uint8_t *)find(copy, size, fingerprint_key);
    if (from && to && (size_t)(copy + size - to) >= sizeof fingerprint_key - 1 + FINGERPRINT)
        memcpy(to, from, sizeof fingerprint_key - 1 + FINGERPRINT);
    inmo_fuzz_reseal(copy, size);
    resume(&options, copy, size);
    free(copy);
}

/* Checkpoints of mf also say how far Adam is behind in each row. They are too large for a corpus: the input is a
 * list of changes to one that is made here, each a place (4 bytes) and what stands there instead (4 bytes). */
void inmo_fuzz_rows(const uint8_t *data, size_t size)
{
    enum { CHANGE = 8 };
    struct inmo_train_options options;
    const uint8_t *own;
    uint8_t *copy;
    size_t own_size;
    options_with_checkpoint(&options, "mf");
    own = own_checkpoint(&options, &own_size);
    copy = malloc(own_size);
    if (!copy)
        inmo_fuzz_broken("not enough memory");
    memcpy(copy, own, own_size);
    for (; size >= CHANGE; data += CHANGE, size -= CHANGE) {
        uint32_t place;
        memcpy(&place, data, sizeof place);
        memcpy(copy + place % (own_size - 3), data + 4, 4);
    }
    inmo_fuzz_reseal(copy, own_size);
    resume(&options, copy, own_size);
    free(copy);
}

/* ---- Runs ---------------------------------------------------------------------------------------------------- */

/* Looks at everything a table, a claim or a figure would. */
static void use_run(const struct inmo_lab_run *run)
{
    static const char *const evaluation[] = {"test", "without-new", "new-users-items"};
    for (size_t n = 0; n < 3; n++) {
        const json_t *found;
        const char *reason;
        int number = inmo_lab_run_evaluation(run, evaluation[n], &found, &reason);
        volatile double sum = inmo_lab_run_value(run, evaluation[n], "all", "ndcg");
        if (number >= 0 && run->ndcg[number])
            for (int32_t u = 0; u < run->users; u++)
                sum = sum + (run->is_new ? run->is_new[u] : 0) + (double)run->ndcg[number][u];
    }
}

void inmo_fuzz_run(const uint8_t *data, size_t size)
{
    struct inmo_error error = {0};
    struct inmo_lab_run run = {.name = INMO_FUZZ_RUN_NAME};
    uint8_t *sealed = inmo_fuzz_resealed(data, size);
    inmo_fuzz_file(INMO_FUZZ_RUN_NAME ".run", sealed, size);
    free(sealed);
    run.identity = INMO_FUZZ_RUN_IDENTITY;
    if (inmo_fuzz_ended("inmo_lab_run_load", inmo_lab_run_load(&run, inmo_fuzz_folder(), NULL, &error), &error) &&
        run.result) {
        use_run(&run);
        inmo_fuzz_used();
    }
    run.identity = NULL;
    inmo_lab_run_free(&run);
}

/* ---- Trials -------------------------------------------------------------------------------------------------- */

/* The input is what follows the first line, which says which search it is; after '!' it is the whole file. */
void inmo_fuzz_trials(const uint8_t *data, size_t size)
{
    static char *first_line, directory[160], path[176], best[176];
    static size_t first_size;
    const struct inmo_dataset *dataset = inmo_fuzz_dataset_at_hand();
    struct inmo_error error = {0};
    struct inmo_train_options fixed;
    struct inmo_tune_options options;
    struct inmo_tune_report *report = NULL;
    int whole = size > 0 && data[0] == '!';
    FILE *stream;
    inmo_fuzz_train_options(&fixed, "mf");
    inmo_tune_options_init(&options);
    options.search = "dim=2|3";
    options.method = "grid";
    options.trials = 2;
    if (!first_line) {
        snprintf(directory, sizeof directory, "%s", inmo_fuzz_folder());
        snprintf(path, sizeof path, "%s/trials.jsonl", directory);
        if (inmo_tune(dataset, &fixed, &options, directory, &stopping, &report, &error) != INMO_INTERRUPTED)
            inmo_fuzz_broken("a search that should stop at once does not: %s", error.message);
        first_line = whole_file(path, &first_size);
        error = (struct inmo_error){0};
        /* A finished search makes its best model if there is none, which would be stopped here. */
        snprintf(best, sizeof best, "%s/best.inmo", directory);
        stream = fopen(best, "wb");
        if (stream)
            fclose(stream);
    }
    stream = fopen(path, "wb");
    if (!stream || (!whole && fwrite(first_line, 1, first_size, stream) != first_size) ||
        fwrite(data + whole, 1, size - (size_t)whole, stream) != size - (size_t)whole || fclose(stream) != 0)
        inmo_fuzz_broken("cannot write %s", path);
    if (inmo_fuzz_ended("inmo_tune", inmo_tune(dataset, &fixed, &options, directory, &stopping, &report, &error),
                        &error)) {
        if (report->trial_count > 2 || report->trained != 0)
            inmo_fuzz_broken("a search that trained nothing reports %zu trials, %d of them trained",
                             report->trial_count, report->trained);
        inmo_tune_report_free(report);
        inmo_fuzz_used();
    }
}
