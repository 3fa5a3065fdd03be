/* bench_vae.c - milliseconds of one step of mult-vae at the paper's settings, for compare_vae.py and by hand:
 *
 *     bench_vae DATA [STEPS [THREADS]]
 *
 * prints one JSON line: median and least over the steps, after two to warm up. */
#include "base/memory.h"
#include "base/threads.h"
#include "data/dataset.h"
#include "model/system.h"

#include <stdio.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    enum { MOST = 10000, WARM = 2 };
    static double ms[MOST];
    const struct inmo_learning *learning = inmo_system_mult_vae.learning;
    struct inmo_tensor shape[INMO_SYSTEM_TENSORS] = {0};
    struct inmo_error error;
    struct inmo_dataset *data = NULL;
    struct inmo_graph *graph = NULL;
    struct inmo_learner *learner = NULL;
    struct inmo_train_options options;
    struct inmo_block block = {.dim = 1};
    int steps = argc > 2 ? atoi(argv[2]) : 20;
    inmo_set_threads(argc > 3 ? atoi(argv[3]) : 0);
    if (argc < 2 || steps < 1 || steps > MOST) {
        fprintf(stderr, "usage: bench_vae DATA [STEPS [THREADS]]\n");
        return 2;
    }
    if (inmo_dataset_open(argv[1], &data, &error) || inmo_train_options_init(&options, "mult-vae", "paper", &error))
        goto failed;
    const struct inmo_csr *lists[1] = {&data->train};
    if (inmo_graph_build(data->users.count, data->items.count, lists, 1, &graph, &error))
        goto failed;
    learning->shape(graph, &options, shape);
    for (size_t n = 0; n < inmo_system_mult_vae.tensors; n++)
        block.rows += shape[n].rows * (shape[n].columns > 0 ? shape[n].columns : 1);
    block.parameter = inmo_alloc((size_t)block.rows, sizeof(float));
    block.m = inmo_alloc_zero((size_t)block.rows, sizeof(float));
    block.root = inmo_alloc_zero((size_t)block.rows, sizeof(float));
    if (!block.parameter || !block.m || !block.root) {
        inmo_fail_memory(&error, "the parameters");
        goto failed;
    }
    if (learning->create(graph, &options, block.parameter, &learner, &error))
        goto failed;
    for (int n = -WARM; n < steps; n++) {
        double begin = inmo_now();
        learning->step(learner, &block, n + WARM, options.learning_rate);
        if (n >= 0)
            ms[n] = 1e3 * (inmo_now() - begin);
    }
    qsort(ms, (size_t)steps, sizeof *ms, by_size);
    printf("{\"model\": \"mult-vae\", \"threads\": %d, \"ms_per_step\": %.3f, \"least_ms\": %.3f}\n",
           inmo_threads(), ms[steps / 2], ms[0]);
    learning->destroy(learner);
    inmo_free(block.root);
    inmo_free(block.m);
    inmo_free(block.parameter);
    inmo_graph_free(graph);
    inmo_dataset_free(data);
    return 0;
failed:
    fprintf(stderr, "bench_vae: %s\n", error.message);
    return error.code;
}
