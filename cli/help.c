/* help.c - --help of the program and of each command, and the same as JSON, from the tables (options.h). */
#include "common.h"

#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMN = 29, HELP_WIDTH = 100 };

void cli_headings(const struct cli_options *options, struct cli_strings *headings)
{
    for (size_t t = 0; t < options->table_count; t++) {
        for (size_t r = 0; r < options->table[t].count; r++) {
            const char *group = options->table[t].row[r].group;
            int known = 0;
            for (size_t n = 0; n < headings->count; n++)
                known |= !strcmp(headings->value[n], group);
            if (!known)
                cli_strings_add(headings, group);
        }
    }
}

int cli_next_row(const struct cli_options *options, const char *heading, size_t *position,
                 const struct inmo_setting **row, const void **structure)
{
    size_t n = 0;
    for (size_t t = 0; t < options->table_count; t++) {
        for (size_t r = 0; r < options->table[t].count; r++, n++) {
            const struct inmo_setting *candidate = &options->table[t].row[r];
            const char *model = options->help ? cli_given(options, "model") : NULL;
            if (n < *position || strcmp(candidate->group, heading) ||
                cli_find(options, candidate->name) != candidate ||
                (model && !inmo_train_setting_applies(candidate->name, model)))
                continue;
            *position = n + 1;
            *row = candidate;
            *structure = options->table[t].structure;
            return 1;
        }
    }
    return 0;
}

void cli_row_usage(const struct inmo_setting *row, const void *structure, char *text, size_t size)
{
    char letter = cli_short_name(row->name);
    int on = row->type == 'b' && *(const int *)((const char *)structure + row->offset);
    int used = letter ? snprintf(text, size, "-%c, ", letter) : snprintf(text, size, "    ");

    used += snprintf(text + used, size - (size_t)used, "--%s%s", on ? "[no-]" : "", row->name);
    if (row->type != 'b')
        snprintf(text + used, size - (size_t)used, " %s", row->value ? row->value : "VALUE");
}

void cli_row_note(const struct inmo_setting *row, const void *structure, char *text, size_t size)
{
    char expected[512] = "", value[256];
    int is_number = row->type == 'i' || row->type == 'u' || row->type == 'r';

    if (is_number || row->choices)
        inmo_setting_expected(row, expected, sizeof expected);
    inmo_setting_text(row, structure, value, sizeof value);
    text[0] = 0;
    if (row->type == 'l')
        snprintf(text, size, "may be given more than once");
    else if (*expected && *value)
        snprintf(text, size, "%s; default %s", expected, value);
    else if (*value)
        snprintf(text, size, "default %s", value);
    else
        snprintf(text, size, "%s", expected);
}

/* Prints text from column `at`, wrapped at HELP_WIDTH and indented. Lines that begin with a space stay as they are.
 * Ends with a newline. */
static void print_wrapped(FILE *stream, const char *text, int at, int indent)
{
    while (*text) {
        int length = (int)strcspn(text, " \n");
        if (text[0] == '\n' && text[1] == ' ') {
            length = (int)strcspn(text + 1, "\n");
            fprintf(stream, "\n%*s%.*s", indent, "", length, text + 1);
            text += 1 + length;
            continue;
        }
        if (text[0] == '\n' && text[1] == '\n') {
            fprintf(stream, "\n\n%*s", indent, "");
            at = indent;
            text += 2;
            continue;
        }
        if (length) {
            if (at > indent && at + 1 + length > HELP_WIDTH) {
                fprintf(stream, "\n%*s", indent, "");
                at = indent;
            } else if (at > indent) {
                fputc(' ', stream);
                at++;
            }
            fprintf(stream, "%.*s", length, text);
            at += length;
        }
        text += length;
        text += *text == ' ' || (*text == '\n' && text[1] != '\n' && text[1] != ' ');
    }
    fputc('\n', stream);
}

/* The next of "name: what it is; name: what it is" in the help of a row with choices: its length, 0 at the end. A
 * list of one is none. */
static size_t next_choice(const struct inmo_setting *row, const char *text)
{
    for (const char *end = text; (end = strstr(end, "; ")); end += 2)
        for (const char *name = row->choices; name && *name; name += strcspn(name, "|"), name += *name == '|') {
            size_t length = strcspn(name, "|");
            if (!strncmp(end + 2, name, length) && end[2 + length] == ':')
                return (size_t)(end + 2 - text);
        }
    return 0;
}

