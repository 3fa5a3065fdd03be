/* loss.h - BPR on triples of rows of a matrix, forward and backward, deterministic at any number of threads.
 *
 *     loss = factor Σ_b softplus(s_neg - s_pos),   s = x_row · diag(w) · x_other
 *
 * Backward goes row by row, not triple by triple: the triples that touch a row are listed once (grouping), and each
 * row adds up its own terms in the order of the triples, inside one thread. */
#ifndef INMO_TRAIN_LOSS_H
#define INMO_TRAIN_LOSS_H

#include "base/status.h"
#include "model/seam.h"

#include <stdint.h>

/* The different rows named by a batch, ascending, and which places of the batch name each. */
struct inmo_grouping {
    int32_t space, most;    // numbers are below space; at most this many are given
    uint64_t *seen;         // (space / 64 + 1) bitmap, all zero between calls
    struct inmo_rows rows;
    int32_t *node;          // (most) what rows.node points to
    int32_t *position;      // (space) what rows.position points to
    int32_t *offset;        // (most + 1) of entry
    int32_t *entry;         // (most) places in the batch, ascending for each row
};
enum inmo_status inmo_grouping_make(int32_t space, int32_t most, struct inmo_grouping *grouping, struct inmo_error *error);
void inmo_grouping_free(struct inmo_grouping *grouping);
void inmo_grouping_set(struct inmo_grouping *grouping, const int32_t *number, int32_t count);

struct inmo_bpr {
    int32_t batch;
    int dim;
    double factor;             /* 1 / batch, or beta / batch */
    double l2;                 /* lambda / batch: adds l2 ‖x_row‖² for each place; 0: none */
    const float *x;            // rows
    const int32_t *index;      // (3 batch) rows of x: users, positives, negatives
    const float *w;            // (dim) or NULL for 1
    float *coefficient;        // (batch) scratch: factor * sigmoid(s_neg - s_pos)
    double *term;              // (batch) scratch
};
/* Returns the loss and leaves the coefficients for backward. */
double inmo_bpr_forward(const struct inmo_bpr *bpr);
/* The gradient of row n of the grouping, at gradient[n] or, if by_number, added to gradient[rows.node[n]]. */
void inmo_bpr_backward(const struct inmo_bpr *bpr, const struct inmo_grouping *grouping, int by_number, float *gradient);
/* dw += Σ_b coefficient x_row (x_neg - x_pos). */
void inmo_bpr_backward_w(const struct inmo_bpr *bpr, float *dw);

#endif
