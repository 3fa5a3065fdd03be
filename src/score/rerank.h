/* rerank.h - the best items of a list, chosen again: with boosts, quotas and diversity. Formulas: docs/math.md.
 *
 * One list at a time, in memory of the caller: requests and lists for everybody call it alike, from any thread. */
#ifndef INMO_SCORE_RERANK_H
#define INMO_SCORE_RERANK_H

#include "base/status.h"

/* At most `most` items of a list may have the same category. */
struct inmo_quota {
    int most;
    int32_t categories;
    int64_t *offset;    // (items + 1)
    int32_t *category;  // (offset[items]) of each item, ascending
};

struct inmo_rerank {
    double diversity;                /* 0: by score alone; 1: after the first, as unlike those before as possible */
    int32_t items;                   /* that factor and quota know; later ones have neither */
    const float *factor;             // (items) a score s becomes s + (factor - 1) |s|; NULL: 1
    const struct inmo_quota *quota;  // (quotas)
    int quotas;
    int dim;
    const float *vector;  // (vectors, dim) of items; those beyond are like no other
    int32_t vectors;
};

/* Floats that inmo_rerank needs for a list of so many items. */
size_t inmo_rerank_space(const struct inmo_rerank *rules, int32_t count);
/* Chooses k of the items, which come best first, and puts them in front, in their new order; score is the boosted
 * one. Returns how many they are: quotas may leave fewer. */
int32_t inmo_rerank(const struct inmo_rerank *rules, int32_t count, int32_t *item, float *score, int32_t k,
                    float *space);

#endif
