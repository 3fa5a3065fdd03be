/* test_kernel.c - the loops that take the time, each against its naive twin: the gather in every variant this
 * machine can run and every combination of its options, Adam, the dot products, and the scans (the ranking made of
 * these: test_rank.c). Variants and numbers of threads must agree to the last bit; with the twins, which add in
 * double, to rounding. */
#include "support.h"

#include "kernel/kernel.h"

static const uint64_t KEY = 20220711;

/* In [-1, 1). */
static float number(uint64_t counter)
{
    return (float)(2 * inmo_random_unit(inmo_random(KEY, counter)) - 1);
}

static float *numbers(size_t count, uint64_t start)
{
    float *made = inmo_alloc(count, sizeof *made);
    assert_non_null(made);
    for (size_t n = 0; n < count; n++)
        made[n] = number((start << 32) + n);
    return made;
}

static float *absolute(const float *of, size_t count)
{
    float *made = of ? inmo_alloc(count, sizeof *made) : NULL;
    for (size_t n = 0; of && n < count; n++)
        made[n] = fabsf(of[n]);
    return made;
}

/* ---- Gather -------------------------------------------------------------------------------------------------- */

/* A random graph where every seventh user and every fifth item is isolated. With whole rows user 3 has all of the
 * other items and item 7 all of the other users, so that both sides have rows longer than the kernel's list. */
static struct inmo_graph *random_graph(int32_t users, int32_t items, double density, int whole_rows)
{
    struct inmo_error error = {0};
    struct inmo_graph *graph = NULL;
    int64_t *offset = inmo_alloc((size_t)users + 1, sizeof *offset), count = 0;
    int32_t *column = inmo_alloc((size_t)users * (size_t)items, sizeof *column);
    struct inmo_csr list = {users, items, offset, column, NULL};
    const struct inmo_csr *lists[1] = {&list};
    for (int32_t u = 0; u < users; u++) {
        offset[u] = count;
        for (int32_t i = 0; i < items; i++) {
            int chosen = inmo_random_unit(inmo_random(KEY + 1, (uint64_t)u << 32 | (uint64_t)i)) < density;
            chosen |= whole_rows && (u == 3 || i == 7);
            if (chosen && u % 7 != 6 && i % 5 != 4)
                column[count++] = i;
        }
    }
    offset[users] = count;
    must(inmo_graph_build(users, items, lists, 1, &graph, &error));
    inmo_free(column);
    inmo_free(offset);
    return graph;
}

/* The bits of a number choose which options of the gather are used. */
enum { POSITION = 1, WEIGHT = 2, SCALE = 4, EXTRA = 8, DROP = 16, LIST = 32, EDGE = 64, COMBINATIONS = 128 };

struct inputs {
    const struct inmo_graph *graph;
    int dim;
    float *x, *weight, *edge, *scale, *extra;
    int32_t *position, *node, listed;
};

static struct inputs make_inputs(const struct inmo_graph *graph, int dim)
{
    size_t nodes = (size_t)graph->nodes;
    struct inputs inputs = {.graph = graph, .dim = dim};
    inputs.x = numbers(nodes * (size_t)dim, 1);
    inputs.weight = numbers(nodes, 2);
    inputs.edge = numbers(2 * (size_t)graph->edges, 5);
    inputs.scale = numbers(nodes, 3);
    inputs.extra = numbers(2 * (size_t)dim, 4);
    inputs.position = inmo_alloc(nodes, sizeof(int32_t));
    inputs.node = inmo_alloc(nodes, sizeof(int32_t));
    for (int32_t v = 0; v < graph->nodes; v++) {
        inputs.position[v] = v % 3 == 1 ? -1 : graph->nodes - 1 - v; /* a third passed over, the others moved */
        if (v % 2 == 0 || v == 3 || v == graph->users + 7)
            inputs.node[inputs.listed++] = v;
    }
    return inputs;
}

static void free_inputs(struct inputs *inputs)
{
    inmo_free(inputs->node);
    inmo_free(inputs->position);
    inmo_free(inputs->extra);
    inmo_free(inputs->scale);
    inmo_free(inputs->edge);
    inmo_free(inputs->weight);
    inmo_free(inputs->x);
}

