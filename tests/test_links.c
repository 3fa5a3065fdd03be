/* test_links.c - item links: against dense matrices, inside a ranking against its twin, through trained models
 * (lists, explanations, files, items that came later), and how their weight is chosen (ridge and exponent:
 * test_link_choice.c). */
#include "agreement.h"

#include "base/random.h"
#include "eval/validate.h"
#include "score/link_solve.h"
#include "score/rank.h"
#include "view/view.h"

/* G = Σ_u w_u y_u y_uᵀ, as written down. */
static double *gram_of(const struct inmo_graph *graph)
{
    int32_t items = graph->items;
    double *y = dense_of(graph, 0), *gram = inmo_alloc_zero((size_t)(items * items), sizeof *gram);
    double edges = 0, roots = 0;
    for (int32_t u = 0; u < graph->users; u++) {
        edges += (double)inmo_graph_degree(graph, u);
        roots += sqrt((double)inmo_graph_degree(graph, u));
    }
    for (int32_t u = 0; u < graph->users; u++)
        for (int32_t i = 0; i < items; i++)
            for (int32_t j = 0; j < items; j++)
                if (y[u * items + i] > 0 && y[u * items + j] > 0)
                    gram[i * items + j] += edges / roots / sqrt((double)inmo_graph_degree(graph, u));
    inmo_free(y);
    return gram;
}

/* The neighbours of every item solve its equations, and no item that was left out is more like it. */
static void check_solution(const struct inmo_graph *graph, const struct inmo_link_rule *rule,
                           const struct inmo_links *links)
{
    int32_t items = graph->items;
    double *gram = gram_of(graph);
    for (int32_t i = 0; i < items; i++) {
        int64_t degree = inmo_graph_degree(graph, graph->users + i);
        double scale = pow((double)degree, rule->popularity), least = INFINITY;
        int32_t neighbours = 0, room = rule->k;
        for (int32_t j = 0; j < items; j++) {
            double b = (double)inmo_links_between(links, j, i) / scale, sum = 0;
            if (b == 0)
                continue;
            neighbours++;
            least = fmin(least, gram[j * items + i] / sqrt(gram[j * items + j]));
            for (int32_t other = 0; other < items; other++)
                sum += gram[j * items + other] * (double)inmo_links_between(links, other, i) / scale;
            assert_near(sum + (rule->ridge + rule->share * gram[j * items + j]) * b, gram[j * items + i], 2e-4);
        }
        assert_true(degree == 0 ? neighbours == 0 : neighbours <= room);
        for (int32_t j = 0; j < items && neighbours > 0; j++)
            if (j != i && inmo_links_between(links, j, i) == 0 && gram[j * items + i] > 0) {
                assert_int_equal(neighbours, room);
                assert_true(gram[j * items + i] / sqrt(gram[j * items + j]) <= least + 1e-5);
            }
    }
    inmo_free(gram);
}

static void test_solution(void **state)
{
    static const struct inmo_link_rule rule[] = {{100, 3, 0, 0, 0}, {100, 1, 0.5, 0, 0}, {6, 2, 1, -0.3, 0}};
    struct inmo_error error = {0};
    struct inmo_graph *graph = random_graph_of(60, 40, 0.12, 5);
    (void)state;
    for (size_t r = 0; r < COUNT(rule); r++) {
        struct inmo_links *links[2] = {NULL, NULL};
        for (int threads = 1; threads <= 2; threads++) {
            inmo_set_threads(threads);
            must(inmo_links_solve(graph, rule + r, NULL, NULL, &links[threads - 1], &error));
        }
        inmo_set_threads(0);
        assert_true(inmo_links_are_sound(links[0]));
        assert_int_equal(inmo_links_count(links[0]), inmo_links_count(links[1]));
        assert_memory_equal(links[0]->item, links[1]->item, (size_t)inmo_links_count(links[0]) * sizeof(int32_t));
        assert_memory_equal(links[0]->weight, links[1]->weight, (size_t)inmo_links_count(links[0]) * sizeof(float));
        check_solution(graph, rule + r, links[0]);
        inmo_links_free(links[1]);
        inmo_links_free(links[0]);
    }
    inmo_graph_free(graph);
}

