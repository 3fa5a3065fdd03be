/* test_tuning.c - inmo_tune with real trainings: scores are those of training by hand, the test part is not
 * looked at, a search in pieces is the search at once, failures are findings, limits are kept. tests/test_tune.c
 * has the rest. */
#include "support.h"

static struct inmo_dataset *small_data(void)
{
    return grouped_dataset(48, 80, 10, "70/10/20");
}

static struct inmo_tune_options search_of(const char *method, const char *space)
{
    struct inmo_tune_options options;
    inmo_tune_options_init(&options);
    options.method = method;
    options.search = space;
    return options;
}

static struct inmo_tune_report *tuned(const struct inmo_dataset *data, const struct inmo_train_options *fixed,
                                      const struct inmo_tune_options *options, const char *directory)
{
    struct inmo_error error = {0};
    struct inmo_tune_report *report = NULL;
    must(inmo_tune(data, fixed, options, directory, NULL, &report, &error));
    return report;
}

static double score_by_hand(const struct inmo_dataset *data, const struct inmo_train_options *options)
{
    struct inmo_error error = {0};
    struct inmo_train_report report;
    struct inmo_model *model = NULL;
    must(inmo_train(data, options, NULL, &model, &report, &error));
    inmo_model_free(model);
    return report.best_score;
}

static void assert_same_trials(const struct inmo_tune_report *a, const struct inmo_tune_report *b)
{
    assert_int_equal(a->trial_count, b->trial_count);
    for (size_t n = 0; n < a->trial_count; n++) {
        assert_int_equal(a->trial[n].number, b->trial[n].number);
        assert_int_equal(a->trial[n].epochs, b->trial[n].epochs);
        assert_near(a->trial[n].score, b->trial[n].score, 0);
        for (size_t s = 0; s < a->setting_count; s++)
            assert_string_equal(a->trial[n].value[s], b->trial[n].value[s]);
    }
}

static void remove_directory(const char *name)
{
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", name);
    assert_int_equal(system(command), 0);
}

/* What is left: the best model, the page, the record. */
static void assert_no_checkpoints(const char *name)
{
    char command[100];
    snprintf(command, sizeof command, "[ \"$(ls %s | xargs)\" = 'best.inmo trials.html trials.jsonl' ]", name);
    assert_int_equal(system(command), 0);
}

/* ---- What a search says is so
 * --------------------------------------------------------------------------------- */

static void test_grid(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_train_options fixed = small_options("inmo-mf"), again = fixed;
    struct inmo_tune_options options = search_of("grid", "layers=2,loss=bpr|softmax,learning-rate=0.01|0.05");
    struct inmo_tune_report *report;
    double mean = 0;
    (void)state;
    options.seeds = "3,5";
    report = tuned(data, &fixed, &options, NULL);
    assert_int_equal(report->trial_count, 4);
    assert_int_equal(report->planned, 4);
    assert_int_equal(report->trained, 8);
    assert_string_equal(report->stopped, "done");
    assert_int_equal(report->setting_count, 3);
    for (size_t n = 0; n < 4; n++) {
        const struct inmo_tune_trial *trial = &report->trial[n];
        double score[2];
        again.loss = trial->number <= 2 ? "bpr" : "softmax";
        again.learning_rate = trial->number % 2 ? 0.01 : 0.05;
        assert_string_equal(trial->value[1], again.loss);
        for (int s = 0; s < 2; s++) {
            again.seed = s ? 5 : 3;
            score[s] = score_by_hand(data, &again);
        }
        assert_near(trial->score, (score[0] + score[1]) / 2, 1e-15);
        assert_near(trial->deviation, fabs(score[0] - score[1]) / sqrt(2), 1e-12);
        assert_true(n == 0 || trial->score <= report->trial[n - 1].score);
        mean += trial->score / 4;
    }
    assert_true(report->trial[0].score > mean); /* the settings do differ */
    /* The best options are complete: they train as they are. */
    assert_int_equal(report->best.seed, 3);
    mean = score_by_hand(data, &report->best);
    report->best.seed = 5;
    assert_near(report->trial[0].score, (mean + score_by_hand(data, &report->best)) / 2, 1e-15);
    inmo_tune_report_free(report);
    inmo_dataset_free(data);
}

