/* quantised.c - see quantised.h. One pass over the bytes, a tile at a time: computes the upper bounds of the
 * tile's rows (in the core's cache) and keeps the rows that may still be among the k best. The lower bound of the
 * k-th best score tightens during the pass. */
#include "score/quantised.h"

#include "base/memory.h"
#include "base/threads.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK = INMO_BYTES_BLOCK,
    GROUP = INMO_BYTES_GROUP,
    ROW_MOST = 127,
    TILE = 1024,
    WAITING = 1024,
    TOGETHER = 8
};

void inmo_quantised_free(struct inmo_quantised *quantised)
{
    if (!quantised)
        return;
    inmo_free(quantised->bytes.length);
    inmo_free(quantised->bytes.left_out);
    inmo_free(quantised->bytes.scale);
    inmo_free(quantised->bytes.code);
    inmo_free(quantised);
}

static int64_t block_count(const struct inmo_quantised *quantised)
{
    return (quantised->rows + BLOCK - 1) / BLOCK;
}

static float largest_size(const float *x, int dim)
{
    float most = 0;
    for (int j = 0; j < dim; j++)
        most = fabsf(x[j]) > most ? fabsf(x[j]) : most;
    return most;
}

static void store_row(struct inmo_quantised *quantised, int64_t n)
{
    /* Float scores are rounded too, by far less than this share of the product of the lengths. */
    const double slack = 1e-5;
    const struct inmo_bytes *bytes = &quantised->bytes;
    int dim = quantised->dim;
    const float *x = quantised->exact + n * dim;
    uint8_t *code = bytes->code + n / BLOCK * bytes->groups * BLOCK * GROUP + n % BLOCK * GROUP;
    float most = largest_size(x, dim), scale = most / ROW_MOST;
    double left_out = 0, length = 0;
    for (int j = 0; j < dim; j++) {
        int c = scale > 0 ? (int)lrintf(x[j] / scale) : 0;
        code[j / GROUP * BLOCK * GROUP + j % GROUP] = (uint8_t)(c + INMO_BYTES_ZERO);
        left_out += pow((double)x[j] - (double)scale * c, 2);
        length += pow((double)scale * c, 2);
    }
    left_out = sqrt(left_out);
    length = sqrt(length);
    bytes->scale[n] = scale;
    bytes->left_out[n] = (float)(left_out + slack * (length + left_out));
    bytes->length[n] = (float)length;
}

enum inmo_status inmo_quantised_make(const float *rows, int64_t count, int dim, struct inmo_quantised **out,
                                     struct inmo_error *error)
{
    struct inmo_quantised *made = inmo_alloc_zero(1, sizeof *made);
    size_t padded;
    if (!made)
        return inmo_fail_memory(error, "the quantised rows");
    made->rows = count;
    made->dim = dim;
    made->exact = rows;
    made->bytes.groups = (dim + GROUP - 1) / GROUP;
    padded = (size_t)block_count(made) * BLOCK;
    made->bytes.code = inmo_alloc_zero(padded * (size_t)made->bytes.groups * GROUP, 1);
    made->bytes.scale = inmo_alloc_zero(padded, sizeof(float));
    made->bytes.left_out = inmo_alloc_zero(padded, sizeof(float));
    made->bytes.length = inmo_alloc_zero(padded, sizeof(float));
    if (!made->bytes.code || !made->bytes.scale || !made->bytes.left_out || !made->bytes.length) {
        inmo_quantised_free(made);
        return inmo_fail_memory(error, "the quantised rows");
    }
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int64_t n = 0; n < count; n++)
        store_row(made, n);
    *out = made;
    return INMO_OK;
}

/* Quantises the query and computes what the bounds need of it. */
static struct inmo_bytes_query store_query(const struct inmo_quantised *quantised, const float *query, int8_t *code)
{
    float most = largest_size(query, quantised->dim), scale = most / INMO_BYTES_QUERY_MOST;
    double left_out = 0, length = 0;
    memset(code, 0, (size_t)quantised->bytes.groups * GROUP);
    for (int j = 0; j < quantised->dim; j++) {
        int c = scale > 0 ? (int)lrintf(query[j] / scale) : 0;
        code[j] = (int8_t)c;
        left_out += pow((double)query[j] - (double)scale * c, 2);
        length += pow((double)query[j], 2);
    }
    return (struct inmo_bytes_query){code, scale, (float)sqrt(length) * (1 + 1e-6f),
                                     (float)sqrt(left_out) * (1 + 1e-6f)};
}

