/* test_rows.c - lists for people given by numbers: those of inmo_recommend for the same people by ids, whether few
 * or many are asked for, for every kind of model, with limits, before and after events, at any number of
 * threads. */
#include "support.h"

#include <float.h>
#include <pthread.h>

enum { USERS = 70, ITEMS = 60, K = 8, MANY = 64 };

static const char *const models[] = {"inmo-lightgcn", "inmo-mf", "inmo-neumf", "lightgcn",      "mf",
                                     "item-knn",      "ease",    "ials",       "idcf-lightgcn", "gf-cf",
                                     "mult-vae",      "popular"};

struct world {
    struct inmo_dataset *data;
    struct inmo_model *model;
    struct inmo_view *view;
    int64_t users, items;
    int serves_unseen;
};

static struct world open_world(const char *name, double walks)
{
    struct inmo_error error = {0};
    struct world world = {.data = grouped_dataset(USERS, ITEMS, 12, "80/20/0")};
    struct inmo_train_options options = small_options(name);
    struct inmo_id_table users, items;
    options.walks = walks;
    world.model = trained(world.data, &options);
    must(inmo_view_create(world.model, NULL, &world.view, &error));
    inmo_model_ids(world.model, &users, &items);
    world.users = users.count;
    world.items = items.count;
    world.serves_unseen = strcmp(name, "mf") != 0 && strcmp(name, "lightgcn") != 0;
    return world;
}

static void close_world(struct world *world)
{
    inmo_view_free(world->view);
    inmo_model_free(world->model);
    inmo_dataset_free(world->data);
}

/* Rows of 0 to 9 items, in any order, with repeats and unknown items; every third person is a user of the view. */
struct rows {
    int64_t user[MANY], offset[MANY + 1];
    int32_t item[MANY * 9];
    struct inmo_rows_query query;
};

static void make_rows(const struct world *world, struct rows *rows)
{
    uint64_t key = inmo_key(9, 80), draw = 0;
    for (int n = 0; n < MANY; n++) {
        int64_t at = rows->offset[n];
        rows->user[n] = !world->serves_unseen || n % 3 == 0 ? (n * 7) % world->users : -1;
        for (int e = 0; e < n % 10; e++, at++)
            rows->item[at] = inmo_random_below(inmo_random(key, draw++), 12) == 0
                                 ? -1
                                 : (int32_t)inmo_random_below(inmo_random(key, draw++), (uint32_t)world->items);
        rows->offset[n + 1] = at;
    }
    inmo_rows_query_init(&rows->query);
    rows->query.count = MANY;
    rows->query.user = rows->user;
    rows->query.offset = rows->offset;
    rows->query.item = rows->item;
    rows->query.item_count = rows->offset[MANY];
    rows->query.k = K;
}

/* What inmo_recommend answers for person n: a user's own history counts, and only the row is left out. */
static void check_person(const struct world *world, const struct rows *rows, int n, const int32_t *item,
                         const float *score)
{
    struct inmo_error error = {0};
    struct inmo_query query;
    struct inmo_list *list = NULL;
    const char *row[9], *allow[16], *deny[32];
    const struct inmo_rows_query *asked = &rows->query;
    int64_t length = rows->offset[n + 1] - rows->offset[n];
    inmo_query_init(&query);
    for (int64_t e = 0; e < length; e++) {
        int32_t number = rows->item[rows->offset[n] + e];
        row[e] = number < 0 ? "unheard of" : inmo_view_item_id(world->view, number);
    }
    query.k = K;
    query.deny = deny;
    for (size_t e = 0; e < asked->deny_count; e++)
        deny[query.deny_count++] = inmo_view_item_id(world->view, asked->deny[e]);
    if (asked->allow) {
        query.allow = allow;
        for (size_t e = 0; e < asked->allow_count; e++)
            allow[query.allow_count++] = inmo_view_item_id(world->view, asked->allow[e]);
    }
    if (rows->user[n] >= 0) {
        query.user = inmo_view_user_id(world->view, rows->user[n]);
        query.include_seen = !asked->exclude_past;
        for (int64_t e = 0; e < length && !asked->include_seen; e++)
            deny[query.deny_count++] = row[e];
    } else {
        query.items = row;
        query.item_count = (size_t)length;
        query.include_seen = asked->include_seen && !asked->exclude_past;
    }
    must(inmo_recommend(world->view, &query, &list, &error));
    for (size_t j = 0; j < K; j++) {
        if (j >= list->count) {
            assert_int_equal(item[j], -1);
            assert_true(score[j] == -FLT_MAX);
            continue;
        }
        assert_near(score[j], list->entry[j].score, 1e-4 * (1 + fabs(list->entry[j].score)));
        if ((j == 0 || list->entry[j - 1].score > list->entry[j].score + 1e-4) &&
            (j + 1 == list->count || list->entry[j].score > list->entry[j + 1].score + 1e-4) && j + 1 < K)
            assert_string_equal(inmo_view_item_id(world->view, item[j]), list->entry[j].id);
    }
    inmo_list_free(list);
}

