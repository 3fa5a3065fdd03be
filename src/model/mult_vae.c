/* mult_vae.c - see mult_vae.h. */
#include "model/mult_vae.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "kernel/kernel.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { USERS = 128, TILE = 512, GROUPS = 8 };

struct inmo_vae {
    const struct inmo_graph *graph;
    struct inmo_vae_shape shape;
    int32_t tiles;
    int32_t *position;   // (nodes) a user's place in the batch or -1; an item's row
    int32_t *item_node;  // (items)
    double *term;        // (most users) of the loss
    double *squares;     // (tiles) of the weights, of `in` and `out` together
    float *first;        // (most users, d) after tanh
    float *code;         // (most users, 2 z)
    float *noise;        // (most users, z)
    float *sample;       // (most users, z)
    float *last;         // (most users, d) after tanh
    float *dlast, *dsample, *dcode, *dfirst;
    float *score;        // (tiles, USERS, TILE) of a block of users
    float *highest;      // (tiles, USERS)
    float *sum;          // (tiles, USERS) of e^(score - highest); then what it is multiplied by
    float *pull;         // (GROUPS, 3, USERS, d) parts of dlast, and space for a tile
};

struct inmo_vae_shape inmo_vae_shape(int32_t items, int dim)
{
    return (struct inmo_vae_shape){items, dim, (dim + 1) / 2};
}

void inmo_vae_tensor_shape(const struct inmo_vae_shape *shape, enum inmo_vae_tensor tensor, int64_t *rows,
                           int64_t *columns)
{
    int64_t items = shape->items, d = shape->hidden, z = shape->latent;
    const int64_t table[INMO_VAE_TENSORS][2] = {{items, d}, {d, 0}, {2 * z, d}, {2 * z, 0},
                                                {d, z},     {d, 0}, {items, d}, {items, 0}};
    *rows = table[tensor][0];
    *columns = table[tensor][1];
}

int64_t inmo_vae_begin(const struct inmo_vae_shape *shape, enum inmo_vae_tensor tensor)
{
    int64_t begin = 0, rows, columns;
    for (int n = 0; n < (int)tensor; n++) {
        inmo_vae_tensor_shape(shape, (enum inmo_vae_tensor)n, &rows, &columns);
        begin += rows * (columns > 0 ? columns : 1);
    }
    return begin;
}

void inmo_vae_free(struct inmo_vae *vae)
{
    if (!vae)
        return;
    inmo_free(vae->pull);
    inmo_free(vae->sum);
    inmo_free(vae->highest);
    inmo_free(vae->score);
    inmo_free(vae->first);
    inmo_free(vae->squares);
    inmo_free(vae->term);
    inmo_free(vae->item_node);
    inmo_free(vae->position);
    inmo_free(vae);
}

struct inmo_vae *inmo_vae_new(const struct inmo_graph *graph, const struct inmo_vae_shape *shape, int32_t most_users)
{
    struct inmo_vae *vae = inmo_alloc_zero(1, sizeof *vae);
    size_t d = (size_t)shape->hidden, z = (size_t)shape->latent, most = (size_t)most_users, scores;
    if (!vae)
        return NULL;
    vae->graph = graph;
    vae->shape = *shape;
    vae->tiles = (shape->items + TILE - 1) / TILE;
    scores = (size_t)vae->tiles * USERS;
    vae->position = inmo_alloc((size_t)graph->nodes, sizeof *vae->position);
    vae->item_node = inmo_alloc((size_t)graph->items, sizeof *vae->item_node);
    vae->term = inmo_alloc(most, sizeof *vae->term);
    vae->squares = inmo_alloc((size_t)vae->tiles, sizeof *vae->squares);
    vae->first = inmo_alloc(most * (4 * d + 7 * z), sizeof(float)); /* and those that follow it */
    vae->score = inmo_alloc(scores, TILE * sizeof(float));
    vae->highest = inmo_alloc(scores, sizeof(float));
    vae->sum = inmo_alloc(scores, sizeof(float));
    vae->pull = inmo_alloc(GROUPS * 3 * USERS * d, sizeof(float));
    if (!vae->position || !vae->item_node || !vae->term || !vae->squares || !vae->first || !vae->score ||
        !vae->highest || !vae->sum || !vae->pull) {
        inmo_vae_free(vae);
        return NULL;
    }
    vae->last = vae->first + most * d;
    vae->dlast = vae->last + most * d;
    vae->dfirst = vae->dlast + most * d;
    vae->code = vae->dfirst + most * d;
    vae->dcode = vae->code + most * 2 * z;
    vae->noise = vae->dcode + most * 2 * z;
    vae->sample = vae->noise + most * z;
    vae->dsample = vae->sample + most * z;
    memset(vae->position, 0xff, (size_t)graph->users * sizeof *vae->position);
    for (int32_t i = 0; i < graph->items; i++) {
        vae->position[graph->users + i] = i;
        vae->item_node[i] = graph->users + i;
    }
    return vae;
}

