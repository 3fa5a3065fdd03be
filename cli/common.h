/* common.h - shared by all commands: common options, hooks for long calls, opening data and models, outputs. */
#ifndef INMO_CLI_COMMON_H
#define INMO_CLI_COMMON_H

#include "base/file.h"
#include "data/output.h"
#include "inmo.h"
#include "options.h"

#include <jansson.h>
#include <stdio.h>

/* First member of every command's settings. */
struct cli_common {
    const char *config;
    int threads;
    int quiet;
    int log_times;
    int json;
    int force;
};

enum { CLI_JSON = 1, CLI_FORCE = 2 };
/* Registers the common rows; which: CLI_JSON and CLI_FORCE add --json and --force. */
void cli_add_common(struct cli_options *options, struct cli_common *common, int which);
/* Applies the common options: threads, progress, signals. */
void cli_common_start(struct cli_common *common);

/* ---- progress.c: hooks --------------------------------------------------------------------------------------- */

/* Progress is a bar on a terminal and a line every few seconds elsewhere; notes and warnings go to standard error.
 * SIGINT and SIGTERM ask the running call to stop; a second one ends the program at once. */
const struct inmo_hooks *cli_hooks(void);
/* times: lines begin with the time. */
void cli_hooks_start(int quiet, int times);
/* Removes the bar from the terminal, if there is one. */
void cli_hooks_end(void);
int cli_interrupted(void);
/* From 1 to 0 a signal ends the program at once, with the exit code of a stop on request: for calls that do not ask
 * the hooks, while there is nothing to save or to clear away and nothing has been printed. */
