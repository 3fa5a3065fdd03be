/* test_choose.c - settings that training chooses by itself: what is tried, what is kept, what is written down; and
 * that a setting which is given stays. */
#include "choosing.h"

#include "base/setting.h"
#include "train/choose.h"
#include "train/settings.h"

#include <jansson.h>

static struct inmo_train_options ials(void)
{
    struct inmo_train_options options;
    struct inmo_error error = {0};
    must(inmo_train_options_init(&options, "ials", NULL, &error));
    options.dim = 8;
    return options;
}

static double setting_of(const struct inmo_model *model, const char *name)
{
    struct inmo_model_info info;
    json_t *settings;
    double value;
    inmo_model_info(model, &info);
    settings = json_loads(info.configuration, 0, NULL);
    assert_true(json_is_number(json_object_get(settings, name)));
    value = json_number_value(json_object_get(settings, name));
    json_decref(settings);
    return value;
}

/* The chosen settings are those of the best trial, the model has them, and the first trial is the starting
 * point. */
static void test_best_is_kept(void **state)
{
    struct inmo_dataset *data = small_data("70/10/20");
    struct inmo_train_options options = ials(), start = options;
    struct inmo_model *model = trained(data, &options);
    struct inmo_dataset_info info;
    json_t *record = record_of(model), *first = json_array_get(record, 0), *tried = json_object_get(first, "tried"),
           *trial, *best = NULL;
    size_t n;
    (void)state;
    assert_in_range(json_array_size(tried), 3, inmo_choice_ials.trials);
    json_array_foreach(tried, n, trial) {
        if (!best || json_number_value(json_object_get(trial, "ndcg@20")) >
                         json_number_value(json_object_get(best, "ndcg@20")))
            best = trial;
        assert_int_equal(json_object_size(trial), 3);
    }
    for (size_t a = 0; a < json_array_size(tried); a++) /* nothing is tried twice */
        for (size_t b = 0; b < a; b++)
            assert_false(json_equal(json_object_get(json_array_get(tried, a), "l2"),
                                    json_object_get(json_array_get(tried, b), "l2")) &&
                         json_equal(json_object_get(json_array_get(tried, a), "unobserved"),
                                    json_object_get(json_array_get(tried, b), "unobserved")));
    json_object_del(best, "ndcg@20");
    assert_true(json_equal(best, json_object_get(first, "chosen")));
    assert_true(setting_of(model, "l2") == json_number_value(json_object_get(best, "l2")));
    assert_true(setting_of(model, "unobserved") == json_number_value(json_object_get(best, "unobserved")));
    /* The starting point is in units of the log. */
    inmo_dataset_info(data, &info);
    struct inmo_log_shape log = {info.users, info.items, (double)info.train};
    inmo_choice_start(inmo_model_kind_find("ials"), &log, &start);
    assert_near(start.unobserved, 6 * inmo_log_density(&log), 0.01 * start.unobserved);
    assert_near(start.l2 * (1 + start.unobserved / inmo_log_density(&log)), 0.1, 0.001);
    json_decref(record);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

/* A trained model with chosen settings has the bytes of one that was given them, but for the record. */
static void test_same_as_given(void **state)
{
    struct inmo_dataset *data = small_data("70/10/20");
    struct inmo_train_options options = ials();
    struct inmo_model *chosen = trained(data, &options), *given;
    struct inmo_tensor_info a, b;
    json_t *record;
    (void)state;
    options.l2 = setting_of(chosen, "l2");
    options.unobserved = setting_of(chosen, "unobserved");
    given = trained(data, &options);
    assert_true(inmo_model_tensor(chosen, 0, &a) && inmo_model_tensor(given, 0, &b));
    assert_int_equal(a.rows, b.rows);
    assert_memory_equal(chosen->tensor[0].data, given->tensor[0].data,
                        (size_t)(a.rows * a.columns) * sizeof(float));
    record = record_of(given);
    assert_null(json_object_get(json_array_get(record, 0), "chosen"));
    json_decref(record);
    inmo_model_free(given);
    inmo_model_free(chosen);
    inmo_dataset_free(data);
}

static void test_given_stays(void **state)
{
    struct inmo_dataset *data = small_data("70/10/20");
    struct inmo_train_options options = ials();
    struct inmo_model *model;
    json_t *record, *trial;
    size_t n;
    (void)state;
    options.unobserved = 0.0625;
    model = trained(data, &options);
    record = record_of(model);
    assert_true(setting_of(model, "unobserved") == 0.0625);
    assert_null(json_object_get(json_object_get(json_array_get(record, 0), "chosen"), "unobserved"));
    json_array_foreach(json_object_get(json_array_get(record, 0), "tried"), n, trial) {
        assert_null(json_object_get(trial, "unobserved"));
        assert_true(json_is_number(json_object_get(trial, "l2")));
    }
    assert_true(n >= 2);
    json_decref(record);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

/* Without a validation part nothing is tried. */
static void test_no_validation(void **state)
{
    struct inmo_dataset *data = small_data("100/0/0");
    struct inmo_train_options options = ials();
    struct inmo_model *model;
    json_t *record;
    (void)state;
    options.hold_out = 0;
    model = trained(data, &options);
    record = record_of(model);
    assert_int_equal(json_array_size(json_object_get(json_array_get(record, 0), "tried")), 0);
    assert_true(setting_of(model, "l2") > 0);
    assert_int_equal(json_array_size(record), 1 + (size_t)options.epochs);
    json_decref(record);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

/* Hooks that stop after so many polls. */
/* A run that is interrupted wherever it is, in a trial or later, and resumed gives the same file. */
static void test_resumed(void **state)
{
    struct inmo_dataset *data = small_data("70/10/20");
    struct inmo_train_options options = ials();
    struct inmo_error error = {0};
    struct inmo_model *model = trained(data, &options);
    int done = 0, with_checkpoint = 0;
    (void)state;
    must(inmo_model_save(model, "whole", 1, &error));
    inmo_model_free(model);
    options.checkpoint = "checkpoint";
    for (int polls = 2; !done; polls += 5) {
        int left = polls;
        struct inmo_hooks hooks = {.context = &left, .interrupted = stop_later};
        struct inmo_train_report report;
        unlink("checkpoint");
        options.resume = 0;
        model = NULL;
        done = inmo_train(data, &options, &hooks, &model, &report, &error) == INMO_OK;
        if (!done) {
            assert_int_equal(error.code, INMO_INTERRUPTED);
            with_checkpoint += access("checkpoint", F_OK) == 0;
            options.resume = 1;
            inmo_set_threads(2);
            must(inmo_train(data, &options, NULL, &model, &report, &error));
            inmo_set_threads(1);
        }
        must(inmo_model_save(model, "resumed", 1, &error));
        assert_int_equal(system("cmp whole resumed"), 0);
        inmo_model_free(model);
    }
    assert_true(with_checkpoint > 0);
    inmo_dataset_free(data);
}

/* A closed form is tried on half of its items, and then fitted to all of them. */
static void test_closed_form(void **state)
{
    struct inmo_dataset *data = small_data("70/10/20");
    struct inmo_train_options options;
    struct inmo_error error = {0};
    struct inmo_model_info info;
    struct inmo_tensor_info tensor;
    struct inmo_model *model;
    json_t *record, *first;
    (void)state;
    must(inmo_train_options_init(&options, "ease", NULL, &error));
    model = trained(data, &options);
    inmo_model_info(model, &info);
    record = record_of(model);
    first = json_array_get(record, 0);
    assert_int_equal(json_array_size(record), 1);
    assert_true(json_array_size(json_object_get(first, "tried")) >= 3);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(first, "trial"), "most-items")),
                     info.items / 2);
    assert_true(setting_of(model, "l2") ==
                json_number_value(json_object_get(json_object_get(first, "chosen"), "l2")));
    assert_true(inmo_model_tensor(model, 0, &tensor));
    assert_int_equal(tensor.rows, info.items);
    assert_true(setting_of(model, "most-items") == 0);
    json_decref(record);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

/* A setting that is a name is chosen like a number: the best of those that were tried, also in a second pass, which
 * reads it from the record of the first. */
static void test_name(void **state)
{
    static const char *const refit[] = {"none", "train"};
    struct inmo_dataset *data = small_data("70/10/20");
    struct inmo_error error = {0};
    (void)state;
    for (size_t n = 0; n < COUNT(refit); n++) {
        struct inmo_train_options options;
        struct inmo_model_info info;
        struct inmo_model *model, *given;
        struct inmo_tensor_info a, b;
        json_t *record, *tried, *trial, *settings;
        const char *name, *best = NULL;
        double highest = -1;
        size_t t;
        must(inmo_train_options_init(&options, "item-knn", NULL, &error));
        options.refit = refit[n];
        model = trained(data, &options);
        inmo_model_info(model, &info);
        settings = json_loads(info.configuration, 0, NULL);
        record = record_of(model);
        name =
            json_string_value(json_object_get(json_object_get(json_array_get(record, 0), "chosen"), "similarity"));
        assert_non_null(name);
        tried = json_object_get(json_array_get(record, 0), "tried");
        assert_in_range(json_array_size(tried), 2, 3);
        json_array_foreach(tried, t, trial)
            if (json_number_value(json_object_get(trial, "ndcg@20")) > highest) {
                highest = json_number_value(json_object_get(trial, "ndcg@20"));
                best = json_string_value(json_object_get(trial, "similarity"));
            }
        assert_string_equal(name, best);
        assert_string_equal(name, json_string_value(json_object_get(settings, "similarity")));
        options.similarity = name;
        given = trained(data, &options);
        assert_true(inmo_model_tensor(model, 2, &a) && inmo_model_tensor(given, 2, &b)); /* the weights */
        assert_int_equal(a.rows, b.rows);
        assert_memory_equal(model->tensor[2].data, given->tensor[2].data, (size_t)a.rows * sizeof(float));
        inmo_model_free(given);
        json_decref(record);
        json_decref(settings);
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
}

/* What follows from the log's size alone is not tried. */
static void test_by_size(void **state)
{
    struct inmo_dataset *data = small_data("70/10/20");
    struct inmo_train_options options;
    struct inmo_log_shape small = {60, 90, 500}, middle = {3000, 2400, 1e5}, large = {30000, 40000, 1e6};
    struct inmo_error error = {0};
    struct inmo_model *model;
    json_t *record;
    (void)state;
    must(inmo_train_options_init(&options, "gf-cf", NULL, &error));
    model = trained(data, &options);
    record = record_of(model);
    assert_true(setting_of(model, "dim") == 32);
    assert_int_equal(json_array_size(json_object_get(json_array_get(record, 0), "tried")), 0);
    inmo_choice_start(inmo_model_kind_find("gf-cf"), &small, &options);
    assert_int_equal(options.dim, 32);
    options.dim = INMO_AUTO;
    inmo_choice_start(inmo_model_kind_find("gf-cf"), &middle, &options);
    assert_int_equal(options.dim, 200);
    options.dim = INMO_AUTO;
    inmo_choice_start(inmo_model_kind_find("gf-cf"), &large, &options);
    assert_int_equal(options.dim, 256);
    json_decref(record);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

static void test_refused(void **state)
{
    struct inmo_train_options options;
    struct inmo_error error = {0};
    size_t count;
    const struct inmo_setting *table = inmo_train_settings(&count), *l2 = inmo_setting_find(table, count, "l2");
    char text[64];
    (void)state;
    must(inmo_train_options_init(&options, "lightgcn", NULL, &error));
    assert_true(inmo_setting_set(l2, &options, "auto"));
    assert_true(options.l2 == INMO_AUTO);
    inmo_setting_text(l2, &options, text, sizeof text);
    assert_string_equal(text, "auto");
    must_fail(inmo_train_options_check(&options, &error), INMO_USAGE,
              "`l2`: found auto, but lightgcn does not choose it");
    assert_false(inmo_setting_set(inmo_setting_find(table, count, "batch"), &options, "auto"));
    assert_false(inmo_setting_set(l2, &options, "-2147483648"));
    options.l2 = 0;
    options.layers = INMO_AUTO;
    must_fail(inmo_train_options_check(&options, &error), INMO_USAGE, "`layers`");
    must(inmo_train_options_init(&options, "ials", "paper", &error));
    assert_null(inmo_choice_open(&options));
    options.similarity = "auto";
    must_fail(inmo_train_options_check(&options, &error), INMO_USAGE,
              "`similarity`: found auto, but ials does not choose it; expected a name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_best_is_kept), cmocka_unit_test(test_same_as_given),
        cmocka_unit_test(test_given_stays),  cmocka_unit_test(test_no_validation),
        cmocka_unit_test(test_closed_form),  cmocka_unit_test(test_name),
        cmocka_unit_test(test_by_size),      cmocka_unit_test(test_resumed),
        cmocka_unit_test(test_refused),
    };
    inmo_set_threads(1);
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
