/* split.c - see split.h. Linear in the interactions, except the split by time, which sorts each user's items
 * (unless they are already in order). Scratch: 8 bytes per item of the longest row. Single-threaded. */
#include "data/split.h"

#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

/* Parses digits, a point and up to seven more digits into billionths of the whole. Returns the end, or NULL if the
 * text is not that. */
static const char *parse_percent(const char *text, int64_t *share)
{
    int64_t value = 0;
    int digits = 0, decimals = 0;
    for (; *text >= '0' && *text <= '9' && digits < 4; text++, digits++)
        value = 10 * value + (*text - '0');
    if (digits == 0)
        return NULL;
    if (*text == '.') {
        for (text++; *text >= '0' && *text <= '9' && decimals < 7; text++, decimals++)
            value = 10 * value + (*text - '0');
        if (decimals == 0)
            return NULL;
    }
    for (; decimals < 7; decimals++)
        value *= 10;
    *share = value;
    return text;
}

enum inmo_status inmo_split_parse(const char *text, struct inmo_split *split, struct inmo_error *error)
{
    int64_t share[3] = {0};
    const char *at = text;
    for (int n = 0; n < 3 && at; n++) {
        at = parse_percent(at, &share[n]);
        if (at && *at++ != (n < 2 ? '/' : 0))
            at = NULL;
    }
    if (!at)
        return inmo_fail(error, INMO_USAGE,
                         "`split` is \"%s\"; it must be three numbers like 70/10/20 (train, valid, "
                         "test in percent, at most 7 decimals)",
                         text);
    if (share[0] + share[1] + share[2] != INMO_WHOLE || share[0] == 0)
        return inmo_fail(error, INMO_USAGE,
                         "`split` is \"%s\"; its three numbers must sum to 100, the first above 0", text);
    *split = (struct inmo_split){share[0], share[1], share[2]};
    return INMO_OK;
}

static int64_t longest_row(const struct inmo_rows *rows)
{
    int64_t longest = 0;
    for (int32_t u = 0; u < rows->users; u++)
        if (rows->offset[u + 1] - rows->offset[u] > longest)
            longest = rows->offset[u + 1] - rows->offset[u];
    return longest;
}

static void shuffle(int32_t *x, int64_t n, uint64_t base)
{
    for (int64_t j = n - 1; j > 0; j--) {
        uint32_t k = inmo_random_below(inmo_random(base, (uint64_t)j), (uint32_t)j + 1);
        int32_t kept = x[j];
        x[j] = x[k];
        x[k] = kept;
    }
}

/* order[0..n-1] are the entries of a row in the order in which parts take them. The first is always for training:
 * somebody with a single interaction would otherwise be a stranger to the model. As the share of the test is below
 * 1, it takes at most n - 1. */
void inmo_split_label(uint8_t *part, const int32_t *order, int64_t n, const struct inmo_split *split)
{
    int64_t train = inmo_share_of(split->train, n), test = inmo_share_of(split->test, n);
    if (train == 0)
        train = 1;
    for (int64_t j = 0; j < n; j++)
        part[order[j]] = j < train ? INMO_TRAIN : j < n - test ? INMO_VALID : INMO_TEST;
}

enum inmo_status inmo_split_by_seed(struct inmo_rows *rows, const struct inmo_split *split, uint64_t seed,
                                    struct inmo_error *error)
{
    uint64_t key = inmo_key(seed, INMO_STREAM_SPLIT);
    int32_t *order = inmo_alloc((size_t)longest_row(rows), sizeof *order);
    if (!order)
        return inmo_fail_memory(error, "splitting");
    for (int32_t u = 0; u < rows->users; u++) {
        int64_t n = rows->offset[u + 1] - rows->offset[u];
        for (int64_t j = 0; j < n; j++)
            order[j] = (int32_t)j;
        shuffle(order, n, inmo_random(key, (uint64_t)rows->first + (uint64_t)u));
        inmo_split_label(rows->part + rows->offset[u], order, n, split);
    }
    inmo_free(order);
    return INMO_OK;
}

