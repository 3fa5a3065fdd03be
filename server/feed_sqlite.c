/* feed_sqlite.c - see feed.h. The file is opened for reading; a statement that would write, or that is more than
 * one, is refused before it runs. Values are written as CSV by the rules of RFC 4180. */
#include "server/feed_kind.h"

#include "base/memory.h"

#include <sqlite3.h>
#include <string.h>

struct feed_sqlite {
    struct feed common;
    sqlite3 *database;
    sqlite3_stmt *statement;
    int columns, began;
};

enum { OPERATIONS = 100000, PATIENCE = 10000 /* milliseconds, for somebody who writes */ };

static enum inmo_status fail(struct feed_sqlite *feed, struct inmo_error *error)
{
    int code = feed->database ? sqlite3_errcode(feed->database) & 0xff : SQLITE_NOMEM;
    const char *name = feed->common.name, *why = feed->database ? sqlite3_errmsg(feed->database) : "";

    switch (code) {
    case SQLITE_INTERRUPT: return feed_fail_interrupted(&feed->common, error);
    case SQLITE_NOMEM: return inmo_fail_memory(error, "a query");
    case SQLITE_ERROR:
    case SQLITE_SCHEMA: /* of a syntax error, when the file has just been opened */
    case SQLITE_AUTH:
        if (!feed->began)
            return inmo_fail(error, INMO_USAGE, "%s refuses the query: %s", name, why);
        break;
    case SQLITE_CANTOPEN: return inmo_fail(error, INMO_IO, "cannot open %s: %s", name, why);
    default: break;
    }
    return feed->began ? inmo_fail(error, INMO_IO, "%s: the query ended after %lld rows: %s", name,
                                   (long long)feed->common.rows, why)
                       : inmo_fail(error, INMO_IO, "cannot read %s: %s", name, why);
}

static int ask(void *context)
{
    const struct feed *feed = context;
    return inmo_is_interrupted(feed->hooks);
}

static void add_value(struct inmo_text *text, const char *value, size_t length)
{
    if (length > 0 && !memchr(value, ',', length) && !memchr(value, '"', length) && !memchr(value, '\n', length) &&
        !memchr(value, '\r', length)) {
        inmo_text_add(text, value, length);
        return;
    }
    inmo_text_add(text, "\"", 1);
    while (length > 0) {
        const char *quote = memchr(value, '"', length);
        size_t piece = quote ? (size_t)(quote - value) + 1 : length;
        inmo_text_add(text, value, piece);
        if (quote)
            inmo_text_add(text, "\"", 1);
        value += piece;
        length -= piece;
    }
    inmo_text_add(text, "\"", 1);
}

static void add_header(struct feed_sqlite *feed, struct inmo_text *text)
{
    for (int n = 0; n < feed->columns; n++) {
        const char *name = sqlite3_column_name(feed->statement, n);
        inmo_text_add(text, ",", n > 0);
        add_value(text, name ? name : "", name ? strlen(name) : 0);
    }
    inmo_text_add(text, "\n", 1);
}

static enum inmo_status next_row(struct feed *common, int may_wait, struct inmo_text *text,
                                 struct inmo_error *error)
{
    struct feed_sqlite *feed = (struct feed_sqlite *)common;
    int code;

    (void)may_wait;
    if (!feed->began) {
        feed->began = 1;
        add_header(feed, text);
        return INMO_OK;
    }
    code = feed->statement ? sqlite3_step(feed->statement) : SQLITE_DONE;
    if (code == SQLITE_DONE) {
        sqlite3_finalize(feed->statement);
        feed->statement = NULL;
        return INMO_OK;
    }
    if (code != SQLITE_ROW)
        return fail(feed, error);
    common->rows++;
    for (int n = 0; n < feed->columns; n++) {
        int type = sqlite3_column_type(feed->statement, n);
        const unsigned char *value = sqlite3_column_text(feed->statement, n);
        if (type == SQLITE_BLOB)
            return inmo_fail(error, INMO_INPUT,
                             "%s: row %lld of the query has a BLOB as its %s, expected text or a number",
                             common->name, (long long)common->rows, sqlite3_column_name(feed->statement, n));
        if (!value && type != SQLITE_NULL)
            return inmo_fail_memory(error, "a row of a database");
        inmo_text_add(text, ",", n > 0);
        if (value)
            add_value(text, (const char *)value, (size_t)sqlite3_column_bytes(feed->statement, n));
    }
    inmo_text_add(text, "\n", 1);
    return INMO_OK;
}

static void close_feed(struct feed *common)
{
    struct feed_sqlite *feed = (struct feed_sqlite *)common;
    sqlite3_finalize(feed->statement);
    sqlite3_close(feed->database);
    inmo_free(common->name);
    inmo_free(feed);
}

static enum inmo_status begin(struct feed_sqlite *feed, const char *query, struct inmo_error *error)
{
    const char *rest = "";

    if (sqlite3_prepare_v2(feed->database, query, -1, &feed->statement, &rest) != SQLITE_OK)
        return fail(feed, error);
    if (feed->statement && strspn(rest, "; \t\r\n") != strlen(rest))
        return inmo_fail(error, INMO_USAGE, "the query of %s is more than one statement, expected one: %.100s",
                         feed->common.name, rest);
    if (feed->statement && !sqlite3_stmt_readonly(feed->statement))
        return inmo_fail(error, INMO_USAGE, "the query of %s would write, and may only read", feed->common.name);
    feed->columns = feed->statement ? sqlite3_column_count(feed->statement) : 0;
    if (feed->columns == 0)
        return inmo_fail(error, INMO_USAGE, "the query of %s gives no columns, expected a select",
                         feed->common.name);
    return INMO_OK;
}

enum inmo_status feed_sqlite_open(const char *path, const char *query, const struct inmo_hooks *hooks,
                                  struct feed **result, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct feed_sqlite *feed = inmo_alloc_zero(1, sizeof *feed);

    if (!feed || !(feed->common.name = inmo_copy_string(path))) {
        inmo_free(feed);
        return inmo_fail_memory(error, "a query");
    }
    feed->common.hooks = hooks;
    feed->common.next = next_row;
    feed->common.close = close_feed;
    if (sqlite3_open_v2(path, &feed->database, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        status = fail(feed, error);
    if (!status) {
        sqlite3_busy_timeout(feed->database, PATIENCE);
        sqlite3_progress_handler(feed->database, OPERATIONS, ask, feed);
        status = begin(feed, query, error);
    }
    if (status)
        close_feed(&feed->common);
    else
        *result = &feed->common;
    return status;
}
