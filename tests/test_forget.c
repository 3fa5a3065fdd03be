/* test_forget.c - forgetting in the live view, where several happenings meet before or between refreshes, and what
 * a view must not take in. */
#include "live_world.h"

/* How many users have the item: the score of a list by popularity; -1: it is in no list. */
static double popularity(struct inmo_view *view, const char *item)
{
    struct inmo_list *list = list_for(view, NULL, NULL, 0);
    const struct inmo_entry *entry = entry_named(list, item);
    double score = entry ? entry->score : -1;
    inmo_list_free(list);
    return score;
}

static void refresh(struct inmo_view *view)
{
    struct inmo_error error = {0};
    must(inmo_view_refresh(view, NULL, &error));
}

static void forget(struct inmo_view *view, const char *user, const char *item)
{
    struct inmo_error error = {0};
    must(inmo_view_forget(view, user, item, &error));
}

/* Also with nothing to take in. */
static void test_refresh_of_nothing(void **state)
{
    struct inmo_view *live = live_view(live_model("inmo-mf"), NULL);
    struct inmo_list *before = list_for(live, "user-1", NULL, 0), *after;
    (void)state;
    refresh(live);
    refresh(live);
    after = list_for(live, "user-1", NULL, 0);
    assert_true(same_lists(before, after));
    inmo_list_free(after);
    inmo_list_free(before);
    inmo_view_free(live);
}

/* An observation after the item was forgotten counts, also if that very interaction had been forgotten before. */
static void test_pair_then_item(void **state)
{
    struct inmo_view *live = live_view(live_model("popular"), "zoe item-1");
    (void)state;
    forget(live, "zoe", "item-1");
    forget(live, NULL, "item-1");
    observe(live, "zoe item-1");
    refresh(live);
    assert_true(popularity(live, "item-1") == 1);
    inmo_view_free(live);
}

/* Who has no interactions and is not in the model has never been, before a refresh and after it. */
static void test_nothing_left(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT(serving); m++) {
        struct inmo_error error = {0};
        struct inmo_view *live = live_view(live_model(serving[m]), NULL);
        struct inmo_query query;
        struct inmo_list *list = NULL;
        observe(live, "zoe new-1, zoe new-2");
        forget(live, "zoe", "new-1");
        forget(live, NULL, "new-2");
        inmo_query_init(&query);
        query.user = "zoe";
        for (int refreshed = 0; refreshed < 2; refreshed++) {
            must_fail(inmo_recommend(live, &query, &list, &error), INMO_UNKNOWN, "zoe");
            list = list_for(live, "user-4", NULL, 0);
            assert_null(entry_named(list, "new-1"));
            assert_null(entry_named(list, "new-2"));
            inmo_list_free(list);
            list = NULL;
            refresh(live);
        }
        observe(live, "zoe new-1, zoe item-1");
        refresh(live);
        inmo_list_free(list_for(live, "zoe", NULL, 0));
        if (strcmp(serving[m], "popular") == 0)
            assert_true(popularity(live, "new-1") == 1);
        inmo_view_free(live);
    }
}

/* What was forgotten since the last refresh is like nothing, and nothing is like it. */
static void test_similar(void **state)
{
    struct inmo_error error = {0};
    struct inmo_view *live = live_view(live_model("inmo-mf"), NULL);
    struct inmo_list *items = NULL, *users = NULL, *list = NULL;
    (void)state;
    must(inmo_similar(live, "item-4", NULL, 5, &items, &error));
    must(inmo_similar(live, NULL, "user-4", 5, &users, &error));
    forget(live, NULL, items->entry[0].id);
    forget(live, users->entry[0].id, NULL);
    must_fail(inmo_similar(live, items->entry[0].id, NULL, 5, &list, &error), INMO_UNKNOWN, items->entry[0].id);
    must_fail(inmo_similar(live, NULL, users->entry[0].id, 5, &list, &error), INMO_UNKNOWN, users->entry[0].id);
    must(inmo_similar(live, "item-4", NULL, 4, &list, &error));
    for (size_t n = 0; n < 4; n++)
        assert_string_equal(list->entry[n].id, items->entry[n + 1].id);
    inmo_list_free(list);
    must(inmo_similar(live, NULL, "user-4", 4, &list, &error));
    for (size_t n = 0; n < 4; n++)
        assert_string_equal(list->entry[n].id, users->entry[n + 1].id);
    inmo_list_free(list);
    inmo_list_free(users);
    inmo_list_free(items);
    inmo_view_free(live);
}

