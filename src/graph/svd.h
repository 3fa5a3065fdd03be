/* svd.h - truncated singular value decomposition of the interaction matrix Y (users x items), or of its normalised
 * form D_u^-1/2 Y D_i^-1/2, by randomised subspace iteration. */
#ifndef INMO_GRAPH_SVD_H
#define INMO_GRAPH_SVD_H

#include "graph/graph.h"

struct inmo_svd {
    int rank;
    float *u;  // (users, rank)
    float *s;  // (rank) descending
    float *v;  // (items, rank)
};

/* rank is cut to min(users, items). Deterministic by seed, at one BLAS thread. Between products hooks (may be NULL)
 * are asked whether to stop: INTERRUPTED. */
enum inmo_status inmo_svd_compute(const struct inmo_graph *graph, int rank, int normalised, int iterations,
                                  uint64_t seed, const struct inmo_hooks *hooks, struct inmo_svd **svd,
                                  struct inmo_error *error);
/* The same with the rows of this rank's stretches alone (stretch.h). An outline of the graph has what it needs. */
enum inmo_status inmo_svd_compute_own(const struct inmo_graph *graph, int rank, int normalised, int iterations,
                                      uint64_t seed, const struct inmo_hooks *hooks, struct inmo_svd **svd,
                                      struct inmo_error *error);
void inmo_svd_free(struct inmo_svd *svd);

#endif
