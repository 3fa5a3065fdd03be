/* general.h - the gradients of t_user and t_item of the inmo provider: sums over all nodes, or over a batch's. */
#ifndef INMO_MODEL_PROVIDER_GENERAL_H
#define INMO_MODEL_PROVIDER_GENERAL_H

#include "graph/share.h"
#include "kernel/kernel.h"
#include "model/seam.h"

struct inmo_general {
    const struct inmo_graph *graph;
    int dim;
    const float *scale;  // (nodes)
    struct inmo_drop drop;
};

/* Rows of dim numbers of scratch for a graph with so many nodes. */
size_t inmo_general_partials(int32_t nodes);
/* general: (3, dim) dt_user, dt_item and zeros. de: of all nodes (rows NULL) or by rows. */
void inmo_general_gradient(const struct inmo_general *job, const struct inmo_rows *rows, const float *de,
                           float *partial, float *general);

#endif