/* Ids that a log refuses: nothing of such a call is taken in. */
static void test_bad_ids(void **state)
{
    struct inmo_error error = {0};
    struct inmo_view *live = live_view(live_model("popular"), NULL);
    struct inmo_freshness fresh;
    char endless[5000];
    const struct inmo_event bad[][2] = {{{"zoe", "item-1", 0}, {"zoe", "", 0}},
                                        {{"zoe", "item-1", 0}, {NULL, "item-1", 0}},
                                        {{"zoe", "item-1", 0}, {"zoe", "caf\xe9", 0}},
                                        {{"zoe", "item-1", 0}, {endless, "item-1", 0}}};
    static const char *const says[] = {"event 1: found an empty item", "event 1: found an empty user",
                                       "event 1: found the byte 0xe9", "event 1: found a user of 4999 bytes"};
    (void)state;
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    for (size_t n = 0; n < COUNT(bad); n++)
        must_fail(inmo_view_observe(live, bad[n], 2, &error), INMO_USAGE, says[n]);
    inmo_view_freshness(live, &fresh);
    assert_int_equal(fresh.events, 0);
    inmo_view_free(live);
}

/* Lists for all are of one moment: a refresh that ends while they are made brings nothing back. They are made 8192
 * users at a time, and the hook is called before each. */
static void refresh_meanwhile(void *context, const struct inmo_progress *progress)
{
    if (progress->done == 0)
        refresh(context);
}

static int must_be_without(void *context, const char *user, size_t count, const struct inmo_entry *entry)
{
    int *users = context;
    ++*users;
    assert_string_not_equal(user, "late-8999");
    for (size_t n = 0; n < count; n++) {
        assert_string_not_equal(entry[n].id, "item-2");
        assert_false(strcmp(user, "late-8998") == 0 && strcmp(entry[n].id, "item-5") == 0);
    }
    return 0;
}

static void test_everybody_at_one_moment(void **state)
{
    struct inmo_error error = {0};
    struct inmo_view *live = live_view(live_model("inmo-mf"), NULL);
    struct inmo_hooks hooks = {.context = live, .progress = refresh_meanwhile};
    struct inmo_query query;
    int users = 0;
    (void)state;
    for (int n = 0; n < 9000; n++) {
        char late[32];
        struct inmo_event event = {late, "item-1", 0};
        snprintf(late, sizeof late, "late-%d", n);
        must(inmo_view_observe(live, &event, 1, &error));
    }
    refresh(live);
    forget(live, "late-8999", NULL);
    forget(live, NULL, "item-2");
    observe(live, "late-8998 item-5");
    inmo_query_init(&query);
    query.k = 100;
    must(inmo_recommend_all(live, &query, &hooks, must_be_without, &users, &error));
    assert_true(users > 8999);
    inmo_view_free(live);
}

/* Events that are known already are counted, and nothing is kept of them. */
static void test_repeated_events(void **state)
{
    struct inmo_model *model = live_model("inmo-mf");
    struct inmo_view *live = live_view(model, NULL);
    struct inmo_freshness fresh;
    (void)state;
    for (int n = 0; n < 100; n++)
        observe(live, "zoe item-1, zoe new-1");
    inmo_view_freshness(live, &fresh);
    assert_int_equal(fresh.events, 200);
    assert_int_equal(fresh.pending, 2);
    inmo_view_free(live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeated_events),
        cmocka_unit_test(test_refresh_of_nothing),
        cmocka_unit_test(test_pair_then_item),
        cmocka_unit_test(test_nothing_left),
        cmocka_unit_test(test_similar),
        cmocka_unit_test(test_bad_ids),
        cmocka_unit_test(test_everybody_at_one_moment),
    };
    return cmocka_run_group_tests(tests, NULL, free_models);
}
