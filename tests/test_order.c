/* test_order.c - numbers of the nodes for training alone: the order is one, the renumbered graph is the same
 * graph, and a model comes out as if nobody had been renumbered, to rounding. */
#include "support.h"

#include "graph/order.h"
#include "train/step.h"

#include <math.h>

/* Users and items in turn belong to one of two groups, and choose within it alone. */
static struct inmo_graph *two_groups(int32_t users, int32_t items)
{
    struct inmo_error error = {0};
    struct inmo_graph *graph = NULL;
    int64_t *offset = inmo_alloc((size_t)users + 1, sizeof *offset), count = 0;
    int32_t *column = inmo_alloc((size_t)users * (size_t)items, sizeof *column);
    struct inmo_csr list = {users, items, offset, column, NULL};
    const struct inmo_csr *lists[1] = {&list};
    for (int32_t u = 0; u < users; u++) {
        offset[u] = count;
        for (int32_t i = u % 2; i < items; i += 2)
            if (inmo_random_unit(inmo_random(1, (uint64_t)u << 32 | (uint64_t)i)) < 0.3)
                column[count++] = i;
    }
    offset[users] = count;
    must(inmo_graph_build(users, items, lists, 1, &graph, &error));
    inmo_free(column);
    inmo_free(offset);
    return graph;
}

static void test_permutation(void **state)
{
    enum { USERS = 200, ITEMS = 130 };
    struct inmo_graph *graph = random_graph_of(USERS, ITEMS, 0.02, 5); /* some have nobody */
    struct inmo_error error = {0};
    int32_t node[USERS + ITEMS], again[USERS + ITEMS], moved = 0;
    char seen[USERS + ITEMS] = {0};
    (void)state;
    must(inmo_order_find(graph, "none", NULL, node, &error));
    for (int32_t v = 0; v < graph->nodes; v++)
        assert_int_equal(node[v], v);
    inmo_set_threads(2);
    must(inmo_order_find(graph, "community", NULL, again, &error));
    inmo_set_threads(1);
    must(inmo_order_find(graph, "community", NULL, node, &error));
    assert_memory_equal(node, again, sizeof node);
    for (int32_t p = 0; p < graph->nodes; p++) {
        assert_in_range(node[p], p < USERS ? 0 : USERS, (p < USERS ? USERS : USERS + ITEMS) - 1);
        assert_false(seen[node[p]]);
        seen[node[p]] = 1;
        moved += node[p] != p;
    }
    assert_true(moved > graph->nodes / 2);
    inmo_graph_free(graph);
}

/* Groups that lie mixed, every node beside two of the other group, come to lie in stretches. */
static void test_groups(void **state)
{
    enum { USERS = 256, ITEMS = 128 };
    struct inmo_graph *graph = two_groups(USERS, ITEMS);
    struct inmo_error error = {0};
    int32_t node[USERS + ITEMS], changes = 0;
    (void)state;
    must(inmo_order_find(graph, "community", NULL, node, &error));
    for (int32_t p = 1; p < graph->nodes; p++)
        changes += node[p] % 2 != node[p - 1] % 2;
    assert_in_range(changes, 2,
                    graph->nodes / 4); /* by chance half of the nodes would follow one of the other group */
    inmo_graph_free(graph);
}

static void test_renumbered(void **state)
{
    enum { USERS = 60, ITEMS = 90, WIDTH = 3 };
    struct inmo_graph *graph = random_graph_of(USERS, ITEMS, 0.05, 6),
                      *other = random_graph_of(USERS, ITEMS, 0.05, 6);
    struct inmo_error error = {0};
    float rows[(USERS + ITEMS) * WIDTH];
    (void)state;
    must(inmo_graph_order(&other, "none", NULL, &error));
    assert_null(other->origin);
    must(inmo_graph_order(&other, "community", NULL, &error));
    assert_int_equal(other->edges, graph->edges);
    for (int32_t v = 0; v < graph->nodes; v++) {
        int32_t p = inmo_graph_place(other, v);
        assert_int_equal(inmo_graph_origin(other, p), v);
        assert_int_equal(inmo_graph_degree(other, p), inmo_graph_degree(graph, v));
        assert_true(other->inverse_degree[p] == graph->inverse_degree[v]);
        for (int64_t e = other->offset[p]; e < other->offset[p + 1]; e++) {
            int64_t found = 0;
            assert_true(e == other->offset[p] || other->neighbour[e - 1] < other->neighbour[e]);
            for (int64_t f = graph->offset[v]; f < graph->offset[v + 1]; f++)
                found += inmo_graph_place(other, graph->neighbour[f]) == other->neighbour[e];
            assert_int_equal(found, 1);
        }
        for (int j = 0; j < WIDTH; j++)
            rows[p * WIDTH + j] = (float)(WIDTH * v + j);
    }
    must(inmo_order_restore(other, WIDTH, rows, &error));
    for (int n = 0; n < (USERS + ITEMS) * WIDTH; n++)
        assert_true(rows[n] == (float)n);
    must(inmo_order_restore(graph, WIDTH, rows, &error)); /* nothing to restore */
    assert_true(rows[7] == 7);
    inmo_graph_free(other);
    inmo_graph_free(graph);
}

