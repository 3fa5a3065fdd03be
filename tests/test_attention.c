/* test_attention.c - attention over shared keys (src/model/provider/attention.c) against IDCF as it is written
 * down: queries and values of every head, in double, one number at a time. More rows than a block has, and than
 * all groups have, with a rest. */
#include "support.h"

#include "base/random.h"
#include "model/provider/attention.h"

enum {
    ROWS = 16 * 256 + 37,
    DIM = 19,
    SQUARE = DIM * DIM,
    MATRICES = INMO_ATTENTION_WEIGHTS * INMO_HEADS * SQUARE,
    WEIGHTS = MATRICES + INMO_ATTENTION_BIASES * DIM
};

static float number(uint64_t key, size_t n, double scale)
{
    return (float)(scale * inmo_random_normal(key, n));
}

static float *numbers(uint64_t key, size_t count, double scale)
{
    float *made = inmo_alloc(count, sizeof *made);
    for (size_t n = 0; n < count; n++)
        made[n] = number(key, n, scale);
    return made;
}

/* out = W x, or W' x */
static void multiply(const float *w, int turned, const double *x, double *out)
{
    for (int j = 0; j < DIM; j++) {
        out[j] = 0;
        for (int k = 0; k < DIM; k++)
            out[j] += w[turned ? k * DIM + j : j * DIM + k] * x[k];
    }
}

/* dW += a b' */
static void add_outer(const double *a, const double *b, double *dw)
{
    for (int j = 0; j < DIM; j++)
        for (int k = 0; k < DIM; k++)
            dw[j * DIM + k] += a[j] * b[k];
}

static double product(const double *a, const double *b)
{
    double sum = 0;
    for (int j = 0; j < DIM; j++)
        sum += a[j] * b[j];
    return sum;
}

/* One query: e, and with de its part of the gradient. */
static void naive(const struct inmo_attention *attention, const float *row, const float *de_row, double *e,
                  double *gradient)
{
    double q[DIM], de[DIM], query[DIM], key[INMO_SAMPLE][DIM], match[INMO_SAMPLE][DIM], value[INMO_SAMPLE][DIM];
    for (int j = 0; j < DIM; j++) {
        q[j] = row[j];
        de[j] = de_row[j];
        e[j] = 0;
    }
    for (int h = 0; h < INMO_HEADS; h++) {
        const float *w[INMO_ATTENTION_WEIGHTS];
        double *dw[INMO_ATTENTION_WEIGHTS], share[INMO_SAMPLE], answer[DIM] = {0}, out[DIM], danswer[DIM],
                                                                dquery[DIM] = {0};
        double sum = 0, mean = 0, back[DIM];
        for (int kind = 0; kind < INMO_ATTENTION_WEIGHTS; kind++) {
            w[kind] = attention->weights + (kind * INMO_HEADS + h) * SQUARE;
            dw[kind] = gradient + (kind * INMO_HEADS + h) * SQUARE;
        }
        const float *bias = attention->weights + MATRICES;
        double *dbias = gradient + MATRICES;
        multiply(w[INMO_WQ], 0, q, query);
        for (int j = 0; j < DIM; j++)
            query[j] += bias[(INMO_BQ + h) * DIM + j];
        for (int n = 0; n < attention->keys; n++) {
            for (int j = 0; j < DIM; j++)
                key[n][j] = attention->key[(h * attention->keys + n) * DIM + j];
            multiply(w[INMO_WK], 0, key[n], match[n]);
            multiply(w[INMO_WV], 0, key[n], value[n]);
            for (int j = 0; j < DIM; j++)
                value[n][j] += bias[(INMO_BV + h) * DIM + j];
            share[n] = exp(product(query, match[n]));
            sum += share[n];
        }
        for (int n = 0; n < attention->keys; n++) {
            share[n] /= sum;
            for (int j = 0; j < DIM; j++)
                answer[j] += share[n] * value[n][j];
        }
        multiply(w[INMO_WOUT], 0, answer, out);
        multiply(w[INMO_WOUT], 1, de, danswer);
        add_outer(de, answer, dw[INMO_WOUT]);
        for (int j = 0; j < DIM; j++) {
            e[j] += out[j] + (h == 0 ? bias[INMO_BOUT * DIM + j] : 0);
            dbias[INMO_BOUT * DIM + j] += h == 0 ? de[j] : 0;
            dbias[(INMO_BV + h) * DIM + j] += danswer[j];
        }
        for (int n = 0; n < attention->keys; n++)
            mean += share[n] * product(danswer, value[n]);
        for (int n = 0; n < attention->keys; n++) {
            double dscore = share[n] * (product(danswer, value[n]) - mean);
            for (int j = 0; j < DIM; j++) {
                back[j] = share[n] * danswer[j];
                dquery[j] += dscore * match[n][j];
            }
            add_outer(back, key[n], dw[INMO_WV]);
            for (int j = 0; j < DIM; j++)
                back[j] = dscore * query[j];
            add_outer(back, key[n], dw[INMO_WK]);
        }
        add_outer(dquery, q, dw[INMO_WQ]);
        for (int j = 0; j < DIM; j++)
            dbias[(INMO_BQ + h) * DIM + j] += dquery[j];
    }
}

