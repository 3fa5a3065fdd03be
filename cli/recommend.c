/* recommend.c - inmo recommend: lists for known users, for new users with a history, or for all users.
 *
 * Lists are written one user at a time to one output (lists.h), so the lists of all users are never in memory
 * together. */
#include "histories.h"
#include "lists.h"
#include "ranks/ranks.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct recommend_settings {
    struct cli_common common;
    struct cli_view_options view;
    struct cli_titles titles;
    struct cli_rules rules;
    struct cli_strings users;
    const char *items, *items_file, *histories;
    int all_users;
    int k;
    int include_seen, exclude_seen;
    const char *allow_file, *deny_file, *pairs_file;
    int explain;
    const char *output;
};

#define AT(member) offsetof(struct recommend_settings, member)
static const struct inmo_setting rows[] = {
    {"user", 'l', AT(users), 0, 0, NULL, "For whom", "ID", "A user of the training data or --observed."},
    {"items", 's', AT(items), 0, 0, NULL, "For whom", "A,B,C", "A new user with this history."},
    {"items-file", 's', AT(items_file), 0, 0, NULL, "For whom", "FILE",
     "The same from a file with one id per line; - is standard input."},
    {"histories", 's', AT(histories), 0, 0, NULL, "For whom", "FILE",
     "Many new users, each with a history: a log of users and items, or a line with a name and items for each."},
    {"all-users", 'b', AT(all_users), 0, 0, NULL, "For whom", NULL, "All users; needs -o."},
    {"k", 'i', AT(k), 1, 1e6, NULL, "The list", "N", "Length of the list."},
    {"exclude-seen", 'b', AT(exclude_seen), 0, 0, NULL, "The list", NULL, "Exclude items of the history."},
    {"include-seen", 'b', AT(include_seen), 0, 0, NULL, "The list", NULL, "Include items of the history."},
    {"allow", 's', AT(allow_file), 0, 0, NULL, "The list", "FILE",
     "Recommend only items in this file, one id per line."},
    {"deny", 's', AT(deny_file), 0, 0, NULL, "The list", "FILE",
     "Never recommend items in this file, one id per line."},
    {"deny-pairs", 's', AT(pairs_file), 0, 0, NULL, "The list", "FILE",
     "Never recommend an item of this file to its user: a log with a user and an item on each line, for --user and "
     "--all-users."},
    {"explain", 'i', AT(explain), 0, 1000, NULL, "The list", "N",
     "Show for each item the N past items that contributed most to its score."},
    {"output", 's', AT(output), 0, 0, NULL, "Output", "FILE",
     "File for the lists; .csv, .tsv, .json and .jsonl by the name, .gz and .zst behind it are packed; other "
     "names, "
     "and - for standard output: tab-separated user, item, score, or JSON lines with --json."},
};

static void declare(struct cli_options *options, void *structure)
{
    struct recommend_settings *settings = structure;
    struct inmo_query query;

    inmo_query_init(&query);
    settings->k = query.k;
    settings->exclude_seen = 1;
    cli_add_table(options, rows, sizeof rows / sizeof *rows, settings);
    cli_add_rules(options, &settings->rules);
    cli_add_titles(options, &settings->titles);
    cli_add_view(options, &settings->view, 1);
    cli_add_common(options, &settings->common, CLI_JSON | CLI_FORCE);
}

/* What the lists are made of. */
struct recommending {
    const struct recommend_settings *settings;
    const struct inmo_view *view;
    struct inmo_query query;
    struct cli_lists lists;
    enum inmo_status problem; /* of users who got no list, while others did */
    enum inmo_status status;  /* of a list within recommend_everybody */
    int unknown;              /* ids of the allow and deny lists that the view does not know */
    struct inmo_error *error;
};

/* Explains an item to the user of the query. */
static enum inmo_status explain(void *context, const char *item, struct inmo_explanation **why,
                                struct inmo_error *error)
{
    const struct recommending *run = context;
    return inmo_explain(run->view, &run->query, item, why, error);
}

/* Recommends for one user; the query is in run. name: of somebody unseen, or NULL. */
static enum inmo_status recommend_one(struct recommending *run, const char *name, struct inmo_error *error)
{
    struct inmo_list *list = NULL;
    enum inmo_status status = inmo_recommend(run->view, &run->query, &list, error);

