/* ngcf_layer.h - one layer of NGCF, forward and backward, over all nodes or some (docs/math.md, "ngcf"):
 *
 *     m = Â x,   y = dropout(LeakyReLU(W1 m + b1 + W2 (x ⊙ m) + b2)),   Â: A + I, rows summing to 1, edges dropped
 *
 * The two products are one, (m, x ⊙ m) P, with P = (W1'; W2') packed once per step. One thread takes a block of
 * rows from the gather to the activation, so m is still in cache when it is multiplied. Blocks have a fixed size
 * and belong to a fixed number of groups, each with its sum of dP, so the bytes are the same at any number of
 * threads. */
#ifndef INMO_MODEL_BACKBONE_NGCF_LAYER_H
#define INMO_MODEL_BACKBONE_NGCF_LAYER_H

#include "graph/graph.h"
#include "kernel/kernel.h"
#include "model/seam.h"

struct inmo_ngcf_layer {
    const struct inmo_graph *graph;
    int dim;
    const float *share;    // (nodes) 1 / ((degree + 1) (1 - p)): a term's weight in the row's mean
    struct inmo_drop drop; /* of edges */
    struct inmo_activation activation;
    const float *packed;  // (2 dim, dim) P
    const float *bias;    // (dim) b1 + b2
    const float *x;       // (nodes, dim)
    const int32_t *node;  // (count) rows of m and y; NULL: all nodes, in order
    int32_t count;
    float *m, *y;  // (count, dim)
    float *space;  // (inmo_ngcf_space)
};

/* Floats of scratch space, shared by all layers. */
size_t inmo_ngcf_space(int dim);
/* P and b1 + b2 of a layer from its parameters W1, b1, W2, b2. */
void inmo_ngcf_pack(int dim, const float *own, float *packed, float *bias);

/* m and y from x. */
void inmo_ngcf_forward(const struct inmo_ngcf_layer *layer);

/* From g = dL/dy by rows, which is overwritten. pull, by rows: what each row's m passes on to its neighbours' x
 * (not yet weighted). g becomes the gradient of the row's own x. gradient: dW1, db1, dW2, db2. */
void inmo_ngcf_backward(const struct inmo_ngcf_layer *layer, float *g, float *pull, float *sum, float *gradient);
/* Number of floats in sum. */
size_t inmo_ngcf_sum(int dim);

/* 1 if the self-loop of the row is kept. */
static inline int inmo_ngcf_keeps_self(const struct inmo_ngcf_layer *layer, int32_t v)
{
    int is_user = v < layer->graph->users;
    return inmo_drop_keeps(is_user ? layer->drop.key_user_rows : layer->drop.key_item_rows, layer->drop.threshold,
                           is_user ? (uint32_t)v : UINT32_MAX,
                           is_user ? UINT32_MAX : (uint32_t)(v - layer->graph->users));
}

#endif
