/* vector.c - the other inner loops over floats, written once over vectors of 16 floats and compiled once for each instruction set
 * (src/CMakeLists.txt). */
#include "kernel/vector.h"

#include <math.h>

/* Always added in this order, whatever the vector width. */
static inline float sum16(v16 a)
{
    float part[8];
    for (int j = 0; j < 8; j++)
        part[j] = a[j] + a[j + 8];
    for (int j = 0; j < 4; j++)
        part[j] += part[j + 4];
    return (part[0] + part[2]) + (part[1] + part[3]);
}

static void NAMED(to_half)(int dim, float factor, const float *x, uint32_t *out)
{
    for (int j = 0; j < dim; j += INMO_HALF_BLOCK)
        store_half(out + j / 2, factor * load(x + j), factor * load(x + j + 16));
}

static void NAMED(add_half)(int dim, const uint32_t *x, float *out)
{
    for (int j = 0; j < dim; j += INMO_HALF_BLOCK) {
        u16 words = load_words(x + j / 2);
        store(out + j, load(out + j) + (v16)(words << 16));
        store(out + j + 16, load(out + j + 16) + (v16)(words & 0xffff0000u));
    }
}

static void NAMED(adam)(int64_t count, struct inmo_adam adam, const float *gradient, float *m, float *v,
                        float *parameter)
{
    for (int64_t n = 0; n < count; n++) {
        float g = gradient ? gradient[n] : 0;
        m[n] = 0.9f * m[n] + 0.1f * g;
        v[n] = 0.999f * v[n] + 0.001f * (g * g);
        parameter[n] -= adam.rate * m[n] / (sqrtf(v[n]) * adam.root_bias + 1e-8f);
    }
}

static float NAMED(dot)(int dim, const float *a, const float *b)
{
    v16 acc = {0};
    float rest = 0;
    int j = 0;
    for (; j + 16 <= dim; j += 16)
        acc += load(a + j) * load(b + j);
    for (; j < dim; j++)
        rest += a[j] * b[j];
    return sum16(acc) + rest;
}

static void NAMED(dot_rows)(int64_t count, int dim, const float *query, const float *rows, float *score)
{
    for (int64_t n = 0; n < count; n++) {
        __builtin_prefetch(rows + (n + 8) * dim, 0, 3);
        score[n] = NAMED(dot)(dim, query, rows + n * dim);
    }
}

static void NAMED(add_scaled)(int dim, float factor, const float *x, float *out)
{
    for (int j = 0; j < dim; j++)
        out[j] += factor * x[j];
}

/* e^x = 2^n e^f with n = round(x / ln 2), |f| <= ln 2 / 2, e^f by its series to the 7th power (remainder below 1e-8).
 * Below -87 the result is 0: what is left out is less than the smallest normal float. */
static inline v16 exponential(v16 x)
{
    typedef int32_t i16 __attribute__((vector_size(64)));
    const v16 magic = {0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f,
                       0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f};
    i16 tiny = x < -87.0f, bits;
    v16 clamped = (v16)(((i16)x & ~tiny) | ((i16)(v16){0} & tiny)), shifted, n, f, sum;
    clamped = (v16)(((i16)clamped & ~(clamped > 88.0f)) | ((i16)(magic * 0 + 88.0f) & (clamped > 88.0f)));
    shifted = clamped * 1.44269504f + magic;   /* the integer is in the low bits of the mantissa */
    n = shifted - magic;
    f = clamped - n * 0.693145752f;            /* ln 2 in two parts, so that f keeps its low bits */
    f = f - n * 1.42860677e-6f;
    sum = 1.0f / 5040 + magic * 0;
    sum = sum * f + 1.0f / 720;
    sum = sum * f + 1.0f / 120;
    sum = sum * f + 1.0f / 24;
    sum = sum * f + 1.0f / 6;
    sum = sum * f + 0.5f;
    sum = sum * f + 1.0f;
    sum = sum * f + 1.0f;
    bits = (i16)sum + ((i16)shifted << 23);
    return (v16)(bits & ~tiny);
}

static double NAMED(exponentials)(int32_t count, float factor, float shift, float *x)
{
    v16 total = {0};
    double sum = 0;
    int32_t n = 0;
    for (; n + 16 <= count; n += 16) {
        v16 value = exponential(load(x + n) * factor - shift);
        store(x + n, value);
        total += value;
    }
    sum = (double)sum16(total);
    if (n < count) {
        v16 rest = {0};
        memcpy(&rest, x + n, (size_t)(count - n) * sizeof *x);
        rest = exponential(rest * factor - shift);
        memcpy(x + n, &rest, (size_t)(count - n) * sizeof *x);
        for (int32_t j = n; j < count; j++)
            sum += (double)x[j];
    }
    return sum;
}

static float NAMED(largest)(int32_t count, const float *x)
{
    typedef int32_t i16 __attribute__((vector_size(64)));
    v16 most = (v16){0} - INFINITY;
    float result = -INFINITY;
    int32_t n = 0;
    for (; n + 16 <= count; n += 16) {
        v16 here = load(x + n);
        i16 larger = here > most;
        most = (v16)(((i16)here & larger) | ((i16)most & ~larger));
    }
    for (; n < count; n++)
        result = x[n] > result ? x[n] : result;
    for (int j = 0; j < 16; j++)
        result = most[j] > result ? most[j] : result;
    return result;
}

static int32_t NAMED(above)(int32_t count, const float *score, float bound, int32_t *hit)
{
    typedef int32_t i16 __attribute__((vector_size(64)));
    int32_t hits = 0, n = 0;
    for (; n + 64 <= count; n += 64) {
        /* Almost always none of the 64 qualifies: one test for all of them. */
        i16 any = (load(score + n) > bound) | (load(score + n + 16) > bound) | (load(score + n + 32) > bound) |
                  (load(score + n + 48) > bound);
        int64_t word[8], some = 0;
        memcpy(word, &any, sizeof word);
        for (int j = 0; j < 8; j++)
            some |= word[j];
        if (some)
            for (int32_t j = n; j < n + 64; j++) {
                hit[hits] = j;
                hits += score[j] > bound;
            }
    }
    for (; n < count; n++) {
        hit[hits] = n;
        hits += score[n] > bound;
    }
    return hits;
}

const struct inmo_kernels NAMED(inmo_kernels);
const struct inmo_kernels NAMED(inmo_kernels) = {
    TEXT(INMO_VARIANT),   NAMED(inmo_gather_range), NAMED(adam),  NAMED(dot),
    NAMED(dot_rows),      NAMED(add_scaled),   NAMED(to_half), NAMED(add_half), NAMED(exponentials), NAMED(largest),
    NAMED(inmo_upper_bounds), NAMED(above),
};
