/* directau.c - alignment and uniformity (Wang et al., KDD 2022): on the unit sphere, pulls a user and their
 * positive together, and pushes users apart from users and items from items. It needs no negatives.
 *
 *     loss = 1/B Σ_b ‖û_b - p̂_b‖² + γ/2 (U(u) + U(p)) + λ/B Σ_b (‖u_b‖² + ‖p_b‖²)
 *     U(x) = ln( 1/(B(B-1)) Σ_{b≠c} e^{-2 ‖x̂_b - x̂_c‖²} ),   x̂ = x / ‖x‖
 *
 * γ is --temperature: as in a softmax, it balances pulling together and pushing apart. On the sphere ‖x̂ - ŷ‖² = 2
 * - 2 x̂·ŷ, so each side needs one symmetric matrix of cosines. It is never stored whole: blocks of rows run over
 * tiles of columns, and a tile is a product, exponentials and a product. A zero vector counts as orthogonal to all
 * others and has no gradient.
 *
 * Cost of a step: 8 B² d flops in products and 2 B² exponentials. Deterministic: one group computes a whole block,
 * and sums over blocks are added in order. */
#include "loss/loss.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "loss/sampler.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { GROUPS = 8, ROWS = 128, COLUMNS = 512 }; /* ROWS of a block, COLUMNS of a tile */
enum { USERS, ITEMS, SIDES };

struct inmo_loss_state {
    const struct inmo_graph *graph;
    struct inmo_sampler sampler;
    uint64_t seed;
    int32_t batch;
    int dim;
    double gamma, l2; /* l2: lambda / batch; 0: added elsewhere */
    float *unit;      // (2 batch, dim) x̂ of users, then of positives
    double *inverse;  // (2 batch) 1 / ‖x‖; 0 for a zero vector
    float *push;      // (2 batch, dim) Σ_c e^{...} x̂_c; finally the gradient of each place
    float *tile;      // (GROUPS, ROWS, COLUMNS)
    double *term;     // (2 batch)
};

static int32_t directau_places(const struct inmo_train_options *options, const struct inmo_graph *graph)
{
    (void)graph;
    return 2 * options->batch;
}

static void directau_destroy(struct inmo_loss_state *state)
{
    if (!state)
        return;
    inmo_free(state->term);
    inmo_free(state->tile);
    inmo_free(state->push);
    inmo_free(state->inverse);
    inmo_free(state->unit);
    inmo_sampler_free(&state->sampler);
    inmo_free(state);
}

static enum inmo_status directau_create(const struct inmo_loss_setup *setup, struct inmo_loss_state **out,
                                        struct inmo_error *error)
{
    const struct inmo_train_options *options = setup->options;
    struct inmo_loss_state *state = inmo_alloc_zero(1, sizeof *state);
    size_t places = 2 * (size_t)options->batch, dim = (size_t)setup->width;
    enum inmo_status status;
    if (!state)
        return inmo_fail_memory(error, "the loss");
    state->graph = setup->graph;
    state->seed = options->seed;
    state->batch = options->batch;
    state->dim = setup->width;
    state->gamma = options->temperature;
    state->l2 = setup->adds_l2 ? options->l2 / options->batch : 0;
    state->unit = inmo_alloc(places * dim, sizeof(float));
    state->inverse = inmo_alloc(places, sizeof(double));
    state->push = inmo_alloc(places * dim, sizeof(float));
    state->tile = inmo_alloc((size_t)GROUPS * ROWS * COLUMNS, sizeof(float));
    state->term = inmo_alloc(places, sizeof(double));
    status = inmo_sampler_make(setup->train, &state->sampler, error);
    if (!status && (!state->unit || !state->inverse || !state->push || !state->tile || !state->term))
        status = inmo_fail_memory(error, "the loss");
    if (status)
        directau_destroy(state);
    else
        *out = state;
    return status;
}

static int64_t directau_steps(const struct inmo_loss_state *state)
{
    return inmo_loss_steps(state->graph, state->batch);
}

static void directau_draw(struct inmo_loss_state *state, int64_t step, struct inmo_grouping *grouping)
{
    int32_t batch = state->batch, *number = grouping->number;
    inmo_sampler_draw(&state->sampler, inmo_key(state->seed, INMO_STREAM_BATCH), step * batch, batch, number,
                      number + batch, NULL);
    inmo_loss_name_nodes(state->graph, batch, 2 * batch, grouping);
}

/* Computes x̂ for every place. */
static void normalise(struct inmo_loss_state *state, const struct inmo_grouping *grouping, const float *r)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    size_t d = (size_t)state->dim;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < 2 * state->batch; n++) {
        const float *x = r + (size_t)grouping->row[n] * d;
        float *unit = state->unit + (size_t)n * d;
        double norm = sqrt((double)kernels->dot(state->dim, x, x));
        state->inverse[n] = norm > 1e-12 ? 1 / norm : 0;
        for (size_t j = 0; j < d; j++)
            unit[j] = (float)(state->inverse[n] * x[j]);
    }
}

