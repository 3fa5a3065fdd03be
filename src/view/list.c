/* list.c - see list.h. */
#include "view/list.h"

#include "base/memory.h"
#include "base/setting.h"
#include "base/status.h"

#include <string.h>

void inmo_query_init_sized(struct inmo_query *query, size_t size)
{
    const struct inmo_query defaults = {.k = 20};
    inmo_sized_fill(query, size, &defaults, sizeof defaults);
}

enum inmo_status inmo_check_query(const struct inmo_query *query, struct inmo_error *error)
{
    return inmo_sized_check(query, sizeof *query, "inmo_query", error);
}

void inmo_list_free(struct inmo_list *list)
{
    inmo_free(list);
}

enum inmo_status inmo_check_k(int k, struct inmo_error *error)
{
    return k >= 1 ? INMO_OK : inmo_fail(error, INMO_USAGE, "`k`: found %d, expected a number of at least 1", k);
}

void *inmo_entries_copy(size_t head, const struct inmo_entry *entry, size_t count, struct inmo_entry **copy)
{
    size_t size = head + count * sizeof *entry;
    char *block, *text;
    for (size_t n = 0; n < count; n++)
        size += strlen(entry[n].id) + 1;
    block = inmo_alloc(size, 1);
    if (!block)
        return NULL;
    *copy = (struct inmo_entry *)(void *)(block + head);
    text = (char *)(*copy + count);
    for (size_t n = 0; n < count; n++) {
        size_t length = strlen(entry[n].id) + 1;
        (*copy)[n] = (struct inmo_entry){memcpy(text, entry[n].id, length), entry[n].score};
        text += length;
    }
    return block;
}

struct inmo_list *inmo_list_copy(const struct inmo_list *list)
{
    struct inmo_entry *entry = NULL;
    struct inmo_list *copy = inmo_entries_copy(sizeof *copy, list->entry, list->count, &entry);
    if (copy) {
        *copy = *list;
        copy->entry = entry;
    }
    return copy;
}
