/* store_sqlite_read.c - pieces of a store in a file, by any thread. See store_sqlite.h.
 *
 * A reader sees the state at its first step and never waits for the writer. Feedback names its user, item and type by
 * number; the joins are forced into that order, because SQLite knows nothing about the sizes. */
#include "server/store_sqlite.h"

#include "base/memory.h"

#include <sys/stat.h>

#define FEEDBACK_COLUMNS "SELECT f.seq, t.id, u.id, i.id, f.time, f.comment "
#define FEEDBACK_NAMES                                                                                             \
    " CROSS JOIN user u ON u.num = f.user CROSS JOIN item i ON i.num = f.item CROSS JOIN type t ON t.num = "       \
    "f.type "
#define USER_COLUMNS "SELECT seq, id, labels, subscribe, comment FROM user "
#define ITEM_COLUMNS "SELECT seq, id, hidden, time, categories, labels, comment FROM item "

static const char *const sql[READ_FEEDBACK] = {
    [READ_FEEDBACK_SINCE] =
        FEEDBACK_COLUMNS "FROM feedback f" FEEDBACK_NAMES "WHERE f.seq > ?1 AND f.seq <= ?2 ORDER BY f.seq",
    [READ_USERS_SINCE] = USER_COLUMNS "WHERE seq > ?1 AND seq <= ?2 ORDER BY seq",
    [READ_ITEMS_SINCE] = ITEM_COLUMNS "WHERE seq > ?1 AND seq <= ?2 ORDER BY seq",
    [READ_GONE_SINCE] = "SELECT seq, deed, type, user, item FROM gone WHERE seq > ?1 AND seq <= ?2 ORDER BY seq",
    [READ_STATE] = "SELECT seq, feedback, users, items FROM state",
    [READ_BYTES] = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    [READ_USERS] = USER_COLUMNS "WHERE id > ?1 ORDER BY id LIMIT ?2",
    [READ_ITEMS] = ITEM_COLUMNS "WHERE id > ?1 ORDER BY id LIMIT ?2",
    [READ_USER] = USER_COLUMNS "WHERE id = ?1",
    [READ_ITEM] = ITEM_COLUMNS "WHERE id = ?1",
};

/* ---- Readers ------------------------------------------------------------------------------------------------- */

static void free_reader(struct sqlite_reader *reader)
{
    if (!reader)
        return;
    for (int n = 0; n < READ_COUNT; n++)
        sqlite3_finalize(reader->statement[n]);
    sqlite3_close_v2(reader->db);
    inmo_free(reader);
}

void store_sqlite_readers_free(struct store_sqlite *store)
{
    while (store->free_reader) {
        struct sqlite_reader *next = store->free_reader->next;
        free_reader(store->free_reader);
        store->free_reader = next;
    }
}

static enum inmo_status take_reader(struct store_sqlite *store, struct sqlite_reader **result,
                                    struct inmo_error *error)
{
    struct sqlite_reader *reader;
    enum inmo_status status = INMO_OK;

    pthread_mutex_lock(&store->readers);
    while (!store->free_reader && store->reader_count == SQLITE_READERS)
        pthread_cond_wait(&store->reader_free, &store->readers);
    reader = store->free_reader;
    if (reader)
        store->free_reader = reader->next;
    else
        store->reader_count++;
    pthread_mutex_unlock(&store->readers);
    if (!reader) {
        reader = inmo_alloc_zero(1, sizeof *reader);
        status = reader ? store_sqlite_connect(store, SQLITE_OPEN_READONLY, &reader->db, error)
                        : inmo_fail_memory(error, store->path);
        if (status) {
            free_reader(reader);
            pthread_mutex_lock(&store->readers);
            store->reader_count--;
            pthread_cond_signal(&store->reader_free);
            pthread_mutex_unlock(&store->readers);
        }
    }
    if (!status)
        *result = reader;
    return status;
}

static void give_back(struct store_sqlite *store, struct sqlite_reader *reader)
{
    pthread_mutex_lock(&store->readers);
    reader->next = store->free_reader;
    store->free_reader = reader;
    pthread_cond_signal(&store->reader_free);
    pthread_mutex_unlock(&store->readers);
}

/* The statement, prepared when it is used first; NULL after an error. Nothing is bound that matters. */
static sqlite3_stmt *statement_of(struct sqlite_reader *reader, int which)
{
    char text[1024];
    const char *query = text;
    int given = which - READ_FEEDBACK; /* bits: 1 type, 2 user, 4 item */

    if (!reader->statement[which]) {
        if (which < READ_FEEDBACK)
            query = sql[which];
        else
            sqlite3_snprintf(sizeof text, text,
                             FEEDBACK_COLUMNS "FROM feedback f %s" FEEDBACK_NAMES "WHERE f.seq > ?1%s%s%s "
                                              "ORDER BY f.seq LIMIT ?2",
                             given & 2   ? "INDEXED BY feedback_key"
                             : given & 4 ? "INDEXED BY feedback_item"
                                         : "NOT INDEXED",
                             given & 1 ? " AND f.type = (SELECT num FROM type WHERE id = ?3)" : "",
                             given & 2 ? " AND f.user = (SELECT num FROM user WHERE id = ?4)" : "",
                             given & 4 ? " AND f.item = (SELECT num FROM item WHERE id = ?5)" : "");
        sqlite3_prepare_v3(reader->db, query, -1, SQLITE_PREPARE_PERSISTENT, &reader->statement[which], NULL);
    }
    return reader->statement[which];
}

