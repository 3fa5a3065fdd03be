/* compare_links.h - which item links to use: the ridge and the exponent of popularity, compared by the links alone
 * before training, as vectors are not there yet. */
#ifndef INMO_TRAIN_COMPARE_LINKS_H
#define INMO_TRAIN_COMPARE_LINKS_H

#include "eval/validate.h"
#include "model/links.h"
#include "train/settings.h"

/* Links of two rules, with the same pairs of items. */
struct inmo_link_pair {
    struct inmo_links *links;  // to begin with
    struct inmo_link_rule rule, other;
    float *other_weight;  // (links) of the best links of another exponent; NULL: there are none
};

/* The rule that the options give; auto: the defaults. */
struct inmo_link_rule inmo_link_rule_of(const struct inmo_train_options *options);
/* Solves links by all ridges that are open, and keeps the best ones by the exponent of the vectors and the best
 * ones by another exponent, unless one is given. The caller owns both. Errors: MEMORY, INTERRUPTED. */
enum inmo_status inmo_links_compare(const struct inmo_train_options *options, const struct inmo_graph *graph,
                                    const struct inmo_validation *validation, const struct inmo_scorer *scorer,
                                    const struct inmo_hooks *hooks, struct inmo_link_pair *pair,
                                    struct inmo_error *error);

#endif
