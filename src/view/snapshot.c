/* snapshot.c - see snapshot.h. Cost: one provider pass, K sparse products, and quantising the item rows. Nothing
 * is trained. */
#include "view/snapshot.h"

#include "base/memory.h"
#include "eval/grown.h"
#include "score/links.h"
#include "score/offer.h"

#include <math.h>
#include <string.h>

static atomic_uint_fast64_t serials;

static void destroy(struct inmo_snapshot *snapshot)
{
    inmo_free(snapshot->popular);
    pthread_mutex_destroy(&snapshot->lock);
    inmo_free(snapshot->unoffered);
    inmo_quantised_free(snapshot->quantised);
    inmo_scorer_close(&snapshot->scorer);
    inmo_model_unbind(&snapshot->bound);
    inmo_free(snapshot->fate);
    inmo_graph_free(snapshot->graph);
    inmo_free(snapshot);
}

struct inmo_snapshot *inmo_snapshot_hold(struct inmo_snapshot *snapshot)
{
    atomic_fetch_add_explicit(&snapshot->references, 1, memory_order_relaxed);
    return snapshot;
}

void inmo_snapshot_release(struct inmo_snapshot *snapshot)
{
    if (snapshot && atomic_fetch_sub_explicit(&snapshot->references, 1, memory_order_acq_rel) == 1)
        destroy(snapshot);
}

/* Marks the items that may be in no list: those without a representation, and forgotten ones. */
static enum inmo_status close_unoffered(struct inmo_snapshot *snapshot, struct inmo_error *error)
{
    const struct inmo_graph *graph = snapshot->graph;
    int any = 0;
    uint8_t *unoffered = inmo_alloc_zero((size_t)graph->items, 1);
    if (!unoffered)
        return inmo_fail_memory(error, "the items on offer");
    for (int32_t i = 0; i < graph->items; i++) {
        unoffered[i] = !inmo_is_on_offer(snapshot->model, &snapshot->bound, i) ||
                       inmo_snapshot_is_gone(snapshot, graph->users + i);
        any |= unoffered[i];
    }
    if (any)
        snapshot->unoffered = unoffered;
    else
        inmo_free(unoffered);
    return INMO_OK;
}

/* Weighs the parts of a score for the snapshot's graph, or takes the weights over. */
static enum inmo_status weigh(struct inmo_snapshot *snapshot, const struct inmo_snapshot *before,
                              const struct inmo_hooks *hooks, struct inmo_error *error)
{
    int64_t edges = snapshot->graph->edges;
    if (before && fabs((double)(edges - before->weighed_at)) <= 0.05 * (double)before->weighed_at) {
        snapshot->weighed = before->weighed;
        snapshot->weighed_at = before->weighed_at;
        return INMO_OK;
    }
    snapshot->weighed = *snapshot->model;
    snapshot->weighed_at = edges;
    if (!inmo_links_are_outgrown(snapshot->model, &snapshot->bound)) /* these are the weights of training */
        snapshot->weighed_at = inmo_links_known(snapshot->model, &snapshot->bound);
    return inmo_weigh_grown(&snapshot->weighed, &snapshot->bound, 1, inmo_model_alpha(snapshot->model), hooks,
                            error);
}

enum inmo_status inmo_snapshot_make(const struct inmo_model *model, const struct inmo_snapshot *before,
                                    struct inmo_graph *graph, uint8_t *fate, const struct inmo_hooks *hooks,
                                    struct inmo_snapshot **out, struct inmo_error *error)
{
    struct inmo_snapshot *snapshot = inmo_alloc_zero(1, sizeof *snapshot);
    enum inmo_status status = INMO_OK;
    if (!snapshot || pthread_mutex_init(&snapshot->lock, NULL) != 0) {
        inmo_free(snapshot);
        inmo_free(fate);
        inmo_graph_free(graph);
        return inmo_fail_memory(error, "the view");
    }
    atomic_init(&snapshot->references, 1);
    snapshot->serial = atomic_fetch_add(&serials, 1) + 1;
    snapshot->model = model;
    snapshot->graph = graph;
    snapshot->fate = fate;
    status = inmo_model_bind_numbered(model, graph, fate, INMO_DROPPED, &snapshot->bound, error);
    if (!status && inmo_is_interrupted(hooks))
        status = inmo_fail(error, INMO_INTERRUPTED, "stopped on request while making a view");
    if (!status)
        status = weigh(snapshot, before, hooks, error);
    if (!status)
        status = inmo_scorer_open(&snapshot->scorer, &snapshot->weighed, &snapshot->bound, inmo_model_alpha(model),
                                  1, error);
    if (!status && inmo_is_interrupted(hooks))
        status = inmo_fail(error, INMO_INTERRUPTED, "stopped on request while making a view");
    if (!status && snapshot->scorer.by_dot)
        status = inmo_quantised_make(inmo_snapshot_item_row(snapshot, 0), graph->items, snapshot->scorer.dim,
                                     &snapshot->quantised, error);
    if (!status)
        status = close_unoffered(snapshot, error);
    if (status)
        inmo_snapshot_release(snapshot);
    else
        *out = snapshot;
    return status;
}

enum inmo_status inmo_snapshot_popular(struct inmo_snapshot *snapshot, const int32_t **order,
                                       struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    pthread_mutex_lock(&snapshot->lock);
    if (!snapshot->popular)
        status = inmo_popular_order(snapshot->graph, &snapshot->popular, error);
    *order = snapshot->popular;
    pthread_mutex_unlock(&snapshot->lock);
    return status;
}

int32_t inmo_snapshot_open_items(const struct inmo_snapshot *snapshot, const uint8_t *closed, int32_t *item)
{
    int32_t count = 0;
    for (int32_t i = 0; i < snapshot->graph->items; i++)
        if (!closed[i] && !(snapshot->unoffered && snapshot->unoffered[i]))
            item[count++] = i;
    return count;
}
