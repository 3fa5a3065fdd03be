/* neumf.c - see neumf.h: a training step over the pairs of a batch.
 *
 *     1  halves of the first layer, by rows
 *     2  pairs, some positives at a time: both layers, scores, loss, and back to the first layer's sums;
 *        dW2 on the way
 *     3  rows: the pairs' parts added up, dr, dW1
 *
 * Between 1 and 3 a pair needs d numbers in memory; everything else stays in a core's cache. All products are
 * single-threaded and of fixed size; sums over pairs and over rows are kept in GROUPS parts and added in order, so
 * the bytes are the same at any number of threads. */
#include "model/head/neumf.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "model/head/pairs.h"

#include <cblas.h>
#include <string.h>

enum { GROUPS = 8, PAIRS = 320, ROWS = 256 }; /* approximate sizes of blocks */
enum { STAGE_GMF, STAGE_MLP, WHOLE };

struct inmo_head_state {
    int width;
    int32_t positives, block; /* of a block: positives, and pairs */
    size_t own_size;
    float *half, *dhalf;  // (most rows, d) first layer's sums by rows, and their gradient
    float *dx1;           // (pairs, d) gradient of the first layer's sums
    float *ds;            // (pairs)
    float *one;           // (PAIRS or more) 1
    float *space;         // (GROUPS, 3 block + 1, d) layers of a block of pairs
    int32_t *item;        // (GROUPS, block) rows
    float *own;           // (GROUPS, own_size) gradients; the first is their sum in the end
    double *loss;         // (GROUPS)
};

int inmo_neumf_part(int width, int n, struct inmo_part *part)
{
    static const char *const name[] = {"W1", "b1", "W2", "b2", "gmf", "mlp"};
    int h = width / 3, d = width - h;
    if (n >= INMO_NEUMF_PARTS)
        return 0;
    *part = (struct inmo_part){.rows = n == INMO_NEUMF_W1 || n == INMO_NEUMF_W2 ? d : 1,
                               .columns = n == INMO_NEUMF_W1 ? 2 * h : d,
                               .is_vector = n != INMO_NEUMF_W1 && n != INMO_NEUMF_W2};
    memcpy(part->name, "neumf.", 6);
    strcpy(part->name + 6, name[n]);
    return 1;
}

struct inmo_neumf inmo_neumf_of(int width, const float *own)
{
    struct inmo_neumf net = {.width = width, .d = width - width / 3, .h = width / 3};
    struct inmo_part part;
    for (int n = 0; own && inmo_neumf_part(width, n, &part); n++) {
        net.part[n] = (float *)own;
        own += inmo_part_size(&part, 0);
    }
    return net;
}

static int neumf_embedding(int dim)
{
    return dim < 2 ? 3 : dim + dim / 2;
}

/* Kaiming uniform, biases 0, output weights 1. */
static void neumf_start(int width, uint64_t key, float *own)
{
    struct inmo_part part;
    uint64_t n = 0;
    for (int p = 0; inmo_neumf_part(width, p, &part); p++)
        for (uint64_t end = n + (uint64_t)inmo_part_size(&part, 0); n < end; n++)
            own[n] = p == INMO_NEUMF_GMF || p == INMO_NEUMF_MLP ? 1
                     : part.is_vector                           ? 0
                                      : (float)inmo_random_symmetric(key, n, inmo_kaiming_bound(part.columns));
}

static struct inmo_columns neumf_trains(int width, int stage)
{
    struct inmo_neumf net = inmo_neumf_of(width, NULL);
    return stage == STAGE_GMF   ? (struct inmo_columns){0, net.d}
           : stage == STAGE_MLP ? (struct inmo_columns){net.d, net.h}
                                : (struct inmo_columns){0, width};
}

