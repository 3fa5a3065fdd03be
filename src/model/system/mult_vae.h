/* mult_vae.h - the network of Mult-VAE (Liang, Krishnan, Hoffman, Jebara 2018): loss and gradient of a batch of
 * users.
 *
 *    history -> dropped, scaled rows of `in`, summed -> tanh -> (mean, log-variance) -> sample -> tanh -> all items
 *       n                    (d)                                    (z, z)              (z)      (d)      (I)
 *
 * docs/math.md has the formulas. The first layer is a gather over the history and its gradient a gather over the
 * items' users. The last one, B I d multiplications thrice, takes nearly all the time: blocks of users, and in
 * them tiles of items, each a single-threaded product. A block's exponentials are kept (128 numbers an item,
 * fewer than the parameters' moments take) until its normaliser is known, so that each score is computed and
 * exponentiated once. Every tile owns its rows of the gradient and the blocks come one after the other: the same
 * bytes at any number of threads. */
#ifndef INMO_MODEL_SYSTEM_MULT_VAE_H
#define INMO_MODEL_SYSTEM_MULT_VAE_H

#include "base/status.h"
#include "graph/graph.h"

/* Tensors, in the order they have in one block. Weights are (outputs, inputs), but `in` is (I, d). */
enum inmo_vae_tensor {
    INMO_VAE_IN,
    INMO_VAE_IN_BIAS, /* (I, d), (d) */
    INMO_VAE_CODE,
    INMO_VAE_CODE_BIAS, /* (2 z, d), (2 z): means, then log-variances */
    INMO_VAE_BACK,
    INMO_VAE_BACK_BIAS, /* (d, z), (d) */
    INMO_VAE_OUT,
    INMO_VAE_OUT_BIAS, /* (I, d), (I) */
    INMO_VAE_TENSORS
};
struct inmo_vae_shape {
    int32_t items;
    int hidden; /* d */
    int latent; /* z */
};
struct inmo_vae_shape inmo_vae_shape(int32_t items, int dim);
/* columns 0: a vector. */
void inmo_vae_tensor_shape(const struct inmo_vae_shape *shape, enum inmo_vae_tensor tensor, int64_t *rows,
                           int64_t *columns);
/* Where it begins in the block; INMO_VAE_TENSORS: the length of the block. */
int64_t inmo_vae_begin(const struct inmo_vae_shape *shape, enum inmo_vae_tensor tensor);

/* y (count, out) = x (count, in) w' + bias, w (out, in); one thread. */
void inmo_vae_layer(int32_t count, int in, int out, const float *x, const float *w, const float *bias, float *y);
void inmo_vae_tanh(int64_t count, float *x);

/* A step's batch and what it changes about the computation. */
struct inmo_vae_step {
    const int32_t *user;  // (count) none twice, each with a history
    int32_t count;
    double dropout, kl_weight, l2;
    uint64_t seed;
    int64_t step;
};
struct inmo_vae;
struct inmo_vae *inmo_vae_new(const struct inmo_graph *graph, const struct inmo_vae_shape *shape,
                              int32_t most_users);
void inmo_vae_free(struct inmo_vae *vae);
/* Returns the loss; gradient is of the block's shape. */
double inmo_vae_gradient(struct inmo_vae *vae, const float *parameter, const struct inmo_vae_step *step,
                         float *gradient);

#endif
