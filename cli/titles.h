/* titles.h - what people call the items: --titles FILE, or what the model keeps. For every command that prints
 * items. */
#ifndef INMO_CLI_TITLES_H
#define INMO_CLI_TITLES_H

#include "common.h"

struct cli_titles {
    const char *path;                /* --titles */
    struct inmo_titles *own;         // read from it
    const struct inmo_titles *shown; /* own, or the model's; NULL: none */
};

/* Registers --titles. */
void cli_add_titles(struct cli_options *options, struct cli_titles *titles);
/* Reads the file if there is one; else takes those of the model (may be NULL). */
enum inmo_status cli_open_titles(struct cli_titles *titles, const char *encoding, const struct inmo_model *model,
                                 struct inmo_error *error);
void cli_close_titles(struct cli_titles *titles);
/* The title of an item, or NULL. */
const char *cli_title(const struct cli_titles *titles, const char *id);
/* The same, or the id: for sentences. */
const char *cli_title_or_id(const struct cli_titles *titles, const char *id);
/* Adds the title to a JSON object about an item, if it has one. */
void cli_json_title(json_t *object, const struct cli_titles *titles, const char *id);

/* Rules for lists (inmo_rules_create) as options. */
struct cli_rules {
    struct cli_strings where, boost, at_most;
    double diversity;
    int candidates;
};
void cli_add_rules(struct cli_options *options, struct cli_rules *rules);
/* *made is NULL if no rule was given. */
enum inmo_status cli_make_rules(const struct cli_rules *rules, const struct inmo_view *view,
                                const struct cli_titles *titles, struct inmo_rules **made,
                                struct inmo_error *error);

#endif
