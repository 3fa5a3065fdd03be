/* weigh_trial.h - the best items of one user, by many weights of the parts of a score in turn. */
#ifndef INMO_EVAL_WEIGH_TRIAL_H
#define INMO_EVAL_WEIGH_TRIAL_H

#include "kernel/top.h"

/* The items that walks, links or the prior reach, with the parts of their scores. */
struct inmo_reached {
    int32_t count;
    const int32_t *item;                         // (count) ascending
    const int32_t *place;                        /* (all items) where item has it; of items that it has not, any
                                                    number from 0 */
    const float *product, *walk, *link, *prior;  // (count)
};
struct inmo_factors {
    float walk, link, prior;
};

/* Ranks the k best of these items and of `rest`, whose scores do not depend on the weights. `top` comes with the
 * list of the trial before, or empty, and only the time depends on which. It is sorted, no heap. */
void inmo_weigh_rank(const struct inmo_reached *reached, const struct inmo_top *rest, struct inmo_factors factors,
                     struct inmo_top *top);

#endif
