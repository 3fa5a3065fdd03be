/* manual.c - the same tables as a manual page (troff, man macros) and as docs/cli.md.
 *
 * One walk over commands, headings and rows, with three functions that format them. */
#include "options.h"

#include <stdlib.h>
#include <string.h>

/* Escapes text for troff: backslashes, dashes, and a dot or quote at the start of a line. */
static void put_troff(FILE *stream, const char *text)
{
    int line_begins = 1;
    for (; *text; text++) {
        if (line_begins && (*text == '.' || *text == '\''))
            fputs("\\&", stream);
        if (*text == '\\')
            fputs("\\e", stream);
        else if (*text == '-')
            fputs("\\-", stream);
        else
            fputc(*text, stream);
        line_begins = *text == '\n';
    }
}

/* Paragraphs separated by an empty line; lines that begin with a space are a list, put between begin and end. */
static void put_paragraphs(FILE *stream, const char *text, void (*put)(FILE *, const char *), const char *empty,
                           const char *begin, const char *end)
{
    int in_list = 0;
    while (*text) {
        size_t length = strcspn(text, "\n");
        char *line = cli_format("%.*s", (int)length, text);
        if (in_list != (*line == ' '))
            fputs(in_list ? end : begin, stream);
        in_list = *line == ' ';
        put(stream, line);
        fputs(*line ? "\n" : empty, stream);
        free(line);
        text += length + (text[length] != 0);
    }
    if (in_list)
        fputs(end, stream);
}

static void put_plain(FILE *stream, const char *text)
{
    fputs(text, stream);
}

/* Escapes vertical bars, which would end a cell of a Markdown table. */
static void put_cell(FILE *stream, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            fputc('\\', stream);
        fputc(*text, stream);
    }
}

static void troff_command(FILE *stream, const struct cli_options *options)
{
    const struct cli_command *command = options->command;
    const struct inmo_setting *required = command->required ? cli_find(options, command->required) : NULL;

    fprintf(stream, ".SS \"inmo %s%s%s", command->name, *command->arguments ? " " : "", command->arguments);
    if (required)
        fprintf(stream, " \\-%c %s", cli_short_name(required->name), required->value);
    fprintf(stream, " [options]\"\n");
    put_paragraphs(stream, command->description, put_troff, ".PP\n", ".nf\n", ".fi\n");
}

static void troff_heading(FILE *stream, const char *heading)
{
    fprintf(stream, ".PP\n.I ");
    put_troff(stream, heading);
    fputs(":\n", stream);
}

static void troff_row(FILE *stream, const struct inmo_setting *row, const void *structure)
{
    char usage[128], note[768];

    cli_row_usage(row, structure, usage, sizeof usage);
    cli_row_note(row, structure, note, sizeof note);
    fputs(".TP\n.B ", stream);
    put_troff(stream, usage + strspn(usage, " "));
    fputc('\n', stream);
    put_troff(stream, row->help);
    if (*note) {
        fputs("\n[", stream);
        put_troff(stream, note);
        fputc(']', stream);
    }
    fputc('\n', stream);
}

static void markdown_command(FILE *stream, const struct cli_options *options)
{
    const struct cli_command *command = options->command;
    const struct inmo_setting *required = command->required ? cli_find(options, command->required) : NULL;

    fprintf(stream, "\n## inmo %s\n\n```\ninmo %s%s%s", command->name, command->name,
            *command->arguments ? " " : "", command->arguments);
    if (required)
        fprintf(stream, " -%c %s", cli_short_name(required->name), required->value);
    fprintf(stream, " [options]\n```\n\n");
    put_paragraphs(stream, command->description, put_plain, "\n", "\n```\n", "```\n");
    if (command->examples)
        fprintf(stream, "\n```sh\n%s```\n", command->examples);
}

static void markdown_heading(FILE *stream, const char *heading)
{
    fprintf(stream, "\n| %s | |\n|---|---|\n", heading);
}

static void markdown_row(FILE *stream, const struct inmo_setting *row, const void *structure)
{
    char usage[128], note[768];

    cli_row_usage(row, structure, usage, sizeof usage);
    cli_row_note(row, structure, note, sizeof note);
    fputs("| `", stream);
    put_cell(stream, usage + strspn(usage, " "));
    fputs("` | ", stream);
    put_cell(stream, row->help);
    if (*note) {
        fputs(" [", stream);
        put_cell(stream, note);
        fputc(']', stream);
    }
    fputs(" |\n", stream);
}

