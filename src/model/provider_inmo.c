/* provider_inmo.c - the paper's inductive embedding module.
 *
 *     e_u = (Σ_{i in N_u ∩ I_tem} t_i + t_user) / (|N_u ∩ I_tem| + 1)^α        items alike
 *
 * Parameter block, (rows + 3, dim): template users, template items, t_user, t_item, and w, the diagonal of the
 * self-enhanced loss, which this file leaves alone. Both directions are one gather over the observed graph: forward
 * sums template rows over a node's neighbours, backward sums de over a template's neighbours. Dropout is a hash of
 * the edge, so both see the same mask and nothing is stored. */
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "model/seam.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 1024 };  /* rows of a partial sum: fixed, so that the order of addition is */

struct inmo_provider_state {
    struct inmo_binding binding;
    int32_t *templates;   // (nodes) |N_v ∩ templates|
    float *scale;         // (nodes) 1 / ((templates + 1)^alpha (1 - p))
    double scale_alpha, scale_dropout;
    struct inmo_drop drop;
    float *e;             // (nodes, dim)
    float *gradient;      // (rows + 3, dim); NULL outside training
    float *partial;       // (2 chunks, dim) sums for t_user and t_item
};

static void inmo_destroy(struct inmo_provider_state *state)
{
    if (!state)
        return;
    inmo_free(state->partial);
    inmo_free(state->gradient);
    inmo_free(state->e);
    inmo_free(state->scale);
    inmo_free(state->templates);
    inmo_free(state);
}

static void count_templates(struct inmo_provider_state *state)
{
    const struct inmo_graph *graph = state->binding.graph;
    for (int32_t v = 0; v < graph->nodes; v++) {
        int32_t count = 0;
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++)
            count += state->binding.row_of_node[graph->neighbour[e]] >= 0;
        state->templates[v] = count;
    }
}

static struct inmo_provider_state *inmo_create(const struct inmo_binding *binding, int32_t most_rows, int for_training)
{
    struct inmo_provider_state *state = inmo_alloc_zero(1, sizeof *state);
    size_t nodes = (size_t)binding->graph->nodes, dim = (size_t)binding->dim;
    size_t e_rows = most_rows > 0 && for_training ? (size_t)most_rows : nodes;
    if (!state)
        return NULL;
    state->binding = *binding;
    state->templates = inmo_alloc(nodes, sizeof *state->templates);
    state->scale = inmo_alloc(nodes, sizeof *state->scale);
    state->e = inmo_alloc(e_rows * dim, sizeof *state->e);
    if (for_training) {
        state->gradient = inmo_alloc_zero(((size_t)binding->rows + 3) * dim, sizeof *state->gradient);
        state->partial = inmo_alloc((nodes / CHUNK + 2) * 2 * dim, sizeof *state->partial);
    }
    if (!state->templates || !state->scale || !state->e || (for_training && (!state->gradient || !state->partial))) {
        inmo_destroy(state);
        return NULL;
    }
    count_templates(state);
    state->scale_alpha = -1;
    return state;
}

static void inmo_begin(struct inmo_provider_state *state, const struct inmo_moment *moment)
{
    const struct inmo_graph *graph = state->binding.graph;
    if (moment->alpha != state->scale_alpha || moment->dropout != state->scale_dropout) {
        double kept = 1 / (1 - moment->dropout);
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
        for (int32_t v = 0; v < graph->nodes; v++)
            state->scale[v] = (float)(kept * pow((double)state->templates[v] + 1, -moment->alpha));
        state->scale_alpha = moment->alpha;
        state->scale_dropout = moment->dropout;
    }
    state->drop.threshold = (uint32_t)(moment->dropout * 4294967296.0);
    state->drop.key_user_rows =
        (uint32_t)inmo_random(inmo_key(moment->seed, INMO_STREAM_DROP_USER), (uint64_t)moment->step);
    state->drop.key_item_rows =
        (uint32_t)inmo_random(inmo_key(moment->seed, INMO_STREAM_DROP_ITEM), (uint64_t)moment->step);
}

