/* test_walk.c - short walks: against the formula on a dense matrix, inside a ranking against its twin, and
 * through a trained model: lists, explanations, files and threads. */
#include "agreement.h"

#include "score/rank.h"
#include "score/walk.h"

/* weight · d_i^γ · Σ_v 1/d_j 1/d_v, as written down. */
static double formula(const struct inmo_graph *graph, const double *y, double weight, double popularity, int32_t j,
                      int32_t i)
{
    double sum = 0, own = (double)inmo_graph_degree(graph, graph->users + j);
    for (int32_t v = 0; v < graph->users; v++)
        if (y[v * graph->items + j] > 0 && y[v * graph->items + i] > 0)
            sum += 1 / own / (double)inmo_graph_degree(graph, v);
    return i == j ? 0 : weight * pow((double)inmo_graph_degree(graph, graph->users + i), popularity) * sum;
}

static void test_formula(void **state)
{
    struct inmo_error error = {0};
    struct inmo_graph *graph = random_graph_of(40, 30, 0.15, 5);
    double *y = dense_of(graph, 0);
    struct inmo_walks *all = NULL, *few[2] = {NULL, NULL};
    (void)state;
    must(inmo_walks_make(graph, 2.5, -0.2, 1000, NULL, &all, &error));
    for (int threads = 1; threads <= 2; threads++) {
        inmo_set_threads(threads);
        must(inmo_walks_make(graph, 2.5, -0.2, 4, NULL, &few[threads - 1], &error));
    }
    inmo_set_threads(0);
    assert_int_equal(all->k, graph->items);
    assert_memory_equal(few[0]->item, few[1]->item, (size_t)(graph->items * 4) * sizeof(int32_t));
    assert_memory_equal(few[0]->weight, few[1]->weight, (size_t)(graph->items * 4) * sizeof(float));
    for (int32_t j = 0; j < graph->items; j++) {
        double least = inmo_walks_between(few[0], j, few[0]->item[j * 4 + 3]);
        for (int32_t i = 0; i < graph->items; i++) {
            double expected = formula(graph, y, 2.5, -0.2, j, i), kept = inmo_walks_between(few[0], j, i);
            assert_near(inmo_walks_between(all, j, i), expected, 1e-6);
            assert_true(kept == 0 ? expected <= least + 1e-6
                                  : fabs(kept - expected) < 1e-6); /* the heaviest are kept */
        }
    }
    inmo_walks_free(few[1]);
    inmo_walks_free(few[0]);
    inmo_walks_free(all);
    inmo_free(y);
    inmo_graph_free(graph);
}

/* What a history collects is ascending, complete, and leaves nothing behind for the next. */
static void test_collect(void **state)
{
    struct inmo_error error = {0};
    struct inmo_graph *graph = random_graph_of(50, 200, 0.06, 6);
    struct inmo_walks *walks = NULL;
    struct inmo_sums space = {0};
    int32_t item[200];
    float value[200];
    (void)state;
    must(inmo_walks_make(graph, 1, 0, 5, NULL, &walks, &error));
    assert_int_equal(inmo_sums_make(&space, 200), 0);
    for (int32_t u = 0; u < graph->users; u++) {
        int32_t count = (int32_t)inmo_graph_degree(graph, u), at = 0;
        const int32_t *node = graph->neighbour + graph->offset[u];
        int32_t found;
        inmo_walks_add(walks, node, NULL, count, graph->users, &space);
        found = inmo_sums_collect(&space, item, value);
        assert_true(found <= inmo_walks_most(walks, count));
        for (int32_t i = 0; i < graph->items; i++) {
            double expected = 0;
            for (int32_t n = 0; n < count; n++)
                expected += inmo_walks_between(walks, node[n] - graph->users, i);
            if (at < found && item[at] == i)
                assert_near(value[at++], expected, 1e-6);
            else
                assert_true(expected == 0);
        }
        assert_int_equal(at, found);
    }
    inmo_sums_free(&space);
    inmo_walks_free(walks);
    inmo_graph_free(graph);
}

/* More users than a block, more items than a tile; all items, and some. Weights are rounded to 1/8 and vectors
 * whole, so that sums are exact and the twin's lists are these lists. */
