/* similar.c - inmo similar: the items most similar to an item, or the users most similar to a user. */
#include "common.h"

#include <stddef.h>
#include <string.h>

struct similar_settings {
    struct cli_common common;
    struct cli_view_options view;
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
    cli_add_view(options, &settings->view, 1);
    cli_add_common(options, &settings->common, CLI_JSON);
}

static void print_json(const struct similar_settings *settings, const struct inmo_list *list)
{
    json_t *entries = json_array();
    for (size_t n = 0; n < list->count; n++)
        json_array_append_new(entries, json_pack("{so so}", "id", cli_json_text(list->entry[n].id), list->measure,
                                                 cli_json_number(list->entry[n].score)));
    cli_json_put(stdout,
                 json_pack("{so so}", settings->item ? "item" : "user",
                           cli_json_text(settings->item ? settings->item : settings->user), "similar", entries),
                 1);
}

static void print_text(const struct similar_settings *settings, const struct inmo_list *list)
{
    int widest = 0;
    for (size_t n = 0; n < list->count; n++)
        if ((int)strlen(list->entry[n].id) > widest)
            widest = (int)strlen(list->entry[n].id);
    printf("like %s, by %s\n", settings->item ? settings->item : settings->user, list->measure);
    for (size_t n = 0; n < list->count; n++)
        printf("%4zu  %-*s  %7.4f\n", n + 1, widest, list->entry[n].id, list->entry[n].score);
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
        status = inmo_similar(view.view, settings->item, settings->user, settings->k, &list, error);
    if (!status && settings->common.json)
        print_json(settings, list);
    else if (!status)
        print_text(settings, list);
    inmo_list_free(list);
    cli_close_view(&view);
    return status;
}

const struct cli_command cli_similar = {
    .name = "similar",
    .arguments = "MODEL",
    .summary = "find the most similar items or users",
    .description = "Prints the k most similar items or users by the cosine of their representations.",
    .examples = "  inmo similar model.inmo --item jazz-001\n"
                "  inmo similar model.inmo --user alice --k 5 --json\n",
    .least_arguments = 1,
    .most_arguments = 1,
    .settings_size = sizeof(struct similar_settings),
    .declare = declare,
    .run = run,
};
