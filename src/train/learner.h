/* learner.h - the interface to whatever is trained. The training loop (train.c), checkpoints and validation know
 * nothing else about a model.
 *
 *     inmo_learner_parts        provider x backbone with a loss: gradient steps with Adam (step.h)
 *     inmo_learner_system       a standalone model with its own training step (model/system.h)
 *     inmo_learner_closed_form  a standalone model that is fitted at once, or has nothing to learn */
#ifndef INMO_TRAIN_LEARNER_H
#define INMO_TRAIN_LEARNER_H

#include "data/dataset.h"
#include "kernel/kernel.h"
#include "model/model.h"

#include <string.h>

struct inmo_warm;
struct inmo_learner_setup {
    const struct inmo_dataset *data;
    const struct inmo_dataset *exported; /* whose interactions the model gets; the same users and items */
    const struct inmo_train_options *options;
    const struct inmo_model_kind *kind;
    const struct inmo_hooks *hooks;       /* polled during long computations; may cause INTERRUPTED */
    const struct inmo_model *first_stage; /* its embeddings become the rows (first_stage.h); NULL: none */
    struct inmo_warm *warm;               /* its model's parameters are the start (warm.h); model NULL: none */
};

/* Rows of a rank's block that belong to it, where the block is cut (cut.h), and where they are among all. */
enum { INMO_STRETCHES = 3 };
struct inmo_stretch {
    int64_t here, whole, count;
};

struct inmo_learner {
    const struct inmo_learner_type *type;
    struct inmo_block block; /* the parameters that steps change; parameter NULL: none */
    int64_t steps_per_epoch;
    const struct inmo_graph *graph; /* in training's numbers */
    /* The current model, ready for a scorer (score/scorer.h). */
    const struct inmo_model *model;
    const struct inmo_model_binding *bound;
    struct inmo_stretch stretch[INMO_STRETCHES]; /* of the block; one of all rows if it is not cut */
    int64_t whole_rows;                          /* of the block of all ranks */
};

enum { INMO_LEARNER_ARRAYS = 2 };
struct inmo_learner_type {
    /* Allocates everything and sets the starting parameters. */
    enum inmo_status (*create)(const struct inmo_learner_setup *setup, struct inmo_learner **learner,
                               struct inmo_error *error);
    void (*destroy)(struct inmo_learner *learner);
    /* Fits a closed form. NULL if the learner takes steps. */
    enum inmo_status (*fit)(struct inmo_learner *learner, const struct inmo_hooks *hooks, struct inmo_error *error);
    /* Takes step 0, 1, ... of the run, in this order. Returns the loss; if it is not finite, the run ends. */
    double (*step)(struct inmo_learner *learner, int64_t step, double alpha, double learning_rate);
    /* Brings all parameters up to date, if rows may fall behind between steps (lazy.h). NULL: they never do. */
    void (*catch_up)(struct inmo_learner *learner);
    /* Gives back the memory of what only steps need, while something else needs memory. NULL: keeps it. */
    void (*rest)(struct inmo_learner *learner);
    /* Lists the arrays that a checkpoint holds besides the block, at most INMO_LEARNER_ARRAYS; returns their
     * number. Those of doubles are the same on all ranks, others have an entry for each row of the block. NULL:
     * none. */
    size_t (*arrays)(const struct inmo_learner *learner, struct inmo_tensor *array);
    /* The name of an array that is impossible before this step, after loading a file; NULL if all are possible.
     * NULL: no check. */
    const char *(*check)(const struct inmo_learner *learner, int64_t step);
    /* Rebuilds derived state after block and arrays have been restored to before this step. NULL: there is none. */
    void (*restored)(struct inmo_learner *learner, int64_t step);
    /* For models whose parts are first trained alone (model/head.h); both NULL: there are no stages.
     * set_stage: from now on the model scores and is exported as this stage trains it; call it before each
     * validation, with the epoch, for which keys may be drawn. end_stage: the next stage begins with these
     * parameters (NULL: with the current ones); a head whose last part ends has its own made anew. */
    void (*set_stage)(struct inmo_learner *learner, int stage, int32_t epoch);
    void (*end_stage)(struct inmo_learner *learner, int stage, const float *parameter);
    /* Makes a standalone model with these parameters (laid out like the block; NULL for a closed form). Afterwards
     * only destroy may be called. */
    enum inmo_status (*export_model)(struct inmo_learner *learner, const float *parameter,
                                     struct inmo_model **model, struct inmo_error *error);
};
extern const struct inmo_learner_type inmo_learner_parts, inmo_learner_system, inmo_learner_closed_form;

static inline const struct inmo_learner_type *inmo_learner_type_of(const struct inmo_model_kind *kind)
{
    if (!kind->system)
        return &inmo_learner_parts;
    return kind->system->learning ? &inmo_learner_system : &inmo_learner_closed_form;
}

/* Copies the rows of this rank between two arrays of the block's shape. */
static inline void inmo_learner_copy(const struct inmo_learner *learner, const float *from, float *to)
{
    size_t dim = (size_t)learner->block.dim;
    for (int s = 0; s < INMO_STRETCHES; s++)
        memcpy(to + (size_t)learner->stretch[s].here * dim, from + (size_t)learner->stretch[s].here * dim,
               (size_t)learner->stretch[s].count * dim * sizeof *to);
}

#endif
