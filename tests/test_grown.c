/* test_grown.c - a log that has outgrown its model: what is held out of it, how the parts of a score are weighed by
 * that, and what singular vectors add to links. */
#include "agreement.h"

#include "eval/grown.h"
#include "eval/validate.h"
#include "score/link_solve.h"
#include "score/link_spectrum.h"
#include "score/links.h"
#include "view/view.h"

/* ---- The spectrum of links ----------------------------------------------------------------------------------- */

/* R'R (R'R + 0.1)^-1 of the normalised interactions, by elimination. */
static double *smoothed(const struct inmo_graph *graph)
{
    size_t n = (size_t)graph->items;
    double *r = dense_of(graph, 1), *a = inmo_alloc_zero(n * n, sizeof *a), *x = inmo_alloc(n * n, sizeof *x);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t u = 0; u < (size_t)graph->users; u++)
                a[i * n + j] += r[u * n + i] * r[u * n + j];
    memcpy(x, a, n * n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        a[i * n + i] += 0.1;
    for (size_t p = 0; p < n; p++) /* a is positive definite: no pivots are needed */
        for (size_t i = 0; i < n; i++) {
            double factor = a[i * n + p] / a[p * n + p];
            for (size_t j = 0; j < n && i != p; j++) {
                a[i * n + j] -= factor * a[p * n + j];
                x[i * n + j] -= factor * x[p * n + j];
            }
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            x[i * n + j] /= a[i * n + i];
    inmo_free(a);
    inmo_free(r);
    return x;
}

static void test_spectrum(void **state)
{
    static const struct inmo_link_rule rule[] = {{30, 3, 0.5, -0.2, 0}, {30, 3, 0.5, -0.2, 0.7}};
    struct inmo_error error = {0};
    struct inmo_graph *graph = random_graph_of(60, 40, 0.12, 5);
    struct inmo_links *together[2], *alone[2] = {NULL, NULL}, *some = NULL;
    uint8_t only[40] = {0};
    double *matrix = smoothed(graph);
    int64_t count;
    float *kernel;
    (void)state;
    must(inmo_links_solve_all(graph, rule, 2, NULL, NULL, together, &error));
    count = inmo_links_count(together[0]);
    kernel = inmo_alloc((size_t)count, sizeof *kernel);
    must(inmo_link_spectrum(graph, together[0], NULL, kernel, &error));
    for (int32_t j = 0; j < graph->items; j++)
        for (int64_t e = together[0]->offset[j]; e < together[0]->offset[j + 1]; e++) {
            int32_t i = together[0]->item[e];
            double from = (double)inmo_graph_degree(graph, graph->users + j);
            double to = (double)inmo_graph_degree(graph, graph->users + i);
            double expected = matrix[j * graph->items + i] * sqrt(to / from);
            assert_near(kernel[e], expected, 1e-4);
            assert_near(together[1]->weight[e], together[0]->weight[e] + 0.7 * pow(to, -0.2) * expected, 1e-4);
        }
    for (int threads = 1; threads <= 2; threads++) { /* the same bytes alone, and at any number of threads */
        inmo_set_threads(threads);
        must(inmo_links_solve(graph, rule + 1, NULL, NULL, &alone[threads - 1], &error));
        assert_memory_equal(alone[threads - 1]->weight, together[1]->weight, (size_t)count * sizeof(float));
    }
    inmo_set_threads(0);
    only[3] = only[39] = 1;
    must(inmo_links_solve(graph, rule + 1, only, NULL, &some, &error));
    for (int32_t j = 0; j < 40; j++)
        for (int32_t i = 0; i < 40; i++)
            assert_near(inmo_links_between(some, j, i), only[i] ? inmo_links_between(together[1], j, i) : 0, 1e-6);
    inmo_links_free(some);
    for (int n = 0; n < 2; n++) {
        inmo_links_free(alone[n]);
        inmo_links_free(together[n]);
    }
    inmo_free(kernel);
    inmo_free(matrix);
    inmo_graph_free(graph);
}

/* ---- What is held out ---------------------------------------------------------------------------------------- */

/* A model, and the graph of everything that its log has become. */
struct world {
    struct inmo_dataset *data;
    struct inmo_model *model;
    struct inmo_graph *graph;
    struct inmo_model_binding bound;
};

static struct inmo_train_options weighing_options(const char *refit)
{
    struct inmo_train_options options = small_options("inmo-lightgcn");
    options.walks = options.links = INMO_AUTO;
    options.link_neighbours = 10;
    options.refit = refit;
    return options;
}

/* A fifth of users and items are new since training. */
static struct world world_of(uint64_t seed, const struct inmo_train_options *options)
{
    struct inmo_error error = {0};
    struct inmo_log *log = grouped_log(240, 100, 14, seed);
    struct inmo_prepare_options prepare;
    struct world world = {0};
    const struct inmo_csr *lists[3];
    inmo_prepare_options_init(&prepare);
    prepare.scenario = "new-users-items";
    must(inmo_dataset_prepare(log, &prepare, &world.data, &error));
    inmo_log_free(log);
    world.model = trained(world.data, options);
    lists[0] = &world.data->train;
    lists[1] = &world.data->later;
    lists[2] = &world.data->valid;
    must(inmo_graph_build(world.data->users.count, world.data->items.count, lists, world.model->refitted ? 3 : 2,
                          &world.graph, &error));
    must(inmo_model_bind(world.model, world.graph, &world.data->users, &world.data->items, &world.bound, &error));
    return world;
}

static void free_world(struct world *world)
{
    inmo_model_unbind(&world->bound);
    inmo_graph_free(world->graph);
    inmo_model_free(world->model);
    inmo_dataset_free(world->data);
}

static void test_divide(void **state)
{
    static const char *const refit[] = {"none", "graph"};
    (void)state;
    for (size_t r = 0; r < COUNT(refit); r++)
        for (int is_all = 0; is_all < 2; is_all++) {
            struct inmo_train_options options = weighing_options(refit[r]);
            struct inmo_error error = {0};
            struct world world = world_of(3, &options);
            const struct inmo_graph *graph = world.graph;
            struct inmo_csr kept, truth;
            double known = (double)(inmo_csr_count(&world.data->train) + inmo_csr_count(&world.data->valid));
            int64_t later = 0;
            int in_graph = strcmp(refit[r], "graph") == 0;
            must(inmo_grown_divide(world.model, &world.bound, is_all, 0, &kept, &truth, &error));
            for (int32_t u = 0; u < graph->users; u++)
                for (int32_t i = 0; i < graph->items; i++) {
                    int is_trained = inmo_csr_has(&world.data->train, u, i);
                    int is_valid = inmo_csr_has(&world.data->valid, u, i) &&
                                   (world.model->refitted || world.bound.model_item[i] >= 0);
                    int is_later = inmo_csr_has(&world.data->later, u, i);
                    int found = inmo_csr_has(&truth, u, i);
                    later += is_later && found;
                    if (is_valid) /* nobody can have forgotten what is in the graph */
                        assert_int_equal(found, in_graph || !is_all);
                    if (is_trained || (!is_valid && !is_later))
                        assert_false(found);
                    assert_int_equal(inmo_csr_has(&kept, u, i), (is_trained || is_later) && !found);
                }
            assert_near((double)later / (double)inmo_csr_count(&world.data->later),
                        (double)inmo_csr_count(&world.data->valid) / known, 0.03); /* by chance */
            inmo_csr_free(&truth);
            inmo_csr_free(&kept);
            free_world(&world);
        }
}

/* ---- Weights ------------------------------------------------------------------------------------------------- */

/* NDCG@20 of what is held out, ranked by a model on what is kept. */
static double ndcg_of(const struct inmo_model *model, const struct world *world)
{
    struct inmo_error error = {0};
    struct inmo_csr kept, truth;
    const struct inmo_csr *lists[1] = {&kept};
    struct inmo_graph *graph = NULL;
    struct inmo_model_binding bound = world->bound;
    struct inmo_scorer scorer;
    struct inmo_validation *validation = NULL;
    struct inmo_model solved = *model;
    double ndcg;
    solved.linked = NULL;
    must(inmo_grown_divide(model, &bound, 0, 0, &kept, &truth, &error));
    must(inmo_graph_build(kept.rows, kept.columns, lists, 1, &graph, &error));
    bound.graph = bound.binding.graph = graph;
    must(inmo_scorer_open(&scorer, &solved, &bound, inmo_model_alpha(model), 0, &error));
    must(inmo_validation_new(&truth, &kept, 20, 0, &validation, &error));
    must(inmo_validation_ndcg(validation, &scorer, NULL, &ndcg, &error));
    inmo_validation_free(validation);
    inmo_scorer_close(&scorer);
    inmo_graph_free(graph);
    inmo_csr_free(&truth);
    inmo_csr_free(&kept);
    return ndcg;
}

static int is_same(const struct inmo_model *a, const struct inmo_model *b)
{
    return a->walks == b->walks && a->links == b->links && a->link_rule.spectrum == b->link_rule.spectrum;
}

/* Weights change only for better ones, at any number of threads for the same, and the evaluation is by them. */
static void test_weights(void **state)
{
    int changed = 0, by_spectrum = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct inmo_train_options options = weighing_options(seed % 2 ? "none" : "graph");
        struct inmo_error error = {0};
        struct world world = world_of(seed, &options);
        struct inmo_model grown[2];
        struct inmo_report *report[2] = {NULL, NULL};
        for (int threads = 1; threads <= 2; threads++) {
            inmo_set_threads(threads);
            grown[threads - 1] = *world.model;
            must(inmo_weigh_grown(&grown[threads - 1], &world.bound, 0, inmo_model_alpha(world.model), NULL,
                                  &error));
        }
        inmo_set_threads(0);
        assert_true(is_same(&grown[0], &grown[1]));
        must(inmo_evaluate(world.model, world.data, NULL, NULL, &report[0], &error));
        if (!is_same(&grown[0], world.model)) {
            struct inmo_model given = grown[0];
            given.record = NULL; /* nothing says that its weights were chosen: they stay */
            changed++;
            by_spectrum += grown[0].link_rule.spectrum > 0;
            assert_true(ndcg_of(&grown[0], &world) > ndcg_of(world.model, &world));
            must(inmo_evaluate(&given, world.data, NULL, NULL, &report[1], &error));
            assert_true(report[0]->group[0].at->ndcg == report[1]->group[0].at->ndcg);
            inmo_report_free(report[1]);
        }
        inmo_report_free(report[0]);
        free_world(&world);
    }
    assert_true(changed > 0 && by_spectrum > 0);
}

