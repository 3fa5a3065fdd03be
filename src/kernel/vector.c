/* vector.c - the inner loops, written once over vectors of 16 floats and compiled once for each instruction set
 * (src/CMakeLists.txt); a machine with narrower vectors does each in several pieces, in the same order.
 *
 * gather is bound by memory: for d = 64 an edge moves 256 bytes and does 64 additions. What helps is having the
 * next rows under way (prefetch) and holding the sum in registers. */
#include "kernel/kernel.h"

#include <math.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAMED(name) JOIN(name##_, INMO_VARIANT)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

typedef float v16 __attribute__((vector_size(64), aligned(4)));

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

/* Always added in this order, whatever the vector width. */
static inline float sum16(v16 a)
{
    float part[8];
    for (int j = 0; j < 8; j++)
        part[j] = a[j] + a[j + 8];
    for (int j = 0; j < 4; j++)
        part[j] += part[j + 4];
    return (part[0] + part[2]) + (part[1] + part[3]);
}

enum { AHEAD = 12, LIST = 2048, MOST_PIECES = 256 };

/* A stretch of terms that belong to one sum. A long row is several pieces, of which the last is marked. */
struct piece {
    int32_t n, begin, end, last;
};

/* The terms left after dropping and passing over, of several rows one after the other, so that prefetching runs on
 * over the ends of the (mostly short) rows. */
struct terms {
    int32_t count, pieces;
    struct piece piece[MOST_PIECES];
    int32_t row[LIST + 16];
    float weight[LIST + 16];
};

static inline void prefetch_row(const float *row, int dim)
{
    for (int j = 0; j < dim; j += 16)
        __builtin_prefetch(row + j, 0, 3);
}

/* acc += Σ weight * x[row], for a number of 16-float pieces known when compiled. */
#define ADD_TERMS(pieces)                                                                                         \
    static inline void add_terms_##pieces(const float *x, const int32_t *row, const float *weight, int32_t count, \
                                          int32_t readable, float *sum)                                           \
    {                                                                                                             \
        v16 acc[pieces];                                                                                          \
        for (int j = 0; j < pieces; j++)                                                                          \
            acc[j] = load(sum + 16 * j);                                                                          \
        for (int32_t n = 0; n < count; n++) {                                                                     \
            const float *from = x + (size_t)row[n] * (16 * pieces);                                               \
            if (n + AHEAD < readable)                                                                             \
                prefetch_row(x + (size_t)row[n + AHEAD] * (16 * pieces), 16 * pieces);                            \
            if (weight)                                                                                           \
                for (int j = 0; j < pieces; j++)                                                                  \
                    acc[j] += weight[n] * load(from + 16 * j);                                                    \
            else                                                                                                  \
                for (int j = 0; j < pieces; j++)                                                                  \
                    acc[j] += load(from + 16 * j);                                                                \
        }                                                                                                         \
        for (int j = 0; j < pieces; j++)                                                                          \
            store(sum + 16 * j, acc[j]);                                                                          \
    }
ADD_TERMS(2)
ADD_TERMS(4)
ADD_TERMS(8)

static void add_terms_any(const float *x, int dim, const int32_t *row, const float *weight, int32_t count, float *sum)
{
    for (int32_t n = 0; n < count; n++) {
        const float *from = x + (size_t)row[n] * dim;
        float factor = weight ? weight[n] : 1;
        for (int j = 0; j < dim; j++)
            sum[j] += factor * from[j];
    }
}

/* readable: how many entries of row may be read (for prefetching past count). */
static inline void add_terms(const float *x, int dim, const int32_t *row, const float *weight, int32_t count,
                             int32_t readable, float *sum)
{
    switch (dim) {
    case 32: add_terms_2(x, row, weight, count, readable, sum); break;
    case 64: add_terms_4(x, row, weight, count, readable, sum); break;
    case 128: add_terms_8(x, row, weight, count, readable, sum); break;
    default: add_terms_any(x, dim, row, weight, count, sum); break;
    }
}

