/* bce.c - binary cross entropy: classifies each pair of a user and an item, with k negatives for each positive.
 *
 *     loss = 1/(B(k+1)) Σ_b ( softplus(-s(u_b, p_b)) + Σ_j softplus(s(u_b, n_bj)) )
 *
 * A batch names B users, B positives and (B, k) negatives, in this order. The loss works on pairs in every
 * model. */
#include "loss/loss.h"

#include "base/memory.h"
#include "base/random.h"
#include "loss/sampler.h"

struct inmo_loss_state {
    const struct inmo_graph *graph;
    struct inmo_sampler sampler;
    uint64_t seed;
    int32_t batch, negatives;
    double factor;
};

static int32_t bce_places(const struct inmo_train_options *options, const struct inmo_graph *graph)
{
    (void)graph;
    return (2 + options->bce_negatives) * options->batch;
}

static int32_t bce_negatives(const struct inmo_train_options *options)
{
    return options->bce_negatives;
}

static void bce_destroy(struct inmo_loss_state *state)
{
    if (!state)
        return;
    inmo_sampler_free(&state->sampler);
    inmo_free(state);
}

static enum inmo_status bce_create(const struct inmo_loss_setup *setup, struct inmo_loss_state **out,
                                   struct inmo_error *error)
{
    const struct inmo_train_options *options = setup->options;
    struct inmo_loss_state *state = inmo_alloc_zero(1, sizeof *state);
    enum inmo_status status;
    if (!state)
        return inmo_fail_memory(error, "the loss");
    state->graph = setup->graph;
    state->seed = options->seed;
    state->batch = options->batch;
    state->negatives = options->bce_negatives;
    state->factor = 1.0 / ((double)options->batch * (options->bce_negatives + 1));
    status = inmo_sampler_make(setup->train, &state->sampler, error);
    if (status)
        bce_destroy(state);
    else
        *out = state;
    return status;
}

static int64_t bce_steps(const struct inmo_loss_state *state)
{
    return inmo_loss_steps(state->graph, state->batch);
}

static void bce_draw(struct inmo_loss_state *state, int64_t step, struct inmo_grouping *grouping)
{
    int32_t batch = state->batch, *number = grouping->number;
    inmo_sampler_draw(&state->sampler, inmo_key(state->seed, INMO_STREAM_BATCH), step * batch, batch, number,
                      number + batch, NULL);
    inmo_sampler_draw_negatives(&state->sampler, inmo_key(state->seed, INMO_STREAM_NEGATIVE), step * batch, batch,
                                state->negatives, number, number + 2 * batch);
    inmo_loss_name_nodes(state->graph, batch, (2 + state->negatives) * batch, grouping);
}

/* ds = -factor σ(-s) for a positive, factor σ(s) for a negative. */
static double bce_judge_pairs(const void *context, int32_t first, int32_t positives, const float *score, float *ds)
{
    enum { CHUNK = 64 };
    const struct inmo_loss_state *state = context;
    int32_t each = state->negatives + 1, pairs = positives * each;
    double sum = 0;
    (void)first;
    for (int32_t begin = 0; begin < pairs; begin += CHUNK) {
        int32_t count = pairs - begin < CHUNK ? pairs - begin : CHUNK;
        float margin[CHUNK], coefficient[CHUNK];
        for (int32_t n = 0; n < count; n++)
            margin[n] = (begin + n) % each ? score[begin + n] : -score[begin + n];
        sum += inmo_kernels()->softplus(count, (float)state->factor, margin, coefficient);
        for (int32_t n = 0; n < count; n++)
            ds[begin + n] = (begin + n) % each ? coefficient[n] : -coefficient[n];
    }
    return state->factor * sum;
}

static void bce_weigh(const struct inmo_loss_state *state, const struct inmo_grouping *grouping, double factor,
                      float *weight)
{
    double of_user = factor / state->batch;
    inmo_loss_weigh_places(grouping, state->graph->users, (2 + state->negatives) * state->batch, of_user,
                           of_user / (state->negatives + 1), weight);
}

const struct inmo_loss inmo_loss_bce = {
    .name = "bce",
    .help = "binary cross entropy",
    .mean_over_pairs = 1,
    .l2 = INMO_L2_FUSED,
    .places = bce_places,
    .negatives = bce_negatives,
    .create = bce_create,
    .destroy = bce_destroy,
    .steps_per_epoch = bce_steps,
    .draw = bce_draw,
    .judge_pairs = bce_judge_pairs,
    .weigh = bce_weigh,
};