/* Stable merge sort of order by time; spare has the same size. */
static void sort_by_time(int32_t *order, int32_t *spare, int64_t n, const int64_t *time)
{
    int32_t *from = order, *to = spare;
    for (int64_t width = 1; width < n; width *= 2) {
        int32_t *merged = to;
        for (int64_t begin = 0; begin < n; begin += 2 * width) {
            int64_t middle = begin + width < n ? begin + width : n;
            int64_t end = middle + width < n ? middle + width : n;
            int64_t left = begin, right = middle;
            for (int64_t at = begin; at < end; at++)
                to[at] = right == end || (left < middle && time[from[left]] <= time[from[right]]) ? from[left++]
                                                                                                  : from[right++];
        }
        to = from;
        from = merged;
    }
    if (from != order)
        memcpy(order, from, (size_t)n * sizeof *order);
}

/* order: the places 0 .. n - 1 of a row by ascending time (NULL: as they are), equal times in the row's order. */
static void put_in_order(const int64_t *time, int64_t n, int32_t *order, int32_t *spare)
{
    int sorted = 1;
    for (int64_t j = 0; j < n; j++) {
        order[j] = (int32_t)j;
        sorted &= j == 0 || !time || time[j - 1] <= time[j];
    }
    if (!sorted)
        sort_by_time(order, spare, n, time);
}

/* The last ones to the test, as many before them to validation, but never the first. */
static void label_last(uint8_t *part, const int32_t *order, int64_t n, int64_t last)
{
    for (int64_t j = 0; j < n; j++)
        part[order[j]] = j == 0 || j < n - 2 * last ? INMO_TRAIN : j < n - last ? INMO_VALID : INMO_TEST;
}

enum inmo_status inmo_split_by_time(struct inmo_rows *rows, const struct inmo_split *split, int64_t last,
                                    struct inmo_error *error)
{
    size_t longest = (size_t)longest_row(rows);
    int32_t *order = inmo_alloc(longest, sizeof *order);
    int32_t *spare = inmo_alloc(longest, sizeof *spare);
    enum inmo_status status = INMO_OK;
    if (!order || !spare) {
        status = inmo_fail_memory(error, "splitting by time");
        goto done;
    }
    for (int32_t u = 0; u < rows->users; u++) {
        int64_t n = rows->offset[u + 1] - rows->offset[u];
        put_in_order(rows->time + rows->offset[u], n, order, spare);
        if (last > 0)
            label_last(rows->part + rows->offset[u], order, n, last);
        else
            inmo_split_label(rows->part + rows->offset[u], order, n, split);
    }
done:
    inmo_free(spare);
    inmo_free(order);
    return status;
}

/* Moves some of each user's n shuffled training items elsewhere: the first ones stay. Either the number that stays
 * or the number that moves is floor(share * n). */
static enum inmo_status move_training(struct inmo_rows *rows, enum inmo_part elsewhere, int64_t share,
                                      int share_stays, uint64_t key, struct inmo_error *error)
{
    int32_t *order = inmo_alloc((size_t)longest_row(rows), sizeof *order);
    if (!order)
        return inmo_fail_memory(error, "splitting");
    for (int32_t u = 0; u < rows->users; u++) {
        uint8_t *part = rows->part + rows->offset[u];
        int64_t row = rows->offset[u + 1] - rows->offset[u], n = 0, stay;
        for (int64_t j = 0; j < row; j++)
            if (part[j] == INMO_TRAIN)
                order[n++] = (int32_t)j;
        shuffle(order, n, inmo_random(key, (uint64_t)rows->first + (uint64_t)u));
        stay = share_stays ? inmo_share_of(share, n) : n - inmo_share_of(share, n);
        for (int64_t j = stay; j < n; j++)
            part[order[j]] = (uint8_t)elsewhere;
    }
    inmo_free(order);
    return INMO_OK;
}

enum inmo_status inmo_split_hold_out(struct inmo_rows *rows, int64_t share, uint64_t seed, struct inmo_error *error)
{
    return move_training(rows, INMO_VALID, share, 0, inmo_key(seed, INMO_STREAM_SPLIT), error);
}

/* Few long runs instead of many short ones: an item taken out of the middle of a visit is easily guessed from the
 * rest of it. */
static const double LEAST_RUN = 0.2;

