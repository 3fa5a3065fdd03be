/* batch.h - the rows a batch names, and which of its places name each. */
#ifndef INMO_LOSS_BATCH_H
#define INMO_LOSS_BATCH_H

#include "base/status.h"
#include "model/seam.h"

#include <stdint.h>

/* The different numbers among those given, ascending, and where each was given. */
struct inmo_grouping {
    int32_t space, most;    // numbers are below space; at most this many are given
    struct inmo_rows rows;  // of the different numbers; without positions
    int32_t *number;        // (most) as given
    int32_t *node;          // (most) what rows.node points to
    int32_t *offset;        // (most + 1) of entry
    int32_t *entry;         // (most) places, ascending for each row
    int32_t *row;           // (most) row of each place
    uint64_t *key;          // (2, most) scratch
};
enum inmo_status inmo_grouping_make(int32_t space, int32_t most, struct inmo_grouping *grouping,
                                    struct inmo_error *error);
void inmo_grouping_free(struct inmo_grouping *grouping);
/* Groups the first count of number. Its cost grows with count alone, not with a larger space; serial, as a batch
 * is small and several can be grouped at once. */
void inmo_grouping_set(struct inmo_grouping *grouping, int32_t count);
/* Every number below space, each its own row; without offset, entry and row. */
void inmo_grouping_set_all(struct inmo_grouping *grouping);
/* How many of the different numbers are below a bound. */
int32_t inmo_grouping_below(const struct inmo_grouping *grouping, int32_t bound);

/* As many as batch of count in a step, or so few that an epoch has least_steps; 0: whatever batch says. */
static inline int32_t inmo_batch_within(int32_t batch, int64_t count, int32_t least_steps)
{
    int64_t most = least_steps > 0 ? (count + least_steps - 1) / least_steps : batch;
    return batch < most ? batch : (int32_t)most;
}

#endif
