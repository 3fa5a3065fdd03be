/* lightgcn.c - LightGCN: r^{l+1} = D^-1/2 A D^-1/2 r^l, r = mean of r^0 .. r^K, r^0 = e.
 *
 * A has the weights of interactions, 1 without, D their sums. With z^l = D^-1/2 r^l the product needs no further
 * factor per edge, z^{l+1} = D^-1 A z^l, and
 *
 *     r = (e + D^1/2 (z^1 + ... + z^K)) / (K + 1)
 *
 * A step needs r of the batch's rows only, so z^K is computed for those alone. Backward, with g = dr (zero
 * outside the batch) and w = D^-1/2 y, Horner's rule de = (g + A'(g + A'(... A' g))) / (K + 1), A' = D^-1/2 A
 * D^-1/2, is
 *
 *     w_K = D^-1/2 g,   w_l = D^-1/2 g + D^-1 A w_{l+1},   de = D^1/2 w_0 / (K + 1)
 *
 * whose first product gathers only from the batch's rows. So 2K - 2 of 2K products cover the whole graph. The model
 * is linear, so backward needs nothing from forward and reuses its buffers. Cost of a whole product: 2 E d
 * additions, and 2 E gathered rows of 4 d bytes. */
#include "base/memory.h"
#include "base/threads.h"
#include "graph/share.h"
#include "kernel/kernel.h"
#include "model/seam.h"

#include <math.h>
#include <string.h>

struct inmo_backbone_state {
    const struct inmo_graph *graph;
    int dim, layers, buffers;
    int32_t most_rows;
    // (buffers) each (nodes, dim): z^1 .. z^{K-1} forward, w backward; in half precision one: de, which is in r
    // where r has all nodes
    float **z;
    uint32_t **half;     // NULL, or (layers or 2) each (nodes, dim / 2): z^0 .. z^{K-1} forward, w backward
    float *r;            // (most_rows, dim)
    float *scaled;       // (most_rows, dim) D^-1/2 g
    float *final_scale;  // (nodes) 1 / (sqrt(degree) (K + 1))
};

static int half_buffers(const struct inmo_backbone_state *state)
{
    return state->layers < 2 ? 2 : state->layers;
}

static void lightgcn_destroy(struct inmo_backbone_state *state)
{
    if (!state)
        return;
    inmo_free(state->final_scale);
    inmo_free(state->scaled);
    for (int b = 0; state->half && b < half_buffers(state); b++)
        inmo_free(state->half[b]);
    inmo_free(state->half);
    for (int b = 0; state->z && b < state->buffers; b++)
        if (state->z[b] != state->r)
            inmo_free(state->z[b]);
    inmo_free(state->z);
    inmo_free(state->r);
    inmo_free(state);
}

static struct inmo_backbone_state *lightgcn_create(const struct inmo_graph *graph, int dim, int layers,
                                                   int32_t most_rows, int half)
{
    struct inmo_backbone_state *state = inmo_alloc_zero(1, sizeof *state);
    size_t nodes = (size_t)graph->nodes, width = (size_t)dim;
    int complete = 0;
    if (!state)
        goto done;
    state->graph = graph;
    state->dim = dim;
    state->layers = layers;
    state->most_rows = most_rows;
    half = half && layers > 0 && inmo_half_fits(dim);
    state->buffers = half ? 1 : layers - 1 < 2 ? 2 : layers - 1;
    state->z = inmo_alloc_zero((size_t)state->buffers, sizeof *state->z);
    state->r = inmo_alloc((size_t)most_rows * width, sizeof(float));
    if (!state->z || !state->r)
        goto done;
    for (int b = 0; b < state->buffers; b++) {
        int is_shared = half && most_rows == graph->nodes;
        state->z[b] = is_shared ? state->r : inmo_alloc(nodes * width, sizeof(float));
        if (!state->z[b])
            goto done;
    }
    if (half) {
        state->half = inmo_alloc_zero((size_t)half_buffers(state), sizeof *state->half);
        if (!state->half)
            goto done;
        for (int b = 0; b < half_buffers(state); b++) {
            state->half[b] = inmo_alloc(nodes * width / 2, sizeof(uint32_t));
            if (!state->half[b])
                goto done;
        }
    }
    state->scaled = inmo_alloc((size_t)most_rows * width, sizeof(float));
    state->final_scale = inmo_alloc(nodes, sizeof(float));
    if (!state->scaled || !state->final_scale)
        goto done;
    for (size_t v = 0; v < nodes; v++)
        state->final_scale[v] = graph->inverse_root_degree[v] / (float)(layers + 1);
    complete = 1;
done:
    if (!complete) {
        lightgcn_destroy(state);
        state = NULL;
    }
    return state;
}

