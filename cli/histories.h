/* histories.h - people the model may never have seen, with their histories, from a file: --histories. */
#ifndef INMO_CLI_HISTORIES_H
#define INMO_CLI_HISTORIES_H

#include "lists.h"

struct cli_histories;

/* Any log that inmo_log_read understands: lines of user and item, or of a name and its items. */
enum inmo_status cli_histories_read(const char *path, const struct inmo_read_options *options,
                                    struct cli_histories **histories, struct inmo_error *error);
void cli_histories_free(struct cli_histories *histories);
size_t cli_histories_count(const struct cli_histories *histories);
const char *cli_histories_name(const struct cli_histories *histories, size_t n);
/* The ids of the items of person n, which belong to the histories. */
void cli_histories_items(const struct cli_histories *histories, size_t n, struct cli_strings *items);
/* Of those that person n has only seen (low ratings, views), which are in no list of theirs. */
void cli_histories_seen(const struct cli_histories *histories, size_t n, struct cli_strings *items);

/* The lists of all, in the order of the file, by all threads. Of the query, k, include_seen, allow, deny and rules
 * count. */
enum inmo_status cli_recommend_histories(const struct cli_histories *histories, const struct inmo_view *view,
                                         const struct inmo_query *query, struct cli_lists *lists,
                                         struct inmo_error *error);

#endif
