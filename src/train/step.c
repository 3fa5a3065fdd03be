/* step.c - see step.h: sample, forward, loss, backward, Adam. */
#include "train/step.h"

#include "base/random.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "model/readout.h"

#include <string.h>

/* The nodes that the batch of a step names: users, positives, and a negative or several for each or some that
 * all share. */
static void draw_batch(const struct inmo_stepper *stepper, int64_t step, struct inmo_grouping *grouping)
{
    const struct inmo_train_options *options = stepper->options;
    const struct inmo_graph *graph = stepper->graph;
    int32_t batch = options->batch, *number = grouping->number;
    int shared = stepper->softmax.batch > 0, is_bce = strcmp(options->loss, "bce") == 0;
    inmo_sampler_draw(&stepper->sampler, inmo_key(options->seed, INMO_STREAM_BATCH), step * batch, batch, number,
                      number + batch, shared || is_bce ? NULL : number + 2 * batch);
    if (is_bce)
        inmo_sampler_draw_negatives(&stepper->sampler, inmo_key(options->seed, INMO_STREAM_NEGATIVE), step * batch,
                                    batch, options->bce_negatives, number, number + 2 * batch);
    if (shared) {
        uint64_t key = inmo_random(inmo_key(options->seed, INMO_STREAM_NEGATIVE), (uint64_t)step);
        for (int32_t n = 0; n < options->negatives; n++)
            number[2 * batch + n] =
                (int32_t)inmo_random_below(inmo_random(key, (uint64_t)n), (uint32_t)graph->items);
    }
    /* drawn by first numbers, so that a run draws the same in every order of the nodes */
    for (int32_t n = 0; n < stepper->places; n++)
        number[n] = inmo_graph_place(graph, n < batch ? number[n] : graph->users + number[n]);
    inmo_grouping_set(grouping, stepper->places);
}

/* The parameter rows of the self-enhanced loss. */
static void draw_self_batch(const struct inmo_stepper *stepper, int64_t step, struct inmo_grouping *grouping)
{
    int32_t batch = stepper->options->batch, *number = grouping->number;
    inmo_sampler_draw(&stepper->self_sampler, inmo_key(stepper->options->seed, INMO_STREAM_SELF_BATCH),
                      step * batch, batch, number, number + batch, number + 2 * batch);
    for (int32_t n = batch; n < 3 * batch; n++)
        number[n] += stepper->binding.user_rows;
    inmo_grouping_set(grouping, 3 * batch);
}

/* Makes the batch of this step, and those after it, if that has not been done. Returns its place among them. */
static int64_t prepare(struct inmo_stepper *stepper, int64_t step)
{
    int is_listwise = stepper->listwise.batch > 0;
    if (is_listwise)
        inmo_listwise_draw(&stepper->listwise, stepper->options->seed, step);
    if (stepper->first < 0 || step < stepper->first || step >= stepper->first + stepper->ahead) {
        stepper->first = step;
#pragma omp parallel for schedule(static, 1) num_threads(inmo_threads())
        for (int32_t n = 0; n < stepper->ahead; n++) {
            if (!is_listwise)
                draw_batch(stepper, step + n, stepper->grouping + n);
            if (stepper->self_sampler.count > 0)
                draw_self_batch(stepper, step + n, stepper->self_grouping + n);
        }
    }
    return step - stepper->first;
}

/* The rows of the step are where their positions say, for models that ask; afterwards no row is anywhere. */
static void mark_positions(struct inmo_stepper *stepper, int marked)
{
    const struct inmo_rows *rows = &stepper->rows;
    if (!stepper->position || stepper->listwise.batch > 0) /* listwise: every node at its own number, always */
        return;
    for (int32_t n = 0; n < rows->count; n++)
        stepper->position[rows->node[n]] = marked ? n : -1;
}

/* The pairwise loss of the batch. l2: lambda, where it falls on r. */
static struct inmo_bpr pairwise_of(const struct inmo_stepper *stepper, const struct inmo_grouping *grouping,
                                   const float *r, double l2)
{
    const struct inmo_train_options *options = stepper->options;
    return (struct inmo_bpr){
        .batch = options->batch,
        .dim = stepper->width,
        .factor = 1.0 / options->batch,
        .l2 = l2 / options->batch,
        .x = r,
        .index = grouping->row,
        .coefficient = stepper->coefficient,
        .term = stepper->term,
        .term_row = stepper->term_row,
        .term_factor = stepper->term_factor,
    };
}

/* λ for each place, where squared norms are not the business of the loss itself. With bce it is the mean over
 * pairs, and a place of a user is in all of its positive's. */
static struct inmo_norms norms_of(const struct inmo_stepper *stepper, int dim, struct inmo_columns columns)
{
    const struct inmo_train_options *options = stepper->options;
    double l2 = options->l2 / options->batch;
    int is_bce = strcmp(options->loss, "bce") == 0;
    return (struct inmo_norms){stepper->graph->users, l2, is_bce ? l2 / (options->bce_negatives + 1) : l2, dim,
                               columns};
}

