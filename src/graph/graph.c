/* graph.c - builds the graph from lists of interactions in O(edges). The item side is filled by one pass over the
 * users in ascending order, so its neighbours are ascending without a sort. */
#include "graph/graph.h"

#include "base/memory.h"
#include "base/threads.h"
#include "graph/share.h"

#include <math.h>
#include <string.h>

/* Merges the ascending rows of all lists into out and weight (may be NULL), without repeats; returns the number of
 * entries. */
static int64_t merge_row(const struct inmo_csr *const *lists, size_t count, int32_t row, int32_t *out,
                         float *weight)
{
    enum { MOST_LISTS = 8 };
    int64_t at[MOST_LISTS], end[MOST_LISTS], written = 0;
    for (size_t l = 0; l < count; l++) {
        int empty = !lists[l]->offset || row >= lists[l]->rows;
        at[l] = empty ? 0 : lists[l]->offset[row];
        end[l] = empty ? 0 : lists[l]->offset[row + 1];
    }
    for (;;) {
        int32_t least = INT32_MAX;
        int found = 0;
        for (size_t l = 0; l < count; l++)
            if (at[l] < end[l] && lists[l]->column[at[l]] <= least) {
                least = lists[l]->column[at[l]];
                found = 1;
            }
        if (!found)
            return written;
        if (weight)
            weight[written] = 0;
        for (size_t l = 0; l < count; l++)
            if (at[l] < end[l] && lists[l]->column[at[l]] == least) {
                float own = lists[l]->weight ? lists[l]->weight[at[l]] : 1;
                if (weight && own > weight[written])
                    weight[written] = own;
                at[l]++;
            }
        if (out)
            out[written] = least;
        written++;
    }
}

enum inmo_status inmo_csr_union(int32_t users, int32_t items, const struct inmo_csr *const *lists, size_t count,
                                struct inmo_csr *merged, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    int64_t *offset = NULL;
    int32_t *column = NULL;
    float *weight = NULL;
    int weighted = 0;

    for (size_t l = 0; l < count; l++)
        weighted |= lists[l]->weight != NULL;
    offset = inmo_alloc((size_t)users + 1, sizeof *offset);
    if (!offset) {
        status = inmo_fail_memory(error, "a list of interactions");
        goto done;
    }
    offset[0] = 0;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t u = 0; u < users; u++)
        offset[u + 1] = merge_row(lists, count, u, NULL, NULL);
    for (int32_t u = 0; u < users; u++)
        offset[u + 1] += offset[u];
    column = inmo_alloc((size_t)offset[users], sizeof *column);
    weight = weighted ? inmo_alloc((size_t)offset[users], sizeof *weight) : NULL;
    if (!column || (weighted && !weight)) {
        status = inmo_fail_memory(error, "a list of interactions");
        goto done;
    }
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t u = 0; u < users; u++)
        merge_row(lists, count, u, column + offset[u], weight ? weight + offset[u] : NULL);
    *merged = (struct inmo_csr){users, items, offset, column, weight};
    offset = NULL;
    column = NULL;
    weight = NULL;
done:
    inmo_free(weight);
    inmo_free(column);
    inmo_free(offset);
    return status;
}

