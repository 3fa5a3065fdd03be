/* training.c - the inner loops of a training step, written once and compiled for each instruction set, like
 * vector.c. Same bytes at every vector width: sums are added in a fixed order, without contraction. */
#include "kernel/vector.h"

#include <math.h>

typedef double d8 __attribute__((vector_size(64), aligned(8)));
typedef float f8 __attribute__((vector_size(32), aligned(4)));
typedef int64_t l8 __attribute__((vector_size(64), aligned(8)));

/* 1 / x for normal x > 0, to 2 units in the last place: an initial guess from the bits, then three Newton steps.
 * The divider is busy with the square roots; this is twice as fast. */
static inline float reciprocal(float x)
{
    uint32_t bits;
    float y;
    memcpy(&bits, &x, sizeof bits);
    bits = 0x7ef311c7u - bits;
    memcpy(&y, &bits, sizeof y);
    y = y * (2 - x * y);
    y = y * (2 - x * y);
    return y * (2 - x * y);
}

/* One Adam step from `from`. The moments first decay for the missed steps (decay_m, decay_root). docs/math.md,
 * "Adam". */
static inline void step(int64_t count, struct inmo_adam adam, float decay_m, float decay_root,
                        const float *restrict gradient, const float *from, float *restrict m, float *restrict root,
                        float *parameter)
{
#pragma GCC ivdep
    for (int64_t n = 0; n < count; n++) {
        float g = gradient[n], old = decay_root * root[n];
        m[n] = 0.9f * (decay_m * m[n]) + 0.1f * g;
        root[n] = sqrtf(0.999f * (old * old) + 0.001f * (g * g));
        parameter[n] = from[n] - adam.rate * m[n] * reciprocal(root[n] * adam.root_bias + 1e-8f);
    }
}

/* The parameter after the missed steps. */
static inline float after(struct inmo_pause p, float m, float root, float parameter)
{
    float centre = root * p.centre, inverse = reciprocal(centre + 1e-8f), x = centre * inverse;
    return parameter - p.weight * m * inverse * (1 + x * x * (p.second + p.third * x));
}

void NAMED(inmo_adam)(int64_t count, struct inmo_adam adam, const float *gradient, float *m, float *root,
                      float *parameter)
{
    step(count, adam, 1, 1, gradient, parameter, m, root, parameter);
}

/* The rows of a batch are scattered. While row n of count is computed, the lines of a much later row are prefetched
 * into L2, which allows more outstanding lines than L1. When the last row is done, all rows of `next` have been
 * requested. Must be inlined: GCC 12 treats a function that only prefetches as one without effect and removes the
 * call. */
__attribute__((always_inline)) static inline void fetch_ahead(const struct inmo_block *block,
                                                              struct inmo_chunk next, int32_t n, int32_t count)
{
    for (int32_t k = n, end = n + 1 < count ? n + 1 : next.count; k < end && k < next.count; k++)
        for (int64_t at = (int64_t)next.row[k] * block->dim, stop = at + block->dim; at < stop; at += 16) {
            __builtin_prefetch(block->parameter + at, 0, 2);
            __builtin_prefetch(block->m + at, 0, 2);
            __builtin_prefetch(block->root + at, 0, 2);
        }
}

void NAMED(inmo_adam_read)(int32_t count, const struct inmo_block *block, const int32_t *row,
                           const struct inmo_pause *pause, struct inmo_chunk next, float *out)
{
    int dim = block->dim;
    for (int32_t n = 0; n < count; n++) {
        int64_t at = (int64_t)row[n] * dim;
        const float *m = block->m + at, *root = block->root + at, *parameter = block->parameter + at;
        float *restrict to = out + (int64_t)n * dim;
        fetch_ahead(block, next, n, count);
        for (int j = 0; j < dim; j++)
            to[j] = after(pause[n], m[j], root[j], parameter[j]);
    }
}

void NAMED(inmo_adam_write)(int32_t count, const struct inmo_block *block, const int32_t *row,
                            const struct inmo_pause *pause, struct inmo_chunk next, struct inmo_adam adam,
                            const float *from, const float *gradient)
{
    int dim = block->dim;
    for (int32_t n = 0; n < count; n++) {
        int64_t at = (int64_t)row[n] * dim, packed = (int64_t)n * dim;
        fetch_ahead(block, next, n, count);
        step(dim, adam, pause[n].decay_m, pause[n].decay_root, gradient + packed, from + packed, block->m + at,
             block->root + at, block->parameter + at);
    }
}

