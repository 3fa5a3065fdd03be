/* ledger_lists.c - see ledger.h. What readers ask: pairs, exclusions, popular and latest items, titles, search. */
#define _GNU_SOURCE /* strcasestr */
#include "server/ledger_inside.h"

#include "base/memory.h"
#include "base/threads.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_AGE = 1, SEARCHED_AT_ONCE = 8192 };

/* The lock is the ledger's own business: a reader's view of it does not change. */
static void read_lock(const struct ledger *ledger)
{
    pthread_rwlock_rdlock((pthread_rwlock_t *)&ledger->lock);
}
static void read_unlock(const struct ledger *ledger)
{
    pthread_rwlock_unlock((pthread_rwlock_t *)&ledger->lock);
}

enum inmo_status ledger_pairs(const struct ledger *ledger, size_t *count, const char ***user, const char ***item,
                              struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    const char **users, **items;
    size_t found = 0;

    read_lock(ledger);
    users = inmo_alloc((size_t)ledger->chosen, sizeof *users);
    items = inmo_alloc((size_t)ledger->chosen, sizeof *items);
    if (!users || !items) {
        status = inmo_fail_memory(error, "the events");
    } else {
        int32_t all = inmo_names_count(&ledger->users);
        for (int32_t u = 0; u < all; u++) {
            const struct ledger_user *one = &ledger->user[u];
            int32_t before = -1;
            for (int32_t n = 0; n < one->count; n++)
                if (ledger->is_positive[event_type(one->event[n])] && event_item(one->event[n]) != before) {
                    before = event_item(one->event[n]);
                    users[found] = inmo_names_id(&ledger->users, u);
                    items[found++] = inmo_names_id(&ledger->items, before);
                }
        }
    }
    read_unlock(ledger);
    if (status) {
        inmo_free(items);
        inmo_free(users);
    } else {
        *count = found;
        *user = users;
        *item = items;
    }
    return status;
}

void ledger_counts(const struct ledger *ledger, int64_t *events, int64_t *positive, int64_t *users, int64_t *items)
{
    read_lock(ledger);
    *events = ledger->events;
    *positive = ledger->chosen;
    *users = ledger->known_users;
    *items = ledger->known_items;
    read_unlock(ledger);
}

static size_t events_of(const struct ledger *ledger, const char *user, int with_choices, const char **item,
                        size_t most)
{
    size_t found = 0;
    int32_t u, before = -1;
    read_lock(ledger);
    u = inmo_names_find(&ledger->users, user);
    for (int32_t n = 0; u >= 0 && n < ledger->user[u].count && found < most; n++) {
        ledger_event event = ledger->user[u].event[n];
        if ((with_choices || !ledger->is_positive[event_type(event)]) && event_item(event) != before) {
            before = event_item(event);
            item[found++] = inmo_names_id(&ledger->items, before);
        }
    }
    read_unlock(ledger);
    return found;
}

size_t ledger_seen(const struct ledger *ledger, const char *user, const char **item, size_t most)
{
    return events_of(ledger, user, 0, item, most);
}

size_t ledger_history(const struct ledger *ledger, const char *user, const char **item, size_t most)
{
    return events_of(ledger, user, 1, item, most);
}

size_t ledger_drop_hidden(const struct ledger *ledger, struct inmo_entry *entry, size_t count)
{
    size_t kept = 0;
    read_lock(ledger);
    for (size_t n = 0; n < count; n++) {
        int32_t number = ledger->hidden ? inmo_names_find(&ledger->items, entry[n].id) : -1;
        if (number < 0 || !ledger->item[number].hidden)
            entry[kept++] = entry[n];
    }
    read_unlock(ledger);
    return kept;
}

int64_t ledger_hidden_count(const struct ledger *ledger)
{
    int64_t hidden;
    read_lock(ledger);
    hidden = ledger->hidden;
    read_unlock(ledger);
    return hidden;
}

