/* bpr.c - see bpr.h. */
#include "loss/bpr.h"

#include "base/threads.h"
#include "kernel/kernel.h"

#include <string.h>

enum { CHUNK = INMO_BPR_CHUNK };

static double sum_of(const double *term, int32_t count)
{
    double sum = 0;
    for (int32_t n = 0; n < count; n++)
        sum += term[n];
    return sum;
}

/* factor ‖x‖², its gradient added. */
static double square_norm(const struct inmo_kernels *kernels, int dim, double factor, const float *x,
                          float *gradient)
{
    kernels->add_scaled(dim, (float)(2 * factor), x, gradient);
    return factor * (double)kernels->dot(dim, x, x);
}

double inmo_bpr_forward(const struct inmo_bpr *bpr)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int32_t batch = bpr->batch, chunks = (batch + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t chunk = 0; chunk < chunks; chunk++) {
        int32_t b = chunk * CHUNK, count = batch - b < CHUNK ? batch - b : CHUNK;
        float margin[CHUNK];
        kernels->margins(count, bpr->dim, bpr->x, bpr->index + b, bpr->index + batch + b,
                         bpr->index + 2 * batch + b, bpr->w, margin);
        bpr->term[chunk] = bpr->factor * kernels->softplus(count, (float)bpr->factor, margin, bpr->coefficient + b);
    }
    return sum_of(bpr->term, chunks);
}

double inmo_bpr_forward_rows(const struct inmo_bpr *bpr, const struct inmo_grouping *grouping, int32_t first,
                             int32_t count)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int32_t batch = bpr->batch, row[3][CHUNK];
    float margin[CHUNK], coefficient[CHUNK];
    double loss = 0;
    for (int32_t e = grouping->offset[first], end = grouping->offset[first + count]; e < end; e += CHUNK) {
        const int32_t *place = grouping->entry + e;
        int32_t here = end - e < CHUNK ? end - e : CHUNK;
        for (int32_t n = 0; n < here; n++)
            for (int part = 0; part < 3; part++)
                row[part][n] = bpr->index[part * batch + place[n]];
        kernels->margins(here, bpr->dim, bpr->x, row[0], row[1], row[2], bpr->w, margin);
        loss += bpr->factor * kernels->softplus(here, (float)bpr->factor, margin, coefficient);
        for (int32_t n = 0; n < here; n++)
            bpr->coefficient[place[n]] = coefficient[n];
    }
    return loss;
}

/* sum += what the entries begin .. begin + count - 1 say about their row; count is at most CHUNK. */
static void add_entries(const struct inmo_bpr *bpr, const int32_t *entry, int32_t count, float *sum)
{
    int32_t row[2 * CHUNK], batch = bpr->batch, terms = 0;
    float factor[2 * CHUNK];
    for (int32_t e = 0; e < count; e++) {
        int32_t place = entry[e], b = place < batch ? place : place < 2 * batch ? place - batch : place - 2 * batch;
        float c = bpr->coefficient[b];
        if (place < batch) { /* c (x_neg - x_pos) */
            row[terms] = bpr->index[2 * batch + b];
            factor[terms++] = c;
            row[terms] = bpr->index[batch + b];
            factor[terms++] = -c;
        } else {
            row[terms] = bpr->index[b];
            factor[terms++] = place < 2 * batch ? -c : c;
        }
    }
    inmo_kernels()->add_rows(bpr->dim, terms, factor, row, bpr->x, sum);
}

double inmo_bpr_backward(const struct inmo_bpr *bpr, const struct inmo_grouping *grouping, float *gradient)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int32_t count = grouping->rows.count, chunks = (count + CHUNK - 1) / CHUNK;
    size_t dim = (size_t)bpr->dim;
#pragma omp parallel for schedule(static, 1) num_threads(inmo_threads())
    for (int32_t chunk = 0; chunk < chunks; chunk++) {
        int32_t last = (chunk + 1) * CHUNK < count ? (chunk + 1) * CHUNK : count;
        double squares = 0;
        memset(gradient + (size_t)(chunk * CHUNK) * dim, 0,
               (size_t)(last - chunk * CHUNK) * dim * sizeof *gradient);
        for (int32_t n = chunk * CHUNK; n < last; n++) {
            float *sum = gradient + (size_t)n * dim;
            int32_t begin = grouping->offset[n], end = grouping->offset[n + 1];
            for (int32_t e = begin; e < end; e += CHUNK)
                add_entries(bpr, grouping->entry + e, end - e < CHUNK ? end - e : CHUNK, sum);
            for (size_t j = 0; bpr->w && j < dim; j++)
                sum[j] *= bpr->w[j];
            if (bpr->l2 > 0)
                squares += square_norm(kernels, bpr->dim, bpr->l2 * (end - begin),
                                       bpr->x + (size_t)bpr->index[grouping->entry[begin]] * dim, sum);
        }
        bpr->term[chunk] = squares;
    }
    return sum_of(bpr->term, chunks);
}

/* Where the terms of row n begin: users come first and have two for each place, items one; and one for l2. */
static int32_t terms_before(const struct inmo_bpr *bpr, const struct inmo_grouping *grouping, int32_t n)
{
    int32_t places = grouping->offset[n];
    return places + (places < bpr->batch ? places : bpr->batch) + (bpr->l2 > 0 ? n : 0);
}

