/* test_prior.c - popularity as a part of a score: its numbers, inside a ranking against the twin, through trained
 * models (lists, explanations, files, what came later), and when it is chosen. */
#include "agreement.h"

#include "base/random.h"
#include "score/prior.h"
#include "score/rank.h"
#include "view/view.h"

/* ln(1 + d_i), less that of the first item left out. */
static void check_numbers(const struct inmo_graph *graph)
{
    struct inmo_error error = {0};
    struct inmo_prior *prior = NULL;
    int32_t above = 0;
    double left_out = 0;
    must(inmo_prior_make(graph, 2, &prior, &error));
    assert_in_range(prior->count, 0, INMO_PRIOR_ITEMS);
    for (int32_t i = 0; i < graph->items; i++) { /* of those without a value the most popular */
        double degree = (double)inmo_graph_degree(graph, graph->users + i);
        if (inmo_prior_of(prior, i) == 0 && degree > left_out)
            left_out = degree;
    }
    for (int32_t i = 0; i < graph->items; i++) {
        double degree = (double)inmo_graph_degree(graph, graph->users + i);
        above += degree > left_out;
        assert_near(inmo_prior_of(prior, i), degree > left_out ? 2 * (log(1 + degree) - log(1 + left_out)) : 0,
                    1e-6);
    }
    assert_int_equal(above, prior->count);
    for (int32_t n = 1; n < prior->count; n++)
        assert_true(prior->item[n - 1] < prior->item[n]);
    inmo_prior_free(prior);
}

static void test_numbers(void **state)
{
    struct inmo_graph *few = random_graph_of(60, 40, 0.12, 5), *many = random_graph_of(300, 2500, 0.02, 6);
    (void)state;
    check_numbers(few);
    check_numbers(many);
    inmo_graph_free(many);
    inmo_graph_free(few);
}

/* Beside vectors, against the naive ranking; values are rounded so that sums are exact. */
static void test_ranking(void **state)
{
    enum { USERS = 210, ITEMS = 1300, DIM = 3, K = 10 };
    struct inmo_error error = {0};
    struct inmo_graph *graph = random_graph_of(USERS, ITEMS, 0.01, 7);
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
    must(inmo_prior_make(graph, 1, &beside.prior, &error));
    for (int32_t n = 0; n < beside.prior->count; n++)
        beside.prior->value[n] = roundf(32 * beside.prior->value[n]) / 8;
    for (int32_t n = 0; n < (USERS + ITEMS) * DIM; n++)
        vector[n] = (float)inmo_random_below(inmo_random(9, (uint64_t)n), 5) - 2;
    for (int32_t u = 0; u < USERS; u++)
        who[u] = u;
    job.top_item = expected;
    must(inmo_rank_reference(&job, &error));
    job.top_item = found;
    must(inmo_rank(&job, NULL, &error));
    assert_memory_equal(found, expected, sizeof found);
    job.beside = NULL;
    must(inmo_rank(&job, NULL, &error));
    assert_true(memcmp(found, expected, sizeof found) != 0); /* it does make a difference */
    inmo_beside_free(&beside);
    inmo_graph_free(graph);
}

/* A prior that is given is in lists, explanations, evaluations and the file, and follows what is observed. */
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
        struct inmo_view *view = NULL;
        struct inmo_event event[30];
        char user[COUNT(event)][16];
        inmo_eval_options_init(&evaluation);
        options.prior = 0.5;
        options.links = m % 2 ? 0 : 2;
        model = trained(data, &options);
        assert_true(model->prior == 0.5);
        must(inmo_model_save(model, "prior.inmo", 1, &error));
        must(inmo_model_load("prior.inmo", &loaded, &error));
        assert_true(loaded->prior == 0.5);
        must(inmo_evaluate(model, data, NULL, NULL, &report[0], &error));
        must(inmo_evaluate(loaded, data, NULL, NULL, &report[1], &error));
        evaluation.prior = 0;
        must(inmo_evaluate(model, data, &evaluation, NULL, &report[2], &error));
        assert_true(report[0]->group[0].at->ndcg == report[1]->group[0].at->ndcg);
        assert_true(report[0]->group[0].at->ndcg != report[2]->group[0].at->ndcg);
        must(inmo_view_create(loaded, NULL, &view, &error));
        check_agreement(view, "user-17");
        if (m == 0) { /* one item becomes the most popular of all */
            double before = inmo_beside_always(&view->snapshot->scorer.beside, 5);
            for (size_t n = 0; n < COUNT(event); n++) {
                snprintf(user[n], sizeof user[n], "new-user-%zu", n);
                event[n] = (struct inmo_event){user[n], inmo_idmap_id(&loaded->items, 5), 0};
            }
            must(inmo_view_observe(view, event, COUNT(event), &error));
            must(inmo_view_refresh(view, NULL, &error));
            assert_true(inmo_beside_always(&view->snapshot->scorer.beside, 5) > before + 0.1);
            check_agreement(view, "user-17");
        }
        inmo_view_free(view);
        for (int n = 0; n < 3; n++)
            inmo_report_free(report[n]);
        inmo_model_free(loaded);
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
}

