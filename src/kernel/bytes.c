/* bytes.c - products of byte rows and byte queries, for the first pass of quantised.c. With one query the rows
 * stream from memory, and the arithmetic only has to keep up: 64 bytes (4 numbers of 16 rows) in three instructions
 * with AVX-512, in one with its VNNI. Several queries share each load of the rows. Compiled for each instruction
 * set (src/CMakeLists.txt). Sums are of integers, and the float results are the same at every width and for any
 * number of queries. */
#include "kernel/vector.h"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(INMO_NEON)
#include <arm_neon.h>
#endif

enum { BLOCK_BYTES = INMO_BYTES_BLOCK * INMO_BYTES_GROUP, AHEAD = 32 * BLOCK_BYTES };
/* Queries processed together: as many as have their sums in registers. */
enum { AT_ONCE = LANES == 16 ? 8 : 4 };

static inline int32_t group_of(const int8_t *query, int g)
{
    int32_t word;
    memcpy(&word, query + INMO_BYTES_GROUP * g, sizeof word);
    return word;
}

/* out[q][r] = Σ query[q] · (code - 128) for the 16 rows of a block; start[q] is -128 Σ query[q]. A product of two
 * bytes is at most 64 · 255 in size and two of them fit 16 bits, so the pairwise instructions of x86 never
 * saturate. Inlined where the number of queries is a constant. */
INLINE void block_products(int queries, int groups, const int8_t *const *query, const uint8_t *code,
                           const int32_t *start, int32_t (*out)[INMO_BYTES_BLOCK])
{
#if defined(__AVX512BW__)
#if !defined(__AVX512VNNI__)
    const __m512i ones = _mm512_set1_epi16(1);
#endif
    __m512i sum[AT_ONCE];
    EACH(q, queries)
    sum[q] = _mm512_set1_epi32(start[q]);
    for (int g = 0; g < groups; g++, code += BLOCK_BYTES) {
        __m512i bytes = _mm512_loadu_si512(code);
        __builtin_prefetch(code + AHEAD, 0, 3);
        EACH(q, queries)
        {
            __m512i four = _mm512_set1_epi32(group_of(query[q], g));
#if defined(__AVX512VNNI__)
            sum[q] = _mm512_dpbusd_epi32(sum[q], bytes, four);
#else
            sum[q] = _mm512_add_epi32(sum[q], _mm512_madd_epi16(_mm512_maddubs_epi16(bytes, four), ones));
#endif
        }
    }
    EACH(q, queries)
    _mm512_storeu_si512(out[q], sum[q]);
#elif defined(__AVX2__)
    /* Vectors of 8 rows at once: both, or with many queries one after the other, so that their sums leave
     * registers free. */
    const int vectors = queries > 2 ? 1 : 2;
    const __m256i ones = _mm256_set1_epi16(1);
    EACH(h, 2 / vectors)
    {
        const uint8_t *at = code + 32 * h;
        __m256i sum[AT_ONCE][2];
        EACH(q, queries)
        EACH(k, vectors)
        sum[q][k] = _mm256_set1_epi32(start[q]);
        for (int g = 0; g < groups; g++, at += BLOCK_BYTES) {
            if (h == 0)
                __builtin_prefetch(at + AHEAD, 0, 3);
            EACH(k, vectors)
            {
                __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(at + 32 * k));
                EACH(q, queries)
                {
                    __m256i pairs = _mm256_maddubs_epi16(bytes, _mm256_set1_epi32(group_of(query[q], g)));
                    sum[q][k] = _mm256_add_epi32(sum[q][k], _mm256_madd_epi16(pairs, ones));
                }
            }
        }
        EACH(q, queries)
        EACH(k, vectors)
        _mm256_storeu_si256((__m256i *)(void *)(out[q] + 8 * (h + k)), sum[q][k]);
    }
