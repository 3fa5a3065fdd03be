/* store_sqlite_write.c - changes into the tables: one transaction, all or nothing. See store_sqlite.h.
 *
 * Numbers of users, items and types are known without asking the file. What a transaction changes in them and in the
 * totals is taken back when it fails. Cost of an event: one row at the end of a table, one entry in each of two
 * indices. */
#include "server/store_sqlite.h"

#include "base/memory.h"

#include <string.h>

static const char *const sql[WRITE_COUNT] = {
    [WRITE_BEGIN] = "BEGIN IMMEDIATE",
    [WRITE_COMMIT] = "COMMIT",
    [WRITE_ROLLBACK] = "ROLLBACK",
    [WRITE_STATE] = "UPDATE state SET seq = ?1, feedback = ?2, users = ?3, items = ?4",
    [WRITE_ADD] = "INSERT INTO feedback(seq, user, item, type, time, comment) VALUES(?1, ?2, ?3, ?4, ?5, ?6) "
                  "ON CONFLICT(user, item, type) DO NOTHING",
    [WRITE_TYPE] = "INSERT INTO type(num, id) VALUES(?1, ?2)",
    [WRITE_USER] = "INSERT OR REPLACE INTO user(num, id, seq, labels, subscribe, comment) "
                   "VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
    [WRITE_ITEM] = "INSERT OR REPLACE INTO item(num, id, seq, hidden, time, categories, labels, comment) "
                   "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [WRITE_GONE] = "INSERT OR REPLACE INTO gone(seq, deed, type, user, item) VALUES(?1, ?2, ?3, ?4, ?5)",
    [WRITE_DELETE_ONE] = "DELETE FROM feedback WHERE user = ?1 AND item = ?2 AND type = ?3",
    [WRITE_DELETE_PAIR] = "DELETE FROM feedback WHERE user = ?1 AND item = ?2",
    [WRITE_DELETE_OF_USER] = "DELETE FROM feedback WHERE user = ?1",
    [WRITE_DELETE_OF_ITEM] = "DELETE FROM feedback WHERE item = ?1",
    [WRITE_DELETE_USER] = "DELETE FROM user WHERE num = ?1",
    [WRITE_DELETE_ITEM] = "DELETE FROM item WHERE num = ?1",
    [WRITE_BURY] = "DELETE FROM gone WHERE seq <= ?1",
};

/* ---- Statements ---------------------------------------------------------------------------------------------- */

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    if (text && *text)
        sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_null(statement, at);
}

static void bind_time(sqlite3_stmt *statement, int at, int64_t time)
{
    if (time == STORE_NO_TIME)
        sqlite3_bind_null(statement, at);
    else
        sqlite3_bind_int64(statement, at, time);
}

/* Runs a statement with up to three numbers bound first. Its texts stay bound until they are bound again, but are
 * not looked at. */
static enum inmo_status run(struct store_sqlite *store, int which, struct inmo_error *error)
{
    sqlite3_stmt *statement = store->statement[which];
    enum inmo_status status = INMO_OK;

    if (sqlite3_step(statement) != SQLITE_DONE)
        status = store_sqlite_fail(store, store->db, "write to", error);
    sqlite3_reset(statement);
    return status;
}

static enum inmo_status run_numbers(struct store_sqlite *store, int which, int64_t a, int64_t b, int64_t c,
                                    struct inmo_error *error)
{
    sqlite3_stmt *statement = store->statement[which];
    int count = sqlite3_bind_parameter_count(statement);

    sqlite3_bind_int64(statement, 1, a);
    if (count > 1)
        sqlite3_bind_int64(statement, 2, b);
    if (count > 2)
        sqlite3_bind_int64(statement, 3, c);
    return run(store, which, error);
}

/* ---- Ids ----------------------------------------------------------------------------------------------------- */

/* Sets the row of an id and remembers what it was. */
static enum inmo_status set_row(struct store_sqlite *store, struct sqlite_ids *ids, int32_t number, int64_t row,
                                struct inmo_error *error)
{
    if ((size_t)number >= ids->capacity) {
        size_t capacity = 2 * (size_t)number + 64;
        int64_t *rows = inmo_resize(ids->row, ids->capacity, capacity, sizeof *rows);
        if (!rows)
            return inmo_fail_memory(error, "the ids of the store");
        memset(rows + ids->capacity, 0, (capacity - ids->capacity) * sizeof *rows);
        ids->row = rows;
        ids->capacity = capacity;
    }
    if (store->undo_count == store->undo_capacity) {
        size_t capacity = 2 * store->undo_capacity + 256;
        struct sqlite_undo *undo = inmo_resize(store->undo, store->undo_count, capacity, sizeof *undo);
        if (!undo)
            return inmo_fail_memory(error, "the ids of the store");
        store->undo = undo;
        store->undo_capacity = capacity;
    }
    store->undo[store->undo_count++] = (struct sqlite_undo){ids, number, ids->row[number]};
    ids->row[number] = row;
    if (row > ids->largest)
        ids->largest = row;
    return INMO_OK;
}

