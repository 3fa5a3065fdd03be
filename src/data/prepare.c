/* prepare.c - from a log to a data set:
 *
 *     log  ->  rows  ->  merged  ->  k-core  ->  split by time, hold-out by runs  ->  numbered, ascending
 *                                                      (need the order of the log)
 *          ->  split by seed or hold-out  ->  weights  ->  scenario  ->  train, valid, test, later
 *
 * rows.c filters, split.c assigns parts; this file orders the steps, explains when nothing is left, and builds the
 * data set. Linear in the interactions; memory as in rows.c (the parts, 5 bytes per interaction, are allocated
 * after the lists by item are freed). The result depends only on the log, the options and the seed. */
#include "base/memory.h"
#include "base/setting.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/log.h"
#include "data/preparation.h"
#include "data/seen.h"
#include "data/weights.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ROW(name, type, field, least, most, choices, group, value, help)                                           \
    {                                                                                                              \
        name, type, offsetof(struct inmo_prepare_options, field), least, most, choices, group, value, help         \
    }

static const struct inmo_setting SETTINGS[] = {
    ROW("k-core", 'i', k_core, 0, 1000000000, NULL, "Filter", "N",
        "Keep only users and items with at least N interactions, repeated until stable; 0 keeps all."),
    ROW("split", 's', split, 0, 0, NULL, "Split", "A/B/C",
        "Percent of each user's items for training, validation and test."),
    ROW("by", 's', by, 0, 0, "random|time|cut|column", "Split", "HOW",
        "Split at random, by time (each user's newest to the test), by one cut in time for everybody, or by a "
        "split "
        "column. Default: by the column if there is one, else at random."),
    ROW("hold-out", 'r', hold_out, 0, 1, NULL, "Split", "X",
        "With a split column: share of each user's training items moved to validation."),
    /* The bound is 2^53 - 1: every JSON reader returns such numbers exactly. */
    ROW("seed", 'u', seed, 0, 9007199254740991.0, NULL, "Split", "N", "Random seed."),
    ROW("scenario", 's', scenario, 0, 0, "transductive|new-interactions|new-users-items", "Scenario", "NAME",
        "What is unseen in training: nothing, some interactions of every user, or some users and items."),
    ROW("new-share", 'r', new_share, 0, 1, NULL, "Scenario", "X",
        "Share of new interactions, or of new users and items."),
    ROW("new-choice", 's', new_choice, 0, 0, "random|last", "Scenario", "HOW",
        "Which users and items are new: drawn by seed, as the paper says, or the last ones in order of first "
        "appearance, as in its authors' runs."),
    ROW("cut", 's', cut, 0, 0, NULL, "Split", "DATE",
        "By cut: when the test begins (a date or a time as in the log), or when validation and test begin: "
        "2024-01-01,2024-02-01. Default: by the shares of the split."),
    ROW("last", 'i', last, 0, 1000000000, NULL, "Split", "N",
        "By time: the last N items of each user are the test, the N before them validation; 0: by shares."),
    ROW("weight-scale", 's', weight_scale, 0, 0, "log|plain", "Weights", "HOW",
        "How a weight counts: log: the logarithm of 1 and the sum of a pair's weights, plain: the sum."),
    ROW("half-life", 's', half_life, 0, 0, NULL, "Weights", "TIME",
        "An interaction so much older than the newest in training counts half: 90d, 12h, or a number in the log's "
        "unit of time. Default: age does not count."),
    ROW("hold-out-by", 's', hold_out_by, 0, 0, "random|runs|last", "Split", "HOW",
        "With a split column: which items `hold-out` moves: random ones; a run of some users' items, by time or as "
        "they follow each other in the log, for a log that will be judged by what comes later; or everybody's last "
        "ones."),
};
/* A description leaves out what came later, from new-choice on, where it is the default. */
enum { SETTING_COUNT = sizeof SETTINGS / sizeof SETTINGS[0], NEW_CHOICE = SETTING_COUNT - 6 };

