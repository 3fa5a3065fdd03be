/* first_stage.h - trains the first stage of models whose rows are the frozen embeddings of another model (seam.h,
 * frozen_from) and copies these embeddings. idcf calls them keys. */
#ifndef INMO_TRAIN_FIRST_STAGE_H
#define INMO_TRAIN_FIRST_STAGE_H

#include "data/dataset.h"
#include "train/step.h"

/* Trains the model that the rows of kind come from, with the same options, but in at most half of the time. Both
 * stages use the same checkpoint file, one after the other: when resuming, *model stays NULL if the first stage is
 * over, and the second stage resumes from the file. */
enum inmo_status inmo_first_stage_train(const struct inmo_model_kind *kind, const struct inmo_dataset *data,
                                        const struct inmo_train_options *options, const struct inmo_hooks *hooks,
                                        struct inmo_model **model, struct inmo_error *error);
/* Copies its embeddings to the stepper's rows. */
enum inmo_status inmo_first_stage_copy(const struct inmo_model *model, const struct inmo_dataset *data,
                                       struct inmo_stepper *stepper, struct inmo_error *error);

#endif
