/* ledger_inside.h - the ledger's own structures, shared by ledger.c (changes) and ledger_lists.c (lists). */
#ifndef INMO_SERVER_LEDGER_INSIDE_H
#define INMO_SERVER_LEDGER_INSIDE_H

#include "base/names.h"
#include "server/ledger.h"

#include <pthread.h>

enum { LEDGER_LISTS_MOST = 64, LEDGER_TYPE_BITS = 32 };

/* An event of a user: the item's number above, the type's below. */
typedef uint64_t ledger_event;
static inline int32_t event_item(ledger_event event)
{
    return (int32_t)(event >> LEDGER_TYPE_BITS);
}
static inline int32_t event_type(ledger_event event)
{
    return (int32_t)(event & UINT32_MAX);
}
/* The first that an event with the item can be. */
static inline ledger_event event_first(int32_t item)
{
    return (ledger_event)(uint32_t)item << LEDGER_TYPE_BITS;
}

struct ledger_user {
    ledger_event *event;  // (count) ascending
    int32_t count, capacity;
    int known; /* not deleted */
};

struct ledger_item {
    const char *title; /* in titles; NULL: none */
    int64_t time, chosen;
    int32_t *category;
    int categories;
    int hidden, known;
};

struct ledger_category {
    int32_t *item;  // (count) in no order
    int32_t count, capacity;
};

/* A sorted list that requests share until it is old. */
struct ledger_list {
    enum ledger_order order;
    int32_t category; /* -1: all items */
    double made;      /* by inmo_now */
    int32_t *item;
    double *score;
    size_t count;
};

struct ledger {
    pthread_rwlock_t lock;
    struct inmo_names users, items, categories, types, titles;
    struct ledger_user *user;
    struct ledger_item *item;
    struct ledger_category *category;
    char *is_positive;  // (types)
    size_t user_capacity, item_capacity, category_capacity, type_capacity;
    char *positive, *seen; /* the options */
    int64_t events, chosen, hidden, known_users, known_items;

    pthread_mutex_t list_lock;
    struct ledger_list list[LEDGER_LISTS_MOST];
    int lists;
};

void ledger_lists_free(struct ledger *ledger);

#endif
