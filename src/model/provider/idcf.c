/* idcf.c - IDCF's inductive embeddings: attention over key users and key items (docs/math.md, "idcf").
 *
 * Parameter block: a key for every template (all nodes with interactions, unless template shares are set), users
 * first; keys are the embeddings of a trained LightGCN and stay frozen. After them, the weights of two attentions
 * (attention.h): of users over keys of users, of items over keys of items. The query of a node is the sum of its
 * neighbours' keys (for a user, keys of items). Neither keys nor graph change in training, so queries are summed
 * once.
 *
 * Each head uses a sample of the keys, the same for all queries and redrawn in each step. Outside training it is
 * the sample of seed 0 and step 0, so a model gives the same answers wherever it is loaded.
 *
 * With shared attention, as in the authors' runs, the two attentions are one: they start with the same weights, and
 * each gets the sum of both gradients, so they stay the same. Only then are the biases learned. */
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "model/provider/attention.h"
#include "model/start.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { USER, ITEM, SIDES, CHUNK = 64, BASE_ROWS = 3 * INMO_HEADS * INMO_SAMPLE }; /* CHUNK: rows of a partial sum */

struct inmo_provider_state {
    struct inmo_binding binding;
    struct inmo_attention attention[SIDES];
    int32_t drawn[SIDES][INMO_HEADS][INMO_SAMPLE]; /* rows of the parameter block */
    int32_t *
        numbered;  // (rows) row of key n in the order of original node numbers, if the graph is renumbered; NULL: n
    const float *parameter;  // of the step
    float *query;            // (nodes, dim)
    int has_queries;         /* in training, after the first step */
    float *e;                // (nodes, dim)
    double l2;               /* of Wq and Wk in this step */
    /* in training, else NULL */
    float *share;     // (nodes, HEADS SAMPLE)
    float *gradient;  // (2 sides, all weights)
    double *term;     // (nodes / CHUNK + 1)
};

static int idcf_part(int dim, int n, struct inmo_part *part)
{
    enum { PARTS = INMO_ATTENTION_WEIGHTS + 3 };
    static const char *const side[] = {"user", "item"}, *const name[PARTS] = {"Wq", "Wk", "Wv",  "Wout",
                                                                              "bq", "bv", "bout"};
    int which = n % PARTS;
    if (n >= SIDES * PARTS)
        return 0;
    *part = (struct inmo_part){.rows = which < INMO_ATTENTION_WEIGHTS ? INMO_HEADS * dim
                                       : which < PARTS - 1            ? INMO_HEADS
                                                                      : 1};
    snprintf(part->name, sizeof part->name, "idcf.%s.%s", side[n / PARTS], name[which]);
    return 1;
}

/* Kaiming uniform, biases 0; the inputs of Wout are the outputs of all heads. */
static void idcf_start_weights(const struct inmo_binding *binding, uint64_t key, float *weights)
{
    int dim = binding->dim;
    size_t size = inmo_attention_weight_size(dim);
    uint64_t c = 0;
    for (int side = 0; side < SIDES; side++) {
        float *mine = weights + (size_t)side * inmo_attention_size(dim);
        memset(mine, 0, inmo_attention_size(dim) * sizeof *mine);
        for (int part = 0; part < INMO_ATTENTION_WEIGHTS; part++) {
            double bound = inmo_kaiming_bound(part == INMO_WOUT ? INMO_HEADS * dim : dim);
            for (size_t n = (size_t)part * size; n < (size_t)(part + 1) * size; n++)
                mine[n] = (float)inmo_random_symmetric(key, c++, bound);
        }
        if (binding->shared_attention)
            c = 0;
    }
}

/* Nothing to start: keys come from a trained model. */
static void idcf_start_rows(const struct inmo_row_start *start, float *parameter)
{
    inmo_start_random(start, 0, start->binding->rows, parameter);
}

