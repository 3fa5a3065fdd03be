/* snapshot.h - a model on everything that had been observed at one moment. It never changes, so any number of
 * threads read it without a lock; whoever uses it holds a reference, and the last one frees it. */
#ifndef INMO_VIEW_SNAPSHOT_H
#define INMO_VIEW_SNAPSHOT_H

#include "graph/graph.h"
#include "score/quantised.h"
#include "score/scorer.h"

#include <pthread.h>
#include <stdatomic.h>

/* What has become of a node. Flags. */
enum {
    INMO_GONE = 1,    /* forgotten, and nothing has been observed of it since */
    INMO_DROPPED = 2, /* was forgotten once: what the model learned about it is not used */
};

struct inmo_snapshot {
    atomic_int references;
    uint64_t serial; /* no two of a process have the same; never 0 */
    const struct inmo_model *model;
    struct inmo_graph *graph;  // numbers of users and items are those of the view's names
    uint8_t *fate;             // (nodes) flags; NULL: nothing was ever forgotten
    struct inmo_model_binding bound;
    struct inmo_scorer scorer;         /* r, and what folding in takes; or a system's own scores */
    struct inmo_quantised *quantised;  // the items' rows of r; NULL where a score is no dot product
    uint8_t *unoffered;                // (items) 1: in no list; NULL: all are on offer
    pthread_mutex_t lock;              /* of what is made when first needed: */
    int32_t *popular;                  // (items) by degree
};

/* A graph of the view's users and items becomes a snapshot with one reference; graph and fate (may be NULL) become
 * its own, whatever the status. */
enum inmo_status inmo_snapshot_make(const struct inmo_model *model, struct inmo_graph *graph, uint8_t *fate,
                                    const struct inmo_hooks *hooks, struct inmo_snapshot **snapshot,
                                    struct inmo_error *error);
struct inmo_snapshot *inmo_snapshot_hold(struct inmo_snapshot *snapshot);
void inmo_snapshot_release(struct inmo_snapshot *snapshot);

/* Items by degree, made once. Errors: MEMORY. */
enum inmo_status inmo_snapshot_popular(struct inmo_snapshot *snapshot, const int32_t **order,
                                       struct inmo_error *error);

static inline int inmo_snapshot_is_gone(const struct inmo_snapshot *snapshot, int32_t node)
{
    return snapshot->fate && (snapshot->fate[node] & INMO_GONE);
}
static inline const float *inmo_snapshot_row(const struct inmo_snapshot *snapshot, int32_t node)
{
    return snapshot->scorer.r + (size_t)node * (size_t)snapshot->scorer.dim;
}
static inline const float *inmo_snapshot_item_row(const struct inmo_snapshot *snapshot, int32_t item)
{
    return inmo_snapshot_row(snapshot, snapshot->graph->users + item);
}

#endif
