/* run.h - one training on one split, judged, and kept in a file that is there whole or not at all.
 *
 * What a run is (data, scenario, seed, every setting of the training) is written down in one text, its identity;
 * the file is named by the hash of it and has it inside. So a run that two experiments need is trained once, and
 * one with any other setting is another. docs/formats.md has the file.
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

/* What all runs of a call have in common. */
struct inmo_lab_data {
    const struct inmo_log *log;
    int k_core;
    uint64_t hash;                   /* of the interactions that are left */
    uint64_t seed;                   /* of the data sets below */
    struct inmo_dataset *dataset[3]; /* by scenario; NULL: not prepared yet */
};
/* The data set of a scenario, split by the seed; those of one seed at a time are kept. */
enum inmo_status inmo_lab_dataset(struct inmo_lab_data *data, enum inmo_scenario scenario, uint64_t seed,
                                  const struct inmo_dataset **dataset, struct inmo_error *error);
void inmo_lab_data_free(struct inmo_lab_data *data);

struct inmo_lab_run {
    struct inmo_lab_system system;
    enum inmo_scenario trained;
    uint64_t seed;
    struct inmo_train_options options;
    char *identity; /* JSON object */
    char name[17];  /* hash of it */
    char what[128]; /* for people: "INMO-LGCN, new users and items, seed 1" */
    json_t *result; /* NULL: not done */
    int32_t users;
    float *ndcg[2];  /* (users) of each evaluation; NULL where it is missing */
    uint8_t *is_new; /* (users) those that were not there in training, or are so in that scenario; NULL */
};
/* Whether new users and items are among what it is judged by. */
int inmo_lab_run_judges_unseen(const struct inmo_lab_run *run);
/* Settings, identity and name. */
enum inmo_status inmo_lab_run_plan(struct inmo_lab_run *run, const struct inmo_lab_data *data,
                                   const struct inmo_reproduce_options *options, struct inmo_error *error);
/* Takes the result from the folder if it is there. A damaged file is as good as none, and gets a warning. */
enum inmo_status inmo_lab_run_load(struct inmo_lab_run *run, const char *folder, const struct inmo_hooks *hooks,
                                   struct inmo_error *error);
/* Trains, going on from a checkpoint if there is one, judges, writes the file. What the system cannot do is a
 * result. */
enum inmo_status inmo_lab_run_do(struct inmo_lab_run *run, struct inmo_lab_data *data, const char *folder,
                                 const struct inmo_hooks *hooks, struct inmo_error *error);
void inmo_lab_run_free(struct inmo_lab_run *run);

/* Number of an evaluation in ndcg; its JSON in *found (borrowed) or, when it could not be made, NULL and the
 * reason. */
int inmo_lab_run_evaluation(const struct inmo_lab_run *run, const char *name, const json_t **found,
                            const char **reason);
/* A metric of a group in percent; NAN where there is none. */
double inmo_lab_run_value(const struct inmo_lab_run *run, const char *evaluation, const char *group,
                          const char *metric);

#endif