/* Row of the id, 0 if there is none. */
static int64_t find_row(const struct sqlite_ids *ids, const char *id)
{
    int32_t number = inmo_idtable_find(ids->table, id, strlen(id));
    return number < 0 || (size_t)number >= ids->capacity ? 0 : ids->row[number];
}

/* The same; an id that has no row gets the next one, and *is_new is set. */
static enum inmo_status need_row(struct store_sqlite *store, struct sqlite_ids *ids, const char *id, int64_t *row,
                                 int *is_new, struct inmo_error *error)
{
    int32_t number = inmo_idtable_intern(ids->table, id, strlen(id));
    enum inmo_status status = INMO_OK;

    *is_new = 0;
    if (number < 0) {
        status = inmo_fail_memory(error, "the ids of the store");
    } else if ((size_t)number < ids->capacity && ids->row[number]) {
        *row = ids->row[number];
    } else {
        *is_new = 1;
        *row = ids->largest + 1;
        status = set_row(store, ids, number, *row, error);
    }
    return status;
}

static enum inmo_status load_ids(struct store_sqlite *store, const char *query, struct sqlite_ids *ids,
                                 struct inmo_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum inmo_status status = INMO_OK;
    int code = sqlite3_prepare_v2(store->db, query, -1, &statement, NULL);

    ids->table = inmo_idtable_new();
    if (!ids->table)
        status = inmo_fail_memory(error, "the ids of the store");
    while (!status && !code && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *id = (const char *)sqlite3_column_text(statement, 1);
        int32_t number = id ? inmo_idtable_intern(ids->table, id, strlen(id)) : -1;
        code = SQLITE_OK;
        status = number < 0 ? inmo_fail_memory(error, "the ids of the store")
                            : set_row(store, ids, number, sqlite3_column_int64(statement, 0), error);
        store->undo_count = 0;
    }
    if (!status && code != SQLITE_DONE)
        status = store_sqlite_fail(store, store->db, "read", error);
    sqlite3_finalize(statement);
    return status;
}

/* ---- Changes ------------------------------------------------------------------------------------------------- */

static enum inmo_status put_user(struct store_sqlite *store, const struct store_user *user, int64_t row, int is_new,
                                 struct inmo_error *error)
{
    sqlite3_stmt *statement = store->statement[WRITE_USER];

    sqlite3_bind_int64(statement, 1, row);
    sqlite3_bind_text(statement, 2, user->id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 3, ++store->totals.seq);
    bind_text(statement, 4, user->labels);
    bind_text(statement, 5, user->subscribe);
    bind_text(statement, 6, user->comment);
    store->totals.users += is_new;
    return run(store, WRITE_USER, error);
}

static enum inmo_status put_item(struct store_sqlite *store, const struct store_item *item, int64_t row, int is_new,
                                 struct inmo_error *error)
{
    sqlite3_stmt *statement = store->statement[WRITE_ITEM];

    sqlite3_bind_int64(statement, 1, row);
    sqlite3_bind_text(statement, 2, item->id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 3, ++store->totals.seq);
    sqlite3_bind_int(statement, 4, item->hidden != 0);
    bind_time(statement, 5, item->time);
    bind_text(statement, 6, item->categories);
    bind_text(statement, 7, item->labels);
    bind_text(statement, 8, item->comment);
    store->totals.items += is_new;
    return run(store, WRITE_ITEM, error);
}

static enum inmo_status put_feedback(struct store_sqlite *store, struct store_change *change,
                                     struct inmo_error *error)
{
    const struct store_feedback *feedback = &change->feedback;
    sqlite3_stmt *statement = store->statement[WRITE_ADD];
    int is_new;
    int64_t user = 0, item = 0, type = 0, before = 0;
    enum inmo_status status = need_row(store, &store->type, feedback->type, &type, &is_new, error);

