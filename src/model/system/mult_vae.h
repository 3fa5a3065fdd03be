/* mult_vae.h - the network of Mult-VAE (Liang, Krishnan, Hoffman, Jebara 2018): loss and gradient of a batch of
 * users.
 *
 *    history -> dropped, scaled rows of `in`, summed -> tanh -> (mean, log-variance) -> sample -> tanh -> all items
 *       n                    (d)                                    (z, z)              (z)      (d)      (I)
 *
 * docs/math.md has the formulas. The first layer gathers over the history, its gradient over the items' users. The
 * last layer takes nearly all the time (three times B I d multiplications). It processes blocks of users and,
 * within them, tiles of items, each with one single-threaded product. The exponentials of a block are kept until
 * its normaliser is known (128 numbers per item, less than the moments of the parameters), so each score is
 * computed and exponentiated once. Each tile owns its rows of the gradient, and blocks are processed in sequence,
 * so the bytes are the same at any number of threads. */
#ifndef INMO_MODEL_SYSTEM_MULT_VAE_H
#define INMO_MODEL_SYSTEM_MULT_VAE_H

#include "base/status.h"
#include "graph/graph.h"

/* Tensors, in the order of the block. Weights are (outputs, inputs), except `in`, which is (I, d). */
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
/* Offset of a tensor in the block; INMO_VAE_TENSORS: length of the block. */
int64_t inmo_vae_begin(const struct inmo_vae_shape *shape, enum inmo_vae_tensor tensor);

/* y (count, out) = x (count, in) w' + bias, w (out, in); one thread. */
void inmo_vae_layer(int32_t count, int in, int out, const float *x, const float *w, const float *bias, float *y);
void inmo_vae_tanh(int64_t count, float *x);

/* The batch of a step, and its settings. */
struct inmo_vae_step {
    const int32_t *user;  // (count) distinct, each with a history
    int32_t count;
    double dropout, kl_weight, l2;
    uint64_t seed;
    int64_t step;
};
struct inmo_vae;
struct inmo_vae *inmo_vae_new(const struct inmo_graph *graph, const struct inmo_vae_shape *shape,
                              int32_t most_users);
void inmo_vae_free(struct inmo_vae *vae);
/* Returns the loss; gradient has the shape of the block. */
double inmo_vae_gradient(struct inmo_vae *vae, const float *parameter, const struct inmo_vae_step *step,
                         float *gradient);

#endif