/* z^{l+1} = D^-1 A z^l. z^0 = D^-1/2 e is never stored: its scaling is a weight in the first product. */
static void propagate(const struct inmo_graph *graph, int dim, const float *x, int is_e,
                      const struct inmo_rows *rows, float *out)
{
    struct inmo_gather job = {
        .graph = graph,
        .dim = dim,
        .x = x,
        .weight = is_e ? graph->inverse_root_degree : NULL,
        .edge = graph->weight,
        .scale = graph->inverse_degree,
        .node = rows && rows->count < graph->nodes ? rows->node : NULL,
        .node_count = rows ? rows->count : 0,
        .out = out,
    };
    inmo_gather_fetching(&job);
}

/* Forward in half precision: z^0 .. z^{K-1} are rounded, sums and the result are not. */
static void forward_half(struct inmo_backbone_state *state, const float *e, const struct inmo_rows *rows)
{
    const struct inmo_graph *graph = state->graph;
    const struct inmo_kernels *kernels = inmo_kernels();
    size_t dim = (size_t)state->dim;
    float mean = 1 / (float)(state->layers + 1);
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t v = 0; v < graph->nodes; v++)
        if (inmo_graph_owns(graph, v))
            kernels->to_half(state->dim, graph->inverse_root_degree[v], e + (size_t)v * dim,
                             state->half[0] + (size_t)v * dim / 2);
    for (int l = 1; l <= state->layers; l++) {
        int last = l == state->layers, all = rows->count == graph->nodes;
        struct inmo_gather job = {
            .graph = graph,
            .dim = state->dim,
            .half = state->half[l - 1],
            .edge = graph->weight,
            .scale = graph->inverse_degree,
            .node = last && !all ? rows->node : NULL,
            .node_count = rows->count,
            .out = last ? state->r : NULL,
            .half_out = last ? NULL : state->half[l],
        };
        inmo_gather_fetching(&job);
    }
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < rows->count; n++) {
        size_t at = (size_t)rows->node[n] * dim;
        float *r = state->r + (size_t)n * dim, root = graph->root_degree[rows->node[n]];
        if (!inmo_graph_owns(graph, rows->node[n]))
            continue;
        for (int l = 1; l < state->layers; l++)
            kernels->add_half(state->dim, state->half[l] + at / 2, r);
        for (size_t j = 0; j < dim; j++)
            r[j] = mean * (e[at + j] + root * r[j]);
    }
}

