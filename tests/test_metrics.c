/* test_metrics.c - the numbers a model is judged by, all worked out by hand in the comments: the metrics of
 * single lists, and inmo_evaluate with the popularity model on data sets small enough to rank on paper; which
 * groups a report has, and what evaluation refuses.
 *
 * 1/log2(j + 1), the worth of a hit at rank j:  1: 1   2: 0.6309297535714575   3: 0.5   4: 0.43067655807339306 */
#include "support.h"

#include "eval/beyond.h"
#include "eval/metrics.h"

#define SECOND 0.6309297535714575
#define FOURTH 0.43067655807339306

static struct inmo_metrics judged(const int32_t *list, int k, const int32_t *truth, int64_t truth_count)
{
    struct inmo_metrics sum = {0};
    inmo_metrics_add(list, k, truth, truth_count, &sum);
    return sum;
}

static void assert_metrics(const struct inmo_metrics *found, double recall, double precision, double ndcg,
                           double hit_rate, double mrr, double map)
{
    assert_near(found->recall, recall, 1e-12);
    assert_near(found->precision, precision, 1e-12);
    assert_near(found->ndcg, ndcg, 1e-12);
    assert_near(found->hit_rate, hit_rate, 1e-12);
    assert_near(found->mrr, mrr, 1e-12);
    assert_near(found->map, map, 1e-12);
}

/* ---- Single lists ---------------------------------------------------------------------------------------- */

static void test_single_lists(void **state)
{
    const int32_t list[5] = {7, 3, 9, 1, 5}, truth[3] = {1, 3, 8}, none[2] = {0, 2}, all[5] = {1, 3, 5, 7, 9};
    struct inmo_metrics found;
    (void)state;
    /* Hits at ranks 2 and 4 of 5, three wanted. DCG = SECOND + FOURTH, ideal 1 + SECOND + 1/2;
     * MAP: precision 1/2 at rank 2 and 2/4 at rank 4, over min(3, 5). */
    found = judged(list, 5, truth, 3);
    assert_metrics(&found, 2. / 3, 2. / 5, (SECOND + FOURTH) / (1 + SECOND + 0.5), 1, 0.5, (0.5 + 0.5) / 3);
    assert_near(found.ndcg, 0.49818925746641285, 1e-12);
    /* The first three of the same list: one hit at rank 2; ideal has three places. */
    found = judged(list, 3, truth, 3);
    assert_metrics(&found, 1. / 3, 1. / 3, SECOND / (1 + SECOND + 0.5), 1, 0.5, 0.5 / 3);
    /* No hit. */
    found = judged(list, 5, none, 2);
    assert_metrics(&found, 0, 0, 0, 0, 0, 0);
    /* More wanted than the list holds: both places are hits, so NDCG and MAP are 1 though recall is 2/5. */
    found = judged(list, 2, all, 5);
    assert_metrics(&found, 2. / 5, 1, 1, 1, 1, 1);
}

/* A list that ended early counts as if wrong items followed. */
static void test_short_list(void **state)
{
    const int32_t list[5] = {4, 6, -1, 1, 3}, truth[3] = {1, 3, 6}; /* what stands after -1 is not looked at */
    struct inmo_metrics found = judged(list, 5, truth, 3), empty;
    (void)state;
    /* One hit at rank 2 of 5. */
    assert_metrics(&found, 1. / 3, 1. / 5, SECOND / (1 + SECOND + 0.5), 1, 0.5, 0.5 / 3);
    empty = judged(list + 2, 3, truth, 3);
    assert_metrics(&empty, 0, 0, 0, 0, 0, 0);
}

