/* test_lazy.c - Adam brought up to date row by row (train/lazy.h) against Adam that moves every row in every
 * step: in double, the naive twin, and in float; over short and long gaps, learning rates that change, gradients
 * so small that the 1e-8 in the denominator counts, the change from the first steps to the closed form, and a
 * whole round of what is remembered. And the bytes: threads, reading in between, a restored state. */
#include "support.h"

#include "train/step.h"

enum { ROWS = 24, DIM = 19, SIZE = ROWS * DIM };

/* Row r has a gradient in every period[r]-th step, roughly: gaps of all lengths up to several thousand. */
static int has_gradient(int32_t row, int64_t step)
{
    static const int period[] = {1, 2, 3, 8, 20, 60, 180, 200, 400, 1500, 5000, 9000};
    return inmo_random_below(inmo_random(99 + (uint64_t)row, (uint64_t)step), (uint32_t)period[row % 12]) == 0;
}

/* Of very different sizes: those of the last rows are like those of a batch of thousands, or smaller. */
static float gradient_at(int32_t row, int j, int64_t step)
{
    static const double size[] = {1, 1e-3, 1e-5, 1e-7, 1e-9};
    double noise = 2 * inmo_random_unit(inmo_random(7, (uint64_t)(step * SIZE + row * DIM + j))) - 1;
    return (float)((noise + 0.3) * size[(row + j) % 5]);
}

static double rate_at(int schedule, int64_t step)
{
    if (schedule == 0)
        return 1e-3;
    if (schedule == 1)
        return 1e-3 * 0.5 * (1 + cos(3.14159 * (double)step / 20000));
    return step / 100 % 3 == 1 ? 0 : 1e-2; /* off and on */
}

struct world {
    float parameter[SIZE], m[SIZE], root[SIZE];
    struct inmo_lazy lazy;
};

static void start(struct world *world)
{
    struct inmo_error error = {0};
    struct inmo_block block = {ROWS, DIM, world->parameter, world->m, world->root};
    memset(world, 0, sizeof *world);
    for (int n = 0; n < SIZE; n++)
        world->parameter[n] = (float)(0.1 * inmo_random_normal(3, (uint64_t)n));
    must(inmo_lazy_make(&block, ROWS, &world->lazy, &error));
}

/* One step; leaves which rows it was, and their gradient. */
static struct inmo_rows take_step(struct world *world, int schedule, int64_t step, int32_t *node, float *gradient)
{
    struct inmo_rows rows = {0, node, NULL};
    for (int32_t r = 0; r < ROWS; r++)
        if (has_gradient(r, step)) {
            for (int j = 0; j < DIM; j++)
                gradient[rows.count * DIM + j] = gradient_at(r, j, step);
            node[rows.count++] = r;
        }
    inmo_lazy_read(&world->lazy, &rows);
    inmo_lazy_write(&world->lazy, rate_at(schedule, step), &rows, gradient);
    return rows;
}

/* The bound is what rounding makes of it in float: each write, and each of the first steps, rounds the parameter
 * (6e-8 of it), and each movement is right to 2e-6 (the moments are floats with a memory of 1000 updates; the
 * closed form itself is right to 2e-6 at step 256 and to 5e-9 from step 10,000). Leaving the missed steps out,
 * as sparse Adam does, is a hundred times farther off. */
