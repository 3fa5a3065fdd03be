/* feed_postgres.c - see feed.h. COPY sends rows as fast as they can be read, in CSV with a header, so they need no
 * work here. Nothing waits in libpq: every wait is a poll of a fifth of a second, after which the hooks are
 * asked. */
#include "server/feed_kind.h"
#include "server/postgres.h"

#include "base/memory.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

struct feed_postgres {
    struct feed common;
    PGconn *connection;
    int copying;
};

/* ---- Errors -------------------------------------------------------------------------------------------------- */

static enum inmo_status fail(struct feed_postgres *feed, const PGresult *result, struct inmo_error *error)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL, *name = feed->common.name;
    const char *hint = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_HINT) : NULL;
    char line[400] = "not enough memory";

    if (feed->connection)
        postgres_first_line(result && *PQresultErrorMessage(result) ? PQresultErrorMessage(result)
                                                                    : PQerrorMessage(feed->connection),
                            line, sizeof line);
    if (state && !strcmp(state, "25006"))
        return inmo_fail(error, INMO_USAGE, "the query of %s would write, and may only read: %s", name, line);
    if (state && (!strncmp(state, "42", 2) || !strncmp(state, "0A", 2) || !strncmp(state, "26", 2) ||
                  !strncmp(state, "3F", 2)))
        return inmo_fail(error, INMO_USAGE, "%s refuses the query: %s%s%.200s", name, line, hint ? "; " : "",
                         hint ? hint : "");
    if (feed->copying)
        return inmo_fail(error, INMO_IO, "%s: the query ended after %lld rows: %s", name,
                         (long long)feed->common.rows, line);
    return inmo_fail(error, INMO_IO, "cannot read %s: %s", name, line);
}

/* ---- Waiting ------------------------------------------------------------------------------------------------- */

static void cancel(PGconn *connection)
{
    char problem[256];
    PGcancel *handle = PQgetCancel(connection);
    if (handle)
        PQcancel(handle, problem, sizeof problem);
    PQfreeCancel(handle);
}

/* Waits for the server to say something, or for the hooks. */
static enum inmo_status wait_for_more(struct feed_postgres *feed, struct inmo_error *error)
{
    for (;;) {
        struct pollfd look = {.fd = PQsocket(feed->connection), .events = POLLIN};
        int ready = poll(&look, 1, 200);
        if (inmo_is_interrupted(feed->common.hooks)) {
            cancel(feed->connection);
            return feed_fail_interrupted(&feed->common, error);
        }
        if (ready < 0 && errno != EINTR)
            return inmo_fail_errno(error, "read", feed->common.name);
        if (ready > 0)
            return PQconsumeInput(feed->connection) ? INMO_OK : fail(feed, NULL, error);
    }
}

static enum inmo_status next_result(struct feed_postgres *feed, PGresult **result, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    while (!status && PQisBusy(feed->connection))
        status = wait_for_more(feed, error);
    *result = status ? NULL : PQgetResult(feed->connection);
    return status;
}

/* ---- Rows ---------------------------------------------------------------------------------------------------- */

static enum inmo_status next_row(struct feed *common, int may_wait, struct inmo_text *text,
                                 struct inmo_error *error)
{
    struct feed_postgres *feed = (struct feed_postgres *)common;
    PGresult *result = NULL;
    enum inmo_status status = INMO_OK;
    char *row = NULL;
    int size = feed->copying ? PQgetCopyData(feed->connection, &row, 1) : -1;

    while (!status && size == 0 && may_wait) {
        status = wait_for_more(feed, error);
        if (!status)
            size = PQgetCopyData(feed->connection, &row, 1);
    }
    if (!status && size > 0) {
        inmo_text_add(text, row, (size_t)size);
        common->rows++;
    } else if (!status && size < 0 && feed->copying) {
        /* -1: no more rows, and the result says whether because all were sent. */
        status = size == -1 ? next_result(feed, &result, error) : fail(feed, NULL, error);
        if (!status && PQresultStatus(result) != PGRES_COMMAND_OK)
            status = fail(feed, result, error);
        PQclear(result);
        feed->copying = 0;
    }
    PQfreemem(row);
    return status;
}

static void close_feed(struct feed *common)
{
    struct feed_postgres *feed = (struct feed_postgres *)common;
    if (feed->copying && feed->connection && PQstatus(feed->connection) == CONNECTION_OK)
        cancel(feed->connection);
    PQfinish(feed->connection);
    inmo_free(common->name);
    inmo_free(feed);
}

static enum inmo_status run(struct feed_postgres *feed, const char *sql, ExecStatusType expected,
                            struct inmo_error *error)
{
    PGresult *result = NULL, *rest = NULL;
    /* The extended protocol takes one statement alone: nothing can be smuggled in behind the query. */
    enum inmo_status status = PQsendQueryParams(feed->connection, sql, 0, NULL, NULL, NULL, NULL, 0)
                                  ? next_result(feed, &result, error)
                                  : fail(feed, NULL, error);

    if (!status && PQresultStatus(result) != expected)
        status = fail(feed, result, error);
    PQclear(result);
    while (!status && expected == PGRES_COMMAND_OK && !(status = next_result(feed, &rest, error)) && rest)
        PQclear(rest);
    return status;
}

/* Without the semicolon that people end a query with. */
static char *copy_statement(const char *query)
{
    struct inmo_text sql = {0};
    size_t length = strlen(query);

    while (length > 0 && strchr("; \t\r\n", query[length - 1]))
        length--;
    inmo_text_format(&sql, "COPY (");
    inmo_text_add(&sql, query, length);
    inmo_text_format(&sql, "\n) TO STDOUT WITH (FORMAT csv, HEADER)"); /* a new line ends a comment */
    return inmo_text_take(&sql);
}

enum inmo_status feed_postgres_open(const char *address, const char *query, const struct inmo_hooks *hooks,
                                    struct feed **result, struct inmo_error *error)
{
    static const char *const before[] = {"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
                                         "SET LOCAL timezone = 'UTC'", "SET LOCAL datestyle = 'ISO'", NULL};
    struct feed_postgres *feed = NULL;
    char *sql = NULL;
    enum inmo_status status = postgres_check_address(address, "the database", error);

    if (status)
        return status;
    feed = inmo_alloc_zero(1, sizeof *feed);
    sql = copy_statement(query);
    if (!feed || !sql || !(feed->common.name = inmo_copy_string(address))) {
        status = inmo_fail_memory(error, "a query");
        goto done;
    }
    feed->common.hooks = hooks;
    feed->common.next = next_row;
    feed->common.close = close_feed;
    feed->common.rows = -1; /* the header comes first */
    feed->connection = postgres_connect(address);
    if (!feed->connection || PQstatus(feed->connection) != CONNECTION_OK) {
        char line[400] = "not enough memory";
        if (feed->connection)
            postgres_first_line(PQerrorMessage(feed->connection), line, sizeof line);
        status = inmo_fail(error, INMO_IO, "cannot reach %s: %s", address, line);
    }
    for (const char *const *word = before; !status && *word; word++)
        status = run(feed, *word, PGRES_COMMAND_OK, error);
    if (!status)
        status = run(feed, sql, PGRES_COPY_OUT, error);
    if (!status) {
        feed->copying = 1;
        *result = &feed->common;
        feed = NULL;
    }
done:
    inmo_free(sql);
    if (feed)
        close_feed(&feed->common);
    return status;
}
