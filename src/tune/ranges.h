/* ranges.h - what a search looks at when nobody says what: the settings that matter for each model. */
#ifndef INMO_TUNE_RANGES_H
#define INMO_TUNE_RANGES_H

#include "tune/space.h"

/* Makes the space of the settings that matter for a model, without those named in keep ("dim,layers"; NULL: none).
 * It may have no axis. Errors: USAGE (an unknown name in keep), MEMORY. */
enum inmo_status inmo_ranges_space(const char *model, const char *keep, int halving, struct inmo_space *space,
                                   struct inmo_error *error);
/* Bounds what a search over several models can cost in one of them, by counts and not by time. */
void inmo_ranges_bound(const char *keep, struct inmo_train_options *options);

#endif
