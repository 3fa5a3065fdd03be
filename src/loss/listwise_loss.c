/* listwise_loss.c - the listwise loss behind the interface of losses (loss.h), on one rank or on several. */
#include "base/memory.h"
#include "graph/share.h"
#include "loss/listwise.h"
#include "loss/loss.h"
#include "loss/sampler.h"

struct inmo_loss_state {
    uint64_t seed;
    struct inmo_listwise listwise;
};

static int32_t listwise_places(const struct inmo_train_options *options, const struct inmo_graph *graph)
{
    int32_t most =
        inmo_listwise_batch(inmo_graph_whole(graph), options->batch, options->least_steps, options->most_steps);
    return (most < graph->users ? most : graph->users) + graph->items;
}

static void listwise_destroy(struct inmo_loss_state *state)
{
    if (!state)
        return;
    inmo_listwise_free(&state->listwise);
    inmo_free(state);
}

static enum inmo_status listwise_create(const struct inmo_loss_setup *setup, struct inmo_loss_state **out,
                                        struct inmo_error *error)
{
    const struct inmo_train_options *options = setup->options;
    struct inmo_loss_state *state = inmo_alloc_zero(1, sizeof *state);
    /* More draws than items are the same items again: they cost time and teach nothing (docs/choices.md). */
    int32_t items = setup->graph->items, negatives = options->negatives < items ? options->negatives : items;
    enum inmo_status status;
    if (!state)
        return inmo_fail_memory(error, "the loss");
    state->seed = options->seed;
    status = inmo_sampler_check(setup->train, error);
    if (!status)
        status =
            inmo_listwise_make(setup->graph, options->batch, options->least_steps, options->most_steps, negatives,
                               setup->width, options->temperature, options->l2, &state->listwise, error);
    state->listwise.local = setup->local;
    state->listwise.all_users = setup->all_users;
    if (!status && setup->local)
        status = inmo_listwise_ranks_make(&state->listwise, error);
    if (status)
        listwise_destroy(state);
    else
        *out = state;
    return status;
}

static int64_t listwise_steps(const struct inmo_loss_state *state)
{
    return inmo_listwise_steps(&state->listwise);
}

static void listwise_draw(struct inmo_loss_state *state, int64_t step, struct inmo_grouping *grouping)
{
    grouping->rows.count = inmo_listwise_draw(&state->listwise, state->seed, step, grouping->node);
}

static double listwise_judge(struct inmo_loss_state *state, const struct inmo_grouping *grouping, const float *r,
                             float *dr)
{
    (void)grouping;
    return state->listwise.local ? inmo_listwise_run_ranks(&state->listwise, r, dr)
                                 : inmo_listwise_run(&state->listwise, r, dr);
}

static void listwise_weigh(const struct inmo_loss_state *state, const struct inmo_grouping *grouping, double factor,
                           float *weight)
{
    (void)grouping;
    inmo_listwise_weights(&state->listwise, factor, weight);
}

const struct inmo_loss inmo_loss_listwise = {
    .name = "listwise",
    .help = "the same with all positives of a user at once",
    .batch_is_users = 1,
    .names_items = 1,
    .l2 = INMO_L2_ALWAYS_ON_R,
    .places = listwise_places,
    .create = listwise_create,
    .destroy = listwise_destroy,
    .steps_per_epoch = listwise_steps,
    .draw = listwise_draw,
    .judge = listwise_judge,
    .weigh = listwise_weigh,
};
