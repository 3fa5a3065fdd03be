/* export.h - turns the result of training into a standalone model. */
#ifndef INMO_TRAIN_EXPORT_H
#define INMO_TRAIN_EXPORT_H

#include "data/dataset.h"
#include "model/model.h"

/* Makes a model without parameters of the users and items with training interactions, renumbered. It owns copies
 * of ids, interactions and settings. node (users + items of the data set) is set to each one's node in the model,
 * or -1; may be NULL. untrained: of the training interactions, those that parameters never saw; NULL: none. */
enum inmo_status inmo_export_model(const struct inmo_dataset *data, const struct inmo_csr *untrained,
                                   const struct inmo_train_options *options, const struct inmo_model_kind *kind,
                                   int32_t *node, struct inmo_model **model, struct inmo_error *error);

/* Adds what is known at the end of training: the final exponent, and the record of the epochs (JSON, without the
 * brackets). */
enum inmo_status inmo_export_stamp(struct inmo_model *model, double alpha_reached, const char *epochs,
                                   struct inmo_error *error);
/* Adds how the data was read and split, as far as its description says so, and the fingerprint of the model that a
 * warm start began with; 0: none. */
enum inmo_status inmo_export_origin(struct inmo_model *model, const struct inmo_dataset *data, uint64_t from,
                                    struct inmo_error *error);

#endif
