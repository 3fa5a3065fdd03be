/* tune.h - the parts of inmo_tune: the plan of a search (plan.c), its report (report.c), and a page of it
 * (page.c). */
#ifndef INMO_TUNE_TUNE_H
#define INMO_TUNE_TUNE_H

#include "data/dataset.h"
#include "tune/search.h"

enum { INMO_MOST_SEEDS = 64 };

/* A search, checked and ready to run. */
struct inmo_tuning {
    struct inmo_arms arms;
    struct inmo_search search;
    uint64_t seed[INMO_MOST_SEEDS];
    double max_seconds; /* 0: no limit */
    char *identity;     // JSON: must agree for a record to belong to this search
};

/* Errors: USAGE, UNSUPPORTED (a model without training), INPUT (no validation part), MEMORY. tuning stays where it
 * is until it is freed. */
enum inmo_status inmo_tuning_plan(struct inmo_tuning *tuning, const struct inmo_dataset *data,
                                  const struct inmo_train_options *fixed, size_t count,
                                  const struct inmo_tune_options *options, struct inmo_error *error);
void inmo_tuning_free(struct inmo_tuning *tuning);

/* best_model and page (may be NULL) are copied. Takes ownership of tuning->arms on success. */
enum inmo_status inmo_tune_report_new(struct inmo_tuning *tuning, const struct inmo_tune_record *record,
                                      const char *best_model, const char *page, struct inmo_tune_report **report,
                                      struct inmo_error *error);

/* "trial 3 of 20, rung 1 of 2" */
void inmo_tune_name_stage(const struct inmo_tuning *tuning, int rung, const struct inmo_outcome *outcome,
                          char *name, size_t size);
/* Notes the result of a trial that has finished a rung. */
void inmo_tune_tell(const struct inmo_tuning *tuning, const struct inmo_tune_record *record, int rung, int trial,
                    const struct inmo_hooks *hooks);

/* Writes a self-contained HTML page: charts of the trials, and a table of them. */
enum inmo_status inmo_tune_page_write(const struct inmo_tune_report *report, const char *path,
                                      struct inmo_error *error);

#endif
