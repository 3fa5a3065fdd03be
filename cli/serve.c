/* serve.c - inmo serve: the live service (server/serve.h). */
#include "common.h"
#include "data/input.h"
#include "server/serve.h"
#include "server/store.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct serve_command {
    struct cli_common common;
    struct serve_options serve;
    struct inmo_read_options read;
    struct cli_strings import, log;
    const char *new_key, *rights;
    int check, routes;
};

#define AT(field) offsetof(struct serve_command, field)
static const struct inmo_setting rows[] = {
    {"log", 'l', AT(log), 0, 0, NULL, "Beginning", "LOG",
     "Brings the log into the store first, with the types of its events, then serves; a log that is in it already "
     "changes nothing."},
    {"import", 'l', AT(import), 0, 0, NULL, "Beginning", "LOG", "Brings the log into the store and ends."},
    {"check", 'b', AT(check), 0, 0, NULL, "Beginning", NULL,
     "Says what would be done with these options, and ends."},
    {"new-key", 's', AT(new_key), 0, 0, NULL, "Beginning", "NAME",
     "Makes an API key: prints it, and the line for the file of --keys, which is appended if the file is given."},
    {"rights", 's', AT(rights), 0, 0, "read|write|admin", "Beginning", "RIGHT", "Rights of the new key."},
    {"routes", 'b', AT(routes), 0, 0, NULL, "Beginning", NULL,
     "Prints method, address and needed right of every route."},
};
#undef AT

static void declare(struct cli_options *options, void *structure)
{
    struct serve_command *command = structure;
    const struct inmo_setting *row;
    size_t count;

    serve_options_init(&command->serve);
    command->rights = "read";
    inmo_read_options_init(&command->read);
    row = serve_settings(&count);
    cli_add_table(options, rows, sizeof rows / sizeof *rows, command);
    cli_add_table(options, row, count, &command->serve);
    row = inmo_read_settings(&count);
    for (size_t n = 0; n < count; n++) /* types are the store's business here */
        if (strcmp(row[n].name, "positive") && strcmp(row[n].name, "seen") && strcmp(row[n].name, "negative"))
            cli_add_table(options, &row[n], 1, &command->read);
    cli_add_common(options, &command->common, 0);
}

static void print_line(const char *text)
{
    puts(text);
}

static void print_address(const char *address)
{
    printf("%s\n", address);
    fflush(stdout);
}

static enum inmo_status next_line(void *context, const char **text, size_t *length, struct inmo_error *error)
{
    struct inmo_line line = {0};
    enum inmo_status status = inmo_input_next(context, &line, error);
    *text = status ? NULL : line.text;
    *length = line.length;
    return status;
}

static enum inmo_status open_lines(const char *path, const struct inmo_read_options *read,
                                   struct store_lines *lines, struct inmo_error *error)
{
    struct inmo_input *input = NULL;
    enum inmo_status status = inmo_input_open(path, read->encoding, NULL, &input, error);
    lines->context = input;
    lines->next = next_line;
    return status;
}

static void close_lines(struct store_lines *lines)
{
    if (lines->context)
        inmo_input_close(lines->context);
}

static enum inmo_status import_logs(const struct serve_command *command, const struct cli_strings *logs,
                                    struct inmo_error *error)
{
    char thousands[32];
    int64_t added = 0;
    static const struct serve_lines by = {open_lines, close_lines};
    enum inmo_status status =
        serve_import(&command->serve, logs->value, logs->count, &command->read, &by, cli_hooks(), &added, error);
    cli_hooks_end();
    if (!status)
        cli_note(INMO_NOTE, "%s events are new in %s", cli_thousands(added, thousands), command->serve.store);
    return status;
}

/* The options of a training are read hours later by a child; what is wrong with them is said at the start. */
static enum inmo_status check_train(const char *text, struct inmo_error *error)
{
    struct cli_options options;
    struct cli_strings word = {0};
    char *copy = text ? strdup(text) : NULL, *rest = copy;
    enum inmo_status status = INMO_OK;

    if (!text)
        return INMO_OK;
    if (!copy)
        return cli_fail(error, INMO_MEMORY, "not enough memory for the options");
    cli_strings_add(&word, "DATA");
    cli_strings_add(&word, "--output=MODEL");
    for (const char *part; (part = strtok_r(rest, " ", &rest));)
        cli_strings_add(&word, part);
    cli_options_start(&options, &cli_train);
    status = cli_parse(&options, (int)word.count, (char **)word.value, error);
    if (!status && (options.argument.count != 1 || options.help))
        status = cli_fail(error, INMO_USAGE, "--train: found \"%s\", expected options and their values", text);
    if (!status)
        status = cli_train.begin(&options, options.settings, error);
    if (!status)
        status = cli_apply(&options, error);
    if (status)
        cli_add_hint(error, " (in --train; inmo help train)");
    cli_options_free(&options);
    cli_follow_end();
    cli_strings_free(&word, 0);
    free(copy);
    return status;
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct serve_command *command = structure;
    enum inmo_status status = INMO_OK;

    if (options->argument.count)
        command->serve.model = options->argument.value[0];
    if (command->routes) {
        serve_print_routes(print_line);
        return INMO_OK;
    }
    if (command->new_key)
        return serve_new_key(command->serve.keys, command->new_key, command->rights, print_line, error);
    status = check_train(command->serve.train, error);
    if (status)
        return status;
    if (command->check)
        return serve_check(&command->serve, cli_hooks(), error);
    if (command->import.count)
        return import_logs(command, &command->import, error);
    if (command->log.count)
        status = import_logs(command, &command->log, error);
    if (!status)
        status = serve_run(&command->serve, print_address, error);
    return status;
}

const struct cli_command cli_serve = {
    .name = "serve",
    .arguments = "[MODEL]",
    .summary = "serve recommendations over HTTP; an event changes the next list",
    .description =
        "Keeps events, users and items in a store and answers over HTTP, in the shape of gorse's REST interface; "
        "GET /openapi.json describes it, and / is a page to look at. An event that was acknowledged is on the "
        "disk, and "
        "the next list of that person has it.\n\n"
        "MODEL is a file of inmo train. Without one, the model that was in use before is taken; with an empty "
        "store, "
        "popularity serves until there are --first-events events, and then it trains itself. Retraining runs in a "
        "child "
        "process at low priority, and the new model is swapped in under load if it is at least as good on the "
        "newest "
        "events.\n\n"
        "The address is printed when requests are answered. SIGTERM finishes the requests that have begun; SIGHUP "
        "reads "
        "keys and certificates again.",
    .examples = "  inmo serve model.inmo --store shop.db\n"
                "  inmo serve --log events.csv --store shop.db --port 8088\n"
                "  inmo serve --store postgresql:///shop --host 0.0.0.0 --keys keys.txt\n"
                "  inmo serve --new-key website --rights write --keys keys.txt\n",
    .least_arguments = 0,
    .most_arguments = 1,
    .settings_size = sizeof(struct serve_command),
    .declare = declare,
    .run = run,
};
