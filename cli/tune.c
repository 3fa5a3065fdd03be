/* tune.c - inmo tune: searches for the best training settings by validation. */
#include "common.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct tune_settings {
    struct cli_common common;
    struct cli_strings search;
    struct inmo_tune_options tune;
    struct cli_training training;
    const char *output;
    int top;
};

#define AT(member) offsetof(struct tune_settings, member)
static const struct inmo_setting rows[] = {
    {"output", 's', AT(output), 0, 0, NULL, "Output", "DIR",
     "Directory for the record of finished trainings; the same command continues there."},
    {"top", 'i', AT(top), 1, 1000000, NULL, "Output", "N",
     "Lines of the table; --json and the record list all trials."},
    {"search", 'l', AT(search), 0, 0, NULL, "Search", "SPACE",
     "Settings to search: NAME=FROM..TO, with :log for a log-uniform range or :N for N values of it, or "
     "NAME=VALUE|VALUE; separated by commas. NAME is an option under Model or Training below."},
};

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
    cli_add_training(options, &settings->training, inmo_train_settings_of_model());
    cli_add_common(options, &settings->common, CLI_JSON);
}

static enum inmo_status begin(struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct tune_settings *settings = structure;
    return cli_begin_training(options, &settings->training, error);
}

/* ---- Printing ------------------------------------------------------------------------------------------------ */

/* The command that trains with the best settings; lists only differences from the recipe. */
static char *best_command(const char *data, const struct tune_settings *settings,
                          const struct inmo_train_options *best)
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
        json_t *number = cli_json_parsed(trial->value[n]); /* a word is not JSON */
        json_object_set_new(values, report->setting[n],
                            json_is_number(number) ? json_incref(number) : cli_json_text(trial->value[n]));
        json_decref(number);
    }
    return json_pack("{si so si so so so}", "trial", trial->number, "settings", values, "epochs", trial->epochs,
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
                 json_pack("{ss so si si so ss so so}", "method", settings->tune.method, "trials", trials,
                           "planned", report->planned, "trained", report->trained, "seconds",
                           cli_json_number(report->seconds), "stopped", report->stopped, "command",
                           *command ? cli_json_text(command) : json_null(), "output",
                           cli_json_text(settings->output)),
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

static void print_text(const struct tune_settings *settings, const struct inmo_tune_report *report,
                       const char *command)
{
    size_t shown = report->trial_count < (size_t)settings->top ? report->trial_count : (size_t)settings->top;

    printf("trial");
    for (size_t a = 0; a < report->setting_count; a++)
        printf("  %*s", width_of(report, a), report->setting[a]);
    printf("  epochs  ndcg@20  deviation\n");
    for (size_t n = 0; n < shown; n++) {
        const struct inmo_tune_trial *trial = &report->trial[n];
        char text[CLI_SENTENCE];
        printf("%5d", trial->number);
        for (size_t a = 0; a < report->setting_count; a++)
            printf("  %*s", width_of(report, a), trial->value[a]);
        printf("  %6d", trial->epochs);
        if (trial->error)
            printf("  failed: %s\n", cli_flags(trial->error, text));
        else if (isfinite(trial->deviation))
            printf("  %7.5f  %9.5f\n", trial->score, trial->deviation);
        else
            printf("  %7.5f  %9s\n", trial->score, "-");
    }
    if (shown < report->trial_count)
        printf("... and %zu more in %s/trials.jsonl\n", report->trial_count - shown, settings->output);
    if (*command)
        printf("best: %s\n", command);
}

/* ---- The command --------------------------------------------------------------------------------------------- */

static enum inmo_status open_data(const char *path, struct inmo_dataset **dataset, struct inmo_error *error)
{
    struct stat found;
    /* A raw log would be split again by each command; all trials must use the same parts. */
    if (!stat(path, &found) && !S_ISDIR(found.st_mode))
        return cli_fail(error, INMO_USAGE, "%s is a file, expected a prepared data set; inmo prepare makes one",
                        path);
    return inmo_dataset_open(path, dataset, error);
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct tune_settings *settings = structure;
    const char *data = options->argument.value[0];
    struct inmo_dataset *dataset = NULL;
    struct inmo_tune_report *report = NULL;
    char *search = cli_joined(&settings->search), *command = NULL;
    enum inmo_status status;

    settings->tune.search = search;
    status = open_data(data, &dataset, error);
    if (!status)
        cli_take_like(options, &settings->training, dataset);
    if (!status)
        status = inmo_tune(dataset, &settings->training.train, &settings->tune, settings->output, cli_hooks(),
                           &report, error);
    cli_hooks_end();
    if (!status) {
        int any = report->trial_count && !report->trial[0].error;
        command = any ? best_command(data, settings, &report->best) : cli_copy("");
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
    free(command);
    free(search);
    return status;
}

const struct cli_command cli_tune = {
    .name = "tune",
    .arguments = "DATA",
    .summary = "search for the best training settings by validation",
    .description =
        "Trains on DATA, a prepared directory, with different settings and compares them by validation NDCG@20; "
        "the test part is never read. Give settings that are not searched as for inmo train. The final table lists "
        "the best trials first, followed by the command that trains a model with the best "
        "settings.\n\nDIR/trials.jsonl records every finished training. After Ctrl-C, kill -9 or --max-seconds, "
        "the same command continues where it stopped, repeats no training, and ends with the same table. You may "
        "ask for more --trials later (not with halving); another search needs another directory.\n\n--method "
        "halving trains all trials briefly, the best third of them three times as long, and so on up to --epochs. "
        "With a cosine or eager schedule each of these is a complete training with a shorter schedule; with a "
        "constant rate it continues the previous one.",
    .examples =
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
