/* similar.c - inmo similar: the items most similar to an item, or the users most similar to a user. */
#include "titles.h"

#include <stddef.h>
#include <string.h>

struct similar_settings {
    struct cli_common common;
    struct cli_view_options view;
    struct cli_titles titles;
    const char *item, *user;
    int k;
};

#define AT(member) offsetof(struct similar_settings, member)
static const struct inmo_setting rows[] = {
    {"item", 's', AT(item), 0, 0, NULL, "To what", "ID", "List items similar to this one."},
    {"user", 's', AT(user), 0, 0, NULL, "To what", "ID", "List users similar to this one."},
    {"k", 'i', AT(k), 1, 1e6, NULL, "To what", "N", "Length of the list."},
};

static void declare(struct cli_options *options, void *structure)
{
    struct similar_settings *settings = structure;
    settings->k = 10;
    cli_add_table(options, rows, sizeof rows / sizeof *rows, settings);
    cli_add_titles(options, &settings->titles);
    cli_add_view(options, &settings->view, 1);
    cli_add_common(options, &settings->common, CLI_JSON);
}

static void print_json(const struct similar_settings *settings, const struct inmo_list *list)
{
    const char *what = settings->item ? "item" : "user";
    json_t *entries = json_array(), *object;
    for (size_t n = 0; n < list->count; n++) {
        json_t *entry = json_pack("{sI so so}", "rank", (json_int_t)n + 1, what, cli_json_text(list->entry[n].id),
                                  "score", cli_json_number(list->entry[n].score));
        if (settings->item)
            cli_json_title(entry, &settings->titles, list->entry[n].id);
        json_array_append_new(entries, entry);
    }
    object = json_pack("{so}", what, cli_json_text(settings->item ? settings->item : settings->user));
    if (settings->item)
        cli_json_title(object, &settings->titles, settings->item);
    json_object_set_new(object, "measure", json_string(list->measure));
    json_object_set_new(object, "similar", entries);
    cli_json_put(stdout, object, 1);
}

static void print_text(const struct similar_settings *settings, const struct inmo_list *list)
{
    int widest = 0;
    for (size_t n = 0; n < list->count; n++)
        if ((int)strlen(list->entry[n].id) > widest)
            widest = (int)strlen(list->entry[n].id);
    printf("like %s", settings->item ? settings->item : settings->user);
    if (settings->item && cli_title(&settings->titles, settings->item))
        printf(" (%s)", cli_title(&settings->titles, settings->item));
    printf(", by %s\n", list->measure);
    for (size_t n = 0; n < list->count; n++) {
        const char *title = settings->item ? cli_title(&settings->titles, list->entry[n].id) : NULL;
        printf("%4zu  %-*s  %7.4f%s%s\n", n + 1, widest, list->entry[n].id, list->entry[n].score, title ? "  " : "",
               title ? title : "");
    }
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct similar_settings *settings = structure;
    struct cli_view view = {0};
    struct inmo_list *list = NULL;
    enum inmo_status status = INMO_OK;

    if (!settings->item == !settings->user)
        status = cli_fail(error, INMO_USAGE, "expected either --item ID or --user ID");
    if (!status)
        status = cli_open_view(options->argument.value[0], &settings->view, &view, error);
    if (!status)
        status = cli_open_titles(&settings->titles, settings->view.read.encoding, view.model, error);
    if (!status)
        status = inmo_similar(view.view, settings->item, settings->user, settings->k, &list, error);
    if (status && view.view)
        cli_hint_unknown(view.view, settings->user, settings->item, error);
    if (!status && settings->common.json)
        print_json(settings, list);
    else if (!status)
        print_text(settings, list);
    inmo_list_free(list);
    cli_close_titles(&settings->titles);
    cli_close_view(&view);
    return status;
}

const struct cli_command cli_similar = {
    .name = "similar",
    .arguments = "MODEL",
    .summary = "find the most similar items or users",
    .description =
        "Prints the k most similar items or users by the cosine of their representations; for item-knn, ease "
        "and gf-cf items by their weights. JSON has item (or user), title if it is known, measure and "
        "similar, whose entries have rank, item (or user), score and title.",
    .examples = "  inmo similar model.inmo --item jazz-001\n"
                "  inmo similar model.inmo --item 296 --titles movies.csv\n"
                "  inmo similar model.inmo --user alice --k 5 --json\n",
    .least_arguments = 1,
    .most_arguments = 1,
    .settings_size = sizeof(struct similar_settings),
    .declare = declare,
    .run = run,
};
