/* significance.h - tests whether one system is better than another for the same users (docs/math.md). */
#ifndef INMO_LAB_SIGNIFICANCE_H
#define INMO_LAB_SIGNIFICANCE_H

#include "base/status.h"

struct inmo_paired_test {
    int64_t users;    /* compared */
    double mean;      /* of the differences */
    double low, high; /* 95 % interval of the mean, by its standard error */
    double p;         /* two-sided, of the sign-flip test */
};
/* Uses the finite ones among count differences; p is 1 if all are 0. Deterministic. */
enum inmo_status inmo_paired_test(const double *difference, int64_t count, struct inmo_paired_test *test,
                                  struct inmo_error *error);

#endif
