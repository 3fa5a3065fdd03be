/* test_weighted.c - models on weighted interactions, against dense twins in double: the INMO sums and LightGCN's
 * layers, least squares, walks and links; weights of 1 are none, bit for bit; a user folded in agrees with the
 * ranking of all; files keep the weights; and models that do not heed them say so. */
#include "agreement.h"

#include "base/lapack.h"
#include "model/model.h"
#include "model/system/least_squares.h"
#include "score/link_solve.h"
#include "score/links.h"
#include "score/walk.h"
#include "view/view.h"

enum { USERS = 20, ITEMS = 15 };

/* Random weights from 0.2 to 3, or all 1. */
static struct inmo_graph *weighted_graph(int all_one, double *dense)
{
    struct inmo_error error = {0};
    struct inmo_graph *graph = NULL;
    int64_t offset[USERS + 1] = {0};
    int32_t column[USERS * ITEMS];
    float weight[USERS * ITEMS];
    struct inmo_csr list = {USERS, ITEMS, offset, column, weight};
    const struct inmo_csr *lists[1] = {&list};
    uint64_t key = inmo_key(9, 78);
    int64_t count = 0;
    for (int32_t u = 0; u < USERS; u++) {
        for (int32_t i = 0; i < ITEMS; i++) {
            dense[u * ITEMS + i] = 0;
            if (inmo_random_unit(inmo_random(key, (uint64_t)(u * ITEMS + i))) < 0.3) {
                column[count] = i;
                weight[count] =
                    all_one ? 1 : 0.2f + 2.8f * (float)inmo_random_unit(inmo_random(key, 1000 + (uint64_t)count));
                dense[u * ITEMS + i] = weight[count++];
            }
        }
        offset[u + 1] = count;
    }
    must(inmo_graph_build(USERS, ITEMS, lists, 1, &graph, &error));
    return graph;
}

static double row_sum(const double *y, int32_t u)
{
    double sum = 0;
    for (int32_t i = 0; i < ITEMS; i++)
        sum += y[u * ITEMS + i];
    return sum;
}

static double column_sum(const double *y, int32_t i)
{
    double sum = 0;
    for (int32_t u = 0; u < USERS; u++)
        sum += y[u * ITEMS + i];
    return sum;
}

/* w of two nodes, 0 within a side. */
static double between(const double *y, int32_t v, int32_t w)
{
    if (v < USERS && w >= USERS)
        return y[v * ITEMS + w - USERS];
    return v >= USERS && w < USERS ? y[w * ITEMS + v - USERS] : 0;
}

/* e_v = (Σ w_vj / mean t_j + t_0) / (n + 1)^α, then r = mean of (D^-1/2 W D^-1/2)^l e. */
static void test_representations(void **state)
{
    enum { NODES = USERS + ITEMS, DIM = 4, LAYERS = 2 };
    double y[USERS * ITEMS], e[NODES][DIM], x[2][NODES][DIM], sum[NODES][DIM], alpha = 0.7;
    struct inmo_graph *graph = weighted_graph(0, y);
    int32_t row[NODES];
    float parameter[(NODES + 3) * DIM], r[NODES * DIM];
    struct inmo_error error = {0};
    struct inmo_binding binding = {
        .graph = graph, .dim = DIM, .rows = NODES, .row_of_node = row, .node_of_row = row, .user_rows = USERS};
    (void)state;
    for (int32_t v = 0; v < NODES; v++)
        row[v] = v;
    for (int n = 0; n < (NODES + 3) * DIM; n++)
        parameter[n] = (float)inmo_random_normal(inmo_key(4, 78), (uint64_t)n);
    for (int32_t v = 0; v < NODES; v++)
        for (int j = 0; j < DIM; j++) {
            double n = (double)inmo_graph_degree(graph, v);
            double strength = v < USERS ? row_sum(y, v) : column_sum(y, v - USERS);
            e[v][j] = parameter[(NODES + (v >= USERS)) * DIM + j];
            for (int32_t w = 0; w < NODES; w++)
                if (between(y, v, w) > 0)
                    e[v][j] += between(y, v, w) / (strength / n) * parameter[w * DIM + j];
            sum[v][j] = x[0][v][j] = e[v][j] *= pow(n + 1, -alpha);
        }
    for (int l = 0; l < LAYERS; l++)
        for (int32_t v = 0; v < NODES; v++)
            for (int j = 0; j < DIM; j++) {
                double own = v < USERS ? row_sum(y, v) : column_sum(y, v - USERS);
                x[(l + 1) % 2][v][j] = 0;
                for (int32_t w = 0; w < NODES; w++)
                    if (between(y, v, w) > 0)
                        x[(l + 1) % 2][v][j] += between(y, v, w) * x[l % 2][w][j] /
                                                sqrt(own * (w < USERS ? row_sum(y, w) : column_sum(y, w - USERS)));
                sum[v][j] += x[(l + 1) % 2][v][j];
            }
    must(inmo_represent(inmo_model_kind_find("inmo-lightgcn"), &binding, LAYERS, parameter, NULL, alpha, 0, r, NULL,
                        &error));
    for (int32_t v = 0; v < NODES; v++)
        for (int j = 0; j < DIM; j++)
            assert_near(r[v * DIM + j], sum[v][j] / (LAYERS + 1), 2e-5);
    inmo_graph_free(graph);
}

