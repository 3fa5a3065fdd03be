/* scorer.h - a model bound to a graph, ready to score: by the dot product of two vectors, by a head, or by a
 * system's own function. Evaluation, validation and views score every kind of model through it. */
#ifndef INMO_SCORE_SCORER_H
#define INMO_SCORE_SCORER_H

#include "score/beside.h"
#include "score/head_source.h"
#include "score/rank.h"
#include "model/model.h"

struct inmo_scorer {
    const struct inmo_model *model;
    const struct inmo_model_binding *bound;
    const struct inmo_graph *graph; /* bound->graph */
    int dim;                        /* columns of r; 0: no vectors */
    int by_dot;                     /* the score is the dot product of two rows of r */
    float *r;                       // (nodes, dim); of divided ranks: own users in training's order, all items
    /* Needed to fold in unseen users and items; NULL for systems, and unless opened for serving. */
    float *memory;                    // (nodes, the backbone's memory width)
    float *base;                      // (2 base_rows, model's dim) of the provider, see seam.h; zero for lookup
    struct inmo_system_state *state;  // for systems, else NULL
    struct inmo_head_source head;     // for models with a head, else empty
    struct inmo_fill fill;
    int for_serving;
    /* 1 while open: OpenBLAS is held to the calling thread (base/threads.h), so scoring need not switch it */
    int holds_blas;
    struct inmo_beside beside; /* walks and links, added to dot products */
};

/* for_serving: keeps what folding in needs, and computes walks on demand instead of all at once. Fills *scorer,
 * which must not be moved while it is in use. The caller keeps model and binding. */
enum inmo_status inmo_scorer_open(struct inmo_scorer *scorer, const struct inmo_model *model,
                                  const struct inmo_model_binding *bound, double alpha, int for_serving,
                                  struct inmo_error *error);
/* The same in two steps, for parameters that change: make allocates; refresh, which may be called repeatedly,
 * recomputes everything from the current parameters. Walks and links depend on the graph alone and are computed
 * only once. */
enum inmo_status inmo_scorer_make(struct inmo_scorer *scorer, const struct inmo_model *model,
                                  const struct inmo_model_binding *bound, int for_serving,
                                  struct inmo_error *error);
enum inmo_status inmo_scorer_refresh(struct inmo_scorer *scorer, double alpha, struct inmo_error *error);
/* Gives back the memory of the vectors until the next refresh. */
void inmo_scorer_rest(struct inmo_scorer *scorer);
void inmo_scorer_close(struct inmo_scorer *scorer);
/* Sets the fields of job that say where scores come from; of divided ranks without the users. */
void inmo_scorer_source(const struct inmo_scorer *scorer, struct inmo_rank *job);
/* Scores (count, items) of at most fill.users people, for models whose score is not a dot product; a head scores
 * them by their r. scratch: fill.scratch_bytes of the calling thread's own, zeroed before its first call. */
void inmo_scorer_fill(const struct inmo_scorer *scorer, const struct inmo_history *who, int32_t count,
                      void *scratch, float *score);
/* The score of a user and an item by their representations, for models with vectors. */
double inmo_scorer_product(const struct inmo_scorer *scorer, const float *user, const float *item);
/* The score of a user with representation r for an item of the graph, for models with vectors. */
double inmo_scorer_pair(const struct inmo_scorer *scorer, const float *r, int32_t item);
/* The history of a user of the graph. */
struct inmo_history inmo_history_of(const struct inmo_graph *graph, int32_t user);

#endif
