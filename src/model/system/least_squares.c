/* least_squares.c - see least_squares.h. Cost of a node with n neighbours: n² d + n³/3 flops for n < d, else n d² +
 * d³/3. Rows are gathered in stretches of fixed length, so long histories need no more memory. BLAS runs
 * single-threaded; nodes are solved in parallel. */
#include "model/system/least_squares.h"

#include "base/lapack.h"
#include "base/memory.h"
#include "base/threads.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { STRETCH = 256 };

struct inmo_solver {
    int rows;       /* gathered at a time; at least dim */
    float *z;       // (rows, dim)
    float *matrix;  // (dim, dim)
    float *right;   // (dim)
    float *scale;   // (dim) D^-1/2
    float *root;    // (rows) w^1/2 of what is gathered
};

void inmo_least_squares_free(struct inmo_least_squares *squares)
{
    inmo_free(squares->work);
    inmo_free(squares->scratch);
    inmo_free(squares->rotation);
    inmo_free(squares->eigenvalue);
    *squares = (struct inmo_least_squares){0};
}

enum inmo_status inmo_least_squares_make(int dim, const struct inmo_ials_setting *setting,
                                         struct inmo_least_squares *out, struct inmo_error *error)
{
    struct inmo_least_squares made = {.setting = *setting, .dim = dim};
    size_t d = (size_t)dim;
    made.eigenvalue = inmo_alloc(d, sizeof(float));
    made.rotation = inmo_alloc(d * d, sizeof(float));
    made.scratch = inmo_alloc((size_t)STRETCH * d, sizeof(float));
    made.work = inmo_alloc(inmo_lapack_eigenvectors_size(dim), 1);
    if (!made.eigenvalue || !made.rotation || !made.scratch || !made.work) {
        inmo_least_squares_free(&made);
        return inmo_fail_memory(error, "least squares");
    }
    *out = made;
    return INMO_OK;
}

enum inmo_status inmo_least_squares_turn(struct inmo_least_squares *squares, float *row, int64_t count,
                                         struct inmo_error *error)
{
    int dim = squares->dim;
    enum inmo_status status;
    size_t d = (size_t)dim;
    float *q = squares->rotation;
    inmo_blas_hold();
    /* G = Y'Y = Q Λ Q' */
    memset(q, 0, d * d * sizeof *q);
    for (int64_t begin = 0; begin < count; begin += STRETCH)
        cblas_ssyrk(CblasRowMajor, CblasUpper, CblasTrans, dim,
                    (int)(count - begin < STRETCH ? count - begin : STRETCH), 1, row + (size_t)begin * d, dim, 1, q,
                    dim);
    status = inmo_lapack_eigenvectors(dim, q, squares->eigenvalue, squares->work);
    /* Y <- Y Q */
    for (int64_t begin = 0; begin < count && !status; begin += STRETCH) {
        int part = (int)(count - begin < STRETCH ? count - begin : STRETCH);
        memcpy(squares->scratch, row + (size_t)begin * d, (size_t)part * d * sizeof *row);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, part, dim, dim, 1, squares->scratch, dim, q, dim, 0,
                    row + (size_t)begin * d, dim);
    }
    inmo_blas_release();
    for (int k = 0; k < dim; k++)
        squares->eigenvalue[k] = squares->eigenvalue[k] > 0 ? squares->eigenvalue[k] : 0;
    squares->row = row;
    squares->count = count;
    return status ? inmo_fail(error, status, "the vectors have no eigenvectors: are they finite?") : INMO_OK;
}

void inmo_solver_free(struct inmo_solver *solver)
{
    if (!solver)
        return;
    inmo_free(solver->root);
    inmo_free(solver->scale);
    inmo_free(solver->right);
    inmo_free(solver->matrix);
    inmo_free(solver->z);
    inmo_free(solver);
}

