/* norms.h - weighted squared norms of the rows of a batch: L2 for losses that do not add it themselves. */
#ifndef INMO_LOSS_NORMS_H
#define INMO_LOSS_NORMS_H

#include "loss/batch.h"
#include "model/head.h"

/* Σ_n places(n) l2 ‖x_n‖² over the rows n of the grouping; nodes below users have the l2 of users. */
struct inmo_norms {
    int32_t users;
    double user_l2, item_l2;
    int dim;                     /* of a row of x */
    struct inmo_columns columns; /* the columns in the norm */
};
/* Adds the gradient and returns the sum. x_n and its gradient are row n or, if by_node, row rows.node[n]. term:
 * (rows / INMO_NORMS_CHUNK + 1) scratch. */
enum { INMO_NORMS_CHUNK = 64 };
double inmo_square_norms(const struct inmo_norms *norms, const struct inmo_grouping *grouping, int by_node,
                         const float *x, float *gradient, double *term);

#endif
