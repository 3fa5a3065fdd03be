/* bench_spmm.c - one whole sparse product of the graph, both halves, beside the sparse libraries of Debian:
 *
 *     z_user = D_user^-1 Y z_item,   z_item = D_item^-1 Y' z_user        (users + items) x 64, float
 *
 *     bench_spmm DATA [ROUNDS [THREADS [inmo]]]     inmo: ours alone, for torch_spmm.py
 *
 * Each library computes it in the ways that give it its best chance:
 *
 *     ours        the gather of src/kernel, which divides by the degree as it goes
 *     GraphBLAS   GrB_mxm with plus_second: no values of A are read (it is iso), the dense operand is a full
 *                 matrix; A whole and in its two halves; and added to a full matrix, for which it has loops of
 *                 their own. Without the division, which is left to whoever calls.
 *     librsb      rsb_spmm of A with the values 1/degree, one product, after its own tuning for exactly this
 *                 product; row-major operands
 *
 * The rounds are interleaved, each result is compared with ours, and a JSON line gives medians in milliseconds
 * and the ratios to ours, round by round: median, least, most. Libraries this was not built with are left out.
 * Ours asks for huge pages; GLIBC_TUNABLES=glibc.malloc.hugetlb=1 gives them to the others, too (bench/run.sh). */
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "data/dataset.h"
#include "kernel/kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef BENCH_GRAPHBLAS
#include <GraphBLAS.h>
#endif
#ifdef BENCH_RSB
#include <rsb.h>
#endif

enum { DIM = 64, MOST_ROUNDS = 100 };

struct world {
    const struct inmo_graph *graph;
    float *x, *out;  // (nodes, DIM)
};

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int ours(struct world *world)
{
    struct inmo_gather job = {
        .graph = world->graph, .dim = DIM, .x = world->x, .scale = world->graph->inverse_degree, .out = world->out};
    inmo_gather(&job);
    return 0;
}

#ifdef BENCH_GRAPHBLAS
/* rows x columns of the adjacency, by rows; a part of the graph. */
static int pattern(const struct inmo_graph *graph, int32_t begin, int32_t end, int32_t first, int32_t columns,
                   GrB_Matrix *matrix)
{
    int64_t count = graph->offset[end] - graph->offset[begin];
    GrB_Index rows = (GrB_Index)(end - begin), *row = malloc(((size_t)count + 1) * sizeof *row);
    GrB_Index *column = malloc(((size_t)count + 1) * sizeof *column);
    GrB_Scalar one = NULL;
    int failed = !row || !column;
    for (int32_t v = begin; v < end && !failed; v++)
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
            row[e - graph->offset[begin]] = (GrB_Index)(v - begin);
            column[e - graph->offset[begin]] = (GrB_Index)(graph->neighbour[e] - first);
        }
    failed = failed || GrB_Scalar_new(&one, GrB_FP32) || GrB_Scalar_setElement(one, 1.0f) ||
             GrB_Matrix_new(matrix, GrB_FP32, rows, (GrB_Index)columns) ||
             GxB_Matrix_build_Scalar(*matrix, row, column, one, (GrB_Index)count) ||
             GrB_Matrix_wait(*matrix, GrB_MATERIALIZE);
    GrB_Scalar_free(&one);
    free(column);
    free(row);
    return failed;
}

static int dense(const float *from, int32_t rows, GrB_Matrix *matrix)
{
    size_t bytes = (size_t)rows * DIM * sizeof(float);
    void *copy = malloc(bytes);
    if (!copy)
        return 1;
    memcpy(copy, from, bytes);
    return GrB_Matrix_new(matrix, GrB_FP32, (GrB_Index)rows, DIM) ||
           GxB_Matrix_pack_FullR(*matrix, &copy, bytes, false, NULL);
}

static GrB_Matrix whole, half[2], operand, operand_of[2], product, product_of[2], sum[2];

/* Full matrices of zeros to add to: only then does GraphBLAS take the loops it has for dense results. */
static int start_sums(const struct inmo_graph *graph)
{
    float *zero = calloc((size_t)graph->nodes * DIM, sizeof *zero);
    int failed;
    GrB_Matrix_free(&sum[0]);
    GrB_Matrix_free(&sum[1]);
    failed = !zero || dense(zero, graph->users, &sum[0]) || dense(zero, graph->items, &sum[1]);
    free(zero);
    return failed;
}

static int start_graphblas(struct world *world, int threads)
{
    const struct inmo_graph *graph = world->graph;
    int32_t users = graph->users, items = graph->items, nodes = graph->nodes;
    return GrB_init(GrB_NONBLOCKING) || GxB_set(GxB_NTHREADS, threads) ||
           pattern(graph, 0, nodes, 0, nodes, &whole) || pattern(graph, 0, users, users, items, &half[0]) ||
           pattern(graph, users, nodes, 0, users, &half[1]) || dense(world->x, nodes, &operand) ||
           dense(world->x + (size_t)users * DIM, items, &operand_of[0]) || dense(world->x, users, &operand_of[1]) ||
           GrB_Matrix_new(&product, GrB_FP32, (GrB_Index)nodes, DIM) ||
           GrB_Matrix_new(&product_of[0], GrB_FP32, (GrB_Index)users, DIM) ||
           GrB_Matrix_new(&product_of[1], GrB_FP32, (GrB_Index)items, DIM) || start_sums(graph);
}

