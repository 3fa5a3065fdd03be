/* test_gradient.c - the training step against an independent computation (tests/golden, numpy, float64, from
 * docs/math.md alone) and against finite differences: starting parameters, batches, dropout, loss, gradients,
 * two Adam steps, representations, and somebody unseen, for all models, whole and with half of the templates. */
#include "golden_step.h"

#include "model/provider/attention.h"

static void check_golden(const char *name)
{
    struct golden golden;
    json_t *steps, *unseen;
    float *found;
    size_t size;
    open_golden(name, "bpr", 0, &golden);
    size = (size_t)golden.stepper->parameter_rows * (size_t)golden.stepper->binding.dim;
    found = inmo_alloc(size + 4096, sizeof *found);
    assert_int_equal(json_array_size(json_object_get(golden.json, "start")), size);
    assert_true(distance(golden.stepper->parameter, json_object_get(golden.json, "start")) < 1e-6);
    steps = json_object_get(golden.json, "steps");
    for (size_t s = 0; s < json_array_size(steps); s++) {
        json_t *step = json_array_get(steps, s), *triples = json_object_get(step, "triples");
        double alpha = inmo_alpha_of_epoch(&golden.options, (int32_t)number(step, "epoch"));
        struct inmo_gradient gradient;
        double loss, total = number(json_object_get(step, "loss"), "total");
        int32_t batch = golden.options.batch, drawn[5 * 64];
        assert_true(fabs(alpha - number(step, "alpha")) < 1e-12);
        draw_numbers(&golden, (int64_t)s, drawn);
        for (int32_t b = 0; b < batch; b++)
            for (int part = 0; part < 3; part++)
                assert_int_equal(drawn[part * batch + b], json_integer_value(json_array_get(
                                                              json_array_get(triples, (size_t)b), (size_t)part)));
        loss = inmo_stepper_gradient(golden.stepper, (int64_t)s, alpha, &gradient);
        assert_true(fabs(loss - total) < 1e-6 * total);
        whole_gradient(golden.stepper, gradient, found);
        assert_true(distance(found, json_object_get(step, "gradient")) < 1e-5);
        assert_true(distance(golden.stepper->parameter, json_object_get(step, "gradient")) >
                    1e-2); /* it can fail */
        inmo_stepper_run(golden.stepper, (int64_t)s, alpha, golden.options.learning_rate);
    }
    inmo_stepper_catch_up(golden.stepper);
    assert_true(distance(golden.stepper->parameter, json_object_get(golden.json, "after")) < 2e-5);
    assert_int_equal(inmo_represent(golden.stepper->kind, &golden.stepper->binding, golden.options.layers,
                                    golden.stepper->parameter, inmo_stepper_weights(golden.stepper), 1, 0, found,
                                    NULL, NULL),
                     INMO_OK);
    assert_true(distance(found, json_object_get(golden.json, "representations")) < 2e-5);
    unseen = json_object_get(golden.json, "unseen");
    (void)unseen; /* compared through the public interface in test_view.c */
    inmo_free(found);
    close_golden(&golden);
}

/* r_i = d_i^γ times what it is at γ = 0, users as they are. */
static void test_popularity(void **state)
{
    struct golden golden;
    float *plain, *scaled;
    (void)state;
    open_golden("inmo-lightgcn-d5", "bpr", 0, &golden);
    plain = inmo_alloc(2 * (size_t)golden.graph->nodes * 5, sizeof *plain);
    scaled = plain + (size_t)golden.graph->nodes * 5;
    for (int is_scaled = 0; is_scaled < 2; is_scaled++)
        assert_int_equal(inmo_represent(golden.stepper->kind, &golden.stepper->binding, golden.options.layers,
                                        golden.stepper->parameter, NULL, 0.7, is_scaled ? -0.3 : 0,
                                        is_scaled ? scaled : plain, NULL, NULL),
                         INMO_OK);
    for (int32_t v = 0; v < golden.graph->nodes; v++) {
        double degree = fmax((double)inmo_graph_degree(golden.graph, v), 1);
        double factor = v < golden.graph->users ? 1 : pow(degree, -0.3);
        for (int j = 0; j < 5; j++)
            assert_true(fabs(scaled[v * 5 + j] - factor * plain[v * 5 + j]) < 1e-6 * fabs(plain[v * 5 + j]));
    }
    inmo_free(plain);
    close_golden(&golden);
}

