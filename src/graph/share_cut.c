/* share_cut.c - cuts a graph among ranks: see share.h. */
#include "graph/share.h"

#include "base/memory.h"
#include "graph/stretch.h"

#include <string.h>

enum {
    MOST_IN_RUN = 64, /* nodes that a thread takes at a time */
    LEAST_INNER = 8,  /* fewer nodes that need nothing of others are no run of their own */
};

void inmo_share_free(struct inmo_share *share)
{
    if (!share)
        return;
    inmo_free(share->size);
    inmo_free(share->begin);
    inmo_free(share->message);
    inmo_free(share->sent_row);
    inmo_free(share->outer);
    inmo_free(share->inner);
    inmo_free(share->halo_items);
    inmo_free(share->halo_users);
    inmo_free(share->sent_users);
    inmo_free(share->sent_begin);
    inmo_free(share->sent);
    inmo_free(share->origin);
    inmo_free(share->local);
    inmo_free(share->item_rank);
    inmo_free(share->item_block);
    inmo_free(share->item_cut);
    inmo_free(share->user_cut);
    inmo_free(share);
}

int inmo_share_block(const int32_t *cut, int count, int32_t node)
{
    int low = 0, high = count;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (cut[middle] <= node)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Cuts nodes [first, end) where the edge ends before them pass the next share of all. */
static void cut_side(const struct inmo_graph *graph, int32_t first, int32_t end, int32_t *cut)
{
    int ranks = inmo_ranks();
    int64_t before = graph->offset[first], ends = graph->offset[end] - before;
    cut[0] = first;
    cut[ranks] = end;
    for (int next = 1; next < ranks; next++)
        cut[next] = inmo_graph_node_at(graph, first < end ? first + 1 : end, end,
                                       before + (ends * next + ranks - 1) / ranks);
}

/* Counts the edges between blocks of users and of items, common (ranks, ranks); counted: (ranks, ranks, ranks)
 * scratch. Each rank counts those of its stretch of users. */
static void count_common(const struct inmo_share *share, int64_t *counted, int64_t *common)
{
    const struct inmo_graph *graph = share->whole;
    int ranks = inmo_ranks(), cells = ranks * ranks;
    int64_t *own = counted + (size_t)inmo_own_rank() * (size_t)cells;
    int32_t end = inmo_stretch_first(graph->users, inmo_own_rank() + 1);
    memset(own, 0, (size_t)cells * sizeof *own);
    for (int32_t u = inmo_stretch_first(graph->users, inmo_own_rank()); u < end; u++) {
        const int32_t *neighbour = inmo_graph_row(graph, u);
        int64_t degree = inmo_graph_degree(graph, u);
        int block = inmo_share_block(share->user_cut, ranks, u);
        for (int64_t e = 0; e < degree; e++)
            own[block * ranks + inmo_share_block(share->item_cut, ranks, neighbour[e])]++;
    }
    inmo_ranks_gather_even(counted, (size_t)cells * sizeof *counted);
    memset(common, 0, (size_t)cells * sizeof *common);
    for (int n = 0; n < ranks * cells; n++)
        common[n % cells] += counted[n];
}

/* Gives each rank the block of items that has most edges to its users, the most first. */
static enum inmo_status match_blocks(struct inmo_share *share, struct inmo_error *error)
{
    int ranks = inmo_ranks();
    size_t cells = (size_t)ranks * (size_t)ranks;
    int64_t *common = inmo_alloc(cells, sizeof *common);
    int64_t *counted = inmo_alloc((size_t)ranks * cells, sizeof *counted);
    if (!common || !counted) {
        inmo_free(counted);
        inmo_free(common);
        return inmo_fail_memory(error, "the cut of the graph");
    }
    count_common(share, counted, common);
    inmo_free(counted);
    for (int p = 0; p < ranks; p++)
        share->item_block[p] = share->item_rank[p] = -1;
    for (int n = 0; n < ranks; n++) {
        int rank = -1, block = -1;
        for (int p = 0; p < ranks; p++)
            for (int b = 0; b < ranks; b++)
                if (share->item_block[p] < 0 && share->item_rank[b] < 0 &&
                    (rank < 0 || common[p * ranks + b] > common[rank * ranks + block])) {
                    rank = p;
                    block = b;
                }
        share->item_block[rank] = block;
        share->item_rank[block] = rank;
    }
    inmo_free(common);
    return INMO_OK;
}

/* Marks in local (1) which nodes this rank needs. */
static void mark(struct inmo_share *share, const struct inmo_graph *graph, int with_halo)
{
    for (int32_t v = 0; v < graph->nodes; v++)
        share->local[v] = -1;
    for (int side = 0; side < 2; side++)
        for (int32_t v = inmo_share_begin(share, inmo_own_rank(), side);
             v < inmo_share_end(share, inmo_own_rank(), side); v++) {
            const int32_t *neighbour = inmo_graph_row(graph, v);
            int64_t degree = with_halo ? inmo_graph_degree(graph, v) : 0;
            share->local[v] = 1;
            for (int64_t e = 0; e < degree; e++)
                share->local[neighbour[e]] = 1;
        }
}

/* Numbers the marked nodes of one side from *next on: own ones, then the halo by owner. */
static void number_side(struct inmo_share *share, int items, int32_t *halo, int32_t *next)
{
    int own = inmo_own_rank();
    for (int32_t v = inmo_share_begin(share, own, items); v < inmo_share_end(share, own, items); v++) {
        share->origin[*next] = v;
        share->local[v] = (*next)++;
    }
    for (int b = 0; b < inmo_ranks(); b++) {
        int rank = items ? share->item_rank[b] : b;
        halo[rank] = *next;
        for (int32_t v = inmo_share_begin(share, rank, items);
             rank != own && v < inmo_share_end(share, rank, items); v++)
            if (share->local[v] >= 0) {
                share->origin[*next] = v;
                share->local[v] = (*next)++;
            }
    }
}

/* Lists what the others need: a node that has a neighbour of theirs. Counts only while sent is NULL. */
static void list_sent(struct inmo_share *share, const struct inmo_graph *graph, int with_halo)
{
    int32_t count = 0;
    for (int rank = 0; rank < inmo_ranks(); rank++) {
        share->sent_begin[rank] = count;
        for (int side = 0; side < 2; side++) {
            for (int32_t v = inmo_share_begin(share, inmo_own_rank(), side);
                 with_halo && rank != inmo_own_rank() && v < inmo_share_end(share, inmo_own_rank(), side); v++) {
                const int32_t *neighbour = inmo_graph_row(graph, v);
                int64_t degree = inmo_graph_degree(graph, v), e = 0;
                while (e < degree && !(neighbour[e] >= inmo_share_begin(share, rank, !side) &&
                                       neighbour[e] < inmo_share_end(share, rank, !side)))
                    e++;
                if (e < degree && share->sent)
                    share->sent[count] = share->local[v];
                count += e < degree;
            }
            if (side == 0)
                share->sent_users[rank] = count - share->sent_begin[rank];
        }
    }
    share->sent_begin[inmo_ranks()] = count;
}

/* The graph of the local nodes. */
static struct inmo_graph *make_local(struct inmo_share *share, const struct inmo_graph *whole, int32_t users,
                                     int32_t nodes, int with_halo)
{
    struct inmo_graph *graph = inmo_alloc_zero(1, sizeof *graph);
    int64_t ends = 0;
    if (!graph)
        return NULL;
    graph->share = share;
    graph->users = users;
    graph->items = nodes - users;
    graph->nodes = nodes;
    graph->offset = inmo_alloc((size_t)nodes + 1, sizeof *graph->offset);
    graph->inverse_degree = inmo_alloc((size_t)nodes, sizeof(float));
    graph->inverse_root_degree = inmo_alloc((size_t)nodes, sizeof(float));
    graph->root_degree = inmo_alloc((size_t)nodes, sizeof(float));
    if (!graph->offset || !graph->inverse_degree || !graph->inverse_root_degree || !graph->root_degree)
        goto failed;
    for (int32_t n = 0; n < nodes; n++) {
        int32_t v = share->origin[n];
        graph->offset[n] = ends;
        ends += with_halo && inmo_graph_owns(graph, n) ? inmo_graph_degree(whole, v) : 0;
        graph->inverse_degree[n] = whole->inverse_degree[v];
        graph->inverse_root_degree[n] = whole->inverse_root_degree[v];
        graph->root_degree[n] = whole->root_degree[v];
    }
    graph->offset[nodes] = ends;
    graph->edges = ends / 2;
    graph->neighbour = inmo_alloc((size_t)ends, sizeof *graph->neighbour);
    graph->weight = whole->weight ? inmo_alloc((size_t)ends, sizeof *graph->weight) : NULL;
    graph->relative = whole->weight ? inmo_alloc((size_t)ends, sizeof *graph->relative) : NULL;
    if (!graph->neighbour || (whole->weight && (!graph->weight || !graph->relative)))
        goto failed;
    for (int32_t n = 0; n < nodes; n++) {
        int64_t first = graph->offset[n], count = graph->offset[n + 1] - first,
                from = whole->offset[share->origin[n]];
        const int32_t *neighbour = inmo_graph_row(whole, share->origin[n]);
        for (int64_t e = 0; e < count; e++)
            graph->neighbour[first + e] = share->local[neighbour[e]];
        if (whole->weight && count > 0) {
            memcpy(graph->weight + first, whole->weight + from, (size_t)count * sizeof *graph->weight);
            memcpy(graph->relative + first, whole->relative + from, (size_t)count * sizeof *graph->relative);
        }
    }
    return graph;
failed:
    graph->share = NULL; /* the caller's */
    inmo_graph_free(graph);
    return NULL;
}

static int has_halo(const struct inmo_graph *graph, int32_t node)
{
    for (int64_t e = graph->offset[node]; e < graph->offset[node + 1]; e++)
        if (!inmo_graph_owns(graph, graph->neighbour[e]))
            return 1;
    return 0;
}

/* The end of the run of own nodes without neighbours in the halo that begins here: the node itself when there is
 * none. */
static int32_t inner_end(const struct inmo_graph *graph, int32_t node, int32_t end)
{
    while (node < end && !has_halo(graph, node))
        node++;
    return node;
}

/* Appends runs of so many nodes at most; counts only while the list is NULL. */
static void append_runs(int32_t begin, int32_t end, int32_t *run, int32_t *count)
{
    for (int32_t next; begin < end; begin = next, ++*count) {
        next = end - begin < MOST_IN_RUN ? end : begin + MOST_IN_RUN;
        if (run) {
            run[2 * (size_t)*count] = begin;
            run[2 * (size_t)*count + 1] = next;
        }
    }
}

/* Finds runs of own nodes that need nothing of others, which can be computed while rows are on their way, and of
 * the others. Short runs cost more than they gain, as rows are not fetched ahead beyond their ends, so they stay
 * with their neighbours. Counts only while the lists are NULL. */
static void find_runs(struct inmo_share *share, const struct inmo_graph *graph)
{
    share->inners = share->outers = 0;
    for (int side = 0; side < 2; side++) {
        int32_t outer = side ? graph->users : 0, end = outer + (side ? share->own_items : share->own_users);
        for (int32_t v = outer; v < end;) {
            int32_t next = inner_end(graph, v, end);
            if (next - v >= LEAST_INNER) {
                append_runs(outer, v, share->outer, &share->outers);
                append_runs(v, next, share->inner, &share->inners);
                outer = next;
            }
            v = next < end ? next + 1 : end;
        }
        append_runs(outer, end, share->outer, &share->outers);
    }
}

static enum inmo_status list_runs(struct inmo_share *share, const struct inmo_graph *graph,
                                  struct inmo_error *error)
{
    find_runs(share, graph);
    share->inner = inmo_alloc(2 * (size_t)share->inners, sizeof *share->inner);
    share->outer = inmo_alloc(2 * (size_t)share->outers, sizeof *share->outer);
    if (!share->inner || !share->outer)
        return inmo_fail_memory(error, "the cut of the graph");
    find_runs(share, graph);
    return INMO_OK;
}

/* Reads the rows of own nodes into an outline that is a copy of the whole one. */
static enum inmo_status read_own(const struct inmo_share *share, struct inmo_graph *mine, struct inmo_error *error)
{
    int own = inmo_own_rank();
    int32_t begin[2] = {inmo_share_begin(share, own, 0), inmo_share_begin(share, own, 1)};
    int32_t end[2] = {inmo_share_end(share, own, 0), inmo_share_end(share, own, 1)};
    mine->neighbour = NULL;
    return inmo_graph_fill(mine, begin, end, error);
}

enum inmo_status inmo_share_cut(const struct inmo_graph *whole, int with_halo, struct inmo_graph **local,
                                struct inmo_error *error)
{
    struct inmo_share *share = inmo_alloc_zero(1, sizeof *share);
    struct inmo_graph mine = *whole; /* of an outline, with the rows of own nodes */
    size_t ranks = (size_t)inmo_ranks(), nodes = (size_t)whole->nodes;
    int32_t next = 0, users, own = inmo_own_rank();
    enum inmo_status status = INMO_OK;
    if (!share)
        return inmo_fail_memory(error, "the cut of the graph");
    share->whole = whole;
    share->user_cut = inmo_alloc(ranks + 1, sizeof(int32_t));
    share->item_cut = inmo_alloc(ranks + 1, sizeof(int32_t));
    share->item_block = inmo_alloc(ranks, sizeof(int32_t));
    share->item_rank = inmo_alloc(ranks, sizeof(int32_t));
    share->local = inmo_alloc(nodes, sizeof(int32_t));
    share->origin = inmo_alloc(nodes, sizeof(int32_t));
    share->sent_begin = inmo_alloc(ranks + 1, sizeof(int32_t));
    share->sent_users = inmo_alloc(ranks, sizeof(int32_t));
    share->halo_users = inmo_alloc(ranks + 1, sizeof(int32_t));
    share->halo_items = inmo_alloc(ranks + 1, sizeof(int32_t));
    share->message = inmo_alloc(4 * ranks, sizeof *share->message);
    share->begin = inmo_alloc(ranks, sizeof *share->begin);
    share->size = inmo_alloc(ranks, sizeof *share->size);
    if (!share->user_cut || !share->item_cut || !share->item_block || !share->item_rank || !share->local ||
        !share->origin || !share->sent_begin || !share->sent_users || !share->halo_users || !share->halo_items ||
        !share->message || !share->begin || !share->size) {
        status = inmo_fail_memory(error, "the cut of the graph");
        goto done;
    }
    cut_side(whole, 0, whole->users, share->user_cut);
    cut_side(whole, whole->users, whole->nodes, share->item_cut);
    status = match_blocks(share, error);
    if (!status && with_halo)
        status = inmo_share_refine(share, error);
    if (!status && whole->source.list)
        status = read_own(share, &mine, error);
    if (status)
        goto done;
    share->own_users = inmo_share_end(share, own, 0) - inmo_share_begin(share, own, 0);
    share->own_items = inmo_share_end(share, own, 1) - inmo_share_begin(share, own, 1);
    mark(share, &mine, with_halo);
    number_side(share, 0, share->halo_users, &next);
    users = share->halo_users[ranks] = next;
    number_side(share, 1, share->halo_items, &next);
    share->halo_items[ranks] = next;
    list_sent(share, &mine, with_halo);
    share->sent = inmo_alloc((size_t)share->sent_begin[ranks], sizeof *share->sent);
    share->sent_row = inmo_alloc((size_t)share->sent_begin[ranks], sizeof *share->sent_row);
    if (share->sent && share->sent_row) {
        list_sent(share, &mine, with_halo);
        *local = make_local(share, &mine, users, next, with_halo);
    }
    if (!share->sent || !share->sent_row || !*local)
        status = inmo_fail_memory(error, "the cut of the graph");
    else
        status = list_runs(share, *local, error);
    if (!status)
        inmo_ranks_note_cut((int64_t)share->own_users + share->own_items, share->sent_begin[ranks],
                            (int64_t)next - share->own_users - share->own_items);
done:
    if (mine.neighbour != whole->neighbour)
        inmo_free(mine.neighbour);
    if (status && *local) {
        inmo_graph_free(*local); /* and the share */
        *local = NULL;
    } else if (status) {
        inmo_share_free(share);
    }
    return status;
}
