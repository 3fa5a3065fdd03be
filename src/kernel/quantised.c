/* quantised.c - see quantised.h. */
#include "kernel/quantised.h"

#include "base/memory.h"
#include "base/threads.h"
#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 16, GROUP = 4, QUERY_MOST = 63, QUERY_OFFSET = 64, ROW_MOST = 127 };

void inmo_quantised_free(struct inmo_quantised *quantised)
{
    if (!quantised)
        return;
    inmo_free(quantised->sum);
    inmo_free(quantised->length);
    inmo_free(quantised->left_out);
    inmo_free(quantised->scale);
    inmo_free(quantised->code);
    inmo_free(quantised);
}

static int64_t block_count(const struct inmo_quantised *quantised)
{
    return (quantised->rows + BLOCK - 1) / BLOCK;
}

static float largest_size(const float *x, int dim)
{
    float most = 0;
    for (int j = 0; j < dim; j++)
        most = fmaxf(most, fabsf(x[j]));
    return most;
}

static void store_row(struct inmo_quantised *quantised, int64_t n)
{
    int dim = quantised->dim;
    const float *x = quantised->exact + n * dim;
    int8_t *code = quantised->code + n / BLOCK * quantised->groups * BLOCK * GROUP + n % BLOCK * GROUP;
    float most = largest_size(x, dim), scale = most / ROW_MOST;
    double left_out = 0, length = 0;
    int32_t sum = 0;
    for (int j = 0; j < dim; j++) {
        int c = scale > 0 ? (int)lrintf(x[j] / scale) : 0;
        code[j / GROUP * BLOCK * GROUP + j % GROUP] = (int8_t)c;
        sum += c;
        left_out += pow((double)x[j] - (double)scale * c, 2);
        length += pow((double)scale * c, 2);
    }
    quantised->scale[n] = scale;
    quantised->left_out[n] = (float)sqrt(left_out);
    quantised->length[n] = (float)sqrt(length);
    quantised->sum[n] = sum;
}

enum inmo_status inmo_quantised_make(const float *rows, int64_t count, int dim, struct inmo_quantised **out,
                                     struct inmo_error *error)
{
    struct inmo_quantised *made = inmo_alloc_zero(1, sizeof *made);
    size_t padded;
    if (!made)
        return inmo_fail_memory(error, "the quantised rows");
    made->rows = count;
    made->dim = dim;
    made->groups = (dim + GROUP - 1) / GROUP;
    made->exact = rows;
    padded = (size_t)block_count(made) * BLOCK;
    made->code = inmo_alloc_zero(padded * (size_t)made->groups * GROUP, 1);
    made->scale = inmo_alloc_zero(padded, sizeof(float));
    made->left_out = inmo_alloc_zero(padded, sizeof(float));
    made->length = inmo_alloc_zero(padded, sizeof(float));
    made->sum = inmo_alloc_zero(padded, sizeof(int32_t));
    if (!made->code || !made->scale || !made->left_out || !made->length || !made->sum) {
        inmo_quantised_free(made);
        return inmo_fail_memory(error, "the quantised rows");
    }
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int64_t n = 0; n < count; n++)
        store_row(made, n);
    *out = made;
    return INMO_OK;
}

/* The query in bytes 1 .. 127, 64 for zero; returns its scale, and the length of what is left out. */
static float store_query(const struct inmo_quantised *quantised, const float *query, uint8_t *code, double *left_out)
{
    float most = largest_size(query, quantised->dim), scale = most / QUERY_MOST;
    double sum = 0;
    memset(code, QUERY_OFFSET, (size_t)quantised->groups * GROUP);
    for (int j = 0; j < quantised->dim; j++) {
        int c = scale > 0 ? (int)lrintf(query[j] / scale) : 0;
        code[j] = (uint8_t)(c + QUERY_OFFSET);
        sum += pow((double)query[j] - (double)scale * c, 2);
    }
    *left_out = sqrt(sum);
    return scale;
}

/* Bounds of every row: low and high, both -inf for closed ones. product holds b·c + 64 Σc. */
static void bound_rows(const struct inmo_quantised *quantised, const int32_t *product, const uint8_t *closed,
                       float scale, float length, float left_out, float *low, float *high)
{
    /* Scores in float carry rounding of their own, far below this share of the lengths' product. */
    const float slack = 1e-5f;
    for (int64_t n = 0; n < quantised->rows; n++) {
        float about = scale * quantised->scale[n] * (float)(product[n] - QUERY_OFFSET * quantised->sum[n]);
        float margin = length * (quantised->left_out[n] + slack * (quantised->length[n] + quantised->left_out[n])) +
                       left_out * quantised->length[n];
        low[n] = about - margin;
        high[n] = about + margin;
    }
    for (int64_t n = 0; closed && n < quantised->rows; n++)
        if (closed[n])
            low[n] = high[n] = -INFINITY;
}

enum inmo_status inmo_quantised_top(const struct inmo_quantised *quantised, const float *query, const uint8_t *closed,
                                    struct inmo_top *top, int64_t *scored, struct inmo_error *error)
{
    enum { TILE = 1024 };
    const struct inmo_kernels *kernels = inmo_kernels();
    enum inmo_status status = INMO_OK;
    size_t padded = (size_t)block_count(quantised) * BLOCK;
    uint8_t *code = inmo_alloc((size_t)quantised->groups * GROUP, 1);
    int32_t *product = inmo_alloc(padded, sizeof *product), hit[TILE];
    float *low = inmo_alloc(padded, sizeof *low), *high = inmo_alloc(padded, sizeof *high);
    int64_t count = 0;
    double left_out;
    float scale, bound;
    if (!code || !product || !low || !high) {
        status = inmo_fail_memory(error, "the recommendations");
        goto done;
    }
    scale = store_query(quantised, query, code, &left_out);
    kernels->quantised(block_count(quantised), quantised->groups, code, quantised->code, product);
    bound_rows(quantised, product, closed, scale, sqrtf(kernels->dot(quantised->dim, query, query)) * (1 + 1e-6f),
               (float)left_out * (1 + 1e-6f), low, high);
    for (int64_t begin = 0; begin < quantised->rows && top->k > 0; begin += TILE) {
        int32_t tile = quantised->rows - begin < TILE ? (int32_t)(quantised->rows - begin) : TILE;
        int32_t hits = kernels->above(tile, low + begin, inmo_top_bound(top), hit);
        for (int32_t h = 0; h < hits; h++)
            inmo_top_add(top, low[begin + hit[h]], (int32_t)begin + hit[h]);
    }
    bound = inmo_top_bound(top);
    top->count = 0;
    for (int64_t begin = 0; begin < quantised->rows && top->k > 0; begin += TILE) {
        int32_t tile = quantised->rows - begin < TILE ? (int32_t)(quantised->rows - begin) : TILE;
        /* "above" is strict, so the bound steps down by the least there is */
        int32_t hits = kernels->above(tile, high + begin, nextafterf(bound, -INFINITY), hit);
        for (int32_t h = 0; h < hits; h++) {
            int64_t n = begin + hit[h];
            inmo_top_add(top, kernels->dot(quantised->dim, query, quantised->exact + n * quantised->dim), (int32_t)n);
        }
        count += hits;
    }
    inmo_top_sort(top);
    if (scored)
        *scored = count;
done:
    inmo_free(high);
    inmo_free(low);
    inmo_free(product);
    inmo_free(code);
    return status;
}