static float *lightgcn_forward(struct inmo_backbone_state *state, const float *e, const struct inmo_rows *rows)
{
    const struct inmo_graph *graph = state->graph;
    int dim = state->dim, layers = state->layers;
    float mean = 1 / (float)(layers + 1);
    if (state->half) {
        forward_half(state, e, rows);
        return state->r;
    }
    for (int l = 1; l < layers; l++)
        propagate(graph, dim, l == 1 ? e : state->z[l - 2], l == 1, NULL, state->z[l - 1]);
    if (layers > 0)
        propagate(graph, dim, layers == 1 ? e : state->z[layers - 2], layers == 1, rows, state->r);
    else
        memset(state->r, 0, (size_t)rows->count * (size_t)dim * sizeof *state->r);
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < rows->count; n++) {
        size_t at = (size_t)rows->node[n] * (size_t)dim;
        float *r = state->r + (size_t)n * (size_t)dim, root = graph->root_degree[rows->node[n]];
        if (!inmo_graph_owns(graph, rows->node[n]))
            continue;
        for (int l = 1; l < layers; l++)
            for (int j = 0; j < dim; j++)
                r[j] += state->z[l - 1][at + (size_t)j];
        for (int j = 0; j < dim; j++)
            r[j] = mean * (e[at + (size_t)j] + root * r[j]);
    }
    return state->r;
}

/* out[v] += factor * x[n] for the batch's own rows. */
static void add_rows(const struct inmo_graph *graph, const struct inmo_rows *rows, int dim, float factor,
                     const float *x, float *out)
{
    const struct inmo_kernels *kernels = inmo_kernels();
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < rows->count; n++)
        if (inmo_graph_owns(graph, rows->node[n]))
            kernels->add_scaled(dim, factor, x + (size_t)n * (size_t)dim,
                                out + (size_t)rows->node[n] * (size_t)dim);
}

static float *lightgcn_backward(struct inmo_backbone_state *state, const struct inmo_rows *rows, float *dr)
{
    const struct inmo_graph *graph = state->graph;
    int dim = state->dim, layers = state->layers;
    float mean = 1 / (float)(layers + 1);
    float *w = state->z[0], *next = state->half ? NULL : state->z[1];
    uint32_t *half = state->half ? state->half[0] : NULL, *next_half = state->half ? state->half[1] : NULL;
    /* A batch that names items has its dr by owner; of any other, every rank has all of it. */
    int gathers = graph->share && graph->share->names_items;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < rows->count; n++) {
        float factor = graph->inverse_root_degree[rows->node[n]];
        if (gathers && !inmo_graph_owns(graph, rows->node[n]))
            continue;
        for (int j = 0; j < dim; j++)
            state->scaled[(size_t)n * (size_t)dim + (size_t)j] = factor * dr[(size_t)n * (size_t)dim + (size_t)j];
    }
    if (layers == 0)
        memset(w, 0, (size_t)graph->nodes * (size_t)dim * sizeof *w);
    for (int l = layers - 1; l >= 0; l--) {
        int first = l == layers - 1, to_half = state->half && l > 0;
        struct inmo_gather job = {
            .graph = graph,
            .dim = dim,
            .x = first ? state->scaled : w,
            .half = first ? NULL : half,
            /* if the batch has all nodes, nothing is skipped */
            .position = first && rows->count < graph->nodes ? rows->position : NULL,
            .edge = graph->weight,
            .scale = l == 0 ? state->final_scale : graph->inverse_degree,
            .plus = l > 0 ? state->scaled : NULL,
            .plus_position = rows->position,
            .out = to_half                ? NULL
                   : first || state->half ? w
                                          : next,
            .half_out = !to_half ? NULL
                        : first  ? half
                                 : next_half,
        };
        if (first && !gathers)
            inmo_gather(&job);
        else
            inmo_gather_fetching(&job);
        if (!first && to_half) {
            uint32_t *swap = half;
            half = next_half;
            next_half = swap;
        } else if (!first && !state->half) {
            float *swap = w;
            w = next;
            next = swap;
        }
    }
    add_rows(graph, rows, dim, mean, dr, w);
    return w;
}

static void lightgcn_rest(struct inmo_backbone_state *state)
{
    size_t row = (size_t)state->dim * sizeof(float), nodes = (size_t)state->graph->nodes;
    for (int b = 0; b < state->buffers; b++)
        inmo_release(state->z[b], 0, nodes * row);
    for (int b = 0; state->half && b < half_buffers(state); b++)
        inmo_release(state->half[b], 0, nodes * row / 2);
    inmo_release(state->r, 0, (size_t)state->most_rows * row);
    inmo_release(state->scaled, 0, (size_t)state->most_rows * row);
}

