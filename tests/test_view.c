/* test_view.c - answers of a model: for its users, for people it has never seen, with interactions observed since
 * training, with reasons. The models stand on the parameters of tests/golden (numpy, from docs/math.md alone), so the
 * scores here have an independent source; the world is 7 users and 9 items, u3 and i5 without an interaction. */
#include "support.h"

#include "view/view.h"

#include <jansson.h>

enum { USERS = 7, ITEMS = 9 };

/* A golden file as a model (its users are u0 .. u6, its items i0 .. i8) and a view of it. */
struct world {
    json_t *golden;
    struct inmo_model *model;
    struct inmo_view *view;
};

static int integer(const json_t *object, const char *key)
{
    assert_true(json_is_integer(json_object_get(object, key)));
    return (int)json_integer_value(json_object_get(object, key));
}

static struct inmo_idmap named(char letter, int32_t count)
{
    int64_t *offset = inmo_alloc((size_t)count + 1, sizeof *offset);
    char *text = inmo_alloc((size_t)count, 3);
    for (int32_t n = 0; n <= count; n++)
        offset[n] = 3 * n;
    for (int32_t n = 0; n < count; n++)
        snprintf(text + 3 * n, 3, "%c%d", letter, (int)n % 10);
    return (struct inmo_idmap){.count = count, .offset = offset, .text = text};
}

static struct inmo_csr edges_of(const json_t *golden)
{
    const json_t *edges = json_object_get(golden, "edges");
    int64_t *offset = inmo_alloc_zero(USERS + 1, sizeof *offset);
    int32_t *column = inmo_alloc(json_array_size(edges), sizeof *column);
    for (size_t e = 0; e < json_array_size(edges); e++) {
        json_t *edge = json_array_get(edges, e);
        column[e] = (int32_t)json_integer_value(json_array_get(edge, 1));
        for (int64_t u = json_integer_value(json_array_get(edge, 0)); u < USERS; u++)
            offset[u + 1] = (int64_t)e + 1;
    }
    return (struct inmo_csr){USERS, ITEMS, offset, column};
}

static struct inmo_model *model_of(const json_t *golden)
{
    struct inmo_model *model = inmo_alloc_zero(1, sizeof *model);
    const json_t *templates[2] = {json_object_get(golden, "user_templates"), json_object_get(golden, "item_templates")};
    const json_t *after = json_object_get(golden, "after");
    float *parameter = inmo_alloc(json_array_size(after), sizeof *parameter);
    assert_non_null(model);
    model->kind = inmo_model_kind_find(json_string_value(json_object_get(golden, "model")));
    model->dim = integer(golden, "dim");
    model->layers = model->kind->backbone->needs_all ? integer(golden, "layers") : 0;
    model->alpha_one = 1;
    model->users = named('u', USERS);
    model->items = named('i', ITEMS);
    model->train = edges_of(golden);
    for (size_t n = 0; n < json_array_size(after); n++)
        parameter[n] = (float)json_number_value(json_array_get(after, n));
    model->parameter = parameter;
    model->rows = USERS + ITEMS;
    if (model->kind->provider->inductive) {
        int32_t *node = inmo_alloc(USERS + ITEMS, sizeof *node), rows = 0;
        for (int side = 0; side < 2; side++)
            for (size_t n = 0; n < json_array_size(templates[side]); n++)
                node[rows++] = (int32_t)json_integer_value(json_array_get(templates[side], n)) + (side ? USERS : 0);
        model->node_of_row = node;
        model->rows = rows;
    }
    assert_int_equal(json_array_size(after), inmo_model_parameter_count(model));
    return model;
}

static struct world open_world(const char *name, const char *observed)
{
    struct inmo_error error = {0};
    struct world world = {0};
    struct inmo_log *log = observed ? log_of(observed) : NULL;
    char path[512];
    snprintf(path, sizeof path, "%s/golden/%s.json", INMO_TEST_DIR, name);
    world.golden = json_load_file(path, 0, NULL);
    assert_non_null(world.golden);
    world.model = model_of(world.golden);
    must(inmo_view_create(world.model, log, &world.view, &error));
    inmo_log_free(log); /* the view keeps nothing of it */
    return world;
}

static void close_world(struct world *world)
{
    inmo_view_free(world->view);
    inmo_model_free(world->model);
    json_decref(world->golden);
}

static struct inmo_list *recommended(const struct inmo_view *view, const struct inmo_query *query)
{
    struct inmo_error error = {0};
    struct inmo_list *list = NULL;
    must(inmo_recommend(view, query, &list, &error));
    for (size_t n = 1; n < list->count; n++)
        assert_true(list->entry[n - 1].score >= list->entry[n].score);
    return list;
}

