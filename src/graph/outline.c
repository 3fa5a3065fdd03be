/* outline.c - a graph of which a rank has the rows of some nodes: see graph.h. The list it comes from is read from
 * front to back, so that one larger than memory streams from the disk, and what has been read is given back. */
#include "base/memory.h"
#include "base/tensorfile.h"
#include "base/threads.h"
#include "graph/graph.h"
#include "graph/stretch.h"

#include <string.h>

enum { READ_AT_ONCE = 1 << 24 }; /* interactions between two times that pages are given back */

static void rest(const struct inmo_graph_source *source)
{
    if (source->file)
        inmo_tensorfile_rest(source->file);
}

/* Counts the interactions of each item in offset (items + 1), one place behind. */
static void count_items(const struct inmo_graph_source *source, int64_t *offset)
{
    const int32_t *column = source->list->column;
    int64_t count = inmo_csr_count(source->list);
    for (int64_t first = 0; first < count; first += READ_AT_ONCE) {
        int64_t end = count - first < READ_AT_ONCE ? count : first + READ_AT_ONCE;
        for (int64_t e = first; e < end; e++)
            offset[column[e] + 1]++;
        rest(source);
    }
}

enum inmo_status inmo_graph_outline(struct inmo_graph_source source, struct inmo_graph **out,
                                    struct inmo_error *error)
{
    const struct inmo_csr *list = source.list;
    struct inmo_graph *graph = NULL;
    enum inmo_status status = inmo_graph_make(list->rows, list->columns, inmo_csr_count(list), 0, 0, &graph, error);
    if (status)
        return status;
    graph->source = source;
    memset(graph->offset, 0, ((size_t)graph->nodes + 1) * sizeof *graph->offset);
    count_items(&source, graph->offset + graph->users);
    if (list->offset)
        memcpy(graph->offset, list->offset, ((size_t)graph->users + 1) * sizeof *graph->offset);
    for (int32_t v = graph->users; v < graph->nodes; v++)
        graph->offset[v + 1] += graph->offset[v];
    inmo_graph_fill_degrees(graph);
    status = inmo_graph_fill_own(graph, error);
    if (status)
        inmo_graph_free(graph);
    else
        *out = graph;
    return status;
}

/* Reads the rows of a block of users, and of a block of items whose rows so far end at cursor. */
static void read_rows(struct inmo_graph *graph, const int32_t *begin, const int32_t *end, int64_t *cursor)
{
    const struct inmo_csr *list = graph->source.list;
    int64_t read = 0;
    for (int32_t u = 0; u < graph->users; u++) {
        int32_t user = inmo_graph_place(graph, u);
        int32_t *row = user >= begin[0] && user < end[0] ? inmo_graph_row(graph, user) : NULL;
        int64_t first = list->offset ? list->offset[u] : 0, count = inmo_csr_degree(list, u);
        for (int64_t n = 0; n < count; n++) {
            int32_t item = inmo_graph_place(graph, graph->users + list->column[first + n]);
            if (row)
                row[n] = item;
            if (item >= begin[1] && item < end[1])
                graph->neighbour[cursor[item - begin[1]]++] = user;
        }
        read += count;
        if (read > READ_AT_ONCE) {
            rest(&graph->source);
            read = 0;
        }
    }
    rest(&graph->source);
}

enum inmo_status inmo_graph_fill(struct inmo_graph *graph, const int32_t *begin, const int32_t *end,
                                 struct inmo_error *error)
{
    int64_t user_ends = graph->offset[end[0]] - graph->offset[begin[0]];
    int64_t item_ends = graph->offset[end[1]] - graph->offset[begin[1]];
    int64_t *cursor = inmo_alloc((size_t)(end[1] - begin[1]), sizeof *cursor);
    inmo_free(graph->neighbour);
    graph->neighbour = inmo_alloc((size_t)(user_ends + item_ends), sizeof *graph->neighbour);
    if (!cursor || !graph->neighbour) {
        inmo_free(cursor);
        return inmo_fail_memory(error, "the interaction graph");
    }
    graph->skipped[0] = graph->offset[begin[0]];
    graph->skipped[1] = graph->offset[begin[1]] - user_ends;
    for (int32_t i = begin[1]; i < end[1]; i++)
        cursor[i - begin[1]] = graph->offset[i] - graph->skipped[1];
    read_rows(graph, begin, end, cursor);
    inmo_free(cursor);
    for (int side = 0; side < 2 && graph->place; side++) { /* ascending in the list's numbers, not in these */
#pragma omp parallel for schedule(dynamic, 64) num_threads(inmo_threads())
        for (int32_t v = begin[side]; v < end[side]; v++)
            inmo_ascending(inmo_graph_row(graph, v), inmo_graph_degree(graph, v));
    }
    return INMO_OK;
}

enum inmo_status inmo_graph_fill_own(struct inmo_graph *graph, struct inmo_error *error)
{
    int own = inmo_own_rank();
    int32_t begin[2] = {inmo_stretch_first(graph->users, own),
                        graph->users + inmo_stretch_first(graph->items, own)};
    int32_t end[2] = {inmo_stretch_first(graph->users, own + 1),
                      graph->users + inmo_stretch_first(graph->items, own + 1)};
    return inmo_graph_fill(graph, begin, end, error);
}

const int32_t *inmo_graph_read_user(const struct inmo_graph *graph, int32_t user, int32_t *scratch)
{
    const struct inmo_csr *list = graph->source.list;
    int32_t u = inmo_graph_origin(graph, user);
    int64_t count;
    if (!list)
        return inmo_graph_row(graph, user);
    count = inmo_csr_degree(list, u);
    for (int64_t n = 0; n < count; n++)
        scratch[n] = inmo_graph_place(graph, graph->users + list->column[list->offset[u] + n]);
    inmo_ascending(scratch, count);
    return scratch;
}