/* The stage of pretraining that a step belongs to; the number of stages: none of them. */
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

/* The loss of pairs, whatever scores them. l2: whether it falls on r. */
static double judge_pairs(struct inmo_stepper *stepper, const struct inmo_grouping *grouping, int64_t step,
                          const float *r, int l2)
{
    const struct inmo_train_options *options = stepper->options;
    struct inmo_pair_loss kind = {strcmp(options->loss, "bce") == 0, stepper->pair_negatives, 0};
    struct inmo_norms norms = norms_of(stepper, stepper->width, columns_of(stepper, step, stepper->width));
    struct inmo_pairs pairs = {
        .batch = options->batch,
        .negatives = stepper->pair_negatives,
        .row = grouping->row,
        .rows = grouping->rows.count,
        .user_rows = inmo_grouping_below(grouping, stepper->graph->users),
        .offset = grouping->offset,
        .entry = grouping->entry,
        .r = r,
        .judge = inmo_pair_loss,
        .context = &kind,
    };
    double loss;
    kind.factor = 1.0 / ((double)options->batch * (kind.is_bce ? kind.negatives + 1 : 1));
    loss = stepper->head->run(stepper->head_state, inmo_stepper_head(stepper), stage_of(stepper, step), &pairs,
                              stepper->dr);
    return l2 ? loss + inmo_square_norms(&norms, grouping, 0, r, stepper->dr, stepper->term) : loss;
}

/* Loss of the representations r, by rows; leaves dr. */
static double judge(struct inmo_stepper *stepper, const struct inmo_grouping *grouping, int64_t step,
                    const float *r, double l2)
{
    struct inmo_bpr bpr;
    double loss;
    if (stepper->head)
        return judge_pairs(stepper, grouping, step, r, l2 > 0);
    if (stepper->listwise.batch > 0)
        return inmo_listwise_run(&stepper->listwise, r, stepper->dr);
    if (stepper->softmax.batch > 0) {
        loss = inmo_softmax_run(&stepper->softmax, r, grouping->row);
        inmo_softmax_rows(&stepper->softmax, grouping, stepper->dr);
        return loss;
    }
    bpr = pairwise_of(stepper, grouping, r, l2);
    loss = inmo_bpr_forward(&bpr);
    return loss + inmo_bpr_backward(&bpr, grouping, stepper->dr);
}

/* The self-enhanced loss on the template vectors themselves: adds to the gradient of the block. */
static double self_enhance(struct inmo_stepper *stepper, const struct inmo_grouping *grouping, float *gradient)
{
    const struct inmo_train_options *options = stepper->options;
    size_t dim = (size_t)stepper->binding.dim, w = ((size_t)stepper->binding.rows + 2) * dim;
    struct inmo_bpr bpr = {
        .batch = options->batch,
        .dim = stepper->binding.dim,
        .factor = options->self_weight / options->batch,
        .x = stepper->parameter,
        .index = grouping->number,
        .w = stepper->parameter + w,
        .coefficient = stepper->coefficient,
        .term = stepper->term,
    };
    double loss = inmo_bpr_forward(&bpr);
    inmo_bpr_backward(&bpr, grouping, stepper->self_gradient);
    inmo_bpr_backward_w(&bpr, stepper->partial, gradient + w);
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < grouping->rows.count; n++)
        inmo_kernels()->add_scaled(stepper->binding.dim, 1, stepper->self_gradient + (size_t)n * dim,
                                   gradient + (size_t)grouping->node[n] * dim);
    return loss;
}

/* What each row counts in a mean over the batch, as L2 has it (norms_of), times a factor. Negatives that a
 * softmax shares count nothing. */
static void weigh_rows(struct inmo_stepper *stepper, const struct inmo_grouping *grouping, double factor)
{
    const struct inmo_train_options *options = stepper->options;
    int32_t counted = stepper->softmax.batch > 0 ? 2 * options->batch : stepper->places;
    double of_user = factor / options->batch;
    double of_item = strcmp(options->loss, "bce") == 0 ? of_user / (options->bce_negatives + 1) : of_user;
    if (stepper->listwise.batch > 0) {
        inmo_listwise_weights(&stepper->listwise, factor, stepper->row_weight);
        return;
    }
    for (int32_t n = 0; n < grouping->rows.count; n++) {
        int32_t places = 0;
        for (int32_t e = grouping->offset[n]; e < grouping->offset[n + 1]; e++)
            places += grouping->entry[e] < counted;
        stepper->row_weight[n] = (float)(places * (grouping->node[n] < stepper->graph->users ? of_user : of_item));
    }
}

double inmo_stepper_gradient(struct inmo_stepper *stepper, int64_t step, double alpha,
                             struct inmo_gradient *gradient)
{
    const struct inmo_train_options *options = stepper->options;
    const struct inmo_provider *provider = stepper->kind->provider;
    const struct inmo_backbone *backbone = stepper->kind->backbone;
    struct inmo_moment moment = {alpha, options->dropout, options->graph_dropout, options->seed, step};
    int64_t which = prepare(stepper, step);
    const struct inmo_grouping *grouping = stepper->grouping + which;
    const struct inmo_rows *rows = &stepper->rows, *e_rows = backbone->needs_all ? NULL : rows;
    const float *parameter, *e;
    float *r, *de;
    double loss;
    int l2_on_r;

