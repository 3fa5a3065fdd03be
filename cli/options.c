/* options.c - from a command line to filled structures, by the tables (options.h). */
#include "options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    char letter;
    const char *name;
} short_names[] = {{'o', "output"}, {'k', "k"}, {'q', "quiet"}, {'h', "help"}};

char cli_short_name(const char *name)
{
    for (size_t n = 0; n < sizeof short_names / sizeof *short_names; n++)
        if (!strcmp(short_names[n].name, name))
            return short_names[n].letter;
    return 0;
}

void cli_options_start(struct cli_options *options, const struct cli_command *command)
{
    *options = (struct cli_options){.command = command, .settings = cli_allocate(1, command->settings_size)};
    command->declare(options, options->settings);
}

void cli_add_table(struct cli_options *options, const struct inmo_setting *row, size_t count, void *structure)
{
    options->table[options->table_count++] = (struct cli_table){row, count, structure};
}

static int same_name(const char *a, const char *b)
{
    while (*a && (*a == '_' ? '-' : *a) == (*b == '_' ? '-' : *b))
        a++, b++;
    return !*a && !*b;
}

const struct inmo_setting *cli_find(const struct cli_options *options, const char *name)
{
    for (size_t t = 0; t < options->table_count; t++)
        for (size_t r = 0; r < options->table[t].count; r++)
            if (same_name(options->table[t].row[r].name, name))
                return &options->table[t].row[r];
    return NULL;
}

const char *cli_given(const struct cli_options *options, const char *name)
{
    /* Assignments of the configuration file come before those of the command line. */
    for (size_t n = options->assignment_count; n-- > 0;)
        if (same_name(options->assignment[n].row->name, name))
            return options->assignment[n].text;
    return NULL;
}

void cli_assign(struct cli_options *options, const struct inmo_setting *row, const char *text, const char *where,
                int from_config)
{
    size_t count = options->assignment_count;
    /* Grows at powers of two, so that no capacity needs to be kept. */
    if ((count & (count - 1)) == 0) {
        struct cli_assignment *grown = cli_allocate(count ? 2 * count : 1, sizeof *grown);
        if (count)
            memcpy(grown, options->assignment, count * sizeof *grown);
        free(options->assignment);
        options->assignment = grown;
    }
    options->assignment[count] = (struct cli_assignment){row, cli_copy(text), cli_copy(where), from_config};
    options->assignment_count = count + 1;
}

enum inmo_status cli_unknown_option(const struct cli_options *options, const char *where, const char *name,
                                    struct inmo_error *error)
{
    struct cli_strings names = {0};
    const char *nearest;
    enum inmo_status status;

    for (size_t t = 0; t < options->table_count; t++)
        for (size_t r = 0; r < options->table[t].count; r++)
            cli_strings_add(&names, options->table[t].row[r].name);
    nearest = cli_nearest(name, names.value, names.count);
    if (nearest)
        status = cli_fail(error, INMO_USAGE, "%s is not an option of inmo %s; did you mean --%s?", where,
                          options->command->name, nearest);
    else
        status = cli_fail(error, INMO_USAGE, "%s is not an option of inmo %s", where, options->command->name);
    cli_strings_free(&names, 0);
    return status;
}

/* ---- parse: the command line -> assignments ------------------------------------------------------------------ */

/* Parses the option at arguments[*position]; advances *position past a separate value. */
static enum inmo_status parse_long(struct cli_options *options, int count, char **arguments, int *position,
                                   struct inmo_error *error)
{
    const char *argument = arguments[*position];
    const char *equals = strchr(argument, '=');
    char *where = cli_format("%.*s", equals ? (int)(equals - argument) : (int)strlen(argument), argument);
    const char *name = where + 2;
    const struct inmo_setting *row = cli_find(options, name);
    const char *value = equals ? equals + 1 : NULL;
    int dashed = 0;
    enum inmo_status status = INMO_OK;

    if (!row && !strncmp(name, "no-", 3)) {
        row = cli_find(options, name + 3);
        if (row && (row->type != 'b' || equals))
            row = NULL;
        value = "no";
    } else if (row && row->type == 'b' && !equals) {
        value = "yes";
    } else if (row && !equals && *position + 1 < count) {
        /* "--output --json" lacks the value; a value that starts with two dashes is written --output=--x. */
        const char *next = arguments[*position + 1];
        dashed = !strncmp(next, "--", 2) && next[2];
        if (!dashed) {
            value = next;
            ++*position;
        }
    }
    if (!strcmp(where, "--help"))
        options->help = 1;
    else if (!row)
        status = cli_unknown_option(options, where, name, error);
    else if (!value)
        status = cli_fail(error, INMO_USAGE, "%s needs a value: %s%s%s%s", where, row->value ? row->value : "VALUE",
                          dashed ? "; one that begins with dashes is written " : "", dashed ? where : "",
                          dashed ? "=VALUE" : "");
    else
        cli_assign(options, row, value, where, 0);
    free(where);
    return status;
}

/* -o FILE, -oFILE and flags; letters are not bundled. */
static enum inmo_status parse_short(struct cli_options *options, int count, char **arguments, int *position,
                                    struct inmo_error *error)
{
    const char *argument = arguments[*position];
    const struct inmo_setting *row = NULL;
    char where[3] = {'-', argument[1], 0};
    enum inmo_status status = INMO_OK;