static const char *const names[] = {
    "mf-d5",
    "mf-d32",
    "lightgcn-d5",
    "lightgcn-d32",
    "inmo-mf-d5",
    "inmo-mf-d32",
    "inmo-lightgcn-d5",
    "inmo-lightgcn-d32",
    "inmo-mf-half-d5",
    "inmo-mf-half-d32",
    "inmo-lightgcn-half-d5",
    "inmo-lightgcn-half-d32",
    "ngcf-d5",
    "ngcf-drop-d5",
    "inmo-ngcf-drop-d5",
    "inmo-ngcf-half-drop-d5",
    "ngcf-drop-d18",
    "imc-gae-d5",
    "imc-gae-drop-d32",
    "inmo-imc-gae-drop-d32",
    "inmo-imc-gae-half-drop-d5",
    "idcf-lightgcn-d5",
    "idcf-lightgcn-half-d5",
    "idcf-lightgcn-shared-d5",
    "idcf-lightgcn-shared-half-d5",
};

static void test_golden(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        print_message("golden %s\n", names[n]);
        check_golden(names[n]);
    }
}

static void check_all_differences(const char *loss)
{
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        check_finite_differences(names[n], loss, n % 2 ? 0 : -0.3, 3);
}

static void test_finite_differences_bpr(void **state)
{
    (void)state;
    check_all_differences("bpr");
}

static void test_finite_differences_softmax(void **state)
{
    (void)state;
    check_all_differences("softmax");
}

static void test_finite_differences_listwise(void **state)
{
    (void)state;
    check_all_differences("listwise");
}

/* The models that heed weights, with weights from 0.25 to 2.75. */
static void test_finite_differences_weighted(void **state)
{
    (void)state;
    golden_weights = 1;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (strncmp(names[n], "mf", 2) == 0 || strncmp(names[n], "lightgcn", 8) == 0 ||
            strncmp(names[n], "inmo-mf", 7) == 0 || strncmp(names[n], "inmo-lightgcn", 13) == 0) {
            check_finite_differences(names[n], "listwise", n % 2 ? 0 : -0.3, 3);
            check_finite_differences(names[n], "bpr", 0, 3);
        }
    golden_weights = 0;
}

static void test_finite_differences_bce(void **state)
{
    (void)state;
    check_all_differences("bce");
}

/* The keys that a head sees. */
static void test_key_draws(void **state)
{
    char path[512];
    json_t *json, *row;
    size_t n;
    (void)state;
    snprintf(path, sizeof path, "%s/golden/idcf-draws.json", INMO_TEST_DIR);
    json = json_load_file(path, 0, NULL);
    assert_non_null(json);
    json_array_foreach(json_object_get(json, "draws"), n, row) {
        uint64_t key =
            inmo_random(inmo_key((uint64_t)number(row, "seed"), INMO_STREAM_KEYS), (uint64_t)number(row, "step"));
        const json_t *expected = json_object_get(row, "is");
        int32_t drawn[INMO_SAMPLE], count;
        key = inmo_random(key, (uint64_t)(number(row, "side") * INMO_HEADS + number(row, "head")));
        count = inmo_attention_draw(key, (int32_t)number(row, "count"),
                                    json_is_true(json_object_get(row, "repeats")), drawn);
        assert_int_equal(count, json_array_size(expected));
        for (int32_t k = 0; k < count; k++)
            assert_int_equal(drawn[k], json_integer_value(json_array_get(expected, (size_t)k)));
    }
    assert_int_equal(n, 6);
    json_decref(json);
}

static void test_random_numbers(void **state)
{
    char path[512];
    json_t *json, *list, *row;
    size_t n;
    (void)state;
    snprintf(path, sizeof path, "%s/golden/random.json", INMO_TEST_DIR);
    json = json_load_file(path, 0, NULL);
    assert_non_null(json);
    list = json_object_get(json, "random");
    json_array_foreach(list, n, row) {
        uint64_t key = inmo_key((uint64_t)number(row, "seed"), (uint64_t)number(row, "stream"));
        char text[32];
        snprintf(text, sizeof text, "%016llx",
                 (unsigned long long)inmo_random(key, (uint64_t)number(row, "counter")));
        assert_string_equal(text, json_string_value(json_object_get(row, "is")));
    }
    list = json_object_get(json, "normal");
    json_array_foreach(list, n, row) {
        uint64_t key = inmo_key((uint64_t)number(row, "seed"), (uint64_t)number(row, "stream"));
        double found = inmo_random_normal(key, (uint64_t)number(row, "counter"));
        assert_true(fabs(found - number(row, "is")) < 1e-8);
    }
    list = json_object_get(json, "kept");
    json_array_foreach(list, n, row) {
        uint64_t key = inmo_key((uint64_t)number(row, "seed"), (uint64_t)number(row, "stream"));
        uint32_t step_key = (uint32_t)inmo_random(key, (uint64_t)number(row, "step"));
        assert_int_equal(inmo_drop_keeps(step_key, (uint32_t)(number(row, "p") * 4294967296.0),
                                         (uint32_t)number(row, "u"), (uint32_t)number(row, "i")),
                         (int)number(row, "is"));
    }
    json_decref(json);
}

