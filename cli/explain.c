/* explain.c - inmo explain: the contribution of each past item to a score. The contributions sum to the score. */
#include "common.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

struct explain_settings {
    struct cli_common common;
    struct cli_view_options view;
    const char *user, *items, *items_file;
    const char *item;
};

#define AT(member) offsetof(struct explain_settings, member)
static const struct inmo_setting rows[] = {
    {"item", 's', AT(item), 0, 0, NULL, "What", "ID", "The item to explain."},
    {"user", 's', AT(user), 0, 0, NULL, "What", "ID", "A user of the training data or --observed."},
    {"items", 's', AT(items), 0, 0, NULL, "What", "A,B,C", "A new user with this history."},
    {"items-file", 's', AT(items_file), 0, 0, NULL, "What", "FILE",
     "The same from a file with one id per line; - is standard input."},
};

static void declare(struct cli_options *options, void *structure)
{
    struct explain_settings *settings = structure;
    cli_add_table(options, rows, sizeof rows / sizeof *rows, settings);
    cli_add_view(options, &settings->view, 1);
    cli_add_common(options, &settings->common, CLI_JSON);
}

static double sum_of(const struct inmo_explanation *explanation)
{
    double sum = 0;
    for (size_t n = 0; n < explanation->count; n++)
        sum += explanation->part[n].score;
    return sum;
}

static void print_json(const struct explain_settings *settings, const struct inmo_explanation *explanation)
{
    json_t *parts = json_array();
    for (size_t n = 0; n < explanation->count; n++)
        json_array_append_new(parts, json_pack("{so so}", "item", cli_json_text(explanation->part[n].id),
                                               "contribution", cli_json_number(explanation->part[n].score)));
    cli_json_put(stdout,
                 json_pack("{so so so so so}", "user", settings->user ? cli_json_text(settings->user) : json_null(),
                           "item", cli_json_text(settings->item), "score", cli_json_number(explanation->score),
                           "sum", cli_json_number(sum_of(explanation)), "because", parts),
                 1);
}

static void print_text(const struct explain_settings *settings, const struct inmo_explanation *explanation)
{
    int decimals = cli_decimals(explanation->score);

    printf("%s for %s\n", settings->item, settings->user ? settings->user : "somebody unseen");
    for (size_t n = 0; n < explanation->count; n++) {
        double share = explanation->part[n].score / explanation->score;
        printf("  %*.*f", decimals + 4, decimals, explanation->part[n].score);
        if (isfinite(share))
            printf("  %6.1f %%", 100 * share);
        printf("  %s\n", explanation->part[n].id);
    }
    printf("  %*.*f  is the sum; the score is %.*f\n", decimals + 4, decimals, sum_of(explanation), decimals,
           explanation->score);
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct explain_settings *settings = structure;
    struct cli_strings history = {0};
    struct cli_view view = {0};
    struct inmo_explanation *explanation = NULL;
    struct inmo_query query;
    int unseen = settings->items || settings->items_file;
    enum inmo_status status = INMO_OK;

    inmo_query_init(&query);
    if (!settings->item)
        status = cli_fail(error, INMO_USAGE, "inmo explain needs --item ID, the item whose score is explained");
    else if (!settings->user == !unseen)
        status = cli_fail(error, INMO_USAGE, "expected either --user ID or --items A,B,C");
    if (!status)
        status =
            cli_gather_items(settings->items, settings->items_file, settings->view.read.encoding, &history, error);
    if (!status)
        status = cli_open_view(options->argument.value[0], &settings->view, &view, error);
    if (!status) {
        query.user = settings->user;
        query.items = unseen ? history.value : NULL;
        query.item_count = history.count;
        status = inmo_explain(view.view, &query, settings->item, &explanation, error);
    }
    if (!status && settings->common.json)
        print_json(settings, explanation);
    else if (!status)
        print_text(settings, explanation);
    inmo_explanation_free(explanation);
    cli_close_view(&view);
    cli_strings_free(&history, 1);
    return status;
}

const struct cli_command cli_explain = {
    .name = "explain",
    .arguments = "MODEL",
    .summary = "explain a score by the items of the history",
    .description = "Prints the contribution of each item of the history to the score of --item, and the part that "
                   "does not depend on the history. The contributions sum to the score.",
    .examples = "  inmo explain model.inmo --user alice --item jazz-003\n"
                "  inmo explain model.inmo --items jazz-001,rock-002 --item jazz-003 --json\n",
    .least_arguments = 1,
    .most_arguments = 1,
    .settings_size = sizeof(struct explain_settings),
    .declare = declare,
    .run = run,
};
