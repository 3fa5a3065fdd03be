/* order.h - numbers for the nodes of a graph under which rows near each other share neighbours, so that a sparse
 * product finds in the cache what it has just gathered (docs/benchmarks.md, "Order of the nodes"). */
#ifndef INMO_GRAPH_ORDER_H
#define INMO_GRAPH_ORDER_H

#include "graph/graph.h"

/* none       as they are
 * community  the leaves, in order, of a tree that halves the rows of a truncated SVD */
#define INMO_ORDERS "none|community"

/* node (nodes) becomes the order, users and items each within their range: the node that comes to place p is
 * node[p]. */
enum inmo_status inmo_order_find(const struct inmo_graph *graph, const char *order, const struct inmo_hooks *hooks,
                                 int32_t *node, struct inmo_error *error);

/* Puts the graph with these numbers (graph.h) in its place. */
enum inmo_status inmo_graph_order(struct inmo_graph **graph, const char *order, const struct inmo_hooks *hooks,
                                  struct inmo_error *error);

/* Rows of all nodes, (nodes, width), from the numbers of a renumbered graph to their first ones, in place. */
enum inmo_status inmo_order_restore(const struct inmo_graph *graph, int width, float *rows,
                                    struct inmo_error *error);

#endif
