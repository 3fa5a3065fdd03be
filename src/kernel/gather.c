/* gather.c - sums over neighbours, the loop that training spends its time in. Bound by memory: for d = 64 an
 * edge moves 256 bytes (128 in half precision) and does 64 additions. What helps is having the next rows under
 * way (prefetch), also over the ends of the mostly short rows, and holding the sum in registers. */
#include "kernel/vector.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

enum { AHEAD = 16, LIST = 2048, MOST_PIECES = 256, MOST_DIM = 4096 };

/* A stretch of terms that belong to one sum. A long row is several pieces, of which the last is marked. */
struct piece {
    int32_t n, begin, end, first, last;
};

/* The terms left after dropping and passing over, of several rows one after the other, so that prefetching runs on
 * over the ends of the (mostly short) rows. */
struct terms {
    int32_t count, pieces;
    struct piece piece[MOST_PIECES];
    int32_t row[LIST + 16];
    float weight[LIST + 16];
    float sum[MOST_DIM];  // of the running row, when it is not summed in place
};

static inline void prefetch_row(const float *row, int floats)
{
    for (int j = 0; j < floats; j += 16)
        __builtin_prefetch(row + j, 0, 3);
}

/* A stretch of one row's terms. */
struct stretch {
    int32_t n, v;        /* place in out, node */
    const int32_t *row;  /* rows of x */
    const float *weight; /* NULL: 1 */
    int32_t count;
    int32_t readable; /* entries of row that may be read, for prefetching past count */
    int first, last;  /* of the row's stretches: the sum begins, is finished */
    float *carry;     /* (dim) where the sum waits between stretches */
};

/* The constant first term of the sum of node v, NULL when there is none or it is dropped. */
static const float *first_term(const struct inmo_gather *job, int32_t v)
{
    int is_user = v < job->graph->users;
    const float *extra = is_user ? job->extra_user : job->extra_item;
    if (extra && job->drop.threshold &&
        !inmo_drop_keeps(is_user ? job->drop.key_user_rows : job->drop.key_item_rows, job->drop.threshold,
                         is_user ? (uint32_t)v : UINT32_MAX,
                         is_user ? UINT32_MAX : (uint32_t)(v - job->graph->users)))
        extra = NULL;
    return extra;
}

static const float *plus_row(const struct inmo_gather *job, int32_t v)
{
    int32_t row = job->plus_position ? job->plus_position[v] : v;
    return job->plus && row >= 0 ? job->plus + (size_t)row * (size_t)job->dim : NULL;
}

/* One stretch with the sum in registers from beginning to end, for a dim known when compiled. FROM is the type
 * of a row's words, SIZE how many a row has, ADD how they are added. */
#define SUM_STRETCH(name, dim_, FROM, SOURCE, SIZE, ADD)                                                           \
    static inline void name(const struct inmo_gather *job, const struct stretch *s)                                \
    {                                                                                                              \
        enum { VECTORS = (dim_) / LANES };                                                                         \
        const FROM *x = job->SOURCE;                                                                               \
        const float *begin = s->first ? first_term(job, s->v) : s->carry, *plus;                                   \
        vec acc[VECTORS];                                                                                          \
        EACH(j, VECTORS)                                                                                           \
        acc[j] = begin ? load(begin + LANES * j) : (vec){0};                                                       \
        for (int32_t n = 0; n < s->count; n++) {                                                                   \
            const FROM *from = x + (size_t)s->row[n] * (SIZE);                                                     \
            if (n + AHEAD < s->readable)                                                                           \
                prefetch_row((const float *)(x + (size_t)s->row[n + AHEAD] * (SIZE)), SIZE);                       \
            if (s->weight) {                                                                                       \
                vec factor = (vec){0} + s->weight[n];                                                              \
                ADD(dim_, factor *)                                                                                \
            } else {                                                                                               \
                ADD(dim_, )                                                                                        \
            }                                                                                                      \
        }                                                                                                          \
        if (!s->last) {                                                                                            \
            EACH(j, VECTORS)                                                                                       \
            store(s->carry + LANES * j, acc[j]);                                                                   \
            return;                                                                                                \
        }                                                                                                          \
        if (job->scale) {                                                                                          \
            vec scale = (vec){0} + job->scale[s->v];                                                               \
            EACH(j, VECTORS)                                                                                       \
            acc[j] *= scale;                                                                                       \
        }                                                                                                          \
        plus = plus_row(job, s->v);                                                                                \
        if (plus)                                                                                                  \
            EACH(j, VECTORS)                                                                                       \
        acc[j] += load(plus + LANES * j);                                                                          \
        if (job->half_out) {                                                                                       \
            uint32_t *out = job->half_out + (size_t)s->n * ((dim_) / 2);                                           \
            EACH(j, VECTORS / 2)                                                                                   \
            store_half(out + LANES * j, acc[LOW(j)], acc[LOW(j) + PARTS]);                                         \
        } else {                                                                                                   \
            float *out = job->out + (size_t)s->n * (dim_);                                                         \
            EACH(j, VECTORS)                                                                                       \
            store(out + LANES * j, acc[j]);                                                                        \
        }                                                                                                          \
    }