/* ---- Training --------------------------------------------------------------------------------------------- */

static void same_lists(const struct inmo_csr *a, const struct inmo_csr *b)
{
    assert_int_equal(a->rows, b->rows);
    assert_memory_equal(a->offset, b->offset, ((size_t)a->rows + 1) * sizeof *a->offset);
    assert_memory_equal(a->column, b->column, (size_t)inmo_csr_count(a) * sizeof *a->column);
}

static void same_models(const struct inmo_model *a, const struct inmo_model *b)
{
    int64_t count = ((int64_t)a->rows + a->kind->provider->extra_rows) * a->dim, differing = 0;
    double worst = 0;
    assert_int_equal(a->users.count, b->users.count);
    assert_int_equal(a->items.count, b->items.count);
    for (int32_t u = 0; u < a->users.count; u++)
        assert_string_equal(inmo_idmap_id(&a->users, u), inmo_idmap_id(&b->users, u));
    for (int32_t i = 0; i < a->items.count; i++)
        assert_string_equal(inmo_idmap_id(&a->items, i), inmo_idmap_id(&b->items, i));
    same_lists(&a->train, &b->train);
    same_lists(&a->valid, &b->valid);
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(!a->node_of_row, !b->node_of_row);
    if (a->node_of_row)
        assert_memory_equal(a->node_of_row, b->node_of_row, (size_t)a->rows * sizeof *a->node_of_row);
    for (int64_t n = 0; n < count; n++) {
        worst = fmax(worst, fabs(a->parameter[n] - b->parameter[n]));
        differing += a->parameter[n] != b->parameter[n];
    }
    assert_true(worst < 1e-4);
    assert_true(differing > 0); /* sums were added up in another order: so there was one */
}

/* Draws and starting values go by the data set's numbers: without dropout, whose hashes go by those of training,
 * and the self-enhanced loss, the order is rounding. */
static void test_same_model(void **state)
{
    static const char *const models[] = {"lightgcn",      "imc-lightgcn", "ngcf",         "inmo-mf",
                                         "inmo-lightgcn", "inmo-imc-gae", "idcf-lightgcn"};
    static const char *const losses[] = {"bpr", "softmax", "listwise"};
    struct inmo_dataset *data = grouped_dataset(96, 120, 12, "70/10/20");
    (void)state;
    for (size_t n = 0; n < COUNT(models) * COUNT(losses); n++) {
        struct inmo_train_options options = small_options(models[n / COUNT(losses)]);
        struct inmo_train_report report[2];
        struct inmo_model *model[2] = {NULL, NULL};
        struct inmo_error error = {0};
        options.loss = losses[n % COUNT(losses)];
        options.negatives = 30;
        options.dropout = options.graph_dropout = options.self_weight = 0;
        options.popularity = -0.2;
        options.epochs = 2;
        for (int o = 0; o < 2; o++) {
            options.order = o ? "community" : "none";
            must(inmo_train(data, &options, NULL, &model[o], &report[o], &error));
        }
        same_models(model[0], model[1]);
        assert_near(report[0].final_loss, report[1].final_loss, 1e-5);
        assert_near(report[0].best_score, report[1].best_score, 1e-3);
        inmo_model_free(model[0]);
        inmo_model_free(model[1]);
    }
    inmo_dataset_free(data);
}

/* Where nothing goes over the graph there is nothing to gain, and the bytes are the same. */
static void test_not_asked(void **state)
{
    struct inmo_dataset *data = grouped_dataset(48, 80, 10, "70/10/20");
    struct inmo_train_options options = small_options("mf");
    struct inmo_model *model[2];
    (void)state;
    assert_false(inmo_steps_over_graph(inmo_model_kind_find("mf")));
    assert_false(inmo_steps_over_graph(inmo_model_kind_find("ease")));
    for (int o = 0; o < 2; o++) {
        options.order = o ? "community" : "none";
        model[o] = trained(data, &options);
    }
    assert_memory_equal(model[0]->parameter, model[1]->parameter,
                        (size_t)model[0]->rows * (size_t)model[0]->dim * sizeof(float));
    inmo_model_free(model[0]);
    inmo_model_free(model[1]);
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_permutation), cmocka_unit_test(test_groups),    cmocka_unit_test(test_renumbered),
        cmocka_unit_test(test_same_model),  cmocka_unit_test(test_not_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
