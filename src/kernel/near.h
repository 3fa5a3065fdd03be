/* near.h - items that the same users took: for every item the k others that are most alike.
 *
 * Cost: Σ_u d_u² additions to an array of one number an item, which stays in cache. Every item is done wholly by
 * one thread, so the result is the same for any number of them. */
#ifndef INMO_KERNEL_NEAR_H
#define INMO_KERNEL_NEAR_H

#include "base/status.h"
#include "graph/graph.h"
#include "kernel/top.h"

struct inmo_near {
    const struct inmo_graph *graph;
    int32_t k;
    const float *user_weight;  // (users) what a user counts; NULL: 1
    int64_t most;              /* users with more items than this count nothing; 0: all do */
    /* How alike items i and j are, from what their common users count; called from several threads. */
    float (*alike)(const void *context, float common, int32_t i, int32_t j);
    const void *context;
};

/* The nearest of item i, sorted, -1 where there are fewer. sum (items) is zero before and after; met has room for all
 * items. */
void inmo_near_of(const struct inmo_near *near, int32_t i, float *sum, int32_t *met, struct inmo_top *top);

/* nearest (items, k), best first, -1 where there are fewer; similarity alike. Errors: MEMORY, INTERRUPTED. */
enum inmo_status inmo_near_find(const struct inmo_near *near, int32_t *nearest, float *similarity,
                                const struct inmo_hooks *hooks, struct inmo_error *error);

#endif
