/* neumf.h - NeuMF (He et al. 2017) as a head: a weighted product (GMF) beside a perceptron (MLP), docs/math.md.
 *
 *     r_v = (p_v, a_v)                     p: d numbers for GMF, a: h = d/2 for MLP; width 3d/2
 *     x1 = leaky(W1 (a_u, a_i) + b1)       W1 (d, 2h)
 *     x2 = leaky(W2 x1 + b2)               W2 (d, d)
 *     score = o_gmf . (p_u ⊙ p_i) + o_mlp . x2
 *
 * The first layer is the sum of a user's half and an item's half, each computed once and not for every pair. */
#ifndef INMO_MODEL_HEAD_NEUMF_H
#define INMO_MODEL_HEAD_NEUMF_H

#include "model/head.h"

static const float inmo_neumf_slope = 0.01f;

/* The head's parameters by name. */
enum {
    INMO_NEUMF_W1,
    INMO_NEUMF_B1,
    INMO_NEUMF_W2,
    INMO_NEUMF_B2,
    INMO_NEUMF_GMF,
    INMO_NEUMF_MLP,
    INMO_NEUMF_PARTS
};
struct inmo_neumf {
    int width, d, h;
    float *part[INMO_NEUMF_PARTS];
};
/* Pointers into the block own. own is not changed unless the caller writes through them. */
struct inmo_neumf inmo_neumf_of(int width, const float *own);
int inmo_neumf_part(int width, int n, struct inmo_part *part);

/* half (count, d): contribution of rows (count, width) of users or items to the first layer; users include b1. */
void inmo_neumf_half(const struct inmo_neumf *net, int of_items, const float *rows, int32_t count, float *half);

/* Ranking: neumf_score.c. */
struct inmo_head_scores *inmo_neumf_open(int width, const float *own, const float *item, int32_t items);
void inmo_neumf_close(struct inmo_head_scores *scores);
void inmo_neumf_score(const struct inmo_head_scores *scores, const float *user, int32_t count, void *scratch,
                      float *score);
size_t inmo_neumf_scratch_bytes(int width);
double inmo_neumf_pair(int width, const float *own, const float *user, const float *item);
enum { INMO_NEUMF_USERS = 64 }; /* scored at once */

#endif
