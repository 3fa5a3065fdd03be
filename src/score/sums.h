/* sums.h - sparse sums over items: what the items of a history add to the scores of a few others. Collecting them
 * costs as much as there are terms, whatever the size of the catalogue. */
#ifndef INMO_SCORE_SUMS_H
#define INMO_SCORE_SUMS_H

#include <stdint.h>

/* Sums of one thread; sum, mark and group are zero between collections. */
struct inmo_sums {
    int32_t items;
    float *sum;       // (items)
    uint64_t *mark;   // (items / 64 + 1) a bit for each sum that was added to
    uint64_t *group;  // (items / 4096 + 1) a bit for each non-zero word of mark
    int32_t *met;     // (items) room for the items met while a row of walks is computed
};
int inmo_sums_make(struct inmo_sums *sums, int32_t items); /* 0, or -1 when memory is short */
void inmo_sums_free(struct inmo_sums *sums);

static inline void inmo_sums_add(struct inmo_sums *sums, int32_t item, float value)
{
    sums->sum[item] += value;
    sums->mark[item >> 6] |= (uint64_t)1 << (item & 63);
    sums->group[item >> 12] |= (uint64_t)1 << (item >> 6 & 63);
}
/* Moves all sums out: value[n] of item[n], ascending. Returns how many there are. */
int32_t inmo_sums_collect(struct inmo_sums *sums, int32_t *item, float *value);

#endif
