/* explain.c - inmo explain: the contribution of each past item to a score. The contributions sum to the score. */
#include "titles.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

struct explain_settings {
    struct cli_common common;
    struct cli_view_options view;
    struct cli_titles titles;
    const char *user, *items, *items_file;
    const char *item;
    int top;
};

#define AT(member) offsetof(struct explain_settings, member)
static const struct inmo_setting rows[] = {
    {"item", 's', AT(item), 0, 0, NULL, "What", "ID", "The item to explain."},
    {"user", 's', AT(user), 0, 0, NULL, "What", "ID", "A user of the training data or --observed."},
    {"items", 's', AT(items), 0, 0, NULL, "What", "A,B,C", "A new user with this history."},
    {"items-file", 's', AT(items_file), 0, 0, NULL, "What", "FILE",
     "The same from a file with one id per line; - is standard input."},
    {"top", 'i', AT(top), 0, 1e6, NULL, "What", "N",
     "Reasons that are listed, the others are summed; 0, and JSON by default: all."},
};

static void declare(struct cli_options *options, void *structure)
{
    struct explain_settings *settings = structure;
    settings->top = 10;
    cli_add_table(options, rows, sizeof rows / sizeof *rows, settings);
    cli_add_titles(options, &settings->titles);
    cli_add_view(options, &settings->view, 1);
    cli_add_common(options, &settings->common, CLI_JSON);
}

/* An explanation and what is said about it. */
struct answer {
    const struct explain_settings *settings;
    const struct inmo_view *view;
    const struct inmo_explanation *why;
    size_t shown; /* parts that are listed one by one, largest first */
    int owned;    /* the item is in the history */
};

static double sum_of(const struct inmo_explanation *why, size_t from)
{
    double sum = 0;
    for (size_t n = from; n < why->count; n++)
        sum += why->part[n].score;
    return sum;
}

/* The part that does not depend on the history has a name in parentheses instead of an id. */
static int is_item(const struct answer *answer, const char *id)
{
    return inmo_view_item_row(answer->view, id) >= 0;
}

/* Shares are of the score, if it is one that can be shared. */
static int has_shares(const struct answer *answer)
{
    return answer->why->score > 0 && isfinite(answer->why->score);
}

static double share_of(const struct answer *answer, double part)
{
    return has_shares(answer) ? part / answer->why->score : NAN;
}

static void print_json(const struct answer *answer)
{
    const struct explain_settings *settings = answer->settings;
    const struct inmo_explanation *why = answer->why;
    json_t *parts = json_array(), *object = json_object();

    for (size_t n = 0; n < answer->shown; n++) {
        json_t *part = json_pack("{so so so}", "item", cli_json_text(why->part[n].id), "contribution",
                                 cli_json_number(why->part[n].score), "share",
                                 cli_json_number(share_of(answer, why->part[n].score)));
        cli_json_title(part, &settings->titles, why->part[n].id);
        json_array_append_new(parts, part);
    }
    json_object_set_new(object, "user", settings->user ? cli_json_text(settings->user) : json_null());
    json_object_set_new(object, "item", cli_json_text(settings->item));
    cli_json_title(object, &settings->titles, settings->item);
    json_object_set_new(object, "score", cli_json_number(why->score));
    json_object_set_new(object, "sum", cli_json_number(sum_of(why, 0)));
    json_object_set_new(object, "owned", json_boolean(answer->owned));
    json_object_set_new(object, "because", parts);
    if (answer->shown < why->count)
        json_object_set_new(object, "others",
                            json_pack("{sI so so}", "count", (json_int_t)(why->count - answer->shown),
                                      "contribution", cli_json_number(sum_of(why, answer->shown)), "share",
                                      cli_json_number(share_of(answer, sum_of(why, answer->shown)))));
    cli_json_put(stdout, object, 1);
}

/* One for people who do not read tables: the three strongest reasons, the others together, and what has nothing to
 * do with the history. */
static void print_sentence(const struct answer *answer)
{
    enum { NAMED = 3 };
    const struct explain_settings *settings = answer->settings;
    const struct inmo_explanation *why = answer->why;
    const char *title = cli_title_or_id(&settings->titles, settings->item);
    const char *who = settings->user ? settings->user : "this person";
    size_t named[NAMED], count = 0, others = 0;
    double rest = 0, apart = 0;
    int joint = 0; /* what items do together, and nobody alone (inmo_explain), is among what stands apart */

    for (size_t n = 0; n < why->count; n++) {
        double part = why->part[n].score;
        if (!is_item(answer, why->part[n].id)) {
            apart += part;
            joint |= !strcmp(why->part[n].id, "(the rest)");
        } else if (count < NAMED && part > 0) {
            named[count++] = n;
        } else {
            rest += part;
            others++;
        }
    }
    if (answer->owned)
        printf("%s has %s already, so it is not recommended (--include-seen would).\n", who, title);
    if (!has_shares(answer) || (count == 0 && !(apart > 0))) {
        printf("Nothing speaks for %s.\n", title);
        return;
    }
    printf("%s suits %s", title, who);
    for (size_t n = 0; n < count; n++)
        printf("%s%s (%.0f %%)",
               !n               ? " because of "
               : n + 1 == count ? " and "
                                : ", ",
               cli_title_or_id(&settings->titles, why->part[named[n]].id),
               100 * share_of(answer, why->part[named[n]].score));
    if (others && rest >= 0)
        printf("; %zu other%s of the history add%s %.0f %%", others, others == 1 ? "" : "s", others == 1 ? "s" : "",
               100 * share_of(answer, rest));
    else if (others)
        printf("; %zu other%s of the history take%s %.0f %% away", others, others == 1 ? "" : "s",
               others == 1 ? "s" : "", -100 * share_of(answer, rest));
    if (apart != 0)
        printf("; %.0f %% %s", 100 * share_of(answer, apart),
               joint   ? "cannot be told apart by items"
               : count ? "does not depend on the history"
                       : "is all there is to say: it does not depend on the history");
    puts(".");
}

