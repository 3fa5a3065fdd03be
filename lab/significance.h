/* significance.h - whether one system is better than another for the users they both serve (docs/math.md). */
#ifndef INMO_LAB_SIGNIFICANCE_H
#define INMO_LAB_SIGNIFICANCE_H

#include "base/status.h"

struct inmo_paired_test {
    int64_t users;    /* compared */
    double mean;      /* of the differences */
    double low, high; /* 95 % interval of the mean, by its standard error */
    double p;         /* two-sided, of the sign-flip test */
};
/* Over the finite ones of count differences; p is 1 when none differs from 0. The same numbers give the same
 * test. */
enum inmo_status inmo_paired_test(const double *difference, int64_t count, struct inmo_paired_test *test,
                                  struct inmo_error *error);

#endif
