/* ngcf.c - NGCF: K nonlinear layers (ngcf_layer.h) over the graph with self-loops, and
 *
 *     r = (e, r^1/‖r^1‖, ..., r^K/‖r^K‖),   r^0 = e        width (K + 1) d
 *
 * Parameters: W1, b1, W2, b2 of each layer. A step needs r only for the batch's rows, so the last layer is computed
 * and differentiated only for those, the others for all nodes. Dropout is a hash, so backward recomputes the masks;
 * m and r^l of the forward pass are stored. */
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "model/backbone/ngcf_layer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const float SLOPE = 0.2f;
static const float LEAST_NORM = 1e-12f; /* a shorter row is normalised to zeros and gets no gradient */

struct inmo_backbone_state {
    const struct inmo_graph *graph;
    int dim, layers;
    struct inmo_ngcf_layer *layer;  // (layers)
    float *share;                   // (nodes) see ngcf_layer.h
    double share_dropout;           /* -1: not yet made */
    float *packed, *bias;           // (layers, 2 dim, dim), (layers, dim)
    float **m, **y;                 // (layers) each (nodes, dim), the last (most_rows, dim)
    float *r;                       // (most_rows, width)
    float *inverse_norm;            // (most_rows, layers)
    float *g, *pull;                // (nodes, dim)
    float *last_g;                  // (most_rows, dim)
    float *space, *sum;             // scratch of the layers
    float *gradient;                // (rows of own, dim)
};

static int ngcf_width(int dim, int layers)
{
    return dim * (layers + 1);
}

static int ngcf_part(int dim, int layers, int n, struct inmo_part *part)
{
    static const char *const name[] = {"W1", "b1", "W2", "b2"};
    if (n >= 4 * layers)
        return 0;
    *part = (struct inmo_part){.rows = n % 2 ? 1 : dim, .is_vector = n % 2};
    snprintf(part->name, sizeof part->name, "ngcf.%d.%s", n / 4 + 1, name[n % 4]);
    return 1;
}

static size_t own_of_layer(int dim)
{
    return 2 * ((size_t)dim + 1) * (size_t)dim;
}

/* Kaiming uniform, biases 0. */
static void ngcf_start(int dim, int layers, double scale, uint64_t key, float *own)
{
    double bound = inmo_kaiming_bound(dim);
    size_t n = 0;
    struct inmo_part part;
    (void)scale;
    for (int p = 0; ngcf_part(dim, layers, p, &part); p++)
        for (size_t end = n + (size_t)part.rows * (size_t)dim; n < end; n++)
            own[n] = part.is_vector ? 0 : (float)inmo_random_symmetric(key, n, bound);
}

static void free_rows(float **rows, int layers)
{
    for (int l = 0; rows && l < layers; l++)
        inmo_free(rows[l]);
    inmo_free(rows);
}

static void ngcf_destroy(struct inmo_backbone_state *state)
{
    if (!state)
        return;
    inmo_free(state->gradient);
    inmo_free(state->sum);
    inmo_free(state->space);
    inmo_free(state->last_g);
    inmo_free(state->pull);
    inmo_free(state->g);
    inmo_free(state->inverse_norm);
    inmo_free(state->r);
    free_rows(state->y, state->layers);
    free_rows(state->m, state->layers);
    inmo_free(state->bias);
    inmo_free(state->packed);
    inmo_free(state->share);
    inmo_free(state->layer);
    inmo_free(state);
}

static float **make_rows(int layers, size_t nodes, size_t most_rows, size_t dim)
{
    float **rows = inmo_alloc_zero((size_t)layers, sizeof *rows);
    for (int l = 0; rows && l < layers; l++) {
        rows[l] = inmo_alloc((l + 1 < layers ? nodes : most_rows) * dim, sizeof **rows);
        if (!rows[l]) {
            free_rows(rows, layers);
            rows = NULL;
        }
    }
    return rows;
}