/* The normal equations, dense: (Σ w y y' + α0 Σ y y' + λ' I) x = Σ w y. Short and long histories, and the sum of
 * the terms. */
static void check_squares(int dim)
{
    double y[USERS * ITEMS];
    struct inmo_graph *graph = weighted_graph(0, y);
    struct inmo_ials_setting setting = {0.1f, 0.05f, 0.8f};
    struct inmo_least_squares squares = {0};
    struct inmo_solver *solver = inmo_solver_new(dim);
    struct inmo_error error = {0};
    float row[ITEMS * 32], x[32], term[ITEMS * 32];
    must(inmo_least_squares_make(dim, &setting, &squares, &error));
    for (int n = 0; n < ITEMS * dim; n++)
        row[n] = (float)inmo_random_normal(inmo_key(6, 78), (uint64_t)n);
    must(inmo_least_squares_turn(&squares, row, ITEMS, &error));
    for (int32_t u = 0; u < USERS; u++) {
        struct inmo_neighbours of = {graph->neighbour + graph->offset[u], NULL, inmo_graph_degree(graph, u), USERS,
                                     graph->weight + graph->offset[u]};
        double weight = row_sum(y, u), objective = 0, least = inmo_solve(&squares, solver, &of, x);
        double ridge = setting.l2 * pow(weight + setting.unobserved * ITEMS, setting.exponent);
        must(inmo_solve_terms(&squares, &of, term, &error));
        for (int k = 0; k < dim; k++) {
            double left = ridge * x[k], right = 0, sum = 0;
            for (int32_t i = 0; i < ITEMS; i++) {
                double dot = 0;
                for (int j = 0; j < dim; j++)
                    dot += (double)row[i * dim + j] * x[j];
                left += (y[u * ITEMS + i] + setting.unobserved) * dot * row[i * dim + k];
                right += y[u * ITEMS + i] * row[i * dim + k];
                if (k == 0)
                    objective += y[u * ITEMS + i] * (dot - 1) * (dot - 1) + setting.unobserved * dot * dot;
            }
            objective += ridge * x[k] * x[k];
            assert_near(left, right, 2e-4);
            for (int64_t n = 0; n < of.count; n++)
                sum += term[n * dim + k];
            assert_near(sum, x[k], 1e-4);
        }
        assert_near(least, objective, 1e-3);
    }
    inmo_solver_free(solver);
    inmo_least_squares_free(&squares);
    inmo_graph_free(graph);
}

static void test_least_squares(void **state)
{
    (void)state;
    check_squares(3);  /* most histories are longer */
    check_squares(16); /* none is */
}

static void test_walks(void **state)
{
    double y[USERS * ITEMS];
    struct inmo_graph *graph = weighted_graph(0, y);
    struct inmo_walks *walks = NULL;
    struct inmo_error error = {0};
    (void)state;
    must(inmo_walks_make(graph, 2.5, -0.2, 1000, NULL, &walks, &error));
    for (int32_t j = 0; j < ITEMS; j++)
        for (int32_t i = 0; i < ITEMS; i++) {
            double sum = 0;
            for (int32_t v = 0; v < USERS && i != j; v++)
                if (y[v * ITEMS + j] > 0)
                    sum += y[v * ITEMS + j] / column_sum(y, j) * y[v * ITEMS + i] / row_sum(y, v);
            assert_near(inmo_walks_between(walks, j, i), 2.5 * pow(column_sum(y, i), -0.2) * sum, 1e-6);
        }
    inmo_walks_free(walks);
    inmo_graph_free(graph);
}

