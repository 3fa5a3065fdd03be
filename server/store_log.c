/* store_log.c - between a store and the logs that models are trained on.
 *
 *     store  ->  log            store_read_log: feedback of the types that count, or are only seen, in the order of
 *     seq
 *     model or log  ->  store   in transactions of many; what is there already stays as it is
 *
 * Memory of reading: 33 bytes an event and the ids, given back when the log is made. */
#include "server/store.h"

#include "base/idmap.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"

#include <string.h>

enum { TOGETHER = 5000, ASK_EVERY = 10000 };

/* ---- Store -> log -------------------------------------------------------------------------------------------- */

/* What becomes of the events of a type. */
enum use { LEFT_OUT, TAKEN, ONLY_SEEN };

struct gathering {
    const char *types, *seen;
    const struct inmo_hooks *hooks;
    struct inmo_idtable *users, *items, *found; /* found: the types in the store */
    int64_t *of_type;                           // (type_capacity) events of each
    uint8_t *counts;                            // (type_capacity) what the type is: enum use
    size_t type_capacity;
    int32_t *user, *item;  // (capacity)
    int64_t *time;         // (capacity)
    uint8_t *only_seen;    // (capacity)
    size_t count, capacity;
    int64_t rows, with_time, taken;
    int out_of_memory;
};

int store_type_counts(const char *types, const char *seen, const char *type)
{
    size_t length = strlen(type);
    return types && *types ? inmo_list_has(types, type, length) : !inmo_list_has(seen, type, length);
}

static int32_t type_number(struct gathering *all, const char *type)
{
    int32_t number = inmo_idtable_intern(all->found, type, strlen(type));

    if (number >= 0 && (size_t)number == all->type_capacity) {
        size_t capacity = 2 * all->type_capacity + 16;
        int64_t *of_type = inmo_resize(all->of_type, all->type_capacity, capacity, sizeof *of_type);
        uint8_t *counts = inmo_resize(all->counts, all->type_capacity, capacity, sizeof *counts);
        all->of_type = of_type ? of_type : all->of_type;
        all->counts = counts ? counts : all->counts;
        if (!of_type || !counts)
            return -1;
        memset(of_type + all->type_capacity, 0, (capacity - all->type_capacity) * sizeof *of_type);
        memset(counts + all->type_capacity, 0, capacity - all->type_capacity);
        all->type_capacity = capacity;
    }
    if (number >= 0 && !all->of_type[number])
        all->counts[number] = (uint8_t)(store_type_counts(all->types, all->seen, type) ? TAKEN
                                        : inmo_list_has(all->seen, type, strlen(type)) ? ONLY_SEEN
                                                                                       : LEFT_OUT);
    return number;
}

static int make_room(struct gathering *all)
{
    if (all->count == all->capacity) {
        size_t capacity = all->capacity + all->capacity / 2 + 4096;
        int32_t *user = inmo_resize(all->user, all->count, capacity, sizeof *user);
        int32_t *item = inmo_resize(all->item, all->count, capacity, sizeof *item);
        int64_t *time = inmo_resize(all->time, all->count, capacity, sizeof *time);
        uint8_t *only_seen = inmo_resize(all->only_seen, all->count, capacity, sizeof *only_seen);
        all->user = user ? user : all->user;
        all->item = item ? item : all->item;
        all->time = time ? time : all->time;
        all->only_seen = only_seen ? only_seen : all->only_seen;
        if (!user || !item || !time || !only_seen)
            return 0;
        all->capacity = capacity;
    }
    return 1;
}

static int gather(void *context, const struct store_change *change)
{
    struct gathering *all = context;
    const struct store_feedback *feedback = &change->feedback;
    int32_t type, user, item;

    if (change->deed != STORE_PUT_FEEDBACK)
        return 1; /* a tombstone: nothing of it is left */
    if (++all->rows % ASK_EVERY == 0 && inmo_is_interrupted(all->hooks))
        return 0;
    type = type_number(all, feedback->type);
    if (type >= 0 && !all->counts[type]) {
        all->of_type[type]++;
        return 1;
    }
    user = inmo_idtable_intern(all->users, feedback->user, strlen(feedback->user));
    item = inmo_idtable_intern(all->items, feedback->item, strlen(feedback->item));
    if (type < 0 || user < 0 || item < 0 || !make_room(all)) {
        all->out_of_memory = 1;
        return 0;
    }
    all->of_type[type]++;
    all->with_time += feedback->time != STORE_NO_TIME;
    all->taken += all->counts[type] == TAKEN;
    all->only_seen[all->count] = all->counts[type] == ONLY_SEEN;
    all->user[all->count] = user;
    all->item[all->count] = item;
    all->time[all->count++] = feedback->time;
    return 1;
}

