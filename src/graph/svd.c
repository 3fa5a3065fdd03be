/* svd.c - randomised subspace iteration (Halko, Martinsson, Tropp 2011): a random block of rank + extra columns
 * is multiplied by Y and its transpose in turn and orthonormalised in between; the remaining small matrix is
 * decomposed exactly.
 *
 *     Q_i random;  repeat: Q_u = qr(Y Q_i), Q_i = qr(Y' Q_u);   Y Q_i = W S Z'  =>  U = W, V = Q_i Z
 *
 * Cost: 2 iterations + 1 products with Y, each 2 E (rank + extra) flops, and as many QRs of 2 n (rank +
 * extra)^2. Several ranks have some of the rows each. A product needs the rows of all, which come together a few
 * columns at a time, so that no rank ever has all of them. */
#include "graph/svd.h"

#include "base/lapack.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "graph/stretch.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum {
    EXTRA = 12,
    PIECE = 32, /* columns that come together at once */
};

struct work {
    float *gram;   // (INMO_STRETCHES, columns, columns)
    float *r;      // (columns, columns)
    float *turn;   // (columns, columns)
    float *piece;  // (users or items, PIECE) columns of all ranks' rows; NULL: there is one rank
    const struct inmo_hooks *hooks;
    struct inmo_progress progress;
    double start;
};

void inmo_svd_free(struct inmo_svd *svd)
{
    if (!svd)
        return;
    inmo_free(svd->v);
    inmo_free(svd->s);
    inmo_free(svd->u);
    inmo_free(svd);
}

/* Some columns of some rows. */
struct columns {
    int count, stride;
};

/* out[v] = Σ_{w in N_v} A_vw x[w], with D^-1/2 on both sides when normalised. x: all users or all items; out: this
 * rank's rows of the others. */
static void multiply(const struct inmo_graph *graph, int normalised, int of_items, const float *x,
                     struct columns from, float *out, int stride)
{
    int32_t first = of_items ? graph->users : 0, from_first = of_items ? 0 : graph->users;
    int32_t count = of_items ? graph->items : graph->users;
    int32_t begin = inmo_stretch_first(count, inmo_own_rank()),
            end = inmo_stretch_first(count, inmo_own_rank() + 1);
#pragma omp parallel for schedule(dynamic, 64) num_threads(inmo_threads())
    for (int32_t n = begin; n < end; n++) {
        float *sum = out + (size_t)(n - begin) * (size_t)stride;
        const int32_t *neighbour = inmo_graph_row(graph, first + n);
        int64_t degree = inmo_graph_degree(graph, first + n);
        memset(sum, 0, (size_t)from.count * sizeof *sum);
        for (int64_t e = 0; e < degree; e++) {
            const float *row = x + (size_t)(neighbour[e] - from_first) * (size_t)from.stride;
            float weight = normalised ? graph->inverse_root_degree[neighbour[e]] : 1;
            if (graph->weight)
                weight *= graph->weight[graph->offset[first + n] + e];
            for (int j = 0; j < from.count; j++)
                sum[j] += weight * row[j];
        }
        for (int j = 0; j < from.count && normalised; j++)
            sum[j] *= graph->inverse_root_degree[first + n];
    }
}

/* The same from this rank's rows of x. */
static void multiply_own(const struct inmo_graph *graph, int normalised, int of_items, const float *x, int columns,
                         float *out, float *piece)
{
    int32_t count = of_items ? graph->users : graph->items;
    int32_t begin = inmo_stretch_first(count, inmo_own_rank()),
            end = inmo_stretch_first(count, inmo_own_rank() + 1);
    if (inmo_ranks() == 1) {
        multiply(graph, normalised, of_items, x, (struct columns){columns, columns}, out, columns);
        return;
    }
    for (int first = 0; first < columns; first += PIECE) {
        int width = columns - first < PIECE ? columns - first : PIECE;
        size_t bytes = (size_t)width * sizeof *piece;
        for (int32_t n = begin; n < end; n++)
            memcpy(piece + (size_t)n * (size_t)width, x + (size_t)(n - begin) * (size_t)columns + first, bytes);
        inmo_stretch_gather(piece, count, bytes);
        multiply(graph, normalised, of_items, piece, (struct columns){width, width}, out + first, columns);
    }
}

