/* links.h - item links (link_solve.h) on a graph of users and items, and what they add to scores. */
#ifndef INMO_SCORE_LINKS_H
#define INMO_SCORE_LINKS_H

#include "model/model.h"
#include "score/sums.h"

/* The model's links in the numbers of its binding's graph. Items that the model does not know, but that have users
 * in the graph, get links by the same closed form. A model that has none yet, or a graph that has outgrown it, gets
 * those of the graph. */
enum inmo_status inmo_links_bind(const struct inmo_model *model, const struct inmo_model_binding *bound,
                                 const struct inmo_hooks *hooks, struct inmo_links **links,
                                 struct inmo_error *error);
/* How many interactions the model was trained and validated on; of the validation part only what is in the graph
 * counts. How many more the graph has, as a share of those. Outgrown: over a twentieth more. */
int64_t inmo_links_known(const struct inmo_model *model, const struct inmo_model_binding *bound);
double inmo_links_growth(const struct inmo_model *model, const struct inmo_model_binding *bound);
int inmo_links_are_outgrown(const struct inmo_model *model, const struct inmo_model_binding *bound);
/* Adds what the items of a history (node[n] - first) say, each as often as the root of its share of the history
 * (NULL: 1). */
void inmo_links_add(const struct inmo_links *links, const int32_t *node, const float *share, int32_t count,
                    int32_t first, struct inmo_sums *sums);
/* At most so many items get something from this history. */
int64_t inmo_links_most(const struct inmo_links *links, const int32_t *node, int32_t count, int32_t first);
/* What item j of a history adds to the score of item i. */
float inmo_links_between(const struct inmo_links *links, int32_t j, int32_t i);

#endif