/* With a test part that is gone, and with one that is the training part, nothing changes. */
static void test_test_part_is_not_looked_at(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_csr test = data->test, later = data->later;
    struct inmo_train_options fixed = small_options("inmo-lightgcn");
    struct inmo_tune_options options = search_of("random", "learning-rate=1e-3..1e-1:log,dropout=0.1..0.6");
    struct inmo_tune_report *with, *without, *other;
    (void)state;
    options.trials = 3;
    with = tuned(data, &fixed, &options, NULL);
    data->test = data->later = (struct inmo_csr){0};
    without = tuned(data, &fixed, &options, NULL);
    data->test = data->train;
    other = tuned(data, &fixed, &options, NULL);
    data->test = test;
    data->later = later;
    assert_same_trials(with, without);
    assert_same_trials(with, other);
    inmo_tune_report_free(with);
    inmo_tune_report_free(without);
    inmo_tune_report_free(other);
    inmo_dataset_free(data);
}

/* Each rung's score is that of a training with so many epochs, from the start: also with a constant rate, where
 * it went on from the rung before. */
static void test_halving_trains_as_by_hand(void **state)
{
    struct inmo_dataset *data = small_data();
    (void)state;
    for (int cosine = 0; cosine < 2; cosine++) {
        struct inmo_train_options fixed = small_options("inmo-mf"), again;
        struct inmo_tune_options options = search_of("halving", "learning-rate=1e-3..1e-1:log");
        struct inmo_tune_report *report;
        int most = 0;
        fixed.epochs = 10;
        fixed.eval_every = 2;
        fixed.schedule = cosine ? "cosine" : "constant";
        again = fixed;
        options.trials = 5;
        options.halving_rate = 2;
        options.least_epochs = 2;
        report = tuned(data, &fixed, &options, "search");
        assert_int_equal(report->trained, 5 + 2 + 1); /* for 4, 6 and 10 epochs */
        assert_int_equal(report->trial_count, 5);
        for (size_t n = 0; n < 5; n++) {
            const struct inmo_tune_trial *trial = &report->trial[n];
            again.learning_rate = strtod(trial->value[0], NULL);
            again.epochs = trial->epochs;
            assert_near(trial->score, score_by_hand(data, &again), 0);
            most = trial->epochs > most ? trial->epochs : most;
        }
        assert_int_equal(most, 10);
        assert_int_equal(report->trial[0].epochs, 10);
        assert_near(report->trial[0].score, score_by_hand(data, &report->best), 0);
        assert_no_checkpoints("search");
        inmo_tune_report_free(report);
        remove_directory("search");
    }
    inmo_dataset_free(data);
}

/* ---- In pieces
 * ------------------------------------------------------------------------------------------------ */

static int stop_after(void *context)
{
    int *left = context;
    return (*left)-- <= 0;
}

static void test_interrupted(void **state)
{
    static const char *const methods[] = {"random", "halving"};
    struct inmo_dataset *data = small_data();
    (void)state;
    for (int m = 0; m < 4; m++) {
        struct inmo_error error = {0};
        struct inmo_train_options fixed = small_options("inmo-mf");
        struct inmo_tune_options options = search_of(methods[m % 2], "learning-rate=1e-3..1e-1:log,l2=0|1e-3");
        struct inmo_tune_report *whole, *pieces = NULL;
        int calls = 0;
        fixed.schedule = m < 2 ? "constant" : "cosine";
        fixed.epochs = 6;
        fixed.order =
            "none"; /* another one begins with a decomposition, which asks as well: here steps are counted */
        options.trials = 4;
        options.halving_rate = 2;
        whole = tuned(data, &fixed, &options, "whole");
        for (enum inmo_status status = INMO_INTERRUPTED; status; calls++) {
            int left = 17 + calls % 5; /* steps; an epoch has 11 */
            struct inmo_hooks hooks = {.context = &left, .interrupted = stop_after};
            status = inmo_tune(data, &fixed, &options, "pieces", &hooks, &pieces, &error);
            assert_true(status == INMO_OK || status == INMO_INTERRUPTED);
            assert_true(calls < 100);
            /* Checkpoints that a kill has left behind although their training is in the record do no harm. */
            if (status)
                assert_int_equal(system("mkdir -p left; cp pieces/*.checkpoint left\n"
                                        "for f in $(ls left); do [ -e pieces/$f ] || cp left/$f pieces; done"),
                                 0);
        }
        assert_true(calls > 5);
        assert_same_trials(whole, pieces);
        assert_no_checkpoints("pieces");
        /* Once more: everything is there. */
        inmo_tune_report_free(pieces);
        pieces = tuned(data, &fixed, &options, "pieces");
        assert_int_equal(pieces->trained, 0);
        assert_same_trials(whole, pieces);
        inmo_tune_report_free(whole);
        inmo_tune_report_free(pieces);
        remove_directory("whole");
        remove_directory("pieces");
        remove_directory("left");
    }
    inmo_dataset_free(data);
}

