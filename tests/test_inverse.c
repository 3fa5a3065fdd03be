/* test_inverse.c - the inverse by tiles beside its naive twin: across tile edges, the same bytes at any number
 * of threads, and what has no inverse is refused. */
#include "support.h"

#include "base/memory.h"
#include "base/random.h"
#include "kernel/inverse.h"

#include <math.h>
#include <string.h>

static void test_inverse(void **state)
{
    static const int sizes[] = {1, 2, 37, 512, 513, 1100}; /* tiles are of 512 */
    struct inmo_error error = {0};
    (void)state;
    for (size_t s = 0; s < COUNT(sizes); s++) {
        int n = sizes[s];
        size_t size = (size_t)n * (size_t)n;
        float *a = inmo_alloc(size, sizeof *a), *found[2];
        double *expected = inmo_alloc(size, sizeof *expected), furthest = 0;
        for (int r = 0; r < n; r++)
            for (int c = 0; c <= r; c++)
                a[r * n + c] = a[c * n + r] =
                    (float)(inmo_random_normal(inmo_key(3, 3), (uint64_t)(r * n + c)) + (r == c ? 3 * sqrt(n) : 0));
        assert_int_equal(inmo_invert_reference(a, n, expected), 0);
        for (int t = 0; t < 2; t++) {
            found[t] = inmo_alloc(size, sizeof *a);
            memcpy(found[t], a, size * sizeof *a);
            inmo_set_threads(t + 1);
            must(inmo_invert(found[t], n, NULL, &error));
        }
        inmo_set_threads(1);
        assert_memory_equal(found[0], found[1], size * sizeof *a);
        for (size_t k = 0; k < size; k++)
            furthest = fmax(furthest, fabs(found[0][k] - expected[k]));
        assert_true(furthest < 2e-6);
        a[0] = -1;
        must_fail(inmo_invert(a, n, NULL, &error), INMO_NUMERIC, "positive definite");
        inmo_free(found[1]);
        inmo_free(found[0]);
        inmo_free(expected);
        inmo_free(a);
    }
}

static int stop_at(void *context)
{
    return (*(int *)context)-- <= 0;
}

/* It is asked before every tile, not only every now and then. */
static void test_stops_at_any_tile(void **state)
{
    enum { LARGE = 1100, ASKED_AT_LEAST = 10 };
    float *a = malloc((size_t)LARGE * LARGE * sizeof *a);
    struct inmo_error error = {0};
    (void)state;
    assert_non_null(a);
    for (int left = 0; left < ASKED_AT_LEAST; left++) {
        int n = left;
        struct inmo_hooks hooks = {.context = &n, .interrupted = stop_at};
        for (int r = 0; r < LARGE * LARGE; r++)
            a[r] = r / LARGE == r % LARGE;
        must_fail(inmo_invert(a, LARGE, &hooks, &error), INMO_INTERRUPTED, "stopped on request");
    }
    free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inverse),
        cmocka_unit_test(test_stops_at_any_tile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
