/* ngcf_layer.c - see ngcf_layer.h. Cost for N nodes: one gather each way, and 6 N d 2d flops in products. */
#include "model/backbone/ngcf_layer.h"

#include "base/threads.h"

#include <cblas.h>
#include <string.h>

enum { GROUPS = 32, MOST_BLOCK = 256, BLOCK_FLOATS = 1 << 14 };

/* Rows of a block: its (m, x ⊙ m) and y stay in a core's cache. Depends only on dim. */
static int32_t block_rows(int dim)
{
    int32_t rows = BLOCK_FLOATS / dim;
    return rows > MOST_BLOCK ? MOST_BLOCK : rows < 16 ? 16 : rows;
}

size_t inmo_ngcf_space(int dim)
{
    return (size_t)GROUPS * (size_t)block_rows(dim) * 2 * (size_t)dim;
}

size_t inmo_ngcf_sum(int dim)
{
    return (size_t)GROUPS * (2 * (size_t)dim + 1) * (size_t)dim;
}

void inmo_ngcf_pack(int dim, const float *own, float *packed, float *bias)
{
    size_t d = (size_t)dim;
    const float *w1 = own, *b1 = w1 + d * d, *w2 = b1 + d, *b2 = w2 + d * d;
    for (size_t j = 0; j < d; j++) {
        bias[j] = b1[j] + b2[j];
        for (size_t k = 0; k < d; k++) {
            packed[k * d + j] = w1[j * d + k];
            packed[(d + k) * d + j] = w2[j * d + k];
        }
    }
}

/* A range of rows inside one group. */
struct block {
    int32_t first, count;
    float *pair;  // (count, 2 dim)
};

static int32_t node_of(const struct inmo_ngcf_layer *layer, int32_t n)
{
    return layer->node ? layer->node[n] : n;
}

/* pair = (m, x ⊙ m) */
static void make_pairs(const struct inmo_ngcf_layer *layer, const struct block *block)
{
    size_t d = (size_t)layer->dim;
    for (int32_t n = 0; n < block->count; n++) {
        const float *x = layer->x + (size_t)node_of(layer, block->first + n) * d;
        const float *m = layer->m + (size_t)(block->first + n) * d;
        float *pair = block->pair + (size_t)n * 2 * d;
        memcpy(pair, m, d * sizeof *pair);
        for (size_t j = 0; j < d; j++)
            pair[d + j] = x[j] * m[j];
    }
}

static void forward_block(const struct inmo_ngcf_layer *layer, const struct inmo_gather *job,
                          const struct block *block)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int dim = layer->dim;
    size_t d = (size_t)dim;
    float *y = layer->y + (size_t)block->first * d;
    kernels->gather_range(job, block->first, block->first + block->count);
    for (int32_t n = block->first; n < block->first + block->count; n++) {
        int32_t v = node_of(layer, n);
        if (inmo_ngcf_keeps_self(layer, v))
            kernels->add_scaled(dim, layer->share[v], layer->x + (size_t)v * d, layer->m + (size_t)n * d);
    }
    make_pairs(layer, block);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, block->count, dim, 2 * dim, 1, block->pair, 2 * dim,
                layer->packed, dim, 0, y, dim);
    for (int32_t n = 0; n < block->count; n++)
        kernels->activate(dim, &layer->activation, node_of(layer, block->first + n), layer->bias,
                          y + (size_t)n * d);
}

