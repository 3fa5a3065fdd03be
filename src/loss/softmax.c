/* softmax.c - see softmax.h. Cost for B = 8192, M = 1024, d = 64: 3.2 Gflop in products, 8.4 M exponentials. */
#include "loss/softmax.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "loss/loss.h"
#include "loss/sampler.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { USERS = 256, COLUMNS = 128 }; /* sizes of a block of users and of a panel of negatives */

void inmo_softmax_free(struct inmo_softmax *softmax)
{
    inmo_free(softmax->term);
    inmo_free(softmax->gradient);
    inmo_free(softmax->share);
    inmo_free(softmax->negative);
    inmo_free(softmax->positive);
    inmo_free(softmax->user);
    *softmax = (struct inmo_softmax){0};
}

enum inmo_status inmo_softmax_make(int32_t batch, int32_t negatives, int dim, struct inmo_softmax *out,
                                   struct inmo_error *error)
{
    size_t b = (size_t)batch, m = (size_t)negatives, d = (size_t)dim;
    struct inmo_softmax softmax = {.batch = batch, .negatives = negatives, .dim = dim};
    softmax.user = inmo_alloc(b * d, sizeof(float));
    softmax.positive = inmo_alloc(b * d, sizeof(float));
    softmax.negative = inmo_alloc(m * d, sizeof(float));
    softmax.share = inmo_alloc(b * m, sizeof(float));
    softmax.gradient = inmo_alloc((2 * b + m) * d, sizeof(float));
    softmax.term = inmo_alloc(b, sizeof(double));
    if (!softmax.user || !softmax.positive || !softmax.negative || !softmax.share || !softmax.gradient ||
        !softmax.term) {
        inmo_softmax_free(&softmax);
        return inmo_fail_memory(error, "the softmax loss");
    }
    *out = softmax;
    return INMO_OK;
}

static void copy_rows(const float *x, const int32_t *index, int32_t count, int dim, float *out)
{
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < count; n++)
        memcpy(out + (size_t)n * (size_t)dim, x + (size_t)index[n] * (size_t)dim, (size_t)dim * sizeof *out);
}

/* One user: turns the scores in share into their gradient. Returns the loss. */
static double judge_user(struct inmo_softmax *softmax, int32_t b)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int dim = softmax->dim;
    size_t d = (size_t)dim;
    float *share = softmax->share + (size_t)b * (size_t)softmax->negatives;
    const float *user = softmax->user + (size_t)b * d, *positive = softmax->positive + (size_t)b * d;
    float *user_gradient = softmax->gradient + (size_t)b * d;
    float *positive_gradient = softmax->gradient + ((size_t)softmax->batch + (size_t)b) * d;
    double factor = 1 / softmax->temperature, score = factor * kernels->dot(dim, user, positive), highest = score,
           sum;
    double scale, pull, loss;
    highest = fmax(highest, factor * kernels->largest(softmax->negatives, share));
    sum = kernels->exponentials(softmax->negatives, (float)factor, (float)highest, share) + exp(score - highest);
    loss = highest + log(sum) - score;
    scale = factor / (sum * softmax->batch);
    pull = factor * (exp(score - highest) / sum - 1) / softmax->batch;
    for (int32_t j = 0; j < softmax->negatives; j++)
        share[j] *= (float)scale;
    for (int j = 0; j < dim; j++) {
        user_gradient[j] = (float)(pull * positive[j] + 2 * softmax->l2 * user[j]);
        positive_gradient[j] = (float)(pull * user[j] + 2 * softmax->l2 * positive[j]);
        loss += softmax->l2 * softmax->batch * ((double)user[j] * user[j] + (double)positive[j] * positive[j]);
    }
    return loss / softmax->batch;
}

double inmo_softmax_run(struct inmo_softmax *softmax, const float *x, const int32_t *index)
{
    int32_t batch = softmax->batch, negatives = softmax->negatives;
    int dim = softmax->dim, threads = inmo_threads();
    size_t d = (size_t)dim, m = (size_t)negatives;
    double loss = 0;
    copy_rows(x, index, batch, dim, softmax->user);
    copy_rows(x, index + batch, batch, dim, softmax->positive);
    copy_rows(x, index + 2 * batch, negatives, dim, softmax->negative);
    inmo_blas_hold(); /* the blocks run in parallel instead */
#pragma omp parallel num_threads(threads)
    {
        /* share = user negative'; then the gradient of user += share negative */
#pragma omp for schedule(dynamic)
        for (int32_t first = 0; first < batch; first += USERS) {
            int32_t count = batch - first < USERS ? batch - first : USERS;
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, negatives, dim, 1,
                        softmax->user + (size_t)first * d, dim, softmax->negative, dim, 0,
                        softmax->share + (size_t)first * m, negatives);
            for (int32_t b = first; b < first + count; b++)
                softmax->term[b] = judge_user(softmax, b);
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, count, dim, negatives, 1,
                        softmax->share + (size_t)first * m, negatives, softmax->negative, dim, 1,
                        softmax->gradient + (size_t)first * d, dim);
        }
        /* gradient of negative = share' user, a panel of negatives at a time */