    /* the batch; e = provider(parameters), r = backbone(e); loss and dr */
    stepper->rows = (struct inmo_rows){grouping->rows.count, grouping->node, stepper->position};
    mark_positions(stepper, 1);
    provider->begin(stepper->provider, inmo_stepper_own(stepper), &moment);
    if (backbone->begin)
        backbone->begin(stepper->backbone,
                        inmo_kind_backbone_own(stepper->kind, stepper->binding.dim, inmo_stepper_own(stepper)),
                        &moment);
    parameter = stepper->lazy.touched ? inmo_lazy_read(&stepper->lazy, provider->touches(stepper->provider, e_rows))
                                      : stepper->parameter;
    e = provider->forward(stepper->provider, parameter, e_rows);
    r = backbone->forward(stepper->backbone, e, rows);
    l2_on_r =
        inmo_regularises_output(stepper->kind) || (r == e && !stepper->item_scale && stepper->softmax.batch == 0);
    if (stepper->item_scale && stepper->read)
        r = memcpy(stepper->read, r, (size_t)rows->count * (size_t)stepper->width * sizeof *r);
    if (stepper->item_scale)
        inmo_readout(stepper->graph, rows, stepper->width, stepper->item_scale, r);
    loss = judge(stepper, grouping, step, r, l2_on_r ? options->l2 : 0);

    /* and back: de, then the gradient of the parameters */
    if (stepper->item_scale)
        inmo_readout(stepper->graph, rows, stepper->width, stepper->item_scale, stepper->dr);
    de = backbone->backward(stepper->backbone, rows, stepper->dr);
    if (!l2_on_r && options->l2 > 0 && stepper->listwise.batch == 0) {
        struct inmo_norms norms =
            norms_of(stepper, stepper->binding.dim, columns_of(stepper, step, stepper->binding.dim));
        loss += inmo_square_norms(&norms, grouping, backbone->needs_all, e, de, stepper->term);
    }
    if (provider->own_loss) {
        weigh_rows(stepper, grouping, options->contrast);
        loss += provider->own_loss(stepper->provider, rows, stepper->row_weight, options->l2, de);
    }
    *gradient = provider->backward(stepper->provider, e_rows, de);
    gradient->own = backbone->own_gradient ? backbone->own_gradient(stepper->backbone) : NULL;
    gradient->head = stepper->kind->head ? stepper->head->own_gradient(stepper->head_state) : NULL;
    if (stepper->self_sampler.count > 0)
        loss += self_enhance(stepper, stepper->self_grouping + which, gradient->value);
    mark_positions(stepper, 0);
    return loss;
}

/* Some of the rows that follow the provider's. */
static void update_own(struct inmo_stepper *stepper, int64_t first, int64_t rows, struct inmo_adam adam,
                       const float *gradient)
{
    int64_t at = first * stepper->binding.dim;
    if (gradient)
        inmo_adam_rows(rows, stepper->binding.dim, adam, gradient, stepper->m + at, stepper->root + at,
                       stepper->parameter + at);
}

/* Adam as before its first step; between epochs, when no row is behind. */
static void begin_anew(struct inmo_stepper *stepper)
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
    int64_t updates = inmo_stepper_updates(stepper, step), own = stepper->provider_rows + stepper->weight_rows;
    struct inmo_adam adam = inmo_adam_at(learning_rate, updates + 1);
    double loss;
    if (updates == 0 && step > 0)
        begin_anew(stepper);
    if (stepper->term_row && !stepper->item_scale) {
        const struct inmo_grouping *grouping = stepper->grouping + prepare(stepper, step);
        struct inmo_bpr bpr = pairwise_of(stepper, grouping, stepper->lazy.current, stepper->options->l2);
        return inmo_pairwise_step(&bpr, grouping, stepper->graph->users, &stepper->lazy, learning_rate);
    }
    loss = inmo_stepper_gradient(stepper, step, alpha, &gradient);
    if (stepper->lazy.touched)
        inmo_lazy_write(&stepper->lazy, learning_rate, gradient.rows, gradient.value);
    else if (gradient.value)
        inmo_adam_rows(stepper->provider_rows, stepper->binding.dim, adam, gradient.value, stepper->m,
                       stepper->root, stepper->parameter);
    update_own(stepper, stepper->provider_rows, stepper->weight_rows, adam, gradient.weights);
    update_own(stepper, own, stepper->own_rows, adam, gradient.own);
    update_own(stepper, own + stepper->own_rows, stepper->parameter_rows - own - stepper->own_rows, adam,
               gradient.head);
    return loss;
}

void inmo_stepper_settle(struct inmo_stepper *stepper)
{
    if (stepper->lazy.touched)
        inmo_lazy_settle(&stepper->lazy);
}
