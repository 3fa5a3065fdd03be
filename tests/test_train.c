/* test_train.c - training as a whole, on a data set of four groups of taste: every model learns, the same bytes
 * come out again at any number of threads, the best epoch is kept, options out of bounds are named, and no
 * allocation that fails does harm. Interruption and checkpoints: test_resume.c; the step itself:
 * test_gradient.c. */
#include "support.h"

#include "model/model.h"
#include "train/settings.h"

#include <jansson.h>

enum { TRAINED = 10 }; /* of all_models; then popular, which has nothing to train. neumf: test_head.c */

static struct inmo_dataset *small_data(void)
{
    return grouped_dataset(48, 80, 10, "70/10/20");
}

static double ndcg(const struct inmo_model *model, const struct inmo_dataset *data, const char *part, const char *k)
{
    struct inmo_error error = {0};
    struct inmo_eval_options options;
    struct inmo_report *report = NULL;
    double found;
    inmo_eval_options_init(&options);
    options.part = part;
    options.ks = k;
    must(inmo_evaluate(model, data, &options, NULL, &report, &error));
    found = report->group[0].at->ndcg;
    inmo_report_free(report);
    return found;
}

/* Another loss, and the other start and schedule. */
static void use_alternatives(struct inmo_train_options *options, int listwise)
{
    options->loss = listwise ? "listwise" : "softmax";
    options->batch = listwise ? 5 : options->batch;
    options->negatives = 40;
    options->start = "spectral";
    options->schedule = "cosine";
}

/* ---- It learns ------------------------------------------------------------------------------------------- */

