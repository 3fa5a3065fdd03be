/* compare.h - inside inmo compare: what is compared, judging it (compare_judge.c), and the results
 * (compare_print.c). */
#ifndef INMO_CLI_COMPARE_H
#define INMO_CLI_COMPARE_H

#include "common.h"

struct compare_settings {
    struct cli_common common;
    struct cli_data_options data;
    const char *output, *models;
    int k;
    double max_seconds;
};

struct contestant {
    char *name, *model, *report; /* for the table; the model file; what its training printed, or NULL */
    json_t *row;
    float *user_ndcg;  // (users of the data set) NULL: not judged
    double valid;
};

/* Evaluates one model on both parts and fills its row. Errors: those of loading and evaluating; INPUT if it was
 * trained on test interactions. */
enum inmo_status cli_compare_judge(struct contestant *one, const struct inmo_dataset *dataset,
                                   const struct compare_settings *settings, struct inmo_error *error);
/* Adds scores, intervals and tests to the rows of those that were judged, and marks the best by validation. */
enum inmo_status cli_compare_score(struct contestant *all, size_t count, int64_t users, struct inmo_error *error);

void cli_compare_print(const struct compare_settings *settings, const json_t *models);
/* DIR/compare.json and DIR/compare.html take their place together. */
enum inmo_status cli_compare_write(const struct compare_settings *settings, json_t *result,
                                   struct inmo_error *error);

#endif
