/* test_head.c - scores that are no dot products: steps over pairs against numpy (tests/golden) and finite
 * differences, in every stage of pretraining; the kernels and the ranking against their naive twins; and models
 * with a head as a whole: they learn, the same bytes come out at any number of threads and after any
 * interruption, files and views serve them. */
#include "support.h"

#include "golden_step.h"
#include "score/head_source.h"
#include "score/rank.h"
#include "model/head/neumf.h"
#include "train/settings.h"
#include "view/view.h"

/* ---- The step --------------------------------------------------------------------------------------------- */

static const char *const names[] = {"mf-pairs-d5",
                                    "inmo-mf-pairs-half-d5",
                                    "neumf-pairs-d5",
                                    "neumf-pairs-d6",
                                    "inmo-neumf-pairs-half-d5",
                                    "neumf-pairs-norms-d5",
                                    "inmo-neumf-pairs-half-norms-d5"};

static void check_draws(const struct golden *golden, const json_t *step, int64_t number_of_step)
{
    const json_t *triples = json_object_get(step, "triples"), *negatives = json_object_get(step, "negatives");
    int32_t batch = golden->options.batch, drawn[5 * 64];
    assert_int_equal(golden->options.bce_negatives, 3);
    draw_numbers(golden, number_of_step, drawn);
    for (int32_t b = 0; b < batch; b++) {
        for (int part = 0; part < 2; part++)
            assert_int_equal(drawn[part * batch + b],
                             json_integer_value(json_array_get(json_array_get(triples, (size_t)b), (size_t)part)));
        for (int j = 0; j < 3; j++)
            assert_int_equal(drawn[2 * batch + 3 * b + j],
                             json_integer_value(json_array_get(json_array_get(negatives, (size_t)b), (size_t)j)));
    }
}

/* All users and items by the model's head, or the dot product. */
static void check_scores(const struct golden *golden, const float *r)
{
    const struct inmo_head *head = golden->stepper->head;
    const json_t *scores = json_object_get(golden->json, "scores");
    int32_t users = golden->graph->users, items = golden->graph->items;
    int width = golden->stepper->width;
    for (int32_t u = 0; u < users; u++)
        for (int32_t i = 0; i < items; i++)
            assert_near(
                head->pair(width, inmo_stepper_head(golden->stepper), r + u * width, r + (users + i) * width),
                json_number_value(json_array_get(scores, (size_t)(u * items + i))), 1e-4);
}

static void check_pairs(const char *name)
{
    struct golden golden;
    json_t *steps;
    float *found;
    size_t size;
    open_golden(name, "bce", 0, &golden);
    size = (size_t)golden.stepper->parameter_rows * (size_t)golden.stepper->binding.dim;
    found = inmo_alloc(size + 4096, sizeof *found);
    assert_int_equal(json_array_size(json_object_get(golden.json, "start")), size);
    assert_true(distance(golden.stepper->parameter, json_object_get(golden.json, "start")) < 1e-6);
    steps = json_object_get(golden.json, "steps");
    for (size_t s = 0; s < json_array_size(steps); s++) {
        json_t *step = json_array_get(steps, s);
        double alpha = inmo_alpha_of_epoch(&golden.options, (int32_t)number(step, "epoch"));
        struct inmo_gradient gradient;
        double loss, total = number(json_object_get(step, "loss"), "total");
        check_draws(&golden, step, (int64_t)s);
        loss = inmo_stepper_gradient(golden.stepper, (int64_t)s, alpha, &gradient);
        assert_true(fabs(loss - total) < 1e-6 * total);
        whole_gradient(golden.stepper, gradient, found);
        assert_true(distance(found, json_object_get(step, "gradient")) < 1e-5);
        assert_true(distance(golden.stepper->parameter, json_object_get(step, "gradient")) >
                    1e-2); /* it can fail */
        inmo_stepper_run(golden.stepper, (int64_t)s, alpha, golden.options.learning_rate);
        inmo_stepper_catch_up(golden.stepper); /* an epoch is one step */
    }
    assert_true(distance(golden.stepper->parameter, json_object_get(golden.json, "after")) < 2e-5);
    assert_int_equal(inmo_represent(golden.stepper->kind, &golden.stepper->binding, 0, golden.stepper->parameter,
                                    inmo_stepper_weights(golden.stepper), 1, 0, found, NULL, NULL),
                     INMO_OK);
    assert_true(distance(found, json_object_get(golden.json, "representations")) < 2e-5);
    check_scores(&golden, found);
    inmo_free(found);
    close_golden(&golden);
}

