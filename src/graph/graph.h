/* graph.h - the observed graph: users and items as one set of nodes, each with its neighbours.
 *
 *     node v < users is user v; node users + i is item i
 *     neighbours of v: neighbour[offset[v]] .. neighbour[offset[v + 1] - 1], ascending
 *
 * With weights (docs/math.md, "Weights and time") an edge has the same one in both directions, and what is called
 * degree in the arrays below is the sum of a node's weights; inmo_graph_degree is still the number of neighbours.
 * One array holds both directions, so a product with the symmetric adjacency matrix is one pass.
 *
 * Before a graph is cut among ranks (share.h), each has an outline of it: offsets and degrees of all nodes, and the
 * rows of some of them, which it reads from the list of interactions. Code that may see an outline asks
 * inmo_graph_row for a row, and only for rows that are there. */
#ifndef INMO_GRAPH_GRAPH_H
#define INMO_GRAPH_GRAPH_H

#include "base/csr.h"
#include "base/status.h"

struct inmo_tensorfile;

/* Where the rows of an outline come from: a list in the data set's numbers. */
struct inmo_graph_source {
    const struct inmo_csr *list;         /* NULL: this is no outline, and all rows are there */
    const struct inmo_tensorfile *file;  // which the list is mapped from; NULL: it is in memory
};

struct inmo_graph {
    int32_t users, items, nodes;
    int64_t edges;
    int64_t *offset;     // (nodes + 1)
    int32_t *neighbour;  // (2 edges), or the rows of an outline: those of some users, then of some items
    int64_t skipped[2];  /* of an outline: entries that are not there before those of users, of items */
    struct inmo_graph_source source;
    float *weight;               // (2 edges) above 0; NULL: all are 1
    float *relative;             // (2 edges) weight / mean weight of the row's node; NULL as weight
    float *inverse_degree;       // (nodes) 1 / max(degree, 1)
    float *inverse_root_degree;  // (nodes) 1 / sqrt(max(degree, 1))
    float *root_degree;          // (nodes) sqrt(max(degree, 1))
    int32_t *place, *origin;     // (nodes) original number -> number here, and back; NULL: not renumbered
    struct inmo_share *share;    // if this is a rank's part of a graph (share.h); else NULL
};

/* Maps the original number of a node to its current one, and back. */
static inline int32_t inmo_graph_place(const struct inmo_graph *graph, int32_t first)
{
    return graph->place ? graph->place[first] : first;
}
static inline int32_t inmo_graph_origin(const struct inmo_graph *graph, int32_t node)
{
    return graph->origin ? graph->origin[node] : node;
}

static inline int64_t inmo_graph_degree(const struct inmo_graph *graph, int32_t node)
{
    return graph->offset[node + 1] - graph->offset[node];
}

/* The neighbours of a node. */
static inline int32_t *inmo_graph_row(const struct inmo_graph *graph, int32_t node)
{
    return graph->neighbour + (graph->offset[node] - graph->skipped[node >= graph->users]);
}

/* The first node in [first, end) with so many edge ends before it; end: none. */
int32_t inmo_graph_node_at(const struct inmo_graph *graph, int32_t first, int32_t end, int64_t ends);

/* The sum of a node's weights: its degree where there are none. */
double inmo_graph_strength(const struct inmo_graph *graph, int32_t node);
/* Their mean; the node must have neighbours. */
static inline double inmo_graph_mean(const struct inmo_graph *graph, int32_t node)
{
    return inmo_graph_strength(graph, node) / (double)inmo_graph_degree(graph, node);
}

/* Builds the union of some interaction lists over the same users and items; a list without arrays is empty. With
 * weights, if a list has them: an edge has the largest of its lists, 1 in a list without. */
enum inmo_status inmo_graph_build(int32_t users, int32_t items, const struct inmo_csr *const *lists, size_t count,
                                  struct inmo_graph **graph, struct inmo_error *error);
/* The graph renumbered: node[p] is the node that gets number p; users and items stay in their ranges. graph must
 * not be renumbered yet. Of an outline, an outline. */
enum inmo_status inmo_graph_renumber(const struct inmo_graph *graph, const int32_t *node,
                                     struct inmo_graph **renumbered, struct inmo_error *error);
void inmo_graph_free(struct inmo_graph *graph);
/* The first half of building one: allocates it, with room for so many entries, and sets the numbers of nodes and
 * edges; and the last: degrees from offsets and weights. */
enum inmo_status inmo_graph_make(int32_t users, int32_t items, int64_t edges, int64_t entries, int weighted,
                                 struct inmo_graph **graph, struct inmo_error *error);
void inmo_graph_fill_degrees(struct inmo_graph *graph);

/* An outline of the graph of a list without weights, with the rows that this rank computes (stretch.h). The caller
 * keeps list and file. */
enum inmo_status inmo_graph_outline(struct inmo_graph_source source, struct inmo_graph **graph,
                                    struct inmo_error *error);
/* Reads the rows of users [begin[0], end[0]) and items [begin[1], end[1]), all in numbers of nodes, in place of
 * those that are there; fill_own: of this rank's stretches. */
enum inmo_status inmo_graph_fill(struct inmo_graph *graph, const int32_t *begin, const int32_t *end,
                                 struct inmo_error *error);
enum inmo_status inmo_graph_fill_own(struct inmo_graph *graph, struct inmo_error *error);
/* The row of any user: where it is, or read into scratch (items). */
const int32_t *inmo_graph_read_user(const struct inmo_graph *graph, int32_t user, int32_t *scratch);

/* The union as a list of items by user (columns are items, not nodes); owns its arrays. */
enum inmo_status inmo_csr_union(int32_t users, int32_t items, const struct inmo_csr *const *lists, size_t count,
                                struct inmo_csr *merged, struct inmo_error *error);

#endif