/* Words j of a row in half precision hold vector LOW(j) in their lower halves and the one 16 numbers on in their
 * upper. */
#define LOW(j) ((j) / PARTS * 2 * PARTS + (j) % PARTS)
#define ADD_FLOATS(dim_, FACTOR)                                                                                   \
    EACH(j, (dim_) / LANES)                                                                                        \
    acc[j] += FACTOR load(from + LANES * j);
#define ADD_HALVES(dim_, FACTOR)                                                                                   \
    EACH(j, (dim_) / LANES / 2)                                                                                    \
    {                                                                                                              \
        words both = load_words(from + LANES * j);                                                                 \
        acc[LOW(j)] += FACTOR(vec)(both << 16);                                                                    \
        acc[LOW(j) + PARTS] += FACTOR(vec)(both & 0xffff0000u);                                                    \
    }
SUM_STRETCH(sum_float_32, 32, float, x, 32, ADD_FLOATS)
SUM_STRETCH(sum_float_64, 64, float, x, 64, ADD_FLOATS)
SUM_STRETCH(sum_float_128, 128, float, x, 128, ADD_FLOATS)
SUM_STRETCH(sum_half_32, 32, uint32_t, half, 16, ADD_HALVES)
SUM_STRETCH(sum_half_64, 64, uint32_t, half, 32, ADD_HALVES)
SUM_STRETCH(sum_half_128, 128, uint32_t, half, 64, ADD_HALVES)

/* Any dim: the sum is in memory. */
static void sum_any(const struct inmo_gather *job, const struct stretch *s)
{
    int dim = job->dim;
    float *sum = s->carry;
    const float *begin = s->first ? first_term(job, s->v) : sum, *plus = plus_row(job, s->v);
    float scale = job->scale ? job->scale[s->v] : 1;
    if (!begin)
        memset(sum, 0, (size_t)dim * sizeof *sum);
    else if (begin != sum)
        memcpy(sum, begin, (size_t)dim * sizeof *sum);
    for (int32_t n = 0; n < s->count; n++) {
        float factor = s->weight ? s->weight[n] : 1;
        if (job->half) {
            const uint32_t *from = job->half + (size_t)s->row[n] * (size_t)dim / 2;
            for (int j = 0; j < dim / 2; j += LANES) {
                float *low = sum + j / 16 * INMO_HALF_BLOCK + j % 16;
                words both = load_words(from + j);
                store(low, load(low) + factor * (vec)(both << 16));
                store(low + 16, load(low + 16) + factor * (vec)(both & 0xffff0000u));
            }
        } else {
            const float *from = job->x + (size_t)s->row[n] * (size_t)dim;
            for (int j = 0; j < dim; j++)
                sum[j] += factor * from[j];
        }
    }
    if (!s->last)
        return;
    for (int j = 0; j < dim; j++)
        sum[j] = scale * sum[j] + (plus ? plus[j] : 0);
    if (job->half_out)
        for (int j = 0; j < dim / 2; j += LANES) {
            const float *low = sum + j / 16 * INMO_HALF_BLOCK + j % 16;
            store_half(job->half_out + (size_t)s->n * (size_t)dim / 2 + j, load(low), load(low + 16));
        }
    else
        memcpy(job->out + (size_t)s->n * (size_t)dim, sum, (size_t)dim * sizeof *sum);
}

