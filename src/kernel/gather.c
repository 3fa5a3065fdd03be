/* gather.c - sums over neighbours, the loop that training spends its time in. Bound by memory: for d = 64 an
 * edge moves 256 bytes (128 in half precision) and does 64 additions. What helps is having the next rows under
 * way (prefetch), also over the ends of the mostly short rows, and holding the sum in registers.
 *
 * Terms are summed from a list of rows of x that is cut into pieces, one for each node, or several for a node of
 * many neighbours. Without a filter the graph's own list serves, otherwise one made of it (terms.h). */
#include "kernel/terms.h"

enum { AHEAD = 24, OUT_AHEAD = 4, NODES_AHEAD = 8 }; /* terms, rows of out, nodes for which memory is asked ahead */
enum { MOST_DIM = 4096 };

/* Terms to be summed. */
struct list {
    const int32_t *row;   // rows of x
    const float *weight;  // NULL: 1
    int32_t readable;     /* entries of row that may be read, for prefetching past the last piece */
    int32_t pieces;
    const struct piece *piece;
    float *carry;  // (dim) where a sum waits that is not finished
};

/* What follows is inlined where these are constants, so that sums are in registers and loops are written out. */
struct shape {
    int dim, half; /* of the rows of x */
    int simple;    /* no weights, first terms or rows to add, and every piece is a whole row */
};

/* A piece and what belongs to its sum. */
struct stretch {
    const int32_t *row;
    const float *weight;
    int32_t count;
    int32_t fetchable;  /* terms for which the one AHEAD of them can be fetched */
    const float *begin; /* what the sum begins with; NULL: 0 */
    const float *scale; /* NULL: 1 */
    const float *plus;  /* NULL: nothing */
    float *carry;       /* the sum goes here; NULL: it is finished, and goes to out or half_out */
    float *out;
    uint32_t *half_out;
};

/* What the sum of node v begins with: its constant first term, or 0 when there is none or it is dropped. Chosen
 * without a branch, which could not be predicted. */
static const float zeros[MOST_DIM];
static inline const float *first_term(const struct inmo_gather *job, int32_t v)
{
    int is_user = v < job->graph->users;
    const float *extra = is_user ? job->extra_user : job->extra_item;
    int32_t number = inmo_graph_number(job->graph, v);
    uint32_t user = is_user ? (uint32_t)number : UINT32_MAX, item = is_user ? UINT32_MAX : (uint32_t)number;
    uint32_t key = is_user ? job->drop.key_user_rows : job->drop.key_item_rows;
    uintptr_t kept = 0 - (uintptr_t)(extra && inmo_drop_keeps(key, job->drop.threshold, user, item));
    return (const float *)(((uintptr_t)extra & kept) | ((uintptr_t)zeros & ~kept));
}

static inline const float *plus_row(const struct inmo_gather *job, int32_t v)
{
    int32_t row = job->plus_position ? job->plus_position[v] : v;
    return job->plus && row >= 0 ? job->plus + (size_t)row * (size_t)job->dim : NULL;
}

/* Rows of out are written one after the other, but among so many that are read anywhere that the machine does not
 * see it by itself. */
INLINE void fetch_out(const char *row, size_t bytes)
{
    for (size_t j = 0; j < bytes; j += 64)
        __builtin_prefetch(row + OUT_AHEAD * bytes + j, 1, 3);
}

INLINE struct stretch stretch_of(const struct inmo_gather *job, struct shape shape, const struct list *list,
                                 const struct piece *piece, int32_t begin)
{
    size_t place = (size_t)piece->n * (size_t)shape.dim;
    struct stretch s = {.row = list->row + begin, .count = piece->end - begin};
    s.fetchable = list->readable - begin - AHEAD;
    s.scale = job->scale ? job->scale + piece->v : NULL;
    if (!shape.simple) {
        s.weight = list->weight ? list->weight + begin : NULL;
        s.begin = piece->first ? first_term(job, piece->v) : list->carry;
        s.plus = plus_row(job, piece->v);
        s.carry = piece->last ? NULL : list->carry;
    }
    if (job->half_out) {
        s.half_out = job->half_out + place / 2;
        fetch_out((const char *)s.half_out, 2 * (size_t)shape.dim);
    } else {
        s.out = job->out + place;
        fetch_out((const char *)s.out, 4 * (size_t)shape.dim);
    }
    return s;
}