/* ---- Layers -------------------------------------------------------------------------------------------------- */

void inmo_vae_layer(int32_t count, int in, int out, const float *x, const float *w, const float *bias, float *y)
{
    for (int32_t n = 0; n < count; n++)
        memcpy(y + (size_t)n * (size_t)out, bias, (size_t)out * sizeof *y);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, out, in, 1, x, in, w, in, 1, y, out);
}

/* dw = dy' x + 2 l2 w, dbias = Σ dy, dx = dy w. Returns Σ w². */
static double layer_back(int32_t count, int in, int out, double l2, const float *x, const float *w, const float *dy,
                         float *dw, float *dbias, float *dx)
{
    double squares = 0;
    for (int64_t k = 0; k < (int64_t)in * out; k++) {
        squares += (double)w[k] * w[k];
        dw[k] = (float)(2 * l2) * w[k];
    }
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, out, in, count, 1, dy, out, x, in, 1, dw, in);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, count, in, out, 1, dy, out, w, in, 0, dx, in);
    memset(dbias, 0, (size_t)out * sizeof *dbias);
    for (int32_t n = 0; n < count; n++)
        inmo_kernels()->add_scaled(out, 1, dy + (size_t)n * (size_t)out, dbias);
    return squares;
}

void inmo_vae_tanh(int64_t count, float *x)
{
    for (int64_t n = 0; n < count; n++)
        x[n] = tanhf(x[n]);
}

/* dx = dy (1 - y²), in place */
static void tanh_back(int64_t count, const float *y, float *dy)
{
    for (int64_t n = 0; n < count; n++)
        dy[n] *= 1 - y[n] * y[n];
}

static struct inmo_drop drop_of(const struct inmo_vae_step *step)
{
    uint32_t key = (uint32_t)inmo_random(inmo_key(step->seed, INMO_STREAM_DROP_USER), (uint64_t)step->step);
    return (struct inmo_drop){(uint32_t)(step->dropout * 4294967296.0), key, key};
}

/* first = tanh(1/(1-p) Σ_{i kept} in_i/√n + bias) */
static void read_histories(struct inmo_vae *vae, const float *parameter, const struct inmo_vae_step *step)
{
    const float *bias = parameter + inmo_vae_begin(&vae->shape, INMO_VAE_IN_BIAS);
    size_t d = (size_t)vae->shape.hidden;
    float factor = (float)(1 / (1 - step->dropout));
    struct inmo_gather job = {
        .graph = vae->graph,
        .dim = vae->shape.hidden,
        .x = parameter + inmo_vae_begin(&vae->shape, INMO_VAE_IN),
        .position = vae->position,
        .scale = vae->graph->inverse_root_degree,
        .drop = drop_of(step),
        .node = step->user,
        .node_count = step->count,
        .out = vae->first,
    };
    inmo_gather(&job);
    for (int32_t n = 0; n < step->count; n++)
        for (size_t j = 0; j < d; j++)
            vae->first[(size_t)n * d + j] = factor * vae->first[(size_t)n * d + j] + bias[j];
    inmo_vae_tanh((int64_t)step->count * (int64_t)d, vae->first);
}

