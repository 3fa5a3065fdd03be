/* start.h - starting values for the parameters of nodes: the input of a provider's start_rows, and two ways to set
 * them. */
#ifndef INMO_MODEL_START_H
#define INMO_MODEL_START_H

#include "graph/svd.h"
#include "model/seam.h"

struct inmo_row_start {
    const struct inmo_binding *binding;
    const int64_t *number;  // (rows + extra rows) in the data set's order; select the random numbers
    uint64_t key;
    double deviation; /* standard deviation of normal values */
    double bound;     /* > 0: uniform values in [-bound, bound] instead */
    /* For a spectral start: the truncated SVD of D_u^-1/2 Y D_i^-1/2; NULL: a random start. */
    const struct inmo_svd *svd;
    double scale;         /* approximate length of a row */
    int columns;          /* columns it fills; further ones, which a head asks for, stay random, */
    double further_bound; /* and with bound > 0 are within this one */
};

/* Sets rows first .. first + count - 1 at random. */
void inmo_start_random(const struct inmo_row_start *start, int64_t first, int64_t count, float *parameter);
/* Sets the bound rows to the singular vectors of their nodes, times factor[node]; factor NULL: 1. */
void inmo_start_spectral(const struct inmo_row_start *start, const float *factor, float *parameter);

#endif
