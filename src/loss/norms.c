/* norms.c - see norms.h. */
#include "loss/norms.h"

#include "base/threads.h"
#include "kernel/kernel.h"

enum { CHUNK = INMO_NORMS_CHUNK };

double inmo_square_norms(const struct inmo_norms *norms, const struct inmo_grouping *grouping, int by_node,
                         const float *x, float *gradient, double *term)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int32_t count = grouping->rows.count, chunks = (count + CHUNK - 1) / CHUNK;
    int columns = norms->columns.count;
    double all = 0;
#pragma omp parallel for schedule(static, 1) num_threads(inmo_threads())
    for (int32_t chunk = 0; chunk < chunks; chunk++) {
        int32_t end = (chunk + 1) * CHUNK < count ? (chunk + 1) * CHUNK : count;
        double sum = 0;
        for (int32_t n = chunk * CHUNK; n < end; n++) {
            int32_t v = grouping->rows.node[n], places = grouping->offset[n + 1] - grouping->offset[n];
            size_t at = (size_t)(by_node ? v : n) * (size_t)norms->dim + (size_t)norms->columns.first;
            double factor = (v < norms->users ? norms->user_l2 : norms->item_l2) * places;
            kernels->add_scaled(columns, (float)(2 * factor), x + at, gradient + at);
            sum += factor * (double)kernels->dot(columns, x + at, x + at);
        }
        term[chunk] = sum;
    }
    for (int32_t chunk = 0; chunk < chunks; chunk++)
        all += term[chunk];
    return all;
}