static struct inmo_gather make_job(const struct inputs *inputs, int options, float *out)
{
    struct inmo_gather job = {.graph = inputs->graph, .dim = inputs->dim, .x = inputs->x, .out = out};
    if (options & POSITION)
        job.position = inputs->position;
    if (options & WEIGHT)
        job.weight = inputs->weight;
    if (options & EDGE)
        job.edge = inputs->edge;
    if (options & SCALE)
        job.scale = inputs->scale;
    if (options & EXTRA) {
        job.extra_user = inputs->extra;
        job.extra_item = inputs->extra + inputs->dim;
    }
    if (options & DROP)
        job.drop = (struct inmo_drop){(uint32_t)(0.4 * 4294967296.0), 12345, 987654321};
    if (options & LIST) {
        job.node = inputs->node;
        job.node_count = inputs->listed;
    }
    return job;
}

/* What each number may be off by: the same sums over absolute values say how large the terms were. */
static float *magnitudes(const struct inputs *inputs, int options, size_t size)
{
    size_t nodes = (size_t)inputs->graph->nodes;
    struct inputs positive = *inputs;
    float *out = inmo_alloc(size, sizeof *out);
    struct inmo_gather job;
    positive.x = absolute(inputs->x, nodes * (size_t)inputs->dim);
    positive.weight = absolute(inputs->weight, nodes);
    positive.edge = absolute(inputs->edge, 2 * (size_t)inputs->graph->edges);
    positive.scale = absolute(inputs->scale, nodes);
    positive.extra = absolute(inputs->extra, 2 * (size_t)inputs->dim);
    job = make_job(&positive, options, out);
    inmo_gather_reference(&job);
    inmo_free(positive.extra);
    inmo_free(positive.scale);
    inmo_free(positive.edge);
    inmo_free(positive.weight);
    inmo_free(positive.x);
    return out;
}

static void check_gather(const struct inputs *inputs, int options)
{
    int32_t count = options & LIST ? inputs->listed : inputs->graph->nodes;
    size_t size = (size_t)count * (size_t)inputs->dim;
    float *expected = inmo_alloc(size, sizeof(float)), *first = inmo_alloc(size, sizeof(float));
    float *found = inmo_alloc(size, sizeof(float)), *magnitude = magnitudes(inputs, options, size);
    struct inmo_gather job = make_job(inputs, options, expected);
    const struct inmo_kernels *kernels;
    double sum = 0;
    inmo_gather_reference(&job);
    job.out = first;
    inmo_kernels_at(0)->gather_range(&job, 0, count);
    for (size_t n = 0; n < size; n++) {
        assert_near(first[n], expected[n], 1e-6 * magnitude[n]);
        sum += fabs((double)expected[n]);
    }
    assert_true(sum > 1); /* not all zeros compared with zeros */
    job.out = found;
    for (int n = 1; (kernels = inmo_kernels_at(n)) != NULL; n++) {
        memset(found, 0xff, size * sizeof *found);
        kernels->gather_range(&job, 0, count);
        if (memcmp(first, found, size * sizeof *found) != 0)
            fail_msg("%s differs from plain: dim %d, options %d", kernels->name, inputs->dim, options);
    }
    memset(found, 0xff, size * sizeof *found); /* in two ranges, of which the second begins with a long row */
    inmo_kernels()->gather_range(&job, 0, options & LIST ? 2 : 3);
    inmo_kernels()->gather_range(&job, options & LIST ? 2 : 3, count);
    assert_memory_equal(first, found, size * sizeof *found);
    for (int threads = 1; threads <= 2; threads++) {
        inmo_set_threads(threads);
        memset(found, 0xff, size * sizeof *found);
        inmo_gather(&job);
        if (memcmp(first, found, size * sizeof *found) != 0)
            fail_msg("%d threads differ: dim %d, options %d", threads, inputs->dim, options);
    }
    inmo_free(magnitude);
    inmo_free(found);
    inmo_free(first);
    inmo_free(expected);
}

