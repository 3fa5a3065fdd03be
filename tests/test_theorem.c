/* test_theorem.c - the paper's two theorems as numbers, through the provider that training and serving use.
 *
 *   Theorem 1  All users and items templates, α = 0, no t_user and t_item: T_u = U S^-1 and T_i = V give
 *              E_u E_i' = U S V', whose error is the least any rank-d factorization can have.
 *   Theorem 2  With only some users as templates the error grows by no more than ‖U U' L Y‖, L marking the others,
 *              and ‖U U' L Y‖² <= Σ_{u not a template} ‖U_u‖² Σ_{i in N_u} d_i, the sum of the scores left out.
 *
 * And what makes the model inductive: nodes with the same neighbours have the same embedding, to the last bit;
 * and the way back from the rows of a batch, which passes over their edges alone. */
#include "support.h"

#include "graph/template.h"
#include "kernel/kernel.h"
#include "model/model.h"

enum { USERS = 14, ITEMS = 11, DIM = 4, NODES = USERS + ITEMS, EXTRA = 3 };

struct setting {
    struct inmo_graph *graph;
    double *y;  // (USERS, ITEMS)
    struct dense_svd svd;
};

static struct setting make_setting(uint64_t seed)
{
    struct setting setting;
    setting.graph = random_graph_of(USERS, ITEMS, 0.4, seed);
    setting.y = dense_of(setting.graph, 0);
    setting.svd = dense_svd_of(setting.y, USERS, ITEMS);
    return setting;
}

static void free_setting(struct setting *setting)
{
    free_dense_svd(&setting->svd);
    inmo_free(setting->y);
    inmo_graph_free(setting->graph);
}

/* E of all nodes by the provider, with T_u = U S^-1 of the users that are templates and T_i = V of all items. */
static void embed(const struct setting *setting, const uint8_t *is_template, float *e)
{
    const struct inmo_provider *provider = &inmo_provider_inmo;
    const struct dense_svd *svd = &setting->svd;
    struct inmo_moment moment = {.alpha = 0};
    int32_t row_of_node[NODES], node_of_row[NODES], rows = 0;
    float parameter[(NODES + EXTRA) * DIM] = {0}; /* t_user, t_item (and w) stay zero */
    struct inmo_binding binding = {
        .graph = setting->graph, .dim = DIM, .row_of_node = row_of_node, .node_of_row = node_of_row};
    struct inmo_provider_state *state;
    for (int32_t v = 0; v < NODES; v++) {
        row_of_node[v] = v >= USERS || is_template[v] ? rows : -1;
        if (row_of_node[v] < 0)
            continue;
        for (int k = 0; k < DIM; k++)
            parameter[rows * DIM + k] =
                (float)(v < USERS ? svd->u[v * svd->rank + k] / svd->s[k] : svd->v[k * ITEMS + v - USERS]);
        node_of_row[rows++] = v;
    }
    binding.rows = rows;
    assert_int_equal(provider->extra_rows, EXTRA);
    state = provider->create(&binding, 0, 0);
    assert_non_null(state);
    provider->begin(state, NULL, &moment);
    memcpy(e, provider->forward(state, parameter, NULL), NODES * DIM * sizeof *e);
    provider->destroy(state);
}

static double product(const float *e, int u, int i)
{
    double sum = 0;
    for (int k = 0; k < DIM; k++)
        sum += (double)e[u * DIM + k] * e[(USERS + i) * DIM + k];
    return sum;
}

/* ‖Y - E_u E_i'‖² */
static double squared_error(const struct setting *setting, const float *e)
{
    double sum = 0;
    for (int u = 0; u < USERS; u++)
        for (int i = 0; i < ITEMS; i++)
            sum += pow(setting->y[u * ITEMS + i] - product(e, u, i), 2);
    return sum;
}

static void test_theorem_1(void **state)
{
    uint8_t everybody[USERS];
    float e[NODES * DIM];
    (void)state;
    memset(everybody, 1, sizeof everybody);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct setting setting = make_setting(seed);
        double least = least_error(&setting.svd, DIM);
        assert_true(least > 1); /* the rank is really cut: Y itself is not of rank DIM */
        embed(&setting, everybody, e);
        for (int u = 0; u < USERS; u++)
            for (int i = 0; i < ITEMS; i++)
                assert_near(product(e, u, i), truncated(&setting.svd, DIM, u, i), 1e-5);
        assert_near(squared_error(&setting, e), least, 1e-5 * least);
        e[3] += 0.1f; /* and nothing near it is better */
        assert_true(squared_error(&setting, e) > least * (1 + 1e-5));
        free_setting(&setting);
    }
}