void cli_may_end(int may);
void cli_note(enum inmo_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints "inmo: message" on standard error, once: clears the message. */
void cli_print_error(struct inmo_error *error);
/* From now on as {"error": {"code": 6, "name": "UNKNOWN", "message": "..."}} on a line of its own. */
void cli_errors_as_json(void);
/* "4:12", "1:02:33" */
void cli_duration(double seconds, char *text, size_t size);

/* ---- Opening ------------------------------------------------------------------------------------------------- */

/* How a raw log becomes a data set. */
struct cli_data_options {
    struct inmo_read_options read;
    struct inmo_prepare_options prepare;
    const char *query; /* to be put to a database; NULL: logs or an event store */
};
/* split NULL: the library's default. */
void cli_add_data(struct cli_options *options, struct cli_data_options *data, const char *split);
/* Checks the split options before a long log is read. */
enum inmo_status cli_check_data(const struct cli_data_options *data, struct inmo_error *error);
/* One or more logs, one event store (a file or postgresql://...), or the answer of a database to the query. */
enum inmo_status cli_read_data(const struct cli_data_options *data, const char *const *paths, size_t count,
                               struct inmo_log **log, struct inmo_error *error);
/* The same into a prepared directory, in a bounded memory (inmo_prepare_bounded). */
enum inmo_status cli_prepare_bounded(const struct cli_data_options *data, const char *const *paths, size_t count,
                                     uint64_t memory, const char *directory, int force,
                                     struct inmo_prepared **prepared, struct inmo_error *error);
/* path is a prepared directory, an event store or a raw log ("-" is standard input). *raw (may be NULL) says which
 * it was. */
enum inmo_status cli_open_data(const struct cli_options *options, const char *path,
                               const struct cli_data_options *data, struct inmo_dataset **dataset, int *raw,
                               struct inmo_error *error);

/* kept.c. Notes on what filters and splits have left out of the data set; nothing if they left out nothing. */
void cli_say_kept(const struct inmo_dataset *dataset);
/* Set in the environment of a training that another command starts, when that command has said it already. */
#define CLI_KEPT_SAID "INMO_KEPT_SAID"
/* The same of what is no longer in memory. */
struct cli_kept {
    struct inmo_dataset_info info;
    int64_t users, items; /* without training interactions, those known by name only included */
};
void cli_kept_of(const struct inmo_dataset *dataset, struct cli_kept *kept);
void cli_say_kept_of(const struct cli_kept *kept);
/* The same as a JSON object. */
json_t *cli_kept_json(const struct inmo_dataset *dataset);
json_t *cli_kept_json_of(const struct cli_kept *kept);
/* Adds to the error of a file that is no model what it may be instead. */
void cli_hint_no_model(const char *path, struct inmo_error *error);
/* The same for several logs that are read as one; a prepared directory must be alone. */
enum inmo_status cli_open_all_data(const struct cli_options *options, const struct cli_strings *paths,
                                   const struct cli_data_options *data, struct inmo_dataset **dataset, int *raw,
                                   struct inmo_error *error);

/* ---- hint.c: what was probably meant by an unknown id -------------------------------------------------------- */

/* Adds to the error of an unknown user or item (each may be NULL) that the other side has such an id, or which id
 * is spelt almost like it. */
void cli_hint_unknown(const struct inmo_view *view, const char *user, const char *item, struct inmo_error *error);
/* The user or item whose id differs in case, punctuation, zeros before a number or one letter; NULL if none does.
 * Looks at all ids. */
const char *cli_near_id(const struct inmo_view *view, int is_item, const char *id);
/* How many of the items are unknown. */
int cli_count_unknown(const struct inmo_view *view, const char *const *item, size_t count);
/* Notes what unknown items of a history may have meant, for the first few. */
void cli_note_unknown_items(const struct inmo_view *view, const char *const *item, size_t count);

/* ---- follow.c: another log is read as that of the model ------------------------------------------------------ */

/* Sets the options for reading, and unless NULL those for splitting, to what the model's log was read and split
 * with, where the command line says nothing; a note says what was taken over, a warning what the command line has
 * otherwise. path: of the model, for messages. */
void cli_follow_log(const struct cli_options *options, const char *path, const struct inmo_model *model,
                    struct inmo_read_options *read, struct inmo_prepare_options *prepare);
/* Sets training options to those the model was trained with, before the command line overrides them. */
void cli_follow_training(const struct inmo_model *model, struct inmo_train_options *train);
/* Frees the texts that the options above point to. */
void cli_follow_end(void);

/* A model with its training data and the logs observed since. */
struct cli_view_options {
    const struct cli_options *options; /* what the command line says */
    struct cli_strings observed;
    struct inmo_read_options read;
};
struct cli_view {
    struct inmo_model *model;
    struct inmo_log *log;
    struct inmo_view *view;
};
/* Registers --observed, and the options for reading logs unless the command has options of the same name. */
void cli_add_view(struct cli_options *options, struct cli_view_options *view, int with_reading);
enum inmo_status cli_open_view(const char *path, const struct cli_view_options *options, struct cli_view *view,
                               struct inmo_error *error);
void cli_close_view(struct cli_view *view);

/* Reads ids, one per line (inmo_ids_read), and appends copies to list. */
enum inmo_status cli_read_ids(const char *path, const char *encoding, struct cli_strings *list,
                              struct inmo_error *error);
/* The history of a new user: items is "a,b,c", items_file a list of ids; either may be NULL. */
enum inmo_status cli_gather_items(const char *items, const char *items_file, const char *encoding,
                                  struct cli_strings *list, struct inmo_error *error);

/* ---- training.c: commands that train
 * -------------------------------------------------------------------------- */

struct cli_training {
    struct inmo_train_options train;
    const char *recipe, *like;
};
/* Registers --recipe and --like, the first count rows of the training options, and their aliases. model (NULL: as
 * it is) replaces the first of these rows. */
void cli_add_training(struct cli_options *options, struct cli_training *training, size_t count,
                      const struct inmo_setting *model);
/* The recipe depends on the model (NULL: the default one); both must be known before the other options override
 * them. */
enum inmo_status cli_begin_training(struct cli_options *options, struct cli_training *training, const char *model,
                                    struct inmo_error *error);
/* Under --recipe paper: takes the authors' settings for the data set named by --like, or for the one nearest to
 * this, where no option was given, and gives the recipe its full name. */
void cli_take_like(const struct cli_options *options, struct cli_training *training,
                   const struct inmo_dataset *dataset);
/* The defaults of a model, which is named by a person: the error of an unknown one says which may be meant. */
enum inmo_status cli_check_model(const char *model, const char *recipe, struct inmo_train_options *train,
                                 struct inmo_error *error);
/* The options of another model with the same recipe: its defaults, and what was given. */
enum inmo_status cli_training_of(const struct cli_options *options, const struct cli_training *training,
                                 const char *model, struct inmo_train_options *train, struct inmo_error *error);
/* The names of the training settings that were given, "dim,layers". */
char *cli_training_given(const struct cli_options *options, const struct cli_training *training);
/* Prints a word quoted for the shell. */
void cli_put_quoted(FILE *stream, const char *word);
/* Prints on standard error the command that continues this one: the same words, plus more (may be NULL). */
void cli_print_go_on(const struct cli_options *options, const char *more);

/* ---- output.c: results --------------------------------------------------------------------------------------- */

/* A file written aside and renamed (base/file.h); "-" and NULL are standard output. A name that ends in .gz or .zst
 * is packed on the way (data/output.h). */
struct cli_output {
    FILE *stream;
    struct inmo_new_file file;  /* without a path for standard output and packed files */
    struct cli_packed *packed;  // NULL: it is not
};
enum inmo_status cli_output_open(struct cli_output *output, const char *path, int force, struct inmo_error *error);
/* One output, or two that belong together: both take their place, or neither. */
enum inmo_status cli_output_commit(struct cli_output *output, size_t count, struct inmo_error *error);
void cli_output_abandon(struct cli_output *output);

/* Whether path may be written, asked before long work: EXISTS without force, IO when it is a directory or its
 * folder refuses. */
enum inmo_status cli_check_output(const char *path, int force, struct inmo_error *error);
/* Refuses an output that is one of the command's own arguments, which --force would replace. */
enum inmo_status cli_check_apart(const struct cli_options *options, const char *path, struct inmo_error *error);

/* json.c. Watches jansson's allocations from here on. */
void cli_watch_memory(void);
/* MEMORY once one of them has failed: then what was made of them is not whole. */
enum inmo_status cli_check_memory(struct inmo_error *error);
/* Ids may be any bytes and JSON may not: what is not UTF-8 becomes U+FFFD. */
json_t *cli_json_text(const char *text);
/* NaN becomes null. */
json_t *cli_json_number(double number);
/* evaluate.c: the metrics of a group by name and length of the list, "ndcg@20". */
json_t *cli_metrics_json(const struct inmo_group *group, size_t k_count);
/* {"code": 6, "name": "UNKNOWN", "message": "..."} */
json_t *cli_json_error(enum inmo_status code, const char *message);
/* Parses the JSON text of a library structure; null if it is not JSON. */
json_t *cli_json_parsed(const char *text);
/* Writes the value and a new line, pretty or on one line, and drops it; nothing when memory was short. */
void cli_json_put(FILE *stream, json_t *value, int pretty);
/* Writes an id in a tab-separated line: tab, line feed and carriage return become \t, \n, \r. */
void cli_put_id(FILE *stream, const char *id);
/* Number of decimals that shows four digits of the largest number of a column. */
int cli_decimals(double largest);
/* 1234567 as "1,234,567". */
const char *cli_thousands(int64_t number, char text[32]);

#endif
