/* system_learner.c - the learner for standalone models (model/system.h), by steps or in closed form. Training uses
 * the model's numbers (users and items with training interactions), so that tensors need no renumbering.
 * Validation uses the data set's numbers and binds by ids, like every evaluation. */
#include "base/memory.h"
#include "train/export.h"
#include "train/learner.h"
#include "train/warm.h"

#include <string.h>

struct standalone {
    /* must be first; its block holds tensors of all shapes, so its rows have one column */
    struct inmo_learner learner;
    const struct inmo_train_options *options;
    const struct inmo_system *system;
    struct inmo_model *model;              // ids, interactions, tensors
    struct inmo_graph *graph;              // its training interactions
    struct inmo_graph *data_graph;         // the same in the data set's numbers
    struct inmo_model_binding bound;       // of the model to data_graph
    struct inmo_learning_state *learning;  // NULL for a closed form
};

static struct standalone *standalone_of(const struct inmo_learner *learner)
{
    return (struct standalone *)learner;
}

static void system_destroy(struct inmo_learner *learner)
{
    struct standalone *self = standalone_of(learner);
    if (!self)
        return;
    if (self->learning)
        self->system->learning->destroy(self->learning);
    inmo_free(self->learner.block.root);
    inmo_free(self->learner.block.m);
    inmo_model_unbind(&self->bound);
    inmo_graph_free(self->data_graph);
    inmo_graph_free(self->graph);
    inmo_model_free(self->model); /* frees the block's parameters too */
    inmo_free(self);
}

/* Allocates one block for all tensors, one after the other. */
static enum inmo_status lay_out(struct standalone *self, struct inmo_error *error)
{
    const struct inmo_learning *learning = self->system->learning;
    struct inmo_block *block = &self->learner.block;
    struct inmo_tensor shape[INMO_SYSTEM_TENSORS] = {0};
    int64_t count = 0;
    enum inmo_status status = INMO_OK;
    learning->shape(self->graph, self->options, shape);
    for (size_t n = 0; n < self->system->tensors; n++)
        count += shape[n].rows * (shape[n].columns > 0 ? shape[n].columns : 1);
    *block = (struct inmo_block){.rows = count, .dim = 1};
    self->learner.whole_rows = count;
    self->learner.stretch[0] = (struct inmo_stretch){0, 0, count};
    block->parameter = inmo_alloc((size_t)count, sizeof(float));
    self->model->tensor_block = block->parameter;
    if (learning->adam) {
        block->m = inmo_alloc_zero((size_t)count, sizeof(float));
        block->root = inmo_alloc_zero((size_t)count, sizeof(float));
    }
    if (!block->parameter || (learning->adam && (!block->m || !block->root)))
        return inmo_fail_memory(error, "training");
    count = 0;
    for (size_t n = 0; n < self->system->tensors && !status; n++) {
        status =
            inmo_model_add_tensor(self->model, shape[n].rows, shape[n].columns, block->parameter + count, error);
        count += shape[n].rows * (shape[n].columns > 0 ? shape[n].columns : 1);
    }
    return status;
}

/* Makes what both ways need: ids, both graphs, and the binding. */
static enum inmo_status make(const struct inmo_learner_setup *setup, const struct inmo_learner_type *type,
                             struct standalone **out, struct inmo_error *error)
{
    struct standalone *self = inmo_alloc_zero(1, sizeof *self);
    const struct inmo_dataset *data = setup->data;
    const struct inmo_csr *lists[1] = {&data->train};
    enum inmo_status status;
    if (!self)
        return inmo_fail_memory(error, "training");
    self->options = setup->options;
    self->system = setup->kind->system;
    status = inmo_graph_build(data->users.count, data->items.count, lists, 1, &self->data_graph, error);
    if (!status)
        status = inmo_export_model(data, NULL, setup->options, setup->kind, NULL, &self->model, error);
    if (!status) {
        lists[0] = &self->model->train;
        status =
            inmo_graph_build(self->model->users.count, self->model->items.count, lists, 1, &self->graph, error);
    }
    if (!status)
        status = inmo_model_bind(self->model, self->data_graph, &data->users, &data->items, &self->bound, error);
    if (status) {
        system_destroy(&self->learner);
        return status;
    }
    self->learner.type = type;
    self->learner.graph = self->data_graph;
    self->learner.model = self->model;
    self->learner.bound = &self->bound;
    *out = self;
    return INMO_OK;
}