static void test_mean(void **state)
{
    const int32_t list[2] = {1, 2}, first[1] = {1}, second[1] = {2};
    struct inmo_metrics sum = {.coverage = 0.25};
    (void)state;
    inmo_metrics_add(list, 2, first, 1, &sum);  /* 1, 1/2, 1, 1, 1, 1 */
    inmo_metrics_add(list, 2, second, 1, &sum); /* 1, 1/2, SECOND, 1, 1/2, 1/2 */
    inmo_metrics_mean(&sum, 2);
    assert_metrics(&sum, 1, 0.5, (1 + SECOND) / 2, 1, 0.75, 0.75);
    assert_near(sum.coverage, 0.25, 0);
    sum = (struct inmo_metrics){0};
    inmo_metrics_mean(&sum, 0); /* no users: zeros, not NaN */
    assert_metrics(&sum, 0, 0, 0, 0, 0, 0);
}

/* ---- inmo_evaluate by hand ------------------------------------------------------------------------------- */

static struct inmo_report *evaluated(const struct inmo_model *model, const struct inmo_dataset *data,
                                     const char *part, const char *ks, int without_new)
{
    struct inmo_error error = {0};
    struct inmo_eval_options options;
    struct inmo_report *report = NULL;
    inmo_eval_options_init(&options);
    options.part = part;
    options.ks = ks;
    options.without_new = without_new;
    must(inmo_evaluate(model, data, &options, NULL, &report, &error));
    return report;
}

/* Novelty and diversity of lists against a loop over pairs and users. */
static void test_beyond(void **state)
{
    enum { USERS = 40, ITEMS = 25, LISTS = 30, K = 6 };
    struct inmo_graph *graph = random_graph_of(USERS, ITEMS, 0.2, 5);
    int32_t top[LISTS * K], member[LISTS];
    struct inmo_metrics at = {0};
    struct inmo_error error = {0};
    double novelty = 0, diversity = 0;
    (void)state;
    for (int l = 0; l < LISTS; l++) {
        int length = l % 5 == 0 ? 3 : K;
        double bits = 0, alike = 0;
        member[l] = l;
        for (int n = 0; n < K; n++)
            top[l * K + n] = n < length ? (l * 3 + n * 4) % ITEMS : -1;
        for (int n = 0; n < length; n++) {
            int32_t i = graph->users + top[l * K + n];
            double degree = (double)(graph->offset[i + 1] - graph->offset[i]);
            bits += -log2(fmax(degree, 1) / USERS);
            for (int m = 0; m < length; m++) {
                int32_t j = graph->users + top[l * K + m];
                double common = 0, other = (double)(graph->offset[j + 1] - graph->offset[j]);
                for (int64_t e = graph->offset[i]; e < graph->offset[i + 1]; e++)
                    for (int64_t f = graph->offset[j]; f < graph->offset[j + 1]; f++)
                        common += graph->neighbour[e] == graph->neighbour[f];
                if (m != n && degree > 0 && other > 0)
                    alike += common / sqrt(degree * other);
            }
        }
        novelty += bits / length / LISTS;
        diversity += (1 - alike / (length * (length - 1))) / LISTS;
    }
    must(inmo_beyond_mean(graph, top, K, member, LISTS, K, &at, &error));
    assert_near(at.novelty, novelty, 1e-9);
    assert_near(at.diversity, diversity, 1e-6);
    assert_true(at.diversity > 0.5 && at.diversity < 0.95); /* not a case without anything in common */
    inmo_graph_free(graph);
}

static struct inmo_model *popular_of(const struct inmo_dataset *data)
{
    struct inmo_train_options options = small_options("popular");
    return trained(data, &options);
}

static const struct inmo_group *group_of(const struct inmo_report *report, const char *name)
{
    for (size_t g = 0; g < report->group_count; g++)
        if (strcmp(report->group[g].name, name) == 0)
            return report->group + g;
    return NULL;
}

/* Items are numbered v w x y z in this order. Training degrees: v 3 (ann bob cat), w 3 (ann cat dan), x 1 (cat),
 * y 0, z 0: the order by popularity is v w x y z. Of each user's list the training and validation items are left
 * out. */
