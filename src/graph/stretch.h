/* stretch.h - which rows of a side, users or items, a rank computes before the graph is cut (share.h): those of the
 * spectral start and of template scores.
 *
 * The rows are cut into stretches of equal length, whatever the number of ranks, so that sums over a stretch, added
 * in order, have the same bytes at any number of ranks and threads. A rank has stretches that follow each other. */
#ifndef INMO_GRAPH_STRETCH_H
#define INMO_GRAPH_STRETCH_H

#include "ranks/ranks.h"

enum { INMO_STRETCHES = 16 };

/* The stretches of a rank are [of(rank), of(rank + 1)). */
static inline int inmo_stretch_of(int rank)
{
    return (int)((int64_t)INMO_STRETCHES * rank / inmo_ranks());
}

/* Where stretch k of so many rows begins. */
static inline int32_t inmo_stretch_begin(int32_t rows, int k)
{
    int64_t begin = (int64_t)k * (((int64_t)rows + INMO_STRETCHES - 1) / INMO_STRETCHES);
    return begin < rows ? (int32_t)begin : rows;
}

/* The first of so many rows that a rank computes; it ends where the next rank's begin. */
static inline int32_t inmo_stretch_first(int32_t rows, int rank)
{
    return inmo_stretch_begin(rows, inmo_stretch_of(rank));
}

/* Gives every rank the rows of all others: so many, of so many bytes. */
void inmo_stretch_gather(void *rows, int32_t count, size_t bytes);

#endif
