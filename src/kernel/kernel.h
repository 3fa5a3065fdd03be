/* kernel.h - the loops that take the time. Each has a naive twin in reference.c that tests compare it with.
 *
 * Every kernel computes an output row wholly in one thread and in a fixed order, so results do not depend on the
 * number of threads; and sums in the same order at every vector width, without contraction, so they do not
 * depend on the instruction set either. Dense products go through BLAS (rank.c) and promise the first only. */
#ifndef INMO_KERNEL_KERNEL_H
#define INMO_KERNEL_KERNEL_H

#include "graph/graph.h"

#include <stdint.h>

/* Which terms of a sum over neighbours are dropped in this step (docs/math.md, "Drop interaction"). */
struct inmo_drop {
    uint32_t threshold;     /* p * 2^32; 0: nothing is dropped */
    uint32_t key_user_rows; /* key of the side that the rows of users belong to in this pass */
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

/* Whether the term (user, item) stays; 0xFFFFFFFF stands for "any user" (t_item) or "any item" (t_user). */
static inline int inmo_drop_keeps(uint32_t key, uint32_t threshold, uint32_t user, uint32_t item)
{
    return inmo_fmix32(user * (uint32_t)INMO_HASH_USER + item * (uint32_t)INMO_HASH_ITEM + key) >= threshold;
}

/* Half precision: bfloat16, the upper half of a float, rounded to nearest even. 32 numbers lie in 16 words,
 * number j in the lower half of word j and number j + 16 in the upper, so that a shift and a mask unpack a whole
 * vector. */
enum { INMO_HALF_BLOCK = 32 };
static inline int inmo_half_fits(int dim)
{
    return dim % INMO_HALF_BLOCK == 0;
}

/* Sparse times dense: for each node v asked for
 *
 *     out[v] = scale[v] * ( extra(v) + Σ_{w in neighbours of v, not dropped} weight[w] * x[row(w)] ) + plus(v)
 *
 * where row(w) = w, or position[w], and a neighbour whose position is negative is passed over. Sums are in float
 * whatever x and out are stored in. */
struct inmo_gather {
    const struct inmo_graph *graph;
    int dim;
    const float *x;           // (rows, dim), or
    const uint32_t *half;     // (rows, dim / 2) the same in half precision
    const int32_t *position;  // (nodes) or NULL
    const float *weight;      // (nodes) or NULL for 1
    const float *scale;       // (nodes) or NULL for 1
    const float *extra_user;  // (dim) first term of the rows of users; NULL: none
    const float *extra_item;  // (dim) the same for items
    struct inmo_drop drop;
    const int32_t *node;  // (node_count) nodes asked for; NULL: all, in order
    int32_t node_count;
    const float *plus;             // (.., dim) plus(v) is row plus_position[v], nothing where negative; NULL: none
    const int32_t *plus_position;  // (nodes) or NULL: row v; then out may be plus itself
    float *out;                    // (node_count or nodes, dim), row n for node[n]; or
    uint32_t *half_out;            // (.., dim / 2)
};

/* A layer's last steps on row number row: LeakyReLU, then each number is dropped with the probability of the
 * threshold, by a hash of (row, column), and what is kept multiplied by factor. */
struct inmo_activation {
    uint32_t key, threshold;
    float factor; /* 1 / (1 - p) */
    float slope;  /* of LeakyReLU below 0 */
};

/* An Adam step's numbers, the same for all parameters. Of Adam's two moments the second is kept as its root, √v. */
struct inmo_adam {
    float rate;      /* eta / (1 - 0.9^t) */
    float root_bias; /* 1 / sqrt(1 - 0.999^t) */
};
struct inmo_adam inmo_adam_at(double learning_rate, int64_t t);

/* A block of parameters and its moments, (rows, dim) each; the moments NULL where Adam does not change it. */
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

/* Rows rounded to a byte a number, and a query rounded likewise (quantised.h has the mathematics). */
enum { INMO_BYTES_BLOCK = 16, INMO_BYTES_GROUP = 4, INMO_BYTES_ZERO = 128, INMO_BYTES_QUERY_MOST = 64 };
struct inmo_bytes {
    int groups;       /* of 4 numbers in a row */
    uint8_t *code;    // (blocks, groups, 16, 4) c + 128, c from -127 to 127
    float *scale;     // (16 blocks) s
    float *left_out;  // (16 blocks) factor of the query's length in the margin
    float *length;    // (16 blocks) factor of the query's left-out length
};
struct inmo_bytes_query {
    const int8_t *code;  // (groups, 4) b, from -64 to 64: two products with bytes of code fit 16 bits
    float scale, length, left_out;
};

/* Some rows of a block. */
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

/* One instruction set's version of the inner loops. */
struct inmo_kernels {
    const char *name;
    void (*gather_range)(const struct inmo_gather *job, int32_t begin, int32_t end);
    void (*adam)(int64_t count, struct inmo_adam adam, const float *gradient, float *m, float *root,
                 float *parameter);
    /* Of listed rows that have missed some steps, each its own: the parameters as they are now, into out (count,
     * dim); one step more, from what was read and a gradient, (count, dim) each; or just all that was missed.
     * next: rows that will be wanted after these. */
    void (*adam_read)(int32_t count, const struct inmo_block *block, const int32_t *row,
                      const struct inmo_pause *pause, struct inmo_chunk next, float *out);
    void (*adam_write)(int32_t count, const struct inmo_block *block, const int32_t *row,
                       const struct inmo_pause *pause, struct inmo_chunk next, struct inmo_adam adam,
                       const float *from, const float *gradient);
    /* The same with a gradient that is made on the way and never stored. */
    void (*adam_write_sums)(int32_t count, const struct inmo_block *block, const int32_t *row,
                            const struct inmo_pause *pause, struct inmo_chunk next, struct inmo_adam adam,
                            const float *from, const struct inmo_terms *gradient);
    void (*adam_settle)(int32_t count, const struct inmo_block *block, const int32_t *row,
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
    /* g[j] = g[j] times the derivative of the above where it gave y: kept(j) ? factor (y[j] > 0 ? 1 : slope) : 0 */
    void (*activate_back)(int dim, const struct inmo_activation *activation, int32_t row, const float *y, float *g);
    /* Of a perceptron, leaky(x) being x where x > 0, else slope x, slope from 0 to 1; rows (count, dim):
     * out[n] = leaky(a + x[row[n]]), row NULL: n */
    void (*leaky_sums)(int32_t count, int dim, float slope, const float *a, const float *x, const int32_t *row,
                       float *out);
    /* x[n] = leaky(x[n] + bias), score[n] += w . x[n] */
    void (*leaky_dots)(int32_t count, int dim, float slope, const float *bias, const float *w, float *x,
                       float *score);
    /* g[n] = ds[n] w (w NULL: g[n]) times the derivative of leaky where it gave y[n] */
    void (*leaky_back)(int32_t count, int dim, float slope, const float *ds, const float *w, const float *y,
                       float *g);
    /* The largest of count numbers, -inf for none. */
    float (*largest)(int32_t count, const float *x);
    /* high[16 n + r] = t s (b·c) + length left_out + left_out length of row r of block first + n: no less than its
     * score. */
    void (*upper_bounds)(const struct inmo_bytes *rows, const struct inmo_bytes_query *query, int64_t first,
                         int64_t blocks, float *high);
    /* The same of any number of queries, which share the loads of the rows: high (queries, 16 blocks), bit for bit
     * what upper_bounds gives. The blocks of a call are best few enough to stay in the core's cache. */
    void (*upper_bounds_of)(const struct inmo_bytes *rows, int queries, const struct inmo_bytes_query *query,
                            int64_t first, int64_t blocks, float *high);
    /* How many of count scores exceed bound; their positions go to hit (room for count). */
    int32_t (*above)(int32_t count, const float *score, float bound, int32_t *hit);
    const struct inmo_probes *probes; /* probe.h */
};

/* The best this machine has, chosen once; INMO_KERNEL=plain|avx2|avx512|neon in the environment overrides. */
const struct inmo_kernels *inmo_kernels(void);
/* The variants this build has and this machine can run; NULL past the end. For tests and benchmarks. */
const struct inmo_kernels *inmo_kernels_at(int n);

/* Parallel over rows. */
void inmo_gather(const struct inmo_gather *job);
/* Parallel, of all rows. */
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
