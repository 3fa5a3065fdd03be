/* bench_order.c - what an order of the nodes is worth. The rows of a sparse product are taken one after the
 * other, so neighbours that two rows near each other share are still in the cache. Orders tried, users and items
 * each within their range:
 *
 *     none       as the data set has them
 *     random     the worst that could be: how kind "none" is already
 *     degree     descending
 *     rcm        reverse Cuthill-McKee: breadth first from a node of least degree, neighbours by ascending degree
 *     barycentre  by the mean place of the neighbours, items and users in turn, eight times
 *     community  src/graph/order.h, what training uses
 *
 *     bench_order DATA [DIM [ROUNDS [MODEL|- [paper|fast [THREADS [ORDER...]]]]]]
 *
 * prints for each order the seconds to make it and to renumber the graph; the share of a product's rows that a
 * cache of 2 MB would miss, in float and in half storage; and of one whole product in float and in half storage,
 * and of a training step of MODEL at the recipe's settings (-: none), the least processor milliseconds and the
 * median ratio to the first order, over rounds in which all orders take turns. Processor time, as other programs
 * may have the processor in between. */
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "data/dataset.h"
#include "graph/order.h"
#include "kernel/kernel.h"
#include "train/choose.h"
#include "train/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ORDERS = 8, MOST_ROUNDS = 1000, MEASURES = 3, STEPS = 4, PASSES = 8, CACHE = 2 << 20 };

struct keyed {
    double key;
    int32_t node;
};

struct trial {
    const char *name;
    double seconds;
    struct inmo_graph *graph;
    struct inmo_stepper *stepper;
    struct inmo_gather whole, rough;
    double ms[MEASURES][MOST_ROUNDS];
};

static void stop(const char *what)
{
    fprintf(stderr, "bench_order: %s\n", what);
    exit(2);
}

static void *room(size_t count, size_t size)
{
    void *block = inmo_alloc_zero(count, size);
    if (!block)
        stop("not enough memory");
    return block;
}

static double processor_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    int order = (x->key > y->key) - (x->key < y->key);
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double random_key(const struct inmo_graph *graph, int32_t node)
{
    (void)graph;
    return inmo_random_unit(inmo_random(inmo_key(1, INMO_STREAM_TUNE), (uint64_t)node));
}

static double degree_key(const struct inmo_graph *graph, int32_t node)
{
    return -(double)inmo_graph_degree(graph, node);
}

static void order_by(const struct inmo_graph *graph, double (*key)(const struct inmo_graph *, int32_t),
                     int32_t *node)
{
    struct keyed *list = room((size_t)graph->nodes, sizeof *list);
    for (int32_t v = 0; v < graph->nodes; v++)
        list[v] = (struct keyed){key(graph, v), v};
    qsort(list, (size_t)graph->users, sizeof *list, by_key);
    qsort(list + graph->users, (size_t)graph->items, sizeof *list, by_key);
    for (int32_t v = 0; v < graph->nodes; v++)
        node[v] = list[v].node;
    inmo_free(list);
}

static void order_rcm(const struct inmo_graph *graph, int32_t *node)
{
    struct keyed *start = room((size_t)graph->nodes, sizeof *start),
                 *next = room((size_t)graph->nodes, sizeof *next);
    int32_t *queue = room((size_t)graph->nodes, sizeof *queue), end = 0, user = 0, item = graph->users;
    char *seen = room((size_t)graph->nodes, 1);
    for (int32_t v = 0; v < graph->nodes; v++)
        start[v] = (struct keyed){-degree_key(graph, v), v};
    qsort(start, (size_t)graph->nodes, sizeof *start, by_key);
    for (int32_t s = 0, head = 0; s < graph->nodes; s++) {
        if (seen[start[s].node])
            continue;
        seen[start[s].node] = 1;
        for (queue[end++] = start[s].node; head < end; head++) {
            size_t found = 0;
            for (int64_t e = graph->offset[queue[head]]; e < graph->offset[queue[head] + 1]; e++) {
                int32_t w = graph->neighbour[e];
                if (!seen[w])
                    next[found++] = (struct keyed){-degree_key(graph, w), w};
                seen[w] = 1;
            }
            qsort(next, found, sizeof *next, by_key);
            for (size_t n = 0; n < found; n++)
                queue[end++] = next[n].node;
        }
    }
    while (end-- > 0)
        node[queue[end] < graph->users ? user++ : item++] = queue[end];
    inmo_free(seen);
    inmo_free(queue);
    inmo_free(next);
    inmo_free(start);
}

