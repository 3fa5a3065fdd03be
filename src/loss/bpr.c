/* bpr.c - the pairwise loss (BPR): a positive should score higher than a negative of the same user.
 *
 *     loss = 1/B Σ_b softplus(s(u_b, n_b) - s(u_b, p_b)) + λ/B Σ_b (‖r_u‖² + ‖r_p‖² + ‖r_n‖²)
 *
 * A batch names B users, B positives and B negatives, in this order. The L2 term is added here if it applies to
 * r. */
#include "loss/loss.h"

#include "base/memory.h"
#include "base/random.h"
#include "loss/sampler.h"

struct inmo_loss_state {
    const struct inmo_graph *graph;
    struct inmo_sampler sampler;
    uint64_t seed;
    struct inmo_triples triples; /* x and index are set for each batch */
};

static int32_t bpr_places(const struct inmo_train_options *options, const struct inmo_graph *graph)
{
    (void)graph;
    return 3 * options->batch;
}

static int32_t bpr_negatives(const struct inmo_train_options *options)
{
    (void)options;
    return 1;
}

static void bpr_destroy(struct inmo_loss_state *state)
{
    if (!state)
        return;
    inmo_free(state->triples.term_factor);
    inmo_free(state->triples.term_row);
    inmo_free(state->triples.term);
    inmo_free(state->triples.coefficient);
    inmo_sampler_free(&state->sampler);
    inmo_free(state);
}

static enum inmo_status bpr_create(const struct inmo_loss_setup *setup, struct inmo_loss_state **out,
                                   struct inmo_error *error)
{
    struct inmo_loss_state *state = inmo_alloc_zero(1, sizeof *state);
    int32_t batch = setup->options->batch;
    size_t size = (size_t)batch;
    enum inmo_status status;
    if (!state)
        return inmo_fail_memory(error, "the loss");
    state->graph = setup->graph;
    state->seed = setup->options->seed;
    state->triples = (struct inmo_triples){
        .batch = batch,
        .dim = setup->width,
        .factor = 1.0 / batch,
        .l2 = setup->adds_l2 ? setup->options->l2 / batch : 0,
        .coefficient = inmo_alloc(size, sizeof(float)),
        .term = inmo_alloc(3 * size / INMO_TRIPLES_CHUNK + 2, sizeof(double)),
        .term_row = inmo_alloc(7 * size, sizeof(int32_t)),
        .term_factor = inmo_alloc(7 * size, sizeof(float)),
    };
    status = inmo_sampler_make(setup->train, &state->sampler, error);
    if (!status && (!state->triples.coefficient || !state->triples.term || !state->triples.term_row ||
                    !state->triples.term_factor))
        status = inmo_fail_memory(error, "the loss");
    if (status)
        bpr_destroy(state);
    else
        *out = state;
    return status;
}

static int64_t bpr_steps(const struct inmo_loss_state *state)
{
    return inmo_loss_steps(state->graph, state->triples.batch);
}

static void bpr_draw(struct inmo_loss_state *state, int64_t step, struct inmo_grouping *grouping)
{
    int32_t batch = state->triples.batch, *number = grouping->number;
    inmo_sampler_draw(&state->sampler, inmo_key(state->seed, INMO_STREAM_BATCH), step * batch, batch, number,
                      number + batch, number + 2 * batch);
    inmo_loss_name_nodes(state->graph, batch, 3 * batch, grouping);
}

static struct inmo_triples bpr_triples(const struct inmo_loss_state *state, const struct inmo_grouping *grouping,
                                       const float *x)
{
    struct inmo_triples triples = state->triples;
    triples.x = x;
    triples.index = grouping->row;
    return triples;
}

static double bpr_judge(struct inmo_loss_state *state, const struct inmo_grouping *grouping, const float *r,
                        float *dr)
{
    struct inmo_triples triples = bpr_triples(state, grouping, r);
    double loss = inmo_triples_forward(&triples);
    return loss + inmo_triples_backward(&triples, grouping, dr);
}

/* ds = -factor σ(s_neg - s_pos) for the positive, +factor σ(s_neg - s_pos) for the negative. */
static double bpr_judge_pairs(const void *context, int32_t first, int32_t positives, const float *score, float *ds)
{
    enum { CHUNK = INMO_TRIPLES_CHUNK };
    const struct inmo_loss_state *state = context;
    double factor = state->triples.factor, sum = 0;
    (void)first;
    for (int32_t begin = 0; begin < positives; begin += CHUNK) {
        int32_t count = positives - begin < CHUNK ? positives - begin : CHUNK;
        const float *from = score + 2 * begin;
        float margin[CHUNK], coefficient[CHUNK], *to = ds + 2 * begin;
        for (int32_t n = 0; n < count; n++)
            margin[n] = from[2 * n + 1] - from[2 * n];
        sum += inmo_kernels()->softplus(count, (float)factor, margin, coefficient);
        for (int32_t n = 0; n < count; n++) {
            to[2 * n] = -coefficient[n];
            to[2 * n + 1] = coefficient[n];
        }
    }
    return factor * sum;
}

static void bpr_weigh(const struct inmo_loss_state *state, const struct inmo_grouping *grouping, double factor,
                      float *weight)
{
    int32_t batch = state->triples.batch;
    inmo_loss_weigh_places(grouping, state->graph->users, 3 * batch, factor / batch, factor / batch, weight);
}

const struct inmo_loss inmo_loss_bpr = {
    .name = "bpr",
    .help = "pairwise, a positive against a negative",
    .l2 = INMO_L2_FUSED,
    .places = bpr_places,
    .negatives = bpr_negatives,
    .create = bpr_create,
    .destroy = bpr_destroy,
    .steps_per_epoch = bpr_steps,
    .draw = bpr_draw,
    .judge = bpr_judge,
    .judge_pairs = bpr_judge_pairs,
    .weigh = bpr_weigh,
    .triples = bpr_triples,
};