/* sample = mean + noise e^(log-variance/2); the term of the loss begins with the divergence. */
static void draw_samples(struct inmo_vae *vae, const struct inmo_vae_step *step)
{
    uint64_t key = inmo_random(inmo_key(step->seed, INMO_STREAM_LATENT), (uint64_t)step->step);
    int z = vae->shape.latent;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < step->count; n++) {
        const float *mean = vae->code + (size_t)n * 2 * (size_t)z, *log_variance = mean + z;
        float *noise = vae->noise + (size_t)n * (size_t)z, *sample = vae->sample + (size_t)n * (size_t)z;
        double divergence = 0;
        for (int j = 0; j < z; j++) {
            noise[j] = (float)inmo_random_normal(key, (uint64_t)step->user[n] * (uint64_t)z + (uint64_t)j);
            sample[j] = mean[j] + noise[j] * expf(0.5f * log_variance[j]);
            divergence += 0.5 * (exp(log_variance[j]) + (double)mean[j] * mean[j] - 1 - log_variance[j]);
        }
        vae->term[n] = step->kl_weight * divergence;
    }
}

static void draw_back(struct inmo_vae *vae, const struct inmo_vae_step *step)
{
    int z = vae->shape.latent;
    float weight = (float)(step->kl_weight / step->count);
    for (int32_t n = 0; n < step->count; n++)
        for (int j = 0; j < z; j++) {
            size_t at = (size_t)n * 2 * (size_t)z + (size_t)j, k = (size_t)n * (size_t)z + (size_t)j;
            float log_variance = vae->code[at + (size_t)z], pull = vae->dsample[k];
            vae->dcode[at] = pull + weight * vae->code[at];
            vae->dcode[at + (size_t)z] = 0.5f * (pull * vae->noise[k] * expf(0.5f * log_variance) +
                                                 weight * (expf(log_variance) - 1));
        }
}

/* ---- The last layer: softmax over all items --------------------------------------------------------------------- */

/* Users first .. first + count - 1 of the batch. */
struct block {
    const struct inmo_vae_step *step;
    int32_t first, count;
    const float *out, *bias;  /* parameters */
    float *dout, *dbias;
};

static inline int32_t tile_items(const struct inmo_vae *vae, int32_t tile)
{
    int32_t left = vae->shape.items - tile * TILE;
    return left < TILE ? left : TILE;
}

/* score = e^(s - highest of the tile), and their sum */
static void score_tile(struct inmo_vae *vae, const struct block *block, int32_t tile)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int32_t items = tile_items(vae, tile);
    int d = vae->shape.hidden;
    float *score = vae->score + (size_t)tile * USERS * TILE;
    for (int32_t n = 0; n < block->count; n++)
        memcpy(score + (size_t)n * TILE, block->bias + tile * TILE, (size_t)items * sizeof *score);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, block->count, items, d, 1,
                vae->last + (size_t)block->first * (size_t)d, d, block->out + (size_t)tile * TILE * (size_t)d, d, 1, score,
                TILE);
    for (int32_t n = 0; n < block->count; n++) {
        size_t at = (size_t)tile * USERS + (size_t)n;
        vae->highest[at] = kernels->largest(items, score + (size_t)n * TILE);
        vae->sum[at] = (float)kernels->exponentials(items, 1, vae->highest[at], score + (size_t)n * TILE);
    }
}

/* log Σ_i e^{s_ui}, the user's term of the loss, and the factor that makes of each tile its part of the gradient. */
static void normalise(struct inmo_vae *vae, const struct block *block, int32_t n)
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

/* The user's items from `begin` on, in the list of neighbours. */
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
 * f multiplies the users' rows, of which there are d numbers, not e, of which there are TILE. */
static void pull_tile(struct inmo_vae *vae, const struct block *block, int32_t tile, float *pull)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    const struct inmo_graph *graph = vae->graph;
    int32_t items = tile_items(vae, tile), begin = tile * TILE;
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
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, items, d, block->count, 1, score, TILE, scaled, d, 1, dout, d);
    cblas_sgemv(CblasRowMajor, CblasTrans, block->count, items, 1, score, TILE, factor, 1, 1, dbias, 1);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, block->count, d, items, 1, score, TILE, out, d, 0, product, d);
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

static void run_block(struct inmo_vae *vae, const struct block *block)
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
    for (int group = 0; group < GROUPS; group++) /* in their order */
        inmo_kernels()->add_scaled((int)size, 1, vae->pull + (size_t)group * 3 * USERS * (size_t)vae->shape.hidden, dlast);
}