/* All rows of a, of which this rank has some; NULL without memory. */
static float *assemble(int rows, int columns, const float *a)
{
    size_t bytes = (size_t)columns * sizeof *a;
    int begin = inmo_stretch_first(rows, inmo_own_rank()), end = inmo_stretch_first(rows, inmo_own_rank() + 1);
    float *whole = inmo_alloc((size_t)rows * (size_t)columns, sizeof *whole);
    if (!whole)
        return NULL;
    memcpy((char *)whole + (size_t)begin * bytes, a, (size_t)(end - begin) * bytes);
    inmo_stretch_gather(whole, rows, bytes);
    return whole;
}

/* Householder's QR of all rows, of which each rank keeps its own. */
static enum inmo_status orthonormalise_whole(int rows, int columns, float *a, struct work *work)
{
    size_t bytes = (size_t)columns * sizeof *a;
    int begin = inmo_stretch_first(rows, inmo_own_rank()), end = inmo_stretch_first(rows, inmo_own_rank() + 1);
    float *whole = inmo_ranks() > 1 ? assemble(rows, columns, a) : a;
    enum inmo_status status = whole ? inmo_lapack_qr(rows, columns, whole, work->gram) : INMO_MEMORY;
    if (whole && whole != a) {
        memcpy(a, (char *)whole + (size_t)begin * bytes, (size_t)(end - begin) * bytes);
        inmo_free(whole);
    }
    return status;
}

/* Makes the columns of a orthonormal, a = q r, of which this rank has some of the rows, with r from the Cholesky
 * decomposition of a'a. Two passes, because one leaves an error of the squared condition number. A nearly singular
 * block (more columns than the rank) uses Householder QR. Products cover fixed stretches of rows, added in order,
 * so the result is the same at any number of threads. */
static enum inmo_status orthonormalise(int rows, int columns, float *a, struct work *work)
{
    size_t width = (size_t)columns, size = width * width;
    int failed = 0, own = inmo_stretch_of(inmo_own_rank()), end = inmo_stretch_of(inmo_own_rank() + 1);
    int skipped = inmo_stretch_begin(rows, own); /* rows before this rank's */
    enum inmo_status status;
    for (size_t n = 0; n < size; n++)
        work->r[n] = n / width == n % width;
    for (int pass = 0; pass < 2 && !failed; pass++) {
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
        for (int k = own; k < end; k++) {
            int first = inmo_stretch_begin(rows, k), count = inmo_stretch_begin(rows, k + 1) - first;
            if (count > 0)
                cblas_ssyrk(CblasRowMajor, CblasUpper, CblasTrans, columns, count, 1,
                            a + (size_t)(first - skipped) * width, columns, 0, work->gram + (size_t)k * size,
                            columns);
            else
                memset(work->gram + (size_t)k * size, 0, size * sizeof(float));
        }
        inmo_stretch_gather(work->gram, INMO_STRETCHES, size * sizeof(float));
        for (int k = 1; k < INMO_STRETCHES; k++)
            cblas_saxpy((int)size, 1, work->gram + (size_t)k * size, 1, work->gram, 1);
        failed = inmo_lapack_cholesky('U', columns, work->gram, columns, work->turn) != INMO_OK;
        for (size_t n = 0; n < width && !failed; n++)
            failed = work->gram[n * width + n] < 1e-3f * work->gram[0];
        if (failed)
            break;
        cblas_strmm(CblasRowMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, columns, columns, 1,
                    work->gram, columns, work->r, columns);
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
        for (int k = own; k < end; k++) {
            int first = inmo_stretch_begin(rows, k), count = inmo_stretch_begin(rows, k + 1) - first;
            if (count > 0)
                cblas_strsm(CblasRowMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, count, columns, 1,
                            work->gram, columns, a + (size_t)(first - skipped) * width, columns);
        }
    }
    if (!failed)
        return INMO_OK;
    /* Whatever the passes left in a spans the same columns, and work->r holds what they took out. */
    status = orthonormalise_whole(rows, columns, a, work);
    if (!status)
        cblas_strmm(CblasRowMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, columns, columns, 1,
                    work->gram, columns, work->r, columns);
    return status;
}