/* Words k of a row in half precision hold vector LOW(k) in their lower halves and the one 16 numbers on in their
 * upper. */
#define LOW(k) ((k) / PARTS * 2 * PARTS + (k) % PARTS)
/* Of a sum at once: as much as leaves half of the registers free, or more. */
#if defined(INMO_NEON)
enum { MOST_VECTORS = 16, MOST_WIDTH = MOST_VECTORS * LANES };
#else
enum { MOST_VECTORS = 8, MOST_WIDTH = MOST_VECTORS * LANES };
#endif

/* Adds width numbers of each row of x to a sum, from number j on. */
INLINE void add_terms(const struct inmo_gather *job, struct shape shape, const struct stretch *s, int weighted,
                      int j, int width, vec *acc)
{
    size_t size = (size_t)shape.dim * (shape.half ? 2 : 4), bytes = (size_t)width * (shape.half ? 2 : 4);
    const char *x = shape.half ? (const char *)(job->half + j / 2) : (const char *)(job->x + j);
    for (int32_t n = 0; n < s->count; n++) {
        const char *from = x + (size_t)s->row[n] * size;
        vec factor = (vec){0} + (weighted ? s->weight[n] : 1);
        if (__builtin_expect(n < s->fetchable, 1)) {
            const char *later = x + (size_t)s->row[n + AHEAD] * size;
            EACH(k, (int)bytes / 64)
            __builtin_prefetch(later + 64 * k, 0, 3);
        }
        if (shape.half)
            EACH(k, width / LANES / 2)
            {
                words both = load_words((const uint32_t *)(const void *)from + LANES * k);
                vec low = (vec)(both << 16), high = (vec)(both & 0xffff0000u);
                acc[LOW(k)] += weighted ? factor * low : low;
                acc[LOW(k) + PARTS] += weighted ? factor * high : high;
            }
        else
            EACH(k, width / LANES)
            {
                vec some = load((const float *)(const void *)from + LANES * k);
                acc[k] += weighted ? factor * some : some;
            }
    }
}

/* Width numbers of a stretch's sum from number j on, in registers from beginning to end. */
INLINE void sum_width(const struct inmo_gather *job, struct shape shape, const struct stretch *s, int j, int width)
{
    vec acc[MOST_VECTORS];
    EACH(k, width / LANES)
    acc[k] = s->begin ? load(s->begin + j + LANES * k) : (vec){0};
    if (s->weight)
        add_terms(job, shape, s, 1, j, width, acc);
    else
        add_terms(job, shape, s, 0, j, width, acc);
    if (s->carry) {
        EACH(k, width / LANES)
        store(s->carry + j + LANES * k, acc[k]);
        return;
    }
    if (s->scale) {
        vec scale = (vec){0} + *s->scale;
        EACH(k, width / LANES)
        acc[k] *= scale;
    }
    if (s->plus)
        EACH(k, width / LANES)
    acc[k] += load(s->plus + j + LANES * k);
    if (s->half_out) {
        EACH(k, width / LANES / 2)
        store_half(s->half_out + j / 2 + LANES * k, acc[LOW(k)], acc[LOW(k) + PARTS]);
    } else {
        EACH(k, width / LANES)
        store(s->out + j + LANES * k, acc[k]);
    }
}

/* All pieces of a list, dim a multiple of 32. */
INLINE void sum_shape(const struct inmo_gather *job, struct shape shape, const struct list *list)
{
    for (int32_t p = 0, begin = 0; p < list->pieces; begin = list->piece[p++].end) {
        struct stretch s = stretch_of(job, shape, list, list->piece + p, begin);
        int j = 0;
        for (; j + MOST_WIDTH <= shape.dim; j += MOST_WIDTH) /* 32, 64 or 128 */
            sum_width(job, shape, &s, j, MOST_WIDTH);
        for (; MOST_WIDTH > 64 && j + 64 <= shape.dim; j += 64)
            sum_width(job, shape, &s, j, MOST_WIDTH < 64 ? MOST_WIDTH : 64);
        for (; j < shape.dim; j += 32)
            sum_width(job, shape, &s, j, 32);
    }
}