struct inmo_solver *inmo_solver_new(int dim)
{
    struct inmo_solver *solver = inmo_alloc_zero(1, sizeof *solver);
    size_t d = (size_t)dim;
    if (!solver)
        return NULL;
    solver->rows = dim > STRETCH ? dim : STRETCH;
    solver->z = inmo_alloc((size_t)solver->rows * d, sizeof(float));
    solver->matrix = inmo_alloc(d * d, sizeof(float));
    solver->right = inmo_alloc(d, sizeof(float));
    solver->scale = inmo_alloc(d, sizeof(float));
    solver->root = inmo_alloc((size_t)solver->rows, sizeof(float));
    if (!solver->z || !solver->matrix || !solver->right || !solver->scale || !solver->root) {
        inmo_solver_free(solver);
        solver = NULL;
    }
    return solver;
}

/* Index of the n-th row, or -1. */
static int32_t row_at(const struct inmo_neighbours *rows, int64_t n)
{
    int32_t item = rows->node[n] - rows->first;
    return rows->row_of ? rows->row_of[item] : item;
}

static int64_t count_rows(const struct inmo_neighbours *rows)
{
    int64_t known = 0;
    if (!rows->row_of)
        return rows->count;
    for (int64_t n = 0; n < rows->count; n++)
        known += row_at(rows, n) >= 0;
    return known;
}

static double weigh_rows(const struct inmo_neighbours *rows)
{
    double sum = 0;
    if (!rows->weight)
        return (double)count_rows(rows);
    for (int64_t n = 0; n < rows->count; n++)
        sum += row_at(rows, n) >= 0 ? (double)rows->weight[n] : 0;
    return sum;
}

/* D^-1/2 for a node whose neighbours weigh so much. */
static void fill_scale(const struct inmo_least_squares *squares, double known, float *scale)
{
    const struct inmo_ials_setting *setting = &squares->setting;
    double l2 = setting->l2 * pow(known + setting->unobserved * (double)squares->count, setting->exponent);
    for (int k = 0; k < squares->dim; k++)
        scale[k] = (float)(1 / sqrt(setting->unobserved * squares->eigenvalue[k] + l2));
}

/* Gathers up to `most` rows from *at on, scaled, into z, and the roots of their weights; returns their number and
 * advances *at. */
static int gather(const struct inmo_least_squares *squares, const struct inmo_neighbours *rows,
                  struct inmo_solver *solver, int64_t *at, int most)
{
    int dim = squares->dim, taken = 0;
    const float *scale = solver->scale;
    for (; *at < rows->count && taken < most; ++*at) {
        int32_t row = row_at(rows, *at);
        const float *y = squares->row + (size_t)(row < 0 ? 0 : row) * (size_t)dim;
        float *to = solver->z + (size_t)taken * (size_t)dim, root;
        if (row < 0)
            continue;
        root = rows->weight ? sqrtf(rows->weight[*at]) : 1;
        for (int k = 0; k < dim; k++)
            to[k] = scale[k] * y[k];
        for (int k = 0; k < dim && rows->weight; k++)
            to[k] *= root;
        solver->root[taken++] = root;
    }
    return taken;
}

/* (I + Z Z') c = s, x = D^-1/2 Z' c; the minimum is s·c. */
static double solve_short(struct inmo_solver *solver, int dim, int n, float *x)
{
    float *matrix = solver->matrix, *c = solver->right;
    double sum = 0;
    cblas_ssyrk(CblasColMajor, CblasLower, CblasTrans, n, dim, 1, solver->z, dim, 0, matrix, n);
    for (int k = 0; k < n; k++) {
        matrix[k * n + k] += 1;
        c[k] = solver->root[k];
    }
    if (LAPACKE_sposv_work(LAPACK_COL_MAJOR, 'L', n, 1, matrix, n, c, n))
        return NAN;
    cblas_sgemv(CblasColMajor, CblasNoTrans, dim, n, 1, solver->z, dim, c, 1, 0, x, 1);
    for (int k = 0; k < n; k++)
        sum += (double)solver->root[k] * c[k];
    return sum;
}

