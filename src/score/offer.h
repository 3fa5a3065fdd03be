/* offer.h - rules shared by all code that makes lists (one person, all users, evaluation): which items may be
 * recommended at all, which items of a history a model can use, and when a list falls back to popularity. */
#ifndef INMO_SCORE_OFFER_H
#define INMO_SCORE_OFFER_H

#include "kernel/top.h"
#include "model/model.h"

/* An item is on offer if the model was trained on it, or if the model can represent unseen items: from their users
 * or, with templates, even without any. */
int inmo_is_on_offer(const struct inmo_model *model, const struct inmo_model_binding *bound, int32_t item);
/* Whether the model can use the item in a history. */
int inmo_is_usable(const struct inmo_model *model, const struct inmo_model_binding *bound, int32_t item);
/* Whether the model can serve a user of the graph: it saw the user in training, or it serves unseen users. */
int inmo_is_served(const struct inmo_model *model, const struct inmo_model_binding *bound, int32_t user);
/* Whether a list falls back to popularity because the model can use nothing of the history. With provider and
 * backbone, a user of the graph has a representation even then; a system has only the history. */
int inmo_falls_back(const struct inmo_model *model, int is_in_graph, int32_t usable);
/* The same for a user of the graph. */
int inmo_user_falls_back(const struct inmo_model *model, const struct inmo_model_binding *bound, int32_t user);

/* Items by degree, highest first, then by number. order: (items). */
enum inmo_status inmo_popular_order(const struct inmo_graph *graph, int32_t **order, struct inmo_error *error);
/* The first k items of the order that are on offer and not in closed (ascending); their degrees are the scores.
 * unoffered: (items) or NULL. */
void inmo_popular_top(const struct inmo_graph *graph, const int32_t *order, const uint8_t *unoffered,
                      const int32_t *closed, int32_t closed_count, struct inmo_top *top);

#endif
