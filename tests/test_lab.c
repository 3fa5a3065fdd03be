/* test_lab.c - the paired test, the error term, the paper's numbers, the list of experiments. That a call
 * stopped anywhere ends with the same numbers is a test of the program (tests/cli). */
#include "support.h"

#include "base/tensorfile.h"
#include "lab/run.h"

#include "graph/svd.h"
#include "lab/experiment.h"
#include "lab/lab.h"
#include "lab/paper.h"
#include "lab/significance.h"

/* ---- The paired test ----------------------------------------------------------------------------------------- */

static void test_sign_flips(void **state)
{
    struct inmo_error error = {0};
    struct inmo_paired_test test;
    double all_better[] = {1, 1, 1, 1, NAN, 0}, balanced[] = {1, -1, 2, -2}, nothing[] = {0, 0, NAN};
    (void)state;
    /* Of four ones, two of the 16 ways to give signs are as far from 0: p is near 1/8. NAN is not counted, 0 is. */
    must(inmo_paired_test(all_better, COUNT(all_better), &test, &error));
    assert_int_equal(test.users, 5);
    assert_near(test.mean, 0.8, 1e-15);
    assert_near(test.p, 0.125, 0.015);
    assert_near(test.high - test.mean, 1.96 * sqrt(0.2 / 5), 1e-12);
    must(inmo_paired_test(balanced, COUNT(balanced), &test, &error));
    assert_true(test.p == 1 && test.mean == 0);
    must(inmo_paired_test(nothing, COUNT(nothing), &test, &error));
    assert_true(test.p == 1 && test.users == 2);
}

static void test_same_at_any_threads(void **state)
{
    struct inmo_error error = {0};
    struct inmo_paired_test one, two;
    double difference[500];
    (void)state;
    for (int n = 0; n < 500; n++)
        difference[n] = inmo_random_normal(inmo_key(7, INMO_STREAM_SYNTH), (uint64_t)n) + 0.08;
    inmo_set_threads(1);
    must(inmo_paired_test(difference, 500, &one, &error));
    inmo_set_threads(2);
    must(inmo_paired_test(difference, 500, &two, &error));
    assert_near(two.p, one.p, 0);
    assert_true(one.p > 0.0001 && one.p < 1);
}

/* ---- The error term ------------------------------------------------------------------------------------------ */

/* |U U^T L Y|^2 by its definition, with users [0, gone) of an order no templates. */
static double naive_error(const struct inmo_graph *graph, const struct inmo_svd *svd, const int32_t *order,
                          int32_t gone)
{
    double total = 0;
    for (int32_t row = 0; row < graph->users; row++)
        for (int32_t i = 0; i < graph->items; i++) {
            double entry = 0;
            for (int32_t n = 0; n < gone; n++)
                for (int64_t e = graph->offset[order[n]]; e < graph->offset[order[n] + 1]; e++)
                    if (graph->neighbour[e] == graph->users + i)
                        for (int k = 0; k < svd->rank; k++)
                            entry += (double)svd->u[row * svd->rank + k] * (double)svd->u[order[n] * svd->rank + k];
            total += entry * entry;
        }
    return total;
}

static void test_error_term(void **state)
{
    /* users 0 to 19 with degrees 1 to 20: the rule degree gives them up in this order, a point each */
    enum { USERS = 20, ITEMS = 20 };
    struct inmo_error error = {0};
    int64_t offset[USERS + 1] = {0};
    int32_t column[USERS * (USERS + 1) / 2], order[USERS];
    struct inmo_csr train = {.rows = USERS, .columns = ITEMS, .offset = offset, .column = column};
    const struct inmo_csr *lists = &train;
    struct inmo_graph *graph = NULL;
    struct inmo_svd *svd = NULL;
    double share[INMO_LAB_POINTS], value[INMO_LAB_POINTS], whole;
    int32_t at = 0;
    (void)state;
    for (int32_t u = 0; u < USERS; u++) {
        for (int32_t i = 0; i <= u; i++)
            column[at++] = i;
        offset[u + 1] = at;
        order[u] = u;
    }
    must(inmo_graph_build(USERS, ITEMS, &lists, 1, &graph, &error));
    must(inmo_svd_compute(graph, 4, 0, 6, 1, NULL, &svd, &error));
    must(inmo_lab_error_curve(graph, 4, "degree", 0, share, value, &error));
    whole = naive_error(graph, svd, order, USERS);
    for (int point = 0; point < INMO_LAB_POINTS; point++) {
        assert_near(share[point], point / 20.0, 1e-12);
        assert_near(value[point], naive_error(graph, svd, order, point) / whole, 1e-4);
    }
    inmo_svd_free(svd);
    inmo_graph_free(graph);
}

/* ---- The paper's numbers ------------------------------------------------------------------------------------- */

