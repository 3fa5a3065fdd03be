/* test_tuning_models.c - a search without ranges, and over several models, with real trainings: scores are those of
 * training by hand, the best model is in its file at every moment, a search in pieces is the search at once, a
 * limit of time is kept and changes no score. tests/test_tune_models.c has the rest. */
#include "support.h"

#include <sys/stat.h>

enum { MODELS = 5 };
static const char *const model_names[MODELS] = {"mf", "item-knn", "ease", "gf-cf", "ials"};

static struct inmo_dataset *small_data(void)
{
    return grouped_dataset(48, 80, 10, "70/10/20");
}

static struct inmo_train_options options_for(const char *model)
{
    struct inmo_error error = {0};
    struct inmo_train_options options;
    must(inmo_train_options_init(&options, model, NULL, &error));
    options.dim = options.dim == INMO_AUTO ? INMO_AUTO : 6;
    options.batch = 64;
    options.order = "none";
    options.storage = "float";
    if (strcmp(model, "ials") != 0) {
        options.epochs = 6;
        options.eval_every = 1;
    }
    return options;
}

static void fill_models(struct inmo_train_options list[MODELS])
{
    for (int n = 0; n < MODELS; n++)
        list[n] = options_for(model_names[n]);
}

static struct inmo_tune_report *tuned(const struct inmo_dataset *data, const struct inmo_train_options *fixed,
                                      size_t count, const struct inmo_tune_options *options, const char *directory)
{
    struct inmo_error error = {0};
    struct inmo_tune_report *report = NULL;
    must(inmo_tune_models(data, fixed, count, options, directory, NULL, &report, &error));
    return report;
}

static struct inmo_model *trained_as(const struct inmo_dataset *data, const struct inmo_train_options *options,
                                     double *score)
{
    struct inmo_error error = {0};
    struct inmo_train_report report;
    struct inmo_model *model = NULL;
    must(inmo_train(data, options, NULL, &model, &report, &error));
    *score = report.best_score;
    return model;
}

/* The file has the model that training with the best settings gives, byte for byte. */
static void assert_best_is(const struct inmo_dataset *data, const struct inmo_tune_report *report,
                           const char *directory)
{
    struct inmo_error error = {0};
    double score;
    struct inmo_model *model = trained_as(data, &report->best, &score);
    char path[100];
    struct bytes found, expected;
    if (isnan(report->trial[0].deviation)) /* one seed */
        assert_near(score, report->trial[0].score, 0);
    must(inmo_model_save(model, "by-hand.inmo", 1, &error));
    snprintf(path, sizeof path, "%s/best.inmo", directory);
    assert_string_equal(report->best_model, path);
    found = read_bytes(path);
    expected = read_bytes("by-hand.inmo");
    assert_int_equal(found.count, expected.count);
    assert_memory_equal(found.at, expected.at, found.count);
    free(found.at);
    free(expected.at);
    inmo_model_free(model);
}

static void assert_same_trials(const struct inmo_tune_report *a, const struct inmo_tune_report *b)
{
    assert_int_equal(a->trial_count, b->trial_count);
    for (size_t n = 0; n < a->trial_count; n++) {
        assert_int_equal(a->trial[n].number, b->trial[n].number);
        assert_string_equal(a->trial[n].model, b->trial[n].model);
        assert_int_equal(a->trial[n].epochs, b->trial[n].epochs);
        assert_near(a->trial[n].score, b->trial[n].score, 0);
        for (size_t s = 0; s < a->setting_count; s++)
            assert_string_equal(a->trial[n].value[s], b->trial[n].value[s]);
    }
}

static const struct inmo_tune_trial *trial_called(const struct inmo_tune_report *report, int number)
{
    for (size_t n = 0; n < report->trial_count; n++)
        if (report->trial[n].number == number)
            return &report->trial[n];
    fail_msg("there is no trial %d", number);
    return NULL;
}

static void remove_directory(const char *name)
{
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", name);
    assert_int_equal(system(command), 0);
}

/* ---- What is found ------------------------------------------------------------------------------------------- */

/* Every model alone, also the closed forms: trial 1 is training as it comes, the best is at least as good, and its
 * model is there. */
