/* vector.h - vectors of 16 floats, for the sources that are compiled once for each instruction set (gather.c,
 * vector.c, bytes.c). A machine with narrower vectors does each in several pieces, in the same order. */
#ifndef INMO_KERNEL_VECTOR_H
#define INMO_KERNEL_VECTOR_H

#include "kernel/kernel.h"

#include <string.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAMED(name) JOIN(name##_, INMO_VARIANT)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

typedef float v16 __attribute__((vector_size(64), aligned(4)));
typedef uint32_t u16 __attribute__((vector_size(64)));

static inline v16 load(const float *at)
{
    v16 value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline void store(float *at, v16 value)
{
    memcpy(at, &value, sizeof value);
}

static inline u16 load_words(const uint32_t *at)
{
    u16 value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* The upper halves of a, rounded to nearest even. */
static inline u16 rounded(v16 a)
{
    u16 bits = (u16)a;
    return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

static inline void store_half(uint32_t *at, v16 low, v16 high)
{
    u16 words = rounded(low) | (rounded(high) << 16);
    memcpy(at, &words, sizeof words);
}

/* Of gather.c and bytes.c. */
void NAMED(inmo_gather_range)(const struct inmo_gather *job, int32_t begin, int32_t end);
void NAMED(inmo_upper_bounds)(const struct inmo_bytes *rows, const struct inmo_bytes_query *query, int64_t first,
                              int64_t blocks, float *high);

#endif
