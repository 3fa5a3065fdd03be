/* test_view.c - answers of a model: for its users, for people it has never seen, with filters, with reasons. The
 * models stand on the parameters of tests/golden, so the scores here have an independent source. What is
 * observed after training, whole lists for everybody and neighbours: test_observed.c. */
#include "asking.h"
#include "golden_world.h"

/* "i3 i8 i5": the ids of a list in order. */
static void list_is(const struct inmo_view *view, const struct inmo_query *query, const char *expected)
{
    struct inmo_list *list = recommended(view, query);
    char found[256] = "";
    for (size_t n = 0; n < list->count; n++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", n ? " " : "", list->entry[n].id);
    assert_string_equal(found, expected);
    inmo_list_free(list);
}

static const char *const goldens[] = {
    "inmo-mf-d5",
    "inmo-mf-half-d5",
    "inmo-lightgcn-d5",
    "inmo-lightgcn-half-d5",
    "inmo-mf-d32",
    "inmo-mf-half-d32",
    "inmo-lightgcn-d32",
    "inmo-lightgcn-half-d32",
    "inmo-ngcf-drop-d5",
    "inmo-ngcf-half-drop-d5",
    "inmo-imc-gae-drop-d32",
    "inmo-imc-gae-half-drop-d5",
    "idcf-lightgcn-d5",
    "idcf-lightgcn-half-d5",
    "idcf-lightgcn-shared-d5",
    "idcf-lightgcn-shared-half-d5",
    "lightgcn-d32",
    "lightgcn-d5",
    "mf-d5",
    "mf-d32",
    "ngcf-d5",
    "ngcf-drop-d18",
    "imc-gae-d5",
    "imc-gae-drop-d32",
};
enum { INDUCTIVE = 14 }; /* so many of them come first */

static double golden_number(const json_t *list, size_t n)
{
    return json_number_value(json_array_get(list, n));
}

/* ---- Scores from an independent source ---------------------------------------------------------------------- */

static void test_representations(void **state)
{
    (void)state;
    for (size_t g = 0; g < COUNT(goldens); g++) {
        struct world world = open_world(goldens[g], NULL);
        const json_t *expected = json_object_get(world.golden, "representations");
        struct inmo_matrix users, items;
        inmo_view_users(world.view, &users);
        inmo_view_items(world.view, &items);
        assert_int_equal(users.rows, USERS);
        assert_int_equal(items.rows, ITEMS);
        assert_int_equal(users.columns, inmo_model_width(world.model));
        for (int64_t n = 0; n < users.rows * users.columns; n++)
            assert_near(users.value[n], golden_number(expected, (size_t)n), 2e-6);
        for (int64_t n = 0; n < items.rows * items.columns; n++)
            assert_near(items.value[n], golden_number(expected, (size_t)(users.rows * users.columns + n)), 2e-6);
        assert_string_equal(inmo_view_user_id(world.view, 6), "u6");
        assert_string_equal(inmo_view_item_id(world.view, 8), "i8");
        assert_null(inmo_view_user_id(world.view, USERS));
        assert_null(inmo_view_item_id(world.view, -1));
        close_world(&world);
    }
}

/* Each user's list has every item that is not in the history, scored r_u · r_i. */
static void test_known_users(void **state)
{
    (void)state;
    for (size_t g = 0; g < COUNT(goldens); g++) {
        struct world world = open_world(goldens[g], NULL);
        const json_t *r = json_object_get(world.golden, "representations");
        size_t dim = (size_t)world.view->snapshot->scorer.dim;
        for (int32_t u = 0; u < USERS; u++) {
            struct inmo_query query = query_of(inmo_view_user_id(world.view, u), NULL, 0);
            struct inmo_list *list = recommended(world.view, &query);
            assert_int_equal(list->count, ITEMS - inmo_csr_degree(&world.model->train, u));
            for (int32_t i = 0; i < ITEMS; i++) {
                const struct inmo_entry *entry = entry_of(list, inmo_view_item_id(world.view, i));
                double score = 0;
                for (size_t j = 0; j < dim; j++)
                    score +=
                        golden_number(r, (size_t)u * dim + j) * golden_number(r, (size_t)(USERS + i) * dim + j);
                assert_int_equal(entry == NULL, inmo_csr_has(&world.model->train, u, i));
                if (entry)
                    assert_near(entry->score, score, 2e-6 * fmax(1, fabs(score)));
            }
            inmo_list_free(list);
        }
        close_world(&world);
    }
}

/* Somebody with items i1 i3 i5 i7, against the golden representation. i5 nobody has. */
static void test_unseen_person(void **state)
{
    static const char *const history[] = {"i7", "i1", "i5", "i3", "i1"}; /* in any order, one twice */
    (void)state;
    for (size_t g = 0; g < INDUCTIVE; g++) {
        struct inmo_error error = {0};
        struct world world = open_world(goldens[g], NULL);
        const json_t *expected = json_object_get(json_object_get(world.golden, "unseen"), "representation");
        struct inmo_query query = query_of(NULL, history, COUNT(history));
        struct asking person;
        struct inmo_list *list = recommended(world.view, &query);
        int half = strstr(goldens[g], "half") != NULL;
        must(ask(world.view, &query, &person, &error));
        assert_int_equal(person.person.count, 4);
        for (int j = 0; j < world.view->snapshot->scorer.dim; j++)
            assert_near(person.person.r[j], golden_number(expected, (size_t)j), 2e-6);
        assert_near(list->coverage, half ? 2. / 4 : 3. / 4, 1e-12); /* templates: i1 i7, and i3 when all are */
        assert_int_equal(list->fallback, 0);
        assert_int_equal(list->unknown_items, 0);
        assert_int_equal(list->count, ITEMS - 4);
        for (int n = 0; n < 4; n++)
            assert_null(entry_of(list, history[n]));
        for (size_t n = 0; n < list->count; n++) {
            const float *item = inmo_snapshot_item_row(world.view->snapshot, list->entry[n].id[1] - '0');
            double score = 0;
            for (int j = 0; j < world.view->snapshot->scorer.dim; j++)
                score += golden_number(expected, (size_t)j) * item[j];
            assert_near(list->entry[n].score, score, 2e-6);
        }
        inmo_list_free(list);
        asked(&person);
        close_world(&world);
    }
}

/* A user of the graph whose history is given as if unseen has the representation the user has. */
static void test_folded_like_known(void **state)
{
    static const char *const history[] = {"i0", "i2", "i3", "i4", "i6"}; /* u4's */
    (void)state;
    for (size_t g = 0; g < INDUCTIVE; g++) {
        struct inmo_error error = {0};
        struct world world = open_world(goldens[g], NULL);
        struct inmo_query known = query_of("u4", NULL, 0), unseen = query_of(NULL, history, COUNT(history));
        struct asking a, b;
        must(ask(world.view, &known, &a, &error));
        must(ask(world.view, &unseen, &b, &error));
        for (int j = 0; j < world.view->snapshot->scorer.dim; j++)
            assert_near(a.person.r[j], b.person.r[j], 1e-6);
        asked(&b);
        asked(&a);
        close_world(&world);
    }
}

/* ---- Explanations --------------------------------------------------------------------------------------- */

/* The parts sum to the score; there is one for each item of the history, and one for the rest. */
static void check_explanation(const struct inmo_view *view, const struct inmo_query *query, const char *item,
                              size_t history)
{
    struct inmo_error error = {0};
    struct inmo_explanation *explanation = NULL;
    struct inmo_query with_seen = *query;
    struct inmo_list *list;
    double sum = 0, magnitude = 0;
    int bases = 0;
    must(inmo_explain(view, query, item, &explanation, &error));
    assert_int_equal(explanation->count, history + 1);
    for (size_t n = 0; n < explanation->count; n++) {
        sum += explanation->part[n].score;
        magnitude += fabs(explanation->part[n].score);
        bases += explanation->part[n].id[0] == '(';
        if (n > 0)
            assert_true(explanation->part[n - 1].score >= explanation->part[n].score);
    }
    assert_int_equal(bases, 1);
    assert_near(sum, explanation->score, 1e-5 * magnitude);
    with_seen.include_seen = 1;
    list = recommended(view, &with_seen);
    assert_near(explanation->score, entry_of(list, item)->score, 1e-6 * magnitude + 1e-9);
    inmo_list_free(list);
    inmo_explanation_free(explanation);
}

static void test_explanations(void **state)
{
    static const char *const history[] = {"i1", "i3", "i5", "i7"};
    (void)state;
    for (size_t g = 0; g < COUNT(goldens); g++) {
        struct world world = open_world(goldens[g], NULL);
        int by_history = world.model->kind->provider->inductive || world.model->layers > 0;
        struct inmo_query unseen = query_of(NULL, history, COUNT(history));
        for (int32_t i = 0; i < ITEMS; i++) {
            for (int32_t u = 0; u < USERS; u++) {
                struct inmo_query query = query_of(inmo_view_user_id(world.view, u), NULL, 0);
                check_explanation(world.view, &query, inmo_view_item_id(world.view, i),
                                  by_history ? (size_t)inmo_csr_degree(&world.model->train, u) : 0);
            }
            if (g < INDUCTIVE)
                check_explanation(world.view, &unseen, inmo_view_item_id(world.view, i), COUNT(history));
        }
        close_world(&world);
    }
}

/* The part of one item is its own vector's share, worked out for inmo-mf: t_i/(n + 1) · r. */
static void test_one_part(void **state)
{
    static const char *const history[] = {"i2", "i7"};
    struct inmo_error error = {0};
    struct world world = open_world("inmo-mf-half-d5", NULL); /* template rows: u0 u2 u4, i0 i1 i2 i7 */
    struct inmo_query query = query_of(NULL, history, COUNT(history));
    struct inmo_explanation *explanation = NULL;
    const float *t = world.model->parameter + 5 * 5, *r = inmo_snapshot_item_row(world.view->snapshot, 4);
    double expected = 0;
    int found = 0;
    (void)state;
    must(inmo_explain(world.view, &query, "i4", &explanation, &error));
    for (int j = 0; j < 5; j++)
        expected += (double)t[j] * r[j] / 3;
    for (size_t n = 0; n < explanation->count; n++)
        if (strcmp(explanation->part[n].id, "i2") == 0) {
            assert_near(explanation->part[n].score, expected, 1e-7);
            found = 1;
        }
    assert_true(found);
    inmo_explanation_free(explanation);
    explanation = NULL;
    must_fail(inmo_explain(world.view, &query, "i9", &explanation, &error), INMO_UNKNOWN, "i9");
    assert_null(explanation);
    close_world(&world);
}

/* ---- Filters -------------------------------------------------------------------------------------------- */

static void test_filters(void **state)
{
    static const char *const history[] = {"i0", "i1"}, *const allow[] = {"i0", "i8", "i4", "nowhere"};
    static const char *const deny[] = {"i4", "elsewhere", "nothing"};
    struct inmo_error error = {0};
    struct world world = open_world("inmo-lightgcn-d5", NULL);
    struct inmo_query query = query_of(NULL, history, COUNT(history));
    struct inmo_list *all = recommended(world.view, &query), *list;
    char first_three[32];
    (void)state;
    assert_int_equal(all->count, 7);
    query.k = 3;
    snprintf(first_three, sizeof first_three, "%s %s %s", all->entry[0].id, all->entry[1].id, all->entry[2].id);
    list_is(world.view, &query, first_three);
    query.k = 1000000000; /* longer than there are items */
    query.include_seen = 1;
    list = recommended(world.view, &query);
    assert_int_equal(list->count, ITEMS);
    assert_non_null(entry_of(list, "i0"));
    inmo_list_free(list);
    query.include_seen = 0;
    query.allow = allow; /* i0 is seen, so i8 and i4 are left */
    query.allow_count = COUNT(allow);
    list = recommended(world.view, &query);
    assert_int_equal(list->count, 2);
    assert_true(entry_of(list, "i8") && entry_of(list, "i4"));
    assert_int_equal(list->unknown_items, 1);
    inmo_list_free(list);
    query.deny = deny; /* stronger than allow */
    query.deny_count = COUNT(deny);
    list = recommended(world.view, &query);
    assert_int_equal(list->count, 1);
    assert_int_equal(list->unknown_items, 3);
    inmo_list_free(list);
    list_is(world.view, &query, "i8");
    query.allow_count = 0; /* an empty list of allowed items allows nothing */
    list_is(world.view, &query, "");
    query.k = 0;
    list = NULL;
    must_fail(inmo_recommend(world.view, &query, &list, &error), INMO_USAGE, "`k`: found 0");
    assert_null(list);
    inmo_list_free(all);
    close_world(&world);
}

/* Nothing of the history can be used: the list is by popularity, equal ones by number, and says so.
 * Degrees: i0 2, i1 2, i2 5, i3 1, i4 2, i5 0, i6 1, i7 2, i8 1. */
static void test_fallback(void **state)
{
    static const char *const unknown[] = {"nowhere", "i9"}, *const no_template[] = {"i3", "i9"};
    struct world world = open_world("inmo-mf-half-d5", NULL);
    struct inmo_query query = query_of(NULL, unknown, COUNT(unknown));
    struct inmo_list *list = recommended(world.view, &query);
    (void)state;
    assert_int_equal(list->fallback, 1);
    assert_int_equal(list->unknown_items, 2);
    assert_near(list->coverage, 0, 0);
    assert_near(list->entry[0].score, 5, 0);
    inmo_list_free(list);
    list_is(world.view, &query, "i2 i0 i1 i4 i7 i3 i6 i8 i5");
    query.items = no_template; /* known, but not a template */
    list = recommended(world.view, &query);
    assert_int_equal(list->fallback, 1);
    assert_int_equal(list->unknown_items, 1);
    inmo_list_free(list);
    list_is(world.view, &query, "i2 i0 i1 i4 i7 i6 i8 i5");
    query.item_count = 0; /* nothing at all */
    list_is(world.view, &query, "i2 i0 i1 i4 i7 i3 i6 i8 i5");
    close_world(&world);
}

/* imc-gae on a table: somebody unseen has the mean of all rows, and what the graph adds to it; u4's history
 * gives all of u4's representation but the difference between u4's row and the mean, in the first third. */
static void test_mean_of_rows(void **state)
{
    static const char *const history[] = {"i0", "i2", "i3", "i4", "i6"}; /* u4's */
    struct inmo_error error = {0};
    struct world world = open_world("imc-gae-d5", NULL);
    struct inmo_query unseen = query_of(NULL, history, COUNT(history));
    const float *table = world.model->parameter,
                *known = world.view->snapshot->scorer.r + 4 * world.view->snapshot->scorer.dim;
    struct asking person;
    (void)state;
    must(ask(world.view, &unseen, &person, &error));
    for (int j = 0; j < world.view->snapshot->scorer.dim; j++) {
        double mean = 0, own = j < 5 ? table[4 * 5 + j] : 0;
        for (int n = 0; n < USERS + ITEMS && j < 5; n++)
            mean += table[n * 5 + j] / (double)(USERS + ITEMS);
        assert_near(person.person.r[j], known[j] - own + mean, 1e-6);
    }
    for (int32_t i = 0; i < ITEMS; i++)
        check_explanation(world.view, &unseen, inmo_view_item_id(world.view, i), COUNT(history));
    asked(&person);
    close_world(&world);
}

static void test_refusals(void **state)
{
    static const char *const history[] = {"i0"};
    struct inmo_error error = {0};
    struct world inmo = open_world("inmo-mf-d5", NULL), lookup = open_world("lightgcn-d5", NULL);
    struct inmo_query query = query_of("nobody", NULL, 0);
    struct inmo_list *list = NULL;
    struct inmo_explanation *explanation = NULL;
    (void)state;
    must_fail(inmo_recommend(inmo.view, &query, &list, &error), INMO_UNKNOWN, "nobody");
    must_fail(inmo_explain(inmo.view, &query, "i0", &explanation, &error), INMO_UNKNOWN, "nobody");
    query = query_of(NULL, history, 1);
    must_fail(inmo_recommend(lookup.view, &query, &list, &error), INMO_UNSUPPORTED, "lightgcn cannot recommend");
    must_fail(inmo_explain(lookup.view, &query, "i0", &explanation, &error), INMO_UNSUPPORTED, "lightgcn");
    assert_null(list);
    assert_null(explanation);
    close_world(&lookup);
    close_world(&inmo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_representations), cmocka_unit_test(test_known_users),
        cmocka_unit_test(test_unseen_person),   cmocka_unit_test(test_folded_like_known),
        cmocka_unit_test(test_explanations),    cmocka_unit_test(test_one_part),
        cmocka_unit_test(test_filters),         cmocka_unit_test(test_fallback),
        cmocka_unit_test(test_refusals),        cmocka_unit_test(test_mean_of_rows),
    };
    inmo_set_threads(1); /* where a test asks for nothing else: small loops are slow at two on a busy machine */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
