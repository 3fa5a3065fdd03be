/* inmo.c - the paper's inductive embedding module.
 *
 *     e_u = (Σ_{i in N_u ∩ I_tem} t_i + t_user) / (|N_u ∩ I_tem| + 1)^α        likewise for items
 *
 * With weights, t_i is multiplied by its share, w_ui / (mean of w_uj over N_u).
 *
 * Parameter block, (rows + 3, dim): template users, template items, t_user, t_item, and w, the diagonal of the
 * self-enhanced loss (loss/self_enhanced.h), which this file only starts. Both directions are one gather over the
 * observed graph: forward sums template rows over a node's neighbours, backward sums de over a template's
 * neighbours. Dropout is a hash of the edge, so both see the same mask and nothing is stored. */
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "graph/share.h"
#include "kernel/kernel.h"
#include "model/provider/general.h"
#include "model/start.h"

#include <math.h>
#include <string.h>

struct inmo_provider_state {
    struct inmo_binding binding;
    int whole;           /* every node is a template and row n is node n's: nothing to look up */
    int32_t *templates;  // (nodes) |N_v ∩ templates|
    float *scale;        // (nodes) 1 / ((templates + 1)^alpha (1 - p))
    float *back;         // (nodes) with weights: scale / mean weight
    double scale_alpha, scale_dropout;
    struct inmo_drop drop;
    float *e;         // (nodes, dim)
    float *gradient;  // (rows + 3, dim); NULL outside training. The same memory as e where e has all nodes, as
                      // nobody reads it any more when the gradient is computed
    float *partial;   // sums for t_user and t_item: general.h
    /* Only if a batch's rows are enough, else NULL: the terms of its sums, */
    int32_t *term_end, *term;         // (most_rows), (2 edges) by row: their neighbours
    int64_t *named_offset;            // (nodes + 1) and by neighbour:
    int32_t *named_row;               // (2 edges) their rows
    float *term_share, *named_share;  // (2 edges) with weights: of each term, by row and by neighbour
};

static void inmo_destroy(struct inmo_provider_state *state)
{
    if (!state)
        return;
    inmo_free(state->named_share);
    inmo_free(state->term_share);
    inmo_free(state->named_row);
    inmo_free(state->named_offset);
    inmo_free(state->term);
    inmo_free(state->term_end);
    inmo_free(state->partial);
    if (state->gradient != state->e)
        inmo_free(state->gradient);
    inmo_free(state->e);
    inmo_free(state->back);
    inmo_free(state->scale);
    inmo_free(state->templates);
    inmo_free(state);
}

/* Theorem 1's solution for the normalised matrix D_u^-1/2 Y D_i^-1/2 ≈ U S V': template vectors t_i = c V_i/√d_i
 * and t_u = c U_u/√d_u make e point where U S and V S do, if t_user and t_item add nothing. w starts at 1. */
static void inmo_start_rows(const struct inmo_row_start *start, float *parameter)
{
    size_t dim = (size_t)start->binding->dim;
    float *general = parameter + (size_t)start->binding->rows * dim;
    inmo_start_random(start, 0, (int64_t)start->binding->rows + 2, parameter);
    for (size_t j = 0; j < dim; j++)
        general[2 * dim + j] = 1;
    if (!start->svd)
        return;
    inmo_start_spectral(start, start->binding->graph->inverse_root_degree, parameter);
    for (size_t side = 0; side < 2; side++)
        memset(general + side * dim, 0, (size_t)start->columns * sizeof *general);
}

static void count_templates(struct inmo_provider_state *state)
{
    const struct inmo_graph *graph = state->binding.graph;
    state->whole = state->binding.rows == graph->nodes;
    for (int32_t v = 0; v < graph->nodes; v++) {
        int32_t count = 0;
        state->whole = state->whole && state->binding.row_of_node[v] == v;
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++)
            count += state->binding.row_of_node[graph->neighbour[e]] >= 0;
        state->templates[v] = count;
    }
    inmo_share_refresh(graph, state->templates, sizeof *state->templates, NULL);
}

