/* attention.h - multi-head attention of many queries over a few keys that they all share (docs/math.md, "idcf"):
 *
 *     e(q) = Σ_h Wout_h Σ_j a_hj Wv_h k_hj,   a_h = softmax_j((Wq_h q) · (Wk_h k_hj))
 *
 * There are few keys, so what is done to them is done first: with M_h = (Wq_h' Wk_h k_hj)_j and V_h = (Wout_h
 * Wv_h k_hj)_j a query takes two products, a = softmax(M q) and e = V' a, for all heads at once, and neither a
 * query nor a value of d numbers a head is ever made. Rows go in blocks of fixed size, each inside one thread;
 * blocks are in a fixed number of groups, each with a sum of dM and dV. Hence the same bytes at any number of
 * threads. */
#ifndef INMO_MODEL_PROVIDER_ATTENTION_H
#define INMO_MODEL_PROVIDER_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

enum { INMO_HEADS = 4, INMO_SAMPLE = 50 };

/* Its weights in one block: Wq, Wk, Wv, Wout, each (HEADS dim, dim), rows h dim .. of head h; row c gives output
 * c. */
enum inmo_attention_weight { INMO_WQ, INMO_WK, INMO_WV, INMO_WOUT, INMO_ATTENTION_WEIGHTS };
static inline size_t inmo_attention_weight_size(int dim)
{
    return (size_t)INMO_HEADS * (size_t)dim * (size_t)dim;
}

/* Over keys of one kind. made by _make, whose buffers have room for SAMPLE keys a head. */
struct inmo_attention {
    int dim;
    int32_t keys;             /* of each head; of all of them with HEADS before, as below */
    const float *weights;     // (WEIGHTS HEADS dim, dim) of the step
    float *key;               // (HEADS keys, dim) k
    float *matched, *valued;  // (HEADS keys, dim) Wk k, Wv k
    float *match, *value;     // (HEADS keys, dim) M, V
    float *space;             // (GROUPS, block rows, HEADS keys)
    float *sum;               // (GROUPS, 2 HEADS keys, dim) dM, dV; NULL outside training
    float *key_gradient;      // (HEADS keys, dim) scratch for each of the two
};

/* 0, or -1 when storage is short. */
int inmo_attention_make(int dim, int for_training, struct inmo_attention *attention);
void inmo_attention_free(struct inmo_attention *attention);

/* Different numbers below count, as drawn: at most SAMPLE, all of them ascending where there are no more. */
int32_t inmo_attention_draw(uint64_t key, int32_t count, int32_t *drawn /* (SAMPLE) */);

/* From key, which the caller has filled, and the weights: M and V. */
void inmo_attention_prepare(struct inmo_attention *attention);
/* e (count, dim) of queries (count, dim). share, (count, HEADS keys): a, for backward, or NULL. */
void inmo_attention_forward(const struct inmo_attention *attention, int32_t count, const float *query, float *share,
                            float *e);
/* The gradient of the weights from de (count, dim), with that of l2 (‖Wq‖² + ‖Wk‖²). */
void inmo_attention_backward(const struct inmo_attention *attention, int32_t count, const float *query,
                             const float *share, const float *de, double l2, float *gradient);
/* One query, from M and V alone: e takes its place. */
void inmo_attention_one(int dim, int32_t keys, const float *match, const float *value, float *e);

#endif