void NAMED(inmo_adam_catch_up)(int32_t count, const struct inmo_block *block, const int32_t *row,
                               const struct inmo_pause *pause)
{
    int dim = block->dim;
    for (int32_t n = 0; n < count; n++) {
        int64_t at = (int64_t)row[n] * dim;
        float *restrict m = block->m + at, *restrict root = block->root + at;
        float *restrict parameter = block->parameter + at;
        for (int j = 0; j < dim; j++) {
            parameter[j] = after(pause[n], m[j], root[j], parameter[j]);
            m[j] *= pause[n].decay_m;
            root[j] *= pause[n].decay_root;
        }
    }
}

/* Prefetches all lines of a row. */
__attribute__((always_inline)) static inline void fetch_row(const float *row, int dim)
{
    for (int j = 0; j < dim; j += 16)
        __builtin_prefetch(row + j);
}

enum { VECTORS = LANES == 4 ? 8 : 4, BLOCK = VECTORS * LANES }; /* numbers of a row held in registers */
enum { TERMS_AHEAD = 6 };

/* out = Σ_k factor[k] x[row[k]], for at most BLOCK numbers from j on. */
static inline void sum_terms(const struct inmo_terms *terms, int32_t begin, int32_t end, int dim, int j, float *out)
{
    if (j + BLOCK <= dim) {
        vec sum[VECTORS] = {{0}};
        for (int32_t k = begin; k < end; k++) {
            const float *from = terms->x + (int64_t)terms->row[k] * dim + j;
            EACH(p, VECTORS)
            sum[p] += terms->factor[k] * load(from + LANES * p);
        }
        EACH(p, VECTORS)
        store(out + LANES * p, sum[p]);
        return;
    }
    memset(out, 0, (size_t)(dim - j) * sizeof *out);
    for (int32_t k = begin; k < end; k++)
        for (int i = j; i < dim; i++)
            out[i - j] += terms->factor[k] * terms->x[(int64_t)terms->row[k] * dim + i];
}

void NAMED(inmo_adam_write_sums)(int32_t count, const struct inmo_block *block, const int32_t *row,
                                 const struct inmo_pause *pause, struct inmo_chunk next, struct inmo_adam adam,
                                 const float *from, const struct inmo_terms *gradient)
{
    int dim = block->dim;
    int32_t asked = 0, last = gradient->offset[count];
    for (int32_t n = 0; n < count; n++) {
        int64_t at = (int64_t)row[n] * dim, packed = (int64_t)n * dim;
        int32_t begin = gradient->offset[n], end = gradient->offset[n + 1];
        fetch_ahead(block, next, n, count);
        for (; asked < end + TERMS_AHEAD && asked < last; asked++)
            fetch_row(gradient->x + (int64_t)gradient->row[asked] * dim, dim);
        for (int j = 0; j < dim; j += BLOCK) {
            float sum[BLOCK];
            sum_terms(gradient, begin, end, dim, j, sum);
            if (j + BLOCK <= dim) /* loop length known at compile time */
                step(BLOCK, adam, pause[n].decay_m, pause[n].decay_root, sum, from + packed + j, block->m + at + j,
                     block->root + at + j, block->parameter + at + j);
            else
                step(dim - j, adam, pause[n].decay_m, pause[n].decay_root, sum, from + packed + j,
                     block->m + at + j, block->root + at + j, block->parameter + at + j);
        }
    }
}

/* BLOCK numbers of the sum in registers, over all terms. */
void NAMED(inmo_add_rows)(int dim, int32_t count, const float *factor, const int32_t *row, const float *x,
                          float *out)
{
    int j = 0;
    for (; j + BLOCK <= dim; j += BLOCK) {
        vec sum[VECTORS];
        EACH(p, VECTORS)
        sum[p] = load(out + j + LANES * p);
        for (int32_t n = 0; n < count; n++) {
            const float *from = x + (int64_t)row[n] * dim + j;
            EACH(p, VECTORS)
            sum[p] += factor[n] * load(from + LANES * p);
        }
        EACH(p, VECTORS)
        store(out + j + LANES * p, sum[p]);
    }
    for (int32_t n = 0; n < count && j < dim; n++) {
        const float *from = x + (int64_t)row[n] * dim;
        for (int k = j; k < dim; k++)
            out[k] += factor[n] * from[k];
    }
}

