/* attention.c - see attention.h. Cost for N queries and n keys over all heads: 4 N n d flops forward and 6 N n d
 * backward, in block products, and N n exponentials. */
#include "model/provider/attention.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "kernel/kernel.h"

#include <cblas.h>
#include <string.h>

/* Shares below this (the largest is 1) vanish in any float sum. Queries are long vectors, so most shares are that
 * small. Multiplied by a gradient they would become denormal, which processors multiply a hundred times more
 * slowly. */
static const float LEAST_SHARE = 1e-20f;

enum { GROUPS = 16, BLOCK = 256 }; /* BLOCK rows: shares and their gradient stay in a core's cache */

static size_t most_keys(int dim)
{
    return (size_t)INMO_HEADS * INMO_SAMPLE * (size_t)dim;
}

int inmo_attention_make(int dim, int for_training, struct inmo_attention *out)
{
    struct inmo_attention made = {.dim = dim};
    size_t size = most_keys(dim);
    made.key = inmo_alloc(size, sizeof(float));
    made.matched = inmo_alloc(size, sizeof(float));
    made.valued = inmo_alloc(size, sizeof(float));
    made.match = inmo_alloc(size, sizeof(float));
    made.value = inmo_alloc(size, sizeof(float));
    made.offset = inmo_alloc(INMO_HEADS * INMO_SAMPLE, sizeof(float));
    made.space = inmo_alloc((size_t)GROUPS * BLOCK * INMO_HEADS * INMO_SAMPLE, sizeof(float));
    made.sum = for_training ? inmo_alloc(GROUPS * 2 * size, sizeof(float)) : NULL;
    made.offset_sum = for_training ? inmo_alloc(GROUPS * INMO_HEADS * INMO_SAMPLE, sizeof(float)) : NULL;
    made.key_gradient = for_training ? inmo_alloc(2 * size, sizeof(float)) : NULL;
    if (!made.key || !made.matched || !made.valued || !made.match || !made.value || !made.offset || !made.space ||
        (for_training && (!made.sum || !made.offset_sum || !made.key_gradient))) {
        inmo_attention_free(&made);
        return -1;
    }
    *out = made;
    return 0;
}

void inmo_attention_free(struct inmo_attention *attention)
{
    inmo_free(attention->key_gradient);
    inmo_free(attention->offset_sum);
    inmo_free(attention->sum);
    inmo_free(attention->space);
    inmo_free(attention->offset);
    inmo_free(attention->value);
    inmo_free(attention->match);
    inmo_free(attention->valued);
    inmo_free(attention->matched);
    inmo_free(attention->key);
    *attention = (struct inmo_attention){0};
}

int32_t inmo_attention_draw(uint64_t key, int32_t count, int repeats, int32_t *drawn)
{
    int32_t found = 0;
    for (; repeats && count > 0 && found < INMO_SAMPLE; found++)
        drawn[found] = (int32_t)inmo_random_below(inmo_random(key, (uint64_t)found), (uint32_t)count);
    if (repeats)
        return found;
    for (; count <= INMO_SAMPLE && found < count; found++)
        drawn[found] = found;
    for (uint64_t c = 0; count > INMO_SAMPLE && found < INMO_SAMPLE; c++) {
        int32_t number = (int32_t)inmo_random_below(inmo_random(key, c), (uint32_t)count), n = 0;
        while (n < found && drawn[n] != number)
            n++;
        if (n == found)
            drawn[found++] = number;
    }
    return found;
}

/* out = a b, or a b' */
static void times(int32_t rows, int dim, const float *a, enum CBLAS_TRANSPOSE turned, const float *b, float *out)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, turned, rows, dim, dim, 1, a, dim, b, dim, 0, out, dim);
}

/* Adds factor b to each row of x. */
static void add_to_rows(int32_t rows, int dim, float factor, const float *b, float *x)
{
    for (int32_t n = 0; n < rows; n++)
        inmo_kernels()->add_scaled(dim, factor, b, x + (size_t)n * (size_t)dim);
}

