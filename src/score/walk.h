/* walk.h - short walks on the graph: from an item to one of its users, each as likely as the other, and from
 * there to one of the user's items.
 *
 *     P(j -> i) = Σ_{v in N_j ∩ N_i} 1/d_j · 1/d_v,      walks(H, i) = weight · d_i^γ · Σ_{j in H} P(j -> i)
 *
 * What only a few people have in common does not fit into vectors of a hundred numbers; walks remember it, as
 * far as the k heaviest of each item go. Added to a score they are sparse: a history of h items has h·k terms. */
#ifndef INMO_SCORE_WALK_H
#define INMO_SCORE_WALK_H

#include "base/status.h"
#include "graph/graph.h"

struct inmo_walks {
    const struct inmo_graph *graph; /* whose users may be named */
    int32_t items, k;
    int32_t *item;                   // (items, k) where walks from an item lead, heaviest first; -1: no more
    float *weight;                   // (items, k) weight · d_i^γ · P
    struct inmo_walk_making *making; /* which rows are made, and how the others will be */
};

/* A walk through somebody with more items than this is not taken: it says little and would cost the most. */
enum { INMO_WALK_MOST = 4000 };

/* No row is made yet. The graph must outlive the walks. */
enum inmo_status inmo_walks_open(const struct inmo_graph *graph, double weight, double popularity, int32_t k,
                                 struct inmo_walks **walks, struct inmo_error *error);
/* Makes all rows that are not there, in parallel. Serving threads may make rows at the same time. */
enum inmo_status inmo_walks_complete(struct inmo_walks *walks, const struct inmo_hooks *hooks,
                                     struct inmo_error *error);
/* Both. */
enum inmo_status inmo_walks_make(const struct inmo_graph *graph, double weight, double popularity, int32_t k,
                                 const struct inmo_hooks *hooks, struct inmo_walks **walks,
                                 struct inmo_error *error);
void inmo_walks_free(struct inmo_walks *walks);

/* What one thread adds up in; all zero between calls. */
struct inmo_walk_space {
    float *sum;       // (items)
    uint64_t *mark;   // (items / 64 + 1) which of them are not zero
    uint64_t *group;  // (items / 4096 + 1) which words of mark are not
    int32_t *met;     // (items) items in the order they were met, while a row is made
};
int inmo_walk_space_make(struct inmo_walk_space *space, int32_t items); /* 0, or -1 when memory is short */
void inmo_walk_space_free(struct inmo_walk_space *space);

/* Makes the rows of these items (node[n] - first) that are not there. From any number of threads. */
void inmo_walks_need(struct inmo_walks *walks, const int32_t *node, int32_t count, int32_t first,
                     struct inmo_walk_space *space);
/* What the items of a history (node[n] - first), whose rows are made, add to which items, these ascending: item and
 * value have room for inmo_walks_most of them. Returns how many. */
int32_t inmo_walks_collect(const struct inmo_walks *walks, const int32_t *node, int32_t count, int32_t first,
                           struct inmo_walk_space *space, int32_t *item, float *value);
int64_t inmo_walks_most(const struct inmo_walks *walks, int64_t count);
/* What item j of a history adds to item i. */
float inmo_walks_between(const struct inmo_walks *walks, int32_t j, int32_t i);

#endif
