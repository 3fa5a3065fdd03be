/* beside.h - what is added to the dot product of two vectors: short walks (walk.h) and item links (links.h), both
 * sparse sums over the items of a history, and the popularity of items (prior.h), the same for everybody. */
#ifndef INMO_SCORE_BESIDE_H
#define INMO_SCORE_BESIDE_H

#include "score/links.h"
#include "score/prior.h"
#include "score/walk.h"

struct inmo_beside {
    const struct inmo_graph *graph; /* users of rank.h's jobs are users of this graph; NULL: nothing is added */
    struct inmo_walks *walks;       // NULL: none
    struct inmo_links *links;       // NULL: none
    struct inmo_prior *prior;       // NULL: none
};

void inmo_beside_free(struct inmo_beside *beside);
/* Computes what is missing, in parallel. */
enum inmo_status inmo_beside_complete(const struct inmo_beside *beside, const struct inmo_hooks *hooks,
                                      struct inmo_error *error);
/* Computes what these items of a history (node[n] - first) need. May be called from any number of threads. */
void inmo_beside_need(const struct inmo_beside *beside, const int32_t *node, int32_t count, int32_t first,
                      struct inmo_sums *sums);
/* At most so many items get something from this history. */
int64_t inmo_beside_most(const struct inmo_beside *beside, const int32_t *node, int32_t count, int32_t first);
/* share (count): of each item in the history, mean 1; NULL: 1.
 * What a history adds to scores: value[n] to item[n], ascending. item and value have room for inmo_beside_most
 * entries. Returns how many there are. */
int32_t inmo_beside_collect(const struct inmo_beside *beside, const int32_t *node, const float *share,
                            int32_t count, int32_t first, struct inmo_sums *sums, int32_t *item, float *value);
/* What item j of a history, of such a share in it, adds to the score of item i. */
double inmo_beside_between(const struct inmo_beside *beside, int32_t j, float share, int32_t i);
/* What is added to the score of item i for anybody. */
double inmo_beside_always(const struct inmo_beside *beside, int32_t i);

#endif
