/* do_runs.c - does the runs of a plan one after the other, with an estimate of the time and progress messages.
 *
 * The estimate is printed first. A system with a finished run is expected to take as long as that run; of any
 * other, one epoch is trained and discarded. It is an upper bound, because training may stop early. */
#include "base/memory.h"
#include "base/number.h"
#include "base/threads.h"
#include "lab/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Forwards to the caller's hooks under the run's name, without notes about checkpoints. */
struct run_hooks {
    const struct inmo_hooks *hooks;
    char stage[160];
};

static void pass_log(void *context, enum inmo_level level, const char *sentence)
{
    const struct run_hooks *run_hooks = context;
    if (level == INMO_WARNING)
        inmo_note(run_hooks->hooks, level, "%s", sentence);
}

static void pass_progress(void *context, const struct inmo_progress *progress)
{
    const struct run_hooks *run_hooks = context;
    struct inmo_progress named = *progress;
    named.stage = run_hooks->stage;
    inmo_report_progress(run_hooks->hooks, &named);
}

static int pass_interrupted(void *context)
{
    const struct run_hooks *run_hooks = context;
    return inmo_is_interrupted(run_hooks->hooks);
}

/* ---- How long ------------------------------------------------------------------------------------------------ */

/* 0 for models fitted in closed form: they have no epoch to time. */
static int has_epochs(const struct inmo_lab_run *run)
{
    const struct inmo_model_kind *kind = inmo_model_kind_find(run->system.model);
    return !kind->system || kind->system->learning;
}

static int can_train(const struct inmo_lab_run *run)
{
    return run->trained != INMO_NEW_USERS_ITEMS || inmo_kind_serves_unseen(inmo_model_kind_find(run->system.model));
}

/* A run of the same system, with any seed and scenario, that is done (or, with done 0, was estimated before). */
static size_t find_like(const struct inmo_lab *lab, size_t number, int done)
{
    const struct inmo_lab_run *run = &lab->run[number];
    for (size_t n = 0; n < (done ? lab->runs : number); n++)
        if (n != number && strcmp(lab->run[n].system.model, run->system.model) == 0 &&
            lab->run[n].system.templates == run->system.templates && strcmp(lab->run[n].recipe, run->recipe) == 0 &&
            (lab->run[n].result != NULL) == done && can_train(&lab->run[n]))
            return n;
    return number;
}

/* Estimates the seconds of a run by training one epoch; 0 if that is not possible. */
static enum inmo_status probe(struct inmo_lab *lab, const struct inmo_lab_run *run, const struct inmo_hooks *hooks,
                              double *seconds, struct inmo_error *error)
{
    struct inmo_train_options options = run->options;
    struct inmo_train_report report = {0};
    const struct inmo_dataset *dataset = NULL;
    struct inmo_model *model = NULL;
    enum inmo_status status = inmo_lab_dataset(&lab->data, run->trained, run->seed, &dataset, error);
    options.epochs = 1;
    if (status)
        return status;
    status = inmo_train(dataset, &options, hooks, &model, &report, error);
    inmo_model_free(model);
    if (status == INMO_INTERRUPTED || status == INMO_MEMORY)
        return status;
    if (status) /* the run itself will report it */
        return INMO_OK;
    *seconds = report.seconds + report.seconds_per_epoch * (run->options.epochs - 1);
    if (run->options.max_seconds > 0)
        *seconds = fmin(*seconds, run->options.max_seconds);
    return INMO_OK;
}

/* expected (runs): estimated seconds of each run that is not done; *unknown: number of runs without an estimate. */
static enum inmo_status estimate(struct inmo_lab *lab, struct run_hooks *run_hooks, const struct inmo_hooks *hooks,
                                 double *expected, size_t *unknown, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    for (size_t n = 0; n < lab->runs && !status; n++) {
        const struct inmo_lab_run *run = &lab->run[n];
        size_t like = find_like(lab, n, 1), before = find_like(lab, n, 0);
        expected[n] = 0;
        if (run->result || !can_train(run))
            continue;
        if (like != n)
            expected[n] = json_number_value(json_object_get(lab->run[like].result, "seconds"));
        else if (before != n)
            expected[n] = expected[before];
        else if (has_epochs(run)) {
            snprintf(run_hooks->stage, sizeof run_hooks->stage, "trying an epoch of %s", run->what);
            status = probe(lab, run, hooks, &expected[n], error);
        }
        *unknown += expected[n] == 0;
    }
    return status;
}