static void idcf_destroy(struct inmo_provider_state *state)
{
    if (!state)
        return;
    inmo_free(state->numbered);
    inmo_free(state->term);
    inmo_free(state->gradient);
    inmo_free(state->share);
    inmo_free(state->e);
    inmo_free(state->query);
    for (int side = 0; side < SIDES; side++)
        inmo_attention_free(state->attention + side);
    inmo_free(state);
}

static struct inmo_provider_state *idcf_create(const struct inmo_binding *binding, int32_t most_rows,
                                               int for_training)
{
    struct inmo_provider_state *state = inmo_alloc_zero(1, sizeof *state);
    size_t nodes = (size_t)binding->graph->nodes, dim = (size_t)binding->dim;
    int complete = state != NULL;
    (void)most_rows; /* only for backbones that need e of all nodes */
    if (!state)
        return NULL;
    state->binding = *binding;
    for (int side = 0; side < SIDES; side++)
        complete = complete && inmo_attention_make(binding->dim, for_training, state->attention + side) == 0;
    state->query = inmo_alloc(nodes * dim, sizeof *state->query);
    state->e = inmo_alloc(nodes * dim, sizeof *state->e);
    complete = complete && state->query && state->e;
    if (binding->graph->place) {
        state->numbered = inmo_alloc((size_t)binding->rows, sizeof *state->numbered);
        complete = complete && state->numbered;
        for (int32_t v = 0, n = 0; complete && v < binding->graph->nodes; v++) {
            int32_t row = binding->row_of_node[inmo_graph_place(binding->graph, v)];
            if (row >= 0)
                state->numbered[n++] = row;
        }
    }
    if (for_training) {
        state->share = inmo_alloc(nodes * INMO_HEADS * INMO_SAMPLE, sizeof *state->share);
        state->gradient = inmo_alloc(SIDES * inmo_attention_size(binding->dim), sizeof *state->gradient);
        state->term = inmo_alloc(nodes / CHUNK + 1, sizeof *state->term);
        complete = complete && state->share && state->gradient && state->term;
    }
    if (!complete) {
        idcf_destroy(state);
        state = NULL;
    }
    return state;
}

/* Draws the sample of each head of a side, as rows of the parameter block; returns the keys per head. Uses the data
 * set's numbers, even if training renumbers nodes, so a saved model has the samples that validation had. */
static int32_t draw_keys(const struct inmo_binding *binding, const int32_t *numbered,
                         const struct inmo_moment *moment, int side, int32_t drawn[INMO_HEADS][INMO_SAMPLE])
{
    uint64_t key = inmo_random(inmo_key(moment->seed, INMO_STREAM_KEYS), (uint64_t)moment->step);
    int32_t first = side == USER ? 0 : binding->user_rows, keys = 0;
    int32_t count = side == USER ? binding->user_rows : binding->rows - binding->user_rows;
    for (int h = 0; h < INMO_HEADS; h++) {
        keys = inmo_attention_draw(inmo_random(key, (uint64_t)(side * INMO_HEADS + h)), count,
                                   binding->shared_attention, drawn[h]);
        for (int32_t n = 0; n < keys; n++)
            drawn[h][n] = numbered ? numbered[first + drawn[h][n]] : first + drawn[h][n];
    }
    return keys;
}

static void take_keys(struct inmo_attention *attention, int32_t drawn[INMO_HEADS][INMO_SAMPLE],
                      const float *parameter)
{
    size_t dim = (size_t)attention->dim;
    float *key = attention->key;
    for (int h = 0; h < INMO_HEADS; h++)
        for (int32_t n = 0; n < attention->keys; n++, key += dim)
            memcpy(key, parameter + (size_t)drawn[h][n] * dim, dim * sizeof *key);
}

static void idcf_begin(struct inmo_provider_state *state, const float *weights, const struct inmo_moment *moment)
{
    for (int side = 0; side < SIDES; side++) {
        state->attention[side].keys = draw_keys(&state->binding, state->numbered, moment, side, state->drawn[side]);
        state->attention[side].learns_biases = state->binding.shared_attention;
        state->attention[side].weights = weights + (size_t)side * inmo_attention_size(state->binding.dim);
    }
}

