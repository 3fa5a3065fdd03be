/* idmap.h - external ids (any strings) and their numbers.
 *
 * Stored layout, also when memory-mapped: id n is the NUL-terminated string text + offset[n].
 * The index (an open-addressing hash table, id -> n) is built on demand. */
#ifndef INMO_BASE_IDMAP_H
#define INMO_BASE_IDMAP_H

#include "base/status.h"

struct inmo_idmap {
    int32_t count;
    const int64_t *offset;  // (count + 1); offset[count] is the size of text
    const char *text;
    uint32_t *slot;  // (slot_mask + 1) n + 1, 0 for empty; NULL until built
    uint32_t slot_mask;
};

/* Builds the index if it does not exist. Not thread-safe. */
enum inmo_status inmo_idmap_index(struct inmo_idmap *map, struct inmo_error *error);
/* Number of id, or -1. The index must be built. */
int32_t inmo_idmap_find(const struct inmo_idmap *map, const char *id);
/* The same for many: number[n] of id[n]. The memory of many lookups is fetched at once. */
void inmo_idmap_find_many(const struct inmo_idmap *map, const char *const *id, size_t count, int32_t *number);
/* Frees only the index; text and offset belong to the caller. */
void inmo_idmap_drop_index(struct inmo_idmap *map);

static inline const char *inmo_idmap_id(const struct inmo_idmap *map, int32_t n)
{
    return map->text + map->offset[n];
}

/* A map that grows: owns its arrays and numbers ids in order of first appearance. */
struct inmo_idtable;
struct inmo_idtable *inmo_idtable_new(void);
void inmo_idtable_free(struct inmo_idtable *table);
/* Number of the id, which is added if new; -1 if out of memory or at 2^31 - 1 ids. */
int32_t inmo_idtable_intern(struct inmo_idtable *table, const char *id, size_t length);
/* Lookup in two steps, so that the cache misses of several lookups overlap: first all hints, then all lookups. */
uint32_t inmo_idtable_hint(const struct inmo_idtable *table, const char *id, size_t length);
int32_t inmo_idtable_intern_hashed(struct inmo_idtable *table, const char *id, size_t length, uint32_t hash);
/* A borrowed map of the ids in the table (no index), valid until the next intern. */
struct inmo_idmap inmo_idtable_map(const struct inmo_idtable *table);
/* Bytes that the table takes, and may take for a moment when one more id (of any allowed length) makes it grow. */
size_t inmo_idtable_bytes(const struct inmo_idtable *table);
/* Number of the id, or -1; adds nothing. */
int32_t inmo_idtable_find(const struct inmo_idtable *table, const char *id, size_t length);

#endif