/* Memory: S = Σ_{l<K} r^l, what a new node gathers from a neighbour over all layers. */
static int lightgcn_memory_width(int dim, int layers)
{
    return layers > 0 ? dim : 0;
}

/* sum += x, or sum = x for the first of them. */
static void add_layer(const struct inmo_graph *graph, int dim, int is_first, const float *x, float *sum)
{
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t v = 0; v < graph->nodes; v++)
        for (size_t j = (size_t)v * (size_t)dim; inmo_graph_owns(graph, v) && j < ((size_t)v + 1) * (size_t)dim;
             j++)
            sum[j] = (is_first ? 0 : sum[j]) + x[j];
}

/* Fresh memory is what a view waits for longest, so layers go back and forth between one spare array and r, so that
 * the last of them, which reads the spare one, ends in r. */
static int lightgcn_represent(const struct inmo_graph *graph, int dim, int layers, const float *own, const float *e,
                              float *r, float *sums)
{
    size_t width = (size_t)dim, size = (size_t)graph->nodes * width;
    float *spare = NULL, *sum = NULL, mean = 1 / (float)(layers + 1);  // sum: of all layers but the last
    const float *x = e;
    int status = -1;
    (void)own;
    spare = layers > 1 ? inmo_alloc(size, sizeof *spare) : NULL;
    sum = layers > 1 ? (sums ? sums : inmo_alloc(size, sizeof *sum)) : NULL;
    if (layers > 1 && (!spare || !sum))
        goto done;
    for (int l = 1; l <= layers; l++) {
        float *out = (layers - l) % 2 ? spare : r;
        propagate(graph, dim, x, l == 1, NULL, out);
        if (l < layers)
            add_layer(graph, dim, l == 1, out, sum);
        x = out;
    }
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t v = 0; v < graph->nodes; v++) {
        float root = graph->root_degree[v];
        for (size_t j = (size_t)v * width; inmo_graph_owns(graph, v) && j < ((size_t)v + 1) * width; j++) {
            float before = sum ? sum[j] : 0;
            r[j] = mean * (e[j] + root * (layers > 0 ? before + r[j] : 0));
            if (sums && layers > 0)
                sums[j] = e[j] + root * before;
        }
    }
    status = 0;
done:
    if (sum != sums)
        inmo_free(sum);
    inmo_free(spare);
    return status;
}

/* r = (e + Σ_i w_i S_i / sqrt(degree d_i)) / (K + 1) */
static void lightgcn_fold(const struct inmo_fold *fold, float *r)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    float mean = 1 / (float)(fold->layers + 1),
          inverse_root = 1 / sqrtf((float)(fold->degree > 0 ? fold->strength : 1));
    for (int j = 0; j < fold->dim; j++)
        r[j] = mean * fold->e[j];
    for (int32_t n = 0; n < fold->count && fold->layers > 0; n++)
        kernels->add_scaled(fold->dim,
                            mean * inverse_root * fold->graph->inverse_root_degree[fold->node[n]] *
                                (fold->weight ? fold->weight[n] : 1),
                            fold->memory + (size_t)fold->node[n] * (size_t)fold->dim, r);
}

const struct inmo_backbone inmo_backbone_lightgcn = {
    .name = "lightgcn",
    .needs_all = 1,
    .weights = 1,
    .affine = 1,
    .memory_width = lightgcn_memory_width,
    .create = lightgcn_create,
    .destroy = lightgcn_destroy,
    .forward = lightgcn_forward,
    .backward = lightgcn_backward,
    .rest = lightgcn_rest,
    .represent = lightgcn_represent,
    .fold = lightgcn_fold,
};
