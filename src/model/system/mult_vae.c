/* mult_vae.c - mult-vae: a variational autoencoder of histories with a multinomial likelihood (Liang, Krishnan,
 * Hoffman, Jebara 2018), in the size of the INMO paper. mult_vae.h is the network; this file trains it with Adam
 * (an epoch visits every user once) and scores.
 *
 * Users have no parameters: a user is encoded from the history, with the mean of the code instead of a sample, and
 * one product turns a block of codes into scores of all items. */
#include "base/memory.h"
#include "base/random.h"
#include "model/model.h"
#include "model/system/mult_vae.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

static const struct inmo_tensor_rule rules[INMO_VAE_TENSORS] = {
    [INMO_VAE_IN] = {"mult-vae.in", INMO_F32, 1},     [INMO_VAE_IN_BIAS] = {"mult-vae.in-bias", INMO_F32, 0},
    [INMO_VAE_CODE] = {"mult-vae.code", INMO_F32, 1}, [INMO_VAE_CODE_BIAS] = {"mult-vae.code-bias", INMO_F32, 0},
    [INMO_VAE_BACK] = {"mult-vae.back", INMO_F32, 1}, [INMO_VAE_BACK_BIAS] = {"mult-vae.back-bias", INMO_F32, 0},
    [INMO_VAE_OUT] = {"mult-vae.out", INMO_F32, 1},   [INMO_VAE_OUT_BIAS] = {"mult-vae.out-bias", INMO_F32, 0},
};

static void vae_defaults(struct inmo_train_options *options, enum inmo_recipe recipe)
{
    options->batch = 512;
    options->temperature =
        recipe == INMO_RECIPE_FAST ? 1 : 2; /* the authors' runs have the divergence without its factor 1/2 */
}

/* ---- Learning ------------------------------------------------------------------------------------------------ */

struct inmo_learning_state {
    const struct inmo_train_options *options;
    struct inmo_vae *vae;
    float *gradient;  // same shape as the block
    int32_t users, batch;
    int32_t *order;      // (users) of the current epoch
    int64_t order_epoch; /* -1: none yet */
};

static void vae_shape(const struct inmo_graph *graph, const struct inmo_train_options *options,
                      struct inmo_tensor *tensor)
{
    struct inmo_vae_shape shape = inmo_vae_shape(graph->items, options->dim);
    for (int n = 0; n < INMO_VAE_TENSORS; n++)
        inmo_vae_tensor_shape(&shape, (enum inmo_vae_tensor)n, &tensor[n].rows, &tensor[n].columns);
}

static void vae_destroy(struct inmo_learning_state *learner)
{
    if (!learner)
        return;
    inmo_free(learner->order);
    inmo_free(learner->gradient);
    inmo_vae_free(learner->vae);
    inmo_free(learner);
}

/* Weights uniform within √(6/inputs), biases 0. */
static void start(const struct inmo_vae_shape *shape, uint64_t seed, float *parameter)
{
    uint64_t key = inmo_key(seed, INMO_STREAM_INIT);
    const int inputs[INMO_VAE_TENSORS] = {[INMO_VAE_IN] = shape->items,
                                          [INMO_VAE_CODE] = shape->hidden,
                                          [INMO_VAE_BACK] = shape->latent,
                                          [INMO_VAE_OUT] = shape->hidden};
    for (int n = 0; n < INMO_VAE_TENSORS; n++) {
        int64_t begin = inmo_vae_begin(shape, (enum inmo_vae_tensor)n);
        int64_t end = inmo_vae_begin(shape, (enum inmo_vae_tensor)(n + 1));
        for (int64_t k = begin; k < end; k++)
            parameter[k] =
                inputs[n] > 0 ? (float)inmo_random_symmetric(key, (uint64_t)k, inmo_kaiming_bound(inputs[n])) : 0;
    }
}