/* A part without output weights adds nothing. */
static void neumf_keep_stage(int width, int stage, float *own)
{
    struct inmo_neumf net = inmo_neumf_of(width, own);
    if (stage != WHOLE)
        memset(net.part[stage == STAGE_GMF ? INMO_NEUMF_MLP : INMO_NEUMF_GMF], 0, (size_t)net.d * sizeof *own);
}

static void neumf_destroy(struct inmo_head_state *state)
{
    if (!state)
        return;
    inmo_free(state->loss);
    inmo_free(state->own);
    inmo_free(state->item);
    inmo_free(state->space);
    inmo_free(state->one);
    inmo_free(state->ds);
    inmo_free(state->dx1);
    inmo_free(state->dhalf);
    inmo_free(state->half);
    inmo_free(state);
}

static struct inmo_head_state *neumf_create(int width, int32_t batch, int32_t negatives)
{
    struct inmo_head_state *state = inmo_alloc_zero(1, sizeof *state);
    size_t d = (size_t)inmo_neumf_of(width, NULL).d, pairs = (size_t)batch * ((size_t)negatives + 1);
    size_t rows = pairs + (size_t)batch, block;
    if (!state)
        return NULL;
    state->width = width;
    state->positives = PAIRS / (negatives + 1) > 0 ? PAIRS / (negatives + 1) : 1;
    state->block = state->positives * (negatives + 1);
    block = (size_t)state->block;
    /* plus a row of zeros, which pads the rows of the block */
    state->own_size = ((size_t)inmo_head_rows(&inmo_head_neumf, width, width) + 1) * (size_t)width;
    state->half = inmo_alloc(rows * d, sizeof *state->half);
    state->dhalf = inmo_alloc(rows * d, sizeof *state->dhalf);
    state->dx1 = inmo_alloc(pairs * d, sizeof *state->dx1);
    state->ds = inmo_alloc(pairs, sizeof *state->ds);
    state->one = inmo_alloc(block > ROWS ? block : ROWS, sizeof *state->one);
    state->space = inmo_alloc(GROUPS * (3 * block + 1) * d, sizeof *state->space);
    state->item = inmo_alloc(GROUPS * block, sizeof *state->item);
    state->own = inmo_alloc(GROUPS * state->own_size, sizeof *state->own);
    state->loss = inmo_alloc(GROUPS, sizeof *state->loss);
    if (!state->half || !state->dhalf || !state->dx1 || !state->ds || !state->one || !state->space ||
        !state->item || !state->own || !state->loss) {
        neumf_destroy(state);
        return NULL;
    }
    for (size_t n = 0; n < (block > ROWS ? block : ROWS); n++)
        state->one[n] = 1;
    return state;
}

/* out += Σ_n factor[n] x[n] */
static void add_weighted(int32_t count, int d, const float *factor, const float *x, float *out)
{
    cblas_sgemv(CblasRowMajor, CblasTrans, count, d, 1, x, d, factor, 1, 1, out, 1);
}

/* Scores of the pairs of some positives; with MLP, leaves x1 and x2. */
static void score_block(const struct inmo_head_state *state, const struct inmo_neumf *net, int stage,
                        const struct inmo_pairs *pairs, int32_t first, int32_t positives, const int32_t *item,
                        float *x1, float *x2, float *weighted, float *score)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    const float *gmf = net->part[INMO_NEUMF_GMF];
    int32_t each = pairs->negatives + 1, count = positives * each;
    size_t d = (size_t)net->d, width = (size_t)net->width;
    for (int32_t b = 0; b < positives; b++) {
        size_t user = (size_t)pairs->row[first + b];
        const int32_t *mine = item + b * each;
        for (size_t j = 0; j < d; j++)
            weighted[j] = gmf[j] * pairs->r[user * width + j];
        for (int32_t k = 0; k < each; k++)
            score[b * each + k] =
                stage == STAGE_MLP ? 0 : kernels->dot(net->d, weighted, pairs->r + (size_t)mine[k] * width);
        if (stage != STAGE_GMF)
            kernels->leaky_sums(each, net->d, inmo_neumf_slope, state->half + user * d, state->half, mine,
                                x1 + (size_t)(b * each) * d);
    }
    if (stage == STAGE_GMF)
        return;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, net->d, net->d, 1, x1, net->d,
                net->part[INMO_NEUMF_W2], net->d, 0, x2, net->d);
    kernels->leaky_dots(count, net->d, inmo_neumf_slope, net->part[INMO_NEUMF_B2], net->part[INMO_NEUMF_MLP], x2,
                        score);
}