enum inmo_status ledger_category(const struct ledger *ledger, const char *category, size_t *count,
                                 const char ***item, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    const struct ledger_category *found = NULL;
    const char **items;
    size_t kept = 0;
    int32_t c;

    read_lock(ledger);
    c = inmo_names_find(&ledger->categories, category);
    if (c >= 0)
        found = &ledger->category[c];
    items = inmo_alloc(found ? (size_t)found->count : 0, sizeof *items);
    if (!items)
        status = inmo_fail_memory(error, "the items of a category");
    for (int32_t n = 0; !status && found && n < found->count; n++)
        if (!ledger->item[found->item[n]].hidden)
            items[kept++] = inmo_names_id(&ledger->items, found->item[n]);
    read_unlock(ledger);
    if (!status) {
        *count = kept;
        *item = items;
    }
    return status;
}

/* ---- Popular and latest -------------------------------------------------------------------------------------- */

struct ranked {
    double score;
    int32_t item;
};

/* Descending by score, then the older item. */
static int by_score(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->score != b->score)
        return a->score < b->score ? 1 : -1;
    return (a->item > b->item) - (a->item < b->item);
}

static void list_clear(struct ledger_list *list)
{
    inmo_free(list->item);
    inmo_free(list->score);
    *list = (struct ledger_list){0};
}

void ledger_lists_free(struct ledger *ledger)
{
    for (int n = 0; n < ledger->lists; n++)
        list_clear(&ledger->list[n]);
}

static enum inmo_status list_make(const struct ledger *ledger, struct ledger_list *list, struct inmo_error *error)
{
    const struct ledger_category *category = list->category < 0 ? NULL : &ledger->category[list->category];
    int32_t all = category ? category->count : inmo_names_count(&ledger->items);
    struct ranked *ranked = inmo_alloc((size_t)all, sizeof *ranked);
    size_t count = 0;

    for (int32_t n = 0; ranked && n < all; n++) {
        int32_t number = category ? category->item[n] : n;
        const struct ledger_item *item = &ledger->item[number];
        int listed = item->known && !item->hidden &&
                     (list->order == LEDGER_POPULAR ? item->chosen > 0 : item->time != STORE_NO_TIME);
        if (listed)
            ranked[count++] = (struct ranked){
                list->order == LEDGER_POPULAR ? (double)item->chosen : (double)item->time / 1000, number};
    }
    list->item = inmo_alloc(count, sizeof *list->item);
    list->score = inmo_alloc(count, sizeof *list->score);
    if (!ranked || !list->item || !list->score) {
        inmo_free(ranked);
        list_clear(list);
        return inmo_fail_memory(error, "a list of items");
    }
    qsort(ranked, count, sizeof *ranked, by_score);
    for (size_t n = 0; n < count; n++) {
        list->item[n] = ranked[n].item;
        list->score[n] = ranked[n].score;
    }
    list->count = count;
    list->made = inmo_now();
    inmo_free(ranked);
    return INMO_OK;
}

/* The kept list, made anew when it is old; a rare category takes the place of the oldest list. */
static enum inmo_status list_get(struct ledger *ledger, enum ledger_order order, int32_t category,
                                 struct ledger_list **found, struct inmo_error *error)
{
    struct ledger_list *list = NULL;
    for (int n = 0; n < ledger->lists; n++)
        if (ledger->list[n].order == order && ledger->list[n].category == category)
            list = &ledger->list[n];
    if (list && list->item && inmo_now() - list->made < LIST_AGE) {
        *found = list;
        return INMO_OK;
    }
    if (!list && ledger->lists < LEDGER_LISTS_MOST)
        list = &ledger->list[ledger->lists++];
    for (int n = 0; !list || n < ledger->lists; n++)
        if (!list ||
            (ledger->lists == LEDGER_LISTS_MOST && ledger->list[n].made < list->made && list->category != category))
            list = &ledger->list[n];
    list_clear(list);
    list->order = order;
    list->category = category;
    *found = list;
    return list_make(ledger, list, error);
}

