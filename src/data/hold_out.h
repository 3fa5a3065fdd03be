/* hold_out.h - a data set with the same users and items and other parts: some of its training interactions held
 * out to validate on, or training and validation joined. What is not listed anew is borrowed from the original. */
#ifndef INMO_DATA_HOLD_OUT_H
#define INMO_DATA_HOLD_OUT_H

#include "data/dataset.h"

/* Moves a share of the training interactions to validation. Of a user's n, floor(share · n + x) are moved with x
 * uniform in [0, 1), so that short histories give their share, too; but at most n - 1: nobody is left without.
 * Which: the last ones of a shuffle, as in split.h. The draws are those of stream 27: x is draw 0 of random(key,
 * u), swap j is draw j. Errors: MEMORY. */
enum inmo_status inmo_dataset_hold_out(const struct inmo_dataset *data, double share, uint64_t seed,
                                       struct inmo_dataset *held, struct inmo_error *error);
/* Moves the validation interactions to training. Errors: MEMORY. */
enum inmo_status inmo_dataset_join(const struct inmo_dataset *data, struct inmo_dataset *joined,
                                   struct inmo_error *error);
/* Frees what either of these has listed anew; nothing if neither was called on a structure of zeros. */
void inmo_dataset_drop_parts(struct inmo_dataset *made);

#endif
