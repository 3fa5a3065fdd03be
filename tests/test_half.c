/* test_half.c - rows stored in half precision: rounding, packing, and the gather from and to them, at every
 * vector width, against the naive twin. */
#include "support.h"

#include "kernel/kernel.h"

enum { USERS = 40, ITEMS = 60 };

static float number(uint64_t n)
{
    return (float)inmo_random_normal(inmo_key(7, 77), n);
}

static struct inmo_graph *make_graph(void)
{
    static int64_t offset[USERS + 1];
    static int32_t column[USERS * ITEMS];
    struct inmo_csr list = {USERS, ITEMS, offset, column, NULL};
    const struct inmo_csr *lists[1] = {&list};
    struct inmo_graph *graph = NULL;
    struct inmo_error error;
    int64_t count = 0;
    for (int32_t u = 0; u < USERS; u++) {
        offset[u] = count;
        for (int32_t i = 1; i < ITEMS; i++) /* item 0 has nobody */
            if (inmo_random_unit(inmo_random(inmo_key(3, 33), (uint64_t)(u * ITEMS + i))) < 0.3)
                column[count++] = i;
    }
    offset[USERS] = count;
    must(inmo_graph_build(USERS, ITEMS, lists, 1, &graph, &error));
    return graph;
}

static uint16_t half_bits(const uint32_t *row, int j)
{
    int within = j % INMO_HALF_BLOCK;
    uint32_t word = row[(j - within) / 2 + within % 16];
    return (uint16_t)(within < 16 ? word : word >> 16);
}

static float half_value(const uint32_t *row, int j)
{
    uint32_t bits = (uint32_t)half_bits(row, j) << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* bfloat16 has 8 bits of significand: 1 + 1/256 lies halfway between 1 and 1 + 1/128 and goes to the even one. */
static void test_rounding(void **state)
{
    static const struct {
        float from, to;
    } cases[] = {
        {1, 1},
        {-2.5f, -2.5f},
        {0, 0},
        {1 + 1.0f / 256, 1},
        {1 + 3.0f / 256, 1 + 2.0f / 128},
        {1 + 1.01f / 256, 1 + 1.0f / 128},
        {-1 - 1.01f / 256, -1 - 1.0f / 128},
        {1e30f, 0},
        {3e-38f, 0},
    };
    float x[64], back[64];
    uint32_t half[32];
    (void)state;
    for (int v = 0; inmo_kernels_at(v); v++)
        for (size_t c = 0; c < COUNT(cases); c++) {
            for (int j = 0; j < 64; j++)
                x[j] = j % 2 ? cases[c].from : 0.5f;
            inmo_kernels_at(v)->to_half(64, 1, x, half);
            memset(back, 0, sizeof back);
            inmo_kernels_at(v)->add_half(64, half, back);
            for (int j = 0; j < 64; j++) {
                assert_true(back[j] == half_value(half, j));
                if (j % 2 == 0)
                    assert_true(back[j] == 0.5f);
                else if (cases[c].to != 0 || cases[c].from == 0)
                    assert_true(back[j] == cases[c].to);
                else
                    assert_true(fabsf(back[j] / cases[c].from - 1) <= 1.0f / 256);
            }
        }
}

static void check_dim(const struct inmo_graph *graph, int dim, int from_half, int to_half, int filtered, int listed,
                      int added)
{
    size_t size = (size_t)graph->nodes * (size_t)dim;
    float *x = inmo_alloc(size, sizeof *x), *plus = inmo_alloc(size, sizeof *plus);
    float *out = inmo_alloc_zero(size, sizeof *out), *wanted = inmo_alloc_zero(size, sizeof *wanted);
    uint32_t *half = inmo_alloc(size / 2, sizeof *half), *half_out = inmo_alloc_zero(size / 2, sizeof *half_out);
    uint32_t *half_wanted = inmo_alloc_zero(size / 2, sizeof *half_wanted);
    size_t bytes = size * (to_half ? sizeof *half / 2 : sizeof *out);
    void *first = inmo_alloc(bytes, 1);
    int32_t node[3] = {USERS + 5, 2, USERS}, position[USERS + ITEMS];
    for (size_t n = 0; n < size; n++) {
        x[n] = number(n);
        plus[n] = number(size + n);
    }
    for (int32_t v = 0; v < graph->nodes; v++) {
        position[v] = v % 3 ? graph->nodes - 1 - v : -1;
        inmo_kernels()->to_half(dim, 1, x + (size_t)v * (size_t)dim, half + (size_t)v * (size_t)dim / 2);
    }
    struct inmo_gather job = {
        .graph = graph,
        .dim = dim,
        .x = from_half ? NULL : x,
        .half = from_half ? half : NULL,
        .weight = filtered ? graph->inverse_root_degree : NULL,
        .position = filtered ? position : NULL,
        .drop = {filtered ? 1u << 30 : 0, 11, 12},
        .scale = graph->inverse_degree,
        .plus = added ? plus : NULL,
        .plus_position = position,
        .node = listed ? node : NULL,
        .node_count = 3,
        .out = to_half ? NULL : wanted,
        .half_out = to_half ? half_wanted : NULL,
    };
    int32_t rows = listed ? 3 : graph->nodes;
    inmo_gather_reference(&job);
    job.out = to_half ? NULL : out;
    job.half_out = to_half ? half_out : NULL;
    for (int v = 0; inmo_kernels_at(v); v++) {
        inmo_kernels_at(v)->gather_range(&job, 0, rows);
        for (int32_t n = 0; n < rows; n++)
            for (int j = 0; j < dim; j++) {
                size_t at = (size_t)n * (size_t)dim;
                double found = to_half ? half_value(half_out + at / 2, j) : out[at + (size_t)j];
                double expected = to_half ? half_value(half_wanted + at / 2, j) : wanted[at + (size_t)j];
                assert_near(found, expected, to_half ? fabs(expected) / 128 + 1e-5 : 1e-5 * (1 + fabs(expected)));
            }
        if (v == 0) /* the other widths must have the same bytes */
            memcpy(first, to_half ? (void *)half_out : out, bytes);
        assert_memory_equal(first, to_half ? (void *)half_out : out, bytes);
    }
    inmo_free(first);
    inmo_free(half_wanted);
    inmo_free(half_out);
    inmo_free(half);
    inmo_free(wanted);
    inmo_free(out);
    inmo_free(plus);
    inmo_free(x);
}

static void test_gather(void **state)
{
    static const int dims[] = {32, 64, 96, 128, 224};
    struct inmo_graph *graph = make_graph();
    (void)state;
    for (size_t d = 0; d < COUNT(dims); d++)
        for (int options = 0; options < 32; options++)
            check_dim(graph, dims[d], options & 1, options & 2, options & 4, options & 8, options & 16);
    inmo_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_gather),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
