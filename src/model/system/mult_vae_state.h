/* mult_vae_state.h - shared by mult_vae_net.c and mult_vae_out.c. */
#ifndef INMO_MODEL_SYSTEM_MULT_VAE_STATE_H
#define INMO_MODEL_SYSTEM_MULT_VAE_STATE_H

#include "model/system/mult_vae.h"

/* Users per block, items per tile, groups of tiles that are summed in order. */
enum { INMO_VAE_USERS = 128, INMO_VAE_TILE = 512, INMO_VAE_GROUPS = 8 };

struct inmo_vae {
    const struct inmo_graph *graph;
    struct inmo_vae_shape shape;
    int32_t tiles;
    int32_t *position;   // (nodes) place of a user in the batch, or -1; row of an item
    int32_t *item_node;  // (items)
    double *term;        // (most users) of the loss
    double *squares;     // (tiles) squared norms of `in` and `out`
    float *first;        // (most users, d) after tanh
    float *code;         // (most users, 2 z)
    float *noise;        // (most users, z)
    float *sample;       // (most users, z)
    float *last;         // (most users, d) after tanh
    float *dlast, *dsample, *dcode, *dfirst;
    float *score;    // (tiles, INMO_VAE_USERS, INMO_VAE_TILE) of a block of users
    float *highest;  // (tiles, INMO_VAE_USERS)
    float *sum;      // (tiles, INMO_VAE_USERS) Σ e^(score - highest); then the factor of the tile
    float *pull;     // (INMO_VAE_GROUPS, 3, INMO_VAE_USERS, d) parts of dlast, and space for a tile
};

/* Users first .. first + count - 1 of the batch. */
struct inmo_vae_block {
    const struct inmo_vae_step *step;
    int32_t first, count;
    const float *out, *bias; /* parameters */
    float *dout, *dbias;
};

static inline int32_t inmo_vae_tile_items(const struct inmo_vae *vae, int32_t tile)
{
    int32_t left = vae->shape.items - tile * INMO_VAE_TILE;
    return left < INMO_VAE_TILE ? left : INMO_VAE_TILE;
}

/* The last layer for the users of a block, forward and backward: their loss terms, dlast, dout and dbias. */
void inmo_vae_run_block(struct inmo_vae *vae, const struct inmo_vae_block *block);

#endif
