/* sums.c - see sums.h. */
#include "score/sums.h"

#include "base/memory.h"

int inmo_sums_make(struct inmo_sums *sums, int32_t items)
{
    sums->items = items;
    sums->sum = inmo_alloc_zero((size_t)items, sizeof *sums->sum);
    sums->mark = inmo_alloc_zero((size_t)items / 64 + 1, sizeof *sums->mark);
    sums->group = inmo_alloc_zero((size_t)items / 4096 + 1, sizeof *sums->group);
    sums->met = inmo_alloc((size_t)items, sizeof *sums->met);
    return sums->sum && sums->mark && sums->group && sums->met ? 0 : -1;
}

void inmo_sums_free(struct inmo_sums *sums)
{
    inmo_free(sums->met);
    inmo_free(sums->group);
    inmo_free(sums->mark);
    inmo_free(sums->sum);
    *sums = (struct inmo_sums){0};
}

int32_t inmo_sums_collect(struct inmo_sums *sums, int32_t *item, float *value)
{
    int32_t found = 0, groups = sums->items / 4096 + 1;
    for (int32_t g = 0; g < groups; g++) {
        for (uint64_t words = sums->group[g]; words; words &= words - 1) {
            int32_t w = g * 64 + __builtin_ctzll(words);
            for (uint64_t left = sums->mark[w]; left; left &= left - 1) {
                int32_t i = w * 64 + __builtin_ctzll(left);
                item[found] = i;
                value[found++] = sums->sum[i];
                sums->sum[i] = 0;
            }
            sums->mark[w] = 0;
        }
        sums->group[g] = 0;
    }
    return found;
}
