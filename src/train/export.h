/* export.h - from a training to a model that stands on its own. */
#ifndef INMO_TRAIN_EXPORT_H
#define INMO_TRAIN_EXPORT_H

#include "data/dataset.h"
#include "model/model.h"

/* A model of the users and items with training interactions, renumbered, owning copies of all it needs: ids,
 * interactions, settings; without parameters. node (users + items of the data set) becomes each one's node in the
 * model, or -1; NULL: not asked for. */
enum inmo_status inmo_export_model(const struct inmo_dataset *data, const struct inmo_train_options *options,
                                   const struct inmo_model_kind *kind, int32_t *node, struct inmo_model **model,
                                   struct inmo_error *error);

/* Writes into it what is known at the end: the exponent that was reached, and the record of the epochs (JSON,
 * without the brackets). */
enum inmo_status inmo_export_stamp(struct inmo_model *model, double alpha_reached, const char *epochs,
                                   struct inmo_error *error);

#endif
