/* log.h - interactions as read: numbers of interned ids, in file order, with duplicates.
 *
 * Stored in blocks of fixed size, so growing never copies and peak memory stays near the final size:
 * 8 bytes per interaction, 8 more with times, 1 more with a split column. */
#ifndef INMO_DATA_LOG_H
#define INMO_DATA_LOG_H

#include "base/idmap.h"
#include "base/status.h"

enum { INMO_LOG_BLOCK = 1 << 16 };

struct inmo_log_block {
    int32_t user[INMO_LOG_BLOCK];
    int32_t item[INMO_LOG_BLOCK];
    int64_t *time;  // (INMO_LOG_BLOCK), NULL when the log has no times
    uint8_t *part;  // (INMO_LOG_BLOCK), 0 train, 1 test, 2 valid; NULL when the log has no split column
};

struct inmo_log {
    struct inmo_idtable *users, *items;
    int64_t count;
    struct inmo_log_block **block;  // ((count + INMO_LOG_BLOCK - 1) / INMO_LOG_BLOCK)
    size_t block_count, block_capacity;
    int has_time, has_part;
    int64_t lines, bad_lines, low_rating_lines;  // read in all; passed over; left out by the rating threshold
    double highest_rating;                       // seen; NaN without ratings
    char *sources;                               // the paths, comma-separated, for the description
    char *reading;                               // JSON object: the options it was read with; NULL: from memory
};

struct inmo_log *inmo_log_new(int has_time, int has_part);
/* 0, or -1 when memory is short. */
int inmo_log_add(struct inmo_log *log, int32_t user, int32_t item, int64_t time, uint8_t part);

static inline int32_t inmo_log_user(const struct inmo_log *log, int64_t n)
{
    return log->block[n / INMO_LOG_BLOCK]->user[n % INMO_LOG_BLOCK];
}
static inline int32_t inmo_log_item(const struct inmo_log *log, int64_t n)
{
    return log->block[n / INMO_LOG_BLOCK]->item[n % INMO_LOG_BLOCK];
}

#endif
