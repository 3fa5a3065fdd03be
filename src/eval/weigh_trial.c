/* weigh_trial.c - see weigh_trial.h. The lists of two trials are much alike. So the lowest new score of those that
 * were the best before is a bound that hardly any other item passes, and the others are only looked at, many at
 * once. */
#include "eval/weigh_trial.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 64 };

static float score_of(const struct inmo_reached *reached, struct inmo_factors factors, int32_t m)
{
    return reached->product[m] + factors.walk * reached->walk[m] + factors.link * reached->link[m] +
           factors.prior * reached->prior[m];
}

/* A score that k items have at least: the lowest of those that were best before. */
static float floor_of(const struct inmo_reached *reached, struct inmo_factors factors,
                      const struct inmo_top *before)
{
    float lowest = INFINITY;
    if (before->count < before->k)
        return -INFINITY;
    for (int32_t n = 0; n < before->k; n++) {
        int32_t m = reached->place[before->item[n]];
        int is_reached = m < reached->count && reached->item[m] == before->item[n];
        lowest = fminf(lowest, is_reached ? score_of(reached, factors, m) : before->score[n]);
    }
    return lowest;
}

void inmo_weigh_rank(const struct inmo_reached *reached, const struct inmo_top *rest, struct inmo_factors factors,
                     struct inmo_top *top)
{
    float floor = floor_of(reached, factors, top), bound;
    memcpy(top->score, rest->score, (size_t)rest->count * sizeof *top->score);
    memcpy(top->item, rest->item, (size_t)rest->count * sizeof *top->item);
    top->count = rest->count;
    bound = fmaxf(inmo_top_bound(top), floor);
    for (int32_t first = 0; first < reached->count; first += CHUNK) {
        int32_t count = reached->count - first < CHUNK ? reached->count - first : CHUNK;
        float sum[CHUNK];
        int some = 0;
        for (int32_t m = 0; m < count; m++)
            sum[m] = score_of(reached, factors, first + m);
        for (int32_t m = 0; m < count; m++)
            some |= sum[m] >= bound;
        for (int32_t m = 0; some && m < count; m++)
            if (sum[m] >= bound) {
                inmo_top_add(top, sum[m], reached->item[first + m]);
                bound = fmaxf(inmo_top_bound(top), floor);
            }
    }
    inmo_top_sort(top);
}