static struct inmo_query query_of(const char *user, const char *const *items, size_t count)
{
    struct inmo_query query;
    inmo_query_init(&query);
    query.user = user;
    query.items = items;
    query.item_count = count;
    return query;
}

static const struct inmo_entry *entry_of(const struct inmo_list *list, const char *id)
{
    for (size_t n = 0; n < list->count; n++)
        if (strcmp(list->entry[n].id, id) == 0)
            return list->entry + n;
    return NULL;
}

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

static const char *const goldens[] = {"inmo-mf-d5",   "inmo-mf-half-d5",   "inmo-lightgcn-d5",  "inmo-lightgcn-half-d5",
                                      "inmo-mf-d32",  "inmo-mf-half-d32",  "inmo-lightgcn-d32", "inmo-lightgcn-half-d32",
                                      "lightgcn-d32", "lightgcn-d5",       "mf-d5",             "mf-d32"};
enum { INDUCTIVE = 8 }; /* so many of them come first */

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
        assert_int_equal(users.columns, world.model->dim);
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
        size_t dim = (size_t)world.model->dim;
        for (int32_t u = 0; u < USERS; u++) {
            struct inmo_query query = query_of(inmo_view_user_id(world.view, u), NULL, 0);
            struct inmo_list *list = recommended(world.view, &query);
            assert_int_equal(list->count, ITEMS - inmo_csr_degree(&world.model->train, u));
            for (int32_t i = 0; i < ITEMS; i++) {
                const struct inmo_entry *entry = entry_of(list, inmo_view_item_id(world.view, i));
                double score = 0;
                for (size_t j = 0; j < dim; j++)
                    score += golden_number(r, (size_t)u * dim + j) * golden_number(r, (size_t)(USERS + i) * dim + j);
                assert_int_equal(entry == NULL, inmo_csr_has(&world.model->train, u, i));
                if (entry)
                    assert_near(entry->score, score, 2e-6);
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
        struct inmo_person person;
        struct inmo_list *list = recommended(world.view, &query);
        int half = strstr(goldens[g], "half") != NULL;
        must(inmo_person_make(world.view, &query, &person, &error));
        assert_int_equal(person.count, 4);
        for (int j = 0; j < world.model->dim; j++)
            assert_near(person.r[j], golden_number(expected, (size_t)j), 2e-6);
        assert_near(list->coverage, half ? 2. / 4 : 3. / 4, 1e-12); /* templates: i1 i7, and i3 when all are */
        assert_int_equal(list->fallback, 0);
        assert_int_equal(list->unknown_items, 0);
        assert_int_equal(list->count, ITEMS - 4);
        for (int n = 0; n < 4; n++)
            assert_null(entry_of(list, history[n]));
        for (size_t n = 0; n < list->count; n++) {
            const float *item = inmo_view_item_row(world.view, list->entry[n].id[1] - '0');
            double score = 0;
            for (int j = 0; j < world.model->dim; j++)
                score += golden_number(expected, (size_t)j) * item[j];
            assert_near(list->entry[n].score, score, 2e-6);
        }
        inmo_list_free(list);
        inmo_person_free(&person);
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
        struct inmo_person a, b;
        must(inmo_person_make(world.view, &known, &a, &error));
        must(inmo_person_make(world.view, &unseen, &b, &error));
        for (int j = 0; j < world.model->dim; j++)
            assert_near(a.r[j], b.r[j], 1e-6);
        inmo_person_free(&b);
        inmo_person_free(&a);
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
    struct world world = open_world("inmo-mf-half-d5", NULL); /* template rows: u0 u2 u4 u6, i0 i1 i2 i4 i7 */
    struct inmo_query query = query_of(NULL, history, COUNT(history));
    struct inmo_explanation *explanation = NULL;
    const float *t = world.model->parameter + 6 * 5, *r = inmo_view_item_row(world.view, 4);
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
    must_fail(inmo_recommend(world.view, &query, &list, &error), INMO_USAGE, "--k");
    assert_null(list);
    inmo_list_free(all);
    close_world(&world);
}

/* Nothing of the history can be used: the list is by popularity, equal ones by number, and says so. Degrees: i0 2, i1 2,
 * i2 5, i3 1, i4 2, i5 0, i6 1, i7 2, i8 1. */
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
        cmocka_unit_test(test_refusals),
    };
    inmo_set_threads(1); /* where a test asks for nothing else: small loops are slow at two on a busy machine */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