/* Several ridges at once are each alone; some items are those of all. */
static void test_several(void **state)
{
    static const struct inmo_link_rule rule[] = {{9, 3, 0, 0, 0}, {9, 10, 1, 0, 0}};
    struct inmo_error error = {0};
    struct inmo_graph *graph = random_graph_of(60, 40, 0.12, 8);
    struct inmo_links *together[2], *alone, *some;
    uint8_t only[40] = {0};
    (void)state;
    only[3] = only[39] = 1;
    must(inmo_links_solve_all(graph, rule, 2, NULL, NULL, together, &error));
    must(inmo_links_solve(graph, rule, only, NULL, &some, &error));
    for (int r = 0; r < 2; r++) {
        must(inmo_links_solve(graph, rule + r, NULL, NULL, &alone, &error));
        assert_memory_equal(together[r]->item, alone->item, (size_t)inmo_links_count(alone) * sizeof(int32_t));
        assert_memory_equal(together[r]->weight, alone->weight, (size_t)inmo_links_count(alone) * sizeof(float));
        inmo_links_free(alone);
    }
    for (int32_t j = 0; j < 40; j++)
        for (int32_t i = 0; i < 40; i++)
            assert_true(inmo_links_between(some, j, i) == (only[i] ? inmo_links_between(together[0], j, i) : 0));
    inmo_links_free(some);
    inmo_links_free(together[1]);
    inmo_links_free(together[0]);
    inmo_graph_free(graph);
}

/* Items with more users than are counted: a sample stands for them, and says nearly the same. */
static void test_sample(void **state)
{
    struct inmo_error error = {0};
    struct inmo_graph *graph = random_graph_of(30000, 12, 0.4, 11);
    struct inmo_link_rule rule = {100, 30, 0, 0, 0};
    struct inmo_links *links = NULL;
    double *gram = gram_of(graph);
    (void)state;
    must(inmo_links_solve(graph, &rule, NULL, NULL, &links, &error));
    for (int32_t i = 0; i < 12; i++)
        for (int32_t j = 0; j < 12; j++) {
            double sum = 0;
            for (int32_t other = 0; other < 12 && j != i; other++)
                sum += gram[j * 12 + other] * (double)inmo_links_between(links, other, i);
            if (j != i)
                assert_near(sum / gram[j * 12 + i], 1, 0.15);
        }
    inmo_links_free(links);
    inmo_free(gram);
    inmo_graph_free(graph);
}

/* Beside walks and vectors, against the naive ranking; weights are rounded so that sums are exact. */
static void test_ranking(void **state)
{
    enum { USERS = 210, ITEMS = 1100, DIM = 3, K = 10 };
    struct inmo_error error = {0};
    struct inmo_graph *graph = random_graph_of(USERS, ITEMS, 0.01, 7);
    struct inmo_link_rule rule = {12, 1, 0, 0, 0};
    struct inmo_beside beside = {.graph = graph};
    static float vector[(USERS + ITEMS) * DIM];
    static int32_t who[USERS], expected[USERS * K], found[USERS * K];
    struct inmo_rank job = {.dim = DIM,
                            .user = vector,
                            .item = vector + USERS * DIM,
                            .items = ITEMS,
                            .who = who,
                            .count = USERS,
                            .k = K,
                            .beside = &beside};
    (void)state;
    must(inmo_links_solve(graph, &rule, NULL, NULL, &beside.links, &error));
    must(inmo_walks_make(graph, 1, 0, 6, NULL, &beside.walks, &error));
    for (int64_t n = 0; n < inmo_links_count(beside.links); n++)
        ((float *)beside.links->weight)[n] = roundf(64 * beside.links->weight[n]) / 8;
    for (int32_t n = 0; n < ITEMS * beside.walks->k; n++)
        beside.walks->weight[n] = roundf(320 * beside.walks->weight[n]) / 8;
    for (int32_t n = 0; n < (USERS + ITEMS) * DIM; n++)
        vector[n] = (float)inmo_random_below(inmo_random(9, (uint64_t)n), 5) - 2;
    for (int32_t u = 0; u < USERS; u++)
        who[u] = u;
    job.top_item = expected;
    must(inmo_rank_reference(&job, &error));
    job.top_item = found;
    must(inmo_rank(&job, NULL, &error));
    assert_memory_equal(found, expected, sizeof found);
    inmo_links_free(beside.links);
    beside.links = NULL;
    must(inmo_rank(&job, NULL, &error));
    assert_true(memcmp(found, expected, sizeof found) != 0); /* they do make a difference */
    inmo_beside_free(&beside);
    inmo_graph_free(graph);
}