static void test_gather(void **state)
{
    static const int dims[] = {5, 32, 64, 100, 128, 224};
    struct inmo_graph *graph = random_graph(40, 50, 0.2, 0);
    (void)state;
    assert_int_equal(inmo_graph_degree(graph, 6), 0);
    for (size_t d = 0; d < COUNT(dims); d++) {
        struct inputs inputs = make_inputs(graph, dims[d]);
        for (int options = 0; options < COMBINATIONS; options++)
            check_gather(&inputs, options);
        free_inputs(&inputs);
    }
    inmo_graph_free(graph);
}

/* Rows that do not fit the kernel's list of 1024 terms, one that fills it four times, and more short rows in a call
 * than it has pieces (128). */
static void test_gather_long_rows(void **state)
{
    static const int dims[] = {5, 96};
    static const int with_edges[] = {0, LIST, DROP | EXTRA, POSITION | WEIGHT, LIST | DROP | SCALE};
    struct inmo_graph *graph = random_graph(2700, 5400, 0.0003, 1);
    (void)state;
    assert_true(inmo_graph_degree(graph, 3) > 4 * 1024);
    assert_true(inmo_graph_degree(graph, 2700 + 7) > 2 * 1024);
    for (size_t d = 0; d < COUNT(dims); d++) {
        struct inputs inputs = make_inputs(graph, dims[d]);
        for (int options = 0; options < EDGE; options++)
            check_gather(&inputs, options);
        for (size_t n = 0; n < COUNT(with_edges); n++)
            check_gather(&inputs, with_edges[n] | EDGE);
        free_inputs(&inputs);
    }
    inmo_graph_free(graph);
}

/* User u has the first u items, so that rows end everywhere in a group of terms; what is dropped and passed over
 * goes from nothing to all. */
static void test_gather_every_length(void **state)
{
    enum { USERS = 75, DIM = 32, SIZE = 2 * USERS * DIM };
    static const uint32_t thresholds[] = {0, 1, 1u << 28, 1u << 31, 0xf0000000u, UINT32_MAX};
    static int64_t offset[USERS + 1];
    static int32_t column[USERS * USERS];
    struct inmo_csr all = {USERS, USERS, offset, column, NULL};
    const struct inmo_csr *lists[1] = {&all};
    struct inmo_graph *graph = NULL;
    struct inmo_error error = {0};
    int32_t position[2 * USERS];
    float *x = numbers(SIZE, 91), *weight = numbers(2 * USERS, 92);
    float *expected = inmo_alloc(SIZE, sizeof *expected), *found = inmo_alloc(SIZE, sizeof *found);
    float *first = inmo_alloc(SIZE, sizeof *first);
    (void)state;
    for (int32_t u = 0, at = 0; u < USERS; offset[++u] = at)
        for (int32_t i = 0; i < u; i++)
            column[at++] = i;
    must(inmo_graph_build(USERS, USERS, lists, 1, &graph, &error));
    for (size_t t = 0; t < COUNT(thresholds); t++)
        for (int every = 0; every <= 4; every++) { /* 0: all have rows; 1: none; n: every n-th has none */
            struct inmo_gather job = {
                .graph = graph, .dim = DIM, .x = x, .position = position, .weight = every % 2 ? weight : NULL};
            job.drop = (struct inmo_drop){thresholds[t], 3, 4};
            for (int32_t v = 0; v < 2 * USERS; v++)
                position[v] = every && v % every == 0 ? -1 - v : 2 * USERS - 1 - v;
            job.out = expected;
            inmo_gather_reference(&job);
            job.out = found;
            for (int k = 0; inmo_kernels_at(k); k++) {
                memset(found, 0xff, SIZE * sizeof *found);
                inmo_kernels_at(k)->gather_range(&job, 0, 2 * USERS);
                if (k == 0)
                    memcpy(first, found, SIZE * sizeof *found);
                assert_memory_equal(first, found, SIZE * sizeof *found);
                for (int n = 0; n < SIZE; n++)
                    assert_near(found[n], expected[n], 1e-4);
            }
        }
    inmo_graph_free(graph);
    inmo_free(first);
    inmo_free(found);
    inmo_free(expected);
    inmo_free(weight);
    inmo_free(x);
}