/* The state of one query during a pass. */
struct inmo_scan_pass {
    const struct inmo_quantised *quantised;
    struct inmo_scan_query *query;
    const struct inmo_bytes_query *bytes;
    float floor;             /* at least k rows score this much; found before the pass from some boosted rows */
    struct inmo_top low;     /* the k largest lower bounds */
    int32_t closed, boosted; /* position in each of the two lists */
    int32_t waiting;         /* rows not scored yet, ascending, with their upper bounds and boosts */
    int32_t row[WAITING];
    float high[WAITING], boost[WAITING];
};

/* A score that at least k rows reach. */
static float bound(const struct inmo_scan_pass *pass)
{
    float low = inmo_top_bound(&pass->low), scored = inmo_top_bound(&pass->query->top);
    float known = low > scored ? low : scored;
    return known > pass->floor ? known : pass->floor;
}

static void drop_hopeless(struct inmo_scan_pass *pass)
{
    float least = bound(pass);
    int32_t kept = 0;
    for (int32_t n = 0; n < pass->waiting; n++) {
        pass->row[kept] = pass->row[n];
        pass->high[kept] = pass->high[n];
        pass->boost[kept] = pass->boost[n];
        kept += pass->high[n] >= least;
    }
    pass->waiting = kept;
}

static void score_waiting(struct inmo_scan_pass *pass)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int dim = pass->quantised->dim;
    for (int32_t n = 0; n < pass->waiting; n++) {
        const float *x = pass->quantised->exact + (int64_t)pass->row[n] * dim;
        float score = kernels->dot(dim, pass->query->vector, x);
        inmo_top_add(&pass->query->top, pass->boost[n] != 0 ? score + pass->boost[n] : score, pass->row[n]);
    }
    pass->query->scored += pass->waiting;
    pass->waiting = 0;
}

/* Adding a boost rounds once more, by less than this share of the two terms. */
static float rounding(float high, float boost)
{
    return 1e-6f * (fabsf(high) + fabsf(boost));
}

/* Takes in row n, whose upper bound reaches the bound. */
static void consider(struct inmo_scan_pass *pass, int32_t n, float high, float boost)
{
    const struct inmo_bytes *bytes = &pass->quantised->bytes;
    float margin = pass->bytes->length * bytes->left_out[n] + pass->bytes->left_out * bytes->length[n];
    float low = high - 2 * margin;
    inmo_top_add(&pass->low, boost != 0 ? low - 4 * rounding(high, boost) : low, n);
    if (pass->waiting == WAITING) {
        drop_hopeless(pass);
        if (pass->waiting > WAITING / 2) /* too close to each other for the bounds: score them */
            score_waiting(pass);
    }
    pass->row[pass->waiting] = n;
    pass->boost[pass->waiting] = boost;
    pass->high[pass->waiting++] = high;
}

/* Raises the upper bounds of the boosted rows of a tile. Returns the number of boosts before the end of the
 * tile. */
static int32_t raise_bounds(const struct inmo_scan_query *query, int32_t at, int32_t begin, int32_t rows,
                            float *high)
{
    for (; at < query->boosted_count && query->boosted[at] < begin + rows; at++) {
        float *raised = high + (query->boosted[at] - begin), boost = query->boost[at];
        *raised += boost + 2 * rounding(*raised, boost);
    }
    return at;
}

/* The boost of row n. Call it with ascending rows. */
static float boost_of(struct inmo_scan_pass *pass, int32_t n)
{
    const struct inmo_scan_query *query = pass->query;
    while (pass->boosted < query->boosted_count && query->boosted[pass->boosted] < n)
        pass->boosted++;
    return pass->boosted < query->boosted_count && query->boosted[pass->boosted] == n ? query->boost[pass->boosted]
                                                                                      : 0;
}