static void print_text(const struct answer *answer)
{
    const struct explain_settings *settings = answer->settings;
    const struct inmo_explanation *why = answer->why;
    int decimals = cli_decimals(why->score), widest = 0;
    const char *title = cli_title(&settings->titles, settings->item);

    printf("%s%s%s%s for %s\n", settings->item, title ? " (" : "", title ? title : "", title ? ")" : "",
           settings->user ? settings->user : "somebody unseen");
    for (size_t n = 0; n < answer->shown; n++)
        if ((int)strlen(why->part[n].id) > widest && cli_title(&settings->titles, why->part[n].id))
            widest = (int)strlen(why->part[n].id);
    for (size_t n = 0; n <= answer->shown && n < why->count; n++) {
        int others = n == answer->shown;
        double part = others ? sum_of(why, n) : why->part[n].score;
        double share = part / why->score;
        printf("  %*.*f", decimals + 4, decimals, part);
        if (isfinite(share))
            printf("  %6.1f %%", 100 * share);
        if (others) {
            printf("  (%zu others)\n", why->count - n);
        } else {
            title = cli_title(&settings->titles, why->part[n].id);
            printf("  %-*s%s%s\n", title ? widest : 0, why->part[n].id, title ? "  " : "", title ? title : "");
        }
    }
    printf("  %*.*f  is the sum; the score is %.*f\n", decimals + 4, decimals, sum_of(why, 0), decimals,
           why->score);
    print_sentence(answer);
}

/* Whether the history has the item: it is listed only if seen items may be. */
static enum inmo_status find_owned(const struct inmo_view *view, const struct inmo_query *asked, const char *item,
                                   int *owned, struct inmo_error *error)
{
    struct inmo_query query = *asked;
    size_t count[2] = {0, 0};
    enum inmo_status status = INMO_OK;

    query.k = 1;
    query.allow = &item;
    query.allow_count = 1;
    for (int seen = 0; seen < 2 && !status; seen++) {
        struct inmo_list *list = NULL;
        query.include_seen = seen;
        status = inmo_recommend(view, &query, &list, error);
        count[seen] = status ? 0 : list->count;
        inmo_list_free(list);
    }
    *owned = count[0] < count[1];
    return status;
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct explain_settings *settings = structure;
    struct cli_strings history = {0};
    struct cli_view view = {0};
    struct inmo_explanation *explanation = NULL;
    struct inmo_query query;
    struct answer answer = {.settings = settings};
    int unseen = settings->items || settings->items_file, all;
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
        if (status)
            cli_hint_unknown(view.view, settings->user, settings->item, error);
    }
    if (!status)
        status = find_owned(view.view, &query, settings->item, &answer.owned, error);
    if (!status)
        status = cli_open_titles(&settings->titles, settings->view.read.encoding, view.model, error);
    if (!status) {
        answer.view = view.view;
        answer.why = explanation;
        /* Programs get all of it, unless they ask for less. */
        all = !settings->top || (settings->common.json && !cli_given(options, "top"));
        answer.shown =
            all || (size_t)settings->top + 1 >= explanation->count ? explanation->count : (size_t)settings->top;
        (settings->common.json ? print_json : print_text)(&answer);
    }
    inmo_explanation_free(explanation);
    cli_close_titles(&settings->titles);
    cli_close_view(&view);
    cli_strings_free(&history, 1);
    return status;
}

const struct cli_command cli_explain = {
    .name = "explain",
    .arguments = "MODEL",
    .summary = "explain a score by the items of the history",
    .description =
        "Prints the contribution of each item of the history to the score of --item, and the part that "
        "does not depend on the history. The contributions sum to the score. The largest are listed with their "
        "shares, the others summed (--top), and a sentence says the same in words; it also says if the "
        "item is in the history already. JSON has user, item, title if it is known, score, sum, owned, "
        "because (item, contribution, share, title) and others (count, contribution, share).",
    .examples = "  inmo explain model.inmo --user alice --item jazz-003 --titles albums.csv\n"
                "  inmo explain model.inmo --items jazz-001,rock-002 --item jazz-003 --json\n",
    .least_arguments = 1,
    .most_arguments = 1,
    .settings_size = sizeof(struct explain_settings),
    .declare = declare,
    .run = run,
};
