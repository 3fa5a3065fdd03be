/* template.h - selects the template users and items (docs/math.md, "Choosing templates"). */
#ifndef INMO_GRAPH_TEMPLATE_H
#define INMO_GRAPH_TEMPLATE_H

#include "graph/graph.h"

#define INMO_TEMPLATE_RULES "error-sort|error-sort-svd|error-sort-svd-norm|degree|page-rank|random"

/* Scores every node by the rule; users compete with users, items with items. */
enum inmo_status inmo_template_scores(const struct inmo_graph *graph, const char *rule, int rank, uint64_t seed,
                                      const struct inmo_hooks *hooks, double *score, struct inmo_error *error);

/* The highest of each side, in ascending order of nodes: ⌊share · n⌋ of its n nodes with an interaction, but at
 * least one if there is one. node has room for all. */
enum inmo_status inmo_template_choose(const struct inmo_graph *graph, const double *score, double user_share,
                                      double item_share, int32_t *node, int32_t *count, struct inmo_error *error);

#endif