static struct inmo_backbone_state *ngcf_create(const struct inmo_graph *graph, int dim, int layers,
                                               int32_t most_rows, int half)
{
    struct inmo_backbone_state *state = inmo_alloc_zero(1, sizeof *state);
    size_t nodes = (size_t)graph->nodes, d = (size_t)dim, most = (size_t)most_rows, k = (size_t)layers;
    (void)half; /* layers are multiplied again, not only summed: float only */
    if (!state)
        return NULL;
    state->graph = graph;
    state->dim = dim;
    state->layers = layers;
    state->share_dropout = -1;
    state->layer = inmo_alloc_zero(k, sizeof *state->layer);
    state->share = inmo_alloc(nodes, sizeof(float));
    state->packed = inmo_alloc(k * 2 * d * d, sizeof(float));
    state->bias = inmo_alloc(k * d, sizeof(float));
    state->m = make_rows(layers, nodes, most, d);
    state->y = make_rows(layers, nodes, most, d);
    state->r = inmo_alloc(most * (k + 1) * d, sizeof(float));
    state->inverse_norm = inmo_alloc(most * k, sizeof(float));
    state->g = inmo_alloc(nodes * d, sizeof(float));
    state->pull = inmo_alloc(nodes * d, sizeof(float));
    state->last_g = inmo_alloc(most * d, sizeof(float));
    state->space = inmo_alloc(inmo_ngcf_space(dim), sizeof(float));
    state->sum = inmo_alloc(inmo_ngcf_sum(dim), sizeof(float));
    state->gradient = inmo_alloc(k * own_of_layer(dim), sizeof(float));
    if (!state->layer || !state->share || !state->packed || !state->bias || !state->m || !state->y || !state->r ||
        !state->inverse_norm || !state->g || !state->pull || !state->last_g || !state->space || !state->sum ||
        !state->gradient) {
        ngcf_destroy(state);
        return NULL;
    }
    return state;
}

/* 1 / ((degree + 1) (1 - p)) */
static void fill_share(const struct inmo_graph *graph, double dropout, float *share)
{
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t v = 0; v < graph->nodes; v++)
        share[v] = (float)(1 / ((1 - dropout) * ((double)inmo_graph_degree(graph, v) + 1)));
}

static void ngcf_begin(struct inmo_backbone_state *state, const float *own, const struct inmo_moment *moment)
{
    double p = moment->graph_dropout;
    uint32_t threshold = (uint32_t)(p * 4294967296.0);
    uint64_t step = (uint64_t)moment->step;
    uint64_t message = inmo_random(inmo_key(moment->seed, INMO_STREAM_MESSAGE), step);
    size_t d = (size_t)state->dim;
    if (state->share_dropout != p)
        fill_share(state->graph, p, state->share);
    state->share_dropout = p;
    for (int l = 0; l < state->layers; l++) {
        float *packed = state->packed + (size_t)l * 2 * d * d, *bias = state->bias + (size_t)l * d;
        inmo_ngcf_pack(state->dim, own + (size_t)l * own_of_layer(state->dim), packed, bias);
        state->layer[l] = (struct inmo_ngcf_layer){
            .graph = state->graph,
            .dim = state->dim,
            .share = state->share,
            .drop = {threshold, (uint32_t)inmo_random(inmo_key(moment->seed, INMO_STREAM_EDGE_USER), step),
                     (uint32_t)inmo_random(inmo_key(moment->seed, INMO_STREAM_EDGE_ITEM), step)},
            .activation = {(uint32_t)inmo_random(message, (uint64_t)l), threshold, (float)(1 / (1 - p)), SLOPE},
            .packed = packed,
            .bias = bias,
            .count = state->graph->nodes,
            .m = state->m[l],
            .y = state->y[l],
            .space = state->space,
        };
    }
}

/* out = x / ‖x‖; returns 1 / ‖x‖, or 0 for a zero row. */
static float normalise(int dim, const float *x, float *out)
{
    float norm = sqrtf(inmo_kernels()->dot(dim, x, x)), inverse = norm > LEAST_NORM ? 1 / norm : 0;
    for (int j = 0; j < dim; j++)
        out[j] = inverse * x[j];
    return inverse;
}

/* Row of r^l, l >= 1, of the batch's n-th node. */
static const float *layer_row(const struct inmo_backbone_state *state, const struct inmo_rows *rows, int l,
                              int32_t n)
{
    return state->y[l - 1] + (size_t)(l < state->layers ? rows->node[n] : n) * (size_t)state->dim;
}

