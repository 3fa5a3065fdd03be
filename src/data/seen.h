/* seen.h - what was seen but not chosen: pairs that no model is trained on and no list of that user has. Used only
 * inside data/. */
#ifndef INMO_DATA_SEEN_H
#define INMO_DATA_SEEN_H

#include "data/dataset.h"
#include "data/rows.h"

/* Fills in seen, extra_users and extra_items of a data set whose other lists and ids are finished. rows are all its
 * interactions, numbered; the orders map numbers of the data set to those of the log. Ids that the log has only in
 * such pairs are numbered after the others, in order of appearance; without extras they are left out. */
enum inmo_status inmo_seen_collect(const struct inmo_log *log, const struct inmo_rows *rows,
                                   const int32_t *user_order, const int32_t *item_order, int with_extras,
                                   struct inmo_dataset *dataset, struct inmo_error *error);

/* Frees ids that own their memory. */
void inmo_drop_ids(struct inmo_idmap *ids);
/* Ids copied from the log in a new order. */
enum inmo_status inmo_copy_ids(const struct inmo_idmap *from, const int32_t *order, int32_t count,
                               struct inmo_idmap *to, struct inmo_error *error);

#endif
