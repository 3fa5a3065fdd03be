/* experiment.h - the list of experiments: what each one trains, what it evaluates, and how it is shown.
 *
 * A row is a system trained in a scenario and evaluated in one way. A table prints rows by columns, a figure draws
 * them. Rows that need the same training share it (run.h). */
#ifndef INMO_LAB_EXPERIMENT_H
#define INMO_LAB_EXPERIMENT_H

#include "data/dataset.h"
#include "model/model.h"

enum inmo_lab_shape {
    INMO_LAB_STATISTICS, /* statistics of the data; no training */
    INMO_LAB_TABLE,      /* rows by columns */
    INMO_LAB_LINES,      /* a series of rows over x */
    INMO_LAB_CURVES,     /* validation over the epochs */
    INMO_LAB_BARS,       /* seconds, logarithmic */
    INMO_LAB_ERRORS,     /* the error term of Theorem 2; no training */
};

struct inmo_lab_column {
    const char *group, *metric; /* of an evaluation: "new-users", "ndcg" */
    const char *title;
    int paper; /* column in the paper's table, -1: none */
};

struct inmo_lab_experiment {
    const char *name, *title;
    enum inmo_lab_shape shape;
    const char *x, *y;                    /* names of the axes of a figure, of a table: of its training curves */
    const struct inmo_lab_column *column; /* of a table */
    size_t columns;
    const char *note; /* explanation for the reader, or NULL */
};
/* Experiment n, from 0; NULL after the last. */
const struct inmo_lab_experiment *inmo_lab_experiment_at(size_t n);

/* What is trained: a model, and its differences from the recipe. */
struct inmo_lab_system {
    const char *model;
    double templates;                       /* share of both sides; 0: the recipe's */
    const char *rule;                       /* NULL: the recipe's */
    double annealing, dropout, self_weight; /* negative: the recipe's */
    double walks;                           /* 0: none */
    int paper_recipe;                       /* 1: the paper's recipe, whatever the others have */
};

enum { INMO_LAB_LABEL = 64 };
struct inmo_lab_row {
    const struct inmo_lab_experiment *experiment;
    struct inmo_lab_system system;
    enum inmo_scenario trained;
    const char *evaluation;     /* "test", "without-new" or "new-users-items": see run.h */
    char label[INMO_LAB_LABEL]; /* of the row, or of the series */
    double x;                   /* of a figure */
};
/* All rows of the experiment, in order; the caller frees *row. */
enum inmo_status inmo_lab_rows(const struct inmo_lab_experiment *experiment, struct inmo_lab_row **row,
                               size_t *count, struct inmo_error *error);

/* The name of a model in tables: "INMO-LGCN". */
const char *inmo_lab_model_label(const char *model);

/* 1 for models with the INMO module: the self-enhanced loss, with its diagonal, belongs to that module alone. */
static inline int inmo_lab_has_module(const struct inmo_model_kind *kind)
{
    return kind->provider && kind->provider->diagonal > 0;
}

#endif
