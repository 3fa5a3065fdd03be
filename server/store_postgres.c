/* store_postgres.c - opening, connections, and news from other servers. See store_postgres.h. */
#define _GNU_SOURCE /* pipe2 */
#include "server/postgres.h"
#include "server/store_postgres.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- Errors -------------------------------------------------------------------------------------------------- */

enum inmo_status store_postgres_fail(struct store_postgres *store, PGconn *connection, const PGresult *result,
                                     const char *verb, struct inmo_error *error)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL, *name = store->common.name;
    int lost = !connection || PQstatus(connection) == CONNECTION_BAD;
    enum store_trouble trouble = STORE_BROKEN;
    enum inmo_status status;
    char line[512] = "not enough memory";

    if (connection)
        postgres_first_line(result && !lost ? PQresultErrorMessage(result) : PQerrorMessage(connection), line,
                            sizeof line);
    state = state ? state : "";
    if (lost || !strncmp(state, "08", 2) || !strncmp(state, "57", 2) || !strcmp(state, "55P03") ||
        !strcmp(state, "25006") || !strncmp(state, "40", 2)) {
        trouble = STORE_AWAY; /* connection; shutdown or start; a lock not got in time; a standby; a deadlock */
        status = inmo_fail(error, INMO_IO, "cannot %s %s: %s", verb, name, line);
    } else if (!strncmp(state, "53", 2)) {
        trouble = !strcmp(state, "53100") ? STORE_FULL : STORE_AWAY;
        status = inmo_fail(error, INMO_IO, "cannot %s %s: %s", verb, name, line);
    } else if (!strncmp(state, "XX", 2) || !strncmp(state, "42P01", 5) || !strncmp(state, "42703", 5)) {
        status = inmo_fail(error, INMO_FORMAT, "%s is damaged: %s", name, line);
    } else {
        status = inmo_fail(error, INMO_IO, "cannot %s %s: %s", verb, name, line);
    }
    atomic_store(&store->common.trouble, (int)trouble);
    return status;
}

/* ---- Connections --------------------------------------------------------------------------------------------- */

enum inmo_status store_postgres_connect(struct store_postgres *store, PGconn **connection, const char *settings,
                                        struct inmo_error *error)
{
    static const char always[] =
        "SET synchronous_commit = on; SET lock_timeout = '10s'; SET timezone = 'UTC';"
        "SET idle_in_transaction_session_timeout = '30s'; SET jit = off;"
        "SET default_transaction_isolation = 'read committed'; SET search_path = pg_catalog;";
    PGresult *result = NULL;
    enum inmo_status status = INMO_OK;

    if (*connection && PQstatus(*connection) == CONNECTION_OK)
        return INMO_OK;
    PQfinish(*connection);
    *connection = postgres_connect(store->url);
    if (!*connection || PQstatus(*connection) != CONNECTION_OK) {
        status = store_postgres_fail(store, *connection, NULL, "reach", error);
    } else {
        result = PQexec(*connection, always);
        if (PQresultStatus(result) != PGRES_COMMAND_OK)
            status = store_postgres_fail(store, *connection, result, "use", error);
        PQclear(result);
    }
    if (!status && settings) {
        result = PQexec(*connection, settings);
        if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
            status = store_postgres_fail(store, *connection, result, "use", error);
        PQclear(result);
    }
    if (status) {
        PQfinish(*connection);
        *connection = NULL;
    }
    return status;
}

enum inmo_status store_postgres_run(struct store_postgres *store, PGconn *connection, const char *sql, int count,
                                    const char *const *parameter, PGresult **result, struct inmo_error *error)
{
    PGresult *found =
        count ? PQexecParams(connection, sql, count, NULL, parameter, NULL, NULL, 0) : PQexec(connection, sql);
    ExecStatusType state = PQresultStatus(found);
    enum inmo_status status = INMO_OK;

    if (state != PGRES_COMMAND_OK && state != PGRES_TUPLES_OK)
        status = store_postgres_fail(store, connection, found, "use", error);
    if (!status && result)
        *result = found;
    else
        PQclear(found);
    return status;
}

