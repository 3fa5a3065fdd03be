/* learner.h - whatever a training has to train, behind one structure: the loop (train.c), checkpoints and
 * validation know nothing else of a model.
 *
 *     inmo_learner_parts        provider x backbone with a loss: steps of gradients and Adam (step.h)
 *     inmo_learner_system       a standalone model that learns by steps of its own (model/system.h)
 *     inmo_learner_closed_form  one that is fitted at once, or has nothing to learn */
#ifndef INMO_TRAIN_LEARNER_H
#define INMO_TRAIN_LEARNER_H

#include "data/dataset.h"
#include "kernel/kernel.h"
#include "model/model.h"

struct inmo_learner_setup {
    const struct inmo_dataset *data;
    const struct inmo_train_options *options;
    const struct inmo_model_kind *kind;
    const struct inmo_hooks *hooks;       /* asked during what takes long: INTERRUPTED */
    const struct inmo_model *first_stage; /* whose embeddings become the rows (first_stage.h); NULL: none */
};

struct inmo_learner {
    const struct inmo_learner_type *type;
    struct inmo_block block; /* what the steps change; parameter NULL: there are none */
    int64_t steps_per_epoch;
    const struct inmo_graph *graph; /* in training's numbers */
    /* The model at this moment, as a scorer takes it (score/scorer.h). */
    const struct inmo_model *model;
    const struct inmo_model_binding *bound;
};

enum { INMO_LEARNER_ARRAYS = 2 };
struct inmo_learner_type {
    /* Everything is allocated here, and the parameters are at their start. */
    enum inmo_status (*create)(const struct inmo_learner_setup *setup, struct inmo_learner **learner,
                               struct inmo_error *error);
    void (*destroy)(struct inmo_learner *learner);
    /* A closed form: all at once. NULL where there are steps. */
    enum inmo_status (*fit)(struct inmo_learner *learner, const struct inmo_hooks *hooks, struct inmo_error *error);
    /* Step 0, 1, ... of the run, in this order. Returns the loss; one that is not finite ends the run. */
    double (*step)(struct inmo_learner *learner, int64_t step, double alpha, double learning_rate);
    /* Makes all parameters what they are, where rows may lie behind between steps (lazy.h). NULL: they never do. */
    void (*catch_up)(struct inmo_learner *learner);
    /* Arrays that a checkpoint holds beside the block, at most INMO_LEARNER_ARRAYS; returns their number. NULL:
     * none. */
    size_t (*arrays)(const struct inmo_learner *learner, struct inmo_tensor *array);
    /* Which of the arrays, as read from a file before this step, cannot be, or NULL. NULL: any can. */
    const char *(*check)(const struct inmo_learner *learner, int64_t step);
    /* After block and arrays have been put back as they were before this step. NULL: nothing follows from them. */
    void (*restored)(struct inmo_learner *learner, int64_t step);
    /* A model with these parameters (as the block; NULL for a closed form) that stands on its own. The learner is
     * used up: only destroy may follow. */
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

#endif
