/* tune.c - inmo tune: searches for the best training settings by validation. */
#include "common.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct tune_settings {
    struct cli_common common;
    struct cli_strings search;
    struct inmo_tune_options tune;
    struct cli_training training;
    struct cli_data_options data;
    const char *output;
    int top;
    struct cli_strings models; /* names of several models; empty: one */
};

#define AT(member) offsetof(struct tune_settings, member)
static const struct inmo_setting rows[] = {
    {"output", 's', AT(output), 0, 0, NULL, "Output", "DIR",
     "Directory for best.inmo (the best model), trials.html (charts) and trials.jsonl (all finished trainings); "
     "the same "
     "command continues there."},
    {"top", 'i', AT(top), 1, 1000000, NULL, "Output", "N",
     "Lines of the table; --json and the record list all trials."},
    {"search", 'l', AT(search), 0, 0, NULL, "Search", "SPACE",
     "Settings to search: NAME=FROM..TO, with :log for a log-uniform range or :N for N values of it, or "
     "NAME=VALUE|VALUE; separated by commas. NAME is an option under Model or Training below. Without it: what "
     "matters "
     "for the model, beginning with its defaults; options that are given stay as they are."},
};
/* In place of the row of training, which has one model. */
static struct inmo_setting model_row = {
    "model",
    's',
    offsetof(struct inmo_train_options, model),
    0,
    0,
    NULL,
    "Model",
    "NAME",
    "A model (inmo help train lists them), several separated by commas, or all: their trials take turns."};

static void declare(struct cli_options *options, void *structure)
{
    struct tune_settings *settings = structure;
    const struct inmo_setting *row;
    size_t count;

    settings->top = 20;
    inmo_tune_options_init(&settings->tune);
    cli_add_table(options, rows, sizeof rows / sizeof *rows, settings);
    row = inmo_tune_settings(&count);
    cli_add_table(options, row, count, &settings->tune);
    cli_add_training(options, &settings->training, inmo_train_settings_of_model(), &model_row);
    /* As of train: no test part is needed. The seed of the search is that of the split, too. */
    cli_add_data(options, &settings->data, "90/10/0");
    cli_add_common(options, &settings->common, CLI_JSON);
}

static enum inmo_status begin(struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct tune_settings *settings = structure;
    const char *model = cli_given(options, "model");

    if (model && !strcmp(model, "all"))
        for (size_t n = 0; inmo_tune_model(n); n++)
            cli_strings_add(&settings->models, cli_copy(inmo_tune_model(n)));
    else if (model && strchr(model, ','))
        cli_split(model, ',', &settings->models);
    return cli_begin_training(options, &settings->training,
                              settings->models.count ? settings->models.value[0] : model, error);
}

/* ---- Printing ------------------------------------------------------------------------------------------------ */

/* How a raw log was read and split. */
static void put_data_options(FILE *stream, const struct cli_options *options, const struct tune_settings *settings)
{
    for (size_t t = 0; t < options->table_count; t++) {
        const struct cli_table *table = &options->table[t];
        for (size_t r = 0;
             (table->structure == &settings->data.read || table->structure == &settings->data.prepare) &&
             r < table->count;
             r++) {
            const char *given = cli_given(options, table->row[r].name);
            if (!given || !strcmp(table->row[r].name, "seed")) /* the seed is among the settings */
                continue;
            if (table->row[r].type == 'b') {
                fprintf(stream, " --%s%s", strcmp(given, "yes") ? "no-" : "", table->row[r].name);
                continue;
            }
            fprintf(stream, " --%s ", table->row[r].name);
            cli_put_quoted(stream, given);
        }
    }
}

/* The command that trains with the best settings; lists only differences from the recipe. */
static char *best_command(const struct cli_options *options, const char *data, int raw,
                          const struct tune_settings *settings, const struct inmo_train_options *best)
{
    struct inmo_train_options usual;
    size_t count = inmo_train_settings_of_model(), all, size = 0;
    const struct inmo_setting *row = inmo_train_settings(&all);
    const char *recipe = settings->training.recipe;
    char *text = NULL;
    int failed;
    FILE *stream = open_memstream(&text, &size);

    if (!stream)
        cli_end_for_memory();
    if (inmo_train_options_init(&usual, best->model, recipe, NULL)) {
        fclose(stream);
        free(text);
        return cli_copy("");
    }
    fputs("inmo train ", stream);
    cli_put_quoted(stream, data);
    fprintf(stream, " -o best.inmo --model %s --recipe %.*s", best->model, (int)strcspn(recipe, ":"), recipe);
    if (strchr(recipe, ':'))
        fprintf(stream, " --like %s", strchr(recipe, ':') + 1);
    for (size_t n = 0; n < count; n++) {
        char value[256], ordinary[256];
        inmo_setting_text(&row[n], best, value, sizeof value);
        inmo_setting_text(&row[n], &usual, ordinary, sizeof ordinary);
        if (row[n].offset == offsetof(struct inmo_train_options, model) || !strcmp(value, ordinary))
            continue;
        if (row[n].type == 'b') {
            fprintf(stream, " --%s%s", strcmp(value, "yes") ? "no-" : "", row[n].name);
            continue;
        }
        fprintf(stream, " --%s ", row[n].name);
        cli_put_quoted(stream, value);
    }
    if (raw)
        put_data_options(stream, options, settings);
    failed = ferror(stream);
    failed |= fclose(stream);
    if (failed || !text)
        cli_end_for_memory();
    return text;
}