static void test_ranking(void **state)
{
    enum { USERS = 260, ITEMS = 1300, DIM = 3, K = 10 };
    struct inmo_error error = {0};
    struct inmo_graph *graph = random_graph_of(USERS, ITEMS, 0.01, 7);
    struct inmo_walks *walks = NULL;
    static float vector[(USERS + ITEMS) * DIM];
    static int32_t who[USERS], candidate[ITEMS], expected[USERS * K], found[USERS * K];
    struct inmo_rank job = {.dim = DIM,
                            .user = vector,
                            .item = vector + USERS * DIM,
                            .items = ITEMS,
                            .who = who,
                            .count = USERS,
                            .k = K};
    struct inmo_beside beside = {.graph = graph};
    int changed = 0;
    (void)state;
    must(inmo_walks_make(graph, 1, 0, 6, NULL, &walks, &error));
    beside.walks = walks;
    for (int32_t n = 0; n < ITEMS * walks->k; n++)
        walks->weight[n] = roundf(8 * 40 * walks->weight[n]) / 8;
    walks->factor = 1;
    for (int32_t n = 0; n < (USERS + ITEMS) * DIM; n++)
        vector[n] = (float)inmo_random_below(inmo_random(9, (uint64_t)n), 5) - 2;
    for (int32_t u = 0; u < USERS; u++)
        who[u] = USERS - 1 - u;
    for (int32_t i = 0; i < ITEMS; i += 3)
        candidate[job.candidates++] = i;
    for (int some = 0; some < 2; some++) {
        int32_t candidates = job.candidates;
        job.candidate = some ? candidate : NULL;
        job.candidates = some ? candidates : 0;
        job.beside = &beside;
        job.top_item = expected;
        must(inmo_rank_reference(&job, &error));
        job.top_item = found;
        for (int threads = 1; threads <= 2; threads++) {
            inmo_set_threads(threads);
            must(inmo_rank(&job, NULL, &error));
            assert_memory_equal(found, expected, sizeof found);
        }
        job.beside = NULL;
        must(inmo_rank(&job, NULL, &error));
        changed += memcmp(found, expected, sizeof found) != 0;
        job.candidates = candidates;
    }
    assert_int_equal(changed, 2); /* they do make a difference */
    inmo_set_threads(0);
    inmo_walks_free(walks);
    inmo_graph_free(graph);
}

/* A model with walks agrees with itself, and a file keeps it all. */
static void check_model(const struct inmo_model *model, const char *user)
{
    struct inmo_error error = {0};
    struct inmo_view *view = NULL;
    must(inmo_view_create(model, NULL, &view, &error));
    check_agreement(view, user);
    inmo_view_free(view);
}

static void test_model(void **state)
{
    static const char *const models[] = {"inmo-lightgcn", "inmo-mf", "lightgcn", "inmo-ngcf"};
    struct inmo_error error = {0};
    struct inmo_dataset *data = grouped_dataset(80, 60, 12, "70/10/20");
    (void)state;
    for (size_t m = 0; m < COUNT(models); m++) {
        struct inmo_train_options options = small_options(models[m]);
        struct inmo_model *model, *loaded = NULL, *without;
        struct inmo_report *report[3] = {NULL};
        struct inmo_eval_options evaluation;
        inmo_eval_options_init(&evaluation);
        options.walks = 3;
        options.walk_neighbours = 7;
        options.eval_every = options.epochs;
        model = trained(data, &options);
        check_model(model, "user-17");
        must(inmo_model_save(model, "walks.inmo", 1, &error));
        must(inmo_model_load("walks.inmo", &loaded, &error));
        options.walks = 0;
        without = trained(data, &options);
        must(inmo_evaluate(model, data, NULL, NULL, &report[0], &error));
        must(inmo_evaluate(loaded, data, NULL, NULL, &report[1], &error));
        must(inmo_evaluate(without, data, NULL, NULL, &report[2], &error));
        assert_true(report[0]->group[0].at->ndcg == report[1]->group[0].at->ndcg);
        assert_true(report[0]->group[0].at->ndcg != report[2]->group[0].at->ndcg);
        inmo_report_free(report[1]);
        evaluation.walks = 0; /* steps do not depend on them, and there is only one epoch to choose */
        must(inmo_evaluate(model, data, &evaluation, NULL, &report[1], &error));
        assert_true(report[1]->group[0].at->ndcg == report[2]->group[0].at->ndcg);
        for (int n = 0; n < 3; n++)
            inmo_report_free(report[n]);
        inmo_model_free(without);
        inmo_model_free(loaded);
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
}

static void test_refused(void **state)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = grouped_dataset(40, 30, 8, "70/10/20");
    struct inmo_train_options options = small_options("neumf");
    struct inmo_model *model = NULL;
    (void)state;
    options.walks = 1;
    must_fail(inmo_train(data, &options, NULL, &model, NULL, &error), INMO_USAGE, "`walks`");
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formula), cmocka_unit_test(test_collect), cmocka_unit_test(test_ranking),
        cmocka_unit_test(test_model),   cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