/* ---- Rows ---------------------------------------------------------------------------------------------------- */

static const char *text_of(struct store_rows *rows, sqlite3_stmt *statement, int column, const char *instead)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return store_rows_text(rows, text, text ? (size_t)sqlite3_column_bytes(statement, column) : 0, instead);
}

static int64_t time_of(sqlite3_stmt *statement, int column)
{
    return sqlite3_column_type(statement, column) == SQLITE_NULL ? STORE_NO_TIME
                                                                 : sqlite3_column_int64(statement, column);
}

static void read_feedback(struct store_rows *rows, sqlite3_stmt *statement, struct store_change *change)
{
    change->deed = STORE_PUT_FEEDBACK;
    change->feedback.seq = change->seq;
    change->feedback.type = text_of(rows, statement, 1, "");
    change->feedback.user = text_of(rows, statement, 2, "");
    change->feedback.item = text_of(rows, statement, 3, "");
    change->feedback.time = time_of(statement, 4);
    change->feedback.comment = text_of(rows, statement, 5, "");
}

static void read_user(struct store_rows *rows, sqlite3_stmt *statement, struct store_change *change)
{
    change->deed = STORE_PUT_USER;
    change->user.seq = change->seq;
    change->user.id = text_of(rows, statement, 1, "");
    change->user.labels = text_of(rows, statement, 2, "null");
    change->user.subscribe = text_of(rows, statement, 3, "null");
    change->user.comment = text_of(rows, statement, 4, "");
}

static void read_item(struct store_rows *rows, sqlite3_stmt *statement, struct store_change *change)
{
    change->deed = STORE_PUT_ITEM;
    change->item.seq = change->seq;
    change->item.id = text_of(rows, statement, 1, "");
    change->item.hidden = sqlite3_column_int(statement, 2);
    change->item.time = time_of(statement, 3);
    change->item.categories = text_of(rows, statement, 4, "[]");
    change->item.labels = text_of(rows, statement, 5, "null");
    change->item.comment = text_of(rows, statement, 6, "");
}

static void read_gone(struct store_rows *rows, sqlite3_stmt *statement, struct store_change *change)
{
    int all_types = !sqlite3_column_bytes(statement, 2);

    change->deed = (enum store_deed)sqlite3_column_int(statement, 1);
    if (change->deed == STORE_DELETE_USER) {
        change->user.id = text_of(rows, statement, 3, "");
    } else if (change->deed == STORE_DELETE_ITEM) {
        change->item.id = text_of(rows, statement, 4, "");
    } else {
        change->feedback.type = all_types ? NULL : text_of(rows, statement, 2, "");
        change->feedback.user = text_of(rows, statement, 3, "");
        change->feedback.item = text_of(rows, statement, 4, "");
    }
}

typedef void read_row(struct store_rows *rows, sqlite3_stmt *statement, struct store_change *change);

static int add_row(struct store_rows *rows, sqlite3_stmt *statement, read_row *read)
{
    struct store_change *change = store_rows_add(rows);
    if (!change)
        return 0;
    change->seq = sqlite3_column_int64(statement, 0);
    change->feedback.time = change->item.time = STORE_NO_TIME;
    change->feedback.comment = "";
    read(rows, statement, change);
    return 1;
}

/* ---- Fetching ------------------------------------------------------------------------------------------------ */

/* Merges the four tables by seq. All are read in one transaction: statements that are stepped overlap. */
static int fetch_changes(struct sqlite_reader *reader, const struct store_ask *ask, struct store_rows *rows,
                         int *end)
{
    static const int which[4] = {READ_FEEDBACK_SINCE, READ_GONE_SINCE, READ_USERS_SINCE, READ_ITEMS_SINCE};
    static read_row *const read[4] = {read_feedback, read_gone, read_user, read_item};
    int count = ask->feedback_only ? 2 : 4, code = SQLITE_OK, left = 0;
    sqlite3_stmt *statement[4];
    int state[4];

    for (int n = 0; n < count; n++)
        if (!(statement[n] = statement_of(reader, which[n])))
            return SQLITE_ERROR;
    for (int n = 0; n < count; n++) {
        sqlite3_bind_int64(statement[n], 1, ask->after);
        sqlite3_bind_int64(statement[n], 2, ask->upto);
        state[n] = sqlite3_step(statement[n]);
    }
    for (;;) {
        int first = -1;
        for (int n = 0; n < count; n++) {
            if (state[n] != SQLITE_ROW && state[n] != SQLITE_DONE)
                code = state[n];
            if (state[n] == SQLITE_ROW &&
                (first < 0 || sqlite3_column_int64(statement[n], 0) < sqlite3_column_int64(statement[first], 0)))
                first = n;
        }
        left = first >= 0;
        if (code || !left || store_rows_full(rows) || !add_row(rows, statement[first], read[first]))
            break;
        state[first] = sqlite3_step(statement[first]);
    }
    *end = !left;
    return code;
}

