/* step.c - see step.h: sample, forward, loss, backward, Adam. */
#include "train/step.h"

#include "base/memory.h"

#include "base/threads.h"
#include "kernel/kernel.h"
#include "loss/norms.h"
#include "model/readout.h"
#include "train/cut.h"
#include "train/pairwise.h"

#include <string.h>

int64_t inmo_stepper_prepare(struct inmo_stepper *stepper, int64_t step)
{
    if (stepper->first < 0 || step < stepper->first || step >= stepper->first + stepper->ahead) {
        stepper->first = step;
#pragma omp parallel for schedule(static, 1) num_threads(inmo_threads())
        for (int32_t n = 0; n < stepper->ahead; n++) {
            stepper->loss->draw(stepper->loss_state, step + n, stepper->grouping + n);
            if (stepper->self.sampler.count > 0)
                inmo_self_enhanced_draw(&stepper->self, step + n, stepper->self_grouping + n);
        }
    }
    return step - stepper->first;
}

void inmo_stepper_mark(struct inmo_stepper *stepper, int marked)
{
    const struct inmo_rows *rows = &stepper->rows;
    for (int32_t n = 0; stepper->position && n < rows->count; n++)
        stepper->position[rows->node[n]] = marked ? n : -1;
}

/* λ for each place, if the loss does not add squared norms itself. In a mean over pairs, a user's place counts for
 * all pairs of its positive, an item's place for one. */
static struct inmo_norms norms_of(const struct inmo_stepper *stepper, int dim, struct inmo_columns columns)
{
    double l2 = stepper->options->l2 / stepper->options->batch;
    return (struct inmo_norms){stepper->graph->users, l2,
                               stepper->loss->mean_over_pairs ? l2 / (stepper->pair_negatives + 1) : l2, dim,
                               columns};
}

/* The pretraining stage of a step; after pretraining, the number of stages. */
static int stage_of(const struct inmo_stepper *stepper, int64_t step)
{
    int64_t steps = inmo_stepper_steps_per_epoch(stepper) * stepper->options->pretrain,
            stages = stepper->head->stages;
    return (int)(step < stages * steps ? step / steps : stages);
}

static struct inmo_columns columns_of(const struct inmo_stepper *stepper, int64_t step, int width)
{
    if (!stepper->head || !stepper->head->trains)
        return (struct inmo_columns){0, width};
    return stepper->head->trains(width, stage_of(stepper, step));
}

/* The loss on pairs, scored by the head. */
static double judge_pairs(struct inmo_stepper *stepper, const struct inmo_grouping *grouping, int64_t step,
                          const float *r)
{
    struct inmo_norms norms = norms_of(stepper, stepper->width, columns_of(stepper, step, stepper->width));
    struct inmo_pairs pairs = {
        .batch = stepper->options->batch,
        .negatives = stepper->pair_negatives,
        .row = grouping->row,
        .rows = grouping->rows.count,
        .user_rows = inmo_grouping_below(grouping, stepper->graph->users),
        .offset = grouping->offset,
        .entry = grouping->entry,
        .r = r,
        .judge = stepper->loss->judge_pairs,
        .context = stepper->loss_state,
    };
    double loss;
    if (stepper->l2_on_pairs)
        pairs.l2 = stepper->options->l2 / ((double)pairs.batch * (pairs.negatives + 1));
    loss = stepper->head->run(stepper->head_state, inmo_stepper_head(stepper), stage_of(stepper, step), &pairs,
                              stepper->dr);
    if (stepper->l2_on_r && !stepper->l2_on_pairs && stepper->options->l2 > 0)
        loss += inmo_square_norms(&norms, grouping, 0, r, stepper->dr, stepper->term);
    return loss;
}

double inmo_stepper_gradient(struct inmo_stepper *stepper, int64_t step, double alpha,
                             struct inmo_gradient *gradient)
{
    const struct inmo_train_options *options = stepper->options;
    const struct inmo_provider *provider = stepper->kind->provider;
    const struct inmo_backbone *backbone = stepper->kind->backbone;
    struct inmo_moment moment = {alpha, options->dropout, options->graph_dropout, options->seed, step};
    int64_t which = inmo_stepper_prepare(stepper, step);
    const struct inmo_grouping *grouping = stepper->grouping + which;
    const struct inmo_rows *rows = &stepper->rows, *e_rows = backbone->needs_all ? NULL : rows;
    const float *parameter, *e;
    float *r, *de;
    double loss;

    /* batch; e = provider(parameters), r = backbone(e); loss and dr */
    stepper->rows = (struct inmo_rows){grouping->rows.count, grouping->node, stepper->position};
    inmo_stepper_mark(stepper, 1);
    provider->begin(stepper->provider, inmo_stepper_weights(stepper), &moment);
    if (backbone->begin)
        backbone->begin(stepper->backbone,
                        inmo_kind_backbone_own(stepper->kind, stepper->binding.dim, inmo_stepper_weights(stepper)),
                        &moment);
    parameter = stepper->lazy.touched ? inmo_lazy_read(&stepper->lazy, provider->touches(stepper->provider, e_rows))
                                      : stepper->parameter;
    e = provider->forward(stepper->provider, parameter, e_rows);
    r = backbone->forward(stepper->backbone, e, rows);
    if (stepper->item_scale && stepper->read)
        r = memcpy(stepper->read, r, (size_t)rows->count * (size_t)stepper->width * sizeof *r);
    if (stepper->item_scale)
        inmo_readout(stepper->graph, rows, stepper->width, stepper->item_scale, r);
    loss = stepper->head ? judge_pairs(stepper, grouping, step, r)
                         : stepper->loss->judge(stepper->loss_state, grouping, r, stepper->dr);

