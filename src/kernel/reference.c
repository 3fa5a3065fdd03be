/* reference.c - the naive twins: what the kernels compute, as plainly as it can be said. For tests only. */
#include "kernel/kernel.h"

#include <math.h>

static int term_kept(const struct inmo_gather *job, int32_t v, int32_t w)
{
    int32_t users = job->graph->users;
    if (v < users)
        return inmo_drop_keeps(job->drop.key_user_rows, job->drop.threshold, (uint32_t)v,
                               w < 0 ? UINT32_MAX : (uint32_t)(w - users));
    return inmo_drop_keeps(job->drop.key_item_rows, job->drop.threshold, w < 0 ? UINT32_MAX : (uint32_t)w,
                           (uint32_t)(v - users));
}

void inmo_gather_reference(const struct inmo_gather *job)
{
    const struct inmo_graph *graph = job->graph;
    int32_t count = job->node ? job->node_count : graph->nodes;
    for (int32_t n = 0; n < count; n++) {
        int32_t v = job->node ? job->node[n] : n;
        const float *extra = v < graph->users ? job->extra_user : job->extra_item;
        for (int j = 0; j < job->dim; j++) {
            double sum = extra && term_kept(job, v, -1) ? extra[j] : 0;
            for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
                int32_t w = graph->neighbour[e], row = job->position ? job->position[w] : w;
                if (row >= 0 && term_kept(job, v, w))
                    sum += (job->weight ? (double)job->weight[w] : 1) * job->x[(int64_t)row * job->dim + j];
            }
            job->out[(int64_t)n * job->dim + j] = (float)(sum * (job->scale ? (double)job->scale[v] : 1));
        }
    }
}

void inmo_adam_reference(int64_t count, struct inmo_adam adam, const float *gradient, float *m, float *v,
                         float *parameter)
{
    for (int64_t n = 0; n < count; n++) {
        double g = gradient ? gradient[n] : 0, mean = 0.9 * m[n] + 0.1 * g, square = 0.999 * v[n] + 0.001 * g * g;
        m[n] = (float)mean;
        v[n] = (float)square;
        parameter[n] = (float)(parameter[n] - adam.rate * mean / (sqrt(square) * adam.root_bias + 1e-8));
    }
}