static void check_all(const struct world *world, const struct rows *rows)
{
    struct inmo_error error = {0};
    static int32_t item[MANY * K];
    static float score[MANY * K];
    struct inmo_rows_query few = rows->query;
    must(inmo_recommend_rows(world->view, &rows->query, NULL, item, score, &error));
    for (int n = 0; n < MANY; n++)
        check_person(world, rows, n, item + n * K, score + n * K);
    few.count = 5;
    must(inmo_recommend_rows(world->view, &few, NULL, item, score, &error));
    for (int n = 0; n < 5; n++)
        check_person(world, rows, n, item + n * K, score + n * K);
}

static void test_lists(void **state)
{
    (void)state;
    for (size_t m = 0; m < 2 * COUNT(models); m++) {
        double walks = m < COUNT(models) ? 0 : 2;
        struct world world;
        static const int32_t limit[] = {3, 9, 11, 30, 17, 5, 2, 40, -1};
        struct rows rows = {0};
        if (walks > 0 && m - COUNT(models) != 0 && m - COUNT(models) != 1 && m - COUNT(models) != 4)
            continue; /* only scores by vectors take walks */
        world = open_world(models[m % COUNT(models)], walks);
        make_rows(&world, &rows);
        check_all(&world, &rows);
        rows.query.include_seen = 1;
        check_all(&world, &rows);
        rows.query.exclude_past = 1;
        check_all(&world, &rows);
        rows.query.include_seen = 0;
        check_all(&world, &rows);
        rows.query.exclude_past = 0;
        rows.query.deny = limit;
        rows.query.deny_count = 8;
        check_all(&world, &rows);
        rows.query.deny_count = 0;
        rows.query.allow = limit;
        rows.query.allow_count = 8;
        check_all(&world, &rows);
        close_world(&world);
    }
}

/* Events count in rows as they do in requests. */
static void test_live(void **state)
{
    struct inmo_error error = {0};
    struct world world = open_world("inmo-lightgcn", 1);
    struct rows rows = {0};
    char who[24], what[24];
    (void)state;
    make_rows(&world, &rows);
    snprintf(who, sizeof who, "%s", inmo_view_user_id(world.view, rows.user[3]));
    snprintf(what, sizeof what, "%s", inmo_view_item_id(world.view, 6));
    const struct inmo_event known[] = {{who, what, 0}}, newer[] = {{who, "brand-new", 0}};
    must(inmo_view_observe(world.view, known, 1, &error));
    check_all(&world, &rows);
    must(inmo_view_forget(world.view, NULL, what, &error));
    check_all(&world, &rows);
    must(inmo_view_observe(world.view, newer, 1, &error));
    must(inmo_view_refresh(world.view, NULL, &error));
    check_all(&world, &rows);
    close_world(&world);
}