int32_t inmo_graph_node_at(const struct inmo_graph *graph, int32_t first, int32_t end, int64_t ends)
{
    while (first < end) {
        int32_t middle = first + (end - first) / 2;
        if (graph->offset[middle] < ends)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

double inmo_graph_strength(const struct inmo_graph *graph, int32_t node)
{
    double sum = 0;
    if (!graph->weight)
        return (double)inmo_graph_true_degree(graph, node);
    for (int64_t e = graph->offset[node]; e < graph->offset[node + 1]; e++)
        sum += graph->weight[e];
    return sum;
}

void inmo_graph_fill_degrees(struct inmo_graph *graph)
{
    for (int32_t v = 0; v < graph->nodes; v++) {
        double degree = inmo_graph_strength(graph, v), count = (double)inmo_graph_degree(graph, v);
        for (int64_t e = graph->offset[v]; graph->relative && e < graph->offset[v + 1]; e++)
            graph->relative[e] = (float)(graph->weight[e] / (degree / count));
        degree = count < 1 ? 1 : degree;
        graph->inverse_degree[v] = (float)(1 / degree);
        graph->root_degree[v] = (float)sqrt(degree);
        graph->inverse_root_degree[v] = (float)(1 / sqrt(degree));
    }
}

/* Copies the users' rows as node numbers, and fills the items' rows by visiting the users in ascending order. */
static void fill_edges(struct inmo_graph *graph, const struct inmo_csr *list, int64_t *cursor)
{
    int32_t users = graph->users;
    memset(graph->offset, 0, ((size_t)graph->nodes + 1) * sizeof *graph->offset);
    for (int64_t e = 0; e < graph->edges; e++)
        graph->offset[users + list->column[e] + 1]++;
    memcpy(graph->offset, list->offset, ((size_t)users + 1) * sizeof *graph->offset);
    for (int32_t v = users; v < graph->nodes; v++)
        graph->offset[v + 1] += graph->offset[v];
    for (int32_t i = 0; i < graph->items; i++)
        cursor[i] = graph->offset[users + i];
    for (int32_t u = 0; u < users; u++)
        for (int64_t e = list->offset[u]; e < list->offset[u + 1]; e++) {
            graph->neighbour[e] = users + list->column[e];
            if (graph->weight)
                graph->weight[e] = graph->weight[cursor[list->column[e]]] = list->weight[e];
            graph->neighbour[cursor[list->column[e]]++] = u;
        }
}

static enum inmo_status check_nodes(int32_t users, int32_t items, struct inmo_error *error)
{
    int64_t nodes = (int64_t)users + items;
    return nodes <= INT32_MAX ? INMO_OK
                              : inmo_fail(error, INMO_INPUT, "%lld users and items; at most %d together",
                                          (long long)nodes, INT32_MAX);
}

enum inmo_status inmo_graph_make(int32_t users, int32_t items, int64_t edges, int64_t entries, int weighted,
                                 struct inmo_graph **out, struct inmo_error *error)
{
    struct inmo_graph *graph;
    size_t nodes = (size_t)users + (size_t)items;
    enum inmo_status status = check_nodes(users, items, error);
    if (status)
        return status;
    graph = inmo_alloc_zero(1, sizeof *graph);
    if (!graph)
        return inmo_fail_memory(error, "the interaction graph");
    graph->users = users;
    graph->items = items;
    graph->nodes = (int32_t)nodes;
    graph->edges = edges;
    graph->offset = inmo_alloc(nodes + 1, sizeof *graph->offset);
    graph->neighbour = inmo_alloc((size_t)entries, sizeof *graph->neighbour);
    graph->weight = weighted ? inmo_alloc((size_t)entries, sizeof *graph->weight) : NULL;
    graph->relative = weighted ? inmo_alloc((size_t)entries, sizeof *graph->relative) : NULL;
    graph->inverse_degree = inmo_alloc(nodes, sizeof(float));
    graph->inverse_root_degree = inmo_alloc(nodes, sizeof(float));
    graph->root_degree = inmo_alloc(nodes, sizeof(float));
    if (!graph->offset || !graph->neighbour || !graph->inverse_degree || !graph->inverse_root_degree ||
        !graph->root_degree || (weighted && (!graph->weight || !graph->relative))) {
        inmo_graph_free(graph);
        return inmo_fail_memory(error, "the interaction graph");
    }
    *out = graph;
    return INMO_OK;
}

enum inmo_status inmo_graph_build(int32_t users, int32_t items, const struct inmo_csr *const *lists, size_t count,
                                  struct inmo_graph **out, struct inmo_error *error)
{
    struct inmo_graph *graph = NULL;
    struct inmo_csr merged = {0};
    const struct inmo_csr *list = &merged;
    int64_t *cursor = NULL;
    enum inmo_status status = check_nodes(users, items, error);

    if (count == 1 && lists[0]->offset && lists[0]->rows == users)
        list = lists[0];
    else if (!status)
        status = inmo_csr_union(users, items, lists, count, &merged, error);
    if (!status)
        status = inmo_graph_make(users, items, inmo_csr_count(list), 2 * inmo_csr_count(list), list->weight != NULL,
                                 &graph, error);
    if (status)
        goto done;
    cursor = inmo_alloc((size_t)items, sizeof *cursor);
    if (!cursor) {
        status = inmo_fail_memory(error, "the interaction graph");
        goto done;
    }
    fill_edges(graph, list, cursor);
    inmo_graph_fill_degrees(graph);
    *out = graph;
    graph = NULL;
done:
    inmo_free(cursor);
    inmo_graph_free(graph);
    inmo_csr_free(&merged);
    return status;
}

/* Fills rows [first, first + count) from those of the other side: visits its nodes in ascending order and appends
 * each to the rows of its neighbours. */
static void fill_side(const struct inmo_graph *graph, int32_t first, int32_t count, struct inmo_graph *out,
                      int64_t *cursor)
{
    int32_t from = first == 0 ? out->users : 0, end = first == 0 ? out->nodes : out->users;
    memcpy(cursor, out->offset + first, (size_t)count * sizeof *cursor);
    for (int32_t v = from; v < end; v++) {
        int32_t old = out->origin[v];
        for (int64_t e = graph->offset[old]; e < graph->offset[old + 1]; e++) {
            int64_t at = cursor[out->place[graph->neighbour[e]] - first]++;
            out->neighbour[at] = v;
            if (out->weight)
                out->weight[at] = graph->weight[e];
        }
    }
}

enum inmo_status inmo_graph_renumber(const struct inmo_graph *graph, const int32_t *node, struct inmo_graph **out,
                                     struct inmo_error *error)
{
    int is_outline = graph->source.list != NULL;
    struct inmo_graph *made = NULL;
    size_t nodes = (size_t)graph->nodes;
    int64_t *cursor = NULL;
    enum inmo_status status =
        inmo_graph_make(graph->users, graph->items, graph->edges, is_outline ? 0 : 2 * graph->edges,
                        graph->weight != NULL, &made, error);
    if (status)
        return status;
    made->place = inmo_alloc(nodes, sizeof *made->place);
    made->origin = inmo_alloc(nodes, sizeof *made->origin);
    cursor = is_outline ? NULL : inmo_alloc(nodes, sizeof *cursor);
    if ((!is_outline && !cursor) || !made->place || !made->origin) {
        status = inmo_fail_memory(error, "the interaction graph");
        goto done;
    }
    memcpy(made->origin, node, nodes * sizeof *node);
    made->source = graph->source;
    made->offset[0] = 0;
    for (int32_t v = 0; v < graph->nodes; v++) {
        made->place[node[v]] = v;
        made->offset[v + 1] = made->offset[v] + inmo_graph_degree(graph, node[v]);
    }
    if (is_outline) {
        status = inmo_graph_fill_own(made, error);
    } else {
        fill_side(graph, 0, graph->users, made, cursor);
        fill_side(graph, graph->users, graph->items, made, cursor);
    }
    inmo_graph_fill_degrees(made);
done:
    inmo_free(cursor);
    if (status)
        inmo_graph_free(made);
    else
        *out = made;
    return status;
}

void inmo_graph_free(struct inmo_graph *graph)
{
    if (!graph)
        return;
    inmo_share_free(graph->share);
    inmo_free(graph->origin);
    inmo_free(graph->place);
    inmo_free(graph->root_degree);
    inmo_free(graph->inverse_root_degree);
    inmo_free(graph->inverse_degree);
    inmo_free(graph->relative);
    inmo_free(graph->weight);
    inmo_free(graph->neighbour);
    inmo_free(graph->offset);
    inmo_free(graph);
}
