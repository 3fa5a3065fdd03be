/* preparation.h - the state of one preparation, shared by the two ways to do it: in memory (prepare.c) and in a
 * bounded memory (bounded.c). Options, errors and the description are the same for both. */
#ifndef INMO_DATA_PREPARATION_H
#define INMO_DATA_PREPARATION_H

#include "data/cut.h"
#include "data/dataset.h"
#include "data/log.h"
#include "data/rows.h"
#include "data/split.h"

struct inmo_preparation {
    const struct inmo_log *log;
    struct inmo_prepare_options options;  // with the defaults that depend on the log filled in
    enum inmo_scenario scenario;
    int last_are_new;         // else new users and items are drawn by seed
    int holds_out_at_random;  // else by the order of the log or of time
    struct inmo_split split;
    struct inmo_cut cut;                        // by cut
    double half_life;                           // in the log's unit of time; 0: none
    int64_t newest;                             // time of the log, where one of these needs it
    struct inmo_rows rows;                      // in the log's numbers until inmo_rows_number
    int64_t duplicates, below_core, cancelled;  // interactions removed
    int32_t *user_order, *item_order;           // (users, items of the data set) -> number in the log
};

/* Checks the options of p and fills in what depends on the log. Errors: USAGE. */
enum inmo_status inmo_preparation_check(struct inmo_preparation *p, struct inmo_error *error);
/* Nothing is left: says which option to change. */
enum inmo_status inmo_preparation_fail_empty(const struct inmo_preparation *p, struct inmo_error *error);
/* The same when nothing is left for training; all: interactions of the data set. */
enum inmo_status inmo_preparation_fail_untrained(int64_t all, int64_t valid, int64_t test, int64_t later,
                                                 struct inmo_error *error);
/* The description of the data set, freed by the caller; NULL when memory is short. */
char *inmo_preparation_describe(const struct inmo_preparation *p, int64_t seen, int32_t extra_users,
                                int32_t extra_items);

#endif