/* Adds the gradients of l2 ‖o_mlp ⊙ x2‖² of each pair and returns their sum. */
static double add_mlp_norms(const struct inmo_neumf *net, const struct inmo_neumf *gradient, double l2,
                            int32_t count, const float *x2, float *dx2)
{
    const float *mlp = net->part[INMO_NEUMF_MLP];
    float *dmlp = gradient->part[INMO_NEUMF_MLP];
    size_t d = (size_t)net->d;
    double sum = 0;
    for (int32_t n = 0; n < count; n++, x2 += d, dx2 += d)
        for (size_t j = 0; j < d; j++) {
            float weighted = mlp[j] * x2[j], slope = (float)(2 * l2) * weighted;
            dmlp[j] += slope * x2[j];
            dx2[j] += slope * mlp[j] * (x2[j] > 0 ? 1 : inmo_neumf_slope);
            sum += (double)(weighted * weighted);
        }
    return l2 * sum;
}

/* Backward from ds to the first layer's sums, with the gradients of the layers above. Returns what l2 adds to the
 * loss. */
static double back_block(const struct inmo_neumf *net, const struct inmo_neumf *gradient, const float *one,
                         double l2, int32_t count, const float *x1, const float *x2, const float *ds, float *dx2,
                         float *dx1)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int d = net->d;
    double loss = 0;
    add_weighted(count, d, ds, x2, gradient->part[INMO_NEUMF_MLP]);
    kernels->leaky_back(count, d, inmo_neumf_slope, ds, net->part[INMO_NEUMF_MLP], x2, dx2);
    if (l2 > 0)
        loss = add_mlp_norms(net, gradient, l2, count, x2, dx2);
    add_weighted(count, d, one, dx2, gradient->part[INMO_NEUMF_B2]);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, d, d, count, 1, dx2, d, x1, d, 1,
                gradient->part[INMO_NEUMF_W2], d);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, count, d, d, 1, dx2, d, net->part[INMO_NEUMF_W2], d, 0,
                dx1, d);
    kernels->leaky_back(count, d, inmo_neumf_slope, NULL, NULL, x1, dx1);
    return loss;
}

static void run_pairs(struct inmo_head_state *state, const struct inmo_neumf *net, int stage,
                      const struct inmo_pairs *pairs, int group)
{
    struct inmo_neumf gradient = inmo_neumf_of(state->width, state->own + (size_t)group * state->own_size);
    int32_t each = pairs->negatives + 1, *item = state->item + (size_t)group * (size_t)state->block;
    int32_t blocks = (pairs->batch + state->positives - 1) / state->positives;
    size_t d = (size_t)net->d, layer = (size_t)state->block * d;
    float *x1 = state->space + (size_t)group * (3 * layer + d), *x2 = x1 + layer, *dx2 = x2 + layer;
    double loss = 0;
    for (int64_t block = (int64_t)blocks * group / GROUPS; block < (int64_t)blocks * (group + 1) / GROUPS;
         block++) {
        int32_t first = (int32_t)block * state->positives, left = pairs->batch - first;
        int32_t positives = left < state->positives ? left : state->positives;
        float *ds = state->ds + (size_t)first * (size_t)each;
        for (int32_t b = 0; b < positives; b++)
            for (int32_t j = 0; j < each; j++)
                item[b * each + j] = pairs->row[inmo_pair_item(pairs, first + b, j)];
        score_block(state, net, stage, pairs, first, positives, item, x1, x2, dx2 + layer, ds);
        loss += pairs->judge(pairs->context, first, positives, ds, ds);
        if (stage != STAGE_GMF)
            loss += back_block(net, &gradient, state->one, pairs->l2, positives * each, x1, x2, ds, dx2,
                               state->dx1 + (size_t)first * (size_t)each * d);
    }
    state->loss[group] = loss;
}