/* Links keep an exponent of popularity that was given; one that was chosen becomes that of the vectors. */
static void test_popularity(void **state)
{
    int changed[2] = {0, 0};
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        int is_given = (int)(seed % 2);
        struct inmo_train_options options = weighing_options("none");
        struct inmo_error error = {0};
        struct world world;
        struct inmo_model grown;
        if (is_given)
            options.link_popularity = -0.5;
        world = world_of(seed, &options);
        grown = *world.model;
        must(inmo_weigh_grown(&grown, &world.bound, 0, inmo_model_alpha(world.model), NULL, &error));
        if (!is_same(&grown, world.model)) {
            changed[is_given]++;
            assert_true(grown.link_rule.popularity == (is_given ? -0.5 : world.model->popularity));
        }
        free_world(&world);
    }
    assert_true(changed[0] > 0 && changed[1] > 0);
}

/* A log that has hardly grown, weights that were given, and models that have learned from everything. */
static void test_unchanged(void **state)
{
    struct inmo_error error = {0};
    (void)state;
    for (int n = 0; n < 4; n++) {
        struct inmo_train_options options = weighing_options(n == 2 ? "train" : "none");
        struct world world;
        struct inmo_model grown;
        if (n == 0)
            options.links = 0.01;
        if (n == 1)
            options.walks = 0.01;
        world = world_of(1, &options);
        grown = *world.model;
        if (n == 3) {
            const struct inmo_csr *lists[1] = {&world.data->train};
            inmo_model_unbind(&world.bound);
            inmo_graph_free(world.graph);
            must(
                inmo_graph_build(world.data->users.count, world.data->items.count, lists, 1, &world.graph, &error));
            must(inmo_model_bind(world.model, world.graph, &world.data->users, &world.data->items, &world.bound,
                                 &error));
        }
        must(inmo_weigh_grown(&grown, &world.bound, 0, inmo_model_alpha(world.model), NULL, &error));
        assert_memory_equal(&grown, world.model, sizeof grown);
        free_world(&world);
    }
}

