/* tune.c - inmo_tune: a search whose trials are trainings.
 *
 * With a cosine schedule the learning rate is still high after a third of the epochs, and the score there says
 * little about the end. So each rung of halving is then a complete training with fewer epochs. With a constant rate
 * a short training is the beginning of a long one, and a rung continues from the previous rung's checkpoint. */
#include "tune/tune.h"

#include "base/memory.h"
#include "base/setting.h"
#include "base/text.h"
#include "base/threads.h"
#include "train/settings.h"

#include <inttypes.h>
#include <math.h>
#include <unistd.h>

struct work {
    const struct inmo_dataset *data;
    const struct inmo_tuning *tuning;
    const struct inmo_tune_record *record;
    const struct inmo_hooks *hooks; /* the caller's */
    const char *directory;          /* NULL: no checkpoints */
    double deadline;                /* infinite: no limit */
    int stopped_by_caller, trained;
    char stage[96];
};

/* ---- Hooks: the caller's, with the trial's name and the time limit ------------------------------------------- */

static void pass_log(void *context, enum inmo_level level, const char *sentence)
{
    const struct work *work = context;
    if (level == INMO_WARNING) /* notes are about checkpoints, which the caller does not see */
        inmo_note(work->hooks, level, "%s", sentence);
}

static void pass_progress(void *context, const struct inmo_progress *progress)
{
    const struct work *work = context;
    struct inmo_progress named = *progress;
    named.stage = work->stage;
    inmo_report_progress(work->hooks, &named);
}

static int is_time(void *context)
{
    struct work *work = context;
    work->stopped_by_caller |= inmo_is_interrupted(work->hooks) != 0;
    return work->stopped_by_caller || inmo_now() >= work->deadline;
}

/* ---- A training --------------------------------------------------------------------------------------------- */

static struct inmo_train_options options_of(const struct work *work, int trial, int epochs, uint64_t seed)
{
    struct inmo_train_options options = work->tuning->fixed;
    inmo_space_apply(&work->tuning->space, (uint64_t)trial, &options);
    options.epochs = epochs;
    options.seed = seed;
    return options;
}

/* 1 if a training can be continued with more epochs as if it had had them from the start. */
static int can_be_continued(const struct inmo_train_options *options)
{
    size_t count;
    const struct inmo_setting *settings = inmo_train_settings(&count);
    return inmo_train_setting_may_differ(inmo_setting_find(settings, count, "epochs"), options);
}

/* The checkpoint of this training or, if it can be continued, of the trial in all rungs. */
static char *checkpoint_of(const struct work *work, const struct inmo_train_options *options, int trial)
{
    struct inmo_text path = {0};
    inmo_text_add(&path, work->directory, strlen(work->directory));
    inmo_text_format(&path, "/trial-%d-seed-%" PRIu64, trial + 1, options->seed);
    if (!can_be_continued(options))
        inmo_text_format(&path, "-epochs-%d", options->epochs);
    inmo_text_add(&path, ".checkpoint", 11);
    return inmo_text_take(&path);
}

static void name_stage(struct work *work, int rung, const struct inmo_outcome *outcome)
{
    const struct inmo_search *search = &work->tuning->search;
    struct inmo_text stage = {0};
    char *text;
    inmo_text_format(&stage, "trial %d of %d", outcome->trial + 1, search->trials[0]);
    if (search->rungs > 1)
        inmo_text_format(&stage, ", rung %d of %d", rung + 1, search->rungs);
    if (search->seed_count > 1)
        inmo_text_format(&stage, ", seed %" PRIu64, outcome->seed);
    text = inmo_text_take(&stage);
    snprintf(work->stage, sizeof work->stage, "%s", text ? text : "trial");
    inmo_free(text);
}

/* Turns the status of a training into an outcome. Settings that cannot be trained are an outcome; any other error
 * ends the search. */
static enum inmo_status judge(enum inmo_status status, const struct inmo_train_report *report,
                              const struct inmo_error *sentence, struct inmo_outcome *outcome,
                              struct inmo_error *error)
{
    const char *failure = sentence->message;
    if (status && status != INMO_NUMERIC && status != INMO_USAGE && status != INMO_UNSUPPORTED)
        return inmo_fail(error, status, "%s", sentence->message);
    if (!status && !isfinite(report->best_score)) {
        status = INMO_USAGE;
        failure = "`per-trial-seconds` ended the training before its first validation";
    }
    outcome->code = status;
    if (status) {
        outcome->error = inmo_copy_string(failure);
        return outcome->error ? INMO_OK : inmo_fail_memory(error, "the record of the search");
    }
    outcome->score = report->best_score;
    outcome->best_epoch = report->best_epoch;
    return INMO_OK;
}

static enum inmo_status train_outcome(void *context, int rung, struct inmo_outcome *outcome,
                                      struct inmo_error *error)
{
    struct work *work = context;
    const struct inmo_hooks hooks = {work, pass_log, pass_progress, is_time};
    struct inmo_train_options options = options_of(work, outcome->trial, outcome->epochs, outcome->seed);
    struct inmo_train_report report = {.best_score = NAN};
    struct inmo_error sentence = {0};
    struct inmo_model *model = NULL;
    char *checkpoint = NULL;
    double start = inmo_now();
    enum inmo_status status;

