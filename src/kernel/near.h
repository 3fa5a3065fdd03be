/* near.h - item-to-item neighbours: for every item, the k most similar others by common users.
 *
 * Cost: Σ_u d_u² additions to an array with one number per item, which stays in cache. One thread computes each
 * item, so the result does not depend on the number of threads. */
#ifndef INMO_KERNEL_NEAR_H
#define INMO_KERNEL_NEAR_H

#include "base/status.h"
#include "graph/graph.h"
#include "kernel/top.h"

struct inmo_near {
    const struct inmo_graph *graph;
    int32_t k;
    const float *user_weight;  // (users) weight of a user; NULL: 1
    int64_t most;              /* users with more items are ignored; 0: none are */
    /* Similarity of items i and j from the summed weight of their common users. Called from several threads. */
    float (*alike)(const void *context, float common, int32_t i, int32_t j);
    const void *context;
    const float *edge;  // (2 edges) a common user counts edge[ui] edge[uj] times; NULL: once
};

/* The nearest of item i, sorted, -1 where there are fewer. sum (items) is zero before and after; met has room for
 * all items. */
void inmo_near_of(const struct inmo_near *near, int32_t i, float *sum, int32_t *met, struct inmo_top *top);
/* Calls row for items [first, end) of all, from all worker threads, each with a sum and a met of its own. Errors:
 * MEMORY, INTERRUPTED. */
typedef void inmo_near_row(void *context, int32_t i, float *sum, int32_t *met);
enum inmo_status inmo_near_each(int32_t items, int32_t first, int32_t end, inmo_near_row *row, void *context,
                                const struct inmo_hooks *hooks, struct inmo_error *error);

/* nearest (items, k), best first, -1 where there are fewer; similarity alike. Errors: MEMORY, INTERRUPTED. */
enum inmo_status inmo_near_find(const struct inmo_near *near, int32_t *nearest, float *similarity,
                                const struct inmo_hooks *hooks, struct inmo_error *error);

#endif