static inline void sum_stretch(const struct inmo_gather *job, const struct stretch *s)
{
    switch (job->half ? -job->dim : job->dim) {
    case 32: sum_float_32(job, s); break;
    case 64: sum_float_64(job, s); break;
    case 128: sum_float_128(job, s); break;
    case -32: sum_half_32(job, s); break;
    case -64: sum_half_64(job, s); break;
    case -128: sum_half_128(job, s); break;
    default: sum_any(job, s); break;
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

static void prefetch_first(const struct inmo_gather *job, int32_t v)
{
    int64_t at = job->graph->offset[v], end = job->graph->offset[v + 1];
    int size = job->half ? job->dim / 2 : job->dim;
    const float *x = job->half ? (const float *)job->half : job->x;
    for (end = end - at > AHEAD ? at + AHEAD : end; at < end; at++)
        prefetch_row(x + (size_t)job->graph->neighbour[at] * (size_t)size, size);
}

static inline int32_t asked(const struct inmo_gather *job, int32_t n)
{
    return job->node ? job->node[n] : n;
}

static void sum_pieces(const struct inmo_gather *job, struct terms *terms)
{
    for (int32_t p = 0; p < terms->pieces; p++) {
        const struct piece *piece = terms->piece + p;
        struct stretch s = {piece->n,
                            asked(job, piece->n),
                            terms->row + piece->begin,
                            job->weight ? terms->weight + piece->begin : NULL,
                            piece->end - piece->begin,
                            terms->count - piece->begin,
                            piece->first,
                            piece->last,
                            terms->sum};
        sum_stretch(job, &s);
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
        int first = 1;
        do {
            int64_t room, take;
            if (terms.count == LIST || terms.pieces == MOST_PIECES)
                sum_pieces(job, &terms);
            room = LIST - terms.count;
            take = stop - at < room ? stop - at : room;
            terms.piece[terms.pieces].n = n;
            terms.piece[terms.pieces].first = first;
            first = 0;
            terms.piece[terms.pieces].begin = terms.count;
            pick_terms(job, graph->neighbour + at, (int32_t)take, base, step, &terms);
            terms.piece[terms.pieces].end = terms.count;
            at += take;
            terms.piece[terms.pieces++].last = at == stop;
        } while (at < stop);
    }
    sum_pieces(job, &terms);
}

void NAMED(inmo_gather_range)(const struct inmo_gather *job, int32_t begin, int32_t end)
{
    const struct inmo_graph *graph = job->graph;
    if (job->drop.threshold || job->position || job->weight) {
        gather_filtered(job, begin, end);
        return;
    }
    for (int32_t n = begin; n < end; n++) {
        int32_t v = asked(job, n);
        float carry[MOST_DIM];
        int64_t at = graph->offset[v], readable = graph->offset[graph->nodes] - at;
        struct stretch s = {n,
                            v,
                            graph->neighbour + at,
                            NULL,
                            (int32_t)inmo_graph_degree(graph, v),
                            readable < INT32_MAX ? (int32_t)readable : INT32_MAX,
                            1,
                            1,
                            carry};
        if (job->node) { /* the next row's neighbours do not follow this one's: its first rows are fetched by name */
            s.readable = s.count;
            if (n + 1 < end)
                prefetch_first(job, job->node[n + 1]);
        }
        sum_stretch(job, &s);
    }
}