static double sum_of(const struct inmo_lab *lab, const double *expected)
{
    double sum = 0;
    for (size_t n = 0; n < lab->runs; n++)
        sum += lab->run[n].result ? 0 : expected[n];
    return sum;
}

static void write_duration(double seconds, char *text, size_t size)
{
    if (seconds < 90)
        inmo_format(text, size, "%.0f s", ceil(seconds));
    else if (seconds < 5400)
        inmo_format(text, size, "%.0f min", seconds / 60);
    else
        inmo_format(text, size, "%.1f h", seconds / 3600);
}

/* ---- One after the other ------------------------------------------------------------------------------------- */

static void say_done(const struct inmo_lab *lab, size_t number, const double *expected, double seconds,
                     const struct inmo_hooks *hooks)
{
    const struct inmo_lab_run *run = &lab->run[number];
    double ndcg = inmo_lab_run_value(run, "test", "all", "ndcg");
    const char *reason = json_string_value(json_object_get(run->result, "error"));
    char left[32], found[32] = "not possible";
    size_t done = 0;
    for (size_t n = 0; n < lab->runs; n++)
        done += lab->run[n].result != NULL;
    write_duration(sum_of(lab, expected), left, sizeof left);
    if (isfinite(ndcg))
        inmo_format(found, sizeof found, "NDCG@20 %.2f", ndcg);
    inmo_note(hooks, INMO_NOTE, "run %zu of %zu: %s: %s (%.1f s)%s%s; at most %s left", done, lab->runs, run->what,
              found, seconds, reason ? ": " : "", reason ? reason : "", left);
}

/* Drops rows whose run is not finished. */
static void keep_finished(struct inmo_lab *lab)
{
    size_t kept = 0;
    for (size_t r = 0; r < lab->rows; r++) {
        size_t seeds = inmo_lab_seeds_of(lab, lab->row[r].experiment), there = 0;
        for (size_t s = 0; s < seeds; s++)
            there += lab->run[lab->run_of[r * lab->seeds + s]].result != NULL;
        if (there < seeds)
            continue;
        lab->row[kept] = lab->row[r];
        memmove(lab->run_of + kept * lab->seeds, lab->run_of + r * lab->seeds, lab->seeds * sizeof *lab->run_of);
        kept++;
    }
    lab->rows = kept;
}

enum inmo_status inmo_lab_do_runs(struct inmo_lab *lab, const char *folder, const struct inmo_hooks *hooks,
                                  int *trained, struct inmo_error *error)
{
    struct run_hooks run_hooks = {.hooks = hooks};
    const struct inmo_hooks passed = {&run_hooks, pass_log, pass_progress, pass_interrupted};
    double *expected = inmo_alloc_zero(lab->runs, sizeof *expected);
    size_t pending = 0, unknown = 0;
    char duration[32], besides[64] = "";
    enum inmo_status status = expected ? INMO_OK : inmo_fail_memory(error, "the runs");
    for (size_t n = 0; n < lab->runs && !status; n++) {
        status = inmo_lab_run_load(&lab->run[n], folder, hooks, error);
        if (!status && lab->options->finished && !lab->run[n].result && !can_train(&lab->run[n])) /* records why */
            status = inmo_lab_run_do(&lab->run[n], &lab->data, folder, &passed, error);
        pending += lab->run[n].result == NULL;
    }
    if (!status && lab->options->finished) {
        keep_finished(lab);
        pending = 0;
    }
    if (!status && pending > 0)
        status = estimate(lab, &run_hooks, &passed, expected, &unknown, error);
    if (!status && pending > 0) {
        write_duration(sum_of(lab, expected), duration, sizeof duration);
        if (unknown > 0)
            snprintf(besides, sizeof besides, ", beside %zu that are fitted at once", unknown);
        inmo_note(hooks, INMO_NOTE, "%zu of %zu runs are done; training the others takes at most about %s%s",
                  lab->runs - pending, lab->runs, duration, besides);
    }
    for (size_t n = 0; n < lab->runs && !status; n++) {
        double start = inmo_now();
        if (lab->run[n].result || lab->options->finished)
            continue;
        snprintf(run_hooks.stage, sizeof run_hooks.stage, "run %zu of %zu: %s", n + 1, lab->runs, lab->run[n].what);
        status = inmo_lab_run_do(&lab->run[n], &lab->data, folder, &passed, error);
        if (status)
            break;
        ++*trained;
        say_done(lab, n, expected, inmo_now() - start, hooks);
    }
    inmo_free(expected);
    return status;
}
