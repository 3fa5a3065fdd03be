/* pairwise.h - a whole BPR step of matrix factorization, where a row's numbers are touched while they are near.
 *
 * What takes the time of such a step is getting rows, each with two moments, from anywhere in memory. So:
 *
 *     1  read the items of the batch
 *     2  users, a few at a time: read, their triples' losses, their gradients, write
 *     3  items: gradients, write; in reverse, those read last first, as they may still be in the core's cache
 *
 * A user's row comes and goes once; an item's must wait for the users of all its triples. Gradients never leave the
 * registers. The parameters have the bytes that reading, judging and writing one after the other gives (step.c), at
 * any number of threads; the loss is the same sum in another order. */
#ifndef INMO_TRAIN_PAIRWISE_H
#define INMO_TRAIN_PAIRWISE_H

#include "train/lazy.h"
#include "loss/triples.h"

/* triples->x is lazy->current and triples->index grouping->row; triples->term has room for (3 batch / CHUNK + 2).
 * The nodes below users are users. Returns the loss before the step. */
double inmo_pairwise_step(const struct inmo_triples *triples, const struct inmo_grouping *grouping, int32_t users,
                          struct inmo_lazy *lazy, double learning_rate);

#endif
