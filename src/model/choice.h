/* choice.h - settings that a log decides: a model offers a small lattice of them, and training climbs it by
 * validation (train/choose.h). A setting takes part where its value is INMO_AUTO (text: "auto"); one that is given
 * stays. */
#ifndef INMO_MODEL_CHOICE_H
#define INMO_MODEL_CHOICE_H

#include "base/status.h"

#include <math.h>

/* The log, before anything is trained. */
struct inmo_log_shape {
    double users, items, interactions; /* of the training part; all at least 1 */
};
/* The share of all pairs that are interactions. */
static inline double inmo_log_density(const struct inmo_log_shape *log)
{
    return log->interactions / (log->users * log->items);
}

enum { INMO_CHOICE_AXES = 3 };
struct inmo_choice {
    int axes;
    int count[INMO_CHOICE_AXES]; /* values along each axis */
    int start[INMO_CHOICE_AXES]; /* the values where nothing can be validated, and the first to be tried */
    int trials;                  /* at most; none are made where all points have the same settings */
    int epochs, dim;             /* of a trial, at most; 0: those of the training */
    int half;                    /* 1: a trial has only the more frequent half of the items (`most-items`) */
    double margin;               /* a trial must be better than the best one by this share of it */
    /* Replaces the settings that are INMO_AUTO by the values at a point of the lattice. */
    void (*take)(const int *point, const struct inmo_log_shape *log, struct inmo_train_options *options);
};

/* Three digits: values are read by people, and repeated on the command line. */
static inline double inmo_choice_round(double value)
{
    double scale = pow(10, 2 - floor(log10(value)));
    return round(value * scale) / scale;
}
static inline void inmo_choice_set(double *setting, double value)
{
    if (*setting == INMO_AUTO)
        *setting = value;
}
static inline void inmo_choice_set_count(int *setting, int value)
{
    if (*setting == INMO_AUTO)
        *setting = value;
}

extern const struct inmo_choice inmo_choice_ials, inmo_choice_ease, inmo_choice_gfcf, inmo_choice_knn;
/* log_size.c */
extern const struct inmo_choice inmo_choice_mf, inmo_choice_inmo_mf, inmo_choice_lightgcn,
    inmo_choice_inmo_lightgcn;

#endif