void inmo_prepare_options_init_sized(struct inmo_prepare_options *options, size_t size)
{
    const struct inmo_prepare_options defaults = {.split = "70/10/20",
                                                  .seed = 1,
                                                  .scenario = "transductive",
                                                  .new_share = 0.2,
                                                  .new_choice = "random",
                                                  .weight_scale = "log",
                                                  .hold_out_by = "random"};
    inmo_sized_fill(options, size, &defaults, sizeof defaults);
}

const struct inmo_setting *inmo_prepare_settings(size_t *count)
{
    *count = SETTING_COUNT;
    return SETTINGS;
}

enum inmo_status inmo_preparation_check(struct inmo_preparation *p, struct inmo_error *error)
{
    struct inmo_prepare_options *o = &p->options;
    enum inmo_status status = inmo_settings_check(SETTINGS, SETTING_COUNT, o, error);
    if (status != INMO_OK)
        return status;
    if (!o->by)
        o->by = o->cut ? "cut" : o->last > 0 ? "time" : p->log->has_part ? "column" : "random";
    if (!o->split)
        o->split = "70/10/20";
    if (!o->scenario)
        o->scenario = "transductive";
    if (!o->new_choice)
        o->new_choice = "random";
    p->last_are_new = strcmp(o->new_choice, "last") == 0;
    while (strcmp(inmo_scenario_name(p->scenario), o->scenario) != 0)
        p->scenario++;
    if (!o->weight_scale)
        o->weight_scale = "log";
    if (!o->hold_out_by)
        o->hold_out_by = "random";
    p->holds_out_at_random = strcmp(o->hold_out_by, "random") == 0;
    if (p->log->spill && (o->half_life || o->last > 0 || strcmp(o->by, "cut") == 0 || !p->holds_out_at_random))
        return inmo_fail(error, INMO_USAGE, "%s needs the whole log: expected it without `memory`",
                         o->half_life                ? "`half-life`"
                         : o->last > 0               ? "`last`"
                         : strcmp(o->by, "cut") == 0 ? "`by` cut"
                                                     : "`hold-out-by`");
    if ((strcmp(o->by, "time") == 0 || strcmp(o->by, "cut") == 0 || o->half_life) && !p->log->has_time)
        return inmo_fail(error, INMO_USAGE,
                         "%s needs times, and the log has none; `columns` says which column is the time",
                         strcmp(o->by, "time") == 0  ? "`by` time"
                         : strcmp(o->by, "cut") == 0 ? "`by` cut"
                                                     : "`half-life`");
    if ((o->cut && strcmp(o->by, "cut") != 0) || (o->last > 0 && strcmp(o->by, "time") != 0))
        return inmo_fail(error, INMO_USAGE, "`%s` needs `by` %s, and `by` is %s", o->cut ? "cut" : "last",
                         o->cut ? "cut" : "time", o->by);
    if (strcmp(o->by, "column") == 0 && !p->log->has_part)
        return inmo_fail(error, INMO_USAGE,
                         "`by` column needs a split column, and the log has none; `columns` says "
                         "which column is the split");
    if (strcmp(o->by, "column") != 0 && (o->hold_out > 0 || !p->holds_out_at_random))
        return inmo_fail(error, INMO_USAGE,
                         "`%s` needs a split column (`columns` says which one it is, `by` column uses it); "
                         "`split` gives the share of validation otherwise%s",
                         o->hold_out > 0 ? "hold-out" : "hold-out-by",
                         p->holds_out_at_random ? "" : ", `by` time and `last` hold out everybody's last items");
    if (!p->holds_out_at_random && o->hold_out == 0)
        return inmo_fail(
            error, INMO_USAGE,
            "`hold-out-by` %s says which items `hold-out` moves, and that is 0: expected it with a share, such as "
            "`hold-out` 0.1, or `hold-out-by` random",
            o->hold_out_by);
    if (o->half_life || o->cut)
        p->newest = inmo_log_newest(p->log);
    if (o->half_life && (status = inmo_half_life_parse(o->half_life, p->newest, &p->half_life, error)) != INMO_OK)
        return status;
    return inmo_split_parse(o->split, &p->split, error);
}

static enum inmo_status split_by_cut(struct inmo_preparation *p, struct inmo_error *error)
{
    int64_t moment[2];
    int given = 0;
    enum inmo_status status = INMO_OK;
    if (p->options.cut)
        status = inmo_cut_parse(p->options.cut, p->newest, moment, &given, error);
    return status ? status : inmo_split_by_cut(&p->rows, &p->split, moment, given, &p->cut, error);
}