static void test_same_at_any_threads(void **state)
{
    struct inmo_error error = {0};
    struct world world = open_world("inmo-lightgcn", 1);
    struct rows rows = {0};
    static int32_t item[3][MANY * K];
    static float score[3][MANY * K];
    (void)state;
    make_rows(&world, &rows);
    for (int threads = 1; threads <= 3; threads++) {
        inmo_set_threads(threads);
        must(inmo_recommend_rows(world.view, &rows.query, NULL, item[threads - 1], score[threads - 1], &error));
    }
    inmo_set_threads(0);
    for (int n = 1; n < 3; n++) {
        assert_memory_equal(item[0], item[n], sizeof item[0]);
        assert_memory_equal(score[0], score[n], sizeof score[0]);
    }
    close_world(&world);
}

/* The neighbours of many are those of each, with itself in front. */
static void test_similar(void **state)
{
    static const char *const names[] = {"inmo-mf", "lightgcn", "ials", "item-knn", "ease"};
    struct inmo_error error = {0};
    (void)state;
    for (size_t m = 0; m < COUNT(names); m++) {
        struct world world = open_world(names[m], 0);
        for (int of_users = 0; of_users < (m < 3 ? 2 : 1); of_users++) {
            const char *(*id)(const struct inmo_view *, int64_t) = of_users ? inmo_view_user_id : inmo_view_item_id;
            static const int32_t deny[] = {1, 4};
            int64_t row[5] = {3, 0, 7, 1, 3};
            int32_t near[5 * K];
            float score[5 * K];
            must(inmo_similar_rows(world.view, of_users, row, 5, K, NULL, 0, deny, 1, near, score, &error));
            for (int n = 0; n < 5; n++) {
                struct inmo_list *list = NULL;
                int own = row[n] != 1, at = n * K; /* 1 is denied */
                const char *self = id(world.view, row[n]);
                must(
                    inmo_similar(world.view, of_users ? NULL : self, of_users ? self : NULL, K + 1, &list, &error));
                if (own)
                    assert_int_equal(near[at], row[n]);
                for (int j = own, e = 0; j < K && (size_t)e < list->count; e++) {
                    if (strcmp(list->entry[e].id, id(world.view, 1)) == 0)
                        continue;
                    assert_string_equal(id(world.view, near[at + j]), list->entry[e].id);
                    assert_near(score[at + j], list->entry[e].score, 1e-6);
                    j++;
                }
                inmo_list_free(list);
            }
            must(inmo_similar_rows(world.view, of_users, row, 1, K, deny, 2, NULL, 0, near, score, &error));
            assert_true(near[2] == -1 && score[2] == -FLT_MAX);
        }
        close_world(&world);
    }
}

static void test_similar_bad(const struct world *world)
{
    struct inmo_error error = {0};
    int64_t row[] = {-1};
    int32_t near[K], beyond[] = {5000};
    float score[K];
    must_fail(inmo_similar_rows(world->view, 0, row, 1, K, NULL, 0, NULL, 0, near, score, &error), INMO_UNKNOWN,
              "row -1");
    row[0] = 1;
    must_fail(inmo_similar_rows(world->view, 0, row, 1, K, beyond, 1, NULL, 0, near, score, &error), INMO_USAGE,
              "5000");
    must_fail(inmo_similar_rows(world->view, 0, row, 1, 0, NULL, 0, NULL, 0, near, score, &error), INMO_USAGE,
              "`k`");
}

static int stop_at_once(void *context)
{
    (void)context;
    return 1;
}

