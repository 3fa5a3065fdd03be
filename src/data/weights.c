/* weights.c - see weights.h. Two passes over the log (three by time), each line looked up in its user's row: the
 * filters before need not know of weights, and logs without them do not pay. 4 bytes per interaction, 8 more with
 * a half-life. Single-threaded. */
#include "data/weights.h"

#include "base/memory.h"
#include "data/split.h"
#include "data/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Units of time ------------------------------------------------------------------------------------------- */

int64_t inmo_log_newest(const struct inmo_log *log)
{
    int64_t newest = INT64_MIN;
    for (int64_t n = 0; n < log->count && log->has_time; n++) {
        int64_t time = log->block[n / INMO_LOG_BLOCK]->time[n % INMO_LOG_BLOCK];
        newest = time > newest ? time : newest;
    }
    return newest == INT64_MIN ? 0 : newest;
}

int64_t inmo_time_unit(int64_t newest)
{
    int64_t unit = 1;
    while (newest / unit > INT64_C(100000000000) && unit < 1000000000) /* the year 5138, in seconds */
        unit *= 1000;
    return unit;
}

enum inmo_status inmo_half_life_parse(const char *text, int64_t newest, double *half_life, struct inmo_error *error)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}, {"w", 7 * 86400}, {"y", 365.25 * 86400}};
    size_t length = strcspn(text, "smhdwy");
    double number = 0, seconds = 0;
    int parsed = inmo_parse_number(text, length, &number);
    for (size_t n = 0; n < sizeof units / sizeof *units; n++)
        if (strcmp(text + length, units[n].name) == 0)
            seconds = units[n].seconds * (double)inmo_time_unit(newest);
    if (!parsed || !(number > 0) || (text[length] && seconds == 0))
        return inmo_fail(
            error, INMO_USAGE,
            "`half-life` is \"%s\"; it must be a number above 0 and s, min, h, d, w or y, such as 90d, "
            "or a number in the log's unit of time",
            text);
    *half_life = seconds > 0 ? number * seconds : number;
    return INMO_OK;
}

/* ---- Weights ------------------------------------------------------------------------------------------------- */

struct weighing {
    const struct inmo_log *log;
    const struct inmo_weight_rule *rule;
    const struct inmo_rows *rows;
    int32_t *user_number, *item_number;  // (users, items of the log) -> number in rows, or -1
    int64_t *valid_from, *test_from;     // (users) by time: when each user's validation and test begin
    float *amount;                       // (interactions) c, then w
    int64_t *latest;                     // (interactions) with a half-life
};

static int32_t *turn_order(const int32_t *order, int32_t count, int32_t all)
{
    int32_t *number = inmo_alloc((size_t)all, sizeof *number);
    if (!number)
        return NULL;
    memset(number, 0xff, (size_t)all * sizeof *number);
    for (int32_t n = 0; n < count; n++)
        number[order[n]] = n;
    return number;
}

/* Where line n is among the interactions; -1: it was filtered out. *user is its user. */
static int64_t place_of(const struct weighing *w, int64_t n, int32_t *user)
{
    int32_t u = w->user_number[inmo_log_user(w->log, n)], i = w->item_number[inmo_log_item(w->log, n)];
    int64_t at, count;
    if (u < 0 || i < 0)
        return -1;
    *user = u;
    at = w->rows->offset[u];
    count = w->rows->offset[u + 1] - at;
    for (; count > 1; count -= count / 2)
        at += w->rows->item[at + count / 2] <= i ? count / 2 : 0;
    return count == 1 && w->rows->item[at] == i ? at : -1;
}

static int64_t time_of(const struct inmo_log *log, int64_t n)
{
    return log->has_time ? log->block[n / INMO_LOG_BLOCK]->time[n % INMO_LOG_BLOCK] : 0;
}

/* The first moments of validation and test, of each user. */
static void find_moments(struct weighing *w)
{
    for (int32_t u = 0; u < w->rows->users; u++)
        w->valid_from[u] = w->test_from[u] = INT64_MAX;
    for (int64_t n = 0; n < w->log->count; n++) {
        int32_t user;
        int64_t at = place_of(w, n, &user), time = time_of(w->log, n);
        if (at < 0 || w->rows->part[at] == INMO_TRAIN)
            continue;
        if (w->rows->part[at] == INMO_TEST && time < w->test_from[user])
            w->test_from[user] = time;
        else if (w->rows->part[at] == INMO_VALID && time < w->valid_from[user])
            w->valid_from[user] = time;
    }
}