static enum inmo_status vae_create(const struct inmo_graph *graph, const struct inmo_train_options *options,
                                   float *parameter, struct inmo_learning_state **out, struct inmo_error *error)
{
    struct inmo_vae_shape shape = inmo_vae_shape(graph->items, options->dim);
    struct inmo_learning_state *learner = inmo_alloc_zero(1, sizeof *learner);
    if (!learner)
        return inmo_fail_memory(error, "training");
    learner->options = options;
    learner->users = graph->users;
    learner->batch = options->batch < graph->users ? options->batch : graph->users;
    learner->order_epoch = -1;
    learner->order = inmo_alloc((size_t)graph->users, sizeof *learner->order);
    learner->gradient = inmo_alloc((size_t)inmo_vae_begin(&shape, INMO_VAE_TENSORS), sizeof *learner->gradient);
    learner->vae = inmo_vae_new(graph, &shape, learner->batch);
    if (!learner->order || !learner->gradient || !learner->vae) {
        vae_destroy(learner);
        return inmo_fail_memory(error, "training");
    }
    start(&shape, options->seed, parameter);
    *out = learner;
    return INMO_OK;
}

static int64_t vae_steps(const struct inmo_learning_state *learner)
{
    return (learner->users + learner->batch - 1) / learner->batch;
}

/* Every user of the model has training interactions. */
static void shuffle(struct inmo_learning_state *learner, int64_t epoch)
{
    uint64_t base = inmo_random(inmo_key(learner->options->seed, INMO_STREAM_BATCH), (uint64_t)epoch);
    if (learner->order_epoch == epoch)
        return;
    for (int32_t u = 0; u < learner->users; u++)
        learner->order[u] = u;
    for (int32_t n = learner->users - 1; n > 0; n--) {
        int32_t other = (int32_t)inmo_random_below(inmo_random(base, (uint64_t)n), (uint32_t)n + 1);
        int32_t kept = learner->order[n];
        learner->order[n] = learner->order[other];
        learner->order[other] = kept;
    }
    learner->order_epoch = epoch;
}

static double vae_step(struct inmo_learning_state *learner, const struct inmo_block *block, int64_t number,
                       double learning_rate)
{
    enum { KL_EPOCHS = 1000 };         /* the weight of the divergence rises linearly, to 1 in this many epochs, */
    static const double most_kl = 0.2; /* but stops here */
    const struct inmo_train_options *options = learner->options;
    int64_t steps = vae_steps(learner), epoch = number / steps;
    int32_t first = (int32_t)(number % steps) * learner->batch, left = learner->users - first;
    struct inmo_vae_step step = {
        .user = learner->order + first,
        .count = left < learner->batch ? left : learner->batch,
        .dropout = options->dropout,
        .kl_weight = options->temperature * fmin(most_kl, (double)epoch / KL_EPOCHS),
        .l2 = options->l2,
        .seed = options->seed,
        .step = number,
    };
    double loss;
    shuffle(learner, epoch);
    loss = inmo_vae_gradient(learner->vae, block->parameter, &step, learner->gradient);
    inmo_adam_rows(block->rows, block->dim, inmo_adam_at(learning_rate, number + 1), learner->gradient, block->m,
                   block->root, block->parameter);
    return loss;
}

static const struct inmo_learning learning = {
    .adam = 1,
    .shape = vae_shape,
    .create = vae_create,
    .destroy = vae_destroy,
    .steps_per_epoch = vae_steps,
    .step = vae_step,
};

/* ---- On a graph ---------------------------------------------------------------------------------------------- */

enum { AT_ONCE = 64 };

struct inmo_system_state {
    const struct inmo_model_binding *bound;
    struct inmo_vae_shape shape; /* of the model */
    const float *tensor[INMO_VAE_TENSORS];
    int32_t items;      /* of the graph */
    float *out, *bias;  // (items, d), (items) in the graph's order; 0 for unknown items
};

/* The model has no vectors, so d is taken from the first layer. */
static struct inmo_vae_shape shape_of(const struct inmo_model *model)
{
    return inmo_vae_shape(model->items.count, (int)model->tensor[INMO_VAE_IN].columns);
}

static const char *vae_check(const struct inmo_model *model)
{
    enum { MOST = 4096 };
    int64_t dim = model->tensor[INMO_VAE_IN].columns;
    struct inmo_vae_shape shape = shape_of(model);
    if (dim < 1 || dim > MOST)
        return "the size of its layers is out of bounds";
    for (int n = 0; n < INMO_VAE_TENSORS; n++) {
        int64_t rows, columns;
        inmo_vae_tensor_shape(&shape, (enum inmo_vae_tensor)n, &rows, &columns);
        if (model->tensor[n].rows != rows || model->tensor[n].columns != columns)
            return "its layers do not fit its items and each other";
    }
    return NULL;
}

