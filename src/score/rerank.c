/* rerank.c - see rerank.h. Greedy maximal marginal relevance: k rounds, each over what is left. */
#include "score/rerank.h"

#include "kernel/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* space: unit vectors (count, dim), then relevance, nearest, cosine, score, item (count each), and how often each
 * category of each quota was taken. */
static size_t category_count(const struct inmo_rerank *rules)
{
    size_t sum = 0;
    for (int q = 0; q < rules->quotas; q++)
        sum += (size_t)rules->quota[q].categories;
    return sum;
}

size_t inmo_rerank_space(const struct inmo_rerank *rules, int32_t count)
{
    size_t dim = rules->diversity > 0 ? (size_t)rules->dim : 0;
    return (size_t)count * (dim + 5) + category_count(rules);
}

static void boost(const struct inmo_rerank *rules, int32_t count, const int32_t *item, float *score)
{
    for (int32_t n = 0; n < count && rules->factor; n++)
        if (item[n] < rules->items)
            score[n] += (rules->factor[item[n]] - 1) * fabsf(score[n]);
}

/* Whether every category of the item has room; with take, uses it up. */
static int has_room(const struct inmo_rerank *rules, int32_t item, int32_t *taken, int take)
{
    for (int q = 0; q < rules->quotas; q++) {
        const struct inmo_quota *quota = rules->quota + q;
        for (int64_t e = item < rules->items ? quota->offset[item] : 0;
             item < rules->items && e < quota->offset[item + 1]; e++) {
            if (take)
                taken[quota->category[e]]++;
            else if (taken[quota->category[e]] >= quota->most)
                return 0;
        }
        taken += quota->categories;
    }
    return 1;
}

/* Unit vectors of the items; zeros where there is none. */
static void gather_vectors(const struct inmo_rerank *rules, int32_t count, const int32_t *item, float *unit)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    size_t dim = (size_t)rules->dim;
    for (int32_t n = 0; n < count; n++, unit += dim) {
        const float *row = item[n] < rules->vectors ? rules->vector + (size_t)item[n] * dim : NULL;
        float length = row ? sqrtf(kernels->dot(rules->dim, row, row)) : 0;
        for (size_t d = 0; d < dim; d++)
            unit[d] = length > 0 ? row[d] / length : 0;
    }
}

/* Without diversity: by score, of equals the earlier, as far as quotas allow. */
struct placed {
    float score;
    int32_t item, place;
};

static int by_score(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    return x->score != y->score ? (x->score < y->score) - (x->score > y->score)
                                : (x->place > y->place) - (x->place < y->place);
}

static int32_t choose_by_score(const struct inmo_rerank *rules, int32_t count, int32_t *item, float *score,
                               int32_t k, float *space)
{
    struct placed *placed = (struct placed *)(void *)space;
    int32_t *taken = (int32_t *)(placed + count), chosen = 0;
    memset(taken, 0, category_count(rules) * sizeof *taken);
    boost(rules, count, item, score);
    for (int32_t n = 0; n < count; n++)
        placed[n] = (struct placed){score[n], item[n], n};
    if (rules->factor)
        qsort(placed, (size_t)count, sizeof *placed, by_score);
    for (int32_t n = 0; n < count && chosen < k; n++)
        if (has_room(rules, placed[n].item, taken, 0)) {
            has_room(rules, placed[n].item, taken, 1);
            item[chosen] = placed[n].item;
            score[chosen++] = placed[n].score;
        }
    return chosen;
}

static int32_t choose_diverse(const struct inmo_rerank *rules, int32_t count, int32_t *item, float *score,
                              int32_t k, float *space)
{
    size_t dim = (size_t)rules->dim, room = (size_t)count;
    float *unit = space, *relevance = unit + room * dim, *nearest = relevance + room, *cosine = nearest + room;
    float *score_of = cosine + room, lowest = INFINITY, highest = -INFINITY, d = (float)rules->diversity;
    int32_t *item_of = (int32_t *)(score_of + room), *taken = item_of + room, chosen = 0;

    memset(taken, 0, category_count(rules) * sizeof *taken);
    boost(rules, count, item, score);
    for (int32_t n = 0; n < count; n++) {
        item_of[n] = item[n];
        score_of[n] = score[n];
        lowest = score[n] < lowest ? score[n] : lowest;
        highest = score[n] > highest ? score[n] : highest;
    }
    gather_vectors(rules, count, item, unit);
    /* relevance in 0..1, so that it can be weighed against a cosine */
    for (int32_t n = 0; n < count; n++) {
        relevance[n] = highest > lowest ? (score[n] - lowest) / (highest - lowest) : 1;
        nearest[n] = -1;
    }
    /* next = argmax (1 - d) relevance_n - d max_{m chosen} cos(n, m); of equals the earlier */
    while (chosen < k) {
        int32_t best = -1;
        float value = -INFINITY;
        for (int32_t n = 0; n < count; n++) {
            float worth = chosen ? (1 - d) * relevance[n] - d * nearest[n] : relevance[n];
            if (item_of[n] >= 0 && worth > value && has_room(rules, item_of[n], taken, 0)) {
                value = worth;
                best = n;
            }
        }
        if (best < 0)
            break;
        item[chosen] = item_of[best];
        score[chosen++] = score_of[best];
        has_room(rules, item_of[best], taken, 1);
        item_of[best] = -1;
        if (chosen < k) {
            inmo_kernels()->dot_rows(count, rules->dim, unit + (size_t)best * dim, unit, cosine);
            for (int32_t n = 0; n < count; n++)
                nearest[n] = cosine[n] > nearest[n] ? cosine[n] : nearest[n];
        }
    }
    return chosen;
}

int32_t inmo_rerank(const struct inmo_rerank *rules, int32_t count, int32_t *item, float *score, int32_t k,
                    float *space)
{
    return (rules->diversity > 0 ? choose_diverse : choose_by_score)(rules, count, item, score, k, space);
}
