/* kernel.h - the hot loops. Each has a naive twin in reference.c for the tests.
 *
 * A kernel computes an output row in one thread and in a fixed order, so results do not depend on the number of
 * threads. It adds in the same order at every vector width, without contraction, so they do not depend on the
 * instruction set either. Dense products go through BLAS (rank.c) and promise only the former. */
#ifndef INMO_KERNEL_KERNEL_H
#define INMO_KERNEL_KERNEL_H

#include "graph/graph.h"

#include <stdint.h>

/* Dropout of the terms of a sum over neighbours in one step (docs/math.md, "Drop interaction"). */
struct inmo_drop {
    uint32_t threshold;     /* p * 2^32; 0: nothing is dropped */
    uint32_t key_user_rows; /* key for rows of users in this pass */
    uint32_t key_item_rows;
};

enum { INMO_HASH_USER = 0x9E3779B1, INMO_HASH_ITEM = 0x85EBCA77 };

static inline uint32_t inmo_fmix32(uint32_t h)
{
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    return h ^ (h >> 16);
}

/* 1 if the term (user, item) is kept; 0xFFFFFFFF stands for "any user" (t_item) or "any item" (t_user). */
static inline int inmo_drop_keeps(uint32_t key, uint32_t threshold, uint32_t user, uint32_t item)
{
    return inmo_fmix32(user * (uint32_t)INMO_HASH_USER + item * (uint32_t)INMO_HASH_ITEM + key) >= threshold;
}

/* Half precision: bfloat16, the upper half of a float, rounded to nearest even. 32 numbers are in 16 words: number
 * j in the lower half of word j, number j + 16 in the upper. So a shift and a mask unpack a whole vector. */
enum { INMO_HALF_BLOCK = 32 };
static inline int inmo_half_fits(int dim)
{
    return dim % INMO_HALF_BLOCK == 0;
}

/* Sparse times dense: for each requested node v
 *
 *     out[v] = scale[v] * ( extra(v) + Σ_{neighbours w of v, not dropped} edge[vw] weight[w] x[row(w)] ) + plus(v)
 *
 * where row(w) is w or position[w]; neighbours with a negative position are skipped. Sums are in float, whatever
 * the storage of x and out. */
struct inmo_gather {
    const struct inmo_graph *graph;
    int dim;
    const float *x;           // (rows, dim), or
    const uint32_t *half;     // (rows, dim / 2) the same in half precision
    const int32_t *position;  // (nodes) or NULL
    const float *weight;      // (nodes) or NULL for 1
    const float *edge;        // (2 edges) or NULL for 1
    const float *scale;       // (nodes) or NULL for 1
    const float *extra_user;  // (dim) first term of the rows of users; NULL: none
    const float *extra_item;  // (dim) the same for items
    struct inmo_drop drop;
    const int32_t *node;  // (node_count) requested nodes; NULL: all own ones (graph/share.h), in order
    int32_t node_count;
    const float *plus;             // (.., dim) plus(v) is row plus_position[v], none if negative; NULL: none
    const int32_t *plus_position;  // (nodes) or NULL: row v; then out may be plus itself
    float *out;                    // (node_count or nodes, dim), row n for node[n]; or
    uint32_t *half_out;            // (.., dim / 2)
};

/* The end of a layer, on one row: LeakyReLU, then dropout of each number by a hash of (row, column); kept numbers
 * are multiplied by factor. */
struct inmo_activation {
    uint32_t key, threshold;
    float factor; /* 1 / (1 - p) */
    float slope;  /* of LeakyReLU for x < 0 */
};

/* Constants of an Adam step, the same for all parameters. The second moment is stored as its root, √v. */
struct inmo_adam {
    float rate;      /* eta / (1 - 0.9^t) */
    float root_bias; /* 1 / sqrt(1 - 0.999^t) */
};
struct inmo_adam inmo_adam_at(double learning_rate, int64_t t);

/* A block of parameters and its moments, (rows, dim) each; moments are NULL if Adam does not update it. */
struct inmo_block {
    int64_t rows;
    int dim;
    float *parameter, *m, *root;
};