static void test_more_trials(void **state)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = small_data(), *other = grouped_dataset(48, 80, 11, "70/10/20");
    struct inmo_train_options fixed = small_options("mf");
    struct inmo_tune_options options = search_of("random", "learning-rate=1e-3..1e-1:log");
    struct inmo_tune_report *report, *all, *none = NULL;
    (void)state;
    options.trials = 2;
    report = tuned(data, &fixed, &options, "search");
    inmo_tune_report_free(report);
    options.trials = 5;
    report = tuned(data, &fixed, &options, "search");
    all = tuned(data, &fixed, &options, NULL);
    assert_int_equal(report->trained, 3);
    assert_same_trials(report, all);
    options.seed = 2;
    must_fail(inmo_tune(data, &fixed, &options, "search", NULL, &none, &error), INMO_EXISTS,
              "its seed is 1, now it is 2");
    options.seed = 1;
    must_fail(inmo_tune(other, &fixed, &options, "search", NULL, &none, &error), INMO_EXISTS,
              "another search: its data");
    fixed.dim++;
    must_fail(inmo_tune(data, &fixed, &options, "search", NULL, &none, &error), INMO_EXISTS,
              "its dim is 6, now it is 7");
    assert_null(none);
    inmo_tune_report_free(report);
    inmo_tune_report_free(all);
    remove_directory("search");
    inmo_dataset_free(other);
    inmo_dataset_free(data);
}

/* ---- Limits and failures
 * --------------------------------------------------------------------------------------- */

static void test_time_is_up(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_train_options fixed = small_options("mf");
    struct inmo_tune_options options = search_of("random", "learning-rate=1e-3..1e-1:log");
    struct inmo_tune_report *report;
    size_t before = 0;
    int calls = 0;
    (void)state;
    fixed.epochs = 100;
    fixed.patience = 1000;
    options.trials = 3;
    options.max_seconds = 1e-9;
    report = tuned(data, &fixed, &options, "search");
    assert_string_equal(report->stopped, "max-seconds");
    assert_int_equal(report->trial_count, 0);
    for (options.max_seconds = 0.02; strcmp(report->stopped, "done") != 0 && calls < 1000;
         calls++, options.max_seconds *= 1.1) {
        inmo_tune_report_free(report);
        report = tuned(data, &fixed, &options, "search");
        assert_true(report->trial_count >= before);
        before = report->trial_count;
    }
    assert_int_equal(report->trial_count, 3);
    inmo_tune_report_free(report);
    remove_directory("search");
    /* A limit on each training ends it; without any validation by then, there is no score. */
    fixed.eval_every = 100;
    options.max_seconds = 0;
    options.per_trial_seconds = 1e-9;
    {
        struct inmo_error error = {0};
        report = NULL;
        must_fail(inmo_tune(data, &fixed, &options, NULL, NULL, &report, &error), INMO_USAGE,
                  "all 3 trials failed; the first: `per-trial-seconds`");
    }
    inmo_dataset_free(data);
}

