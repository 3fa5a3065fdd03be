/* store_world.h - what the tests of stores share: a fresh store of either kind, changes in a few words, and what is
 * in a store as text. The kind is SQLite unless the environment names a PostgreSQL server (with_postgres.sh). */
#ifndef INMO_TESTS_STORE_WORLD_H
#define INMO_TESTS_STORE_WORLD_H

#include "support.h"

#include "server/store.h"

static char store_url[256];

static inline int is_postgres(void)
{
    return getenv("INMO_TEST_POSTGRES") != NULL;
}

/* A name under which nothing is stored yet. */
static inline const char *fresh_url(void)
{
    static int made;
    char command[256];

    made++;
    if (is_postgres()) {
        snprintf(command, sizeof command, "createdb inmo_%d_%d", (int)getpid(), made);
        assert_int_equal(system(command), 0);
        snprintf(store_url, sizeof store_url, "postgresql:///inmo_%d_%d", (int)getpid(), made);
    } else {
        snprintf(store_url, sizeof store_url, "store-%d.db", made);
    }
    return store_url;
}

static inline struct store *opened(const char *url)
{
    struct inmo_error error = {0};
    struct store *store = NULL;
    must(store_open(url, 0, 0, &store, &error));
    return store;
}

static inline struct store_change feedback_of(enum store_deed deed, const char *type, const char *user,
                                              const char *item, int64_t time, const char *comment)
{
    return (struct store_change){.deed = deed, .feedback = {0, type, user, item, time, comment}};
}

static inline struct store_change added(const char *type, const char *user, const char *item)
{
    return feedback_of(STORE_ADD_FEEDBACK, type, user, item, STORE_NO_TIME, NULL);
}

/* One change in a transaction of its own; returns how many rows it changed. */
static inline int wrote(struct store *store, struct store_change change)
{
    struct inmo_error error = {0};
    must(store_write(store, &change, 1, &error));
    return change.affected;
}

/* ---- Everything in a store, as text ---------------------------------------------------------------------------
 * */

struct written {
    char text[65536];
    size_t length;
    int64_t seq;
    int stop_after;
};

__attribute__((format(printf, 2, 3))) static inline void put(struct written *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    out->length += (size_t)vsnprintf(out->text + out->length, sizeof out->text - out->length, format, arguments);
    va_end(arguments);
    assert_true(out->length < sizeof out->text);
}

static inline int put_change(void *context, const struct store_change *change)
{
    struct written *out = context;
    const struct store_feedback *feedback = &change->feedback;

    assert_true(change->seq > out->seq); /* in order */
    out->seq = change->seq;
    switch (change->deed) {
    case STORE_PUT_FEEDBACK:
        put(out, "%s %s %s", feedback->type, feedback->user, feedback->item);
        if (feedback->time != STORE_NO_TIME)
            put(out, " @%lld", (long long)feedback->time);
        put(out, *feedback->comment ? " \"%s\"; " : "; ", feedback->comment);
        break;
    case STORE_DELETE_FEEDBACK:
        put(out, "-%s %s %s; ", feedback->type ? feedback->type : "*", feedback->user, feedback->item);
        break;
    case STORE_PUT_ITEM:
        put(out, "item %s", change->item.id);
        if (change->item.hidden)
            put(out, " hidden");
        if (change->item.time != STORE_NO_TIME)
            put(out, " @%lld", (long long)change->item.time);
        put(out, " %s %s", change->item.categories, change->item.labels);
        put(out, *change->item.comment ? " \"%s\"; " : "; ", change->item.comment);
        break;
    case STORE_PUT_USER:
        put(out, "user %s %s %s", change->user.id, change->user.labels, change->user.subscribe);
        put(out, *change->user.comment ? " \"%s\"; " : "; ", change->user.comment);
        break;
    case STORE_DELETE_ITEM: put(out, "-item %s; ", change->item.id); break;
    case STORE_DELETE_USER: put(out, "-user %s; ", change->user.id); break;
    default: fail_msg("a change of kind %d", (int)change->deed);
    }
    return !out->stop_after || --out->stop_after > 0;
}

/* The changes after a seq, in order. Belongs to the caller until the next call. */
static inline const char *changes_after(struct store *store, int64_t after, int feedback_only, int64_t *last)
{
    static struct written out;
    struct inmo_error error = {0};

    out = (struct written){.seq = after};
    must(store_changes(store, after, feedback_only, put_change, &out, last, &error));
    return out.text;
}

static inline const char *feedback_in(struct store *store)
{
    return changes_after(store, 0, 1, NULL);
}

#endif