/* For one row: t = Σ ds r_other + 2 l2 o_gmf ⊙ p ⊙ Σ r_other² gives dp = o_gmf ⊙ t and, for users, do_gmf += p ⊙ t;
 * dhalf = Σ dx1. square (d) is scratch. Returns what l2 ‖o_gmf ⊙ p_u ⊙ p_i‖² adds to the loss, counted with
 * users. */
static double add_pairs(struct inmo_head_state *state, const struct inmo_neumf *net,
                        const struct inmo_neumf *gradient, int stage, const struct inmo_pairs *pairs, int32_t n,
                        float *square, float *dr)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    const float *gmf = net->part[INMO_NEUMF_GMF], *r = pairs->r + (size_t)n * (size_t)net->width;
    float *dgmf = gradient->part[INMO_NEUMF_GMF], factor[INMO_PAIR_WALK];
    float *dhalf = state->dhalf + (size_t)n * (size_t)net->d;
    int32_t pair[INMO_PAIR_WALK], other[INMO_PAIR_WALK], count;
    struct inmo_pair_walk walk = inmo_pair_walk(pairs, n);
    double sum = 0;
    memset(square, 0, (size_t)net->d * sizeof *square);
    memset(dr, 0, (size_t)net->width * sizeof *dr);
    memset(dhalf, 0, (size_t)net->d * sizeof *dhalf);
    while ((count = inmo_pair_walk_on(&walk, pair, other)) > 0) {
        for (int32_t k = 0; k < count; k++)
            factor[k] = state->ds[pair[k]];
        if (stage != STAGE_MLP)
            kernels->add_rows(net->width, count, factor, other, pairs->r, dr);
        for (int32_t k = 0; k < count && pairs->l2 > 0 && stage != STAGE_MLP; k++) {
            const float *x = pairs->r + (size_t)other[k] * (size_t)net->width;
            for (int j = 0; j < net->d; j++)
                square[j] += x[j] * x[j];
        }
        if (stage != STAGE_GMF)
            kernels->add_rows(net->d, count, state->one, pair, state->dx1, dhalf);
    }
    for (int j = 0; j < net->d && stage != STAGE_MLP; j++) {
        float weighted = gmf[j] * r[j];
        dr[j] += (float)(2 * pairs->l2) * weighted * square[j];
        if (n < pairs->user_rows) {
            dgmf[j] += r[j] * dr[j];
            sum += (double)(weighted * weighted * square[j]);
        }
        dr[j] *= gmf[j];
    }
    for (int j = net->d; j < net->width && stage == STAGE_GMF; j++)
        dr[j] = 0;
    return pairs->l2 * sum;
}

/* da = dhalf W1half, dW1half += dhalf' a, and for users db1 += Σ dhalf. */
static void back_rows(struct inmo_head_state *state, const struct inmo_neumf *net,
                      const struct inmo_neumf *gradient, int of_items, const float *r, int32_t first, int32_t count,
                      float *dr)
{
    const float *dhalf = state->dhalf + (size_t)first * (size_t)net->d;
    size_t at = (size_t)first * (size_t)net->width + (size_t)net->d;
    int d = net->d, h = net->h, half = of_items ? h : 0;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, count, h, d, 1, dhalf, d,
                net->part[INMO_NEUMF_W1] + half, 2 * h, 0, dr + at, net->width);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, d, h, count, 1, dhalf, d, r + at, net->width, 1,
                gradient->part[INMO_NEUMF_W1] + half, 2 * h);
    if (!of_items)
        add_weighted(count, d, state->one, dhalf, gradient->part[INMO_NEUMF_B1]);
}

