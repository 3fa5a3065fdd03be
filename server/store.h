/* store.h - what the server keeps: feedback, items and users, as a sequence of changes that survives everything.
 *
 * Two kinds behind one interface:
 *     a file               SQLite (store_sqlite.c): WAL, synchronous=FULL, one server at a time
 *     postgresql://...     PostgreSQL (store_postgres.c): any number of servers on one database
 *
 * Every change has a number, its seq; numbers grow in the order in which changes became durable. A reader that has
 * seen everything up to seq n asks for what came after n and misses nothing. Feedback is unique by (type, user,
 * item).
 *
 * Forgetting leaves a tombstone: the model in use may have been trained on what was deleted, so its view must be
 * told at every start (live.h), until all models are newer. Deleting a user or an item deletes their feedback, too.
 *
 * Threads: store_write belongs to one thread (the writer, ingest.h). The other calls may come from any thread; they
 * use read connections of their own and never wait for the writer.
 *
 * Errors: IO (the disk, the connection; the message says which), INPUT (an id that is no id), FORMAT (damaged, or
 * not a store, or of another version), EXISTS (another server has the file), MEMORY. store_trouble tells what the
 * server should answer. */
#ifndef INMO_SERVER_STORE_H
#define INMO_SERVER_STORE_H

#include "inmo.h"

enum { STORE_PAGE_MOST = 10000 }; /* rows of one page */

struct store;

struct store_feedback {
    int64_t seq; /* of the last change; set by the store */
    const char *type, *user, *item;
    int64_t time;        /* milliseconds since 1970; STORE_NO_TIME: not given */
    const char *comment; /* never NULL when read; NULL is "" when written */
};
#define STORE_NO_TIME INT64_MIN

struct store_item {
    int64_t seq;
    const char *id;
    int hidden;
    int64_t time;           /* milliseconds since 1970, or STORE_NO_TIME */
    const char *categories; /* JSON array of strings */
    const char *labels;     /* any JSON value: "null", an array, an object */
    const char *comment;
};

struct store_user {
    int64_t seq;
    const char *id;
    const char *labels;    /* any JSON value */
    const char *subscribe; /* JSON array of strings or null */
    const char *comment;
};

enum store_deed {
    STORE_ADD_FEEDBACK,    /* keeps what is there: POST */
    STORE_PUT_FEEDBACK,    /* replaces time and comment: PUT */
    STORE_DELETE_FEEDBACK, /* of (type, user, item); type NULL: of all types */
    /* inserts or replaces; with a seq in item only what still has that seq (user likewise) */
    STORE_PUT_ITEM,
    STORE_DELETE_ITEM, /* with its feedback */
    STORE_PUT_USER,
    STORE_DELETE_USER,
};

struct store_change {
    enum store_deed deed;
    struct store_feedback feedback; /* of the first three */
    struct store_item item;         /* STORE_DELETE_ITEM: only its id */
    struct store_user user;
    /* Set by store_write and by store_changes: */
    int64_t seq;  /* 0 for an event that was there already */
    int affected; /* rows: 0 when nothing changed (an event that was there, an item that no longer has the seq, a
                     deletion of what was not; the latter leaves its tombstone all the same: a model may know what
                     the store does not) */
};

/* url: the path of a file, or postgresql://... A file that is not there is made, unless must_exist. read_only:
 * never writes and takes no lock (export, prepare); store_write is refused. */
enum inmo_status store_open(const char *url, int must_exist, int read_only, struct store **store,
                            struct inmo_error *error);
void store_close(struct store *store);
/* Whether path or url names a store: a postgresql:// address, or a file that is an SQLite database. */
int store_is_store(const char *url);
/* 1: other servers may change it, too. */
int store_is_shared(const struct store *store);
/* The address without a password, for messages. Belongs to the store. */
const char *store_name(const struct store *store);

/* One transaction: all changes or, on failure, none. Durable when it returns. An item or user that feedback names
 * and that is not there is made, without labels, as gorse does (auto-insert). */
enum inmo_status store_write(struct store *store, struct store_change *changes, size_t count,
                             struct inmo_error *error);

/* What the last error of store_write or of a reading call was about. */
enum store_trouble { STORE_FINE, STORE_FULL, STORE_AWAY, STORE_BROKEN };
enum store_trouble store_trouble(const struct store *store);

