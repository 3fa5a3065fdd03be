/* list.c - see list.h. */
#include "view/list.h"

#include "base/memory.h"
#include "base/status.h"

#include <string.h>

void inmo_query_init(struct inmo_query *query)
{
    *query = (struct inmo_query){.k = 20};
}

void inmo_list_free(struct inmo_list *list)
{
    inmo_free(list);
}

enum inmo_status inmo_check_k(int k, struct inmo_error *error)
{
    return k >= 1 ? INMO_OK : inmo_fail(error, INMO_USAGE, "`k`: found %d, expected a number of at least 1", k);
}

/* Block: the list, its entries, then the ids one after the other. */
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
