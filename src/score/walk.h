/* walk.h - random walks of two steps: from an item to one of its users and on to one of that user's items, each
 * chosen uniformly.
 *
 *     P(j -> i) = Σ_{v in N_j ∩ N_i} 1/d_j · 1/d_v,      walks(H, i) = factor · d_i^γ · Σ_{j in H} P(j -> i)
 *
 * With weights a step goes by weight: 1/d_j is w_vj / Σ_v w_vj, 1/d_v is w_vi / Σ_i w_vi, d_i is Σ_v w_vi; item
 * j of the history counts by its share, w_uj / (mean of w_uj).
 *
 * Vectors of a hundred numbers cannot store what only a few people have in common; walks can. Each item keeps its
 * k heaviest walks. As an addition to a score they are sparse: a history of h items has at most h·k terms. */
#ifndef INMO_SCORE_WALK_H
#define INMO_SCORE_WALK_H

#include "base/status.h"
#include "graph/graph.h"
#include "score/sums.h"

struct inmo_walks {
    const struct inmo_graph *graph;
    int32_t items, k;
    float factor;
    int32_t *item;                   // (items, k) where walks from an item end, heaviest first; -1: no more
    float *weight;                   // (items, k) d_i^γ · P
    struct inmo_walk_making *making; /* which rows are computed, and what computing the others needs */
};

/* Walks and links skip users with more items than this: they say little and cost the most. */
enum { INMO_WALK_MOST = 4000 };

/* Computes no row yet. The graph must outlive the walks. */
enum inmo_status inmo_walks_open(const struct inmo_graph *graph, double factor, double popularity, int32_t k,
                                 struct inmo_walks **walks, struct inmo_error *error);
/* Computes all missing rows, in parallel. Serving threads may compute rows at the same time. */
enum inmo_status inmo_walks_complete(struct inmo_walks *walks, const struct inmo_hooks *hooks,
                                     struct inmo_error *error);
/* Opens and completes. */
enum inmo_status inmo_walks_make(const struct inmo_graph *graph, double factor, double popularity, int32_t k,
                                 const struct inmo_hooks *hooks, struct inmo_walks **walks,
                                 struct inmo_error *error);
void inmo_walks_free(struct inmo_walks *walks);

/* Computes the missing rows of these items (node[n] - first). May be called from any number of threads. */
void inmo_walks_need(struct inmo_walks *walks, const int32_t *node, int32_t count, int32_t first,
                     struct inmo_sums *sums);
/* Adds what the walks from the items of a history (node[n] - first) say, each as often as its share of the history
 * (NULL: 1); their rows must be computed. */
void inmo_walks_add(const struct inmo_walks *walks, const int32_t *node, const float *share, int32_t count,
                    int32_t first, struct inmo_sums *sums);
/* At most so many items get something from a history of count items. */
int64_t inmo_walks_most(const struct inmo_walks *walks, int64_t count);
/* What the walks from item j of a history add to the score of item i. */
float inmo_walks_between(const struct inmo_walks *walks, int32_t j, int32_t i);

#endif
