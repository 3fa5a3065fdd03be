/* metrics.h - quality of ranked lists. Formulas: docs/math.md. */
#ifndef INMO_EVAL_METRICS_H
#define INMO_EVAL_METRICS_H

#include "base/csr.h"
#include "base/status.h"

/* Adds the metrics of one user's list at k to sum. list: best item first, -1 ends it. truth: the user's test items,
 * ascending. Does not touch coverage. */
void inmo_metrics_add(const int32_t *list, int k, const int32_t *truth, int64_t truth_count,
                      struct inmo_metrics *sum);

/* Divides the sums by the number of users. */
void inmo_metrics_mean(struct inmo_metrics *sum, int64_t users);

/* The users with truth items, in a new array that the caller frees. */
enum inmo_status inmo_rank_users(const struct inmo_csr *truth, int32_t **who, int32_t *count,
                                 struct inmo_error *error);

#endif
