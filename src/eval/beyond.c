/* beyond.c - see beyond.h. Sums over lists are in the order of the users, whatever the number of threads. */
#include "eval/beyond.h"

#include "base/memory.h"
#include "base/threads.h"

#include <math.h>
#include <stdatomic.h>

/* mean_i -log2(d_i / U): bits that say which item it is; an item without users counts as if it had one */
static double novelty_of(const struct inmo_graph *graph, const int32_t *list, int k)
{
    double sum = 0;
    int n = 0;
    for (; n < k && list[n] >= 0; n++) {
        int64_t degree = inmo_graph_degree(graph, graph->users + list[n]);
        sum += log2((double)graph->users / (double)(degree > 0 ? degree : 1));
    }
    return n > 0 ? sum / n : NAN;
}

/* 1 - mean over pairs of c_ij / sqrt(d_i d_j), c_ij the common users. All pairs at once: with x_i the unit vector
 * of item i over users, Σ_{i≠j} x_i·x_j = |Σ_i x_i|² - n. sum (users) is zero before and after. */
static double diversity_of(const struct inmo_graph *graph, const int32_t *list, int k, float *sum)
{
    double square = 0;
    int n = 0, chosen = 0;
    for (; n < k && list[n] >= 0; n++) {
        int64_t begin = graph->offset[graph->users + list[n]], end = graph->offset[graph->users + list[n] + 1];
        float part = end > begin ? (float)(1 / sqrt((double)(end - begin))) : 0;
        for (int64_t e = begin; e < end; e++)
            sum[graph->neighbour[e]] += part;
        chosen += end > begin;
    }
    for (int m = 0; m < n; m++)
        for (int64_t e = graph->offset[graph->users + list[m]]; e < graph->offset[graph->users + list[m] + 1];
             e++) {
            float *at = sum + graph->neighbour[e];
            square += (double)*at * *at;
            *at = 0;
        }
    return n > 1 ? 1 - (square - chosen) / ((double)n * (n - 1)) : NAN;
}

static double mean_of(const double *value, int32_t count)
{
    double sum = 0;
    int32_t counted = 0;
    for (int32_t n = 0; n < count; n++)
        if (!isnan(value[n])) {
            sum += value[n];
            counted++;
        }
    return counted > 0 ? sum / counted : NAN;
}

enum inmo_status inmo_beyond_mean(const struct inmo_graph *graph, const int32_t *top, int width,
                                  const int32_t *member, int32_t count, int k, struct inmo_metrics *at,
                                  struct inmo_error *error)
{
    int32_t looked = count < INMO_DIVERSITY_LISTS ? count : INMO_DIVERSITY_LISTS;
    double *novelty = inmo_alloc((size_t)count, sizeof *novelty);
    double *diversity = inmo_alloc((size_t)looked, sizeof *diversity);
    atomic_int failed = !novelty || !diversity;
    if (!atomic_load(&failed)) {
#pragma omp parallel num_threads(inmo_threads())
        {
            float *sum = inmo_alloc_zero((size_t)graph->users, sizeof *sum);
            if (!sum)
                atomic_store(&failed, 1);
#pragma omp for schedule(dynamic, 16)
            for (int32_t n = 0; n < looked; n++) {
                int32_t chosen = member[(int64_t)n * count / looked];
                if (sum)
                    diversity[n] = diversity_of(graph, top + (size_t)chosen * (size_t)width, k, sum);
            }
            inmo_free(sum);
        }
        for (int32_t n = 0; n < count; n++)
            novelty[n] = novelty_of(graph, top + (size_t)member[n] * (size_t)width, k);
    }
    if (!atomic_load(&failed)) {
        at->novelty = mean_of(novelty, count);
        at->diversity = mean_of(diversity, looked);
    }
    inmo_free(diversity);
    inmo_free(novelty);
    return atomic_load(&failed) ? inmo_fail_memory(error, "evaluation") : INMO_OK;
}
