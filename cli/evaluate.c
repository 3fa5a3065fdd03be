/* evaluate.c - inmo evaluate: ranking quality on held-out interactions. */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct evaluate_settings {
    struct cli_common common;
    struct inmo_eval_options eval;
    struct cli_data_options data;
};

/* The metrics in the order they are printed. */
static const struct {
    const char *name;
    size_t offset;
} metric[] = {
    {"recall", offsetof(struct inmo_metrics, recall)},
    {"precision", offsetof(struct inmo_metrics, precision)},
    {"ndcg", offsetof(struct inmo_metrics, ndcg)},
    {"hit_rate", offsetof(struct inmo_metrics, hit_rate)},
    {"mrr", offsetof(struct inmo_metrics, mrr)},
    {"map", offsetof(struct inmo_metrics, map)},
    {"coverage", offsetof(struct inmo_metrics, coverage)},
    {"novelty", offsetof(struct inmo_metrics, novelty)},
    {"diversity", offsetof(struct inmo_metrics, diversity)},
};
enum { METRICS = sizeof metric / sizeof *metric };

static double value_of(const struct inmo_metrics *metrics, size_t m)
{
    return *(const double *)((const char *)metrics + metric[m].offset);
}

static void declare(struct cli_options *options, void *structure)
{
    struct evaluate_settings *settings = structure;
    const struct inmo_setting *row;
    size_t count;

    inmo_eval_options_init(&settings->eval);
    row = inmo_eval_settings(&count);
    cli_add_table(options, row, count, &settings->eval);
    cli_add_data(options, &settings->data, NULL);
    cli_add_common(options, &settings->common, CLI_JSON);
}

json_t *cli_metrics_json(const struct inmo_group *group, size_t k_count)
{
    json_t *metrics = json_object();
    for (size_t n = 0; n < k_count; n++) {
        for (size_t m = 0; m < METRICS; m++) {
            char *key = cli_format("%s@%d", metric[m].name, group->at[n].k);
            json_object_set_new(metrics, key, cli_json_number(value_of(&group->at[n], m)));
            free(key);
        }
    }
    return metrics;
}

static json_t *report_json(const char *path, const char *data, const struct evaluate_settings *settings,
                           const struct inmo_model_info *info, const struct inmo_report *report)
{
    json_t *groups = json_object();
    for (size_t g = 1; g < report->group_count; g++)
        json_object_set_new(groups, report->group[g].name,
                            json_pack("{sI so}", "users", (json_int_t)report->group[g].users, "metrics",
                                      cli_metrics_json(&report->group[g], report->k_count)));
    return json_pack("{so ss so ss sI so so so so}", "model", cli_json_text(path), "name", info->name, "data",
                     cli_json_text(data), "part", settings->eval.part, "users", (json_int_t)report->group[0].users,
                     "metrics", cli_metrics_json(&report->group[0], report->k_count), "groups", groups, "seconds",
                     cli_json_number(report->seconds), "inference_seconds",
                     cli_json_number(report->inference_seconds));
}

static void print_text(const char *path, const char *data, const struct evaluate_settings *settings,
                       const struct inmo_model_info *info, const struct inmo_report *report)
{
    size_t widest = strlen("group");
    for (size_t g = 0; g < report->group_count; g++)
        if (strlen(report->group[g].name) > widest)
            widest = strlen(report->group[g].name);
    printf("%s (%s) on the %s part of %s\n\n", path, info->name,
           strcmp(settings->eval.part, "valid") ? "test" : "validation", data);
    printf("%-*s  %9s  %4s", (int)widest, "group", "users", "k");
    for (size_t m = 0; m < METRICS; m++)
        printf("  %9s", metric[m].name);
    putchar('\n');
    for (size_t g = 0; g < report->group_count; g++) {
        const struct inmo_group *group = &report->group[g];
        for (size_t n = 0; n < report->k_count; n++) {
            char users[32];
            printf("%-*s  %9s  %4d", (int)widest, n ? "" : group->name, n ? "" : cli_thousands(group->users, users),
                   group->at[n].k);
            for (size_t m = 0; m < METRICS; m++)
                if (isnan(value_of(&group->at[n], m)))
                    printf("  %9s", "-");
                else
                    printf("  %9.4f", value_of(&group->at[n], m));
            putchar('\n');
        }
    }
}

/* A model that was trained with nothing kept for a test is evaluated on what chose its epoch. */
static enum inmo_status choose_part(const struct cli_options *options, const struct inmo_dataset *dataset,
                                    struct evaluate_settings *settings, struct inmo_error *error)
{
    struct inmo_dataset_info info;
    inmo_dataset_info(dataset, &info);
    if (info.test > 0 || cli_given(options, "part"))
        return INMO_OK;
    if (info.valid == 0)
        return cli_fail(error, INMO_INPUT,
                        "the split is %s: everything is for training and nothing is left to evaluate on; --split "
                        "70/10/20 in train keeps a test part",
                        settings->data.prepare.split);
    settings->eval.part = "valid";
    cli_note(INMO_NOTE,
             "the model was trained with the split %s, which has no test part: these are the scores of the "
             "validation part, which chose its epoch; --split 70/10/20 in train keeps a test part",
             settings->data.prepare.split);
    return INMO_OK;
}

