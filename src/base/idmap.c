/* idmap.c - see idmap.h. Both the index of a finished map and the growing table are open-addressing hash tables
 * with linear probing over XXH3, at most two thirds full. Numbers follow the order of insertion, so no output
 * depends on the hash.
 *
 * A slot of the growing table stores a short id (up to 11 bytes, as most are) beside its number, or half of the
 * hash of a long one. So a lookup touches one cache line instead of three, and cache misses dominate the time to
 * read a shuffled log.
 *
 * Cost: one hash and one cache miss per lookup, three for a long id; 24 to 48 bytes per id besides its text. */
#include "base/idmap.h"

#include "base/memory.h"

#include <string.h>
#include <xxhash.h>

enum { LEAST_SLOTS = 64 };

/* Slots for count ids: a power of two with at least a third left empty. */
static size_t slots_for(size_t count)
{
    size_t slots = LEAST_SLOTS;
    while (slots < count + count / 2)
        slots *= 2;
    return slots;
}

enum inmo_status inmo_idmap_index(struct inmo_idmap *map, struct inmo_error *error)
{
    size_t slots, mask;
    uint32_t *slot;
    if (map->slot)
        return INMO_OK;
    slots = slots_for((size_t)map->count);
    slot = inmo_alloc_zero(slots, sizeof *slot);
    if (!slot)
        return inmo_fail_memory(error, "the index of ids");
    mask = slots - 1;
    for (int32_t n = 0; n < map->count; n++) {
        size_t length = (size_t)(map->offset[n + 1] - map->offset[n] - 1);
        size_t at = XXH3_64bits(map->text + map->offset[n], length) & mask;
        while (slot[at])
            at = (at + 1) & mask;
        slot[at] = (uint32_t)n + 1;
    }
    map->slot_mask = (uint32_t)mask;
    map->slot = slot;
    return INMO_OK;
}

int32_t inmo_idmap_find(const struct inmo_idmap *map, const char *id)
{
    size_t length = strlen(id), mask = map->slot_mask;
    size_t at = XXH3_64bits(id, length) & mask;
    for (; map->slot[at]; at = (at + 1) & mask) {
        int32_t n = (int32_t)(map->slot[at] - 1);
        if ((size_t)(map->offset[n + 1] - map->offset[n]) == length + 1 &&
            memcmp(map->text + map->offset[n], id, length) == 0)
            return n;
    }
    return -1;
}

void inmo_idmap_find_many(const struct inmo_idmap *map, const char *const *id, size_t count, int32_t *number)
{
    enum { TOGETHER = 32 };
    for (size_t first = 0; first < count; first += TOGETHER) {
        size_t some = count - first < TOGETHER ? count - first : TOGETHER;
        uint32_t slot[TOGETHER];
        for (size_t n = 0; n < some; n++) {
            slot[n] = (uint32_t)(XXH3_64bits(id[first + n], strlen(id[first + n])) & map->slot_mask);
            __builtin_prefetch(map->slot + slot[n]);
        }
        for (size_t n = 0; n < some; n++)
            if (map->slot[slot[n]])
                __builtin_prefetch(map->offset + (map->slot[slot[n]] - 1));
        for (size_t n = 0; n < some; n++)
            if (map->slot[slot[n]])
                __builtin_prefetch(map->text + map->offset[map->slot[slot[n]] - 1]);
        for (size_t n = 0; n < some; n++)
            number[first + n] = inmo_idmap_find(map, id[first + n]);
    }
}

void inmo_idmap_drop_index(struct inmo_idmap *map)
{
    inmo_free(map->slot);
    map->slot = NULL;
    map->slot_mask = 0;
}

enum { SHORT = 11, LONG = 255 };

/* 16 bytes, four per cache line. */
struct slot {
    uint32_t number;   // n + 1, 0 for empty
    uint8_t length;    // of a short id, or LONG
    char head[SHORT];  // a short id padded with zeros, or the lower half of the hash and zeros
};

static struct slot slot_of(const char *id, size_t length, uint32_t hash)
{
    struct slot slot = {0};
    if (length <= SHORT) {
        slot.length = (uint8_t)length;
        memcpy(slot.head, id, length);
    } else {
        slot.length = LONG;
        memcpy(slot.head, &hash, sizeof hash);
    }
    return slot;
}

static int same_but_number(const struct slot *a, const struct slot *b)
{
    return memcmp(&a->length, &b->length, 1 + SHORT) == 0;
}

struct inmo_idtable {
    int32_t count;
    size_t id_capacity, text_capacity;
    int64_t *offset;  // (id_capacity + 1)
    char *text;       // (text_capacity), offset[count] of it in use
    struct slot *slot;
    size_t slot_mask;
};

struct inmo_idtable *inmo_idtable_new(void)
{
    struct inmo_idtable *table = inmo_alloc_zero(1, sizeof *table);
    if (!table)
        return NULL;
    table->id_capacity = LEAST_SLOTS / 2;
    table->text_capacity = 16 * LEAST_SLOTS;
    table->slot_mask = LEAST_SLOTS - 1;
    table->offset = inmo_alloc_zero(table->id_capacity + 1, sizeof *table->offset);
    table->text = inmo_alloc(table->text_capacity, 1);
    table->slot = inmo_alloc_zero(LEAST_SLOTS, sizeof *table->slot);
    if (!table->offset || !table->text || !table->slot) {
        inmo_idtable_free(table);
        table = NULL;
    }
    return table;
}

