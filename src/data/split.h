/* split.h - assigns interactions to parts. Used only by prepare.c.
 *
 * All calls only write the part of existing interactions; none moves any.
 *
 * Random numbers (docs/math.md has random, key and below): a shuffle of x_0 .. x_{n-1} with a base swaps, for j =
 * n-1, ..., 1, x_j with x_{below(random(base, j), j + 1)}. The base is
 *
 *     random(key(seed, 6), u)         for the split by seed, or the hold-out, of user u
 *     random(key(seed, 27), u)        for a hold-out by runs, or of the last ones, of user u as the log numbers
 *                                     them: draw 0 says whether, 1 how long (rounded at random), 2 from where
 *     random(key(seed, 7), u)         for the new interactions of user u
 *     random(key(seed, 7), 0 and 1)   for the new users and the new items
 *
 * so the result for a user depends only on the seed, the user's number and the user's items. Items are shuffled
 * from ascending order. No two of these shuffles use the same stream in one preparation. */
#ifndef INMO_DATA_SPLIT_H
#define INMO_DATA_SPLIT_H

#include "base/status.h"
#include "data/dataset.h"
#include "data/rows.h"

#include <stdint.h>

/* The first three are the values in struct inmo_log_block. */
enum inmo_part { INMO_TRAIN = 0, INMO_TEST = 1, INMO_VALID = 2, INMO_LATER = 3, INMO_ASIDE = 4 };

/* A share is a whole number of billionths, so that floor(share * n) is exact: in floating point (1 - 0.9) * 10 is
 * less than 1. */
#define INMO_WHOLE INT64_C(1000000000)

struct inmo_split {
    int64_t train, valid, test; /* shares; they sum to INMO_WHOLE */
};

static inline int64_t inmo_share(double share)
{
    return (int64_t)(share * (double)INMO_WHOLE + 0.5);
}
/* floor(share * n) for n < 2^31. */
static inline int64_t inmo_share_of(int64_t share, int64_t n)
{
    return share * n / INMO_WHOLE;
}

/* Parses "70/10/20" or "72.5/7.5/20": three numbers that sum to 100, the first above 0. Errors: USAGE. */
enum inmo_status inmo_split_parse(const char *text, struct inmo_split *split, struct inmo_error *error);

/* Of a user's n items, the first max(1, floor(train * n)) go to train, the last floor(test * n) to test, the rest
 * to valid. The order is that of a shuffle, or ascending time (equal times in log order). With last > 0, the
 * last ones are the test and as many before them valid, instead of shares; the first is always for training. */
enum inmo_status inmo_split_by_seed(struct inmo_rows *rows, const struct inmo_split *split, uint64_t seed,
                                    struct inmo_error *error);
enum inmo_status inmo_split_by_time(struct inmo_rows *rows, const struct inmo_split *split, int64_t last,
                                    struct inmo_error *error);
/* Moves the last floor(share * n) of each user's shuffled n training items to valid. */
enum inmo_status inmo_split_hold_out(struct inmo_rows *rows, int64_t share, uint64_t seed,
                                     struct inmo_error *error);
/* The same for rows that are not numbered yet: their order is that of the log, or of time if there are times. Moves
 * a run of some users' items, a fifth of them or the share if that is more, so that the share is moved in all; or,
 * with last, the share of everybody's, from the end. At most n - 1 of n are moved. */
enum inmo_status inmo_split_hold_out_runs(struct inmo_rows *rows, double share, int last, uint64_t seed,
                                          struct inmo_error *error);

/* Labels the n entries of one row; order has them in the order in which parts take them. */
void inmo_split_label(uint8_t *part, const int32_t *order, int64_t n, const struct inmo_split *split);

/* Marks new users and items in new_user (users) and new_item (items), which must be zero; none outside that
 * scenario. With last_are_new these have the highest numbers (they appeared last) and the seed does not count; else
 * they are drawn. */
enum inmo_status inmo_scenario_choose(enum inmo_scenario scenario, int32_t users, int32_t items, int64_t new_share,
                                      int last_are_new, uint64_t seed, uint8_t *new_user, uint8_t *new_item,
                                      struct inmo_error *error);
/* Removes from training what the scenario requires. */
enum inmo_status inmo_scenario_apply(enum inmo_scenario scenario, struct inmo_rows *rows, int64_t new_share,
                                     uint64_t seed, const uint8_t *new_user, const uint8_t *new_item,
                                     struct inmo_error *error);

#endif