static const float *inmo_forward(struct inmo_provider_state *state, const float *parameter,
                                 const struct inmo_rows *rows)
{
    size_t dim = (size_t)state->binding.dim;
    const float *general = parameter + (size_t)state->binding.rows * dim;
    struct inmo_gather job = {
        .graph = state->binding.graph,
        .dim = state->binding.dim,
        .x = parameter,
        .position = state->binding.row_of_node,
        .scale = state->scale,
        .extra_user = general,
        .extra_item = general + dim,
        .drop = state->drop,
        .node = rows ? rows->node : NULL,
        .node_count = rows ? rows->count : 0,
        .out = state->e,
    };
    inmo_gather(&job);
    return state->e;
}

static void inmo_base(const struct inmo_binding *binding, const float *parameter, float *e)
{
    memcpy(e, parameter + (size_t)binding->rows * (size_t)binding->dim, (size_t)binding->dim * sizeof *e);
}

/* dt_user = Σ_u kept(u) scale_u de_u, dt_item alike: partial sums of fixed chunks, then added in order. */
static void general_gradient(struct inmo_provider_state *state, const struct inmo_rows *rows, const float *de)
{
    const struct inmo_graph *graph = state->binding.graph;
    const struct inmo_kernels *kernels = inmo_kernels();
    int dim = state->binding.dim;
    int32_t count = rows ? rows->count : graph->nodes, chunks = (count + CHUNK - 1) / CHUNK;
    float *general = state->gradient + (size_t)state->binding.rows * (size_t)dim;
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
    for (int32_t chunk = 0; chunk < chunks; chunk++) {
        float *sums = state->partial + (size_t)chunk * 2 * (size_t)dim;
        int32_t end = (chunk + 1) * CHUNK < count ? (chunk + 1) * CHUNK : count;
        memset(sums, 0, 2 * (size_t)dim * sizeof *sums);
        for (int32_t n = chunk * CHUNK; n < end; n++) {
            int32_t v = rows ? rows->node[n] : n;
            int is_user = v < graph->users;
            uint32_t key = is_user ? state->drop.key_user_rows : state->drop.key_item_rows;
            if (inmo_drop_keeps(key, state->drop.threshold, is_user ? (uint32_t)v : UINT32_MAX,
                                is_user ? UINT32_MAX : (uint32_t)(v - graph->users)))
                kernels->add_scaled(dim, state->scale[v], de + (size_t)n * (size_t)dim, sums + (is_user ? 0 : dim));
        }
    }
    memset(general, 0, 3 * (size_t)dim * sizeof *general);
    for (int32_t chunk = 0; chunk < chunks; chunk++)
        kernels->add_scaled(2 * dim, 1, state->partial + (size_t)chunk * 2 * (size_t)dim, general);
}

static struct inmo_gradient inmo_backward(struct inmo_provider_state *state, const struct inmo_rows *rows, float *de)
{
    struct inmo_gather job = {
        .graph = state->binding.graph,
        .dim = state->binding.dim,
        .x = de,
        .position = rows ? rows->position : NULL,
        .weight = state->scale,
        /* A template item's neighbours are users: what it gathers are terms of the users' sums. */
        .drop = {state->drop.threshold, state->drop.key_item_rows, state->drop.key_user_rows},
        .node = state->binding.node_of_row,
        .node_count = state->binding.rows,
        .out = state->gradient,
    };
    struct inmo_gradient gradient = {state->gradient, NULL, NULL};
    inmo_gather(&job);
    general_gradient(state, rows, de);
    return gradient;
}

const struct inmo_provider inmo_provider_inmo = {
    .name = "inmo",
    .inductive = 1,
    .templates = 1,
    .extra_rows = 3,
    .regularises_output = 1,
    .create = inmo_create,
    .destroy = inmo_destroy,
    .begin = inmo_begin,
    .forward = inmo_forward,
    .base = inmo_base,
    .backward = inmo_backward,
};
