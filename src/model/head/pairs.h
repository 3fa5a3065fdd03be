/* pairs.h - indexing the pairs of a batch (head.h): pair b (k + 1) + j has the item of positive b (j = 0) or its
 * j-th negative. Each place of an item is in one pair, each place of a user in k + 1. */
#ifndef INMO_MODEL_HEAD_PAIRS_H
#define INMO_MODEL_HEAD_PAIRS_H

#include "model/head.h"

/* The place of the item of a pair. */
static inline int32_t inmo_pair_item(const struct inmo_pairs *pairs, int32_t b, int32_t j)
{
    return j == 0 ? pairs->batch + b : 2 * pairs->batch + b * pairs->negatives + j - 1;
}

enum { INMO_PAIR_WALK = 64 }; /* pairs returned per call */

/* Iterates over the pairs of row n, in the order of its places. */
struct inmo_pair_walk {
    const struct inmo_pairs *pairs;
    int32_t entry, end, j;
};
static inline struct inmo_pair_walk inmo_pair_walk(const struct inmo_pairs *pairs, int32_t n)
{
    return (struct inmo_pair_walk){pairs, pairs->offset[n], pairs->offset[n + 1], 0};
}

/* The next pairs, and the row at the other end of each; returns their number, 0 at the end. */
static inline int32_t inmo_pair_walk_on(struct inmo_pair_walk *walk, int32_t *pair, int32_t *other)
{
    const struct inmo_pairs *pairs = walk->pairs;
    int32_t batch = pairs->batch, each = pairs->negatives + 1, found = 0;
    while (walk->entry < walk->end && found < INMO_PAIR_WALK) {
        int32_t place = pairs->entry[walk->entry], b, j;
        if (place < batch) {
            b = place;
            j = walk->j++;
            other[found] = pairs->row[inmo_pair_item(pairs, b, j)];
        } else {
            b = place < 2 * batch ? place - batch : (place - 2 * batch) / pairs->negatives;
            j = place < 2 * batch ? 0 : (place - 2 * batch) % pairs->negatives + 1;
            other[found] = pairs->row[b];
        }
        pair[found++] = b * each + j;
        if (place >= batch || walk->j == each) {
            walk->j = 0;
            walk->entry++;
        }
    }
    return found;
}

#endif
