/* store_sqlite_read.c - pieces of a store in a file, by any thread. See store_sqlite.h.
 *
 * A reader sees the state at its first step and never waits for the writer's disk. Feedback names its user, item
 * and type by number; their ids, and the feedback of a user or an item, are known in memory. */
#include "server/store_sqlite.h"

#include "base/memory.h"

#include <string.h>
#include <sys/stat.h>

#define FEEDBACK_COLUMNS "SELECT seq, type, user, item, time, comment FROM feedback "
#define USER_COLUMNS "SELECT seq, id, labels, subscribe, comment FROM user "
#define ITEM_COLUMNS "SELECT seq, id, hidden, time, categories, labels, comment FROM item "

static const char *const sql[READ_COUNT] = {
    [READ_FEEDBACK_SINCE] = FEEDBACK_COLUMNS "WHERE seq > ?1 AND seq <= ?2 ORDER BY seq",
    [READ_USERS_SINCE] = USER_COLUMNS "WHERE seq > ?1 AND seq <= ?2 ORDER BY seq",
    [READ_ITEMS_SINCE] = ITEM_COLUMNS "WHERE seq > ?1 AND seq <= ?2 ORDER BY seq",
    [READ_GONE_SINCE] = "SELECT seq, deed, type, user, item FROM gone WHERE seq > ?1 AND seq <= ?2 ORDER BY seq",
    [READ_USERS] = USER_COLUMNS "WHERE id > ?1 ORDER BY id LIMIT ?2",
    [READ_ITEMS] = ITEM_COLUMNS "WHERE id > ?1 ORDER BY id LIMIT ?2",
    [READ_USER] = USER_COLUMNS "WHERE id = ?1",
    [READ_ITEM] = ITEM_COLUMNS "WHERE id = ?1",
    [READ_FEEDBACK] =
        FEEDBACK_COLUMNS "WHERE seq > ?1 AND seq <= ?2 AND (?3 = 0 OR type = ?3) AND (?4 = 0 OR user = ?4)"
                         " AND (?5 = 0 OR item = ?5) ORDER BY seq LIMIT ?6",
    [READ_FEEDBACK_ONE] = FEEDBACK_COLUMNS "WHERE seq = ?1",
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

/* The statement, prepared when it is used first; NULL after an error. */
static sqlite3_stmt *statement_of(struct sqlite_reader *reader, int which)
{
    if (!reader->statement[which])
        sqlite3_prepare_v3(reader->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT, &reader->statement[which], NULL);
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

static const char *id_of(struct store_rows *rows, const struct sqlite_ids *ids, sqlite3_stmt *statement, int column)
{
    int32_t number = store_sqlite_number(ids, sqlite3_column_int64(statement, column));
    const char *id = number < 0 ? "" : store_sqlite_text(ids, number);
    return store_rows_text(rows, id, strlen(id), "");
}

/* The ids come from memory: the file only has their numbers. */
static void read_feedback(struct store_sqlite *store, struct store_rows *rows, sqlite3_stmt *statement,
                          struct store_change *change)
{
    change->deed = STORE_PUT_FEEDBACK;
    change->feedback.seq = change->seq;
    pthread_mutex_lock(&store->known);
    change->feedback.type = id_of(rows, &store->type, statement, 1);
    change->feedback.user = id_of(rows, &store->user, statement, 2);
    change->feedback.item = id_of(rows, &store->item, statement, 3);
    pthread_mutex_unlock(&store->known);
    change->feedback.time = time_of(statement, 4);
    change->feedback.comment = text_of(rows, statement, 5, "");
}

static void read_user(struct store_sqlite *store, struct store_rows *rows, sqlite3_stmt *statement,
                      struct store_change *change)
{
    (void)store;
    change->deed = STORE_PUT_USER;
    change->user.seq = change->seq;
    change->user.id = text_of(rows, statement, 1, "");
    change->user.labels = text_of(rows, statement, 2, "null");
    change->user.subscribe = text_of(rows, statement, 3, "null");
    change->user.comment = text_of(rows, statement, 4, "");
}

static void read_item(struct store_sqlite *store, struct store_rows *rows, sqlite3_stmt *statement,
                      struct store_change *change)
{
    (void)store;
    change->deed = STORE_PUT_ITEM;
    change->item.seq = change->seq;
    change->item.id = text_of(rows, statement, 1, "");
    change->item.hidden = sqlite3_column_int(statement, 2);
    change->item.time = time_of(statement, 3);
    change->item.categories = text_of(rows, statement, 4, "[]");
    change->item.labels = text_of(rows, statement, 5, "null");
    change->item.comment = text_of(rows, statement, 6, "");
}

static void read_gone(struct store_sqlite *store, struct store_rows *rows, sqlite3_stmt *statement,
                      struct store_change *change)
{
    int all_types = !sqlite3_column_bytes(statement, 2);

    (void)store;
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

typedef void read_row(struct store_sqlite *store, struct store_rows *rows, sqlite3_stmt *statement,
                      struct store_change *change);

static int add_row(struct store_sqlite *store, struct store_rows *rows, sqlite3_stmt *statement, read_row *read)
{
    struct store_change *change = store_rows_add(rows);
    if (!change)
        return 0;
    change->seq = sqlite3_column_int64(statement, 0);
    change->feedback.time = change->item.time = STORE_NO_TIME;
    change->feedback.comment = "";
    read(store, rows, statement, change);
    return 1;
}

/* ---- Fetching ------------------------------------------------------------------------------------------------ */

/* Merges the four tables by seq. All are read in one transaction: statements that are stepped overlap. */
static int fetch_changes(struct store_sqlite *store, struct sqlite_reader *reader, const struct store_ask *ask,
                         struct store_rows *rows, int *end)
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
        if (state[n] != SQLITE_ROW && state[n] != SQLITE_DONE)
            return state[n]; /* before another step takes the place of its message */
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
        if (code || !left || store_rows_full(rows) || !add_row(store, rows, statement[first], read[first]))
            break;
        state[first] = sqlite3_step(statement[first]);
    }
    *end = !left;
    return code;
}

/* Rows of one statement in its order. It is asked for one more than is wanted, to know the end. */
static int fetch_rows(struct store_sqlite *store, const struct store_ask *ask, sqlite3_stmt *statement,
                      read_row *read, struct store_rows *rows, int *end)
{
    int code;

    while ((code = sqlite3_step(statement)) == SQLITE_ROW)
        if (rows->count == (size_t)ask->most || store_rows_full(rows) || !add_row(store, rows, statement, read))
            break;
    *end = code == SQLITE_DONE;
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

static int fetch_sides(struct store_sqlite *store, struct sqlite_reader *reader, const struct store_ask *ask,
                       struct store_rows *rows, int *end)
{
    int which = ask->question == STORE_ASK_USERS   ? READ_USERS
                : ask->question == STORE_ASK_ITEMS ? READ_ITEMS
                : ask->question == STORE_ASK_USER  ? READ_USER
                                                   : READ_ITEM;
    sqlite3_stmt *statement = statement_of(reader, which);

    if (!statement)
        return SQLITE_ERROR;
    sqlite3_bind_text(statement, 1, ask->id, -1, SQLITE_STATIC);
    if (which == READ_USERS || which == READ_ITEMS)
        sqlite3_bind_int(statement, 2, ask->most + 1);
    return fetch_rows(store, ask, statement, which == READ_USERS || which == READ_USER ? read_user : read_item,
                      rows, end);
}

/* By the lists in memory. What was deleted since then is passed over. */
static int fetch_listed(struct store_sqlite *store, struct sqlite_reader *reader, const struct store_ask *ask,
                        const int64_t *seq, size_t count, struct store_rows *rows, int *end)
{
    sqlite3_stmt *statement = statement_of(reader, READ_FEEDBACK_ONE);
    int code = statement ? SQLITE_OK : SQLITE_ERROR;
    size_t n = 0;

    for (; !code && n < count && rows->count < (size_t)ask->most && !store_rows_full(rows); n++) {
        sqlite3_bind_int64(statement, 1, seq[n]);
        code = sqlite3_step(statement);
        if (code == SQLITE_ROW)
            add_row(store, rows, statement, read_feedback);
        if (code == SQLITE_ROW || code == SQLITE_DONE)
            code = SQLITE_OK;
        sqlite3_reset(statement);
    }
    *end = n == count;
    return code;
}

/* Numbers of the ids that are given, -1 for those that are not; 0 when one is unknown, and nothing can be found. */
static int ids_given(struct store_sqlite *store, const struct store_ask *ask, int32_t number[3], int64_t row[3])
{
    const struct sqlite_ids *ids[3] = {&store->type, &store->user, &store->item};
    const char *id[3] = {ask->type, ask->user, ask->item};
    int known = 1;

    pthread_mutex_lock(&store->known);
    for (int n = 0; n < 3; n++) {
        number[n] = id[n] ? store_sqlite_find(ids[n], id[n]) : -1;
        row[n] = number[n] < 0 ? 0 : ids[n]->row[number[n]];
        known = known && (!id[n] || number[n] >= 0);
    }
    pthread_mutex_unlock(&store->known);
    return known;
}

static enum inmo_status fetch_feedback(struct store_sqlite *store, struct sqlite_reader *reader,
                                       const struct store_ask *ask, struct store_rows *rows, int *end,
                                       struct inmo_error *error)
{
    int32_t number[3];
    int64_t row[3], *seq = NULL;
    size_t count = 0;
    int code = SQLITE_OK;
    enum inmo_status status = INMO_OK;

    if (!ids_given(store, ask, number, row)) {
        *end = 1;
    } else if (!store->common.read_only && (ask->user || ask->item)) {
        status = store_sqlite_list(store, number[1], number[2], number[0], ask->after, &seq, &count, error);
        if (!status)
            code = fetch_listed(store, reader, ask, seq, count, rows, end);
    } else {
        sqlite3_stmt *statement = statement_of(reader, READ_FEEDBACK);
        code = statement ? SQLITE_OK : SQLITE_ERROR;
        if (!code) {
            sqlite3_bind_int64(statement, 1, ask->after);
            sqlite3_bind_int64(statement, 2, store->common.read_only ? store->committed.seq : INT64_MAX);
            for (int n = 0; n < 3; n++)
                sqlite3_bind_int64(statement, 3 + n, row[n]);
            sqlite3_bind_int(statement, 6, ask->most + 1);
            code = fetch_rows(store, ask, statement, read_feedback, rows, end);
        }
    }
    if (code)
        status = store_sqlite_fail(store, reader->db, "read", error);
    inmo_free(seq);
    return status;
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
        int code = SQLITE_OK;
        if (ask->question == STORE_ASK_FEEDBACK)
            status = fetch_feedback(store, reader, ask, rows, end, error);
        else if (ask->question == STORE_ASK_CHANGES)
            code = fetch_changes(store, reader, ask, rows, end);
        else
            code = fetch_sides(store, reader, ask, rows, end);
        if (code)
            status = store_sqlite_fail(store, reader->db, "read", error);
        if (!status && rows->failed)
            status = inmo_fail_memory(error, "rows of the store");
        for (size_t n = 0; !status && n < rows->count; n++)
            if (rows->row[n].deed == STORE_PUT_FEEDBACK &&
                (!*rows->row[n].feedback.type || !*rows->row[n].feedback.user || !*rows->row[n].feedback.item))
                status = inmo_fail(error, INMO_FORMAT, "%s is damaged: no user, item or type for feedback %lld",
                                   store->path, (long long)rows->row[n].seq);
        reset(reader);
        give_back(store, reader);
    }
    return status;
}

/* A store opened for reading is as it was when it was opened: later events name ids that are not known here. */
static struct sqlite_totals totals(struct store *common)
{
    struct store_sqlite *store = (struct store_sqlite *)common;
    struct sqlite_totals found;

    pthread_mutex_lock(&store->known);
    found = store->committed;
    pthread_mutex_unlock(&store->known);
    return found;
}

enum inmo_status store_sqlite_last(struct store *common, int64_t *seq, struct inmo_error *error)
{
    (void)error;
    *seq = totals(common).seq;
    return INMO_OK;
}

enum inmo_status store_sqlite_count(struct store *common, struct store_counts *counts, struct inmo_error *error)
{
    const struct store_sqlite *store = (struct store_sqlite *)common;
    struct sqlite_totals found = totals(common);
    struct stat file;

    if (stat(store->path, &file))
        return inmo_fail_errno(error, "find", store->path);
    *counts = (struct store_counts){found.feedback, found.users, found.items,
                                    file.st_size + 4096 * (int64_t)atomic_load(&store->log_pages)};
    return INMO_OK;
}