    if (!status && list->unknown_items)
        cli_note_unknown_items(run->view, run->query.items, run->query.item_count);
    if (!status) {
        char *sentence = cli_list_sentence(name, &run->query, list);
        struct cli_recipient to = {run->query.user ? run->query.user : name, sentence};
        status = cli_lists_put(&run->lists, &to, list, error);
        free(sentence);
    }
    inmo_list_free(list);
    return status;
}

/* A user nobody knows does not lose the others their lists: the error is printed at once, and the program ends with
 * its code. */
static enum inmo_status recommend_each(struct recommending *run, struct inmo_error *error)
{
    const struct cli_strings *users = &run->settings->users;
    enum inmo_status status = INMO_OK;

    for (size_t n = 0; n < users->count && !status; n++) {
        struct inmo_error why = {0};
        run->query.user = users->value[n];
        status = recommend_one(run, NULL, &why);
        if (status)
            cli_hint_unknown(run->view, users->value[n], NULL, &why);
        if ((status == INMO_UNKNOWN || status == INMO_UNSUPPORTED) && users->count > 1) {
            cli_lists_put_problem(&run->lists, users->value[n], &why);
            run->problem = run->problem ? run->problem : status;
            cli_print_error(&why);
            status = INMO_OK;
        } else if (status && error) {
            *error = why;
        }
        if (!status && cli_interrupted() && n + 1 < users->count)
            status = cli_fail(error, INMO_INTERRUPTED, "stopped on request");
    }
    return status;
}

/* Callback of inmo_recommend_all. */
static int put_row(void *context, const char *user, size_t count, const struct inmo_entry *entry)
{
    struct recommending *run = context;
    FILE *stream = run->lists.output.stream;

    if (run->settings->explain) { /* reasons are asked for one person at a time, and so is the list then */
        run->query.user = user;
        run->status = recommend_one(run, NULL, run->error);
    } else {
        struct inmo_list list = {.count = count, .entry = (struct inmo_entry *)entry};
        struct inmo_query query = run->query;
        query.user = user;
        if (cli_lists_tell(&run->lists)) {
            run->status = inmo_query_coverage(run->view, &query, &list, run->error);
            list.unknown_items += run->unknown;
        }
        if (!run->status)
            run->status = cli_lists_put(&run->lists, &(struct cli_recipient){.name = user}, &list, run->error);
    }
    return run->status || ferror(stream);
}

static enum inmo_status recommend_everybody(struct recommending *run, struct inmo_error *error)
{
    struct inmo_query query = run->query; /* put_row changes run's */
    enum inmo_status status;

    run->error = error;
    run->unknown = cli_count_unknown(run->view, query.allow, query.allow_count) +
                   cli_count_unknown(run->view, query.deny, query.deny_count);
    status = inmo_recommend_all(run->view, &query, cli_hooks(), put_row, run, error);
    if (run->status)
        status = run->status;
    else if (status == INMO_INTERRUPTED && ferror(run->lists.output.stream))
        status = INMO_OK; /* the commit names the write error */
    else if (status == INMO_INTERRUPTED && cli_check_memory(error))
        status = INMO_MEMORY;
    return status;
}

/* Many at once, in parallel; with reasons one by one. */
static enum inmo_status recommend_histories(struct recommending *run, const struct cli_histories *histories,
                                            struct inmo_error *error)
{
    const struct inmo_query asked = run->query;
    enum inmo_status status = INMO_OK;

    if (!run->settings->explain)
        return cli_recommend_histories(histories, run->view, &run->query, &run->lists, error);
    for (size_t n = 0; n < cli_histories_count(histories) && !status; n++) {
        struct cli_strings items = {0}, denied = {0};
        cli_histories_items(histories, n, &items);
        for (size_t d = 0; d < asked.deny_count; d++)
            cli_strings_add(&denied, asked.deny[d]);
        cli_histories_seen(histories, n, &denied);
        run->query.items = items.value;
        run->query.item_count = items.count;
        run->query.deny = denied.value;
        run->query.deny_count = denied.count;
        status = recommend_one(run, cli_histories_name(histories, n), error);
        cli_strings_free(&denied, 0);
        cli_strings_free(&items, 0);
    }
    run->query = asked;
    return status;
}