/* Backward for g = dL/dy: through the activation; dP += pair' g; pair = g P'; then to m (pull) and x. */
static void backward_block(const struct inmo_ngcf_layer *layer, const struct block *block, float *g, float *pull,
                           float *sum)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int dim = layer->dim;
    size_t d = (size_t)dim;
    float *bias = sum + 2 * d * d;
    g += (size_t)block->first * d;
    pull += (size_t)block->first * d;
    for (int32_t n = 0; n < block->count; n++) {
        float *row = g + (size_t)n * d;
        kernels->activate_back(dim, &layer->activation, node_of(layer, block->first + n),
                               layer->y + (size_t)(block->first + n) * d, row);
        kernels->add_scaled(dim, 1, row, bias);
    }
    make_pairs(layer, block);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, 2 * dim, dim, block->count, 1, block->pair, 2 * dim, g,
                dim, 1, sum, dim);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, block->count, 2 * dim, dim, 1, g, dim, layer->packed, dim,
                0, block->pair, 2 * dim);
    for (int32_t n = 0; n < block->count; n++) {
        int32_t v = node_of(layer, block->first + n);
        const float *x = layer->x + (size_t)v * d, *m = layer->m + (size_t)(block->first + n) * d;
        const float *dm = block->pair + (size_t)n * 2 * d, *dproduct = dm + d;
        float *out = pull + (size_t)n * d, *own = g + (size_t)n * d;
        float share = inmo_ngcf_keeps_self(layer, v) ? layer->share[v] : 0;
        for (size_t j = 0; j < d; j++) {
            out[j] = dm[j] + x[j] * dproduct[j];
            own[j] = m[j] * dproduct[j] + share * out[j];
        }
    }
}

static struct block block_at(const struct inmo_ngcf_layer *layer, int group, int32_t number)
{
    int32_t rows = block_rows(layer->dim), first = number * rows, left = layer->count - first;
    float *pair = layer->space + (size_t)group * (size_t)rows * 2 * (size_t)layer->dim;
    return (struct block){first, left < rows ? left : rows, pair};
}

void inmo_ngcf_forward(const struct inmo_ngcf_layer *layer)
{
    struct inmo_gather job = {
        .graph = layer->graph,
        .dim = layer->dim,
        .x = layer->x,
        .scale = layer->share,
        .drop = layer->drop,
        .node = layer->node,
        .node_count = layer->count,
        .out = layer->m,
    };
    int32_t blocks = (layer->count + block_rows(layer->dim) - 1) / block_rows(layer->dim);
    inmo_blas_hold(); /* parallel over groups instead */
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
    for (int group = 0; group < GROUPS; group++)
        for (int32_t b = group; b < blocks; b += GROUPS) {
            struct block block = block_at(layer, group, b);
            forward_block(layer, &job, &block);
        }
    inmo_blas_release();
}

/* dW1, db1, dW2, db2 from the sums of the groups, added in order. */
static void unpack(int dim, float *sum, float *gradient)
{
    size_t d = (size_t)dim, size = (2 * d + 1) * d;
    float *w1 = gradient, *b1 = w1 + d * d, *w2 = b1 + d, *b2 = w2 + d * d;
    for (int group = 1; group < GROUPS; group++)
        inmo_kernels()->add_scaled((int)size, 1, sum + (size_t)group * size, sum);
    for (size_t j = 0; j < d; j++) {
        b1[j] = b2[j] = sum[2 * d * d + j];
        for (size_t k = 0; k < d; k++) {
            w1[j * d + k] = sum[k * d + j];
            w2[j * d + k] = sum[(d + k) * d + j];
        }
    }
}

void inmo_ngcf_backward(const struct inmo_ngcf_layer *layer, float *g, float *pull, float *sum, float *gradient)
{
    size_t size = (2 * (size_t)layer->dim + 1) * (size_t)layer->dim;
    int32_t blocks = (layer->count + block_rows(layer->dim) - 1) / block_rows(layer->dim);
    inmo_blas_hold();
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
    for (int group = 0; group < GROUPS; group++) {
        memset(sum + (size_t)group * size, 0, size * sizeof *sum);
        for (int32_t b = group; b < blocks; b += GROUPS) {
            struct block block = block_at(layer, group, b);
            backward_block(layer, &block, g, pull, sum + (size_t)group * size);
        }
    }
    inmo_blas_release();
    unpack(layer->dim, sum, gradient);
}