#elif defined(INMO_NEON)
    /* NEON multiplies bytes of the same signedness: code with its top bit flipped is c = code - 128, so start is
     * not needed. */
    const uint8x16_t turn = vdupq_n_u8(INMO_BYTES_ZERO);
    int32x4_t sum[AT_ONCE][4];
    (void)start;
    EACH(q, queries)
    EACH(h, 4)
    sum[q][h] = vdupq_n_s32(0);
    for (int g = 0; g < groups; g++, code += BLOCK_BYTES) {
        int8x16_t bytes[4];
        EACH(h, 4)
        bytes[h] = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(code + 16 * h), turn));
        __builtin_prefetch(code + AHEAD, 0, 3);
        EACH(q, queries)
        {
            int8x16_t four = vreinterpretq_s8_s32(vdupq_n_s32(group_of(query[q], g)));
            EACH(h, 4)
            sum[q][h] = vpadalq_s16(sum[q][h], vpaddq_s16(vmull_s8(vget_low_s8(bytes[h]), vget_low_s8(four)),
                                                          vmull_high_s8(bytes[h], four)));
        }
    }
    EACH(q, queries)
    EACH(h, 4)
    vst1q_s32(out[q] + 4 * h, sum[q][h]);
#else
    for (int q = 0; q < queries; q++) {
        const uint8_t *at = code;
        for (int r = 0; r < INMO_BYTES_BLOCK; r++)
            out[q][r] = start[q];
        for (int g = 0; g < groups; g++, at += BLOCK_BYTES)
            for (int r = 0; r < INMO_BYTES_BLOCK; r++)
                for (int j = 0; j < INMO_BYTES_GROUP; j++)
                    out[q][r] += query[q][INMO_BYTES_GROUP * g + j] * at[INMO_BYTES_GROUP * r + j];
    }
#endif
}

/* The bounds of some blocks for at most AT_ONCE queries, high (queries, 16 blocks). */
INLINE void bounds(int queries, const struct inmo_bytes *rows, const struct inmo_bytes_query *query, int64_t first,
                   int64_t blocks, float *high)
{
    const int8_t *code[AT_ONCE];
    int32_t start[AT_ONCE];
    EACH(q, queries)
    {
        int32_t sum = 0;
        code[q] = query[q].code;
        for (int j = 0; j < INMO_BYTES_GROUP * rows->groups; j++)
            sum += code[q][j];
        start[q] = -INMO_BYTES_ZERO * sum;
    }
    for (int64_t n = 0; n < blocks; n++) {
        int64_t at = (first + n) * INMO_BYTES_BLOCK;
        int32_t product[AT_ONCE][INMO_BYTES_BLOCK];
        block_products(queries, rows->groups, code,
                       rows->code + (size_t)at * INMO_BYTES_GROUP * (size_t)rows->groups, start, product);
        EACH(p, PARTS)
        {
            int64_t from = at + LANES * p;
            vec scale = load(rows->scale + from), left_out = load(rows->left_out + from);
            vec length = load(rows->length + from);
            EACH(q, queries)
            {
                mask whole;
                memcpy(&whole, product[q] + LANES * p, sizeof whole);
                store(high + INMO_BYTES_BLOCK * (q * blocks + n) + LANES * p,
                      __builtin_convertvector(whole, vec) * (query[q].scale * scale) +
                          (query[q].length * left_out + query[q].left_out * length));
            }
        }
    }
}

void NAMED(inmo_upper_bounds)(const struct inmo_bytes *rows, const struct inmo_bytes_query *query, int64_t first,
                              int64_t blocks, float *high)
{
    bounds(1, rows, query, first, blocks, high);
}

void NAMED(inmo_upper_bounds_of)(const struct inmo_bytes *rows, int queries, const struct inmo_bytes_query *query,
                                 int64_t first, int64_t blocks, float *high)
{
    int64_t size = INMO_BYTES_BLOCK * blocks;
    for (; queries >= AT_ONCE; queries -= AT_ONCE, query += AT_ONCE, high += AT_ONCE * size)
        bounds(AT_ONCE, rows, query, first, blocks, high);
    for (; AT_ONCE > 4 && queries >= 4; queries -= 4, query += 4, high += 4 * size)
        bounds(4, rows, query, first, blocks, high);
    for (; queries >= 2; queries -= 2, query += 2, high += 2 * size)
        bounds(2, rows, query, first, blocks, high);
    if (queries > 0)
        bounds(1, rows, query, first, blocks, high);
}