/* b solves (G_JJ + ridge) b = G_Ji with G = Σ_u ω_u x_u x_u', x = w^1/2, J all other items. */
static void test_links(void **state)
{
    static const struct inmo_link_rule rule = {100, 3, 0, 0, 0};
    double y[USERS * ITEMS], gram[ITEMS][ITEMS] = {{0}}, edges = 0, roots = 0;
    struct inmo_graph *graph = weighted_graph(0, y);
    struct inmo_links *links = NULL;
    struct inmo_error error = {0};
    (void)state;
    for (int32_t u = 0; u < USERS; u++) {
        edges += (double)inmo_graph_degree(graph, u);
        roots += sqrt((double)inmo_graph_degree(graph, u));
    }
    for (int32_t u = 0; u < USERS; u++)
        for (int32_t i = 0; i < ITEMS; i++)
            for (int32_t j = 0; j < ITEMS && y[u * ITEMS + i] > 0; j++)
                gram[i][j] += edges / roots / sqrt((double)inmo_graph_degree(graph, u)) *
                              sqrt(y[u * ITEMS + i] * y[u * ITEMS + j]);
    must(inmo_links_solve(graph, &rule, NULL, NULL, &links, &error));
    for (int32_t i = 0; i < ITEMS; i++)
        for (int32_t j = 0; j < ITEMS; j++) {
            double sum = 0;
            if (inmo_links_between(links, j, i) == 0)
                continue;
            for (int32_t other = 0; other < ITEMS; other++)
                sum +=
                    (gram[j][other] + (other == j ? rule.ridge : 0)) * (double)inmo_links_between(links, other, i);
            assert_near(sum, gram[j][i], 2e-4);
        }
    inmo_links_free(links);
    inmo_graph_free(graph);
}

/* ---- Whole models -------------------------------------------------------------------------------------------- */

/* The grouped data set, with random weights or with ones. */
static struct inmo_dataset *weighted_data(int all_one, float *weight)
{
    struct inmo_dataset *data = grouped_dataset(60, 40, 10, "80/0/20");
    for (int64_t e = 0; e < inmo_csr_count(&data->train); e++)
        weight[e] = all_one ? 1 : 0.2f + 2.8f * (float)inmo_random_unit(inmo_random(inmo_key(2, 78), (uint64_t)e));
    data->train.weight = weight;
    return data;
}

static const char *const heeding[] = {"inmo-lightgcn", "inmo-mf", "lightgcn", "mf", "ials", "popular"};

static struct inmo_train_options options_of(const char *model)
{
    struct inmo_train_options options = small_options(model);
    if (strcmp(model, "ials") != 0 && strcmp(model, "popular") != 0) {
        options.loss = "listwise";
        options.negatives = 20;
        options.temperature = 0.3;
    }
    if (strncmp(model, "inmo", 4) == 0) {
        options.walks = 0.3;
        options.links = 0.4;
        options.start = "spectral";
    }
    return options;
}

/* Weights of 1 change no bit of what is learned and listed. Others do. */
static void test_ones(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT(heeding); m++) {
        struct inmo_train_options options = options_of(heeding[m]);
        struct inmo_matrix users[3], items[3];
        struct inmo_model *model[3];
        struct inmo_view *view[3] = {NULL};
        struct inmo_error error = {0};
        for (int n = 0; n < 3; n++) {
            float weight[60 * 10];
            struct inmo_dataset *data = weighted_data(n == 1, weight);
            if (n == 0)
                data->train.weight = NULL;
            model[n] = trained(data, &options);
            assert_int_equal(model[n]->train.weight != NULL, n > 0);
            must(inmo_view_create(model[n], NULL, &view[n], &error));
            inmo_view_users(view[n], &users[n]);
            inmo_view_items(view[n], &items[n]);
            data->train.weight = NULL;
            inmo_dataset_free(data);
        }
        if (users[0].columns > 0) {
            size_t size = (size_t)users[0].rows * (size_t)users[0].columns * sizeof(float);
            assert_memory_equal(users[0].value, users[1].value, size);
            assert_memory_not_equal(users[0].value, users[2].value, size);
            assert_memory_equal(items[0].value, items[1].value,
                                (size_t)items[0].rows * (size_t)items[0].columns * sizeof(float));
        }
        for (int n = 0; n < 3; n++) {
            inmo_view_free(view[n]);
            inmo_model_free(model[n]);
        }
    }
}

/* The list of one user is that of the ranking of all, before and after an event, which counts 1; reasons sum up; a
 * refresh keeps the weights; and a file keeps all of it. */
