/* settings.h - the training options that make a model what it is, apart from those that only steer a run. */
#ifndef INMO_TRAIN_SETTINGS_H
#define INMO_TRAIN_SETTINGS_H

#include "base/status.h"

/* Checks bounds, and what holds between options. */
enum inmo_status inmo_train_options_check(const struct inmo_train_options *options, struct inmo_error *error);
/* Epochs of pretraining, which come before --epochs. */
int32_t inmo_train_pretraining(const struct inmo_train_options *options);
/* Of the rows that decide the model's bytes, those that may differ between the pieces of a resumed run (how far
 * to go). */
int inmo_train_setting_may_differ(const struct inmo_setting *setting, const struct inmo_train_options *options);

#endif
