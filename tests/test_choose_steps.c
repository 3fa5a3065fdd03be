/* test_choose_steps.c - what models trained by steps choose by the log's size and shape, and by short trainings:
 * depth, temperature, and how much is held back. */
#include "choosing.h"

#include "base/random.h"
#include "train/choose.h"
#include "train/settings.h"

#include <jansson.h>
#include <unistd.h>

/* Models by steps: what is held back on a small log is not on a large one, and numbers that are given stay. */
static void test_steps_by_size(void **state)
{
    static const struct inmo_log_shape small = {900, 1400, 38339}, middle = {5551, 16980, 141092},
                                       large = {29858, 40981, 706278};
    static const struct {
        const char *model;
        double small, middle, large; /* computed by hand */
    } cases[] = {
        {"mf", 0.01, 0.00284, 0.001},  {"inmo-lightgcn", 0.206, 0.109, 0.065}, {"inmo-mf", 0.13, 0.0889, 0.065},
        {"lightgcn", 0.2, 0.137, 0.1}, {"imc-lightgcn", 0.2, 0.137, 0.1},
    };
    struct inmo_error error = {0};
    (void)state;
    for (size_t n = 0; n < COUNT(cases); n++) {
        const struct inmo_model_kind *kind = inmo_model_kind_find(cases[n].model);
        struct inmo_train_options options;
        const struct inmo_log_shape *log[] = {&small, &middle, &large};
        const double expected[] = {cases[n].small, cases[n].middle, cases[n].large};
        int is_mf = strcmp(cases[n].model, "mf") == 0, has_depth = strcmp(cases[n].model, "inmo-lightgcn") == 0;
        for (int l = 0; l < 3; l++) {
            must(inmo_train_options_init(&options, cases[n].model, NULL, &error));
            assert_string_equal(inmo_choice_open(&options), is_mf ? "l2" : has_depth ? "layers" : "temperature");
            inmo_choice_start(kind, log[l], &options);
            assert_null(inmo_choice_open(&options));
            assert_near(is_mf ? options.l2 : options.temperature, expected[l], 1e-12);
            assert_int_equal(options.layers, 3);
        }
        options.temperature = options.l2 = 0.5;
        inmo_choice_start(kind, &small, &options);
        assert_true(options.temperature == 0.5 && options.l2 == 0.5);
        must(inmo_train_options_init(&options, cases[n].model, "paper", &error));
        assert_null(inmo_choice_open(&options));
    }
}

/* The default, with few dimensions; the data are as dense as small ones are. */
static struct inmo_train_options quick_default(void)
{
    struct inmo_train_options options;
    struct inmo_error error = {0};
    must(inmo_train_options_init(&options, "inmo-lightgcn", NULL, &error));
    options.dim = 16;
    options.epochs = 12;
    options.refit = "none";
    return options;
}

/* Three layers and one are tried; one is taken only if it is clearly better. The model has what was chosen, at any
 * number of threads. */
static void test_depth(void **state)
{
    struct inmo_dataset *data = small_data("70/10/20");
    struct inmo_train_options options = quick_default();
    struct inmo_error error = {0};
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        struct inmo_model *model;
        json_t *record, *first, *tried;
        double deep, shallow;
        inmo_set_threads(threads);
        model = trained(data, &options);
        record = record_of(model);
        first = json_array_get(record, 0);
        tried = json_object_get(first, "tried");
        assert_int_equal(json_array_size(tried), 2);
        assert_int_equal(json_integer_value(json_object_get(json_array_get(tried, 0), "layers")), 3);
        assert_int_equal(json_integer_value(json_object_get(json_array_get(tried, 1), "layers")), 1);
        deep = json_number_value(json_object_get(json_array_get(tried, 0), "ndcg@20"));
        shallow = json_number_value(json_object_get(json_array_get(tried, 1), "ndcg@20"));
        assert_true(deep > 0 && shallow > 0);
        assert_int_equal(model->layers, shallow > deep * (1 + inmo_choice_inmo_lightgcn.margin) ? 1 : 3);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(first, "chosen"), "layers")),
                         model->layers);
        assert_true(json_is_number(json_object_get(json_object_get(first, "chosen"), "links")));
        must(inmo_model_save(model, threads == 1 ? "one" : "two", 1, &error));
        json_decref(record);
        inmo_model_free(model);
    }
    inmo_set_threads(1);
    assert_true(same_files("one", "two"));
    inmo_dataset_free(data);
}

