/* pairwise.h - a fused BPR step of matrix factorization that handles each row while it is in the cache.
 *
 * Such a step spends its time fetching rows, each with two moments, from random places in memory. So:
 *
 *     1  read the items of the batch
 *     2  users, a few at a time: read, compute the losses of their triples and their gradients, write
 *     3  items: compute gradients, write; in reverse order, as the last ones read may still be in the core's cache
 *
 * A user's row is fetched once; an item's row must wait for the users of all its triples. Gradients stay in
 * registers. The parameters are the same, byte for byte, as with separate passes (step.c), at any number of
 * threads; the loss is the same sum in another order. */
#ifndef INMO_TRAIN_PAIRWISE_H
#define INMO_TRAIN_PAIRWISE_H

#include "train/lazy.h"
#include "loss/triples.h"

/* triples->x is lazy->current and triples->index grouping->row; triples->term has room for (3 batch / CHUNK + 2).
 * The nodes below users are users. Returns the loss before the step. */
double inmo_pairwise_step(const struct inmo_triples *triples, const struct inmo_grouping *grouping, int32_t users,
                          struct inmo_lazy *lazy, double learning_rate);

#endif