enum inmo_status ledger_list(struct ledger *ledger, enum ledger_order order, const char *category, size_t offset,
                             size_t most, size_t *count, struct inmo_entry **entry, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct ledger_list *list = NULL;
    struct inmo_entry *entries = NULL;
    size_t found = 0;
    int32_t c = -1;

    pthread_mutex_lock(&ledger->list_lock);
    read_lock(ledger);
    if (category)
        c = inmo_names_find(&ledger->categories, category);
    if (!category || c >= 0)
        status = list_get(ledger, order, c, &list, error);
    if (list)
        most = most < list->count ? most : list->count;
    entries = inmo_alloc(list ? most : 0, sizeof *entries);
    if (!status && !entries)
        status = inmo_fail_memory(error, "a list of items");
    for (size_t n = offset; !status && list && n < list->count && found < most; n++)
        if (ledger->item[list->item[n]].known && !ledger->item[list->item[n]].hidden)
            entries[found++] = (struct inmo_entry){inmo_names_id(&ledger->items, list->item[n]), list->score[n]};
    read_unlock(ledger);
    pthread_mutex_unlock(&ledger->list_lock);
    if (status) {
        inmo_free(entries);
    } else {
        *count = found;
        *entry = entries;
    }
    return status;
}

/* ---- Titles and search --------------------------------------------------------------------------------------- */

const char *ledger_title(const struct ledger *ledger, const char *item)
{
    const char *title = NULL;
    int32_t number;
    read_lock(ledger);
    number = inmo_names_find(&ledger->items, item);
    if (number >= 0)
        title = ledger->item[number].title;
    read_unlock(ledger);
    return title;
}

int ledger_has_user(const struct ledger *ledger, const char *user)
{
    int32_t number;
    int known;
    read_lock(ledger);
    number = inmo_names_find(&ledger->users, user);
    known = number >= 0 && ledger->user[number].known;
    read_unlock(ledger);
    return known;
}

int ledger_has_item(const struct ledger *ledger, const char *item)
{
    int32_t number;
    int known;
    read_lock(ledger);
    number = inmo_names_find(&ledger->items, item);
    known = number >= 0 && ledger->item[number].known;
    read_unlock(ledger);
    return known;
}

/* strcasestr is for ASCII letters in the C locale; other scripts match as they are written. */
static int contains(const char *text, const char *wanted)
{
    return text && strcasestr(text, wanted);
}

static void keep_best(struct ledger_found *found, size_t *count, size_t most, struct ledger_found one)
{
    size_t at = *count;
    while (at > 0 && found[at - 1].count < one.count)
        at--;
    if (at >= most)
        return;
    if (*count < most)
        ++*count;
    memmove(found + at + 1, found + at, (*count - at - 1) * sizeof *found);
    found[at] = one;
}

enum inmo_status ledger_search(const struct ledger *ledger, const char *text, size_t most, size_t *count,
                               struct ledger_found **found, struct inmo_error *error)
{
    struct ledger_found *best = inmo_alloc(most, sizeof *best);
    size_t kept = 0;
    int32_t all = 1;

    if (!best)
        return inmo_fail_memory(error, "what was found");
    /* Piece by piece, so that events are not held up while a long catalogue is searched. */
    for (int32_t first = 0; first < all; first += SEARCHED_AT_ONCE) {
        read_lock(ledger);
        all = inmo_names_count(&ledger->items);
        for (int32_t n = first; n < all && n - first < SEARCHED_AT_ONCE; n++) {
            const struct ledger_item *item = &ledger->item[n];
            const char *id = inmo_names_id(&ledger->items, n);
            if (item->known && !item->hidden && (!*text || contains(id, text) || contains(item->title, text)))
                keep_best(best, &kept, most, (struct ledger_found){id, item->title, item->chosen});
        }
        read_unlock(ledger);
    }
    *count = kept;
    *found = best;
    return INMO_OK;
}
