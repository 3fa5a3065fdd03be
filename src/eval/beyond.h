/* beyond.h - what lists are like beyond being right: novelty and diversity. Formulas: docs/math.md. */
#ifndef INMO_EVAL_BEYOND_H
#define INMO_EVAL_BEYOND_H

#include "base/status.h"
#include "graph/graph.h"

/* Lists whose diversity is computed, at even steps among all: it takes longer than ranking does. */
enum { INMO_DIVERSITY_LISTS = 1000 };

/* Sets novelty and diversity of *at to means over lists member[0] .. member[count - 1] of top (lists, width), each
 * cut at k; -1 ends a list. NaN where no list says anything. Errors: MEMORY. */
enum inmo_status inmo_beyond_mean(const struct inmo_graph *graph, const int32_t *top, int width,
                                  const int32_t *member, int32_t count, int k, struct inmo_metrics *at,
                                  struct inmo_error *error);

#endif
