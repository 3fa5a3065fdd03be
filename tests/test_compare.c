/* test_compare.c - lab/compare.h: intervals by resampling users, paired tests for several comparisons, the page. */
#include "support.h"

#include "lab/compare.h"

enum { USERS = 400 };

static void draw(float *score, double mean, uint64_t seed)
{
    for (int u = 0; u < USERS; u++)
        score[u] = (float)(mean + 0.1 * inmo_random_normal(inmo_key(seed, 80), (uint64_t)u));
}

/* The interval of a mean of normal numbers is known: ± 1.96 σ / √n. */
static void test_interval(void **state)
{
    struct inmo_error error = {0};
    struct inmo_compare_score score[2], again[2];
    float a[USERS + 1], b[USERS + 1];
    const float *both[2] = {a, b};
    double width = 1.96 * 0.1 / sqrt(USERS);
    (void)state;
    draw(a, 0.5, 1);
    for (int u = 0; u < USERS; u++)
        b[u] = 0.25f;
    a[USERS] = b[USERS] = NAN; /* without test items */
    must(inmo_compare_scores(both, 2, USERS + 1, 0, score, &error));
    assert_int_equal(score[0].users, USERS);
    assert_near(score[0].high - score[0].mean, width, 0.15 * width);
    assert_near(score[0].mean - score[0].low, width, 0.15 * width);
    assert_near(score[1].mean, 0.25, 1e-9);
    assert_near(score[1].low, 0.25, 1e-9);
    assert_near(score[1].high, 0.25, 1e-9);
    assert_near(score[1].difference, score[0].mean - 0.25, 1e-7);
    assert_near(score[1].p, 1e-4, 1e-9); /* no draw is as far: 1 / 10,000 */
    assert_near(score[0].p, 1, 0);
    for (int threads = 1; threads <= 3; threads++) {
        inmo_set_threads(threads);
        must(inmo_compare_scores(both, 2, USERS + 1, 0, again, &error));
        assert_memory_equal(score, again, sizeof score);
    }
    inmo_set_threads(0);
}

/* Equal systems are not different; Holm multiplies the smallest p by the number of tests, the next by one less. */
static void test_several_comparisons(void **state)
{
    struct inmo_error error = {0};
    struct inmo_compare_score pair[2], score[4];
    float a[USERS], better[USERS], near[USERS];
    const float *all[4] = {better, near, a, better}, *two[2];
    double alone[4];
    (void)state;
    draw(better, 0.5, 1);
    draw(a, 0.47, 2);
    draw(near, 0.497, 3);
    for (int s = 1; s < 4; s++) {
        two[0] = better;
        two[1] = all[s];
        must(inmo_compare_scores(two, 2, USERS, 0, pair, &error));
        alone[s] = pair[1].p;
    }
    assert_true(alone[2] < alone[1] && alone[1] < alone[3]);
    assert_near(alone[3], 1, 0);
    must(inmo_compare_scores(all, 4, USERS, 0, score, &error));
    assert_near(score[2].p, fmin(1, 3 * alone[2]), 1e-12);
    assert_near(score[1].p, fmin(1, fmax(score[2].p, 2 * alone[1])), 1e-12);
    assert_near(score[3].p, 1, 1e-12);
}

static void test_page(void **state)
{
    static const char json[] =
        "{\"data\": \"a <log>\", \"k\": 20, \"users\": 3, \"items\": 4, \"train\": 5, \"test\": 6, \"models\": ["
        "{\"name\": \"one\", \"best\": true, \"valid\": 0.1, \"score\": 0.2, \"low\": 0.15, \"high\": 0.25, "
        "\"behind\": 0, \"p\": 1, \"metrics\": {\"recall@20\": 0.3, \"novelty@20\": 7.5}, \"seconds\": 2, "
        "\"peak_rss_mb\": 50, \"bytes\": 1000000}, {\"name\": \"two\", \"error\": \"it was trained on 5 & "
        "more\"}]}";
    struct inmo_error error = {0};
    char *page = NULL;
    size_t size;
    FILE *stream = open_memstream(&page, &size);
    (void)state;
    must(inmo_compare_page(json, stream, &error));
    fclose(stream);
    assert_non_null(strstr(page, "a &lt;log&gt;"));
    assert_non_null(strstr(page, "0.1500 … 0.2500"));
    assert_non_null(strstr(page, "<th>Novelty, bits</th>"));
    assert_null(strstr(page, "<th>Diversity</th>")); /* a column that no row has is not there */
    assert_non_null(strstr(page, "it was trained on 5 &amp; more"));
    assert_non_null(strstr(page, "<svg"));
    free(page);
    stream = open_memstream(&page, &size);
    must_fail(inmo_compare_page("{", stream, &error), INMO_FORMAT, "not JSON");
    fclose(stream);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interval),
        cmocka_unit_test(test_several_comparisons),
        cmocka_unit_test(test_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
