/* snapshot.h - a model on everything that had been observed at one moment. It never changes, so any number of
 * threads read it without a lock; whoever uses it holds a reference, and the last one frees it. */
#ifndef INMO_VIEW_SNAPSHOT_H
#define INMO_VIEW_SNAPSHOT_H

#include "graph/graph.h"
#include "score/quantised.h"
#include "score/scorer.h"

#include <pthread.h>
#include <stdatomic.h>

/* Flags of a node that was forgotten. */
enum {
    INMO_GONE = 1,    /* nothing is known of it: it was forgotten, or all its interactions were */
    INMO_DROPPED = 2, /* forgotten at some time: what the model learned about it is not used */
};

struct inmo_snapshot {
    atomic_int references;
    uint64_t serial; /* unique in the process; never 0 */
    const struct inmo_model *model;
    struct inmo_graph *graph;   // numbers users and items like the view's names
    uint8_t *fate;              // (nodes) the flags above; NULL: nothing was ever forgotten
    int64_t weighed_at;         /* interactions of the graph that the weights were chosen on */
    struct inmo_model weighed;  // the model, as its parts weigh on this graph (eval/grown.h); owns nothing
    struct inmo_model_binding bound;
    struct inmo_scorer scorer;         /* r and what folding in needs, or a system's scores */
    struct inmo_quantised *quantised;  // the item rows of r; NULL if a score is not a dot product
    uint8_t *unoffered;                // (items) 1: may be in no list; NULL: all are on offer
    pthread_mutex_t lock;              /* protects popular, which is made on first use */
    int32_t *popular;                  // (items) by degree
};

/* Makes a snapshot with one reference from a graph of the view's users and items. It takes graph and fate (may be
 * NULL) over, even on failure. before: an earlier snapshot, whose weights are kept until the graph has grown or
 * shrunk by a twentieth, because to weigh again takes longer than all the rest; NULL: there is none. */
enum inmo_status inmo_snapshot_make(const struct inmo_model *model, const struct inmo_snapshot *before,
                                    struct inmo_graph *graph, uint8_t *fate, const struct inmo_hooks *hooks,
                                    struct inmo_snapshot **snapshot, struct inmo_error *error);
/* Given back by inmo_snapshot_release of inmo.h. */
struct inmo_snapshot *inmo_snapshot_hold(struct inmo_snapshot *snapshot);

/* Items by degree, highest first; computed on first use. Errors: MEMORY. */
enum inmo_status inmo_snapshot_popular(struct inmo_snapshot *snapshot, const int32_t **order,
                                       struct inmo_error *error);

/* Lists the items on offer that are not closed (items), ascending. Returns how many there are. */
int32_t inmo_snapshot_open_items(const struct inmo_snapshot *snapshot, const uint8_t *closed, int32_t *item);

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