/* An item that came later gets links by the same closed form, as training on everything would give it. */
static void check_newcomer(const struct inmo_model *model, const struct inmo_train_options *options)
{
    static const char *const user[] = {"user-1", "user-2", "user-3", "user-4", "user-5", "user-6"};
    struct inmo_error error = {0};
    struct inmo_event event[COUNT(user)];
    struct inmo_view *view = NULL;
    const struct inmo_links *links;
    struct inmo_links *solved = NULL;
    int32_t item, found = 0;
    must(inmo_view_create(model, NULL, &view, &error));
    check_agreement(view, "user-17");
    for (size_t n = 0; n < COUNT(user); n++)
        event[n] = (struct inmo_event){user[n], "newcomer", 0};
    must(inmo_view_observe(view, event, COUNT(user), &error));
    must(inmo_view_refresh(view, NULL, &error));
    check_agreement(view, "user-17");
    links = view->snapshot->scorer.beside.links;
    item = inmo_names_find(&view->items, "newcomer");
    assert_true(item >= model->items.count && links->items > item);
    for (int32_t j = 0; j < links->items; j++)
        found += inmo_links_between(links, j, item) != 0;
    assert_true(found > 0);
    must(inmo_links_solve(
        view->snapshot->graph,
        &(struct inmo_link_rule){7, options->link_ridge, model->link_rule.share, options->link_popularity, 0}, NULL,
        NULL, &solved, &error));
    for (int32_t j = 0; j < links->items; j++)
        assert_near(inmo_links_between(links, j, item), model->links * (double)inmo_links_between(solved, j, item),
                    1e-6);
    inmo_links_free(solved);
    for (int32_t j = 0; j < model->items.count; j++) /* those of training stay */
        for (int64_t e = model->linked->offset[j]; e < model->linked->offset[j + 1]; e++)
            assert_near(inmo_links_between(links, j, model->linked->item[e]),
                        model->links * (double)model->linked->weight[e], 1e-6);
    inmo_view_free(view);
}

/* A log that has grown by a fifth: all links are those of what has been observed, so that old and new items
 * compare. */
static void test_outgrown(void **state)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = grouped_dataset(80, 60, 12, "70/10/20");
    struct inmo_train_options options = small_options("inmo-lightgcn");
    struct inmo_event event[200];
    static char user[200][16];
    struct inmo_model *model;
    struct inmo_view *view = NULL;
    struct inmo_links *solved = NULL;
    const struct inmo_snapshot *snapshot;
    (void)state;
    options.links = 2;
    options.link_neighbours = 7;
    options.popularity = -0.3;
    model = trained(data, &options);
    must(inmo_view_create(model, NULL, &view, &error));
    assert_ptr_equal(view->snapshot->scorer.beside.links->item, model->linked->item); /* the model's own */
    for (int n = 0; n < 200; n++) {
        snprintf(user[n], sizeof user[n], "new-user-%d", n / 5);
        event[n] = (struct inmo_event){
            user[n], n % 5 ? inmo_idmap_id(&model->items, 7 * n % model->items.count) : "newcomer", 0};
    }
    must(inmo_view_observe(view, event, 200, &error));
    must(inmo_view_refresh(view, NULL, &error));
    check_agreement(view, "user-17");
    snapshot = view->snapshot;
    must(inmo_links_solve(snapshot->graph, &model->link_rule, NULL, NULL, &solved, &error));
    for (int32_t j = 0; j < snapshot->graph->items; j++)
        for (int32_t i = 0; i < snapshot->graph->items; i++)
            assert_near(inmo_links_between(snapshot->scorer.beside.links, j, i),
                        2 * (double)inmo_links_between(solved, j, i), 1e-6);
    inmo_links_free(solved);
    inmo_view_free(view);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