/* Nothing is written before it is over. */
static enum inmo_status evaluate(const struct inmo_model *model, const struct inmo_dataset *dataset,
                                 const struct inmo_eval_options *options, struct inmo_report **report,
                                 struct inmo_error *error)
{
    enum inmo_status status;
    cli_may_end(1);
    status = inmo_evaluate(model, dataset, options, cli_hooks(), report, error);
    cli_may_end(0);
    cli_hooks_end();
    return status;
}

/* Evaluates one model; opens the data with the first, whose log says how a raw one is read and split. */
static enum inmo_status evaluate_one(const struct cli_options *options, struct evaluate_settings *settings,
                                     const char *path, struct inmo_dataset **dataset, json_t *results,
                                     struct inmo_error *error)
{
    const char *data = options->argument.value[options->argument.count - 1];
    struct inmo_model *model = NULL;
    struct inmo_report *report = NULL;
    struct inmo_model_info info;
    struct stat found;
    struct inmo_leaks leaks = {0};
    int raw = 0;
    enum inmo_status status = inmo_model_load(path, &model, error);

    if (status == INMO_FORMAT && !stat(path, &found) &&
        (S_ISDIR(found.st_mode) || strstr(error->message, "does not begin as one")))
        cli_add_hint(error, "; the model comes first: inmo evaluate MODEL DATA");
    /* So nothing that the model was trained on is in the test. */
    if (!status && !*dataset && (stat(data, &found) || !S_ISDIR(found.st_mode)))
        cli_follow_log(options, path, model, &settings->data.read, &settings->data.prepare);
    if (!status)
        status = cli_check_memory(error);
    if (!status && !*dataset)
        status = cli_open_data(options, data, &settings->data, dataset, &raw, error);
    if (!status && raw)
        status = choose_part(options, *dataset, settings, error);
    if (!status && settings->eval.allow_leaks)
        status = inmo_evaluate_leaks(model, *dataset, settings->eval.part, &leaks, error);
    if (leaks.trained > 0 || leaks.validated > 0)
        cli_note(INMO_WARNING,
                 "of the %lld interactions to predict the model was trained on %lld and validated with %lld",
                 (long long)leaks.interactions, (long long)leaks.trained, (long long)leaks.validated);
    if (!status)
        status = evaluate(model, *dataset, &settings->eval, &report, error);
    if (!status) {
        inmo_model_info(model, &info);
        if (settings->common.json)
            json_array_append_new(results, report_json(path, data, settings, &info, report));
        else
            print_text(path, data, settings, &info, report);
    }
    inmo_report_free(report);
    inmo_model_free(model);
    return status;
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct evaluate_settings *settings = structure;
    struct inmo_dataset *dataset = NULL;
    json_t *results = json_array();
    size_t models = options->argument.count - 1;
    enum inmo_status status = INMO_OK;

    for (size_t n = 0; n < models && !status; n++) {
        if (n && !settings->common.json)
            putchar('\n');
        status = evaluate_one(options, settings, options->argument.value[n], &dataset, results, error);
    }
    if (!status && settings->common.json)
        cli_json_put(stdout, json_incref(models == 1 ? json_array_get(results, 0) : results), 1);
    json_decref(results);
    inmo_dataset_free(dataset);
    return status;
}

const struct cli_command cli_evaluate = {
    .name = "evaluate",
    .arguments = "MODEL... DATA",
    .summary = "measure recall, precision, NDCG and more on the test part",
    .description =
        "Ranks all items for every user with test items, except those of the training and validation "
        "parts, and prints recall, precision, NDCG, hit rate, MRR, MAP, coverage, novelty (bits of "
        "surprise: rare items have more) "
        "and diversity (how few users two items of a list share) at each k, for all "
        "users and for groups of users. In the inductive scenarios new interactions are observed, "
        "unless --without-new is given, without retraining.\n\nA raw log is read and split as the "
        "model's was (--split, --by and --seed override it), so that nothing the model was trained on is "
        "in the test. If something is, nothing is evaluated (--allow-leaks).\n\nSeveral models are "
        "evaluated one after the other (with --json: a list), on a raw log split as that of the first; "
        "inmo compare says whether they differ.",
    .examples = "  inmo evaluate model.inmo data --k 5,10,20\n"
                "  inmo evaluate model.inmo data --part valid --json\n"
                "  inmo evaluate monday.inmo tuesday.inmo data\n",
    .on_ranks = 1,
    .least_arguments = 2,
    .most_arguments = SIZE_MAX,
    .settings_size = sizeof(struct evaluate_settings),
    .declare = declare,
    .run = run,
};