/* A view that has observed what is new weighs alike, whether its model comes from training or from a file. */
static void test_view(void **state)
{
    struct inmo_train_options options = weighing_options("graph");
    struct inmo_error error = {0};
    struct world world = world_of(2, &options);
    const struct inmo_csr *later = &world.data->later;
    struct inmo_event *event = calloc((size_t)inmo_csr_count(later), sizeof *event);
    struct inmo_model *loaded = NULL;
    struct inmo_view *view[2] = {NULL, NULL};
    size_t count = 0;
    (void)state;
    assert_true(inmo_csr_count(&world.model->untrained) == inmo_csr_count(&world.data->valid));
    must(inmo_model_save(world.model, "grown.inmo", 1, &error));
    must(inmo_model_load("grown.inmo", &loaded, &error));
    for (int32_t u = 0; u < later->rows; u++)
        for (int64_t e = later->offset[u]; e < later->offset[u + 1]; e++)
            event[count++] = (struct inmo_event){inmo_idmap_id(&world.data->users, u),
                                                 inmo_idmap_id(&world.data->items, later->column[e]), 0};
    for (int n = 0; n < 2; n++) {
        must(inmo_view_create(n ? loaded : world.model, NULL, &view[n], &error));
        assert_true(is_same(view[n]->snapshot->scorer.model, world.model));
        must(inmo_view_observe(view[n], event, count, &error));
        must(inmo_view_refresh(view[n], NULL, &error));
        assert_false(is_same(view[n]->snapshot->scorer.model, world.model));
        check_agreement(view[n], "user-17");
    }
    assert_true(is_same(view[0]->snapshot->scorer.model, view[1]->snapshot->scorer.model));
    for (int n = 0; n < 200; n++) { /* weights stay until the log has grown by a twentieth */
        int64_t before = view[0]->snapshot->weighed_at, edges;
        char user[24];
        snprintf(user, sizeof user, "newcomer-%d", n);
        must(inmo_view_observe(view[0], &(struct inmo_event){user, "item-1", 0}, 1, &error));
        if (n % 30 > 0) /* a refresh for each would take long */
            continue;
        must(inmo_view_refresh(view[0], NULL, &error));
        edges = view[0]->snapshot->graph->edges;
        assert_true(view[0]->snapshot->weighed_at == ((double)edges > 1.05 * (double)before ? edges : before));
        if (n == 0)
            assert_true(is_same(view[0]->snapshot->scorer.model, view[1]->snapshot->scorer.model));
        check_agreement(view[0], "user-17");
    }
    assert_true(view[0]->snapshot->weighed_at > view[1]->snapshot->weighed_at);
    for (int n = 0; n < 2; n++)
        inmo_view_free(view[n]);
    inmo_model_free(loaded);
    free(event);
    free_world(&world);
}

