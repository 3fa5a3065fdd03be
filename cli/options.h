/* options.h - one table mechanism for every command: the rows (struct inmo_setting) of the library's tables and of
 * the command itself drive the parser, the configuration file, --help, the manual page and docs/cli.md.
 *
 *     declare   a command registers its tables, each with the structure its rows describe, filled with defaults
 *     parse     turns the command line and --config into a list of assignments: a row and a text
 *     begin     a command may inspect the texts and set other defaults (train: the recipe of the model)
 *     apply     checks the texts against the rows and writes them to the structures
 *
 * A name in several tables (--seed: of the split and of training) sets all of them. */
#ifndef INMO_CLI_OPTIONS_H
#define INMO_CLI_OPTIONS_H

#include "inmo.h"

#include <stdio.h>

/* Besides the library's types, a row of a command may have type 'l': a struct cli_strings that collects the values
 * of a repeated option. */
struct cli_strings {
    const char **value;
    size_t count;
};

struct cli_table {
    const struct inmo_setting *row;
    size_t count;
    void *structure;
};

struct cli_assignment {
    const struct inmo_setting *row;
    char *text;  /* the value as it was written; "yes" or "no" for a flag */
    char *where; /* name in errors: "--dim" or "run.json: dim" */
    int from_config;
};

enum { CLI_MOST_TABLES = 32 };

struct cli_options {
    const struct cli_command *command;
    int argc; /* the whole command line, for messages */
    char **argv;
    struct cli_table table[CLI_MOST_TABLES];
    size_t table_count;
    struct cli_strings argument; /* arguments that are not options */
    struct cli_assignment *assignment;
    size_t assignment_count;
    int help;       /* --help was given */
    void *settings; /* of the command; its first member is a struct cli_common */
};

/* A command. The settings structure starts with a struct cli_common (common.h). */
struct cli_command {
    const char *name;
    const char *arguments;   /* as in the usage line: "MODEL DATA" */
    const char *summary;     /* one line for the list of commands */
    const char *description; /* paragraphs separated by an empty line */
    const char *examples;    /* command lines, one per line */
    size_t least_arguments, most_arguments;
    const char *required; /* name of an option that must be given, or NULL */
    int on_ranks;         /* 1: several ranks run it together (ranks/ranks.h) */
    size_t settings_size;
    void (*declare)(struct cli_options *options, void *settings);
    enum inmo_status (*begin)(struct cli_options *options, void *settings, struct inmo_error *error); /* or NULL */
    enum inmo_status (*run)(const struct cli_options *options, void *settings, struct inmo_error *error);
};

extern const struct cli_command cli_synth, cli_prepare, cli_train, cli_tune, cli_evaluate, cli_compare,
    cli_recommend, cli_similar, cli_explain, cli_serve, cli_info, cli_export, cli_bench, cli_reproduce,
    cli_completion, cli_man;
/* The commands in the order of the data flow, ended by NULL (main.c). */
extern const struct cli_command *const cli_commands[];
const struct cli_command *cli_find_command(const char *name);
/* 1: the command has failed on all ranks at once, so that none waits for another. */
extern int cli_ended_together;

/* Allocates the settings of the command with their defaults and registers its tables. */
void cli_options_start(struct cli_options *options, const struct cli_command *command);
void cli_options_free(struct cli_options *options);
void cli_add_table(struct cli_options *options, const struct inmo_setting *row, size_t count, void *structure);

/* arguments: what follows the command's name. */
enum inmo_status cli_parse(struct cli_options *options, int count, char **arguments, struct inmo_error *error);
enum inmo_status cli_apply(struct cli_options *options, struct inmo_error *error);

/* The row of that name in the first table that has it, or NULL. An underscore counts as a dash. */
const struct inmo_setting *cli_find(const struct cli_options *options, const char *name);
/* The last text on the command line, else in the configuration file; NULL if neither has it. */
const char *cli_given(const struct cli_options *options, const char *name);
/* The short letter of an option, or 0. */
char cli_short_name(const char *name);

/* Adds to an error the choice of the row that is nearest to the text. */
void cli_hint_choice(const struct inmo_setting *row, const char *text, struct inmo_error *error);

/* For the parser of configuration files (config.c). */
enum inmo_status cli_read_config(struct cli_options *options, const char *path, struct inmo_error *error);
void cli_assign(struct cli_options *options, const struct inmo_setting *row, const char *text, const char *where,
                int from_config);
enum inmo_status cli_unknown_option(const struct cli_options *options, const char *where, const char *name,
                                    struct inmo_error *error);

/* help.c: printing from the tables. Headings are in the order of their first row; each name appears once.
 * cli_next_row starts with *position 0 and returns 0 at the end. */
void cli_headings(const struct cli_options *options, struct cli_strings *headings);
int cli_next_row(const struct cli_options *options, const char *heading, size_t *position,
                 const struct inmo_setting **row, const void **structure);
/* "-o, --output FILE"; a flag that is on by default is shown in its --no- form. */
void cli_row_usage(const struct inmo_setting *row, const void *structure, char *text, size_t size);
/* "1 to 4096; default 64" */
void cli_row_note(const struct inmo_setting *row, const void *structure, char *text, size_t size);
void cli_print_command_help(FILE *stream, const struct cli_options *options);
void cli_print_command_json(FILE *stream, const struct cli_options *options);
void cli_print_program_help(FILE *stream);
/* manual.c */
void cli_print_manual(FILE *stream);
void cli_print_markdown(FILE *stream);

/* text.c: helpers. */
enum inmo_status cli_fail(struct inmo_error *error, enum inmo_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Appends to the message of an existing error. */
void cli_add_hint(struct inmo_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A sentence of the library with its options as they are typed: `learning-rate` becomes --learning-rate. */
enum { CLI_SENTENCE = 1024 };
const char *cli_flags(const char *sentence, char text[CLI_SENTENCE]);
/* These end the program with MEMORY when memory is short: nothing the program could do then would help. */
void *cli_allocate(size_t count, size_t size);
void cli_end_for_memory(void) __attribute__((noreturn));
char *cli_copy(const char *text);
char *cli_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_strings_add(struct cli_strings *strings, const char *text);
/* Frees the array; with_text also the strings. */
void cli_strings_free(struct cli_strings *strings, int with_text);
/* Splits "a,b,c" into copies; skips empty pieces. */
void cli_split(const char *text, char separator, struct cli_strings *pieces);
/* "a,b,c" of the strings. */
char *cli_joined(const struct cli_strings *strings);
/* Characters of UTF-8 text. */
size_t cli_width(const char *text);
/* The candidate nearest in spelling, or NULL when none is near. */
const char *cli_nearest(const char *word, const char *const *candidate, size_t count);

#endif
