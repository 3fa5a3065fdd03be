/* cut.c - see cut.h. Sorts all times, 8 bytes per interaction while that lasts. Single-threaded. */
#include "data/cut.h"

#include "base/memory.h"
#include "data/value.h"
#include "data/weights.h"

#include <stdlib.h>
#include <string.h>

static int parse_moment(const char *text, size_t length, int64_t newest, int64_t *moment)
{
    int is_date = length > 4 && memchr(text + 1, '-', length - 1) != NULL;
    if (!inmo_parse_time(text, length, moment))
        return 0;
    if (is_date) /* dates are seconds, whatever the log counts in */
        *moment *= inmo_time_unit(newest);
    return 1;
}

enum inmo_status inmo_cut_parse(const char *text, int64_t newest, int64_t moment[2], int *count,
                                struct inmo_error *error)
{
    size_t first = strcspn(text, ",");
    int good = parse_moment(text, first, newest, &moment[0]);
    *count = 1;
    if (good && text[first] == ',') {
        good =
            parse_moment(text + first + 1, strlen(text + first + 1), newest, &moment[1]) && moment[0] <= moment[1];
        *count = 2;
    }
    return good ? INMO_OK
                : inmo_fail(error, INMO_USAGE,
                            "`cut` is \"%s\"; it must be when the test begins, such as 2024-01-31, or two such "
                            "moments, of validation and test, in this order: 2024-01-01,2024-01-31",
                            text);
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The moment before which a share of the times lies; never, for all of them. */
static int64_t moment_of(const int64_t *time, int64_t count, int64_t share)
{
    int64_t before = inmo_share_of(share, count);
    return before < count ? time[before] : INT64_MAX;
}

static void find_moments(int64_t *time, int64_t count, const struct inmo_split *split, const int64_t given[2],
                         int given_count, int64_t at[2])
{
    qsort(time, (size_t)count, sizeof *time, by_time);
    if (given_count == 2) {
        at[0] = given[0];
        at[1] = given[1];
    } else if (given_count == 1) {
        int64_t before = 0;
        at[1] = given[0];
        while (before < count && time[before] < at[1])
            before++;
        at[0] = moment_of(time, before, split->train * INMO_WHOLE / (split->train + split->valid));
        at[0] = at[0] < at[1] ? at[0] : at[1];
    } else {
        at[0] = moment_of(time, count, split->train);
        at[1] = moment_of(time, count, split->train + split->valid);
    }
}

/* Takes out what has a user or an item without training. */
static enum inmo_status leave_out(struct inmo_rows *rows, struct inmo_cut *cut, struct inmo_error *error)
{
    enum { KNOWN = 1, MET = 2 };
    uint8_t *item = inmo_alloc_zero((size_t)rows->items, 1);
    int64_t before = rows->offset[rows->users];
    if (!item)
        return inmo_fail_memory(error, "splitting by time");
    for (int64_t e = 0; e < before; e++)
        item[rows->item[e]] |= rows->part[e] == INMO_TRAIN ? KNOWN | MET : MET;
    for (int32_t i = 0; i < rows->items; i++)
        cut->items += item[i] == MET;
    for (int32_t u = 0; u < rows->users; u++) {
        int known = 0;
        for (int64_t e = rows->offset[u]; e < rows->offset[u + 1]; e++)
            known |= rows->part[e] == INMO_TRAIN;
        cut->users += !known && rows->offset[u] < rows->offset[u + 1];
        for (int64_t e = rows->offset[u]; e < rows->offset[u + 1]; e++)
            if (!known || item[rows->item[e]] == MET)
                rows->item[e] = -1;
    }
    inmo_rows_close_gaps(rows);
    cut->interactions = before - rows->offset[rows->users];
    inmo_free(item);
    return INMO_OK;
}

enum inmo_status inmo_split_by_cut(struct inmo_rows *rows, const struct inmo_split *split, const int64_t given[2],
                                   int given_count, struct inmo_cut *cut, struct inmo_error *error)
{
    int64_t count = rows->offset[rows->users];
    int64_t *time = inmo_alloc((size_t)count, sizeof *time);
    if (!time)
        return inmo_fail_memory(error, "splitting by time");
    memcpy(time, rows->time, (size_t)count * sizeof *time);
    find_moments(time, count, split, given, given_count, cut->at);
    inmo_free(time);
    for (int64_t e = 0; e < count; e++)
        rows->part[e] = rows->time[e] < cut->at[0]   ? INMO_TRAIN
                        : rows->time[e] < cut->at[1] ? INMO_VALID
                                                     : INMO_TEST;
    return leave_out(rows, cut, error);
}
