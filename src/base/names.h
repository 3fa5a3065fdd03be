/* names.h - ids that go on growing: a finished map (a model's) first, then what was added to it.
 *
 * Number n below known->count is the map's id n; the others follow in order of arrival. The map is not copied and
 * not hashed again. An id's text stays where it is until the names are freed, so it may be used without a lock;
 * looking up and adding need one. */
#ifndef INMO_BASE_NAMES_H
#define INMO_BASE_NAMES_H

#include "base/idmap.h"

struct inmo_names {
    const struct inmo_idmap *known;  // indexed
    struct inmo_idtable *added;
    const char **text;  // (added) where each stands
    size_t text_capacity;
    struct inmo_names_block *block;
};

enum inmo_status inmo_names_make(const struct inmo_idmap *known, struct inmo_names *names,
                                 struct inmo_error *error);
void inmo_names_free(struct inmo_names *names);

int32_t inmo_names_count(const struct inmo_names *names);
/* Number of the id, or -1. */
int32_t inmo_names_find(const struct inmo_names *names, const char *id);
/* The same for many. */
void inmo_names_find_many(const struct inmo_names *names, const char *const *id, size_t count, int32_t *number);
/* The same, added if new; -1 when memory is short. */
int32_t inmo_names_intern(struct inmo_names *names, const char *id);
const char *inmo_names_id(const struct inmo_names *names, int32_t number);

#endif
