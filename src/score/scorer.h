/* scorer.h - a model on a graph, ready to score: vectors whose dot product is the score, or a system's own
 * function. What evaluation, validation and views use, whatever the model's shape. */
#ifndef INMO_SCORE_SCORER_H
#define INMO_SCORE_SCORER_H

#include "score/head_source.h"
#include "score/rank.h"
#include "model/model.h"

struct inmo_scorer {
    const struct inmo_model *model;
    const struct inmo_model_binding *bound;
    const struct inmo_graph *graph; /* bound->graph */
    int dim;                        /* columns of r; 0: no vectors */
    int by_dot;                     /* the score is the dot product of two rows of r */
    float *r;                       // (nodes, dim)
    /* What folding in somebody takes, when asked for; NULL for systems. */
    float *memory;                    // (nodes, the backbone's memory width)
    float *base;                      // (2 base_rows, model's dim) of the provider, see seam.h; zero for lookup
    struct inmo_system_state *state;  // of a system, else NULL
    struct inmo_head_source head;     // of a model with a head, else empty
    struct inmo_fill fill;
    int for_serving;
    /* open: OpenBLAS works on the calling thread (base/threads.h), so that scoring changes nothing */
    int holds_blas;
    struct inmo_walks *walks;  // added to dot products; NULL: none
};

/* for_serving: keeps what folding in takes, and makes walks only when they are needed; otherwise all of them at
 * once. Fills *scorer, which must stay where it is and outlive its use; model and binding stay the caller's. */
enum inmo_status inmo_scorer_open(struct inmo_scorer *scorer, const struct inmo_model *model,
                                  const struct inmo_model_binding *bound, double alpha, int for_serving,
                                  struct inmo_error *error);
/* The same in two pieces, for parameters that change: allocates; and computes everything from the parameters as
 * they are now, again and again. Walks, which depend on the graph alone, are made the first time. */
enum inmo_status inmo_scorer_make(struct inmo_scorer *scorer, const struct inmo_model *model,
                                  const struct inmo_model_binding *bound, int for_serving,
                                  struct inmo_error *error);
enum inmo_status inmo_scorer_refresh(struct inmo_scorer *scorer, double alpha, struct inmo_error *error);
void inmo_scorer_close(struct inmo_scorer *scorer);
/* The part of a ranking that says where scores come from. */
void inmo_scorer_source(const struct inmo_scorer *scorer, struct inmo_rank *job);
/* The scores (count, items) of some people, at most fill.users, where they are no dot products; with a head by
 * their r. scratch: fill.scratch_bytes, zero at first, of the calling thread. */
void inmo_scorer_fill(const struct inmo_scorer *scorer, const struct inmo_history *who, int32_t count,
                      void *scratch, float *score);
/* The score of two representations, of a model with vectors. */
double inmo_scorer_product(const struct inmo_scorer *scorer, const float *user, const float *item);
/* The score of somebody with the representation r for one item, of a model with vectors. */
double inmo_scorer_pair(const struct inmo_scorer *scorer, const float *r, int32_t item);
/* The history of a user of the graph. */
struct inmo_history inmo_history_of(const struct inmo_graph *graph, int32_t user);

#endif
