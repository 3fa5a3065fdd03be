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

static json_t *group_json(const struct inmo_group *group, size_t k_count)
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

static void print_json(const struct cli_options *options, const struct evaluate_settings *settings,
                       const struct inmo_model_info *info, const struct inmo_report *report)
{
    json_t *groups = json_object();
    for (size_t g = 1; g < report->group_count; g++)
        json_object_set_new(groups, report->group[g].name,
                            json_pack("{sI so}", "users", (json_int_t)report->group[g].users, "metrics",
                                      group_json(&report->group[g], report->k_count)));
    cli_json_put(stdout,
                 json_pack("{so ss so ss sI so so so so}", "model", cli_json_text(options->argument.value[0]),
                           "name", info->name, "data", cli_json_text(options->argument.value[1]), "part",
                           settings->eval.part, "users", (json_int_t)report->group[0].users, "metrics",
                           group_json(&report->group[0], report->k_count), "groups", groups, "seconds",
                           cli_json_number(report->seconds), "inference_seconds",
                           cli_json_number(report->inference_seconds)),
                 1);
}

static void print_text(const struct cli_options *options, const struct evaluate_settings *settings,
                       const struct inmo_model_info *info, const struct inmo_report *report)
{
    size_t widest = strlen("group");
    for (size_t g = 0; g < report->group_count; g++)
        if (strlen(report->group[g].name) > widest)
            widest = strlen(report->group[g].name);
    printf("%s (%s) on the %s part of %s\n\n", options->argument.value[0], info->name,
           strcmp(settings->eval.part, "valid") ? "test" : "validation", options->argument.value[1]);
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

/* A raw log is split as the model's data was, where the command line does not say otherwise: so nothing that the
 * model was trained on is in the test. The settings point into the returned JSON. */
static json_t *follow_model(const struct cli_options *options, const struct inmo_model *model,
                            struct cli_data_options *data)
{
    const char *preparation = inmo_model_preparation(model);
    json_t *json = preparation ? cli_json_parsed(preparation) : NULL;
    const struct inmo_setting *row;
    size_t count;

    row = inmo_prepare_settings(&count);
    for (size_t n = 0; n < count; n++) {
        json_t *value = json_object_get(json, row[n].name);
        char *text = json_is_number(value) ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)) : NULL;
        const char *given = text ? text : json_string_value(value);
        if (given && !cli_given(options, row[n].name))
            inmo_setting_set(&row[n], &data->prepare, given);
        free(text);
    }
    return json;
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

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct evaluate_settings *settings = structure;
    struct inmo_model *model = NULL;
    struct inmo_dataset *dataset = NULL;
    struct inmo_report *report = NULL;
    struct inmo_model_info info;
    struct stat found;
    struct inmo_leaks leaks = {0};
    json_t *preparation = NULL;
    int raw = 0;
    enum inmo_status status = inmo_model_load(options->argument.value[0], &model, error);

    if (status == INMO_FORMAT && !stat(options->argument.value[0], &found) &&
        (S_ISDIR(found.st_mode) || strstr(error->message, "does not begin as one")))
        cli_add_hint(error, "; the model comes first: inmo evaluate MODEL DATA");
    if (!status)
        preparation = follow_model(options, model, &settings->data);
    if (!status)
        status = cli_check_memory(error);
    if (!status)
        status = cli_open_data(options, options->argument.value[1], &settings->data, &dataset, &raw, error);
    if (!status && raw)
        status = choose_part(options, dataset, settings, error);
    if (!status && settings->eval.allow_leaks)
        status = inmo_evaluate_leaks(model, dataset, settings->eval.part, &leaks, error);
    if (leaks.trained > 0 || leaks.validated > 0)
        cli_note(INMO_WARNING,
                 "of the %lld interactions to predict the model was trained on %lld and validated with %lld",
                 (long long)leaks.interactions, (long long)leaks.trained, (long long)leaks.validated);
    if (!status)
        status = evaluate(model, dataset, &settings->eval, &report, error);
    if (!status) {
        inmo_model_info(model, &info);
        if (settings->common.json)
            print_json(options, settings, &info, report);
        else
            print_text(options, settings, &info, report);
    }
    inmo_report_free(report);
    json_decref(preparation);
    inmo_dataset_free(dataset);
    inmo_model_free(model);
    return status;
}

const struct cli_command cli_evaluate = {
    .name = "evaluate",
    .arguments = "MODEL DATA",
    .summary = "measure recall, precision, NDCG and more on the test part",
    .description = "Ranks all items for every user with test items, except those of the training and validation "
                   "parts, and prints recall, precision, NDCG, hit rate, MRR, MAP, coverage, novelty (bits of "
                   "surprise: rare items have more) "
                   "and diversity (how few users two items of a list share) at each k, for all "
                   "users and for groups of users. In the inductive scenarios new interactions are observed, "
                   "unless --without-new is given, without retraining.\n\nA raw log is split as the model's data "
                   "was (--split, --by and --seed override it), so that nothing the model was trained on is in the "
                   "test. If something is, nothing is evaluated (--allow-leaks).",
    .examples = "  inmo evaluate model.inmo data --k 5,10,20\n"
                "  inmo evaluate model.inmo data --part valid --json\n",
    .least_arguments = 2,
    .most_arguments = 2,
    .settings_size = sizeof(struct evaluate_settings),
    .declare = declare,
    .run = run,
};