/* Events without a time get that of the event before them, the first ones that of the first which has one. With no
 * time anywhere, the order is the time. */
static void fill_times(struct gathering *all)
{
    int64_t before = 0;

    for (size_t n = all->count; all->with_time && n > 0; n--)
        if (all->time[n - 1] != STORE_NO_TIME)
            before = all->time[n - 1];
    for (size_t n = 0; n < all->count; n++) {
        if (!all->with_time)
            all->time[n] = (int64_t)n + 1;
        else if (all->time[n] == STORE_NO_TIME)
            all->time[n] = before;
        before = all->time[n];
    }
}

/* "1200 like, 300 buy" of the types of one use; "" if there are none. */
static char *name_types(const struct gathering *all, enum use use)
{
    struct inmo_idmap found = inmo_idtable_map(all->found);
    struct inmo_text text = {0};

    for (int32_t n = 0; n < found.count && text.length < 400; n++)
        if (all->counts[n] == use)
            inmo_text_format(&text, "%s%lld %.100s", text.length ? ", " : "", (long long)all->of_type[n],
                             inmo_idmap_id(&found, n));
    return inmo_text_take(&text);
}

static enum inmo_status make_log(struct store *store, struct gathering *all, struct inmo_log **log,
                                 struct inmo_error *error)
{
    struct inmo_idmap users = inmo_idtable_map(all->users), items = inmo_idtable_map(all->items);
    const char **user = inmo_alloc(all->count, sizeof *user), **item = inmo_alloc(all->count, sizeof *item);
    char *taken = name_types(all, TAKEN), *seen = name_types(all, ONLY_SEEN), *left = name_types(all, LEFT_OUT);
    enum inmo_status status = INMO_OK;

    if (!user || !item || !taken || !seen || !left) {
        status = inmo_fail_memory(error, "the log of a store");
    } else if (!all->taken) {
        status = *left || *seen
                     ? inmo_fail(error, INMO_INPUT, "%s has no feedback of the types wanted, only %s%s%s",
                                 store_name(store), left, *left && *seen ? ", " : "", seen)
                     : inmo_fail(error, INMO_INPUT, "%s has no feedback", store_name(store));
    } else {
        inmo_note(all->hooks, INMO_NOTE, "%s: %s%s%s%s%s", store_name(store), taken, *seen ? "; only seen: " : "",
                  seen, *left ? "; left out: " : "", left);
        fill_times(all);
        for (size_t n = 0; n < all->count; n++) {
            user[n] = inmo_idmap_id(&users, all->user[n]);
            item[n] = inmo_idmap_id(&items, all->item[n]);
        }
        status = inmo_log_from_events(all->count, user, item, all->only_seen, all->time, log, error);
    }
    inmo_free(left);
    inmo_free(seen);
    inmo_free(taken);
    inmo_free(item);
    inmo_free(user);
    return status;
}

enum inmo_status store_read_log(struct store *store, const char *types, const char *seen,
                                const struct inmo_hooks *hooks, struct inmo_log **log, int64_t *last,
                                struct inmo_error *error)
{
    struct gathering all = {.types = types, .seen = seen, .hooks = hooks};
    int64_t upto = 0;
    enum inmo_status status = INMO_OK;

    all.users = inmo_idtable_new();
    all.items = inmo_idtable_new();
    all.found = inmo_idtable_new();
    if (!all.users || !all.items || !all.found)
        status = inmo_fail_memory(error, "the log of a store");
    if (!status)
        status = store_changes(store, 0, 1, gather, &all, &upto, error);
    if (status == INMO_INTERRUPTED && all.out_of_memory)
        status = inmo_fail_memory(error, "the log of a store");
    if (!status)
        status = make_log(store, &all, log, error);
    if (!status && last)
        *last = upto;
    inmo_free(all.only_seen);
    inmo_free(all.time);
    inmo_free(all.item);
    inmo_free(all.user);
    inmo_free(all.counts);
    inmo_free(all.of_type);
    inmo_idtable_free(all.found);
    inmo_idtable_free(all.items);
    inmo_idtable_free(all.users);
    return status;
}

