/* settings.h - options of an evaluation, and what follows from them. */
#ifndef INMO_EVAL_SETTINGS_H
#define INMO_EVAL_SETTINGS_H

#include "model/model.h"

enum { INMO_MOST_KS = 16 };

/* The lengths of lists that are evaluated. */
struct inmo_list_lengths {
    int k[INMO_MOST_KS], count, longest;
};

/* Checks options, sets those that are not given (options may be NULL) and reads the lengths. */
enum inmo_status inmo_eval_options_fill(const struct inmo_eval_options *options, struct inmo_eval_options *filled,
                                        struct inmo_list_lengths *lengths, struct inmo_error *error);
/* Gives the model's score the weights that the options name. as_asked: a shallow copy of the model. */
enum inmo_status inmo_eval_weights(const struct inmo_eval_options *options, struct inmo_model *as_asked,
                                   struct inmo_error *error);

#endif