/* With 1000 epochs between validations, half a second ends before the first. */
static void test_failed_trials(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_train_options fixed = small_options("mf");
    struct inmo_tune_options options = search_of("grid", "eval-every=1000000|1");
    struct inmo_tune_report *report, *again;
    (void)state;
    fixed.epochs = 1000000;
    options.per_trial_seconds = 0.5;
    report = tuned(data, &fixed, &options, "search");
    assert_int_equal(report->trial_count, 2);
    assert_int_equal(report->trial[0].number, 2);
    assert_null(report->trial[0].error);
    assert_true(isfinite(report->trial[0].score));
    assert_int_equal(report->trial[1].number, 1); /* first in the grid, last in the table */
    assert_true(isnan(report->trial[1].score));
    assert_non_null(strstr(report->trial[1].error, "before its first validation"));
    again = tuned(data, &fixed, &options, "search"); /* a failure is not tried again */
    assert_int_equal(again->trained, 0);
    assert_string_equal(again->trial[1].error, report->trial[1].error);
    inmo_tune_report_free(again);
    inmo_tune_report_free(report);
    remove_directory("search");
    inmo_dataset_free(data);
}

static void test_refused(void **state)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = small_data(), *unsplit = grouped_dataset(48, 80, 10, "80/0/20");
    struct inmo_train_options fixed = small_options("mf"), popular = small_options("popular");
    struct inmo_tune_options options = search_of("grid", "learning-rate=1e-3..1e-1:log");
    struct inmo_tune_report *report = NULL;
    (void)state;
    must_fail(inmo_tune(data, &fixed, &options, "d", NULL, &report, &error), INMO_USAGE,
              "learning-rate is a range; a grid needs its values, as in learning-rate=0.001..0.1:log:5");
    options.search = "dim=1..4000,layers=0..16";
    must_fail(inmo_tune(data, &fixed, &options, "d", NULL, &report, &error), INMO_USAGE,
              "more than 10000 combinations");
    options.search = "dim=2|3";
    options.method = "bayes";
    must_fail(inmo_tune(data, &fixed, &options, "d", NULL, &report, &error), INMO_USAGE,
              "auto|grid|random|halving");
    options.method = "random";
    for (const char *const *bad = (const char *const[]){"", "1,", "x", "1,1", "-1", "1;2", NULL}; *bad; bad++) {
        options.seeds = *bad;
        must_fail(inmo_tune(data, &fixed, &options, "d", NULL, &report, &error), INMO_USAGE, "`seeds`: ");
    }
    options.seeds = "1";
    must_fail(inmo_tune(data, &popular, &options, "d", NULL, &report, &error), INMO_UNSUPPORTED,
              "popular is not trained");
    must_fail(inmo_tune(unsplit, &fixed, &options, "d", NULL, &report, &error), INMO_INPUT, "no validation part");
    fixed.batch = 0;
    must_fail(inmo_tune(data, &fixed, &options, "d", NULL, &report, &error), INMO_USAGE, "`batch` is 0");
    assert_int_not_equal(access("d", F_OK), 0); /* refused before anything was made */
    assert_null(report);
    inmo_dataset_free(unsplit);
    inmo_dataset_free(data);
}

static void test_memory(void **state)
{
    struct inmo_dataset *data = small_data();
    struct inmo_train_options fixed = small_options("mf");
    struct inmo_tune_options options = search_of("halving", "learning-rate=1e-3..1e-1:log,loss=bpr|softmax");
    enum inmo_status status = INMO_MEMORY;
    long n = 0;
    (void)state;
    fixed.epochs = 2;
    options.trials = 2;
    options.halving_rate = 2;
    for (; status == INMO_MEMORY; n += 1 + n / 30) {
        struct inmo_error error = {0};
        struct inmo_tune_report *report = NULL;
        assert_true(n < 100000);
        inmo_alloc_fail_after(n);
        status = inmo_tune(data, &fixed, &options, "search", NULL, &report, &error);
        inmo_alloc_fail_after(-1);
        assert_true(status == INMO_OK || status == INMO_MEMORY);
        assert_true(!status == (report != NULL));
        inmo_tune_report_free(report);
        assert_int_equal(system("rm -rf search"), 0);
    }
    assert_true(n > 50);
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_test_part_is_not_looked_at),
        cmocka_unit_test(test_halving_trains_as_by_hand),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_more_trials),
        cmocka_unit_test(test_time_is_up),
        cmocka_unit_test(test_failed_trials),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_memory),
    };
    inmo_set_threads(1); /* small loops are slow at two on a busy machine */
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
