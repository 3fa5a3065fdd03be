/* lapack.c - see lapack.h. */
#include "base/lapack.h"

#include "base/memory.h"

#include <lapacke.h>
#include <math.h>

/* to (columns, rows) = from'; from is (rows, columns) with rows so far apart. */
static void turn(int rows, int columns, const float *from, int from_stride, float *to, int to_stride)
{
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            to[(size_t)c * (size_t)to_stride + (size_t)r] = from[(size_t)r * (size_t)from_stride + (size_t)c];
}

/* The same for one triangle; upper says which of from. 1 when a number of it is none. */
static int turn_triangle(int upper, int n, const float *from, int from_stride, float *to, int to_stride)
{
    int no_number = 0;
    for (int r = 0; r < n; r++)
        for (int c = upper ? r : 0; c < (upper ? n : r + 1); c++) {
            float value = from[(size_t)r * (size_t)from_stride + (size_t)c];
            no_number |= isnan(value);
            to[(size_t)c * (size_t)to_stride + (size_t)r] = value;
        }
    return no_number;
}

static int has_no_number(size_t count, const float *value)
{
    int found = 0;
    for (size_t n = 0; n < count; n++)
        found |= isnan(value[n]);
    return found;
}

static enum inmo_status status_of(lapack_int info)
{
    return info == 0 ? INMO_OK : INMO_NUMERIC;
}

enum inmo_status inmo_lapack_cholesky(char triangle, int n, float *a, int stride, float *work)
{
    int upper = triangle == 'U';
    lapack_int info = turn_triangle(upper, n, a, stride, work, n);
    if (!info)
        info = LAPACKE_spotrf_work(LAPACK_COL_MAJOR, triangle, n, work, n);
    if (!info)
        turn_triangle(!upper, n, work, n, a, stride); /* column by column, so the other way round */
    return status_of(info);
}

enum inmo_status inmo_lapack_solve(int n, float *a, float *b)
{
    /* a lower triangle by rows is an upper one by columns */
    lapack_int info = LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'U', n, a, n);
    if (!info)
        info = LAPACKE_spotrs_work(LAPACK_COL_MAJOR, 'U', n, 1, a, n, b, n);
    return status_of(info);
}

enum inmo_status inmo_lapack_invert_triangle(char triangle, int n, float *a, int stride, float *work)
{
    int upper = triangle == 'U';
    lapack_int info = turn_triangle(upper, n, a, stride, work, n);
    if (!info)
        info = LAPACKE_strtri_work(LAPACK_COL_MAJOR, triangle, 'N', n, work, n);
    if (!info)
        turn_triangle(!upper, n, work, n, a, stride);
    return status_of(info);
}

enum inmo_status inmo_lapack_qr(int rows, int columns, float *a, float *r)
{
    size_t width = (size_t)columns, size = (size_t)rows * width;
    float *turned = inmo_alloc(size, sizeof *turned), *tau = inmo_alloc(width, sizeof *tau), *work = NULL;
    float factor_size = 0, product_size = 0;
    lapack_int info = 0, most;
    enum inmo_status status = INMO_OK;
    if (!turned || !tau) {
        status = INMO_MEMORY;
        goto done;
    }
    if (has_no_number(size, a)) {
        status = INMO_NUMERIC;
        goto done;
    }
    turn(rows, columns, a, columns, turned, rows);
    LAPACKE_sgeqrf_work(LAPACK_COL_MAJOR, rows, columns, turned, rows, tau, &factor_size, -1);
    LAPACKE_sorgqr_work(LAPACK_COL_MAJOR, rows, columns, columns, turned, rows, tau, &product_size, -1);
    most = (lapack_int)(factor_size > product_size ? factor_size : product_size);
    work = inmo_alloc((size_t)most, sizeof *work);
    if (!work) {
        status = INMO_MEMORY;
        goto done;
    }
    info = LAPACKE_sgeqrf_work(LAPACK_COL_MAJOR, rows, columns, turned, rows, tau, work, (lapack_int)factor_size);
    for (size_t n = 0; n < width * width; n++)
        r[n] = n % width >= n / width ? turned[n % width * (size_t)rows + n / width] : 0;
    if (!info)
        info = LAPACKE_sorgqr_work(LAPACK_COL_MAJOR, rows, columns, columns, turned, rows, tau, work,
                                   (lapack_int)product_size);
    turn(columns, rows, turned, rows, a, columns);
    status = status_of(info);
done:
    inmo_free(work);
    inmo_free(tau);
    inmo_free(turned);
    return status;
}

enum inmo_status inmo_lapack_svd(int n, float *a, float *s, float *left, float *right)
{
    size_t width = (size_t)n, size = width * width;
    float *turned = inmo_alloc(3 * size, sizeof *turned), *work = NULL, work_size = 0;
    lapack_int *integers = inmo_alloc(8 * width, sizeof *integers), info = 0;
    enum inmo_status status = turned && integers ? INMO_OK : INMO_MEMORY;
    if (!status && has_no_number(size, a))
        status = INMO_NUMERIC;
    if (!status) {
        LAPACKE_sgesdd_work(LAPACK_COL_MAJOR, 'A', n, n, turned, n, s, turned, n, turned, n, &work_size, -1,
                            integers);
        work = inmo_alloc((size_t)work_size, sizeof *work);
        status = work ? INMO_OK : INMO_MEMORY;
    }
    if (!status) {
        turn(n, n, a, n, turned, n);
        info = LAPACKE_sgesdd_work(LAPACK_COL_MAJOR, 'A', n, n, turned, n, s, turned + size, n, turned + 2 * size,
                                   n, work, (lapack_int)work_size, integers);
        turn(n, n, turned + size, n, left, n);
        turn(n, n, turned + 2 * size, n, right, n);
        status = status_of(info);
    }
    inmo_free(work);
    inmo_free(integers);
    inmo_free(turned);
    return status;
}

/* What LAPACK asks for besides the copy of the matrix. */
static void eigenvectors_work(int n, lapack_int *floats, lapack_int *integers)
{
    float nothing = 0, count = 0;
    LAPACKE_ssyevd_work(LAPACK_COL_MAJOR, 'V', 'U', n, &nothing, n, &nothing, &count, -1, integers, -1);
    *floats = (lapack_int)count;
}

size_t inmo_lapack_eigenvectors_size(int n)
{
    lapack_int floats = 0, integers = 0;
    eigenvectors_work(n, &floats, &integers);
    return ((size_t)n * (size_t)n + (size_t)floats) * sizeof(float) + (size_t)integers * sizeof(lapack_int);
}

enum inmo_status inmo_lapack_eigenvectors(int n, float *a, float *value, void *memory)
{
    lapack_int floats = 0, integers = 0;
    float *turned = memory, *work = turned + (size_t)n * (size_t)n;
    enum inmo_status status = turn_triangle(1, n, a, n, turned, n) ? INMO_NUMERIC : INMO_OK;
    eigenvectors_work(n, &floats, &integers);
    if (!status)
        status = status_of(LAPACKE_ssyevd_work(LAPACK_COL_MAJOR, 'V', 'U', n, turned, n, value, work, floats,
                                               (lapack_int *)(work + floats), integers));
    if (!status)
        turn(n, n, turned, n, a, n);
    return status;
}
