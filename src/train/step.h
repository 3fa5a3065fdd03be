/* step.h - one training step: sample, forward, loss, backward, Adam. Everything it needs is made beforehand. */
#ifndef INMO_TRAIN_STEP_H
#define INMO_TRAIN_STEP_H

#include "graph/graph.h"
#include "loss/loss.h"
#include "loss/self_enhanced.h"
#include "model/model.h"
#include "train/lazy.h"

struct inmo_stepper {
    const struct inmo_model_kind *kind;
    const struct inmo_train_options *options;
    const struct inmo_graph *graph;
    struct inmo_binding binding;
    int32_t *row_of_node, *node_of_row;  // inmo: templates; NULL for lookup
    struct inmo_provider_state *provider;
    struct inmo_backbone_state *backbone;
    const struct inmo_loss *loss;
    struct inmo_loss_state *loss_state;
    const struct inmo_head *head;  // the model's, or the dot product where the loss goes by pairs; else NULL
    struct inmo_head_state *head_state;
    int32_t pair_negatives;  // of each positive, for heads
    int l2_on_r;             // where L2 falls: on r, or on e

    int64_t provider_rows;        // the provider's, bound and extra
    int64_t provider_weights;     // rows of its weights, which follow,
    int64_t backbone_weights;     // and of the backbone's;
    int64_t parameter_rows;       // all: the head's weights end the block
    float *parameter, *m, *root;  // (parameter_rows, dim) each; Adam's moments, the second as its root
    int width;                    // columns of r

    struct inmo_lazy lazy;  // of the provider's rows; empty where every step touches all of them anyway

    int32_t places;                  // nodes a batch names, repeats included
    struct inmo_self_enhanced self;  // empty: no such loss
    /* Batches depend on the number of their step alone, so threads make several at once, one each. */
    int32_t ahead;                                   // of these
    int64_t first;                                   // step of the first of them; -1: none yet
    struct inmo_grouping *grouping, *self_grouping;  // (ahead) nodes; parameter rows of the self-enhanced loss
    struct inmo_rows rows;  // of the step's grouping, with positions if the model needs them
    int32_t *position;      // (nodes) or NULL

    float *dr;          // (places, width)
    float *item_scale;  // (items) the readout's; NULL: 1
    float *read;        // (places, width) r read out, where r must stay as it is; else NULL
    float *row_weight;  // (places) of the provider's own loss; NULL: it has none
    double *term;       // (places / CHUNK + 2) of the squared norms
    int fused;          // the step is one of triples over a table, taken in one go (pairwise.h)
};

/* Whether the model adds up the neighbours of many nodes in a step, so that their order (graph/order.h) makes a
 * difference. */
int inmo_steps_over_graph(const struct inmo_model_kind *kind);
/* train: the interactions as (users, items); graph: the same as a graph, which may have been renumbered since.
 * hooks are asked during what takes long, the templates and the spectral start: INTERRUPTED. */
enum inmo_status inmo_stepper_new(const struct inmo_model_kind *kind, const struct inmo_train_options *options,
                                  const struct inmo_graph *graph, const struct inmo_csr *train,
                                  const struct inmo_hooks *hooks, struct inmo_stepper **stepper,
                                  struct inmo_error *error);
void inmo_stepper_free(struct inmo_stepper *stepper);
/* The parameter row of a node by its first number, or -1. */
static inline int32_t inmo_stepper_row(const struct inmo_stepper *stepper, int32_t first)
{
    int32_t node = inmo_graph_place(stepper->graph, first);
    return stepper->row_of_node ? stepper->row_of_node[node] : node;
}
/* What follows the provider's rows: the weights of provider, backbone and head. */
static inline const float *inmo_stepper_weights(const struct inmo_stepper *stepper)
{
    return stepper->parameter + (size_t)stepper->provider_rows * (size_t)stepper->binding.dim;
}
/* The head's among them. */
static inline const float *inmo_stepper_head(const struct inmo_stepper *stepper)
{
    return inmo_stepper_weights(stepper) +
           (size_t)(stepper->provider_weights + stepper->backbone_weights) * (size_t)stepper->binding.dim;
}
int64_t inmo_stepper_steps_per_epoch(const struct inmo_stepper *stepper);

/* Stages of a head's pretraining come first, --pretrain epochs each; Adam begins anew with each of them, and
 * after them. Its updates since then, before this step. */
int64_t inmo_stepper_updates(const struct inmo_stepper *stepper, int64_t step);

/* The gradient at the current parameters for the batch of this step; also used alone by tests. Returns the loss. */
double inmo_stepper_gradient(struct inmo_stepper *stepper, int64_t step, double alpha,
                             struct inmo_gradient *gradient);
/* One whole step, number 0, 1, ... of the run, in this order. Returns the loss before it. */
double inmo_stepper_run(struct inmo_stepper *stepper, int64_t step, double alpha, double learning_rate);
/* Parameters and moments may lie behind between steps (lazy.h): brings all of them up to date. */
void inmo_stepper_catch_up(struct inmo_stepper *stepper);

#endif
