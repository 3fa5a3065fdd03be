/* own.c - see own.h. Training happens in the model's own numbers (users and items with training interactions),
 * so that its tensors need no renumbering; validation in the data set's, through the same binding by ids as
 * every evaluation. */
#include "train/own.h"

#include "base/memory.h"
#include "score/scorer.h"

#include <string.h>

struct inmo_own {
    const struct inmo_system *system;
    struct inmo_model *model;         // ids, interactions, tensors
    struct inmo_graph *graph;         // its training interactions
    struct inmo_model_binding bound;  // to the data set's graph
    struct inmo_learner *learner;     // NULL for a closed form
    struct inmo_block block;          // owner of the parameters; tensors of all shapes, so rows of one number
};

void inmo_own_free(struct inmo_own *own)
{
    if (!own)
        return;
    if (own->learner)
        own->system->learning->destroy(own->learner);
    inmo_free(own->block.root);
    inmo_free(own->block.m);
    inmo_model_unbind(&own->bound);
    inmo_graph_free(own->graph);
    inmo_model_free(own->model); /* and with it the block's parameters */
    inmo_free(own);
}

/* One block for all tensors, each a stretch of it. */
static enum inmo_status lay_out(struct inmo_own *own, const struct inmo_train_options *options,
                                struct inmo_error *error)
{
    const struct inmo_learning *learning = own->system->learning;
    struct inmo_model *model = own->model;
    struct inmo_tensor shape[INMO_SYSTEM_TENSORS] = {0};
    int64_t count = 0;
    enum inmo_status status = INMO_OK;
    learning->shape(own->graph, options, shape);
    for (size_t n = 0; n < own->system->tensors; n++)
        count += shape[n].rows * (shape[n].columns > 0 ? shape[n].columns : 1);
    own->block = (struct inmo_block){.rows = count, .dim = 1};
    own->block.parameter = inmo_alloc((size_t)count, sizeof(float));
    model->tensor_block = own->block.parameter;
    if (learning->adam) {
        own->block.m = inmo_alloc_zero((size_t)count, sizeof(float));
        own->block.root = inmo_alloc_zero((size_t)count, sizeof(float));
    }
    if (!own->block.parameter || (learning->adam && (!own->block.m || !own->block.root)))
        return inmo_fail_memory(error, "training");
    count = 0;
    for (size_t n = 0; n < own->system->tensors && !status; n++) {
        status = inmo_model_add_tensor(model, shape[n].rows, shape[n].columns, own->block.parameter + count, error);
        count += shape[n].rows * (shape[n].columns > 0 ? shape[n].columns : 1);
    }
    return status;
}

enum inmo_status inmo_own_new(struct inmo_trainer *trainer, const struct inmo_model_kind *kind,
                              const struct inmo_graph *data_graph, struct inmo_error *error)
{
    struct inmo_own *own = inmo_alloc_zero(1, sizeof *own);
    const struct inmo_csr *lists[1];
    enum inmo_status status = INMO_OK;
    if (!own)
        return inmo_fail_memory(error, "training");
    own->system = kind->system;
    status = inmo_trainer_shell(trainer, kind, &own->model, error);
    if (status)
        goto done;
    lists[0] = &own->model->train;
    status = inmo_graph_build(own->model->users.count, own->model->items.count, lists, 1, &own->graph, error);
    if (!status)
        status = inmo_model_bind(own->model, data_graph, &trainer->data->users, &trainer->data->items, &own->bound,
                                 error);
    if (!status && own->system->learning)
        status = lay_out(own, trainer->options, error);
    if (!status && own->system->learning)
        status =
            own->system->learning->create(own->graph, trainer->options, own->block.parameter, &own->learner, error);
    if (status)
        goto done;
    trainer->block = own->block;
    trainer->own = own;
    own = NULL;
done:
    inmo_own_free(own);
    return status;
}

enum inmo_status inmo_own_fit(struct inmo_own *own, const struct inmo_train_options *options,
                              const struct inmo_hooks *hooks, struct inmo_error *error)
{
    return own->system->fit ? own->system->fit(own->model, own->graph, options, hooks, error) : INMO_OK;
}

int64_t inmo_own_steps_per_epoch(const struct inmo_own *own)
{
    return own->system->learning->steps_per_epoch(own->learner);
}

double inmo_own_step(struct inmo_own *own, const struct inmo_block *block, int64_t step, double learning_rate)
{
    return own->system->learning->step(own->learner, block, step, learning_rate);
}

enum inmo_status inmo_own_validate(struct inmo_own *own, struct inmo_validation *validation,
                                   const struct inmo_hooks *hooks, double *ndcg, struct inmo_error *error)
{
    struct inmo_scorer scorer;
    struct inmo_rank source = {0};
    enum inmo_status status = inmo_scorer_open(&scorer, own->model, &own->bound, 1, 0, error);
    if (status)
        return status;
    inmo_scorer_source(&scorer, &source);
    status = inmo_validation_ndcg(validation, &source, hooks, ndcg, error);
    inmo_scorer_close(&scorer);
    return status;
}

enum inmo_status inmo_own_take(struct inmo_own *own, const struct inmo_trainer *trainer, struct inmo_model **model,
                               struct inmo_error *error)
{
    enum inmo_status status = inmo_trainer_sign(trainer, own->model, error);
    if (status)
        return status;
    if (own->block.parameter && inmo_trainer_parameters(trainer) != own->block.parameter)
        memcpy(own->block.parameter, inmo_trainer_parameters(trainer),
               inmo_block_size(&own->block) * sizeof *own->block.parameter);
    *model = own->model;
    own->model = NULL;
    return INMO_OK;
}
