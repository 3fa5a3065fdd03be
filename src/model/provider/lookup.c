/* lookup.c - e_v is row v of a learned table. Two providers, which differ for nodes without a row:
 *
 *     lookup    has no embedding for it (zeros here; callers that would show a result for it refuse before)
 *     average   gives it the mean of all rows, and leaves the rest to the backbone: IMC-GAE's postprocessing */
#include "base/memory.h"
#include "base/threads.h"
#include "model/start.h"

#include <string.h>

struct inmo_provider_state {
    struct inmo_binding binding;
    float *e;     // (nodes, dim); NULL if the table itself can be used
    float *mean;  // (dim) average: for nodes without a row; else NULL
};

static void lookup_destroy(struct inmo_provider_state *state)
{
    if (!state)
        return;
    inmo_free(state->mean);
    inmo_free(state->e);
    inmo_free(state);
}

static struct inmo_provider_state *lookup_create(const struct inmo_binding *binding, int32_t most_rows,
                                                 int for_training)
{
    struct inmo_provider_state *state = inmo_alloc_zero(1, sizeof *state);
    (void)most_rows;
    (void)for_training;
    if (!state)
        return NULL;
    state->binding = *binding;
    if (binding->row_of_node) {
        state->e = inmo_alloc((size_t)binding->graph->nodes * (size_t)binding->dim, sizeof *state->e);
        if (!state->e) {
            lookup_destroy(state);
            state = NULL;
        }
    }
    return state;
}

static struct inmo_provider_state *average_create(const struct inmo_binding *binding, int32_t most_rows,
                                                  int for_training)
{
    struct inmo_provider_state *state = lookup_create(binding, most_rows, for_training);
    if (state && binding->row_of_node) {
        state->mean = inmo_alloc((size_t)binding->dim, sizeof *state->mean);
        if (!state->mean) {
            lookup_destroy(state);
            state = NULL;
        }
    }
    return state;
}

/* c U and c V of the SVD themselves, where the start is spectral. */
static void lookup_start_rows(const struct inmo_row_start *start, float *parameter)
{
    inmo_start_random(start, 0, start->binding->rows, parameter);
    if (start->svd)
        inmo_start_spectral(start, NULL, parameter);
}

/* The mean of all rows, also of those whose node the graph does not have. */
static void mean_row(const struct inmo_binding *binding, const float *parameter, float *mean)
{
    enum { COLUMNS = 64 };
    size_t dim = (size_t)binding->dim;
    for (size_t first = 0; first < dim; first += COLUMNS) {
        size_t columns = dim - first < COLUMNS ? dim - first : COLUMNS;
        double sum[COLUMNS] = {0};
        for (size_t r = 0; r < (size_t)binding->rows; r++)
            for (size_t j = 0; j < columns; j++)
                sum[j] += parameter[r * dim + first + j];
        for (size_t j = 0; j < columns; j++)
            mean[first + j] = binding->rows > 0 ? (float)(sum[j] / binding->rows) : 0;
    }
}

static int average_base(const struct inmo_binding *binding, const float *parameter, const float *weights,
                        float *base)
{
    (void)weights;
    mean_row(binding, parameter, base);
    memcpy(base + binding->dim, base, (size_t)binding->dim * sizeof *base);
    return 0;
}

/* The own row, or the mean (zeros for lookup, which has none). The neighbours are the backbone's business. */
static void table_compose(const struct inmo_composition *job, float *e)
{
    size_t dim = (size_t)job->binding->dim;
    const float *from =
        job->own_row >= 0 ? job->parameter + (size_t)job->own_row * dim : job->base + (job->is_item ? dim : 0);
    if (job->with_base)
        memcpy(e, from, dim * sizeof *e);
    else
        memset(e, 0, dim * sizeof *e);
}

static void lookup_begin(struct inmo_provider_state *state, const float *weights, const struct inmo_moment *moment)
{
    (void)state;
    (void)weights;
    (void)moment;
}

/* Row = node. */
static const struct inmo_rows *lookup_touches(struct inmo_provider_state *state, const struct inmo_rows *rows)
{
    (void)state;
    return rows;
}

static const float *lookup_forward(struct inmo_provider_state *state, const float *parameter,
                                   const struct inmo_rows *rows)
{
    const struct inmo_binding *binding = &state->binding;
    size_t dim = (size_t)binding->dim;
    if (rows || !binding->row_of_node) /* the rows named by touches, or all */
        return parameter;
    if (state->mean)
        mean_row(binding, parameter, state->mean);
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t v = 0; v < binding->graph->nodes; v++) {
        int32_t row = binding->row_of_node[v];
        if (row >= 0)
            memcpy(state->e + (size_t)v * dim, parameter + (size_t)row * dim, dim * sizeof *state->e);
        else if (state->mean)
            memcpy(state->e + (size_t)v * dim, state->mean, dim * sizeof *state->e);
        else
            memset(state->e + (size_t)v * dim, 0, dim * sizeof *state->e);
    }
    return state->e;
}

/* Trained only on its own graph, where row = node: the gradient of the table is de. */
static struct inmo_gradient lookup_backward(struct inmo_provider_state *state, const struct inmo_rows *rows,
                                            float *de)
{
    struct inmo_gradient gradient = {.value = de, .rows = rows};
    (void)state;
    return gradient;
}

const struct inmo_provider inmo_provider_lookup = {
    .name = "lookup",
    .inductive = 0,
    .templates = 0,
    .extra_rows = 0,
    .regularises_output = 0,
    .is_table = 1,
    .weights = 1,
    .start_rows = lookup_start_rows,
    .create = lookup_create,
    .destroy = lookup_destroy,
    .begin = lookup_begin,
    .touches = lookup_touches,
    .forward = lookup_forward,
    .base_rows = 1,
    .additive = 1,
    .compose = table_compose,
    .backward = lookup_backward,
};

const struct inmo_provider inmo_provider_average = {
    .name = "average",
    .inductive = 1,
    .templates = 0,
    .extra_rows = 0,
    .regularises_output = 0,
    .start_rows = lookup_start_rows,
    .create = average_create,
    .destroy = lookup_destroy,
    .begin = lookup_begin,
    .touches = lookup_touches,
    .forward = lookup_forward,
    .base_rows = 1,
    .additive = 1,
    .base = average_base,
    .compose = table_compose,
    .backward = lookup_backward,
};
