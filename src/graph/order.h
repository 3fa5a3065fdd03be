/* order.h - renumbers nodes so that rows close together share neighbours. A sparse product then finds the rows it
 * needs in the cache (docs/benchmarks.md, "Order of the nodes"). */
#ifndef INMO_GRAPH_ORDER_H
#define INMO_GRAPH_ORDER_H

#include "graph/graph.h"

/* none       unchanged
 * community  the leaves, in order, of a kd-tree over the rows of a truncated SVD */
#define INMO_ORDERS "none|community"

/* node (nodes) becomes the order, users and items each within their range: the node that comes to place p is
 * node[p]. */
enum inmo_status inmo_order_find(const struct inmo_graph *graph, const char *order, const struct inmo_hooks *hooks,
                                 int32_t *node, struct inmo_error *error);

/* Puts the graph with these numbers (graph.h) in its place. */
enum inmo_status inmo_graph_order(struct inmo_graph **graph, const char *order, const struct inmo_hooks *hooks,
                                  struct inmo_error *error);

/* Permutes rows (count, width) in place: row n becomes what row from[n] was. */
enum inmo_status inmo_order_rows(int32_t count, const int32_t *from, int width, float *rows,
                                 struct inmo_error *error);
/* Moves the rows of all nodes, (nodes, width), from the numbers of a renumbered graph back to the original ones, in
 * place. */
enum inmo_status inmo_order_restore(const struct inmo_graph *graph, int width, float *rows,
                                    struct inmo_error *error);

#endif
