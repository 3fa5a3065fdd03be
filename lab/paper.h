/* paper.h - the numbers of the paper's tables and figures. */
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
/* Row n, from 0, of the paper's table that is one of its systems at its best (not retrained, not a variant with
 * fewer templates); NULL after the last. */
const char *inmo_paper_system(const char *experiment, size_t n);
/* The paper's value at x of a series of a figure, or its seconds of a bar (whatever x); NAN: it has none. */
double inmo_paper_point(const char *data, const char *experiment, const char *label, double x);

#endif