/* Whether row n is closed. Call it with ascending rows. */
static int is_closed(struct inmo_scan_pass *pass, int32_t n)
{
    const struct inmo_scan_query *query = pass->query;
    while (pass->closed < query->closed_count && query->closed[pass->closed] < n)
        pass->closed++;
    return pass->closed < query->closed_count && query->closed[pass->closed] == n;
}

/* The k-th best score among some rows with high boosts is a lower bound for the k best of all rows. With it the
 * pass rejects most rows from the first tile on. */
static float find_floor(struct inmo_scan_pass *pass, const uint8_t *left_out)
{
    enum { MOST_K = 64 };
    const struct inmo_scan_query *query = pass->query;
    int32_t k = query->top.k, best[MOST_K], dim = pass->quantised->dim, scored = 0;
    float score[MOST_K], mean = 0;
    struct inmo_top top = {k, 0, score, best};
    if (k > MOST_K || query->boosted_count < k)
        return -INFINITY;
    for (int32_t n = 0; n < query->boosted_count; n++)
        mean += query->boost[n] / (float)query->boosted_count;
    for (int32_t n = 0; n < query->boosted_count && scored < 4 * k; n++)
        if (query->boost[n] > 3 * mean && (!left_out || !left_out[query->boosted[n]]) &&
            !is_closed(pass, query->boosted[n])) {
            const float *x = pass->quantised->exact + (int64_t)query->boosted[n] * dim;
            inmo_top_add(&top, inmo_kernels()->dot(dim, query->vector, x) + query->boost[n], query->boosted[n]);
            scored++;
        }
    pass->closed = 0;
    return inmo_top_bound(&top);
}

/* Takes in a tile of rows whose upper bounds are known. */
static void take_tile(struct inmo_scan_pass *pass, const uint8_t *left_out, int32_t begin, int32_t rows,
                      const float *high)
{
    int32_t hit[TILE];
    /* "above" is strict, so pass the next smaller float */
    int32_t hits = inmo_kernels()->above(rows, high, nextafterf(bound(pass), -INFINITY), hit);
    for (int32_t h = 0; h < hits; h++) {
        int32_t n = begin + hit[h];
        if (high[hit[h]] >= bound(pass) && (!left_out || !left_out[n]) && !is_closed(pass, n))
            consider(pass, n, high[hit[h]], boost_of(pass, n));
    }
}

void inmo_scan_space_free(struct inmo_scan_space *space)
{
    inmo_free(space->memory);
    inmo_free(space->pass);
    *space = (struct inmo_scan_space){0};
}

static size_t whole_lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Bytes of the space's memory that a query needs: its code, and the heap of lower bounds. */
static size_t query_bytes(const struct inmo_quantised *quantised, const struct inmo_scan_query *query)
{
    return whole_lines((size_t)quantised->bytes.groups * GROUP) +
           whole_lines((size_t)query->top.k * (sizeof(float) + sizeof(int32_t)));
}

/* Layout of the memory: upper bounds of a tile for TOGETHER queries, the quantised queries, then query_bytes of
 * each. */