    if (!status && is_new) {
        sqlite3_bind_int64(store->statement[WRITE_TYPE], 1, type);
        sqlite3_bind_text(store->statement[WRITE_TYPE], 2, feedback->type, -1, SQLITE_STATIC);
        status = run(store, WRITE_TYPE, error);
    }
    if (!status)
        status = need_row(store, &store->user, feedback->user, &user, &is_new, error);
    if (!status && is_new)
        status = put_user(store, &(struct store_user){.id = feedback->user}, user, 1, error);
    if (!status)
        status = need_row(store, &store->item, feedback->item, &item, &is_new, error);
    if (!status && is_new)
        status = put_item(store, &(struct store_item){.id = feedback->item, .time = STORE_NO_TIME}, item, 1, error);
    if (!status && change->deed == STORE_PUT_FEEDBACK) { /* the row moves to the end */
        status = run_numbers(store, WRITE_DELETE_ONE, user, item, type, error);
        before = sqlite3_changes(store->db);
    }
    if (!status) {
        sqlite3_bind_int64(statement, 1, store->totals.seq + 1);
        sqlite3_bind_int64(statement, 2, user);
        sqlite3_bind_int64(statement, 3, item);
        sqlite3_bind_int64(statement, 4, type);
        bind_time(statement, 5, feedback->time);
        bind_text(statement, 6, feedback->comment);
        status = run(store, WRITE_ADD, error);
    }
    if (!status && sqlite3_changes(store->db)) {
        change->affected = 1;
        change->seq = ++store->totals.seq;
        store->totals.feedback += 1 - before;
    }
    return status;
}

/* The tombstone of a deletion, also when nothing was there: a model may know what the store does not. */
static enum inmo_status bury_later(struct store_sqlite *store, struct store_change *change, const char *type,
                                   const char *user, const char *item, struct inmo_error *error)
{
    sqlite3_stmt *statement = store->statement[WRITE_GONE];

    change->seq = ++store->totals.seq;
    sqlite3_bind_int64(statement, 1, change->seq);
    sqlite3_bind_int(statement, 2, (int)change->deed);
    sqlite3_bind_text(statement, 3, type ? type : "", -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 4, user ? user : "", -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 5, item ? item : "", -1, SQLITE_STATIC);
    return run(store, WRITE_GONE, error);
}

static enum inmo_status delete_feedback(struct store_sqlite *store, struct store_change *change,
                                        struct inmo_error *error)
{
    const struct store_feedback *feedback = &change->feedback;
    int64_t user = find_row(&store->user, feedback->user), item = find_row(&store->item, feedback->item);
    int64_t type = feedback->type ? find_row(&store->type, feedback->type) : 0;
    enum inmo_status status = INMO_OK;

    if (user && item && (type || !feedback->type)) {
        status = run_numbers(store, feedback->type ? WRITE_DELETE_ONE : WRITE_DELETE_PAIR, user, item, type, error);
        change->affected = status ? 0 : sqlite3_changes(store->db);
        store->totals.feedback -= change->affected;
    }
    if (!status)
        status = bury_later(store, change, feedback->type, feedback->user, feedback->item, error);
    return status;
}

/* A user or an item with all feedback. affected counts both. */
static enum inmo_status delete_side(struct store_sqlite *store, struct store_change *change, struct sqlite_ids *ids,
                                    const char *id, int feedback_of, int row_of, int64_t *total,
                                    struct inmo_error *error)
{
    int64_t row = find_row(ids, id);
    int of_user = row_of == WRITE_DELETE_USER;
    enum inmo_status status = INMO_OK;

    if (row) {
        status = run_numbers(store, feedback_of, row, 0, 0, error);
        if (!status) {
            change->affected = sqlite3_changes(store->db);
            store->totals.feedback -= change->affected;
            status = run_numbers(store, row_of, row, 0, 0, error);
        }
        if (!status) {
            change->affected++;
            *total -= 1;
            status = set_row(store, ids, inmo_idtable_find(ids->table, id, strlen(id)), 0, error);
        }
    }
    if (!status)
        status = bury_later(store, change, NULL, of_user ? id : NULL, of_user ? NULL : id, error);
    return status;
}

static enum inmo_status apply(struct store_sqlite *store, struct store_change *change, struct inmo_error *error)
{
    int64_t row;
    int is_new;
    enum inmo_status status = INMO_OK;

    change->seq = 0;
    change->affected = 0;
    switch (change->deed) {
    case STORE_ADD_FEEDBACK:
    case STORE_PUT_FEEDBACK: status = put_feedback(store, change, error); break;
    case STORE_DELETE_FEEDBACK: status = delete_feedback(store, change, error); break;
    case STORE_PUT_ITEM:
        status = need_row(store, &store->item, change->item.id, &row, &is_new, error);
        if (!status)
            status = put_item(store, &change->item, row, is_new, error);
        change->affected = 1;
        change->seq = store->totals.seq;
        break;
    case STORE_PUT_USER:
        status = need_row(store, &store->user, change->user.id, &row, &is_new, error);
        if (!status)
            status = put_user(store, &change->user, row, is_new, error);
        change->affected = 1;
        change->seq = store->totals.seq;
        break;
    case STORE_DELETE_ITEM:
        status = delete_side(store, change, &store->item, change->item.id, WRITE_DELETE_OF_ITEM, WRITE_DELETE_ITEM,
                             &store->totals.items, error);
        break;
    case STORE_DELETE_USER:
        status = delete_side(store, change, &store->user, change->user.id, WRITE_DELETE_OF_USER, WRITE_DELETE_USER,
                             &store->totals.users, error);
        break;
    }
    return status;
}

