/* imc_gae.c - IMC-GAE, adapted to ranking: LightGCN's propagation of (e_v, g_side(v), s), with parameters g_user,
 * g_item and s, node dropout on the input of each layer, and
 *
 *     r^{l+1} = D^-1/2 A D^-1/2 B_l r^l,   r = Σ_l r^l / (l + 1)        width 3 d
 *
 * B_l keeps a node with probability 1 - p_l, p_l = max(p - l/10, 0), and multiplies by 1 / (1 - p_l).
 *
 * Only the first third is propagated. The graph is bipartite, so l layers turn g_user into a multiple of g_user
 * or, for odd l, of g_item, and s into the same multiple of s: with c^0 = 1, c^{l+1} = D^-1/2 A D^-1/2 B_l c^l,
 * one number per node,
 *
 *     r_v = ( Σ_l r^l_v/(l+1),   even_v g_side(v) + odd_v g_other(v),   (even_v + odd_v) s )
 *     even_v = Σ_{l even} c^l_v/(l+1),   odd_v = Σ_{l odd} c^l_v/(l+1)
 *
 * which is the same to rounding at a third of the traffic. The first third is computed as in lightgcn.c: z^l =
 * D^-1/2 r^l forward; backward, with s = D^-1/2 dr and a_l = 1/(l+1), Horner's rule in u_l = w_l/a_l,
 *
 *     u_K = s,   u_l = s + (a_{l+1}/a_l) B_l D^-1 A u_{l+1},   de = D^1/2 u_0 */
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "model/seam.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = 1024 }; /* rows per partial sum; fixed, which fixes the order of additions */

struct inmo_backbone_state {
    const struct inmo_graph *graph;
    int dim, layers;
    const float *own;   // (3, dim) of the current step: g_user, g_item, s
    double dropout;     /* for which the masks and scales below were made; -1: none yet */
    int32_t *position;  // (layers, nodes) v, or -1 where B_l drops it
    float *scale;       // (layers, nodes) of the product l -> l + 1
    float *back_scale;  // (layers, nodes) of the one back, 0 where B_l drops the row
    float *even, *odd;  // (nodes) one block with the next two
    float *c, *term;    // (nodes) c^l, and what a node passes to its neighbours
    float *z;           // (2 or layers - 1, nodes, dim) z^1 .. z^{K-1} forward, u backward
    float *last;        // (most_rows, dim) z^K
    float *r;           // (most_rows, 3 dim)
    float *scaled;      // (most_rows, dim) D^-1/2 g
    float *partial;     // (chunks, 3, dim)
    float *gradient;    // (3, dim)
};

static int imc_gae_width(int dim, int layers)
{
    (void)layers;
    return 3 * dim;
}

static int imc_gae_part(int dim, int layers, int n, struct inmo_part *part)
{
    static const char *const name[] = {"user", "item", "shared"};
    (void)dim;
    (void)layers;
    if (n >= 3)
        return 0;
    *part = (struct inmo_part){.rows = 1, .is_vector = 1};
    snprintf(part->name, sizeof part->name, "imc-gae.%s", name[n]);
    return 1;
}

static void imc_gae_start(int dim, int layers, double scale, uint64_t key, float *own)
{
    (void)layers;
    for (int n = 0; n < 3 * dim; n++)
        own[n] = (float)(scale * inmo_random_normal(key, (uint64_t)n));
}

static size_t buffers(int layers)
{
    return layers - 1 < 2 ? 2 : (size_t)layers - 1;
}

static void imc_gae_destroy(struct inmo_backbone_state *state)
{
    if (!state)
        return;
    inmo_free(state->gradient);
    inmo_free(state->partial);
    inmo_free(state->scaled);
    inmo_free(state->r);
    inmo_free(state->last);
    inmo_free(state->z);
    inmo_free(state->even);
    inmo_free(state->back_scale);
    inmo_free(state->scale);
    inmo_free(state->position);
    inmo_free(state);
}

