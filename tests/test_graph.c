/* test_graph.c - the graph and what is computed on it before training: building it from lists, the truncated
 * singular value decomposition against a dense one, and the rules that choose templates, on graphs worked out by
 * hand. */
#include "support.h"

#include "graph/svd.h"
#include "graph/template.h"

/* ---- Building --------------------------------------------------------------------------------------------- */

static void row_is(const struct inmo_graph *graph, int32_t node, const char *expected)
{
    char found[128] = "";
    for (int64_t e = graph->offset[node]; e < graph->offset[node + 1]; e++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%d", *found ? " " : "",
                 graph->neighbour[e]);
    assert_string_equal(found, expected);
}

/* Two lists that overlap, a third that is empty and a fourth with fewer rows; user 2 and item 1 have nothing. */
static void test_union(void **state)
{
    static const int64_t first_offset[] = {0, 2, 3, 3}, second_offset[] = {0, 1, 3, 3}, short_offset[] = {0, 1};
    static const int32_t first_item[] = {0, 3, 2}, second_item[] = {3, 0, 2}, short_item[] = {2};
    struct inmo_csr first = {3, 4, first_offset, first_item, NULL},
                    second = {3, 4, second_offset, second_item, NULL};
    struct inmo_csr empty = {0}, few_rows = {1, 4, short_offset, short_item, NULL}, merged;
    const struct inmo_csr *lists[4] = {&first, &second, &empty, &few_rows};
    struct inmo_error error = {0};
    struct inmo_graph *graph = NULL;
    (void)state;
    must(inmo_graph_build(3, 4, lists, 4, &graph, &error));
    assert_int_equal(graph->nodes, 7);
    assert_int_equal(graph->edges, 5); /* user 0: 0 2 3, user 1: 0 2; the two that are in both lists count once */
    row_is(graph, 0, "3 5 6");
    row_is(graph, 1, "3 5");
    row_is(graph, 2, "");
    row_is(graph, 3, "0 1");
    row_is(graph, 4, "");
    row_is(graph, 5, "0 1");
    row_is(graph, 6, "0");
    assert_near(graph->inverse_degree[0], 1. / 3, 1e-7);
    assert_near(graph->root_degree[0], sqrt(3), 1e-6);
    assert_near(graph->inverse_root_degree[0], 1 / sqrt(3), 1e-7);
    for (int32_t v = 2; v <= 4; v += 2) { /* isolated: counted as if the degree were 1, never a division by zero */
        assert_true(graph->inverse_degree[v] == 1);
        assert_true(graph->root_degree[v] == 1);
        assert_true(graph->inverse_root_degree[v] == 1);
    }
    inmo_graph_free(graph);
    must(inmo_csr_union(3, 4, lists, 4, &merged, &error));
    assert_int_equal(inmo_csr_count(&merged), 5);
    assert_true(inmo_csr_has(&merged, 0, 2) && inmo_csr_has(&merged, 1, 0));
    assert_false(inmo_csr_has(&merged, 2, 0) || inmo_csr_has(&merged, 0, 1));
    inmo_csr_free(&merged);
}

/* No lists at all, and more nodes than numbers. */
static void test_limits(void **state)
{
    struct inmo_error error = {0};
    struct inmo_graph *graph = NULL;
    (void)state;
    must(inmo_graph_build(2, 3, NULL, 0, &graph, &error));
    assert_int_equal(graph->edges, 0);
    row_is(graph, 4, "");
    inmo_graph_free(graph);
    graph = NULL;
    must_fail(inmo_graph_build(INT32_MAX, 1, NULL, 0, &graph, &error), INMO_INPUT, "users and items");
    assert_null(graph);
    for (long allowed = 0; !graph; allowed++) {
        enum inmo_status status;
        inmo_alloc_fail_after(allowed);
        status = inmo_graph_build(2, 3, NULL, 0, &graph, &error);
        inmo_alloc_fail_after(-1);
        assert_int_equal(status, graph ? INMO_OK : INMO_MEMORY);
    }
    inmo_graph_free(graph);
}

