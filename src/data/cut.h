/* cut.h - one moment for everybody: what was before it trains, what comes after is predicted. The split that an
 * offline evaluation should have if the model is to serve the future. Used only by prepare.c. */
#ifndef INMO_DATA_CUT_H
#define INMO_DATA_CUT_H

#include "data/split.h"

/* Interactions from at[0] on are validation, from at[1] on the test. */
struct inmo_cut {
    int64_t at[2];
    int64_t users, items, interactions; /* left out: without anything in training */
};

/* Parses a date or a time in the log's unit, or two and a comma between (validation from, test from). newest: as in
 * weights.h. Returns how many. Errors: USAGE. */
enum inmo_status inmo_cut_parse(const char *text, int64_t newest, int64_t moment[2], int *count,
                                struct inmo_error *error);
/* Finds the moments by the shares of the split, as far as they are not given (one: of the test), and assigns parts.
 * What has the same time as a moment is after it. Then leaves out users and items without training: nothing can be
 * learned about them. rows have their times, and are not yet numbered. Errors: MEMORY. */
enum inmo_status inmo_split_by_cut(struct inmo_rows *rows, const struct inmo_split *split, const int64_t given[2],
                                   int given_count, struct inmo_cut *cut, struct inmo_error *error);

#endif
