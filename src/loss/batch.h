/* batch.h - groups a batch by row: which rows it names, and at which places. */
#ifndef INMO_LOSS_BATCH_H
#define INMO_LOSS_BATCH_H

#include "base/status.h"
#include "model/seam.h"

#include <stdint.h>

/* The distinct numbers among those given, ascending, and the places of each. */
struct inmo_grouping {
    int32_t space, most;    // numbers are below space; at most `most` are given
    struct inmo_rows rows;  // the distinct numbers; without positions
    int32_t *number;        // (most) as given
    int32_t *node;          // (most) rows.node points here
    int32_t *offset;        // (most + 1) into entry
    int32_t *entry;         // (most) places by row, ascending within a row
    int32_t *row;           // (most) row of each place
    uint64_t *key;          // (2, most) scratch
};
enum inmo_status inmo_grouping_make(int32_t space, int32_t most, struct inmo_grouping *grouping,
                                    struct inmo_error *error);
void inmo_grouping_free(struct inmo_grouping *grouping);
/* Groups the first count entries of number. The cost depends on count, not on space. Serial: a batch is small, and
 * threads can group several batches at once. */
void inmo_grouping_set(struct inmo_grouping *grouping, int32_t count);
/* How many distinct numbers are below a bound. */
int32_t inmo_grouping_below(const struct inmo_grouping *grouping, int32_t bound);

/* The batch size, reduced so that an epoch over count examples has at least least_steps steps; 0: not reduced. */
static inline int32_t inmo_batch_within(int32_t batch, int64_t count, int32_t least_steps)
{
    int64_t most = least_steps > 0 ? (count + least_steps - 1) / least_steps : batch;
    return batch < most ? batch : (int32_t)most;
}

#endif