static int graphblas_whole(struct world *world)
{
    (void)world;
    return GrB_mxm(product, NULL, NULL, GxB_PLUS_SECOND_FP32, whole, operand, NULL) ||
           GrB_Matrix_wait(product, GrB_MATERIALIZE);
}

static int graphblas_halves(struct world *world)
{
    (void)world;
    return GrB_mxm(product_of[0], NULL, NULL, GxB_PLUS_SECOND_FP32, half[0], operand_of[0], NULL) ||
           GrB_mxm(product_of[1], NULL, NULL, GxB_PLUS_SECOND_FP32, half[1], operand_of[1], NULL) ||
           GrB_Matrix_wait(product_of[0], GrB_MATERIALIZE) || GrB_Matrix_wait(product_of[1], GrB_MATERIALIZE);
}

static int graphblas_add(GrB_Semiring semiring)
{
    return GrB_mxm(sum[0], NULL, GrB_PLUS_FP32, semiring, half[0], operand_of[0], NULL) ||
           GrB_mxm(sum[1], NULL, GrB_PLUS_FP32, semiring, half[1], operand_of[1], NULL) ||
           GrB_Matrix_wait(sum[0], GrB_MATERIALIZE) || GrB_Matrix_wait(sum[1], GrB_MATERIALIZE);
}

static int graphblas_add_second(struct world *world)
{
    (void)world;
    return graphblas_add(GxB_PLUS_SECOND_FP32);
}

static int graphblas_add_times(struct world *world)
{
    (void)world;
    return graphblas_add(GrB_PLUS_TIMES_SEMIRING_FP32);
}

/* The product, divided by the degrees, into out. */
static void take(const struct inmo_graph *graph, GrB_Matrix matrix, int32_t begin, int32_t rows, float *out)
{
    for (int32_t n = 0; n < rows; n++)
        for (int j = 0; j < DIM; j++) {
            float value = 0;
            GrB_Matrix_extractElement(&value, matrix, (GrB_Index)n, (GrB_Index)j);
            out[(size_t)(begin + n) * DIM + (size_t)j] = value * graph->inverse_degree[begin + n];
        }
}

static void take_whole(struct world *world)
{
    take(world->graph, product, 0, world->graph->nodes, world->out);
}

static void take_halves(struct world *world)
{
    take(world->graph, product_of[0], 0, world->graph->users, world->out);
    take(world->graph, product_of[1], world->graph->users, world->graph->items, world->out);
}

static void take_sums(struct world *world)
{
    take(world->graph, sum[0], 0, world->graph->users, world->out);
    take(world->graph, sum[1], world->graph->users, world->graph->items, world->out);
    start_sums(world->graph); /* the next way to be checked starts at zero, too */
}
#endif

#ifdef BENCH_RSB
static struct rsb_mtx_t *tuned;

static int start_rsb(struct world *world, int threads)
{
    const struct inmo_graph *graph = world->graph;
    const float one = 1, zero = 0;
    rsb_coo_idx_t *row = malloc(2 * (size_t)graph->edges * sizeof *row);
    float *value = malloc(2 * (size_t)graph->edges * sizeof *value);
    rsb_int_t wanted = threads;
    rsb_err_t failed = !row || !value || rsb_lib_init(RSB_NULL_INIT_OPTIONS);
    for (int32_t v = 0; v < graph->nodes && !failed; v++)
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
            row[e] = v;
            value[e] = graph->inverse_degree[v];
        }
    if (!failed)
        failed = rsb_lib_set_opt(RSB_IO_WANT_EXECUTING_THREADS, &wanted);
    if (!failed)
        tuned = rsb_mtx_alloc_from_coo_const(value, row, graph->neighbour, (rsb_nnz_idx_t)(2 * graph->edges),
                                             RSB_NUMERICAL_TYPE_FLOAT, graph->nodes, graph->nodes, 1, 1,
                                             RSB_FLAG_NOFLAGS | RSB_FLAG_WANT_ROW_MAJOR_ORDER, &failed);
    if (!failed && tuned)
        failed = rsb_tune_spmm(&tuned, NULL, NULL, 3, 10, RSB_TRANSPOSITION_N, &one, NULL, DIM,
                               RSB_FLAG_WANT_ROW_MAJOR_ORDER, world->x, DIM, &zero, world->out, DIM);
    free(value);
    free(row);
    return failed || !tuned;
}

