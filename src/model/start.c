/* start.c - see start.h. */
#include "model/start.h"

#include "base/random.h"
#include "base/threads.h"
#include "graph/share.h"

#include <math.h>

/* The node of a row, or -1 of an extra row. */
static int32_t node_of(const struct inmo_binding *binding, int64_t row)
{
    if (row >= binding->rows)
        return -1;
    return binding->node_of_row ? binding->node_of_row[row] : (int32_t)row;
}

/* Other ranks have their nodes' rows. */
static int is_elsewhere(const struct inmo_binding *binding, int64_t row)
{
    int32_t node = node_of(binding, row);
    return node >= 0 && !inmo_graph_owns(binding->graph, node);
}

void inmo_start_random(const struct inmo_row_start *start, int64_t first, int64_t count, float *parameter)
{
    size_t dim = (size_t)start->binding->dim;
    int columns = start->columns;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int64_t r = first; r < first + count; r++) {
        if (is_elsewhere(start->binding, r))
            continue;
        for (size_t j = 0; j < dim; j++) {
            uint64_t n = (uint64_t)start->number[r] * dim + j;
            double bound = (int)j < columns ? start->bound : start->further_bound;
            parameter[(size_t)r * dim + j] =
                (float)(start->bound > 0 ? inmo_random_symmetric(start->key, n, bound)
                                         : start->deviation * inmo_random_normal(start->key, n));
        }
    }
}

void inmo_start_spectral(const struct inmo_row_start *start, const float *factor, float *parameter)
{
    const struct inmo_binding *binding = start->binding;
    const struct inmo_graph *graph = binding->graph;
    const struct inmo_svd *svd = start->svd;
    size_t dim = (size_t)binding->dim, rank = (size_t)svd->rank;
    for (int32_t r = 0; r < binding->rows; r++) {
        int32_t node = node_of(binding, r);
        const float *from =
            node < graph->users ? svd->u + (size_t)node * rank : svd->v + (size_t)(node - graph->users) * rank;
        if (is_elsewhere(binding, r))
            continue;
        /* Singular vectors have length 1 over all nodes; this makes the length of a row about start->scale. */
        double scale = start->scale *
                       sqrt(node < graph->users ? inmo_graph_whole(graph)->users : inmo_graph_whole(graph)->items);
        if (factor)
            scale *= factor[node];
        for (size_t j = 0; j < (size_t)start->columns; j++)
            parameter[(size_t)r * dim + j] = j < rank ? (float)(scale * from[j]) : 0;
    }
}