/* Sorts one side by the mean place of the neighbours, those without any last. */
static void pull_side(const struct inmo_graph *graph, int32_t first, int32_t count, struct keyed *list,
                      int32_t *node, int32_t *place)
{
    for (int32_t n = 0; n < count; n++) {
        int64_t sum = 0, degree = inmo_graph_degree(graph, first + n);
        for (int64_t e = graph->offset[first + n]; e < graph->offset[first + n + 1]; e++)
            sum += place[graph->neighbour[e]];
        list[n] = (struct keyed){degree > 0 ? (double)sum / (double)degree : INFINITY, first + n};
    }
    qsort(list, (size_t)count, sizeof *list, by_key);
    for (int32_t n = 0; n < count; n++) {
        node[first + n] = list[n].node;
        place[list[n].node] = first + n;
    }
}

static void order_barycentre(const struct inmo_graph *graph, int32_t *node)
{
    struct keyed *list = room((size_t)graph->nodes, sizeof *list);
    int32_t *place = room((size_t)graph->nodes, sizeof *place);
    for (int32_t v = 0; v < graph->nodes; v++)
        place[v] = v;
    for (int pass = 0; pass < PASSES; pass++) {
        pull_side(graph, graph->users, graph->items, list, node, place);
        pull_side(graph, 0, graph->users, list, node, place);
    }
    inmo_free(place);
    inmo_free(list);
}

static struct inmo_graph *ordered(const struct inmo_graph *graph, const char *name)
{
    struct inmo_error error;
    struct inmo_graph *out = NULL;
    int32_t *node = room((size_t)graph->nodes, sizeof *node);
    if (inmo_order_find(graph, name, NULL, node, &error))
        stop(error.message);
    if (!strcmp(name, "random"))
        order_by(graph, random_key, node);
    else if (!strcmp(name, "degree"))
        order_by(graph, degree_key, node);
    else if (!strcmp(name, "rcm"))
        order_rcm(graph, node);
    else if (!strcmp(name, "barycentre"))
        order_barycentre(graph, node);
    else if (strcmp(name, "none") && strcmp(name, "community"))
        stop("an order is none, random, degree, rcm, barycentre or community");
    if (inmo_graph_renumber(graph, node, &out, &error))
        stop(error.message);
    inmo_free(node);
    return out;
}

/* Share of a whole product's rows that are not among the last so many different ones: what a cache of that size,
 * which forgets what was used longest ago, would miss. Counted, so the same on every machine. */
static double missed(const struct inmo_graph *graph, int32_t capacity)
{
    int32_t end = graph->nodes,
            held = 0; /* of a ring of the rows held, last used first; next and last are its links */
    int32_t *next = room((size_t)end + 1, sizeof *next), *last = room((size_t)end + 1, sizeof *last);
    char *is_held = room((size_t)end, 1);
    int64_t misses = 0;
    next[end] = last[end] = end;
    for (int64_t e = 0; e < 2 * graph->edges; e++) {
        int32_t row = graph->neighbour[e];
        if (!is_held[row] && held++ == capacity) {
            int32_t oldest = last[end];
            next[last[oldest]] = end;
            last[end] = last[oldest];
            is_held[oldest] = 0;
            held--;
        }
        misses += !is_held[row];
        if (is_held[row]) {
            next[last[row]] = next[row];
            last[next[row]] = last[row];
        }
        is_held[row] = 1;
        next[row] = next[end];
        last[row] = end;
        last[next[end]] = row;
        next[end] = row;
    }
    inmo_free(is_held);
    inmo_free(last);
    inmo_free(next);
    return (double)misses / (double)(2 * graph->edges);
}

static void prepare(struct trial *trial, const struct inmo_graph *graph, const struct inmo_csr *train, int dim,
                    const char *model, const struct inmo_train_options *options)
{
    struct inmo_error error;
    size_t size = (size_t)graph->nodes * (size_t)dim;
    double begin = inmo_now();
    trial->graph = ordered(graph, trial->name);
    trial->seconds = inmo_now() - begin;
    if (model &&
        inmo_stepper_new(inmo_model_kind_find(model), options, trial->graph, train, NULL, &trial->stepper, &error))
        stop(error.message);
    /* Arrays of its own: where in memory an array came to lie should not be one order's luck in both storages. */
    trial->whole = (struct inmo_gather){.graph = trial->graph,
                                        .dim = dim,
                                        .scale = trial->graph->inverse_degree,
                                        .x = room(size, sizeof(float)),
                                        .out = room(size, sizeof(float))};
    trial->rough = trial->whole;
    trial->rough.x = NULL;
    trial->rough.out = NULL;
    trial->rough.half = room(size / 2, sizeof(uint32_t));
    trial->rough.half_out = room(size / 2, sizeof(uint32_t));
}