static float *ngcf_forward(struct inmo_backbone_state *state, const float *e, const struct inmo_rows *rows)
{
    size_t d = (size_t)state->dim, width = d * ((size_t)state->layers + 1);
    for (int l = 0; l < state->layers; l++) {
        struct inmo_ngcf_layer *layer = state->layer + l;
        layer->x = l == 0 ? e : state->y[l - 1];
        if (l + 1 == state->layers && rows->count < state->graph->nodes) {
            layer->node = rows->node;
            layer->count = rows->count;
        }
        inmo_ngcf_forward(layer);
    }
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < rows->count; n++) {
        float *r = state->r + (size_t)n * width;
        memcpy(r, e + (size_t)rows->node[n] * d, d * sizeof *r);
        for (int l = 1; l <= state->layers; l++)
            state->inverse_norm[(size_t)n * (size_t)state->layers + (size_t)l - 1] =
                normalise(state->dim, layer_row(state, rows, l, n), r + (size_t)l * d);
    }
    return state->r;
}

/* Adds the direct gradient of r^l from the loss, for the batch's n-th row: dr for l = 0, else through the
 * normalisation, (dy - ŷ (ŷ · dy)) / ‖y‖. */
static void add_direct(const struct inmo_backbone_state *state, const float *dr, int l, int32_t n, float *out)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    size_t d = (size_t)state->dim, at = (size_t)n * d * ((size_t)state->layers + 1) + (size_t)l * d;
    float inverse = l == 0 ? 1 : state->inverse_norm[(size_t)n * (size_t)state->layers + (size_t)l - 1];
    if (l > 0)
        kernels->add_scaled(state->dim, -inverse * kernels->dot(state->dim, state->r + at, dr + at), state->r + at,
                            out);
    kernels->add_scaled(state->dim, inverse, dr + at, out);
}

static void add_all_direct(const struct inmo_backbone_state *state, const struct inmo_rows *rows, const float *dr,
                           int l, int by_node, float *out)
{
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < rows->count; n++)
        add_direct(state, dr, l, n, out + (size_t)(by_node ? rows->node[n] : n) * (size_t)state->dim);
}

static float *ngcf_backward(struct inmo_backbone_state *state, const struct inmo_rows *rows, float *dr)
{
    size_t d = (size_t)state->dim;
    float *g = state->layers > 0 ? state->last_g : state->g;
    memset(g, 0, (size_t)(state->layers > 0 ? rows->count : state->graph->nodes) * d * sizeof *g);
    add_all_direct(state, rows, dr, state->layers, state->layers == 0, g);
    for (int l = state->layers; l > 0; l--) {
        const struct inmo_ngcf_layer *layer = state->layer + l - 1;
        int by_rows = l == state->layers, some = rows->count < state->graph->nodes;
        /* dx_v = own + Σ_{w in N_v, kept in w's row} share_w pull_w */
        struct inmo_gather job = {
            .graph = state->graph,
            .dim = state->dim,
            .x = state->pull,
            .position = by_rows && some ? rows->position : NULL,
            .weight = state->share,
            /* an item gathers from users, that is, terms of the users' rows: the keys are swapped */
            .drop = {layer->drop.threshold, layer->drop.key_item_rows, layer->drop.key_user_rows},
            .plus = g,
            .plus_position = by_rows ? rows->position : NULL,
            .out = state->g,
        };
        inmo_ngcf_backward(layer, g, state->pull, state->sum,
                           state->gradient + (size_t)(l - 1) * own_of_layer(state->dim));
        add_all_direct(state, rows, dr, l - 1, !by_rows, g);
        inmo_gather(&job);
        g = state->g;
    }
    return g;
}

static const float *ngcf_own_gradient(const struct inmo_backbone_state *state)
{
    return state->gradient;
}

/* Memory: (e, r^1, .., r^{K-1}), the inputs of the layers. */
static int ngcf_memory_width(int dim, int layers)
{
    return dim * layers;
}

static void copy_columns(const struct inmo_graph *graph, int dim, const float *x, size_t width, size_t column,
                         float *out)
{
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t v = 0; v < graph->nodes; v++)
        memcpy(out + (size_t)v * width + column, x + (size_t)v * (size_t)dim, (size_t)dim * sizeof *out);
}

