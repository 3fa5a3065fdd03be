/* choose.c - see choose.h. The climb starts at the model's starting point and goes along one axis of the lattice
 * after the other, in the direction that is better, until no step is. A trial is a training like any other, mostly
 * with few epochs, and with a sample of users to validate on; all trials have the same seed, so the same start, and
 * the same sample. What is chosen depends on scores and counts, never on the clock, unless `max-seconds` ends the
 * climb or a trial. */
#include "train/choose.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/setting.h"
#include "base/text.h"
#include "base/threads.h"
#include "ranks/ranks.h"
#include "train/settings.h"
#include "train/trainer.h"

#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { TRIAL_USERS = 2000, TRIAL_ITEMS = 4000, MOST_TRIALS = 32 };

struct trial {
    int point[INMO_CHOICE_AXES];
    struct inmo_train_options options; /* the caller's, with the values of the point */
    double score;
};

struct climb {
    const struct inmo_choice *choice;
    const struct inmo_dataset *data;
    const struct inmo_train_options *options;
    const struct inmo_hooks *hooks;
    struct inmo_log_shape log;
    struct trial trial[MOST_TRIALS];
    int trials, best; /* best: the trial that is ahead */
    double start;
    double trial_seconds; /* of a trial, at most; 0: no limit */
};

/* Names of similarities; of the settings that are text only this one is chosen. */
static const char *const similarities[] = {"cosine", "jaccard", "tf-idf", "bm25"};

static int is_auto(const struct inmo_setting *row, const struct inmo_train_options *options)
{
    const char *field = (const char *)options + row->offset;
    if (row->offset == offsetof(struct inmo_train_options, similarity))
        return options->similarity && strcmp(options->similarity, "auto") == 0;
    return row->choices && ((row->type == 'r' && *(const double *)field == INMO_AUTO) ||
                            (row->type == 'i' && *(const int *)field == INMO_AUTO));
}

/* What is weighed beside the vectors waits for them. */
static int is_open(const struct inmo_setting *row, const struct inmo_train_options *options)
{
    return !inmo_is_weighed(row) && is_auto(row, options);
}

const char *inmo_choice_open(const struct inmo_train_options *options)
{
    size_t count;
    const struct inmo_setting *table = inmo_train_settings(&count);
    for (size_t n = 0; n < count; n++)
        if (is_open(table + n, options))
            return table[n].name;
    return NULL;
}

void inmo_choice_start(const struct inmo_model_kind *kind, const struct inmo_log_shape *log,
                       struct inmo_train_options *options)
{
    if (kind->choice)
        kind->choice->take(kind->choice->start, log, options);
}

/* Users and items without a training interaction do not count. */
static enum inmo_status measure(const struct inmo_csr *train, struct inmo_log_shape *log, struct inmo_error *error)
{
    uint8_t *has = inmo_alloc_zero((size_t)train->columns, 1);
    *log = (struct inmo_log_shape){0, 0, (double)inmo_csr_count(train)};
    if (!has)
        return inmo_fail_memory(error, "the settings");
    for (int32_t u = 0; u < train->rows; u++)
        log->users += inmo_csr_degree(train, u) > 0;
    for (int64_t e = 0; e < inmo_csr_count(train); e++) {
        log->items += !has[train->column[e]];
        has[train->column[e]] = 1;
    }
    inmo_free(has);
    return INMO_OK;
}

static int at_most(int number, int limit)
{
    return limit > 0 && limit < number ? limit : number;
}

static int trial_interrupted(void *context)
{
    return inmo_is_interrupted(context);
}

static void show(const struct climb *climb)
{
    struct inmo_progress progress = {
        .stage = "choosing settings",
        .done = climb->trials,
        .total = climb->choice->trials,
        .unit = "trials",
        .seconds = inmo_now() - climb->start,
        .loss = NAN,
        .score = NAN,
        .best_score = climb->trials ? climb->trial[climb->best].score : NAN,
    };
    inmo_report_progress(climb->hooks, &progress);
}

/* What a trial does with fewer epochs, dimensions and users. */
static struct inmo_train_options shorten(const struct climb *climb, const struct inmo_train_options *options)
{
    const struct inmo_choice *choice = climb->choice;
    struct inmo_train_options trial = *options;
    if (choice->half) {
        int most = at_most((int)climb->log.items, options->most_items) / 2;
        trial.most_items = most < 1 ? 1 : at_most(most, TRIAL_ITEMS);
    }
    trial.epochs = at_most(options->epochs, choice->epochs);
    trial.dim = at_most(options->dim, choice->dim);
    trial.valid_users = options->valid_users ? at_most(options->valid_users, TRIAL_USERS) : TRIAL_USERS;
    trial.eval_every = trial.epochs;             /* once, at the end */
    trial.walks = trial.links = trial.prior = 0; /* weighed when there are vectors to weigh them by */
    trial.refit = "none";
    trial.checkpoint = NULL;
    trial.resume = 0;
    trial.from = NULL;
    trial.from_epochs = 0;
    trial.max_seconds = climb->trial_seconds;
    return trial;
}

