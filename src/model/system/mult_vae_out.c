/* mult_vae_out.c - the last layer of Mult-VAE: a softmax over all items. The exponentials of a block of users are
 * kept for all tiles between the two passes, so none is computed twice. */
#include "base/threads.h"
#include "kernel/kernel.h"
#include "model/system/mult_vae_state.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { USERS = INMO_VAE_USERS, TILE = INMO_VAE_TILE, GROUPS = INMO_VAE_GROUPS };

/* score = e^(s - maximum of the tile), and its sum */
static void score_tile(struct inmo_vae *vae, const struct inmo_vae_block *block, int32_t tile)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int32_t items = inmo_vae_tile_items(vae, tile);
    int d = vae->shape.hidden;
    float *score = vae->score + (size_t)tile * USERS * TILE;
    for (int32_t n = 0; n < block->count; n++)
        memcpy(score + (size_t)n * TILE, block->bias + tile * TILE, (size_t)items * sizeof *score);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, block->count, items, d, 1,
                vae->last + (size_t)block->first * (size_t)d, d, block->out + (size_t)tile * TILE * (size_t)d, d, 1,
                score, TILE);
    for (int32_t n = 0; n < block->count; n++) {
        size_t at = (size_t)tile * USERS + (size_t)n;
        vae->highest[at] = kernels->largest(items, score + (size_t)n * TILE);
        vae->sum[at] = (float)kernels->exponentials(items, 1, vae->highest[at], score + (size_t)n * TILE);
    }
}

/* log Σ_i e^{s_ui}, the user's term of the loss, and the factor that turns each tile into its part of the
 * gradient. */
static void normalise(struct inmo_vae *vae, const struct inmo_vae_block *block, int32_t n)
{
    const struct inmo_graph *graph = vae->graph;
    int32_t u = block->step->user[block->first + n];
    int d = vae->shape.hidden;
    const float *last = vae->last + (size_t)(block->first + n) * (size_t)d;
    double highest = -INFINITY, sum = 0, taken = 0, degree = (double)inmo_graph_degree(graph, u);
    for (int32_t t = 0; t < vae->tiles; t++)
        highest = fmax(highest, vae->highest[(size_t)t * USERS + (size_t)n]);
    for (int32_t t = 0; t < vae->tiles; t++) {
        size_t at = (size_t)t * USERS + (size_t)n;
        sum += vae->sum[at] * exp(vae->highest[at] - highest);
    }
    for (int32_t t = 0; t < vae->tiles; t++) {
        size_t at = (size_t)t * USERS + (size_t)n;
        vae->sum[at] = (float)(degree / block->step->count * exp(vae->highest[at] - highest) / sum);
    }
    for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++) {
        int32_t i = graph->neighbour[e] - graph->users;
        taken += inmo_kernels()->dot(d, last, block->out + (size_t)i * (size_t)d) + block->bias[i];
    }
    vae->term[block->first + n] += degree * (highest + log(sum)) - taken;
}

/* Position of the user's first item >= begin in the list of neighbours. */
static int64_t first_item(const struct inmo_graph *graph, int32_t u, int32_t begin)
{
    int64_t low = graph->offset[u], high = graph->offset[u + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (graph->neighbour[middle] - graph->users < begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ds = (n softmax(s) - h)/B = f e - h/B with the user's factor f:
 *
 *     dout = ds' last + 2 l2 out,   dbias = Σ ds,   pull += ds out
 *
 * f is applied to the users' rows (d numbers), not to e (TILE numbers). */
static void pull_tile(struct inmo_vae *vae, const struct inmo_vae_block *block, int32_t tile, float *pull)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    const struct inmo_graph *graph = vae->graph;
    int32_t items = inmo_vae_tile_items(vae, tile), begin = tile * TILE;
    int d = vae->shape.hidden;
    size_t width = (size_t)d, place = (size_t)begin * width;
    const float *out = block->out + place, *last = vae->last + (size_t)block->first * width;
    const float *score = vae->score + (size_t)tile * USERS * TILE, *factor = vae->sum + (size_t)tile * USERS;
    float *dout = block->dout + place, *dbias = block->dbias + begin, share = 1.0f / (float)block->step->count;
    float *scaled = pull + USERS * width, *product = scaled + USERS * width;
    if (block->first == 0) {
        memset(dbias, 0, (size_t)items * sizeof *dbias);
        memset(dout, 0, (size_t)items * width * sizeof *dout);
        kernels->add_scaled(items * d, (float)(2 * block->step->l2), out, dout);
        vae->squares[tile] += kernels->dot(items * d, out, out);
    }
    for (int32_t n = 0; n < block->count; n++)
        for (size_t j = 0; j < width; j++)
            scaled[(size_t)n * width + j] = factor[n] * last[(size_t)n * width + j];
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, items, d, block->count, 1, score, TILE, scaled, d, 1, dout,
                d);
    cblas_sgemv(CblasRowMajor, CblasTrans, block->count, items, 1, score, TILE, factor, 1, 1, dbias, 1);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, block->count, d, items, 1, score, TILE, out, d, 0,
                product, d);
    for (int32_t n = 0; n < block->count; n++) {
        int32_t u = block->step->user[block->first + n];
        float *to = pull + (size_t)n * width;
        kernels->add_scaled(d, factor[n], product + (size_t)n * width, to);
        for (int64_t e = first_item(graph, u, begin); e < graph->offset[u + 1]; e++) {
            int32_t i = graph->neighbour[e] - graph->users - begin;
            if (i >= items)
                break;
            kernels->add_scaled(d, -share, last + (size_t)n * width, dout + (size_t)i * width);
            kernels->add_scaled(d, -share, out + (size_t)i * width, to);
            dbias[i] -= share;
        }
    }
}

void inmo_vae_run_block(struct inmo_vae *vae, const struct inmo_vae_block *block)
{
    size_t size = (size_t)block->count * (size_t)vae->shape.hidden;
    float *dlast = vae->dlast + (size_t)block->first * (size_t)vae->shape.hidden;
#pragma omp parallel num_threads(inmo_threads())
    {
#pragma omp for schedule(dynamic)
        for (int32_t tile = 0; tile < vae->tiles; tile++)
            score_tile(vae, block, tile);
#pragma omp for schedule(static)
        for (int32_t n = 0; n < block->count; n++)
            normalise(vae, block, n);
#pragma omp for schedule(dynamic)
        for (int group = 0; group < GROUPS; group++) {
            float *pull = vae->pull + (size_t)group * 3 * USERS * (size_t)vae->shape.hidden;
            memset(pull, 0, size * sizeof *pull);
            for (int32_t tile = group; tile < vae->tiles; tile += GROUPS)
                pull_tile(vae, block, tile, pull);
        }
    }
    memset(dlast, 0, size * sizeof *dlast);
    for (int group = 0; group < GROUPS; group++) /* fixed order */
        inmo_kernels()->add_scaled((int)size, 1, vae->pull + (size_t)group * 3 * USERS * (size_t)vae->shape.hidden,
                                   dlast);
}
