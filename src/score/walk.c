/* walk.c - see walk.h. */
#include "score/walk.h"

#include "base/memory.h"
#include "base/threads.h"
#include "kernel/near.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { LOCKS = 64, AHEAD = 4 };

struct inmo_walk_making {
    // (items) factor of an item where a walk starts, 1 / d, and where it ends, d^γ
    float *start, *end;
    float *share;                // (users) 1 / d
    _Atomic uint8_t *made;       // (items) 1: the row is computed
    pthread_mutex_t lock[LOCKS]; /* lock i % LOCKS is held while row i is computed */
    int locks;
};

static float walk_weight(const void *context, float common, int32_t i, int32_t j)
{
    const struct inmo_walk_making *making = context;
    return making->start[i] * common * making->end[j];
}

static void free_making(struct inmo_walk_making *making)
{
    if (!making)
        return;
    for (int n = 0; n < making->locks; n++)
        pthread_mutex_destroy(making->lock + n);
    inmo_free((void *)making->made);
    inmo_free(making->share);
    inmo_free(making->end);
    inmo_free(making->start);
    inmo_free(making);
}

void inmo_walks_free(struct inmo_walks *walks)
{
    if (!walks)
        return;
    free_making(walks->making);
    inmo_free(walks->weight);
    inmo_free(walks->item);
    inmo_free(walks);
}

static struct inmo_walk_making *new_making(const struct inmo_graph *graph)
{
    struct inmo_walk_making *making = inmo_alloc_zero(1, sizeof *making);
    if (!making)
        return NULL;
    making->start = inmo_alloc((size_t)graph->items, sizeof *making->start);
    making->end = inmo_alloc((size_t)graph->items, sizeof *making->end);
    making->share = inmo_alloc((size_t)graph->users, sizeof *making->share);
    making->made = inmo_alloc_zero((size_t)graph->items, sizeof *making->made);
    while (making->locks < LOCKS && pthread_mutex_init(making->lock + making->locks, NULL) == 0)
        making->locks++;
    if (!making->start || !making->end || !making->share || !making->made || making->locks < LOCKS) {
        free_making(making);
        making = NULL;
    }
    return making;
}

enum inmo_status inmo_walks_open(const struct inmo_graph *graph, double factor, double popularity, int32_t k,
                                 struct inmo_walks **out, struct inmo_error *error)
{
    struct inmo_walks *walks = inmo_alloc_zero(1, sizeof *walks);
    struct inmo_walk_making *making;
    size_t size;
    if (!walks)
        return inmo_fail_memory(error, "the walks between items");
    walks->graph = graph;
    walks->factor = (float)factor;
    walks->items = graph->items;
    walks->k = k < graph->items ? k : graph->items;
    size = (size_t)graph->items * (size_t)walks->k;
    walks->item = inmo_alloc(size, sizeof *walks->item);
    walks->weight = inmo_alloc(size, sizeof *walks->weight);
    making = walks->making = new_making(graph);
    if (!walks->item || !walks->weight || !making) {
        inmo_walks_free(walks);
        return inmo_fail_memory(error, "the walks between items");
    }
    for (int32_t u = 0; u < graph->users; u++) {
        double degree = inmo_graph_strength(graph, u);
        making->share[u] = degree > 0 ? 1 / (float)degree : 0;
    }
    for (int32_t i = 0; i < graph->items; i++) {
        double degree = inmo_graph_strength(graph, graph->users + i);
        making->start[i] = (float)(1 / (degree > 0 ? degree : 1));
        making->end[i] = (float)pow(degree > 0 ? degree : 1, popularity);
    }
    *out = walks;
    return INMO_OK;
}

/* Computes row i unless it is there. sum (items) is zero before and after; met has room for all items. */
static void make_row(struct inmo_walks *walks, int32_t i, float *sum, int32_t *met)
{
    struct inmo_walk_making *making = walks->making;
    struct inmo_near near = {walks->graph, walks->k, making->share,       INMO_WALK_MOST,
                             walk_weight,  making,   walks->graph->weight};
    size_t at = (size_t)i * (size_t)walks->k;
    struct inmo_top top = {walks->k, 0, walks->weight + at, walks->item + at};
    pthread_mutex_t *lock = making->lock + i % LOCKS;
    if (atomic_load_explicit(making->made + i, memory_order_acquire))
        return;
    pthread_mutex_lock(lock); /* threads wait only for rows with the same remainder, once a row */
    if (!atomic_load_explicit(making->made + i, memory_order_relaxed)) {
        inmo_near_of(&near, i, sum, met, &top);
        atomic_store_explicit(making->made + i, 1, memory_order_release);
    }
    pthread_mutex_unlock(lock);
}

void inmo_walks_need(struct inmo_walks *walks, const int32_t *node, int32_t count, int32_t first,
                     struct inmo_sums *sums)
{
    for (int32_t n = 0; n < count; n++)
        make_row(walks, node[n] - first, sums->sum, sums->met);
}

static void complete_row(void *context, int32_t i, float *sum, int32_t *met)
{
    make_row(context, i, sum, met);
}

enum inmo_status inmo_walks_complete(struct inmo_walks *walks, const struct inmo_hooks *hooks,
                                     struct inmo_error *error)
{
    return inmo_near_each(walks->items, 0, walks->items, complete_row, walks, hooks, error);
}

enum inmo_status inmo_walks_make(const struct inmo_graph *graph, double factor, double popularity, int32_t k,
                                 const struct inmo_hooks *hooks, struct inmo_walks **out, struct inmo_error *error)
{
    struct inmo_walks *walks = NULL;
    enum inmo_status status = inmo_walks_open(graph, factor, popularity, k, &walks, error);
    if (!status)
        status = inmo_walks_complete(walks, hooks, error);
    if (!status)
        *out = walks;
    else
        inmo_walks_free(walks);
    return status;
}

int64_t inmo_walks_most(const struct inmo_walks *walks, int64_t count)
{
    return count * walks->k < walks->items ? count * walks->k : walks->items;
}

/* Rows lie anywhere: asks the memory for one that will be read soon. */
static void fetch_row(const struct inmo_walks *walks, int32_t item)
{
    enum { LINE = 16 }; /* numbers in a line of the cache */
    size_t at = (size_t)item * (size_t)walks->k, k = (size_t)walks->k < 4 * LINE ? (size_t)walks->k : 4 * LINE;
    for (size_t e = 0; e < k; e += LINE) {
        __builtin_prefetch(walks->item + at + e);
        __builtin_prefetch(walks->weight + at + e);
    }
}

void inmo_walks_add(const struct inmo_walks *walks, const int32_t *node, const float *share, int32_t count,
                    int32_t first, struct inmo_sums *sums)
{
    size_t k = (size_t)walks->k;
    for (int32_t n = 0; n < count; n++) {
        const int32_t *to = walks->item + (size_t)(node[n] - first) * k;
        const float *weight = walks->weight + (size_t)(node[n] - first) * k;
        if (n + AHEAD < count)
            fetch_row(walks, node[n + AHEAD] - first);
        float factor = share ? walks->factor * share[n] : walks->factor;
        for (size_t e = 0; e < k && to[e] >= 0; e++)
            inmo_sums_add(sums, to[e], factor * weight[e]);
    }
}

float inmo_walks_between(const struct inmo_walks *walks, int32_t j, int32_t i)
{
    const int32_t *to = walks->item + (size_t)j * (size_t)walks->k;
    for (int32_t e = 0; e < walks->k && to[e] >= 0; e++)
        if (to[e] == i)
            return walks->factor * walks->weight[(size_t)j * (size_t)walks->k + (size_t)e];
    return 0;
}