void inmo_idtable_free(struct inmo_idtable *table)
{
    if (!table)
        return;
    inmo_free(table->slot);
    inmo_free(table->text);
    inmo_free(table->offset);
    inmo_free(table);
}

/* The slot of the id, or the empty slot where it belongs. */
static size_t probe(const struct inmo_idtable *table, const char *id, size_t length, uint32_t hash,
                    const struct slot *wanted)
{
    size_t at = hash & table->slot_mask;
    for (; table->slot[at].number; at = (at + 1) & table->slot_mask)
        if (same_but_number(table->slot + at, wanted)) {
            const int64_t *offset = table->offset + (table->slot[at].number - 1);
            if (length <= SHORT ||
                ((size_t)(offset[1] - offset[0]) == length + 1 && memcmp(table->text + offset[0], id, length) == 0))
                return at;
        }
    return at;
}

static int grow_slots(struct inmo_idtable *table)
{
    size_t mask = 2 * (table->slot_mask + 1) - 1;
    struct slot *slot = inmo_alloc_zero(mask + 1, sizeof *slot);
    if (!slot)
        return -1;
    for (size_t old = 0; old <= table->slot_mask; old++) {
        const struct slot *from = table->slot + old;
        uint32_t hash;
        size_t at;
        if (!from->number)
            continue;
        if (from->length == LONG)
            memcpy(&hash, from->head, sizeof hash);
        else
            hash = (uint32_t)XXH3_64bits(from->head, from->length);
        for (at = hash & mask; slot[at].number; at = (at + 1) & mask)
            ;
        slot[at] = *from;
    }
    inmo_free(table->slot);
    table->slot = slot;
    table->slot_mask = mask;
    return 0;
}

/* Makes room for one more id of that length in all three arrays. If one cannot grow, the table stays valid. */
static int make_room(struct inmo_idtable *table, size_t length)
{
    size_t used = (size_t)table->offset[table->count], need;
    if (__builtin_add_overflow(used, length, &need) || need >= (size_t)INT64_MAX / 2)
        return -1;
    need++;
    if (need > table->text_capacity) {
        size_t capacity = need + need / 2;
        char *text = inmo_resize(table->text, used, capacity, 1);
        if (!text)
            return -1;
        table->text = text;
        table->text_capacity = capacity;
    }
    if ((size_t)table->count == table->id_capacity) {
        size_t capacity = table->id_capacity + table->id_capacity / 2;
        int64_t *offset = inmo_resize(table->offset, (size_t)table->count + 1, capacity + 1, sizeof *offset);
        if (!offset)
            return -1;
        table->offset = offset;
        table->id_capacity = capacity;
    }
    if (slots_for((size_t)table->count + 1) > table->slot_mask + 1)
        return grow_slots(table);
    return 0;
}

uint32_t inmo_idtable_hint(const struct inmo_idtable *table, const char *id, size_t length)
{
    uint32_t hash = (uint32_t)XXH3_64bits(id, length);
    __builtin_prefetch(table->slot + (hash & table->slot_mask));
    return hash;
}

int32_t inmo_idtable_intern(struct inmo_idtable *table, const char *id, size_t length)
{
    return inmo_idtable_intern_hashed(table, id, length, (uint32_t)XXH3_64bits(id, length));
}

int32_t inmo_idtable_intern_hashed(struct inmo_idtable *table, const char *id, size_t length, uint32_t hash)
{
    struct slot wanted = slot_of(id, length, hash);
    size_t at = probe(table, id, length, hash, &wanted), mask = table->slot_mask;
    int64_t start;
    if (table->slot[at].number)
        return (int32_t)(table->slot[at].number - 1);
    if (table->count == INT32_MAX || make_room(table, length) != 0)
        return -1;
    if (table->slot_mask != mask)
        at = probe(table, id, length, hash, &wanted);
    start = table->offset[table->count];
    memcpy(table->text + start, id, length);
    table->text[start + (int64_t)length] = 0;
    table->offset[table->count + 1] = start + (int64_t)length + 1;
    wanted.number = (uint32_t)table->count + 1;
    table->slot[at] = wanted;
    return table->count++;
}

struct inmo_idmap inmo_idtable_map(const struct inmo_idtable *table)
{
    return (struct inmo_idmap){.count = table->count, .offset = table->offset, .text = table->text};
}

int32_t inmo_idtable_find(const struct inmo_idtable *table, const char *id, size_t length)
{
    uint32_t hash = (uint32_t)XXH3_64bits(id, length);
    struct slot wanted = slot_of(id, length, hash);
    return (int32_t)table->slot[probe(table, id, length, hash, &wanted)].number - 1;
}

size_t inmo_idtable_bytes(const struct inmo_idtable *table)
{
    enum { LONGEST = 4097 };
    size_t text = table->text_capacity, ids = table->id_capacity, slots = table->slot_mask + 1;
    size_t need = (size_t)table->offset[table->count] + LONGEST;
    if (need > text)
        text += need + need / 2;
    if ((size_t)table->count == ids)
        ids += ids + ids / 2;
    if (slots_for((size_t)table->count + 1) > slots)
        slots += 2 * slots;
    return text + ids * sizeof *table->offset + slots * sizeof *table->slot;
}
