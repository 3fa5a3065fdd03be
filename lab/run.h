/* run.h - one training on one split, evaluated, and stored in a file that is written atomically.
 *
 * The identity of a run is a text with its data, scenario, seed and all training settings. The file is named by its
 * hash and contains it. So two experiments that need the same run share it, and a different setting makes a
 * different run. docs/formats.md describes the file.
 *
 * Evaluations of a model trained in a scenario:
 *
 *     transductive       "test"; of inmo models also "new-users-items": the same parts of the test as there
 *     new-interactions   "without-new", "test" (what came after training is observed)
 *     new-users-items    "test" */
#ifndef INMO_LAB_RUN_H
#define INMO_LAB_RUN_H

#include "lab/experiment.h"
#include "lab/reproduce.h"

#include <jansson.h>

/* Shared by all runs of a call. */
struct inmo_lab_data {
    const struct inmo_log *log;
    int k_core;
    const char *new_choice;          /* which users and items are new; NULL: the default */
    const char *paper_recipe;        /* the paper's recipe for this data; NULL: as the options say */
    uint64_t hash;                   /* of the interactions after filtering */
    uint64_t seed;                   /* of the data sets below */
    struct inmo_dataset *dataset[3]; /* by scenario; NULL: not prepared yet */
};
/* The data set of a scenario, split by the seed. Data sets of one seed at a time are kept. */
enum inmo_status inmo_lab_dataset(struct inmo_lab_data *data, enum inmo_scenario scenario, uint64_t seed,
                                  const struct inmo_dataset **dataset, struct inmo_error *error);
void inmo_lab_data_free(struct inmo_lab_data *data);

struct inmo_lab_run {
    struct inmo_lab_system system;
    enum inmo_scenario trained;
    uint64_t seed;
    const char *recipe;
    struct inmo_train_options options;
    char *identity; /* JSON object */
    char name[17];  /* hash of it */
    char what[128]; /* for messages: "INMO-LGCN, new users and items, seed 1" */
    json_t *result; /* NULL: not done */
    int32_t users;
    float *ndcg[2];  /* (users) per evaluation; NULL if missing */
    uint8_t *is_new; /* (users) 1 for those unseen in training, or unseen in that scenario; NULL */
};
/* 1 if the run is evaluated on new users and items. */
int inmo_lab_run_judges_unseen(const struct inmo_lab_run *run);
/* Fills in settings, identity and name. */
enum inmo_status inmo_lab_run_plan(struct inmo_lab_run *run, const struct inmo_lab_data *data,
                                   const struct inmo_reproduce_options *options, struct inmo_error *error);
/* Loads the result from the folder if it is there. A damaged file counts as missing and gives a warning. */
enum inmo_status inmo_lab_run_load(struct inmo_lab_run *run, const char *folder, const struct inmo_hooks *hooks,
                                   struct inmo_error *error);
/* Trains (from a checkpoint if there is one), evaluates and writes the file. That a system cannot do something is a
 * result, too. */
enum inmo_status inmo_lab_run_do(struct inmo_lab_run *run, struct inmo_lab_data *data, const char *folder,
                                 const struct inmo_hooks *hooks, struct inmo_error *error);
void inmo_lab_run_free(struct inmo_lab_run *run);

/* Number of an evaluation in ndcg, and its JSON in *found (borrowed). If it failed, *found is NULL and the reason
 * is given. */
int inmo_lab_run_evaluation(const struct inmo_lab_run *run, const char *name, const json_t **found,
                            const char **reason);
/* A metric of a group in percent, or NAN. */
double inmo_lab_run_value(const struct inmo_lab_run *run, const char *evaluation, const char *group,
                          const char *metric);

#endif