/* Marks the pairs of the file as seen: what the view does not know is in no list anyway. */
static enum inmo_status deny_pairs(const struct recommend_settings *settings, struct inmo_view *view,
                                   struct inmo_error *error)
{
    struct inmo_read_options read = settings->view.read;
    struct inmo_log *log = NULL;
    struct inmo_event *event = NULL;
    const char *user, *item;
    int64_t time, count = 0, unknown = 0;
    enum inmo_status status;

    read.keep_all_ratings = 1; /* whatever else the file says */
    read.positive = read.seen = read.negative = NULL;
    status = inmo_log_read(&settings->pairs_file, 1, &read, cli_hooks(), &log, error);
    cli_hooks_end();
    if (!status)
        event = cli_allocate((size_t)inmo_log_count(log) + 1, sizeof *event);
    for (int64_t n = 0; !status && inmo_log_at(log, n, &user, &item, &time); n++) {
        if (inmo_view_user_row(view, user) >= 0 && inmo_view_item_row(view, item) >= 0)
            event[count++] = (struct inmo_event){user, item, 0};
        else
            unknown++;
    }
    if (!status)
        status = inmo_view_observe_seen(view, event, (size_t)count, error);
    if (!status && unknown) {
        char a[32], b[32];
        cli_note(INMO_NOTE, "%s of %s pairs of %s have a user or an item that the model does not know",
                 cli_thousands(unknown, a), cli_thousands(unknown + count, b), settings->pairs_file);
    }
    free(event);
    inmo_log_free(log);
    return status;
}

static enum inmo_status check(const struct cli_options *options, const struct recommend_settings *settings,
                              struct inmo_error *error)
{
    int unseen = settings->items || settings->items_file;
    int somebody = settings->users.count > 0 || unseen;
    int ways = somebody + (settings->histories != NULL) + settings->all_users;
    enum inmo_status status = INMO_OK;

    if (ways != 1)
        status = cli_fail(error, INMO_USAGE,
                          "found %s, expected --user, --items (or --items-file) or both, or --histories, or "
                          "--all-users",
                          ways ? "several ways to say for whom" : "nobody to recommend for");
    else if (inmo_ranks() > 1 && !settings->all_users)
        status = cli_fail(error, INMO_USAGE, "on several ranks: found no --all-users, which they do together");
    else if (settings->all_users && !settings->output)
        status = cli_fail(error, INMO_USAGE, "--all-users needs -o FILE, or -o - for standard output");
    else if (settings->pairs_file && (settings->histories || !(somebody ? settings->users.count > 0 : 1)))
        status = cli_fail(error, INMO_USAGE, "--deny-pairs is for --user and --all-users: others have no names");
    else if (settings->pairs_file && (settings->include_seen || !settings->exclude_seen))
        status = cli_fail(error, INMO_USAGE, "--deny-pairs and --include-seen exclude each other");
    else if (settings->include_seen && cli_given(options, "exclude-seen") && settings->exclude_seen)
        status = cli_fail(error, INMO_USAGE, "--include-seen and --exclude-seen exclude each other");
    return status;
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct recommend_settings *settings = structure;
    struct cli_strings history = {0}, allow = {0}, deny = {0};
    struct cli_histories *histories = NULL;
    struct cli_view view = {0};
    struct inmo_rules *rules = NULL;
    struct recommending run = {.settings = settings};
    const char *encoding = settings->view.read.encoding;
    enum inmo_status status = check(options, settings, error);

