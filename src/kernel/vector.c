/* vector.c - the other inner loops over floats, written once and compiled for each instruction set
 * (src/CMakeLists.txt). */
#include "kernel/vector.h"

#include <math.h>

static void NAMED(to_half)(int dim, float factor, const float *x, uint32_t *out)
{
    for (int j = 0; j < dim; j += INMO_HALF_BLOCK)
        EACH(p, PARTS)
    store_half(out + j / 2 + LANES * p, factor * load(x + j + LANES * p), factor * load(x + j + 16 + LANES * p));
}

static void NAMED(add_half)(int dim, const uint32_t *x, float *out)
{
    for (int j = 0; j < dim; j += INMO_HALF_BLOCK)
        EACH(p, PARTS)
        {
            words both = load_words(x + j / 2 + LANES * p);
            float *low = out + j + LANES * p;
            store(low, load(low) + (vec)(both << 16));
            store(low + 16, load(low + 16) + (vec)(both & 0xffff0000u));
        }
}

static float NAMED(dot)(int dim, const float *a, const float *b)
{
    vec acc[PARTS] = {{0}};
    float rest = 0;
    int j = 0;
    for (; j + 16 <= dim; j += 16)
        EACH(p, PARTS)
    acc[p] += load(a + j + LANES * p) * load(b + j + LANES * p);
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

/* e^x = 2^n e^f with n = round(x / ln 2), |f| <= ln 2 / 2, e^f by its series to the 7th power (remainder below
 * 1e-8). Below -87 the result is 0: it would be less than the smallest normal float. */
static inline vec exponential(vec x)
{
    const vec magic = (vec){0} + 0x1.8p23f;
    mask tiny = x < -87.0f, bits;
    vec shifted, n, f, sum;
    x = chosen(tiny, (vec){0}, x);
    x = chosen(x > 88.0f, (vec){0} + 88.0f, x);
    shifted = x * 1.44269504f + magic; /* n is in the low bits of the mantissa */
    n = shifted - magic;
    f = x - n * 0.693145752f; /* ln 2 in two parts keeps the low bits of f */
    f = f - n * 1.42860677e-6f;
    sum = (vec){0} + 1.0f / 5040;
    sum = sum * f + 1.0f / 720;
    sum = sum * f + 1.0f / 120;
    sum = sum * f + 1.0f / 24;
    sum = sum * f + 1.0f / 6;
    sum = sum * f + 0.5f;
    sum = sum * f + 1.0f;
    sum = sum * f + 1.0f;
    bits = (mask)sum + ((mask)shifted << 23);
    return (vec)(bits & ~tiny);
}

static double NAMED(exponentials)(int32_t count, float factor, float shift, float *x)
{
    vec total[PARTS] = {{0}};
    double sum;
    int32_t n = 0;
    for (; n + 16 <= count; n += 16)
        EACH(p, PARTS)
        {
            vec value = exponential(load(x + n + LANES * p) * factor - shift);
            store(x + n + LANES * p, value);
            total[p] += value;
        }
    sum = (double)sum16(total);
    for (; n < count; n++) {
        x[n] = exponential((vec){x[n]} * factor - shift)[0];
        sum += (double)x[n];
    }
    return sum;
}

static float NAMED(largest)(int32_t count, const float *x)
{
    vec most = (vec){0} - INFINITY;
    float result = -INFINITY;
    int32_t n = 0;
    for (; n + LANES <= count; n += LANES) {
        vec here = load(x + n);
        most = chosen(here > most, here, most);
    }
    for (; n < count; n++)
        result = x[n] > result ? x[n] : result;
    for (int j = 0; j < LANES; j++)
        result = most[j] > result ? most[j] : result;
    return result;
}

/* Mask of the kept columns j, j + 1, .. of the row. */
static inline mask kept_columns(const struct inmo_activation *activation, int32_t row, int j)
{
    static const uint32_t first[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    words h;
    if (activation->threshold == 0)
        return ~(mask){0};
    h = (load_words(first) + (uint32_t)j) * (uint32_t)INMO_HASH_ITEM +
        ((uint32_t)row * (uint32_t)INMO_HASH_USER + activation->key);
    h ^= h >> 16; /* inmo_fmix32 */
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    return (mask)(h >= activation->threshold);
}

static inline vec activated(const struct inmo_activation *activation, mask kept, vec x)
{
    return (vec)((mask)(activation->factor * chosen((mask)(x > 0), x, activation->slope * x)) & kept);
}

static inline vec activated_back(const struct inmo_activation *activation, mask kept, vec y, vec g)
{
    const vec up = (vec){0} + activation->factor, down = (vec){0} + activation->factor * activation->slope;
    return (vec)((mask)(g * chosen((mask)(y > 0), up, down)) & kept);
}

static void NAMED(activate)(int dim, const struct inmo_activation *activation, int32_t row, const float *bias,
                            float *x)
{
    int j = 0;
    for (; j + LANES <= dim; j += LANES)
        store(x + j, activated(activation, kept_columns(activation, row, j), load(x + j) + load(bias + j)));
    if (j < dim) {
        size_t rest = (size_t)(dim - j) * sizeof *x;
        vec sum = {0}, more = {0};
        memcpy(&sum, x + j, rest);
        memcpy(&more, bias + j, rest);
        sum = activated(activation, kept_columns(activation, row, j), sum + more);
        memcpy(x + j, &sum, rest);
    }
}

static void NAMED(activate_back)(int dim, const struct inmo_activation *activation, int32_t row, const float *y,
                                 float *g)
{
    int j = 0;
    for (; j + LANES <= dim; j += LANES)
        store(g + j, activated_back(activation, kept_columns(activation, row, j), load(y + j), load(g + j)));
    if (j < dim) {
        size_t rest = (size_t)(dim - j) * sizeof *g;
        vec from = {0}, gradient = {0};
        memcpy(&from, y + j, rest);
        memcpy(&gradient, g + j, rest);
        gradient = activated_back(activation, kept_columns(activation, row, j), from, gradient);
        memcpy(g + j, &gradient, rest);
    }
}

static inline vec leaky(float slope, vec x)
{
    return chosen((mask)(x > 0), x, slope * x);
}

static inline float leaky_one(float slope, float x)
{
    return x > 0 ? x : slope * x;
}

static void NAMED(leaky_sums)(int32_t count, int dim, float slope, const float *a, const float *x,
                              const int32_t *row, float *out)
{
    for (int32_t n = 0; n < count; n++) {
        const float *from = x + (size_t)(row ? row[n] : n) * (size_t)dim;
        float *to = out + (size_t)n * (size_t)dim;
        int j = 0;
        for (; j + LANES <= dim; j += LANES)
            store(to + j, leaky(slope, load(a + j) + load(from + j)));
        for (; j < dim; j++)
            to[j] = leaky_one(slope, a[j] + from[j]);
    }
}

static void NAMED(leaky_dots)(int32_t count, int dim, float slope, const float *bias, const float *w, float *x,
                              float *score)
{
    for (int32_t n = 0; n < count; n++) {
        float *at = x + (size_t)n * (size_t)dim, rest = 0;
        vec acc[PARTS] = {{0}};
        int j = 0;
        for (; j + 16 <= dim; j += 16)
            EACH(p, PARTS)
            {
                int i = j + LANES * p;
                vec y = leaky(slope, load(at + i) + load(bias + i));
                store(at + i, y);
                acc[p] += load(w + i) * y;
            }
        for (; j < dim; j++) {
            at[j] = leaky_one(slope, at[j] + bias[j]);
            rest += w[j] * at[j];
        }
        score[n] += sum16(acc) + rest;
    }
}

static void NAMED(leaky_back)(int32_t count, int dim, float slope, const float *ds, const float *w, const float *y,
                              float *g)
{
    const vec one = (vec){0} + 1, less = (vec){0} + slope;
    for (int32_t n = 0; n < count; n++) {
        const float *from = y + (size_t)n * (size_t)dim;
        float *to = g + (size_t)n * (size_t)dim, factor = w ? ds[n] : 1;
        const float *of = w ? w : to;
        int j = 0;
        for (; j + LANES <= dim; j += LANES)
            store(to + j, factor * load(of + j) * chosen((mask)(load(from + j) > 0), one, less));
        for (; j < dim; j++)
            to[j] = factor * of[j] * (from[j] > 0 ? 1 : slope);
    }
}

static int32_t NAMED(above)(int32_t count, const float *score, float bound, int32_t *hit)
{
    int32_t hits = 0, n = 0;
    for (; n + 64 <= count; n += 64) {
        /* Usually none of the 64 qualifies: one test for all of them. */
        mask any = {0};
        int64_t word[LANES / 2], some = 0;
        EACH(p, 64 / LANES)
        any |= load(score + n + LANES * p) > bound;
        memcpy(word, &any, sizeof word);
        EACH(j, LANES / 2)
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
    .name = TEXT(INMO_VARIANT),
    .gather_range = NAMED(inmo_gather_range),
    .adam = NAMED(inmo_adam),
    .adam_read = NAMED(inmo_adam_read),
    .adam_write = NAMED(inmo_adam_write),
    .adam_write_sums = NAMED(inmo_adam_write_sums),
    .adam_catch_up = NAMED(inmo_adam_catch_up),
    .add_rows = NAMED(inmo_add_rows),
    .margins = NAMED(inmo_margins),
    .softplus = NAMED(inmo_softplus),
    .dot = NAMED(dot),
    .dot_rows = NAMED(dot_rows),
    .add_scaled = NAMED(add_scaled),
    .to_half = NAMED(to_half),
    .add_half = NAMED(add_half),
    .exponentials = NAMED(exponentials),
    .activate = NAMED(activate),
    .activate_back = NAMED(activate_back),
    .leaky_sums = NAMED(leaky_sums),
    .leaky_dots = NAMED(leaky_dots),
    .leaky_back = NAMED(leaky_back),
    .largest = NAMED(largest),
    .upper_bounds = NAMED(inmo_upper_bounds),
    .upper_bounds_of = NAMED(inmo_upper_bounds_of),
    .above = NAMED(above),
    .probes = &NAMED(inmo_probes),
};
