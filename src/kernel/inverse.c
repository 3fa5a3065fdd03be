/* inverse.c - see inverse.h. LAPACK's spotrf and spotri would do, but the bytes they give depend on how OpenBLAS
 * divides the work among threads. So the three steps work on tiles of fixed size, each with one call of
 * single-threaded BLAS or LAPACK, and threads work on different tiles:
 *
 *     A = L L'          for each k:  L_kk = chol(A_kk);  L_ik = A_ik L_kk'^-1;   A_ij -= L_ik L_jk'    (i >= j > k)
 *     W = L^-1          for each i:  W_ii = L_ii^-1;     W_ij = -W_ii Σ_{j<=m<i} L_im W_mj             (j < i)
 *     A^-1 = W' W       for each i:  P_ij = Σ_{m>=i} W_mi' W_mj                                        (j <= i)
 *
 * each in place in the lower triangle; a row of tiles is copied where it is still read after it was overwritten.
 * n³/3 flops each. */
#include "kernel/inverse.h"

#include "base/lapack.h"
#include "base/memory.h"
#include "base/threads.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { TILE = 512 };

struct work {
    float *a;
    int64_t n;
    int32_t tiles;
    float *row;            // (TILE, n) a copy of a row of tiles
    float *corner;         // (TILE, TILE) for LAPACK
    struct inmo_stop stop; /* asked before every tile */
    double start, shown;
    int32_t done; /* finished rows of tiles; 3 passes in all */
};

static float *tile_at(const struct work *work, int32_t i, int32_t j)
{
    return work->a + (int64_t)i * TILE * work->n + (int64_t)j * TILE;
}

static int size_of(const struct work *work, int32_t i)
{
    int64_t left = work->n - (int64_t)i * TILE;
    return (int)(left < TILE ? left : TILE);
}

/* Reports progress after each row of tiles. Returns 1 if it should stop. */
static int show(struct work *work)
{
    double now = inmo_now();
    if (inmo_stop_asked(&work->stop))
        return 1;
    work->done++;
    if (now - work->shown < 0.2)
        return 0;
    struct inmo_progress progress = {"inverting", work->done, 3.0 * work->tiles, "rows", now - work->start, NAN,
                                     NAN,         NAN};
    work->shown = now;
    inmo_report_progress(work->stop.hooks, &progress);
    return 0;
}

/* Zeroes the upper triangle of a diagonal tile, so that products may use the whole tile. */
static void clear_upper(const struct work *work, int32_t i)
{
    int size = size_of(work, i);
    for (int r = 0; r < size; r++)
        memset(tile_at(work, i, i) + r * work->n + r + 1, 0, (size_t)(size - r - 1) * sizeof(float));
}

static enum inmo_status factorise(struct work *work, struct inmo_error *error)
{
    int n = (int)work->n;
    for (int32_t k = 0; k < work->tiles; k++) {
        float *corner = tile_at(work, k, k);
        int width = size_of(work, k);
        if (inmo_lapack_cholesky('L', width, corner, n, work->corner))
            return inmo_fail(error, INMO_NUMERIC,
                             "the matrix is not positive definite to the precision of a float; try a larger `l2`");
        clear_upper(work, k);
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
        for (int32_t i = k + 1; i < work->tiles; i++)
            cblas_strsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, size_of(work, i), width, 1,
                        corner, n, tile_at(work, i, k), n);
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
        for (int32_t i = work->tiles - 1; i > k; i--)
            for (int32_t j = k + 1; j <= i && !inmo_stop_asked(&work->stop); j++)
                cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, size_of(work, i), size_of(work, j), width, -1,
                            tile_at(work, i, k), n, tile_at(work, j, k), n, 1, tile_at(work, i, j), n);
        if (show(work))
            return inmo_fail(error, INMO_INTERRUPTED, "stopped on request while inverting");
    }
    return INMO_OK;
}

static enum inmo_status invert_factor(struct work *work, struct inmo_error *error)
{
    int n = (int)work->n;
    for (int32_t i = 0; i < work->tiles; i++) {
        float *corner = tile_at(work, i, i);
        int height = size_of(work, i);
        for (int r = 0; r < height; r++) /* L_i0 .. L_i,i-1 */
            memcpy(work->row + (int64_t)r * n, tile_at(work, i, 0) + (int64_t)r * n,
                   (size_t)i * TILE * sizeof(float));
        if (inmo_lapack_invert_triangle('L', height, corner, n, work->corner))
            return inmo_fail(error, INMO_NUMERIC, "a factor of the matrix is singular; try a larger `l2`");
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
        for (int32_t j = 0; j < i; j++) {
            for (int32_t m = j; m < i && !inmo_stop_asked(&work->stop); m++)
                cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, height, TILE, TILE, -1,
                            work->row + (int64_t)m * TILE, n, tile_at(work, m, j), n, m > j, tile_at(work, i, j),
                            n);
            cblas_strmm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, height, TILE, 1, corner,
                        n, tile_at(work, i, j), n);
        }
        if (show(work))
            return inmo_fail(error, INMO_INTERRUPTED, "stopped on request while inverting");
    }
    return INMO_OK;
}