/* Every edge stands in both directions, ascending: against the matrix. */
static void test_both_directions(void **state)
{
    struct inmo_graph *graph = random_graph_of(30, 20, 0.15, 1);
    double *y = dense_of(graph, 0);
    (void)state;
    for (int32_t i = 0; i < graph->items; i++) {
        int64_t e = graph->offset[graph->users + i];
        for (int32_t u = 0; u < graph->users; u++)
            if (y[u * graph->items + i] > 0)
                assert_int_equal(graph->neighbour[e++], u);
        assert_int_equal(e, graph->offset[graph->users + i + 1]);
    }
    assert_int_equal(graph->offset[graph->nodes], 2 * graph->edges);
    inmo_free(y);
    inmo_graph_free(graph);
}

static void same_rows(const struct inmo_graph *outline, const struct inmo_graph *graph, int32_t begin, int32_t end)
{
    for (int32_t v = begin; v < end; v++) {
        int64_t degree = inmo_graph_degree(graph, v);
        assert_int_equal(inmo_graph_degree(outline, v), degree);
        assert_memory_equal(inmo_graph_row(outline, v), inmo_graph_row(graph, v), (size_t)degree * sizeof(int32_t));
        assert_true(outline->inverse_root_degree[v] == graph->inverse_root_degree[v]);
    }
}

/* The rows that an outline reads from the list are those of the graph, also after both are renumbered. */
static void test_outline(void **state)
{
    enum { USERS = 30, ITEMS = 20, NODES = USERS + ITEMS };
    static const int32_t begin[2] = {7, USERS + 3}, end[2] = {19, NODES}, none[2] = {4, USERS};
    struct inmo_graph *graph = random_graph_of(USERS, ITEMS, 0.15, 1), *outline = NULL, *other = NULL,
                      *turned = NULL;
    int32_t *column = inmo_alloc((size_t)graph->edges, sizeof *column), node[NODES], scratch[ITEMS];
    struct inmo_csr list = {USERS, ITEMS, graph->offset, column, NULL};
    struct inmo_graph_source source = {&list, NULL};
    struct inmo_error error = {0};
    (void)state;
    for (int64_t e = 0; e < graph->edges; e++)
        column[e] = graph->neighbour[e] - USERS;
    for (int32_t v = 0; v < NODES; v++)
        node[v] = v < USERS ? (v * 7 + 2) % USERS : USERS + (v * 3 + 1) % ITEMS;
    for (long allowed = 0; !outline; allowed++) {
        enum inmo_status status;
        inmo_alloc_fail_after(allowed);
        status = inmo_graph_outline(source, &outline, &error);
        inmo_alloc_fail_after(-1);
        assert_int_equal(status, outline ? INMO_OK : INMO_MEMORY);
    }
    same_rows(outline, graph, 0, NODES); /* one rank has all stretches */
    must(inmo_graph_renumber(graph, node, &turned, &error));
    for (long allowed = 0; !other; allowed++) {
        enum inmo_status status;
        inmo_alloc_fail_after(allowed);
        status = inmo_graph_renumber(outline, node, &other, &error);
        inmo_alloc_fail_after(-1);
        assert_int_equal(status, other ? INMO_OK : INMO_MEMORY);
    }
    same_rows(other, turned, 0, NODES);
    for (int renumbered = 0; renumbered < 2; renumbered++) {
        struct inmo_graph *some = renumbered ? other : outline, *all = renumbered ? turned : graph;
        must(inmo_graph_fill(some, begin, end, &error));
        for (int side = 0; side < 2; side++)
            same_rows(some, all, begin[side], end[side]);
        must(inmo_graph_fill(some, none, none, &error));
        for (int32_t u = 0; u < USERS; u++)
            assert_memory_equal(inmo_graph_read_user(some, u, scratch), inmo_graph_row(all, u),
                                (size_t)inmo_graph_degree(all, u) * sizeof(int32_t));
    }
    inmo_free(column);
    inmo_graph_free(turned);
    inmo_graph_free(other);
    inmo_graph_free(outline);
    inmo_graph_free(graph);
}

/* ---- Singular value decomposition ----------------------------------------------------------------------- */

