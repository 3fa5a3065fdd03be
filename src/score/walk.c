/* walk.c - see walk.h. */
#include "score/walk.h"

#include "base/memory.h"
#include "base/threads.h"
#include "kernel/near.h"

#include <math.h>
#include <string.h>

/* Of each item: weight / d as the start of a walk, d^γ as its end. */
struct measure {
    float *start, *end;  // (items)
};

static float walk_weight(const void *context, float common, int32_t i, int32_t j)
{
    const struct measure *measure = context;
    return measure->start[i] * common * measure->end[j];
}

void inmo_walks_free(struct inmo_walks *walks)
{
    if (!walks)
        return;
    inmo_free(walks->weight);
    inmo_free(walks->item);
    inmo_free(walks);
}

enum inmo_status inmo_walks_make(const struct inmo_graph *graph, double weight, double popularity, int32_t k,
                                 const struct inmo_hooks *hooks, struct inmo_walks **out, struct inmo_error *error)
{
    struct measure measure = {inmo_alloc((size_t)graph->items, sizeof(float)),
                              inmo_alloc((size_t)graph->items, sizeof(float))};
    struct inmo_walks *walks = inmo_alloc_zero(1, sizeof *walks);
    float *share = inmo_alloc((size_t)graph->users, sizeof *share);
    struct inmo_near near = {graph,   k < graph->items ? k : graph->items, share, INMO_WALK_MOST, walk_weight,
                             &measure};
    size_t size = (size_t)graph->items * (size_t)near.k;
    enum inmo_status status = INMO_OK;
    if (walks) {
        walks->item = inmo_alloc(size, sizeof *walks->item);
        walks->weight = inmo_alloc(size, sizeof *walks->weight);
    }
    if (!walks || !share || !walks->item || !walks->weight || !measure.start || !measure.end)
        status = inmo_fail_memory(error, "the walks between items");
    for (int32_t u = 0; u < graph->users && !status; u++) {
        int64_t degree = inmo_graph_degree(graph, u);
        share[u] = degree > 0 ? 1 / (float)degree : 0;
    }
    for (int32_t i = 0; i < graph->items && !status; i++) {
        double degree = (double)inmo_graph_degree(graph, graph->users + i);
        measure.start[i] = (float)(weight / (degree > 0 ? degree : 1));
        measure.end[i] = (float)pow(degree > 0 ? degree : 1, popularity);
    }
    if (!status)
        status = inmo_near_find(&near, walks->item, walks->weight, hooks, error);
    if (!status) {
        walks->graph = graph;
        walks->items = graph->items;
        walks->k = near.k;
        *out = walks;
        walks = NULL;
    }
    inmo_free(measure.end);
    inmo_free(measure.start);
    inmo_free(share);
    inmo_walks_free(walks);
    return status;
}

int inmo_walk_space_make(struct inmo_walk_space *space, int32_t items)
{
    space->sum = inmo_alloc_zero((size_t)items, sizeof *space->sum);
    space->mark = inmo_alloc_zero((size_t)items / 64 + 1, sizeof *space->mark);
    return space->sum && space->mark ? 0 : -1;
}

void inmo_walk_space_free(struct inmo_walk_space *space)
{
    inmo_free(space->mark);
    inmo_free(space->sum);
    *space = (struct inmo_walk_space){0};
}

int64_t inmo_walks_most(const struct inmo_walks *walks, int64_t count)
{
    return count * walks->k < walks->items ? count * walks->k : walks->items;
}

int32_t inmo_walks_collect(const struct inmo_walks *walks, const int32_t *node, int32_t count, int32_t first,
                           struct inmo_walk_space *space, int32_t *item, float *value)
{
    int32_t found = 0, words = walks->items / 64 + 1;
    size_t k = (size_t)walks->k;
    for (int32_t n = 0; n < count; n++) {
        const int32_t *to = walks->item + (size_t)(node[n] - first) * k;
        const float *weight = walks->weight + (size_t)(node[n] - first) * k;
        for (size_t e = 0; e < k && to[e] >= 0; e++) {
            space->sum[to[e]] += weight[e];
            space->mark[to[e] >> 6] |= (uint64_t)1 << (to[e] & 63);
        }
    }
    for (int32_t w = 0; w < words; w++) {
        for (uint64_t left = space->mark[w]; left; left &= left - 1) {
            int32_t i = w * 64 + __builtin_ctzll(left);
            item[found] = i;
            value[found++] = space->sum[i];
            space->sum[i] = 0;
        }
        space->mark[w] = 0;
    }
    return found;
}

float inmo_walks_between(const struct inmo_walks *walks, int32_t j, int32_t i)
{
    const int32_t *to = walks->item + (size_t)j * (size_t)walks->k;
    for (int32_t e = 0; e < walks->k && to[e] >= 0; e++)
        if (to[e] == i)
            return walks->weight[(size_t)j * (size_t)walks->k + (size_t)e];
    return 0;
}
