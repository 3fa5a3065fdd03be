/* rules.c - see rules.h. Texts such as genre=jazz become arrays by item number, once for any number of requests. */
#include "view/rules.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/setting.h"
#include "base/threads.h"
#include "data/titles.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_CANDIDATES = 100, CANDIDATES_FOR_EACH = 5 };

void inmo_rule_options_init_sized(struct inmo_rule_options *options, size_t size)
{
    const struct inmo_rule_options defaults = {0};
    inmo_sized_fill(options, size, &defaults, sizeof defaults);
}

void inmo_rules_free(struct inmo_rules *rules)
{
    if (!rules)
        return;
    for (int q = 0; q < rules->rerank.quotas; q++) {
        inmo_free(rules->quota[q].category);
        inmo_free(rules->quota[q].offset);
    }
    inmo_free(rules->allow);
    inmo_free(rules->factor);
    inmo_free(rules);
}

int32_t inmo_rules_candidates(const struct inmo_rules *rules, int32_t k)
{
    int64_t most = rules->candidates ? rules->candidates : (int64_t)k * CANDIDATES_FOR_EACH;
    if (!inmo_rules_rerank(rules))
        return k;
    if (!rules->candidates && most < LEAST_CANDIDATES)
        most = LEAST_CANDIDATES;
    return most < k ? k : most > INT32_MAX ? INT32_MAX : (int32_t)most;
}

struct inmo_rerank inmo_rules_on(const struct inmo_rules *rules, const struct inmo_snapshot *snapshot)
{
    struct inmo_rerank rerank = rules->rerank;
    rerank.quota = rules->quota;
    rerank.factor = rules->factor;
    rerank.dim = snapshot->scorer.dim;
    rerank.vector = rerank.dim > 0 ? inmo_snapshot_item_row(snapshot, 0) : NULL;
    rerank.vectors = rerank.dim > 0 ? snapshot->graph->items : 0;
    return rerank;
}

void inmo_rules_close(const struct inmo_rules *rules, int32_t items, uint8_t *closed)
{
    int32_t at = 0;
    for (int32_t i = 0; i < items && rules && rules->limited; i++) {
        while (at < rules->allow_count && rules->allow[at] < i)
            at++;
        closed[i] |= at == rules->allow_count || rules->allow[at] != i;
    }
}

enum inmo_status inmo_rules_rerank_lists(const struct inmo_rules *rules, const struct inmo_snapshot *snapshot,
                                         int32_t lists, int32_t candidates, int32_t k, int32_t *item, float *score,
                                         struct inmo_error *error)
{
    const struct inmo_rerank rerank = inmo_rules_on(rules, snapshot);
    atomic_int failed = 0;
#pragma omp parallel num_threads(inmo_threads())
    {
        float *space = inmo_alloc(inmo_rerank_space(&rerank, candidates), sizeof *space);
        if (!space)
            atomic_store(&failed, 1);
#pragma omp for schedule(dynamic, 64)
        for (int32_t n = 0; n < lists; n++) {
            size_t at = (size_t)n * (size_t)candidates;
            int32_t found = 0;
            while (found < candidates && item[at + (size_t)found] >= 0)
                found++;
            if (space)
                found = inmo_rerank(&rerank, found, item + at, score + at, k, space);
            if (found < candidates)
                item[at + (size_t)found] = -1;
        }
        inmo_free(space);
    }
    return atomic_load(&failed) ? inmo_fail_memory(error, "the recommendations") : INMO_OK;
}

/* ---- From texts ---------------------------------------------------------------------------------------------- */

struct making {
    struct inmo_rules *rules;
    const struct inmo_titles *titles;
    int64_t *row;  // (items) of the titles, or -1
};

/* COLUMN=VALUE|VALUE or COLUMN!=VALUE|VALUE. */
struct match {
    int column, negative;
    const char *value;
    size_t length;
};

