/* report.c - the report of a search: one object that owns all its strings. */
#include "base/memory.h"
#include "tune/tune.h"

#include <string.h>

struct whole_report {
    struct inmo_tune_report shown;    /* first: a pointer to it is a pointer to the whole */
    struct inmo_space space;          /* owns the values that are strings */
    const char **setting;             // (settings)
    struct inmo_tune_trial *trial;    // (trials)
    const char **value;               // (trials, settings)
    char (*number)[INMO_VALUE_SIZE];  // (trials, settings) the values that are numbers
    char **copy;                      // (copies) strings of the best options, sentences of failed trials
    size_t copies;
};

static enum inmo_status copy_text(struct whole_report *whole, const char **text, struct inmo_error *error)
{
    if (!*text)
        return INMO_OK;
    *text = whole->copy[whole->copies] = inmo_copy_string(*text);
    if (!*text)
        return inmo_fail_memory(error, "the report of the search");
    whole->copies++;
    return INMO_OK;
}

static enum inmo_status fill_best(struct whole_report *whole, const struct inmo_tuning *tuning,
                                  struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_train_options *best = &whole->shown.best;
    size_t count;
    const struct inmo_setting *row = inmo_train_settings(&count);

    *best = tuning->fixed;
    if (whole->shown.trial_count > 0) {
        inmo_space_apply(&whole->space, (uint64_t)whole->trial[0].number - 1, best);
        best->epochs = whole->trial[0].epochs;
    }
    for (size_t n = 0; n < count && !status; n++)
        if (row[n].type == 's')
            status = copy_text(whole, (const char **)((char *)best + row[n].offset), error);
    return status;
}

enum inmo_status inmo_tune_report_new(struct inmo_tuning *tuning, const struct inmo_tune_record *record,
                                      struct inmo_tune_report **report, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    size_t trials = (size_t)tuning->search.trials[0], settings = tuning->space.axis_count, rows, count = 0;
    struct inmo_standing *standing = inmo_alloc(trials, sizeof *standing);
    struct whole_report *whole = inmo_alloc_zero(1, sizeof *whole);

    inmo_train_settings(&rows);
    if (whole) {
        whole->setting = inmo_alloc(settings, sizeof *whole->setting);
        whole->trial = inmo_alloc_zero(trials, sizeof *whole->trial);
        whole->value = inmo_alloc(trials * settings, sizeof *whole->value);
        whole->number = inmo_alloc(trials * settings, sizeof *whole->number);
        whole->copy = inmo_alloc(trials + rows, sizeof *whole->copy);
    }
    if (!standing || !whole || !whole->setting || !whole->trial || !whole->value || !whole->number ||
        !whole->copy) {
        status = inmo_fail_memory(error, "the report of the search");
        goto done;
    }
    whole->space = tuning->space;
    tuning->space = (struct inmo_space){0};
    for (size_t a = 0; a < settings; a++)
        whole->setting[a] = whole->space.axis[a].row->name;
    count = inmo_search_standings(&tuning->search, record, standing);
    for (size_t n = 0; n < count && !status; n++) {
        whole->trial[n] = (struct inmo_tune_trial){
            .number = standing[n].trial + 1,
            .value = whole->value + n * settings,
            .epochs = tuning->search.epochs[standing[n].rung],
            .score = standing[n].score,
            .deviation = standing[n].deviation,
            .error = standing[n].failed ? standing[n].failed->error : NULL,
        };
        for (size_t a = 0; a < settings; a++)
            whole->value[n * settings + a] =
                inmo_space_value(&whole->space, a, (uint64_t)standing[n].trial, whole->number[n * settings + a]);
        status = copy_text(whole, &whole->trial[n].error, error);
    }
    whole->shown.setting_count = settings;
    whole->shown.setting = whole->setting;
    whole->shown.trial_count = count;
    whole->shown.trial = whole->trial;
    whole->shown.planned = tuning->search.trials[0];
    if (!status)
        status = fill_best(whole, tuning, error);
    if (!status) {
        *report = &whole->shown;
        whole = NULL;
    }
done:
    inmo_tune_report_free(whole ? &whole->shown : NULL);
    inmo_free(standing);
    return status;
}

void inmo_tune_report_free(struct inmo_tune_report *report)
{
    struct whole_report *whole = (struct whole_report *)report;
    if (!whole)
        return;
    for (size_t n = 0; n < whole->copies; n++)
        inmo_free(whole->copy[n]);
    inmo_free(whole->copy);
    inmo_free(whole->number);
    inmo_free(whole->value);
    inmo_free(whole->trial);
    inmo_free(whole->setting);
    inmo_space_free(&whole->space);
    inmo_free(whole);
}