static json_t *trial_json(const struct inmo_tune_report *report, const struct inmo_tune_trial *trial)
{
    json_t *values = json_object();
    char text[CLI_SENTENCE];
    for (size_t n = 0; n < report->setting_count; n++) {
        json_t *number = NULL;
        if (!*trial->value[n] || !strcmp(report->setting[n], "model"))
            continue;
        number = cli_json_parsed(trial->value[n]); /* a word is not JSON */
        json_object_set_new(values, report->setting[n],
                            json_is_number(number) ? json_incref(number) : cli_json_text(trial->value[n]));
        json_decref(number);
    }
    return json_pack("{si so so si so so so so}", "trial", trial->number, "model", cli_json_text(trial->model),
                     "settings", values, "epochs", trial->epochs, "seconds", cli_json_number(trial->seconds),
                     "ndcg@20", cli_json_number(trial->score), "deviation", cli_json_number(trial->deviation),
                     "error", trial->error ? cli_json_text(cli_flags(trial->error, text)) : json_null());
}

static void print_json(const struct tune_settings *settings, const struct inmo_tune_report *report,
                       const char *command)
{
    json_t *trials = json_array();
    for (size_t n = 0; n < report->trial_count; n++)
        json_array_append_new(trials, trial_json(report, &report->trial[n]));
    cli_json_put(stdout,
                 json_pack("{ss so si si so ss so so so so}", "method", settings->tune.method, "trials", trials,
                           "planned", report->planned, "trained", report->trained, "seconds",
                           cli_json_number(report->seconds), "stopped", report->stopped, "command",
                           *command ? cli_json_text(command) : json_null(), "best_model",
                           report->best_model ? cli_json_text(report->best_model) : json_null(), "page",
                           cli_json_text(report->page), "output", cli_json_text(settings->output)),
                 1);
}

static int width_of(const struct inmo_tune_report *report, size_t setting)
{
    size_t width = strlen(report->setting[setting]);
    for (size_t n = 0; n < report->trial_count; n++)
        if (strlen(report->trial[n].value[setting]) > width)
            width = strlen(report->trial[n].value[setting]);
    return (int)width;
}

static void print_score(const struct inmo_tune_trial *trial)
{
    char text[CLI_SENTENCE];
    if (trial->error)
        printf("  failed: %s", cli_flags(trial->error, text));
    else if (isfinite(trial->deviation))
        printf("  %7.5f  %9.5f", trial->score, trial->deviation);
    else
        printf("  %7.5f  %9s", trial->score, "-");
}

static void print_epochs(const struct inmo_tune_trial *trial)
{
    if (trial->epochs)
        printf("  %6d", trial->epochs);
    else
        printf("  %6s", "-"); /* a closed form */
}

/* One model: a column for each setting. */
static void print_columns(const struct inmo_tune_report *report, size_t shown)
{
    printf("trial");
    for (size_t a = 0; a < report->setting_count; a++)
        printf("  %*s", width_of(report, a), report->setting[a]);
    printf("  epochs  ndcg@20  deviation\n");
    for (size_t n = 0; n < shown; n++) {
        const struct inmo_tune_trial *trial = &report->trial[n];
        printf("%5d", trial->number);
        for (size_t a = 0; a < report->setting_count; a++)
            printf("  %*s", width_of(report, a), trial->value[a]);
        print_epochs(trial);
        print_score(trial);
        putchar('\n');
    }
}

/* Several models have different settings, which are listed at the end of a line. */
static void print_models(const struct inmo_tune_report *report, size_t shown)
{
    printf("trial  %-*s  epochs  seconds  ndcg@20  deviation  settings\n", width_of(report, 0), "model");
    for (size_t n = 0; n < shown; n++) {
        const struct inmo_tune_trial *trial = &report->trial[n];
        const char *between = "  ";
        printf("%5d  %-*s", trial->number, width_of(report, 0), trial->model);
        print_epochs(trial);
        printf("  %7.1f", trial->seconds);
        print_score(trial);
        for (size_t a = 1; a < report->setting_count && !trial->error; a++)
            if (*trial->value[a]) {
                printf("%s%s %s", between, report->setting[a], trial->value[a]);
                between = ", ";
            }
        putchar('\n');
    }
}

static void print_text(const struct tune_settings *settings, const struct inmo_tune_report *report,
                       const char *command)
{
    size_t shown = report->trial_count < (size_t)settings->top ? report->trial_count : (size_t)settings->top;

    if (settings->models.count)
        print_models(report, shown);
    else
        print_columns(report, shown);
    if (shown < report->trial_count)
        printf("... and %zu more in %s/trials.jsonl\n", report->trial_count - shown, settings->output);
    if (report->best_model)
        printf("model: %s\n", report->best_model);
    printf("page: %s\n", report->page);
    if (*command)
        printf("best: %s\n", command);
}

