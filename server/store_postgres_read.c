/* store_postgres_read.c - pieces of a store in PostgreSQL, by any thread. See store_postgres.h.
 *
 * All questions have rows of nine columns: the deed, the seq, and up to seven texts of what it is about. */
#include "server/store_postgres.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define FEEDBACK_TEXTS "f.seq, t.id, u.id, i.id, f.time::text, f.comment, NULL::text, NULL::text"
#define FEEDBACK_NAMES                                                                                             \
    " f JOIN inmo.types t ON t.num = f.type JOIN inmo.users u ON u.num = f.\"user\" JOIN inmo.items i ON i.num = " \
    "f.item "
#define USER_TEXTS "seq, id, labels, subscribe, comment, NULL::text, NULL::text, NULL::text FROM inmo.users "
#define ITEM_TEXTS "seq, id, hidden::text, time::text, categories, labels, comment, NULL::text FROM inmo.items "
#define SINCE "WHERE seq > $1::bigint AND seq <= $2::bigint ORDER BY seq LIMIT $3::bigint"

/* The numbers are those of enum store_deed, which cannot stand in a text. */
_Static_assert(STORE_PUT_FEEDBACK == 1 && STORE_PUT_ITEM == 3 && STORE_PUT_USER == 5, "deeds in SQL");
#define FEEDBACK_SINCE                                                                                             \
    "(SELECT 1 AS deed, " FEEDBACK_TEXTS " FROM (SELECT * FROM inmo.feedback " SINCE ")" FEEDBACK_NAMES ")"
#define GONE_SINCE                                                                                                 \
    "(SELECT deed, seq, type, \"user\", item, NULL::text, NULL::text, NULL::text, NULL::text FROM "                \
    "inmo.gone " SINCE ")"

static const char feedback_since[] = FEEDBACK_SINCE " UNION ALL " GONE_SINCE " ORDER BY 2 LIMIT $3::bigint";
static const char changes_since[] =
    FEEDBACK_SINCE " UNION ALL " GONE_SINCE " UNION ALL (SELECT 5, " USER_TEXTS SINCE
                   ") UNION ALL (SELECT 3, " ITEM_TEXTS SINCE ") ORDER BY 2 LIMIT $3::bigint";
static const char users_after[] = "SELECT 5, " USER_TEXTS "WHERE " POSTGRES_KEY("id") " >= " POSTGRES_KEY(
    "$1::text") " AND id > $1::text ORDER BY " POSTGRES_KEY("id") ", id LIMIT $2::bigint";
static const char items_after[] = "SELECT 3, " ITEM_TEXTS "WHERE " POSTGRES_KEY("id") " >= " POSTGRES_KEY(
    "$1::text") " AND id > $1::text ORDER BY " POSTGRES_KEY("id") ", id LIMIT $2::bigint";
static const char one_user[] = "SELECT 5, " USER_TEXTS "WHERE " POSTGRES_SAME("id", "$1::text");
static const char one_item[] = "SELECT 3, " ITEM_TEXTS "WHERE " POSTGRES_SAME("id", "$1::text");

/* ---- Readers ------------------------------------------------------------------------------------------------- */

static PGconn *take_reader(struct store_postgres *store)
{
    PGconn *reader;

    pthread_mutex_lock(&store->readers);
    while (!store->free_readers)
        pthread_cond_wait(&store->reader_free, &store->readers);
    reader = store->reader[--store->free_readers];
    store->reader[store->free_readers] = NULL;
    pthread_mutex_unlock(&store->readers);
    return reader;
}

static void give_back(struct store_postgres *store, PGconn *reader)
{
    pthread_mutex_lock(&store->readers);
    store->reader[store->free_readers++] = reader;
    pthread_cond_signal(&store->reader_free);
    pthread_mutex_unlock(&store->readers);
}

/* Runs a question. A connection that was lost while nobody used it is not the caller's trouble: a second try. */
static enum inmo_status question(struct store_postgres *store, const char *sql, int count,
                                 const char *const *parameter, PGresult **result, struct inmo_error *error)
{
    PGconn *reader = take_reader(store);
    enum inmo_status status = INMO_OK;

    for (int tries = 0; tries < 2; tries++) {
        int was_connected = reader != NULL;
        status = store_postgres_connect(store, &reader, NULL, error);
        if (!status)
            status = store_postgres_run(store, reader, sql, count, parameter, result, error);
        if (!status || !was_connected || !reader || PQstatus(reader) == CONNECTION_OK)
            break;
    }
    give_back(store, reader);
    return status;
}

/* ---- Rows ---------------------------------------------------------------------------------------------------- */

static const char *text_at(struct store_rows *rows, const PGresult *result, int row, int column,
                           const char *instead)
{
    return PQgetisnull(result, row, column) ? instead
                                            : store_rows_text(rows, PQgetvalue(result, row, column),
                                                              (size_t)PQgetlength(result, row, column), "");
}

static int64_t time_at(const PGresult *result, int row, int column)
{
    return PQgetisnull(result, row, column) ? STORE_NO_TIME : strtoll(PQgetvalue(result, row, column), NULL, 10);
}