static void test_bad(void **state)
{
    struct inmo_error error = {0};
    struct world world = open_world("inmo-mf", 0), lookup = open_world("mf", 0);
    struct rows rows = {0};
    static int32_t item[MANY * K];
    static float score[MANY * K];
    const struct inmo_hooks hooks = {.interrupted = stop_at_once};
    static const int32_t beyond[] = {1000};
    (void)state;
    make_rows(&world, &rows);
    for (int many = 0; many < 2; many++) {
        struct inmo_rows_query query = rows.query;
        query.count = many ? MANY : 5;
        query.user = NULL;
        must_fail(inmo_recommend_rows(lookup.view, &query, NULL, item, score, &error), INMO_UNSUPPORTED,
                  "row 0: mf");
        query.user = rows.user;
        query.k = 0;
        must_fail(inmo_recommend_rows(world.view, &query, NULL, item, score, &error), INMO_USAGE, "`k`");
        query.k = K;
        rows.user[3] = 1000;
        must_fail(inmo_recommend_rows(world.view, &query, NULL, item, score, &error), INMO_UNKNOWN, "user 1000");
        rows.user[3] = 21;
        rows.item[1] = 1000;
        must_fail(inmo_recommend_rows(world.view, &query, NULL, item, score, &error), INMO_USAGE, "item 1000");
        rows.item[1] = 1;
        query.deny = beyond;
        query.deny_count = 1;
        must_fail(inmo_recommend_rows(world.view, &query, NULL, item, score, &error), INMO_USAGE, "`deny`");
        query.deny_count = 0;
        rows.offset[2] += 1000;
        must_fail(inmo_recommend_rows(world.view, &query, NULL, item, score, &error), INMO_USAGE,
                  "row 1: found items");
        rows.offset[2] -= 1000;
        query.size = 8;
        must_fail(inmo_recommend_rows(world.view, &query, NULL, item, score, &error), INMO_USAGE,
                  "inmo_rows_query");
    }
    must_fail(inmo_recommend_rows(world.view, &rows.query, &hooks, item, score, &error), INMO_INTERRUPTED,
              "stopped");
    test_similar_bad(&lookup);
    rows.query.count = 0;
    must(inmo_recommend_rows(world.view, &rows.query, NULL, item, score, &error));
    for (long n = 0; n < 200; n++) { /* each allocation fails in turn; every way it ends is clean */
        rows.query.count = MANY;
        inmo_alloc_fail_after(n);
        enum inmo_status status = inmo_recommend_rows(world.view, &rows.query, NULL, item, score, &error);
        inmo_alloc_fail_after(-1);
        assert_true(status == INMO_OK || status == INMO_MEMORY);
    }
    close_world(&lookup);
    close_world(&world);
}

/* Rows are asked for while events arrive and the snapshot is replaced. */
static void *ask_rows(void *context)
{
    struct inmo_error error = {0};
    struct world *world = context;
    struct rows rows = {0};
    int32_t *item = calloc(MANY * K, sizeof *item);
    float *score = calloc(MANY * K, sizeof *score);
    make_rows(world, &rows);
    for (int n = 0; n < 20; n++)
        if (inmo_recommend_rows(world->view, &rows.query, NULL, item, score, &error) != INMO_OK)
            return "failed";
    free(score);
    free(item);
    return NULL;
}

static void test_meanwhile(void **state)
{
    struct inmo_error error = {0};
    struct world world = open_world("inmo-lightgcn", 1);
    pthread_t thread[2];
    void *outcome = NULL;
    (void)state;
    for (size_t n = 0; n < COUNT(thread); n++)
        assert_int_equal(pthread_create(thread + n, NULL, ask_rows, &world), 0);
    for (int n = 0; n < 30; n++) {
        char who[24], what[24];
        const struct inmo_event event = {who, what, 0};
        snprintf(who, sizeof who, "late-%d", n % 7);
        snprintf(what, sizeof what, n % 3 ? "item-%d" : "fresh-%d", n);
        must(inmo_view_observe(world.view, &event, 1, &error));
        if (n % 5 == 0)
            must(inmo_view_refresh(world.view, NULL, &error));
    }
    for (size_t n = 0; n < COUNT(thread); n++) {
        pthread_join(thread[n], &outcome);
        assert_null(outcome);
    }
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists), cmocka_unit_test(test_live),      cmocka_unit_test(test_same_at_any_threads),
        cmocka_unit_test(test_bad),   cmocka_unit_test(test_meanwhile), cmocka_unit_test(test_similar),
    };
    return cmocka_run_group_tests_name("rows", tests, enter_directory, leave_directory);
}
