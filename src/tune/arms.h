/* arms.h - the models of a search, each with its starting options and its space, and which trial is what.
 *
 * Trials go round the models: the first trial of each, then the second of each. A model whose space is used up is
 * left out. Like a point of a space, a trial is a function of its number. */
#ifndef INMO_TUNE_ARMS_H
#define INMO_TUNE_ARMS_H

#include "tune/space.h"

enum { INMO_MOST_ARMS = 32 };

struct inmo_arm {
    struct inmo_train_options fixed; /* settings that are not searched; strings belong to the caller */
    const char *model;               /* name in the table of models */
    int closed;                      /* 1: a closed form, without epochs */
    struct inmo_space space;         // may have no axes: then only the starting options are tried
};

struct inmo_arms {
    struct inmo_arm *arm;  // (count)
    size_t count;
    int as_given; /* 1: the first trial of a model is its starting options as they are */
};

void inmo_arms_free(struct inmo_arms *arms);
/* Number of different trials; 0: countless. */
uint64_t inmo_arms_size(const struct inmo_arms *arms);
/* The model of a trial. */
size_t inmo_arms_find(const struct inmo_arms *arms, int trial);
/* Value of axis a of its model in a trial, as on the command line; in buffer, or owned by the space. */
const char *inmo_arms_value(const struct inmo_arms *arms, int trial, size_t a, char buffer[INMO_VALUE_SIZE]);
/* All settings of a trial. */
struct inmo_train_options inmo_arms_options(const struct inmo_arms *arms, int trial);

#endif