enum { CHOOSERS = 600, CATALOGUE = 200 };

/* Users with five items each, drawn by popularity alone; one of them is for validation and one for the test. */
static struct inmo_dataset *popular_data(void)
{
    static int64_t offset[3][CHOOSERS + 1];
    static int32_t item[3][CHOOSERS * 5];
    struct inmo_interactions part[3];
    struct inmo_error error = {0};
    struct inmo_dataset *data = NULL;
    for (int p = 0; p < 3; p++)
        part[p] = (struct inmo_interactions){CHOOSERS, CATALOGUE, offset[p], item[p], 0};
    for (int u = 0; u < CHOOSERS; u++) {
        int taken[5], count = 0;
        for (uint64_t draw = 0; count < 5; draw++) {
            double unit = inmo_random_unit(inmo_random((uint64_t)u + 1, draw));
            int i = (int)(CATALOGUE * unit * unit * unit), known = 0;
            for (int n = 0; n < count; n++)
                known |= taken[n] == i;
            if (!known)
                taken[count++] = i;
        }
        for (int n = 0; n < 5; n++) {
            int p = n == 3 ? 1 : n == 4 ? 2 : 0;
            item[p][part[p].count++] = taken[n];
        }
        for (int p = 0; p < 3; p++)
            offset[p][u + 1] = part[p].count;
    }
    must(inmo_dataset_from_matrices(&part[0], &part[1], &part[2], NULL, &data, &error));
    return data;
}

static double ndcg_of(const struct inmo_model *model, const struct inmo_dataset *data, const char *part)
{
    struct inmo_error error = {0};
    struct inmo_eval_options evaluation;
    struct inmo_report *report = NULL;
    double ndcg;
    inmo_eval_options_init(&evaluation);
    evaluation.part = part;
    must(inmo_evaluate(model, data, &evaluation, NULL, &report, &error));
    ndcg = report->group[0].at->ndcg;
    inmo_report_free(report);
    return ndcg;
}

/* Where popularity is all there is to know, it is chosen, at any number of threads, and a second pass keeps it. */
static void test_chosen(void **state)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = popular_data();
    struct inmo_train_options options = small_options("inmo-lightgcn");
    struct inmo_train_report report;
    struct inmo_model *without, *with, *again;
    (void)state;
    options.walks = options.links = INMO_AUTO;
    without = trained(data, &options);
    assert_true(without->prior == 0);
    options.prior = INMO_AUTO;
    must(inmo_train(data, &options, NULL, &with, &report, &error));
    assert_true(with->prior > 0);
    print_message("test ndcg@20 %.4f without, %.4f with a prior\n", ndcg_of(without, data, "test"),
                  ndcg_of(with, data, "test"));
    assert_true(ndcg_of(with, data, "test") > 1.03 * ndcg_of(without, data, "test"));
    assert_near(ndcg_of(with, data, "valid"), report.best_score, 1e-6);
    inmo_set_threads(1);
    again = trained(data, &options);
    inmo_set_threads(0);
    assert_true(again->prior == with->prior && again->walks == with->walks && again->links == with->links);
    inmo_model_free(again);
    options.refit = "train";
    again = trained(data, &options);
    assert_near(again->prior, with->prior, 1e-4 * with->prior); /* the record has six digits */
    inmo_model_free(again);
    inmo_model_free(with);
    inmo_model_free(without);
    inmo_dataset_free(data);
}

/* Where histories say much, there is none; nor without weights to be chosen beside it. */
static void test_not_chosen(void **state)
{
    struct inmo_dataset *data = grouped_dataset(120, 80, 14, "60/20/20"), *popular = popular_data();
    struct inmo_train_options options = small_options("inmo-lightgcn");
    struct inmo_model *model;
    (void)state;
    options.walks = options.links = options.prior = INMO_AUTO;
    model = trained(data, &options);
    assert_true(model->prior == 0);
    inmo_model_free(model);
    options.walks = options.links = 0;
    model = trained(popular, &options);
    assert_true(model->prior == 0);
    inmo_model_free(model);
    inmo_dataset_free(popular);
    inmo_dataset_free(data);
}

static void test_refused(void **state)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = grouped_dataset(40, 30, 8, "70/10/20");
    struct inmo_train_options options = small_options("neumf");
    struct inmo_model *model = NULL;
    (void)state;
    options.prior = 1;
    must_fail(inmo_train(data, &options, NULL, &model, NULL, &error), INMO_USAGE, "`prior`");
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_ranking),    cmocka_unit_test(test_model),
        cmocka_unit_test(test_chosen),  cmocka_unit_test(test_not_chosen), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
