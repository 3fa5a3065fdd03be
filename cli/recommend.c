/* recommend.c - inmo recommend: lists for known users, for a new user with a history, or for all users.
 *
 * Lists are written one user at a time to one output (a file or standard output), so the lists of all users are
 * never in memory together. */
#include "common.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct recommend_settings {
    struct cli_common common;
    struct cli_view_options view;
    struct cli_strings users;
    const char *items, *items_file;
    int all_users;
    int k;
    int include_seen, exclude_seen;
    const char *allow_file, *deny_file;
    int explain;
    const char *output;
};

#define AT(member) offsetof(struct recommend_settings, member)
static const struct inmo_setting rows[] = {
    {"user", 'l', AT(users), 0, 0, NULL, "For whom", "ID", "A user of the training data or --observed."},
    {"items", 's', AT(items), 0, 0, NULL, "For whom", "A,B,C", "A new user with this history."},
    {"items-file", 's', AT(items_file), 0, 0, NULL, "For whom", "FILE",
     "The same from a file with one id per line; - is standard input."},
    {"all-users", 'b', AT(all_users), 0, 0, NULL, "For whom", NULL, "All users; needs -o."},
    {"k", 'i', AT(k), 1, 1e6, NULL, "The list", "N", "Length of the list."},
    {"exclude-seen", 'b', AT(exclude_seen), 0, 0, NULL, "The list", NULL, "Exclude items of the history."},
    {"include-seen", 'b', AT(include_seen), 0, 0, NULL, "The list", NULL, "Include items of the history."},
    {"allow", 's', AT(allow_file), 0, 0, NULL, "The list", "FILE",
     "Recommend only items in this file, one id per line."},
    {"deny", 's', AT(deny_file), 0, 0, NULL, "The list", "FILE",
     "Never recommend items in this file, one id per line."},
    {"explain", 'i', AT(explain), 0, 1000, NULL, "The list", "N",
     "Show for each item the N past items that contributed most to its score."},
    {"output", 's', AT(output), 0, 0, NULL, "Output", "FILE",
     "File for the lists, - for standard output: tab-separated user, item, score, or JSON lines with --json."},
};

static void declare(struct cli_options *options, void *structure)
{
    struct recommend_settings *settings = structure;
    struct inmo_query query;

    inmo_query_init(&query);
    settings->k = query.k;
    settings->exclude_seen = 1;
    cli_add_table(options, rows, sizeof rows / sizeof *rows, settings);
    cli_add_view(options, &settings->view, 1);
    cli_add_common(options, &settings->common, CLI_JSON | CLI_FORCE);
}

/* State for printing the list of one user. */
struct writer {
    const struct recommend_settings *settings;
    const struct inmo_view *view;
    struct inmo_query query;
    FILE *stream;
    int human;               /* a table for people rather than tab-separated lines */
    enum inmo_status status; /* of a list within recommend_everybody */
    struct inmo_error *error;
};

/* The N strongest reasons for an item; NULL if none were requested. */
static enum inmo_status reasons(const struct writer *writer, const char *item,
                                struct inmo_explanation **explanation, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    if (writer->settings->explain)
        status = inmo_explain(writer->view, &writer->query, item, explanation, error);
    if (!status && *explanation && (*explanation)->count > (size_t)writer->settings->explain)
        (*explanation)->count = (size_t)writer->settings->explain;
    return status;
}

static enum inmo_status put_json(const struct writer *writer, const struct inmo_list *list,
                                 struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    json_t *object = json_object(), *items = json_array();

    json_object_set_new(object, "user", writer->query.user ? cli_json_text(writer->query.user) : json_null());
    for (size_t n = 0; n < list->count && !status; n++) {
        struct inmo_explanation *why = NULL;
        json_t *item = json_pack("{so so}", "item", cli_json_text(list->entry[n].id), "score",
                                 cli_json_number(list->entry[n].score));
        status = reasons(writer, list->entry[n].id, &why, error);
        if (why) {
            json_t *parts = json_array();
            for (size_t p = 0; p < why->count; p++)
                json_array_append_new(parts, json_pack("{so so}", "item", cli_json_text(why->part[p].id),
                                                       "contribution", cli_json_number(why->part[p].score)));
            json_object_set_new(item, "because", parts);
        }
        json_array_append_new(items, item);
        inmo_explanation_free(why);
    }
    json_object_set_new(object, "items", items);
    json_object_set_new(object, "coverage", cli_json_number(list->coverage));
    json_object_set_new(object, "unknown_items", json_integer(list->unknown_items));
    json_object_set_new(object, "fallback", json_boolean(list->fallback));
    if (status)
        json_decref(object);
    else
        cli_json_put(writer->stream, object, 0);
    return status ? status : cli_check_memory(error);
}

