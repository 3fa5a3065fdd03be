/* test_limit.c - what is counted as a limit: the bytes and flops of the kernels on a graph small enough to count
 * by hand, the formula of the limit, and that the probes do the work they are timed for. */
#include "support.h"

#include "kernel/kernel.h"
#include "kernel/probe.h"
#include "limit/trials.h"

enum { D = 64 };

static double sum_of(const double *moved)
{
    double sum = 0;
    for (int level = 0; level < INMO_LEVELS; level++)
        sum += moved[level];
    return sum;
}

/* Users a, b, c and items x, y, z; degrees 3, 2, 1 and 3, 2, 1. */
static struct inmo_dataset *small_data(void)
{
    return dataset_of("a x train, a y train, a z train, b x train, b y train, c x train");
}

/* A machine whose L2 holds two rows of 256 bytes and whose L3 holds all. */
static struct inmo_machine small_machine(void)
{
    struct inmo_machine machine = {.threads = 1, .l2 = 512, .l3 = 1 << 20};
    for (int column = 0; column < 2; column++) {
        for (int traffic = 0; traffic < INMO_TRAFFICS; traffic++)
            for (int level = 0; level < INMO_LEVELS; level++)
                machine.rate[column][traffic][level] = 1e9;
        machine.flops[column] = 1e9;
    }
    return machine;
}

static void test_counts(void **state)
{
    struct inmo_machine machine = small_machine();
    struct inmo_dataset *data = small_data();
    struct inmo_trials trials;
    struct inmo_error error;
    (void)state;
    must(inmo_trials_make(data, &machine, &trials, &error));

    /* 12 ends of 6 edges; the two nodes of degree 3 are the near ones, the other 6 ends come from L3 */
    const struct inmo_trial *product = &trials.trial[0], *half = &trials.trial[1], *batch = &trials.trial[2];
    assert_true(product->moved[INMO_ROWS_256][INMO_LEVEL_L2] == 6 * 256);
    assert_true(product->moved[INMO_ROWS_256][INMO_LEVEL_L3] == 6 * 256);
    assert_true(product->moved[INMO_READ][INMO_LEVEL_L3] == 12 * 4 + 6 * 12);
    assert_true(product->moved[INMO_UPDATE][INMO_LEVEL_L3] == 6 * 256);
    assert_true(product->flops == (12 + 6) * D);
    /* rows of half the size: four are near, 3 + 3 + 2 + 2 ends */
    assert_true(half->moved[INMO_ROWS_128][INMO_LEVEL_L2] == 10 * 128);
    assert_true(half->moved[INMO_ROWS_128][INMO_LEVEL_L3] == 2 * 128);
    assert_true(sum_of(half->moved[INMO_UPDATE]) == 6 * 128);
    /* a batch of thousands names every one of six nodes */
    assert_int_equal(trials.node_count, 6);
    assert_true(sum_of(batch->moved[INMO_ROWS_256]) == 12 * 256);
    /* half of the terms are dropped */
    assert_true(sum_of(trials.trial[3].moved[INMO_ROWS_256]) == 6 * 256);
    /* Adam: the gradient is read, three arrays are changed */
    assert_true(sum_of(trials.trial[6].moved[INMO_READ]) == 6 * 256);
    assert_true(sum_of(trials.trial[6].moved[INMO_UPDATE]) == 3 * 6 * 256);
    /* top-k: floats, or a byte each and three floats */
    assert_true(sum_of(trials.trial[8].moved[INMO_READ]) == 3 * 256);
    assert_true(sum_of(trials.trial[9].moved[INMO_READ]) == 3 * (64 + 12));
    assert_true(trials.trial[8].one_thread && !product->one_thread);

    for (int n = 0; n < INMO_TRIALS; n++) {
        assert_non_null(trials.trial[n].name);
        must(trials.trial[n].run(&trials, &error));
    }
    inmo_trials_free(&trials);
    inmo_dataset_free(data);
}

static void test_limit(void **state)
{
    struct inmo_machine machine = small_machine();
    struct inmo_trial trial = {.flops = 3e9};
    int by_memory = -1;
    (void)state;
    trial.moved[INMO_READ][INMO_LEVEL_L2] = 1e9;
    trial.moved[INMO_ROWS_256][INMO_LEVEL_MEMORY] = 1e9;
    assert_near(inmo_trial_limit(&trial, &machine, &by_memory), 3, 1e-12);
    assert_int_equal(by_memory, 0);
    machine.rate[1][INMO_ROWS_256][INMO_LEVEL_MEMORY] = 0.25e9; /* 1 + 4 seconds with all threads */
    assert_near(inmo_trial_limit(&trial, &machine, &by_memory), 5, 1e-12);
    assert_int_equal(by_memory, 1);
    trial.one_thread = 1;
    assert_near(inmo_trial_limit(&trial, &machine, &by_memory), 3, 1e-12);

    assert_int_equal(inmo_machine_level(&machine, 512), INMO_LEVEL_L2);
    assert_int_equal(inmo_machine_level(&machine, 513), INMO_LEVEL_L3);
    assert_int_equal(inmo_machine_level(&machine, 2 << 20), INMO_LEVEL_MEMORY);
}

/* Small whole numbers: sums are exact in any order. */
static void test_probes(void **state)
{
    enum { FLOATS = 64 * 10 };
    float x[FLOATS], sum = 0;
    int32_t row[] = {3, 0, 9, 9, 1};
    (void)state;
    for (int n = 0; n < FLOATS; n++) {
        x[n] = (float)(n % 50);
        sum += x[n];
    }
    for (int v = 0; inmo_kernels_at(v); v++) {
        const struct inmo_probes *probes = inmo_kernels_at(v)->probes;
        assert_true(probes->read(FLOATS, x) == sum);
        for (int floats = 32; floats <= 64; floats += 32) {
            float wanted = 0;
            for (size_t n = 0; n < COUNT(row); n++)
                for (int j = 0; j < floats; j++)
                    wanted += x[row[n] * floats + j];
            assert_true(probes->rows(COUNT(row), row, floats, x) == wanted);
        }
        probes->update(FLOATS, x);
        assert_true(x[0] == 1 && x[FLOATS - 1] == 1 - (float)((FLOATS - 1) % 50));
        probes->update(FLOATS, x);
        assert_true(probes->read(FLOATS, x) == sum);
        /* s = s / 2 + 1 goes to 2 in every lane, and a lane is two flops a round */
        assert_true(probes->multiply_add(1000, 0.5f, 1) == (float)probes->flops_per_round);
    }
}

static void test_memory_may_fail(void **state)
{
    struct inmo_machine machine = small_machine();
    struct inmo_dataset *data = small_data();
    struct inmo_trials trials;
    struct inmo_error error;
    enum inmo_status status = INMO_MEMORY;
    long n = 0;
    (void)state;
    for (; status != INMO_OK && n < 200; n++) {
        inmo_alloc_fail_after(n);
        status = inmo_trials_make(data, &machine, &trials, &error);
        inmo_alloc_fail_after(-1);
        inmo_trials_free(&trials);
        assert_true(status == INMO_OK || status == INMO_MEMORY);
    }
    assert_int_equal(status, INMO_OK);
    assert_true(n > 10);
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_probes),
        cmocka_unit_test(test_memory_may_fail),
    };
    inmo_set_threads(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
