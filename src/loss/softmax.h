/* softmax.h - softmax loss with negatives shared by the whole batch, forward and backward.
 *
 *     loss = 1/B Σ_b ( log( e^{s(u_b, p_b)/T} + Σ_j e^{s(u_b, n_j)/T} ) - s(u_b, p_b)/T ) + l2 terms
 *
 * Scores and gradients are three dense BLAS products of B x M; the rest is one pass of exponentials. Blocks have
 * fixed sizes, and one thread computes a whole block, so the result does not depend on the number of threads. */
#ifndef INMO_LOSS_SOFTMAX_H
#define INMO_LOSS_SOFTMAX_H

#include "base/status.h"

#include <stdint.h>

struct inmo_softmax {
    int32_t batch, negatives;
    int dim;
    double temperature, l2; /* l2: lambda / batch, on users and positives */
    float *user;            // (batch, dim) copies of the rows
    float *positive;        // (batch, dim)
    float *negative;        // (negatives, dim)
    float *share;           // (batch, negatives) e^score, then the gradient of the score
    float *gradient;        // (2 batch + negatives, dim) of users, positives, negatives
    double *term;           // (batch)
};
enum inmo_status inmo_softmax_make(int32_t batch, int32_t negatives, int dim, struct inmo_softmax *softmax,
                                   struct inmo_error *error);
void inmo_softmax_free(struct inmo_softmax *softmax);

/* index (2 batch + negatives): the rows of x that are users, positives and negatives. Returns the loss and sets
 * gradient. */
double inmo_softmax_run(struct inmo_softmax *softmax, const float *x, const int32_t *index);
#endif
