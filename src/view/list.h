/* list.h - lists as they are handed out. */
#ifndef INMO_VIEW_LIST_H
#define INMO_VIEW_LIST_H

#include "inmo.h"

/* A list in one block that owns all it shows; NULL when memory is short. */
struct inmo_list *inmo_list_copy(const struct inmo_list *list);
/* INMO_USAGE unless a list can be that long. */
enum inmo_status inmo_check_k(int k, struct inmo_error *error);

/* INMO_USAGE for a query of another version's size. */
enum inmo_status inmo_check_query(const struct inmo_query *query, struct inmo_error *error);

#endif
