/* leak.h - how much of what is to be predicted a model has been shown. */
#ifndef INMO_EVAL_LEAK_H
#define INMO_EVAL_LEAK_H

#include "base/csr.h"
#include "model/model.h"

/* Counts the interactions of truth, in the numbers of the bound graph, that the model was trained on and those that
 * it was validated with. */
void inmo_leaks_count(const struct inmo_model *model, const int32_t *model_user, const int32_t *model_item,
                      const struct inmo_csr *truth, struct inmo_leaks *leaks);
/* Refuses to evaluate on such interactions. Validation is only a leak in a test. */
enum inmo_status inmo_leaks_check(const struct inmo_leaks *leaks, int is_test, struct inmo_error *error);

#endif
