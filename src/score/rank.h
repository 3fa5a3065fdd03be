/* rank.h - full ranking: the k best items of many users, masked items left out, without ever storing all scores.
 *
 * Users go in blocks, items in tiles; a tile of scores is one BLAS product that stays in the core's cache while
 * it is masked and scanned for entries above the user's k-th best so far. Scores that are no dot products come
 * from a function instead, which fills all items of a few users at a time; masking and scanning are the same. */
#ifndef INMO_SCORE_RANK_H
#define INMO_SCORE_RANK_H

#include "base/csr.h"
#include "base/status.h"
#include "kernel/top.h"
#include "score/walk.h"

/* Where scores come from when they are no dot products. */
struct inmo_fill {
    /* score (count, items) of users who[0] .. who[count - 1]; called from several threads at once. scratch is the
     * thread's own, all zero at its first call. */
    void (*scores)(const void *context, const int32_t *who, int32_t count, void *scratch, float *score);
    const void *context;
    size_t scratch_bytes;
    int32_t users; /* in a call, at most */
};

struct inmo_rank {
    int dim;
    const float *user;              // (users, dim)
    const float *item;              // (items, dim)
    const struct inmo_fill *fill;   /* not NULL: instead of dim, user and item */
    const struct inmo_walks *walks; /* not NULL: added to the dot products; who are users of its graph */
    int32_t items;
    const int32_t *who;  // (count) users to rank for
    int32_t count;
    const struct inmo_csr *mask[4];  // items of the user in any of these are left out; NULL: none
    const int32_t *candidate;        // (candidates) the only items ranked, ascending; NULL: all
    int32_t candidates;
    int32_t k;
    int32_t *top_item;  // (count, k) best first, -1 where there are fewer
    float *top_score;   // (count, k) or NULL
};

/* Errors: MEMORY, INTERRUPTED. Progress in users. */
enum inmo_status inmo_rank(const struct inmo_rank *job, const struct inmo_hooks *hooks, struct inmo_error *error);

/* Naive twin: a double loop and a sort. */
enum inmo_status inmo_rank_reference(const struct inmo_rank *job, struct inmo_error *error);

#endif