static void test_serving(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT(heeding); m++) {
        struct inmo_train_options options = options_of(heeding[m]);
        float weight[60 * 10];
        struct inmo_dataset *data = weighted_data(0, weight);
        struct inmo_model *model = trained(data, &options), *back = NULL;
        struct inmo_view *view = NULL;
        struct inmo_error error = {0};
        struct inmo_event event = {.user = "user-3", .item = "item-39"};
        must(inmo_model_save(model, "model.inmo", 1, &error));
        must(inmo_model_load("model.inmo", &back, &error));
        assert_memory_equal(back->train.weight, model->train.weight,
                            (size_t)inmo_csr_count(&model->train) * sizeof(float));
        must(inmo_view_create(back, NULL, &view, &error));
        if (strcmp(heeding[m], "popular") != 0)
            check_agreement(view, "user-3");
        must(inmo_view_observe(view, &event, 1, &error));
        if (strcmp(heeding[m], "popular") != 0)
            check_agreement(view, "user-3");
        must(inmo_view_refresh(view, NULL, &error));
        assert_non_null(view->snapshot->graph->weight);
        if (strcmp(heeding[m], "popular") != 0)
            check_agreement(view, "user-3");
        inmo_view_free(view);
        inmo_model_free(back);
        inmo_model_free(model);
        data->train.weight = NULL;
        inmo_dataset_free(data);
    }
}

/* Somebody whose history is known in full, folded in, is the user of the graph: mf's vectors are sums over the
 * history alone. */
static void test_fold(void **state)
{
    struct inmo_train_options options = options_of("inmo-mf");
    float weight[60 * 10];
    struct inmo_dataset *data = weighted_data(0, weight);
    struct inmo_model *model;
    struct inmo_view *view = NULL;
    struct inmo_error error = {0};
    struct inmo_event event = {.user = "user-3"};
    struct inmo_query query;
    struct inmo_list *before = NULL, *after = NULL;
    (void)state;
    options.walks = 0;
    options.links = 0;
    model = trained(data, &options);
    must(inmo_view_create(model, NULL, &view, &error));
    inmo_query_init(&query);
    query.user = "user-3";
    query.include_seen = 1;
    must(inmo_recommend(view, &query, &before, &error));
    /* an event and its forgetting: the history is what it was, and is folded in */
    event.item = "item-5";
    must(inmo_view_observe(view, &event, 1, &error));
    must(inmo_recommend(view, &query, &after, &error));
    assert_true(fabs(after->entry[0].score - before->entry[0].score) > 1e-6);
    inmo_list_free(after);
    must(inmo_view_forget(view, "user-3", "item-5", &error));
    must(inmo_recommend(view, &query, &after, &error));
    assert_int_equal(after->count, before->count);
    for (size_t n = 0; n < before->count; n++)
        assert_near(after->entry[n].score, before->entry[n].score, 1e-5);
    inmo_list_free(after);
    inmo_list_free(before);
    inmo_view_free(view);
    inmo_model_free(model);
    data->train.weight = NULL;
    inmo_dataset_free(data);
}

static void keep_note(void *context, enum inmo_level level, const char *sentence)
{
    (void)level;
    if (strstr(sentence, "heed"))
        snprintf(context, 200, "%s", sentence);
}

/* Others are trained as without weights, byte for byte, and it is said. */
static void test_not_heeded(void **state)
{
    static const char *const others[] = {"ease", "item-knn", "ngcf", "mf"};
    (void)state;
    for (size_t m = 0; m < COUNT(others); m++) {
        struct inmo_train_options options = small_options(others[m]);
        char note[200] = "";
        const struct inmo_hooks hooks = {.context = note, .log = keep_note};
        float weight[60 * 10];
        struct inmo_dataset *data = weighted_data(0, weight);
        struct inmo_model *model = NULL;
        struct inmo_error error = {0};
        must(inmo_train(data, &options, &hooks, &model, NULL, &error));
        assert_non_null(strstr(note, "does not heed weights"));
        must(inmo_model_save(model, "weighted.inmo", 1, &error));
        inmo_model_free(model);
        data->train.weight = NULL;
        model = trained(data, &options);
        must(inmo_model_save(model, "plain.inmo", 1, &error));
        inmo_model_free(model);
        assert_true(same_files("weighted.inmo", "plain.inmo"));
        inmo_dataset_free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_representations),
        cmocka_unit_test(test_least_squares),
        cmocka_unit_test(test_walks),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_ones),
        cmocka_unit_test_setup_teardown(test_serving, enter_directory, leave_directory),
        cmocka_unit_test(test_fold),
        cmocka_unit_test_setup_teardown(test_not_heeded, enter_directory, leave_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
