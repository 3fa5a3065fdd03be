/* bench_step.c - milliseconds of one training step at the paper's settings, for compare_step.py and by hand:
 *
 *     bench_step DATA MODEL [STEPS [THREADS [float|half [BATCH [ORDER]]]]]
 *
 * prints one JSON line: median and least, and the median processor time of the first thread, over rounds of the
 * mean step of a round, after a warm-up. A round is 16 steps, as many batches as are made at once, or a
 * multiple; models whose rows are brought up to date lazily are warm only after INMO_LAZY_EARLY +
 * INMO_LAZY_WINDOW steps. */
#include "base/threads.h"
#include "data/dataset.h"
#include "graph/order.h"
#include "kernel/kernel.h"
#include "train/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Processor time of the first thread: what a step takes where other programs have the processor in between. */
static double own_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    enum { ROUND = 16, MOST = 10000 };
    static double ms[MOST], own_ms[MOST];
    struct inmo_error error;
    struct inmo_dataset *data = NULL;
    struct inmo_graph *graph = NULL;
    struct inmo_stepper *stepper = NULL;
    struct inmo_train_options options;
    int steps = argc > 3 ? atoi(argv[3]) : 48, rounds = (steps + ROUND - 1) / ROUND, warm;
    inmo_set_threads(argc > 4 ? atoi(argv[4]) : 0);
    if (argc < 3 || rounds < 1 || rounds > MOST) {
        fprintf(stderr, "usage: bench_step DATA MODEL [STEPS [THREADS [float|half [BATCH [ORDER]]]]]\n");
        return 2;
    }
    if (inmo_dataset_open(argv[1], &data, &error) || inmo_train_options_init(&options, argv[2], "paper", &error))
        goto failed;
    options.pretrain = 0; /* a step of the whole */
    options.storage = argc > 5 ? argv[5] : "float";
    options.batch = argc > 6 ? atoi(argv[6]) : options.batch;
    options.order = argc > 7 ? argv[7] : options.order;
    const struct inmo_csr *lists[1] = {&data->train};
    if (inmo_graph_build(data->users.count, data->items.count, lists, 1, &graph, &error) ||
        (inmo_steps_over_graph(inmo_model_kind_find(argv[2])) &&
         inmo_graph_order(&graph, options.order, NULL, &error)) ||
        inmo_stepper_new(inmo_model_kind_find(argv[2]), &options, graph, &data->train, NULL, &stepper, &error))
        goto failed;
    warm = stepper->lazy.touched ? (INMO_LAZY_EARLY + INMO_LAZY_WINDOW) / ROUND + 1 : 1;
    for (int round = -warm, n = 0; round < rounds; round++) {
        double begin = inmo_now(), busy = own_time();
        for (int end = n + ROUND; n < end; n++)
            inmo_stepper_run(stepper, n, 0.5, options.learning_rate);
        if (round >= 0) {
            ms[round] = 1e3 / ROUND * (inmo_now() - begin);
            own_ms[round] = 1e3 / ROUND * (own_time() - busy);
        }
    }
    qsort(ms, (size_t)rounds, sizeof *ms, by_size);
    qsort(own_ms, (size_t)rounds, sizeof *own_ms, by_size);
    printf("{\"model\": \"%s\", \"threads\": %d, \"kernel\": \"%s\", \"storage\": \"%s\", \"batch\": %d, "
           "\"ms_per_step\": %.4f, "
           "\"least_ms\": %.4f, \"processor_ms\": %.4f, \"triples_per_second\": %.0f}\n",
           argv[2], inmo_threads(), inmo_kernels()->name, options.storage, options.batch, ms[rounds / 2], ms[0],
           own_ms[rounds / 2], 1e3 * options.batch / ms[rounds / 2]);
    inmo_stepper_free(stepper);
    inmo_graph_free(graph);
    inmo_dataset_free(data);
    return 0;
failed:
    fprintf(stderr, "bench_step: %s\n", error.message);
    return error.code;
}
