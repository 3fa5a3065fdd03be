/* store_sqlite.h - a store in a file of SQLite; only for store_sqlite*.c. The tables are in docs/formats.md.
 *
 * Connections: one of the writer, one of the thread that moves the log (WAL) into the file, and up to READERS for
 * everybody else, opened when needed. Each is used by one thread at a time. */
#ifndef INMO_SERVER_STORE_SQLITE_H
#define INMO_SERVER_STORE_SQLITE_H

#include "server/store_kind.h"

#include "base/idmap.h"

#include <pthread.h>
#include <sqlite3.h>

enum { SQLITE_READERS = 8, SQLITE_STORE_VERSION = 1, SQLITE_STORE_MARK = 0x696e6d6f /* "inmo" */ };

/* Statements of the writer. */
enum {
    WRITE_BEGIN,
    WRITE_COMMIT,
    WRITE_ROLLBACK,
    WRITE_STATE,
    WRITE_ADD,
    WRITE_TYPE,
    WRITE_USER,
    WRITE_ITEM,
    WRITE_GONE,
    WRITE_DELETE_ONE,
    WRITE_DELETE_PAIR,
    WRITE_DELETE_OF_USER,
    WRITE_DELETE_OF_ITEM,
    WRITE_DELETE_USER,
    WRITE_DELETE_ITEM,
    WRITE_BURY,
    WRITE_COUNT
};

/* Statements of a reader. */
enum {
    READ_FEEDBACK_SINCE,
    READ_USERS_SINCE,
    READ_ITEMS_SINCE,
    READ_GONE_SINCE,
    READ_STATE,
    READ_BYTES,
    READ_USERS,
    READ_ITEMS,
    READ_USER,
    READ_ITEM,
    READ_FEEDBACK, /* and the seven others, with type, user and item given or not */
    READ_COUNT = READ_FEEDBACK + 8
};

struct sqlite_reader {
    sqlite3 *db;
    sqlite3_stmt *statement[READ_COUNT];
    struct sqlite_reader *next;
};

/* Ids and the numbers of their rows, so that writing an event looks nothing up in the file. */
struct sqlite_ids {
    struct inmo_idtable *table;
    int64_t *row;  // (capacity) by number in the table; 0: there is no such row
    size_t capacity;
    int64_t largest;  // number of a row so far
};

struct sqlite_undo {
    struct sqlite_ids *ids;
    int32_t number;
    int64_t row;
};

struct sqlite_totals {
    int64_t seq, feedback, users, items;
};

struct store_sqlite {
    struct store common;
    char *path;
    int lock;  // descriptor, -1: none
    /* The writer's: */
    sqlite3 *db;
    sqlite3_stmt *statement[WRITE_COUNT];
    struct sqlite_ids type, user, item;
    struct sqlite_totals totals;
    struct sqlite_undo *undo;  // (undo_count) what the transaction changed in the ids, to be taken back
    size_t undo_count, undo_capacity;
    pthread_mutex_t writing;  // store_bury may come from another thread
    /* Of the checkpoints: */
    pthread_t mover;
    int has_mover, stopping;
    atomic_int log_pages;
    pthread_mutex_t moving, signal;
    pthread_cond_t wanted;
    /* The readers that are free: */
    pthread_mutex_t readers;
    pthread_cond_t reader_free;
    struct sqlite_reader *free_reader;
    int reader_count;
};

/* The status for the last error of a connection, with a sentence; notes what trouble it is. */
enum inmo_status store_sqlite_fail(struct store_sqlite *store, sqlite3 *db, const char *verb,
                                   struct inmo_error *error);
/* Opens a connection with the settings that all have. */
enum inmo_status store_sqlite_connect(struct store_sqlite *store, int flags, sqlite3 **db,
                                      struct inmo_error *error);

/* store_sqlite_schema.c: makes the tables in an empty file; refuses what is no store of this version. */
enum inmo_status store_sqlite_schema(struct store_sqlite *store, sqlite3 *db, int may_make,
                                     struct inmo_error *error);

/* store_sqlite_write.c */
enum inmo_status store_sqlite_writer(struct store_sqlite *store, struct inmo_error *error);
void store_sqlite_writer_free(struct store_sqlite *store);
enum inmo_status store_sqlite_write(struct store *store, struct store_change *changes, size_t count,
                                    struct inmo_error *error);
enum inmo_status store_sqlite_bury(struct store *store, int64_t seq, struct inmo_error *error);

/* store_sqlite_read.c */
enum inmo_status store_sqlite_fetch(struct store *store, const struct store_ask *ask, struct store_rows *rows,
                                    int *end, struct inmo_error *error);
enum inmo_status store_sqlite_last(struct store *store, int64_t *seq, struct inmo_error *error);
enum inmo_status store_sqlite_count(struct store *store, struct store_counts *counts, struct inmo_error *error);
void store_sqlite_readers_free(struct store_sqlite *store);

/* store_sqlite_log.c: moves the log into the file in the background. */
enum inmo_status store_sqlite_mover(struct store_sqlite *store, struct inmo_error *error);
void store_sqlite_mover_stop(struct store_sqlite *store);
/* Called by the writer before a transaction; waits only when the log is much too long. */
void store_sqlite_bound_log(struct store_sqlite *store);

#endif