static void test_golden(void **state)
{
    (void)state;
    for (size_t n = 0; n < COUNT(names); n++) {
        print_message("golden %s\n", names[n]);
        check_pairs(names[n]);
    }
}

/* With pretrain 1 the first two steps are those of the halves. */
static void test_finite_differences(void **state)
{
    (void)state;
    for (size_t n = 0; n < COUNT(names); n++)
        for (int64_t step = 0; step < 3; step++) {
            check_finite_differences(names[n], "bce", step == 1 ? -0.3 : 0, step);
            if (n > 1 && step == 2) /* of the perceptron alone the differences of scores are too small for floats */
                check_finite_differences(names[n], "bpr", 0, step);
        }
}

/* BPR by the head of dot products is BPR. */
static void test_dot_is_bpr(void **state)
{
    struct golden golden, other;
    struct inmo_gradient gradient;
    float found[256], expected[256];
    double loss;
    (void)state;
    open_golden("mf-pairs-d5", "bpr", 0, &golden);
    open_golden("mf-pairs-d5", "bpr", 0, &other);
    other.stepper->head = &inmo_head_dot;
    other.stepper->head_state = inmo_head_dot.create(5, other.options.batch, 1);
    loss = inmo_stepper_gradient(golden.stepper, 2, 1, &gradient);
    whole_gradient(golden.stepper, gradient, expected);
    assert_near(inmo_stepper_gradient(other.stepper, 2, 1, &gradient), loss, 1e-6);
    whole_gradient(other.stepper, gradient, found);
    for (int64_t n = 0; n < golden.stepper->parameter_rows * 5; n++)
        assert_near(found[n], expected[n], 1e-7);
    close_golden(&other);
    close_golden(&golden);
}

/* ---- Kernels and ranking ------------------------------------------------------------------------------------ */

static void fill_random(float *x, size_t count, uint64_t stream)
{
    for (size_t n = 0; n < count; n++)
        x[n] = (float)inmo_random_symmetric(inmo_key(9, stream), n, 1);
}

static void test_kernels(void **state)
{
    enum { COUNT_MOST = 9, DIM_MOST = 70, SIZE = COUNT_MOST * DIM_MOST };
    static const int dims[] = {1, 5, 16, 23, 64, 70};
    static const int32_t row[COUNT_MOST] = {3, 0, 8, 8, 1, 2, 7, 5, 4};
    const struct inmo_kernels *kernels;
    float a[DIM_MOST], w[DIM_MOST], x[SIZE], y[SIZE], found[SIZE], expected[SIZE], score[COUNT_MOST],
        twin[COUNT_MOST];
    (void)state;
    for (int k = 0; (kernels = inmo_kernels_at(k)) != NULL; k++)
        for (size_t n = 0; n < COUNT(dims); n++) {
            int d = dims[n], size = COUNT_MOST * d;
            fill_random(a, (size_t)d, 1);
            fill_random(w, (size_t)d, 2);
            fill_random(x, (size_t)size, 3);
            fill_random(score, COUNT_MOST, 4);
            memcpy(twin, score, sizeof twin);
            x[0] = -a[0]; /* exactly at the kink */
            for (int by_row = 0; by_row < 2; by_row++) {
                kernels->leaky_sums(COUNT_MOST, d, 0.2f, a, x, by_row ? row : NULL, found);
                inmo_leaky_sums_reference(COUNT_MOST, d, 0.2f, a, x, by_row ? row : NULL, expected);
                assert_memory_equal(found, expected, (size_t)size * sizeof *found);
            }
            memcpy(y, x, sizeof y);
            kernels->leaky_dots(COUNT_MOST, d, 0.2f, a, w, x, score);
            inmo_leaky_dots_reference(COUNT_MOST, d, 0.2f, a, w, y, twin);
            assert_memory_equal(x, y, (size_t)size * sizeof *x);
            for (int m = 0; m < COUNT_MOST; m++)
                assert_near(score[m], twin[m], 2e-6);
            for (int given = 0; given < 2; given++) {
                fill_random(found, (size_t)size, 5);
                fill_random(expected, (size_t)size, 5);
                kernels->leaky_back(COUNT_MOST, d, 0.2f, score, given ? NULL : w, x, found);
                inmo_leaky_back_reference(COUNT_MOST, d, 0.2f, score, given ? NULL : w, x, expected);
                for (int m = 0; m < size; m++)
                    assert_true(found[m] == expected[m]);
            }
        }
}