static struct inmo_provider_state *inmo_create(const struct inmo_binding *binding, int32_t most_rows,
                                               int for_training)
{
    struct inmo_provider_state *state = inmo_alloc_zero(1, sizeof *state);
    size_t nodes = (size_t)binding->graph->nodes, dim = (size_t)binding->dim;
    size_t rows = (size_t)binding->rows + 3, e_rows = most_rows > 0 && for_training ? (size_t)most_rows : nodes;
    int is_shared = for_training && most_rows == 0;
    int weighted = binding->graph->weight != NULL;
    if (!state)
        return NULL;
    state->binding = *binding;
    state->templates = inmo_alloc(nodes, sizeof *state->templates);
    state->scale = inmo_alloc(nodes, sizeof *state->scale);
    state->back = weighted ? inmo_alloc(nodes, sizeof *state->back) : NULL;
    state->e = inmo_alloc((is_shared && rows > e_rows ? rows : e_rows) * dim, sizeof *state->e);
    if (for_training) {
        state->gradient = is_shared ? state->e : inmo_alloc_zero(rows * dim, sizeof *state->gradient);
        state->partial = inmo_alloc(inmo_general_partials(inmo_graph_whole(binding->graph)->nodes) * dim,
                                    sizeof *state->partial);
    }
    if (for_training && most_rows > 0) {
        size_t edges = (size_t)binding->graph->offset[nodes];
        state->term_end = inmo_alloc((size_t)most_rows, sizeof *state->term_end);
        state->term = inmo_alloc(edges, sizeof *state->term);
        state->named_offset = inmo_alloc_zero(nodes + 1, sizeof *state->named_offset);
        state->named_row = inmo_alloc(edges, sizeof *state->named_row);
        state->term_share = weighted ? inmo_alloc(edges, sizeof *state->term_share) : NULL;
        state->named_share = weighted ? inmo_alloc(edges, sizeof *state->named_share) : NULL;
        if (!state->term_end || !state->term || !state->named_offset || !state->named_row ||
            (weighted && (!state->term_share || !state->named_share))) {
            inmo_destroy(state);
            return NULL;
        }
    }
    if (!state->templates || !state->scale || !state->e || (weighted && !state->back) ||
        (for_training && (!state->gradient || !state->partial))) {
        inmo_destroy(state);
        return NULL;
    }
    count_templates(state);
    if (state->gradient && !is_shared)
        inmo_share_release(binding->graph, state->gradient, dim * sizeof *state->gradient, binding->row_of_node);
    state->scale_alpha = -1;
    return state;
}

static void inmo_begin(struct inmo_provider_state *state, const float *weights, const struct inmo_moment *moment)
{
    const struct inmo_graph *graph = state->binding.graph;
    (void)weights;
    if (moment->alpha != state->scale_alpha || moment->dropout != state->scale_dropout) {
        double kept = 1 / (1 - moment->dropout);
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
        for (int32_t v = 0; v < graph->nodes; v++) {
            state->scale[v] = (float)(kept * pow((double)state->templates[v] + 1, -moment->alpha));
            if (state->back)
                state->back[v] = inmo_graph_degree(graph, v) > 0
                                     ? (float)(state->scale[v] / inmo_graph_mean(graph, v))
                                     : state->scale[v];
        }
        if (state->back) /* the mean weight of a neighbour elsewhere is known there */
            inmo_share_refresh(graph, state->back, sizeof *state->back, NULL);
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
        .position = state->whole ? NULL : state->binding.row_of_node,
        .edge = state->binding.graph->relative,
        .scale = state->scale,
        .extra_user = general,
        .extra_item = general + dim,
        .drop = state->drop,
        .node = rows ? rows->node : NULL,
        .node_count = rows ? rows->count : 0,
        .out = state->e,
    };
    inmo_gather_fetching(&job);
    return state->e;
}

/* t_user and t_item. */
static int inmo_base(const struct inmo_binding *binding, const float *parameter, const float *weights, float *base)
{
    size_t dim = (size_t)binding->dim;
    (void)weights;
    memcpy(base, parameter + (size_t)binding->rows * dim, 2 * dim * sizeof *base);
    return 0;
}

