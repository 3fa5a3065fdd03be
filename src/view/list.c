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

/* One block: the list, its entries, then the ids. */
struct inmo_list *inmo_list_copy(const struct inmo_list *list)
{
    size_t size = sizeof *list + list->count * sizeof *list->entry;
    struct inmo_list *copy;
    char *text;
    for (size_t n = 0; n < list->count; n++)
        size += strlen(list->entry[n].id) + 1;
    copy = inmo_alloc(size, 1);
    if (!copy)
        return NULL;
    *copy = *list;
    copy->entry = (struct inmo_entry *)(copy + 1);
    text = (char *)(copy->entry + list->count);
    for (size_t n = 0; n < list->count; n++) {
        size_t length = strlen(list->entry[n].id) + 1;
        copy->entry[n] = (struct inmo_entry){memcpy(text, list->entry[n].id, length), list->entry[n].score};
        text += length;
    }
    return copy;
}