static void check_svd(const struct inmo_graph *graph, int rank, int normalised)
{
    struct inmo_error error = {0};
    struct inmo_svd *svd = NULL;
    int users = graph->users, items = graph->items;
    double *y = dense_of(graph, normalised), found_error = 0, worst = 0;
    struct dense_svd exact = dense_svd_of(y, users, items);
    must(inmo_svd_compute(graph, rank, normalised, 30, 5, NULL, &svd, &error));
    assert_int_equal(svd->rank, rank < exact.rank ? rank : exact.rank);
    rank = svd->rank;
    for (int k = 0; k < rank; k++)
        assert_near(svd->s[k], exact.s[k], 1e-4 * exact.s[0]);
    for (int u = 0; u < users; u++)
        for (int i = 0; i < items; i++) {
            double approximation = 0;
            for (int k = 0; k < rank; k++)
                approximation += (double)svd->u[u * rank + k] * svd->s[k] * svd->v[i * rank + k];
            worst = fmax(worst, fabs(approximation - truncated(&exact, rank, u, i)));
            found_error += pow(y[u * items + i] - approximation, 2);
        }
    assert_near(worst, 0, 1e-3 * exact.s[0]);
    assert_near(found_error, least_error(&exact, rank), 1e-4 * exact.s[0] * exact.s[0]);
    for (int a = 0; a < rank; a++) /* orthonormal columns */
        for (int b = 0; b < rank; b++) {
            double uu = 0, vv = 0;
            for (int u = 0; u < users; u++)
                uu += (double)svd->u[u * rank + a] * svd->u[u * rank + b];
            for (int i = 0; i < items; i++)
                vv += (double)svd->v[i * rank + a] * svd->v[i * rank + b];
            assert_near(uu, a == b, 1e-4);
            assert_near(vv, a == b, 1e-4);
        }
    inmo_svd_free(svd);
    free_dense_svd(&exact);
    inmo_free(y);
}

static void test_svd(void **state)
{
    struct inmo_graph *graph = random_graph_of(60, 45, 0.2, 2), *small = random_graph_of(9, 14, 0.4, 3);
    (void)state;
    for (int normalised = 0; normalised < 2; normalised++) {
        check_svd(graph, 5, normalised);
        check_svd(graph, 20, normalised);
        check_svd(small, 3, normalised);
        check_svd(small, 40, normalised); /* cut to 9 */
    }
    inmo_graph_free(small);
    inmo_graph_free(graph);
}

/* The same bytes at any number of threads, others for another seed. */
static void test_svd_repeats(void **state)
{
    struct inmo_graph *graph = random_graph_of(60, 45, 0.2, 2);
    struct inmo_error error = {0};
    struct inmo_svd *svd[3] = {NULL};
    (void)state;
    for (int n = 0; n < 3; n++) {
        inmo_set_threads(n == 1 ? 2 : 1);
        must(inmo_svd_compute(graph, 7, 0, 2, n == 2 ? 6 : 5, NULL, &svd[n], &error));
    }
    assert_memory_equal(svd[0]->u, svd[1]->u, 60 * 7 * sizeof(float));
    assert_memory_equal(svd[0]->s, svd[1]->s, 7 * sizeof(float));
    assert_memory_equal(svd[0]->v, svd[1]->v, 45 * 7 * sizeof(float));
    assert_memory_not_equal(svd[0]->u, svd[2]->u, 60 * 7 * sizeof(float));
    for (int n = 0; n < 3; n++)
        inmo_svd_free(svd[n]);
    inmo_graph_free(graph);
}

/* The largest singular value of the normalised matrix is 1, with the roots of the degrees as its vector. */
static void test_normalised_svd(void **state)
{
    struct inmo_graph *graph = random_graph_of(60, 45, 0.2, 2);
    struct inmo_error error = {0};
    struct inmo_svd *svd = NULL;
    (void)state;
    must(inmo_svd_compute(graph, 1, 1, 30, 5, NULL, &svd, &error));
    assert_near(svd->s[0], 1, 1e-5);
    for (int u = 0; u < graph->users; u++)
        assert_near(fabs(svd->u[u]), sqrt((double)inmo_graph_degree(graph, u) / (double)graph->edges), 1e-4);
    inmo_svd_free(svd);
    inmo_graph_free(graph);
}

/* ---- Templates ------------------------------------------------------------------------------------------- */

/* Users 0: 0 1, 1: 0, 2: 0 1 2, 3 nothing; item 3 nothing. Degrees 2 1 3 0 and 3 2 1 0. */
static const char *const staircase[] = {"01", "0", "012", ""};

static void assert_scores(const struct inmo_graph *graph, const char *rule, int rank, const double *expected,
                          double tolerance)
{
    struct inmo_error error = {0};
    double score[32];
    must(inmo_template_scores(graph, rule, rank, 1, NULL, score, &error));
    for (int32_t v = 0; v < graph->nodes; v++)
        assert_near(score[v], expected[v], tolerance);
}