static enum inmo_status need_column(const struct making *making, const char *option, const char *text,
                                    const char *name, size_t length, int *column, struct inmo_error *error)
{
    struct inmo_titles_info info;
    char names[512] = "";
    size_t used = 0;
    *column = making->titles ? inmo_titles_find_column(making->titles, name, length) : -1;
    if (*column >= 0)
        return INMO_OK;
    if (!making->titles)
        return inmo_fail(error, INMO_USAGE,
                         "`%s` %s: found no titles, expected a file with a column %.*s (`titles`)", option, text,
                         (int)length, name);
    inmo_titles_info(making->titles, &info);
    for (int c = 0; c < info.columns && used < sizeof names; c++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", c ? ", " : "", info.column[c]);
    return inmo_fail(error, INMO_USAGE, "`%s` %s: found no column %.*s, expected one of %s", option, text,
                     (int)length, name, names);
}

static enum inmo_status parse_match(const struct making *making, const char *option, const char *text,
                                    size_t length, struct match *match, struct inmo_error *error)
{
    const char *equals = memchr(text, '=', length);
    size_t name = equals ? (size_t)(equals - text) : 0;
    if (!equals || name == 0 || (name == 1 && *text == '!'))
        return inmo_fail(error, INMO_USAGE, "`%s`: found \"%s\", expected COLUMN=VALUE%s", option, text,
                         strcmp(option, "boost") ? ", COLUMN=VALUE|VALUE or COLUMN!=VALUE" : ":FACTOR");
    match->negative = equals[-1] == '!';
    name -= (size_t)match->negative;
    match->value = equals + 1;
    match->length = length - (size_t)(equals + 1 - text);
    return need_column(making, option, text, text, name, &match->column, error);
}

/* Items that the titles do not have match nothing, and everything negative. */
static int matches(const struct making *making, int32_t item, const struct match *match)
{
    const char *cell =
        making->row[item] < 0 ? "" : inmo_titles_cell(making->titles, making->row[item], match->column);
    const char *at = match->value, *end = match->value + match->length;
    while (at <= end) {
        const char *bar = memchr(at, '|', (size_t)(end - at));
        size_t length = (size_t)((bar ? bar : end) - at);
        if (inmo_titles_has_value(cell, at, length))
            return !match->negative;
        at += length + 1;
    }
    return match->negative;
}

static enum inmo_status add_where(struct making *making, const char *text, uint8_t *closed,
                                  struct inmo_error *error)
{
    struct match match;
    enum inmo_status status = parse_match(making, "where", text, strlen(text), &match, error);
    for (int32_t i = 0; i < making->rules->rerank.items && !status; i++)
        closed[i] |= (uint8_t)!matches(making, i, &match);
    return status;
}

static enum inmo_status add_boost(struct making *making, const char *text, struct inmo_error *error)
{
    struct inmo_rules *rules = making->rules;
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    double factor = colon ? inmo_real(colon + 1, &end) : 0;
    struct match match;
    enum inmo_status status;
    if (!colon || end == colon + 1 || *end || !(factor >= 0 && factor <= 1e6))
        return inmo_fail(error, INMO_USAGE,
                         "`boost`: found \"%s\", expected COLUMN=VALUE:FACTOR with a factor of 0 or more", text);
    status = parse_match(making, "boost", text, (size_t)(colon - text), &match, error);
    if (!status && !rules->factor) {
        rules->factor = inmo_alloc((size_t)rules->rerank.items, sizeof *rules->factor);
        if (!rules->factor)
            return inmo_fail_memory(error, "the rules");
        for (int32_t i = 0; i < rules->rerank.items; i++)
            rules->factor[i] = 1;
    }
    for (int32_t i = 0; i < rules->rerank.items && !status; i++)
        if (matches(making, i, &match))
            rules->factor[i] *= (float)factor;
    return status;
}

/* Numbers the values of a column, and lists those of each item. */
static enum inmo_status add_quota(struct making *making, const char *text, struct inmo_error *error)
{
    struct inmo_rules *rules = making->rules;
    struct inmo_quota *quota = rules->quota + rules->rerank.quotas;
    struct inmo_idtable *values = NULL;
    char *end = NULL;
    long most = strtol(text, &end, 10);
    int32_t items = rules->rerank.items;
    int64_t count = 0;
    int column;
    enum inmo_status status;
    if (end == text || *end != ':' || !end[1] || most < 1 || most > 1000000)
        return inmo_fail(error, INMO_USAGE, "`at-most`: found \"%s\", expected N:COLUMN", text);
    if (rules->rerank.quotas == INMO_QUOTAS_MOST)
        return inmo_fail(error, INMO_USAGE, "`at-most`: found more than %d, expected fewer", INMO_QUOTAS_MOST);
    status = need_column(making, "at-most", text, end + 1, strlen(end + 1), &column, error);
    if (status)
        return status;
    for (int32_t i = 0; i < items; i++) {
        const char *cell = making->row[i] < 0 ? "" : inmo_titles_cell(making->titles, making->row[i], column);
        for (count += *cell != 0; (cell = strchr(cell, '|')); cell++)
            count++;
    }
    *quota = (struct inmo_quota){.most = (int)most};
    rules->rerank.quotas++; /* so that it is freed */
    quota->offset = inmo_alloc((size_t)items + 1, sizeof *quota->offset);
    quota->category = inmo_alloc((size_t)count, sizeof *quota->category);
    values = inmo_idtable_new();
    if (!quota->offset || !quota->category || !values)
        status = inmo_fail_memory(error, "the rules");
    count = 0;
    for (int32_t i = 0; i < items && !status; i++) {
        const char *cell = making->row[i] < 0 ? "" : inmo_titles_cell(making->titles, making->row[i], column);
        quota->offset[i] = count;
        while (*cell && !status) {
            size_t length = strcspn(cell, "|");
            int32_t number = length ? inmo_idtable_intern(values, cell, length) : -2;
            if (number == -1)
                status = inmo_fail_memory(error, "the rules");
            else if (number >= 0)
                quota->category[count++] = number;
            if (number >= quota->categories)
                quota->categories = number + 1;
            cell += length + (cell[length] != 0);
        }
    }
    if (!status)
        quota->offset[items] = count;
    inmo_idtable_free(values);
    return status;
}

static enum inmo_status keep_allowed(struct inmo_rules *rules, const uint8_t *closed, struct inmo_error *error)
{
    rules->allow = inmo_alloc((size_t)rules->rerank.items, sizeof *rules->allow);
    if (!rules->allow)
        return inmo_fail_memory(error, "the rules");
    for (int32_t i = 0; i < rules->rerank.items; i++)
        if (!closed[i])
            rules->allow[rules->allow_count++] = i;
    rules->limited = 1;
    return INMO_OK;
}

/* Whether this model can say which items are alike. */
static enum inmo_status check_vectors(const struct inmo_view *view, struct inmo_error *error)
{
    struct inmo_snapshot *snapshot = inmo_view_snapshot(view);
    enum inmo_status status = INMO_OK;
    if (snapshot->scorer.dim == 0)
        status = inmo_fail(error, INMO_UNSUPPORTED,
                           "`diversity`: %s has no vectors of items to compare; models with vectors can "
                           "(inmo-lightgcn, lightgcn, mf, ials, ...), and `at-most` needs none",
                           snapshot->model->kind->name);
    inmo_snapshot_release(snapshot);
    return status;
}

static int32_t count_items(const struct inmo_view *view)
{
    int32_t count;
    inmo_view_read_lock(view);
    count = inmo_names_count(&view->items);
    inmo_view_unlock(view);
    return count;
}

enum inmo_status inmo_rules_create(const struct inmo_view *view, const struct inmo_titles *titles,
                                   const struct inmo_rule_options *options, struct inmo_rules **out,
                                   struct inmo_error *error)
{
    struct making making = {.titles = titles};
    uint8_t *closed = NULL;
    int32_t items = 0;
    enum inmo_status status = inmo_sized_check(options, sizeof *options, "inmo_rule_options", error);
    if (!status && !(options->diversity >= 0 && options->diversity <= 1))
        status = inmo_fail(error, INMO_USAGE, "`diversity`: found %g, expected a number from 0 to 1",
                           options->diversity);
    if (!status && options->candidates < 0)
        status = inmo_fail(error, INMO_USAGE, "`candidates`: found %d, expected 0 or more", options->candidates);
    if (!status && options->diversity > 0)
        status = check_vectors(view, error);
    if (status)
        return status;
    items = count_items(view);
    making.rules = inmo_alloc_zero(1, sizeof *making.rules);
    making.row = inmo_alloc((size_t)items, sizeof *making.row);
    closed = inmo_alloc_zero((size_t)items, 1);
    if (!making.rules || !making.row || !closed) {
        status = inmo_fail_memory(error, "the rules");
        goto done;
    }
    making.rules->rerank.diversity = options->diversity;
    making.rules->rerank.items = items;
    making.rules->candidates = options->candidates;
    for (int32_t i = 0; i < items; i++)
        making.row[i] = titles ? inmo_titles_row(titles, inmo_view_item_name(view, i)) : -1;
    for (size_t n = 0; n < options->where_count && !status; n++)
        status = add_where(&making, options->where[n], closed, error);
    for (size_t n = 0; n < options->boost_count && !status; n++)
        status = add_boost(&making, options->boost[n], error);
    for (size_t n = 0; n < options->at_most_count && !status; n++)
        status = add_quota(&making, options->at_most[n], error);
    if (!status && options->where_count > 0)
        status = keep_allowed(making.rules, closed, error);
    if (!status) {
        *out = making.rules;
        making.rules = NULL;
    }
done:
    inmo_free(closed);
    inmo_free(making.row);
    inmo_rules_free(making.rules);
    return status;
}
