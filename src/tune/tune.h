/* tune.h - the parts of inmo_tune: the plan of a search (plan.c) and its report (report.c). */
#ifndef INMO_TUNE_TUNE_H
#define INMO_TUNE_TUNE_H

#include "data/dataset.h"
#include "tune/search.h"

enum { INMO_MOST_SEEDS = 64 };

/* A search, checked and ready to run. */
struct inmo_tuning {
    struct inmo_train_options fixed; /* all settings that are not searched */
    struct inmo_space space;
    struct inmo_search search;
    uint64_t seed[INMO_MOST_SEEDS];
    char *identity;  // JSON: must agree for a record to belong to this search
};

/* Errors: USAGE, UNSUPPORTED (a model without training), INPUT (no validation part), MEMORY. */
enum inmo_status inmo_tuning_plan(struct inmo_tuning *tuning, const struct inmo_dataset *data,
                                  const struct inmo_train_options *fixed, const struct inmo_tune_options *options,
                                  struct inmo_error *error);
void inmo_tuning_free(struct inmo_tuning *tuning);

/* Takes ownership of tuning->space on success. */
enum inmo_status inmo_tune_report_new(struct inmo_tuning *tuning, const struct inmo_tune_record *record,
                                      struct inmo_tune_report **report, struct inmo_error *error);

#endif