static enum inmo_status weigh(struct inmo_preparation *p, struct inmo_error *error)
{
    const char *by = p->options.by;
    const struct inmo_weight_rule rule = {
        .plain = strcmp(p->options.weight_scale, "plain") == 0,
        .half_life = p->half_life,
        .by_column = strcmp(by, "column") == 0,
        .by_time = strcmp(by, "time") == 0,
        .cut = strcmp(by, "cut") == 0 ? p->cut.at : NULL,
    };
    if (!p->log->has_weight && p->half_life == 0)
        return INMO_OK;
    return inmo_weights_make(p->log, p->user_order, p->item_order, &rule, &p->rows, error);
}

enum inmo_status inmo_preparation_fail_empty(const struct inmo_preparation *p, struct inmo_error *error)
{
    const struct inmo_log *log = p->log;
    struct inmo_text why = {0};
    enum inmo_status status;
    int64_t seen = log->seen ? log->seen->count : 0;
    int64_t read = log->lines > log->count + seen ? log->lines : log->count + seen;
    inmo_text_format(&why, "nothing is left: %" PRId64 " interactions read", read);
    if (log->low_rating_lines > 0) {
        inmo_text_format(&why, ", %" PRId64 " not rated %s (`min-rating`)", log->low_rating_lines, log->threshold);
        if (isfinite(log->highest_rating))
            inmo_text_format(&why, " (highest rating seen %.15g)", log->highest_rating);
    }
    if (log->seen_lines > 0)
        inmo_text_format(&why, ", %" PRId64 " only seen (`seen`)", log->seen_lines);
    if (log->cancelled_lines > 0)
        inmo_text_format(&why, ", %" PRId64 " negative and %" PRId64 " taken back by them (`negative`)",
                         log->cancelled_lines, p->cancelled);
    if (log->ignored_lines > 0)
        inmo_text_format(&why, ", %" PRId64 " of other types than `positive`", log->ignored_lines);
    if (log->weightless_lines > 0)
        inmo_text_format(&why, ", %" PRId64 " of weight 0 (`weight`)", log->weightless_lines);
    if (log->bad_lines > 0)
        inmo_text_format(&why, ", %" PRId64 " passed over as bad lines", log->bad_lines);
    if (p->duplicates > 0)
        inmo_text_format(&why, ", %" PRId64 " merged as duplicates", p->duplicates);
    if (p->below_core > 0)
        inmo_text_format(&why, ", %" PRId64 " removed by `k-core` %d", p->below_core, p->options.k_core);
    status = why.failed ? inmo_fail_memory(error, "a message") : inmo_fail(error, INMO_INPUT, "%s", why.data);
    inmo_text_free(&why);
    return status;
}

enum inmo_status inmo_preparation_fail_untrained(int64_t all, int64_t valid, int64_t test, int64_t later,
                                                 struct inmo_error *error)
{
    return inmo_fail(error, INMO_INPUT,
                     "nothing is left to train on: of %" PRId64 " interactions %" PRId64
                     " went to validation, %" PRId64 " to the test and %" PRId64 " are observed only after "
                     "training (`split`, `hold-out`, `new-share`)",
                     all, valid, test, later);
}

/* A JSON object: source, what was removed, every option. What came later (the choice of new users and items, counts
 * of events) appears only where it is not the default or zero, so that other data has the bytes it always had. */