    if (is_time(work))
        return inmo_fail(error, INMO_INTERRUPTED, "the search stopped before trial %d", outcome->trial + 1);
    if (work->directory) {
        checkpoint = checkpoint_of(work, &options, outcome->trial);
        if (!checkpoint)
            return inmo_fail_memory(error, "a file name");
        options.checkpoint = checkpoint;
        options.resume = access(checkpoint, F_OK) == 0;
    }
    name_stage(work, rung, outcome);
    status = inmo_train(work->data, &options, &hooks, &model, &report, &sentence);
    inmo_model_free(model);
    status = judge(status, &report, &sentence, outcome, error);
    outcome->seconds = inmo_now() - start;
    work->trained += !status;
    inmo_free(checkpoint);
    return status;
}

/* ---- Between trainings -------------------------------------------------------------------------------------- */

static void note_finished(void *context, int rung, int trial)
{
    const struct work *work = context;
    const struct inmo_search *search = &work->tuning->search;
    const struct inmo_space *space = &work->tuning->space;
    struct inmo_text settings = {0};
    double sum = 0;
    char *text;

    for (size_t a = 0; a < space->axis_count; a++) {
        char buffer[INMO_VALUE_SIZE];
        inmo_text_format(&settings, "%s%s %s", a ? ", " : "", space->axis[a].row->name,
                         inmo_space_value(space, a, (uint64_t)trial, buffer));
    }
    text = inmo_text_take(&settings);
    for (size_t s = 0; s < search->seed_count; s++) {
        const struct inmo_outcome *outcome =
            inmo_tune_record_find(work->record, trial, search->epochs[rung], search->seed[s]);
        if (outcome->code) {
            inmo_note(work->hooks, INMO_NOTE, "trial %d of %d (%s) failed: %s", trial + 1, search->trials[0],
                      text ? text : "", outcome->error);
            inmo_free(text);
            return;
        }
        sum += outcome->score;
    }
    inmo_note(work->hooks, INMO_NOTE, "trial %d of %d (%s): ndcg@20 %.4f in %d epochs", trial + 1,
              search->trials[0], text ? text : "", sum / (double)search->seed_count, search->epochs[rung]);
    inmo_free(text);
}

/* Removes the checkpoints of a trial that is not trained again. */
static void remove_checkpoints(void *context, int trial)
{
    const struct work *work = context;
    const struct inmo_search *search = &work->tuning->search;
    for (size_t s = 0; work->directory && s < search->seed_count; s++)
        for (int rung = 0; rung < search->rungs; rung++) {
            struct inmo_train_options options = options_of(work, trial, search->epochs[rung], search->seed[s]);
            char *path = checkpoint_of(work, &options, trial);
            if (path)
                unlink(path);
            inmo_free(path);
        }
}

/* After a rung: removes the checkpoints that no later rung needs. */
static void finish_rung(void *context, int rung, int trial)
{
    const struct work *work = context;
    struct inmo_train_options options = options_of(work, trial, work->tuning->search.epochs[rung], 1);
    note_finished(context, rung, trial);
    if (rung + 1 == work->tuning->search.rungs || !can_be_continued(&options))
        remove_checkpoints(context, trial);
}

/* ---- The search --------------------------------------------------------------------------------------------- */

/* If all trials failed there are no best settings: returns the error of the first trial. */
static enum inmo_status check_any(const struct inmo_tuning *tuning, const struct inmo_tune_record *record,
                                  struct inmo_error *error)
{
    const struct inmo_outcome *first = NULL;
    int failed = 0;
    for (size_t n = 0; n < record->count; n++) {
        if (!record->outcome[n].code)
            return INMO_OK;
        if (!first)
            first = &record->outcome[n];
        failed++;
    }
    if (failed < tuning->search.trials[0])
        return INMO_OK;
    return inmo_fail(error, first->code, "all %d trials failed; the first: %.800s", tuning->search.trials[0],
                     first->error);
}

enum inmo_status inmo_tune(const struct inmo_dataset *data, const struct inmo_train_options *fixed,
                           const struct inmo_tune_options *options, const char *directory,
                           const struct inmo_hooks *hooks, struct inmo_tune_report **report,
                           struct inmo_error *error)
{
    double start = inmo_now();
    struct inmo_tuning tuning = {0};
    struct inmo_tune_record record = {.descriptor = -1};
    struct inmo_tune_report *found = NULL;
    struct work work = {.data = data,
                        .tuning = &tuning,
                        .record = &record,
                        .hooks = hooks,
                        .directory = directory,
                        .deadline = INFINITY};
    const struct inmo_objective objective = {&work, train_outcome, finish_rung, remove_checkpoints};
    const char *stopped = "done";
    enum inmo_status status = inmo_tuning_plan(&tuning, data, fixed, options, error);
    if (!status && options->max_seconds > 0)
        work.deadline = start + options->max_seconds;

    if (!status)
        status = inmo_tune_record_open(&record, directory, tuning.identity, &tuning.space, error);
    if (status)
        goto done;
    if (record.count > 0)
        inmo_note(hooks, INMO_NOTE, "going on with the search in %s: %zu trainings are finished", directory,
                  record.count);
    status = inmo_search_run(&tuning.search, &record, &objective, error);
    if (status == INMO_INTERRUPTED && !work.stopped_by_caller) {
        stopped = "max-seconds";
        status = INMO_OK;
    }
    if (!status)
        status = check_any(&tuning, &record, error);
    if (!status)
        status = inmo_tune_report_new(&tuning, &record, &found, error);
    if (status)
        goto done;
    found->trained = work.trained;
    found->seconds = inmo_now() - start;
    found->stopped = stopped;
    *report = found;
done:
    inmo_tune_record_close(&record);
    inmo_tuning_free(&tuning);
    return status;
}