/* A second pass, which has no validation part, has the depth that the first chose. */
static void test_depth_is_kept(void **state)
{
    struct inmo_dataset *data = small_data("70/10/20");
    struct inmo_train_options options = quick_default();
    struct inmo_model *model;
    int chosen;
    (void)state;
    model = trained(data, &options);
    chosen = model->layers;
    inmo_model_free(model);
    options.refit = "train";
    model = trained(data, &options);
    assert_int_equal(model->layers, chosen);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

/* A depth that is given stays, and neither it nor a run of a few seconds costs trials. On a sparse log there is one
 * depth. */
static void test_depth_without_trials(void **state)
{
    static const struct inmo_log_shape sparse = {29858, 40981, 706278}, dense = {6000, 3500, 519000},
                                       long_histories = {1e6, 1e5, 6e7};
    struct inmo_dataset *data = small_data("70/10/20");
    struct inmo_train_options options = quick_default();
    const int one[INMO_CHOICE_AXES] = {1};
    (void)state;
    for (int n = 0; n < 2; n++) {
        struct inmo_model *model;
        json_t *record;
        options.layers = n == 0 ? 2 : INMO_AUTO;
        options.max_seconds = n == 0 ? 0 : INMO_LEAST_SECONDS - 1;
        model = trained(data, &options);
        record = record_of(model);
        assert_int_equal(json_array_size(json_object_get(json_array_get(record, 0), "tried")), 0);
        assert_int_equal(model->layers, n == 0 ? 2 : 3);
        json_decref(record);
        inmo_model_free(model);
    }
    for (int n = 0; n < 3; n++) {
        options = quick_default();
        inmo_choice_inmo_lightgcn.take(one, n == 0 ? &sparse : n == 1 ? &dense : &long_histories, &options);
        assert_int_equal(options.layers, n == 0 ? 3 : 1);
    }
    inmo_dataset_free(data);
}

/* A run of a few seconds tries nothing. Interrupted and gone on with without a limit, it does not begin to. */
static void test_resumed_with_more_time(void **state)
{
    struct inmo_dataset *data = small_data("70/10/20");
    struct inmo_train_options options = quick_default();
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    json_t *record;
    (void)state;
    options.checkpoint = "checkpoint";
    for (int polls = 20; access("checkpoint", F_OK) != 0; polls += 10) {
        int left = polls;
        struct inmo_hooks hooks = {.context = &left, .interrupted = stop_later};
        options.max_seconds = INMO_LEAST_SECONDS - 1;
        must_fail(inmo_train(data, &options, &hooks, &model, NULL, &error), INMO_INTERRUPTED, "");
    }
    options.max_seconds = 0;
    options.resume = 1;
    must(inmo_train(data, &options, NULL, &model, NULL, &error));
    record = record_of(model);
    assert_int_equal(model->layers, 3);
    assert_int_equal(json_array_size(json_object_get(json_array_get(record, 0), "tried")), 0);
    json_decref(record);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

/* MF on a log of few items that everybody has many of: more is held back than its size says. */
static void test_mf_holds_back(void **state)
{
    enum { USERS = 400, ITEMS = 60, OF_EACH = 20 };
    static int64_t offset[2][USERS + 1];
    static int32_t item[2][USERS * OF_EACH];
    struct inmo_interactions part[2] = {{USERS, ITEMS, offset[0], item[0], 0},
                                        {USERS, ITEMS, offset[1], item[1], 0}};
    struct inmo_train_options options;
    struct inmo_dataset *data = NULL;
    struct inmo_error error = {0};
    struct inmo_model *model;
    json_t *record;
    (void)state;
    for (int u = 0; u < USERS; u++) { /* of 40 neighbouring items in a circle a random half */
        for (int i = 0; i < ITEMS; i++)
            if ((i - u * 7 % ITEMS + ITEMS) % ITEMS < 40 && inmo_random(17, (uint64_t)(u * ITEMS + i)) % 2 == 0) {
                int p = inmo_random(18, (uint64_t)(u * ITEMS + i)) % 5 == 0;
                if (part[p].count - offset[p][u] < OF_EACH)
                    item[p][part[p].count++] = i;
            }
        for (int p = 0; p < 2; p++)
            offset[p][u + 1] = part[p].count;
    }
    must(inmo_dataset_from_matrices(&part[0], &part[1], NULL, NULL, &data, &error));
    must(inmo_train_options_init(&options, "mf", NULL, &error));
    model = trained(data, &options);
    record = record_of(model);
    assert_true(json_array_size(json_object_get(json_array_get(record, 0), "tried")) >= 3);
    assert_true(json_number_value(json_object_get(json_object_get(json_array_get(record, 0), "chosen"), "l2")) >
                0.01);
    json_decref(record);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_by_size),          cmocka_unit_test(test_depth),
        cmocka_unit_test(test_depth_is_kept),          cmocka_unit_test(test_depth_without_trials),
        cmocka_unit_test(test_resumed_with_more_time), cmocka_unit_test(test_mf_holds_back),
    };
    inmo_set_threads(1);
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
