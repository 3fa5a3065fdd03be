/* compare.h - what inmo compare needs to judge models by the same users: intervals, paired tests, a page. Part
 * of the program, not of libinmo; conventions as in inmo.h. */
#ifndef INMO_LAB_COMPARE_H
#define INMO_LAB_COMPARE_H

#include "inmo.h"

#include <stdio.h>

struct inmo_compare_score {
    int64_t users;
    double mean;
    double low, high;  /* 95 % interval of the mean: percentiles of resampled users (bootstrap) */
    double difference; /* mean of the reference's scores minus these, over users both have */
    double p; /* of the paired sign-flip test (docs/math.md), for several comparisons (Holm); 1 for itself */
};
/* user_score[s] (users) has the scores of system s; NaN: not counted. Deterministic. Errors: MEMORY. */
enum inmo_status inmo_compare_scores(const float *const *user_score, size_t systems, int64_t users,
                                     size_t reference, struct inmo_compare_score *score, struct inmo_error *error);

/* Writes the result of inmo compare (its JSON) as one self-contained page. Errors: MEMORY, FORMAT. */
enum inmo_status inmo_compare_page(const char *json, FILE *stream, struct inmo_error *error);

#endif
