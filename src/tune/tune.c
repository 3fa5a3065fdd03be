/* tune.c - inmo_tune: a search whose trials are trainings. The model of the best trial so far is kept in best.inmo,
 * which is written before the training is recorded: after a kill at any moment the file is of the best recorded
 * trial, or of a better one that will be recorded next.
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
    const char *directory;          /* NULL: no files */
    char *best_path, *page_path;    // in the directory; NULL: none
    double start, deadline;         /* infinite: no limit */
    double rung_deadline;           /* of the current rung, once it may end */
    int stopped_by_caller, trained;
    struct inmo_model *model; /* of the last training with the first seed: trial and epochs as follows */
    int model_trial, model_epochs;
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
    return work->stopped_by_caller || inmo_now() >= fmin(work->deadline, work->rung_deadline);
}

/* Each rung but the last has an equal part of the time, from when it has something to go on with. */
static void enter_rung(void *context, int rung, int may_end)
{
    struct work *work = context;
    int rungs = work->tuning->search.rungs;
    work->rung_deadline = INFINITY;
    if (may_end && rung + 1 < rungs)
        work->rung_deadline = work->start + (work->deadline - work->start) * (rung + 1) / rungs;
}

static int rung_is_over(void *context, int rung)
{
    const struct work *work = context;
    (void)rung;
    return !work->stopped_by_caller && inmo_now() >= work->rung_deadline && inmo_now() < work->deadline;
}

/* ---- A training --------------------------------------------------------------------------------------------- */

static struct inmo_train_options options_of(const struct work *work, int trial, int epochs, uint64_t seed)
{
    struct inmo_train_options options = inmo_arms_options(&work->tuning->arms, trial);
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

/* Turns the status of a training into an outcome. Settings that cannot be trained are an outcome, and so is one of
 * several models that is too large for the memory; any other error ends the search. */
static enum inmo_status judge(const struct work *work, enum inmo_status status,
                              const struct inmo_train_report *report, const struct inmo_error *sentence,
                              struct inmo_outcome *outcome, struct inmo_error *error)
{
    const char *failure = sentence->message;
    if (status && status != INMO_NUMERIC && status != INMO_USAGE && status != INMO_UNSUPPORTED &&
        !(status == INMO_MEMORY && work->tuning->arms.count > 1))
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

/* Trains, or goes on from the checkpoint of this training. */
static enum inmo_status train(struct work *work, int trial, int epochs, uint64_t seed, struct inmo_model **model,
                              struct inmo_train_report *report, struct inmo_error *error)
{
    const struct inmo_hooks hooks = {work, pass_log, pass_progress, is_time};
    struct inmo_train_options options = options_of(work, trial, epochs, seed);
    char *checkpoint = NULL;
    enum inmo_status status;
    if (work->directory) {
        checkpoint = checkpoint_of(work, &options, trial);
        if (!checkpoint)
            return inmo_fail_memory(error, "a file name");
        options.checkpoint = checkpoint;
        options.resume = access(checkpoint, F_OK) == 0;
    }
    status = inmo_train(work->data, &options, &hooks, model, report, error);
    inmo_free(checkpoint);
    return status;
}

static void forget_model(struct work *work)
{
    inmo_model_free(work->model);
    work->model = NULL;
}

static enum inmo_status train_outcome(void *context, int rung, struct inmo_outcome *outcome,
                                      struct inmo_error *error)
{
    struct work *work = context;
    struct inmo_train_report report = {.best_score = NAN};
    struct inmo_error sentence = {0};
    struct inmo_model *model = NULL;
    double start = inmo_now();
    enum inmo_status status;

