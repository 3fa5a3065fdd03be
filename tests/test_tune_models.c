/* test_tune_models.c - a search without ranges, and over several models, without training: the ranges of each
 * model, which trial is whose, how long each is trained, and what a limit of time leaves.
 * tests/test_tuning_models.c trains. */
#include "support.h"

#include "model/model.h"
#include "train/settings.h"
#include "tune/ranges.h"
#include "tune/search.h"

static struct inmo_space space_of(const char *text)
{
    struct inmo_error error = {0};
    struct inmo_space space = {0};
    must(inmo_space_parse(text, 0, &space, &error));
    space.seed = 1;
    return space;
}

/* ---- Models and their settings ------------------------------------------------------------------------------- */

/* Every model of the table is there once, and the ranges contain what is allowed and nothing else. */
static void test_ranges_of_every_model(void **state)
{
    size_t models = 0;
    (void)state;
    while (inmo_model_kind_at(models))
        models++;
    for (size_t n = 0; n < models; n++) {
        const char *model = inmo_tune_model(n);
        struct inmo_error error = {0};
        struct inmo_train_options options;
        struct inmo_space space = {0};
        assert_non_null(model);
        assert_non_null(inmo_model_kind_find(model));
        for (size_t m = 0; m < n; m++)
            assert_string_not_equal(inmo_tune_model(m), model);
        must(inmo_ranges_space(model, NULL, 1, &space, &error));
        assert_int_equal(space.axis_count == 0, strcmp(model, "popular") == 0);
        for (uint64_t t = 0; t < 20; t++) { /* no corner of them is refused by training */
            must(inmo_train_options_init(&options, model, NULL, &error));
            if (space.axis_count)
                inmo_space_apply(&space, t, &options);
            must(inmo_train_options_check(&options, &error));
        }
        inmo_space_free(&space);
    }
    assert_null(inmo_tune_model(models));
}

static void test_kept_settings_are_not_searched(void **state)
{
    struct inmo_error error = {0};
    struct inmo_space space = {0};
    struct inmo_train_options options = {.model = "ease"};
    char *text;
    (void)state;
    must(inmo_ranges_space("gf-cf", "low-pass", 0, &space, &error));
    text = inmo_space_text(&space);
    assert_string_equal(text, "dim=32..512:log");
    inmo_free(text);
    inmo_space_free(&space);
    must(inmo_ranges_space("gf-cf", "seed,dim,epochs,low-pass", 0, &space, &error));
    assert_int_equal(space.axis_count, 0);
    must_fail(inmo_ranges_space("mf", "dim,dims", 0, &space, &error), INMO_USAGE, "`keep`: found \"dims\"");
    inmo_ranges_bound("dim,most-items", &options);
    assert_int_equal(options.most_items, 0);
    inmo_ranges_bound("dim", &options);
    assert_int_equal(options.most_items, 10000);
}

/* Three models: one with a list of two values, one without settings, one with a range. */
static void make_three(struct inmo_arm arm[3], struct inmo_arms *arms)
{
    arm[0] = (struct inmo_arm){.model = "item-knn", .closed = 1, .space = space_of("neighbours=5|7")};
    arm[1] = (struct inmo_arm){.model = "popular", .closed = 1, .space = {.size = 1}};
    arm[2] = (struct inmo_arm){.model = "mf", .space = space_of("dropout=0.1..0.9")};
    arm[0].fixed.neighbours = 100;
    arm[2].fixed.dropout = 0.25;
    arm[0].space.in_order = 1;
    *arms = (struct inmo_arms){.arm = arm, .count = 3, .as_given = 1};
}

static void test_models_take_turns(void **state)
{
    static const size_t expected[] = {0, 1, 2, 0, 2, 0, 2, 2, 2};
    static const char *const neighbours[] = {"100", NULL, NULL, "5", NULL, "7"};
    struct inmo_arm arm[3];
    struct inmo_arms arms;
    char buffer[INMO_VALUE_SIZE], again[INMO_VALUE_SIZE];
    (void)state;
    make_three(arm, &arms);
    assert_int_equal(inmo_arms_size(&arms), 0); /* a range: countless */
    for (int t = 0; t < (int)COUNT(expected); t++) {
        assert_int_equal(inmo_arms_find(&arms, t), expected[t]);
        if (expected[t] == 0) {
            assert_string_equal(inmo_arms_value(&arms, t, 0, buffer), neighbours[t]);
            assert_int_equal(inmo_arms_options(&arms, t).neighbours, atoi(neighbours[t]));
        }
    }
    /* The starting options as they are, then points of the space, from its first. */
    assert_string_equal(inmo_arms_value(&arms, 2, 0, buffer), "0.25");
    assert_near(inmo_arms_options(&arms, 2).dropout, 0.25, 0);
    assert_string_equal(inmo_arms_value(&arms, 4, 0, buffer), inmo_space_value(&arm[2].space, 0, 0, again));
    assert_string_equal(inmo_arms_value(&arms, 6, 0, buffer), inmo_space_value(&arm[2].space, 0, 1, again));
    arms.count = 2;
    assert_int_equal(inmo_arms_size(&arms), 4);
    arms.as_given = 0;
    assert_int_equal(inmo_arms_size(&arms), 3);
    assert_string_equal(inmo_arms_value(&arms, 0, 0, buffer), "5");
    for (int a = 0; a < 3; a++)
        inmo_space_free(&arm[a].space);
}

/* Short trainings have the same share of each model's epochs; a closed form, and one whose epochs are too few to
 * divide, is trained in full. */
