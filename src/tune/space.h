/* space.h - the search space: a list of values or a range for each searched setting.
 *
 *     learning-rate=1e-3..3e-2:log     a range, uniform in the logarithm
 *     dropout=0.3..0.7:5               five equally spaced values
 *     layers=1..4, loss=bpr|softmax    lists: a range of whole numbers, or values separated by bars
 *
 * Trial n's values are a function of (space, n), n from 0, so a search needs no stored state to continue. */
#ifndef INMO_TUNE_SPACE_H
#define INMO_TUNE_SPACE_H

#include "base/status.h"

enum { INMO_SPACE_MOST_AXES = 32, INMO_VALUE_SIZE = 64 };

struct inmo_axis {
    const struct inmo_setting *row;
    char **value;       // (count) as on the command line, each once; NULL for a range
    size_t count;       /* 0: a range */
    double least, most; /* of a range, both included */
    int logarithmic;
};

struct inmo_space {
    struct inmo_axis axis[INMO_SPACE_MOST_AXES];
    size_t axis_count;
    uint64_t size; /* points in it; 0: a range makes them countless */
    /* 1: trial n is point n, the last axis fastest; 0: by chance, no point of a countable space twice. */
    int in_order;
    uint64_t seed; /* of that chance */
};

/* Reads "name=values,name=values". With halving, settings that decide the length of a training cannot be searched.
 * Errors: USAGE (names the setting, what was found and what was expected), MEMORY. */
enum inmo_status inmo_space_parse(const char *text, int halving, struct inmo_space *space,
                                  struct inmo_error *error);
void inmo_space_free(struct inmo_space *space);
/* The space in canonical spelling, for comparison; NULL if out of memory. Free it with inmo_free. */
char *inmo_space_text(const struct inmo_space *space);

/* Value of an axis in a trial, as on the command line; in buffer, or owned by the space. */
const char *inmo_space_value(const struct inmo_space *space, size_t axis, uint64_t trial,
                             char buffer[INMO_VALUE_SIZE]);
/* Puts the trial's values into options; their strings belong to the space. */
void inmo_space_apply(const struct inmo_space *space, uint64_t trial, struct inmo_train_options *options);

#endif
