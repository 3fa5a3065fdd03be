/* bench_gather.c - one whole sparse product of the graph, alone: milliseconds and the bytes of rows gathered a
 * second, in float and half storage; and the same with every neighbour among 1,024 rows, which lie in the core's
 * own cache and so show what the memory costs.
 *
 *     bench_gather DATA */
#include "base/memory.h"
#include "base/threads.h"
#include "data/dataset.h"
#include "kernel/kernel.h"

#include <stdio.h>

static double best_ms(const struct inmo_gather *job)
{
    double best = 1e9;
    for (int n = 0; n < 50; n++) {
        double begin = inmo_now();
        inmo_gather(job);
        if (1e3 * (inmo_now() - begin) < best)
            best = 1e3 * (inmo_now() - begin);
    }
    return best;
}

int main(int argc, char **argv)
{
    enum { DIM = 64, NEAR_ROWS = 1024 };
    struct inmo_error error = {0};
    struct inmo_dataset *data = NULL;
    struct inmo_graph *graph = NULL;
    if (argc < 2 || inmo_dataset_open(argv[1], &data, &error)) {
        fprintf(stderr, "usage: bench_gather DATA\n%s\n", error.message);
        return 2;
    }
    const struct inmo_csr *lists[1] = {&data->train};
    if (inmo_graph_build(data->users.count, data->items.count, lists, 1, &graph, &error))
        return 1;
    size_t size = (size_t)graph->nodes * DIM;
    float *x = inmo_alloc_zero(size, sizeof *x), *out = inmo_alloc(size, sizeof *out);
    uint32_t *half = inmo_alloc_zero(size / 2, sizeof *half), *half_out = inmo_alloc(size / 2, sizeof *half_out);
    if (!x || !out || !half || !half_out)
        return 1;
    struct inmo_gather whole = {.graph = graph, .dim = DIM, .x = x, .scale = graph->inverse_degree, .out = out};
    struct inmo_gather rough = {
        .graph = graph, .dim = DIM, .half = half, .scale = graph->inverse_degree, .half_out = half_out};
    for (int near = 0; near < 2; near++) {
        for (int64_t e = 0; near && e < 2 * graph->edges; e++)
            graph->neighbour[e] %= NEAR_ROWS;
        double ms = best_ms(&whole), half_ms = best_ms(&rough), rows = 2.0 * (double)graph->edges;
        printf("{\"rows\": \"%s\", \"threads\": %d, \"float_ms\": %.2f, \"float_gb_s\": %.1f, \"half_ms\": %.2f, "
               "\"half_gb_s\": %.1f}\n",
               near ? "in the core's cache" : "of the graph", inmo_threads(), ms, rows * 4 * DIM / ms * 1e-6,
               half_ms, rows * 2 * DIM / half_ms * 1e-6);
    }
    inmo_free(half_out);
    inmo_free(half);
    inmo_free(out);
    inmo_free(x);
    inmo_graph_free(graph);
    inmo_dataset_free(data);
    return 0;
}
