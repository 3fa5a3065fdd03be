/* view.h - a model looking at a graph, ready to answer: ids, graph, representations of all its nodes. */
#ifndef INMO_VIEW_VIEW_H
#define INMO_VIEW_VIEW_H

#include "base/idmap.h"
#include "graph/graph.h"
#include "kernel/quantised.h"
#include "model/model.h"

struct inmo_view {
    const struct inmo_model *model;
    struct inmo_idtable *user_table, *item_table;  // owners of the ids when there are new ones, else NULL
    struct inmo_idmap users, items;                // indexed
    struct inmo_graph *graph;
    struct inmo_model_binding bound;
    int dim;       // columns of r
    float *r;      // (nodes, dim)
    float *memory; // (nodes, the backbone's memory width) what folding in somebody takes
    float *base;   // (model's dim) embedding of a user of whom nothing is known; of no use to a lookup model
    struct inmo_quantised *quantised;  // the items' rows of r, for a fast first pass
};

static inline const float *inmo_view_item_row(const struct inmo_view *view, int32_t item)
{
    return view->r + ((size_t)view->graph->users + (size_t)item) * (size_t)view->dim;
}

/* Somebody with a history: a user of the view or a person nobody has seen. */
struct inmo_person {
    int32_t user;       /* -1: unseen */
    int32_t *item;      // (count) known items of the history, ascending, without repeats
    int32_t count;
    int usable;         /* of them, those the model can use */
    int unknown;        /* items of the query nobody has seen */
    float *r;           // (dim)
    int32_t *node;      // (count) scratch
};
/* UNKNOWN for a user not in the view, UNSUPPORTED for somebody a lookup model has no vector for. */
enum inmo_status inmo_person_make(const struct inmo_view *view, const struct inmo_query *query,
                                  struct inmo_person *person, struct inmo_error *error);
void inmo_person_free(struct inmo_person *person);
/* Whether nothing of an unseen person's history can be used, so that the list is by popularity. */
static inline int inmo_person_falls_back(const struct inmo_view *view, const struct inmo_person *person)
{
    return person->user < 0 && person->usable == 0 && view->model->kind->provider != NULL;
}

/* Whether the embedding is a row of the person's own. */
int inmo_person_has_row(const struct inmo_view *view, const struct inmo_person *person);
/* Storage that taking a person apart needs. */
enum inmo_status inmo_person_space(const struct inmo_view *view, float **space, struct inmo_error *error);
/* What the history's item contributes to the person's representation when the backbone is affine: the rows add up to r
 * (docs/math.md, "Somebody unseen"). */
void inmo_person_term(const struct inmo_view *view, const struct inmo_person *person, int32_t item, float *space,
                      float *out);
/* The same for what does not depend on the history: t_user, or the user's own vector. */
void inmo_person_base(const struct inmo_view *view, const struct inmo_person *person, float *space, float *out);
/* The representation the person would have without one item of the history (-1: with all), everybody else unchanged. */
void inmo_person_without(const struct inmo_view *view, const struct inmo_person *person, int32_t item, float *space,
                         float *out);

#endif
