/* triples.h - the pairwise loss on triples of rows of a matrix, forward and backward. Shared by the BPR loss, the
 * self-enhanced loss and the fused step of matrix factorization. Deterministic at any number of threads.
 *
 *     loss = factor Σ_b softplus(s_neg - s_pos),   s = x_row · diag(w) · x_other
 *
 * Backward works row by row, not triple by triple: the grouping lists the triples of each row, and one thread adds
 * up the terms of a row in the order of the triples. */
#ifndef INMO_LOSS_TRIPLES_H
#define INMO_LOSS_TRIPLES_H

#include "base/status.h"
#include "kernel/kernel.h"
#include "loss/batch.h"

#include <stdint.h>

enum { INMO_TRIPLES_CHUNK = 64 }; /* triples whose losses are summed together */

struct inmo_triples {
    int32_t batch;
    int dim;
    double factor;         /* 1 / batch, or beta / batch */
    double l2;             /* lambda / batch: adds l2 ‖x_row‖² for each place */
    const float *x;        // rows
    const int32_t *index;  // (3 batch) rows of x: users, positives, negatives
    const float *w;        // (dim) or NULL for 1
    float *coefficient;    // (batch) scratch: factor * sigmoid(s_neg - s_pos)
    double *term;          // (3 batch / CHUNK + 1) scratch
    int32_t *term_row;     // (7 batch) scratch of inmo_triples_terms, by row
    float *term_factor;    // (7 batch)
};
/* Returns the loss without l2, and sets the coefficients for backward. */
double inmo_triples_forward(const struct inmo_triples *triples);
/* Sets gradient[n] to the gradient of row n of the grouping. Returns the l2 part of the loss. */
double inmo_triples_backward(const struct inmo_triples *triples, const struct inmo_grouping *grouping,
                             float *gradient);
/* The same in pieces, serially, for count rows of the grouping from first on; without w, and with x by rows of the
 * grouping. forward_rows: the triples whose users these rows are. terms: the terms of the rows' gradients; all
 * triples that name one of the rows must have been through forward_rows. */
double inmo_triples_forward_rows(const struct inmo_triples *triples, const struct inmo_grouping *grouping,
                                 int32_t first, int32_t count);
struct inmo_terms inmo_triples_terms(const struct inmo_triples *triples, const struct inmo_grouping *grouping,
                                     int32_t first, int32_t count, int32_t *offset /* (count + 1) scratch */);
/* What l2 adds to the loss for these rows. */
double inmo_triples_square_norms(const struct inmo_triples *triples, const struct inmo_grouping *grouping,
                                 int32_t first, int32_t count);
/* dw = Σ_b coefficient x_row (x_neg - x_pos). partial: (batch / CHUNK + 1, dim) scratch. */
void inmo_triples_backward_w(const struct inmo_triples *triples, float *partial, float *dw);

#endif