enum inmo_status inmo_split_hold_out_runs(struct inmo_rows *rows, double share, int last, uint64_t seed,
                                          struct inmo_error *error)
{
    size_t longest = (size_t)longest_row(rows);
    int32_t *order = inmo_alloc(longest, sizeof *order);
    int32_t *spare = inmo_alloc(longest, sizeof *spare);
    double length = last ? share : fmax(share, LEAST_RUN);
    uint64_t key = inmo_key(seed, INMO_STREAM_HOLD_OUT);
    enum inmo_status status = order && spare ? INMO_OK : inmo_fail_memory(error, "splitting");
    for (int32_t u = 0; u < rows->users && !status; u++) {
        int64_t row = rows->offset[u + 1] - rows->offset[u], n = 0, moved, begin;
        uint8_t *part = rows->part + rows->offset[u];
        uint64_t base = inmo_random(key, (uint64_t)u);
        if (!last && inmo_random_unit(inmo_random(base, 0)) * length >= share)
            continue;
        put_in_order(rows->time ? rows->time + rows->offset[u] : NULL, row, order, spare);
        for (int64_t j = 0; j < row; j++)
            if (part[order[j]] == INMO_TRAIN)
                order[n++] = order[j];
        moved = (int64_t)floor(length * (double)n + inmo_random_unit(inmo_random(base, 1)));
        moved = moved < n ? moved : n - 1;
        if (moved <= 0)
            continue;
        begin = last ? n - moved : inmo_random_below(inmo_random(base, 2), (uint32_t)(n - moved + 1));
        for (int64_t j = begin; j < begin + moved; j++)
            part[order[j]] = INMO_VALID;
    }
    inmo_free(spare);
    inmo_free(order);
    return status;
}

/* The first floor(share * count) of the shuffled numbers 0 .. count-1. */
static enum inmo_status choose_new(uint8_t *is_new, int32_t count, int64_t share, uint64_t base,
                                   struct inmo_error *error)
{
    int32_t *order = inmo_alloc((size_t)count, sizeof *order);
    if (!order)
        return inmo_fail_memory(error, "choosing new users and items");
    for (int32_t n = 0; n < count; n++)
        order[n] = n;
    shuffle(order, count, base);
    for (int64_t n = 0; n < inmo_share_of(share, count); n++)
        is_new[order[n]] = 1;
    inmo_free(order);
    return INMO_OK;
}

static void choose_last(uint8_t *is_new, int32_t count, int64_t share)
{
    int64_t chosen = inmo_share_of(share, count);
    memset(is_new + (count - chosen), 1, (size_t)chosen);
}

enum inmo_status inmo_scenario_choose(enum inmo_scenario scenario, int32_t users, int32_t items, int64_t new_share,
                                      int last_are_new, uint64_t seed, uint8_t *new_user, uint8_t *new_item,
                                      struct inmo_error *error)
{
    uint64_t key = inmo_key(seed, INMO_STREAM_SCENARIO);
    enum inmo_status status = INMO_OK;
    if (scenario != INMO_NEW_USERS_ITEMS)
        return INMO_OK;
    if (last_are_new) {
        choose_last(new_user, users, new_share);
        choose_last(new_item, items, new_share);
    } else {
        status = choose_new(new_user, users, new_share, inmo_random(key, 0), error);
        if (status == INMO_OK)
            status = choose_new(new_item, items, new_share, inmo_random(key, 1), error);
    }
    return status;
}

static void move_new(struct inmo_rows *rows, const uint8_t *new_user, const uint8_t *new_item)
{
    for (int32_t u = 0; u < rows->users; u++)
        for (int64_t e = rows->offset[u]; e < rows->offset[u + 1]; e++)
            if (new_user[rows->first + u] || new_item[rows->item[e]]) {
                if (rows->part[e] == INMO_TRAIN)
                    rows->part[e] = INMO_LATER;
                else if (rows->part[e] == INMO_VALID)
                    rows->part[e] = INMO_ASIDE;
            }
}

enum inmo_status inmo_scenario_apply(enum inmo_scenario scenario, struct inmo_rows *rows, int64_t new_share,
                                     uint64_t seed, const uint8_t *new_user, const uint8_t *new_item,
                                     struct inmo_error *error)
{
    switch (scenario) {
    case INMO_TRANSDUCTIVE: return INMO_OK;
    case INMO_NEW_INTERACTIONS:
        return move_training(rows, INMO_LATER, INMO_WHOLE - new_share, 1, inmo_key(seed, INMO_STREAM_SCENARIO),
                             error);
    case INMO_NEW_USERS_ITEMS: move_new(rows, new_user, new_item); return INMO_OK;
    }
    return inmo_fail(error, INMO_INTERNAL, "scenario %d is not one", (int)scenario);
}
