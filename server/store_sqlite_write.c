/* store_sqlite_write.c - changes into the tables: one transaction, all or nothing. See store_sqlite.h.
 *
 * Ids and keys are looked up in memory (store_sqlite_ids.c, store_sqlite_index.c). What a transaction changes there
 * and in the totals is taken back when it fails. Cost of an event: one row at the end of a table. */
#include "server/store_sqlite.h"

static const char *const sql[WRITE_COUNT] = {
    [WRITE_BEGIN] = "BEGIN IMMEDIATE",
    [WRITE_COMMIT] = "COMMIT",
    [WRITE_ROLLBACK] = "ROLLBACK",
    [WRITE_STATE] = "UPDATE state SET seq = ?1, feedback = ?2, users = ?3, items = ?4",
    [WRITE_FEEDBACK] = "INSERT INTO feedback(seq, user, item, type, time, comment) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
    [WRITE_TYPE] = "INSERT INTO type(num, id) VALUES(?1, ?2)",
    [WRITE_USER] = "INSERT OR REPLACE INTO user(num, id, seq, labels, subscribe, comment) "
                   "SELECT ?1, ?2, ?3, ?4, ?5, ?6 "
                   "WHERE ?7 = 0 OR ?7 = (SELECT seq FROM user WHERE num = ?1)",
    [WRITE_ITEM] = "INSERT OR REPLACE INTO item(num, id, seq, hidden, time, categories, labels, comment) "
                   "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 "
                   "WHERE ?9 = 0 OR ?9 = (SELECT seq FROM item WHERE num = ?1)",
    [WRITE_GONE] = "INSERT OR REPLACE INTO gone(seq, deed, type, user, item) VALUES(?1, ?2, ?3, ?4, ?5)",
    [WRITE_DELETE_FEEDBACK] = "DELETE FROM feedback WHERE seq = ?1",
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

/* Texts stay bound afterwards, but are not looked at before they are bound again. */
static enum inmo_status run(struct store_sqlite *store, int which, struct inmo_error *error)
{
    sqlite3_stmt *statement = store->statement[which];
    enum inmo_status status = INMO_OK;

    if (sqlite3_step(statement) != SQLITE_DONE)
        status = store_sqlite_fail(store, store->db, "write to", error);
    sqlite3_reset(statement);
    return status;
}

static enum inmo_status run_number(struct store_sqlite *store, int which, int64_t number, struct inmo_error *error)
{
    sqlite3_bind_int64(store->statement[which], 1, number);
    return run(store, which, error);
}

/* ---- Changes ------------------------------------------------------------------------------------------------- */

/* The row of a user or an item is bound, but for its number and seq: writes it, unless it should replace one that
 * is no longer there. *written: its seq, or 0. */
static enum inmo_status put_row(struct store_sqlite *store, int which, struct sqlite_ids *ids, int32_t number,
                                int64_t *total, int64_t *written, struct inmo_error *error)
{
    enum inmo_status status;

    sqlite3_bind_int64(store->statement[which], 1, ids->row[number]);
    sqlite3_bind_int64(store->statement[which], 3, store->totals.seq + 1);
    status = run(store, which, error);
    *written = 0;
    if (!status && sqlite3_changes(store->db) > 0) {
        *written = ++store->totals.seq;
        *total += !ids->present[number];
        if (!ids->present[number])
            status = store_sqlite_set_present(store, ids, number, 1, error);
    }
    return status;
}

static enum inmo_status put_user(struct store_sqlite *store, const struct store_user *user, int32_t number,
                                 int64_t *written, struct inmo_error *error)
{
    sqlite3_stmt *statement = store->statement[WRITE_USER];

    sqlite3_bind_text(statement, 2, user->id, -1, SQLITE_STATIC);
    bind_text(statement, 4, user->labels);
    bind_text(statement, 5, user->subscribe);
    bind_text(statement, 6, user->comment);
    sqlite3_bind_int64(statement, 7, user->seq);
    return put_row(store, WRITE_USER, &store->user, number, &store->totals.users, written, error);
}

static enum inmo_status put_item(struct store_sqlite *store, const struct store_item *item, int32_t number,
                                 int64_t *written, struct inmo_error *error)
{
    sqlite3_stmt *statement = store->statement[WRITE_ITEM];

    sqlite3_bind_text(statement, 2, item->id, -1, SQLITE_STATIC);
    sqlite3_bind_int(statement, 4, item->hidden != 0);
    bind_time(statement, 5, item->time);
    bind_text(statement, 6, item->categories);
    bind_text(statement, 7, item->labels);
    bind_text(statement, 8, item->comment);
    sqlite3_bind_int64(statement, 9, item->seq);
    return put_row(store, WRITE_ITEM, &store->item, number, &store->totals.items, written, error);
}

static enum inmo_status need_type(struct store_sqlite *store, const char *id, int32_t *number,
                                  struct inmo_error *error)
{
    enum inmo_status status = store_sqlite_need(store, &store->type, id, number, error);

    if (!status && !store->type.present[*number]) {
        sqlite3_bind_int64(store->statement[WRITE_TYPE], 1, store->type.row[*number]);
        sqlite3_bind_text(store->statement[WRITE_TYPE], 2, id, -1, SQLITE_STATIC);
        status = run(store, WRITE_TYPE, error);
        if (!status)
            status = store_sqlite_set_present(store, &store->type, *number, 1, error);
    }
    return status;
}

static enum inmo_status insert_feedback(struct store_sqlite *store, const struct store_feedback *feedback,
                                        int32_t user, int32_t item, int32_t type, struct inmo_error *error)
{
    sqlite3_stmt *statement = store->statement[WRITE_FEEDBACK];
    int64_t seq = ++store->totals.seq;
    enum inmo_status status;

    sqlite3_bind_int64(statement, 1, seq);
    sqlite3_bind_int64(statement, 2, store->user.row[user]);
    sqlite3_bind_int64(statement, 3, store->item.row[item]);
    sqlite3_bind_int64(statement, 4, store->type.row[type]);
    bind_time(statement, 5, feedback->time);
    bind_text(statement, 6, feedback->comment);
    status = run(store, WRITE_FEEDBACK, error);
    if (!status)
        status = store_sqlite_set_entry(store, user, item, type, seq, error);
    return status;
}

static enum inmo_status put_feedback(struct store_sqlite *store, struct store_change *change,
                                     struct inmo_error *error)
{
    const struct store_feedback *feedback = &change->feedback;
    int32_t user = 0, item = 0, type = 0;
    int64_t before = 0, made;
    enum inmo_status status = need_type(store, feedback->type, &type, error);

    if (!status)
        status = store_sqlite_need(store, &store->user, feedback->user, &user, error);
    if (!status && !store->user.present[user])
        status = put_user(store, &(struct store_user){.id = feedback->user}, user, &made, error);
    if (!status)
        status = store_sqlite_need(store, &store->item, feedback->item, &item, error);
    if (!status && !store->item.present[item])
        status =
            put_item(store, &(struct store_item){.id = feedback->item, .time = STORE_NO_TIME}, item, &made, error);
    if (!status)
        before = store_sqlite_entry(&store->index, user, item, type);
    if (status || (before && change->deed == STORE_ADD_FEEDBACK))
        return status;
    if (before) /* the row moves to the end */
        status = run_number(store, WRITE_DELETE_FEEDBACK, before, error);
    if (!status)
        status = insert_feedback(store, feedback, user, item, type, error);
    store->totals.feedback += before ? 0 : 1;
    change->affected = 1;
    change->seq = store->totals.seq;
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

static enum inmo_status delete_entry(struct store_sqlite *store, struct store_change *change, int32_t user,
                                     int32_t item, int32_t type, struct inmo_error *error)
{
    int64_t seq = store_sqlite_entry(&store->index, user, item, type);
    enum inmo_status status = seq ? run_number(store, WRITE_DELETE_FEEDBACK, seq, error) : INMO_OK;

    if (!status && seq) {
        change->affected++;
        store->totals.feedback--;
        status = store_sqlite_set_entry(store, user, item, type, 0, error);
    }
    return status;
}

static enum inmo_status delete_feedback(struct store_sqlite *store, struct store_change *change,
                                        struct inmo_error *error)
{
    const struct store_feedback *feedback = &change->feedback;
    int32_t user = store_sqlite_find(&store->user, feedback->user);
    int32_t item = store_sqlite_find(&store->item, feedback->item);
    int32_t types = inmo_idtable_map(store->type.table).count;
    int32_t only = feedback->type ? store_sqlite_find(&store->type, feedback->type) : -1;
    enum inmo_status status = INMO_OK;

    for (int32_t type = 0; !status && user >= 0 && item >= 0 && type < types; type++)
        if (!feedback->type || type == only)
            status = delete_entry(store, change, user, item, type, error);
    if (!status)
        status = bury_later(store, change, feedback->type, feedback->user, feedback->item, error);
    return status;
}

/* A user or an item with all feedback. affected counts both. */
static enum inmo_status delete_side(struct store_sqlite *store, struct store_change *change, struct sqlite_ids *ids,
                                    const char *id, struct inmo_error *error)
{
    int of_user = ids == &store->user;
    int32_t number = store_sqlite_find(ids, id);
    uint32_t n = 0;
    enum inmo_status status = INMO_OK;

    if (number >= 0) {
        if (of_user && (size_t)number < store->index.user_capacity)
            n = store->index.of_user[number];
        else if (!of_user && (size_t)number < store->index.item_capacity)
            n = store->index.of_item[number];
        while (!status && n) {
            struct sqlite_entry entry = store->index.entry[n - 1];
            status = delete_entry(store, change, entry.user, entry.item, entry.type, error);
            n = of_user ? entry.before_of_user : entry.before_of_item;
        }
        if (!status)
            status = run_number(store, of_user ? WRITE_DELETE_USER : WRITE_DELETE_ITEM, ids->row[number], error);
        if (!status)
            status = store_sqlite_set_present(store, ids, number, 0, error);
        *(of_user ? &store->totals.users : &store->totals.items) -= 1;
        change->affected++;
    }
    if (!status)
        status = bury_later(store, change, NULL, of_user ? id : NULL, of_user ? NULL : id, error);
    return status;
}

static enum inmo_status apply(struct store_sqlite *store, struct store_change *change, struct inmo_error *error)
{
    int32_t number;
    enum inmo_status status = INMO_OK;

    change->seq = 0;
    change->affected = 0;
    switch (change->deed) {
    case STORE_ADD_FEEDBACK:
    case STORE_PUT_FEEDBACK: status = put_feedback(store, change, error); break;
    case STORE_DELETE_FEEDBACK: status = delete_feedback(store, change, error); break;
    case STORE_PUT_ITEM:
        status = store_sqlite_need(store, &store->item, change->item.id, &number, error);
        if (!status)
            status = put_item(store, &change->item, number, &change->seq, error);
        change->affected = change->seq > 0;
        break;
    case STORE_PUT_USER:
        status = store_sqlite_need(store, &store->user, change->user.id, &number, error);
        if (!status)
            status = put_user(store, &change->user, number, &change->seq, error);
        change->affected = change->seq > 0;
        break;
    case STORE_DELETE_ITEM: status = delete_side(store, change, &store->item, change->item.id, error); break;
    case STORE_DELETE_USER: status = delete_side(store, change, &store->user, change->user.id, error); break;
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
        store_sqlite_take_back(store);
    } else {
        pthread_mutex_lock(&store->known);
        store->committed = store->totals;
        pthread_mutex_unlock(&store->known);
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
    status = run_number(store, WRITE_BURY, seq, error);
    pthread_mutex_unlock(&store->writing);
    return status;
}

/* ---- Opening and closing ------------------------------------------------------------------------------------- */

enum inmo_status store_sqlite_writer(struct store_sqlite *store, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;

    if (sqlite3_exec(store->db, "PRAGMA cache_size=-32768; PRAGMA journal_size_limit=67108864;", NULL, NULL, NULL))
        status = store_sqlite_fail(store, store->db, "open", error);
    for (int n = 0; !status && n < WRITE_COUNT; n++)
        if (sqlite3_prepare_v3(store->db, sql[n], -1, SQLITE_PREPARE_PERSISTENT, &store->statement[n], NULL))
            status = store_sqlite_fail(store, store->db, "read", error);
    return status;
}

void store_sqlite_writer_free(struct store_sqlite *store)
{
    for (int n = 0; n < WRITE_COUNT; n++)
        sqlite3_finalize(store->statement[n]);
    sqlite3_close_v2(store->db);
}