/* Whether a line of a pair of this part is known when the model is trained or validated. Times may be equal on both
 * sides of a user's own moments; then the line that made the pair counts. */
static int counts(const struct weighing *w, int64_t n, int32_t user, uint8_t part)
{
    const struct inmo_weight_rule *rule = w->rule;
    int64_t time = time_of(w->log, n);
    if (rule->by_column) {
        uint8_t own = w->log->block[n / INMO_LOG_BLOCK]->part[n % INMO_LOG_BLOCK];
        return own == INMO_TRAIN || own == part;
    }
    if (rule->cut)
        return time < rule->cut[1] && (part != INMO_TRAIN || time < rule->cut[0]);
    if (rule->by_time)
        return time <= w->test_from[user] && (part != INMO_TRAIN || time <= w->valid_from[user]);
    return 1;
}

/* Sums the lines of each pair; returns the newest time in training. */
static int64_t add_lines(struct weighing *w)
{
    int64_t newest = INT64_MIN;
    for (int64_t n = 0; n < w->log->count; n++) {
        const struct inmo_log_block *block = w->log->block[n / INMO_LOG_BLOCK];
        int32_t user = 0;
        int64_t at = place_of(w, n, &user), time = time_of(w->log, n);
        uint8_t part = at < 0 ? INMO_TEST : w->rows->part[at];
        if (part == INMO_TEST || !counts(w, n, user, part))
            continue;
        if (block->weight)
            w->amount[at] += block->weight[n % INMO_LOG_BLOCK];
        if (w->latest && time > w->latest[at])
            w->latest[at] = time;
        if (part == INMO_TRAIN && time > newest)
            newest = time;
    }
    return newest;
}

/* From sums to weights. */
static void settle(struct weighing *w, int64_t newest)
{
    const struct inmo_rows *rows = w->rows;
    for (int32_t u = 0; u < rows->users; u++) {
        double sum = 0, count = 0;
        for (int64_t e = rows->offset[u]; e < rows->offset[u + 1]; e++) {
            if (!w->log->has_weight)
                w->amount[e] = 1;
            else if (!w->rule->plain)
                w->amount[e] = (float)log2(1 + (double)w->amount[e]);
            if (rows->part[e] != INMO_TEST) {
                sum += w->amount[e];
                count++;
            }
        }
        for (int64_t e = rows->offset[u]; e < rows->offset[u + 1]; e++) {
            double weight = sum > 0 ? w->amount[e] * count / sum : 1, age = 0;
            if (w->latest && newest > w->latest[e])
                age = fmin(((double)newest - (double)w->latest[e]) / w->rule->half_life, INMO_HALF_LIVES_MOST);
            /* A share of nearly nothing is still an interaction. */
            w->amount[e] = rows->part[e] == INMO_TEST ? 1 : (float)fmax(weight * exp2(-age), 1e-12);
        }
    }
}

enum inmo_status inmo_weights_make(const struct inmo_log *log, const int32_t *user_order, const int32_t *item_order,
                                   const struct inmo_weight_rule *rule, struct inmo_rows *rows,
                                   struct inmo_error *error)
{
    struct weighing w = {.log = log, .rule = rule, .rows = rows};
    size_t count = (size_t)rows->offset[rows->users], users = (size_t)rows->users;
    int own_moments = rule->by_time && !rule->cut, complete;
    w.user_number = turn_order(user_order, rows->users, inmo_idtable_map(log->users).count);
    w.item_number = turn_order(item_order, rows->items, inmo_idtable_map(log->items).count);
    w.amount = inmo_alloc_zero(count, sizeof *w.amount);
    w.latest = rule->half_life > 0 ? inmo_alloc(count, sizeof *w.latest) : NULL;
    w.valid_from = own_moments ? inmo_alloc(users, sizeof *w.valid_from) : NULL;
    w.test_from = own_moments ? inmo_alloc(users, sizeof *w.test_from) : NULL;
    complete = w.user_number && w.item_number && w.amount && (rule->half_life == 0 || w.latest) &&
               (!own_moments || (w.valid_from && w.test_from));
    if (complete) {
        for (size_t e = 0; w.latest && e < count; e++)
            w.latest[e] = INT64_MIN;
        if (own_moments)
            find_moments(&w);
        settle(&w, add_lines(&w));
        rows->weight = w.amount;
        w.amount = NULL;
    }
    inmo_free(w.test_from);
    inmo_free(w.valid_from);
    inmo_free(w.latest);
    inmo_free(w.amount);
    inmo_free(w.item_number);
    inmo_free(w.user_number);
    return complete ? INMO_OK : inmo_fail_memory(error, "the weights of interactions");
}
