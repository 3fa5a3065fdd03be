/* terms.h - the terms of the sums over neighbours that are filtered, for gather.c. The neighbours of many nodes are
 * listed (list_row), those dropped are taken out of the list (drop_terms), the others looked up (look_up). Each
 * step but the first goes over the whole list, so that it does not matter how short the rows are, and none has a
 * branch that depends on what is dropped. */
#ifndef INMO_KERNEL_TERMS_H
#define INMO_KERNEL_TERMS_H

#include "graph/share.h"
#include "kernel/vector.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum { LIST = 1024, MOST_PIECES = 128 };
enum { COPIED = 32 }; /* neighbours of a node that are listed without asking how many there are */
#if defined(__AVX512F__)
enum { GROUP = 16 }; /* terms that are looked at together when some are taken out */
#elif defined(__AVX2__)
enum { GROUP = 8 };
#else
enum { GROUP = 1 };
#endif

/* The terms of one node's sum, or of a long row some of them: up to end, from where the piece before it ends. */
struct piece {
    int32_t n, v; /* place in out, node */
    int32_t end;
    int32_t first, last; /* the sum begins, is finished */
};

/* A list of terms and the pieces it is cut into. */
struct terms {
    int32_t count, pieces;
    struct piece piece[MOST_PIECES];
    int32_t row[LIST + COPIED];    // neighbours; once looked up, rows of x
    uint32_t hash[LIST + COPIED];  // of each neighbour, before it is mixed
    float weight[LIST + COPIED];
    /* What taking out has kept: for each group of terms how many of those before it, and a bit for each term. */
    int32_t before[LIST / GROUP + 1];
    uint32_t keep[LIST / GROUP + 1];
};

/* Lists count neighbours of a node, with the hash's first step, base + neighbour · step. Most rows are short: a
 * fixed number is copied, whatever the count, where so many can be read. */
static inline void list_row(struct terms *terms, const int32_t *neighbour, int32_t count, int64_t readable,
                            uint32_t base, uint32_t step)
{
    const uint32_t *from = (const uint32_t *)neighbour;
    int32_t *row = terms->row + terms->count;
    uint32_t *hash = terms->hash + terms->count;
    if (readable >= COPIED && readable >= (int64_t)count + LANES) {
        EACH(k, COPIED / LANES)
        {
            words some = load_words(from + LANES * k);
            store_words(row + LANES * k, some);
            store_words(hash + LANES * k, base + some * step);
        }
        for (int32_t n = COPIED; n < count; n += LANES) {
            words some = load_words(from + n);
            store_words(row + n, some);
            store_words(hash + n, base + some * step);
        }
    } else {
        for (int32_t n = 0; n < count; n++) {
            row[n] = neighbour[n];
            hash[n] = base + from[n] * step;
        }
    }
    terms->count += count;
}

#if defined(__AVX2__) && !defined(__AVX512F__)
/* Bytes that bring those of four words to the front whose bits are set. */
#define W(n) 4 * (n), 4 * (n) + 1, 4 * (n) + 2, 4 * (n) + 3
static const uint8_t to_front[16][16] = {
    {W(0), W(0), W(0), W(0)}, {W(0), W(0), W(0), W(0)}, {W(1), W(0), W(0), W(0)}, {W(0), W(1), W(0), W(0)},
    {W(2), W(0), W(0), W(0)}, {W(0), W(2), W(0), W(0)}, {W(1), W(2), W(0), W(0)}, {W(0), W(1), W(2), W(0)},
    {W(3), W(0), W(0), W(0)}, {W(0), W(3), W(0), W(0)}, {W(1), W(3), W(0), W(0)}, {W(0), W(1), W(3), W(0)},
    {W(2), W(3), W(0), W(0)}, {W(0), W(2), W(3), W(0)}, {W(1), W(2), W(3), W(0)}, {W(0), W(1), W(2), W(3)},
};
#undef W

