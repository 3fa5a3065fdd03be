/* reproduce.c - inmo reproduce: the paper's tables and figures on a log. */
#include "common.h"
#include "lab/reproduce.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct reproduce_settings {
    struct cli_common common;
    struct inmo_reproduce_options reproduce;
    struct inmo_read_options read;
    const char *data, *output;
};

#define AT(member) offsetof(struct reproduce_settings, member)
static const struct inmo_setting rows[] = {
    {"data", 's', AT(data), 0, 0, NULL, "Input and output", "LOG|DIR",
     "A log, or a prepared directory (its parts are joined; every seed makes its own split)."},
    {"output", 's', AT(output), 0, 0, NULL, "Input and output", "DIR",
     "Directory for the report and the finished runs; the same command continues there."},
};

static void declare(struct cli_options *options, void *structure)
{
    struct reproduce_settings *settings = structure;
    const struct inmo_setting *row;
    size_t count;

    inmo_reproduce_options_init(&settings->reproduce);
    inmo_read_options_init(&settings->read);
    cli_add_table(options, rows, sizeof rows / sizeof *rows, settings);
    row = inmo_reproduce_settings(&count);
    cli_add_table(options, row, count, &settings->reproduce);
    row = inmo_read_settings(&count);
    cli_add_table(options, row, count, &settings->read);
    cli_add_common(options, &settings->common, CLI_JSON);
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct reproduce_settings *settings = structure;
    struct inmo_reproduce_report *report = NULL;
    char *what = NULL;
    enum inmo_status status;

    if (!settings->data)
        return cli_fail(error, INMO_USAGE,
                        "--data is missing: a log or a prepared directory (inmo help reproduce)");
    what = cli_joined(&options->argument);
    settings->reproduce.what = what;
    status = inmo_reproduce(settings->data, &settings->read, &settings->reproduce, settings->output, cli_hooks(),
                            &report, error);
    cli_hooks_end();
    if (!status) {
        fputs(settings->common.json ? report->json : report->markdown, stdout);
        if (settings->common.json)
            putchar('\n');
        cli_note(INMO_NOTE, "%d runs, %d of them trained now; %s/report.html has the pictures", report->runs,
                 report->trained, settings->output);
    } else if (status == INMO_INTERRUPTED) {
        cli_print_error(error);
        cli_print_go_on(options, NULL);
    }
    inmo_reproduce_report_free(report);
    free(what);
    return status;
}

const struct cli_command cli_reproduce = {
    .name = "reproduce",
    .arguments = "WHAT...",
    .summary = "reproduce the paper's tables and figures on a log",
    .description =
        "WHAT is all, or some of\n"
        "  table1      the data\n"
        "  table2      transductive recommendation, every model\n"
        "  table3      new interactions: not used, observed, or trained on\n"
        "  table4      new users and new items\n"
        "  table5      ablation of annealing and dropping\n"
        "  error       error term against the share of non-templates\n"
        "  time        retraining against inference\n"
        "  templates   NDCG against the share of templates, for three selection rules\n"
        "  beta        NDCG against the weight of the self-enhanced loss\n"
        "  annealing   training with and without annealing\n\n"
        "Splits, trains and evaluates for every seed, and "
        "writes DIR/report.html (tables with mean and standard deviation, figures, tests of the paper's claims; "
        "self-contained), DIR/report.md and DIR/report.json. Prints report.md. If the data set is one of the "
        "paper's, the report shows the paper's numbers, too.\n\nDIR/runs keeps every finished training, named by a "
        "hash of the data, the split and all settings, and none is repeated. After an interruption, also by kill "
        "-9, the same command continues and ends with the same numbers; other experiments on the same data share "
        "runs. An estimate of the time is printed first. A system that cannot do an experiment has a backslash in "
        "the table, with the reason below.",
    .examples = "  inmo reproduce table4 --data log.tsv --seeds 1 -o out\n"
                "  inmo reproduce all --data ratings.csv -o out\n"
                "  inmo reproduce table2 table3 --data gowalla.tsv --columns user,item,- --recipe paper --only "
                "lightgcn,inmo-lightgcn -o paper\n",
    .least_arguments = 1,
    .most_arguments = 100,
    .required = "output",
    .settings_size = sizeof(struct reproduce_settings),
    .declare = declare,
    .run = run,
};