static struct inmo_backbone_state *imc_gae_create(const struct inmo_graph *graph, int dim, int layers,
                                                  int32_t most_rows, int half)
{
    struct inmo_backbone_state *state = inmo_alloc_zero(1, sizeof *state);
    size_t nodes = (size_t)graph->nodes, d = (size_t)dim, most = (size_t)most_rows;
    (void)half;
    if (!state)
        return NULL;
    state->graph = graph;
    state->dim = dim;
    state->layers = layers;
    state->dropout = -1;
    state->position = inmo_alloc((size_t)layers * nodes, sizeof(int32_t));
    state->scale = inmo_alloc((size_t)layers * nodes, sizeof(float));
    state->back_scale = inmo_alloc((size_t)layers * nodes, sizeof(float));
    state->even = inmo_alloc(4 * nodes, sizeof(float));
    state->z = inmo_alloc(buffers(layers) * nodes * d, sizeof(float));
    state->last = inmo_alloc(most * d, sizeof(float));
    state->r = inmo_alloc(most * 3 * d, sizeof(float));
    state->scaled = inmo_alloc(most * d, sizeof(float));
    state->partial = inmo_alloc((most / CHUNK + 1) * 3 * d, sizeof(float));
    state->gradient = inmo_alloc(3 * d, sizeof(float));
    if (!state->position || !state->scale || !state->back_scale || !state->even || !state->z || !state->last ||
        !state->r || !state->scaled || !state->partial || !state->gradient) {
        imc_gae_destroy(state);
        return NULL;
    }
    state->odd = state->even + nodes;
    state->c = state->odd + nodes;
    state->term = state->c + nodes;
    return state;
}

static double dropout_of_layer(double dropout, int l)
{
    return dropout > 0.1 * l ? dropout - 0.1 * l : 0;
}

/* c = c^{l+1} from c^l; kept nodes (position >= 0, NULL: all) are multiplied by kept. */
static void propagate_numbers(const struct inmo_graph *graph, const int32_t *position, float kept, float *c,
                              float *term)
{
#pragma omp parallel num_threads(inmo_threads())
    {
#pragma omp for schedule(static)
        for (int32_t v = 0; v < graph->nodes; v++)
            term[v] = !position || position[v] >= 0 ? kept * graph->inverse_root_degree[v] * c[v] : 0;
#pragma omp for schedule(dynamic, 512)
        for (int32_t v = 0; v < graph->nodes; v++) {
            float sum = 0;
            for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++)
                sum += term[graph->neighbour[e]];
            c[v] = graph->inverse_root_degree[v] * sum;
        }
    }
}

/* Adds layer l to even or odd. */
static void add_numbers(const struct inmo_graph *graph, int l, const float *c, float *even, float *odd)
{
    float *sum = l % 2 ? odd : even, share = 1 / (float)(l + 1);
    for (int32_t v = 0; v < graph->nodes; v++)
        sum[v] += share * c[v];
}

static void begin_numbers(const struct inmo_graph *graph, float *c, float *even, float *odd)
{
    for (int32_t v = 0; v < graph->nodes; v++) {
        c[v] = even[v] = 1;
        odd[v] = 0;
    }
}

/* Masks of the step, scales of the products, and the numbers c. */
static void imc_gae_begin(struct inmo_backbone_state *state, const float *own, const struct inmo_moment *moment)
{
    const struct inmo_graph *graph = state->graph;
    double p = moment->graph_dropout;
    uint32_t key = (uint32_t)inmo_random(inmo_key(moment->seed, INMO_STREAM_NODE), (uint64_t)moment->step);
    state->own = own;
    if (p == 0 && state->dropout == 0)
        return; /* without dropout all steps are alike */
    begin_numbers(graph, state->c, state->even, state->odd);
    for (int l = 0; l < state->layers; l++) {
        double here = dropout_of_layer(p, l);
        uint32_t threshold = (uint32_t)(here * 4294967296.0);
        float kept = (float)(1 / (1 - here)), back = kept * (float)(l + 1) / (float)(l + 2);
        size_t at = (size_t)l * (size_t)graph->nodes;
        int32_t *position = state->position + at;
        float *scale = state->scale + at, *back_scale = state->back_scale + at;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
        for (int32_t v = 0; v < graph->nodes; v++) {
            int stays = inmo_drop_keeps(key, threshold, (uint32_t)v, (uint32_t)l);
            position[v] = stays ? v : -1;
            scale[v] = kept * graph->inverse_degree[v];
            back_scale[v] = stays ? back * (l == 0 ? graph->inverse_root_degree[v] : graph->inverse_degree[v]) : 0;
        }
        propagate_numbers(graph, position, kept, state->c, state->term);
        add_numbers(graph, l + 1, state->c, state->even, state->odd);
    }
    state->dropout = p;
}

/* The second and third part of a row. */
static void fill_general(int dim, const float *own, int is_item, float even, float odd, float *out)
{
    const float *side = own + (is_item ? dim : 0), *other = own + (is_item ? 0 : dim);
    for (int j = 0; j < dim; j++) {
        out[j] = even * side[j] + odd * other[j];
        out[dim + j] = (even + odd) * own[2 * dim + j];
    }
}

