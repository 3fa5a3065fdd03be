/* common.c - the common options, and opening data sets, raw logs, models and lists of ids. */
#include "common.h"
#include "ranks/ranks.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COMMON "Common options"

static const struct inmo_setting common_rows[] = {
    {"config", 's', offsetof(struct cli_common, config), 0, 0, NULL, COMMON, "FILE",
     "Read options from a JSON object or name = value lines; the command line takes precedence."},
    {"threads", 'i', offsetof(struct cli_common, threads), 0, 4096, NULL, COMMON, "N",
     "Number of threads, 0: all cores; does not change the result."},
    {"quiet", 'b', offsetof(struct cli_common, quiet), 0, 0, NULL, COMMON, NULL, "Print no progress and no notes."},
    {"log-times", 'b', offsetof(struct cli_common, log_times), 0, 0, NULL, COMMON, NULL,
     "Begin each line of progress, notes and errors with the time (UTC)."},
};
static const struct inmo_setting json_row = {"json", 'b',  offsetof(struct cli_common, json), 0, 0, NULL,
                                             COMMON, NULL, "Print the result as JSON."};
static const struct inmo_setting force_row = {"force", 'b',  offsetof(struct cli_common, force), 0, 0, NULL,
                                              COMMON,  NULL, "Replace an existing output."};

void cli_add_common(struct cli_options *options, struct cli_common *common, int which)
{
    cli_add_table(options, common_rows, sizeof common_rows / sizeof *common_rows, common);
    if (which & CLI_JSON)
        cli_add_table(options, &json_row, 1, common);
    if (which & CLI_FORCE)
        cli_add_table(options, &force_row, 1, common);
}

void cli_common_start(struct cli_common *common)
{
    common->threads = inmo_set_threads(common->threads);
    cli_hooks_start(common->quiet || inmo_own_rank() > 0, common->log_times);
}

/* ---- Data sets and raw logs ---------------------------------------------------------------------------------- */

static const struct inmo_setting query_row = {
    "query",
    's',
    offsetof(struct cli_data_options, query),
    0,
    0,
    NULL,
    "Reading",
    "SQL",
    "Read the rows of this query instead of a file, from postgresql://... or a file of SQLite. Columns are "
    "recognised by their names, as in a header. The password comes from PGPASSWORD or ~/.pgpass."};

void cli_add_data(struct cli_options *options, struct cli_data_options *data, const char *split)
{
    const struct inmo_setting *row;
    size_t count;

    inmo_read_options_init(&data->read);
    inmo_prepare_options_init(&data->prepare);
    if (split)
        data->prepare.split = split;
    row = inmo_read_settings(&count);
    cli_add_table(options, row, count, &data->read);
    cli_add_table(options, &query_row, 1, data);
    row = inmo_prepare_settings(&count);
    /* The last row, hold-out-by, belongs to prepare's `hold-out`, which commands that train have another of. */
    cli_add_table(options, row, cli_find(options, "hold-out") ? count - 1 : count, &data->prepare);
}

enum inmo_status cli_check_data(const struct cli_data_options *data, struct inmo_error *error)
{
    /* The library checks these options when it prepares a log, so try them on a log of one line. */
    const char *const user = "user", *const item = "item";
    const int64_t time = 1;
    struct inmo_log *log = NULL;
    struct inmo_dataset *dataset = NULL;
    struct inmo_prepare_options prepare = data->prepare;
    struct inmo_error found = {0};
    enum inmo_status status = INMO_OK;

    /* Without --by a split column of the log decides, and that is known only if --columns names the columns. */
    if (!prepare.by && (!data->read.columns || strstr(data->read.columns, "split")))
        prepare.hold_out = 0, prepare.hold_out_by = NULL;
    if (!prepare.by || strcmp(prepare.by, "column")) {
        status = inmo_log_from_pairs(1, &user, &item, &time, &log, &found);
        if (!status)
            status = inmo_dataset_prepare(log, &prepare, &dataset, &found);
    }
    inmo_dataset_free(dataset);
    inmo_log_free(log);
    /* That one line is too short to split does not matter here. */
    return status == INMO_USAGE ? cli_fail(error, INMO_USAGE, "%s", found.message) : INMO_OK;
}

/* Options for reading and splitting have no effect on a prepared directory. */
static void warn_about_idle_options(const struct cli_options *options, const struct cli_data_options *data,
                                    const char *path)
{
    for (size_t n = 0; n < options->assignment_count; n++) {
        const char *name = options->assignment[n].row->name;
        int used = 0, idle = 0;
        for (size_t t = 0; t < options->table_count; t++) {
            const struct cli_table *table = &options->table[t];
            int about_logs =
                table->structure == &data->read || table->structure == &data->prepare || table->structure == data;
            for (size_t r = 0; r < table->count; r++)
                if (!strcmp(table->row[r].name, name))
                    *(about_logs ? &idle : &used) = 1;
        }
        if (idle && !used)
            cli_note(INMO_WARNING, "--%s has no effect: %s is a prepared data set", name, path);
    }
}

static int is_directory(const char *path)
{
    struct stat found;
    return !stat(path, &found) && S_ISDIR(found.st_mode);
}

/* What a file is that was given for another: "model", or NULL. A model begins with the length of its header and the
 * header's metadata (docs/formats.md). */
static int is_model(const char *path)
{
    char head[512] = "";
    FILE *stream = strcmp(path, "-") ? fopen(path, "rb") : NULL;
    size_t size = 0;
    struct stat found;

    if (stream && !fstat(fileno(stream), &found) && S_ISREG(found.st_mode)) /* a pipe would lose what is read */
        size = fread(head, 1, sizeof head - 1, stream);
    if (stream)
        fclose(stream);
    return size > 32 && !strncmp(head + 8, "{\"__metadata__\"", 15) && strstr(head + 8, "\"inmo.kind\"") &&
           strstr(head + 8, "\"model\"");
}

