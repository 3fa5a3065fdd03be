/* head.c - code shared by all heads, and the dot product as a head. */
#include "model/head.h"

#include "base/memory.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "model/head/pairs.h"

#include <string.h>

int inmo_head_embedding(const struct inmo_head *head, int dim)
{
    return head && head->embedding ? head->embedding(dim) : dim;
}

int64_t inmo_part_size(const struct inmo_part *part, int dim)
{
    return (int64_t)part->rows * (part->columns > 0 ? part->columns : dim);
}

int32_t inmo_head_rows(const struct inmo_head *head, int width, int dim)
{
    struct inmo_part part;
    int64_t size = 0;
    for (int n = 0; head && head->part && head->part(width, n, &part); n++)
        size += inmo_part_size(&part, dim);
    return (int32_t)((size + dim - 1) / dim);
}

/* ---- The dot product ------------------------------------------------------------------------------------- */

struct inmo_head_state {
    int width;
    float *ds;     // (pairs)
    double *term;  // (batch)
};

static void dot_destroy(struct inmo_head_state *state)
{
    if (!state)
        return;
    inmo_free(state->term);
    inmo_free(state->ds);
    inmo_free(state);
}

static struct inmo_head_state *dot_create(int width, int32_t batch, int32_t negatives)
{
    struct inmo_head_state *state = inmo_alloc_zero(1, sizeof *state);
    if (!state)
        return NULL;
    state->width = width;
    state->ds = inmo_alloc((size_t)batch * ((size_t)negatives + 1), sizeof *state->ds);
    state->term = inmo_alloc((size_t)batch, sizeof *state->term);
    if (!state->ds || !state->term) {
        dot_destroy(state);
        return NULL;
    }
    return state;
}

/* Turns the scores of one positive's pairs into their derivatives. Returns the loss. */
static double judge_positive(const struct inmo_head_state *state, const struct inmo_pairs *pairs, int32_t b)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    size_t width = (size_t)state->width;
    int32_t each = pairs->negatives + 1;
    float *ds = state->ds + (size_t)b * (size_t)each;
    for (int32_t j = 0; j < each; j++)
        ds[j] = kernels->dot(state->width, pairs->r + (size_t)pairs->row[b] * width,
                             pairs->r + (size_t)pairs->row[inmo_pair_item(pairs, b, j)] * width);
    return pairs->judge(pairs->context, b, 1, ds, ds);
}

static double dot_run(struct inmo_head_state *state, const float *own, int stage, const struct inmo_pairs *pairs,
                      float *dr)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    size_t width = (size_t)state->width;
    double loss = 0;
    (void)own;
    (void)stage;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t b = 0; b < pairs->batch; b++)
        state->term[b] = judge_positive(state, pairs, b);
    for (int32_t b = 0; b < pairs->batch; b++)
        loss += state->term[b];
#pragma omp parallel for schedule(dynamic, 16) num_threads(inmo_threads())
    for (int32_t n = 0; n < pairs->rows; n++) {
        struct inmo_pair_walk walk = inmo_pair_walk(pairs, n);
        float *sum = memset(dr + (size_t)n * width, 0, width * sizeof *dr), factor[INMO_PAIR_WALK];
        int32_t pair[INMO_PAIR_WALK], other[INMO_PAIR_WALK], count;
        while ((count = inmo_pair_walk_on(&walk, pair, other)) > 0) {
            for (int32_t k = 0; k < count; k++)
                factor[k] = state->ds[pair[k]];
            kernels->add_rows(state->width, count, factor, other, pairs->r, sum);
        }
    }
    return loss;
}

static double dot_pair(int width, const float *own, const float *user, const float *item)
{
    double sum = 0;
    (void)own;
    for (int j = 0; j < width; j++)
        sum += (double)user[j] * item[j];
    return sum;
}

const struct inmo_head inmo_head_dot = {
    .name = "dot",
    .create = dot_create,
    .destroy = dot_destroy,
    .run = dot_run,
    .pair = dot_pair,
};