/* ---- The command --------------------------------------------------------------------------------------------- */

/* The options of each model that is searched; the caller frees them. */
static enum inmo_status list_models(const struct cli_options *options, struct tune_settings *settings,
                                    struct inmo_train_options **list, size_t *count, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    *count = settings->models.count ? settings->models.count : 1;
    *list = cli_allocate(*count, sizeof **list);
    (*list)[0] = settings->training.train;
    for (size_t n = 0; n < settings->models.count && !status; n++)
        status = cli_training_of(options, &settings->training, settings->models.value[n], &(*list)[n], error);
    return status;
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct tune_settings *settings = structure;
    const char *data = options->argument.value[0];
    struct inmo_dataset *dataset = NULL;
    struct inmo_tune_report *report = NULL;
    struct inmo_train_options *list = NULL;
    size_t models = 0;
    char *search = settings->search.count ? cli_joined(&settings->search) : NULL,
         *keep = cli_training_given(options, &settings->training), *command = NULL;
    int raw = 0;
    enum inmo_status status;

    settings->tune.search = search;
    settings->tune.keep = keep;
    if (settings->models.count)
        settings->training.train.model = settings->models.value[0];
    status = cli_open_data(options, data, &settings->data, &dataset, &raw, error);
    if (!status)
        cli_take_like(options, &settings->training, dataset);
    if (!status)
        status = list_models(options, settings, &list, &models, error);
    if (!status)
        status =
            inmo_tune_models(dataset, list, models, &settings->tune, settings->output, cli_hooks(), &report, error);
    cli_hooks_end();
    if (!status) {
        int any = report->trial_count && !report->trial[0].error;
        command = any ? best_command(options, data, raw, settings, &report->best) : cli_copy("");
        if (settings->common.json)
            print_json(settings, report, command);
        else
            print_text(settings, report, command);
        if (strcmp(report->stopped, "done")) {
            cli_note(INMO_NOTE, "stopped by --max-seconds: %zu of %d trials", report->trial_count, report->planned);
            if (!settings->common.quiet)
                cli_print_go_on(options, NULL);
        }
    } else if (status == INMO_INTERRUPTED) {
        cli_print_error(error);
        cli_print_go_on(options, NULL);
    }
    inmo_tune_report_free(report);
    inmo_dataset_free(dataset);
    cli_strings_free(&settings->models, 1);
    free(list);
    free(command);
    free(keep);
    free(search);
    return status;
}

const struct cli_command cli_tune = {
    .name = "tune",
    .arguments = "DATA",
    .summary = "search for the best training settings, or the best model, by validation",
    .description =
        "Trains on DATA, a prepared directory or a raw log (then the options for logs apply, and the split is "
        "90/10/0 "
        "percent), with different settings and compares them by validation NDCG@20; the test part is never read. "
        "The "
        "final table lists the best trials first, followed by the command that trains a model with the best "
        "settings. "
        "DIR/best.inmo is that model, ready to use; DIR/trials.html has charts of what was tried.\n\nWithout "
        "--search it "
        "searches what matters for the model, for at most 600 seconds: its defaults first, and 19 more settings, "
        "all "
        "trained briefly (a third of the epochs), the best third of them and the defaults in full. --model all "
        "does so with three "
        "settings of every model. Half of the time is for the short trainings; when it is up, those that are "
        "finished go "
        "on. So the time decides how many trials there are, never what one of them gives. With --search, settings "
        "that are not searched are given as for inmo train.\n\nDIR/trials.jsonl records every finished training. "
        "After "
        "Ctrl-C, kill -9 or --max-seconds, the same command continues where it stopped and repeats no training; a "
        "search "
        "that was not cut short by --max-seconds, or that has a --search for one model, ends with the same table "
        "as at "
        "one go. You may ask for more --trials later (not with halving); another search needs another "
        "directory.\n\n--method halving trains all trials briefly, the best third of them three times as long, and "
        "so "
        "on up to --epochs. With a cosine or eager schedule each of these is a complete training with a shorter "
        "schedule; with a constant rate it continues the previous one.",
    .examples =
        "  inmo tune data -o search\n"
        "  inmo tune ratings.csv -o search --model all --max-seconds 3600\n"
        "  inmo tune data -o search --search learning-rate=1e-3..3e-2:log,dropout=0.3..0.7 --trials 30\n"
        "  inmo tune data -o grid --method grid --search 'layers=2|3,temperature=0.05|0.1|0.2' --seeds 1,2,3\n"
        "  inmo tune data -o halving --method halving --trials 27 --search learning-rate=1e-3..1e-1:log --model "
        "inmo-mf\n",
    .least_arguments = 1,
    .most_arguments = 1,
    .required = "output",
    .settings_size = sizeof(struct tune_settings),
    .declare = declare,
    .begin = begin,
    .run = run,
};