    /* backward: de, then the gradient of the parameters */
    if (stepper->item_scale)
        inmo_readout(stepper->graph, rows, stepper->width, stepper->item_scale, stepper->dr);
    de = backbone->backward(stepper->backbone, rows, stepper->dr);
    if (!stepper->l2_on_r && !stepper->l2_on_pairs && options->l2 > 0) {
        struct inmo_norms norms =
            norms_of(stepper, stepper->binding.dim, columns_of(stepper, step, stepper->binding.dim));
        loss += inmo_square_norms(&norms, grouping, backbone->needs_all, e, de, stepper->term);
    }
    if (provider->own_loss) {
        stepper->loss->weigh(stepper->loss_state, grouping, options->contrast, stepper->row_weight);
        loss += provider->own_loss(stepper->provider, rows, stepper->row_weight, options->l2, de);
    }
    *gradient = provider->backward(stepper->provider, e_rows, de);
    gradient->own = backbone->own_gradient ? backbone->own_gradient(stepper->backbone) : NULL;
    gradient->head = stepper->kind->head ? stepper->head->own_gradient(stepper->head_state) : NULL;
    if (stepper->self.sampler.count > 0)
        loss += inmo_self_enhanced_run(&stepper->self, stepper->self_grouping + which, stepper->parameter,
                                       gradient->value);
    inmo_stepper_mark(stepper, 0);
    return loss;
}

/* Applies Adam to some of the rows after the provider's. */
static void update_weights(struct inmo_stepper *stepper, int64_t first, int64_t rows, struct inmo_adam adam,
                           const float *gradient)
{
    int64_t at = first * stepper->binding.dim;
    if (gradient)
        inmo_adam_rows(rows, stepper->binding.dim, adam, gradient, stepper->m + at, stepper->root + at,
                       stepper->parameter + at);
}

/* Resets Adam to before its first step; only between epochs, when no row is behind. */
static void reset_adam(struct inmo_stepper *stepper)
{
    size_t size = (size_t)stepper->parameter_rows * (size_t)stepper->binding.dim;
    memset(stepper->m, 0, size * sizeof *stepper->m);
    memset(stepper->root, 0, size * sizeof *stepper->root);
    if (stepper->lazy.touched)
        inmo_lazy_reset(&stepper->lazy);
}

double inmo_stepper_run(struct inmo_stepper *stepper, int64_t step, double alpha, double learning_rate)
{
    struct inmo_gradient gradient;
    int64_t updates = inmo_stepper_updates(stepper, step);
    int64_t backbone = stepper->provider_rows + stepper->provider_weights;
    int64_t head = backbone + stepper->backbone_weights;
    struct inmo_adam adam = inmo_adam_at(learning_rate, updates + 1);
    double loss;
    if (stepper->cut)
        return inmo_cut_step(stepper, step, alpha, learning_rate);
    if (updates == 0 && step > 0)
        reset_adam(stepper);
    if (stepper->fused) {
        const struct inmo_grouping *grouping = stepper->grouping + inmo_stepper_prepare(stepper, step);
        struct inmo_triples triples = stepper->loss->triples(stepper->loss_state, grouping, stepper->lazy.current);
        return inmo_pairwise_step(&triples, grouping, stepper->graph->users, &stepper->lazy, learning_rate);
    }
    loss = inmo_stepper_gradient(stepper, step, alpha, &gradient);
    if (stepper->lazy.touched)
        inmo_lazy_write(&stepper->lazy, learning_rate, gradient.rows, gradient.value);
    else if (gradient.value)
        inmo_adam_rows(stepper->provider_rows, stepper->binding.dim, adam, gradient.value, stepper->m,
                       stepper->root, stepper->parameter);
    update_weights(stepper, stepper->provider_rows, stepper->provider_weights, adam, gradient.weights);
    update_weights(stepper, backbone, stepper->backbone_weights, adam, gradient.own);
    update_weights(stepper, head, stepper->parameter_rows - head, adam, gradient.head);
    return loss;
}

void inmo_stepper_rest(struct inmo_stepper *stepper)
{
    size_t size = (size_t)stepper->places * (size_t)stepper->width * sizeof(float);
    if (stepper->kind->provider->rest)
        stepper->kind->provider->rest(stepper->provider);
    if (stepper->kind->backbone->rest)
        stepper->kind->backbone->rest(stepper->backbone);
    inmo_release(stepper->dr, 0, size);
    if (stepper->read)
        inmo_release(stepper->read, 0, size);
}

void inmo_stepper_end(struct inmo_stepper *stepper)
{
    size_t size = (size_t)stepper->parameter_rows * (size_t)stepper->binding.dim * sizeof(float);
    inmo_stepper_rest(stepper);
    inmo_release(stepper->m, 0, size);
    inmo_release(stepper->root, 0, size);
}

void inmo_stepper_catch_up(struct inmo_stepper *stepper)
{
    if (stepper->lazy.touched)
        inmo_lazy_catch_up(&stepper->lazy);
}