/* Any dim, in float: the sum is in memory. */
static void sum_any(const struct inmo_gather *job, const struct list *list)
{
    int dim = job->dim;
    float *sum = list->carry;
    for (int32_t p = 0, begin = 0; p < list->pieces; begin = list->piece[p++].end) {
        struct stretch s = stretch_of(job, (struct shape){dim, 0, 0}, list, list->piece + p, begin);
        float scale = s.scale ? *s.scale : 1;
        if (s.begin != sum)
            memcpy(sum, s.begin, (size_t)dim * sizeof *sum);
        for (int32_t n = 0; n < s.count; n++) {
            const float *from = job->x + (size_t)s.row[n] * (size_t)dim;
            float factor = s.weight ? s.weight[n] : 1;
            for (int j = 0; j < dim; j++)
                sum[j] += factor * from[j];
        }
        for (int j = 0; j < dim && !s.carry; j++)
            s.out[j] = scale * sum[j] + (s.plus ? s.plus[j] : 0);
    }
}

#define SUM(name, half, simple)                                                                                    \
    static void name(const struct inmo_gather *job, const struct list *list)                                       \
    {                                                                                                              \
        switch (job->dim) {                                                                                        \
        case 64: sum_shape(job, (struct shape){64, half, simple}, list); break;                                    \
        case 128: sum_shape(job, (struct shape){128, half, simple}, list); break;                                  \
        default: sum_shape(job, (struct shape){job->dim, half, simple}, list); break;                              \
        }                                                                                                          \
    }
SUM(sum_float, 0, 0)
SUM(sum_half, 1, 0)
SUM(sum_float_simple, 0, 1)
SUM(sum_half_simple, 1, 1)

static void sum_list(const struct inmo_gather *job, const struct list *list, int whole)
{
    int simple = whole && !list->weight && !job->extra_user && !job->extra_item && !job->plus;
    if (job->dim % INMO_HALF_BLOCK != 0)
        sum_any(job, list);
    else if (simple)
        (job->half ? sum_half_simple : sum_float_simple)(job, list);
    else
        (job->half ? sum_half : sum_float)(job, list);
}

/* Sums what is listed, looked up already. */
static void sum_listed(const struct inmo_gather *job, struct terms *terms, float *carry)
{
    struct list list = {terms->row,   job->weight || job->edge ? terms->weight : NULL,
                        terms->count, terms->pieces,
                        terms->piece, carry};
    sum_list(job, &list, 0);
    terms->count = terms->pieces = 0;
}

static void sum_terms(const struct inmo_gather *job, struct terms *terms, float *carry)
{
    if (job->drop.threshold)
        drop_terms(job, terms);
    look_up(job, terms);
    sum_listed(job, terms, carry);
}

static inline int32_t asked(const struct inmo_gather *job, int32_t n)
{
    return job->node ? job->node[n] : n;
}

