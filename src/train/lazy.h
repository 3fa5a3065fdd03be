/* lazy.h - Adam with the results of dense updates that touches only the rows a step needs.
 *
 * Dense Adam moves every parameter in every step: without a gradient, by what is left of m. Lazy Adam brings a row
 * up to date when it is next needed, for all missed steps at once (docs/math.md, "Adam"):
 *
 *     read rows as they are now -> forward, backward -> write the same rows
 *
 * All rows catch up before the parameters are used as a whole. What a row has missed depends only on when it was
 * last updated, so the state is four numbers for each recent step, and the last step of each row.
 *
 * Deterministic: one thread updates a whole row. For the same bytes, all rows must catch up at the same steps in
 * every run, because catching up twice instead of once adds a rounding. */
#ifndef INMO_TRAIN_LAZY_H
#define INMO_TRAIN_LAZY_H

#include "base/status.h"
#include "kernel/kernel.h"
#include "model/seam.h"

#include <stdint.h>

enum {
    INMO_LAZY_RING = 16384, /* steps remembered; all rows catch up twice in this time */
    INMO_LAZY_WINDOW = 192, /* later steps move a row by less than 0.9^192 = 2e-9 of the first */
    INMO_LAZY_CHUNK = 64,   /* rows at once; each pass has the same chunks, so that they stay in a core's cache */
    INMO_LAZY_EARLY = 256,  /* before this step the bias correction changes too fast for the closed form */
};

struct inmo_lazy {
    struct inmo_block block;      // not owned
    float *current;               // (most, dim) rows read last
    int64_t now;                  /* updates done */
    int32_t *touched;             // (rows) number of the row's last update; 0: it never had a gradient
    double *rate;                 // (RING) learning rate of update t at t % RING
    struct inmo_pause *pause;     // (RING) at t0 % RING: what rows last updated at t0 have missed; decays not set
    double *moment;               // (4, WINDOW) at t0 % WINDOW: the sums behind pause, for recent updates
    double *start;                // (WINDOW) root_bias at t0
    struct inmo_adam *early;      // (EARLY + WINDOW) Adam's factors of update t
    float *decay_m, *decay_root;  // (RING) 0.9^k, 0.999^(k/2)
};

/* most: the most rows read at once. */
enum inmo_status inmo_lazy_make(const struct inmo_block *block, int32_t most, struct inmo_lazy *lazy,
                                struct inmo_error *error);
void inmo_lazy_free(struct inmo_lazy *lazy);

/* The current parameters of the rows, (rows, dim), valid until the next call. Does not change the block. */
const float *inmo_lazy_read(struct inmo_lazy *lazy, const struct inmo_rows *rows);
/* Applies update number now + 1 to the rows read last; gradient[n] belongs to rows->node[n]. */
void inmo_lazy_write(struct inmo_lazy *lazy, double learning_rate, const struct inmo_rows *rows,
                     const float *gradient);
/* The same in pieces, for steps that do more with a row while it is in the cache (pairwise.h). A call handles at
 * most CHUNK rows from first on, serially; different threads may handle different rows. write_sums computes the
 * gradient on the fly, with adam from inmo_adam_at for update now + 1. next: the rows to prefetch, which this
 * thread needs next. written ends the update once all its rows are written. */
void inmo_lazy_read_chunk(struct inmo_lazy *lazy, const struct inmo_rows *rows, int32_t first, int32_t count,
                          struct inmo_chunk next);
void inmo_lazy_write_sums(struct inmo_lazy *lazy, struct inmo_adam adam, const struct inmo_rows *rows,
                          int32_t first, int32_t count, struct inmo_chunk next, const struct inmo_terms *gradient);
/* The same for rows that were read elsewhere: from (count, dim). */
void inmo_lazy_write_sums_from(struct inmo_lazy *lazy, struct inmo_adam adam, const int32_t *row, int32_t count,
                               const float *from, const struct inmo_terms *gradient);
void inmo_lazy_written(struct inmo_lazy *lazy, double learning_rate);

/* Resets to the state before the first update. All rows must be up to date; the caller clears the moments. */
void inmo_lazy_reset(struct inmo_lazy *lazy);
/* Brings all rows up to date. */
void inmo_lazy_catch_up(struct inmo_lazy *lazy);

/* Rebuilds the rest of the state after touched, rate, parameters and moments have been restored from a
 * checkpoint. */
void inmo_lazy_restore(struct inmo_lazy *lazy, int64_t updates);

#endif
