/* test_conjugate.c - conjugate gradients beside the naive inverse: sizes around whole vectors, from any start, and
 * what is not positive definite is refused. That the bytes are those of every vector width follows from the
 * kernels' (test_kernel.c). */
#include "support.h"

#include "base/memory.h"
#include "base/random.h"
#include "kernel/conjugate.h"
#include "kernel/inverse.h"

#include <math.h>
#include <string.h>

/* A regression of random counts: a (n, stride) has no diagonal, which is given apart. */
static void make_system(int n, float *a, float *diagonal, float *b)
{
    enum { ROWS = 300 };
    int stride = inmo_conjugate_stride(n);
    memset(a, 0, (size_t)n * (size_t)stride * sizeof *a);
    for (int p = 0; p < n; p++)
        for (int q = 0; q <= p; q++) {
            float sum = 0;
            for (uint64_t u = 0; u < ROWS; u++)
                sum += (float)((inmo_random(u, (uint64_t)p) % 5 == 0) * (inmo_random(u, (uint64_t)q) % 5 == 0));
            if (p == q)
                diagonal[p] = 2 * sum + 10;
            else
                a[p * stride + q] = a[q * stride + p] = sum;
        }
    for (int p = 0; p < n; p++)
        b[p] = (float)(inmo_random(77, (uint64_t)p) % 20);
}

static void test_solution(void **state)
{
    static const int sizes[] = {1, 2, 15, 16, 17, 100, 200};
    (void)state;
    for (size_t s = 0; s < COUNT(sizes); s++) {
        int n = sizes[s], stride = inmo_conjugate_stride(n);
        float *a = inmo_alloc((size_t)(n * stride), sizeof *a), *whole = inmo_alloc((size_t)(n * n), sizeof *whole);
        float *row = inmo_alloc((size_t)(3 * n + 4 * stride), sizeof *row), *b = row + n, *x = b + n;
        double *inverse = inmo_alloc((size_t)(n * n), sizeof *inverse);
        make_system(n, a, row, b);
        for (int p = 0; p < n; p++)
            for (int q = 0; q < n; q++)
                whole[p * n + q] = p == q ? row[p] : a[p * stride + q];
        assert_int_equal(inmo_invert_reference(whole, n, inverse), 0);
        for (int start = 0; start < 2; start++) {
            double largest = 0, furthest = 0;
            int products;
            for (int p = 0; p < n; p++)
                x[p] = start ? (float)(p % 3) : 0;
            products = inmo_conjugate_solve(n, a, row, b, x, x + n);
            assert_true(products > 0 && products <= 30);
            for (int p = 0; p < n; p++) {
                double expected = 0;
                for (int q = 0; q < n; q++)
                    expected += inverse[p * n + q] * b[q];
                largest = fmax(largest, fabs(expected));
                furthest = fmax(furthest, fabs(expected - x[p]));
            }
            /* the residual, times the root of the condition number */
            assert_true(furthest <= 1e-4 * largest);
            /* the solution is found again at once */
            assert_true(inmo_conjugate_solve(n, a, row, b, x, x + n) <= 2);
        }
        inmo_free(inverse);
        inmo_free(row);
        inmo_free(whole);
        inmo_free(a);
    }
}

static void test_edges(void **state)
{
    float a[2 * 16] = {[1] = 5, [16] = 5}, diagonal[2] = {1, 1}, b[2] = {1, -1}, x[2] = {0}, work[4 * 16];
    (void)state;
    assert_int_equal(inmo_conjugate_solve(2, a, diagonal, b, x, work), -1); /* eigenvalues 6 and -4 */
    b[0] = b[1] = x[0] = x[1] = 0;
    assert_true(inmo_conjugate_solve(2, a, diagonal, b, x, work) >= 0);
    assert_true(x[0] == 0 && x[1] == 0);
    b[0] = NAN;
    assert_int_equal(inmo_conjugate_solve(2, a, diagonal, b, x, work), -1);
    assert_true(inmo_conjugate_solve(0, a, diagonal, b, x, work) >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solution),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
