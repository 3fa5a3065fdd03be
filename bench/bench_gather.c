/* bench_gather.c - one whole sparse product of the graph, alone: milliseconds and the bytes of rows gathered a
 * second, in float and half storage; and the same with every neighbour among 1,024 rows, which lie in the core's
 * own cache and so show what the memory costs.
 *
 *     bench_gather DATA
 *
 * Then, with one thread, the kernels of every instruction set in turn: the products, a batch's rows, and a product
 * with half of the terms dropped, each beside the bare sum of the same rows in the same order, which has no ends of
 * rows, no dropping and no output. A time is the sum of the least times of short stretches of rows, which other
 * programs on the machine hardly change. */
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "data/dataset.h"
#include "kernel/kernel.h"
#include "kernel/probe.h"

#include <math.h>
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

enum { DIM = 64, NEAR_ROWS = 1024, BATCH = 6144, STRETCH = 64, ROUNDS = 15, VARIANTS = 4 };
#define DROPPED 0x80000000u

/* The rows that a job adds, one after the other. */
struct bare {
    int32_t *row;
    int64_t count;
};

static struct bare list_terms(const struct inmo_gather *job)
{
    const struct inmo_graph *graph = job->graph;
    int32_t rows = job->node ? job->node_count : graph->nodes;
    struct bare bare = {inmo_alloc((size_t)graph->offset[graph->nodes], sizeof *bare.row), 0};
    for (int32_t n = 0; bare.row && n < rows; n++) {
        int32_t v = job->node ? job->node[n] : n, users = graph->users;
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
            uint32_t w = (uint32_t)graph->neighbour[e], u = (uint32_t)users;
            if (v < users ? inmo_drop_keeps(job->drop.key_user_rows, job->drop.threshold, (uint32_t)v, w - u)
                          : inmo_drop_keeps(job->drop.key_item_rows, job->drop.threshold, w, (uint32_t)v - u))
                bare.row[bare.count++] = graph->neighbour[e];
        }
    }
    return bare;
}

/* Least milliseconds of stretch n of so many: of the job or, with rows, of summing them alone. */
static double stretch_ms(const struct inmo_kernels *kernels, const struct inmo_gather *job, const struct bare *bare,
                         int64_t n, int64_t stretches)
{
    int64_t all = bare ? bare->count : job->node ? job->node_count : job->graph->nodes;
    int64_t from = all * n / stretches, to = all * (n + 1) / stretches;
    double begin = inmo_now();
    if (!bare)
        kernels->gather_range(job, (int32_t)from, (int32_t)to);
    else if (isnan(kernels->probes->rows((size_t)(to - from), bare->row + from, job->half ? DIM / 2 : DIM,
                                         job->half ? (const float *)job->half : job->x)))
        puts(""); /* never: but the compiler must believe that the sum is looked at */
    return 1e3 * (inmo_now() - begin);
}

/* All variants in turn, each twice: the job, and its rows alone. */
static int compare(const char *name, const char *rows, const struct inmo_gather *job)
{
    int64_t stretches = ((job->node ? job->node_count : job->graph->nodes) + STRETCH - 1) / STRETCH;
    double *least = inmo_alloc(2 * VARIANTS * (size_t)stretches, sizeof *least);
    struct bare bare = list_terms(job);
    if (!least || !bare.row)
        return 1;
    for (int64_t n = 0; n < 2 * VARIANTS * stretches; n++)
        least[n] = 1e9;
    for (int round = 0; round < ROUNDS; round++)
        for (int k = 0; inmo_kernels_at(k); k++)
            for (int alone = 0; alone < 2; alone++)
                for (int64_t n = 0; n < stretches; n++) {
                    double *best = least + (2 * k + alone) * stretches + n;
                    *best = fmin(*best, stretch_ms(inmo_kernels_at(k), job, alone ? &bare : NULL, n, stretches));
                }
    for (int k = 0; inmo_kernels_at(k); k++) {
        double ms[2] = {0, 0};
        for (int64_t n = 0; n < 2 * stretches; n++)
            ms[n / stretches] += least[2 * k * stretches + n];
        printf("{\"rows\": \"%s\", \"job\": \"%s\", \"kernel\": \"%s\", \"ms\": %.3f, \"bare_ms\": %.3f, "
               "\"ratio\": %.2f}\n",
               rows, name, inmo_kernels_at(k)->name, ms[0], ms[1], ms[0] / ms[1]);
    }
    inmo_free(bare.row);
    inmo_free(least);
    return 0;
}

/* Nodes of a batch, ascending: each of the graph's nodes with the same probability. */
static int32_t draw_batch(const struct inmo_graph *graph, int32_t *node)
{
    int32_t count = 0;
    for (int32_t v = 0; v < graph->nodes && count < BATCH; v++)
        if (inmo_random_below(inmo_random(inmo_key(1, 103), (uint64_t)v), (uint32_t)graph->nodes) < BATCH)
            node[count++] = v;
    return count;
}

int main(int argc, char **argv)
{
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
    static int32_t node[BATCH];
    struct inmo_gather batch = whole, dropped = whole;
    batch.node = node;
    batch.node_count = draw_batch(graph, node);
    dropped.drop = (struct inmo_drop){DROPPED, 11, 12};
    for (int near = 0; near < 2; near++) {
        const char *rows_of = near ? "in the core's cache" : "of the graph";
        for (int64_t e = 0; near && e < 2 * graph->edges; e++)
            graph->neighbour[e] %= NEAR_ROWS;
        double ms = best_ms(&whole), half_ms = best_ms(&rough), rows = 2.0 * (double)graph->edges;
        printf("{\"rows\": \"%s\", \"threads\": %d, \"float_ms\": %.2f, \"float_gb_s\": %.1f, \"half_ms\": %.2f, "
               "\"half_gb_s\": %.1f}\n",
               rows_of, inmo_threads(), ms, rows * 4 * DIM / ms * 1e-6, half_ms, rows * 2 * DIM / half_ms * 1e-6);
        if (compare("float", rows_of, &whole) || compare("half", rows_of, &rough) ||
            compare("a batch's rows", rows_of, &batch) || compare("half of the terms dropped", rows_of, &dropped))
            return 1;
    }
    inmo_free(half_out);
    inmo_free(half);
    inmo_free(out);
    inmo_free(x);
    inmo_graph_free(graph);
    inmo_dataset_free(data);
    return 0;
}