/* ‖U U' L Y‖², U of rank DIM. */
static double additional_error(const struct setting *setting, const uint8_t *is_template)
{
    const struct dense_svd *svd = &setting->svd;
    double sum = 0;
    for (int u = 0; u < USERS; u++)
        for (int i = 0; i < ITEMS; i++) {
            double entry = 0;
            for (int j = 0; j < USERS; j++)
                for (int k = 0; k < DIM && !is_template[j]; k++)
                    entry += svd->u[u * svd->rank + k] * svd->u[j * svd->rank + k] * setting->y[j * ITEMS + i];
            sum += entry * entry;
        }
    return sum;
}

static void test_theorem_2(void **state)
{
    double score[NODES], tightest = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct setting setting = make_setting(seed);
        struct inmo_error error = {0};
        double least = least_error(&setting.svd, DIM);
        must(inmo_template_scores(setting.graph, "error-sort-svd", DIM, 1, NULL, score, &error));
        for (uint64_t selection = 0; selection < 20; selection++) {
            uint8_t is_template[USERS];
            float e[NODES * DIM];
            double additional, bound = 0, found;
            for (int32_t u = 0; u < USERS; u++) {
                is_template[u] = inmo_random(seed * 100 + selection, (uint64_t)u) % 4 > 0;
                bound += is_template[u] ? 0 : score[u];
            }
            embed(&setting, is_template, e);
            found = sqrt(squared_error(&setting, e));
            additional = additional_error(&setting, is_template);
            assert_true(additional <= bound * (1 + 1e-4) + 1e-9);
            assert_true(found <= sqrt(least) + sqrt(additional) + 1e-4);
            if (bound > 0)
                tightest = fmax(tightest, additional / bound);
        }
        free_setting(&setting);
    }
    assert_true(tightest > 0.1); /* a bound that says something */
}

/* ---- Equal histories ------------------------------------------------------------------------------------- */

/* Users 1 and 4 have the same items, items 2 and 3 the same users. Half of the nodes are templates, of which
 * neither pair is part. */
static const char *const twins[] = {"0123", "0234", "15", "023", "0234", "46"};

static void test_equal_histories(void **state)
{
    static const char *const models[] = {"inmo-mf", "inmo-lightgcn", "inmo-ngcf", "inmo-imc-gae"};
    enum { TWIN_USERS = 6, TWIN_ITEMS = 7, WIDTH = 37, TWIN_NODES = TWIN_USERS + TWIN_ITEMS };
    const size_t row = WIDTH * sizeof(float);
    const int user[2] = {1 * WIDTH, 4 * WIDTH}, item[2] = {(TWIN_USERS + 2) * WIDTH, (TWIN_USERS + 3) * WIDTH};
    struct inmo_graph *graph = graph_of(TWIN_USERS, TWIN_ITEMS, twins);
    int32_t node_of_row[] = {0, 2, 3, 5, TWIN_USERS + 0, TWIN_USERS + 1, TWIN_USERS + 4, TWIN_USERS + 5};
    int32_t row_of_node[TWIN_NODES];
    struct inmo_binding binding = {.graph = graph,
                                   .dim = WIDTH,
                                   .rows = COUNT(node_of_row),
                                   .row_of_node = row_of_node,
                                   .node_of_row = node_of_row,
                                   .user_rows = 4};
    float parameter[(COUNT(node_of_row) + EXTRA) * WIDTH], own[2 * (2 * WIDTH + 2) * WIDTH];
    (void)state;
    for (size_t n = 0; n < COUNT(own); n++)
        own[n] = 0.1f * (float)inmo_random_normal(6, n);
    memset(row_of_node, 0xff, sizeof row_of_node);
    for (int32_t r = 0; r < binding.rows; r++)
        row_of_node[node_of_row[r]] = r;
    for (size_t n = 0; n < COUNT(parameter); n++)
        parameter[n] = (float)inmo_random_normal(5, n);
    for (size_t m = 0; m < COUNT(models); m++)
        for (int threads = 1; threads <= 2; threads++) {
            const struct inmo_model_kind *kind = inmo_model_kind_find(models[m]);
            struct inmo_error error = {0};
            struct inmo_moment moment = {.alpha = 0.8};
            struct inmo_provider_state *provider = kind->provider->create(&binding, 0, 0);
            float r[TWIN_NODES * WIDTH * 3];
            int width = inmo_backbone_width(kind->backbone, WIDTH, 2) / WIDTH;
            assert_true(width <= 3);
            const float *e;
            assert_non_null(provider);
            inmo_set_threads(threads);
            kind->provider->begin(provider, own, &moment);
            e = kind->provider->forward(provider, parameter, NULL);
            assert_memory_equal(e + user[0], e + user[1], row);
            assert_memory_equal(e + item[0], e + item[1], row);
            assert_memory_not_equal(e + user[0], e, row); /* users 0 and 1 differ by item 1, a template */
            must(inmo_represent(kind, &binding, 2, parameter, own, 0.8, 0, r, NULL, &error));
            assert_memory_equal(r + width * user[0], r + width * user[1], (size_t)width * row);
            assert_memory_equal(r + width * item[0], r + width * item[1], (size_t)width * row);
            assert_memory_not_equal(r + width * user[0], r, row);
            if (m == 0)
                assert_memory_equal(r, e, TWIN_NODES * row); /* mf adds nothing to the embeddings */
            kind->provider->destroy(provider);
        }
    inmo_set_threads(1);
    inmo_graph_free(graph);
}