/* Rows that are listed or filtered: some nodes, dropout, positions, weights. */
static void gather_picked(const struct inmo_gather *job, int32_t begin, int32_t end)
{
    const struct inmo_graph *graph = job->graph;
    struct terms terms;
    float carry[MOST_DIM];
    int64_t edges = graph->offset[graph->nodes];
    terms.count = terms.pieces = 0;
    for (int32_t n = begin; n < end; n++) {
        int32_t v = asked(job, n);
        int64_t at = graph->offset[v], stop = graph->offset[v + 1];
        uint32_t base, step;
        int first = 1;
        if (job->node && n + NODES_AHEAD < end)
            __builtin_prefetch(graph->neighbour + graph->offset[job->node[n + NODES_AHEAD]], 0, 3);
        if (v < graph->users) {
            step = (uint32_t)INMO_HASH_ITEM;
            base = (uint32_t)inmo_graph_number(graph, v) * (uint32_t)INMO_HASH_USER -
                   (uint32_t)inmo_graph_whole(graph)->users * step + job->drop.key_user_rows;
        } else {
            step = (uint32_t)INMO_HASH_USER;
            base = (uint32_t)inmo_graph_number(graph, v) * (uint32_t)INMO_HASH_ITEM + job->drop.key_item_rows;
        }
        do {
            int64_t take;
            if (terms.count == LIST || terms.pieces == MOST_PIECES)
                sum_terms(job, &terms, carry);
            take = stop - at < LIST - terms.count ? stop - at : LIST - terms.count;
            list_row(&terms, graph->neighbour + at, (int32_t)take, edges - at, base, step);
            for (int64_t e = 0; graph->share && job->drop.threshold && e < take; e++)
                terms.hash[terms.count - take + e] =
                    base + (uint32_t)graph->share->origin[graph->neighbour[at + e]] * step;
            at += take;
            terms.piece[terms.pieces++] = (struct piece){n, v, terms.count, first, at == stop};
            first = 0;
        } while (at < stop);
    }
    sum_terms(job, &terms, carry);
}

/* The same where edges have weights: listed one by one, with the product of both weights. Slow at listing, as fast
 * at summing. */
static void gather_weighted(const struct inmo_gather *job, int32_t begin, int32_t end)
{
    const struct inmo_graph *graph = job->graph;
    struct terms terms;
    float carry[MOST_DIM];
    terms.count = terms.pieces = 0;
    for (int32_t n = begin; n < end; n++) {
        int32_t v = asked(job, n);
        int is_user = v < graph->users, first = 1;
        int64_t at = graph->offset[v], stop = graph->offset[v + 1];
        uint32_t own = (uint32_t)inmo_graph_number(graph, v);
        uint32_t key = is_user ? job->drop.key_user_rows : job->drop.key_item_rows;
        do {
            if (terms.count == LIST || terms.pieces == MOST_PIECES)
                sum_listed(job, &terms, carry);
            for (; at < stop && terms.count < LIST; at++) {
                int32_t w = graph->neighbour[at], row = job->position ? job->position[w] : w;
                uint32_t other = (uint32_t)inmo_graph_number(graph, w);
                if (row < 0 ||
                    !inmo_drop_keeps(key, job->drop.threshold, is_user ? own : other, is_user ? other : own))
                    continue;
                terms.row[terms.count] = row;
                terms.weight[terms.count++] = job->weight ? job->edge[at] * job->weight[w] : job->edge[at];
            }
            terms.piece[terms.pieces++] = (struct piece){n, v, terms.count, first, at == stop};
            first = 0;
        } while (at < stop);
    }
    sum_listed(job, &terms, carry);
}

/* Rows of consecutive nodes, whole: their terms are the graph's own list. */
static void gather_whole(const struct inmo_gather *job, int32_t begin, int32_t end)
{
    const struct inmo_graph *graph = job->graph;
    int64_t edges = graph->offset[graph->nodes];
    struct piece piece[MOST_PIECES];
    float carry[MOST_DIM];
    for (int32_t n = begin; n < end;) {
        int64_t at = graph->offset[n], readable = edges - at;
        struct list list = {graph->neighbour + at,
                            job->edge ? job->edge + at : NULL,
                            readable < INT32_MAX ? (int32_t)readable : INT32_MAX,
                            0,
                            piece,
                            carry};
        for (; n < end && list.pieces < MOST_PIECES && graph->offset[n + 1] - at <= list.readable; n++)
            piece[list.pieces++] = (struct piece){n, n, (int32_t)(graph->offset[n + 1] - at), 1, 1};
        sum_list(job, &list, 1);
    }
}

void NAMED(inmo_gather_range)(const struct inmo_gather *job, int32_t begin, int32_t end)
{
    int picked = job->node || job->drop.threshold || job->position || job->weight;
    if (picked && job->edge)
        gather_weighted(job, begin, end);
    else if (picked)
        gather_picked(job, begin, end);
    else
        gather_whole(job, begin, end);
}