static void test_beats_popular(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_train_options options = small_options("popular");
    struct inmo_model *model = trained(data, &options);
    double popular = ndcg(model, data, "test", "10");
    (void)state;
    inmo_model_free(model);
    for (int m = 0; m < 3 * TRAINED; m++) {
        double found;
        options = small_options(all_models[m % TRAINED]);
        options.epochs = 40;
        options.learning_rate = 0.03;
        if (m >= TRAINED)
            use_alternatives(&options, m >= 2 * TRAINED);
        model = trained(data, &options);
        found = ndcg(model, data, "test", "10");
        print_message("%s, %s: NDCG@10 %.3f, popular %.3f\n", options.model, options.loss, found, popular);
        assert_true(found > 1.5 * popular);
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
}

static void test_report(void **state)
{
    struct inmo_dataset *data = small_data();
    (void)state;
    for (int m = 0; m <= TRAINED; m++) {
        struct inmo_error error = {0};
        struct inmo_train_options options = small_options(all_models[m]);
        struct inmo_train_report report = {0};
        struct inmo_model_info info;
        struct inmo_model *model = NULL;
        int inmo = strncmp(all_models[m], "inmo-", 5) == 0, popular = m == TRAINED, own = 0;
        int idcf = strncmp(all_models[m], "idcf-", 5) == 0, some = inmo || idcf;
        options.user_templates = 0.5;
        must(inmo_train(data, &options, NULL, &model, &report, &error));
        inmo_model_info(model, &info);
        assert_string_equal(info.name, all_models[m]);
        assert_int_equal(info.users, 48);
        assert_int_equal(info.user_templates, some ? 24 : 0);
        assert_int_equal(info.item_templates, some ? info.items : 0);
        if (strstr(all_models[m], "ngcf"))
            own = 2 * (2 * 6 + 2); /* of each of two layers: two matrices and two biases */
        else if (strstr(all_models[m], "imc-gae"))
            own = 3;
        else if (idcf)
            own = 2 * (4 * 4 * 6 + 9); /* of users and items: four matrices and two biases a head, and one of all */
        assert_int_equal(info.parameters, popular ? 0 : 6 * (own + info.items + (some ? 24 : 48) + (inmo ? 3 : 0)));
        assert_int_equal(info.interactions, 48 * 7);
        assert_int_equal(report.epochs, popular ? 0 : 3);
        assert_int_equal(report.steps, popular ? 0 : 3 * 11); /* ⌈336/32⌉ = 11 */
        assert_string_equal(report.stopped, popular ? "closed-form" : "epochs");
        assert_true(popular || (report.final_loss > 0 && report.final_loss < 1));
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
}

/* ---- The same bytes -------------------------------------------------------------------------------------- */

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

static void test_same_bytes(void **state)
{
    struct inmo_dataset *data = small_data();
    (void)state;
    for (int m = 0; m <= TRAINED + 2; m++) {
        struct inmo_train_options options = small_options(all_models[m > TRAINED ? 0 : m]);
        options.item_templates = 0.5;
        options.epochs = 2;
        options.batch = 64;
        if (m > TRAINED)
            use_alternatives(&options, m > TRAINED + 1);
        save_trained(data, &options, 1, "first");
        save_trained(data, &options, 1, "again");
        save_trained(data, &options, 2, "threads");
        assert_true(same_files("first", "again"));
        assert_true(same_files("first", "threads"));
        options.seed = 2;
        save_trained(data, &options, 1, "other");
        assert_false(same_files("first", "other"));
    }
    inmo_dataset_free(data);
}

/* Enough users that every loop is cut into several pieces for the threads (the longest piece is 1024 nodes). */
static void test_same_bytes_in_pieces(void **state)
{
    static const char *const losses[] = {"bpr", "softmax", "listwise"};
    struct inmo_dataset *data = grouped_dataset(1200, 100, 5, "80/20/0");
    (void)state;
    static const char *const pieces[] = {"inmo-lightgcn", "inmo-ngcf", "inmo-imc-gae", "idcf-lightgcn"};
    for (size_t n = 0; n < COUNT(losses) * COUNT(pieces); n++) {
        struct inmo_train_options options = small_options(pieces[n / COUNT(losses)]);
        options.loss = losses[n % COUNT(losses)];
        options.negatives = 30;
        options.batch = 1024;
        options.l2 = 1e-3;
        options.epochs = 1;
        save_trained(data, &options, 1, "one");
        save_trained(data, &options, 2, "two");
        save_trained(data, &options, 3, "three");
        assert_true(same_files("one", "two"));
        assert_true(same_files("one", "three"));
    }
    inmo_dataset_free(data);
}

/* A log of few interactions takes so many steps an epoch all the same: its batches are as small as that needs.
 * With 0 they are what was asked for. */
static struct inmo_train_report report_of(const struct inmo_dataset *data, const struct inmo_train_options *options)
{
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    struct inmo_train_report report;
    must(inmo_train(data, options, NULL, &model, &report, &error));
    inmo_model_free(model);
    return report;
}

static void test_least_steps(void **state)
{
    static const char *const losses[] = {"bpr", "softmax", "listwise"};
    struct inmo_dataset *data = small_data();
    (void)state;
    for (size_t n = 0; n < COUNT(losses); n++) {
        struct inmo_train_options options = small_options("inmo-mf");
        int64_t all = n == 2 ? data->users.count : inmo_csr_count(&data->train);
        struct inmo_train_report small, one, seven;
        options.loss = losses[n];
        options.negatives = 30;
        options.self_weight = 0; /* its triples are as many as --batch says */
        options.epochs = 2;
        options.batch = (int)((all + 6) / 7);
        options.least_steps = options.most_steps = 0;
        small = report_of(data, &options);
        options.batch = (int)all;
        one = report_of(data, &options);
        options.least_steps = 7;
        seven = report_of(data, &options);
        assert_int_equal(one.steps, 2);
        assert_int_equal(small.steps, 2 * 7);
        assert_int_equal(seven.steps, 2 * 7);
        assert_true(small.final_loss == seven.final_loss && small.best_score == seven.best_score);
        assert_true(one.final_loss != seven.final_loss);
    }
    inmo_dataset_free(data);
}

/* A prepared directory, opened again, trains to the same model as the data set in memory. */
static void test_from_directory(void **state)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = small_data(), *opened = NULL;
    struct inmo_train_options options = small_options("inmo-mf");
    (void)state;
    must(inmo_dataset_save(data, "prepared", 0, &error));
    must(inmo_dataset_open("prepared", &opened, &error));
    save_trained(data, &options, 1, "memory");
    save_trained(opened, &options, 1, "directory");
    assert_true(same_files("memory", "directory"));
    inmo_dataset_free(opened);
    inmo_dataset_free(data);
}

/* ---- The best epoch -------------------------------------------------------------------------------------- */

static double score_of_epoch(const json_t *record, size_t epoch)
{
    const json_t *row = json_array_get(record, epoch), *score = json_object_get(row, "ndcg@20");
    assert_int_equal(json_integer_value(json_object_get(row, "epoch")), epoch);
    assert_true(json_is_number(json_object_get(row, "loss")));
    return score ? json_number_value(score) : NAN;
}

/* The first epoch with the highest score of those that have one. */
static int best_of_record(const json_t *record)
{
    int best = -1;
    for (size_t n = 0; n < json_array_size(record); n++)
        if (!isnan(score_of_epoch(record, n)) &&
            (best < 0 || score_of_epoch(record, n) > score_of_epoch(record, (size_t)best)))
            best = (int)n;
    return best;
}

static void check_early_stop(const struct inmo_dataset *data, const char *name, int patience, int eval_every)
{
    struct inmo_error error = {0};
    struct inmo_train_options options = small_options(name);
    struct inmo_train_report report;
    struct inmo_model *model = NULL;
    struct inmo_model_info info;
    json_t *record;
    int best;
    options.learning_rate = 0.2; /* soon over its best */
    options.epochs = 400;
    options.patience = patience;
    options.eval_every = eval_every;
    options.attention = "own"; /* shared, idcf draws other keys for each validation and for the model */
    must(inmo_train(data, &options, NULL, &model, &report, &error));
    inmo_model_info(model, &info);
    record = json_loads(info.record, 0, NULL);
    assert_true(json_is_array(record));
    best = best_of_record(record);
    assert_true(best >= 0);
    assert_string_equal(report.stopped, "patience");
    assert_int_equal(json_array_size(record), report.epochs);
    assert_int_equal(report.best_epoch, best);
    if (eval_every == 1)
        assert_int_equal(report.epochs, best + 1 + patience);
    else /* only a validation can tell that nothing got better */
        assert_true(report.epochs >= best + 1 + patience && report.epochs % eval_every == 0);
    assert_near(report.best_score, score_of_epoch(record, (size_t)best), 1e-8);
    for (int n = 0; n < report.epochs; n++)
        assert_int_equal(isnan(score_of_epoch(record, (size_t)n)), (n + 1) % eval_every != 0);
    /* The parameters are those of that epoch: they score what it scored, which the last epoch's do not. */
    assert_near(ndcg(model, data, "valid", "20"), report.best_score, 1e-9);
    assert_true(score_of_epoch(record, (size_t)report.epochs - 1) < report.best_score);
    json_decref(record);
    inmo_model_free(model);
}

static void test_early_stopping(void **state)
{
    struct inmo_dataset *data = small_data();
    (void)state;
    for (int m = 0; m < TRAINED; m++)
        check_early_stop(data, all_models[m], 4, 1);
    check_early_stop(data, "inmo-mf", 4, 3);
    check_early_stop(data, "inmo-mf", 2, 5); /* patience shorter than the time between validations */
    inmo_dataset_free(data);
}

/* Outside training alpha is 1, that of the best epoch, or that of the epoch after it: all validate with what the
 * model will use. The authors' runs anneal before they validate, so the paper recipe takes the next one. */
static void test_eval_alpha(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_error error = {0};
    struct inmo_train_options options = small_options("inmo-mf");
    static const char *const which[] = {"one", "reached", "next"};
    double score[COUNT(which)];
    (void)state;
    assert_string_equal(options.eval_alpha, "next");
    options.annealing = 0.5; /* so that one epoch makes a difference */
    for (size_t n = 0; n < COUNT(which); n++) {
        struct inmo_train_report report;
        struct inmo_model *model = NULL;
        options.eval_alpha = which[n];
        options.epochs = n == 0 ? 15 : 2;
        must(inmo_train(data, &options, NULL, &model, &report, &error));
        score[n] = report.best_score;
        assert_int_equal(model->alpha_one, n == 0);
        assert_near(model->alpha_reached, 1 - 0.5 * pow(0.5, report.best_epoch + (n == 2)), 1e-15);
        assert_near(ndcg(model, data, "valid", "20"), report.best_score, 1e-9);
        inmo_model_free(model);
    }
    assert_true(score[0] != score[1] && score[1] != score[2]);
    must(inmo_train_options_init(&options, "inmo-mf", "fast", &error));
    assert_string_equal(options.eval_alpha, "reached");
    inmo_dataset_free(data);
}

/* ---- No validation part ---------------------------------------------------------------------------------- */

static void keep_sentence(void *context, enum inmo_level level, const char *sentence)
{
    if (level == INMO_WARNING)
        snprintf(context, 256, "%s", sentence);
}

static void test_no_validation(void **state)
{
    struct inmo_dataset *data = grouped_dataset(48, 80, 10, "80/0/20"); /* of 10 items each exactly 8 and 2 */
    char sentence[256] = "";
    struct inmo_hooks hooks = {.context = sentence, .log = keep_sentence};
    (void)state;
    assert_int_equal(inmo_csr_count(&data->valid), 0);
    for (int m = 0; m < TRAINED; m++) {
        struct inmo_error error = {0};
        struct inmo_train_options options = small_options(all_models[m]);
        struct inmo_train_report report;
        struct inmo_model *model = NULL;
        options.patience = 1; /* has nothing to go by */
        options.epochs = 5;
        must(inmo_train(data, &options, &hooks, &model, &report, &error));
        assert_int_equal(report.epochs, 5);
        assert_int_equal(report.best_epoch, -1);
        assert_true(isnan(report.best_score));
        assert_non_null(strstr(sentence, "no validation part"));
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
}

/* ---- What is refused ------------------------------------------------------------------------------------- */

/* Every option with bounds, one after the other, below, above and (where it can be) not a number. */
static void test_options_out_of_bounds(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    size_t count;
    const struct inmo_setting *settings = inmo_train_settings(&count);
    int refused = 0;
    (void)state;
    for (size_t n = 0; n < count; n++) {
        const struct inmo_setting *setting = settings + n;
        const double real[] = {setting->least - 1, setting->most * 1.001 + 1e-9, NAN, INFINITY};
        const double whole[] = {setting->least - 1, setting->most + 1};
        char option[64];
        snprintf(option, sizeof option, "`%s`", setting->name);
        for (size_t value = 0; value < COUNT(real); value++) {
            struct inmo_train_options options = small_options("inmo-lightgcn");
            char *field = (char *)&options + setting->offset;
            if (setting->type == 'r')
                *(double *)field = real[value];
            else if (setting->type == 'i' && value < COUNT(whole))
                *(int *)field = (int)whole[value];
            else if (setting->type == 's' && setting->choices && value < 2)
                *(const char **)field = value ? NULL : "nonsense";
            else
                continue;
            must_fail(inmo_train(data, &options, NULL, &model, NULL, &error), INMO_USAGE, option);
            refused++;
        }
    }
    assert_true(refused > 40);
    assert_null(model);
    inmo_dataset_free(data);
}

static void test_unknown_names(void **state)
{
    struct inmo_error error = {0};
    struct inmo_train_options options = {.dim = 7};
    (void)state;
    must_fail(inmo_train_options_init(&options, "word2vec", NULL, &error), INMO_USAGE, "word2vec");
    must_fail(inmo_train_options_init(&options, "mf", "grandmother", &error), INMO_USAGE, "grandmother");
    assert_int_equal(options.dim, 7); /* untouched */
    must(inmo_train_options_init(&options, NULL, "fast", &error));
    assert_string_equal(options.model, "inmo-lightgcn");
    must(inmo_train_options_init(&options, "lgcn", "paper", &error)); /* an alias */
    assert_string_equal(options.model, "lightgcn");
}

/* Everybody has every item: no negative can be drawn. And no interactions at all. */
static void test_nothing_to_learn(void **state)
{
    static const int64_t none[] = {0, 0};
    struct inmo_dataset *data = dataset_of("ann tea train, ann milk train, bob tea train, bob milk train");
    struct inmo_dataset empty = {.users.count = 1, .items.count = 1, .train = {1, 1, none, (const int32_t *)none}};
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    (void)state;
    for (int m = 0; m <= TRAINED; m++) {
        struct inmo_train_options options = small_options(all_models[m]);
        if (m < TRAINED)
            must_fail(inmo_train(data, &options, NULL, &model, NULL, &error), INMO_INPUT, "nothing to learn");
        must_fail(inmo_train(&empty, &options, NULL, &model, NULL, &error), INMO_INPUT, "no training interactions");
    }
    assert_null(model);
    inmo_dataset_free(data);
}

/* ---- Every allocation fails once -------------------------------------------------------------------------- */

static void test_out_of_memory(void **state)
{
    struct inmo_dataset *data = grouped_dataset(6, 8, 5, "60/20/20");
    (void)state;
    for (int m = 0; m < TRAINED + 3; m++) {
        struct inmo_error error = {0};
        struct inmo_train_options options = small_options(all_models[m > TRAINED ? 0 : m]);
        struct inmo_model *model = NULL;
        enum inmo_status status = INMO_MEMORY;
        long allowed = 0;
        options.dim = 2;
        options.batch = 8;
        options.epochs = 2;
        if (m > TRAINED) { /* again with all there is */
            options.checkpoint = "checkpoint";
            options.resume = 1;
            options.item_templates = 0.5;
            options.template_rule = "error-sort-svd-norm";
            use_alternatives(&options, m > TRAINED + 1);
        }
        for (; status == INMO_MEMORY; allowed++) {
            unlink("checkpoint");
            inmo_alloc_fail_after(allowed);
            status = inmo_train(data, &options, NULL, &model, NULL, &error);
            inmo_alloc_fail_after(-1);
            if (status != INMO_OK)
                assert_null(model);
        }
        print_message("%s: %ld allocations\n", options.model, allowed - 1);
        assert_int_equal(status, INMO_OK);
        assert_true(allowed > 10);
        inmo_model_free(model);
    }
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beats_popular),  cmocka_unit_test(test_report),
        cmocka_unit_test(test_same_bytes),     cmocka_unit_test(test_same_bytes_in_pieces),
        cmocka_unit_test(test_from_directory), cmocka_unit_test(test_least_steps),
        cmocka_unit_test(test_early_stopping), cmocka_unit_test(test_eval_alpha),
        cmocka_unit_test(test_no_validation),  cmocka_unit_test(test_options_out_of_bounds),
        cmocka_unit_test(test_unknown_names),  cmocka_unit_test(test_nothing_to_learn),
        cmocka_unit_test(test_out_of_memory),
    };
    inmo_set_threads(1); /* where a test asks for nothing else: small loops are slow at two on a busy machine */
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
