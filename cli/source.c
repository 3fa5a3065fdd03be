/* source.c - where interactions come from: logs, an event store, or a query that is put to a database. */
#include "common.h"
#ifdef INMO_SERVER
#include "server/feed.h"
#include "server/store.h"
#endif

#include <string.h>

/* What reads the text of a database. A log, or a prepared directory. */
typedef enum inmo_status take_source(const struct inmo_source *source, void *context, struct inmo_error *error);

/* A build without the server knows no stores and no databases. */
#ifdef INMO_SERVER
static int is_store(const char *path)
{
    return store_is_store(path);
}

static enum inmo_status read_store(const struct cli_data_options *data, const char *path, struct inmo_log **log,
                                   struct inmo_error *error)
{
    struct store *store = NULL;
    enum inmo_status status =
        data->read.weight
            ? cli_fail(error, INMO_USAGE,
                       "--weight: %s is an event store, whose events have no weights and are kept once a pair; "
                       "--half-life lets recent ones count more",
                       path)
            : store_open(path, 1, 1, &store, error);

    if (!status)
        status = store_read_log(store, data->read.positive, data->read.seen, cli_hooks(), log, NULL, error);
    else if (status == INMO_FORMAT || status == INMO_IO)
        cli_add_hint(error, "; --query reads other tables than those of inmo serve");
    store_close(store);
    return status;
}

static enum inmo_status read_query(const char *path, const char *query, take_source *take, void *context,
                                   struct inmo_error *error)
{
    struct feed *feed = NULL;
    const struct inmo_source *source = NULL;
    enum inmo_status status = INMO_OK;

    if (!feed_is_database(path))
        status = cli_fail(
            error, INMO_USAGE,
            "--query is put to a database, and %s is none: expected postgresql://... or a file of SQLite", path);
    if (!status)
        status = feed_open(path, query, cli_hooks(), &feed, &source, error);
    if (!status)
        status = take(source, context, error);
    if (status == INMO_INPUT && strstr(error->message, ": found "))
        cli_add_hint(error, " (line 2 is the first row of the query; NULL is empty)");
    feed_close(feed);
    return status;
}
#else
static int is_store(const char *path)
{
    (void)path;
    return 0;
}

static enum inmo_status read_store(const struct cli_data_options *data, const char *path, struct inmo_log **log,
                                   struct inmo_error *error)
{
    (void)data, (void)log;
    return cli_fail(error, INMO_UNSUPPORTED, "%s: this program was built without event stores", path);
}

static enum inmo_status read_query(const char *path, const char *query, take_source *take, void *context,
                                   struct inmo_error *error)
{
    (void)query, (void)take, (void)context;
    return cli_fail(error, INMO_UNSUPPORTED, "%s: this program was built without databases (INMO_SERVER)", path);
}
#endif

/* One database, and no option about the text of a file. */
static enum inmo_status check_query(const struct cli_data_options *data, const char *const *paths, size_t count,
                                    struct inmo_error *error)
{
    const struct inmo_read_options *read = &data->read;
    const char *idle = strcmp(read->format, "auto")      ? "format"
                       : read->separator                 ? "separator"
                       : strcmp(read->header, "auto")    ? "header"
                       : strcmp(read->encoding, "utf-8") ? "encoding"
                                                         : NULL;

    if (count > 1)
        return cli_fail(error, INMO_USAGE, "--query is put to one database; found %s and %s", paths[0], paths[1]);
    if (idle)
        return cli_fail(error, INMO_USAGE, "--%s is about the text of a file and does not go with --query", idle);
    return INMO_OK;
}

struct log_wanted {
    const struct cli_data_options *data;
    struct inmo_log **log;
};

static enum inmo_status take_log(const struct inmo_source *source, void *context, struct inmo_error *error)
{
    struct log_wanted *wanted = context;
    return inmo_log_read_source(source, &wanted->data->read, cli_hooks(), wanted->log, error);
}

enum inmo_status cli_read_data(const struct cli_data_options *data, const char *const *paths, size_t count,
                               struct inmo_log **log, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct log_wanted wanted = {data, log};

    if (data->query) {
        status = check_query(data, paths, count, error);
        return status ? status : read_query(paths[0], data->query, take_log, &wanted, error);
    }
    for (size_t n = 0; !status && count > 1 && n < count; n++)
        if (is_store(paths[n]))
            status = cli_fail(error, INMO_USAGE, "%s is an event store, which is read alone, not with other logs",
                              paths[n]);
    if (!status && is_store(paths[0]))
        status = read_store(data, paths[0], log, error);
    else if (!status)
        status = inmo_log_read(paths, count, &data->read, cli_hooks(), log, error);
    return status;
}

struct directory_wanted {
    const struct cli_data_options *data;
    uint64_t memory;
    const char *directory;
    int force;
    struct inmo_prepared **prepared;
};

static enum inmo_status take_directory(const struct inmo_source *source, void *context, struct inmo_error *error)
{
    struct directory_wanted *w = context;
    return inmo_prepare_bounded(NULL, 0, source, &w->data->read, &w->data->prepare, w->memory, w->directory,
                                w->force, cli_hooks(), w->prepared, error);
}

enum inmo_status cli_prepare_bounded(const struct cli_data_options *data, const char *const *paths, size_t count,
                                     uint64_t memory, const char *directory, int force,
                                     struct inmo_prepared **prepared, struct inmo_error *error)
{
    struct directory_wanted wanted = {data, memory, directory, force, prepared};
    enum inmo_status status = INMO_OK;

    if (data->query) {
        status = check_query(data, paths, count, error);
        return status ? status : read_query(paths[0], data->query, take_directory, &wanted, error);
    }
    for (size_t n = 0; n < count; n++)
        if (is_store(paths[n]))
            return cli_fail(error, INMO_USAGE,
                            "%s is an event store, which is read into memory; --memory is for logs and --query",
                            paths[n]);
    return inmo_prepare_bounded(paths, count, NULL, &data->read, &data->prepare, memory, directory, force,
                                cli_hooks(), prepared, error);
}