static void test_rungs_of_several_models(void **state)
{
    static const int epochs[] = {36, 36, 6, 40}, every[] = {6, 6, 3, 5}, closed[] = {0, 1, 0, 0};
    static const int expected[][2] = {{12, 36}, {36, 36}, {6, 6}, {15, 40}};
    struct inmo_search search = {0};
    (void)state;
    inmo_search_plan_arms(&search, 4, 12, epochs, every, closed, 3, 0);
    assert_int_equal(search.rungs, 2);
    assert_int_equal(search.trials[0], 12);
    assert_int_equal(search.trials[1], 4);
    for (int a = 0; a < 4; a++)
        for (int r = 0; r < 2; r++)
            assert_int_equal(search.epochs[a][r], expected[a][r]);
    inmo_search_plan_arms(&search, 4, 12, epochs, every, closed, 0, 0);
    assert_int_equal(search.rungs, 1);
    for (int a = 0; a < 4; a++)
        assert_int_equal(search.epochs[a][0], epochs[a]);
}

/* ---- Time ---------------------------------------------------------------------------------------------------- */

/* A clock that a training moves on by one. Rung 0 may take until `share`. */
enum { TRIALS = 9 };
static const double quality[TRIALS] = {0.10, 0.50, 0.30, 0.90, 0.50, 0.20, 0.95, 0.70, 0.05};

struct timed {
    int now, share, end, may_end;
    char calls[256], leads[256]; /* "trial@epochs " and "trial@rung " of each */
};

static void note(char *text, size_t size, int trial, int number)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%d@%d ", trial, number);
}

static enum inmo_status timed_train(void *context, int rung, struct inmo_outcome *outcome, struct inmo_error *error)
{
    struct timed *timed = context;
    if (timed->now >= timed->end || (timed->may_end && timed->now >= timed->share))
        return INMO_INTERRUPTED;
    timed->now++;
    (void)rung, (void)error;
    note(timed->calls, sizeof timed->calls, outcome->trial, outcome->epochs);
    outcome->score = quality[outcome->trial] - 0.1 * outcome->epochs; /* the longer, the worse */
    return INMO_OK;
}

static void timed_enter(void *context, int rung, int may_end)
{
    ((struct timed *)context)->may_end = may_end && rung == 0;
}

static int timed_is_over(void *context, int rung)
{
    struct timed *timed = context;
    (void)rung;
    return timed->may_end && timed->now >= timed->share && timed->now < timed->end;
}

static enum inmo_status timed_leads(void *context, int rung, int trial, struct inmo_error *error)
{
    struct timed *timed = context;
    (void)error;
    note(timed->leads, sizeof timed->leads, trial, rung);
    return INMO_OK;
}

static enum inmo_status run_timed(const char *directory, struct timed *timed, struct inmo_standing *standing,
                                  size_t *count, struct inmo_error *error)
{
    struct inmo_space space = space_of("dropout=0.1..0.9");
    static const uint64_t seed = 1;
    struct inmo_arm arm = {.model = "mf", .space = space};
    const struct inmo_arms arms = {.arm = &arm, .count = 1};
    struct inmo_search search = {.seed = &seed, .seed_count = 1, .by_time = 1};
    struct inmo_tune_record record;
    const struct inmo_objective objective = {.context = timed,
                                             .train = timed_train,
                                             .leads = timed_leads,
                                             .enter = timed_enter,
                                             .is_over = timed_is_over};
    enum inmo_status status = inmo_tune_record_open(&record, directory, "{}", &arms, error);
    inmo_search_plan(&search, TRIALS, 3, 1, 3, 1);
    assert_int_equal(search.rungs, 2);
    if (!status)
        status = inmo_search_run(&search, &record, &objective, error);
    *count = inmo_search_standings(&search, &record, standing);
    inmo_tune_record_close(&record);
    inmo_space_free(&space);
    return status;
}

/* When a rung's time is up, the same share of what is finished goes on, the best first, and trial 0 after them. The
 * short training of trial 3 is better than its long one, and stays the best. With more time, a later call does
 * what was left out. */
static void test_rung_ends_in_time(void **state)
{
    struct inmo_error error = {0};
    struct timed timed = {.share = 6, .end = 100};
    struct inmo_standing standing[TRIALS];
    size_t count = 0;
    (void)state;
    must(run_timed("search", &timed, standing, &count, &error));
    assert_string_equal(timed.calls, "0@1 1@1 2@1 3@1 4@1 5@1 3@3 1@3 0@3 ");
    assert_string_equal(timed.leads, "0@0 1@0 3@0 ");
    assert_int_equal(count, 6);
    assert_int_equal(standing[0].trial, 3);
    assert_int_equal(standing[0].rung, 0);
    timed = (struct timed){.share = 100, .end = 100};
    must(run_timed("search", &timed, standing, &count, &error));
    assert_string_equal(timed.calls, "6@1 7@1 8@1 6@3 7@3 ");
    assert_string_equal(timed.leads, "6@0 ");
    assert_int_equal(count, TRIALS);
    assert_int_equal(standing[0].trial, 6);
    assert_int_equal(system("rm -r search"), 0);
    /* Nothing goes on before something is finished; at the very end the search stops. */
    timed = (struct timed){.share = 0, .end = 1};
    assert_int_equal(run_timed(NULL, &timed, standing, &count, &error), INMO_INTERRUPTED);
    assert_string_equal(timed.calls, "0@1 ");
    timed = (struct timed){.share = 0, .end = 2};
    must(run_timed(NULL, &timed, standing, &count, &error));
    assert_string_equal(timed.calls, "0@1 0@3 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_of_every_model), cmocka_unit_test(test_kept_settings_are_not_searched),
        cmocka_unit_test(test_models_take_turns),     cmocka_unit_test(test_rungs_of_several_models),
        cmocka_unit_test(test_rung_ends_in_time),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