char *inmo_preparation_describe(const struct inmo_preparation *p, int64_t seen, int32_t extra_users,
                                int32_t extra_items)
{
    const struct {
        const char *name;
        int64_t count;
    } counts[] = {
        {"seen_lines", p->log->seen_lines},
        {"negative_lines", p->log->cancelled_lines},
        {"other_lines", p->log->ignored_lines},
        {"cancelled", p->cancelled},
        {"seen", seen},
        {"extra_users", extra_users},
        {"extra_items", extra_items},
        {"weightless_lines", p->log->weightless_lines},
        {"after_cut", p->cut.interactions},
        {"after_cut_users", p->cut.users},
        {"after_cut_items", p->cut.items},
    };
    struct inmo_prepare_options defaults;

    struct inmo_text json = {0};
    char *options;
    const struct inmo_log *log = p->log;
    inmo_prepare_options_init(&defaults);
    options = inmo_settings_json(
        SETTINGS, inmo_settings_told(SETTINGS, NEW_CHOICE, SETTING_COUNT, &p->options, &defaults), &p->options);
    inmo_text_add(&json, "{\"sources\": ", 12);
    inmo_text_json_string(&json, log->sources);
    inmo_text_format(&json,
                     ", \"lines\": %" PRId64 ", \"bad_lines\": %" PRId64 ", \"low_rating_lines\": %" PRId64
                     ", \"interactions\": %" PRId64 ", \"duplicates\": %" PRId64 ", \"below_k_core\": %" PRId64,
                     log->lines, log->bad_lines, log->low_rating_lines, log->count, p->duplicates, p->below_core);
    if (log->low_rating_lines > 0)
        inmo_text_format(&json, ", \"positive_rating\": \"%s\"", log->threshold);
    for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++)
        if (counts[n].count > 0)
            inmo_text_format(&json, ", \"%s\": %" PRId64, counts[n].name, counts[n].count);
    if (log->reading) {
        inmo_text_format(&json, ", \"reading\": ");
        inmo_text_add(&json, log->reading, strlen(log->reading));
    }
    inmo_text_format(&json, ", \"options\": ");
    inmo_text_add(&json, options ? options : "", options ? strlen(options) : 0);
    inmo_text_add(&json, "}", 1);
    if (!options)
        json.failed = 1;
    inmo_free(options);
    return inmo_text_take(&json);
}

/* Filters the rows and assigns every interaction to a part. */
static enum inmo_status filter_and_split(struct inmo_preparation *p, struct inmo_error *error)
{
    struct inmo_prepare_options *o = &p->options;
    struct inmo_rows *rows = &p->rows;
    int by_column = strcmp(o->by, "column") == 0, by_time = strcmp(o->by, "time") == 0;
    int by_cut = strcmp(o->by, "cut") == 0;
    /* Times are taken along only if something depends on them: the split by time, or which of two duplicates in
     * different parts is the earlier. */
    enum inmo_status status =
        inmo_rows_collect(p->log, by_time || by_cut || (by_column && p->log->has_time), by_column, rows, error);
    if (status == INMO_OK && p->log->cancelled_lines > 0)
        status = inmo_rows_cancel(rows, p->log->seen, &p->cancelled, error);
    if (status == INMO_OK)
        status = inmo_rows_merge(rows, &p->duplicates, error);
    if (status == INMO_OK)
        status = inmo_rows_core(rows, o->k_core, &p->below_core, error);
    if (status == INMO_OK && rows->offset[rows->users] == 0)
        status = inmo_preparation_fail_empty(p, error);
    if (status == INMO_OK && !by_column) {
        rows->part = inmo_alloc_zero((size_t)rows->offset[rows->users], sizeof *rows->part);
        if (!rows->part)
            status = inmo_fail_memory(error, "splitting");
    }
    if (status == INMO_OK && by_time)
        status = inmo_split_by_time(rows, &p->split, o->last, error);
    if (status == INMO_OK && by_cut)
        status = split_by_cut(p, error);
    if (status == INMO_OK && rows->offset[rows->users] == 0)
        status = inmo_fail(error, INMO_INPUT,
                           "nothing is left to train on: all interactions are from the cut on (`cut`, `split`)");
    if (status == INMO_OK && !p->holds_out_at_random)
        status = inmo_split_hold_out_runs(rows, o->hold_out, strcmp(o->hold_out_by, "last") == 0, o->seed, error);
    if (status == INMO_OK)
        status = inmo_rows_number(p->log, rows, &p->user_order, &p->item_order, error);
    if (status == INMO_OK && !by_time && !by_cut && !by_column)
        status = inmo_split_by_seed(rows, &p->split, o->seed, error);
    if (status == INMO_OK && o->hold_out > 0 && p->holds_out_at_random)
        status = inmo_split_hold_out(rows, inmo_share(o->hold_out), o->seed, error);
    if (status == INMO_OK)
        status = weigh(p, error);
    return status;
}