static void test_against_dense(void **state)
{
    static struct world world;
    static double m[SIZE], v[SIZE], exact[SIZE], path[SIZE], naive_gap;
    static float dense_m[SIZE], dense_root[SIZE], dense[SIZE], sparse[SIZE], sparse_m[SIZE], sparse_root[SIZE];
    (void)state;
    for (int schedule = 0; schedule < 3; schedule++) {
        const double early = INMO_LAZY_EARLY + INMO_LAZY_WINDOW; /* steps that are done one by one */
        double worst = 0, worst_dense = 0;
        int64_t writes[ROWS] = {0};
        int32_t all[ROWS];
        start(&world);
        naive_gap = 0;
        for (int n = 0; n < SIZE; n++) {
            m[n] = v[n] = path[n] = 0;
            dense_m[n] = dense_root[n] = sparse_m[n] = sparse_root[n] = 0;
            exact[n] = dense[n] = sparse[n] = world.parameter[n];
        }
        for (int32_t r = 0; r < ROWS; r++)
            all[r] = r;
        for (int64_t step = 0; step < 20000; step++) {
            float packed[SIZE], whole[SIZE] = {0};
            int32_t node[ROWS];
            struct inmo_rows rows = take_step(&world, schedule, step, node, packed), every = {ROWS, all, NULL};
            struct inmo_adam adam = inmo_adam_at(rate_at(schedule, step), step + 1);
            double before[SIZE];
            for (int32_t n = 0; n < rows.count; n++) {
                int at = node[n] * DIM;
                memcpy(whole + at, packed + n * DIM, DIM * sizeof *whole);
                inmo_kernels()->adam(DIM, adam, packed + n * DIM, sparse_m + at, sparse_root + at, sparse + at);
                writes[node[n]]++;
            }
            memcpy(before, exact, sizeof before);
            inmo_adam_reference(SIZE, adam, whole, m, v, exact);
            inmo_kernels()->adam(SIZE, adam, whole, dense_m, dense_root, dense);
            for (int n = 0; n < SIZE; n++)
                path[n] += fabs(exact[n] - before[n]);
            if (step % 37 == 0 || step > 19990) {
                const float *now = inmo_lazy_read(&world.lazy, &every);
                for (int n = 0; n < SIZE; n++) {
                    double roundings = (double)writes[n / DIM] + fmin((double)step + 1, early);
                    double bound = 2e-6 * path[n] + 6e-8 * (fabs(exact[n]) + path[n]) * roundings;
                    double off = fabs(now[n] - exact[n]);
                    assert_true(off <= bound);
                    worst = fmax(worst, off / (path[n] + 1e-30));
                    worst_dense = fmax(worst_dense, fabs(dense[n] - exact[n]) / (path[n] + 1e-30));
                    if (writes[n / DIM] > 0)
                        naive_gap = fmax(naive_gap, fabs(sparse[n] - exact[n]) / bound);
                }
            }
        }
        print_message(
            "schedule %d: off by at most %.1e of the way, dense float Adam %.1e; sparse Adam %.0f times the "
            "bound\n",
            schedule, worst, worst_dense, naive_gap);
        assert_true(naive_gap > 100);
        assert_true(worst < worst_dense); /* which rounds in every step */
        inmo_lazy_catch_up(&world.lazy);
        for (int n = 0; n < SIZE; n++) { /* and the moments, all of them */
            assert_near(world.m[n], m[n], 2e-6 * (fabs(m[n]) + 1e-9));
            assert_near(world.root[n], sqrt(v[n]), 2e-5 * (sqrt(v[n]) + 1e-12));
        }
        inmo_lazy_free(&world.lazy);
    }
}

/* Threads do not matter, nor does reading; a state that was put back goes on to the same bytes. */
static void test_same_bytes(void **state)
{
    enum { STEPS = 9000, CUT = 8700 }; /* a settling of all rows, at 8192, lies before the cut */
    static struct world one, two, restored;
    int32_t node[ROWS], all[ROWS];
    float gradient[SIZE];
    struct inmo_rows every = {ROWS, all, NULL};
    (void)state;
    for (int32_t r = 0; r < ROWS; r++)
        all[r] = r;
    start(&one);
    start(&two);
    start(&restored);
    for (int64_t step = 0; step < STEPS; step++) {
        inmo_set_threads(1);
        take_step(&one, 1, step, node, gradient);
        inmo_set_threads(2);
        if (step % 11 == 0)
            inmo_lazy_read(&two.lazy, &every);
        take_step(&two, 1, step, node, gradient);
        if (step == CUT) {
            memcpy(restored.parameter, one.parameter, sizeof one.parameter);
            memcpy(restored.m, one.m, sizeof one.m);
            memcpy(restored.root, one.root, sizeof one.root);
            memcpy(restored.lazy.touched, one.lazy.touched, ROWS * sizeof *one.lazy.touched);
            memcpy(restored.lazy.rate, one.lazy.rate, INMO_LAZY_RING * sizeof *one.lazy.rate);
            inmo_lazy_restore(&restored.lazy, step + 1);
        }
        if (step > CUT)
            take_step(&restored, 1, step, node, gradient);
    }
    inmo_set_threads(1);
    assert_memory_equal(one.parameter, two.parameter, sizeof one.parameter);
    assert_memory_equal(one.parameter, restored.parameter, sizeof one.parameter);
    inmo_lazy_catch_up(&one.lazy);
    inmo_lazy_catch_up(&restored.lazy);
    assert_memory_equal(one.parameter, restored.parameter, sizeof one.parameter);
    assert_memory_equal(one.m, restored.m, sizeof one.m);
    assert_memory_equal(one.root, restored.root, sizeof one.root);
    inmo_lazy_free(&restored.lazy);
    inmo_lazy_free(&two.lazy);
    inmo_lazy_free(&one.lazy);
}

