/* inverse.h - the inverse of a large symmetric positive definite matrix, in place and in parallel. */
#ifndef INMO_KERNEL_INVERSE_H
#define INMO_KERNEL_INVERSE_H

#include "base/status.h"

#include <stdint.h>

/* Inverts a (n, n), row-major. Reads the lower triangle and writes the whole inverse. Same bytes at any number of
 * threads. Errors: NUMERIC (not positive definite), MEMORY, INTERRUPTED (a is then destroyed). */
enum inmo_status inmo_invert(float *a, int64_t n, const struct inmo_hooks *hooks, struct inmo_error *error);

/* Naive twin: Gauss-Jordan in double. Non-zero if singular. */
int inmo_invert_reference(const float *a, int64_t n, double *inverse);

#endif
