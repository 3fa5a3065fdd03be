/* log.c - see log.h. Blocks are allocated one at a time and never move: adding is O(1), and only the list of block
 * pointers is copied as the log grows (8 bytes per 65,536 interactions). */
#include "data/log.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/setting.h"
#include "data/value.h"

#include <math.h>
#include <string.h>

struct inmo_log *inmo_log_new(int has_time, int has_part)
{
    struct inmo_log *log = inmo_alloc_zero(1, sizeof *log);
    if (!log)
        return NULL;
    log->has_time = has_time;
    log->has_part = has_part;
    log->highest_rating = NAN;
    strcpy(log->threshold, "> 3");
    log->users = inmo_idtable_new();
    log->items = inmo_idtable_new();
    if (!log->users || !log->items) {
        inmo_log_free(log);
        log = NULL;
    }
    return log;
}

static void free_block(struct inmo_log_block *block)
{
    if (!block)
        return;
    inmo_free(block->part);
    inmo_free(block->weight);
    inmo_free(block->time);
    inmo_free(block);
}

void inmo_log_free(struct inmo_log *log)
{
    if (!log)
        return;
    inmo_log_free(log->seen);
    inmo_free(log->reading);
    inmo_free(log->sources);
    for (size_t n = log->block_count; n > 0; n--)
        free_block(log->block[n - 1]);
    inmo_free(log->block);
    inmo_idtable_free(log->items);
    inmo_idtable_free(log->users);
    inmo_free(log);
}

int64_t inmo_log_count(const struct inmo_log *log)
{
    return log->count;
}

int inmo_log_at(const struct inmo_log *log, int64_t n, const char **user, const char **item, int64_t *time)
{
    const struct inmo_log_block *block;
    struct inmo_idmap users, items;
    if (n < 0 || n >= log->count)
        return 0;
    users = inmo_idtable_map(log->users);
    items = inmo_idtable_map(log->items);
    block = log->block[n / INMO_LOG_BLOCK];
    *user = inmo_idmap_id(&users, block->user[n % INMO_LOG_BLOCK]);
    *item = inmo_idmap_id(&items, block->item[n % INMO_LOG_BLOCK]);
    *time = block->time ? block->time[n % INMO_LOG_BLOCK] : 0;
    return 1;
}

static int add_block(struct inmo_log *log)
{
    struct inmo_log_block *block = NULL;
    if (log->block_count == log->block_capacity) {
        size_t capacity = log->block_capacity ? 2 * log->block_capacity : 16;
        struct inmo_log_block **list = inmo_resize(log->block, log->block_count, capacity, sizeof(*list));
        if (!list)
            return -1;
        log->block = list;
        log->block_capacity = capacity;
    }
    block = inmo_alloc(1, sizeof *block);
    if (!block)
        return -1;
    block->time = log->has_time ? inmo_alloc(INMO_LOG_BLOCK, sizeof *block->time) : NULL;
    block->part = log->has_part ? inmo_alloc(INMO_LOG_BLOCK, sizeof *block->part) : NULL;
    block->weight = log->has_weight ? inmo_alloc(INMO_LOG_BLOCK, sizeof *block->weight) : NULL;
    if ((log->has_time && !block->time) || (log->has_part && !block->part) || (log->has_weight && !block->weight)) {
        free_block(block);
        return -1;
    }
    log->block[log->block_count++] = block;
    return 0;
}

int inmo_log_add(struct inmo_log *log, int32_t user, int32_t item, int64_t time, uint8_t part)
{
    size_t place = (size_t)(log->count % INMO_LOG_BLOCK);
    struct inmo_log_block *block;
    if (place == 0 && (size_t)(log->count / INMO_LOG_BLOCK) == log->block_count && add_block(log) != 0)
        return -1;
    block = log->block[log->count / INMO_LOG_BLOCK];
    block->user[place] = user;
    block->item[place] = item;
    if (block->time)
        block->time[place] = time;
    if (block->part)
        block->part[place] = part;
    log->count++;
    return 0;
}

int inmo_log_add_seen(struct inmo_log *log, int32_t user, int32_t item, enum inmo_kind kind)
{
    if (!log->seen) {
        log->seen = inmo_alloc_zero(1, sizeof *log->seen);
        if (!log->seen)
            return -1;
        log->seen->has_part = 1;
    }
    return inmo_log_add(log->seen, user, item, 0, (uint8_t)kind);
}

int inmo_log_rate(struct inmo_log *log, const struct inmo_read_options *options, double rating)
{
    if (!(rating <= log->highest_rating)) /* also when there was none */
        log->highest_rating = rating;
    if (options->keep_all_ratings ||
        (options->min_rating == INMO_AUTO ? rating > INMO_LIKED : rating >= options->min_rating))
        return 1;
    if (log->low_rating_lines++ == 0 && options->min_rating != INMO_AUTO)
        inmo_format(log->threshold, sizeof log->threshold, ">= %.15g", options->min_rating);
    return 0;
}

