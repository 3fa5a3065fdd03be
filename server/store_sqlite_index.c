/* store_sqlite_index.c - all feedback by its key, of a user and of an item, in memory. See struct sqlite_index.
 *
 * A hash table with linear probing, at most two thirds full, and two lists through the entries. Nothing is ever
 * taken out: deleted feedback keeps its entry, with the seq 0, until the store is opened again, and the same key
 * uses it again. So a failed transaction is taken back by setting numbers. */
#include "server/store_sqlite.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_SLOTS = 1024, STEPS = 4096 /* of a list, before others may have the lock */ };

static size_t slot_of(int32_t user, int32_t item, int32_t type)
{
    uint64_t mixed = ((uint64_t)(uint32_t)user << 32 | (uint32_t)item) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 29 ^ (uint32_t)type) * 0xbf58476d1ce4e5b9u;
    return (size_t)(mixed ^ mixed >> 32);
}

/* The slot of the key, or the empty one where it belongs. */
static size_t probe(const struct sqlite_index *index, int32_t user, int32_t item, int32_t type)
{
    size_t at = slot_of(user, item, type) & index->slot_mask;
    for (; index->slot[at]; at = (at + 1) & index->slot_mask) {
        const struct sqlite_entry *entry = &index->entry[index->slot[at] - 1];
        if (entry->user == user && entry->item == item && entry->type == type)
            break;
    }
    return at;
}

int64_t store_sqlite_entry(const struct sqlite_index *index, int32_t user, int32_t item, int32_t type)
{
    uint32_t n = index->slot ? index->slot[probe(index, user, item, type)] : 0;
    return n ? index->entry[n - 1].seq : 0;
}

static int grow_slots(struct sqlite_index *index)
{
    size_t slots = index->slot ? 2 * (index->slot_mask + 1) : LEAST_SLOTS;
    uint32_t *slot = inmo_alloc_zero(slots, sizeof *slot);

    if (!slot)
        return 0;
    for (size_t n = 0; n < index->count; n++) {
        const struct sqlite_entry *entry = &index->entry[n];
        size_t at = slot_of(entry->user, entry->item, entry->type) & (slots - 1);
        while (slot[at])
            at = (at + 1) & (slots - 1);
        slot[at] = (uint32_t)n + 1;
    }
    inmo_free(index->slot);
    index->slot = slot;
    index->slot_mask = slots - 1;
    return 1;
}

static int grow_heads(uint32_t **head, size_t *capacity, int32_t number)
{
    if ((size_t)number >= *capacity) {
        size_t more = 2 * (size_t)number + 64;
        uint32_t *grown = inmo_resize(*head, *capacity, more, sizeof *grown);
        if (!grown)
            return 0;
        memset(grown + *capacity, 0, (more - *capacity) * sizeof *grown);
        *head = grown;
        *capacity = more;
    }
    return 1;
}

/* Room for one more entry in all arrays; 0 if memory is short, and nothing is changed that matters. */
static int make_room(struct sqlite_index *index, int32_t user, int32_t item)
{
    if (index->count == INT32_MAX)
        return 0;
    if (index->count == index->capacity) {
        size_t capacity = index->capacity + index->capacity / 2 + 1024;
        struct sqlite_entry *entry = inmo_resize(index->entry, index->count, capacity, sizeof *entry);
        if (!entry)
            return 0;
        index->entry = entry;
        index->capacity = capacity;
    }
    if (!index->slot || 3 * (index->count + 1) > 2 * (index->slot_mask + 1))
        if (!grow_slots(index))
            return 0;
    return grow_heads(&index->of_user, &index->user_capacity, user) &&
           grow_heads(&index->of_item, &index->item_capacity, item);
}

/* Growing copies megabytes while readers wait for the lock: milliseconds, and ever more rarely. */
enum inmo_status store_sqlite_set_entry(struct store_sqlite *store, int32_t user, int32_t item, int32_t type,
                                        int64_t seq, struct inmo_error *error)
{
    struct sqlite_index *index = &store->index;
    uint32_t n = index->slot ? index->slot[probe(index, user, item, type)] : 0;
    enum inmo_status status = INMO_OK;

    status = store_sqlite_remember(store, NULL, n ? n - 1 : (uint32_t)index->count, n ? index->entry[n - 1].seq : 0,
                                   error);
    if (status)
        return status;
    pthread_mutex_lock(&store->known);
    if (n) {
        index->entry[n - 1].seq = seq;
    } else if (make_room(index, user, item)) {
        size_t at = probe(index, user, item, type);
        n = (uint32_t)++index->count;
        index->slot[at] = n;
        index->entry[n - 1] =
            (struct sqlite_entry){seq, user, item, type, index->of_user[user], index->of_item[item]};
        index->of_user[user] = index->of_item[item] = n;
    } else {
        store->undo_count--;
        status = inmo_fail_memory(error, "the index of feedback");
    }
    pthread_mutex_unlock(&store->known);
    return status;
}

static int ascending(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

enum inmo_status store_sqlite_list(struct store_sqlite *store, int32_t user, int32_t item, int32_t type,
                                   int64_t after, int64_t **result, size_t *result_count, struct inmo_error *error)
{
    const struct sqlite_index *index = &store->index;
    int by_user = user >= 0;
    size_t count = 0, capacity = 0, steps = 0;
    int64_t *list = NULL;
    uint32_t n = 0;
    enum inmo_status status = INMO_OK;

    pthread_mutex_lock(&store->known);
    if (by_user && (size_t)user < index->user_capacity)
        n = index->of_user[user];
    else if (!by_user && (size_t)item < index->item_capacity)
        n = index->of_item[item];
    while (n && !status) {
        const struct sqlite_entry *entry = &index->entry[n - 1];
        if (entry->seq > after && (item < 0 || entry->item == item) && (type < 0 || entry->type == type)) {
            if (count == capacity) {
                size_t more = 2 * capacity + 64;
                int64_t *grown = inmo_resize(list, count, more, sizeof *grown);
                if (!grown) {
                    status = inmo_fail_memory(error, "a list of feedback");
                    break;
                }
                list = grown;
                capacity = more;
            }
            list[count++] = entry->seq;
        }
        n = by_user ? entry->before_of_user : entry->before_of_item;
        if (++steps % STEPS == 0) {
            pthread_mutex_unlock(&store->known);
            pthread_mutex_lock(&store->known);
        }
    }
    pthread_mutex_unlock(&store->known);
    if (status) {
        inmo_free(list);
    } else {
        if (count)
            qsort(list, count, sizeof *list, ascending);
        *result = list;
        *result_count = count;
    }
    return status;
}

void store_sqlite_index_free(struct sqlite_index *index)
{
    inmo_free(index->of_item);
    inmo_free(index->of_user);
    inmo_free(index->slot);
    inmo_free(index->entry);
}