#ifdef __AVX512F__
/* Appends the kept ones of count neighbours, 16 at a time: hash, compare, look up, compress. */
static void pick_terms(const struct inmo_gather *job, const int32_t *neighbour, int32_t count, uint32_t base,
                       uint32_t step, struct terms *terms)
{
    const __m512i threshold = _mm512_set1_epi32((int)job->drop.threshold), bases = _mm512_set1_epi32((int)base);
    const __m512i steps = _mm512_set1_epi32((int)step), first = _mm512_set1_epi32((int)0x85ebca6bu);
    const __m512i second = _mm512_set1_epi32((int)0xc2b2ae35u);
    int32_t kept = terms->count;
    for (int32_t n = 0; n < count; n += 16) {
        __mmask16 keep = count - n < 16 ? (__mmask16)((1u << (count - n)) - 1) : 0xffff;
        __m512i w = _mm512_maskz_loadu_epi32(keep, neighbour + n), row = w;
        if (job->drop.threshold) {
            __m512i h = _mm512_add_epi32(bases, _mm512_mullo_epi32(w, steps));
            h = _mm512_mullo_epi32(_mm512_xor_si512(h, _mm512_srli_epi32(h, 16)), first);
            h = _mm512_mullo_epi32(_mm512_xor_si512(h, _mm512_srli_epi32(h, 13)), second);
            h = _mm512_xor_si512(h, _mm512_srli_epi32(h, 16));
            keep = _mm512_mask_cmpge_epu32_mask(keep, h, threshold);
        }
        if (job->position) {
            row = _mm512_mask_i32gather_epi32(w, keep, w, job->position, 4);
            keep = _mm512_mask_cmpge_epi32_mask(keep, row, _mm512_setzero_si512());
        }
        /* The lists have room for a whole vector past their end. */
        _mm512_storeu_si512(terms->row + kept, _mm512_maskz_compress_epi32(keep, row));
        if (job->weight) {
            __m512 weight = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), keep, w, job->weight, 4);
            _mm512_storeu_ps(terms->weight + kept, _mm512_maskz_compress_ps(keep, weight));
        }
        kept += __builtin_popcount(keep);
    }
    terms->count = kept;
}
#else
/* Appends the kept ones of count neighbours. The hash of the whole list is one vectorised loop; the picking that
 * follows has no branch to mispredict. */
static void pick_terms(const struct inmo_gather *job, const int32_t *neighbour, int32_t count, uint32_t base,
                       uint32_t step, struct terms *terms)
{
    uint32_t hash[LIST];
    int32_t kept = terms->count;
    if (job->drop.threshold) {
        for (int32_t n = 0; n < count; n++)
            hash[n] = inmo_fmix32(base + (uint32_t)neighbour[n] * step);
        for (int32_t n = 0; n < count; n++) {
            int32_t w = neighbour[n], row = job->position ? job->position[w] : w;
            terms->row[kept] = row;
            terms->weight[kept] = job->weight ? job->weight[w] : 1;
            kept += (hash[n] >= job->drop.threshold) & (row >= 0);
        }
    } else {
        for (int32_t n = 0; n < count; n++) {
            int32_t w = neighbour[n], row = job->position ? job->position[w] : w;
            terms->row[kept] = row;
            terms->weight[kept] = job->weight ? job->weight[w] : 1;
            kept += row >= 0;
        }
    }
    terms->count = kept;
}
#endif

static void start_sum(const struct inmo_gather *job, int32_t v, float *sum)
{
    int is_user = v < job->graph->users;
    const float *extra = is_user ? job->extra_user : job->extra_item;
    int keep = extra != NULL;
    if (keep && job->drop.threshold)
        keep = inmo_drop_keeps(is_user ? job->drop.key_user_rows : job->drop.key_item_rows, job->drop.threshold,
                               is_user ? (uint32_t)v : UINT32_MAX,
                               is_user ? UINT32_MAX : (uint32_t)(v - job->graph->users));
    if (keep)
        memcpy(sum, extra, (size_t)job->dim * sizeof *sum);
    else
        memset(sum, 0, (size_t)job->dim * sizeof *sum);
}

static void finish_sum(const struct inmo_gather *job, int32_t v, float *sum)
{
    if (job->scale)
        for (int j = 0; j < job->dim; j++)
            sum[j] *= job->scale[v];
}

static inline int32_t asked(const struct inmo_gather *job, int32_t n)
{
    return job->node ? job->node[n] : n;
}