/* One statement, whose rows stand in the order wanted. Asked for one more than is wanted, to know the end. */
static int fetch_rows(struct sqlite_reader *reader, const struct store_ask *ask, struct store_rows *rows, int *end)
{
    int given = (ask->type ? 1 : 0) | (ask->user ? 2 : 0) | (ask->item ? 4 : 0);
    int which, code = SQLITE_ROW;
    read_row *read;
    sqlite3_stmt *statement;

    switch (ask->question) {
    case STORE_ASK_USERS: which = READ_USERS, read = read_user; break;
    case STORE_ASK_ITEMS: which = READ_ITEMS, read = read_item; break;
    case STORE_ASK_USER: which = READ_USER, read = read_user; break;
    case STORE_ASK_ITEM: which = READ_ITEM, read = read_item; break;
    default: which = READ_FEEDBACK + given, read = read_feedback;
    }
    statement = statement_of(reader, which);
    if (!statement)
        return SQLITE_ERROR;
    if (which >= READ_FEEDBACK) {
        sqlite3_bind_int64(statement, 1, ask->after);
        if (given & 1)
            sqlite3_bind_text(statement, 3, ask->type, -1, SQLITE_STATIC);
        if (given & 2)
            sqlite3_bind_text(statement, 4, ask->user, -1, SQLITE_STATIC);
        if (given & 4)
            sqlite3_bind_text(statement, 5, ask->item, -1, SQLITE_STATIC);
    } else {
        sqlite3_bind_text(statement, 1, ask->id, -1, SQLITE_STATIC);
    }
    if (which != READ_USER && which != READ_ITEM)
        sqlite3_bind_int(statement, 2, ask->most + 1);
    while ((code = sqlite3_step(statement)) == SQLITE_ROW)
        if (rows->count == (size_t)ask->most || store_rows_full(rows) || !add_row(rows, statement, read))
            break;
    *end = code == SQLITE_DONE;
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Ends the read transaction. */
static void reset(struct sqlite_reader *reader)
{
    for (int n = 0; n < READ_COUNT; n++)
        sqlite3_reset(reader->statement[n]);
}

enum inmo_status store_sqlite_fetch(struct store *common, const struct store_ask *ask, struct store_rows *rows,
                                    int *end, struct inmo_error *error)
{
    struct store_sqlite *store = (struct store_sqlite *)common;
    struct sqlite_reader *reader = NULL;
    enum inmo_status status = take_reader(store, &reader, error);

    if (!status) {
        int failed = ask->question == STORE_ASK_CHANGES ? fetch_changes(reader, ask, rows, end)
                                                        : fetch_rows(reader, ask, rows, end);
        if (failed)
            status = store_sqlite_fail(store, reader->db, "read", error);
        else if (rows->failed)
            status = inmo_fail_memory(error, "rows of the store");
        reset(reader);
        give_back(store, reader);
    }
    return status;
}

static enum inmo_status totals(struct store_sqlite *store, struct sqlite_totals *totals, int64_t *bytes,
                               struct inmo_error *error)
{
    struct sqlite_reader *reader = NULL;
    enum inmo_status status = take_reader(store, &reader, error);

    if (!status) {
        sqlite3_stmt *state = statement_of(reader, READ_STATE), *size = statement_of(reader, READ_BYTES);
        if (!state || !size || sqlite3_step(state) != SQLITE_ROW || sqlite3_step(size) != SQLITE_ROW) {
            status = store_sqlite_fail(store, reader->db, "read", error);
        } else {
            *totals = (struct sqlite_totals){sqlite3_column_int64(state, 0), sqlite3_column_int64(state, 1),
                                             sqlite3_column_int64(state, 2), sqlite3_column_int64(state, 3)};
            *bytes = sqlite3_column_int64(size, 0);
        }
        reset(reader);
        give_back(store, reader);
    }
    return status;
}

enum inmo_status store_sqlite_last(struct store *common, int64_t *seq, struct inmo_error *error)
{
    struct sqlite_totals found;
    int64_t bytes;
    enum inmo_status status = totals((struct store_sqlite *)common, &found, &bytes, error);

    if (!status)
        *seq = found.seq;
    return status;
}

enum inmo_status store_sqlite_count(struct store *common, struct store_counts *counts, struct inmo_error *error)
{
    struct sqlite_totals found;
    int64_t bytes;
    enum inmo_status status = totals((struct store_sqlite *)common, &found, &bytes, error);

    if (!status)
        *counts = (struct store_counts){found.feedback, found.users, found.items, bytes};
    return status;
}