/* ---- Model or log -> store ----------------------------------------------------------------------------------- */

/* Changes that wait for their transaction. */
struct importing {
    struct store *store;
    const struct inmo_hooks *hooks;
    const char *type;
    struct store_change *change;  // (TOGETHER)
    size_t count;
    int64_t added, done, total;
};

static enum inmo_status flush(struct importing *import, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_progress progress = {.stage = "importing", .unit = "events", .total = (double)import->total};

    if (inmo_is_interrupted(import->hooks))
        status = inmo_fail(error, INMO_INTERRUPTED,
                           "the import was stopped after %lld events; starting it again goes on",
                           (long long)import->done);
    if (!status && import->count)
        status = store_write(import->store, import->change, import->count, error);
    for (size_t n = 0; !status && n < import->count; n++)
        import->added += import->change[n].affected;
    if (!status) {
        import->done += (int64_t)import->count;
        import->count = 0;
        progress.done = (double)import->done;
        inmo_report_progress(import->hooks, &progress);
    }
    return status;
}

static enum inmo_status add(struct importing *import, const char *user, const char *item, int64_t time,
                            struct inmo_error *error)
{
    import->change[import->count++] = (struct store_change){
        .deed = STORE_ADD_FEEDBACK,
        .feedback = {.type = import->type, .user = user, .item = item, .time = time},
    };
    return import->count == TOGETHER ? flush(import, error) : INMO_OK;
}

static enum inmo_status add_part(struct importing *import, const struct inmo_interactions *part,
                                 const struct inmo_id_table *users, const struct inmo_id_table *items,
                                 struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;

    for (int64_t u = 0; u < part->users && u < users->count; u++)
        for (int64_t n = part->offset[u]; !status && n < part->offset[u + 1]; n++)
            if (part->item[n] < items->count)
                status = add(import, users->text + users->offset[u], items->text + items->offset[part->item[n]],
                             STORE_NO_TIME, error);
    return status;
}

enum inmo_status store_import_model(struct store *store, const struct inmo_model *model, const char *type,
                                    const struct inmo_hooks *hooks, int64_t *added, struct inmo_error *error)
{
    struct importing import = {.store = store, .hooks = hooks, .type = type};
    struct inmo_interactions train, valid;
    struct inmo_id_table users, items;
    enum inmo_status status = INMO_OK;

    inmo_model_interactions(model, &train, &valid);
    inmo_model_ids(model, &users, &items);
    import.total = train.count + valid.count;
    import.change = inmo_alloc(TOGETHER, sizeof *import.change);
    if (!import.change)
        status = inmo_fail_memory(error, "an import");
    if (!status)
        status = add_part(&import, &train, &users, &items, error);
    if (!status)
        status = add_part(&import, &valid, &users, &items, error);
    if (!status)
        status = flush(&import, error);
    if (!status && added)
        *added = import.added;
    inmo_free(import.change);
    return status;
}

/* Logs have times in seconds, or in milliseconds: nothing happened before 1973 or will after 5138. */
static int64_t milliseconds(int64_t time)
{
    const int64_t surely_milliseconds = 100000000000;
    return !time ? STORE_NO_TIME : time > -surely_milliseconds && time < surely_milliseconds ? 1000 * time : time;
}

enum inmo_status store_import_log(struct store *store, const char *const *paths, size_t count,
                                  const struct inmo_read_options *options, const char *type,
                                  const struct inmo_hooks *hooks, int64_t *added, struct inmo_error *error)
{
    struct importing import = {.store = store, .hooks = hooks, .type = type};
    struct inmo_log *log = NULL;
    const char *user, *item;
    int64_t time;
    enum inmo_status status = inmo_log_read(paths, count, options, hooks, &log, error);

    import.change = inmo_alloc(TOGETHER, sizeof *import.change);
    if (!status && !import.change)
        status = inmo_fail_memory(error, "an import");
    if (!status)
        import.total = inmo_log_count(log);
    for (int64_t n = 0; !status && inmo_log_at(log, n, &user, &item, &time); n++)
        status = add(&import, user, item, milliseconds(time), error);
    if (!status)
        status = flush(&import, error);
    if (!status && added)
        *added = import.added;
    inmo_free(import.change);
    inmo_log_free(log);
    return status;
}
