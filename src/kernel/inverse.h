/* inverse.h - the inverse of a large symmetric positive definite matrix, in place and in parallel. */
#ifndef INMO_KERNEL_INVERSE_H
#define INMO_KERNEL_INVERSE_H

#include "base/status.h"

#include <stdint.h>

/* a (n, n), row-major, of which the lower triangle is read; the whole inverse is written. The same bytes at any
 * number of threads. Progress in tiles of work. Errors: NUMERIC (not positive definite), MEMORY, INTERRUPTED (a
 * is then ruined). */
enum inmo_status inmo_invert(float *a, int64_t n, const struct inmo_hooks *hooks, struct inmo_error *error);

/* Naive twin: Gauss and Jordan, in double. Nonzero when singular. */
int inmo_invert_reference(const float *a, int64_t n, double *inverse);

#endif
