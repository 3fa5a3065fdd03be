/* quantised.c - see quantised.h. One pass over the bytes, a tile at a time, which finds the upper bounds of the
 * tile's rows (in the core's cache) and passes on those that may still be among the k best; what the k-th best
 * is at least is known better and better as the pass goes on. */
#include "score/quantised.h"

#include "base/memory.h"
#include "base/threads.h"

#include <math.h>
#include <string.h>

enum { BLOCK = INMO_BYTES_BLOCK, GROUP = INMO_BYTES_GROUP, ROW_MOST = 127, TILE = 1024, WAITING = 1024 };

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
        most = fmaxf(most, fabsf(x[j]));
    return most;
}

static void store_row(struct inmo_quantised *quantised, int64_t n)
{
    /* Scores in float carry rounding of their own, far below this share of the lengths' product. */
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

/* The query in bytes and what the bounds need of it. */
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

/* A pass under way. */
struct pass {
    const struct inmo_quantised *quantised;
    const float *query;
    struct inmo_bytes_query bytes;
    struct inmo_top low;  /* the k largest lower bounds */
    struct inmo_top *top; /* the k best of the rows scored in float so far */
    int32_t waiting;      /* rows not scored yet, ascending, and their upper bounds */
    int32_t row[WAITING];
    float high[WAITING];
    int64_t scored;
};

/* At least k rows have this score or more. */
static float bound(const struct pass *pass)
{
    return fmaxf(inmo_top_bound(&pass->low), inmo_top_bound(pass->top));
}

static void drop_hopeless(struct pass *pass)
{
    float least = bound(pass);
    int32_t kept = 0;
    for (int32_t n = 0; n < pass->waiting; n++) {
        pass->row[kept] = pass->row[n];
        pass->high[kept] = pass->high[n];
        kept += pass->high[n] >= least;
    }
    pass->waiting = kept;
}

static void score_waiting(struct pass *pass)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int dim = pass->quantised->dim;
    for (int32_t n = 0; n < pass->waiting; n++)
        inmo_top_add(pass->top,
                     kernels->dot(dim, pass->query, pass->quantised->exact + (int64_t)pass->row[n] * dim),
                     pass->row[n]);
    pass->scored += pass->waiting;
    pass->waiting = 0;
}

/* Row n, whose upper bound is not below the bound. */
static void consider(struct pass *pass, int32_t n, float high)
{
    const struct inmo_bytes *bytes = &pass->quantised->bytes;
    float margin = pass->bytes.length * bytes->left_out[n] + pass->bytes.left_out * bytes->length[n];
    inmo_top_add(&pass->low, high - 2 * margin, n);
    if (pass->waiting == WAITING) {
        drop_hopeless(pass);
        if (pass->waiting > WAITING / 2) /* many that hardly differ: scoring tells them apart */
            score_waiting(pass);
    }
    pass->row[pass->waiting] = n;
    pass->high[pass->waiting++] = high;
}

enum inmo_status inmo_quantised_top(const struct inmo_quantised *quantised, const float *query,
                                    const uint8_t *closed, struct inmo_top *top, int64_t *scored,
                                    struct inmo_error *error)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    size_t k = (size_t)top->k;
    int64_t blocks = block_count(quantised);
    int8_t *code = inmo_alloc((size_t)quantised->bytes.groups * GROUP, 1);
    float *low = inmo_alloc(k, sizeof *low), high[TILE];
    int32_t *low_row = inmo_alloc(k, sizeof *low_row), hit[TILE];
    enum inmo_status status = INMO_OK;
    struct pass pass;
    if (!code || !low || !low_row) {
        status = inmo_fail_memory(error, "the recommendations");
        goto done;
    }
    pass.quantised = quantised;
    pass.query = query;
    pass.bytes = store_query(quantised, query, code);
    pass.low = (struct inmo_top){top->k, 0, low, low_row};
    pass.top = top;
    pass.waiting = 0;
    pass.scored = 0;
    top->count = 0;
    for (int64_t first = 0; first < blocks && top->k > 0; first += TILE / BLOCK) {
        int64_t begin = first * BLOCK, some = blocks - first < TILE / BLOCK ? blocks - first : TILE / BLOCK;
        int32_t rows = quantised->rows - begin < TILE ? (int32_t)(quantised->rows - begin) : TILE, hits;
        kernels->upper_bounds(&quantised->bytes, &pass.bytes, first, some, high);
        /* "above" is strict, so the bound steps down by the least there is */
        hits = kernels->above(rows, high, nextafterf(bound(&pass), -INFINITY), hit);
        for (int32_t h = 0; h < hits; h++)
            if ((!closed || !closed[begin + hit[h]]) && high[hit[h]] >= bound(&pass))
                consider(&pass, (int32_t)begin + hit[h], high[hit[h]]);
    }
    drop_hopeless(&pass);
    score_waiting(&pass);
    inmo_top_sort(top);
    if (scored)
        *scored = pass.scored;
done:
    inmo_free(low_row);
    inmo_free(low);
    inmo_free(code);
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