static void test_model(void **state)
{
    static const char *const models[] = {"inmo-lightgcn", "inmo-mf", "lightgcn", "inmo-ngcf"};
    struct inmo_error error = {0};
    struct inmo_dataset *data = grouped_dataset(80, 60, 12, "70/10/20");
    (void)state;
    for (size_t m = 0; m < COUNT(models); m++) {
        struct inmo_train_options options = small_options(models[m]);
        struct inmo_model *model, *loaded = NULL;
        struct inmo_report *report[3] = {NULL};
        struct inmo_eval_options evaluation;
        inmo_eval_options_init(&evaluation);
        options.links = 2;
        options.walks = 1;
        options.link_neighbours = 7;
        options.link_ridge = 5;
        options.popularity = -0.3; /* must come back from the file, or new items would stand before old ones */
        options.link_popularity = 0.2;
        model = trained(data, &options);
        assert_true(model->linked && model->links == 2);
        must(inmo_model_save(model, "links.inmo", 1, &error));
        must(inmo_model_load("links.inmo", &loaded, &error));
        check_newcomer(loaded, &options);
        must(inmo_evaluate(model, data, NULL, NULL, &report[0], &error));
        must(inmo_evaluate(loaded, data, NULL, NULL, &report[1], &error));
        evaluation.links = 0;
        must(inmo_evaluate(model, data, &evaluation, NULL, &report[2], &error));
        assert_true(report[0]->group[0].at->ndcg == report[1]->group[0].at->ndcg);
        assert_true(report[0]->group[0].at->ndcg != report[2]->group[0].at->ndcg);
        for (int n = 0; n < 3; n++)
            inmo_report_free(report[n]);
        inmo_model_free(loaded);
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
}

/* Weights that were chosen are at least as good on the validation part as any of them alone, and what weighing says
 * of the sample, here everybody, is what ranking says. */
static void test_choice(void **state)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = grouped_dataset(120, 80, 14, "60/20/20");
    struct inmo_train_options options = small_options("inmo-lightgcn");
    struct inmo_eval_options evaluation;
    struct inmo_model *model, *again;
    struct inmo_report *report = NULL;
    struct inmo_train_report trained_report;
    double chosen;
    (void)state;
    inmo_eval_options_init(&evaluation);
    evaluation.part = "valid";
    options.walks = options.links = INMO_AUTO;
    must(inmo_train(data, &options, NULL, &model, &trained_report, &error));
    assert_true(model->walks >= 0 && model->links >= 0 && model->walks + model->links > 0);
    must(inmo_evaluate(model, data, &evaluation, NULL, &report, &error));
    chosen = report->group[0].at->ndcg;
    assert_near(chosen, trained_report.best_score, 1e-6);
    inmo_report_free(report);
    for (int n = 0; n < 4; n++) {
        evaluation.walks = n & 1 ? 0 : model->walks;
        evaluation.links = n & 2 ? 0 : model->links;
        must(inmo_evaluate(model, data, &evaluation, NULL, &report, &error));
        assert_true(report->group[0].at->ndcg <= chosen + 1e-6);
        inmo_report_free(report);
    }
    inmo_set_threads(1);
    must(inmo_train(data, &options, NULL, &again, NULL, &error));
    inmo_set_threads(0);
    assert_true(again->walks == model->walks && again->links == model->links);
    inmo_model_free(again);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

static void test_refused(void **state)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = grouped_dataset(40, 30, 8, "70/10/20");
    struct inmo_train_options options = small_options("neumf");
    struct inmo_model *model = NULL;
    (void)state;
    options.links = 1;
    must_fail(inmo_train(data, &options, NULL, &model, NULL, &error), INMO_USAGE, "`links`");
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solution), cmocka_unit_test(test_several),  cmocka_unit_test(test_sample),
        cmocka_unit_test(test_ranking),  cmocka_unit_test(test_model),    cmocka_unit_test(test_choice),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_outgrown),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
