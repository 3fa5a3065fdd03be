/* lab.h - the state of one inmo_reproduce call: rows of the experiments, the runs behind them, and the results. */
#ifndef INMO_LAB_LAB_H
#define INMO_LAB_LAB_H

#include "graph/graph.h"
#include "lab/run.h"

enum { INMO_LAB_MOST_SEEDS = 100, INMO_LAB_POINTS = 21 };

struct inmo_lab {
    const struct inmo_reproduce_options *options;
    const char *source; /* name of the data */
    struct inmo_lab_data data;
    const char *paper_data; /* the paper's data set of this size, or NULL */
    int64_t users, items, interactions;
    uint64_t seed[INMO_LAB_MOST_SEEDS];
    size_t seeds;
    const struct inmo_lab_experiment *experiment[32];
    size_t experiments;
    struct inmo_lab_row *row;  // (rows) of all experiments, in order
    size_t rows;
    size_t *run_of;            // (rows, seeds) number of the run
    struct inmo_lab_run *run;  // (runs)
    size_t runs;
};

/* Number of seeds that an experiment uses; training curves need only one. */
size_t inmo_lab_seeds_of(const struct inmo_lab *lab, const struct inmo_lab_experiment *experiment);

/* findings.c: all results as one JSON object, from which the pages are written. */
enum inmo_status inmo_lab_findings(struct inmo_lab *lab, json_t **findings, struct inmo_error *error);

/* claims.c: the paper's claims that the experiments can test, each with a paired test over users. */
enum inmo_status inmo_lab_claims(const struct inmo_lab *lab, json_t *claims, struct inmo_error *error);

/* errors.c: the SVD's error term, as a share of its maximum, when these shares of users (or items) are not
 * templates. */
enum inmo_status inmo_lab_error_curve(const struct inmo_graph *graph, int rank, const char *rule, int of_items,
                                      double share[INMO_LAB_POINTS], double value[INMO_LAB_POINTS],
                                      struct inmo_error *error);

/* page.c: the results for readers; NULL if out of memory. Free them with inmo_free. */
char *inmo_lab_markdown(const json_t *findings);
char *inmo_lab_html(const json_t *findings);

#endif
