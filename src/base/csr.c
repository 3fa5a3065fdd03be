/* csr.c - see csr.h. */
#include "base/csr.h"

#include "base/memory.h"

#include <stdlib.h>

void inmo_csr_free(struct inmo_csr *csr)
{
    inmo_free((void *)csr->weight);
    inmo_free((void *)csr->column);
    inmo_free((void *)csr->offset);
    *csr = (struct inmo_csr){0};
}

int inmo_csr_make(int32_t rows, int32_t columns, int64_t count, int weighted, struct inmo_csr *csr)
{
    int64_t *offset = inmo_alloc_zero((size_t)rows + 1, sizeof *offset);
    int32_t *column = inmo_alloc((size_t)count, sizeof *column);
    float *weight = weighted ? inmo_alloc((size_t)count, sizeof *weight) : NULL;
    *csr = (struct inmo_csr){rows, columns, offset, column, weight};
    return offset && column && (weight || !weighted) ? 0 : -1;
}

int inmo_csr_trim(const struct inmo_csr *csr, int32_t rows, int32_t columns, struct inmo_csr *trimmed)
{
    int64_t *offset = inmo_alloc((size_t)rows + 1, sizeof *offset), kept = 0;
    int32_t *column = inmo_alloc((size_t)inmo_csr_count(csr), sizeof *column);
    if (!offset || !column) {
        inmo_free(column);
        inmo_free(offset);
        return -1;
    }
    for (int32_t r = 0; r < rows; r++) {
        offset[r] = kept;
        for (int64_t e = csr->offset[r]; e < csr->offset[r + 1] && csr->column[e] < columns; e++)
            column[kept++] = csr->column[e];
    }
    offset[rows] = kept;
    *trimmed = (struct inmo_csr){rows, columns, offset, column, NULL};
    return 0;
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

int64_t inmo_ascending(int32_t *number, int64_t count)
{
    int64_t kept = 0;
    qsort(number, (size_t)count, sizeof *number, by_number);
    for (int64_t n = 0; n < count; n++)
        if (n == 0 || number[n] != number[kept - 1])
            number[kept++] = number[n];
    return kept;
}
