/* share.h - what one rank (ranks/ranks.h) has of a graph that several train on.
 *
 * The nodes are cut into blocks, one of users and one of items for each rank, with equal numbers of edge ends,
 * in the order of the nodes: where that is the community order, most neighbours are in the block. A rank
 * computes the rows of its own nodes and needs those of their neighbours, too: the halo. It has a graph of
 * these alone,
 *
 *     own users | halo users | own items | halo items          ("local" numbers)
 *
 * in which only own nodes have neighbours, in the order of the whole graph, so that sums have the same bytes.
 * Halo nodes are in the order of the whole graph, so those of one owner are together and their rows are
 * received in place. What the others need of a rank it knows by itself: its nodes with neighbours of theirs. The
 * whole graph may be an outline (graph.h). */
#ifndef INMO_GRAPH_SHARE_H
#define INMO_GRAPH_SHARE_H

#include "graph/graph.h"
#include "ranks/ranks.h"

struct inmo_share {
    const struct inmo_graph *whole;      // all nodes; its rows may be gone
    int32_t own_users, own_items;        /* the first of the local users and items */
    int32_t *user_cut, *item_cut;        // (ranks + 1) whole numbers: where the blocks begin
    int32_t *item_block, *item_rank;     // (ranks) which block of items a rank has, and back
    int32_t *local;                      // (whole nodes) number here, or -1
    int32_t *origin;                     // (local nodes) number in the whole graph
    int32_t *sent, *sent_begin;          // own nodes that others need, by rank, users first; (ranks + 1)
    int32_t *sent_users;                 // (ranks) how many of them are users
    int32_t *halo_users, *halo_items;    // (ranks + 1) where a rank's nodes begin in the halo
    int32_t *inner, *outer;              // (runs, 2) first and end of runs of own nodes without neighbours in
    int32_t inners, outers;              // the halo, and with; how many runs
    int names_items;                     /* 1: a batch has all items (loss.h); 0: these nodes, on all ranks, */
    int32_t batch;                       /* so many, */
    const int32_t *batch_node;           // in whole numbers,
    const float *batch_gradient;         // with this gradient; set for each step
    int32_t *batch_index;                // their local numbers where they are own
    float *batch_scale, *batch_scratch;  // (batch) what the provider scales them by, and scratch
    int32_t *sent_row;                   // (sent) the rows of such nodes in an array by position
    struct inmo_message *message;        // (4 ranks)
    int64_t *begin, *size;               // (ranks) scratch
};

/* The share of this rank. with_halo 0: without the halo, for steps that read only rows of their batch. The whole
 * graph is kept by the caller. */
enum inmo_status inmo_share_cut(const struct inmo_graph *whole, int with_halo, struct inmo_graph **local,
                                struct inmo_error *error);
void inmo_share_free(struct inmo_share *share);
/* Part of it, after blocks of items are given to ranks: moves the borders to where fewer rows are fetched. */
enum inmo_status inmo_share_refine(struct inmo_share *share, struct inmo_error *error);

/* Whether a local node's row is computed here. */
static inline int inmo_graph_owns(const struct inmo_graph *graph, int32_t node)
{
    const struct inmo_share *share = graph->share;
    return !share || (node < graph->users ? node < share->own_users : node - graph->users < share->own_items);
}
/* The graph with all nodes. */
static inline const struct inmo_graph *inmo_graph_whole(const struct inmo_graph *graph)
{
    return graph->share ? graph->share->whole : graph;
}
/* The number of a local node among the users or items of the whole graph: what dropout hashes. */
static inline int32_t inmo_graph_number(const struct inmo_graph *graph, int32_t node)
{
    int32_t number = graph->share ? graph->share->origin[node] : node;
    return node < graph->users ? number : number - inmo_graph_whole(graph)->users;
}
/* The number of interactions of a local node, whose neighbours may be elsewhere. */
static inline int64_t inmo_graph_true_degree(const struct inmo_graph *graph, int32_t node)
{
    const struct inmo_share *share = graph->share;
    return share ? inmo_graph_degree(share->whole, share->origin[node]) : inmo_graph_degree(graph, node);
}
/* The own nodes of a rank on one side, in whole numbers. */
static inline int32_t inmo_share_begin(const struct inmo_share *share, int rank, int items)
{
    return items ? share->item_cut[share->item_block[rank]] : share->user_cut[rank];
}
static inline int32_t inmo_share_end(const struct inmo_share *share, int rank, int items)
{
    return items ? share->item_cut[share->item_block[rank] + 1] : share->user_cut[rank + 1];
}
/* The last of count + 1 ascending cuts that is not above the node; of equal ones, the last before the end. */
int inmo_share_block(const int32_t *cut, int count, int32_t node);
/* The rank that has a node of the whole graph. */
int inmo_share_owner(const struct inmo_share *share, int32_t node);

/* Fetches the rows of the halo from their owners: bytes each, row of node v at v or at position[v] (negative:
 * it has none). start and finish are the same in two halves. Without ranks they do nothing. */
void inmo_share_start(const struct inmo_graph *graph, void *rows, size_t bytes, const int32_t *position);
void inmo_share_finish(const struct inmo_graph *graph);
static inline void inmo_share_refresh(const struct inmo_graph *graph, void *rows, size_t bytes,
                                      const int32_t *position)
{
    inmo_share_start(graph, rows, bytes, position);
    inmo_share_finish(graph);
}

/* Gives the memory of the halo's rows back to the system once they are read: of all the arrays that have such rows,
 * one or two need them at a time. */
void inmo_share_release(const struct inmo_graph *graph, void *rows, size_t bytes, const int32_t *position);

/* Brings together rows of nodes of the whole graph, on every rank: out[n] is the row of node[n]. rows has those of
 * this rank's nodes: index[n] says which. scratch: as large as out. */
void inmo_share_collect(const struct inmo_share *share, int32_t count, const int32_t *node, const int32_t *index,
                        int dim, const float *rows, float *out, float *scratch, enum inmo_traffic_kind kind);
/* The rows of all nodes of one side of the whole graph, from those of own nodes in rows (local nodes). */
void inmo_share_assemble(const struct inmo_graph *graph, int items, size_t bytes, const void *rows, void *whole);
/* Takes rows of users of the whole graph to the ranks that want them: rank p those of node[first(context, p)] ..
 * node[first(context, p + 1) - 1], in this order. own: rows of own users, out: those wanted here. */
enum inmo_status inmo_share_deliver(const struct inmo_share *share, const int32_t *node,
                                    int32_t (*first)(const void *context, int rank), const void *context,
                                    size_t bytes, const void *own, void *out, struct inmo_error *error);

#endif
