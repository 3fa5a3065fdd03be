/* alike.h - whether all ranks are about to train the same: the same program on the same kind of processor, with
 * the same options, on the same data. */
#ifndef INMO_TRAIN_ALIKE_H
#define INMO_TRAIN_ALIKE_H

#include "data/dataset.h"

/* Errors: INPUT on a rank that differs from rank 0, which names what differs. */
enum inmo_status inmo_alike_check(const struct inmo_dataset *data, const struct inmo_train_options *options,
                                  struct inmo_error *error);

#endif
