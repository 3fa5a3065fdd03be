/* threads.h - the one place that decides how many threads work. */
#ifndef INMO_BASE_THREADS_H
#define INMO_BASE_THREADS_H

#include <stdint.h>

/* Threads in force: what inmo_set_threads said, else all cores. */
int inmo_threads(void);

/* Seconds of a steady clock. */
double inmo_now(void);

/* Splits rows 0..rows-1 into parts of about equal work, where row r costs offset[r + 1] - offset[r] + 1; part p is
 * [bound[p], bound[p + 1]). bound has parts + 1 entries. Kernels compute each row wholly inside one part, so the
 * split never changes a result. */
void inmo_split_rows(const int64_t *offset, int32_t rows, int parts, int32_t *bound);

#endif