static void put_heading(const struct writer *writer, const struct inmo_list *list)
{
    const struct inmo_query *query = &writer->query;

    if (query->user)
        fprintf(writer->stream, "for %s", query->user);
    else
        fprintf(writer->stream, "for somebody with %zu item%s", query->item_count,
                query->item_count == 1 ? "" : "s");
    if (!query->user && !query->allow && !query->deny)
        fprintf(writer->stream, ": %zu of %zu items of the history are known",
                query->item_count - (size_t)list->unknown_items, query->item_count);
    else if (list->unknown_items)
        fprintf(writer->stream, ": skipped %d unknown item%s of the history, allow and deny lists",
                list->unknown_items, list->unknown_items == 1 ? "" : "s");
    if (list->fallback)
        fprintf(writer->stream, "; nothing to go on, so the list is by popularity\n");
    else
        fprintf(writer->stream, "; the model uses %.0f %% of the history\n", 100 * list->coverage);
}

static enum inmo_status put_lines(const struct writer *writer, const struct inmo_list *list,
                                  struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    int widest = 0, decimals = cli_decimals(list->count ? list->entry[0].score : 0);

    for (size_t n = 0; n < list->count; n++)
        if ((int)strlen(list->entry[n].id) > widest)
            widest = (int)strlen(list->entry[n].id);
    if (writer->human)
        put_heading(writer, list);
    for (size_t n = 0; n < list->count && !status; n++) {
        const struct inmo_entry *entry = &list->entry[n];
        struct inmo_explanation *why = NULL;
        status = reasons(writer, entry->id, &why, error);
        if (writer->human) {
            fprintf(writer->stream, "%4zu  %-*s  %*.*f", n + 1, widest, entry->id, decimals + 5, decimals,
                    entry->score);
            for (size_t p = 0; why && p < why->count; p++)
                fprintf(writer->stream, "%s%s %.*f", p ? ", " : "  because of ", why->part[p].id, decimals,
                        why->part[p].score);
        } else {
            cli_put_id(writer->stream, writer->query.user ? writer->query.user : "");
            fputc('\t', writer->stream);
            cli_put_id(writer->stream, entry->id);
            fprintf(writer->stream, "\t%.9g", entry->score);
            for (size_t p = 0; why && p < why->count; p++) {
                fputc('\t', writer->stream);
                cli_put_id(writer->stream, why->part[p].id);
                fprintf(writer->stream, "\t%.9g", why->part[p].score);
            }
        }
        fputc('\n', writer->stream);
        inmo_explanation_free(why);
    }
    return status;
}

/* Recommends for one user; the query is in the writer. */
static enum inmo_status recommend_one(struct writer *writer, struct inmo_error *error)
{
    struct inmo_list *list = NULL;
    enum inmo_status status = inmo_recommend(writer->view, &writer->query, &list, error);

    if (!status)
        status = writer->settings->common.json ? put_json(writer, list, error) : put_lines(writer, list, error);
    inmo_list_free(list);
    return status;
}

/* Callback of inmo_recommend_all. */
static int put_row(void *context, const char *user, size_t count, const struct inmo_entry *entry)
{
    struct writer *writer = context;

    if (writer->settings->explain) { /* reasons are asked for one person at a time, and so is the list then */
        writer->query.user = user;
        writer->status = recommend_one(writer, writer->error);
        return writer->status != INMO_OK || ferror(writer->stream);
    }
    if (writer->settings->common.json) {
        json_t *items = json_array();
        for (size_t n = 0; n < count; n++)
            json_array_append_new(items, json_pack("{so so}", "item", cli_json_text(entry[n].id), "score",
                                                   cli_json_number(entry[n].score)));
        cli_json_put(writer->stream, json_pack("{so so}", "user", cli_json_text(user), "items", items), 0);
        if (cli_check_memory(NULL))
            return 1;
    } else {
        for (size_t n = 0; n < count; n++) {
            cli_put_id(writer->stream, user);
            fputc('\t', writer->stream);
            cli_put_id(writer->stream, entry[n].id);
            fprintf(writer->stream, "\t%.9g\n", entry[n].score);
        }
    }
    return ferror(writer->stream) != 0;
}

static enum inmo_status recommend_everybody(struct writer *writer, struct inmo_error *error)
{
    struct inmo_query query = writer->query; /* put_row changes the writer's */
    enum inmo_status status;