static void sum_pieces(const struct inmo_gather *job, struct terms *terms)
{
    for (int32_t p = 0; p < terms->pieces; p++) {
        const struct piece *piece = terms->piece + p;
        float *sum = job->out + (size_t)piece->n * job->dim;
        add_terms(job->x, job->dim, terms->row + piece->begin, job->weight ? terms->weight + piece->begin : NULL,
                  piece->end - piece->begin, terms->count - piece->begin, sum);
        if (piece->last)
            finish_sum(job, asked(job, piece->n), sum);
    }
    terms->count = terms->pieces = 0;
}

/* Rows that are filtered: dropout, positions, weights. */
static void gather_filtered(const struct inmo_gather *job, int32_t begin, int32_t end)
{
    const struct inmo_graph *graph = job->graph;
    struct terms terms;
    terms.count = terms.pieces = 0;
    for (int32_t n = begin; n < end; n++) {
        int32_t v = asked(job, n);
        int64_t at = graph->offset[v], stop = graph->offset[v + 1];
        uint32_t base, step;
        if (v < graph->users) {
            step = (uint32_t)INMO_HASH_ITEM;
            base = (uint32_t)v * (uint32_t)INMO_HASH_USER - (uint32_t)graph->users * step + job->drop.key_user_rows;
        } else {
            step = (uint32_t)INMO_HASH_USER;
            base = (uint32_t)(v - graph->users) * (uint32_t)INMO_HASH_ITEM + job->drop.key_item_rows;
        }
        start_sum(job, v, job->out + (size_t)n * job->dim);
        do {
            int64_t room, take;
            if (terms.count == LIST || terms.pieces == MOST_PIECES)
                sum_pieces(job, &terms);
            room = LIST - terms.count;
            take = stop - at < room ? stop - at : room;
            terms.piece[terms.pieces].n = n;
            terms.piece[terms.pieces].begin = terms.count;
            pick_terms(job, graph->neighbour + at, (int32_t)take, base, step, &terms);
            terms.piece[terms.pieces].end = terms.count;
            at += take;
            terms.piece[terms.pieces++].last = at == stop;
        } while (at < stop);
    }
    sum_pieces(job, &terms);
}

static void NAMED(gather_range)(const struct inmo_gather *job, int32_t begin, int32_t end)
{
    const struct inmo_graph *graph = job->graph;
    if (job->drop.threshold || job->position || job->weight) {
        gather_filtered(job, begin, end);
        return;
    }
    for (int32_t n = begin; n < end; n++) {
        int32_t v = asked(job, n);
        float *sum = job->out + (size_t)n * job->dim;
        int64_t at = graph->offset[v], readable = graph->offset[graph->nodes] - at;
        start_sum(job, v, sum);
        add_terms(job->x, job->dim, graph->neighbour + at, NULL, (int32_t)inmo_graph_degree(graph, v),
                  readable < INT32_MAX ? (int32_t)readable : INT32_MAX, sum);
        finish_sum(job, v, sum);
    }
}

static void NAMED(adam)(int64_t count, struct inmo_adam adam, const float *gradient, float *m, float *v,
                        float *parameter)
{
    for (int64_t n = 0; n < count; n++) {
        float g = gradient ? gradient[n] : 0;
        m[n] = 0.9f * m[n] + 0.1f * g;
        v[n] = 0.999f * v[n] + 0.001f * (g * g);
        parameter[n] -= adam.rate * m[n] / (sqrtf(v[n]) * adam.root_bias + 1e-8f);
    }
}

static float NAMED(dot)(int dim, const float *a, const float *b)
{
    v16 acc = {0};
    float rest = 0;
    int j = 0;
    for (; j + 16 <= dim; j += 16)
        acc += load(a + j) * load(b + j);
    for (; j < dim; j++)
        rest += a[j] * b[j];
    return sum16(acc) + rest;
}

static void NAMED(dot_rows)(int64_t count, int dim, const float *query, const float *rows, float *score)
{
    for (int64_t n = 0; n < count; n++) {
        __builtin_prefetch(rows + (n + 8) * dim, 0, 3);
        score[n] = NAMED(dot)(dim, query, rows + n * dim);
    }
}

static void NAMED(add_scaled)(int dim, float factor, const float *x, float *out)
{
    for (int j = 0; j < dim; j++)
        out[j] += factor * x[j];
}