/* Every option changes the result: none of the 64 comparisons above compares two jobs that ignore it. */
static void test_gather_options_matter(void **state)
{
    struct inmo_graph *graph = random_graph(40, 50, 0.2, 0);
    struct inputs inputs = make_inputs(graph, 32);
    size_t size = (size_t)graph->nodes * 32;
    float *without = inmo_alloc(size, sizeof *without), *with = inmo_alloc(size, sizeof *with);
    struct inmo_gather job = make_job(&inputs, 0, without);
    (void)state;
    inmo_gather(&job);
    for (int option = 1; option < LIST; option *= 2) {
        job = make_job(&inputs, option, with);
        inmo_gather(&job);
        assert_memory_not_equal(without, with, size * sizeof *with);
    }
    inmo_free(with);
    inmo_free(without);
    free_inputs(&inputs);
    inmo_graph_free(graph);
}

/* ---- Adam ------------------------------------------------------------------------------------------------- */

enum { ADAM_ROWS = 600, ADAM_DIM = 5, ADAM_COUNT = ADAM_ROWS * ADAM_DIM };

struct moments {
    float *parameter, *m, *root;
};

static struct moments make_moments(void)
{
    struct moments moments = {numbers(ADAM_COUNT, 11), numbers(ADAM_COUNT, 12), numbers(ADAM_COUNT, 13)};
    for (size_t n = 0; n < ADAM_COUNT; n++)
        moments.root[n] = n % 10 == 0 ? 0 : fabsf(moments.root[n]); /* a parameter never touched has v = 0 */
    return moments;
}

static void free_moments(struct moments *moments)
{
    inmo_free(moments->root);
    inmo_free(moments->m);
    inmo_free(moments->parameter);
}

static void assert_same_moments(const struct moments *a, const struct moments *b)
{
    assert_memory_equal(a->parameter, b->parameter, ADAM_COUNT * sizeof(float));
    assert_memory_equal(a->m, b->m, ADAM_COUNT * sizeof(float));
    assert_memory_equal(a->root, b->root, ADAM_COUNT * sizeof(float));
}

static void test_adam(void **state)
{
    struct inmo_adam adam = inmo_adam_at(0.01, 3);
    float *gradient = numbers(ADAM_COUNT, 14);
    const struct inmo_kernels *kernels;
    (void)state;
    assert_near(adam.rate, 0.01 / (1 - 0.729), 1e-8); /* 0.9^3 = 0.729, 0.999^3 = 0.997002999 */
    assert_near(adam.root_bias, 1 / sqrt(1 - 0.997002999), 1e-5);
    for (int with_gradient = 0; with_gradient < 2; with_gradient++) {
        struct moments start = make_moments(), first = make_moments();
        double m[ADAM_COUNT], v[ADAM_COUNT], parameter[ADAM_COUNT];
        for (size_t n = 0; n < ADAM_COUNT; n++) {
            m[n] = start.m[n];
            v[n] = (double)start.root[n] * start.root[n];
            parameter[n] = start.parameter[n];
            gradient[n] = with_gradient ? gradient[n] : 0;
        }
        inmo_adam_reference(ADAM_COUNT, adam, gradient, m, v, parameter);
        for (int n = 0; (kernels = inmo_kernels_at(n)) != NULL; n++) {
            struct moments found = make_moments();
            kernels->adam(ADAM_COUNT, adam, gradient, found.m, found.root, found.parameter);
            if (n == 0)
                kernels->adam(ADAM_COUNT, adam, gradient, first.m, first.root, first.parameter);
            assert_same_moments(&first, &found);
            free_moments(&found);
        }
        for (size_t n = 0; n < ADAM_COUNT; n++) {
            assert_near(first.m[n], m[n], 2e-7 * (fabs(m[n]) + 1));
            assert_near(first.root[n], sqrt(v[n]), 2e-7 * (sqrt(v[n]) + 1e-3));
            /* A step with v = 0 and no gradient may be as large as rate |m| / 1e-8. */
            assert_near(first.parameter[n], parameter[n], 1e-6 * (fabs(parameter[n]) + 1));
        }
        free_moments(&first);
        free_moments(&start);
        inmo_free(gradient);
        gradient = numbers(ADAM_COUNT, 14);
    }
    inmo_free(gradient);
}