static int ngcf_represent(const struct inmo_graph *graph, int dim, int layers, const float *own, const float *e,
                          float *r, float *memory)
{
    size_t nodes = (size_t)graph->nodes, d = (size_t)dim, k = (size_t)layers;
    float *share = inmo_alloc(nodes, sizeof *share), *m = inmo_alloc(nodes * d, sizeof *m);
    float *y[2] = {inmo_alloc(nodes * d, sizeof(float)), inmo_alloc(nodes * d, sizeof(float))};
    float *packed = inmo_alloc((2 * d + 1) * d, sizeof *packed),
          *space = inmo_alloc(inmo_ngcf_space(dim), sizeof *space);
    int status = share && m && y[0] && y[1] && packed && space ? 0 : -1;
    if (status)
        goto done;
    fill_share(graph, 0, share);
    copy_columns(graph, dim, e, d * (k + 1), 0, r);
    for (size_t l = 0; l < k; l++) {
        struct inmo_ngcf_layer layer = {.graph = graph,
                                        .dim = dim,
                                        .share = share,
                                        .packed = packed,
                                        .bias = packed + 2 * d * d,
                                        .activation = {0, 0, 1, SLOPE},
                                        .x = l == 0 ? e : y[(l - 1) & 1],
                                        .count = graph->nodes,
                                        .m = m,
                                        .y = y[l & 1],
                                        .space = space};
        inmo_ngcf_pack(dim, own + l * own_of_layer(dim), packed, packed + 2 * d * d);
        if (memory)
            copy_columns(graph, dim, layer.x, d * k, l * d, memory);
        inmo_ngcf_forward(&layer);
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
        for (int32_t v = 0; v < graph->nodes; v++)
            normalise(dim, layer.y + (size_t)v * d, r + (size_t)v * d * (k + 1) + (l + 1) * d);
    }
done:
    inmo_free(space);
    inmo_free(packed);
    inmo_free(y[1]);
    inmo_free(y[0]);
    inmo_free(m);
    inmo_free(share);
    return status;
}

/* The new user's row of each layer, from the neighbours' rows of the layer below and its own. */
static void ngcf_fold(const struct inmo_fold *fold, float *r)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    const struct inmo_activation activation = {0, 0, 1, SLOPE};
    int dim = fold->dim;
    size_t d = (size_t)dim, width = d * (size_t)fold->layers;
    float *x = fold->space, *m = x + d, *product = m + d, *y = product + d;
    memcpy(x, fold->e, d * sizeof *x);
    memcpy(r, fold->e, d * sizeof *r);
    for (size_t l = 0; l < (size_t)fold->layers; l++) {
        const float *w1 = fold->own + l * own_of_layer(dim), *b1 = w1 + d * d, *w2 = b1 + d, *b2 = w2 + d * d;
        float share = 1 / ((float)fold->degree + 1);
        memcpy(m, x, d * sizeof *m);
        for (int32_t n = 0; n < fold->count; n++)
            kernels->add_scaled(dim, 1, fold->memory + (size_t)fold->node[n] * width + l * d, m);
        for (size_t j = 0; j < d; j++) {
            m[j] *= share;
            product[j] = x[j] * m[j];
        }
        for (size_t j = 0; j < d; j++)
            y[j] = kernels->dot(dim, w1 + j * d, m) + kernels->dot(dim, w2 + j * d, product) + b1[j];
        kernels->activate(dim, &activation, 0, b2, y);
        normalise(dim, y, r + (l + 1) * d);
        memcpy(x, y, d * sizeof *x);
    }
}

const struct inmo_backbone inmo_backbone_ngcf = {
    .name = "ngcf",
    .needs_all = 1,
    .reads_output = 1,
    .regularises_output = 1,
    .affine = 0,
    .part = ngcf_part,
    .start = ngcf_start,
    .width = ngcf_width,
    .memory_width = ngcf_memory_width,
    .create = ngcf_create,
    .destroy = ngcf_destroy,
    .begin = ngcf_begin,
    .forward = ngcf_forward,
    .backward = ngcf_backward,
    .own_gradient = ngcf_own_gradient,
    .represent = ngcf_represent,
    .fold = ngcf_fold,
};