/* Several Adam steps without a gradient at once (docs/math.md, "Adam"): with x = s/(s + 1e-8), s = root · centre,
 *
 *     parameter -= weight · m/(s + 1e-8) · (1 + second x² + third x³);   m *= decay_m;   root *= decay_root */
struct inmo_pause {
    float weight, centre, second, third;
    float decay_m, decay_root;
};

/* Rows rounded to one byte per number, and a query rounded likewise (quantised.h has the formulas). */
enum { INMO_BYTES_BLOCK = 16, INMO_BYTES_GROUP = 4, INMO_BYTES_ZERO = 128, INMO_BYTES_QUERY_MOST = 64 };
struct inmo_bytes {
    int groups;       /* groups of 4 numbers per row */
    uint8_t *code;    // (blocks, groups, 16, 4) c + 128, c from -127 to 127
    float *scale;     // (16 blocks) s
    float *left_out;  // (16 blocks) factor of the query's length in the margin
    float *length;    // (16 blocks) factor of the query's left-out length
};
struct inmo_bytes_query {
    const int8_t *code;  // (groups, 4) b, from -64 to 64: two products with bytes of code fit 16 bits
    float scale, length, left_out;
};

/* Selected rows of a block. */
struct inmo_chunk {
    int32_t count;
    const int32_t *row;  // (count)
};

/* Rows that are sums of others: row n is Σ_k factor[k] x[row[k]], k from offset[n] to offset[n + 1] - 1. */
struct inmo_terms {
    const int32_t *offset;
    const int32_t *row;
    const float *factor;
    const float *x;
};

struct inmo_probes;

/* The inner loops for one instruction set. */
struct inmo_kernels {
    const char *name;
    void (*gather_range)(const struct inmo_gather *job, int32_t begin, int32_t end);
    void (*adam)(int64_t count, struct inmo_adam adam, const float *gradient, float *m, float *root,
                 float *parameter);
    /* For listed rows, each of which may have missed some steps. read: writes the current parameters to out (count,
     * dim). write: takes one more step from what was read and a gradient, (count, dim) each. settle: only catches
     * up. next: rows needed after these, to prefetch. */
    void (*adam_read)(int32_t count, const struct inmo_block *block, const int32_t *row,
                      const struct inmo_pause *pause, struct inmo_chunk next, float *out);
    void (*adam_write)(int32_t count, const struct inmo_block *block, const int32_t *row,
                       const struct inmo_pause *pause, struct inmo_chunk next, struct inmo_adam adam,
                       const float *from, const float *gradient);
    /* write, with a gradient that is summed on the fly and never stored. */
    void (*adam_write_sums)(int32_t count, const struct inmo_block *block, const int32_t *row,
                            const struct inmo_pause *pause, struct inmo_chunk next, struct inmo_adam adam,
                            const float *from, const struct inmo_terms *gradient);
    void (*adam_catch_up)(int32_t count, const struct inmo_block *block, const int32_t *row,
                          const struct inmo_pause *pause);
    /* out += Σ_n factor[n] x[row[n]] */
    void (*add_rows)(int dim, int32_t count, const float *factor, const int32_t *row, const float *x, float *out);
    /* margin[b] = x[row] · diag(w) · (x[negative] - x[positive]); w NULL: 1 */
    void (*margins)(int32_t count, int dim, const float *x, const int32_t *row, const int32_t *positive,
                    const int32_t *negative, const float *w, float *margin);
    /* coefficient[b] = factor / (1 + e^-margin); returns Σ_b ln(1 + e^margin), to 1e-9 of it */
    double (*softplus)(int32_t count, float factor, const float *margin, float *coefficient);
    float (*dot)(int dim, const float *a, const float *b);
    /* score[n] = query . row n, rows (count, dim) */
    void (*dot_rows)(int64_t count, int dim, const float *query, const float *rows, float *score);
    /* out += factor * x */
    void (*add_scaled)(int dim, float factor, const float *x, float *out);
    /* out = factor * x in half precision, and back: out += x; dim is a multiple of 32 */
    void (*to_half)(int dim, float factor, const float *x, uint32_t *out);
    void (*add_half)(int dim, const uint32_t *x, float *out);
    /* x[n] = e^(factor x[n] - shift), to 2 units in the last place of float; returns the sum. */
    double (*exponentials)(int32_t count, float factor, float shift, float *x);
    /* x[j] = kept(j) ? factor leaky(x[j] + bias[j]) : 0 */
    void (*activate)(int dim, const struct inmo_activation *activation, int32_t row, const float *bias, float *x);
    /* g[j] *= derivative of activate at its output y: kept(j) ? factor (y[j] > 0 ? 1 : slope) : 0 */
    void (*activate_back)(int dim, const struct inmo_activation *activation, int32_t row, const float *y, float *g);
    /* Perceptrons: leaky(x) is x for x > 0, else slope x, with slope in [0, 1]; rows (count, dim). out[n] = leaky(a
     * + x[row[n]]), row NULL: n */
    void (*leaky_sums)(int32_t count, int dim, float slope, const float *a, const float *x, const int32_t *row,
                       float *out);
    /* x[n] = leaky(x[n] + bias), score[n] += w . x[n] */
    void (*leaky_dots)(int32_t count, int dim, float slope, const float *bias, const float *w, float *x,
                       float *score);
    /* g[n] = ds[n] w (w NULL: g[n]) times the derivative of leaky at its output y[n] */
    void (*leaky_back)(int32_t count, int dim, float slope, const float *ds, const float *w, const float *y,
                       float *g);
    /* The largest of count numbers, -inf for none. */
    float (*largest)(int32_t count, const float *x);
    /* high[16 n + r] = t s (b·c) + length left_out + left_out length, for row r of block first + n: an upper bound
     * of its score. */
    void (*upper_bounds)(const struct inmo_bytes *rows, const struct inmo_bytes_query *query, int64_t first,
                         int64_t blocks, float *high);
    /* The same of any number of queries, which share the loads of the rows: high (queries, 16 blocks), bit for bit
     * what upper_bounds gives. The blocks of a call are best few enough to stay in the core's cache. */
    void (*upper_bounds_of)(const struct inmo_bytes *rows, int queries, const struct inmo_bytes_query *query,
                            int64_t first, int64_t blocks, float *high);
    /* Number of scores above bound; their positions go to hit (room for count). */
    int32_t (*above)(int32_t count, const float *score, float bound, int32_t *hit);
    const struct inmo_probes *probes; /* probe.h */
};

