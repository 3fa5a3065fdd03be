/* man.c - inmo man: the manual page and docs/cli.md, made from the option tables. */
#include "common.h"

#include <stddef.h>

struct man_settings {
    struct cli_common common;
    int markdown;
};

static const struct inmo_setting rows[] = {
    {"markdown", 'b', offsetof(struct man_settings, markdown), 0, 0, NULL, "Output", NULL,
     "Print the reference as Markdown (docs/cli.md) instead of troff."},
};

static void declare(struct cli_options *options, void *structure)
{
    cli_add_table(options, rows, sizeof rows / sizeof *rows, structure);
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    const struct man_settings *settings = structure;
    (void)options;
    (void)error;
    (settings->markdown ? cli_print_markdown : cli_print_manual)(stdout);
    return INMO_OK;
}

const struct cli_command cli_man = {
    .name = "man",
    .arguments = "",
    .summary = "print the manual page",
    .description = "Prints the manual page in troff, made from the option tables.",
    .examples = "  inmo man > inmo.1\n  inmo man | man -l -\n",
    .least_arguments = 0,
    .most_arguments = 0,
    .settings_size = sizeof(struct man_settings),
    .declare = declare,
    .run = run,
};
