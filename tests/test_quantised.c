/* test_quantised.c - the k best by a quantised first pass are the k best, bit for bit: against scoring every row in float,
 * for rows of any scale, with ties, closed rows, and hardly any rows at all. */
#include "support.h"

#include "kernel/kernel.h"
#include "kernel/quantised.h"

enum { MOST_K = 64 };

static float number(uint64_t n)
{
    return (float)inmo_random_normal(inmo_key(5, 55), n);
}

struct found {
    float score[MOST_K + 1];
    int32_t item[MOST_K + 1];
    struct inmo_top top;
};

static void start(struct found *found, int32_t k)
{
    found->top = (struct inmo_top){k, 0, found->score, found->item};
}

static void scan(const float *rows, int64_t count, int dim, const float *query, const uint8_t *closed,
                 struct found *found)
{
    for (int64_t n = 0; n < count; n++)
        if (!closed || !closed[n])
            inmo_top_add(&found->top, inmo_kernels()->dot(dim, query, rows + n * dim), (int32_t)n);
    inmo_top_sort(&found->top);
}

static void check(int64_t count, int dim, int32_t k, int whole_numbers, int close_some)
{
    float *rows = inmo_alloc((size_t)count * (size_t)dim, sizeof *rows), *query = inmo_alloc((size_t)dim, sizeof *query);
    uint8_t *closed = inmo_alloc((size_t)count, 1);
    struct inmo_quantised *quantised = NULL;
    struct inmo_error error;
    struct found exact, fast;
    int64_t scored = 0;
    for (int64_t n = 0; n < count; n++) {
        float size = n % 7 == 3 ? 0 : powf(10, (float)(n % 5) - 2);
        closed[n] = (uint8_t)(close_some && n % 3 == 0);
        for (int j = 0; j < dim; j++) {
            float x = number((uint64_t)(n * dim + j));
            rows[n * dim + j] = whole_numbers ? roundf(x) : size * x;
        }
    }
    for (int j = 0; j < dim; j++)
        query[j] = whole_numbers ? roundf(number((uint64_t)j + 1000000007)) : number((uint64_t)j + 1000000007);
    must(inmo_quantised_make(rows, count, dim, &quantised, &error));
    start(&exact, k);
    start(&fast, k);
    scan(rows, count, dim, query, close_some ? closed : NULL, &exact);
    must(inmo_quantised_top(quantised, query, close_some ? closed : NULL, &fast.top, &scored, &error));
    assert_int_equal(fast.top.count, exact.top.count);
    for (int32_t n = 0; n < exact.top.count; n++) {
        assert_int_equal(fast.item[n], exact.item[n]);
        assert_memory_equal(&fast.score[n], &exact.score[n], sizeof(float));
    }
    if (count >= 5000 && !whole_numbers)
        assert_true(scored < count / 4); /* else the first pass is for nothing */
    inmo_quantised_free(quantised);
    inmo_free(closed);
    inmo_free(query);
    inmo_free(rows);
}

static void test_same_as_a_scan(void **state)
{
    static const int dims[] = {1, 3, 5, 32, 64, 100};
    static const int64_t counts[] = {1, 15, 16, 17, 500, 5000};
    (void)state;
    for (size_t d = 0; d < COUNT(dims); d++)
        for (size_t c = 0; c < COUNT(counts); c++)
            for (int options = 0; options < 4; options++)
                for (int32_t k = 1; k <= MOST_K; k *= 4)
                    check(counts[c], dims[d], k < counts[c] ? k : (int32_t)counts[c], options & 1, options & 2);
}

/* A query of zeros: all scores are equal, and the smallest numbers win. */
static void test_zero_query(void **state)
{
    float rows[40 * 4], query[4] = {0};
    struct inmo_quantised *quantised = NULL;
    struct inmo_error error;
    struct found found;
    (void)state;
    for (int n = 0; n < 160; n++)
        rows[n] = number((uint64_t)n);
    must(inmo_quantised_make(rows, 40, 4, &quantised, &error));
    start(&found, 5);
    must(inmo_quantised_top(quantised, query, NULL, &found.top, NULL, &error));
    assert_int_equal(found.top.count, 5);
    for (int32_t n = 0; n < 5; n++)
        assert_int_equal(found.item[n], n);
    inmo_quantised_free(quantised);
}

static void test_widths_agree(void **state)
{
    enum { BLOCKS = 9, GROUPS = 25 };
    static uint8_t query[4 * GROUPS];
    static int8_t code[BLOCKS * GROUPS * 64];
    int32_t found[BLOCKS * 16];
    (void)state;
    for (size_t n = 0; n < sizeof query; n++)
        query[n] = n % 5 ? 127 : 1;
    for (size_t n = 0; n < sizeof code; n++)
        code[n] = (int8_t)(n % 3 ? 127 : -127); /* the largest sums there are */
    for (int v = 0; inmo_kernels_at(v); v++) {
        inmo_kernels_at(v)->quantised(BLOCKS, GROUPS, query, code, found);
        for (int row = 0; row < BLOCKS * 16; row++) {
            int32_t wanted = 0;
            for (int j = 0; j < 4 * GROUPS; j++)
                wanted += query[j] * code[(row / 16 * GROUPS + j / 4) * 64 + row % 16 * 4 + j % 4];
            assert_int_equal(found[row], wanted);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_a_scan),
        cmocka_unit_test(test_zero_query),
        cmocka_unit_test(test_widths_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