static void measure(struct trial *trial, int round, double learning_rate)
{
    double begin = processor_ms();
    inmo_gather(&trial->whole);
    trial->ms[0][round] = processor_ms() - begin;
    begin = processor_ms();
    inmo_gather(&trial->rough);
    trial->ms[1][round] = processor_ms() - begin;
    begin = processor_ms();
    for (int64_t n = 0; trial->stepper && n < STEPS; n++)
        inmo_stepper_run(trial->stepper, (int64_t)round * STEPS + n, 0.5, learning_rate);
    trial->ms[2][round] = (processor_ms() - begin) / STEPS;
}

static void report(const struct trial *trial, const struct trial *base, int dim, int rounds)
{
    static const char *const label[MEASURES] = {"float", "half", "step"};
    static double ratio[MOST_ROUNDS];
    printf("{\"order\": \"%s\", \"dim\": %d, \"threads\": %d, \"seconds\": %.2f", trial->name, dim, inmo_threads(),
           trial->seconds);
    printf(", \"missed_float\": %.3f, \"missed_half\": %.3f", missed(trial->graph, CACHE / (4 * dim)),
           missed(trial->graph, CACHE / (2 * dim)));
    for (int m = 0; m < (trial->stepper ? MEASURES : 2); m++) {
        double least = INFINITY;
        for (int n = 0; n < rounds; n++) {
            ratio[n] = trial->ms[m][n] / base->ms[m][n];
            least = fmin(least, trial->ms[m][n]);
        }
        qsort(ratio, (size_t)rounds, sizeof *ratio, by_size);
        printf(", \"%s_ms\": %.2f, \"%s_ratio\": %.3f", label[m], least, label[m], ratio[rounds / 2]);
    }
    printf("}\n");
}

int main(int argc, char **argv)
{
    static const char *const all[] = {"none", "random", "degree", "rcm", "barycentre", "community"};
    static struct trial trial[MOST_ORDERS];
    struct inmo_error error = {0};
    struct inmo_dataset *data = NULL;
    struct inmo_graph *graph = NULL;
    struct inmo_train_options options;
    int dim = argc > 2 ? atoi(argv[2]) : 64, rounds = argc > 3 ? atoi(argv[3]) : 20;
    const char *model = argc > 4 && strcmp(argv[4], "-") ? argv[4] : NULL;
    const char *recipe = argc > 5 ? argv[5] : "paper";
    int count = argc > 7 ? argc - 7 : (int)(sizeof all / sizeof *all);
    inmo_set_threads(argc > 6 ? atoi(argv[6]) : 0);
    if (argc < 2 || !inmo_half_fits(dim) || rounds < 1 || rounds > MOST_ROUNDS || count > MOST_ORDERS)
        stop("usage: bench_order DATA [DIM [ROUNDS [MODEL|- [paper|fast [THREADS [ORDER...]]]]]]");
    if (inmo_dataset_open(argv[1], &data, &error) ||
        (model && inmo_train_options_init(&options, model, recipe, &error)))
        stop(error.message);
    const struct inmo_csr *lists[1] = {&data->train};
    if (inmo_graph_build(data->users.count, data->items.count, lists, 1, &graph, &error))
        stop(error.message);
    if (model) /* what training would choose */
        inmo_choice_start(
            inmo_model_kind_find(model),
            &(struct inmo_log_shape){data->users.count, data->items.count, (double)inmo_csr_count(&data->train)},
            &options);
    options.dim = dim;
    options.start = "random"; /* a spectral one takes seconds, and no step is longer or shorter for it */
    for (int t = 0; t < count; t++) {
        trial[t].name = argc > 7 ? argv[7 + t] : all[t];
        prepare(&trial[t], graph, &data->train, dim, model, &options);
    }
    for (int round = -1; round < rounds; round++) /* the first is a warm-up, and written over */
        for (int t = 0; t < count; t++)
            measure(&trial[t], round < 0 ? 0 : round, model ? options.learning_rate : 0);
    for (int t = 0; t < count; t++)
        report(&trial[t], &trial[0], dim, rounds);
    return 0; /* what was measured goes with the process */
}