/* The fastest set this machine supports, chosen once; INMO_KERNEL=plain|avx2|avx512|avx512vnni|neon overrides
 * it. */
const struct inmo_kernels *inmo_kernels(void);
/* Set n that this build has and this machine supports; NULL after the last. For tests and benchmarks. */
const struct inmo_kernels *inmo_kernels_at(int n);

/* Parallel over rows. */
void inmo_gather(const struct inmo_gather *job);
/* The same, with the rows of x that other ranks have (graph/share.h). They are fetched while rows that need none of
 * them are computed, and gone afterwards. */
void inmo_gather_fetching(const struct inmo_gather *job);
/* All rows, in parallel. */
void inmo_adam_rows(int64_t rows, int dim, struct inmo_adam adam, const float *gradient, float *m, float *root,
                    float *parameter);

/* Naive twins. */
void inmo_gather_reference(const struct inmo_gather *job);
void inmo_upper_bounds_reference(const struct inmo_bytes *rows, int queries, const struct inmo_bytes_query *query,
                                 int64_t first, int64_t blocks, float *high);
void inmo_activate_reference(int dim, const struct inmo_activation *activation, int32_t row, const float *bias,
                             float *x);
void inmo_activate_back_reference(int dim, const struct inmo_activation *activation, int32_t row, const float *y,
                                  float *g);
void inmo_leaky_sums_reference(int32_t count, int dim, float slope, const float *a, const float *x,
                               const int32_t *row, float *out);
void inmo_leaky_dots_reference(int32_t count, int dim, float slope, const float *bias, const float *w, float *x,
                               float *score);
void inmo_leaky_back_reference(int32_t count, int dim, float slope, const float *ds, const float *w, const float *y,
                               float *g);
void inmo_adam_reference(int64_t count, struct inmo_adam adam, const float *gradient, double *m, double *v,
                         double *parameter);

#endif
