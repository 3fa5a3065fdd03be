/* store_sqlite_schema.c - the tables of a store, and whether a file is one. Kept in step with docs/formats.md.
 *
 * Feedback refers to users, items and types by number: an event is six numbers at the end of one table. */
#include "server/store_sqlite.h"

static const char tables[] =
    "CREATE TABLE state(one INTEGER PRIMARY KEY CHECK(one = 1), seq INTEGER NOT NULL, feedback INTEGER NOT NULL,"
    "  users INTEGER NOT NULL, items INTEGER NOT NULL);"
    "INSERT INTO state VALUES(1, 0, 0, 0, 0);"
    "CREATE TABLE type(num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);"
    "CREATE TABLE user(num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL, labels TEXT,"
    "  subscribe TEXT, comment TEXT);"
    "CREATE INDEX user_seq ON user(seq);"
    "CREATE TABLE item(num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL,"
    "  hidden INTEGER NOT NULL, time INTEGER, categories TEXT, labels TEXT, comment TEXT);"
    "CREATE INDEX item_seq ON item(seq);"
    "CREATE TABLE feedback(seq INTEGER PRIMARY KEY, user INTEGER NOT NULL, item INTEGER NOT NULL,"
    "  type INTEGER NOT NULL, time INTEGER, comment TEXT);"
    "CREATE TABLE gone(seq INTEGER PRIMARY KEY, deed INTEGER NOT NULL, type TEXT NOT NULL, user TEXT NOT NULL,"
    "  item TEXT NOT NULL, UNIQUE(user, item, type, deed));";

static enum inmo_status number(struct store_sqlite *store, sqlite3 *db, const char *sql, int64_t *value,
                               struct inmo_error *error)
{
    sqlite3_stmt *statement = NULL;
    enum inmo_status status = INMO_OK;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) || sqlite3_step(statement) != SQLITE_ROW)
        status = store_sqlite_fail(store, db, "read", error);
    else
        *value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return status;
}

/* In WAL mode from the first page on; all tables or none. */
static enum inmo_status make(struct store_sqlite *store, sqlite3 *db, struct inmo_error *error)
{
    char marks[128];
    enum inmo_status status = INMO_OK;

    sqlite3_snprintf(sizeof marks, marks, "PRAGMA application_id=%d; PRAGMA user_version=%d;", SQLITE_STORE_MARK,
                     SQLITE_STORE_VERSION);
    if (sqlite3_exec(db, "PRAGMA journal_mode=WAL; BEGIN IMMEDIATE;", NULL, NULL, NULL) ||
        sqlite3_exec(db, tables, NULL, NULL, NULL) || sqlite3_exec(db, marks, NULL, NULL, NULL) ||
        sqlite3_exec(db, "COMMIT;", NULL, NULL, NULL))
        status = store_sqlite_fail(store, db, "write", error);
    return status;
}

enum inmo_status store_sqlite_schema(struct store_sqlite *store, sqlite3 *db, int may_make,
                                     struct inmo_error *error)
{
    int64_t objects = 0, mark = 0, version = 0, seq;
    enum inmo_status status = number(store, db, "SELECT count(*) FROM sqlite_schema", &objects, error);

    if (!status)
        status = number(store, db, "PRAGMA application_id", &mark, error);
    if (!status)
        status = number(store, db, "PRAGMA user_version", &version, error);
    if (!status && !objects && !mark && !version && may_make) {
        status = make(store, db, error);
    } else if (!status && mark != SQLITE_STORE_MARK) {
        status = inmo_fail(error, INMO_FORMAT, "%s is not an event store of inmo, but another SQLite database",
                           store->path);
    } else if (!status && version != SQLITE_STORE_VERSION) {
        status =
            inmo_fail(error, INMO_FORMAT, "%s is an event store of version %lld; this program knows version %d",
                      store->path, (long long)version, SQLITE_STORE_VERSION);
    } else if (!status && number(store, db, "SELECT seq FROM state", &seq, error)) {
        status = inmo_fail(error, INMO_FORMAT, "%s is damaged: its table of totals cannot be read", store->path);
    }
    return status;
}
