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
};

static inline int64_t inmo_csr_count(const struct inmo_csr *csr)
{
    return csr->offset ? csr->offset[csr->rows] : 0;
}

static inline int64_t inmo_csr_degree(const struct inmo_csr *csr, int32_t row)
{
    return csr->offset ? csr->offset[row + 1] - csr->offset[row] : 0;
}

/* 1 if the row contains the column. Branchless bisection, because the branch would be unpredictable. */
static inline int inmo_csr_has(const struct inmo_csr *csr, int32_t row, int32_t column)
{
    const int32_t *at;
    int64_t left = inmo_csr_degree(csr, row);
    if (left == 0)
        return 0;
    for (at = csr->column + csr->offset[row]; left > 1; left -= left / 2)
        at += at[left / 2] <= column ? left / 2 : 0;
    return *at == column;
}

/* Frees the arrays of a csr that owns them. */
void inmo_csr_free(struct inmo_csr *csr);

/* Sorts count numbers in ascending order and removes repeats; returns how many remain. */
int64_t inmo_ascending(int32_t *number, int64_t count);

#endif
