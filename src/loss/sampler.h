/* sampler.h - draws BPR triples (row, positive, negative) from a list of interactions, each a function of (key,
 * number). */
#ifndef INMO_LOSS_SAMPLER_H
#define INMO_LOSS_SAMPLER_H

#include "base/csr.h"
#include "base/status.h"

struct inmo_sampler {
    struct inmo_csr list;      // not owned
    int32_t *eligible, count;  // rows with at least one column, but not all
    uint64_t *seen;            // a bit for each of 2^bits hashes of (row, column); 0: no interaction has that hash
    int bits;
};

/* INPUT if no row is eligible. */
enum inmo_status inmo_sampler_check(const struct inmo_csr *list, struct inmo_error *error);
/* Errors: INPUT likewise, MEMORY. */
enum inmo_status inmo_sampler_make(const struct inmo_csr *list, struct inmo_sampler *sampler,
                                   struct inmo_error *error);
void inmo_sampler_free(struct inmo_sampler *sampler);
/* Draws triples number first .. first + count - 1 (docs/math.md, "Random numbers"); negative NULL: pairs only.
 * Serial: triples are independent, so threads can draw several batches at once. */
void inmo_sampler_draw(const struct inmo_sampler *sampler, uint64_t key, int64_t first, int32_t count, int32_t *row,
                       int32_t *positive, int32_t *negative);
/* Draws negatives (count, each) for rows drawn before; the j-th of row[n] is number (first + n) each + j
 * (docs/math.md). */
void inmo_sampler_draw_negatives(const struct inmo_sampler *sampler, uint64_t key, int64_t first, int32_t count,
                                 int32_t each, const int32_t *row, int32_t *negative);

#endif