/* Block n of the rows: ROWS users or ROWS items. */
struct row_block {
    int of_items;
    int32_t first, count;
};

static int32_t row_blocks(const struct inmo_pairs *pairs)
{
    return (pairs->user_rows + ROWS - 1) / ROWS + (pairs->rows - pairs->user_rows + ROWS - 1) / ROWS;
}

static struct row_block row_block_at(const struct inmo_pairs *pairs, int32_t n)
{
    int32_t of_users = (pairs->user_rows + ROWS - 1) / ROWS;
    struct row_block block = {n >= of_users, n < of_users ? n * ROWS : pairs->user_rows + (n - of_users) * ROWS,
                              ROWS};
    int32_t left = (block.of_items ? pairs->rows : pairs->user_rows) - block.first;
    block.count = left < ROWS ? left : ROWS;
    return block;
}

static double neumf_run(struct inmo_head_state *state, const float *own, int stage, const struct inmo_pairs *pairs,
                        float *dr)
{
    struct inmo_neumf net = inmo_neumf_of(state->width, own);
    size_t d = (size_t)net.d, width = (size_t)net.width;
    int32_t blocks = row_blocks(pairs);
    int threads = inmo_threads();
    double loss = 0;
    inmo_blas_hold(); /* parallel over blocks instead */
    memset(state->own, 0, GROUPS * state->own_size * sizeof *state->own);
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static)
        for (int32_t n = 0; n < blocks; n++) {
            struct row_block block = row_block_at(pairs, n);
            if (stage != STAGE_GMF)
                inmo_neumf_half(&net, block.of_items, pairs->r + (size_t)block.first * width, block.count,
                                state->half + (size_t)block.first * d);
        }
#pragma omp for schedule(dynamic)
        for (int group = 0; group < GROUPS; group++)
            run_pairs(state, &net, stage, pairs, group);
#pragma omp for schedule(dynamic)
        for (int group = 0; group < GROUPS; group++) {
            struct inmo_neumf gradient = inmo_neumf_of(state->width, state->own + (size_t)group * state->own_size);
            float *square = state->space + (size_t)group * (3 * (size_t)state->block + 1) * d;
            for (int32_t n = group; n < blocks; n += GROUPS) {
                struct row_block block = row_block_at(pairs, n);
                for (int32_t row = block.first; row < block.first + block.count; row++)
                    state->loss[group] +=
                        add_pairs(state, &net, &gradient, stage, pairs, row, square, dr + (size_t)row * width);
                if (stage != STAGE_GMF)
                    back_rows(state, &net, &gradient, block.of_items, pairs->r, block.first, block.count, dr);
            }
        }
    }
    inmo_blas_release();
    for (int group = 0; group < GROUPS; group++) {
        loss += state->loss[group];
        for (size_t n = 0; group > 0 && n < state->own_size; n++)
            state->own[n] += state->own[(size_t)group * state->own_size + n];
    }
    return loss;
}

static const float *neumf_own_gradient(const struct inmo_head_state *state)
{
    return state->own;
}

const struct inmo_head inmo_head_neumf = {
    .name = "neumf",
    .stages = 2,
    .pair_norms = 1,
    .embedding = neumf_embedding,
    .part = inmo_neumf_part,
    .start = neumf_start,
    .trains = neumf_trains,
    .keep_stage = neumf_keep_stage,
    .create = neumf_create,
    .destroy = neumf_destroy,
    .run = neumf_run,
    .own_gradient = neumf_own_gradient,
    .open = inmo_neumf_open,
    .close = inmo_neumf_close,
    .score = inmo_neumf_score,
    .scratch_bytes = inmo_neumf_scratch_bytes,
    .users = INMO_NEUMF_USERS,
    .pair = inmo_neumf_pair,
};
