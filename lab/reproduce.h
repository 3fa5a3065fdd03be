/* reproduce.h - the paper's tables and figures, from a log. Part of the program (inmo reproduce), not of libinmo;
 * conventions as in inmo.h. */
#ifndef INMO_LAB_REPRODUCE_H
#define INMO_LAB_REPRODUCE_H

#include "inmo.h"

struct inmo_reproduce_options {
    const char *what;   /* names of experiments, "table2,table4"; default "all" */
    const char *seeds;  /* of split and training: "1,2,3" or "1..5"; default "1..5" */
    const char *recipe; /* fast (default) or paper */
    const char *like; /* paper: settings for gowalla, yelp or amazon-book; default NULL: for the nearest of them */
    const char *storage; /* float or half: of the graph layers in training; default NULL: the recipe's */
    const char *only; /* systems, "lightgcn,inmo-lightgcn,inmo-lightgcn*" (*: 30 % templates); default NULL: all */
    int k_core;       /* users and items need this many interactions; default 10, as in the paper */
    int epochs;       /* maximum per training; 0 (default): the recipe's */
    double max_seconds;     /* limit per training; 0 (default): none. With a limit, results depend on the machine */
    int finished;           /* 1: trains nothing and reports only finished runs; default 0 */
    const char *new_choice; /* random (default) or last: which users and items are new (inmo_prepare_options) */
};
void inmo_reproduce_options_init(struct inmo_reproduce_options *options);
const struct inmo_setting *inmo_reproduce_settings(size_t *count); /* all options except what */
/* Experiment n (from 0): its name ("table2"), and its title; NULL after the last. */
const char *inmo_reproduce_experiment(size_t n, const char **title);

struct inmo_reproduce_report {
    int runs;             /* number of trainings behind the experiments */
    int trained;          /* of these, trained by this call */
    double seconds;       /* of this call */
    const char *markdown; /* the tables, as in DIR/report.md */
    const char *json;     /* the same as a JSON object */
};
/* Trains and evaluates what the experiments need on a log or prepared directory (its parts are joined and split
 * again). Writes DIR/report.md, DIR/report.html and one file per finished training, DIR/runs/HASH.run. A second
 * call, also after kill -9, repeats no finished training. A system that cannot do an experiment appears in its
 * table with the reason. Errors: USAGE (names the option), EXISTS (the directory has other files), INTERRUPTED
 * (finished runs are kept), and those of reading and preparing the data. */
enum inmo_status inmo_reproduce(const char *data, const struct inmo_read_options *read,
                                const struct inmo_reproduce_options *options, const char *directory,
                                const struct inmo_hooks *hooks, struct inmo_reproduce_report **report,
                                struct inmo_error *error);
void inmo_reproduce_report_free(struct inmo_reproduce_report *report);

#endif