static void test_adam_rows(void **state)
{
    struct inmo_adam adam = inmo_adam_at(0.01, 1);
    float *gradient = numbers(ADAM_COUNT, 15);
    struct moments expected = make_moments();
    (void)state;
    inmo_kernels()->adam(ADAM_COUNT, adam, gradient, expected.m, expected.root, expected.parameter);
    for (int threads = 1; threads <= 2; threads++) {
        struct moments found = make_moments();
        inmo_set_threads(threads);
        inmo_adam_rows(ADAM_ROWS, ADAM_DIM, adam, gradient, found.m, found.root, found.parameter);
        assert_same_moments(&expected, &found);
        free_moments(&found);
    }
    free_moments(&expected);
    inmo_free(gradient);
}

/* ---- Dot products, scanning ------------------------------------------------------------------------------- */

static void test_dot(void **state)
{
    static const int dims[] = {1, 5, 15, 16, 17, 31, 32, 64, 100, 128};
    enum { ROWS = 20 };
    (void)state;
    for (size_t d = 0; d < COUNT(dims); d++) {
        int dim = dims[d];
        float *query = numbers((size_t)dim, 21), *rows = numbers((size_t)(ROWS * dim), 22), first[ROWS];
        const struct inmo_kernels *kernels;
        for (int k = 0; (kernels = inmo_kernels_at(k)) != NULL; k++) {
            float score[ROWS], sum[128], expected[128];
            kernels->dot_rows(ROWS, dim, query, rows, score);
            for (int n = 0; n < ROWS; n++) {
                double naive = 0, magnitude = 0;
                for (int j = 0; j < dim; j++) {
                    naive += (double)query[j] * rows[n * dim + j];
                    magnitude += fabs((double)query[j] * rows[n * dim + j]);
                }
                assert_near(score[n], naive, 1e-6 * magnitude);
                assert_true(score[n] == kernels->dot(dim, query, rows + n * dim));
                first[n] = k == 0 ? score[n] : first[n];
                assert_true(score[n] == first[n]);
            }
            for (int j = 0; j < dim; j++) {
                sum[j] = rows[j];
                expected[j] = rows[j] + -0.7f * query[j];
            }
            kernels->add_scaled(dim, -0.7f, query, sum);
            assert_memory_equal(sum, expected, (size_t)dim * sizeof *sum);
        }
        inmo_free(rows);
        inmo_free(query);
    }
}

/* The loops of BPR: out += Σ factor x[row], margins of triples, and what becomes of a margin. */
static void test_pairwise(void **state)
{
    static const int dims[] = {1, 5, 16, 17, 64, 100, 128};
    enum { ROWS = 30, TERMS = 45 };
    (void)state;
    for (size_t d = 0; d < COUNT(dims); d++)
        for (int weighted = 0; weighted < 2; weighted++) {
            int dim = dims[d];
            float *x = numbers((size_t)(ROWS * dim), 41), *w = numbers((size_t)dim, 42),
                  *factor = numbers(TERMS, 43);
            float first_sum[128], first_margin[TERMS];
            int32_t index[3 * TERMS];
            const struct inmo_kernels *kernels;
            for (int n = 0; n < 3 * TERMS; n++)
                index[n] = (int32_t)inmo_random_below(inmo_random(KEY + 3, (uint64_t)n), ROWS);
            for (int k = 0; (kernels = inmo_kernels_at(k)) != NULL; k++) {
                float sum[128] = {0}, margin[TERMS];
                kernels->add_rows(dim, TERMS, factor, index, x, sum);
                kernels->margins(TERMS, dim, x, index, index + TERMS, index + 2 * TERMS, weighted ? w : NULL,
                                 margin);
                for (int j = 0; j < dim; j++) {
                    double naive = 0;
                    for (int n = 0; n < TERMS; n++)
                        naive += (double)factor[n] * x[index[n] * dim + j];
                    assert_near(sum[j], naive, 1e-6 * TERMS);
                }
                for (int n = 0; n < TERMS; n++) {
                    double naive = 0;
                    for (int j = 0; j < dim; j++)
                        naive += (double)x[index[n] * dim + j] * (weighted ? w[j] : 1) *
                                 ((double)x[index[2 * TERMS + n] * dim + j] - x[index[TERMS + n] * dim + j]);
                    assert_near(margin[n], naive, 1e-6 * dim);
                }
                if (k == 0) {
                    memcpy(first_sum, sum, sizeof sum);
                    memcpy(first_margin, margin, sizeof margin);
                }
                assert_memory_equal(first_sum, sum, (size_t)dim * sizeof *sum);
                assert_memory_equal(first_margin, margin, sizeof margin);
            }
            inmo_free(factor);
            inmo_free(w);
            inmo_free(x);
        }
}