/* A view of a log that has grown by less than a twentieth counts on from what the model knows. */
static void test_view_of_a_little_more(void **state)
{
    enum { MORE = 20 };
    struct inmo_train_options options = weighing_options("graph");
    struct inmo_error error = {0};
    struct world world = world_of(2, &options);
    int64_t known = inmo_csr_count(&world.model->train);
    const char *user[MORE], *item[MORE];
    char name[MORE][24];
    struct inmo_log *log = NULL;
    struct inmo_view *view = NULL;
    (void)state;
    for (int n = 0; n < MORE; n++) {
        snprintf(name[n], sizeof name[n], "newcomer-%d", n);
        user[n] = name[n];
        item[n] = inmo_idmap_id(&world.model->items, 0);
    }
    must(inmo_log_from_pairs(MORE, user, item, NULL, &log, &error));
    must(inmo_view_create(world.model, log, &view, &error));
    assert_true(view->snapshot->graph->edges == known + MORE && 20 * MORE < known);
    assert_true(view->snapshot->weighed_at == known);
    inmo_view_free(view);
    inmo_log_free(log);
    free_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spectrum),
        cmocka_unit_test(test_divide),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_popularity),
        cmocka_unit_test(test_unchanged),
        cmocka_unit_test(test_view),
        cmocka_unit_test(test_view_of_a_little_more),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
