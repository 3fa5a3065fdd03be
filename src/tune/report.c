/* report.c - the report of a search: one object that owns all its strings. */
#include "base/memory.h"
#include "tune/tune.h"

#include <string.h>

struct whole_report {
    struct inmo_tune_report shown;    /* first: a pointer to it is a pointer to the whole */
    struct inmo_arms arms;            /* owns the values that are strings */
    const char **setting;             // (settings)
    struct inmo_tune_trial *trial;    // (trials)
    const char **value;               // (trials, settings)
    char (*number)[INMO_VALUE_SIZE];  // (trials, settings) the values that are numbers
    char **copy;  // (copies) strings of the best options, sentences of failed trials, file names
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

static enum inmo_status fill_best(struct whole_report *whole, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_train_options *best = &whole->shown.best;
    size_t count;
    const struct inmo_setting *row = inmo_train_settings(&count);

    *best = whole->arms.arm[0].fixed;
    if (whole->shown.trial_count > 0) {
        *best = inmo_arms_options(&whole->arms, whole->trial[0].number - 1);
        if (whole->trial[0].epochs > 0)
            best->epochs = whole->trial[0].epochs;
    }
    for (size_t n = 0; n < count && !status; n++)
        if (row[n].type == 's')
            status = copy_text(whole, (const char **)((char *)best + row[n].offset), error);
    return status;
}

/* The columns: the model, if there are several, and every setting that is searched in one of them. */
static size_t name_settings(const struct inmo_arms *arms, const char **setting)
{
    size_t count = 0;
    if (arms->count > 1)
        setting[count++] = "model";
    for (size_t a = 0; a < arms->count; a++)
        for (size_t n = 0; n < arms->arm[a].space.axis_count; n++) {
            const char *name = arms->arm[a].space.axis[n].row->name;
            size_t m = 0;
            while (m < count && setting[m] != name)
                m++;
            if (m == count)
                setting[count++] = name;
        }
    return count;
}

/* The value of a column in a trial. */
static const char *value_of(const struct inmo_arms *arms, const char *setting, int trial,
                            char buffer[INMO_VALUE_SIZE])
{
    const struct inmo_arm *arm = &arms->arm[inmo_arms_find(arms, trial)];
    if (strcmp(setting, "model") == 0)
        return arm->model;
    for (size_t n = 0; n < arm->space.axis_count; n++)
        if (arm->space.axis[n].row->name == setting)
            return inmo_arms_value(arms, trial, n, buffer);
    return "";
}

static double seconds_of(const struct inmo_tune_record *record, int trial)
{
    double sum = 0;
    for (size_t n = 0; n < record->count; n++)
        sum += record->outcome[n].trial == trial ? record->outcome[n].seconds : 0;
    return sum;
}

static enum inmo_status fill_trials(struct whole_report *whole, const struct inmo_search *search,
                                    const struct inmo_tune_record *record, const struct inmo_standing *standing,
                                    size_t count, size_t settings, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    for (size_t n = 0; n < count && !status; n++) {
        int trial = standing[n].trial;
        const struct inmo_arm *arm = &whole->arms.arm[inmo_arms_find(&whole->arms, trial)];
        whole->trial[n] = (struct inmo_tune_trial){
            .number = trial + 1,
            .value = whole->value + n * settings,
            .epochs = arm->closed ? 0 : search->epochs[arm - whole->arms.arm][standing[n].rung],
            .score = standing[n].score,
            .deviation = standing[n].deviation,
            .error = standing[n].failed ? standing[n].failed->error : NULL,
            .model = arm->model,
            .seconds = seconds_of(record, trial),
        };
        for (size_t s = 0; s < settings; s++)
            whole->value[n * settings + s] =
                value_of(&whole->arms, whole->setting[s], trial, whole->number[n * settings + s]);
        status = copy_text(whole, &whole->trial[n].error, error);
    }
    return status;
}

enum inmo_status inmo_tune_report_new(struct inmo_tuning *tuning, const struct inmo_tune_record *record,
                                      const char *best_model, const char *page, struct inmo_tune_report **report,
                                      struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    size_t trials = (size_t)tuning->search.trials[0], settings, rows, count;
    struct inmo_standing *standing = inmo_alloc(trials, sizeof *standing);
    struct whole_report *whole = inmo_alloc_zero(1, sizeof *whole);

    inmo_train_settings(&rows);
    if (whole)
        whole->setting = inmo_alloc(rows, sizeof *whole->setting);
    settings = whole && whole->setting ? name_settings(&tuning->arms, whole->setting) : 0;
    if (whole) {
        whole->trial = inmo_alloc_zero(trials, sizeof *whole->trial);
        whole->value = inmo_alloc(trials * settings, sizeof *whole->value);
        whole->number = inmo_alloc(trials * settings, sizeof *whole->number);
        whole->copy = inmo_alloc(trials + rows + 2, sizeof *whole->copy);
    }
    if (!standing || !whole || !whole->setting || !whole->trial || !whole->value || !whole->number ||
        !whole->copy) {
        status = inmo_fail_memory(error, "the report of the search");
        goto done;
    }
    count = inmo_search_standings(&tuning->search, record, standing);
    whole->arms = tuning->arms;
    tuning->arms = (struct inmo_arms){0};
    status = fill_trials(whole, &tuning->search, record, standing, count, settings, error);
    whole->shown.setting_count = settings;
    whole->shown.setting = whole->setting;
    whole->shown.trial_count = count;
    whole->shown.trial = whole->trial;
    whole->shown.planned = tuning->search.trials[0];
    whole->shown.best_model = best_model;
    whole->shown.page = page;
    if (!status)
        status = copy_text(whole, &whole->shown.best_model, error);
    if (!status)
        status = copy_text(whole, &whole->shown.page, error);
    if (!status)
        status = fill_best(whole, error);
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
    inmo_arms_free(&whole->arms);
    inmo_free(whole);
}
