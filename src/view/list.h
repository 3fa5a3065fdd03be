/* list.h - lists that are returned to callers, and checks of queries. */
#ifndef INMO_VIEW_LIST_H
#define INMO_VIEW_LIST_H

#include "inmo.h"

/* One block: room for a head of that size, a copy of the entries behind it, then their ids. NULL when memory is
 * short. */
void *inmo_entries_copy(size_t head, const struct inmo_entry *entry, size_t count, struct inmo_entry **copy);
/* A copy in one block that owns its ids; NULL when memory is short. */
struct inmo_list *inmo_list_copy(const struct inmo_list *list);
/* INMO_USAGE if k is not a valid length. */
enum inmo_status inmo_check_k(int k, struct inmo_error *error);

/* INMO_USAGE if the query was not initialised with this version's size. */
enum inmo_status inmo_check_query(const struct inmo_query *query, struct inmo_error *error);

#endif
