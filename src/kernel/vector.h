/* vector.h - vector types for the sources that are compiled for each instruction set (gather.c, vector.c,
 * training.c, bytes.c, probe.c). Where the order of additions matters, numbers are processed in blocks of 16: one
 * vector with AVX-512, 2 or 4 parts elsewhere, added in the same order. */
#ifndef INMO_KERNEL_VECTOR_H
#define INMO_KERNEL_VECTOR_H

#include "kernel/kernel.h"

#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAMED(name) JOIN(name##_, INMO_VARIANT)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

/* Exactly as wide as the registers: GCC keeps wider vectors, and sums of them, in memory. */
#if defined(__AVX512F__)
enum { LANES = 16 };
#elif defined(__AVX__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
enum { PARTS = 16 / LANES }; /* vectors per 16 floats */
typedef float vec __attribute__((vector_size(4 * LANES)));
typedef uint32_t words __attribute__((vector_size(4 * LANES)));
typedef int32_t mask __attribute__((vector_size(4 * LANES))); /* result of a comparison: all bits or none */

/* Unrolls a loop over the parts of a vector, so that they are in registers. */
#define EACH(j, count) _Pragma("GCC unroll 32") for (int j = 0; j < (count); j++)

/* For functions whose arguments are constants where they are called. */
#define INLINE __attribute__((always_inline)) static inline

static inline vec load(const float *at)
{
    vec value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline void store(float *at, vec value)
{
    memcpy(at, &value, sizeof value);
}

/* The same order at every vector width: 8 apart, 4 apart, 2 apart, neighbours. */
static inline float sum16(const vec *parts)
{
    typedef float four __attribute__((vector_size(16)));
    four all[4], sum;
    memcpy(all, parts, sizeof all);
    sum = (all[0] + all[2]) + (all[1] + all[3]);
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

static inline words load_words(const uint32_t *at)
{
    words value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* mask ? yes : no */
static inline vec chosen(mask which, vec yes, vec no)
{
    return (vec)(((mask)yes & which) | ((mask)no & ~which));
}

/* Upper halves of a, rounded to nearest even. */
static inline words rounded(vec a)
{
    words bits = (words)a;
    return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

static inline void store_words(void *at, words value)
{
    memcpy(at, &value, sizeof value);
}

static inline void store_half(uint32_t *at, vec low, vec high)
{
    store_words(at, rounded(low) | (rounded(high) << 16));
}

/* Of gather.c, bytes.c and probe.c. */
extern const struct inmo_probes NAMED(inmo_probes);
void NAMED(inmo_gather_range)(const struct inmo_gather *job, int32_t begin, int32_t end);
void NAMED(inmo_upper_bounds)(const struct inmo_bytes *rows, const struct inmo_bytes_query *query, int64_t first,
                              int64_t blocks, float *high);
void NAMED(inmo_upper_bounds_of)(const struct inmo_bytes *rows, int queries, const struct inmo_bytes_query *query,
                                 int64_t first, int64_t blocks, float *high);

/* Of training.c. */
void NAMED(inmo_adam)(int64_t count, struct inmo_adam adam, const float *gradient, float *m, float *root,
                      float *parameter);
void NAMED(inmo_adam_read)(int32_t count, const struct inmo_block *block, const int32_t *row,
                           const struct inmo_pause *pause, struct inmo_chunk next, float *out);
void NAMED(inmo_adam_write)(int32_t count, const struct inmo_block *block, const int32_t *row,
                            const struct inmo_pause *pause, struct inmo_chunk next, struct inmo_adam adam,
                            const float *from, const float *gradient);
void NAMED(inmo_adam_write_sums)(int32_t count, const struct inmo_block *block, const int32_t *row,
                                 const struct inmo_pause *pause, struct inmo_chunk next, struct inmo_adam adam,
                                 const float *from, const struct inmo_terms *gradient);
void NAMED(inmo_adam_catch_up)(int32_t count, const struct inmo_block *block, const int32_t *row,
                               const struct inmo_pause *pause);
void NAMED(inmo_add_rows)(int dim, int32_t count, const float *factor, const int32_t *row, const float *x,
                          float *out);
void NAMED(inmo_margins)(int32_t count, int dim, const float *x, const int32_t *row, const int32_t *positive,
                         const int32_t *negative, const float *w, float *margin);
double NAMED(inmo_softplus)(int32_t count, float factor, const float *margin, float *coefficient);

#endif
