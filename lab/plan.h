/* plan.h - which runs the asked-for experiments need, how long they will take, and doing them. */
#ifndef INMO_LAB_PLAN_H
#define INMO_LAB_PLAN_H

#include "lab/lab.h"

/* The options with their defaults filled in and checked; experiments and seeds of the lab. */
enum inmo_status inmo_lab_plan_options(const struct inmo_reproduce_options *options,
                                       struct inmo_reproduce_options *filled, struct inmo_lab *lab,
                                       struct inmo_error *error);
/* Size and hash of the data. */
enum inmo_status inmo_lab_plan_data(struct inmo_lab *lab, struct inmo_error *error);
/* Rows, and the runs behind them, each once. */
enum inmo_status inmo_lab_plan_runs(struct inmo_lab *lab, struct inmo_error *error);
/* Does what is not in the folder yet; *trained counts them. */
enum inmo_status inmo_lab_do_runs(struct inmo_lab *lab, const char *folder, const struct inmo_hooks *hooks,
                                  int *trained, struct inmo_error *error);
void inmo_lab_plan_free(struct inmo_lab *lab);

#endif