static enum inmo_status multiply_factor(struct work *work, struct inmo_error *error)
{
    int n = (int)work->n;
    for (int32_t i = 0; i < work->tiles; i++) {
        int height = size_of(work, i);
        for (int r = 0; r < height; r++) /* W_i0 .. W_ii */
            memcpy(work->row + (int64_t)r * n, tile_at(work, i, 0) + (int64_t)r * n,
                   ((size_t)i * TILE + (size_t)height) * sizeof(float));
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
        for (int32_t j = 0; j <= i; j++) {
            int width = size_of(work, j);
            cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, height, width, height, 1,
                        work->row + (int64_t)i * TILE, n, work->row + (int64_t)j * TILE, n, 0, tile_at(work, i, j),
                        n);
            for (int32_t m = i + 1; m < work->tiles && !inmo_stop_asked(&work->stop); m++)
                cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, height, width, size_of(work, m), 1,
                            tile_at(work, m, i), n, tile_at(work, m, j), n, 1, tile_at(work, i, j), n);
        }
        if (show(work))
            return inmo_fail(error, INMO_INTERRUPTED, "stopped on request while inverting");
    }
    return INMO_OK;
}

/* Copies the lower triangle to the upper, tile by tile. */
static void mirror(struct work *work)
{
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
    for (int32_t i = 0; i < work->tiles; i++)
        for (int32_t j = 0; j <= i; j++) {
            const float *from = tile_at(work, i, j);
            float *to = tile_at(work, j, i);
            for (int r = 0; r < size_of(work, i); r++)
                for (int c = 0; c < size_of(work, j) && (j < i || c < r); c++)
                    to[c * work->n + r] = from[r * work->n + c];
        }
}

enum inmo_status inmo_invert(float *a, int64_t n, const struct inmo_hooks *hooks, struct inmo_error *error)
{
    struct work work = {
        .a = a, .n = n, .tiles = (int32_t)((n + TILE - 1) / TILE), .stop = {.hooks = hooks}, .start = inmo_now()};
    enum inmo_status status = INMO_OK;
    if (n > INT32_MAX / 2)
        return inmo_fail(error, INMO_INPUT, "a matrix of %lld rows is too large", (long long)n);
    work.row = inmo_alloc((size_t)TILE * (size_t)n, sizeof *work.row);
    work.corner = inmo_alloc((size_t)TILE * TILE, sizeof *work.corner);
    if (!work.row || !work.corner) {
        inmo_free(work.corner);
        inmo_free(work.row);
        return inmo_fail_memory(error, "the inverse");
    }
    inmo_blas_hold(); /* the tiles are the parallelism */
    status = factorise(&work, error);
    if (!status)
        status = invert_factor(&work, error);
    if (!status)
        status = multiply_factor(&work, error);
    if (!status)
        mirror(&work);
    inmo_blas_release();
    inmo_free(work.corner);
    inmo_free(work.row);
    return status;
}

int inmo_invert_reference(const float *a, int64_t n, double *inverse)
{
    double *left = inmo_alloc((size_t)(n * n), sizeof *left);
    int failed = !left;
    for (int64_t r = 0; r < n && !failed; r++)
        for (int64_t c = 0; c < n; c++) {
            left[r * n + c] = c <= r ? a[r * n + c] : a[c * n + r];
            inverse[r * n + c] = r == c;
        }
    for (int64_t k = 0; k < n && !failed; k++) {
        double pivot = left[k * n + k]; /* never zero in a positive definite matrix */
        failed = pivot == 0;
        for (int64_t c = 0; c < n && !failed; c++) {
            left[k * n + c] /= pivot;
            inverse[k * n + c] /= pivot;
        }
        for (int64_t r = 0; r < n && !failed; r++) {
            double factor = r == k ? 0 : left[r * n + k];
            for (int64_t c = 0; c < n && factor != 0; c++) {
                left[r * n + c] -= factor * left[k * n + c];
                inverse[r * n + c] -= factor * inverse[k * n + c];
            }
        }
    }
    inmo_free(left);
    return failed;
}
