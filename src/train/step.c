/* step.c - see step.h: sample, forward, loss, backward, Adam. */
#include "train/step.h"

#include "base/random.h"
#include "kernel/kernel.h"

/* λ on the embeddings of the batch (lookup models). Returns its part of the loss. */
static double regularise_embeddings(struct inmo_stepper *stepper, const float *e, float *de)
{
    const struct inmo_grouping *grouping = &stepper->grouping;
    int dim = stepper->binding.dim;
    double factor = stepper->options->l2 / stepper->options->batch, loss = 0;
    for (int32_t n = 0; factor > 0 && n < grouping->rows.count; n++) {
        size_t at = (size_t)(stepper->kind->backbone->needs_all ? grouping->rows.node[n] : n) * (size_t)dim;
        int32_t places = grouping->offset[n + 1] - grouping->offset[n];
        for (int j = 0; j < dim; j++)
            loss += factor * places * (double)e[at + (size_t)j] * e[at + (size_t)j];
        inmo_kernels()->add_scaled(dim, (float)(2 * factor * places), e + at, de + at);
    }
    return loss;
}

/* The self-enhanced loss on the template vectors themselves: adds to the gradient of the block. */
static double self_enhanced_gradient(struct inmo_stepper *stepper, int64_t step, float *gradient)
{
    const struct inmo_train_options *options = stepper->options;
    int32_t batch = options->batch, *number = stepper->self_number;
    size_t w = ((size_t)stepper->binding.rows + 2) * (size_t)options->dim;
    struct inmo_bpr bpr = {
        .batch = batch,
        .dim = options->dim,
        .factor = options->self_weight / batch,
        .x = stepper->parameter,
        .index = number,
        .w = stepper->parameter + w,
        .coefficient = stepper->coefficient,
        .term = stepper->term,
    };
    double loss;
    inmo_sampler_draw(&stepper->self_sampler, inmo_key(options->seed, INMO_STREAM_SELF_BATCH), step * batch, batch,
                      number, number + batch, number + 2 * batch);
    for (int32_t n = batch; n < 3 * batch; n++)
        number[n] += stepper->user_rows;
    inmo_grouping_set(&stepper->self_grouping, number, 3 * batch);
    loss = inmo_bpr_forward(&bpr);
    inmo_bpr_backward(&bpr, &stepper->self_grouping, 1, gradient);
    inmo_bpr_backward_w(&bpr, gradient + w);
    return loss;
}

/* The nodes the batch names: users, positives, and a negative for each or some that all share. */
static void draw_batch(struct inmo_stepper *stepper, int64_t step)
{
    const struct inmo_train_options *options = stepper->options;
    int32_t batch = options->batch, *number = stepper->number, items = stepper->graph->items;
    uint64_t key = inmo_key(options->seed, INMO_STREAM_BATCH);
    if (stepper->listwise.batch > 0) {
        inmo_listwise_draw(&stepper->listwise, options->seed, step);
        return;
    }
    if (stepper->softmax.batch > 0) {
        uint64_t negative_key = inmo_random(inmo_key(options->seed, INMO_STREAM_NEGATIVE), (uint64_t)step);
        inmo_sampler_draw(&stepper->sampler, key, step * batch, batch, number, number + batch, NULL);
        for (int32_t n = 0; n < options->negatives; n++)
            number[2 * batch + n] =
                (int32_t)inmo_random_below(inmo_random(negative_key, (uint64_t)n), (uint32_t)items);
    } else {
        inmo_sampler_draw(&stepper->sampler, key, step * batch, batch, number, number + batch, number + 2 * batch);
    }
    for (int32_t n = batch; n < stepper->places; n++)
        number[n] += stepper->graph->users;
    inmo_grouping_set(&stepper->grouping, number, stepper->places);
    for (int32_t n = 0; n < stepper->places; n++)
        number[n] = stepper->grouping.position[number[n]];
}

/* Loss of the representations r, by rows; leaves dr. */
static double judge(struct inmo_stepper *stepper, const float *r)
{
    const struct inmo_train_options *options = stepper->options;
    struct inmo_bpr bpr = {
        .batch = options->batch,
        .dim = stepper->width,
        .factor = 1.0 / options->batch,
        .l2 = inmo_regularises_output(stepper->kind) ? options->l2 / options->batch : 0,
        .x = r,
        .index = stepper->number,
        .coefficient = stepper->coefficient,
        .term = stepper->term,
    };
    double loss;
    if (stepper->listwise.batch > 0) {
        loss = inmo_listwise_run(&stepper->listwise, r, stepper->dr);
    } else if (stepper->softmax.batch > 0) {
        loss = inmo_softmax_run(&stepper->softmax, r, stepper->number);
        inmo_softmax_rows(&stepper->softmax, &stepper->grouping, stepper->dr);
    } else {
        loss = inmo_bpr_forward(&bpr);
        inmo_bpr_backward(&bpr, &stepper->grouping, 0, stepper->dr);
    }
    return loss;
}

double inmo_stepper_gradient(struct inmo_stepper *stepper, int64_t step, double alpha, struct inmo_gradient *gradient)
{
    const struct inmo_train_options *options = stepper->options;
    const struct inmo_provider *provider = stepper->kind->provider;
    const struct inmo_backbone *backbone = stepper->kind->backbone;
    const struct inmo_rows *rows = &stepper->grouping.rows, *e_rows = backbone->needs_all ? NULL : rows;
    struct inmo_moment moment = {alpha, options->dropout, options->graph_dropout, options->seed, step};
    const float *e;
    float *de;
    double loss;

    /* the batch; e = provider(parameters), r = backbone(e); loss and dr */
    draw_batch(stepper, step);
    provider->begin(stepper->provider, &moment);
    if (backbone->begin)
        backbone->begin(stepper->backbone, inmo_stepper_own(stepper), &moment);
    e = provider->forward(stepper->provider, stepper->parameter, e_rows);
    loss = judge(stepper, backbone->forward(stepper->backbone, e, rows));

    /* and back: de, then the gradient of the parameters */
    de = backbone->backward(stepper->backbone, rows, stepper->dr);
    if (!inmo_regularises_output(stepper->kind) && stepper->listwise.batch == 0)
        loss += regularise_embeddings(stepper, e, de);
    *gradient = provider->backward(stepper->provider, e_rows, de);
    gradient->own = backbone->own_gradient ? backbone->own_gradient(stepper->backbone) : NULL;
    if (stepper->self_sampler.count > 0)
        loss += self_enhanced_gradient(stepper, step, gradient->value);
    return loss;
}

double inmo_stepper_run(struct inmo_stepper *stepper, int64_t step, double alpha, double learning_rate)
{
    struct inmo_gradient gradient;
    double loss = inmo_stepper_gradient(stepper, step, alpha, &gradient);
    struct inmo_adam adam = inmo_adam_at(learning_rate, step + 1);
    int64_t own = stepper->provider_rows * stepper->binding.dim;
    inmo_adam_rows(stepper->provider_rows, stepper->binding.dim, adam, gradient.position, gradient.value, stepper->m,
                   stepper->v, stepper->parameter);
    if (gradient.own)
        inmo_adam_rows(stepper->parameter_rows - stepper->provider_rows, stepper->binding.dim, adam, NULL, gradient.own,
                       stepper->m + own, stepper->v + own, stepper->parameter + own);
    return loss;
}
