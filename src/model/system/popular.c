/* popular.c - the score of an item is its degree in the observed graph, the same for all users. Exact in float up
 * to 2^24 users. No tensors: it needs only the graph. */
#include "base/memory.h"
#include "model/model.h"

#include <string.h>

struct inmo_system_state {
    int32_t items;
    float *degree;  // (items)
};

static void popular_close(struct inmo_system_state *state)
{
    if (!state)
        return;
    inmo_free(state->degree);
    inmo_free(state);
}

static enum inmo_status popular_open(const struct inmo_model *model, const struct inmo_model_binding *bound,
                                     struct inmo_system_state **out, struct inmo_error *error)
{
    const struct inmo_graph *graph = bound->binding.graph;
    struct inmo_system_state *state = inmo_alloc_zero(1, sizeof *state);
    (void)model;
    if (state)
        state->degree = inmo_alloc((size_t)graph->items, sizeof *state->degree);
    if (!state || !state->degree) {
        popular_close(state);
        return inmo_fail_memory(error, "the items' degrees");
    }
    state->items = graph->items;
    for (int32_t i = 0; i < graph->items; i++)
        state->degree[i] = (float)inmo_graph_strength(graph, graph->users + i);
    *out = state;
    return INMO_OK;
}

static void popular_score(const struct inmo_system_state *state, const struct inmo_history *who, int32_t count,
                          void *scratch, float *score)
{
    (void)who;
    (void)scratch;
    for (int32_t n = 0; n < count; n++)
        memcpy(score + (size_t)n * (size_t)state->items, state->degree, (size_t)state->items * sizeof *score);
}

static float popular_score_unseen(const struct inmo_system_state *state, const struct inmo_history *who,
                                  const int32_t *user, int32_t count)
{
    (void)state;
    (void)who;
    (void)user;
    return (float)count;
}

const struct inmo_system inmo_system_popular = {
    .personal = 0,
    .new_users = 1,
    .new_items = 1,
    .weights = 1,
    .users = 8,
    .open = popular_open,
    .close = popular_close,
    .score = popular_score,
    .score_unseen = popular_score_unseen,
};