/* The share dropped is p, on both sides, and the two sides are drawn separately. */
static void test_dropout_share(void **state)
{
    uint32_t key[2] = {(uint32_t)inmo_random(inmo_key(1, INMO_STREAM_DROP_USER), 9),
                       (uint32_t)inmo_random(inmo_key(1, INMO_STREAM_DROP_ITEM), 9)};
    uint32_t threshold = (uint32_t)(0.3 * 4294967296.0);
    int kept[2] = {0, 0}, both = 0, all = 0;
    (void)state;
    for (uint32_t u = 0; u < 500; u++)
        for (uint32_t i = 0; i < 500; i++, all++) {
            int a = inmo_drop_keeps(key[0], threshold, u, i), b = inmo_drop_keeps(key[1], threshold, u, i);
            kept[0] += a;
            kept[1] += b;
            both += a && b;
        }
    assert_true(fabs((double)kept[0] / all - 0.7) < 0.005);
    assert_true(fabs((double)kept[1] / all - 0.7) < 0.005);
    assert_true(fabs((double)both / all - 0.49) < 0.005);
}

/* A row of ngcf whose entries are all dropped while the biases are 0 has no length. It must not pass on what
 * dividing by that length would give: the gradient stays of the size of the others. */
static void test_row_without_length(void **state)
{
    struct golden golden;
    struct inmo_gradient gradient;
    int64_t own;
    float largest = 0;
    (void)state;
    open_golden("ngcf-drop-d5", "bpr", 0, &golden);
    golden.options.graph_dropout = 0.6; /* several rows of the 16 */
    inmo_stepper_gradient(golden.stepper, 0, 1, &gradient);
    own = (golden.stepper->parameter_rows - golden.stepper->provider_rows) * golden.options.dim;
    for (int64_t n = 0; n < own; n++) {
        assert_true(isfinite(gradient.own[n]));
        largest = fmaxf(largest, fabsf(gradient.own[n]));
    }
    assert_true(largest > 0 && largest < 100);
    close_golden(&golden);
}

/* Half precision storage: the same gradient to the precision of bfloat16, and not the same bytes. */
static void test_half_storage(void **state)
{
    static const char *const wide[] = {"lightgcn-d32", "inmo-lightgcn-d32"};
    (void)state;
    for (size_t n = 0; n < sizeof wide / sizeof *wide; n++) {
        struct golden golden;
        struct inmo_gradient gradient;
        struct inmo_stepper *half = NULL;
        struct inmo_train_options options;
        float *whole, *rough, largest = 0;
        double worst = 0;
        size_t size;
        open_golden(wide[n], "bpr", 0, &golden);
        options = golden.options;
        options.storage = "half";
        assert_int_equal(
            inmo_stepper_new(golden.stepper->kind, &options, golden.graph, &golden.train, NULL, &half, NULL),
            INMO_OK);
        size = (size_t)half->parameter_rows * (size_t)options.dim;
        whole = inmo_alloc(size, sizeof *whole);
        rough = inmo_alloc(size, sizeof *rough);
        inmo_stepper_gradient(golden.stepper, 0, 0.5, &gradient);
        whole_gradient(golden.stepper, gradient, whole);
        inmo_stepper_gradient(half, 0, 0.5, &gradient);
        whole_gradient(half, gradient, rough);
        for (size_t p = 0; p < size; p++) {
            worst = fmax(worst, fabs((double)whole[p] - rough[p]));
            largest = fmaxf(largest, fabsf(whole[p]));
        }
        assert_true(worst > 0);
        assert_true(worst < 0.01 * largest);
        inmo_free(rough);
        inmo_free(whole);
        inmo_stepper_free(half);
        close_golden(&golden);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_popularity),
        cmocka_unit_test(test_finite_differences_bpr),
        cmocka_unit_test(test_finite_differences_softmax),
        cmocka_unit_test(test_finite_differences_listwise),
        cmocka_unit_test(test_finite_differences_weighted),
        cmocka_unit_test(test_finite_differences_bce),
        cmocka_unit_test(test_row_without_length),
        cmocka_unit_test(test_half_storage),
        cmocka_unit_test(test_random_numbers),
        cmocka_unit_test(test_key_draws),
        cmocka_unit_test(test_dropout_share),
    };
    inmo_set_threads(1); /* thousands of tiny steps: at two threads they wait for each other on a busy machine */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