/* The split layers of a full ranking are the scores pair by pair; tiles and blocks have ends. */
static void test_ranking(void **state)
{
    enum { WIDTHS = 3, USERS_MOST = 150, ITEMS_MOST = 601, K = 7 };
    static const int widths[WIDTHS] = {3, 10, 96};
    (void)state;
    for (int n = 0; n < WIDTHS; n++) {
        struct inmo_error error = {0};
        int width = widths[n];
        int32_t who[USERS_MOST], top[USERS_MOST * K], twin[USERS_MOST * K];
        size_t size = (size_t)(USERS_MOST + ITEMS_MOST) * (size_t)width;
        size_t own_size = (size_t)inmo_head_rows(&inmo_head_neumf, width, width) * (size_t)width;
        float *r = inmo_alloc(size, sizeof *r), *own = inmo_alloc(own_size, sizeof *own);
        float *score = inmo_alloc((size_t)INMO_NEUMF_USERS * ITEMS_MOST, sizeof *score);
        struct inmo_head_source source;
        struct inmo_rank job = {.items = ITEMS_MOST, .who = who, .count = USERS_MOST, .k = K, .top_item = top};
        void *scratch;
        fill_random(r, size, 6);
        fill_random(own, own_size, 7);
        for (int32_t u = 0; u < USERS_MOST; u++)
            who[u] = USERS_MOST - 1 - u;
        must(inmo_head_source_open(&source, &inmo_head_neumf, width, own, r, USERS_MOST, ITEMS_MOST, &error));
        scratch = inmo_alloc(source.fill.scratch_bytes, 1);
        source.fill.scores(source.fill.context, who, 13, scratch, score);
        for (int32_t u = 0; u < 13; u++)
            for (int32_t i = 0; i < ITEMS_MOST; i++) {
                double expected = inmo_head_neumf.pair(width, own, r + (size_t)who[u] * (size_t)width,
                                                       r + (size_t)(USERS_MOST + i) * (size_t)width);
                assert_near(score[u * ITEMS_MOST + i], expected, 1e-4 + 1e-5 * fabs(expected));
            }
        job.fill = &source.fill;
        for (int threads = 1; threads < 4; threads++) {
            inmo_set_threads(threads);
            must(inmo_rank(&job, NULL, &error));
            if (threads > 1)
                assert_memory_equal(top, twin, sizeof top);
            memcpy(twin, top, sizeof top);
        }
        inmo_set_threads(1);
        for (int32_t u = 0; u < USERS_MOST; u++) { /* best first, by the twin */
            double last = INFINITY;
            for (int k = 0; k < K; k++) {
                double now = inmo_head_neumf.pair(width, own, r + (size_t)who[u] * (size_t)width,
                                                  r + (size_t)(USERS_MOST + top[u * K + k]) * (size_t)width);
                assert_true(now <= last + 1e-3);
                last = now;
            }
        }
        inmo_free(scratch);
        inmo_head_source_close(&source);
        inmo_free(score);
        inmo_free(own);
        inmo_free(r);
    }
}

/* ---- Models as a whole -------------------------------------------------------------------------------------- */

static const char *const heads[] = {"neumf", "inmo-neumf"};

static double test_ndcg(const struct inmo_model *model, const struct inmo_dataset *data)
{
    struct inmo_error error = {0};
    struct inmo_eval_options options;
    struct inmo_report *report = NULL;
    double found;
    inmo_eval_options_init(&options);
    options.ks = "10";
    must(inmo_evaluate(model, data, &options, NULL, &report, &error));
    found = report->group[0].at->ndcg;
    inmo_report_free(report);
    return found;
}

