/* sampler.h - BPR triples (row, positive, negative) of a list of interactions, each a function of (key, number). */
#ifndef INMO_LOSS_SAMPLER_H
#define INMO_LOSS_SAMPLER_H

#include "base/csr.h"
#include "base/status.h"

struct inmo_sampler {
    struct inmo_csr list;      // not owned
    int32_t *eligible, count;  // rows with an interaction, and not with all columns
    uint64_t *seen;  // a bit for each of 2^bits hashes of (row, column): 0 where no interaction has that hash
    int bits;
};

/* INPUT when no row has both an interaction and a column without one. */
enum inmo_status inmo_sampler_check(const struct inmo_csr *list, struct inmo_error *error);
/* INPUT likewise. */
enum inmo_status inmo_sampler_make(const struct inmo_csr *list, struct inmo_sampler *sampler,
                                   struct inmo_error *error);
void inmo_sampler_free(struct inmo_sampler *sampler);
/* Triples number first .. first + count - 1 (docs/math.md, "Random numbers"); negative NULL: pairs only. Serial:
 * no triple depends on another, so that threads can draw several batches at once. */
void inmo_sampler_draw(const struct inmo_sampler *sampler, uint64_t key, int64_t first, int32_t count, int32_t *row,
                       int32_t *positive, int32_t *negative);
/* And negatives (count, each) for rows drawn before, number (first + n) each + j for the j-th of row[n]
 * (docs/math.md). */
void inmo_sampler_draw_negatives(const struct inmo_sampler *sampler, uint64_t key, int64_t first, int32_t count,
                                 int32_t each, const int32_t *row, int32_t *negative);

#endif
