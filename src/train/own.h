/* own.h - a system of its own shape (model/system.h) in training: its model so far, and the means to validate
 * it. */
#ifndef INMO_TRAIN_OWN_H
#define INMO_TRAIN_OWN_H

#include "eval/validate.h"
#include "train/trainer.h"

struct inmo_own;
/* Makes trainer->own, and for a system that learns by steps the block with its starting parameters. data_graph: the
 * training interactions in the data set's numbers, which validation uses. */
enum inmo_status inmo_own_new(struct inmo_trainer *trainer, const struct inmo_model_kind *kind,
                              const struct inmo_graph *data_graph, struct inmo_error *error);
void inmo_own_free(struct inmo_own *own);

/* Closed forms: the tensors, at once. */
enum inmo_status inmo_own_fit(struct inmo_own *own, const struct inmo_train_options *options,
                              const struct inmo_hooks *hooks, struct inmo_error *error);
/* By steps. */
int64_t inmo_own_steps_per_epoch(const struct inmo_own *own);
double inmo_own_step(struct inmo_own *own, const struct inmo_block *block, int64_t step, double learning_rate);

/* NDCG of the tensors as they are now. */
enum inmo_status inmo_own_validate(struct inmo_own *own, struct inmo_validation *validation,
                                   const struct inmo_hooks *hooks, double *ndcg, struct inmo_error *error);
/* The model of the parameters that were kept; own has none afterwards. */
enum inmo_status inmo_own_take(struct inmo_own *own, const struct inmo_trainer *trainer, struct inmo_model **model,
                               struct inmo_error *error);

#endif