static void test_softplus(void **state)
{
    static const float margins[] = {0,  -0.0f, 1e-20f, -1e-20f, 1e-6f, 0.1f, -0.1f, 1,   -1,  5,
                                    -5, 30,    -30,    87,      -87,   200,  -200,  900, -900};
    (void)state;
    for (int32_t count = 0; count <= (int32_t)COUNT(margins); count++) {
        float first[COUNT(margins)], found[COUNT(margins)];
        double first_sum = 0, naive = 0, sum;
        const struct inmo_kernels *kernels;
        for (int32_t n = 0; n < count; n++)
            naive += fmax((double)margins[n], 0) + log1p(exp(-fabs((double)margins[n])));
        for (int k = 0; (kernels = inmo_kernels_at(k)) != NULL; k++) {
            memset(found, 0, sizeof found);
            sum = kernels->softplus(count, 0.25f, margins, found);
            assert_near(sum, naive, 1e-9 * naive);
            for (int32_t n = 0; n < count; n++) {
                double exact = 0.25 / (1 + exp(-(double)margins[n]));
                assert_near(found[n], exact, 2e-7 * exact + 1e-40);
            }
            for (size_t n = (size_t)count; n < COUNT(margins); n++)
                assert_true(found[n] == 0);
            if (k == 0) {
                memcpy(first, found, sizeof first);
                first_sum = sum;
            }
            assert_memory_equal(first, found, sizeof found);
            assert_true(sum == first_sum);
        }
    }
}

/* To 2 units in the last place; 0 where the exact value is below the smallest normal float. */
static void test_exponentials(void **state)
{
    static const int32_t counts[] = {0, 1, 15, 16, 17, 500};
    const struct inmo_kernels *kernels;
    (void)state;
    for (size_t c = 0; c < COUNT(counts); c++) {
        float *input = numbers(500, 31), first[500], found[500];
        double first_sum = 0;
        for (int n = 0; n < 500; n++)
            input[n] = n < 400 ? 95 * input[n] : 0.01f * input[n]; /* factor 0.5, shift 40: from -87.5 to 7.5 */
        for (int k = 0; (kernels = inmo_kernels_at(k)) != NULL; k++) {
            double sum, naive = 0;
            memcpy(found, input, sizeof found);
            sum = kernels->exponentials(counts[c], 0.5f, 40, found);
            for (int32_t n = 0; n < counts[c]; n++) {
                float argument = 0.5f * input[n] - 40;
                double exact = exp((double)argument);
                if (argument < -87)
                    assert_true(found[n] == 0);
                else
                    assert_near(found[n], exact, 2.4e-7 * exact);
                naive += found[n];
            }
            assert_near(sum, naive, 1e-6 * naive);
            assert_memory_equal(found + counts[c], input + counts[c], (size_t)(500 - counts[c]) * sizeof *found);
            if (k == 0) {
                memcpy(first, found, sizeof first);
                first_sum = sum;
            }
            assert_memory_equal(first, found, sizeof found);
            assert_true(sum == first_sum);
        }
        inmo_free(input);
    }
}