/* (I + Z'Z) v = Z' s, x = D^-1/2 v; the minimum is Σ w - (Z's)·v. */
static double solve_long(const struct inmo_least_squares *squares, struct inmo_solver *solver,
                         const struct inmo_neighbours *rows, double known, float *x)
{
    int dim = squares->dim, taken;
    size_t d = (size_t)dim;
    float *matrix = solver->matrix, *right = solver->right;
    int64_t at = 0;
    memset(matrix, 0, d * d * sizeof *matrix);
    memset(right, 0, d * sizeof *right);
    for (int k = 0; k < dim; k++)
        matrix[(size_t)k * d + (size_t)k] = 1;
    while ((taken = gather(squares, rows, solver, &at, STRETCH)) > 0) {
        cblas_ssyrk(CblasColMajor, CblasLower, CblasNoTrans, dim, taken, 1, solver->z, dim, 1, matrix, dim);
        for (int n = 0; n < taken; n++)
            for (int k = 0; k < dim; k++)
                right[k] += solver->root[n] * solver->z[(size_t)n * d + (size_t)k];
    }
    memcpy(x, right, d * sizeof *x);
    if (LAPACKE_sposv_work(LAPACK_COL_MAJOR, 'L', dim, 1, matrix, dim, x, dim))
        return NAN;
    return known - cblas_sdot(dim, right, 1, x, 1);
}

double inmo_solve(const struct inmo_least_squares *squares, struct inmo_solver *solver,
                  const struct inmo_neighbours *of, float *x)
{
    int64_t known = count_rows(of), at = 0;
    double weight = weigh_rows(of);
    int dim = squares->dim;
    double least;
    if (known == 0) {
        memset(x, 0, (size_t)dim * sizeof *x);
        return 0;
    }
    fill_scale(squares, weight, solver->scale);
    if (known < dim) {
        gather(squares, of, solver, &at, (int)known);
        least = solve_short(solver, dim, (int)known, x);
    } else {
        least = solve_long(squares, solver, of, weight, x);
    }
    for (int k = 0; k < dim; k++)
        x[k] *= solver->scale[k];
    return least;
}

enum inmo_status inmo_solve_terms(const struct inmo_least_squares *squares, const struct inmo_neighbours *of,
                                  float *term, struct inmo_error *error)
{
    struct inmo_solver *solver = inmo_solver_new(squares->dim);
    int dim = squares->dim, taken, failed;
    size_t d = (size_t)dim;
    int64_t at = 0;
    if (!solver)
        return inmo_fail_memory(error, "least squares");
    inmo_blas_hold();
    fill_scale(squares, weigh_rows(of), solver->scale);
    memset(solver->matrix, 0, d * d * sizeof *solver->matrix);
    for (int k = 0; k < dim; k++)
        solver->matrix[(size_t)k * d + (size_t)k] = 1;
    while ((taken = gather(squares, of, solver, &at, STRETCH)) > 0)
        cblas_ssyrk(CblasColMajor, CblasLower, CblasNoTrans, dim, taken, 1, solver->z, dim, 1, solver->matrix, dim);
    failed = LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'L', dim, solver->matrix, dim) != 0;
    for (int64_t n = 0; n < of->count && !failed; n++) {
        int32_t row = row_at(of, n);
        float *to = term + (size_t)n * d;
        if (row < 0) {
            memset(to, 0, d * sizeof *to);
            continue;
        }
        for (int k = 0; k < dim; k++)
            to[k] = solver->scale[k] * squares->row[(size_t)row * d + (size_t)k];
        failed = LAPACKE_spotrs_work(LAPACK_COL_MAJOR, 'L', dim, 1, solver->matrix, dim, to, dim) != 0;
        for (int k = 0; k < dim; k++)
            to[k] *= of->weight ? of->weight[n] * solver->scale[k] : solver->scale[k];
    }
    inmo_blas_release();
    inmo_solver_free(solver);
    return failed ? inmo_fail(error, INMO_NUMERIC, "folding in failed: are the model's vectors finite?") : INMO_OK;
}