void inmo_attention_prepare(struct inmo_attention *attention)
{
    int dim = attention->dim;
    size_t of_kind = inmo_attention_weight_size(dim), square = (size_t)dim * (size_t)dim;
    size_t of_head = (size_t)attention->keys * (size_t)dim;
    inmo_blas_hold(); /* parallel over heads instead */
#pragma omp parallel for schedule(static, 1) num_threads(inmo_threads())
    for (int h = 0; h < INMO_HEADS; h++) {
        const float *w = attention->weights + (size_t)h * square, *key = attention->key + (size_t)h * of_head;
        float *matched = attention->matched + (size_t)h * of_head,
              *valued = attention->valued + (size_t)h * of_head;
        times(attention->keys, dim, key, CblasTrans, w + INMO_WK * of_kind, matched);
        times(attention->keys, dim, matched, CblasNoTrans, w + INMO_WQ * of_kind,
              attention->match + (size_t)h * of_head);
        times(attention->keys, dim, key, CblasTrans, w + INMO_WV * of_kind, valued);
        add_to_rows(attention->keys, dim, 1, inmo_attention_bias(attention->weights, dim, INMO_BV + h), valued);
        times(attention->keys, dim, valued, CblasTrans, w + INMO_WOUT * of_kind,
              attention->value + (size_t)h * of_head);
        add_to_rows(attention->keys, dim, 1.0f / INMO_HEADS,
                    inmo_attention_bias(attention->weights, dim, INMO_BOUT),
                    attention->value + (size_t)h * of_head);
        inmo_kernels()->dot_rows(attention->keys, dim, inmo_attention_bias(attention->weights, dim, INMO_BQ + h),
                                 matched, attention->offset + h * attention->keys);
    }
    inmo_blas_release();
}

/* Softmax of the scores of one head plus offset, in place. */
static void softmax(int32_t keys, const float *offset, float *score)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    float inverse;
    for (int32_t j = 0; j < keys; j++)
        score[j] += offset[j];
    inverse = (float)(1 / kernels->exponentials(keys, 1, kernels->largest(keys, score), score));
    for (int32_t j = 0; j < keys; j++)
        score[j] = score[j] > LEAST_SHARE ? inverse * score[j] : 0;
}

void inmo_attention_forward(const struct inmo_attention *attention, int32_t count, const float *query, float *share,
                            float *e)
{
    int dim = attention->dim, all = INMO_HEADS * attention->keys;
    int32_t blocks = (count + BLOCK - 1) / BLOCK;
    if (all == 0) { /* no keys: e = 0 */
        memset(e, 0, (size_t)count * (size_t)dim * sizeof *e);
        return;
    }
    inmo_blas_hold(); /* parallel over groups instead */
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
    for (int group = 0; group < GROUPS; group++)
        for (int32_t b = group; b < blocks; b += GROUPS) {
            int32_t first = b * BLOCK, rows = count - first < BLOCK ? count - first : BLOCK;
            float *a =
                share ? share + (size_t)first * (size_t)all : attention->space + (size_t)(group * BLOCK * all);
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, all, dim, 1,
                        query + (size_t)first * (size_t)dim, dim, attention->match, dim, 0, a, all);
            for (int32_t n = 0; n < rows * INMO_HEADS; n++)
                softmax(attention->keys, attention->offset + n % INMO_HEADS * attention->keys,
                        a + (size_t)n * (size_t)attention->keys);
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, dim, all, 1, a, all, attention->value, dim,
                        0, e + (size_t)first * (size_t)dim, dim);
        }
    inmo_blas_release();
}

/* Backward of the softmax of one head: da = V de becomes the gradient of the scores, a (da - a · da). */
static void softmax_back(int32_t keys, const float *a, float *da)
{
    float mean = inmo_kernels()->dot(keys, a, da);
    for (int32_t j = 0; j < keys; j++)
        da[j] = a[j] * (da[j] - mean);
}

/* Gradient of the weights of a head from its dM, dc and dV. */
static void head_gradient(const struct inmo_attention *attention, int h, const float *dmatch, const float *dvalue,
                          double l2, float *gradient)
{
    int dim = attention->dim;
    int32_t keys = attention->keys;
    size_t of_kind = inmo_attention_weight_size(dim), square = (size_t)dim * (size_t)dim;
    size_t of_head = (size_t)keys * (size_t)dim, at = (size_t)h * of_head;
    const float *w = attention->weights + (size_t)h * square, *key = attention->key + at;
    float *dw = gradient + (size_t)h * square, *dkey = attention->key_gradient + at;
    float *db = gradient + INMO_ATTENTION_WEIGHTS * of_kind; /* each head has its rows; bout's come later */
    static const enum inmo_attention_weight regularised[] = {INMO_WQ, INMO_WK};
#define OUTER(a, b, kind)                                                                                          \
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, dim, dim, keys, 1, a, dim, b, dim, 0,                     \
                dw + (kind)*of_kind, dim)
    /* V = (K Wv') Wout' */
    OUTER(dvalue + at, attention->valued + at, INMO_WOUT);
    times(keys, dim, dvalue + at, CblasNoTrans, w + INMO_WOUT * of_kind, dkey);
    OUTER(dkey, key, INMO_WV);
    for (int32_t n = 0; n < keys && attention->learns_biases; n++)
        inmo_kernels()->add_scaled(dim, 1, dkey + (size_t)n * (size_t)dim,
                                   db + (size_t)(INMO_BV + h) * (size_t)dim);
    /* M = (K Wk') Wq */
    OUTER(attention->matched + at, dmatch + at, INMO_WQ);
    times(keys, dim, dmatch + at, CblasTrans, w + INMO_WQ * of_kind, dkey);
    for (int32_t n = 0; n < keys && attention->learns_biases; n++) {
        float dc = attention->offset_sum[h * keys + n];
        inmo_kernels()->add_scaled(dim, dc, inmo_attention_bias(attention->weights, dim, INMO_BQ + h),
                                   dkey + (size_t)n * (size_t)dim);
        inmo_kernels()->add_scaled(dim, dc, attention->matched + at + (size_t)n * (size_t)dim,
                                   db + (size_t)(INMO_BQ + h) * (size_t)dim);
    }
    OUTER(dkey, key, INMO_WK);
