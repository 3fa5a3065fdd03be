/* mult_vae_net.c - see mult_vae.h. The last layer is in mult_vae_out.c. */
#include "model/system/mult_vae_state.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "kernel/kernel.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

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

struct inmo_vae *inmo_vae_new(const struct inmo_graph *graph, const struct inmo_vae_shape *shape,
                              int32_t most_users)
{
    struct inmo_vae *vae = inmo_alloc_zero(1, sizeof *vae);
    size_t d = (size_t)shape->hidden, z = (size_t)shape->latent, most = (size_t)most_users, scores;
    if (!vae)
        return NULL;
    vae->graph = graph;
    vae->shape = *shape;
    vae->tiles = (shape->items + INMO_VAE_TILE - 1) / INMO_VAE_TILE;
    scores = (size_t)vae->tiles * INMO_VAE_USERS;
    vae->position = inmo_alloc((size_t)graph->nodes, sizeof *vae->position);
    vae->item_node = inmo_alloc((size_t)graph->items, sizeof *vae->item_node);
    vae->term = inmo_alloc(most, sizeof *vae->term);
    vae->squares = inmo_alloc((size_t)vae->tiles, sizeof *vae->squares);
    vae->first = inmo_alloc(most * (4 * d + 7 * z), sizeof(float)); /* also holds the arrays after it */
    vae->score = inmo_alloc(scores, INMO_VAE_TILE * sizeof(float));
    vae->highest = inmo_alloc(scores, sizeof(float));
    vae->sum = inmo_alloc(scores, sizeof(float));
    vae->pull = inmo_alloc(INMO_VAE_GROUPS * 3 * INMO_VAE_USERS * d, sizeof(float));
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

/* sample = mean + noise e^(log-variance/2); starts the loss term with the divergence. */
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
            vae->dcode[at + (size_t)z] =
                0.5f * (pull * vae->noise[k] * expf(0.5f * log_variance) + weight * (expf(log_variance) - 1));
        }
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
        int32_t begin = tile * INMO_VAE_TILE, items = inmo_vae_tile_items(vae, tile);
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
    int d = shape->hidden, z = shape->latent;
    int32_t count = step->count;
    double loss = 0, squares = 0;
    const float *w[INMO_VAE_TENSORS];
    float *dw[INMO_VAE_TENSORS];
    for (int n = 0; n < INMO_VAE_TENSORS; n++) {
        w[n] = parameter + inmo_vae_begin(shape, (enum inmo_vae_tensor)n);
        dw[n] = gradient + inmo_vae_begin(shape, (enum inmo_vae_tensor)n);
    }
    memset(vae->squares, 0, (size_t)vae->tiles * sizeof *vae->squares);
    inmo_blas_hold(); /* parallel over tiles instead */

    read_histories(vae, parameter, step);
    inmo_vae_layer(count, d, 2 * z, vae->first, w[INMO_VAE_CODE], w[INMO_VAE_CODE_BIAS], vae->code);
    draw_samples(vae, step);
    inmo_vae_layer(count, z, d, vae->sample, w[INMO_VAE_BACK], w[INMO_VAE_BACK_BIAS], vae->last);
    inmo_vae_tanh((int64_t)count * d, vae->last);
    for (int32_t first = 0; first < count; first += INMO_VAE_USERS) {
        int32_t left = count - first;
        struct inmo_vae_block block = {step,
                                       first,
                                       left < INMO_VAE_USERS ? left : INMO_VAE_USERS,
                                       w[INMO_VAE_OUT],
                                       w[INMO_VAE_OUT_BIAS],
                                       dw[INMO_VAE_OUT],
                                       dw[INMO_VAE_OUT_BIAS]};
        inmo_vae_run_block(vae, &block);
    }

    tanh_back((int64_t)count * d, vae->last, vae->dlast);
    squares += layer_back(count, z, d, step->l2, vae->sample, w[INMO_VAE_BACK], vae->dlast, dw[INMO_VAE_BACK],
                          dw[INMO_VAE_BACK_BIAS], vae->dsample);
    draw_back(vae, step);
    squares += layer_back(count, d, 2 * z, step->l2, vae->first, w[INMO_VAE_CODE], vae->dcode, dw[INMO_VAE_CODE],
                          dw[INMO_VAE_CODE_BIAS], vae->dfirst);
    tanh_back((int64_t)count * d, vae->first, vae->dfirst);
    histories_back(vae, parameter, step, gradient);

    inmo_blas_release();
    for (int32_t tile = 0; tile < vae->tiles; tile++)
        squares += vae->squares[tile];
    for (int32_t n = 0; n < count; n++)
        loss += vae->term[n];
    return loss / count + step->l2 * squares;
}
