/* validate.h - the score for early stopping. It is computed many times for the same users, so everything is
 * allocated once. */
#ifndef INMO_EVAL_VALIDATE_H
#define INMO_EVAL_VALIDATE_H

#include "base/csr.h"
#include "base/status.h"
#include "eval/weigh.h"

struct inmo_validation;
/* truth: items to find; seen: items to mask; both are borrowed. only_seen: 1 if items without training interactions
 * are no candidates, as in the evaluation of a model that has no vectors for them. */
enum inmo_status inmo_validation_new(const struct inmo_csr *truth, const struct inmo_csr *seen, int k,
                                     int only_seen, struct inmo_validation **validation, struct inmo_error *error);
/* From now on, validates on a random sample of at most `most` users; 0: on all. */
void inmo_validation_sample(struct inmo_validation *validation, int32_t most, uint64_t seed);
void inmo_validation_free(struct inmo_validation *validation);
/* Mean NDCG@k over the users with truth items, or over the sample, by the scorer as it was last refreshed. */
enum inmo_status inmo_validation_ndcg(struct inmo_validation *validation, const struct inmo_scorer *scorer,
                                      const struct inmo_hooks *hooks, double *ndcg, struct inmo_error *error);

/* Chooses the weights of the scorer's walks and links (INMO_AUTO: to be chosen, else given) on a sample of at most
 * `most` users, and sets them. */
enum inmo_status inmo_validation_weigh(const struct inmo_validation *validation, int32_t most,
                                       struct inmo_scorer *scorer, double walks, double links, double prior,
                                       struct inmo_weights *weights, struct inmo_error *error);
/* NDCG@k of each user by links alone, without vectors, on the sample that decides on weights: *count numbers, at
 * most INMO_WEIGH_USERS. */
enum inmo_status inmo_validation_links_ndcg(const struct inmo_validation *validation,
                                            const struct inmo_scorer *scorer, const struct inmo_links *links,
                                            float *ndcg, int32_t *count, struct inmo_error *error);

#endif
