/* store_postgres_schema.c - the tables of a store in PostgreSQL. Kept in step with docs/formats.md.
 *
 * Two servers may start at the same moment on an empty database: the lock of the writers lets one make the tables.
 * */
#include "server/store_postgres.h"

#include <stdlib.h>

/* Ids are unique because all writers hold the lock when they look and insert; see POSTGRES_KEY. Text is compared by
 * its bytes, as in a file of SQLite. */
#define ID "id text COLLATE \"C\" NOT NULL, "
static const char tables[] =
    "CREATE SCHEMA inmo;"
    "CREATE TABLE inmo.state(one integer PRIMARY KEY CHECK(one = 1), version integer NOT NULL, seq bigint NOT NULL,"
    "  feedback bigint NOT NULL, users bigint NOT NULL, items bigint NOT NULL);"
    "CREATE TABLE inmo.types(num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text COLLATE \"C\" NOT NULL);"
    "CREATE INDEX types_id ON inmo.types(" POSTGRES_KEY(
        "id") ");"
              "CREATE TABLE inmo.users(num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, " ID
              "seq bigint NOT NULL,"
              "  labels text, subscribe text, comment text);"
              "CREATE INDEX users_id ON inmo.users(" POSTGRES_KEY(
                  "id") ");"
                        "CREATE INDEX users_seq ON inmo.users(seq);"
                        "CREATE TABLE inmo.items(num bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, " ID
                        "seq bigint NOT NULL,"
                        "  hidden boolean NOT NULL, time bigint, categories text, labels text, comment text);"
                        "CREATE INDEX items_id ON inmo.items(" POSTGRES_KEY(
                            "id") ");"
                                  "CREATE INDEX items_seq ON inmo.items(seq);"
                                  "CREATE TABLE inmo.feedback(seq bigint PRIMARY KEY, \"user\" bigint NOT NULL, "
                                  "item bigint NOT NULL,"
                                  "  type bigint NOT NULL, time bigint, comment text, UNIQUE(\"user\", item, "
                                  "type));"
                                  "CREATE INDEX feedback_item ON inmo.feedback(item, seq);"
                                  "CREATE TABLE inmo.gone(seq bigint PRIMARY KEY, deed integer NOT NULL, type text "
                                  "COLLATE \"C\" NOT NULL,"
                                  "  \"user\" text COLLATE \"C\" NOT NULL, item text COLLATE \"C\" NOT NULL);"
                                  "CREATE INDEX gone_what ON inmo.gone(substr(\"user\", 1, 200), substr(item, 1, "
                                  "200));";

enum inmo_status store_postgres_schema(struct store_postgres *store, PGconn *connection, struct inmo_error *error)
{
    char first[160];
    PGresult *found = NULL;
    int exists = 0;
    enum inmo_status status = store_postgres_run(store, connection,
                                                 "BEGIN; SELECT pg_advisory_xact_lock(" POSTGRES_LOCK_KEY ");"
                                                 "SELECT to_regclass('inmo.state') IS NOT NULL",
                                                 0, NULL, &found, error);

    if (!status)
        exists = PQgetvalue(found, 0, 0)[0] == 't';
    PQclear(found);
    found = NULL;
    if (!status && !exists && store->must_exist)
        status = inmo_fail(error, INMO_FORMAT, "%s has no event store of inmo", store->common.name);
    if (!status && !exists) {
        snprintf(first, sizeof first, "INSERT INTO inmo.state VALUES(1, %d, 0, 0, 0, 0)", POSTGRES_STORE_VERSION);
        status = store_postgres_run(store, connection, tables, 0, NULL, NULL, error);
        if (!status)
            status = store_postgres_run(store, connection, first, 0, NULL, NULL, error);
    }
    if (!status)
        status = store_postgres_run(store, connection, "SELECT version FROM inmo.state", 0, NULL, &found, error);
    if (!status && PQntuples(found) != 1)
        status = inmo_fail(error, INMO_FORMAT, "%s is damaged: its table of totals is empty", store->common.name);
    else if (!status && atoi(PQgetvalue(found, 0, 0)) != POSTGRES_STORE_VERSION)
        status = inmo_fail(error, INMO_FORMAT, "%s is an event store of version %s; this program knows version %d",
                           store->common.name, PQgetvalue(found, 0, 0), POSTGRES_STORE_VERSION);
    PQclear(found);
    if (!status)
        status = store_postgres_run(store, connection, "COMMIT", 0, NULL, NULL, error);
    return status;
}
