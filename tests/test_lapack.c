/* test_lapack.c - LAPACK on our own memory gives the bytes LAPACKE gives, and says when memory is short. */
#include "support.h"

#include "base/lapack.h"
#include "graph/svd.h"

#include <cblas.h>

enum { ROWS = 61, N = 23, STRIDE = 29 };

static float *random_matrix(uint64_t seed, size_t count)
{
    float *a = malloc(count * sizeof *a);
    assert_non_null(a);
    for (size_t n = 0; n < count; n++)
        a[n] = (float)inmo_random_normal(seed, n);
    return a;
}

static float *copy_of(const float *a, size_t count)
{
    float *copy = malloc(count * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, a, count * sizeof *a);
    return copy;
}

static void test_triangles(void **state)
{
    static const char triangle[] = "UL";
    float work[N * N];
    (void)state;
    for (int t = 0; t < 2; t++) {
        float *x = random_matrix(1, ROWS * N), *a = random_matrix(2, N * STRIDE), *b, first;
        cblas_ssyrk(CblasRowMajor, t ? CblasLower : CblasUpper, CblasTrans, N, ROWS, 1, x, N, 0, a, STRIDE);
        b = copy_of(a, N * STRIDE);
        first = a[0];
        assert_int_equal(LAPACKE_spotrf(LAPACK_ROW_MAJOR, triangle[t], N, b, STRIDE), 0);
        assert_int_equal(inmo_lapack_cholesky(triangle[t], N, a, STRIDE, work), INMO_OK);
        assert_memory_equal(a, b, N * STRIDE * sizeof *a); /* the other triangle is not touched either */
        assert_int_equal(LAPACKE_strtri(LAPACK_ROW_MAJOR, triangle[t], 'N', N, b, STRIDE), 0);
        assert_int_equal(inmo_lapack_invert_triangle(triangle[t], N, a, STRIDE, work), INMO_OK);
        assert_memory_equal(a, b, N * STRIDE * sizeof *a);
        a[0] = 0;
        assert_int_equal(inmo_lapack_invert_triangle(triangle[t], N, a, STRIDE, work), INMO_NUMERIC);
        a[0] = -first;
        assert_int_equal(inmo_lapack_cholesky(triangle[t], N, a, STRIDE, work), INMO_NUMERIC);
        a[0] = NAN;
        assert_int_equal(inmo_lapack_cholesky(triangle[t], N, a, STRIDE, work), INMO_NUMERIC);
        free(b);
        free(a);
        free(x);
    }
}

static void test_qr(void **state)
{
    float *a = random_matrix(3, ROWS * N), *b = copy_of(a, ROWS * N), r[N * N], tau[N];
    (void)state;
    assert_int_equal(LAPACKE_sgeqrf(LAPACK_ROW_MAJOR, ROWS, N, b, N, tau), 0);
    for (long n = 0; n < 3; n++) {
        inmo_alloc_fail_after(n);
        assert_int_equal(inmo_lapack_qr(ROWS, N, a, r), INMO_MEMORY);
        inmo_alloc_fail_after(-1);
    }
    assert_int_equal(inmo_lapack_qr(ROWS, N, a, r), INMO_OK);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            assert_true(r[i * N + j] == (j >= i ? b[i * N + j] : 0));
    assert_int_equal(LAPACKE_sorgqr(LAPACK_ROW_MAJOR, ROWS, N, N, b, N, tau), 0);
    assert_memory_equal(a, b, ROWS * N * sizeof *a);
    a[5] = NAN;
    assert_int_equal(inmo_lapack_qr(ROWS, N, a, r), INMO_NUMERIC);
    free(b);
    free(a);
}

static void test_svd_and_eigenvectors(void **state)
{
    float *a = random_matrix(4, N * N), *b = copy_of(a, N * N), s[2][N], u[2][N * N], z[2][N * N];
    void *memory = malloc(inmo_lapack_eigenvectors_size(N));
    (void)state;
    assert_non_null(memory);
    for (long n = 0; n < 3; n++) {
        inmo_alloc_fail_after(n);
        assert_int_equal(inmo_lapack_svd(N, a, s[0], u[0], z[0]), INMO_MEMORY);
        inmo_alloc_fail_after(-1);
    }
    assert_int_equal(inmo_lapack_svd(N, a, s[0], u[0], z[0]), INMO_OK);
    assert_int_equal(LAPACKE_sgesdd(LAPACK_ROW_MAJOR, 'A', N, N, b, N, s[1], u[1], N, z[1], N), 0);
    assert_memory_equal(s[0], s[1], sizeof s[0]);
    assert_memory_equal(u[0], u[1], sizeof u[0]);
    assert_memory_equal(z[0], z[1], sizeof z[0]);
    free(b);
    b = copy_of(a, N * N);
    assert_int_equal(inmo_lapack_eigenvectors(N, a, s[0], memory), INMO_OK);
    assert_int_equal(LAPACKE_ssyevd(LAPACK_ROW_MAJOR, 'V', 'U', N, b, N, s[1]), 0);
    assert_memory_equal(a, b, N * N * sizeof *a);
    assert_memory_equal(s[0], s[1], sizeof s[0]);
    a[1] = NAN;
    assert_int_equal(inmo_lapack_eigenvectors(N, a, s[0], memory), INMO_NUMERIC);
    assert_int_equal(inmo_lapack_svd(N, a, s[0], u[0], z[0]), INMO_NUMERIC);
    free(memory);
    free(b);
    free(a);
}

/* ---- The decomposition that is made of them ---------------------------------------------------------------- */

static int stop_at(void *context)
{
    return (*(int *)context)-- <= 0;
}

static void test_decomposition_stops_and_says_why(void **state)
{
    struct inmo_dataset *data = grouped_dataset(48, 80, 10, "70/10/20");
    const struct inmo_csr *lists[1] = {&data->train};
    struct inmo_graph *graph = NULL;
    struct inmo_svd *svd = NULL;
    struct inmo_error error = {0};
    enum inmo_status status = INMO_MEMORY;
    (void)state;
    must(inmo_graph_build(data->users.count, data->items.count, lists, 1, &graph, &error));
    for (int left = 0; left < 18;
         left++) { /* four iterations of two products and the last one, before and after each */
        int n = left;
        struct inmo_hooks hooks = {.context = &n, .interrupted = stop_at};
        must_fail(inmo_svd_compute(graph, 8, 1, 4, 1, &hooks, &svd, &error), INMO_INTERRUPTED,
                  "stopped on request");
        assert_null(svd);
    }
    /* All columns the matrix has: the way by Householder reflections, whose memory may be short, too. */
    for (long n = 0; status == INMO_MEMORY && n < 1000; n++) {
        inmo_alloc_fail_after(n);
        status = inmo_svd_compute(graph, 80, 1, 4, 1, NULL, &svd, &error);
        inmo_alloc_fail_after(-1);
        if (status)
            assert_int_equal(error.code, INMO_MEMORY);
    }
    assert_int_equal(status, INMO_OK);
    inmo_svd_free(svd);
    inmo_graph_free(graph);
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triangles),
        cmocka_unit_test(test_qr),
        cmocka_unit_test(test_svd_and_eigenvectors),
        cmocka_unit_test(test_decomposition_stops_and_says_why),
    };
    inmo_set_threads(1);
    openblas_set_num_threads(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