static enum inmo_status train_trial(const struct climb *climb, struct trial *trial, struct inmo_error *error)
{
    struct inmo_hooks quiet = {.context = (void *)climb->hooks, .interrupted = trial_interrupted};
    struct inmo_train_options options = shorten(climb, &trial->options);
    struct inmo_train_report report;
    struct inmo_model *model = NULL;
    enum inmo_status status;
    status = inmo_train(climb->data, &options, &quiet, &model, &report, error);
    trial->score = status || !isfinite(report.best_score) ? -INFINITY : report.best_score;
    inmo_model_free(model);
    return status == INMO_NUMERIC ? INMO_OK : status; /* settings that do not work are merely worse than others */
}

/* Tries a point; sets *ahead if it is better than all before. A point whose settings were tried is not tried
 * again. */
static enum inmo_status try_point(struct climb *climb, const int *point, int *ahead, struct inmo_error *error)
{
    struct trial *trial = &climb->trial[climb->trials];
    double limit = climb->options->max_seconds;
    enum inmo_status status;
    *ahead = 0;
    if (climb->trials >= climb->choice->trials ||
        (limit > 0 && climb->trials > 0 && inmo_ranks_agree(inmo_now() - climb->start > limit / 2)))
        return INMO_OK;
    memcpy(trial->point, point, sizeof trial->point);
    trial->options = *climb->options;
    climb->choice->take(point, &climb->log, &trial->options);
    for (int n = 0; n < climb->trials; n++)
        if (memcmp(&climb->trial[n].options, &trial->options, sizeof trial->options) == 0)
            return INMO_OK;
    show(climb);
    status = train_trial(climb, trial, error);
    if (status)
        return status;
    *ahead = climb->trials == 0 || trial->score > climb->trial[climb->best].score * (1 + climb->choice->margin);
    if (*ahead)
        climb->best = climb->trials;
    climb->trials++;
    return INMO_OK;
}

/* Goes from the best point in one direction as long as that is better. */
static enum inmo_status go(struct climb *climb, int axis, int step, int *moved, struct inmo_error *error)
{
    int ahead = 1;
    enum inmo_status status = INMO_OK;
    while (!status && ahead) {
        int point[INMO_CHOICE_AXES];
        memcpy(point, climb->trial[climb->best].point, sizeof point);
        point[axis] += step;
        if (point[axis] < 0 || point[axis] >= climb->choice->count[axis])
            break;
        status = try_point(climb, point, &ahead, error);
        *moved |= ahead;
    }
    return status;
}

/* Whether the settings are the same at all points of the lattice: nothing is to be tried then. */
static int is_settled(const struct climb *climb)
{
    const struct inmo_choice *choice = climb->choice;
    struct inmo_train_options start = *climb->options;
    choice->take(choice->start, &climb->log, &start);
    for (int axis = 0; axis < choice->axes; axis++)
        for (int at = 0; at < choice->count[axis]; at++) {
            struct inmo_train_options other = *climb->options;
            int point[INMO_CHOICE_AXES];
            memcpy(point, choice->start, sizeof point);
            point[axis] = at;
            choice->take(point, &climb->log, &other);
            if (memcmp(&other, &start, sizeof start) != 0)
                return 0;
        }
    return 1;
}

static enum inmo_status climb_up(struct climb *climb, struct inmo_error *error)
{
    int moved = 0;
    enum inmo_status status = try_point(climb, climb->choice->start, &moved, error);
    if (climb->trial_seconds > 0 && climb->trial[0].score == -INFINITY)
        moved = climb->trials = 0; /* its time was up before it was validated, as that of others would be */
    while (!status && moved) {
        moved = 0;
        for (int axis = 0; axis < climb->choice->axes && !status; axis++) {
            int here = 0;
            status = go(climb, axis, 1, &here, error);
            if (!status && !here)
                status = go(climb, axis, -1, &here, error);
            moved |= here;
        }
    }
    return status;
}

/* "unobserved": 0.1, "l2": 0.03: the values of the settings that were open. */
static void write_values(const struct inmo_train_options *open, const struct inmo_train_options *values,
                         struct inmo_text *text)
{
    size_t count, written = 0;
    const struct inmo_setting *table = inmo_train_settings(&count);
    char number[64];
    for (size_t n = 0; n < count; n++) {
        if (!is_open(table + n, open))
            continue;
        inmo_setting_text(table + n, values, number, sizeof number);
        inmo_text_format(text, table[n].type == 's' ? "%s\"%s\": \"%s\"" : "%s\"%s\": %s", written++ ? ", " : "",
                         table[n].name, number);
    }
}

/* {"chosen": {...}, "tried": [{..., "ndcg@20": ...}, ...], "trial": {...}} */
static char *write_note(const struct climb *climb, const struct inmo_train_options *chosen)
{
    struct inmo_train_options trial = shorten(climb, chosen);
    struct inmo_text text = {0};
    inmo_text_format(&text, "{\"chosen\": {");
    write_values(climb->options, chosen, &text);
    inmo_text_format(&text, "}, \"tried\": [");
    for (int n = 0; n < climb->trials; n++) {
        inmo_text_format(&text, "%s{", n ? ", " : "");
        write_values(climb->options, &climb->trial[n].options, &text);
        inmo_text_format(&text, ", \"ndcg@20\": ");
        inmo_text_number(&text, climb->trial[n].score, 9);
        inmo_text_format(&text, "}");
    }
    inmo_text_format(&text, "], \"trial\": {\"epochs\": %d, \"dim\": %d, \"valid-users\": %d, \"most-items\": %d}}",
                     trial.epochs, trial.dim, trial.valid_users, trial.most_items);
    return inmo_text_take(&text);
}

