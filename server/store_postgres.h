/* store_postgres.h - a store in a PostgreSQL database, in the schema inmo; only for store_postgres*.c. The tables
 * are in docs/formats.md.
 *
 * Order: a transaction that writes takes one lock (LOCK_KEY) before it takes its numbers and holds it until it has
 * committed. Without it, number 7 could be committed before number 6: a server that reads up to 7 in between would
 * never see 6. With it, numbers become visible in their order, whichever server gives them.
 *
 * Connections: one of the writer, one that listens, and up to READERS for everybody else. One that is lost is made
 * again by the next call that needs it. */
#ifndef INMO_SERVER_STORE_POSTGRES_H
#define INMO_SERVER_STORE_POSTGRES_H

#include "server/store_kind.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <stdlib.h>

enum { POSTGRES_READERS = 4, POSTGRES_STORE_VERSION = 1 };
#define POSTGRES_LOCK_KEY "7597134191468" /* any number that nobody else takes */

struct store_postgres {
    struct store common;
    char *url;
    int must_exist;
    pthread_mutex_t writing; /* store_bury may come from another thread */
    PGconn *writer;
    atomic_int writer_process; /* of the server, to know our own notifications */
    pthread_mutex_t readers;
    pthread_cond_t reader_free;
    PGconn *reader[POSTGRES_READERS]; /* those that are free, NULL: not connected */
    int free_readers;
    PGconn *listener;
    int wake[2]; /* a pipe */
};

/* The status for a failed connection or result (may be NULL), with a sentence; notes what trouble it is. */
enum inmo_status store_postgres_fail(struct store_postgres *store, PGconn *connection, const PGresult *result,
                                     const char *verb, struct inmo_error *error);
/* Makes *connection usable: connects when it is NULL or lost. settings: SQL to begin with, may be NULL. */
enum inmo_status store_postgres_connect(struct store_postgres *store, PGconn **connection, const char *settings,
                                        struct inmo_error *error);
/* Runs a statement, which must succeed; *result may be NULL, or is to be cleared. */
enum inmo_status store_postgres_run(struct store_postgres *store, PGconn *connection, const char *sql, int count,
                                    const char *const *parameter, PGresult **result, struct inmo_error *error);

/* store_postgres_schema.c: makes the tables if they are not there and may be made; refuses another version. */
enum inmo_status store_postgres_schema(struct store_postgres *store, PGconn *connection, struct inmo_error *error);

/* store_postgres_write.c */
struct postgres_writing {
    struct store_postgres *store;
    PGconn *connection;
    int64_t seq, feedback, users, items; /* the last number given out; what was added to the totals */
    char transaction[32];
};
enum inmo_status store_postgres_write(struct store *store, struct store_change *changes, size_t count,
                                      struct inmo_error *error);
enum inmo_status store_postgres_bury(struct store *store, int64_t seq, struct inmo_error *error);

/* store_postgres_put.c: a run of changes of one kind, which have neither a seq nor are affected yet. */
enum inmo_status store_postgres_put_feedback(struct postgres_writing *w, struct store_change *changes, size_t count,
                                             struct inmo_error *error);
enum inmo_status store_postgres_put_items(struct postgres_writing *w, struct store_change *changes, size_t count,
                                          struct inmo_error *error);
enum inmo_status store_postgres_put_users(struct postgres_writing *w, struct store_change *changes, size_t count,
                                          struct inmo_error *error);
static inline int64_t store_postgres_number(const PGresult *result, int row, int column)
{
    return strtoll(PQgetvalue(result, row, column), NULL, 10);
}

/* store_postgres_read.c */
enum inmo_status store_postgres_fetch(struct store *store, const struct store_ask *ask, struct store_rows *rows,
                                      int *end, struct inmo_error *error);
enum inmo_status store_postgres_last(struct store *store, int64_t *seq, struct inmo_error *error);
enum inmo_status store_postgres_count(struct store *store, struct store_counts *counts, struct inmo_error *error);

/* An id may have 4096 bytes, an entry of a B-tree 2704: the first 600 characters are the key, the rest is compared.
 * */
#define POSTGRES_KEY(id) "substr(" id ", 1, 600)"
#define POSTGRES_SAME(a, b) "(" POSTGRES_KEY(a) " = " POSTGRES_KEY(b) " AND " a " = " b ")"

#endif