/* Calls row for every change with seq > after, in the order of seq: the present feedback, items and users, each at
 * its last change (as STORE_PUT_...), and the tombstones (as STORE_DELETE_...). *last gets the largest seq seen, at
 * least after. row returns 0 to stop early with INMO_INTERRUPTED. With feedback_only, items and users are left out.
 * */
typedef int store_change_row(void *context, const struct store_change *change);
enum inmo_status store_changes(struct store *store, int64_t after, int feedback_only, store_change_row *row,
                               void *context, int64_t *last, struct inmo_error *error);
/* The largest seq there is. */
enum inmo_status store_last(struct store *store, int64_t *seq, struct inmo_error *error);
/* Shared stores: waits until another server may have changed something, or so many seconds. Any thread, one at a
 * time. Returns early when store_wake was called. A lost connection is made again by the next call. */
void store_wait(struct store *store, double seconds);
void store_wake(struct store *store);

/* Tombstones up to seq are not needed any more: every model that may be served is newer. */
enum inmo_status store_bury(struct store *store, int64_t seq, struct inmo_error *error);

/* Pages, in a stable order (users and items by id in bytes, feedback by seq), after the cursor ("" for the first
 * page). next gets the cursor of the next page, "" after the last; it is opaque to clients. A cursor that is none
 * is USAGE. */
enum { STORE_CURSOR = 6144 };
enum inmo_status store_users(struct store *store, const char *cursor, int most,
                             int (*row)(void *context, const struct store_user *user), void *context,
                             char next[STORE_CURSOR], struct inmo_error *error);
enum inmo_status store_items(struct store *store, const char *cursor, int most,
                             int (*row)(void *context, const struct store_item *item), void *context,
                             char next[STORE_CURSOR], struct inmo_error *error);
/* Of this type, user and item; each may be NULL: of all. */
enum inmo_status store_feedback(struct store *store, const char *type, const char *user, const char *item,
                                const char *cursor, int most,
                                int (*row)(void *context, const struct store_feedback *feedback), void *context,
                                char next[STORE_CURSOR], struct inmo_error *error);
/* One of them; *found is 0 when there is none. row is called at most once. */
enum inmo_status store_user(struct store *store, const char *id,
                            int (*row)(void *context, const struct store_user *user), void *context, int *found,
                            struct inmo_error *error);
enum inmo_status store_item(struct store *store, const char *id,
                            int (*row)(void *context, const struct store_item *item), void *context, int *found,
                            struct inmo_error *error);

struct store_counts {
    int64_t feedback, users, items, bytes;
};
/* Cheap: the totals are kept by the store, not counted. */
enum inmo_status store_count(struct store *store, struct store_counts *counts, struct inmo_error *error);

/* store_log.c: 1 if feedback of this type counts as a choice. types: "buy,like", NULL or "": all but those in seen
 * ("view,read", may be NULL). Spaces around the types do not count. */
int store_type_counts(const char *types, const char *seen, const char *type);
/* The feedback that counts, and what was only seen, as a log for inmo_dataset_prepare. Events without a time get
 * one from their order.
 * *last: the seq it contains. */
enum inmo_status store_read_log(struct store *store, const char *types, const char *seen,
                                const struct inmo_hooks *hooks, struct inmo_log **log, int64_t *last,
                                struct inmo_error *error);
/* The reverse: interactions of a model or of a log become feedback of a type, in transactions of many. Repeating it
 * changes nothing, so an import that was interrupted is simply started again. */
enum inmo_status store_import_model(struct store *store, const struct inmo_model *model, const char *type,
                                    const struct inmo_hooks *hooks, int64_t *added, struct inmo_error *error);
/* store_events.c: a log whose lines have types or ratings (events.h), line by line; in *typed whether it is one, by
 * its first line and the options, else nothing is done. Lines without a type get `type`, those with a low rating a
 * type of `seen`. next gives a line, or NULL after the last. */
struct store_lines {
    const char *name; /* for messages */
    enum inmo_status (*next)(void *context, const char **line, size_t *length, struct inmo_error *error);
    void *context;
};
enum inmo_status store_import_lines(struct store *store, const struct store_lines *lines,
                                    const struct inmo_read_options *options, const char *type, const char *seen,
                                    const struct inmo_hooks *hooks, int *typed, int64_t *added,
                                    struct inmo_error *error);
/* Any log that inmo_log_read can read. */
enum inmo_status store_import_log(struct store *store, const char *const *paths, size_t count,
                                  const struct inmo_read_options *options, const char *type,
                                  const struct inmo_hooks *hooks, int64_t *added, struct inmo_error *error);

#endif
