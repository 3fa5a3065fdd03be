/* validate.h - the number early stopping goes by, again and again on the same users: everything is allocated
 * once. */
#ifndef INMO_EVAL_VALIDATE_H
#define INMO_EVAL_VALIDATE_H

#include "base/csr.h"
#include "base/status.h"
#include "score/rank.h"

struct inmo_validation;
/* truth: what must be found; seen: what is masked. Both stay the caller's. only_seen: items that nobody has seen
 * are no candidates, as they are none when a model without a vector for them is evaluated. */
enum inmo_status inmo_validation_new(const struct inmo_csr *truth, const struct inmo_csr *seen, int k,
                                     int only_seen, struct inmo_validation **validation, struct inmo_error *error);
/* Only so many of the users from now on, chosen by chance; 0, or more than there are: all. */
void inmo_validation_sample(struct inmo_validation *validation, int32_t most, uint64_t seed);
void inmo_validation_free(struct inmo_validation *validation);
/* Mean NDCG@k of the users with truth items, or of the chosen ones. Of source only what says where scores come
 * from is used. */
enum inmo_status inmo_validation_ndcg(struct inmo_validation *validation, const struct inmo_rank *source,
                                      const struct inmo_hooks *hooks, double *ndcg, struct inmo_error *error);

#endif