static double worst_of(const float *found, const double *expected, size_t count)
{
    double worst = 0, largest = 0;
    for (size_t n = 0; n < count; n++) {
        worst = fmax(worst, fabs(found[n] - expected[n]));
        largest = fmax(largest, fabs(expected[n]));
    }
    assert_true(largest > 0);
    return worst / largest;
}

static void test_against_naive(void **state)
{
    static const int32_t keys[] = {1, 7, INMO_SAMPLE};
    const double l2 = 0.03;
    (void)state;
    for (size_t n = 0; n < COUNT(keys); n++) {
        struct inmo_attention attention;
        float *weights = numbers(1, WEIGHTS, 0.3), *query = numbers(2, ROWS * DIM, 1),
              *de = numbers(3, ROWS * DIM, 1);
        float *share = inmo_alloc(ROWS * INMO_HEADS * INMO_SAMPLE, sizeof *share),
              *one = inmo_alloc(DIM, sizeof *one);
        float *e = inmo_alloc(2 * ROWS * DIM, sizeof *e), *gradient = inmo_alloc(2 * WEIGHTS, sizeof *gradient);
        double *wanted = calloc(ROWS * DIM, sizeof *wanted),
               *wanted_gradient = calloc(WEIGHTS, sizeof *wanted_gradient);
        assert_int_equal(inmo_attention_make(DIM, 1, &attention), 0);
        attention.weights = weights;
        attention.learns_biases = 1;
        attention.keys = keys[n];
        for (int j = 0; j < INMO_HEADS * keys[n] * DIM; j++)
            attention.key[j] = number(4, (size_t)j, 1);
        memset(query, 0, DIM * sizeof *query); /* somebody without a history attends to all alike */
        for (int r = 0; r < ROWS; r++)
            naive(&attention, query + r * DIM, de + r * DIM, wanted + r * DIM, wanted_gradient);
        for (int kind = INMO_WQ; kind <= INMO_WK; kind++)
            for (int j = kind * INMO_HEADS * SQUARE; j < (kind + 1) * INMO_HEADS * SQUARE; j++)
                wanted_gradient[j] += 2 * l2 * weights[j];
        for (int threads = 1; threads <= 3; threads++) {
            float *e_here = threads == 1 ? e : e + ROWS * DIM;
            float *gradient_here = threads == 1 ? gradient : gradient + WEIGHTS;
            inmo_set_threads(threads);
            inmo_attention_prepare(&attention);
            inmo_attention_forward(&attention, ROWS, query, share, e_here);
            inmo_attention_backward(&attention, ROWS, query, share, de, l2, gradient_here);
            assert_memory_equal(e, e_here, ROWS * DIM * sizeof *e);
            assert_memory_equal(gradient, gradient_here, WEIGHTS * sizeof *gradient);
            inmo_attention_forward(&attention, ROWS, query, NULL, e_here);
            assert_memory_equal(e, e_here, ROWS * DIM * sizeof *e);
        }
        attention.learns_biases = 0;
        inmo_attention_backward(&attention, ROWS, query, share, de, l2, gradient + WEIGHTS);
        for (int j = 0; j < INMO_ATTENTION_BIASES * DIM; j++)
            assert_true(gradient[WEIGHTS + MATRICES + j] == 0);
        inmo_set_threads(1);
        assert_true(worst_of(e, wanted, ROWS * DIM) < 2e-6);
        assert_true(worst_of(gradient, wanted_gradient, WEIGHTS) < 1e-5);
        for (int r = 0; r < ROWS; r += 100) {
            memcpy(one, query + r * DIM, DIM * sizeof *one);
            inmo_attention_one(DIM, keys[n], attention.match, attention.value, attention.offset, one);
            assert_true(worst_of(one, wanted + r * DIM, DIM) < 1e-5);
        }
        free(wanted_gradient);
        free(wanted);
        inmo_free(gradient);
        inmo_free(e);
        inmo_free(one);
        inmo_free(share);
        inmo_free(de);
        inmo_free(query);
        inmo_free(weights);
        inmo_attention_free(&attention);
    }
}