/* A training of MF, with the rows of a batch only, and with a whole gradient and dense Adam. */
static void test_training(void **state)
{
    struct inmo_dataset *data = grouped_dataset(60, 90, 10, "70/10/20");
    struct inmo_train_options options = small_options("mf");
    const struct inmo_csr *lists[1] = {&data->train};
    struct inmo_graph *graph = NULL;
    struct inmo_stepper *lazy = NULL, *dense = NULL;
    struct inmo_error error = {0};
    float *whole;
    double worst = 0, largest = 0, moved = 0;
    size_t size;
    (void)state;
    options.batch = 8;
    options.learning_rate = 1e-3;
    must(inmo_graph_build(data->users.count, data->items.count, lists, 1, &graph, &error));
    must(inmo_stepper_new(inmo_model_kind_find("mf"), &options, graph, &data->train, NULL, &lazy, &error));
    must(inmo_stepper_new(inmo_model_kind_find("mf"), &options, graph, &data->train, NULL, &dense, &error));
    size = (size_t)(dense->parameter_rows * options.dim);
    whole = inmo_alloc(size, sizeof *whole);
    assert_non_null(lazy->lazy.touched);
    for (int64_t step = 0; step < 2000; step++) {
        struct inmo_gradient gradient;
        inmo_stepper_run(lazy, step, 1, options.learning_rate);
        inmo_stepper_gradient(dense, step, 1, &gradient);
        memset(whole, 0, size * sizeof *whole);
        for (int32_t n = 0; n < gradient.rows->count; n++)
            memcpy(whole + gradient.rows->node[n] * options.dim, gradient.value + n * options.dim,
                   (size_t)options.dim * sizeof *whole);
        inmo_adam_rows(dense->parameter_rows, options.dim, inmo_adam_at(options.learning_rate, step + 1), whole,
                       dense->m, dense->root, dense->parameter);
    }
    inmo_stepper_catch_up(lazy);
    for (size_t n = 0; n < size; n++) {
        double begin = options.init_scale * inmo_random_normal(inmo_key(options.seed, INMO_STREAM_INIT), n);
        worst = fmax(worst, fabs((double)lazy->parameter[n] - dense->parameter[n]));
        largest = fmax(largest, fabs((double)dense->parameter[n]));
        moved = fmax(moved, fabs((double)dense->parameter[n] - begin));
    }
    print_message("MF after 2000 steps: off by %.1e, of %.2g, having moved by up to %.2g\n", worst, largest, moved);
    assert_true(moved > 0.1);
    assert_true(worst < 2e-5 * largest);
    inmo_free(whole);
    inmo_stepper_free(dense);
    inmo_stepper_free(lazy);
    inmo_graph_free(graph);
    inmo_dataset_free(data);
}

/* The step that touches a row while it is near, against the same step taken apart: the same bytes, with 1, 2 and
 * 3 threads, over the change to the closed form, with chunks that are not full. */
static void test_pairwise_step(void **state)
{
    struct inmo_dataset *data = grouped_dataset(300, 400, 10, "70/10/20");
    const struct inmo_csr *lists[1] = {&data->train};
    struct inmo_graph *graph = NULL;
    struct inmo_error error = {0};
    (void)state;
    must(inmo_graph_build(data->users.count, data->items.count, lists, 1, &graph, &error));
    for (int threads = 1; threads <= 3; threads++) {
        struct inmo_train_options options = small_options("mf");
        struct inmo_stepper *near = NULL, *apart = NULL;
        size_t bytes;
        options.batch = threads == 1 ? 5 : 230;
        options.dim = threads == 3 ? 32 : 19;
        options.l2 = threads == 2 ? 0 : 1e-3;
        must(inmo_stepper_new(inmo_model_kind_find("mf"), &options, graph, &data->train, NULL, &near, &error));
        must(inmo_stepper_new(inmo_model_kind_find("mf"), &options, graph, &data->train, NULL, &apart, &error));
        bytes = (size_t)(near->parameter_rows * options.dim) * sizeof *near->parameter;
        for (int64_t step = 0; step < INMO_LAZY_EARLY + 200; step++) {
            struct inmo_gradient gradient;
            double loss, other;
            inmo_set_threads(threads);
            loss = inmo_stepper_run(near, step, 1, options.learning_rate);
            inmo_set_threads(1);
            other = inmo_stepper_gradient(apart, step, 1, &gradient);
            inmo_lazy_write(&apart->lazy, options.learning_rate, gradient.rows, gradient.value);
            assert_near(loss, other, 1e-12 * other);
        }
        assert_memory_equal(near->parameter, apart->parameter, bytes);
        assert_memory_equal(near->m, apart->m, bytes);
        assert_memory_equal(near->root, apart->root, bytes);
        inmo_stepper_free(apart);
        inmo_stepper_free(near);
    }
    inmo_graph_free(graph);
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_dense),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_pairwise_step),
    };
    inmo_set_threads(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
