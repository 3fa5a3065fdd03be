/* log.h - interactions as read: numbers of interned ids, in file order, with duplicates.
 *
 * Stored in blocks of fixed size, so growing never copies and peak memory stays near the final size:
 * 8 bytes per interaction, 8 more with times, 4 more with weights, 1 more with a split column; 9 for a
 * pair that was only seen. */
#ifndef INMO_DATA_LOG_H
#define INMO_DATA_LOG_H

#include "base/idmap.h"
#include "base/status.h"

enum { INMO_LOG_BLOCK = 1 << 16 };

/* Ratings above this are positive unless an option says otherwise: the paper's rule. */
#define INMO_LIKED 3.0

/* The largest weight of a line. */
#define INMO_WEIGHT_MOST 1e15

struct inmo_log_block {
    int32_t user[INMO_LOG_BLOCK];
    int32_t item[INMO_LOG_BLOCK];
    int64_t *time;  // (INMO_LOG_BLOCK), NULL when the log has no times
    float *weight;  // (INMO_LOG_BLOCK), above 0; NULL when the log has no weights
    uint8_t *part;  // (INMO_LOG_BLOCK), 0 train, 1 test, 2 valid; NULL when the log has no split column
};

/* What an interaction says. CANCELLED: like SEEN, and the pair is no interaction whatever else the log has of
 * it. */
enum inmo_kind { INMO_POSITIVE, INMO_SEEN, INMO_CANCELLED, INMO_IGNORED };

struct inmo_spill;

struct inmo_log {
    struct inmo_idtable *users, *items;
    int64_t count;
    struct inmo_log_block **block;  // ((count + INMO_LOG_BLOCK - 1) / INMO_LOG_BLOCK)
    size_t block_count, block_capacity;
    int has_time, has_part;
    int has_weight;         /* set before the first interaction is added */
    struct inmo_log *seen;  // pairs that are not positive: a log without ids, its part is the kind; NULL: none
    int64_t lines, bad_lines, low_rating_lines;  // read in all; passed over; below the rating threshold (seen)
    int64_t seen_lines, cancelled_lines, ignored_lines;  // of such event types
    int64_t weightless_lines;                            // of weight 0 (seen)
    double highest_rating;                               // seen; NaN without ratings
    char threshold[40];                                  // of ratings that are positive: "> 3", ">= 4"
    char *sources;                                       // the paths, comma-separated, for the description
    struct inmo_spill *spill;  // where interactions go instead of the blocks (spill.h); NULL: they fit into memory
    char *reading;             // JSON object: the options it was read with; NULL: from memory
};

struct inmo_log *inmo_log_new(int has_time, int has_part);
/* 0, or -1 when memory is short. */
int inmo_log_add(struct inmo_log *log, int32_t user, int32_t item, int64_t time, uint8_t part);
/* Sets the weight of the interaction that was added last. */
static inline void inmo_log_weigh_last(struct inmo_log *log, double weight)
{
    int64_t n = log->count - 1;
    log->block[n / INMO_LOG_BLOCK]->weight[n % INMO_LOG_BLOCK] = (float)weight;
}
/* Adds a pair that is not positive. 0, or -1 when memory is short. */
int inmo_log_add_seen(struct inmo_log *log, int32_t user, int32_t item, enum inmo_kind kind);
/* Whether a rating is positive by the options; counts it otherwise. */
int inmo_log_rate(struct inmo_log *log, const struct inmo_read_options *options, double rating);

static inline int32_t inmo_log_user(const struct inmo_log *log, int64_t n)
{
    return log->block[n / INMO_LOG_BLOCK]->user[n % INMO_LOG_BLOCK];
}
static inline int32_t inmo_log_item(const struct inmo_log *log, int64_t n)
{
    return log->block[n / INMO_LOG_BLOCK]->item[n % INMO_LOG_BLOCK];
}

#endif