static void tell(const struct climb *climb, const struct inmo_train_options *chosen)
{
    struct inmo_text text = {0};
    char *values;
    write_values(climb->options, chosen, &text);
    values = inmo_text_take(&text);
    for (char *from = values, *to = values; values; from++) { /* without the quotes of JSON */
        if (*from != '"' && *from != ':')
            *to++ = *from;
        if (!*from)
            break;
    }
    if (values && climb->trials)
        inmo_note(climb->hooks, INMO_NOTE, "chosen by validation in %d trials: %s", climb->trials, values);
    else if (values)
        inmo_note(climb->hooks, INMO_NOTE, "chosen by the log's size%s: %s",
                  is_settled(climb)                          ? ""
                  : inmo_csr_count(&climb->data->valid) == 0 ? ", as there is no validation part"
                  : climb->options->from                     ? ", as there is an earlier model"
                                                             : ", as `max-seconds` leaves no time to try others",
                  values);
    inmo_free(values);
}

void inmo_choice_recall(const char *record, struct inmo_train_options *chosen)
{
    size_t count,
        length = strcspn(record, "\n"); /* an object is a line, which ends in a comma if another follows */
    const struct inmo_setting *table = inmo_train_settings(&count);
    json_t *first = NULL;
    length -= length > 0 && record[length - 1] == ',';
    if (inmo_json_parse(record, length, 0, &first, NULL) == INMO_OK)
        for (size_t n = 0; n < count; n++) {
            const json_t *value = json_object_get(json_object_get(first, "chosen"), table[n].name);
            char text[64];
            if (json_is_string(value) && is_auto(table + n, chosen))
                for (size_t s = 0; s < sizeof similarities / sizeof *similarities; s++)
                    if (strcmp(json_string_value(value), similarities[s]) == 0)
                        chosen->similarity = similarities[s];
            if (!json_is_number(value) || !is_auto(table + n, chosen))
                continue;
            inmo_format(text, sizeof text, "%.17g", json_number_value(value));
            inmo_setting_set(table + n, chosen, text);
        }
    json_decref(first);
}

/* Takes over what an interrupted run had chosen: its checkpoint has it in the record, and the record goes on from
 * there. Settings stay open if there is no checkpoint, or none with such a choice. */
static enum inmo_status take_over(struct inmo_train_options *chosen, struct inmo_error *error)
{
    char *record = NULL;
    enum inmo_status status = INMO_OK;
    if (!chosen->resume || access(chosen->checkpoint, F_OK) != 0)
        return INMO_OK;
    status = inmo_checkpoint_record(chosen->checkpoint, &record, error);
    if (!status)
        inmo_choice_recall(record, chosen);
    inmo_free(record);
    return status;
}

enum inmo_status inmo_choose(const struct inmo_model_kind *kind, const struct inmo_dataset *data,
                             const struct inmo_train_options *options, const struct inmo_hooks *hooks,
                             struct inmo_train_options *chosen, char **note, struct inmo_error *error)
{
    struct climb *climb = NULL;
    int settled = 0;
    enum inmo_status status = INMO_OK;
    *chosen = *options;
    if (inmo_choice_open(options))
        status = take_over(chosen, error);
    if (status)
        return status;
    if (!inmo_choice_open(chosen)) {
        *note = inmo_copy_string("");
        return *note ? INMO_OK : inmo_fail_memory(error, "the settings");
    }
    climb = inmo_alloc_zero(1, sizeof *climb);
    if (!climb)
        return inmo_fail_memory(error, "the settings");
    *climb = (struct climb){
        .choice = kind->choice, .data = data, .options = options, .hooks = hooks, .start = inmo_now()};
    if (!kind->system) /* several trials of a long log must leave time for the training itself */
        climb->trial_seconds = options->max_seconds / 8;
    status = measure(&data->train, &climb->log, error);
    settled = is_settled(climb);
    if (!status && inmo_csr_count(&data->valid) > 0 && !settled &&
        (kind->system || (!inmo_is_hurried(options) && !options->from)))
        status = climb_up(climb, error);
    if (!status) {
        if (climb->trials)
            *chosen = climb->trial[climb->best].options;
        else
            inmo_choice_start(kind, &climb->log, chosen);
        /* Of a model by steps, what follows from the log's size is a setting like any other: the configuration has
         * it. But where there was something to try, a resumed run must not try it, even if it has more time. */
        *note = kind->system || !settled ? write_note(climb, chosen) : inmo_copy_string("");
        status = *note ? INMO_OK : inmo_fail_memory(error, "the settings");
    }
    if (!status)
        tell(climb, chosen);
    inmo_free(climb);
    return status;
}