    writer->error = error;
    status = inmo_recommend_all(writer->view, &query, cli_hooks(), put_row, writer, error);
    if (writer->status)
        status = writer->status;
    else if (status == INMO_INTERRUPTED && ferror(writer->stream))
        status = INMO_OK; /* the commit names the write error */
    else if (status == INMO_INTERRUPTED && cli_check_memory(error))
        status = INMO_MEMORY;
    return status;
}

static enum inmo_status check(const struct cli_options *options, const struct recommend_settings *settings,
                              struct inmo_error *error)
{
    int unseen = settings->items || settings->items_file;
    int somebody = settings->users.count > 0 || unseen;
    enum inmo_status status = INMO_OK;

    if (somebody == settings->all_users)
        status = cli_fail(error, INMO_USAGE,
                          "found %s, expected --user, --items (or --items-file) or both, or --all-users",
                          somebody ? "several ways to say for whom" : "nobody to recommend for");
    else if (settings->all_users && !settings->output)
        status = cli_fail(error, INMO_USAGE, "--all-users needs -o FILE, or -o - for standard output");
    else if (settings->include_seen && cli_given(options, "exclude-seen") && settings->exclude_seen)
        status = cli_fail(error, INMO_USAGE, "--include-seen and --exclude-seen exclude each other");
    return status;
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct recommend_settings *settings = structure;
    struct cli_strings history = {0}, allow = {0}, deny = {0};
    struct cli_view view = {0};
    struct cli_output output = {0};
    struct writer writer = {.settings = settings};
    const char *encoding = settings->view.read.encoding;
    enum inmo_status status = check(options, settings, error);

    if (!status)
        status = cli_gather_items(settings->items, settings->items_file, encoding, &history, error);
    if (!status && settings->allow_file)
        status = cli_read_ids(settings->allow_file, encoding, &allow, error);
    if (!status && settings->deny_file)
        status = cli_read_ids(settings->deny_file, encoding, &deny, error);
    if (!status)
        status = cli_open_view(options->argument.value[0], &settings->view, &view, error);
    if (!status)
        status = cli_output_open(&output, settings->output, settings->common.force, error);
    if (!status) {
        inmo_query_init(&writer.query);
        writer.query.k = settings->k;
        writer.query.include_seen = settings->include_seen || !settings->exclude_seen;
        writer.query.allow = settings->allow_file ? allow.value : NULL;
        writer.query.allow_count = allow.count;
        writer.query.deny = settings->deny_file ? deny.value : NULL;
        writer.query.deny_count = deny.count;
        writer.view = view.view;
        writer.stream = output.stream;
        writer.human = !settings->output && !settings->common.json;
        if (settings->all_users)
            status = recommend_everybody(&writer, error);
        writer.query.items = history.value;
        writer.query.item_count = history.count;
        for (size_t n = 0; n < settings->users.count && !status; n++) {
            writer.query.user = settings->users.value[n];
            status = recommend_one(&writer, error);
            if (!status && cli_interrupted() && n + 1 < settings->users.count)
                status = cli_fail(error, INMO_INTERRUPTED, "stopped on request");
        }
        if (!status && history.count && settings->users.count == 0)
            status = recommend_one(&writer, error);
        cli_hooks_end();
    }
    if (!status)
        status = cli_output_commit(&output, 1, error);
    if (!status && settings->output && strcmp(settings->output, "-"))
        cli_note(INMO_NOTE, "wrote %s", settings->output);
    cli_output_abandon(&output);
    cli_close_view(&view);
    cli_strings_free(&deny, 1);
    cli_strings_free(&allow, 1);
    cli_strings_free(&history, 1);
    return status;
}

const struct cli_command cli_recommend = {
    .name = "recommend",
    .arguments = "MODEL",
    .summary = "recommend to known users, to somebody unseen, or to everybody",
    .description =
        "Prints the k best items for each --user, for somebody nobody has seen who took --items, or for "
        "--all-users. With both --user and --items the items count beside the user's own. With --observed the "
        "model looks at a log of what happened since training, with users and "
        "items it has never seen, and nothing is retrained.\n\n"
        "Unknown items of a history are passed over and counted; when nothing of it can be used, the list is by "
        "popularity and says so. In tab-separated output a tab or line end inside an id is written \\t, \\n or "
        "\\r.",
    .examples = "  inmo recommend model.inmo --user alice --user bob --k 10\n"
                "  inmo recommend model.inmo --items jazz-001,jazz-017 --explain 3\n"
                "  inmo recommend model.inmo --all-users -o lists.tsv\n"
                "  inmo recommend model.inmo --observed today.csv --user carol --json\n",
    .least_arguments = 1,
    .most_arguments = 1,
    .settings_size = sizeof(struct recommend_settings),
    .declare = declare,
    .run = run,
};
