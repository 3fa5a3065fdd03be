/* bench_step.c - milliseconds of one training step at the paper's settings, for compare_step.py and by hand:
 *
 *     bench_step DATA MODEL [STEPS [THREADS [float|half]]]
 *
 * prints one JSON line: median and least over the steps after a warm-up. */
#include "base/threads.h"
#include "data/dataset.h"
#include "kernel/kernel.h"
#include "train/step.h"

#include <stdio.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    enum { WARM = 5, MOST = 1000 };
    static double ms[MOST];
    struct inmo_error error;
    struct inmo_dataset *data = NULL;
    struct inmo_graph *graph = NULL;
    struct inmo_stepper *stepper = NULL;
    struct inmo_train_options options;
    int steps = argc > 3 ? atoi(argv[3]) : 50;
    inmo_set_threads(argc > 4 ? atoi(argv[4]) : 0);
    if (argc < 3 || steps < 1 || steps > MOST) {
        fprintf(stderr, "usage: bench_step DATA MODEL [STEPS [THREADS [float|half]]]\n");
        return 2;
    }
    if (inmo_dataset_open(argv[1], &data, &error) || inmo_train_options_init(&options, argv[2], "paper", &error))
        goto failed;
    options.storage = argc > 5 ? argv[5] : "float";
    const struct inmo_csr *lists[1] = {&data->train};
    if (inmo_graph_build(data->users.count, data->items.count, lists, 1, &graph, &error) ||
        inmo_stepper_new(inmo_model_kind_find(argv[2]), &options, graph, &data->train, &stepper, &error))
        goto failed;
    for (int n = 0; n < WARM + steps; n++) {
        double begin = inmo_now();
        inmo_stepper_run(stepper, n, 0.5, options.learning_rate);
        if (n >= WARM)
            ms[n - WARM] = 1e3 * (inmo_now() - begin);
    }
    qsort(ms, (size_t)steps, sizeof *ms, by_size);
    printf("{\"model\": \"%s\", \"threads\": %d, \"kernel\": \"%s\", \"storage\": \"%s\", \"ms_per_step\": %.3f, \"least_ms\": %.3f}\n", argv[2],
           inmo_threads(), inmo_kernels()->name, options.storage, ms[steps / 2], ms[0]);
    inmo_stepper_free(stepper);
    inmo_graph_free(graph);
    inmo_dataset_free(data);
    return 0;
failed:
    fprintf(stderr, "bench_step: %s\n", error.message);
    return error.code;
}
