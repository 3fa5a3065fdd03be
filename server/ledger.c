/* ledger.c - see ledger.h. Changes and what they mean for a view. */
#define _GNU_SOURCE /* strchrnul */
#include "server/ledger_inside.h"

#include "base/json.h"
#include "base/memory.h"

#include <string.h>

static uint32_t no_slot[1];
static const struct inmo_idmap nobody = {.slot = no_slot};

int ledger_is_positive(const struct ledger *ledger, const char *type)
{
    return store_type_counts(ledger->positive, ledger->seen, type);
}

enum inmo_status ledger_create(const struct ledger_types *types, struct ledger **ledger, struct inmo_error *error)
{
    struct ledger *made = inmo_alloc_zero(1, sizeof *made);
    pthread_rwlockattr_t writers_first;
    enum inmo_status status = INMO_OK;

    if (!made)
        return inmo_fail_memory(error, "the ledger");
    /* Otherwise a few clients that search all the time would keep events waiting for ever. */
    pthread_rwlockattr_init(&writers_first);
    pthread_rwlockattr_setkind_np(&writers_first, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&made->lock, &writers_first);
    pthread_rwlockattr_destroy(&writers_first);
    pthread_mutex_init(&made->list_lock, NULL);
    made->positive = inmo_copy_string(types->positive ? types->positive : "");
    made->seen = inmo_copy_string(types->seen ? types->seen : "");
    if (!made->positive || !made->seen)
        status = inmo_fail_memory(error, "the ledger");
    for (struct inmo_names *names = &made->users; names <= &made->titles && !status; names++)
        status = inmo_names_make(&nobody, names, error);
    if (status)
        ledger_free(made);
    else
        *ledger = made;
    return status;
}

void ledger_free(struct ledger *ledger)
{
    if (!ledger)
        return;
    ledger_lists_free(ledger);
    for (int32_t n = 0; ledger->user && n < inmo_names_count(&ledger->users); n++)
        inmo_free(ledger->user[n].event);
    for (int32_t n = 0; ledger->item && n < inmo_names_count(&ledger->items); n++)
        inmo_free(ledger->item[n].category);
    for (int32_t n = 0; ledger->category && n < inmo_names_count(&ledger->categories); n++)
        inmo_free(ledger->category[n].item);
    inmo_free(ledger->user);
    inmo_free(ledger->item);
    inmo_free(ledger->category);
    inmo_free(ledger->is_positive);
    for (struct inmo_names *names = &ledger->users; names <= &ledger->titles; names++)
        if (names->added)
            inmo_names_free(names);
    inmo_free(ledger->positive);
    inmo_free(ledger->seen);
    pthread_mutex_destroy(&ledger->list_lock);
    pthread_rwlock_destroy(&ledger->lock);
    inmo_free(ledger);
}

/* ---- Numbers ------------------------------------------------------------------------------------------------- */

/* Room for one more row; 0 when memory is short. New rows are zero. */
static int make_room(void **row, size_t *capacity, size_t count, size_t size)
{
    size_t wanted = *capacity ? 2 * *capacity : 256;
    char *grown;
    if (count < *capacity)
        return 1;
    grown = inmo_resize(*row, *capacity, wanted, size);
    if (!grown)
        return 0;
    memset(grown + *capacity * size, 0, (wanted - *capacity) * size);
    *row = grown;
    *capacity = wanted;
    return 1;
}

/* The number of the id, made if new; -1 when memory is short. */
static int32_t number_of(struct inmo_names *names, const char *id, void **row, size_t *capacity, size_t size)
{
    int32_t number = inmo_names_find(names, id);
    if (number >= 0)
        return number;
    if (!make_room(row, capacity, (size_t)inmo_names_count(names), size))
        return -1;
    return inmo_names_intern(names, id);
}

static int32_t user_of(struct ledger *ledger, const char *id)
{
    int32_t n = number_of(&ledger->users, id, (void **)&ledger->user, &ledger->user_capacity, sizeof *ledger->user);
    if (n >= 0 && !ledger->user[n].known) {
        ledger->user[n].known = 1;
        ledger->known_users++;
    }
    return n;
}

static int32_t item_of(struct ledger *ledger, const char *id)
{
    int32_t n = number_of(&ledger->items, id, (void **)&ledger->item, &ledger->item_capacity, sizeof *ledger->item);
    if (n >= 0 && !ledger->item[n].known) {
        ledger->item[n].known = 1;
        ledger->item[n].time = STORE_NO_TIME;
        ledger->known_items++;
    }
    return n;
}

static int32_t type_of(struct ledger *ledger, const char *type)
{
    int32_t before = inmo_names_count(&ledger->types);
    int32_t n = number_of(&ledger->types, type, (void **)&ledger->is_positive, &ledger->type_capacity, 1);
    if (n >= before)
        ledger->is_positive[n] = (char)ledger_is_positive(ledger, type);
    return n;
}

/* ---- Events of a user ---------------------------------------------------------------------------------------- */

