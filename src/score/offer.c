/* offer.c - see offer.h. */
#include "score/offer.h"

#include "base/memory.h"

int inmo_is_on_offer(const struct inmo_model *model, const struct inmo_model_binding *bound, int32_t item)
{
    const struct inmo_graph *graph = bound->binding.graph;
    return bound->model_item[item] >= 0 || inmo_kind_offers_unchosen(model->kind) ||
           (inmo_kind_offers_unseen(model->kind) && inmo_graph_degree(graph, graph->users + item) > 0);
}

int inmo_is_usable(const struct inmo_model *model, const struct inmo_model_binding *bound, int32_t item)
{
    const struct inmo_system *system = model->kind->system;
    if (system)
        return system->new_items || bound->model_item[item] >= 0;
    return !model->kind->provider->templates || bound->row_of_node[bound->binding.graph->users + item] >= 0;
}

int inmo_is_served(const struct inmo_model *model, const struct inmo_model_binding *bound, int32_t user)
{
    return inmo_kind_serves_unseen(model->kind) || bound->model_user[user] >= 0;
}

int inmo_falls_back(const struct inmo_model *model, int is_in_graph, int32_t usable)
{
    const struct inmo_system *system = model->kind->system;
    if (system)
        return usable == 0 && system->personal && system->new_users;
    return !is_in_graph && usable == 0;
}

int inmo_user_falls_back(const struct inmo_model *model, const struct inmo_model_binding *bound, int32_t user)
{
    const struct inmo_graph *graph = bound->binding.graph;
    int32_t usable = 0;
    if (!inmo_falls_back(model, 1, 0))
        return 0;
    for (int64_t e = graph->offset[user]; e < graph->offset[user + 1] && usable == 0; e++)
        usable += inmo_is_usable(model, bound, graph->neighbour[e] - graph->users);
    return inmo_falls_back(model, 1, usable);
}

/* Counting sort by degree: stable, so items of one degree stay in the order of their numbers. */
enum inmo_status inmo_popular_order(const struct inmo_graph *graph, int32_t **out, struct inmo_error *error)
{
    size_t degrees = (size_t)graph->users + 2;
    int32_t *order = inmo_alloc((size_t)graph->items, sizeof *order);
    int32_t *begin = inmo_alloc_zero(degrees, sizeof *begin);  // indexed by users - degree
    if (!order || !begin) {
        inmo_free(begin);
        inmo_free(order);
        return inmo_fail_memory(error, "the most popular items");
    }
    for (int32_t i = 0; i < graph->items; i++)
        begin[graph->users - inmo_graph_degree(graph, graph->users + i) + 1]++;
    for (size_t d = 1; d < degrees; d++)
        begin[d] += begin[d - 1];
    for (int32_t i = 0; i < graph->items; i++)
        order[begin[graph->users - inmo_graph_degree(graph, graph->users + i)]++] = i;
    inmo_free(begin);
    *out = order;
    return INMO_OK;
}

void inmo_popular_top(const struct inmo_graph *graph, const int32_t *order, const uint8_t *unoffered,
                      const int32_t *closed, int32_t closed_count, struct inmo_top *top)
{
    top->count = 0;
    for (int32_t n = 0; n < graph->items && top->count < top->k; n++) {
        int32_t i = order[n];
        if ((unoffered && unoffered[i]) || inmo_holds(closed, closed_count, i))
            continue;
        top->item[top->count] = i;
        top->score[top->count++] = (float)inmo_graph_degree(graph, graph->users + i);
    }
}