/* din_i = Σ_{u in the batch, i kept} dfirst_u/((1-p) √n_u) + 2 l2 in_i */
static void histories_back(struct inmo_vae *vae, const float *parameter, const struct inmo_vae_step *step,
                           float *gradient)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    const float *in = parameter + inmo_vae_begin(&vae->shape, INMO_VAE_IN);
    float *din = gradient + inmo_vae_begin(&vae->shape, INMO_VAE_IN);
    float *dbias = gradient + inmo_vae_begin(&vae->shape, INMO_VAE_IN_BIAS);
    int d = vae->shape.hidden;
    struct inmo_gather job = {
        .graph = vae->graph,
        .dim = d,
        .x = vae->dfirst,
        .position = vae->position,
        .weight = vae->graph->inverse_root_degree,
        .drop = drop_of(step),
        .node = vae->item_node,
        .node_count = vae->shape.items,
        .out = din,
    };
    memset(dbias, 0, (size_t)d * sizeof *dbias);
    for (int32_t n = 0; n < step->count; n++)
        kernels->add_scaled(d, 1, vae->dfirst + (size_t)n * (size_t)d, dbias);
    for (int64_t n = 0; n < (int64_t)step->count * d; n++)
        vae->dfirst[n] *= (float)(1 / (1 - step->dropout));
    for (int32_t n = 0; n < step->count; n++)
        vae->position[step->user[n]] = n;
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
    for (int32_t tile = 0; tile < vae->tiles; tile++) {
        int32_t begin = tile * TILE, items = tile_items(vae, tile);
        size_t at = (size_t)begin * (size_t)d;
        kernels->gather_range(&job, begin, begin + items);
        kernels->add_scaled(items * d, (float)(2 * step->l2), in + at, din + at);
        vae->squares[tile] += kernels->dot(items * d, in + at, in + at);
    }
    for (int32_t n = 0; n < step->count; n++)
        vae->position[step->user[n]] = -1;
}

double inmo_vae_gradient(struct inmo_vae *vae, const float *parameter, const struct inmo_vae_step *step,
                         float *gradient)
{
    const struct inmo_vae_shape *shape = &vae->shape;
    int d = shape->hidden, z = shape->latent, blas_threads = openblas_get_num_threads();
    int32_t count = step->count;
    double loss = 0, squares = 0;
    const float *w[INMO_VAE_TENSORS];
    float *dw[INMO_VAE_TENSORS];
    for (int n = 0; n < INMO_VAE_TENSORS; n++) {
        w[n] = parameter + inmo_vae_begin(shape, (enum inmo_vae_tensor)n);
        dw[n] = gradient + inmo_vae_begin(shape, (enum inmo_vae_tensor)n);
    }
    memset(vae->squares, 0, (size_t)vae->tiles * sizeof *vae->squares);
    openblas_set_num_threads(1); /* the tiles are the parallelism */

    read_histories(vae, parameter, step);
    inmo_vae_layer(count, d, 2 * z, vae->first, w[INMO_VAE_CODE], w[INMO_VAE_CODE_BIAS], vae->code);
    draw_samples(vae, step);
    inmo_vae_layer(count, z, d, vae->sample, w[INMO_VAE_BACK], w[INMO_VAE_BACK_BIAS], vae->last);
    inmo_vae_tanh((int64_t)count * d, vae->last);
    for (int32_t first = 0; first < count; first += USERS) {
        struct block block = {step, first, count - first < USERS ? count - first : USERS, w[INMO_VAE_OUT],
                              w[INMO_VAE_OUT_BIAS], dw[INMO_VAE_OUT], dw[INMO_VAE_OUT_BIAS]};
        run_block(vae, &block);
    }

    tanh_back((int64_t)count * d, vae->last, vae->dlast);
    squares += layer_back(count, z, d, step->l2, vae->sample, w[INMO_VAE_BACK], vae->dlast, dw[INMO_VAE_BACK],
                          dw[INMO_VAE_BACK_BIAS], vae->dsample);
    draw_back(vae, step);
    squares += layer_back(count, d, 2 * z, step->l2, vae->first, w[INMO_VAE_CODE], vae->dcode, dw[INMO_VAE_CODE],
                          dw[INMO_VAE_CODE_BIAS], vae->dfirst);
    tanh_back((int64_t)count * d, vae->first, vae->dfirst);
    histories_back(vae, parameter, step, gradient);

    openblas_set_num_threads(blas_threads);
    for (int32_t tile = 0; tile < vae->tiles; tile++)
        squares += vae->squares[tile];
    for (int32_t n = 0; n < count; n++)
        loss += vae->term[n];
    return loss / count + step->l2 * squares;
}
