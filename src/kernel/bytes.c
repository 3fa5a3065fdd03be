/* bytes.c - products of rows and a query of bytes, for the first pass of quantised.c. Bound by memory where the
 * rows are many, so all that is asked of the arithmetic is to keep out of the way: 64 bytes (4 numbers of 16
 * rows) in three instructions with AVX-512. Compiled once for each instruction set (src/CMakeLists.txt); the
 * sums are of integers, and the floats that follow are the same at every width. */
#include "kernel/vector.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(INMO_NEON)
#include <arm_neon.h>
#endif

enum { BLOCK_BYTES = INMO_BYTES_BLOCK * INMO_BYTES_GROUP, AHEAD = 32 * BLOCK_BYTES };

/* out[r] = start + Σ query · code for the 16 rows of a block. A product of two bytes is at most 64 · 255 in size
 * and two of them fit 16 bits, so the pairwise instructions of x86 never saturate. */
static inline void block_products(int groups, const int8_t *query, const uint8_t *code, int32_t start, int32_t *out)
{
#if defined(__AVX512BW__)
    const __m512i ones = _mm512_set1_epi16(1);
    __m512i sum = _mm512_set1_epi32(start);
    for (int g = 0; g < groups; g++, code += BLOCK_BYTES) {
        int32_t word;
        memcpy(&word, query + INMO_BYTES_GROUP * g, sizeof word);
        __builtin_prefetch(code + AHEAD, 0, 3);
        sum = _mm512_add_epi32(
            sum, _mm512_madd_epi16(_mm512_maddubs_epi16(_mm512_loadu_si512(code), _mm512_set1_epi32(word)), ones));
    }
    _mm512_storeu_si512(out, sum);
#elif defined(__AVX2__)
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i sum[2] = {_mm256_set1_epi32(start), _mm256_set1_epi32(start)};
    for (int g = 0; g < groups; g++, code += BLOCK_BYTES) {
        int32_t word;
        memcpy(&word, query + INMO_BYTES_GROUP * g, sizeof word);
        __builtin_prefetch(code + AHEAD, 0, 3);
        for (int h = 0; h < 2; h++) {
            __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(code + 32 * h));
            __m256i pairs = _mm256_maddubs_epi16(bytes, _mm256_set1_epi32(word));
            sum[h] = _mm256_add_epi32(sum[h], _mm256_madd_epi16(pairs, ones));
        }
    }
    memcpy(out, sum, sizeof sum);
#elif defined(INMO_NEON)
    /* NEON multiplies bytes of one kind: c = code - 128 is the code with its highest bit turned over, and what
     * the query has too little of then, 128 Σ b, is added at the end. */
    const uint8x16_t turn = vdupq_n_u8(INMO_BYTES_ZERO);
    int32x4_t sum[4] = {vdupq_n_s32(start), vdupq_n_s32(start), vdupq_n_s32(start), vdupq_n_s32(start)};
    int32_t total = 0;
    for (int g = 0; g < groups; g++, code += BLOCK_BYTES) {
        int32_t word;
        int8x16_t four;
        memcpy(&word, query + INMO_BYTES_GROUP * g, sizeof word);
        four = vreinterpretq_s8_s32(vdupq_n_s32(word));
        __builtin_prefetch(code + AHEAD, 0, 3);
        for (int h = 0; h < 4; h++) {
            int8x16_t bytes = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(code + 16 * h), turn));
            int16x8_t low = vmull_s8(vget_low_s8(bytes), vget_low_s8(four)), high = vmull_high_s8(bytes, four);
            sum[h] = vpadalq_s16(sum[h], vpaddq_s16(low, high));
        }
        for (int j = 0; j < INMO_BYTES_GROUP; j++)
            total += query[INMO_BYTES_GROUP * g + j];
    }
    for (int h = 0; h < 4; h++)
        vst1q_s32(out + 4 * h, vaddq_s32(sum[h], vdupq_n_s32(INMO_BYTES_ZERO * total)));
#else
    for (int r = 0; r < INMO_BYTES_BLOCK; r++)
        out[r] = start;
    for (int g = 0; g < groups; g++, code += BLOCK_BYTES)
        for (int r = 0; r < INMO_BYTES_BLOCK; r++)
            for (int j = 0; j < INMO_BYTES_GROUP; j++)
                out[r] += query[INMO_BYTES_GROUP * g + j] * code[INMO_BYTES_GROUP * r + j];
#endif
}

void NAMED(inmo_upper_bounds)(const struct inmo_bytes *rows, const struct inmo_bytes_query *query, int64_t first,
                              int64_t blocks, float *high)
{
    int32_t sum = 0;
    for (int j = 0; j < INMO_BYTES_GROUP * rows->groups; j++)
        sum += query->code[j];
    for (int64_t n = 0; n < blocks; n++) {
        int64_t at = (first + n) * INMO_BYTES_BLOCK;
        int32_t product[INMO_BYTES_BLOCK];
        block_products(rows->groups, query->code, rows->code + (size_t)at * INMO_BYTES_GROUP * (size_t)rows->groups,
                       -INMO_BYTES_ZERO * sum, product);
        EACH(p, PARTS)
        {
            int64_t from = at + LANES * p;
            mask whole;
            memcpy(&whole, product + LANES * p, sizeof whole);
            store(high + INMO_BYTES_BLOCK * n + LANES * p,
                  __builtin_convertvector(whole, vec) * (query->scale * load(rows->scale + from)) +
                      (query->length * load(rows->left_out + from) + query->left_out * load(rows->length + from)));
        }
    }
}
