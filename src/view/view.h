/* view.h - a model looking at a graph, ready to answer: ids, graph, representations of all its nodes. */
#ifndef INMO_VIEW_VIEW_H
#define INMO_VIEW_VIEW_H

#include "base/idmap.h"
#include "graph/graph.h"
#include "score/quantised.h"
#include "score/scorer.h"

struct inmo_view {
    const struct inmo_model *model;
    struct inmo_idtable *user_table, *item_table;  // owners of the ids when there are new ones, else NULL
    struct inmo_idmap users, items;                // indexed
    struct inmo_graph *graph;
    struct inmo_model_binding bound;
    struct inmo_scorer scorer;         // r, and what folding in takes; or a system's own scores
    struct inmo_quantised *quantised;  // the items' rows of r, for a fast first pass; NULL for other scores
};

/* Whether a score is the dot product of two vectors. */
static inline int inmo_view_has_vectors(const struct inmo_view *view)
{
    return view->scorer.by_dot;
}

static inline const float *inmo_view_item_row(const struct inmo_view *view, int32_t item)
{
    return view->scorer.r + ((size_t)view->graph->users + (size_t)item) * (size_t)view->scorer.dim;
}

/* Somebody with a history: a user of the view or a person nobody has seen. */
struct inmo_person {
    int32_t user;   /* -1: unseen */
    int32_t *item;  // (count) known items of the history, ascending, without repeats
    int32_t count;
    int usable;     /* of them, those the model can use */
    int unknown;    /* items of the query nobody has seen */
    float *r;       // (dim) NULL for a model without vectors
    int32_t *node;  // (count) scratch, as space: taking a person apart allocates nothing
    float *space;
};
/* UNKNOWN for a user not in the view, UNSUPPORTED for somebody a lookup model has no vector for. */
enum inmo_status inmo_person_make(const struct inmo_view *view, const struct inmo_query *query,
                                  struct inmo_person *person, struct inmo_error *error);
void inmo_person_free(struct inmo_person *person);
/* Whether nothing of a person's history can be used, so that the list is by popularity. A user of a provider's
 * model has a representation without any. */
static inline int inmo_person_falls_back(const struct inmo_view *view, const struct inmo_person *person)
{
    const struct inmo_system *system = view->model->kind->system;
    if (system)
        return person->usable == 0 && system->personal && system->new_users;
    return person->user < 0 && person->usable == 0;
}
static inline struct inmo_history inmo_person_history(const struct inmo_person *person)
{
    return (struct inmo_history){person->user, person->count, 0, person->item, person->r};
}

/* Whether the embedding is a row of the person's own. */
int inmo_person_has_row(const struct inmo_view *view, const struct inmo_person *person);
/* What the representation of a person is the sum of (docs/math.md, "Somebody unseen"), for a system with vectors
 * or an affine backbone: base (dim) does not depend on the history, term (count, dim) has a row for each item of
 * it. Both start at zero. */
enum inmo_status inmo_person_parts(const struct inmo_view *view, const struct inmo_person *person, float *base,
                                   float *term, struct inmo_error *error);
/* The representation that provider and backbone would give the person without one item of the history (-1: with
 * all), everybody else unchanged. */
void inmo_person_without(const struct inmo_view *view, const struct inmo_person *person, int32_t item, float *out);

#endif