static void test_simple_rules(void **state)
{
    static const double degree[] = {2, 1, 3, 0, 3, 2, 1, 0};
    /* Σ 1/d over the items of user 0: 1/3 + 1/2, of user 1: 1/3, of user 2: 1/3 + 1/2 + 1; over the users of
     * item 0: 1/2 + 1 + 1/3, of item 1: 1/2 + 1/3, of item 2: 1/3. */
    static const double error_sort[] = {5. / 6, 1. / 3, 11. / 6, 0, 11. / 6, 5. / 6, 1. / 3, 0};
    struct inmo_graph *graph = graph_of(4, 4, staircase);
    (void)state;
    assert_scores(graph, "degree", 1, degree, 0);
    assert_scores(graph, "error-sort", 1, error_sort, 1e-12);
    inmo_graph_free(graph);
}

/* Two blocks of ones: users 0 1 with items 0 1 2, user 2 with item 3. Singular values √6 and 1; the vectors of
 * the first are 1/√2 on users 0 1 and 1/√3 on items 0 1 2, those of the second 1 on user 2 and item 3. Degrees 3
 * 3 1 and 2 2 2 1.
 *
 *   ‖U_u‖²·Σ d_i      users 0 1: 1/2 · 6 = 3       items 0 1 2: 1/3 · 6 = 2
 *   (U_u' M U_u)·Σ 1/d_i, M diagonal:   users, 1/2/9 · 2 = 1/9 and 1;   items, 1/3/4 · 3 = 1/4 and 1
 *                     users 0 1: 1/2 · 1/9 · 3/2 = 1/12         items 0 1 2: 1/3 · 1/4 · 2/3 = 1/18
 *
 * User 2 and item 3 have 0 at rank 1, and 1 · 1 under both rules at rank 2. */
static void test_svd_rules(void **state)
{
    static const char *const blocks[] = {"012", "012", "3"};
    double plain[] = {3, 3, 0, 2, 2, 2, 0}, norm[] = {1. / 12, 1. / 12, 0, 1. / 18, 1. / 18, 1. / 18, 0};
    struct inmo_graph *graph = graph_of(3, 4, blocks);
    (void)state;
    assert_scores(graph, "error-sort-svd", 1, plain, 1e-5);
    assert_scores(graph, "error-sort-svd-norm", 1, norm, 1e-6);
    plain[2] = plain[6] = norm[2] = norm[6] = 1;
    assert_scores(graph, "error-sort-svd", 2, plain, 1e-5);
    assert_scores(graph, "error-sort-svd-norm", 2, norm, 1e-6);
    inmo_graph_free(graph);
}

/* One user with two items: h = 0.05 + 0.85 · 2l and l = 0.05 + 0.85 h/2 give h = 0.135/0.2775, l = 0.05 + 0.425
 * h. */
static void test_page_rank(void **state)
{
    static const char *const star[] = {"01"};
    const double hub = 0.135 / 0.2775, leaf = 0.05 + 0.425 * (0.135 / 0.2775);
    const double expected[] = {hub, leaf, leaf};
    struct inmo_graph *graph = graph_of(1, 2, star);
    struct inmo_error error = {0};
    double score[32], sum = 0, stranded;
    (void)state;
    assert_near(hub + 2 * leaf, 1, 1e-12);
    assert_scores(graph, "page-rank", 1, expected, 1e-9);
    inmo_graph_free(graph);

    /* With nodes that lead nowhere the sum is 1 still, and the scores solve the equation. */
    graph = graph_of(4, 4, staircase);
    must(inmo_template_scores(graph, "page-rank", 1, 1, NULL, score, &error));
    stranded = (score[3] + score[7]) / 8;
    for (int32_t v = 0; v < 8; v++) {
        double from_neighbours = 0;
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++)
            from_neighbours += score[graph->neighbour[e]] / (double)inmo_graph_degree(graph, graph->neighbour[e]);
        assert_near(score[v], 0.15 / 8 + 0.85 * (from_neighbours + stranded), 1e-9);
        sum += score[v];
    }
    assert_near(sum, 1, 1e-9);
    assert_true(score[2] > score[0] && score[0] > score[1] && score[1] > score[3]);
    inmo_graph_free(graph);
}