static void print_row(FILE *stream, const struct inmo_setting *row, const void *structure)
{
    char usage[128], note[768];
    const char *help = row->help;
    char *sentence;
    size_t length;
    int width;

    cli_row_usage(row, structure, usage, sizeof usage);
    cli_row_note(row, structure, note, sizeof note);
    width = fprintf(stream, "  %s", usage);
    if (width + 2 > HELP_COLUMN)
        fprintf(stream, "\n%*s", HELP_COLUMN, "");
    else
        fprintf(stream, "%*s", HELP_COLUMN - width, "");
    for (; (length = next_choice(row, help)); help += length) {
        char *choice = cli_format("%.*s", (int)length - 1, help);
        print_wrapped(stream, choice, HELP_COLUMN, HELP_COLUMN);
        fprintf(stream, "%*s", HELP_COLUMN, "");
        free(choice);
    }
    sentence = *note ? cli_format("%s [%s]", help, note) : cli_copy(help);
    print_wrapped(stream, sentence, HELP_COLUMN, HELP_COLUMN);
    free(sentence);
}

static void print_exit_codes(FILE *stream)
{
    fprintf(stream, "\nExit codes:\n");
#define PRINT_CODE(name, code, meaning) fprintf(stream, "  %2d  %s\n", code, meaning);
    INMO_STATUS_LIST(PRINT_CODE)
#undef PRINT_CODE
}

void cli_print_command_help(FILE *stream, const struct cli_options *options)
{
    const struct cli_command *command = options->command;
    const struct inmo_setting *required = command->required ? cli_find(options, command->required) : NULL;
    struct cli_strings headings = {0};

    fprintf(stream, "Usage: inmo %s%s%s", command->name, *command->arguments ? " " : "", command->arguments);
    if (required)
        fprintf(stream, " -%c %s", cli_short_name(required->name), required->value);
    fprintf(stream, " [options]\n\n");
    print_wrapped(stream, command->description, 0, 0);
    cli_headings(options, &headings);
    for (size_t h = 0; h < headings.count; h++) {
        const struct inmo_setting *row;
        const void *structure;
        size_t position = 0;
        int first = 1;
        while (cli_next_row(options, headings.value[h], &position, &row, &structure)) {
            if (first)
                fprintf(stream, "\n%s:\n", headings.value[h]);
            first = 0;
            print_row(stream, row, structure);
        }
    }
    fprintf(stream, "%s  -h, --help%*sThis text.\n", headings.count ? "" : "\n", HELP_COLUMN - 12, "");
    if (command->examples)
        fprintf(stream, "\nExamples:\n%s", command->examples);
    print_exit_codes(stream);
    cli_strings_free(&headings, 0);
}

void cli_print_command_json(FILE *stream, const struct cli_options *options)
{
    json_t *rows = json_array();
    struct cli_strings headings = {0};

    cli_headings(options, &headings);
    for (size_t h = 0; h < headings.count; h++) {
        const struct inmo_setting *row;
        const void *structure;
        size_t position = 0;
        while (cli_next_row(options, headings.value[h], &position, &row, &structure)) {
            char value[256], expected[512], type[2] = {row->type, 0};
            json_t *object;
            inmo_setting_text(row, structure, value, sizeof value);
            inmo_setting_expected(row, expected, sizeof expected);
            object = json_pack("{ss ss ss ss ss ss}", "name", row->name, "type", type, "group", row->group,
                               "default", value, "expected", expected, "help", row->help);
            json_array_append_new(rows, object);
        }
    }
    cli_json_put(stream, rows, 1);
    cli_strings_free(&headings, 0);
}

void cli_print_program_help(FILE *stream)
{
    fprintf(stream, "inmo " INMO_VERSION " - recommendations for users and items the model has never seen\n\n"
                    "Usage: inmo COMMAND [arguments] [options]\n\n"
                    "Commands, in the order the data takes:\n");
    for (size_t n = 0; cli_commands[n]; n++)
        fprintf(stream, "  %-10s %s\n", cli_commands[n]->name, cli_commands[n]->summary);
    fprintf(stream,
            "\n"
            "  inmo help COMMAND     all options of a command, with their defaults (also inmo COMMAND --help)\n"
            "  inmo help train --model ease    those of one model, with its defaults\n"
            "  inmo --version        the version\n\n"
            "A first try:\n"
            "  inmo synth -o log.tsv --interactions 20000\n"
            "  inmo prepare log.tsv -o data\n"
            "  inmo train data -o model.inmo --dim 32 --epochs 20\n"
            "  inmo evaluate model.inmo data\n"
            "  inmo recommend model.inmo --items ITEM,ITEM,ITEM\n\n"
            "Results go to standard output, progress and messages to standard error.\n");
    print_exit_codes(stream);
}