enum inmo_status inmo_log_from_pairs(size_t count, const char *const *user, const char *const *item,
                                     const int64_t *time, struct inmo_log **result, struct inmo_error *error)
{
    return inmo_log_from_ratings(count, user, item, NULL, time, NULL, result, error);
}

enum inmo_status inmo_log_from_ratings(size_t count, const char *const *user, const char *const *item,
                                       const double *rating, const int64_t *time,
                                       const struct inmo_read_options *options, struct inmo_log **result,
                                       struct inmo_error *error)
{
    return inmo_log_from_weights(count, user, item, rating, NULL, time, options, result, error);
}

/* Whether there are weights, and ones in place of them. */
static enum inmo_status find_weights(const char *asked, const double *rating, const double **weight, int *counted,
                                     struct inmo_error *error)
{
    *counted = 0;
    if (*weight || !asked)
        return INMO_OK;
    if (strcmp(asked, "rating") == 0 && rating)
        *weight = rating;
    else if (strcmp(asked, "count") == 0)
        *counted = 1;
    else
        return inmo_fail(error, INMO_USAGE, "`weight` is %s, and there is no such column in memory, expected %s",
                         asked, rating ? "rating or count" : "count");
    return INMO_OK;
}

static enum inmo_status from_memory(size_t count, const char *const *user, const char *const *item,
                                    const unsigned char *seen, const double *rating, const double *weight,
                                    const int64_t *time, const struct inmo_read_options *options,
                                    struct inmo_log **result, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_read_options defaults;
    struct inmo_log *log = NULL;
    int counted = 0;
    inmo_read_options_init(&defaults);
    options = options ? options : &defaults;
    status = inmo_sized_check(options, sizeof *options, "inmo_read_options", error);
    if (!status)
        status = find_weights(options->weight, rating, &weight, &counted, error);
    if (status)
        return status;
    log = inmo_log_new(time != NULL, 0);
    if (!log || !(log->sources = inmo_copy_string("(memory)"))) {
        status = inmo_fail_memory(error, "the log");
        goto done;
    }
    log->has_weight = weight || counted;
    for (size_t n = 0; n < count; n++) {
        const char *id[2] = {user[n] ? user[n] : "", item[n] ? item[n] : ""};
        int32_t number[2];
        int positive = 1;
        log->lines++;
        if (rating && !isfinite(rating[n])) {
            status = inmo_fail(error, INMO_INPUT, "pair %zu: found a rating that is not finite, expected a number",
                               n + 1);
            goto done;
        }
        if (weight && !(weight[n] >= 0 && weight[n] <= INMO_WEIGHT_MOST)) {
            status = inmo_fail(error, INMO_INPUT, "pair %zu: found the weight %g, expected a number from 0 to %g",
                               n + 1, weight[n], INMO_WEIGHT_MOST);
            goto done;
        }
        if (seen && seen[n]) {
            log->seen_lines++;
            positive = 0;
        }
        if (rating)
            positive = inmo_log_rate(log, options, rating[n]);
        if (positive && weight && (float)weight[n] == 0) {
            log->weightless_lines++;
            positive = 0;
        }
        for (int side = 0; side < 2; side++) {
            size_t length = strlen(id[side]);
            if (!inmo_id_is_good(id[side], length)) {
                char fault[INMO_SHOWN];
                inmo_id_fault(id[side], length, side ? "item" : "user", fault);
                status = inmo_fail(error, INMO_INPUT, "pair %zu: %s", n + 1, fault);
                goto done;
            }
            number[side] = inmo_idtable_intern(side ? log->items : log->users, id[side], length);
        }
        if (number[0] < 0 || number[1] < 0 ||
            (positive ? inmo_log_add(log, number[0], number[1], time ? time[n] : 0, 0)
                      : inmo_log_add_seen(log, number[0], number[1], INMO_SEEN)) != 0) {
            status = inmo_fail_memory(error, "the log");
            goto done;
        }
        if (positive && log->has_weight)
            inmo_log_weigh_last(log, weight ? weight[n] : 1);
    }
    *result = log;
done:
    if (status != INMO_OK)
        inmo_log_free(log);
    return status;
}

enum inmo_status inmo_log_from_weights(size_t count, const char *const *user, const char *const *item,
                                       const double *rating, const double *weight, const int64_t *time,
                                       const struct inmo_read_options *options, struct inmo_log **result,
                                       struct inmo_error *error)
{
    return from_memory(count, user, item, NULL, rating, weight, time, options, result, error);
}

enum inmo_status inmo_log_from_events(size_t count, const char *const *user, const char *const *item,
                                      const unsigned char *seen, const int64_t *time, struct inmo_log **result,
                                      struct inmo_error *error)
{
    return from_memory(count, user, item, seen, NULL, NULL, time, NULL, result, error);
}
