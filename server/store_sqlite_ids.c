/* store_sqlite_ids.c - ids of users, items and types in memory, with the rows they have in the file.
 *
 * The writer changes them under store->known, and looks at them without: it alone changes them. */
#include "server/store_sqlite.h"

#include "base/memory.h"

#include <string.h>

int32_t store_sqlite_find(const struct sqlite_ids *ids, const char *id)
{
    int32_t number = inmo_idtable_find(ids->table, id, strlen(id));
    return number >= 0 && ids->present[number] ? number : -1;
}

/* Rows grow with the numbers, and mostly without gaps: row n + 1 is number n. */
int32_t store_sqlite_number(const struct sqlite_ids *ids, int64_t row)
{
    int64_t low = 0, high = inmo_idtable_map(ids->table).count;

    if (row < 1)
        return -1;
    if (row <= high && ids->row[row - 1] == row)
        return (int32_t)(row - 1);
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (ids->row[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < inmo_idtable_map(ids->table).count && ids->row[low] == row ? (int32_t)low : -1;
}

const char *store_sqlite_text(const struct sqlite_ids *ids, int32_t number)
{
    struct inmo_idmap map = inmo_idtable_map(ids->table);
    return inmo_idmap_id(&map, number);
}

/* Interns the id; a new one gets this row. The caller has locked. */
static int32_t intern(struct sqlite_ids *ids, const char *id, int64_t row)
{
    int32_t count = inmo_idtable_map(ids->table).count, number;

    if ((size_t)count == ids->capacity) { /* first, so that no id is without a row */
        size_t capacity = 2 * ids->capacity + 64;
        int64_t *rows = inmo_resize(ids->row, ids->capacity, capacity, sizeof *rows);
        uint8_t *present = inmo_resize(ids->present, ids->capacity, capacity, sizeof *present);
        ids->row = rows ? rows : ids->row;
        ids->present = present ? present : ids->present;
        if (!rows || !present)
            return -1;
        ids->capacity = capacity;
    }
    number = inmo_idtable_intern(ids->table, id, strlen(id));
    if (number == count) {
        ids->row[number] = row ? row : count ? ids->row[count - 1] + 1 : 1;
        ids->present[number] = 0;
    }
    return number;
}

enum inmo_status store_sqlite_need(struct store_sqlite *store, struct sqlite_ids *ids, const char *id,
                                   int32_t *number, struct inmo_error *error)
{
    int32_t found = inmo_idtable_find(ids->table, id, strlen(id));

    if (found < 0) {
        pthread_mutex_lock(&store->known);
        found = intern(ids, id, 0);
        pthread_mutex_unlock(&store->known);
    }
    if (found < 0)
        return inmo_fail_memory(error, "the ids of the store");
    *number = found;
    return INMO_OK;
}

enum inmo_status store_sqlite_set_present(struct store_sqlite *store, struct sqlite_ids *ids, int32_t number,
                                          int present, struct inmo_error *error)
{
    enum inmo_status status = store_sqlite_remember(store, ids, (uint32_t)number, ids->present[number], error);

    if (!status) {
        pthread_mutex_lock(&store->known);
        ids->present[number] = (uint8_t)present;
        pthread_mutex_unlock(&store->known);
    }
    return status;
}

enum inmo_status store_sqlite_remember(struct store_sqlite *store, struct sqlite_ids *ids, uint32_t number,
                                       int64_t before, struct inmo_error *error)
{
    if (store->undo_count == store->undo_capacity) {
        size_t capacity = 2 * store->undo_capacity + 256;
        struct sqlite_undo *undo = inmo_resize(store->undo, store->undo_count, capacity, sizeof *undo);
        if (!undo)
            return inmo_fail_memory(error, "a transaction");
        store->undo = undo;
        store->undo_capacity = capacity;
    }
    store->undo[store->undo_count++] = (struct sqlite_undo){ids, number, before};
    return INMO_OK;
}

void store_sqlite_take_back(struct store_sqlite *store)
{
    pthread_mutex_lock(&store->known);
    for (; store->undo_count > 0; store->undo_count--) {
        const struct sqlite_undo *undo = &store->undo[store->undo_count - 1];
        if (undo->ids)
            undo->ids->present[undo->number] = (uint8_t)undo->before;
        else
            store->index.entry[undo->number].seq = undo->before;
    }
    pthread_mutex_unlock(&store->known);
}

/* ---- Loading ------------------------------------------------------------------------------------------------- */

static enum inmo_status damaged(const struct store_sqlite *store, const char *what, int64_t row,
                                struct inmo_error *error)
{
    return inmo_fail(error, INMO_FORMAT, "%s is damaged: %s %lld", store->path, what, (long long)row);
}

static enum inmo_status load_ids(struct store_sqlite *store, sqlite3 *db, const char *query, struct sqlite_ids *ids,
                                 struct inmo_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum inmo_status status = INMO_OK;
    int code = sqlite3_prepare_v2(db, query, -1, &statement, NULL);

    ids->table = inmo_idtable_new();
    if (!ids->table)
        status = inmo_fail_memory(error, "the ids of the store");
    for (int32_t n = 0; !status && !code && (code = sqlite3_step(statement)) == SQLITE_ROW; n++) {
        int64_t row = sqlite3_column_int64(statement, 0);
        const char *id = (const char *)sqlite3_column_text(statement, 1);
        int32_t number = id && row > 0 ? intern(ids, id, row) : -2;
        code = SQLITE_OK;
        if (number == -1)
            status = inmo_fail_memory(error, "the ids of the store");
        else if (number != n)
            status = damaged(store, "an id that is none or is there twice, row", row, error);
        else
            ids->present[number] = 1;
    }
    if (!status && code != SQLITE_DONE)
        status = store_sqlite_fail(store, db, "read", error);
    sqlite3_finalize(statement);
    return status;
}

static enum inmo_status load_index(struct store_sqlite *store, sqlite3 *db, struct inmo_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum inmo_status status = INMO_OK;
    int code = sqlite3_prepare_v2(db, "SELECT seq, user, item, type FROM feedback", -1, &statement, NULL);

    while (!status && !code && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        int64_t seq = sqlite3_column_int64(statement, 0);
        int32_t user = store_sqlite_number(&store->user, sqlite3_column_int64(statement, 1));
        int32_t item = store_sqlite_number(&store->item, sqlite3_column_int64(statement, 2));
        int32_t type = store_sqlite_number(&store->type, sqlite3_column_int64(statement, 3));
        code = SQLITE_OK;
        if (seq < 1 || seq > store->totals.seq || user < 0 || item < 0 || type < 0)
            status = damaged(store, "no user, item or type for feedback", seq, error);
        else if (store_sqlite_entry(&store->index, user, item, type))
            status = damaged(store, "the same feedback is there twice, the second time as", seq, error);
        else
            status = store_sqlite_set_entry(store, user, item, type, seq, error);
        store->undo_count = 0;
    }
    if (!status && code != SQLITE_DONE)
        status = store_sqlite_fail(store, db, "read", error);
    sqlite3_finalize(statement);
    return status;
}

static enum inmo_status load_totals(struct store_sqlite *store, sqlite3 *db, struct inmo_error *error)
{
    sqlite3_stmt *totals = NULL;
    enum inmo_status status = INMO_OK;

    if (sqlite3_prepare_v2(db, "SELECT seq, feedback, users, items FROM state", -1, &totals, NULL) ||
        sqlite3_step(totals) != SQLITE_ROW)
        status = store_sqlite_fail(store, db, "read", error);
    else
        store->totals = (struct sqlite_totals){sqlite3_column_int64(totals, 0), sqlite3_column_int64(totals, 1),
                                               sqlite3_column_int64(totals, 2), sqlite3_column_int64(totals, 3)};
    sqlite3_finalize(totals);
    store->committed = store->totals;
    return status;
}

/* In one transaction: a store opened for reading may be written to by a server meanwhile. */
enum inmo_status store_sqlite_load(struct store_sqlite *store, sqlite3 *db, int with_index,
                                   struct inmo_error *error)
{
    enum inmo_status status =
        sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) ? store_sqlite_fail(store, db, "read", error) : INMO_OK;

    if (!status)
        status = load_totals(store, db, error);
    if (!status)
        status = load_ids(store, db, "SELECT num, id FROM type ORDER BY num", &store->type, error);
    if (!status)
        status = load_ids(store, db, "SELECT num, id FROM user ORDER BY num", &store->user, error);
    if (!status)
        status = load_ids(store, db, "SELECT num, id FROM item ORDER BY num", &store->item, error);
    if (!status && with_index)
        status = load_index(store, db, error);
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

static void free_ids(struct sqlite_ids *ids)
{
    inmo_free(ids->present);
    inmo_free(ids->row);
    inmo_idtable_free(ids->table);
}

void store_sqlite_known_free(struct store_sqlite *store)
{
    store_sqlite_index_free(&store->index);
    free_ids(&store->item);
    free_ids(&store->user);
    free_ids(&store->type);
    inmo_free(store->undo);
}