static void test_random_rule(void **state)
{
    struct inmo_graph *graph = random_graph_of(40, 40, 0.2, 4);
    struct inmo_error error = {0};
    double score[3][80], sum = 0;
    (void)state;
    for (int n = 0; n < 3; n++)
        must(inmo_template_scores(graph, "random", 1, n == 2 ? 8 : 7, NULL, score[n], &error));
    assert_memory_equal(score[0], score[1], sizeof *score);
    assert_memory_not_equal(score[0], score[2], sizeof *score);
    for (int v = 0; v < 80; v++) {
        assert_true(score[0][v] >= 0 && score[0][v] < 1);
        sum += score[0][v];
    }
    assert_near(sum / 80, 0.5, 0.15);
    inmo_graph_free(graph);
}

static void chosen_are(const struct inmo_graph *graph, const double *score, double users, double items,
                       const char *expected)
{
    struct inmo_error error = {0};
    int32_t node[32], count = -1;
    char found[128] = "";
    must(inmo_template_choose(graph, score, users, items, node, &count, &error));
    for (int32_t n = 0; n < count; n++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%d", *found ? " " : "", node[n]);
    assert_string_equal(found, expected);
}

/* Shares are of the users or items with interactions, rounded down; equal scores go by number; who has nothing
 * neither counts nor is chosen. */
static void test_choice(void **state)
{
    static const double degree[] = {2, 1, 3, 0, 3, 2, 1, 0}, isolated_best[] = {2, 1, 3, 99, 3, 2, 1, 99};
    static const double equal[] = {1, 1, 1, 1, 1, 1, 1, 1};
    struct inmo_graph *graph = graph_of(4, 4, staircase);
    (void)state;
    chosen_are(graph, degree, 1.0 / 3, 0.5, "2 4");   /* one of the three with interactions; ⌊1.5⌋ = 1 */
    chosen_are(graph, degree, 0.67, 0.75, "0 2 4 5"); /* ⌊2.01⌋ and ⌊2.25⌋; ascending, not by score */
    chosen_are(graph, degree, 0.66, 1e-9, "2 4");     /* ⌊1.98⌋ = 1; at least one */
    chosen_are(graph, degree, 1, 0.999, "0 1 2 4 5"); /* three of four have interactions; ⌊2.997⌋ */
    chosen_are(graph, degree, 1, 1, "0 1 2 4 5 6");
    chosen_are(graph, isolated_best, 0.5, 0.7, "2 4 5");
    chosen_are(graph, equal, 0.7, 0.7, "0 1 4 5");
    inmo_graph_free(graph);
}

/* A share that is a whole number of nodes on paper is that number, though 0.58 · 50 is 28.999... as computed. */
static void test_whole_shares(void **state)
{
    const char *row[50];
    struct inmo_graph *graph;
    struct inmo_error error = {0};
    double score[51] = {0};
    int32_t node[51], count;
    (void)state;
    for (int u = 0; u < 50; u++)
        row[u] = "0";
    graph = graph_of(50, 1, row);
    for (int wanted = 1; wanted <= 50; wanted++) {
        must(inmo_template_choose(graph, score, wanted / 50.0, 1, node, &count, &error));
        assert_int_equal(count, wanted + 1);
    }
    inmo_graph_free(graph);
}

static void test_out_of_memory(void **state)
{
    static const char *const rules[] = {"error-sort-svd", "error-sort-svd-norm", "page-rank"};
    struct inmo_graph *graph = graph_of(4, 4, staircase);
    struct inmo_error error = {0};
    double score[8];
    (void)state;
    for (size_t n = 0; n < COUNT(rules); n++) {
        enum inmo_status status = INMO_MEMORY;
        long allowed = 0;
        for (; status == INMO_MEMORY; allowed++) {
            inmo_alloc_fail_after(allowed);
            status = inmo_template_scores(graph, rules[n], 2, 1, NULL, score, &error);
            inmo_alloc_fail_after(-1);
        }
        assert_int_equal(status, INMO_OK);
        assert_true(allowed > 1);
    }
    inmo_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_union),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_both_directions),
        cmocka_unit_test(test_outline),
        cmocka_unit_test(test_svd),
        cmocka_unit_test(test_svd_repeats),
        cmocka_unit_test(test_normalised_svd),
        cmocka_unit_test(test_simple_rules),
        cmocka_unit_test(test_svd_rules),
        cmocka_unit_test(test_page_rank),
        cmocka_unit_test(test_random_rule),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_whole_shares),
        cmocka_unit_test(test_out_of_memory),
    };
    inmo_set_threads(1); /* where a test asks for nothing else: small loops are slow at two on a busy machine */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
