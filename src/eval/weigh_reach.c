/* weigh_reach.c - see weigh_reach.h. */
#include "eval/weigh_reach.h"

#include "base/memory.h"

#include <math.h>

void inmo_reach_space_free(struct inmo_reach_space *space)
{
    inmo_free(space->prior);
    inmo_free(space->link);
    inmo_free(space->walk);
    inmo_free(space->product);
    inmo_free(space->link_value);
    inmo_free(space->walk_value);
    inmo_free(space->place);
    inmo_free(space->item);
    inmo_free(space->link_item);
    inmo_free(space->walk_item);
    inmo_sums_free(&space->sums);
}

int inmo_reach_space_make(struct inmo_reach_space *space, int32_t count)
{
    size_t items = (size_t)count;
    *space = (struct inmo_reach_space){0};
    space->walk_item = inmo_alloc(items, sizeof(int32_t));
    space->link_item = inmo_alloc(items, sizeof(int32_t));
    space->item = inmo_alloc(items, sizeof(int32_t));
    space->place = inmo_alloc_zero(items, sizeof(int32_t));
    space->walk_value = inmo_alloc(items, sizeof(float));
    space->link_value = inmo_alloc(items, sizeof(float));
    space->product = inmo_alloc(items, sizeof(float));
    space->walk = inmo_alloc(items, sizeof(float));
    space->link = inmo_alloc(items, sizeof(float));
    space->prior = inmo_alloc(items, sizeof(float));
    return inmo_sums_make(&space->sums, count) == 0 && space->walk_item && space->link_item && space->item &&
                   space->place && space->walk_value && space->link_value && space->product && space->walk &&
                   space->link && space->prior
               ? 0
               : -1;
}

/* Items with values, ascending, and how many of them were taken. */
struct list {
    const int32_t *item;
    const float *value;
    int32_t count, at;
};

static int32_t next_item(const struct list *list)
{
    return list->at < list->count ? list->item[list->at] : INT32_MAX;
}

/* Its value of item i, which is not behind its next one. */
static float take(struct list *list, int32_t i)
{
    return next_item(list) == i ? list->value[list->at++] : 0;
}

int32_t inmo_reach_gather(const struct inmo_reach *reach, int32_t u, float *score, struct inmo_reach_space *space)
{
    const struct inmo_graph *graph = reach->graph;
    const struct inmo_csr *seen = reach->seen;
    const int32_t *node = graph->neighbour + graph->offset[u];
    const float *share = graph->relative ? graph->relative + graph->offset[u] : NULL;
    int32_t history = (int32_t)inmo_graph_degree(graph, u), count = 0;
    struct list walks = {.item = space->walk_item, .value = space->walk_value};
    struct list links = {.item = space->link_item, .value = space->link_value}, prior = {0};
    if (reach->walks) {
        inmo_walks_add(reach->walks, node, share, history, graph->users, &space->sums);
        walks.count = inmo_sums_collect(&space->sums, space->walk_item, space->walk_value);
    }
    if (reach->links) {
        inmo_links_add(reach->links, node, share, history, graph->users, &space->sums);
        links.count = inmo_sums_collect(&space->sums, space->link_item, space->link_value);
    }
    if (reach->prior)
        prior = (struct list){reach->prior->item, reach->prior->value, reach->prior->count, 0};
    for (int64_t e = seen->offset[u]; e < seen->offset[u + 1]; e++)
        score[seen->column[e]] = -INFINITY;
    for (int32_t i = 0; reach->closed && i < graph->items; i++)
        if (reach->closed[i])
            score[i] = -INFINITY;
    for (;;) {
        int32_t i = next_item(&walks);
        float walk, link, popular;
        i = next_item(&links) < i ? next_item(&links) : i;
        i = next_item(&prior) < i ? next_item(&prior) : i;
        if (i == INT32_MAX)
            break;
        walk = take(&walks, i);
        link = take(&links, i);
        popular = take(&prior, i);
        if (score[i] == -INFINITY)
            continue;
        space->place[i] = count;
        space->item[count] = i;
        space->product[count] = score[i];
        space->walk[count] = walk;
        space->prior[count] = popular;
        space->link[count++] = link;
        score[i] = -INFINITY;
    }
    return count;
}