static float *imc_gae_forward(struct inmo_backbone_state *state, const float *e, const struct inmo_rows *rows)
{
    const struct inmo_graph *graph = state->graph;
    size_t d = (size_t)state->dim, nodes = (size_t)graph->nodes;
    int layers = state->layers;
    for (int l = 0; l < layers; l++) {
        int last = l + 1 == layers;
        struct inmo_gather job = {
            .graph = graph,
            .dim = state->dim,
            .x = l == 0 ? e : state->z + (size_t)(l - 1) * nodes * d,
            .position = state->dropout > 0.1 * l ? state->position + (size_t)l * nodes : NULL,
            .weight = l == 0 ? graph->inverse_root_degree : NULL,
            .scale = state->scale + (size_t)l * nodes,
            .node = last && rows->count < graph->nodes ? rows->node : NULL,
            .node_count = rows->count,
            .out = last ? state->last : state->z + (size_t)l * nodes * d,
        };
        inmo_gather(&job);
    }
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < rows->count; n++) {
        int32_t v = rows->node[n];
        float *r = state->r + (size_t)n * 3 * d, root = graph->root_degree[v];
        memcpy(r, e + (size_t)v * d, d * sizeof *r);
        for (int l = 1; l <= layers; l++)
            inmo_kernels()->add_scaled(state->dim, root / (float)(l + 1),
                                       l == layers ? state->last + (size_t)n * d
                                                   : state->z + ((size_t)(l - 1) * nodes + (size_t)v) * d,
                                       r);
        fill_general(state->dim, state->own, v >= graph->users, state->even[v], state->odd[v], r + d);
    }
    return state->r;
}

/* dg_user, dg_item and ds: partial sums over fixed chunks, added in order. */
static void general_gradient(struct inmo_backbone_state *state, const struct inmo_rows *rows, const float *dr)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int dim = state->dim;
    size_t d = (size_t)dim;
    int32_t chunks = (rows->count + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
    for (int32_t chunk = 0; chunk < chunks; chunk++) {
        float *sums = state->partial + (size_t)chunk * 3 * d;
        int32_t end = (chunk + 1) * CHUNK < rows->count ? (chunk + 1) * CHUNK : rows->count;
        memset(sums, 0, 3 * d * sizeof *sums);
        for (int32_t n = chunk * CHUNK; n < end; n++) {
            int32_t v = rows->node[n];
            const float *general = dr + (size_t)n * 3 * d + d;
            int is_item = v >= state->graph->users;
            kernels->add_scaled(dim, state->even[v], general, sums + (is_item ? d : 0));
            kernels->add_scaled(dim, state->odd[v], general, sums + (is_item ? 0 : d));
            kernels->add_scaled(dim, state->even[v] + state->odd[v], general + d, sums + 2 * d);
        }
    }
    memset(state->gradient, 0, 3 * d * sizeof *state->gradient);
    for (int32_t chunk = 0; chunk < chunks; chunk++)
        kernels->add_scaled(3 * dim, 1, state->partial + (size_t)chunk * 3 * d, state->gradient);
}

static float *imc_gae_backward(struct inmo_backbone_state *state, const struct inmo_rows *rows, float *dr)
{
    const struct inmo_graph *graph = state->graph;
    size_t d = (size_t)state->dim;
    float *u = state->z, *next = state->z + (size_t)graph->nodes * d;
    general_gradient(state, rows, dr);
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < rows->count; n++)
        for (size_t j = 0; j < d; j++)
            state->scaled[(size_t)n * d + j] =
                graph->inverse_root_degree[rows->node[n]] * dr[(size_t)n * 3 * d + j];
    if (state->layers == 0)
        memset(u, 0, (size_t)graph->nodes * d * sizeof *u);
    for (int l = state->layers - 1; l >= 0; l--) {
        int first = l == state->layers - 1;
        struct inmo_gather job = {
            .graph = graph,
            .dim = state->dim,
            .x = first ? state->scaled : u,
            .position = first && rows->count < graph->nodes ? rows->position : NULL,
            .scale = state->back_scale + (size_t)l * (size_t)graph->nodes,
            .plus = l > 0 ? state->scaled : NULL,
            .plus_position = rows->position,
            .out = next,
        };
        inmo_gather(&job);
        next = u;
        u = job.out;
    }
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < rows->count; n++)
        inmo_kernels()->add_scaled(state->dim, 1, dr + (size_t)n * 3 * d, u + (size_t)rows->node[n] * d);
    return u;
}

