/* synth.c - inmo synth: a synthetic log. */
#include "common.h"

#include <stddef.h>
#include <string.h>

struct synth_settings {
    struct cli_common common;
    struct inmo_synth_options synth;
    const char *output;
};

static const struct inmo_setting rows[] = {
    {"output", 's', offsetof(struct synth_settings, output), 0, 0, NULL, "Output", "FILE",
     "File for the log, - for standard output; a name ending in .gz or .zst is compressed."},
};

static void declare(struct cli_options *options, void *structure)
{
    struct synth_settings *settings = structure;
    const struct inmo_setting *row;
    size_t count;

    inmo_synth_options_init(&settings->synth);
    cli_add_table(options, rows, sizeof rows / sizeof *rows, settings);
    row = inmo_synth_settings(&count);
    cli_add_table(options, row, count, &settings->synth);
    cli_add_common(options, &settings->common, CLI_FORCE);
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct synth_settings *settings = structure;
    enum inmo_status status = cli_check_output(settings->output, settings->common.force, error);

    (void)options;
    if (!status)
        status = inmo_synth(&settings->synth, settings->output, settings->common.force, cli_hooks(), error);
    cli_hooks_end();
    if (!status && strcmp(settings->output, "-"))
        cli_note(INMO_NOTE, "wrote %s", settings->output);
    return status;
}

const struct cli_command cli_synth = {
    .name = "synth",
    .arguments = "",
    .summary = "make a synthetic log that resembles real ones",
    .description = "Writes a tab-separated log of users and items with long tails and taste groups; the same seed "
                   "gives the same log. Items are named after their group (\"jazz-017\"), so you can judge "
                   "recommendations by eye. Memory does not grow with the number of interactions.",
    .examples = "  inmo synth -o log.tsv --interactions 1e5\n"
                "  inmo synth -o big.tsv.zst --interactions 1e8 --seed 7\n",
    .least_arguments = 0,
    .most_arguments = 0,
    .required = "output",
    .settings_size = sizeof(struct synth_settings),
    .declare = declare,
    .run = run,
};