#pragma omp for schedule(dynamic)
        for (int32_t first = 0; first < negatives; first += COLUMNS) {
            int32_t count = negatives - first < COLUMNS ? negatives - first : COLUMNS;
            cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, count, dim, batch, 1, softmax->share + first,
                        negatives, softmax->user, dim, 0,
                        softmax->gradient + (2 * (size_t)batch + (size_t)first) * d, dim);
        }
    }
    inmo_blas_release();
    for (int32_t b = 0; b < batch; b++)
        loss += softmax->term[b];
    return loss;
}

/* ---- Behind the seam (loss.h) -------------------------------------------------------------------------------- */

struct inmo_loss_state {
    const struct inmo_graph *graph;
    struct inmo_sampler sampler;
    uint64_t seed;
    struct inmo_softmax softmax;
};

static int32_t softmax_places(const struct inmo_train_options *options, const struct inmo_graph *graph)
{
    (void)graph;
    return 2 * options->batch + options->negatives;
}

static void softmax_destroy(struct inmo_loss_state *state)
{
    if (!state)
        return;
    inmo_softmax_free(&state->softmax);
    inmo_sampler_free(&state->sampler);
    inmo_free(state);
}

static enum inmo_status softmax_create(const struct inmo_loss_setup *setup, struct inmo_loss_state **out,
                                       struct inmo_error *error)
{
    const struct inmo_train_options *options = setup->options;
    struct inmo_loss_state *state = inmo_alloc_zero(1, sizeof *state);
    enum inmo_status status;
    if (!state)
        return inmo_fail_memory(error, "the loss");
    state->graph = setup->graph;
    state->seed = options->seed;
    status = inmo_sampler_make(setup->train, &state->sampler, error);
    if (!status)
        status = inmo_softmax_make(options->batch, options->negatives, setup->width, &state->softmax, error);
    if (status) {
        softmax_destroy(state);
        return status;
    }
    state->softmax.temperature = options->temperature;
    state->softmax.l2 = setup->adds_l2 ? options->l2 / options->batch : 0;
    *out = state;
    return INMO_OK;
}

static int64_t softmax_steps(const struct inmo_loss_state *state)
{
    return inmo_loss_steps(state->graph, state->softmax.batch);
}

static void softmax_draw(struct inmo_loss_state *state, int64_t step, struct inmo_grouping *grouping)
{
    const struct inmo_graph *graph = state->graph;
    int32_t batch = state->softmax.batch, negatives = state->softmax.negatives, *number = grouping->number;
    uint64_t key = inmo_random(inmo_key(state->seed, INMO_STREAM_NEGATIVE), (uint64_t)step);
    inmo_sampler_draw(&state->sampler, inmo_key(state->seed, INMO_STREAM_BATCH), step * batch, batch, number,
                      number + batch, NULL);
    for (int32_t n = 0; n < negatives; n++)
        number[2 * batch + n] = (int32_t)inmo_random_below(inmo_random(key, (uint64_t)n), (uint32_t)graph->items);
    inmo_loss_name_nodes(graph, batch, 2 * batch + negatives, grouping);
}

static double softmax_judge(struct inmo_loss_state *state, const struct inmo_grouping *grouping, const float *r,
                            float *dr)
{
    double loss = inmo_softmax_run(&state->softmax, r, grouping->row);
    inmo_loss_sum_places(grouping, state->softmax.dim, state->softmax.gradient, dr);
    return loss;
}

/* The shared negatives have no weight. */
static void softmax_weigh(const struct inmo_loss_state *state, const struct inmo_grouping *grouping, double factor,
                          float *weight)
{
    int32_t batch = state->softmax.batch;
    inmo_loss_weigh_places(grouping, state->graph->users, 2 * batch, factor / batch, factor / batch, weight);
}

const struct inmo_loss inmo_loss_softmax = {
    .name = "softmax",
    .help = "a positive against negatives shared by the batch",
    .l2 = INMO_L2_BY_MODEL,
    .places = softmax_places,
    .create = softmax_create,
    .destroy = softmax_destroy,
    .steps_per_epoch = softmax_steps,
    .draw = softmax_draw,
    .judge = softmax_judge,
    .weigh = softmax_weigh,
};
