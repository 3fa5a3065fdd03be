/* first_stage.h - the first stage of a model whose rows are the embeddings of another one (seam.h, frozen_from):
 * that other model is trained, and its embeddings are copied. idcf calls them keys. */
#ifndef INMO_TRAIN_FIRST_STAGE_H
#define INMO_TRAIN_FIRST_STAGE_H

#include "data/dataset.h"
#include "train/step.h"

/* The model that the rows of kind come from, trained with the same options, but in at most half of the time.
 * Both stages have their checkpoint in the same file, one after the other: when resuming, *model stays NULL if
 * the file is past the first stage, and the second goes on from it. */
enum inmo_status inmo_first_stage_train(const struct inmo_model_kind *kind, const struct inmo_dataset *data,
                                        const struct inmo_train_options *options, const struct inmo_hooks *hooks,
                                        struct inmo_model **model, struct inmo_error *error);
/* Its embeddings become the stepper's rows. */
enum inmo_status inmo_first_stage_copy(const struct inmo_model *model, const struct inmo_dataset *data,
                                       struct inmo_stepper *stepper, struct inmo_error *error);

#endif
