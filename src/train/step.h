/* step.h - one training step: sample, forward, loss, backward, Adam. All its memory is allocated beforehand. */
#ifndef INMO_TRAIN_STEP_H
#define INMO_TRAIN_STEP_H

#include "graph/share.h"
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
    const struct inmo_head *head;  // the model's head, or the dot product if the loss works on pairs; else NULL
    struct inmo_head_state *head_state;
    int32_t pair_negatives;  // negatives of each positive, for heads
    int l2_on_r;             // 1: L2 applies to r; 0: to e
    int l2_on_pairs;         // 1: to neither, but to the vectors of the pairs

    int64_t provider_rows;        // the provider's rows, bound and extra
    int64_t provider_weights;     // then rows of the provider's weights,
    int64_t backbone_weights;     // of the backbone's weights,
    int64_t parameter_rows;       // and of the head's weights; this is the sum
    float *parameter, *m, *root;  // (parameter_rows, dim) each; Adam's moments, the second one as its square root
    int width;                    // columns of r

    struct inmo_lazy lazy;  // of the provider's rows; empty if every step touches all of them

    int32_t places;                  // nodes a batch names, counting repeats
    struct inmo_self_enhanced self;  // empty: not used
    /* A batch depends only on its step number, so threads make several batches at once, one each. */
    int32_t ahead;  // number of batches made at once
    int64_t first;  // step of the first batch; -1: none yet
    // (ahead) the nodes, and the parameter rows of the self-enhanced loss
    struct inmo_grouping *grouping, *self_grouping;
    struct inmo_rows rows;  // of the step's grouping, with positions if the model needs them
    int32_t *position;      // (nodes) or NULL

    float *dr;             // (places, width)
    float *item_scale;     // (items) scales of the readout; NULL: 1
    float *read;           // (places, width) the scaled r, if r itself must not change; else NULL
    float *row_weight;     // (places) for the provider's own loss; NULL: it has none
    double *term;          // (places / CHUNK + 2) partial sums of the squared norms
    int fused;             // 1: uses the fused step on triples (pairwise.h)
    struct inmo_cut *cut;  // on several ranks (cut.h); else NULL
};

/* Whether a step gathers the neighbours of many nodes, so that the order of the nodes (graph/order.h) affects
 * speed. */
int inmo_steps_over_graph(const struct inmo_model_kind *kind);
/* train: the interactions (users, items); graph: the same as a graph, possibly renumbered. hooks are polled while
 * templates and the spectral start are computed. Errors: INTERRUPTED among others. */
enum inmo_status inmo_stepper_new(const struct inmo_model_kind *kind, const struct inmo_train_options *options,
                                  const struct inmo_graph *graph, const struct inmo_csr *train,
                                  const struct inmo_hooks *hooks, struct inmo_stepper **stepper,
                                  struct inmo_error *error);
/* The same with templates that are taken before all others: kept (nodes, in the data set's numbers), or NULL. */
enum inmo_status inmo_stepper_new_keeping(const struct inmo_model_kind *kind,
                                          const struct inmo_train_options *options, const struct inmo_graph *graph,
                                          const struct inmo_csr *train, const uint8_t *kept,
                                          const struct inmo_hooks *hooks, struct inmo_stepper **stepper,
                                          struct inmo_error *error);
void inmo_stepper_free(struct inmo_stepper *stepper);
/* The parameter row of a node, given its number in the data set; -1: none, or none on this rank. */
static inline int32_t inmo_stepper_row(const struct inmo_stepper *stepper, int32_t first)
{
    int32_t node = inmo_graph_place(inmo_graph_whole(stepper->graph), first);
    if (stepper->graph->share)
        node = stepper->graph->share->local[node];
    if (node < 0)
        return -1;
    return stepper->row_of_node ? stepper->row_of_node[node] : node;
}
/* The weights of provider, backbone and head, which follow the provider's rows. */
static inline const float *inmo_stepper_weights(const struct inmo_stepper *stepper)
{
    return stepper->parameter + (size_t)stepper->provider_rows * (size_t)stepper->binding.dim;
}
/* The head's weights among them. */
static inline const float *inmo_stepper_head(const struct inmo_stepper *stepper)
{
    return inmo_stepper_weights(stepper) +
           (size_t)(stepper->provider_weights + stepper->backbone_weights) * (size_t)stepper->binding.dim;
}
int64_t inmo_stepper_steps_per_epoch(const struct inmo_stepper *stepper);

/* The number of Adam's updates since its last reset, before this step. Adam is reset at the start of each
 * pretraining stage of a head (--pretrain epochs each) and at the end of the last. */
int64_t inmo_stepper_updates(const struct inmo_stepper *stepper, int64_t step);

/* For a spectral start, the decomposition of the graph; else NULL. */
struct inmo_svd;
enum inmo_status inmo_stepper_svd(const struct inmo_stepper *stepper, const struct inmo_hooks *hooks,
                                  struct inmo_svd **svd, struct inmo_error *error);
/* Makes the batch of this step, and some after it, unless it is there. Returns its index among them. */
int64_t inmo_stepper_prepare(struct inmo_stepper *stepper, int64_t step);
/* Sets the positions of the step's rows, for models that need them; marked 0: clears them again. */
void inmo_stepper_mark(struct inmo_stepper *stepper, int marked);
/* Computes the gradient of this step's batch at the current parameters. Returns the loss. Tests call it
 * directly. */
double inmo_stepper_gradient(struct inmo_stepper *stepper, int64_t step, double alpha,
                             struct inmo_gradient *gradient);
/* Takes step 0, 1, ... of the run, in this order, on all ranks. Returns the loss before the update. */
double inmo_stepper_run(struct inmo_stepper *stepper, int64_t step, double alpha, double learning_rate);
/* Brings all parameters and moments up to date, which may be behind between steps (lazy.h). */
void inmo_stepper_catch_up(struct inmo_stepper *stepper);
/* Between two steps: gives back the memory of what only steps need. */
void inmo_stepper_rest(struct inmo_stepper *stepper);
/* The same after the last step, whose moments nobody will read. */
void inmo_stepper_end(struct inmo_stepper *stepper);

#endif