static void test_paper(void **state)
{
    (void)state;
    assert_string_equal(inmo_paper_data(29858, 40981, 1027370), "Gowalla");
    assert_null(inmo_paper_data(31668, 38048, 1561406));
    assert_near(inmo_paper_value("Gowalla", "table2", "INMO-LGCN", 2), 15.41, 0);
    assert_near(inmo_paper_value("Amazon-Book", "table4", "INMO-LGCN", 2), 7.94, 0);
    assert_true(isnan(inmo_paper_value("Gowalla", "table4", "INMO-LGCN", -1)));
    assert_true(isnan(inmo_paper_value(NULL, "table2", "INMO-LGCN", 2)));
}

/* ---- The list ------------------------------------------------------------------------------------------------ */

static void test_every_model_is_in_the_tables(void **state)
{
    struct inmo_error error = {0};
    (void)state;
    for (size_t n = 0; inmo_lab_experiment_at(n); n++) {
        const struct inmo_lab_experiment *experiment = inmo_lab_experiment_at(n);
        struct inmo_lab_row *row = NULL;
        size_t count = 0;
        must(inmo_lab_rows(experiment, &row, &count, &error));
        assert_true((count > 0) ==
                    (experiment->shape != INMO_LAB_STATISTICS && experiment->shape != INMO_LAB_ERRORS));
        for (size_t k = 0; inmo_model_kind_at(k) && strcmp(experiment->name, "table2") == 0; k++) {
            size_t r = 0;
            while (r < count && strcmp(row[r].system.model, inmo_model_kind_at(k)->name) != 0)
                r++;
            assert_true(r < count);
        }
        inmo_free(row);
    }
}

/* ---- Files of runs ------------------------------------------------------------------------------------------ */

static void count_warnings(void *context, enum inmo_level level, const char *sentence)
{
    assert_non_null(strstr(sentence, "it is trained again"));
    *(int *)context += level == INMO_WARNING;
}

/* Loads a file of these arrays and this result; 1 when it is taken, 0 when it gets a warning. */
static int taken(const char *result, const struct inmo_tensor *array, size_t count)
{
    const struct inmo_metadata metadata[] = {{"identity", "{}"}, {"result", result}};
    struct inmo_error error = {0};
    struct inmo_lab_run run = {.name = "run", .identity = inmo_copy_string("{}")};
    int warnings = 0, is_taken;
    struct inmo_hooks hooks = {.context = &warnings, .log = count_warnings};
    must(inmo_tensorfile_write("run.run", 1, "run", 1, metadata, 2, array, count, &error));
    must(inmo_lab_run_load(&run, ".", &hooks, &error));
    is_taken = run.result != NULL;
    assert_int_equal(warnings, !is_taken);
    if (!is_taken)
        assert_true(!run.ndcg[0] && !run.ndcg[1] && !run.is_new);
    inmo_lab_run_free(&run);
    return is_taken;
}

static void test_forged_runs(void **state)
{
    static const char GOOD[] = "{\"evaluations\": [], \"seconds\": 1, \"record\": []}";
    static const char *const wrong[] = {"[]",
                                        "{",
                                        "{}",
                                        "{\"evaluations\": {}, \"seconds\": 1, \"record\": []}",
                                        "{\"evaluations\": [], \"seconds\": -1, \"record\": []}",
                                        "{\"evaluations\": [], \"seconds\": \"1\", \"record\": []}",
                                        "{\"evaluations\": [], \"seconds\": 1}"};
    static const float ndcg[6] = {0};
    static const uint8_t flag[3] = {0, 1, 1}, no_flag[3] = {0, 1, 2};
    const struct inmo_tensor good[] = {
        {"ndcg.0", INMO_F32, 3, 0, ndcg}, {"ndcg.1", INMO_F32, 3, 0, ndcg}, {"users.new", INMO_U8, 3, 0, flag}};
    const struct inmo_tensor bad[] = {{"ndcg.0", INMO_F32, 2, 0, ndcg}, {"ndcg.0", INMO_F32, 3, 2, ndcg},
                                      {"ndcg.0", INMO_U8, 3, 0, flag},  {"users.new", INMO_F32, 3, 0, ndcg},
                                      {"other", INMO_F32, 3, 0, ndcg},  {"users.new", INMO_U8, 3, 0, no_flag}};
    (void)state;
    assert_int_equal(enter_directory(NULL), 0);
    assert_true(taken(GOOD, good, 3));
    assert_true(taken(GOOD, good, 1));
    for (size_t n = 0; n < COUNT(wrong); n++)
        assert_false(taken(wrong[n], good, 3));
    for (size_t n = 0; n < COUNT(bad); n++) {
        struct inmo_tensor array[] = {good[1], bad[n]};
        assert_false(taken(GOOD, array, 2));
    }
    assert_int_equal(leave_directory(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sign_flips), cmocka_unit_test(test_same_at_any_threads),
        cmocka_unit_test(test_error_term), cmocka_unit_test(test_forged_runs),
        cmocka_unit_test(test_paper),      cmocka_unit_test(test_every_model_is_in_the_tables),
    };
    return cmocka_run_group_tests_name("lab", tests, NULL, NULL);
}
