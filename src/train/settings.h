/* settings.h - training options: those that determine the model, and those that only steer a run. */
#ifndef INMO_TRAIN_SETTINGS_H
#define INMO_TRAIN_SETTINGS_H

#include "base/status.h"

/* Checks bounds and combinations of options. */
enum inmo_status inmo_train_options_check(const struct inmo_train_options *options, struct inmo_error *error);
/* Epochs of pretraining, which come before --epochs. */
int32_t inmo_train_pretraining(const struct inmo_train_options *options);
/* Whether an option that determines the model may still differ when a run is resumed: those that say how long to
 * train. */
int inmo_train_setting_may_differ(const struct inmo_setting *setting, const struct inmo_train_options *options);

/* A run that is to take fewer seconds (`max-seconds`) tries, weighs and refits less. */
enum { INMO_LEAST_SECONDS = 20 };
static inline int inmo_is_hurried(const struct inmo_train_options *options)
{
    return options->max_seconds > 0 && options->max_seconds < INMO_LEAST_SECONDS;
}

/* 1: the setting belongs to what is weighed beside the vectors when these are trained (beside_vectors.h). */
int inmo_is_weighed(const struct inmo_setting *setting);

#endif
