/* link_solve.h - item links: every item predicted from the items most like it, by a regression of its own.
 *
 * For item i and its neighbours J (the k items of largest cosine with it), in closed form,
 *
 *     b = (G_JJ + diag(ridge + share · G_jj))^-1 G_Ji,    G = Σ_u w_u y_u y_uᵀ,    w_u = d_u^-1/2 / mean
 *     links(H, i) = factor · d_i^γ · Σ_{j in H ∩ J} b_j
 *
 * with y_u the interactions of user u, and the mean over interactions. It is the regression of EASE, but on k items
 * instead of all: a few seconds where the inverse of the whole matrix takes minutes and gigabytes, and better on
 * most logs. Vectors of a hundred numbers hold what people have in common; links hold what single items have.
 *
 * share · G_jj is what dropping interactions at random from the input would add. Weighing users down by their
 * number of items keeps those who take everything from deciding. */
#ifndef INMO_SCORE_LINK_SOLVE_H
#define INMO_SCORE_LINK_SOLVE_H

#include "graph/graph.h"
#include "model/links.h"

/* Solves for the items with only[i] != 0; NULL: for all. factor is 1. Errors: MEMORY, INTERRUPTED. */
enum inmo_status inmo_links_solve(const struct inmo_graph *graph, const struct inmo_link_rule *rule,
                                  const uint8_t *only, const struct inmo_hooks *hooks, struct inmo_links **links,
                                  struct inmo_error *error);
/* The same for several rules that differ in ridge and share only: comparing the items, which takes most of the
 * time, is done once. */
enum inmo_status inmo_links_solve_all(const struct inmo_graph *graph, const struct inmo_link_rule *rule, int rules,
                                      const uint8_t *only, const struct inmo_hooks *hooks,
                                      struct inmo_links **links, struct inmo_error *error);

#endif
