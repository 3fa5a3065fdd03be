/* csr.h - compressed sparse rows, the layout of every interaction list here.
 *
 *     row r holds column[offset[r]] .. column[offset[r + 1] - 1], ascending and without repeats
 *
 * A csr borrows its arrays; the code that allocated them frees them. */
#ifndef INMO_BASE_CSR_H
#define INMO_BASE_CSR_H

#include <stdint.h>

struct inmo_csr {
    int32_t rows, columns;
    const int64_t *offset;  // (rows + 1)
    const int32_t *column;  // (offset[rows])
    const float *weight;    // (offset[rows]) above 0; NULL: all are 1
};

static inline int64_t inmo_csr_count(const struct inmo_csr *csr)
{
    return csr->offset ? csr->offset[csr->rows] : 0;
}

static inline int64_t inmo_csr_degree(const struct inmo_csr *csr, int32_t row)
{
    return csr->offset ? csr->offset[row + 1] - csr->offset[row] : 0;
}

/* 1 if an ascending list contains the number. Branchless bisection, because the branch would be unpredictable. */
static inline int inmo_holds(const int32_t *ascending, int64_t count, int32_t number)
{
    const int32_t *at = ascending;
    if (count == 0)
        return 0;
    for (; count > 1; count -= count / 2)
        at += at[count / 2] <= number ? count / 2 : 0;
    return *at == number;
}

/* 1 if the row contains the column. */
static inline int inmo_csr_has(const struct inmo_csr *csr, int32_t row, int32_t column)
{
    int64_t degree = inmo_csr_degree(csr, row);
    return degree > 0 && inmo_holds(csr->column + csr->offset[row], degree, column);
}

/* A csr that owns its arrays: offsets of 0, and room for so many entries, with weights if weighted. 0, or -1 when
 * memory is short; the arrays that there are belong to the csr all the same. */
int inmo_csr_make(int32_t rows, int32_t columns, int64_t count, int weighted, struct inmo_csr *csr);

/* Frees the arrays of a csr that owns them. */
void inmo_csr_free(struct inmo_csr *csr);

/* A copy of the first rows and columns, without weights, which owns its arrays. 0, or -1 when memory is short. */
int inmo_csr_trim(const struct inmo_csr *csr, int32_t rows, int32_t columns, struct inmo_csr *trimmed);

/* Sorts count numbers in ascending order and removes repeats; returns how many remain. */
int64_t inmo_ascending(int32_t *number, int64_t count);

#endif
