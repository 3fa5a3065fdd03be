/* bpr.h - BPR on triples of rows of a matrix, forward and backward, deterministic at any number of threads.
 *
 *     loss = factor Σ_b softplus(s_neg - s_pos),   s = x_row · diag(w) · x_other
 *
 * Backward goes row by row, not triple by triple: the triples that touch a row are listed once (grouping), and each
 * row adds up its own terms in the order of the triples, inside one thread. */
#ifndef INMO_LOSS_BPR_H
#define INMO_LOSS_BPR_H

#include "base/status.h"
#include "kernel/kernel.h"
#include "model/head.h"
#include "loss/batch.h"

#include <stdint.h>

enum { INMO_BPR_CHUNK = 64 }; /* triples whose losses are added up together */

struct inmo_bpr {
    int32_t batch;
    int dim;
    double factor;         /* 1 / batch, or beta / batch */
    double l2;             /* lambda / batch: l2 ‖x_row‖² more for each place */
    const float *x;        // rows
    const int32_t *index;  // (3 batch) rows of x: users, positives, negatives
    const float *w;        // (dim) or NULL for 1
    float *coefficient;    // (batch) scratch: factor * sigmoid(s_neg - s_pos)
    double *term;          // (3 batch / CHUNK + 1) scratch
    int32_t *term_row;     // (7 batch) scratch of inmo_bpr_terms, each row's at its own place
    float *term_factor;    // (7 batch)
};
/* Returns the loss without l2 and leaves the coefficients for backward. */
double inmo_bpr_forward(const struct inmo_bpr *bpr);
/* gradient[n] is that of row n of the grouping. Returns the part of the loss that l2 is. */
double inmo_bpr_backward(const struct inmo_bpr *bpr, const struct inmo_grouping *grouping, float *gradient);
/* The same in pieces, serially, for rows of the grouping from first on; without w, and x by rows of the
 * grouping. Forward: the triples whose users they are. Backward: what their gradients are sums of; it must come
 * after forward of all triples that name one of the rows. */
double inmo_bpr_forward_rows(const struct inmo_bpr *bpr, const struct inmo_grouping *grouping, int32_t first,
                             int32_t count);
struct inmo_terms inmo_bpr_terms(const struct inmo_bpr *bpr, const struct inmo_grouping *grouping, int32_t first,
                                 int32_t count, int32_t *offset /* (count + 1) scratch */);
/* What l2 adds to the loss for these rows. */
double inmo_bpr_square_norms(const struct inmo_bpr *bpr, const struct inmo_grouping *grouping, int32_t first,
                             int32_t count);
/* dw = Σ_b coefficient x_row (x_neg - x_pos). partial: (batch / CHUNK + 1, dim) scratch. */
void inmo_bpr_backward_w(const struct inmo_bpr *bpr, float *partial, float *dw);

/* Of pairs (model/head.h), the judge; context is this structure. */
struct inmo_pair_loss {
    int is_bce;        /* factor Σ softplus(-s) of positives, softplus(s) of negatives; 0: BPR */
    int32_t negatives; /* of each positive; BPR: 1 */
    double factor;
};
double inmo_pair_loss(const void *context, int32_t first, int32_t positives, const float *score, float *ds);

/* Σ_n places(n) l2 ‖x_n‖², n the rows of the grouping, l2 that of users for nodes below users; x_n and its
 * gradient are row n or, if by_node, row rows.node[n]; of x_n only some columns count. Adds the gradient and
 * returns the sum. term: (rows / CHUNK + 1) scratch. */
struct inmo_norms {
    int32_t users;
    double user_l2, item_l2;
    int dim;
    struct inmo_columns columns;
};
double inmo_square_norms(const struct inmo_norms *norms, const struct inmo_grouping *grouping, int by_node,
                         const float *x, float *gradient, double *term);

#endif