/* q_v = Σ_{w in N_v, with a key} k_w */
static void sum_queries(struct inmo_provider_state *state, const float *parameter)
{
    struct inmo_gather job = {
        .graph = state->binding.graph,
        .dim = state->binding.dim,
        .x = parameter,
        .position = state->binding.row_of_node,
        .out = state->query,
    };
    inmo_gather(&job);
}

/* The first node of a side, and the number of its nodes. */
static int32_t nodes_of(const struct inmo_graph *graph, int side, size_t *first)
{
    *first = side == USER ? 0 : (size_t)graph->users;
    return side == USER ? graph->users : graph->items;
}

static const float *idcf_forward(struct inmo_provider_state *state, const float *parameter,
                                 const struct inmo_rows *rows)
{
    size_t dim = (size_t)state->binding.dim, first;
    (void)rows;
    if (!state->has_queries)
        sum_queries(state, parameter);
    state->has_queries = state->share != NULL;
    state->parameter = parameter;
    for (int side = 0; side < SIDES; side++) {
        int32_t count = nodes_of(state->binding.graph, side, &first);
        take_keys(state->attention + side, state->drawn[side], parameter);
        inmo_attention_prepare(state->attention + side);
        inmo_attention_forward(state->attention + side, count, state->query + first * dim,
                               state->share ? state->share + first * INMO_HEADS * INMO_SAMPLE : NULL,
                               state->e + first * dim);
    }
    return state->e;
}

/* weight (ln Σ_j e^{e·k_j} - e·k), with k the node's own key and k_j those of the last head; adds the gradient to
 * de. */
static double contrast(const struct inmo_attention *attention, double weight, const float *e, const float *own,
                       float *de)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int dim = attention->dim;
    int32_t keys = attention->keys;
    const float *key = attention->key + (size_t)(INMO_HEADS - 1) * (size_t)keys * (size_t)dim;
    float similar[INMO_SAMPLE], highest;
    int32_t row[INMO_SAMPLE];
    double sum;
    kernels->dot_rows(keys, dim, e, key, similar);
    highest = kernels->largest(keys, similar);
    sum = kernels->exponentials(keys, 1, highest, similar);
    for (int32_t j = 0; j < keys; j++) {
        row[j] = j;
        similar[j] *= (float)(weight / sum);
    }
    kernels->add_rows(dim, keys, similar, row, key, de);
    kernels->add_scaled(dim, (float)-weight, own, de);
    return weight * (highest + log(sum) - kernels->dot(dim, e, own));
}

static double square_norms(const struct inmo_provider_state *state)
{
    size_t size = inmo_attention_weight_size(state->binding.dim);
    double sum = 0;
    for (int side = 0; side < (state->binding.shared_attention ? 1 : SIDES); side++)
        for (size_t n = INMO_WQ * size; n < (INMO_WK + 1) * size; n++)
            sum += (double)state->attention[side].weights[n] * state->attention[side].weights[n];
    return sum;
}

static double idcf_own_loss(struct inmo_provider_state *state, const struct inmo_rows *rows, const float *weight,
                            double l2, float *de)
{
    const struct inmo_binding *binding = &state->binding;
    size_t dim = (size_t)binding->dim;
    int32_t chunks = (rows->count + CHUNK - 1) / CHUNK;
    double loss = l2 > 0 ? l2 * square_norms(state) : 0;
    state->l2 = l2;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t chunk = 0; chunk < chunks; chunk++) {
        int32_t end = (chunk + 1) * CHUNK < rows->count ? (chunk + 1) * CHUNK : rows->count;
        state->term[chunk] = 0;
        for (int32_t n = chunk * CHUNK; n < end; n++) {
            int32_t v = rows->node[n], row = binding->row_of_node[v];
            if (weight[n] > 0 && row >= 0)
                state->term[chunk] += contrast(state->attention + (v < binding->graph->users ? USER : ITEM),
                                               weight[n], state->e + (size_t)v * dim,
                                               state->parameter + (size_t)row * dim, de + (size_t)v * dim);
        }
    }
    for (int32_t chunk = 0; chunk < chunks; chunk++)
        loss += state->term[chunk];
    return loss;
}