static const float *imc_gae_own_gradient(const struct inmo_backbone_state *state)
{
    return state->gradient;
}

/* Memory: what a new node gathers from a neighbour, Σ_{l<K} r^l/(l+2), and the same of c^l for odd and even l+1. */
static int imc_gae_memory_width(int dim, int layers)
{
    return layers > 0 ? dim + 2 : 0;
}

/* Adds layer l: first third of r += share r^l; memory likewise with the share of the next layer. */
static void add_layer(const struct inmo_graph *graph, int dim, int layers, int l, const float *z, const float *c,
                      float *r, float *memory)
{
    size_t d = (size_t)dim;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t v = 0; v < graph->nodes; v++) {
        float root = l == 0 ? 1 : graph->root_degree[v], *kept = memory ? memory + (size_t)v * (d + 2) : NULL;
        inmo_kernels()->add_scaled(dim, root / (float)(l + 1), z + (size_t)v * d, r + (size_t)v * 3 * d);
        if (!memory || l == layers)
            continue;
        inmo_kernels()->add_scaled(dim, root / (float)(l + 2), z + (size_t)v * d, kept);
        kept[d + (size_t)(l % 2)] += c[v] / (float)(l + 2);
    }
}

static int imc_gae_represent(const struct inmo_graph *graph, int dim, int layers, const float *own, const float *e,
                             float *r, float *memory)
{
    size_t nodes = (size_t)graph->nodes, d = (size_t)dim;
    float *z[2] = {inmo_alloc(nodes * d, sizeof(float)), inmo_alloc(nodes * d, sizeof(float))};
    float *numbers = inmo_alloc(4 * nodes, sizeof *numbers);
    int status = z[0] && z[1] && numbers ? 0 : -1;
    if (!status) {
        float *c = numbers, *term = c + nodes, *even = term + nodes, *odd = even + nodes;
        memset(r, 0, nodes * 3 * d * sizeof *r);
        if (memory)
            memset(memory, 0, nodes * (size_t)imc_gae_memory_width(dim, layers) * sizeof *memory);
        begin_numbers(graph, c, even, odd);
        add_layer(graph, dim, layers, 0, e, c, r, memory);
        for (int l = 0; l < layers; l++) {
            struct inmo_gather job = {.graph = graph,
                                      .dim = dim,
                                      .x = l == 0 ? e : z[(l - 1) & 1],
                                      .weight = l == 0 ? graph->inverse_root_degree : NULL,
                                      .scale = graph->inverse_degree,
                                      .out = z[l & 1]};
            inmo_gather(&job);
            propagate_numbers(graph, NULL, 1, c, term);
            add_numbers(graph, l + 1, c, even, odd);
            add_layer(graph, dim, layers, l + 1, job.out, c, r, memory);
        }
        for (int32_t v = 0; v < graph->nodes; v++)
            fill_general(dim, own, v >= graph->users, even[v], odd[v], r + (size_t)v * 3 * d + d);
    }
    inmo_free(numbers);
    inmo_free(z[1]);
    inmo_free(z[0]);
    return status;
}

static void imc_gae_fold(const struct inmo_fold *fold, float *r)
{
    size_t d = (size_t)fold->dim;
    float even = 1, odd = 0, inverse_root = 1 / sqrtf((float)(fold->degree > 0 ? fold->degree : 1));
    memcpy(r, fold->e, d * sizeof *r);
    for (int32_t n = 0; n < fold->count && fold->layers > 0; n++) {
        const float *kept = fold->memory + (size_t)fold->node[n] * (d + 2);
        float share = inverse_root * fold->graph->inverse_root_degree[fold->node[n]];
        inmo_kernels()->add_scaled(fold->dim, share, kept, r);
        odd += share * kept[d];
        even += share * kept[d + 1];
    }
    fill_general(fold->dim, fold->own, fold->is_item, even, odd, r + d);
}

const struct inmo_backbone inmo_backbone_imc_gae = {
    .name = "imc-gae",
    .needs_all = 1,
    .regularises_output = 1,
    .affine = 1,
    .part = imc_gae_part,
    .start = imc_gae_start,
    .width = imc_gae_width,
    .memory_width = imc_gae_memory_width,
    .create = imc_gae_create,
    .destroy = imc_gae_destroy,
    .begin = imc_gae_begin,
    .forward = imc_gae_forward,
    .backward = imc_gae_backward,
    .own_gradient = imc_gae_own_gradient,
    .represent = imc_gae_represent,
    .fold = imc_gae_fold,
};