/* One half of an iteration, in which somebody may ask for the end. */
static enum inmo_status iterate(const struct inmo_graph *graph, int normalised, int of_items, const float *from,
                                int columns, float *to, struct work *work)
{
    work->progress.seconds = inmo_now() - work->start;
    inmo_report_progress(work->hooks, &work->progress);
    work->progress.done++;
    if (inmo_is_interrupted(work->hooks))
        return INMO_INTERRUPTED;
    multiply_own(graph, normalised, of_items, from, columns, to, work->piece);
    if (inmo_is_interrupted(work->hooks))
        return INMO_INTERRUPTED;
    return orthonormalise(of_items ? graph->items : graph->users, columns, to, work);
}

/* out (own rows, rank) = a (own rows, columns) times the first rank columns of b, or of its transpose. */
static void turn(int rows, int columns, const float *a, const float *b, int transposed, int rank, float *out)
{
    int own = inmo_stretch_of(inmo_own_rank()), end = inmo_stretch_of(inmo_own_rank() + 1);
    int skipped = inmo_stretch_begin(rows, own);
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
    for (int k = own; k < end; k++) {
        size_t first = (size_t)(inmo_stretch_begin(rows, k) - skipped);
        int count = inmo_stretch_begin(rows, k + 1) - inmo_stretch_begin(rows, k);
        if (count > 0)
            cblas_sgemm(CblasRowMajor, CblasNoTrans, transposed ? CblasTrans : CblasNoTrans, count, rank, columns,
                        1, a + first * (size_t)columns, columns, b, columns, 0, out + first * (size_t)rank, rank);
    }
}

static void start_random(const struct inmo_graph *graph, uint64_t key, size_t width, float *qi)
{
    int32_t begin = inmo_stretch_first(graph->items, inmo_own_rank());
    int32_t end = inmo_stretch_first(graph->items, inmo_own_rank() + 1);
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t i = begin; i < end; i++) {
        size_t first = (size_t)(inmo_graph_origin(graph, graph->users + i) - graph->users) * width;
        for (size_t j = 0; j < width; j++)
            qi[(size_t)(i - begin) * width + j] = (float)inmo_random_normal(key, first + j);
    }
}

