/* triples.c - see triples.h. */
#include "loss/triples.h"

#include "base/threads.h"
#include "kernel/kernel.h"

#include <string.h>

enum { CHUNK = INMO_TRIPLES_CHUNK };

static double sum_of(const double *term, int32_t count)
{
    double sum = 0;
    for (int32_t n = 0; n < count; n++)
        sum += term[n];
    return sum;
}

/* Returns factor ‖x‖² and adds its gradient. */
static double square_norm(const struct inmo_kernels *kernels, int dim, double factor, const float *x,
                          float *gradient)
{
    kernels->add_scaled(dim, (float)(2 * factor), x, gradient);
    return factor * (double)kernels->dot(dim, x, x);
}

double inmo_triples_forward(const struct inmo_triples *triples)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int32_t batch = triples->batch, chunks = (batch + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t chunk = 0; chunk < chunks; chunk++) {
        int32_t b = chunk * CHUNK, count = batch - b < CHUNK ? batch - b : CHUNK;
        float margin[CHUNK];
        kernels->margins(count, triples->dim, triples->x, triples->index + b, triples->index + batch + b,
                         triples->index + 2 * batch + b, triples->w, margin);
        triples->term[chunk] =
            triples->factor * kernels->softplus(count, (float)triples->factor, margin, triples->coefficient + b);
    }
    return sum_of(triples->term, chunks);
}

double inmo_triples_forward_rows(const struct inmo_triples *triples, const struct inmo_grouping *grouping,
                                 int32_t first, int32_t count)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int32_t batch = triples->batch, row[3][CHUNK];
    float margin[CHUNK], coefficient[CHUNK];
    double loss = 0;
    for (int32_t e = grouping->offset[first], end = grouping->offset[first + count]; e < end; e += CHUNK) {
        const int32_t *place = grouping->entry + e;
        int32_t here = end - e < CHUNK ? end - e : CHUNK;
        for (int32_t n = 0; n < here; n++)
            for (int part = 0; part < 3; part++)
                row[part][n] = triples->index[part * batch + place[n]];
        kernels->margins(here, triples->dim, triples->x, row[0], row[1], row[2], triples->w, margin);
        loss += triples->factor * kernels->softplus(here, (float)triples->factor, margin, coefficient);
        for (int32_t n = 0; n < here; n++)
            triples->coefficient[place[n]] = coefficient[n];
    }
    return loss;
}

/* Adds the gradient of at most CHUNK places, all of one row, to sum. */
static void add_entries(const struct inmo_triples *triples, const int32_t *entry, int32_t count, float *sum)
{
    int32_t row[2 * CHUNK], batch = triples->batch, terms = 0;
    float factor[2 * CHUNK];
    for (int32_t e = 0; e < count; e++) {
        int32_t place = entry[e], b = place < batch ? place : place < 2 * batch ? place - batch : place - 2 * batch;
        float c = triples->coefficient[b];
        if (place < batch) { /* c (x_neg - x_pos) */
            row[terms] = triples->index[2 * batch + b];
            factor[terms++] = c;
            row[terms] = triples->index[batch + b];
            factor[terms++] = -c;
        } else {
            row[terms] = triples->index[b];
            factor[terms++] = place < 2 * batch ? -c : c;
        }
    }
    inmo_kernels()->add_rows(triples->dim, terms, factor, row, triples->x, sum);
}

double inmo_triples_backward(const struct inmo_triples *triples, const struct inmo_grouping *grouping,
                             float *gradient)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int32_t count = grouping->rows.count, chunks = (count + CHUNK - 1) / CHUNK;
    size_t dim = (size_t)triples->dim;
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
                add_entries(triples, grouping->entry + e, end - e < CHUNK ? end - e : CHUNK, sum);
            for (size_t j = 0; triples->w && j < dim; j++)
                sum[j] *= triples->w[j];
            if (triples->l2 > 0)
                squares += square_norm(kernels, triples->dim, triples->l2 * (end - begin),
                                       triples->x + (size_t)triples->index[grouping->entry[begin]] * dim, sum);
        }
        triples->term[chunk] = squares;
    }
    return sum_of(triples->term, chunks);
}

/* Where the terms of row n begin. Users come first and have two terms for each place, items one; l2 adds one
 * each. */
static int32_t terms_before(const struct inmo_triples *triples, const struct inmo_grouping *grouping, int32_t n)
{
    int32_t places = grouping->offset[n];
    return places + (places < triples->batch ? places : triples->batch) + (triples->l2 > 0 ? n : 0);
}

struct inmo_terms inmo_triples_terms(const struct inmo_triples *triples, const struct inmo_grouping *grouping,
                                     int32_t first, int32_t count, int32_t *offset)
{
    const float *coefficient = triples->coefficient;
    const int32_t batch = triples->batch, begin = terms_before(triples, grouping, first), *index = triples->index;
    int32_t *row = triples->term_row + begin, found = 0;
    float *factor = triples->term_factor + begin;
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
        if (triples->l2 > 0) {
            row[found] = n;
            factor[found++] = (float)(2 * (triples->l2 * places));
        }
    }
    offset[count] = found;
    return (struct inmo_terms){offset, row, factor, triples->x};
}

double inmo_triples_square_norms(const struct inmo_triples *triples, const struct inmo_grouping *grouping,
                                 int32_t first, int32_t count)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    double sum = 0;
    for (int32_t n = first; triples->l2 > 0 && n < first + count; n++) {
        const float *x = triples->x + (size_t)n * (size_t)triples->dim;
        sum += triples->l2 * (grouping->offset[n + 1] - grouping->offset[n]) *
               (double)kernels->dot(triples->dim, x, x);
    }
    return sum;
}

void inmo_triples_backward_w(const struct inmo_triples *triples, float *partial, float *dw)
{
    int32_t batch = triples->batch, chunks = (batch + CHUNK - 1) / CHUNK;
    size_t dim = (size_t)triples->dim;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t chunk = 0; chunk < chunks; chunk++) {
        float *sum = partial + (size_t)chunk * dim;
        int32_t end = (chunk + 1) * CHUNK < batch ? (chunk + 1) * CHUNK : batch;
        memset(sum, 0, dim * sizeof *sum);
        for (int32_t b = chunk * CHUNK; b < end; b++) {
            const float *row = triples->x + (size_t)triples->index[b] * dim;
            const float *pos = triples->x + (size_t)triples->index[batch + b] * dim;
            const float *neg = triples->x + (size_t)triples->index[2 * batch + b] * dim;
            for (size_t j = 0; j < dim; j++)
                sum[j] += triples->coefficient[b] * row[j] * (neg[j] - pos[j]);
        }
    }
    memset(dw, 0, dim * sizeof *dw);
    for (int32_t chunk = 0; chunk < chunks; chunk++)
        inmo_kernels()->add_scaled(triples->dim, 1, partial + (size_t)chunk * dim, dw);
}
