/* grown.h - how much walks and links weigh in a log that has outgrown its model.
 *
 * Vectors know what they were trained on; walks and links are computed from all that has been observed. So the
 * more a log has grown, the more walks and links should weigh, but by how much is the log's to say. What came after
 * training can say it: a part of it is held out, together with the model's validation part, and the weights are
 * chosen by both, as at the end of training. Nothing is trained. */
#ifndef INMO_EVAL_GROWN_H
#define INMO_EVAL_GROWN_H

#include "model/model.h"

/* Divides the binding's graph into what is kept and what is held out (truth): what the model was validated on, and
 * of what came after training the same share as that was of all before, another part for each draw. is_all: 1 if
 * the graph has all interactions that there are, so that what the model was validated on and is not in the graph
 * was forgotten; 0: that is held out, too. The caller frees both lists, even on failure. Errors: MEMORY. */
enum inmo_status inmo_grown_divide(const struct inmo_model *model, const struct inmo_model_binding *bound,
                                   int is_all, int draw, struct inmo_csr *kept, struct inmo_csr *truth,
                                   struct inmo_error *error);

/* Changes the weights and the link rule of *as_grown, a shallow copy of a model, to those for the binding's graph,
 * if that has outgrown it (score/links.h), the weights were chosen by validation in training, parameters have not
 * seen the validation part, and other weights are clearly better. Its links are solved anew then. Errors: MEMORY,
 * INTERRUPTED. */
enum inmo_status inmo_weigh_grown(struct inmo_model *as_grown, const struct inmo_model_binding *bound, int is_all,
                                  double alpha, const struct inmo_hooks *hooks, struct inmo_error *error);

#endif
