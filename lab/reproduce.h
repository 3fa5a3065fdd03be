/* reproduce.h - the paper's tables and figures, from a log. Part of the program (inmo reproduce), not of libinmo;
 * conventions as in inmo.h. */
#ifndef INMO_LAB_REPRODUCE_H
#define INMO_LAB_REPRODUCE_H

#include "inmo.h"

struct inmo_reproduce_options {
    const char *what;   /* names of experiments, "table2,table4"; default "all" */
    const char *seeds;  /* of split and training: "1,2,3" or "1..5"; default "1..5" */
    const char *recipe; /* fast (default) or paper */
    const char *only; /* systems, "lightgcn,inmo-lightgcn,inmo-lightgcn*" (*: 30 % templates); default NULL: all */
    int k_core;       /* both sides keep only ids with this many interactions; default 10, as in the paper */
    int epochs;       /* of each training at most; 0 (default): the recipe's */
    double max_seconds; /* of each training; 0 (default): no limit. Its numbers then depend on the machine */
    int finished;       /* 1: trains nothing; the report has the rows whose runs are there. Default 0 */
};
void inmo_reproduce_options_init(struct inmo_reproduce_options *options);
const struct inmo_setting *inmo_reproduce_settings(size_t *count); /* all but what */
/* Experiment n (from 0): its name, "table2", and what it shows; NULL when there are not so many. */
const char *inmo_reproduce_experiment(size_t n, const char **title);

struct inmo_reproduce_report {
    int runs;             /* trainings that the experiments are made of */
    int trained;          /* by this call; the others were in the directory */
    double seconds;       /* of this call */
    const char *markdown; /* the tables, as in DIR/report.md */
    const char *json;     /* the same for machines: an object */
};
/* Trains and evaluates what the experiments need on the log, or prepared directory whose parts are put together
 * again, and writes DIR/report.md, DIR/report.html and a file for each finished training, DIR/runs/HASH.run.
 * Called again, also after kill -9, nothing finished is done twice. A system that cannot do an experiment is in
 * its table, with the reason. Errors: USAGE (names the option), EXISTS (a directory with other things),
 * INTERRUPTED (what was finished is kept), and those of reading and preparing the data. */
enum inmo_status inmo_reproduce(const char *data, const struct inmo_read_options *read,
                                const struct inmo_reproduce_options *options, const char *directory,
                                const struct inmo_hooks *hooks, struct inmo_reproduce_report **report,
                                struct inmo_error *error);
void inmo_reproduce_report_free(struct inmo_reproduce_report *report);

#endif