/* The formula above for one node, scaled term by term. */
static void inmo_compose(const struct inmo_composition *job, float *e)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int dim = job->binding->dim;
    float scale = (float)pow((double)job->usable + 1, -job->alpha);
    memset(e, 0, (size_t)dim * sizeof *e);
    if (job->with_base)
        kernels->add_scaled(dim, scale, job->base + (job->is_item ? dim : 0), e);
    for (int32_t n = 0; n < job->count; n++) {
        int32_t row = job->binding->row_of_node[job->node[n]];
        float share = job->weight ? (float)(job->weight[n] / job->mean) : 1;
        if (row >= 0)
            kernels->add_scaled(dim, share * scale, job->parameter + (size_t)row * (size_t)dim, e);
    }
}

/* Of the rows of a batch, in order: number of users, and of edges of items [0] and users [1]. */
struct part {
    int32_t user_rows;
    int64_t edges[2];
};

static struct part part_of(const struct inmo_graph *graph, const struct inmo_rows *rows)
{
    struct part part = {0};
    for (int32_t n = 0; n < rows->count; n++) {
        int is_user = rows->node[n] < graph->users;
        part.user_rows += is_user;
        part.edges[is_user] += inmo_graph_degree(graph, rows->node[n]);
    }
    return part;
}

/* Lists the neighbours of the kept terms of the rows of users (side 1) or items (side 0), and counts them in
 * next. */
static void list_terms(struct inmo_provider_state *state, const struct inmo_rows *rows, struct part part, int side,
                       int64_t *next)
{
    const struct inmo_graph *graph = state->binding.graph;
    uint32_t key = side ? state->drop.key_user_rows : state->drop.key_item_rows, threshold = state->drop.threshold;
    int32_t begin = side ? 0 : part.user_rows, end = side ? part.user_rows : rows->count;
    int32_t found = (int32_t)(side ? 0 : part.edges[1]);
    for (int32_t n = begin; n < end; n++) {
        int32_t v = rows->node[n];
        uint32_t own = side ? (uint32_t)v : (uint32_t)(v - graph->users);
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
            int32_t w = graph->neighbour[e];
            uint32_t other = side ? (uint32_t)(w - graph->users) : (uint32_t)w;
            int kept = inmo_drop_keeps(key, threshold, side ? own : other, side ? other : own);
            state->term[found] = w;
            if (state->term_share)
                state->term_share[found] = graph->relative[e];
            found += kept;
            next[w] += kept;
        }
        state->term_end[n] = found;
    }
}

/* The transpose of the kept terms: for each node, the rows of the batch it is a neighbour of, in the order of the
 * whole graph. Rows of users have items as neighbours and rows of items have users, so two threads can fill the two
 * sides. */
static struct inmo_graph named_graph(struct inmo_provider_state *state, const struct inmo_rows *rows,
                                     struct part part)
{
    struct inmo_graph named = *state->binding.graph;
    int64_t *next = state->named_offset + 1, sum = 0;
    memset(next, 0, (size_t)named.nodes * sizeof *next);
#pragma omp parallel for schedule(static, 1) num_threads(inmo_threads())
    for (int side = 0; side < 2; side++)
        list_terms(state, rows, part, side, next);
    for (int32_t v = 0; v < named.nodes; v++) {
        int64_t count = next[v];
        next[v] = sum;
        sum += count;
    }
#pragma omp parallel for schedule(static, 1) num_threads(inmo_threads())
    for (int side = 0; side < 2; side++) {
        int32_t begin = side ? 0 : part.user_rows, end = side ? part.user_rows : rows->count;
        int32_t k = (int32_t)(side ? 0 : part.edges[1]);
        for (int32_t n = begin; n < end; n++)
            for (; k < state->term_end[n]; k++) {
                if (state->term_share)
                    state->named_share[next[state->term[k]]] = state->term_share[k];
                state->named_row[next[state->term[k]]++] = n;
            }
    }
    named.offset = state->named_offset; /* next[v] is now the end of v, which is the beginning of v + 1 */
    named.neighbour = state->named_row;
    return named;
}

/* The rows of a rank's own templates, which are in two stretches like its nodes. fetches: with x of its neighbours,
 * which others have. */