static void test_each_model_alone(void **state)
{
    struct inmo_dataset *data = small_data();
    (void)state;
    for (int n = 0; n < MODELS; n++) {
        struct inmo_train_options fixed = options_for(model_names[n]);
        struct inmo_tune_options options;
        struct inmo_tune_report *report;
        double score;
        inmo_tune_options_init(&options);
        options.trials = 6;
        report = tuned(data, &fixed, 1, &options, "search");
        assert_string_equal(report->stopped, "done");
        assert_int_equal(report->trial_count, 6);
        inmo_model_free(trained_as(data, &fixed, &score));
        assert_true(report->trial[0].score >= score);
        if (trial_called(report, 1)->epochs == 0 || trial_called(report, 1)->epochs == fixed.epochs)
            assert_near(trial_called(report, 1)->score, score, 0);
        assert_int_equal(trial_called(report, 1)->epochs == 0, n >= 1 && n <= 3); /* closed forms */
        assert_best_is(data, report, "search");
        inmo_tune_report_free(report);
        remove_directory("search");
    }
    inmo_dataset_free(data);
}

static void test_several_models(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_train_options list[MODELS];
    struct inmo_tune_options options;
    struct inmo_tune_report *report;
    (void)state;
    fill_models(list);
    inmo_tune_options_init(&options);
    options.keep = "dim";
    report = tuned(data, list, MODELS, &options, "search");
    assert_int_equal(report->planned, 3 * MODELS);
    assert_int_equal(report->trial_count, 3 * MODELS);
    assert_string_equal(report->setting[0], "model");
    for (size_t n = 0; n < report->trial_count; n++) {
        const struct inmo_tune_trial *trial = &report->trial[n];
        struct inmo_train_options again = list[(trial->number - 1) % MODELS];
        size_t count;
        const struct inmo_setting *row = inmo_train_settings(&count);
        double score;
        assert_string_equal(trial->model, again.model);
        assert_string_equal(trial->value[0], again.model);
        if (strcmp(again.model, "ease") == 0)
            again.most_items = 10000;
        again.epochs = trial->epochs ? trial->epochs : again.epochs;
        for (size_t s = 1; s < report->setting_count; s++)
            for (size_t r = 0; r < count && *trial->value[s]; r++)
                if (strcmp(row[r].name, report->setting[s]) == 0)
                    assert_true(inmo_setting_set(&row[r], &again, trial->value[s]));
        inmo_model_free(trained_as(data, &again, &score));
        assert_near(trial->score, score, 0);
        assert_true(n == 0 || trial->score <= report->trial[n - 1].score); /* whatever the epochs */
    }
    for (size_t s = 0; s < report->setting_count; s++)
        assert_string_not_equal(report->setting[s], "dim");
    assert_best_is(data, report, "search");
    inmo_tune_report_free(report);
    /* Another set of models is another search. */
    {
        struct inmo_error error = {0};
        report = NULL;
        must_fail(inmo_tune_models(data, list, MODELS - 1, &options, "search", NULL, &report, &error), INMO_EXISTS,
                  "another search");
        list[1] = list[0];
        must_fail(inmo_tune_models(data, list, 2, &options, "other", NULL, &report, &error), INMO_USAGE,
                  "`model`: mf stands twice");
        list[1] = options_for("mf");
        options.keep = "dim,loss,l2,learning-rate";
        must_fail(inmo_tune_models(data, list, 1, &options, "other", NULL, &report, &error), INMO_USAGE,
                  "nothing is left to search");
        assert_int_not_equal(access("other", F_OK), 0);
    }
    remove_directory("search");
    inmo_dataset_free(data);
}

/* ---- In pieces ----------------------------------------------------------------------------------------------- */

static int stop_after(void *context)
{
    int *left = context;
    return (*left)-- <= 0;
}

/* Stopped every few steps, with two seeds: at each stop the best model is that of the best trial so far, and the
 * end is that of the search at once, in its models' bytes, too. */
