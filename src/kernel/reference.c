/* reference.c - the naive twins: what the kernels compute, written as simply as possible. For tests only. */
#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

static int term_kept(const struct inmo_gather *job, int32_t v, int32_t w)
{
    int32_t users = job->graph->users;
    if (v < users)
        return inmo_drop_keeps(job->drop.key_user_rows, job->drop.threshold, (uint32_t)v,
                               w < 0 ? UINT32_MAX : (uint32_t)(w - users));
    return inmo_drop_keeps(job->drop.key_item_rows, job->drop.threshold, w < 0 ? UINT32_MAX : (uint32_t)w,
                           (uint32_t)(v - users));
}

/* Number j of a row in half precision. */
static double half_number(const uint32_t *row, int j)
{
    int within = j % INMO_HALF_BLOCK;
    uint32_t word = row[(j - within) / 2 + within % 16], bits = within < 16 ? word << 16 : word & 0xffff0000u;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void put_half(uint32_t *row, int j, float value)
{
    int within = j % INMO_HALF_BLOCK;
    uint32_t bits, *word = row + (j - within) / 2 + within % 16;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    *word = within < 16 ? (*word & 0xffff0000u) | bits : (*word & 0xffff) | bits << 16;
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
                    sum += (job->edge ? (double)job->edge[e] : 1) * (job->weight ? (double)job->weight[w] : 1) *
                           (job->half ? half_number(job->half + (int64_t)row * job->dim / 2, j)
                                      : (double)job->x[(int64_t)row * job->dim + j]);
            }
            sum *= job->scale ? (double)job->scale[v] : 1;
            if (job->plus && (!job->plus_position || job->plus_position[v] >= 0))
                sum += job->plus[(int64_t)(job->plus_position ? job->plus_position[v] : v) * job->dim + j];
            if (job->half_out)
                put_half(job->half_out + (int64_t)n * job->dim / 2, j, (float)sum);
            else
                job->out[(int64_t)n * job->dim + j] = (float)sum;
        }
    }
}

void inmo_upper_bounds_reference(const struct inmo_bytes *rows, int queries, const struct inmo_bytes_query *query,
                                 int64_t first, int64_t blocks, float *high)
{
    for (int q = 0; q < queries; q++)
        for (int64_t n = INMO_BYTES_BLOCK * first; n < INMO_BYTES_BLOCK * (first + blocks); n++) {
            const uint8_t *block =
                rows->code + n / INMO_BYTES_BLOCK * rows->groups * INMO_BYTES_BLOCK * INMO_BYTES_GROUP;
            int32_t product = 0;
            for (int j = 0; j < INMO_BYTES_GROUP * rows->groups; j++)
                product +=
                    query[q].code[j] *
                    (block[(j / INMO_BYTES_GROUP * INMO_BYTES_BLOCK + n % INMO_BYTES_BLOCK) * INMO_BYTES_GROUP +
                           j % INMO_BYTES_GROUP] -
                     INMO_BYTES_ZERO);
            *high++ = (float)product * (query[q].scale * rows->scale[n]) +
                      (query[q].length * rows->left_out[n] + query[q].left_out * rows->length[n]);
        }
}

void inmo_activate_reference(int dim, const struct inmo_activation *activation, int32_t row, const float *bias,
                             float *x)
{
    for (int j = 0; j < dim; j++) {
        float sum = x[j] + bias[j];
        int kept = inmo_drop_keeps(activation->key, activation->threshold, (uint32_t)row, (uint32_t)j);
        x[j] = kept ? activation->factor * (sum > 0 ? sum : activation->slope * sum) : 0;
    }
}

void inmo_activate_back_reference(int dim, const struct inmo_activation *activation, int32_t row, const float *y,
                                  float *g)
{
    for (int j = 0; j < dim; j++) {
        int kept = inmo_drop_keeps(activation->key, activation->threshold, (uint32_t)row, (uint32_t)j);
        g[j] = kept ? g[j] * (activation->factor * (y[j] > 0 ? 1 : activation->slope)) : 0;
    }
}

void inmo_adam_reference(int64_t count, struct inmo_adam adam, const float *gradient, double *m, double *v,
                         double *parameter)
{
    for (int64_t n = 0; n < count; n++) {
        double g = gradient ? gradient[n] : 0;
        m[n] = 0.9 * m[n] + 0.1 * g;
        v[n] = 0.999 * v[n] + 0.001 * g * g;
        parameter[n] -= adam.rate * m[n] / (sqrt(v[n]) * adam.root_bias + 1e-8);
    }
}

static float leaky(float slope, float x)
{
    return x > 0 ? x : slope * x;
}

void inmo_leaky_sums_reference(int32_t count, int dim, float slope, const float *a, const float *x,
                               const int32_t *row, float *out)
{
    for (int32_t n = 0; n < count; n++)
        for (int j = 0; j < dim; j++)
            out[n * dim + j] = leaky(slope, a[j] + x[(row ? row[n] : n) * dim + j]);
}

void inmo_leaky_dots_reference(int32_t count, int dim, float slope, const float *bias, const float *w, float *x,
                               float *score)
{
    for (int32_t n = 0; n < count; n++) {
        double sum = 0;
        for (int j = 0; j < dim; j++) {
            x[n * dim + j] = leaky(slope, x[n * dim + j] + bias[j]);
            sum += (double)w[j] * x[n * dim + j];
        }
        score[n] += (float)sum;
    }
}

void inmo_leaky_back_reference(int32_t count, int dim, float slope, const float *ds, const float *w, const float *y,
                               float *g)
{
    for (int32_t n = 0; n < count; n++)
        for (int j = 0; j < dim; j++)
            g[n * dim + j] = (w ? ds[n] * w[j] : g[n * dim + j]) * (y[n * dim + j] > 0 ? 1 : slope);
}