/* e^x = 2^n e^f with n = round(x / ln 2), |f| <= ln 2 / 2, e^f by its series to the 7th power (remainder below 1e-8).
 * Below -87 the result is 0: what is left out is less than the smallest normal float. */
static inline v16 exponential(v16 x)
{
    typedef int32_t i16 __attribute__((vector_size(64)));
    const v16 magic = {0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f,
                       0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f, 0x1.8p23f};
    i16 tiny = x < -87.0f, bits;
    v16 clamped = (v16)(((i16)x & ~tiny) | ((i16)(v16){0} & tiny)), shifted, n, f, sum;
    clamped = (v16)(((i16)clamped & ~(clamped > 88.0f)) | ((i16)(magic * 0 + 88.0f) & (clamped > 88.0f)));
    shifted = clamped * 1.44269504f + magic;   /* the integer is in the low bits of the mantissa */
    n = shifted - magic;
    f = clamped - n * 0.693145752f;            /* ln 2 in two parts, so that f keeps its low bits */
    f = f - n * 1.42860677e-6f;
    sum = 1.0f / 5040 + magic * 0;
    sum = sum * f + 1.0f / 720;
    sum = sum * f + 1.0f / 120;
    sum = sum * f + 1.0f / 24;
    sum = sum * f + 1.0f / 6;
    sum = sum * f + 0.5f;
    sum = sum * f + 1.0f;
    sum = sum * f + 1.0f;
    bits = (i16)sum + ((i16)shifted << 23);
    return (v16)(bits & ~tiny);
}

static double NAMED(exponentials)(int32_t count, float factor, float shift, float *x)
{
    v16 total = {0};
    double sum = 0;
    int32_t n = 0;
    for (; n + 16 <= count; n += 16) {
        v16 value = exponential(load(x + n) * factor - shift);
        store(x + n, value);
        total += value;
    }
    sum = (double)sum16(total);
    if (n < count) {
        v16 rest = {0};
        memcpy(&rest, x + n, (size_t)(count - n) * sizeof *x);
        rest = exponential(rest * factor - shift);
        memcpy(x + n, &rest, (size_t)(count - n) * sizeof *x);
        for (int32_t j = n; j < count; j++)
            sum += (double)x[j];
    }
    return sum;
}

static float NAMED(largest)(int32_t count, const float *x)
{
    typedef int32_t i16 __attribute__((vector_size(64)));
    v16 most = (v16){0} - INFINITY;
    float result = -INFINITY;
    int32_t n = 0;
    for (; n + 16 <= count; n += 16) {
        v16 here = load(x + n);
        i16 larger = here > most;
        most = (v16)(((i16)here & larger) | ((i16)most & ~larger));
    }
    for (; n < count; n++)
        result = x[n] > result ? x[n] : result;
    for (int j = 0; j < 16; j++)
        result = most[j] > result ? most[j] : result;
    return result;
}

static int32_t NAMED(above)(int32_t count, const float *score, float bound, int32_t *hit)
{
    typedef int32_t i16 __attribute__((vector_size(64)));
    int32_t hits = 0, n = 0;
    for (; n + 64 <= count; n += 64) {
        /* Almost always none of the 64 qualifies: one test for all of them. */
        i16 any = (load(score + n) > bound) | (load(score + n + 16) > bound) | (load(score + n + 32) > bound) |
                  (load(score + n + 48) > bound);
        int64_t word[8], some = 0;
        memcpy(word, &any, sizeof word);
        for (int j = 0; j < 8; j++)
            some |= word[j];
        if (some)
            for (int32_t j = n; j < n + 64; j++) {
                hit[hits] = j;
                hits += score[j] > bound;
            }
    }
    for (; n < count; n++) {
        hit[hits] = n;
        hits += score[n] > bound;
    }
    return hits;
}

const struct inmo_kernels NAMED(inmo_kernels);
const struct inmo_kernels NAMED(inmo_kernels) = {
    TEXT(INMO_VARIANT),   NAMED(gather_range), NAMED(adam),  NAMED(dot),
    NAMED(dot_rows),      NAMED(add_scaled),   NAMED(exponentials), NAMED(largest),
    NAMED(above),
};
