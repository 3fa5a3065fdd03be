/* readout.c - see readout.h. The scaling is diagonal, so it is its own transpose: gradients use the same call. */
#include "model/readout.h"

#include "base/threads.h"
#include "graph/share.h"

#include <math.h>

void inmo_readout_scales(const struct inmo_graph *graph, double popularity, float *scale)
{
    for (int32_t i = 0; i < graph->items; i++) {
        double degree = inmo_graph_strength(graph, graph->users + i);
        scale[i] = (float)pow(degree > 0 ? degree : 1, popularity);
    }
}

void inmo_readout(const struct inmo_graph *graph, const struct inmo_rows *rows, int width, const float *scale,
                  float *x)
{
    int32_t count = rows ? rows->count : graph->nodes;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < count; n++) {
        int32_t v = rows ? rows->node[n] : n;
        float *row = x + (size_t)n * (size_t)width, factor = v < graph->users ? 1 : scale[v - graph->users];
        int scaled = v >= graph->users && inmo_graph_owns(graph, v);
        for (int j = 0; scaled && j < width; j++)
            row[j] *= factor;
    }
}
