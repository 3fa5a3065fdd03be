/* store_sqlite.h - a store in a file of SQLite; only for store_sqlite*.c. The tables are in docs/formats.md.
 *
 * Ids and the key of each event are held in memory as well, so that writing an event reads nothing.
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
    WRITE_FEEDBACK,
    WRITE_TYPE,
    WRITE_USER,
    WRITE_ITEM,
    WRITE_GONE,
    WRITE_DELETE_FEEDBACK,
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
    READ_USERS,
    READ_ITEMS,
    READ_USER,
    READ_ITEM,
    READ_FEEDBACK,
    READ_FEEDBACK_ONE,
    READ_COUNT
};

struct sqlite_reader {
    sqlite3 *db;
    sqlite3_stmt *statement[READ_COUNT];
    struct sqlite_reader *next;
};

/* Ids of one table. An id has a number here and a row in the file for as long as the store is open; it is present
 * if the file has that row. Rows grow with the numbers. */
struct sqlite_ids {
    struct inmo_idtable *table;
    int64_t *row;      // (capacity)
    uint8_t *present;  // (capacity)
    size_t capacity;
};

/* All feedback by (user, item, type), of a user and of an item. In memory: in the file, each of two indices would
 * cost an event a page at a random place, and a batch of 1,000 events 7 MB of log. 40 bytes an event. */
struct sqlite_entry {
    int64_t seq;  // 0: deleted
    int32_t user, item, type;
    uint32_t before_of_user, before_of_item;  // n + 1 of the entry before in the same list, 0: none
};

struct sqlite_index {
    struct sqlite_entry *entry;  // (capacity) count are in use; they never move to another number
    size_t count, capacity;
    uint32_t *slot;  // (slot_mask + 1) n + 1, 0 for empty
    size_t slot_mask;
    uint32_t *of_user, *of_item;  // (user_capacity), (item_capacity) n + 1 of the last entry in the list
    size_t user_capacity, item_capacity;
};

/* What a transaction changed in memory, to be taken back if it fails. */
struct sqlite_undo {
    struct sqlite_ids *ids;  // NULL: an entry of the index
    uint32_t number;
    int64_t before;
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
    struct sqlite_totals totals;
    struct sqlite_undo *undo;  // (undo_count)
    size_t undo_count, undo_capacity;
    pthread_mutex_t writing;  // store_bury may come from another thread
    /* Changed by the writer and read by all: the writer locks to change, the others to read. Held for moments. */
    pthread_mutex_t known;
    struct sqlite_ids type, user, item;
    struct sqlite_index index;
    struct sqlite_totals committed;
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

/* store_sqlite_ids.c: what is known in memory. Numbers of ids and entries, -1: none. */
enum inmo_status store_sqlite_load(struct store_sqlite *store, sqlite3 *db, int with_index,
                                   struct inmo_error *error);
void store_sqlite_known_free(struct store_sqlite *store);
int32_t store_sqlite_find(const struct sqlite_ids *ids, const char *id); /* only ids that are present */
/* The number of a row; -1: there is none. */
int32_t store_sqlite_number(const struct sqlite_ids *ids, int64_t row);
const char *store_sqlite_text(const struct sqlite_ids *ids, int32_t number);
/* The number of the id, whether present or not; a new one gets the next row. For the writer, as is what follows. */
enum inmo_status store_sqlite_need(struct store_sqlite *store, struct sqlite_ids *ids, const char *id,
                                   int32_t *number, struct inmo_error *error);
enum inmo_status store_sqlite_set_present(struct store_sqlite *store, struct sqlite_ids *ids, int32_t number,
                                          int present, struct inmo_error *error);
void store_sqlite_take_back(struct store_sqlite *store);

/* store_sqlite_index.c */
int64_t store_sqlite_entry(const struct sqlite_index *index, int32_t user, int32_t item, int32_t type);
/* Sets the seq of a key; 0 deletes it. Only the first changes lists; both can be taken back. */
enum inmo_status store_sqlite_set_entry(struct store_sqlite *store, int32_t user, int32_t item, int32_t type,
                                        int64_t seq, struct inmo_error *error);
enum inmo_status store_sqlite_remember(struct store_sqlite *store, struct sqlite_ids *ids, uint32_t number,
                                       int64_t before, struct inmo_error *error);
/* Numbers of the feedback of a user or of an item (the other is -1) after a seq, ascending. The array is the
 * caller's. */
enum inmo_status store_sqlite_list(struct store_sqlite *store, int32_t user, int32_t item, int32_t type,
                                   int64_t after, int64_t **seq, size_t *count, struct inmo_error *error);
void store_sqlite_index_free(struct sqlite_index *index);

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