static enum inmo_status prepare(const struct inmo_quantised *quantised, const uint8_t *left_out,
                                struct inmo_scan_query *query, size_t count, struct inmo_scan_space *space,
                                struct inmo_error *error)
{
    size_t bounds = TOGETHER * TILE * sizeof(float), rounded = whole_lines(count * sizeof(struct inmo_bytes_query));
    size_t bytes = bounds + rounded;
    struct inmo_bytes_query *in_bytes;
    uint8_t *at;
    for (size_t n = 0; n < count; n++)
        bytes += query_bytes(quantised, query + n);
    if (count > space->passes) {
        inmo_free(space->pass);
        space->pass = inmo_alloc(count, sizeof *space->pass);
        space->passes = space->pass ? count : 0;
    }
    if (bytes > space->bytes) {
        inmo_free(space->memory);
        space->memory = inmo_alloc(bytes, 1);
        space->bytes = space->memory ? bytes : 0;
    }
    if (count > space->passes || bytes > space->bytes)
        return inmo_fail_memory(error, "the recommendations");
    at = (uint8_t *)space->memory + bounds;
    in_bytes = (struct inmo_bytes_query *)at;
    at += rounded;
    for (size_t n = 0; n < count; n++) {
        struct inmo_scan_pass *pass = space->pass + n;
        int32_t k = query[n].top.k;
        float *heap = (float *)(at + whole_lines((size_t)quantised->bytes.groups * GROUP));
        in_bytes[n] = store_query(quantised, query[n].vector, (int8_t *)at);
        pass->quantised = quantised;
        pass->query = query + n;
        pass->bytes = in_bytes + n;
        pass->low = (struct inmo_top){k, 0, heap, (int32_t *)(heap + k)};
        pass->closed = pass->boosted = pass->waiting = 0;
        query[n].top.count = 0;
        query[n].scored = 0;
        pass->floor = find_floor(pass, left_out);
        at += query_bytes(quantised, query + n);
    }
    return INMO_OK;
}

enum inmo_status inmo_quantised_scan(const struct inmo_quantised *quantised, const uint8_t *left_out,
                                     struct inmo_scan_query *query, size_t count, struct inmo_scan_space *space,
                                     struct inmo_error *error)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int64_t blocks = block_count(quantised);
    enum inmo_status status = prepare(quantised, left_out, query, count, space, error);
    float *high = space->memory;  // (TOGETHER, rows of the tile)
    for (int64_t first = 0; first < blocks && !status; first += TILE / BLOCK) {
        int64_t some = blocks - first < TILE / BLOCK ? blocks - first : TILE / BLOCK;
        int32_t begin = (int32_t)(first * BLOCK);
        int32_t rows = quantised->rows - begin < TILE ? (int32_t)(quantised->rows - begin) : TILE;
        for (size_t n = 0; n < count; n++) {
            struct inmo_scan_pass *pass = space->pass + n;
            float *bounds = high + n % TOGETHER * (size_t)some * BLOCK;
            int32_t boosted = pass->boosted;
            if (n % TOGETHER == 0)
                kernels->upper_bounds_of(&quantised->bytes, (int)(count - n < TOGETHER ? count - n : TOGETHER),
                                         pass->bytes, first, some, high);
            boosted = raise_bounds(query + n, boosted, begin, rows, bounds);
            take_tile(pass, left_out, begin, rows, bounds);
            pass->boosted = boosted;
        }
    }
    for (size_t n = 0; n < count && !status; n++) {
        drop_hopeless(space->pass + n);
        score_waiting(space->pass + n);
        inmo_top_sort(&query[n].top);
    }
    return status;
}

enum inmo_status inmo_quantised_top(const struct inmo_quantised *quantised, const float *query,
                                    const uint8_t *closed, struct inmo_top *top, int64_t *scored,
                                    struct inmo_error *error)
{
    struct inmo_scan_query one = {.vector = query, .top = *top};
    struct inmo_scan_space space = {0};
    enum inmo_status status = inmo_quantised_scan(quantised, closed, &one, 1, &space, error);
    top->count = status ? 0 : one.top.count;
    if (scored)
        *scored = one.scored;
    inmo_scan_space_free(&space);
    return status;
}

void inmo_scan_top(const float *rows, int64_t count, int dim, const float *query, const uint8_t *closed,
                   struct inmo_top *top)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    float score[TILE];
    int32_t hit[TILE];
    top->count = 0;
    for (int64_t begin = 0; begin < count; begin += TILE) {
        int32_t tile = count - begin < TILE ? (int32_t)(count - begin) : TILE, hits;
        kernels->dot_rows(tile, dim, query, rows + begin * dim, score);
        hits = kernels->above(tile, score, inmo_top_bound(top), hit);
        for (int32_t h = 0; h < hits; h++)
            if (!closed || !closed[begin + hit[h]])
                inmo_top_add(top, score[hit[h]], (int32_t)begin + hit[h]);
    }
    inmo_top_sort(top);
}
