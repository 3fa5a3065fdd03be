/* test_quantised.c - the k best by a quantised first pass are the k best, bit for bit: against scoring every row
 * in float, for rows of any scale, with ties, closed rows, and hardly any rows at all. */
#include "support.h"

#include "kernel/kernel.h"
#include "score/quantised.h"

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
    float *rows = inmo_alloc((size_t)count * (size_t)dim, sizeof *rows),
          *query = inmo_alloc((size_t)dim, sizeof *query);
    uint8_t *closed = inmo_alloc((size_t)count, 1);
    struct inmo_quantised *quantised = NULL;
    struct inmo_error error;
    struct found exact, fast, plain;
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
    start(&plain, k);
    inmo_scan_top(rows, count, dim, query, close_some ? closed : NULL, &plain.top);
    scan(rows, count, dim, query, close_some ? closed : NULL, &exact);
    must(inmo_quantised_top(quantised, query, close_some ? closed : NULL, &fast.top, &scored, &error));
    assert_int_equal(fast.top.count, exact.top.count);
    assert_int_equal(plain.top.count, exact.top.count);
    assert_memory_equal(plain.item, exact.item, (size_t)exact.top.count * sizeof *plain.item);
    assert_memory_equal(plain.score, exact.score, (size_t)exact.top.count * sizeof *plain.score);
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

/* All rows alike: no bound tells them apart, every one must be scored, and the smallest numbers win. */
static void test_equal_rows(void **state)
{
    enum { ROWS = 5000, DIM = 8 };
    float *rows = inmo_alloc(ROWS * DIM, sizeof *rows), query[DIM];
    struct inmo_quantised *quantised = NULL;
    struct inmo_error error;
    struct found found;
    int64_t scored = 0;
    (void)state;
    for (int j = 0; j < DIM; j++)
        query[j] = number((uint64_t)j);
    for (int n = 0; n < ROWS * DIM; n++)
        rows[n] = number((uint64_t)(n % DIM) + 100);
    must(inmo_quantised_make(rows, ROWS, DIM, &quantised, &error));
    start(&found, 5);
    must(inmo_quantised_top(quantised, query, NULL, &found.top, &scored, &error));
    assert_int_equal(scored, ROWS);
    assert_int_equal(found.top.count, 5);
    for (int32_t n = 0; n < 5; n++)
        assert_int_equal(found.item[n], n);
    inmo_quantised_free(quantised);
    inmo_free(rows);
}

/* The best row is the last, where the list of waiting rows has overflowed many times. */
static void test_rising_rows(void **state)
{
    enum { ROWS = 20000, DIM = 4, K = 7 };
    float *rows = inmo_alloc(ROWS * DIM, sizeof *rows), query[DIM] = {1, 0.5f, 0.25f, 2};
    struct inmo_quantised *quantised = NULL;
    struct inmo_error error;
    struct found found;
    (void)state;
    for (int n = 0; n < ROWS; n++)
        for (int j = 0; j < DIM; j++)
            rows[n * DIM + j] = 1 + 1e-6f * (float)n;
    must(inmo_quantised_make(rows, ROWS, DIM, &quantised, &error));
    start(&found, K);
    must(inmo_quantised_top(quantised, query, NULL, &found.top, NULL, &error));
    for (int32_t n = 0; n < K; n++)
        assert_int_equal(found.item[n], ROWS - 1 - n);
    inmo_quantised_free(quantised);
    inmo_free(rows);
}

/* The integer sums are exact at every width, also where they are the largest there are; the floats agree bit for
 * bit. */
static void test_widths_agree(void **state)
{
    enum { BLOCKS = 9, GROUPS = 25 };
    static int8_t query_code[4 * GROUPS];
    static uint8_t code[BLOCKS * GROUPS * 64];
    static float one[BLOCKS * 16], zero[BLOCKS * 16];
    struct inmo_bytes bytes = {GROUPS, code, one, zero, zero};
    struct inmo_bytes_query query = {query_code, 1, 0, 0};
    (void)state;
    for (int n = 0; n < BLOCKS * 16; n++)
        one[n] = 1;
    for (int mixed = 0; mixed < 2; mixed++) {
        for (size_t n = 0; n < sizeof query_code; n++)
            query_code[n] = (int8_t)(mixed ? (int)(n * 37 % 129) - 64 : n % 5 ? 64 : -64);
        for (size_t n = 0; n < sizeof code; n++)
            code[n] = (uint8_t)(mixed ? 1 + n * 91 % 255 : n % 3 ? 255 : 1);
        for (int v = 0; inmo_kernels_at(v); v++) {
            float found[BLOCKS * 16];
            inmo_kernels_at(v)->upper_bounds(&bytes, &query, 2, BLOCKS - 2, found + 32);
            for (int row = 32; row < BLOCKS * 16; row++) {
                int32_t wanted = 0;
                for (int j = 0; j < 4 * GROUPS; j++)
                    wanted += query_code[j] * (code[(row / 16 * GROUPS + j / 4) * 64 + row % 16 * 4 + j % 4] - 128);
                assert_true(found[row] == (float)wanted);
            }
        }
    }
}

