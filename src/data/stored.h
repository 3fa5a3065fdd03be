/* stored.h - reads ids and lists of interactions from a tensor file and validates them. Data sets and models store
 * them in the same layout (docs/formats.md). */
#ifndef INMO_DATA_STORED_H
#define INMO_DATA_STORED_H

#include "base/csr.h"
#include "base/idmap.h"
#include "base/tensorfile.h"

/* SIDE.offset and SIDE.text. path is for the message. */
enum inmo_status inmo_stored_ids(const struct inmo_tensorfile *file, const char *side, const char *path,
                                 struct inmo_idmap *ids, struct inmo_error *error);
/* PART.offset and PART.item, and PART.weight if the file has it. */
enum inmo_status inmo_stored_list(const struct inmo_tensorfile *file, const char *part, const char *path,
                                  int32_t users, int32_t items, struct inmo_csr *csr, struct inmo_error *error);
/* extra_users.*, extra_items.* and seen.*; nothing of them is touched where the file has none. */
enum inmo_status inmo_stored_seen(const struct inmo_tensorfile *file, const char *path, int32_t users,
                                  int32_t items, struct inmo_idmap *extra_users, struct inmo_idmap *extra_items,
                                  struct inmo_csr *seen, struct inmo_error *error);

#endif
