/* plan.h - determines the runs that the requested experiments need, estimates their time, and does them. */
#ifndef INMO_LAB_PLAN_H
#define INMO_LAB_PLAN_H

#include "lab/lab.h"

/* Checks the options and fills in defaults; sets the experiments and seeds of the lab. */
enum inmo_status inmo_lab_plan_options(const struct inmo_reproduce_options *options,
                                       struct inmo_reproduce_options *filled, struct inmo_lab *lab,
                                       struct inmo_error *error);
/* Sets size and hash of the data. */
enum inmo_status inmo_lab_plan_data(struct inmo_lab *lab, struct inmo_error *error);
/* Makes the rows and the runs behind them, each run once. */
enum inmo_status inmo_lab_plan_runs(struct inmo_lab *lab, struct inmo_error *error);
/* Does the runs that are not in the folder yet; *trained is their number. */
enum inmo_status inmo_lab_do_runs(struct inmo_lab *lab, const char *folder, const struct inmo_hooks *hooks,
                                  int *trained, struct inmo_error *error);
void inmo_lab_plan_free(struct inmo_lab *lab);

#endif
