/* near.c - see near.h. */
#include "kernel/near.h"

#include "base/memory.h"
#include "base/threads.h"
#include "kernel/top.h"

#include <math.h>
#include <stdatomic.h>

void inmo_near_of(const struct inmo_near *near, int32_t i, float *sum, int32_t *met, struct inmo_top *top)
{
    const struct inmo_graph *graph = near->graph;
    int32_t users = graph->users, count = 0;
    for (int64_t e = graph->offset[users + i]; e < graph->offset[users + i + 1]; e++) {
        int32_t u = graph->neighbour[e];
        float weight = near->user_weight ? near->user_weight[u] : 1;
        if (near->most > 0 && inmo_graph_degree(graph, u) > near->most)
            continue;
        if (near->edge)
            weight *= near->edge[e];
        for (int64_t f = graph->offset[u]; f < graph->offset[u + 1]; f++) {
            int32_t j = graph->neighbour[f] - users;
            if (sum[j] == 0)
                met[count++] = j;
            sum[j] += near->edge ? weight * near->edge[f] : weight;
        }
    }
    top->count = 0;
    for (int32_t n = 0; n < count; n++) {
        int32_t j = met[n];
        float common = sum[j];
        sum[j] = 0;
        if (j != i)
            inmo_top_add(top, near->alike(near->context, common, i, j), j);
    }
    inmo_top_sort(top);
    for (int32_t n = top->count; n < top->k; n++) {
        top->item[n] = -1;
        top->score[n] = 0;
    }
}

enum inmo_status inmo_near_each(int32_t items, int32_t first, int32_t end, inmo_near_row *row, void *context,
                                const struct inmo_hooks *hooks, struct inmo_error *error)
{
    double start = inmo_now(), shown = start;
    atomic_int failed = 0, stop = 0, done = 0;
#pragma omp parallel num_threads(inmo_threads())
    {
        float *sum = inmo_alloc_zero((size_t)items, sizeof *sum);
        int32_t *met = inmo_alloc((size_t)items, sizeof *met);
        if (!sum || !met)
            atomic_store(&failed, 1);
#pragma omp for schedule(dynamic, 64)
        for (int32_t i = first; i < end; i++) {
            if (!sum || !met || atomic_load(&failed) || atomic_load(&stop))
                continue;
            row(context, i, sum, met);
            if (atomic_fetch_add(&done, 1) % 256 == 0) {
#pragma omp critical(inmo_near_hooks)
                if (hooks && inmo_now() - shown > 0.2) {
                    struct inmo_progress progress = {"comparing items",
                                                     atomic_load(&done),
                                                     end - first,
                                                     "items",
                                                     inmo_now() - start,
                                                     NAN,
                                                     NAN,
                                                     NAN};
                    shown = inmo_now();
                    inmo_report_progress(hooks, &progress);
                    if (inmo_is_interrupted(hooks))
                        atomic_store(&stop, 1);
                }
            }
        }
        inmo_free(met);
        inmo_free(sum);
    }
    if (atomic_load(&failed))
        return inmo_fail_memory(error, "comparing the items");
    if (atomic_load(&stop))
        return inmo_fail(error, INMO_INTERRUPTED, "stopped on request while comparing the items");
    return INMO_OK;
}

struct finding {
    const struct inmo_near *near;
    int32_t *nearest;
    float *similarity;
};

static void find_row(void *context, int32_t i, float *sum, int32_t *met)
{
    const struct finding *finding = context;
    size_t at = (size_t)i * (size_t)finding->near->k;
    struct inmo_top top = {finding->near->k, 0, finding->similarity + at, finding->nearest + at};
    inmo_near_of(finding->near, i, sum, met, &top);
}

enum inmo_status inmo_near_find(const struct inmo_near *near, int32_t *nearest, float *similarity,
                                const struct inmo_hooks *hooks, struct inmo_error *error)
{
    struct finding finding = {near, nearest, similarity};
    return inmo_near_each(near->graph->items, 0, near->graph->items, find_row, &finding, hooks, error);
}