/* Rows first .. first + count - 1 of a side against the whole side: push = Σ_{c≠b} e_bc x̂_c, where e_bc = e^{4
 * x̂_b·x̂_c - 4}. Returns Σ e_bc. */
static double push_block(struct inmo_loss_state *state, int side, int32_t first, int32_t count, float *tile)
{
    int dim = state->dim;
    size_t d = (size_t)dim, begin = (size_t)side * (size_t)state->batch;
    const float *all = state->unit + begin * d, *block = all + (size_t)first * d;
    float *push = state->push + (begin + (size_t)first) * d;
    double sum = 0;
    for (int32_t from = 0; from < state->batch; from += COLUMNS) {
        int32_t width = state->batch - from < COLUMNS ? state->batch - from : COLUMNS;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, width, dim, 1, block, dim,
                    all + (size_t)from * d, dim, 0, tile, COLUMNS);
        for (int32_t b = 0; b < count; b++) {
            float *row = tile + (size_t)b * COLUMNS;
            int32_t self = first + b - from;
            if (self >= 0 && self < width)
                row[self] = -16; /* e^{-68}: negligible, as the others are at least e^{-8} */
            sum += inmo_kernels()->exponentials(width, 4, 4, row);
            if (self >= 0 && self < width)
                row[self] = 0;
        }
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, count, dim, width, 1, tile, COLUMNS,
                    all + (size_t)from * d, dim, from > 0, push, dim);
    }
    return sum;
}

/* Returns U of a side, and scales push by γ/2 · 8/Σ e to the gradient of γ/2 U with respect to x̂. */
static double uniformity(struct inmo_loss_state *state, int side)
{
    int32_t batch = state->batch, blocks = (batch + ROWS - 1) / ROWS;
    size_t size = (size_t)batch * (size_t)state->dim;
    float *push = state->push + (size_t)side * size;
    double sum = 0, factor;
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
    for (int group = 0; group < GROUPS; group++)
        for (int32_t b = group; b < blocks; b += GROUPS) {
            int32_t first = b * ROWS, left = batch - first;
            state->term[b] = push_block(state, side, first, left < ROWS ? left : ROWS,
                                        state->tile + (size_t)group * ROWS * COLUMNS);
        }
    for (int32_t b = 0; b < blocks; b++)
        sum += state->term[b];
    factor = 4 * state->gamma / sum;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (size_t n = 0; n < size; n++)
        push[n] *= (float)factor;
    return log(sum / ((double)batch * (batch - 1)));
}

/* Turns the gradient g of a place with respect to x̂ into that with respect to x, (g - (g·x̂) x̂) / ‖x‖, plus that
 * of l2. Returns the place's share of the loss: half of its pair's distance, and l2. */
static double finish_place(struct inmo_loss_state *state, int32_t n, const float *x)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int dim = state->dim;
    int32_t batch = state->batch, other = n < batch ? n + batch : n - batch;
    size_t d = (size_t)dim;
    const float *unit = state->unit + (size_t)n * d, *pair = state->unit + (size_t)other * d;
    float *g = state->push + (size_t)n * d;
    double radial;
    kernels->add_scaled(dim, -2 / (float)batch, pair, g);
    radial = kernels->dot(dim, g, unit);
    for (size_t j = 0; j < d; j++)
        g[j] = (float)(state->inverse[n] * (g[j] - radial * unit[j]) + 2 * state->l2 * x[j]);
    return (1 - (double)kernels->dot(dim, unit, pair)) / batch + state->l2 * kernels->dot(dim, x, x);
}

static double directau_judge(struct inmo_loss_state *state, const struct inmo_grouping *grouping, const float *r,
                             float *dr)
{
    int32_t places = 2 * state->batch;
    size_t d = (size_t)state->dim;
    double loss = 0;
    normalise(state, grouping, r);
    memset(state->push, 0, (size_t)places * d * sizeof *state->push);
    inmo_blas_hold();                                                /* the groups run in parallel instead */
    for (int side = USERS; side < SIDES && state->batch > 1; side++) /* with one place there are no pairs */
        loss += 0.5 * state->gamma * uniformity(state, side);
    inmo_blas_release();
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < places; n++)
        state->term[n] = finish_place(state, n, r + (size_t)grouping->row[n] * d);
    for (int32_t n = 0; n < places; n++)
        loss += state->term[n];
    inmo_loss_sum_places(grouping, state->dim, state->push, dr);
    return loss;
}

static void directau_weigh(const struct inmo_loss_state *state, const struct inmo_grouping *grouping, double factor,
                           float *weight)
{
    int32_t batch = state->batch;
    inmo_loss_weigh_places(grouping, state->graph->users, 2 * batch, factor / batch, factor / batch, weight);
}

const struct inmo_loss inmo_loss_directau = {
    .name = "directau",
    .help = "alignment of positives and uniformity of users and of items, without negatives",
    .l2 = INMO_L2_BY_MODEL,
    .places = directau_places,
    .create = directau_create,
    .destroy = directau_destroy,
    .steps_per_epoch = directau_steps,
    .draw = directau_draw,
    .judge = directau_judge,
    .weigh = directau_weigh,
};