static inline void store_front(int32_t *at, __m128i four, unsigned which)
{
    __m128i order = _mm_loadu_si128((const __m128i *)(const void *)to_front[which]);
    _mm_storeu_si128((__m128i *)(void *)at, _mm_shuffle_epi8(four, order));
}
#endif

/* Moves those of a group of words from n on whose bits are set in keep to kept on. What is written over has been
 * read: kept is at most n. */
static inline void move_group(int32_t *word, int32_t n, int32_t kept, uint32_t keep)
{
#if defined(__AVX512F__)
    _mm512_storeu_si512(word + kept, _mm512_maskz_compress_epi32((__mmask16)keep, _mm512_loadu_si512(word + n)));
#elif defined(__AVX2__)
    __m128i low = _mm_loadu_si128((const __m128i *)(const void *)(word + n));
    __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(word + n + 4));
    store_front(word + kept, low, keep & 15);
    store_front(word + kept + __builtin_popcount(keep & 15), high, keep >> 4);
#else
    (void)keep;
    word[kept] = word[n];
#endif
}

/* Which terms of the group from n on stay, one bit each: by their hashes, or because they have a row. */
INLINE uint32_t kept_of(const struct terms *terms, int32_t n, int dropping, uint32_t threshold)
{
#if defined(__AVX2__)
    words h = load_words(terms->hash + n);
    if (!dropping) {
        h = ~load_words((const uint32_t *)terms->row + n);
        threshold = 0x80000000u;
    } else {
        h = (h ^ (h >> 16)) * 0x85ebca6bu;
        h = (h ^ (h >> 13)) * 0xc2b2ae35u;
        h ^= h >> 16;
    }
#if defined(__AVX512F__)
    return _mm512_cmpge_epu32_mask((__m512i)h, _mm512_set1_epi32((int)threshold));
#else
    __m256i larger = _mm256_max_epu32((__m256i)h, _mm256_set1_epi32((int)threshold));
    return (uint32_t)_mm256_movemask_ps((__m256)_mm256_cmpeq_epi32(larger, (__m256i)h));
#endif
#else
    return dropping ? inmo_fmix32(terms->hash[n]) >= threshold : terms->row[n] >= 0;
#endif
}

/* Takes terms out of the list: those that are dropped, or those without a row. */
INLINE void take_out(struct terms *terms, int dropping, uint32_t threshold, int weighted)
{
    int32_t kept = 0, count = terms->count;
    for (int32_t n = 0; n < count; n += GROUP) {
        uint32_t keep = kept_of(terms, n, dropping, threshold);
        if (count - n < GROUP)
            keep &= (1u << (count - n)) - 1;
        move_group(terms->row, n, kept, keep);
        if (weighted)
            move_group((int32_t *)terms->weight, n, kept, keep);
        terms->before[n / GROUP] = kept;
        terms->keep[n / GROUP] = keep;
        kept += __builtin_popcount(keep);
    }
    if (count % GROUP == 0) {
        terms->before[count / GROUP] = kept;
        terms->keep[count / GROUP] = 0;
    }
    for (int32_t p = 0; p < terms->pieces; p++) {
        int32_t end = terms->piece[p].end;
        terms->piece[p].end =
            terms->before[end / GROUP] + __builtin_popcount(terms->keep[end / GROUP] & ((1u << end % GROUP) - 1));
    }
    terms->count = kept;
}

static inline void drop_terms(const struct inmo_gather *job, struct terms *terms)
{
    take_out(terms, 1, job->drop.threshold, 0);
}

/* Neighbours get their weights and become rows; those without one are taken out. */
static inline void look_up(const struct inmo_gather *job, struct terms *terms)
{
    int32_t any = 0;
    if (job->weight)
        for (int32_t n = 0; n < terms->count; n++)
            terms->weight[n] = job->weight[terms->row[n]];
    if (job->position)
        for (int32_t n = 0; n < terms->count; n++) {
            terms->row[n] = job->position[terms->row[n]];
            any |= terms->row[n];
        }
    if (any < 0)
        take_out(terms, 0, 0, job->weight != NULL);
}

#endif
