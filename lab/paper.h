/* paper.h - the numbers of the paper's tables. */
#ifndef INMO_LAB_PAPER_H
#define INMO_LAB_PAPER_H

#include <stddef.h>
#include <stdint.h>

/* The paper's data set of that size (within 0.1 %), or NULL. */
const char *inmo_paper_data(int64_t users, int64_t items, int64_t interactions);
/* Data set n of the paper: users, items, interactions. Returns 0 after the last. */
int inmo_paper_statistics(size_t n, const char **data, double value[3]);
/* The paper's value in that row and column (0 to 2; -1: a column of ours) of a table, or NAN. */
double inmo_paper_value(const char *data, const char *experiment, const char *row, int column);

#endif