#undef OUTER
    for (int n = 0; n < 2 && l2 > 0; n++)
        for (size_t j = regularised[n] * of_kind; j < regularised[n] * of_kind + square; j++)
            dw[j] += (float)(2 * l2) * w[j];
}

void inmo_attention_backward(const struct inmo_attention *attention, int32_t count, const float *query,
                             const float *share, const float *de, double l2, float *gradient)
{
    int dim = attention->dim, all = INMO_HEADS * attention->keys;
    int32_t blocks = (count + BLOCK - 1) / BLOCK;
    size_t size = (size_t)all * (size_t)dim;
    float *db = gradient + INMO_ATTENTION_WEIGHTS * inmo_attention_weight_size(dim);
    memset(db, 0, INMO_ATTENTION_BIASES * (size_t)dim * sizeof *db);
    inmo_blas_hold();
#pragma omp parallel num_threads(inmo_threads())
    {
#pragma omp for schedule(dynamic)
        for (int group = 0; group < GROUPS; group++) {
            float *dmatch = attention->sum + (size_t)group * 2 * size, *dvalue = dmatch + size;
            float *da = attention->space + (size_t)(group * BLOCK * all);
            float *doffset = attention->offset_sum + (size_t)(group * all);
            memset(dmatch, 0, 2 * size * sizeof *dmatch);
            memset(doffset, 0, (size_t)all * sizeof *doffset);
            for (int32_t b = group; b < blocks; b += GROUPS) {
                int32_t first = b * BLOCK, rows = count - first < BLOCK ? count - first : BLOCK;
                const float *a = share + (size_t)first * (size_t)all, *g = de + (size_t)first * (size_t)dim;
                cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, all, dim, rows, 1, a, all, g, dim, 1, dvalue,
                            dim);
                cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, all, dim, 1, g, dim, attention->value,
                            dim, 0, da, all);
                for (int32_t n = 0; n < rows * INMO_HEADS; n++)
                    softmax_back(attention->keys, a + (size_t)n * (size_t)attention->keys,
                                 da + (size_t)n * (size_t)attention->keys);
                for (int32_t n = 0; n < rows && attention->learns_biases; n++)
                    inmo_kernels()->add_scaled(all, 1, da + (size_t)n * (size_t)all, doffset);
                cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, all, dim, rows, 1, da, all,
                            query + (size_t)first * (size_t)dim, dim, 1, dmatch, dim);
            }
        }
        /* adds the groups in order */
#pragma omp for schedule(static)
        for (int n = 0; n < 2 * all; n++)
            for (size_t group = 1; group < GROUPS; group++)
                inmo_kernels()->add_scaled(dim, 1, attention->sum + group * 2 * size + (size_t)n * (size_t)dim,
                                           attention->sum + (size_t)n * (size_t)dim);
#pragma omp single
        for (size_t group = 1; group < GROUPS; group++)
            inmo_kernels()->add_scaled(all, 1, attention->offset_sum + group * (size_t)all, attention->offset_sum);
#pragma omp for schedule(static, 1)
        for (int h = 0; h < INMO_HEADS; h++)
            head_gradient(attention, h, attention->sum, attention->sum + size, l2, gradient);
    }
    /* every row of V has its share of bout */
    for (int n = 0; n < all && attention->learns_biases; n++)
        inmo_kernels()->add_scaled(dim, 1.0f / INMO_HEADS, attention->sum + size + (size_t)n * (size_t)dim,
                                   db + (size_t)INMO_BOUT * (size_t)dim);
    inmo_blas_release();
}

void inmo_attention_one(int dim, int32_t keys, const float *match, const float *value, const float *offset,
                        float *e)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    float share[INMO_HEADS * INMO_SAMPLE];
    kernels->dot_rows(INMO_HEADS * keys, dim, e, match, share);
    for (int h = 0; h < INMO_HEADS; h++)
        softmax(keys, offset + h * keys, share + h * keys);
    memset(e, 0, (size_t)dim * sizeof *e);
    for (int32_t n = 0; n < INMO_HEADS * keys; n++)
        kernels->add_scaled(dim, share[n], value + (size_t)n * (size_t)dim, e);
}
