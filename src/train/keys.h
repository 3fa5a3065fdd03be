/* keys.h - the first stage of a model whose rows are the embeddings of another (seam.h, frozen_from): training
 * that one, and taking its embeddings over. */
#ifndef INMO_TRAIN_KEYS_H
#define INMO_TRAIN_KEYS_H

#include "data/dataset.h"
#include "train/step.h"

/* The model that the rows of kind come from, trained with the same options, but in at most half of the time.
 * Both stages have their checkpoint in the same file, one after the other: when resuming, *keys stays NULL if
 * the file is not of the first stage any more, and the second goes on from it. */
enum inmo_status inmo_keys_train(const struct inmo_model_kind *kind, const struct inmo_dataset *data,
                                 const struct inmo_train_options *options, const struct inmo_hooks *hooks,
                                 struct inmo_model **keys, struct inmo_error *error);
/* The stepper's rows from its embeddings. */
enum inmo_status inmo_keys_take(const struct inmo_model *keys, const struct inmo_dataset *data,
                                struct inmo_stepper *stepper, struct inmo_error *error);

#endif