/* The first event not below this one. */
static int32_t position(const struct ledger_user *user, ledger_event event)
{
    int32_t low = 0, high = user->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (user->event[middle] < event)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether the user has chosen the item, by any type. */
static int has_chosen(const struct ledger *ledger, const struct ledger_user *user, int32_t item)
{
    for (int32_t n = position(user, event_first(item)); n < user->count && event_item(user->event[n]) == item; n++)
        if (ledger->is_positive[event_type(user->event[n])])
            return 1;
    return 0;
}

static enum inmo_status add_event(struct ledger *ledger, const struct store_feedback *feedback,
                                  enum ledger_effect *effect, const char **user_id, const char **item_id,
                                  struct inmo_error *error)
{
    int32_t u = user_of(ledger, feedback->user), i = item_of(ledger, feedback->item), at;
    int32_t type = type_of(ledger, feedback->type);
    int chosen;
    struct ledger_user *user = u < 0 ? NULL : &ledger->user[u];
    ledger_event event = event_first(i) | (uint32_t)type;

    if (u < 0 || i < 0 || type < 0)
        return inmo_fail_memory(error, "an event");
    *user_id = inmo_names_id(&ledger->users, u);
    *item_id = inmo_names_id(&ledger->items, i);
    at = position(user, event);
    if (at < user->count && user->event[at] == event)
        return INMO_OK;
    if (user->count == user->capacity) {
        int32_t capacity = user->capacity ? 2 * user->capacity : 8;
        ledger_event *grown = inmo_resize(user->event, (size_t)user->count, (size_t)capacity, sizeof *grown);
        if (!grown)
            return inmo_fail_memory(error, "an event");
        user->event = grown;
        user->capacity = capacity;
    }
    chosen = has_chosen(ledger, user, i);
    memmove(user->event + at + 1, user->event + at, (size_t)(user->count - at) * sizeof *user->event);
    user->event[at] = event;
    user->count++;
    ledger->events++;
    if (ledger->is_positive[type] && !chosen) {
        ledger->item[i].chosen++;
        ledger->chosen++;
        *effect = LEDGER_OBSERVE;
    }
    return INMO_OK;
}

/* Removes the events [first, last) of the user. */
static void remove_events(struct ledger *ledger, struct ledger_user *user, int32_t first, int32_t last)
{
    if (first == last)
        return;
    memmove(user->event + first, user->event + last, (size_t)(user->count - last) * sizeof *user->event);
    user->count -= last - first;
    ledger->events -= last - first;
}

/* type NULL: of all types */
static void remove_pair(struct ledger *ledger, const struct store_feedback *feedback, enum ledger_effect *effect,
                        const char **user_id, const char **item_id)
{
    int32_t u = inmo_names_find(&ledger->users, feedback->user),
            i = inmo_names_find(&ledger->items, feedback->item);
    struct ledger_user *user = u < 0 ? NULL : &ledger->user[u];
    int had = 0, left = 0;
    *user_id = feedback->user;
    *item_id = feedback->item;
    if (u >= 0 && i >= 0)
        had = has_chosen(ledger, user, i);
    for (int32_t n = u < 0 || i < 0 ? 0 : position(user, event_first(i));
         u >= 0 && i >= 0 && n < user->count && event_item(user->event[n]) == i;) {
        if (!feedback->type || !strcmp(inmo_names_id(&ledger->types, event_type(user->event[n])), feedback->type))
            remove_events(ledger, user, n, n + 1);
        else
            n++;
    }
    if (u >= 0 && i >= 0)
        left = has_chosen(ledger, user, i);
    if (had && !left) {
        ledger->item[i].chosen--;
        ledger->chosen--;
    }
    if (!left) /* whether or not it was known here: a model may know it */
        *effect = LEDGER_FORGET_PAIR;
}

static void remove_user(struct ledger *ledger, const char *id)
{
    int32_t u = inmo_names_find(&ledger->users, id), before = -1;
    struct ledger_user *user = u < 0 ? NULL : &ledger->user[u];
    if (u < 0 || !user->known)
        return;
    for (int32_t n = 0; n < user->count; n++)
        if (ledger->is_positive[event_type(user->event[n])] && event_item(user->event[n]) != before) {
            before = event_item(user->event[n]);
            ledger->item[before].chosen--;
            ledger->chosen--;
        }
    ledger->events -= user->count;
    inmo_free(user->event);
    *user = (struct ledger_user){0};
    ledger->known_users--;
}

/* ---- Items --------------------------------------------------------------------------------------------------- */

static void leave_categories(struct ledger *ledger, int32_t number)
{
    struct ledger_item *item = &ledger->item[number];
    for (int c = 0; c < item->categories; c++) {
        struct ledger_category *category = &ledger->category[item->category[c]];
        for (int32_t n = 0; n < category->count; n++)
            if (category->item[n] == number) {
                category->item[n] = category->item[--category->count];
                break;
            }
    }
    inmo_free(item->category);
    item->category = NULL;
    item->categories = 0;
}

static int join_category(struct ledger *ledger, int32_t number, const char *name)
{
    struct ledger_item *item = &ledger->item[number];
    int32_t c = number_of(&ledger->categories, name, (void **)&ledger->category, &ledger->category_capacity,
                          sizeof *ledger->category);
    int32_t *grown =
        c < 0 ? NULL
              : inmo_resize(item->category, (size_t)item->categories, (size_t)item->categories + 1, sizeof *grown);
    struct ledger_category *category;
    size_t capacity;
    if (!grown)
        return 0;
    item->category = grown;
    category = &ledger->category[c];
    for (int n = 0; n < item->categories; n++)
        if (item->category[n] == c)
            return 1;
    capacity = (size_t)category->capacity;
    if (!make_room((void **)&category->item, &capacity, (size_t)category->count, sizeof *category->item))
        return 0;
    category->capacity = (int32_t)capacity;
    category->item[category->count++] = number;
    item->category[item->categories++] = c;
    return 1;
}

/* A title in the comment, in the labels' member "title", or in a label "title:...". */
static const char *find_title(const struct store_item *item, const json_t *labels)
{
    const char *title = json_string_value(json_object_get(labels, "title"));
    size_t n;
    json_t *label;
    if (title)
        return title;
    json_array_foreach(labels, n, label)
        if (json_is_string(label) && !strncmp(json_string_value(label), "title:", 6))
            return json_string_value(label) + 6;
    return item->comment && *item->comment ? item->comment : NULL;
}

static enum inmo_status put_item(struct ledger *ledger, const struct store_item *given, struct inmo_error *error)
{
    int32_t number = item_of(ledger, given->id), title = -1;
    struct ledger_item *item = number < 0 ? NULL : &ledger->item[number];
    json_t *categories = NULL, *labels = NULL, *name;
    const char *found;
    enum inmo_status status = number < 0 ? inmo_fail_memory(error, "an item") : INMO_OK;
    size_t n;

    if (!status &&
        (inmo_json_parse(given->categories, strlen(given->categories), 0, &categories, NULL) == INMO_MEMORY ||
         inmo_json_parse(given->labels, strlen(given->labels), JSON_DECODE_ANY, &labels, NULL) == INMO_MEMORY))
        status = inmo_fail_memory(error, "an item");
    if (!status) {
        leave_categories(ledger, number);
        json_array_foreach(categories, n, name)
            if (!status && json_is_string(name) && !join_category(ledger, number, json_string_value(name)))
                status = inmo_fail_memory(error, "an item's categories");
        found = find_title(given, labels);
        if (found && (title = inmo_names_intern(&ledger->titles, found)) < 0)
            status = inmo_fail_memory(error, "an item's title");
        item->title = title < 0 ? NULL : inmo_names_id(&ledger->titles, title);
        ledger->hidden += !!given->hidden - item->hidden;
        item->hidden = !!given->hidden;
        item->time = given->time;
    }
    json_decref(labels);
    json_decref(categories);
    return status;
}

static void remove_item(struct ledger *ledger, const char *id)
{
    int32_t i = inmo_names_find(&ledger->items, id), users = inmo_names_count(&ledger->users);
    struct ledger_item *item = i < 0 ? NULL : &ledger->item[i];
    if (i < 0 || !item->known)
        return;
    for (int32_t u = 0; u < users; u++) {
        struct ledger_user *user = &ledger->user[u];
        int32_t first = position(user, event_first(i)), last = position(user, event_first(i) + UINT32_MAX);
        remove_events(ledger, user, first, last);
    }
    leave_categories(ledger, i);
    ledger->chosen -= item->chosen;
    ledger->hidden -= item->hidden;
    *item = (struct ledger_item){.time = STORE_NO_TIME};
    ledger->known_items--;
}

enum inmo_status ledger_apply(struct ledger *ledger, const struct store_change *change, enum ledger_effect *effect,
                              const char **user, const char **item, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;

    *effect = LEDGER_NOTHING;
    *user = *item = NULL;
    pthread_rwlock_wrlock(&ledger->lock);
    switch (change->deed) {
    case STORE_ADD_FEEDBACK:
    case STORE_PUT_FEEDBACK: status = add_event(ledger, &change->feedback, effect, user, item, error); break;
    case STORE_DELETE_FEEDBACK: remove_pair(ledger, &change->feedback, effect, user, item); break;
    case STORE_PUT_ITEM: status = put_item(ledger, &change->item, error); break;
    case STORE_PUT_USER:
        if (user_of(ledger, change->user.id) < 0)
            status = inmo_fail_memory(error, "a user");
        break;
    case STORE_DELETE_ITEM:
        remove_item(ledger, change->item.id);
        *effect = LEDGER_FORGET_ITEM;
        *item = change->item.id;
        break;
    case STORE_DELETE_USER:
        remove_user(ledger, change->user.id);
        *effect = LEDGER_FORGET_USER;
        *user = change->user.id;
        break;
    }
    pthread_rwlock_unlock(&ledger->lock);
    return status;
}