void cli_hint_no_model(const char *path, struct inmo_error *error)
{
    struct stat found;

    if (error->code != INMO_FORMAT || is_model(path) || stat(path, &found))
        return;
    if (S_ISDIR(found.st_mode))
        cli_add_hint(error, "; a folder may be data: inmo train %s -o MODEL makes a model of it", path);
    else if (strstr(error->message, "does not begin as one"))
        cli_add_hint(error, "; if it is a log, inmo train %s -o MODEL makes a model of it", path);
}

enum inmo_status cli_open_data(const struct cli_options *options, const char *path,
                               const struct cli_data_options *data, struct inmo_dataset **dataset, int *raw,
                               struct inmo_error *error)
{
    struct cli_strings one = {&path, 1};
    return cli_open_all_data(options, &one, data, dataset, raw, error);
}

enum inmo_status cli_open_all_data(const struct cli_options *options, const struct cli_strings *paths,
                                   const struct cli_data_options *data, struct inmo_dataset **dataset, int *raw,
                                   struct inmo_error *error)
{
    enum inmo_status status;
    struct inmo_log *log = NULL;
    const char *path = paths->value[0];
    int is_raw = !is_directory(path);

    for (size_t n = 0; n < paths->count && paths->count > 1; n++)
        if (is_directory(paths->value[n]))
            return cli_fail(error, INMO_USAGE,
                            "%s is a directory beside other data: several logs are read as one, and a prepared "
                            "data set stands alone; inmo prepare reads several logs",
                            paths->value[n]);
    if (is_raw) {
        status = is_model(path) ? cli_fail(error, INMO_INPUT,
                                           "%s is a model, expected data: a log or a prepared directory", path)
                                : cli_check_data(data, error);
        if (!status)
            status = cli_read_data(data, paths->value, paths->count, &log, error);
        cli_hooks_end();
        cli_may_end(1);
        if (!status)
            status = inmo_dataset_prepare(log, &data->prepare, dataset, error);
    } else {
        warn_about_idle_options(options, data, path);
        cli_may_end(1);
        status = inmo_dataset_open(path, dataset, error);
    }
    cli_may_end(0);
    inmo_log_free(log);
    cli_hooks_end();
    if (raw)
        *raw = is_raw;
    return status;
}

/* ---- Models -------------------------------------------------------------------------------------------------- */

static const struct inmo_setting view_rows[] = {
    {"observed", 'l', offsetof(struct cli_view_options, observed), 0, 0, NULL, "New interactions", "LOG",
     "Interactions since training, also of new users and items; nothing is retrained. If they are over 5 % more, "
     "parts of a score may be weighed again, which takes seconds."},
};

void cli_add_view(struct cli_options *options, struct cli_view_options *view, int with_reading)
{
    const struct inmo_setting *row;
    size_t count;

    view->options = options;
    inmo_read_options_init(&view->read);
    cli_add_table(options, view_rows, sizeof view_rows / sizeof *view_rows, view);
    row = inmo_read_settings(&count);
    if (with_reading)
        cli_add_table(options, row, count, &view->read);
}

enum inmo_status cli_open_view(const char *path, const struct cli_view_options *options, struct cli_view *view,
                               struct inmo_error *error)
{
    struct inmo_read_options read = options->read;
    enum inmo_status status;

    *view = (struct cli_view){0};
    cli_may_end(1);
    status = inmo_model_load(path, &view->model, error);
    cli_may_end(0);
    if (status)
        cli_hint_no_model(path, error);
    if (!status && options->observed.count) {
        cli_follow_log(options->options, path, view->model, &read, NULL);
        status =
            inmo_log_read(options->observed.value, options->observed.count, &read, cli_hooks(), &view->log, error);
    }
    cli_hooks_end();
    cli_may_end(1);
    if (!status)
        status = inmo_view_create(view->model, view->log, &view->view, error);
    cli_may_end(0);
    if (status)
        cli_close_view(view);
    return status;
}

void cli_close_view(struct cli_view *view)
{
    inmo_view_free(view->view);
    inmo_log_free(view->log);
    inmo_model_free(view->model);
    *view = (struct cli_view){0};
}

/* ---- Lists of ids -------------------------------------------------------------------------------------------- */

enum inmo_status cli_read_ids(const char *path, const char *encoding, struct cli_strings *list,
                              struct inmo_error *error)
{
    struct inmo_ids *ids = NULL;
    enum inmo_status status = inmo_ids_read(path, encoding, &ids, error);

    for (size_t n = 0; !status && n < ids->count; n++)
        cli_strings_add(list, cli_copy(ids->id[n]));
    inmo_ids_free(ids);
    return status;
}

enum inmo_status cli_gather_items(const char *items, const char *items_file, const char *encoding,
                                  struct cli_strings *list, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;

    if (items)
        cli_split(items, ',', list);
    for (size_t n = 0; n < list->count; n++) { /* "a, b": an id that begins with a space can come from a file */
        char *id = (char *)list->value[n];
        size_t space = strspn(id, " "), end;
        memmove(id, id + space, strlen(id + space) + 1);
        for (end = strlen(id); end > 0 && id[end - 1] == ' '; end--)
            id[end - 1] = 0;
    }
    if (items_file)
        status = cli_read_ids(items_file, encoding, list, error);
    if (!status && (items || items_file) && !list->count)
        status = cli_fail(error, INMO_USAGE, "--items: found no id, expected a,b,c");
    return status;
}
