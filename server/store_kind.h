/* store_kind.h - what a kind of store implements; only for store*.c.
 *
 * store.c checks ids, makes cursors, cuts long scans into pieces and calls the rows' functions; a kind writes
 * changes and fetches pieces. A piece is copied before anybody sees it, so no read transaction or connection is
 * held while a slow client takes its rows: SQLite's log could not be reset meanwhile. */
#ifndef INMO_SERVER_STORE_KIND_H
#define INMO_SERVER_STORE_KIND_H

#include "server/store.h"

#include "base/status.h"

#include <stdatomic.h>

enum {
    STORE_PIECE_ROWS = STORE_PAGE_MOST,
    STORE_PIECE_BYTES = 4 << 20
}; /* a piece ends with the row that exceeds either */

/* Rows of a piece: changes whose texts belong to it. */
struct store_rows {
    struct store_change *row;
    size_t count, capacity, bytes;
    struct store_rows_block *block;
    int failed; /* memory was short */
};

/* Adds a row of zeros; NULL when memory is short. */
struct store_change *store_rows_add(struct store_rows *rows);
/* A copy of a text that lives as long as the rows; "" when memory is short (see failed). NULL gives instead. */
const char *store_rows_text(struct store_rows *rows, const char *text, size_t length, const char *instead);
int store_rows_full(const struct store_rows *rows);
/* Forgets the rows and keeps the memory. */
void store_rows_clear(struct store_rows *rows);
void store_rows_free(struct store_rows *rows);

enum store_question {
    STORE_ASK_CHANGES,
    STORE_ASK_FEEDBACK,
    STORE_ASK_USERS,
    STORE_ASK_ITEMS,
    STORE_ASK_USER,
    STORE_ASK_ITEM
};

struct store_ask {
    enum store_question question;
    int64_t after, upto;            /* CHANGES, FEEDBACK: seq > after; CHANGES: and at most upto */
    int feedback_only;              /* CHANGES: without items and users */
    const char *type, *user, *item; /* FEEDBACK: each may be NULL */
    const char *id;                 /* USERS, ITEMS: after this id; USER, ITEM: this one */
    int most;                       /* rows */
};

struct store_kind {
    /* Fills rows in the order of the question, at most ask->most and until store_rows_full. *end: nothing is left.
     * */
    enum inmo_status (*fetch)(struct store *store, const struct store_ask *ask, struct store_rows *rows, int *end,
                              struct inmo_error *error);
    enum inmo_status (*write)(struct store *store, struct store_change *changes, size_t count,
                              struct inmo_error *error);
    enum inmo_status (*last)(struct store *store, int64_t *seq, struct inmo_error *error);
    enum inmo_status (*bury)(struct store *store, int64_t seq, struct inmo_error *error);
    enum inmo_status (*count)(struct store *store, struct store_counts *counts, struct inmo_error *error);
    void (*wait)(struct store *store, double seconds);
    void (*wake)(struct store *store);
    void (*close)(struct store *store);
    int shared;
};

struct store { /* the first member of every kind's structure */
    const struct store_kind *kind;
    char *name;
    int read_only;
    atomic_int trouble;
};

enum inmo_status store_sqlite_open(const char *path, int must_exist, int read_only, struct store **store,
                                   struct inmo_error *error);
enum inmo_status store_postgres_open(const char *url, int must_exist, int read_only, struct store **store,
                                     struct inmo_error *error);

#endif
