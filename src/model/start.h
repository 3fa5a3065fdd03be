/* start.h - where the parameters of nodes start: what a provider's start_rows is given, and the two ways it may
 * go. */
#ifndef INMO_MODEL_START_H
#define INMO_MODEL_START_H

#include "graph/svd.h"
#include "model/seam.h"

struct inmo_row_start {
    const struct inmo_binding *binding;
    const int64_t
        *number;  // (rows + extra rows) numbers of the rows in the data set's order: random starts go by them
    uint64_t key;
    double deviation; /* of normal numbers */
    double bound;     /* > 0: uniform numbers within it instead */
    /* Spectral: the truncated SVD of D_u^-1/2 Y D_i^-1/2; NULL: at random. */
    const struct inmo_svd *svd;
    double scale; /* about the length of a row */
    int columns;  /* that it fills; those beyond, which a head asks for, stay at random */
};

/* Rows first .. first + count - 1 at random. */
void inmo_start_random(const struct inmo_row_start *start, int64_t first, int64_t count, float *parameter);
/* The bound rows at their nodes' singular vectors, times factor[node]; factor NULL: 1. */
void inmo_start_spectral(const struct inmo_row_start *start, const float *factor, float *parameter);

#endif