static void test_interrupted(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_train_options list[MODELS];
    struct inmo_tune_options options;
    struct inmo_tune_report *whole, *pieces = NULL;
    struct bytes best[2];
    int calls = 0;
    (void)state;
    fill_models(list);
    inmo_tune_options_init(&options);
    options.seeds = "3,5";
    options.max_seconds = 0;
    options.trials = 8;
    whole = tuned(data, list, 3, &options, "whole");
    for (enum inmo_status status = INMO_INTERRUPTED; status; calls++) {
        struct inmo_error error = {0};
        int left = 20 + 4 * calls; /* a closed form begins anew each time, so it must become more */
        struct inmo_hooks hooks = {.context = &left, .interrupted = stop_after};
        struct inmo_model *model = NULL;
        status = inmo_tune_models(data, list, 3, &options, "pieces", &hooks, &pieces, &error);
        assert_true(status == INMO_OK || status == INMO_INTERRUPTED);
        assert_true(calls < 200);
        if (access("pieces/best.inmo", F_OK) == 0)
            must(inmo_model_load("pieces/best.inmo", &model, &error));
        inmo_model_free(model);
    }
    assert_true(calls > 5);
    assert_same_trials(whole, pieces);
    best[0] = read_bytes("whole/best.inmo");
    best[1] = read_bytes("pieces/best.inmo");
    assert_int_equal(best[0].count, best[1].count);
    assert_memory_equal(best[0].at, best[1].at, best[0].count);
    assert_best_is(data, pieces, "pieces");
    /* Removed: made again when the search is asked for. */
    inmo_tune_report_free(pieces);
    assert_int_equal(unlink("pieces/best.inmo"), 0);
    pieces = tuned(data, list, 3, &options, "pieces");
    assert_int_equal(pieces->trained, 0);
    assert_best_is(data, pieces, "pieces");
    assert_int_equal(system("[ \"$(ls pieces | xargs)\" = 'best.inmo trials.html trials.jsonl' ]"), 0);
    free(best[0].at);
    free(best[1].at);
    inmo_tune_report_free(whole);
    inmo_tune_report_free(pieces);
    remove_directory("whole");
    remove_directory("pieces");
    inmo_dataset_free(data);
}

/* A limit of time leaves trials out; those that are there have the scores of a search without limit. */
static void test_time_changes_no_score(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_train_options list[MODELS];
    struct inmo_tune_options options;
    struct inmo_tune_report *whole, *some;
    (void)state;
    fill_models(list);
    list[0].epochs = 60;
    list[0].eval_every = 10;
    inmo_tune_options_init(&options);
    options.max_seconds = 0;
    options.method = "random";
    whole = tuned(data, list, MODELS, &options, NULL);
    for (options.max_seconds = 0.001; options.max_seconds < 3; options.max_seconds *= 8) {
        some = tuned(data, list, MODELS, &options, NULL);
        assert_true(some->trial_count <= whole->trial_count);
        for (size_t n = 0; n < some->trial_count; n++)
            assert_near(some->trial[n].score, trial_called(whole, some->trial[n].number)->score, 0);
        inmo_tune_report_free(some);
    }
    inmo_tune_report_free(whole);
    inmo_dataset_free(data);
}

/* ---- The page ------------------------------------------------------------------------------------------------ */

static void test_page(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_train_options list[MODELS];
    struct inmo_tune_options options;
    struct inmo_tune_report *report;
    struct bytes page;
    char *text;
    size_t circles = 0;
    (void)state;
    fill_models(list);
    inmo_tune_options_init(&options);
    options.trials = MODELS;
    report = tuned(data, list, MODELS, &options, "search");
    assert_string_equal(report->page, "search/trials.html");
    page = read_bytes("search/trials.html");
    text = strndup((const char *)page.at, page.count);
    for (int n = 0; n < MODELS; n++)
        assert_non_null(strstr(text, model_names[n]));
    assert_non_null(strstr(text, "Best validation NDCG@20 × 100 by model"));
    assert_non_null(strstr(text, "5 of 5 trials are finished"));
    assert_non_null(strstr(text, "</html>"));
    for (const char *at = text; (at = strstr(at, "<tr><th>")); at++)
        circles++;
    assert_int_equal(circles, MODELS + 1); /* the heading, and a line for each trial */
    free(text);
    free(page.at);
    inmo_tune_report_free(report);
    remove_directory("search");
    inmo_dataset_free(data);
}

static void test_memory(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_train_options list[MODELS];
    struct inmo_tune_options options;
    enum inmo_status status = INMO_MEMORY;
    long n = 0;
    (void)state;
    fill_models(list);
    inmo_tune_options_init(&options);
    options.trials = 2;
    for (; status == INMO_MEMORY || n < 2000; n += 1 + n / 20) {
        struct inmo_error error = {0};
        struct inmo_tune_report *report = NULL;
        assert_true(n < 100000);
        inmo_alloc_fail_after(n);
        status = inmo_tune_models(data, list, 2, &options, "search", NULL, &report, &error);
        inmo_alloc_fail_after(-1);
        assert_true(status == INMO_OK || status == INMO_MEMORY);
        assert_true(!status == (report != NULL));
        inmo_tune_report_free(report);
        assert_int_equal(system("rm -rf search"), 0);
    }
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_model_alone),
        cmocka_unit_test(test_several_models),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_time_changes_no_score),
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_memory),
    };
    inmo_set_threads(1); /* small loops are slow at two on a busy machine */
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