    for (size_t n = 0; n < sizeof short_names / sizeof *short_names; n++)
        if (short_names[n].letter == argument[1])
            row = cli_find(options, short_names[n].name);
    if (argument[1] == 'h' && !argument[2])
        options->help = 1;
    else if (!row || (row->type == 'b' && argument[2]))
        status = cli_fail(error, INMO_USAGE, "%s is not an option of inmo %s", argument, options->command->name);
    else if (row->type == 'b')
        cli_assign(options, row, "yes", where, 0);
    else if (argument[2])
        cli_assign(options, row, argument + 2, where, 0);
    else if (*position + 1 < count)
        cli_assign(options, row, arguments[++*position], where, 0);
    else
        status = cli_fail(error, INMO_USAGE, "%s needs a value: %s", where, row->value ? row->value : "VALUE");
    return status;
}

static enum inmo_status check_arguments(const struct cli_options *options, struct inmo_error *error)
{
    const struct cli_command *command = options->command;
    enum inmo_status status = INMO_OK;

    if (options->argument.count < command->least_arguments)
        status = cli_fail(error, INMO_USAGE, "inmo %s needs %s", command->name, command->arguments);
    else if (options->argument.count > command->most_arguments)
        status = cli_fail(error, INMO_USAGE, "unexpected argument \"%s\": inmo %s takes %s",
                          options->argument.value[command->most_arguments], command->name,
                          *command->arguments ? command->arguments : "only options");
    else if (command->required && !cli_given(options, command->required))
        status = cli_fail(error, INMO_USAGE, "inmo %s needs -%c %s", command->name,
                          cli_short_name(command->required), cli_find(options, command->required)->value);
    return status;
}

enum inmo_status cli_parse(struct cli_options *options, int count, char **arguments, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    const char *config = NULL;
    int only_arguments = 0;

    for (int n = 0; n < count && !status; n++) {
        const char *argument = arguments[n];
        if (only_arguments || argument[0] != '-' || !argument[1])
            cli_strings_add(&options->argument, argument);
        else if (!strcmp(argument, "--"))
            only_arguments = 1;
        else if (argument[1] == '-')
            status = parse_long(options, count, arguments, &n, error);
        else
            status = parse_short(options, count, arguments, &n, error);
    }
    if (!status && !options->help) {
        config = cli_given(options, "config");
        if (config)
            status = cli_read_config(options, config, error);
        if (!status)
            status = check_arguments(options, error);
    }
    return status;
}

/* ---- apply: assignments -> structures ------------------------------------------------------------------------ */

/* Sets one field. Returns 0 if the text is not what the row expects. */
static int set_field(const struct inmo_setting *row, void *structure, const char *text)
{
    if (row->type != 'l')
        return inmo_setting_set(row, structure, text);
    cli_strings_add((struct cli_strings *)((char *)structure + row->offset), text);
    return 1;
}

/* The names given on the command line, each once: what the configuration file says about them does not count. Few,
 * as a command has few options, so that a long file and a long command line do not multiply. */
static void names_given(const struct cli_options *options, struct cli_strings *names)
{
    const struct inmo_setting *before = NULL;
    for (size_t n = 0; n < options->assignment_count; n++) {
        const struct inmo_setting *row = options->assignment[n].row;
        int known = options->assignment[n].from_config || row == before;
        before = options->assignment[n].from_config ? before : row;
        for (size_t m = 0; m < names->count && !known; m++)
            known = same_name(names->value[m], row->name);
        if (!known)
            cli_strings_add(names, row->name);
    }
}

/* LightGCN and lightgnc are near lightgcn. */
void cli_hint_choice(const struct inmo_setting *row, const char *text, struct inmo_error *error)
{
    struct cli_strings choices = {0};
    char *small = cli_copy(text);
    const char *nearest;

    for (char *c = small; *c; c++)
        *c = *c == '_' || *c == ' ' ? '-' : (char)tolower((unsigned char)*c);
    if (row->type == 's' && row->choices)
        cli_split(row->choices, '|', &choices);
    nearest = cli_nearest(small, choices.value, choices.count);
    if (nearest)
        cli_add_hint(error, "; did you mean %s?", nearest);
    cli_strings_free(&choices, 1);
    free(small);
}

static enum inmo_status apply_one(struct cli_options *options, const struct cli_assignment *a,
                                  struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;

    for (size_t t = 0; t < options->table_count && !status; t++) {
        const struct cli_table *table = &options->table[t];
        for (size_t r = 0; r < table->count && !status; r++) {
            char expected[512];
            if (!same_name(table->row[r].name, a->row->name) ||
                set_field(&table->row[r], table->structure, a->text))
                continue;
            inmo_setting_expected(&table->row[r], expected, sizeof expected);
            status = cli_fail(error, INMO_USAGE, "%s: found \"%s\", expected %s", a->where, a->text, expected);
            cli_hint_choice(&table->row[r], a->text, error);
        }
    }
    return status;
}

enum inmo_status cli_apply(struct cli_options *options, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct cli_strings given = {0};

    names_given(options, &given);
    for (size_t n = 0; n < options->assignment_count && !status; n++) {
        const struct cli_assignment *a = &options->assignment[n];
        int overruled = 0;
        for (size_t m = 0; a->from_config && m < given.count && !overruled; m++)
            overruled = same_name(given.value[m], a->row->name);
        if (!overruled)
            status = apply_one(options, a, error);
    }
    cli_strings_free(&given, 0);
    return status;
}

void cli_options_free(struct cli_options *options)
{
    for (size_t t = 0; t < options->table_count; t++)
        for (size_t r = 0; r < options->table[t].count; r++)
            if (options->table[t].row[r].type == 'l')
                cli_strings_free(
                    (struct cli_strings *)((char *)options->table[t].structure + options->table[t].row[r].offset),
                    0);
    for (size_t n = 0; n < options->assignment_count; n++) {
        free(options->assignment[n].text);
        free(options->assignment[n].where);
    }
    free(options->assignment);
    options->assignment = NULL;
    options->assignment_count = 0;
    cli_strings_free(&options->argument, 0);
    free(options->settings);
    options->settings = NULL;
}