enum inmo_status inmo_svd_compute_own(const struct inmo_graph *graph, int rank, int normalised, int iterations,
                                      uint64_t seed, const struct inmo_hooks *hooks, struct inmo_svd **out,
                                      struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    int32_t least = graph->users < graph->items ? graph->users : graph->items;
    int32_t most = graph->users < graph->items ? graph->items : graph->users;
    int columns = rank + EXTRA < least ? rank + EXTRA : least, own = inmo_own_rank();
    size_t users = (size_t)(inmo_stretch_first(graph->users, own + 1) - inmo_stretch_first(graph->users, own));
    size_t items = (size_t)(inmo_stretch_first(graph->items, own + 1) - inmo_stretch_first(graph->items, own));
    size_t width = (size_t)columns;
    struct inmo_svd *svd = NULL;
    float *qu = NULL, *qi = NULL, *s = NULL, *z = NULL, *left = NULL;
    struct work work = {
        .hooks = hooks,
        .progress = {"decomposing", 0, 2 * iterations + 1, "products", 0, NAN, NAN, NAN},
        .start = inmo_now(),
    };

    rank = rank < columns ? rank : columns;
    svd = inmo_alloc_zero(1, sizeof *svd);
    qu = inmo_alloc(users * width, sizeof *qu);
    qi = inmo_alloc(items * width, sizeof *qi);
    work.gram = inmo_alloc(INMO_STRETCHES * width * width, sizeof(float));
    work.r = inmo_alloc(width * width, sizeof(float));
    work.turn = inmo_alloc(width * width, sizeof(float));
    work.piece = inmo_ranks() > 1 ? inmo_alloc((size_t)most * PIECE, sizeof(float)) : NULL;
    s = inmo_alloc(width, sizeof *s);
    z = inmo_alloc(width * width, sizeof *z);
    left = inmo_alloc(width * width, sizeof *left);
    if (svd) {
        svd->rank = rank;
        svd->u = inmo_alloc(users * (size_t)rank, sizeof(float));
        svd->s = inmo_alloc((size_t)rank, sizeof(float));
        svd->v = inmo_alloc(items * (size_t)rank, sizeof(float));
    }
    if (!svd || !qu || !qi || !work.gram || !work.r || !work.turn || (inmo_ranks() > 1 && !work.piece) || !s ||
        !z || !left || !svd->u || !svd->s || !svd->v) {
        status = inmo_fail_memory(error, "the singular value decomposition");
        goto done;
    }
    inmo_blas_hold(); /* fixes the order of additions */
    start_random(graph, inmo_key(seed, INMO_STREAM_SVD), width, qi);
    for (int k = 0; k < iterations && !status; k++) {
        status = iterate(graph, normalised, 0, qi, columns, qu, &work);
        if (!status)
            status = iterate(graph, normalised, 1, qu, columns, qi, &work);
    }
    /* Y Q_i = Q R (QR), R = left S Z'  =>  U = Q left, V = Q_i Z */
    if (!status)
        status = iterate(graph, normalised, 0, qi, columns, qu, &work);
    if (!status)
        status = inmo_lapack_svd(columns, work.r, s, left, z);
    if (!status) {
        memcpy(svd->s, s, (size_t)rank * sizeof *s);
        turn(graph->users, columns, qu, left, 0, rank, svd->u);
        turn(graph->items, columns, qi, z, 1, rank, svd->v);
        *out = svd;
        svd = NULL;
    } else if (status == INMO_MEMORY) {
        inmo_fail_memory(error, "the singular value decomposition");
    } else if (status == INMO_INTERRUPTED) {
        inmo_fail(error, status, "stopped on request during the singular value decomposition");
    } else {
        inmo_fail(error, status, "the singular value decomposition did not converge");
    }
    inmo_blas_release();
done:
    inmo_free(left);
    inmo_free(z);
    inmo_free(s);
    inmo_free(work.piece);
    inmo_free(work.turn);
    inmo_free(work.r);
    inmo_free(work.gram);
    inmo_free(qi);
    inmo_free(qu);
    inmo_svd_free(svd);
    return status;
}

enum inmo_status inmo_svd_compute(const struct inmo_graph *graph, int rank, int normalised, int iterations,
                                  uint64_t seed, const struct inmo_hooks *hooks, struct inmo_svd **out,
                                  struct inmo_error *error)
{
    enum inmo_status status = inmo_svd_compute_own(graph, rank, normalised, iterations, seed, hooks, out, error);
    if (status || inmo_ranks() == 1)
        return status;
    for (int of_items = 0; of_items < 2 && !status; of_items++) {
        float **rows = of_items ? &(*out)->v : &(*out)->u;
        float *whole = assemble(of_items ? graph->items : graph->users, (*out)->rank, *rows);
        if (!whole)
            status = inmo_fail_memory(error, "the singular value decomposition");
        else
            inmo_free(*rows);
        *rows = whole ? whole : *rows;
    }
    if (status) {
        inmo_svd_free(*out);
        *out = NULL;
    }
    return status;
}