/* ---- By steps ------------------------------------------------------------------------------------------------ */

static enum inmo_status take_earlier(struct standalone *self, struct inmo_warm *warm, struct inmo_error *error)
{
    struct inmo_model_binding bound;
    enum inmo_status status =
        inmo_model_bind(warm->model, self->graph, &self->model->users, &self->model->items, &bound, error);
    if (status)
        return status;
    self->system->learning->take(warm->model, bound.model_item, self->graph->items, self->learner.block.parameter);
    warm->kept = warm->fresh = 0;
    for (int32_t i = 0; i < self->graph->items; i++)
        *(bound.model_item[i] >= 0 ? &warm->kept : &warm->fresh) += 1;
    inmo_model_unbind(&bound);
    return INMO_OK;
}

static enum inmo_status system_create(const struct inmo_learner_setup *setup, struct inmo_learner **out,
                                      struct inmo_error *error)
{
    struct standalone *self = NULL;
    enum inmo_status status = make(setup, &inmo_learner_system, &self, error);
    if (status)
        return status;
    status = lay_out(self, error);
    if (!status)
        status = self->system->learning->create(self->graph, self->options, self->learner.block.parameter,
                                                &self->learning, error);
    if (!status && setup->warm && setup->warm->model)
        status = take_earlier(self, setup->warm, error);
    if (status) {
        system_destroy(&self->learner);
        return status;
    }
    self->learner.steps_per_epoch = self->system->learning->steps_per_epoch(self->learning);
    *out = &self->learner;
    return INMO_OK;
}

static double system_step(struct inmo_learner *learner, int64_t step, double alpha, double learning_rate)
{
    struct standalone *self = standalone_of(learner);
    (void)alpha;
    return self->system->learning->step(self->learning, &learner->block, step, learning_rate);
}

static enum inmo_status system_export(struct inmo_learner *learner, const float *parameter,
                                      struct inmo_model **model, struct inmo_error *error)
{
    struct standalone *self = standalone_of(learner);
    const struct inmo_block *block = &learner->block;
    (void)error;
    if (parameter && parameter != block->parameter)
        memcpy(block->parameter, parameter, (size_t)block->rows * (size_t)block->dim * sizeof *parameter);
    *model = self->model;
    self->model = NULL;
    return INMO_OK;
}

const struct inmo_learner_type inmo_learner_system = {
    .create = system_create,
    .destroy = system_destroy,
    .step = system_step,
    .export_model = system_export,
};

/* ---- In closed form ------------------------------------------------------------------------------------------ */

static enum inmo_status closed_create(const struct inmo_learner_setup *setup, struct inmo_learner **out,
                                      struct inmo_error *error)
{
    struct standalone *self = NULL;
    enum inmo_status status = make(setup, &inmo_learner_closed_form, &self, error);
    if (!status)
        *out = &self->learner;
    return status;
}

static enum inmo_status closed_fit(struct inmo_learner *learner, const struct inmo_hooks *hooks,
                                   struct inmo_error *error)
{
    struct standalone *self = standalone_of(learner);
    return self->system->fit ? self->system->fit(self->model, self->graph, self->options, hooks, error) : INMO_OK;
}

const struct inmo_learner_type inmo_learner_closed_form = {
    .create = closed_create,
    .destroy = system_destroy,
    .fit = closed_fit,
    .export_model = system_export,
};