    if (!status)
        status = cli_check_apart(options, settings->output, error);
    if (!status)
        status = cli_gather_items(settings->items, settings->items_file, encoding, &history, error);
    if (!status && settings->allow_file)
        status = cli_read_ids(settings->allow_file, encoding, &allow, error);
    if (!status && settings->deny_file)
        status = cli_read_ids(settings->deny_file, encoding, &deny, error);
    if (!status && settings->histories)
        status = cli_histories_read(settings->histories, &settings->view.read, &histories, error);
    if (!status)
        status = cli_open_view(options->argument.value[0], &settings->view, &view, error);
    if (!status && settings->pairs_file)
        status = deny_pairs(settings, view.view, error);
    if (!status)
        status = cli_open_titles(&settings->titles, encoding, view.model, error);
    if (!status)
        status = cli_make_rules(&settings->rules, view.view, &settings->titles, &rules, error);
    if (!status) {
        run.lists = (struct cli_lists){
            .form = cli_list_form(settings->output, settings->common.json),
            .titles = &settings->titles,
            .because = settings->explain,
            .explain = explain,
            .context = &run,
        };
        status =
            cli_lists_open(&run.lists, inmo_own_rank() > 0 ? "-" : settings->output, settings->common.force, error);
    }
    if (!status) {
        inmo_query_init(&run.query);
        run.query.k = settings->k;
        run.query.include_seen = settings->include_seen || !settings->exclude_seen;
        run.query.allow = settings->allow_file ? allow.value : NULL;
        run.query.allow_count = allow.count;
        run.query.deny = settings->deny_file ? deny.value : NULL;
        run.query.deny_count = deny.count;
        run.query.rules = rules;
        run.view = view.view;
        if (settings->all_users)
            status = recommend_everybody(&run, error);
        if (histories)
            status = recommend_histories(&run, histories, error);
        run.query.items = history.value;
        run.query.item_count = history.count;
        if (!status)
            status = recommend_each(&run, error);
        if (!status && history.count && settings->users.count == 0)
            status = recommend_one(&run, NULL, error);
        cli_hooks_end();
    }
    if (!status)
        status = cli_lists_commit(&run.lists, error);
    if (!status && settings->output && strcmp(settings->output, "-"))
        cli_note(INMO_NOTE, "wrote %s", settings->output);
    cli_lists_abandon(&run.lists);
    inmo_rules_free(rules);
    cli_close_titles(&settings->titles);
    cli_close_view(&view);
    cli_histories_free(histories);
    cli_strings_free(&deny, 1);
    cli_strings_free(&allow, 1);
    cli_strings_free(&history, 1);
    return status ? status : run.problem;
}

const struct cli_command cli_recommend = {
    .name = "recommend",
    .on_ranks = 1,
    .arguments = "MODEL",
    .summary = "recommend to known users, to people unseen, or to everybody",
    .description =
        "Prints the k best items for each --user, for somebody nobody has seen who took --items, or for "
        "--all-users. With both --user and --items the items count beside the user's own. With --observed the "
        "model looks at a log of what happened since training, with users and "
        "items it has never seen, and nothing is retrained.\n\n"
        "Unknown items of a history are passed over and counted; when nothing of it can be used, the list is by "
        "popularity and says so. A user nobody knows does not lose the others their lists: the error is printed, "
        "and the exit code is 6 at the end.\n\n"
        "CSV and TSV files have a header and the columns user, rank, item, score, with titles also title, and with "
        "--explain N because_1, contribution_1 and so on. In tab-separated output a tab or line end inside an id "
        "is "
        "written \\t, \\n or \\r. JSON has for each user an object with the keys user, coverage (the share "
        "of the history that the model uses), unknown_items, fallback (by popularity) and items, each of which has "
        "rank, item, score, title if it is known, and because (item, contribution) with --explain. --histories "
        "reads "
        "any log; those who are in it are taken for strangers, whatever their names.",
    .examples =
        "  inmo recommend model.inmo --user alice --user bob --k 10\n"
        "  inmo recommend model.inmo --items jazz-001,jazz-017 --explain 3\n"
        "  inmo recommend model.inmo --all-users --titles movies.csv -o lists.csv.gz\n"
        "  inmo recommend model.inmo --histories carts.csv --k 5 -o lists.jsonl\n"
        "  inmo recommend model.inmo --user alice --titles movies.csv --where genre=Comedy --diversity 0.3\n"
        "  inmo recommend model.inmo --observed today.csv --user carol --json\n",
    .least_arguments = 1,
    .most_arguments = 1,
    .settings_size = sizeof(struct recommend_settings),
    .declare = declare,
    .run = run,
};
