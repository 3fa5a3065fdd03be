/* names.c - see names.h. Added ids are kept twice: in a table that finds them, which moves as it grows, and in
 * blocks that never move. */
#include "base/names.h"

#include "base/memory.h"

#include <string.h>

enum { BLOCK = 1 << 16 };

struct inmo_names_block {
    struct inmo_names_block *next;
    size_t used, size;
    char text[];
};

enum inmo_status inmo_names_make(const struct inmo_idmap *known, struct inmo_names *names, struct inmo_error *error)
{
    *names = (struct inmo_names){.known = known, .added = inmo_idtable_new()};
    return names->added ? INMO_OK : inmo_fail_memory(error, "the ids");
}

void inmo_names_free(struct inmo_names *names)
{
    struct inmo_names_block *block = names->block;
    while (block) {
        struct inmo_names_block *next = block->next;
        inmo_free(block);
        block = next;
    }
    inmo_free(names->text);
    inmo_idtable_free(names->added);
    *names = (struct inmo_names){0};
}

static int32_t added_count(const struct inmo_names *names)
{
    return inmo_idtable_map(names->added).count;
}

int32_t inmo_names_count(const struct inmo_names *names)
{
    return names->known->count + added_count(names);
}

int32_t inmo_names_find(const struct inmo_names *names, const char *id)
{
    int32_t number = inmo_idmap_find(names->known, id);
    if (number >= 0)
        return number;
    number = inmo_idtable_find(names->added, id, strlen(id));
    return number < 0 ? -1 : names->known->count + number;
}

void inmo_names_find_many(const struct inmo_names *names, const char *const *id, size_t count, int32_t *number)
{
    inmo_idmap_find_many(names->known, id, count, number);
    for (size_t n = 0; n < count; n++)
        if (number[n] < 0)
            number[n] = inmo_names_find(names, id[n]);
}

/* A copy of the id that stays where it is; NULL when memory is short. */
static const char *keep(struct inmo_names *names, const char *id, size_t length)
{
    struct inmo_names_block *block = names->block;
    char *text;
    if (!block || block->size - block->used < length + 1) {
        size_t size = length + 1 > BLOCK ? length + 1 : BLOCK;
        block = inmo_alloc(sizeof *block + size, 1);
        if (!block)
            return NULL;
        *block = (struct inmo_names_block){.next = names->block, .size = size};
        names->block = block;
    }
    text = memcpy(block->text + block->used, id, length + 1);
    block->used += length + 1;
    return text;
}

int32_t inmo_names_intern(struct inmo_names *names, const char *id)
{
    int32_t number = inmo_names_find(names, id), count = added_count(names);
    size_t length = strlen(id);
    const char *text;
    if (number >= 0)
        return number;
    if (names->known->count == INT32_MAX - count)
        return -1;
    if ((size_t)count == names->text_capacity) {
        size_t capacity = names->text_capacity ? 2 * names->text_capacity : 64;
        const char **grown = inmo_resize(names->text, (size_t)count, capacity, sizeof *grown);
        if (!grown)
            return -1;
        names->text = grown;
        names->text_capacity = capacity;
    }
    text = keep(names, id, length);
    if (!text || inmo_idtable_intern(names->added, id, length) < 0)
        return -1;
    names->text[count] = text;
    return names->known->count + count;
}

const char *inmo_names_id(const struct inmo_names *names, int32_t number)
{
    return number < names->known->count ? inmo_idmap_id(names->known, number)
                                        : names->text[number - names->known->count];
}
