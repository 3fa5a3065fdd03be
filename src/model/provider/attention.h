/* attention.h - multi-head attention of many queries over a few keys that they all share (docs/math.md, "idcf"):
 *
 *     e(q) = Σ_h Wout_h (Σ_j a_hj Wv_h k_hj + bv_h) + bout,   a_h = softmax_j((Wq_h q + bq_h) · (Wk_h k_hj))
 *
 * There are few keys, so the weights are applied to them first: with M_h = (Wq_h' Wk_h k_hj)_j, c_h = (bq_h · Wk_h
 * k_hj)_j and V_h = (Wout_h (Wv_h k_hj + bv_h) + bout/HEADS)_j a query needs two products for all heads together,
 * a = softmax(M q + c) and e = V' a, because the shares of a head sum to 1. A bias of Wk would add the same to all
 * scores of a head and change nothing. Queries and values per head are never computed. Rows are processed in blocks
 * of fixed size, each in one thread; blocks belong to a fixed number of groups, each with its sum of dM and dV, so
 * the bytes are the same at any number of threads. */
#ifndef INMO_MODEL_PROVIDER_ATTENTION_H
#define INMO_MODEL_PROVIDER_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

enum { INMO_HEADS = 4, INMO_SAMPLE = 50 };

/* The weights in one block: Wq, Wk, Wv, Wout, each (HEADS dim, dim); head h has rows h dim and following; row c
 * gives output c. */
enum inmo_attention_weight { INMO_WQ, INMO_WK, INMO_WV, INMO_WOUT, INMO_ATTENTION_WEIGHTS };
static inline size_t inmo_attention_weight_size(int dim)
{
    return (size_t)INMO_HEADS * (size_t)dim * (size_t)dim;
}
/* After them the biases, in rows of dim: bq and bv (HEADS), bout (1). */
enum { INMO_BQ = 0, INMO_BV = INMO_HEADS, INMO_BOUT = 2 * INMO_HEADS, INMO_ATTENTION_BIASES = 2 * INMO_HEADS + 1 };
static inline size_t inmo_attention_size(int dim)
{
    return INMO_ATTENTION_WEIGHTS * inmo_attention_weight_size(dim) + INMO_ATTENTION_BIASES * (size_t)dim;
}
static inline const float *inmo_attention_bias(const float *weights, int dim, int row)
{
    return weights + INMO_ATTENTION_WEIGHTS * inmo_attention_weight_size(dim) + (size_t)row * (size_t)dim;
}

/* Attention over keys of one side. Its buffers have room for SAMPLE keys per head. */
struct inmo_attention {
    int dim;
    int32_t keys;             /* keys per head; "HEADS keys" below is their total */
    int learns_biases;        /* 0: their gradient is 0 */
    const float *weights;     // (attention_size) of the step
    float *key;               // (HEADS keys, dim) k
    float *matched, *valued;  // (HEADS keys, dim) Wk k, Wv k + bv
    float *match, *value;     // (HEADS keys, dim) M, V
    float *offset;            // (HEADS keys) c
    float *space;             // (GROUPS, block rows, HEADS keys)
    float *sum;               // (GROUPS, 2 HEADS keys, dim) dM, dV; NULL outside training
    float *offset_sum;        // (GROUPS, HEADS keys) dc; NULL outside training
    float *key_gradient;      // (HEADS keys, dim) scratch for each of the two
};

/* Returns 0, or -1 if out of memory. */
int inmo_attention_make(int dim, int for_training, struct inmo_attention *attention);
void inmo_attention_free(struct inmo_attention *attention);

/* Draws distinct numbers below count, at most SAMPLE; all of them, ascending, if there are no more. With repeats:
 * SAMPLE numbers, each of all. */
int32_t inmo_attention_draw(uint64_t key, int32_t count, int repeats, int32_t *drawn /* (SAMPLE) */);

/* Computes M, c and V from the weights and key, which the caller has filled. */
void inmo_attention_prepare(struct inmo_attention *attention);
/* e (count, dim) of queries (count, dim). share (count, HEADS keys): receives a, for backward; may be NULL. */
void inmo_attention_forward(const struct inmo_attention *attention, int32_t count, const float *query, float *share,
                            float *e);
/* Gradient of the weights from de (count, dim), plus that of l2 (‖Wq‖² + ‖Wk‖²). */
void inmo_attention_backward(const struct inmo_attention *attention, int32_t count, const float *query,
                             const float *share, const float *de, double l2, float *gradient);
/* One query, from M, c and V alone: replaces the query in e by its embedding. */
void inmo_attention_one(int dim, int32_t keys, const float *match, const float *value, const float *offset,
                        float *e);

#endif