/* ---- Transactions -------------------------------------------------------------------------------------------- */

static enum inmo_status write_totals(struct store_sqlite *store, struct inmo_error *error)
{
    sqlite3_stmt *statement = store->statement[WRITE_STATE];

    sqlite3_bind_int64(statement, 1, store->totals.seq);
    sqlite3_bind_int64(statement, 2, store->totals.feedback);
    sqlite3_bind_int64(statement, 3, store->totals.users);
    sqlite3_bind_int64(statement, 4, store->totals.items);
    return run(store, WRITE_STATE, error);
}

enum inmo_status store_sqlite_write(struct store *common, struct store_change *changes, size_t count,
                                    struct inmo_error *error)
{
    struct store_sqlite *store = (struct store_sqlite *)common;
    struct sqlite_totals before;
    enum inmo_status status;

    pthread_mutex_lock(&store->writing);
    before = store->totals;
    store->undo_count = 0;
    store_sqlite_bound_log(store);
    status = run(store, WRITE_BEGIN, error);
    for (size_t n = 0; !status && n < count; n++)
        status = apply(store, &changes[n], error);
    if (!status)
        status = write_totals(store, error);
    if (!status)
        status = run(store, WRITE_COMMIT, error);
    if (status) {
        if (!sqlite3_get_autocommit(store->db))
            (void)run(store, WRITE_ROLLBACK, NULL);
        store->totals = before;
        for (; store->undo_count > 0; store->undo_count--) {
            struct sqlite_undo *undo = &store->undo[store->undo_count - 1];
            undo->ids->row[undo->number] = undo->row;
        }
    } else {
        atomic_store(&common->trouble, STORE_FINE);
    }
    pthread_mutex_unlock(&store->writing);
    return status;
}

enum inmo_status store_sqlite_bury(struct store *common, int64_t seq, struct inmo_error *error)
{
    struct store_sqlite *store = (struct store_sqlite *)common;
    enum inmo_status status;

    pthread_mutex_lock(&store->writing);
    status = run_numbers(store, WRITE_BURY, seq, 0, 0, error);
    pthread_mutex_unlock(&store->writing);
    return status;
}

/* ---- Opening and closing ------------------------------------------------------------------------------------- */

enum inmo_status store_sqlite_writer(struct store_sqlite *store, struct inmo_error *error)
{
    sqlite3_stmt *totals = NULL;
    enum inmo_status status = load_ids(store, "SELECT num, id FROM type", &store->type, error);

    if (!status)
        status = load_ids(store, "SELECT num, id FROM user", &store->user, error);
    if (!status)
        status = load_ids(store, "SELECT num, id FROM item", &store->item, error);
    if (!status &&
        (sqlite3_prepare_v2(store->db, "SELECT seq, feedback, users, items FROM state", -1, &totals, NULL) ||
         sqlite3_step(totals) != SQLITE_ROW))
        status = store_sqlite_fail(store, store->db, "read", error);
    if (!status)
        store->totals = (struct sqlite_totals){sqlite3_column_int64(totals, 0), sqlite3_column_int64(totals, 1),
                                               sqlite3_column_int64(totals, 2), sqlite3_column_int64(totals, 3)};
    sqlite3_finalize(totals);
    if (!status &&
        sqlite3_exec(store->db, "PRAGMA cache_size=-32768; PRAGMA journal_size_limit=67108864;", NULL, NULL, NULL))
        status = store_sqlite_fail(store, store->db, "open", error);
    for (int n = 0; !status && n < WRITE_COUNT; n++)
        if (sqlite3_prepare_v3(store->db, sql[n], -1, SQLITE_PREPARE_PERSISTENT, &store->statement[n], NULL))
            status = store_sqlite_fail(store, store->db, "read", error);
    return status;
}

static void free_ids(struct sqlite_ids *ids)
{
    inmo_free(ids->row);
    inmo_idtable_free(ids->table);
}

void store_sqlite_writer_free(struct store_sqlite *store)
{
    for (int n = 0; n < WRITE_COUNT; n++)
        sqlite3_finalize(store->statement[n]);
    sqlite3_close_v2(store->db);
    inmo_free(store->undo);
    free_ids(&store->item);
    free_ids(&store->user);
    free_ids(&store->type);
}
