/* choose.h - chooses the settings that are INMO_AUTO by short trainings, compared by validation NDCG@20. */
#ifndef INMO_TRAIN_CHOOSE_H
#define INMO_TRAIN_CHOOSE_H

#include "data/dataset.h"
#include "model/model.h"

/* The name of a setting that is left to training; NULL: there is none. */
const char *inmo_choice_open(const struct inmo_train_options *options);
/* Fills in what the model chooses at its starting point, for a log of this shape. */
void inmo_choice_start(const struct inmo_model_kind *kind, const struct inmo_log_shape *log,
                       struct inmo_train_options *options);
/* Replaces every INMO_AUTO by what the first object of a training record says was chosen, if it says so. */
void inmo_choice_recall(const char *record, struct inmo_train_options *chosen);
/* Sets *chosen to the options with every INMO_AUTO replaced, and *note to what was tried: the first object of the
 * training record, or "" if there was nothing to try (of a model by steps) or nothing was open. The caller frees
 * it. */
enum inmo_status inmo_choose(const struct inmo_model_kind *kind, const struct inmo_dataset *data,
                             const struct inmo_train_options *options, const struct inmo_hooks *hooks,
                             struct inmo_train_options *chosen, char **note, struct inmo_error *error);

#endif
