/* bench_rank.c - full ranking of all users, masks and top-20 included, beside the bare matrix product of the same
 * sizes (OpenBLAS with all its threads, in blocks of users), interleaved:
 *
 *     bench_rank DATA [ROUNDS]
 *
 * The limit is the product: 2 · users · items · d flops. Prints one JSON line. */
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "data/dataset.h"
#include "score/rank.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    enum { DIM = 64, K = 20, MOST = 50, BLOCK = 1024 };
    double bare[MOST], full[MOST], flops;
    struct inmo_error error = {0};
    struct inmo_dataset *data = NULL;
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    if (argc < 2 || rounds < 1 || rounds > MOST || inmo_dataset_open(argv[1], &data, &error)) {
        fprintf(stderr, "usage: bench_rank DATA [ROUNDS]\n%s\n", error.message);
        return 2;
    }
    int32_t users = data->users.count, items = data->items.count;
    size_t size = ((size_t)users + (size_t)items) * DIM;
    float *r = inmo_alloc(size, sizeof *r), *score = inmo_alloc((size_t)BLOCK * (size_t)items, sizeof *score);
    int32_t *who = inmo_alloc((size_t)users, sizeof *who), *top = inmo_alloc((size_t)users * K, sizeof *top);
    if (!r || !score || !who || !top)
        return 1;
    for (size_t n = 0; n < size; n++)
        r[n] = (float)inmo_random_normal(inmo_key(1, 99), n);
    for (int32_t u = 0; u < users; u++)
        who[u] = u;
    struct inmo_rank job = {.dim = DIM,
                            .user = r,
                            .item = r + (size_t)users * DIM,
                            .items = items,
                            .who = who,
                            .count = users,
                            .mask = {&data->train, &data->valid},
                            .k = K,
                            .top_item = top};
    openblas_set_num_threads(inmo_threads());
    for (int n = 0; n < rounds; n++) {
        double begin = inmo_now();
        for (int32_t first = 0; first < users; first += BLOCK)
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, users - first < BLOCK ? users - first : BLOCK,
                        items, DIM, 1, r + (size_t)first * DIM, DIM, job.item, DIM, 0, score, items);
        bare[n] = inmo_now() - begin;
        begin = inmo_now();
        if (inmo_rank(&job, NULL, &error))
            return 1;
        full[n] = inmo_now() - begin;
    }
    qsort(bare, (size_t)rounds, sizeof *bare, by_size);
    qsort(full, (size_t)rounds, sizeof *full, by_size);
    flops = 2.0 * users * items * DIM;
    printf("{\"users\": %d, \"items\": %d, \"threads\": %d, \"product_s\": %.3f, \"product_gflops\": %.1f, "
           "\"rank_s\": %.3f, "
           "\"ratio\": %.2f}\n",
           users, items, inmo_threads(), bare[rounds / 2], 1e-9 * flops / bare[rounds / 2], full[rounds / 2],
           full[rounds / 2] / bare[rounds / 2]);
    inmo_free(top);
    inmo_free(who);
    inmo_free(score);
    inmo_free(r);
    inmo_dataset_free(data);
    return 0;
}