static int rsb_product(struct world *world)
{
    const float one = 1, zero = 0;
    return rsb_spmm(RSB_TRANSPOSITION_N, &one, tuned, DIM, RSB_FLAG_WANT_ROW_MAJOR_ORDER, world->x, DIM, &zero,
                    world->out, DIM);
}
#endif

struct way {
    const char *name;
    int (*run)(struct world *world);
    void (*take)(struct world *world); /* leaves the result in out; NULL: run does */
    double ms[MOST_ROUNDS];
};

static struct way ways[] = {
    {"inmo", ours, NULL, {0}},
#ifdef BENCH_GRAPHBLAS
    {"GraphBLAS, whole", graphblas_whole, take_whole, {0}},
    {"GraphBLAS, halves", graphblas_halves, take_halves, {0}},
    {"GraphBLAS, halves added to a full matrix", graphblas_add_second, take_sums, {0}},
    {"the same with plus_times", graphblas_add_times, take_sums, {0}},
#endif
#ifdef BENCH_RSB
    {"librsb, tuned", rsb_product, NULL, {0}},
#endif
};

/* Whether all ways give our numbers. */
static int check(struct world *world, int count)
{
    size_t size = (size_t)world->graph->nodes * DIM;
    float *wanted = inmo_alloc(size, sizeof *wanted);
    int wrong = !wanted || ours(world);
    if (!wrong)
        memcpy(wanted, world->out, size * sizeof *wanted);
    for (int w = 1; w < count && !wrong; w++) {
        memset(world->out, 0, size * sizeof *world->out);
        wrong = ways[w].run(world);
        if (!wrong && ways[w].take)
            ways[w].take(world);
        for (size_t n = 0; n < size && !wrong; n++)
            wrong = !(fabsf(world->out[n] - wanted[n]) < 1e-4f);
        if (wrong)
            fprintf(stderr, "bench_spmm: %s gives other numbers\n", ways[w].name);
    }
    inmo_free(wanted);
    return wrong;
}

int main(int argc, char **argv)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = NULL;
    struct inmo_graph *graph = NULL;
    int rounds = argc > 2 ? atoi(argv[2]) : 15, threads = inmo_set_threads(argc > 3 ? atoi(argv[3]) : 0);
    int alone = argc > 4 && strcmp(argv[4], "inmo") == 0, count = alone ? 1 : (int)(sizeof ways / sizeof *ways);
    if (argc < 2 || rounds < 1 || rounds > MOST_ROUNDS || inmo_dataset_open(argv[1], &data, &error)) {
        fprintf(stderr, "usage: bench_spmm DATA [ROUNDS [THREADS [inmo]]]\n%s\n", error.message);
        return 2;
    }
    const struct inmo_csr *lists[1] = {&data->train};
    if (inmo_graph_build(data->users.count, data->items.count, lists, 1, &graph, &error))
        return 1;
    size_t size = (size_t)graph->nodes * DIM;
    struct world world = {graph, inmo_alloc(size, sizeof(float)), inmo_alloc_zero(size, sizeof(float))};
    if (!world.x || !world.out)
        return 1;
    for (size_t n = 0; n < size; n++)
        world.x[n] = (float)inmo_random_normal(inmo_key(1, 97), n);
#ifdef BENCH_GRAPHBLAS
    if (!alone && start_graphblas(&world, threads)) {
        fprintf(stderr, "bench_spmm: GraphBLAS could not be started\n");
        return 1;
    }
#endif
#ifdef BENCH_RSB
    if (!alone && start_rsb(&world, threads)) {
        fprintf(stderr, "bench_spmm: librsb could not be started\n");
        return 1;
    }
#endif
    if (check(&world, count))
        return 1;
    for (int n = 0; n < rounds; n++)
        for (int w = 0; w < count; w++) {
            double begin = inmo_now();
            if (ways[w].run(&world))
                return 1;
            ways[w].ms[n] = 1e3 * (inmo_now() - begin);
        }
    printf("{\"users\": %d, \"items\": %d, \"interactions\": %lld, \"dim\": %d, \"threads\": %d, \"rounds\": %d, "
           "\"ways\": {",
           graph->users, graph->items, (long long)graph->edges, DIM, threads, rounds);
    /* Ours last: its times are sorted only when no ratio needs them any more. */
    for (int w = count - 1; w >= 0; w--) {
        double ratio[MOST_ROUNDS];
        for (int n = 0; n < rounds; n++)
            ratio[n] = ways[w].ms[n] / ways[0].ms[n];
        qsort(ratio, (size_t)rounds, sizeof *ratio, by_size);
        qsort(ways[w].ms, (size_t)rounds, sizeof(double), by_size);
        printf("\"%s\": {\"ms\": %.2f, \"times_inmo\": [%.2f, %.2f, %.2f]}%s", ways[w].name, ways[w].ms[rounds / 2],
               ratio[rounds / 2], ratio[0], ratio[rounds - 1], w ? ", " : "}}\n");
    }
    return 0;
}
