/* share_refine.c - moves the borders between the blocks of a cut a little, so that fewer rows are fetched: see
 * share.h. Where a border is does not change what is computed, so any number of ranks has the same bytes. */
#include "base/memory.h"
#include "base/threads.h"
#include "graph/share.h"
#include "graph/stretch.h"

#include <string.h>

enum {
    MOST_RANKS = 32, /* bits of a mask; with more, blocks are so small that a border is most of them */
    LARGEST = 32,    /* a border moves by at most this part of a block, */
    SMALLEST = 128,  /* and at least by this one */
};

/* Writes the owner of every node. */
static void fill_owners(const struct inmo_share *share, uint8_t *owner)
{
    for (int rank = 0; rank < inmo_ranks(); rank++)
        for (int items = 0; items < 2; items++) {
            int32_t begin = inmo_share_begin(share, rank, items), end = inmo_share_end(share, rank, items);
            memset(owner + begin, rank, (size_t)(end - begin));
        }
}

/* The rows that all ranks together fetch for a product: every node counts once for each other rank that has a
 * neighbour of it. Each rank looks at its stretches. */
static int64_t count_fetched(const struct inmo_share *share, uint8_t *owner)
{
    const struct inmo_graph *graph = share->whole;
    int64_t part[MOST_RANKS], sum = 0;
    fill_owners(share, owner);
    for (int items = 0; items < 2; items++) {
        int32_t first = items ? graph->users : 0, count = items ? graph->items : graph->users;
        int32_t begin = first + inmo_stretch_first(count, inmo_own_rank()),
                end = first + inmo_stretch_first(count, inmo_own_rank() + 1);
#pragma omp parallel for schedule(static, 4096) reduction(+ : sum) num_threads(inmo_threads())
        for (int32_t v = begin; v < end; v++) {
            const int32_t *neighbour = inmo_graph_row(graph, v);
            int64_t degree = inmo_graph_degree(graph, v);
            uint32_t mask = 0;
            for (int64_t e = 0; e < degree; e++)
                mask |= 1u << owner[neighbour[e]];
            sum += __builtin_popcount(mask & ~(1u << owner[v]));
        }
    }
    part[inmo_own_rank()] = sum;
    inmo_ranks_gather_even(part, sizeof *part);
    sum = 0;
    for (int rank = 0; rank < inmo_ranks(); rank++)
        sum += part[rank];
    return sum;
}

/* Tries places around one border and keeps the best. */
static void move_border(struct inmo_share *share, int32_t *cut, int border, int64_t *fetched, uint8_t *owner)
{
    const struct inmo_graph *graph = share->whole;
    int ranks = inmo_ranks();
    int32_t best = cut[border];
    int64_t at = graph->offset[best], block = (graph->offset[cut[ranks]] - graph->offset[cut[0]]) / ranks;
    for (int part = LARGEST; part <= SMALLEST; part *= 2)
        for (int sign = -1; sign <= 1; sign += 2) {
            int64_t found;
            cut[border] = inmo_graph_node_at(graph, cut[border - 1], cut[border + 1], at + sign * block / part);
            found = count_fetched(share, owner);
            if (found < *fetched) {
                *fetched = found;
                best = cut[border];
            }
        }
    cut[border] = best;
}

enum inmo_status inmo_share_refine(struct inmo_share *share, struct inmo_error *error)
{
    uint8_t *owner;
    int64_t fetched;
    if (inmo_ranks() > MOST_RANKS)
        return INMO_OK;
    owner = inmo_alloc((size_t)share->whole->nodes, 1);
    if (!owner)
        return inmo_fail_memory(error, "the cut of the graph");
    fetched = count_fetched(share, owner);
    for (int border = 1; border < inmo_ranks(); border++) {
        move_border(share, share->user_cut, border, &fetched, owner);
        move_border(share, share->item_cut, border, &fetched, owner);
    }
    inmo_free(owner);
    return INMO_OK;
}