static void test_learns(void **state)
{
    static const char *const tried[][2] = {{"neumf", "bce"},      {"neumf", "bpr"}, {"inmo-neumf", "bce"},
                                           {"inmo-neumf", "bpr"}, {"mf", "bce"},    {"inmo-lightgcn", "bce"}};
    struct inmo_dataset *data = grouped_dataset(48, 80, 10, "70/10/20");
    struct inmo_train_options options = small_options("popular");
    struct inmo_model *model = trained(data, &options);
    double popular = test_ndcg(model, data);
    (void)state;
    inmo_model_free(model);
    for (size_t n = 0; n < COUNT(tried); n++) {
        double found;
        options = small_options(tried[n][0]);
        options.loss = tried[n][1];
        options.epochs = 40;
        options.pretrain = 5;
        options.l2 = 1e-4;
        model = trained(data, &options);
        found = test_ndcg(model, data);
        print_message("%s, %s: NDCG@10 %.3f, popular %.3f\n", options.model, options.loss, found, popular);
        assert_true(found > 1.5 * popular);
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
}

static void save_trained(const struct inmo_dataset *data, const struct inmo_train_options *options, int threads,
                         const char *path)
{
    struct inmo_error error = {0};
    struct inmo_model *model;
    inmo_set_threads(threads);
    model = trained(data, options);
    inmo_set_threads(1);
    must(inmo_model_save(model, path, 1, &error));
    inmo_model_free(model);
}

/* Enough pairs and rows that all loops are cut into several pieces. */
static void test_same_bytes(void **state)
{
    struct inmo_dataset *data = grouped_dataset(1200, 100, 5, "80/20/0");
    (void)state;
    for (size_t n = 0; n < 2 * COUNT(heads); n++) {
        struct inmo_train_options options = small_options(heads[n % 2]);
        options.batch = 700;
        options.loss = n < 2 ? "bce" : "bpr";
        options.popularity = n < 2 ? 0 : -0.2;
        options.l2_on = n % 2 ? "rows" : "pairs";
        options.valid_users = 200;
        save_trained(data, &options, 1, "one");
        save_trained(data, &options, 2, "two");
        save_trained(data, &options, 3, "three");
        assert_true(same_files("one", "two"));
        assert_true(same_files("one", "three"));
    }
    inmo_dataset_free(data);
}

/* Stopped in every stage and exactly between two of them, where Adam begins anew. */
static void test_interrupted(void **state)
{
    static const int steps[] = {3, 8, 0, 11, 9, 0, 2}; /* of 11 steps an epoch: 3, 11, 11, 22, 31, ... */
    struct inmo_dataset *data = grouped_dataset(48, 80, 10, "70/10/20");
    (void)state;
    for (size_t n = 0; n < COUNT(heads); n++) {
        struct inmo_error error = {0};
        struct inmo_train_options options = small_options(heads[n]);
        struct inmo_model *model = NULL;
        save_trained(data, &options, 1, "whole");
        options.checkpoint = "checkpoint";
        unlink("checkpoint");
        for (size_t piece = 0; piece < COUNT(steps); piece++) {
            struct step_limit left = {steps[piece], 0};
            struct inmo_hooks hooks = {.context = &left, .progress = note_stage, .interrupted = stop_after_steps};
            options.resume = piece > 0;
            must_fail(inmo_train(data, &options, &hooks, &model, NULL, &error), INMO_INTERRUPTED,
                      "stopped on request");
        }
        options.resume = 1;
        save_trained(data, &options, 1, "pieces");
        assert_true(same_files("whole", "pieces"));
    }
    inmo_dataset_free(data);
}

/* Stages come first, are validated, and do not count for the patience; only some users are looked at. */
static void test_stages(void **state)
{
    struct inmo_dataset *data = grouped_dataset(48, 80, 10, "70/10/20");
    struct inmo_train_options options = small_options("neumf");
    struct inmo_train_report report = {0};
    struct inmo_error error = {0};
    struct inmo_model *model = NULL, *other = NULL;
    struct inmo_model_info info;
    json_t *record, *epoch;
    size_t n;
    (void)state;
    options.pretrain = 2;
    must(inmo_train(data, &options, NULL, &model, &report, &error));
    assert_int_equal(report.epochs, 7);
    assert_true(report.best_epoch >= 4);
    inmo_model_info(model, &info);
    assert_int_equal(info.parameters, 9 * (info.users + info.items) + 6 * 6 + 6 + 6 * 6 + 6 + 2 * 6);
    record = json_loads(info.record, 0, NULL);
    json_array_foreach(record, n, epoch)
        assert_true(json_is_real(json_object_get(epoch, "ndcg@20")));
    assert_int_equal(n, 7);
    json_decref(record);
    options.valid_users = 10;
    must(inmo_train(data, &options, NULL, &other, &report, &error));
    options.valid_users = 0;
    options.model = "mf";
    must_fail(inmo_train(data, &options, NULL, &model, &report, &error), INMO_USAGE,
              "`l2-on`: found 'pairs', expected rows for mf");
    options.model = "neumf";
    options.loss = "listwise";
    must_fail(inmo_train(data, &options, NULL, &model, &report, &error), INMO_USAGE,
              "`loss`: found 'listwise', expected bpr or bce");
    inmo_model_free(other);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

/* What a view says of a model with a head: scores as the twin has them, for users and for somebody unseen. */
static void test_view(void **state)
{
    static const char *const history[] = {"item-1", "item-4", "item-9"};
    struct inmo_dataset *data = grouped_dataset(48, 80, 10, "70/10/20");
    (void)state;
    for (size_t n = 0; n < COUNT(heads); n++) {
        struct inmo_error error = {0};
        struct inmo_train_options options = small_options(heads[n]);
        struct inmo_model *model = trained(data, &options);
        struct inmo_view *view = NULL;
        struct inmo_list *list = NULL;
        struct inmo_explanation *explanation = NULL;
        struct inmo_query query;
        must(inmo_view_create(model, NULL, &view, &error));
        inmo_query_init(&query);
        for (int unseen = 0; unseen < 2; unseen++) {
            query.user = unseen ? NULL : inmo_view_user_id(view, 5);
            query.items = unseen ? history : NULL;
            query.item_count = unseen ? COUNT(history) : 0;
            if (unseen && n == 0) {
                must_fail(inmo_recommend(view, &query, &list, &error), INMO_UNSUPPORTED,
                          "neumf cannot recommend for somebody");
                break;
            }
            must(inmo_recommend(view, &query, &list, &error));
            assert_int_equal(list->count, 20);
            for (size_t k = 0; k < list->count; k++) {
                double sum = 0;
                must(inmo_explain(view, &query, list->entry[k].id, &explanation, &error)); /* scores by the twin */
                assert_near(list->entry[k].score, explanation->score, 1e-5);
                for (size_t p = 0; p < explanation->count; p++)
                    sum += explanation->part[p].score;
                assert_near(sum, explanation->score, 1e-9);
                assert_true(k == 0 || list->entry[k].score <= list->entry[k - 1].score);
                inmo_explanation_free(explanation);
            }
            inmo_list_free(list);
        }
        must_fail(inmo_similar(view, "item-1", NULL, 5, &list, &error), INMO_UNSUPPORTED,
                  "cannot say which items are alike");
        inmo_view_free(view);
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
}

/* Every allocation fails once, in training, validation and view; and a warm step has none. */
static void test_out_of_memory(void **state)
{
    struct inmo_dataset *data = grouped_dataset(6, 8, 5, "60/20/20");
    struct golden golden;
    (void)state;
    for (size_t n = 0; n < COUNT(heads); n++) {
        struct inmo_error error = {0};
        struct inmo_train_options options = small_options(heads[n]);
        struct inmo_model *model = NULL;
        struct inmo_view *view = NULL;
        enum inmo_status status = INMO_MEMORY;
        options.dim = 2;
        options.batch = 8;
        for (long allowed = 0; status == INMO_MEMORY; allowed++) {
            inmo_alloc_fail_after(allowed);
            status = inmo_train(data, &options, NULL, &model, NULL, &error);
            inmo_alloc_fail_after(-1);
        }
        must(status);
        status = INMO_MEMORY;
        for (long allowed = 0; status == INMO_MEMORY; allowed++) {
            inmo_alloc_fail_after(allowed);
            status = inmo_view_create(model, NULL, &view, &error);
            inmo_alloc_fail_after(-1);
        }
        must(status);
        inmo_view_free(view);
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
    open_golden("neumf-pairs-d5", "bce", 0, &golden);
    inmo_alloc_fail_after(0);
    for (int64_t step = 0; step < 40; step++)
        assert_true(isfinite(inmo_stepper_run(golden.stepper, step, 1, 0.01)));
    inmo_alloc_fail_after(-1);
    close_golden(&golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),        cmocka_unit_test(test_finite_differences),
        cmocka_unit_test(test_dot_is_bpr),    cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_ranking),       cmocka_unit_test(test_learns),
        cmocka_unit_test(test_same_bytes),    cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_stages),        cmocka_unit_test(test_view),
        cmocka_unit_test(test_out_of_memory),
    };
    inmo_set_threads(1);
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
