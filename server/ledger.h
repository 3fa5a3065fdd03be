/* ledger.h - what the server knows by heart of users, items and their events, in step with the store.
 *
 *     user -> its events, ascending by (item, type)      8 bytes an event
 *     item -> hidden, title, time, categories, how many chose it
 *     category -> its items
 *
 * Requests never ask the store: which items are hidden, what a user has only seen and what is popular is decided
 * here. The store stays the truth; at the start the ledger is filled from it, later each durable change is applied
 * to both the ledger and the view (live.h).
 *
 * Threads: changes come from one thread at a time; any number of readers meanwhile. Every call locks by itself. Ids
 * that are handed out stay where they are until the ledger is freed. */
#ifndef INMO_SERVER_LEDGER_H
#define INMO_SERVER_LEDGER_H

#include "server/store.h"

struct ledger;

/* Which types of feedback count as choosing an item, and which only as having seen it. positive "" or NULL: every
 * type that is not in seen. Both are lists "a,b". A type in neither changes nothing but what is excluded: it marks
 * as seen. */
struct ledger_types {
    const char *positive, *seen;
};

enum inmo_status ledger_create(const struct ledger_types *types, struct ledger **ledger, struct inmo_error *error);
void ledger_free(struct ledger *ledger);
/* Whether feedback of this type counts as choosing. */
int ledger_is_positive(const struct ledger *ledger, const char *type);

/* What a change means for a view. */
enum ledger_effect {
    LEDGER_NOTHING,
    LEDGER_OBSERVE,     /* the user chose the item, for the first time */
    LEDGER_FORGET_PAIR, /* no choice of this item by this user is left */
    LEDGER_FORGET_USER,
    LEDGER_FORGET_ITEM,
};
/* Applies a change that the store has made durable. *user and *item get the ids that the effect is about. */
enum inmo_status ledger_apply(struct ledger *ledger, const struct store_change *change, enum ledger_effect *effect,
                              const char **user, const char **item, struct inmo_error *error);

/* All choices, as pairs for inmo_log_from_pairs: the arrays are the caller's to free with inmo_free, the ids the
 * ledger's. */
enum inmo_status ledger_pairs(const struct ledger *ledger, size_t *count, const char ***user, const char ***item,
                              struct inmo_error *error);
/* Everybody's feedback of all types, and how much of it is positive. */
void ledger_counts(const struct ledger *ledger, int64_t *events, int64_t *positive, int64_t *users, int64_t *items);

/* What the user must not get: items with events that are no choices (the view knows the choices), and all hidden
 * items among entries are told apart by ledger_is_hidden. *item is filled with at most most ids; returns how
 * many. */
size_t ledger_seen(const struct ledger *ledger, const char *user, const char **item, size_t most);
/* Everything the user has events with. */
size_t ledger_history(const struct ledger *ledger, const char *user, const char **item, size_t most);
/* Removes hidden items from the entries; returns how many are left. */
size_t ledger_drop_hidden(const struct ledger *ledger, struct inmo_entry *entry, size_t count);
int64_t ledger_hidden_count(const struct ledger *ledger);
/* Items of a category that are not hidden; *item is the caller's to free with inmo_free. No such category: none. */
enum inmo_status ledger_category(const struct ledger *ledger, const char *category, size_t *count,
                                 const char ***item, struct inmo_error *error);

/* Best first, hidden ones left out; category NULL: of all. *entry is the caller's to free with inmo_free. Lists are
 * kept and at most a second old. */
enum ledger_order { LEDGER_POPULAR, LEDGER_LATEST };
enum inmo_status ledger_list(struct ledger *ledger, enum ledger_order order, const char *category, size_t offset,
                             size_t most, size_t *count, struct inmo_entry **entry, struct inmo_error *error);

/* The title of an item, or NULL: the ledger's, never freed before it. */
const char *ledger_title(const struct ledger *ledger, const char *item);
/* Items whose id or title contains the text, whatever its case; the most chosen first. */
struct ledger_found {
    const char *id, *title;
    int64_t count;
};
enum inmo_status ledger_search(const struct ledger *ledger, const char *text, size_t most, size_t *count,
                               struct ledger_found **found, struct inmo_error *error);
int ledger_has_user(const struct ledger *ledger, const char *user);
int ledger_has_item(const struct ledger *ledger, const char *item);

#endif
