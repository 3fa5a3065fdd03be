/* top.h - the k best of a stream of scores. */
#ifndef INMO_KERNEL_TOP_H
#define INMO_KERNEL_TOP_H

#include <stdint.h>

/* The k best seen so far: a heap whose top is the worst. Better: higher score, then smaller item. */
struct inmo_top {
    int32_t k, count;
    float *score;   // (k)
    int32_t *item;  // (k)
};
/* Items may come in any order. */
void inmo_top_add(struct inmo_top *top, float score, int32_t item);
/* Sorts the heap into descending order; it is no longer a heap. */
void inmo_top_sort(struct inmo_top *top);
/* The score to exceed to get in. */
float inmo_top_bound(const struct inmo_top *top);

#endif
