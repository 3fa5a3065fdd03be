/* lazy.h - Adam that gives the dense result and touches only the rows a step names.
 *
 * Dense Adam moves every parameter in every step: where the gradient is zero, by what is left of m. A row that
 * is left alone is instead brought up to date when it is next needed, all the steps it missed at once
 * (docs/math.md, "Adam"):
 *
 *     read rows as they are now -> forward, backward -> write the same rows
 *
 * and all rows catch up before the parameters are looked at as a whole. What a row missed depends only on
 * when it was last updated, so a step keeps four numbers for each of the last steps, and a row keeps the number
 * of its own.
 *
 * Deterministic: a row is done wholly in one thread. All rows must catch up at the same steps in every run
 * that is to give the same bytes, as it splits one catching up into two with a rounding between them. */
#ifndef INMO_TRAIN_LAZY_H
#define INMO_TRAIN_LAZY_H

#include "base/status.h"
#include "kernel/kernel.h"
#include "model/seam.h"

#include <stdint.h>

enum {
    INMO_LAZY_RING = 16384, /* steps that are remembered; all rows catch up twice in a round */
    INMO_LAZY_WINDOW = 192, /* later steps move a row by less than 0.9^192 = 2e-9 of the first */
    INMO_LAZY_CHUNK = 64,   /* rows at once: the same ones in every pass, so that they stay in a core's cache */
    INMO_LAZY_EARLY = 256,  /* up to here the bias correction changes too fast for the closed form: step by step */
};

struct inmo_lazy {
    struct inmo_block block;   // not owned
    float *current;            // (most, dim) rows read last
    int64_t now;               /* updates done */
    int32_t *touched;          // (rows) the row has seen this many of them; 0: it never had a gradient
    double *rate;              // (RING) learning rate of update t at t % RING
    struct inmo_pause *pause;  // (RING) of rows last updated at t0, at t0 % RING, up to now; decays not filled in
    double *moment;            // (4, WINDOW) sums that pause is made of, for the last updates, at t0 % WINDOW
    double *start;             // (WINDOW) root_bias of t0
    struct inmo_adam *early;   // (EARLY + WINDOW) update t at t
    float *decay_m, *decay_root;  // (RING) 0.9^k, 0.999^(k/2)
};

/* most: rows read at once. */
enum inmo_status inmo_lazy_make(const struct inmo_block *block, int32_t most, struct inmo_lazy *lazy,
                                struct inmo_error *error);
void inmo_lazy_free(struct inmo_lazy *lazy);

/* The parameters of rows as they are now, (rows, dim), until the next call. Changes nothing else. */
const float *inmo_lazy_read(struct inmo_lazy *lazy, const struct inmo_rows *rows);
/* Update number now + 1, of the rows read last; gradient[n] is that of rows->node[n]. */
void inmo_lazy_write(struct inmo_lazy *lazy, double learning_rate, const struct inmo_rows *rows,
                     const float *gradient);
/* The same in pieces, for steps that do more with rows while they are near (pairwise.h): at most CHUNK rows from
 * first, serially; rows of different calls may be done by different threads. The gradient is made on the way;
 * next is what the same thread will want afterwards. written ends an update all of whose rows have been written,
 * with adam as inmo_adam_at gives it for update now + 1. */
void inmo_lazy_read_chunk(struct inmo_lazy *lazy, const struct inmo_rows *rows, int32_t first, int32_t count,
                          struct inmo_chunk next);
void inmo_lazy_write_sums(struct inmo_lazy *lazy, struct inmo_adam adam, const struct inmo_rows *rows,
                          int32_t first, int32_t count, struct inmo_chunk next, const struct inmo_terms *gradient);
void inmo_lazy_written(struct inmo_lazy *lazy, double learning_rate);

/* Begins anew, as made: no update has been done. All rows must be up to date; the moments are the caller's to
 * clear. */
void inmo_lazy_reset(struct inmo_lazy *lazy);
/* Brings all rows up to date. */
void inmo_lazy_catch_up(struct inmo_lazy *lazy);

/* After touched, rate, parameters and moments have been put back as they were after so many updates: the rest. */
void inmo_lazy_restore(struct inmo_lazy *lazy, int64_t updates);

#endif