static void gather_own(const struct inmo_provider_state *state, int fetches, struct inmo_gather *job)
{
    const struct inmo_graph *graph = state->binding.graph;
    size_t bytes = (size_t)job->dim * sizeof *job->x;
    if (fetches)
        inmo_share_refresh(graph, (float *)job->x, bytes, NULL);
    for (int side = 0; side < 2; side++) {
        int32_t begin = side ? state->binding.user_rows : 0, end = begin;
        while (end < (side ? state->binding.rows : state->binding.user_rows) &&
               inmo_graph_owns(graph, state->binding.node_of_row[end]))
            end++;
        job->node = state->binding.node_of_row + begin;
        job->node_count = end - begin;
        job->out = state->gradient + (size_t)begin * (size_t)job->dim;
        inmo_gather(job);
    }
    if (fetches)
        inmo_share_release(graph, (float *)job->x, bytes, NULL);
}

static struct inmo_gradient inmo_backward(struct inmo_provider_state *state, const struct inmo_rows *rows,
                                          float *de)
{
    const struct inmo_graph *graph = state->binding.graph;
    int64_t edges = graph->offset[graph->nodes];
    struct inmo_gather job = {
        .graph = graph,
        .dim = state->binding.dim,
        .x = de,
        .node = state->whole ? NULL : state->binding.node_of_row,
        .node_count = state->binding.rows,
        .out = state->gradient,
    };
    struct inmo_general general = {graph, state->binding.dim, state->scale, state->drop};
    struct inmo_gradient gradient = {.value = state->gradient};
    struct part part = {0};
    struct inmo_graph named;
    if (graph->share && rows)
        inmo_share_collect(graph->share, graph->share->batch, graph->share->batch_node, graph->share->batch_index,
                           1, state->scale, graph->share->batch_scale, graph->share->batch_scratch,
                           INMO_TRAFFIC_LOSS);
    inmo_general_gradient(&general, rows, de, state->partial,
                          state->gradient + (size_t)state->binding.rows * (size_t)state->binding.dim);
    if (rows && !graph->share && state->term && edges < INT32_MAX)
        part = part_of(graph, rows);
    if (part.edges[0] + part.edges[1] > 0 && part.edges[0] + part.edges[1] < edges / 2) {
        named = named_graph(state, rows, part);
        job.graph = &named;
        job.edge = state->named_share;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
        for (int32_t n = 0; n < rows->count; n++)
            for (int j = 0; j < job.dim; j++)
                de[(size_t)n * (size_t)job.dim + (size_t)j] *= state->scale[rows->node[n]];
    } else { /* a pass over all edges is no slower */
        job.position = rows ? rows->position : NULL;
        job.weight = state->back ? state->back : state->scale;
        job.edge = graph->weight;
        /* A template item gathers from users, that is, terms of the users' sums: the keys are swapped. */
        job.drop = (struct inmo_drop){state->drop.threshold, state->drop.key_item_rows, state->drop.key_user_rows};
    }
    if (graph->share && job.node)
        gather_own(state, !rows, &job);
    else if (rows)
        inmo_gather(&job);
    else
        inmo_gather_fetching(&job);
    return gradient;
}

static void inmo_rest(struct inmo_provider_state *state)
{
    size_t row = (size_t)state->binding.dim * sizeof(float);
    if (state->gradient == state->e)
        inmo_release(state->e, 0, (size_t)state->binding.graph->nodes * row);
    else if (state->gradient)
        inmo_release(state->gradient, 0, ((size_t)state->binding.rows + 3) * row);
}

const struct inmo_provider inmo_provider_inmo = {
    .name = "inmo",
    .family = "an inmo model",
    .inductive = 1,
    .templates = 1,
    .weights = 1,
    .extra_rows = 3,
    .diagonal = 3,
    .regularises_output = 1,
    .start_rows = inmo_start_rows,
    .create = inmo_create,
    .destroy = inmo_destroy,
    .begin = inmo_begin,
    .forward = inmo_forward,
    .base_rows = 1,
    .additive = 1,
    .base = inmo_base,
    .compose = inmo_compose,
    .backward = inmo_backward,
    .rest = inmo_rest,
};