/* Scores of any size give shares: nothing overflows. */
static void test_large_scores(void **state)
{
    struct inmo_attention attention;
    float *weights = numbers(1, WEIGHTS, 30), *query = numbers(2, 4 * DIM, 1e6), e[4 * DIM];
    (void)state;
    assert_int_equal(inmo_attention_make(DIM, 0, &attention), 0);
    attention.weights = weights;
    attention.keys = INMO_SAMPLE;
    for (int j = 0; j < INMO_HEADS * INMO_SAMPLE * DIM; j++)
        attention.key[j] = number(4, (size_t)j, 1);
    inmo_attention_prepare(&attention);
    inmo_attention_forward(&attention, 4, query, NULL, e);
    for (int j = 0; j < 4 * DIM; j++)
        assert_true(isfinite(e[j]));
    inmo_attention_free(&attention);
    inmo_free(query);
    inmo_free(weights);
}

/* Different numbers in range, others for another key, all of them where there are few. */
static void test_draws(void **state)
{
    int32_t drawn[INMO_SAMPLE], other[INMO_SAMPLE];
    uint8_t seen[1000];
    (void)state;
    for (int32_t count = 0; count < 1000; count += count < 60 ? 1 : 47) {
        int32_t found = inmo_attention_draw(9, count, 0, drawn);
        assert_int_equal(found, count < INMO_SAMPLE ? count : INMO_SAMPLE);
        memset(seen, 0, sizeof seen);
        for (int32_t n = 0; n < found; n++) {
            assert_true(drawn[n] >= 0 && drawn[n] < count && !seen[drawn[n]]);
            seen[drawn[n]] = 1;
        }
    }
    assert_int_equal(inmo_attention_draw(9, 0, 1, drawn), 0); /* with repeats, as many of any number */
    assert_int_equal(inmo_attention_draw(9, 3, 1, drawn), INMO_SAMPLE);
    for (int32_t n = 0; n < INMO_SAMPLE; n++)
        assert_true(drawn[n] >= 0 && drawn[n] < 3);
    inmo_attention_draw(9, 999, 0, drawn);
    inmo_attention_draw(10, 999, 0, other);
    assert_memory_not_equal(drawn, other, sizeof drawn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_naive),
        cmocka_unit_test(test_large_scores),
        cmocka_unit_test(test_draws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