/* A batch of few rows goes over their edges only: the same bytes as over all edges, at 1, 2 and 3 threads. */
static void test_few_rows(void **state)
{
    enum { WIDTH = 19 };
    struct inmo_dataset *data = grouped_dataset(200, 300, 10, "70/10/20");
    const struct inmo_csr *lists[1] = {&data->train};
    const struct inmo_moment moment = {.alpha = 1, .dropout = 0.3, .seed = 5, .step = 77};
    struct inmo_error error = {0};
    struct inmo_graph *graph = NULL;
    int32_t *number, *position, *node, found = 0;
    float *scale, *de, *used_up, *expected;
    (void)state;
    must(inmo_graph_build(data->users.count, data->items.count, lists, 1, &graph, &error));
    size_t nodes = (size_t)graph->nodes;
    number = inmo_alloc(nodes, sizeof *number);
    position = inmo_alloc(nodes, sizeof *position);
    node = inmo_alloc(nodes, sizeof *node);
    scale = inmo_alloc(nodes, sizeof *scale);
    de = inmo_alloc_zero(nodes * WIDTH, sizeof *de);
    used_up = inmo_alloc(nodes * WIDTH, sizeof *used_up);
    expected = inmo_alloc(nodes * WIDTH, sizeof *expected);
    for (int32_t v = 0; v < graph->nodes; v++) {
        number[v] = v; /* every node is a template, in order */
        position[v] = inmo_random_below(inmo_random(4, (uint64_t)v), 8) == 0 ? found : -1;
        scale[v] = (float)(1 / (1 - moment.dropout) / ((double)(graph->offset[v + 1] - graph->offset[v]) + 1));
        if (position[v] >= 0)
            node[found++] = v;
    }
    for (int32_t n = 0; n < found * WIDTH; n++)
        de[n] = (float)inmo_random_normal(6, (uint64_t)n);
    struct inmo_gather all = {
        .graph = graph,
        .dim = WIDTH,
        .x = de,
        .position = position,
        .weight = scale,
        .drop = {(uint32_t)(moment.dropout * 4294967296.0),
                 (uint32_t)inmo_random(inmo_key(moment.seed, INMO_STREAM_DROP_ITEM), (uint64_t)moment.step),
                 (uint32_t)inmo_random(inmo_key(moment.seed, INMO_STREAM_DROP_USER), (uint64_t)moment.step)},
        .out = expected,
    };
    inmo_gather(&all);
    for (int threads = 1; threads <= 3; threads++) {
        struct inmo_binding binding = {.graph = graph,
                                       .dim = WIDTH,
                                       .rows = graph->nodes,
                                       .row_of_node = number,
                                       .node_of_row = number,
                                       .user_rows = graph->users};
        struct inmo_provider_state *provider = inmo_provider_inmo.create(&binding, found, 1);
        struct inmo_rows rows = {found, node, position};
        assert_non_null(provider);
        inmo_set_threads(threads);
        inmo_provider_inmo.begin(provider, NULL, &moment);
        memcpy(used_up, de, nodes * WIDTH * sizeof *de);
        assert_memory_equal(inmo_provider_inmo.backward(provider, &rows, used_up).value, expected,
                            nodes * WIDTH * sizeof *expected);
        inmo_provider_inmo.destroy(provider);
    }
    inmo_set_threads(1);
    inmo_free(expected);
    inmo_free(used_up);
    inmo_free(de);
    inmo_free(scale);
    inmo_free(node);
    inmo_free(position);
    inmo_free(number);
    inmo_graph_free(graph);
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_theorem_1),
        cmocka_unit_test(test_theorem_2),
        cmocka_unit_test(test_equal_histories),
        cmocka_unit_test(test_few_rows),
    };
    inmo_set_threads(1); /* where a test asks for nothing else: small loops are slow at two on a busy machine */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