struct inmo_terms inmo_bpr_terms(const struct inmo_bpr *bpr, const struct inmo_grouping *grouping, int32_t first,
                                 int32_t count, int32_t *offset)
{
    const float *coefficient = bpr->coefficient;
    const int32_t batch = bpr->batch, begin = terms_before(bpr, grouping, first), *index = bpr->index;
    int32_t *row = bpr->term_row + begin, found = 0;
    float *factor = bpr->term_factor + begin;
    for (int32_t n = first; n < first + count; n++) {
        const int32_t *place = grouping->entry + grouping->offset[n];
        int32_t places = grouping->offset[n + 1] - grouping->offset[n];
        int is_user = place[0] < batch;
        offset[n - first] = found;
        for (int32_t e = 0; is_user && e < places; e++) { /* c (x_neg - x_pos) */
            row[found] = index[2 * batch + place[e]];
            factor[found++] = coefficient[place[e]];
            row[found] = index[batch + place[e]];
            factor[found++] = -coefficient[place[e]];
        }
        for (int32_t e = 0; !is_user && e < places; e++) { /* ±c x_user */
            int positive = place[e] < 2 * batch;
            int32_t b = place[e] - (positive ? batch : 2 * batch);
            row[found] = index[b];
            factor[found++] = positive ? -coefficient[b] : coefficient[b];
        }
        if (bpr->l2 > 0) {
            row[found] = n;
            factor[found++] = (float)(2 * (bpr->l2 * places));
        }
    }
    offset[count] = found;
    return (struct inmo_terms){offset, row, factor, bpr->x};
}

double inmo_bpr_square_norms(const struct inmo_bpr *bpr, const struct inmo_grouping *grouping, int32_t first,
                             int32_t count)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    double sum = 0;
    for (int32_t n = first; bpr->l2 > 0 && n < first + count; n++) {
        const float *x = bpr->x + (size_t)n * (size_t)bpr->dim;
        sum += bpr->l2 * (grouping->offset[n + 1] - grouping->offset[n]) * (double)kernels->dot(bpr->dim, x, x);
    }
    return sum;
}

void inmo_bpr_backward_w(const struct inmo_bpr *bpr, float *partial, float *dw)
{
    int32_t batch = bpr->batch, chunks = (batch + CHUNK - 1) / CHUNK;
    size_t dim = (size_t)bpr->dim;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t chunk = 0; chunk < chunks; chunk++) {
        float *sum = partial + (size_t)chunk * dim;
        int32_t end = (chunk + 1) * CHUNK < batch ? (chunk + 1) * CHUNK : batch;
        memset(sum, 0, dim * sizeof *sum);
        for (int32_t b = chunk * CHUNK; b < end; b++) {
            const float *row = bpr->x + (size_t)bpr->index[b] * dim;
            const float *pos = bpr->x + (size_t)bpr->index[batch + b] * dim;
            const float *neg = bpr->x + (size_t)bpr->index[2 * batch + b] * dim;
            for (size_t j = 0; j < dim; j++)
                sum[j] += bpr->coefficient[b] * row[j] * (neg[j] - pos[j]);
        }
    }
    memset(dw, 0, dim * sizeof *dw);
    for (int32_t chunk = 0; chunk < chunks; chunk++)
        inmo_kernels()->add_scaled(bpr->dim, 1, partial + (size_t)chunk * dim, dw);
}

double inmo_square_norms(const struct inmo_norms *norms, const struct inmo_grouping *grouping, int by_node,
                         const float *x, float *gradient, double *term)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int32_t count = grouping->rows.count, chunks = (count + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static, 1) num_threads(inmo_threads())
    for (int32_t chunk = 0; chunk < chunks; chunk++) {
        int32_t end = (chunk + 1) * CHUNK < count ? (chunk + 1) * CHUNK : count;
        double sum = 0;
        for (int32_t n = chunk * CHUNK; n < end; n++) {
            int32_t v = grouping->rows.node[n], places = grouping->offset[n + 1] - grouping->offset[n];
            size_t at = (size_t)(by_node ? v : n) * (size_t)norms->dim + (size_t)norms->columns.first;
            double l2 = v < norms->users ? norms->user_l2 : norms->item_l2;
            sum += square_norm(kernels, norms->columns.count, l2 * places, x + at, gradient + at);
        }
        term[chunk] = sum;
    }
    return sum_of(term, chunks);
}

/* BCE: ds = -factor σ(-s) of a positive, factor σ(s) of a negative. BPR: ∓factor σ(s_neg - s_pos) of the two. */
double inmo_pair_loss(const void *context, int32_t first, int32_t positives, const float *score, float *ds)
{
    const struct inmo_pair_loss *loss = context;
    const struct inmo_kernels *kernels = inmo_kernels();
    int32_t each = loss->negatives + 1, pairs = positives * each, margins = loss->is_bce ? pairs : positives;
    double sum = 0;
    (void)first;
    for (int32_t begin = 0; begin < margins; begin += CHUNK) {
        int32_t count = margins - begin < CHUNK ? margins - begin : CHUNK;
        float margin[CHUNK], coefficient[CHUNK];
        for (int32_t n = 0; n < count; n++) {
            int32_t at = begin + n;
            margin[n] = !loss->is_bce ? score[2 * at + 1] - score[2 * at] : at % each ? score[at] : -score[at];
        }
        sum += kernels->softplus(count, (float)loss->factor, margin, coefficient);
        for (int32_t n = 0; n < count; n++) {
            int32_t at = begin + n;
            if (loss->is_bce) {
                ds[at] = at % each ? coefficient[n] : -coefficient[n];
            } else {
                ds[2 * at] = -coefficient[n];
                ds[2 * at + 1] = coefficient[n];
            }
        }
    }
    return loss->factor * sum;
}