/* high is t s (b·c) + length left_out + left_out length, in this order. */
static void test_bounds_have_all_terms(void **state)
{
    uint8_t code[64];
    int8_t query_code[4] = {3, 0, 0, 0};
    float scale[16], left_out[16], length[16], high[16];
    struct inmo_bytes bytes = {1, code, scale, left_out, length};
    struct inmo_bytes_query query = {query_code, 0.5f, 0.25f, 0.125f};
    (void)state;
    for (int r = 0; r < 16; r++) {
        for (int j = 0; j < 4; j++)
            code[4 * r + j] = (uint8_t)(128 + r);
        scale[r] = 1 + (float)r;
        left_out[r] = 100 + (float)r;
        length[r] = 1000 + (float)r;
    }
    for (int v = 0; inmo_kernels_at(v); v++) {
        inmo_kernels_at(v)->upper_bounds(&bytes, &query, 0, 1, high);
        for (int r = 0; r < 16; r++)
            assert_true(high[r] == (float)(3 * r) * (0.5f * scale[r]) + (0.25f * left_out[r] + 0.125f * length[r]));
    }
}

/* Any number of queries at once: each has the bounds of the naive twin and of the kernel for one, bit for bit. */
static void test_several_queries(void **state)
{
    enum { BLOCKS = 5, FIRST = 2, MOST = 21, SIZE = (BLOCKS - FIRST) * 16 };
    static const int groups[] = {1, 16, 25};
    static int8_t query_code[MOST][4 * 25];
    static uint8_t code[BLOCKS * 25 * 64];
    float scale[BLOCKS * 16], left_out[BLOCKS * 16], length[BLOCKS * 16];
    struct inmo_bytes_query query[MOST];
    (void)state;
    for (int q = 0; q < MOST; q++) {
        for (int j = 0; j < 100; j++)
            query_code[q][j] = (int8_t)((j * 37 + q * 11) % 129 - 64);
        query[q] = (struct inmo_bytes_query){query_code[q], 0.01f * (float)(q + 1), number((uint64_t)q),
                                             number((uint64_t)q + 50)};
    }
    for (size_t n = 0; n < sizeof code; n++)
        code[n] = (uint8_t)(1 + n * 91 % 255);
    for (int n = 0; n < BLOCKS * 16; n++) {
        scale[n] = number((uint64_t)n + 200);
        left_out[n] = number((uint64_t)n + 400);
        length[n] = number((uint64_t)n + 600);
    }
    for (size_t g = 0; g < COUNT(groups); g++)
        for (int queries = 0; queries <= MOST; queries++) {
            struct inmo_bytes bytes = {groups[g], code, scale, left_out, length};
            float wanted[MOST * SIZE + 1], found[MOST * SIZE + 1];
            inmo_upper_bounds_reference(&bytes, queries, query, FIRST, BLOCKS - FIRST, wanted);
            for (int v = 0; inmo_kernels_at(v); v++) {
                found[queries * SIZE] = 7; /* nothing is written past the last query */
                inmo_kernels_at(v)->upper_bounds_of(&bytes, queries, query, FIRST, BLOCKS - FIRST, found);
                assert_memory_equal(wanted, found, (size_t)(queries * SIZE) * sizeof *found);
                assert_true(found[queries * SIZE] == 7);
                for (int q = 0; q < queries; q++)
                    inmo_kernels_at(v)->upper_bounds(&bytes, query + q, FIRST, BLOCKS - FIRST, found + q * SIZE);
                assert_memory_equal(wanted, found, (size_t)(queries * SIZE) * sizeof *found);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_a_scan),  cmocka_unit_test(test_zero_query),
        cmocka_unit_test(test_equal_rows),      cmocka_unit_test(test_rising_rows),
        cmocka_unit_test(test_widths_agree),    cmocka_unit_test(test_bounds_have_all_terms),
        cmocka_unit_test(test_several_queries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