/* ---- News from other servers --------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Whether another server has notified us. */
static int has_news(struct store_postgres *store)
{
    int news = 0;

    if (!PQconsumeInput(store->listener)) {
        PQfinish(store->listener);
        store->listener = NULL;
        return 1; /* who knows what was missed */
    }
    for (PGnotify *note; (note = PQnotifies(store->listener)) != NULL; PQfreemem(note))
        news |= note->be_pid != atomic_load(&store->writer_process);
    return news;
}

static void wait_for_news(struct store *common, double seconds)
{
    struct store_postgres *store = (struct store_postgres *)common;
    double end = now() + seconds, left;
    int listening = store->listener != NULL, news = 0;
    char byte;

    (void)store_postgres_connect(store, &store->listener, "LISTEN inmo_changes", NULL);
    if (!listening && store->listener)
        return; /* what came before we listened must be asked for */
    while (!news && (left = end - now()) > 0) {
        struct pollfd look[2] = {{.fd = store->wake[0], .events = POLLIN},
                                 {.fd = store->listener ? PQsocket(store->listener) : -1, .events = POLLIN}};
        int ready = poll(look, 2, (int)(left * 1000) + 1);
        if (ready > 0 && look[0].revents) {
            while (read(store->wake[0], &byte, 1) == 1)
                ;
            break;
        }
        if (ready > 0 && store->listener && look[1].revents)
            news = has_news(store);
    }
}

static void wake(struct store *common)
{
    struct store_postgres *store = (struct store_postgres *)common;
    if (write(store->wake[1], "", 1) < 0)
        errno = 0; /* the pipe is full: it is awake */
}

/* ---- Opening and closing ------------------------------------------------------------------------------------- */

static void close_store(struct store *common)
{
    struct store_postgres *store = (struct store_postgres *)common;

    for (int n = 0; n < POSTGRES_READERS; n++)
        PQfinish(store->reader[n]);
    PQfinish(store->listener);
    PQfinish(store->writer);
    for (int n = 0; n < 2; n++)
        if (store->wake[n] >= 0)
            close(store->wake[n]);
    pthread_cond_destroy(&store->reader_free);
    pthread_mutex_destroy(&store->readers);
    pthread_mutex_destroy(&store->writing);
    inmo_free(store->url);
    inmo_free(store->common.name);
    inmo_free(store);
}

static const struct store_kind kind = {
    .fetch = store_postgres_fetch,
    .write = store_postgres_write,
    .last = store_postgres_last,
    .bury = store_postgres_bury,
    .count = store_postgres_count,
    .wait = wait_for_news,
    .wake = wake,
    .close = close_store,
    .shared = 1,
};

static struct store_postgres *new_store(const char *url, int must_exist, int read_only)
{
    struct store_postgres *store = inmo_alloc_zero(1, sizeof *store);

    if (!store)
        return NULL;
    store->common.kind = &kind;
    store->common.read_only = read_only;
    store->must_exist = must_exist;
    store->free_readers = POSTGRES_READERS;
    store->wake[0] = store->wake[1] = -1;
    pthread_mutex_init(&store->writing, NULL);
    pthread_mutex_init(&store->readers, NULL);
    pthread_cond_init(&store->reader_free, NULL);
    store->url = inmo_copy_string(url);
    store->common.name = inmo_copy_string(url);
    if (!store->url || !store->common.name || pipe2(store->wake, O_CLOEXEC | O_NONBLOCK)) {
        close_store(&store->common);
        store = NULL;
    }
    return store;
}

enum inmo_status store_postgres_open(const char *url, int must_exist, int read_only, struct store **result,
                                     struct inmo_error *error)
{
    struct store_postgres *store = NULL;
    enum inmo_status status = postgres_check_address(url, "the store", error);

    if (!status) {
        store = new_store(url, must_exist, read_only);
        if (!store)
            status = inmo_fail_memory(error, url);
    }
    if (!status)
        status = store_postgres_connect(store, &store->writer, NULL, error);
    if (!status)
        status = store_postgres_schema(store, store->writer, error);
    if (!status && !read_only)
        status = store_postgres_connect(store, &store->listener, "LISTEN inmo_changes", error);
    if (!status) {
        PQfinish(store->writer); /* store_write makes its own, with its settings */
        store->writer = NULL;
        *result = &store->common;
        store = NULL;
    }
    if (store)
        close_store(&store->common);
    return status;
}
