/* loss.c - see loss.h. */
#include "train/loss.h"

#include "base/memory.h"
#include "base/threads.h"
#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

void inmo_grouping_free(struct inmo_grouping *grouping)
{
    inmo_free(grouping->entry);
    inmo_free(grouping->offset);
    inmo_free(grouping->position);
    inmo_free(grouping->node);
    inmo_free(grouping->seen);
    *grouping = (struct inmo_grouping){0};
}

enum inmo_status inmo_grouping_make(int32_t space, int32_t most, struct inmo_grouping *out, struct inmo_error *error)
{
    struct inmo_grouping grouping = {.space = space, .most = most};
    grouping.seen = inmo_alloc_zero((size_t)space / 64 + 1, sizeof *grouping.seen);
    grouping.node = inmo_alloc((size_t)most, sizeof *grouping.node);
    grouping.position = inmo_alloc((size_t)space, sizeof *grouping.position);
    grouping.offset = inmo_alloc((size_t)most + 1, sizeof *grouping.offset);
    grouping.entry = inmo_alloc((size_t)most, sizeof *grouping.entry);
    if (!grouping.seen || !grouping.node || !grouping.position || !grouping.offset || !grouping.entry) {
        inmo_grouping_free(&grouping);
        return inmo_fail_memory(error, "a batch");
    }
    memset(grouping.position, 0xff, (size_t)space * sizeof *grouping.position);
    grouping.rows = (struct inmo_rows){0, grouping.node, grouping.position};
    *out = grouping;
    return INMO_OK;
}

void inmo_grouping_set(struct inmo_grouping *grouping, const int32_t *number, int32_t count)
{
    int32_t found = 0, words = grouping->space / 64 + 1;
    for (int32_t n = 0; n < grouping->rows.count; n++)
        grouping->position[grouping->node[n]] = -1;
    for (int32_t n = 0; n < count; n++)
        grouping->seen[number[n] / 64] |= UINT64_C(1) << (number[n] % 64);
    for (int32_t word = 0; word < words; word++)
        for (uint64_t bits = grouping->seen[word]; bits; bits &= bits - 1) {
            int32_t v = 64 * word + __builtin_ctzll(bits);
            grouping->position[v] = found;
            grouping->offset[found] = 0;
            grouping->node[found++] = v;
        }
    for (int32_t n = 0; n < found; n++)
        grouping->seen[grouping->node[n] / 64] = 0;
    grouping->offset[found] = 0;
    for (int32_t n = 0; n < count; n++)
        grouping->offset[grouping->position[number[n]]]++;
    for (int32_t n = 0, sum = 0; n <= found; n++) {
        int32_t here = grouping->offset[n];
        grouping->offset[n] = sum;
        sum += here;
    }
    for (int32_t n = 0; n < count; n++)
        grouping->entry[grouping->offset[grouping->position[number[n]]]++] = n;
    /* Filling moved each start to the next one's: move them back. */
    for (int32_t n = found; n > 0; n--)
        grouping->offset[n] = grouping->offset[n - 1];
    grouping->offset[0] = 0;
    grouping->rows.count = found;
}

static const float *row_of(const struct inmo_bpr *bpr, int32_t place)
{
    return bpr->x + (size_t)bpr->index[place] * (size_t)bpr->dim;
}

static double score(const struct inmo_bpr *bpr, const float *a, const float *b)
{
    double sum = 0;
    if (!bpr->w)
        return (double)inmo_kernels()->dot(bpr->dim, a, b);
    for (int j = 0; j < bpr->dim; j++)
        sum += (double)a[j] * bpr->w[j] * b[j];
    return sum;
}

double inmo_bpr_forward(const struct inmo_bpr *bpr)
{
    int32_t batch = bpr->batch;
    double loss = 0;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t b = 0; b < batch; b++) {
        const float *row = row_of(bpr, b), *pos = row_of(bpr, batch + b), *neg = row_of(bpr, 2 * batch + b);
        double margin = score(bpr, row, neg) - score(bpr, row, pos);
        double term = bpr->factor * (fmax(margin, 0) + log1p(exp(-fabs(margin))));
        bpr->coefficient[b] = (float)(bpr->factor / (1 + exp(-margin)));
        if (bpr->l2 > 0)
            for (int j = 0; j < bpr->dim; j++)
                term += bpr->l2 * ((double)row[j] * row[j] + (double)pos[j] * pos[j] + (double)neg[j] * neg[j]);
        bpr->term[b] = term;
    }
    for (int32_t b = 0; b < batch; b++)
        loss += bpr->term[b];
    return loss;
}

/* sum += factor * diag(w) * x */
static void add_weighted(const struct inmo_bpr *bpr, float factor, const float *x, float *sum)
{
    if (!bpr->w) {
        inmo_kernels()->add_scaled(bpr->dim, factor, x, sum);
        return;
    }
    for (int j = 0; j < bpr->dim; j++)
        sum[j] += factor * bpr->w[j] * x[j];
}

void inmo_bpr_backward(const struct inmo_bpr *bpr, const struct inmo_grouping *grouping, int by_number, float *gradient)
{
    int32_t batch = bpr->batch;
    size_t dim = (size_t)bpr->dim;
#pragma omp parallel for schedule(dynamic, 16) num_threads(inmo_threads())
    for (int32_t n = 0; n < grouping->rows.count; n++) {
        float *sum = gradient + (size_t)(by_number ? grouping->rows.node[n] : n) * dim;
        int32_t begin = grouping->offset[n], end = grouping->offset[n + 1];
        if (!by_number)
            memset(sum, 0, dim * sizeof *sum);
        for (int32_t e = begin; e < end; e++) {
            int32_t place = grouping->entry[e], b = place % batch;
            float c = bpr->coefficient[b];
            if (place < batch) {
                add_weighted(bpr, c, row_of(bpr, 2 * batch + b), sum);
                add_weighted(bpr, -c, row_of(bpr, batch + b), sum);
            } else {
                add_weighted(bpr, place < 2 * batch ? -c : c, row_of(bpr, b), sum);
            }
        }
        if (bpr->l2 > 0)
            inmo_kernels()->add_scaled(bpr->dim, (float)(2 * bpr->l2 * (end - begin)),
                                       row_of(bpr, grouping->entry[begin]), sum);
    }
}

void inmo_bpr_backward_w(const struct inmo_bpr *bpr, float *dw)
{
    int32_t batch = bpr->batch;
    /* One row of dim numbers: too little to be worth threads. */
    for (int32_t b = 0; b < batch; b++) {
        const float *row = row_of(bpr, b), *pos = row_of(bpr, batch + b), *neg = row_of(bpr, 2 * batch + b);
        float c = bpr->coefficient[b];
        for (int j = 0; j < bpr->dim; j++)
            dw[j] += c * row[j] * (neg[j] - pos[j]);
    }
}
