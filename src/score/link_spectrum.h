/* link_spectrum.h - what the leading singular vectors of the whole graph say about pairs of linked items.
 *
 * Links are regressions on neighbours (link_solve.h): each item sees two steps of the graph and no further. With
 * R = D_u^-1/2 Y D_i^-1/2 ≈ U S V',
 *
 *     k_ji = d_j^-1/2 · Σ_n v_jn v_in s_n² / (s_n² + 0.1) · d_i^1/2
 *
 * is a regression of all items on all others at once, on the directions that many share. It is computed from the
 * observed graph as links are, and only for pairs that have a link, so it costs nothing in a score. */
#ifndef INMO_SCORE_LINK_SPECTRUM_H
#define INMO_SCORE_LINK_SPECTRUM_H

#include "graph/graph.h"
#include "model/links.h"

/* kernel (links): k of each pair, by the links' order. Errors: MEMORY, INTERRUPTED. */
enum inmo_status inmo_link_spectrum(const struct inmo_graph *graph, const struct inmo_links *links,
                                    const struct inmo_hooks *hooks, float *kernel, struct inmo_error *error);
/* to (links) = from + weight · d_i^popularity · kernel; to may be from. */
void inmo_link_spectrum_add(const struct inmo_graph *graph, const struct inmo_links *links, const float *kernel,
                            double weight, double popularity, const float *from, float *to);

#endif
