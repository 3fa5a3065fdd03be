/* rank.h - full ranking: the k best items of many users, without masked items and without storing all scores.
 *
 * Users are processed in blocks, items in tiles. A tile of scores is one BLAS product, which stays in the core's
 * cache while it is masked and scanned for entries above the user's k-th best so far. Scores other than dot
 * products come from a fill function, for all items and a few users at a time; masking and scanning are the
 * same. */
#ifndef INMO_SCORE_RANK_H
#define INMO_SCORE_RANK_H

#include "base/csr.h"
#include "base/status.h"
#include "kernel/top.h"
#include "score/beside.h"

/* The source of scores that are not dot products. */
struct inmo_fill {
    /* Fills score (count, items) for users who[0] .. who[count - 1]. Called from several threads at once; each has
     * its own scratch, zeroed before the first call. */
    void (*scores)(const void *context, const int32_t *who, int32_t count, void *scratch, float *score);
    const void *context;
    size_t scratch_bytes;
    int32_t users; /* most users in one call */
};

struct inmo_rank {
    int dim;
    const float *user;                // (users, dim), or
    int by_turn;                      /* 1: only of those whom this rank ranks for, in the order of who */
    const float *item;                // (items, dim)
    const struct inmo_fill *fill;     /* not NULL: used instead of dim, user and item */
    const struct inmo_beside *beside; /* not NULL: added to the dot products; who must be users of its graph */
    int32_t items;
    const int32_t *who;  // (count) users to rank for
    int32_t count;
    const struct inmo_csr *mask[5];  // a user's items in any of these are left out; the first NULL ends them
    const int32_t *candidate;        // (candidates) the only items ranked, ascending; NULL: all
    int32_t candidates;
    int32_t k;
    int32_t *top_item;  // (count, k) best first, -1 where there are fewer
    float *top_score;   // (count, k) or NULL
    int spread;         /* 1: all ranks make this call; each ranks for some of the users, and all get all lists */
};

/* Reports progress in users. Errors: MEMORY, INTERRUPTED. */
enum inmo_status inmo_rank(const struct inmo_rank *job, const struct inmo_hooks *hooks, struct inmo_error *error);

/* The first of who that a rank ranks for, if the job is spread. */
int32_t inmo_rank_first(const struct inmo_rank *job, int rank);

/* Naive twin: a double loop and a sort. */
enum inmo_status inmo_rank_reference(const struct inmo_rank *job, struct inmo_error *error);

#endif