static struct inmo_gradient idcf_backward(struct inmo_provider_state *state, const struct inmo_rows *rows,
                                          float *de)
{
    size_t dim = (size_t)state->binding.dim, first;
    (void)rows;
    for (int side = 0; side < SIDES; side++) {
        int32_t count = nodes_of(state->binding.graph, side, &first);
        inmo_attention_backward(state->attention + side, count, state->query + first * dim,
                                state->share + first * INMO_HEADS * INMO_SAMPLE, de + first * dim,
                                state->binding.shared_attention && side == ITEM ? 0 : state->l2,
                                state->gradient + (size_t)side * inmo_attention_size(state->binding.dim));
    }
    if (state->binding.shared_attention) {
        size_t size = inmo_attention_size(state->binding.dim);
        for (size_t n = 0; n < size; n++)
            state->gradient[n] = state->gradient[size + n] = state->gradient[n] + state->gradient[size + n];
    }
    return (struct inmo_gradient){.weights = state->gradient};
}

/* M, V and c of the users' keys, and of the items'. */
static int idcf_base(const struct inmo_binding *binding, const float *parameter, const float *weights, float *base)
{
    struct inmo_attention attention;
    struct inmo_moment moment = {.step = binding->sample};
    int32_t drawn[INMO_HEADS][INMO_SAMPLE];
    size_t dim = (size_t)binding->dim;
    if (inmo_attention_make(binding->dim, 0, &attention))
        return -1;
    for (int side = 0; side < SIDES; side++) {
        float *to = base + (size_t)side * BASE_ROWS * dim;
        size_t size;
        attention.weights = weights + (size_t)side * inmo_attention_size(binding->dim);
        attention.keys = draw_keys(binding, NULL, &moment, side, drawn);
        take_keys(&attention, drawn, parameter);
        inmo_attention_prepare(&attention);
        size = (size_t)INMO_HEADS * (size_t)attention.keys * dim;
        memcpy(to, attention.match, size * sizeof *to);
        memcpy(to + size, attention.value, size * sizeof *to);
        memcpy(to + 2 * size, attention.offset, (size_t)(INMO_HEADS * attention.keys) * sizeof *to);
    }
    inmo_attention_free(&attention);
    return 0;
}

/* The query is the sum over the neighbours' keys; e is what attention makes of it. */
static void idcf_compose(const struct inmo_composition *job, float *e)
{
    const struct inmo_binding *binding = job->binding;
    size_t dim = (size_t)binding->dim, size;
    int32_t keys = job->is_item ? binding->rows - binding->user_rows : binding->user_rows;
    const float *base = job->base + (job->is_item ? BASE_ROWS * dim : 0);
    keys = keys < INMO_SAMPLE && !(binding->shared_attention && keys > 0) ? keys : INMO_SAMPLE;
    size = (size_t)INMO_HEADS * (size_t)keys * dim;
    memset(e, 0, dim * sizeof *e);
    for (int32_t n = 0; n < job->count; n++) {
        int32_t row = binding->row_of_node[job->node[n]];
        if (row >= 0)
            inmo_kernels()->add_scaled(binding->dim, 1, job->parameter + (size_t)row * dim, e);
    }
    inmo_attention_one(binding->dim, keys, base, base + size, base + 2 * size, e);
}

const struct inmo_provider inmo_provider_idcf = {
    .name = "idcf",
    .inductive = 1,
    .templates = 1,
    .regularises_output = 1,
    .frozen_from = "lightgcn",
    .base_rows = BASE_ROWS,
    .part = idcf_part,
    .start_weights = idcf_start_weights,
    .start_rows = idcf_start_rows,
    .create = idcf_create,
    .destroy = idcf_destroy,
    .begin = idcf_begin,
    .forward = idcf_forward,
    .base = idcf_base,
    .compose = idcf_compose,
    .own_loss = idcf_own_loss,
    .backward = idcf_backward,
};