void NAMED(inmo_margins)(int32_t count, int dim, const float *x, const int32_t *row, const int32_t *positive,
                         const int32_t *negative, const float *w, float *margin)
{
    for (int32_t b = 0; b < count; b++) {
        const float *u = x + (int64_t)row[b] * dim, *pos = x + (int64_t)positive[b] * dim;
        const float *neg = x + (int64_t)negative[b] * dim;
        vec sum[PARTS] = {{0}};
        float rest = 0;
        int j = 0;
        if (b + TERMS_AHEAD < count) {
            fetch_row(x + (int64_t)positive[b + TERMS_AHEAD] * dim, dim);
            fetch_row(x + (int64_t)negative[b + TERMS_AHEAD] * dim, dim);
        }
        for (; j + 16 <= dim; j += 16)
            EACH(p, PARTS)
            {
                int at = j + LANES * p;
                vec term = load(u + at) * (load(neg + at) - load(pos + at));
                sum[p] += w ? load(w + at) * term : term;
            }
        for (; j < dim; j++)
            rest += (w ? w[j] : 1) * (u[j] * (neg[j] - pos[j]));
        margin[b] = sum16(sum) + rest;
    }
}

/* e^-a for a >= 0: a = -(n ln 2 + f), a polynomial of f, and n added to the exponent. */
static inline d8 decay(d8 a)
{
    const d8 magic = (d8){0} + 0x1.8p52;
    const l8 far = a > 700; /* smaller results are clamped to e^-700, about 1e-304 */
    d8 x = -(d8)(((l8)a & ~far) | ((l8)((d8){0} + 700) & far));
    d8 shifted = x * 1.4426950408889634 + magic, n = shifted - magic;
    d8 f = (x - n * 0x1.62e42fefa0000p-1) - n * 0x1.cf79abc9e3b39p-40, sum;
    sum = f * (1.0 / 3628800) + 1.0 / 362880;
    sum = sum * f + 1.0 / 40320;
    sum = sum * f + 1.0 / 5040;
    sum = sum * f + 1.0 / 720;
    sum = sum * f + 1.0 / 120;
    sum = sum * f + 1.0 / 24;
    sum = sum * f + 1.0 / 6;
    sum = sum * f + 0.5;
    sum = sum * f + 1;
    sum = sum * f + 1;
    return (d8)((l8)sum + ((l8)shifted << 52));
}

/* ln(1 + z) for 0 <= z <= 1: 2 artanh(s), s = z / (2 + z) <= 1/3, by its series. */
static inline d8 log_of_one_plus(d8 z)
{
    d8 s = z / (2 + z), t = s * s, sum = (d8){0} + 1.0 / 19;
    for (int n = 17; n > 0; n -= 2)
        sum = sum * t + 1.0 / n;
    return 2 * s * sum;
}

double NAMED(inmo_softplus)(int32_t count, float factor, const float *margin, float *coefficient)
{
    d8 total = {0};
    double part[8], sum = 0;
    for (int32_t first = 0; first < count; first += 8) {
        int32_t here = count - first < 8 ? count - first : 8;
        f8 in = {0}, out;
        d8 x, z, share, term;
        l8 positive;
        memcpy(&in, margin + first, here == 8 ? sizeof in : (size_t)here * sizeof *margin);
        x = __builtin_convertvector(in, d8);
        positive = x > 0;
        z = decay((d8)((l8)x & INT64_MAX));
        share = (d8)(((l8)((d8){0} + 1) & positive) | ((l8)z & ~positive)) / (1 + z);
        term = (d8)((l8)x & positive) + log_of_one_plus(z);
        out = factor * __builtin_convertvector(share, f8);
        memcpy(coefficient + first, &out, here == 8 ? sizeof out : (size_t)here * sizeof *margin);
        for (int32_t j = here; j < 8; j++)
            term[j] = 0;
        total += term;
    }
    memcpy(part, &total, sizeof part);
    for (int j = 0; j < 8; j++)
        sum += part[j];
    return sum;
}
