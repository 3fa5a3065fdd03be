/* prior.h - the popularity of items as a part of a score (docs/math.md, "Prior"): the same for everybody, and
 * exactly what a ranking by popularity goes by. It helps where histories say little.
 *
 *     p_i = ln(1 + d_i) - ln(1 + d),   d_i the interactions of item i, d those of the first item that is left out
 *
 * Only the most popular items have one, so that a list costs no more than these, whatever the size of the
 * catalogue. */
#ifndef INMO_SCORE_PRIOR_H
#define INMO_SCORE_PRIOR_H

#include "base/status.h"
#include "graph/graph.h"
#include "score/sums.h"

enum { INMO_PRIOR_ITEMS = 1024 };

struct inmo_prior {
    float factor;
    int32_t count;
    int32_t *item;  // (count) ascending
    float *value;   // (count) p, above 0
};

enum inmo_status inmo_prior_make(const struct inmo_graph *graph, double factor, struct inmo_prior **prior,
                                 struct inmo_error *error);
void inmo_prior_free(struct inmo_prior *prior);
void inmo_prior_add(const struct inmo_prior *prior, struct inmo_sums *sums);
/* What it adds to the score of item i. */
double inmo_prior_of(const struct inmo_prior *prior, int32_t i);

#endif