    if (is_time(work))
        return inmo_fail(error, INMO_INTERRUPTED, "the search stopped before trial %d", outcome->trial + 1);
    inmo_tune_name_stage(work->tuning, rung, outcome, work->stage, sizeof work->stage);
    if (outcome->seed == work->tuning->seed[0])
        forget_model(work); /* two models at once would be one too many */
    status = train(work, outcome->trial, outcome->epochs, outcome->seed, &model, &report, &sentence);
    if (outcome->seed == work->tuning->seed[0]) {
        work->model = model;
        work->model_trial = outcome->trial;
        work->model_epochs = outcome->epochs;
    } else {
        inmo_model_free(model);
    }
    status = judge(work, status, &report, &sentence, outcome, error);
    outcome->seconds = inmo_now() - start;
    work->trained += !status;
    return status;
}

/* ---- The best model ----------------------------------------------------------------------------------------- */

/* Saves the model of a trial with the first seed. If it is not at hand, because that training was in an earlier
 * call, it is made again, as a rule from its last checkpoint. */
static enum inmo_status save_best(struct work *work, int trial, int epochs, struct inmo_error *error)
{
    struct inmo_train_report report;
    enum inmo_status status = INMO_OK;
    if (!work->best_path)
        return INMO_OK;
    if (!work->model || work->model_trial != trial || work->model_epochs != epochs) {
        forget_model(work);
        work->model_trial = trial;
        work->model_epochs = epochs;
        snprintf(work->stage, sizeof work->stage, "the best trial, %d", trial + 1);
        status = train(work, trial, epochs, work->tuning->seed[0], &work->model, &report, error);
    }
    return status ? status : inmo_model_save(work->model, work->best_path, 1, error);
}

static enum inmo_status take_lead(void *context, int rung, int trial, struct inmo_error *error)
{
    struct work *work = context;
    return save_best(work, trial, inmo_search_epochs(&work->tuning->search, trial, rung), error);
}

/* ---- Between trainings -------------------------------------------------------------------------------------- */

/* Removes the checkpoints of a trial that is not trained again. */
static void remove_checkpoints(void *context, int trial)
{
    const struct work *work = context;
    const struct inmo_search *search = &work->tuning->search;
    for (size_t s = 0; work->directory && s < search->seed_count; s++)
        for (int rung = 0; rung < search->rungs; rung++) {
            struct inmo_train_options options =
                options_of(work, trial, inmo_search_epochs(search, trial, rung), search->seed[s]);
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
    struct inmo_train_options options =
        options_of(work, trial, inmo_search_epochs(&work->tuning->search, trial, rung), 1);
    inmo_tune_tell(work->tuning, work->record, rung, trial, work->hooks);
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

/* Makes best.inmo of a search that has none: it was removed, or the search is from before there was one. */
static enum inmo_status restore_best(struct work *work, struct inmo_error *error)
{
    const struct inmo_search *search = &work->tuning->search;
    struct inmo_standing *standing;
    enum inmo_status status = INMO_OK;
    if (!work->best_path || access(work->best_path, F_OK) == 0)
        return INMO_OK;
    standing = inmo_alloc((size_t)search->trials[0], sizeof *standing);
    if (!standing)
        return inmo_fail_memory(error, "the search");
    if (inmo_search_standings(search, work->record, standing) > 0 && !standing[0].failed) {
        int trial = standing[0].trial;
        status = save_best(work, trial, inmo_search_epochs(search, trial, standing[0].rung), error);
        remove_checkpoints(work, trial);
    }
    inmo_free(standing);
    return status;
}

static char *path_in(const char *directory, const char *name)
{
    struct inmo_text path = {0};
    inmo_text_add(&path, directory, strlen(directory));
    inmo_text_format(&path, "/%s", name);
    return inmo_text_take(&path);
}

/* Searches; *stopped says why it ended. */
static enum inmo_status run(struct work *work, struct inmo_tune_record *record, const char **stopped,
                            struct inmo_error *error)
{
    const struct inmo_objective objective = {work,         train_outcome, take_lead,         enter_rung,
                                             rung_is_over, finish_rung,   remove_checkpoints};
    enum inmo_status status;
    if (record->count > 0)
        inmo_note(work->hooks, INMO_NOTE, "going on with the search in %s: %zu trainings are finished",
                  work->directory, record->count);
    status = inmo_search_run(&work->tuning->search, record, &objective, error);
    work->rung_deadline = INFINITY;
    *stopped = "done";
    if (!status)
        status = restore_best(work, error);
    if (status == INMO_INTERRUPTED && !work->stopped_by_caller) {
        *stopped = "max-seconds";
        status = INMO_OK;
    }
    return status ? status : check_any(work->tuning, record, error);
}

/* Reports, and writes the page. */
static enum inmo_status conclude(const struct work *work, struct inmo_tuning *tuning,
                                 const struct inmo_tune_record *record, struct inmo_tune_report **report,
                                 struct inmo_error *error)
{
    struct inmo_tune_report *found = NULL;
    int has_best = work->best_path && access(work->best_path, F_OK) == 0;
    enum inmo_status status =
        inmo_tune_report_new(tuning, record, has_best ? work->best_path : NULL, work->page_path, &found, error);
    if (!status)
        found->trained = work->trained;
    if (!status && work->page_path)
        status = inmo_tune_page_write(found, work->page_path, error);
    if (status)
        inmo_tune_report_free(found);
    else
        *report = found;
    return status;
}

enum inmo_status inmo_tune_models(const struct inmo_dataset *data, const struct inmo_train_options *fixed,
                                  size_t count, const struct inmo_tune_options *options, const char *directory,
                                  const struct inmo_hooks *hooks, struct inmo_tune_report **report,
                                  struct inmo_error *error)
{
    struct inmo_tuning tuning = {0};
    struct inmo_tune_record record = {.descriptor = -1};
    struct inmo_tune_report *found = NULL;
    struct work work = {.data = data,
                        .tuning = &tuning,
                        .record = &record,
                        .hooks = hooks,
                        .directory = directory,
                        .start = inmo_now(),
                        .deadline = INFINITY,
                        .rung_deadline = INFINITY};
    const char *stopped = NULL;
    enum inmo_status status = inmo_tuning_plan(&tuning, data, fixed, count, options, error);
    if (!status && tuning.max_seconds > 0)
        work.deadline = work.start + tuning.max_seconds;
    if (!status && directory) {
        work.best_path = path_in(directory, "best.inmo");
        work.page_path = path_in(directory, "trials.html");
        if (!work.best_path || !work.page_path)
            status = inmo_fail_memory(error, "a file name");
    }
    if (!status)
        status = inmo_tune_record_open(&record, directory, tuning.identity, &tuning.arms, error);
    if (!status)
        status = run(&work, &record, &stopped, error);
    if (!status)
        status = conclude(&work, &tuning, &record, &found, error);
    if (!status) {
        found->seconds = inmo_now() - work.start;
        found->stopped = stopped;
        *report = found;
    }
    forget_model(&work);
    inmo_tune_record_close(&record);
    inmo_tuning_free(&tuning);
    inmo_free(work.page_path);
    inmo_free(work.best_path);
    return status;
}

enum inmo_status inmo_tune(const struct inmo_dataset *data, const struct inmo_train_options *fixed,
                           const struct inmo_tune_options *options, const char *directory,
                           const struct inmo_hooks *hooks, struct inmo_tune_report **report,
                           struct inmo_error *error)
{
    return inmo_tune_models(data, fixed, 1, options, directory, hooks, report, error);
}
