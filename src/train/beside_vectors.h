/* beside_vectors.h - walks and links in training: solved at the start, weighed on the validation part after an
 * epoch, chosen once more and handed to the model at the end. Steps do not depend on them. */
#ifndef INMO_TRAIN_BESIDE_VECTORS_H
#define INMO_TRAIN_BESIDE_VECTORS_H

#include "eval/validate.h"
#include "train/learner.h"

/* What was decided about them. */
struct inmo_beside_choice {
    struct inmo_link_rule rule;  /* of the links */
    struct inmo_link_rule other; /* and another, for which there are weights of the same links */
    float *other_weight;         // (links) NULL: there is no other
    int swapped;                 /* 1: epochs were judged by the links that are the other ones now */
    int chooses;                 /* 1: a weight is chosen by validation */
    struct inmo_weights weights;
    double seconds;       /* that choosing and solving links took at the start */
    double seconds_alone; /* that solving them by the chosen ridge alone will take, roughly */
};

/* Solves the links, by the ridge and the exponent of popularity that the options give, those of the earlier model
 * of a warm start (may be NULL), or the ones that rank best by themselves (compare_links.h), into the scorer.
 * Without a validation part: nothing yet. */
enum inmo_status inmo_beside_start(const struct inmo_train_options *options, const struct inmo_learner *learner,
                                   const struct inmo_model *earlier, const struct inmo_validation *validation,
                                   const struct inmo_hooks *hooks, struct inmo_scorer *scorer,
                                   struct inmo_beside_choice *choice, struct inmo_error *error);
/* Weighs them beside the scorer's vectors, if that is to be chosen, by at most so many users (weigh.h). with_prior:
 * popularity, too, which waits for the vectors that are kept. */
enum inmo_status inmo_beside_weigh(const struct inmo_train_options *options,
                                   const struct inmo_validation *validation, int32_t most, int with_prior,
                                   struct inmo_scorer *scorer, struct inmo_beside_choice *choice,
                                   struct inmo_error *error);
/* Keeps those of two rules by which the whole score is better, with the scorer's vectors and weights of its own for
 * each. Does nothing if there is only one. */
enum inmo_status inmo_beside_choose_links(const struct inmo_train_options *options,
                                          const struct inmo_validation *validation, struct inmo_scorer *scorer,
                                          struct inmo_beside_choice *choice, struct inmo_error *error);
/* Replaces what was to be chosen in the options, says so to the hooks, and writes it into the record (choose.h). */
enum inmo_status inmo_beside_tell(struct inmo_train_options *options, const struct inmo_beside_choice *choice,
                                  const struct inmo_hooks *hooks, char **record, struct inmo_error *error);
/* Gives the model, which has the training interactions of data, what was chosen. Takes over links that were solved
 * on them; NULL: solves them. */
enum inmo_status inmo_beside_finish(const struct inmo_dataset *data, const struct inmo_hooks *hooks,
                                    struct inmo_links *links, const struct inmo_beside_choice *choice,
                                    struct inmo_model *model, struct inmo_error *error);

#endif