static const char five_items[] = "ann v train, ann w train, cat x train, ann y test, cat z test, ann x test,"
                                 "bob v train, bob w valid, bob y test, cat v train, cat w train, dan w train";

static void test_popular_by_hand(void **state)
{
    struct inmo_dataset *data = dataset_of(five_items);
    struct inmo_model *model = popular_of(data);
    struct inmo_report *report = evaluated(model, data, "test", "1,2,10", 0);
    const struct inmo_metrics *at = report->group[0].at;
    (void)state;
    assert_int_equal(report->k_count, 3);
    assert_string_equal(report->group[0].name, "all");
    assert_int_equal(report->group[0].users, 3); /* dan has no test items */
    /* k = 1. ann: x, wanted x y: recall 1/2, all else 1. bob: x, wanted y. cat: y, wanted z. */
    assert_int_equal(at[0].k, 1);
    assert_metrics(at, 0.5 / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3);
    assert_near(at[0].coverage, 2. / 5, 1e-12); /* x y */
    /* k = 2. ann: x y, wanted x y: all 1. bob: x y, wanted y, hit at rank 2: recall 1, precision 1/2, NDCG SECOND,
     * MRR 1/2, MAP 1/2. cat: y z, wanted z: the same. */
    assert_int_equal(at[1].k, 2);
    assert_metrics(at + 1, 1, (1 + 0.5 + 0.5) / 3, (1 + SECOND + SECOND) / 3, 1, (1 + 0.5 + 0.5) / 3,
                   (1 + 0.5 + 0.5) / 3);
    assert_near(at[1].coverage, 3. / 5, 1e-12); /* x y z */
    /* k = 10: ann x y z, bob x y z, cat y z. Only precision changes: 2/10, 1/10, 1/10. */
    assert_metrics(at + 2, 1, 0.4 / 3, (1 + SECOND + SECOND) / 3, 1, 2. / 3, 2. / 3);
    assert_near(at[2].coverage, 3. / 5, 1e-12);
    /* x has one of four users, y and z none, which counts as one: 2 bits each, and nothing in common. */
    for (int n = 0; n < 3; n++)
        assert_near(at[n].novelty, 2, 1e-12);
    assert_true(isnan(at[0].diversity)); /* one item is not diverse */
    assert_near(at[1].diversity, 1, 1e-12);
    assert_near(at[2].diversity, 1, 1e-12);
    assert_int_equal(report->group_count, 2); /* and everybody has a short history */
    assert_string_equal(report->group[1].name, "history 0-9");
    assert_int_equal(report->group[1].users, 3);
    assert_metrics(report->group[1].at, 0.5 / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3);
    inmo_report_free(report);

    /* The validation part: bob alone, wanted w, training items left out: w x. */
    report = evaluated(model, data, "valid", "1", 0);
    assert_int_equal(report->group[0].users, 1);
    assert_metrics(report->group[0].at, 1, 1, 1, 1, 1, 1);
    assert_near(report->group[0].at->coverage, 1. / 5, 1e-12);
    inmo_report_free(report);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

/* ann has 10 observed items, bob 9: on both sides of a border. Items by first appearance: a .. j, then y, z.
 * Degrees: a .. i 2, j 1, y 0, z 0. ann's list at 1: y, wanted z: nothing. bob's: j, wanted j. */
static void test_history_groups(void **state)
{
    struct inmo_dataset *data = dataset_of(
        "ann a train, ann b train, ann c train, ann d train, ann e train, ann f train, ann g train, ann h train,"
        "ann i train, ann j train, bob y valid, ann z test, bob j test, bob a train, bob b train, bob c train,"
        "bob d train, bob e train, bob f train, bob g train, bob h train, bob i train");
    struct inmo_model *model = popular_of(data);
    struct inmo_report *report = evaluated(model, data, "test", "1", 0);
    const struct inmo_group *group;
    (void)state;
    assert_int_equal(report->group_count, 3);
    assert_metrics(report->group[0].at, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5);
    group = group_of(report, "history 0-9");
    assert_non_null(group);
    assert_int_equal(group->users, 1);
    assert_metrics(group->at, 1, 1, 1, 1, 1, 1);
    group = group_of(report, "history 10-19");
    assert_non_null(group);
    assert_int_equal(group->users, 1);
    assert_metrics(group->at, 0, 0, 0, 0, 0, 0);
    assert_near(group->at->coverage, 1. / 12, 1e-12);
    inmo_report_free(report);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

/* ---- The scenario with new users and items ----------------------------------------------------------------- */

/* Users p q old, n new; items 0 1 2 old, 3 new. A data set made by hand, as the split would be drawn.
 *
 *     train   p: 0 1   q: 0          later   q: 3   n: 0          test   p: 2 3   q: 1   n: 2 3 */
static const int64_t id_offset_users[] = {0, 2, 4, 6}, id_offset_items[] = {0, 2, 4, 6, 8};
static const int64_t train_offset[] = {0, 2, 3, 3}, later_offset[] = {0, 0, 1, 2}, test_offset[] = {0, 2, 3, 5};
static const int32_t train_item[] = {0, 1, 0}, later_item[] = {3, 0}, test_item[] = {2, 3, 1, 2, 3};
static const uint8_t new_user[] = {0, 0, 1}, new_item[] = {0, 0, 0, 1};
static const struct inmo_dataset inductive = {
    .scenario = INMO_NEW_USERS_ITEMS,
    .users = {.count = 3, .offset = id_offset_users, .text = "p\0q\0n"},
    .items = {.count = 4,
              .offset = id_offset_items,
              .text = "0\0"
                      "1\0"
                      "2\0"
                      "3"},
    .train = {3, 4, train_offset, train_item},
    .later = {3, 4, later_offset, later_item},
    .test = {3, 4, test_offset, test_item},
    .new_user = new_user,
    .new_item = new_item,
};

static void test_new_users_items(void **state)
{
    struct inmo_model *model = popular_of(&inductive);
    struct inmo_report *report = evaluated(model, &inductive, "test", "2", 0);
    static const char *const names[] = {"all", "new-users", "old-users", "history 0-9", "new-items", "old-items"};
    const struct inmo_metrics *at;
    (void)state;
    assert_int_equal(report->group_count, COUNT(names));
    for (size_t g = 0; g < COUNT(names); g++)
        assert_string_equal(report->group[g].name, names[g]);
    /* Observed degrees (train and later): item 0: 3, item 1: 1, item 2: 0, item 3: 1; the order is 0 1 3 2. p
     * leaves out 0 1: list 3 2, wanted 2 3: all 1. q leaves out 0 3: list 1 2, wanted 1: precision 1/2, all else
     * 1. n leaves out 0:   list 1 3, wanted 2 3: a hit at rank 2: recall 1/2, precision 1/2, NDCG SECOND / (1 +
     * SECOND),
     *                   MRR 1/2, MAP (1/2)/2. */
    assert_int_equal(report->group[0].users, 3);
    assert_metrics(report->group[0].at, 2.5 / 3, 2. / 3, (2 + SECOND / (1 + SECOND)) / 3, 1, 2.5 / 3, 2.25 / 3);
    assert_near(report->group[0].at->coverage, 3. / 4, 1e-12); /* 1 2 3 */
    at = report->group[1].at;                                  /* new-users: n */
    assert_int_equal(report->group[1].users, 1);
    assert_metrics(at, 0.5, 0.5, SECOND / (1 + SECOND), 1, 0.5, 0.25);
    assert_near(at->coverage, 2. / 4, 1e-12);
    at = report->group[2].at; /* old-users: p q */
    assert_int_equal(report->group[2].users, 2);
    assert_metrics(at, 1, 0.75, 1, 1, 1, 1);
    /* new-items: only item 3 is ranked and wanted. p and n: list 3, wanted 3: precision 1/2, all else 1. q does not
     * count. */
    at = report->group[4].at;
    assert_int_equal(report->group[4].users, 2);
    assert_metrics(at, 1, 0.5, 1, 1, 1, 1);
    assert_near(at->coverage, 1, 1e-12);
    /* old-items: p: list 2, wanted 2. q: 1 2, wanted 1. n: 1 2, wanted 2: a hit at rank 2. */
    at = report->group[5].at;
    assert_int_equal(report->group[5].users, 3);
    assert_metrics(at, 1, 0.5, (2 + SECOND) / 3, 1, 2.5 / 3, 2.5 / 3);
    assert_near(at->coverage, 2. / 3, 1e-12);
    inmo_report_free(report);

    /* Without what came later the degrees are 2 1 0 0, and n's list becomes 1 2: a hit at rank 2 still, but with
     * item 2. p's becomes 2 3. What was observed later is left out of the lists all the same. */
    report = evaluated(model, &inductive, "test", "2", 1);
    assert_metrics(report->group[0].at, 2.5 / 3, 2. / 3, (2 + SECOND / (1 + SECOND)) / 3, 1, 2.5 / 3, 2.25 / 3);
    assert_near(group_of(report, "new-users")->at->coverage, 2. / 4, 1e-12);
    inmo_report_free(report);
    report = evaluated(model, &inductive, "test", "1", 1); /* p: 2 hits; q: 1 hits; n: 1 does not */
    assert_metrics(report->group[0].at, 1.5 / 3, 2. / 3, 2. / 3, 2. / 3, 2. / 3, 2. / 3);
    assert_near(report->group[0].at->coverage, 2. / 4, 1e-12);
    inmo_report_free(report);
    inmo_model_free(model);
}

/* n's validation item 1 is in no list: n's becomes 3 2, and both are wanted. */
static void test_validation_of_new_users_is_masked(void **state)
{
    static const int64_t aside_offset[] = {0, 0, 0, 1};
    static const int32_t aside_item[] = {1};
    struct inmo_dataset data = inductive;
    struct inmo_model *model = popular_of(&data);
    struct inmo_report *report;
    (void)state;
    data.aside = (struct inmo_csr){3, 4, aside_offset, aside_item, NULL};
    report = evaluated(model, &data, "test", "2", 0);
    assert_metrics(group_of(report, "new-users")->at, 1, 1, 1, 1, 1, 1);
    assert_metrics(group_of(report, "old-users")->at, 1, 0.75, 1, 1, 1, 1);
    inmo_report_free(report);
    inmo_model_free(model);
}

/* ---- What is refused ------------------------------------------------------------------------------------- */

static void test_scenarios_refused(void **state)
{
    static const char *const lookup[] = {"mf", "lightgcn"};
    struct inmo_error error = {0};
    struct inmo_report *report = NULL;
    struct inmo_eval_options options;
    struct inmo_dataset grown = inductive;
    (void)state;
    inmo_eval_options_init(&options);
    grown.scenario = INMO_NEW_INTERACTIONS;
    for (size_t n = 0; n < COUNT(lookup); n++) {
        struct inmo_train_options small = small_options(lookup[n]);
        struct inmo_model *model = trained(&inductive, &small);
        must_fail(inmo_evaluate(model, &inductive, &options, NULL, &report, &error), INMO_UNSUPPORTED,
                  "cannot serve new users and items");
        assert_non_null(strstr(error.message, lookup[n]));
        assert_null(report);
        if (n == 0) { /* mf cannot see new interactions at all; lightgcn can */
            must_fail(inmo_evaluate(model, &grown, &options, NULL, &report, &error), INMO_UNSUPPORTED,
                      "mf cannot use new interactions");
            assert_null(report);
            options.without_new = 1;
        }
        must(inmo_evaluate(model, &grown, &options, NULL, &report, &error));
        inmo_report_free(report);
        report = NULL;
        options.without_new = 0;
        inmo_model_free(model);
    }
    for (int n = 0; n < 2; n++) {
        struct inmo_train_options small = small_options(n ? "inmo-mf" : "inmo-lightgcn");
        struct inmo_model *model = trained(&inductive, &small);
        must(inmo_evaluate(model, &inductive, &options, NULL, &report, &error));
        assert_int_equal(report->group[0].users, 3);
        inmo_report_free(report);
        report = NULL;
        inmo_model_free(model);
    }
}

static void test_bad_options(void **state)
{
    static const char *const bad_ks[] = {"",
                                         "0",
                                         "-3",
                                         "5,x",
                                         "5,,6",
                                         "x",
                                         "20 30",
                                         "10001",
                                         ",5",
                                         "2.5",
                                         "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"};
    struct inmo_error error = {0};
    struct inmo_dataset *data = dataset_of(five_items), *untested = dataset_of("ann v train, bob w train");
    struct inmo_model *model = popular_of(data);
    struct inmo_report *report = NULL;
    struct inmo_eval_options options;
    (void)state;
    inmo_eval_options_init(&options);
    for (size_t n = 0; n < COUNT(bad_ks); n++) {
        options.ks = bad_ks[n];
        must_fail(inmo_evaluate(model, data, &options, NULL, &report, &error), INMO_USAGE, "`k`");
    }
    options.ks = "20";
    options.part = "train";
    must_fail(inmo_evaluate(model, data, &options, NULL, &report, &error), INMO_USAGE, "`part`");
    options.part = "test";
    options.eval_alpha = "half";
    must_fail(inmo_evaluate(model, data, &options, NULL, &report, &error), INMO_USAGE, "`eval-alpha`");
    options.eval_alpha = NULL;
    must_fail(inmo_evaluate(model, untested, &options, NULL, &report, &error), INMO_INPUT, "no test interactions");
    options.part = "valid";
    must_fail(inmo_evaluate(model, untested, &options, NULL, &report, &error), INMO_INPUT, "no valid interactions");
    assert_null(report);
    must(inmo_evaluate(model, data, NULL, NULL, &report, &error)); /* no options: the defaults */
    assert_int_equal(report->group[0].at->k, 20);
    inmo_report_free(report);
    options.ks = options.part = NULL; /* and what is not said is the default */
    must(inmo_evaluate(model, data, &options, NULL, &report, &error));
    assert_int_equal(report->group[0].users, 3);
    assert_int_equal(report->group[0].at->k, 20);
    inmo_report_free(report);
    inmo_model_free(model);
    inmo_dataset_free(untested);
    inmo_dataset_free(data);
}

static void test_out_of_memory(void **state)
{
    struct inmo_error error = {0};
    struct inmo_model *model = popular_of(&inductive);
    struct inmo_report *report = NULL;
    enum inmo_status status = INMO_MEMORY;
    long allowed = 0;
    (void)state;
    inmo_set_threads(1);
    for (; status == INMO_MEMORY; allowed++) {
        assert_null(report);
        inmo_alloc_fail_after(allowed);
        status = inmo_evaluate(model, &inductive, NULL, NULL, &report, &error);
        inmo_alloc_fail_after(-1);
    }
    assert_int_equal(status, INMO_OK);
    assert_true(allowed > 20);
    inmo_report_free(report);
    inmo_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_lists),
        cmocka_unit_test(test_short_list),
        cmocka_unit_test(test_mean),
        cmocka_unit_test(test_beyond),
        cmocka_unit_test(test_popular_by_hand),
        cmocka_unit_test(test_history_groups),
        cmocka_unit_test(test_new_users_items),
        cmocka_unit_test(test_validation_of_new_users_is_masked),
        cmocka_unit_test(test_scenarios_refused),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_out_of_memory),
    };
    inmo_set_threads(1); /* where a test asks for nothing else: small loops are slow at two on a busy machine */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