static void read_row(struct store_rows *rows, const PGresult *result, int row, struct store_change *change)
{
    change->deed = (enum store_deed)atoi(PQgetvalue(result, row, 0));
    change->seq = strtoll(PQgetvalue(result, row, 1), NULL, 10);
    change->feedback.time = change->item.time = STORE_NO_TIME;
    change->feedback.comment = "";
    switch (change->deed) {
    case STORE_PUT_FEEDBACK:
    case STORE_DELETE_FEEDBACK:
        change->feedback.seq = change->seq;
        change->feedback.type = PQgetlength(result, row, 2) ? text_at(rows, result, row, 2, "") : NULL;
        change->feedback.user = text_at(rows, result, row, 3, "");
        change->feedback.item = text_at(rows, result, row, 4, "");
        change->feedback.time = time_at(result, row, 5);
        change->feedback.comment = text_at(rows, result, row, 6, "");
        break;
    case STORE_PUT_USER:
        change->user.seq = change->seq;
        change->user.id = text_at(rows, result, row, 2, "");
        change->user.labels = text_at(rows, result, row, 3, "null");
        change->user.subscribe = text_at(rows, result, row, 4, "null");
        change->user.comment = text_at(rows, result, row, 5, "");
        break;
    case STORE_PUT_ITEM:
        change->item.seq = change->seq;
        change->item.id = text_at(rows, result, row, 2, "");
        change->item.hidden = PQgetvalue(result, row, 3)[0] == 't';
        change->item.time = time_at(result, row, 4);
        change->item.categories = text_at(rows, result, row, 5, "[]");
        change->item.labels = text_at(rows, result, row, 6, "null");
        change->item.comment = text_at(rows, result, row, 7, "");
        break;
    case STORE_DELETE_USER: change->user.id = text_at(rows, result, row, 3, ""); break;
    default: change->item.id = text_at(rows, result, row, 4, "");
    }
}

/* ---- Fetching ------------------------------------------------------------------------------------------------ */

/* Feedback by type, user and item, each given or not. */
static void feedback_question(const struct store_ask *ask, char *sql, size_t size, const char *parameter[5])
{
    snprintf(sql, size,
             "SELECT 1, " FEEDBACK_TEXTS " FROM inmo.feedback" FEEDBACK_NAMES "WHERE f.seq > $1::bigint%s%s%s "
             "ORDER BY f.seq LIMIT $2::bigint",
             ask->type ? " AND f.type = (SELECT num FROM inmo.types WHERE " POSTGRES_SAME("id", "$3::text") ")"
                       : " AND $3::text IS NULL",
             ask->user ? " AND f.\"user\" = (SELECT num FROM inmo.users WHERE " POSTGRES_SAME("id", "$4::text") ")"
                       : " AND $4::text IS NULL",
             ask->item ? " AND f.item = (SELECT num FROM inmo.items WHERE " POSTGRES_SAME("id", "$5::text") ")"
                       : " AND $5::text IS NULL");
    parameter[2] = ask->type;
    parameter[3] = ask->user;
    parameter[4] = ask->item;
}

enum inmo_status store_postgres_fetch(struct store *common, const struct store_ask *ask, struct store_rows *rows,
                                      int *end, struct inmo_error *error)
{
    struct store_postgres *store = (struct store_postgres *)common;
    char after[32], upto[32], most[32], built[2048];
    const char *parameter[5] = {ask->id, most}, *sql = NULL;
    PGresult *result = NULL;
    int count = 2, found = 0, n = 0;
    enum inmo_status status;

    snprintf(after, sizeof after, "%lld", (long long)ask->after);
    snprintf(upto, sizeof upto, "%lld", (long long)ask->upto);
    snprintf(most, sizeof most, "%d", ask->most + 1); /* one more than is wanted, to know the end */
    switch (ask->question) {
    case STORE_ASK_CHANGES:
        sql = ask->feedback_only ? feedback_since : changes_since;
        parameter[0] = after;
        parameter[1] = upto;
        parameter[2] = most;
        count = 3;
        break;
    case STORE_ASK_FEEDBACK:
        feedback_question(ask, built, sizeof built, parameter);
        sql = built;
        parameter[0] = after;
        count = 5;
        break;
    case STORE_ASK_USERS: sql = users_after; break;
    case STORE_ASK_ITEMS: sql = items_after; break;
    case STORE_ASK_USER: sql = one_user, count = 1; break;
    case STORE_ASK_ITEM: sql = one_item, count = 1; break;
    }
    status = question(store, sql, count, parameter, &result, error);
    if (!status)
        found = PQntuples(result);
    for (; n < found && n < ask->most && !store_rows_full(rows); n++) {
        struct store_change *change = store_rows_add(rows);
        if (!change)
            break;
        read_row(rows, result, n, change);
    }
    if (!status && rows->failed)
        status = inmo_fail_memory(error, "rows of the store");
    *end = n == found;
    PQclear(result);
    return status;
}

enum inmo_status store_postgres_last(struct store *common, int64_t *seq, struct inmo_error *error)
{
    PGresult *result = NULL;
    enum inmo_status status =
        question((struct store_postgres *)common, "SELECT seq FROM inmo.state", 0, NULL, &result, error);

    if (!status)
        *seq = PQntuples(result) ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : 0;
    PQclear(result);
    return status;
}

enum inmo_status store_postgres_count(struct store *common, struct store_counts *counts, struct inmo_error *error)
{
    PGresult *result = NULL;
    enum inmo_status status =
        question((struct store_postgres *)common,
                 "SELECT feedback, users, items, pg_total_relation_size('inmo.feedback') + "
                 "pg_total_relation_size('inmo.users') + pg_total_relation_size('inmo.items') FROM inmo.state",
                 0, NULL, &result, error);

    if (!status && PQntuples(result))
        *counts = (struct store_counts){
            strtoll(PQgetvalue(result, 0, 0), NULL, 10), strtoll(PQgetvalue(result, 0, 1), NULL, 10),
            strtoll(PQgetvalue(result, 0, 2), NULL, 10), strtoll(PQgetvalue(result, 0, 3), NULL, 10)};
    PQclear(result);
    return status;
}