static void vae_close(struct inmo_system_state *state)
{
    if (!state)
        return;
    inmo_free(state->bias);
    inmo_free(state->out);
    inmo_free(state);
}

static enum inmo_status vae_open(const struct inmo_model *model, const struct inmo_model_binding *bound,
                                 struct inmo_system_state **out, struct inmo_error *error)
{
    struct inmo_system_state *state = inmo_alloc_zero(1, sizeof *state);
    struct inmo_vae_shape shape = shape_of(model);
    size_t d = (size_t)shape.hidden, items = (size_t)bound->binding.graph->items;
    if (state) {
        state->out = inmo_alloc_zero(items * d, sizeof *state->out);
        state->bias = inmo_alloc_zero(items, sizeof *state->bias);
    }
    if (!state || !state->out || !state->bias) {
        vae_close(state);
        return inmo_fail_memory(error, "the items' vectors");
    }
    state->bound = bound;
    state->shape = shape;
    state->items = bound->binding.graph->items;
    for (int n = 0; n < INMO_VAE_TENSORS; n++)
        state->tensor[n] = model->tensor[n].data;
    for (size_t i = 0; i < items; i++) {
        int32_t known = bound->model_item[i];
        if (known < 0)
            continue;
        memcpy(state->out + i * d, state->tensor[INMO_VAE_OUT] + (size_t)known * d, d * sizeof *state->out);
        state->bias[i] = state->tensor[INMO_VAE_OUT_BIAS][known];
    }
    *out = state;
    return INMO_OK;
}

/* Per thread: the layers of AT_ONCE users. */
static size_t vae_scratch(const struct inmo_system_state *state)
{
    return AT_ONCE * (2 * (size_t)state->shape.hidden + (size_t)state->shape.latent) * sizeof(float);
}

/* The first layer, without dropout; skips items that the model does not know. */
static void read_history(const struct inmo_system_state *state, const struct inmo_history *who, float *first)
{
    int d = state->shape.hidden;
    int32_t known = 0;
    memset(first, 0, (size_t)d * sizeof *first);
    for (int32_t h = 0; h < who->count; h++) {
        int32_t i = state->bound->model_item[inmo_history_item(who, h)];
        if (i < 0)
            continue;
        inmo_kernels()->add_scaled(d, 1, state->tensor[INMO_VAE_IN] + (size_t)i * (size_t)d, first);
        known++;
    }
    for (int j = 0; j < d; j++)
        first[j] = first[j] / sqrtf((float)(known > 0 ? known : 1)) + state->tensor[INMO_VAE_IN_BIAS][j];
}

static void vae_score(const struct inmo_system_state *state, const struct inmo_history *who, int32_t count,
                      void *scratch, float *score)
{
    int d = state->shape.hidden, z = state->shape.latent;
    float *first = scratch, *last = first + (size_t)AT_ONCE * (size_t)d, *mean = last + (size_t)AT_ONCE * (size_t)d;
    for (int32_t begin = 0, part; begin < count; begin += part) {
        part = count - begin < AT_ONCE ? count - begin : AT_ONCE;
        for (int32_t n = 0; n < part; n++)
            read_history(state, who + begin + n, first + (size_t)n * (size_t)d);
        inmo_vae_tanh((int64_t)part * d, first);
        inmo_vae_layer(part, d, z, first, state->tensor[INMO_VAE_CODE], state->tensor[INMO_VAE_CODE_BIAS], mean);
        inmo_vae_layer(part, z, d, mean, state->tensor[INMO_VAE_BACK], state->tensor[INMO_VAE_BACK_BIAS], last);
        inmo_vae_tanh((int64_t)part * d, last);
        inmo_vae_layer(part, d, state->items, last, state->out, state->bias,
                       score + (size_t)begin * (size_t)state->items);
    }
}

const struct inmo_system inmo_system_mult_vae = {
    .personal = 1,
    .new_users = 1,
    .new_items = 0,
    .users = AT_ONCE,
    .tensor = rules,
    .tensors = INMO_VAE_TENSORS,
    .defaults = vae_defaults,
    .learning = &learning,
    .check = vae_check,
    .open = vae_open,
    .close = vae_close,
    .score = vae_score,
    .scratch_bytes = vae_scratch,
};