static void test_above(void **state)
{
    static const int32_t counts[] = {0, 1, 63, 64, 65, 200, 1024};
    const struct inmo_kernels *kernels;
    (void)state;
    for (size_t c = 0; c < COUNT(counts); c++)
        for (int bound = -9; bound <= 9; bound += 3) { /* -9: all; 9: none, equal is not above */
            float score[1024];
            int32_t hit[1024], expected[1024], wanted = 0;
            for (int32_t n = 0; n < counts[c]; n++) {
                score[n] = (float)inmo_random_below(inmo_random(KEY + 2, (uint64_t)n), 18) - 8;
                if (n % 50 == 49)
                    score[n] = n % 100 == 99 ? NAN : -INFINITY;
                if (score[n] > (float)bound)
                    expected[wanted++] = n;
            }
            for (int k = 0; (kernels = inmo_kernels_at(k)) != NULL; k++) {
                float most = -INFINITY;
                for (int32_t n = 0; n < counts[c]; n++)
                    most = score[n] > most ? score[n] : most;
                assert_true(kernels->largest(counts[c], score) == most);
                assert_int_equal(kernels->above(counts[c], score, (float)bound, hit), wanted);
                assert_memory_equal(hit, expected, (size_t)wanted * sizeof *hit);
            }
        }
}

/* ---- A layer's activation ---------------------------------------------------------------------------------- */

/* Every variant equals the twin to the last bit: nothing is summed. */
static void test_activation(void **state)
{
    static const int dims[] = {1, 5, 16, 18, 64};
    const struct inmo_kernels *kernels;
    (void)state;
    for (int n = 0; (kernels = inmo_kernels_at(n)) != NULL; n++)
        for (size_t d = 0; d < COUNT(dims); d++)
            for (int dropped = 0; dropped < 2; dropped++) {
                struct inmo_activation activation = {77, dropped ? 0x60000000u : 0, dropped ? 1.6f : 1, 0.2f};
                size_t size = (size_t)dims[d];
                float *bias = numbers(size, 60), *x = numbers(size, 61), *y = numbers(size, 61);
                float *g = numbers(size, 62), *wanted = numbers(size, 62);
                x[0] = y[0] = -bias[0]; /* exactly at the kink */
                kernels->activate(dims[d], &activation, 12, bias, x);
                inmo_activate_reference(dims[d], &activation, 12, bias, y);
                for (size_t j = 0; j < size; j++)
                    assert_true(x[j] == y[j]);
                kernels->activate_back(dims[d], &activation, 12, x, g);
                inmo_activate_back_reference(dims[d], &activation, 12, y, wanted);
                for (size_t j = 0; j < size; j++) {
                    assert_true(g[j] == wanted[j]);
                    assert_true(dropped || g[j] != 0);
                }
                inmo_free(wanted);
                inmo_free(g);
                inmo_free(y);
                inmo_free(x);
                inmo_free(bias);
            }
}

/* A gather that adds to what stands in its own output: the same as adding from another array. */
static void test_gather_in_place(void **state)
{
    static const int dims[] = {5, 64};
    struct inmo_graph *graph = random_graph(40, 50, 0.2, 0);
    (void)state;
    for (size_t d = 0; d < COUNT(dims); d++) {
        struct inputs inputs = make_inputs(graph, dims[d]);
        size_t size = (size_t)graph->nodes * (size_t)dims[d];
        float *plus = numbers(size, 9), *found = numbers(size, 9), *expected = inmo_alloc(size, sizeof *expected);
        struct inmo_gather job = make_job(&inputs, WEIGHT | DROP, expected);
        job.plus = plus;
        inmo_gather_reference(&job);
        job.plus = job.out = found;
        inmo_gather(&job);
        for (size_t n = 0; n < size; n++)
            assert_near(found[n], expected[n], 1e-5);
        inmo_free(expected);
        inmo_free(found);
        inmo_free(plus);
        free_inputs(&inputs);
    }
    inmo_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_gather_in_place),
        cmocka_unit_test(test_activation),
        cmocka_unit_test(test_gather_long_rows),
        cmocka_unit_test(test_gather_every_length),
        cmocka_unit_test(test_gather_options_matter),
        cmocka_unit_test(test_adam),
        cmocka_unit_test(test_adam_rows),
        cmocka_unit_test(test_dot),
        cmocka_unit_test(test_exponentials),
        cmocka_unit_test(test_pairwise),
        cmocka_unit_test(test_softplus),
        cmocka_unit_test(test_above),
    };
    inmo_set_threads(1); /* where a test asks for nothing else: small loops are slow at two on a busy machine */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
