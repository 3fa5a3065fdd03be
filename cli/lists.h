/* lists.h - lists of items as a table for people, or as a file for others: CSV, TSV, JSON, JSON lines, each also
 * packed. */
#ifndef INMO_CLI_LISTS_H
#define INMO_CLI_LISTS_H

#include "titles.h"

/* PLAIN: tab-separated user, item, score, without a header. */
enum cli_list_form { CLI_HUMAN, CLI_PLAIN, CLI_TSV, CLI_CSV, CLI_JSON_ARRAY, CLI_JSON_LINES };

struct cli_lists {
    enum cli_list_form form;
    struct cli_output output;
    const struct cli_titles *titles;
    int because; /* reasons of each item, at most; 0: none */
    /* Explains an item to whom the list is for; called if because is not 0. */
    enum inmo_status (*explain)(void *context, const char *item, struct inmo_explanation **why,
                                struct inmo_error *error);
    void *context;
    int64_t count;             /* lists written so far */
    struct cli_recent *recent; /* of lists.c */
};

/* By the name: .csv, .tsv, .json, .jsonl (or .ndjson), also with .gz or .zst behind. Any other name is PLAIN, or
 * JSON lines with json; no name is for people, or JSON lines. */
enum cli_list_form cli_list_form(const char *path, int json);
/* Opens the output and writes what comes before the first list. form, titles and because are set. */
enum inmo_status cli_lists_open(struct cli_lists *lists, const char *path, int force, struct inmo_error *error);

/* Whom a list is for. */
struct cli_recipient {
    const char *name;     /* NULL: somebody unseen */
    const char *sentence; /* for people: above the list */
};
/* Whether the form shows coverage, unknown_items and fallback of a list. */
int cli_lists_tell(const struct cli_lists *lists);
/* "for alice: 3 of 3 items of the history are known; the model uses 83 % of the history". name NULL: somebody with
 * so many items. The query has who is asked for. */
char *cli_list_sentence(const char *name, const struct inmo_query *query, const struct inmo_list *list);
enum inmo_status cli_lists_put(struct cli_lists *lists, const struct cli_recipient *to,
                               const struct inmo_list *list, struct inmo_error *error);
/* Why somebody has no list: only JSON says so; the error goes to standard error besides. */
void cli_lists_put_problem(struct cli_lists *lists, const char *name, const struct inmo_error *problem);
/* Writes what comes after the last list; the file takes its place. */
enum inmo_status cli_lists_commit(struct cli_lists *lists, struct inmo_error *error);
void cli_lists_abandon(struct cli_lists *lists);

#endif