static void walk(FILE *stream, void (*put_command)(FILE *, const struct cli_options *),
                 void (*put_heading)(FILE *, const char *),
                 void (*put_row)(FILE *, const struct inmo_setting *, const void *))
{
    for (size_t n = 0; cli_commands[n]; n++) {
        struct cli_options options;
        struct cli_strings headings = {0};
        cli_options_start(&options, cli_commands[n]);
        put_command(stream, &options);
        cli_headings(&options, &headings);
        for (size_t h = 0; h < headings.count; h++) {
            const struct inmo_setting *row;
            const void *structure;
            size_t position = 0;
            int first = 1;
            while (cli_next_row(&options, headings.value[h], &position, &row, &structure)) {
                if (first)
                    put_heading(stream, headings.value[h]);
                first = 0;
                put_row(stream, row, structure);
            }
        }
        cli_strings_free(&headings, 0);
        cli_options_free(&options);
    }
}

/* Text shared by both forms. */
static const char about[] =
    "inmo trains recommenders on a log of interactions and uses them for users and items the model has never seen: "
    "an INMO model computes embeddings from template users and items, without retraining. Each step is a command.";
static const char about_config[] = "--config FILE reads options from a file: a JSON object {\"dim\": 64}, or lines "
                                   "\"dim = 64\" with # comments. The command line takes precedence.";
static const char about_streams[] =
    "Results go to standard output, progress and messages to standard error. Output files are replaced only when "
    "complete, so a failure leaves existing files unchanged. The same input, options and seed give the same bytes "
    "at any number of threads. Ctrl-C stops training with a checkpoint and says how to continue; a second Ctrl-C "
    "stops at once.";

void cli_print_manual(FILE *stream)
{
    fprintf(stream, ".\\\" Made by `inmo man` from the option tables.\n"
                    ".TH INMO 1 \"\" \"inmo " INMO_VERSION "\" \"User Commands\"\n"
                    ".SH NAME\ninmo \\- recommendations for users and items a model has never seen\n"
                    ".SH SYNOPSIS\n.B inmo\n.I COMMAND\n[arguments] [options]\n.br\n.B inmo help\n.I COMMAND\n"
                    ".br\n.B inmo \\-\\-version\n.SH DESCRIPTION\n");
    put_troff(stream, about);
    fputs("\n.PP\n", stream);
    put_troff(stream, about_streams);
    fputs("\n.PP\n", stream);
    put_troff(stream, about_config);
    fputs("\n.SH COMMANDS\n", stream);
    walk(stream, troff_command, troff_heading, troff_row);
    fputs(".SH EXIT STATUS\n", stream);
#define PUT_CODE(name, code, meaning)                                                                              \
    fprintf(stream, ".TP\n.B %d\n", code);                                                                         \
    put_troff(stream, meaning);                                                                                    \
    fputc('\n', stream);
    INMO_STATUS_LIST(PUT_CODE)
#undef PUT_CODE
    fputs(".SH EXAMPLES\n", stream);
    for (size_t n = 0; cli_commands[n]; n++) {
        if (!cli_commands[n]->examples)
            continue;
        fputs(".PP\n.nf\n", stream);
        put_troff(stream, cli_commands[n]->examples);
        fputs(".fi\n", stream);
    }
}

void cli_print_markdown(FILE *stream)
{
    fprintf(stream,
            "# The program\n\n"
            "<!-- Made by `inmo man --markdown` from the option tables; a test compares. -->\n\n"
            "%s\n\n%s\n\n%s\n\n| command | |\n|---|---|\n",
            about, about_streams, about_config);
    for (size_t n = 0; cli_commands[n]; n++)
        fprintf(stream, "| [%s](#inmo-%s) | %s |\n", cli_commands[n]->name, cli_commands[n]->name,
                cli_commands[n]->summary);
    walk(stream, markdown_command, markdown_heading, markdown_row);
    fputs("\n## Exit codes\n\n| code | name | meaning |\n|---|---|---|\n", stream);
#define PUT_CODE(name, code, meaning) fprintf(stream, "| %d | %s | %s |\n", code, #name, meaning);
    INMO_STATUS_LIST(PUT_CODE)
#undef PUT_CODE
}
