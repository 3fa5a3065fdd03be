/* link_spectrum.c - see link_spectrum.h. */
#include "score/link_spectrum.h"

#include "base/memory.h"
#include "base/threads.h"
#include "graph/svd.h"
#include "kernel/kernel.h"

#include <math.h>

enum { RANK = 256, SVD_ITERATIONS = 4 };
static const double RIDGE = 0.1; /* singular values are at most 1 */

/* Scales the rows of v so that the product of two of them is the kernel without its degrees. */
static void shrink(struct inmo_svd *svd, int32_t items)
{
    for (int n = 0; n < svd->rank; n++) {
        double square = (double)svd->s[n] * svd->s[n];
        float root = (float)sqrt(square / (square + RIDGE));
        for (int32_t i = 0; i < items; i++)
            svd->v[(size_t)i * (size_t)svd->rank + (size_t)n] *= root;
    }
}

enum inmo_status inmo_link_spectrum(const struct inmo_graph *graph, const struct inmo_links *links,
                                    const struct inmo_hooks *hooks, float *kernel, struct inmo_error *error)
{
    struct inmo_svd *svd = NULL;
    enum inmo_status status = inmo_svd_compute(graph, RANK, 1, SVD_ITERATIONS, 1, hooks, &svd, error);
    if (status)
        return status;
    shrink(svd, graph->items);
#pragma omp parallel for schedule(dynamic, 64) num_threads(inmo_threads())
    for (int32_t j = 0; j < links->items; j++) {
        const float *from = svd->v + (size_t)j * (size_t)svd->rank;
        float scale = graph->inverse_root_degree[graph->users + j];
        for (int64_t e = links->offset[j]; e < links->offset[j + 1]; e++) {
            const float *to = svd->v + (size_t)links->item[e] * (size_t)svd->rank;
            kernel[e] = scale * inmo_kernels()->dot(svd->rank, from, to) /
                        graph->inverse_root_degree[graph->users + links->item[e]];
        }
    }
    inmo_svd_free(svd);
    return INMO_OK;
}

void inmo_link_spectrum_add(const struct inmo_graph *graph, const struct inmo_links *links, const float *kernel,
                            double weight, double popularity, const float *from, float *to)
{
    for (int32_t j = 0; j < links->items; j++)
        for (int64_t e = links->offset[j]; e < links->offset[j + 1]; e++) {
            double strength = inmo_graph_strength(graph, graph->users + links->item[e]);
            to[e] = from[e] + (float)(weight * pow(strength, popularity)) * kernel[e];
        }
}