static enum inmo_status build(struct inmo_preparation *p, struct inmo_dataset *dataset, struct inmo_error *error)
{
    struct inmo_rows *rows = &p->rows;
    struct inmo_idmap users = inmo_idtable_map(p->log->users), items = inmo_idtable_map(p->log->items);
    uint8_t *new_user = inmo_alloc_zero((size_t)rows->users, sizeof *new_user);
    uint8_t *new_item = inmo_alloc_zero((size_t)rows->items, sizeof *new_item);
    enum inmo_status status = INMO_OK;
    dataset->scenario = p->scenario;
    dataset->new_user = new_user;
    dataset->new_item = new_item;
    if (!new_user || !new_item)
        status = inmo_fail_memory(error, "the data set");
    if (status == INMO_OK)
        status = inmo_scenario_choose(p->scenario, rows->users, rows->items, inmo_share(p->options.new_share),
                                      p->last_are_new, p->options.seed, new_user, new_item, error);
    if (status == INMO_OK)
        status = inmo_scenario_apply(p->scenario, rows, inmo_share(p->options.new_share), p->options.seed, new_user,
                                     new_item, error);
    if (status == INMO_OK)
        status = inmo_copy_ids(&users, p->user_order, rows->users, &dataset->users, error);
    if (status == INMO_OK)
        status = inmo_copy_ids(&items, p->item_order, rows->items, &dataset->items, error);
    if (status == INMO_OK)
        status = inmo_rows_part(rows, INMO_TRAIN, 1, &dataset->train, error);
    if (status == INMO_OK)
        status = inmo_rows_part(rows, INMO_VALID, 1, &dataset->valid, error);
    if (status == INMO_OK)
        status = inmo_rows_part(rows, INMO_TEST, 0, &dataset->test, error);
    if (status == INMO_OK)
        status = inmo_rows_part(rows, INMO_LATER, 1, &dataset->later, error);
    if (status == INMO_OK)
        status = inmo_rows_part(rows, INMO_ASIDE, 0, &dataset->aside, error);
    /* A k-core says who stays: those it removes are not brought back by what they saw. */
    if (status == INMO_OK)
        status =
            inmo_seen_collect(p->log, rows, p->user_order, p->item_order, p->options.k_core <= 1, dataset, error);
    if (status == INMO_OK &&
        !(dataset->description = inmo_preparation_describe(p, inmo_csr_count(&dataset->seen),
                                                           dataset->extra_users.count, dataset->extra_items.count)))
        status = inmo_fail_memory(error, "the data set");
    if (status == INMO_OK && inmo_csr_count(&dataset->train) == 0)
        status =
            inmo_preparation_fail_untrained(rows->offset[rows->users], inmo_csr_count(&dataset->valid),
                                            inmo_csr_count(&dataset->test), inmo_csr_count(&dataset->later), error);
    return status;
}

enum inmo_status inmo_dataset_prepare(const struct inmo_log *log, const struct inmo_prepare_options *options,
                                      struct inmo_dataset **dataset, struct inmo_error *error)
{
    struct inmo_preparation p = {.log = log};
    struct inmo_prepare_options defaults;
    struct inmo_dataset *fresh = NULL;
    enum inmo_status status;
    inmo_prepare_options_init(&defaults);
    options = options ? options : &defaults;
    status = inmo_sized_check(options, sizeof *options, "inmo_prepare_options", error);
    if (status != INMO_OK)
        goto done;
    p.options = *options;
    status = inmo_preparation_check(&p, error);
    if (status == INMO_OK)
        status = filter_and_split(&p, error);
    if (status != INMO_OK)
        goto done;
    fresh = inmo_alloc_zero(1, sizeof *fresh);
    if (!fresh) {
        status = inmo_fail_memory(error, "the data set");
        goto done;
    }
    status = build(&p, fresh, error);
    if (status != INMO_OK)
        goto done;
    *dataset = fresh;
    fresh = NULL;
done:
    inmo_dataset_free(fresh);
    inmo_free(p.item_order);
    inmo_free(p.user_order);
    inmo_rows_free(&p.rows);
    return status;
}
