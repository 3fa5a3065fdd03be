/* test_live.c - the live view (docs/design.md, "Live"): what is fresh when, for every model that serves the unseen.
 *
 *     1  after a refresh the answers are those of a view made with the same events, number by number
 *     2  between refreshes a user's answers are those of somebody unseen with that history on the snapshot
 *
 * and forgetting, several queries at once, work spaces, failures in the middle. */
#include "live_world.h"

#include "view/view.h"

/* New users, new items, known users with known and new items; one event twice. */
static const char events[] = "zoe item-1, zoe item-2, zoe new-1, user-3 new-1, user-3 item-2, user-7 new-1, "
                             "user-7 new-2, zoe item-1, yan item-40, yan item-44, user-11 item-5, user-11 new-2";
static const char *const asked[] = {"zoe", "yan", "user-3", "user-7", "user-11", "user-0", "user-20"};

static void test_after_refresh(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT(serving); m++) {
        struct inmo_error error = {0};
        struct inmo_model *model = live_model(serving[m]);
        struct inmo_view *made = live_view(model, events), *live = live_view(model, NULL);
        struct inmo_freshness fresh;
        observe(live, "zoe item-1, zoe item-2, zoe new-1, user-3 new-1, user-3 item-2, user-7 new-1");
        must(inmo_view_refresh(live, NULL, &error));
        observe(live, "user-7 new-2, zoe item-1, yan item-40, yan item-44, user-11 item-5, user-11 new-2");
        must(inmo_view_refresh(live, NULL, &error));
        for (size_t n = 0; n < COUNT(asked); n++) {
            struct inmo_list *a = list_for(made, asked[n], NULL, 0), *b = list_for(live, asked[n], NULL, 0);
            if (!same_lists(a, b))
                fail_msg("%s: %s gets another list after a refresh", serving[m], asked[n]);
            inmo_list_free(b);
            inmo_list_free(a);
        }
        inmo_view_freshness(live, &fresh);
        assert_int_equal(fresh.events, 12);
        assert_int_equal(fresh.pending, 0);
        assert_int_equal(fresh.refreshes, 2);
        assert_int_equal(fresh.newest_time, 6);
        inmo_view_free(live);
        inmo_view_free(made);
    }
}

/* Histories as they are after the events, those of the model first. */
static size_t history_of(const struct inmo_model *model, const char *user, const char *const *more, size_t count,
                         const char **item)
{
    size_t found = 0;
    for (int32_t u = 0; u < model->users.count; u++)
        for (int part = 0; part < 2 && strcmp(inmo_idmap_id(&model->users, u), user) == 0; part++) {
            const struct inmo_csr *list = part ? &model->valid : &model->train;
            for (int64_t e = list->offset ? list->offset[u] : 0; list->offset && e < list->offset[u + 1]; e++)
                item[found++] = inmo_idmap_id(&model->items, list->column[e]);
        }
    for (size_t n = 0; n < count; n++)
        item[found++] = more[n];
    return found;
}

static void test_between_refreshes(void **state)
{
    static const char *const zoe[] = {"item-1", "item-2", "new-1"}, *const user3[] = {"new-1", "item-2"};
    static const char *const user11[] = {"item-5", "new-2"};
    (void)state;
    for (size_t m = 0; m < COUNT(serving); m++) {
        struct inmo_model *model = live_model(serving[m]);
        struct inmo_view *still = live_view(model, NULL), *live = live_view(model, NULL);
        /* a known user of a model with rows of their own keeps the row: there the query names the user, too */
        int has_rows = strncmp(serving[m], "imc-", 4) == 0;
        const char *item[64];
        observe(live, events);
        for (int who = 0; who < 3; who++) {
            const char *user = who == 0 ? "zoe" : who == 1 ? "user-3" : "user-11";
            const char *const *more = who == 0 ? zoe : who == 1 ? user3 : user11;
            size_t count = history_of(model, user, more, who == 0 ? 3 : 2, item);
            struct inmo_list *a = list_for(live, user, NULL, 0);
            struct inmo_list *b = list_for(still, has_rows && who > 0 ? user : NULL, item, count);
            assert_true(b->unknown_items >= 1); /* the new one, and items that were left without training */
            assert_near(a->coverage, b->coverage, 1e-12);
            drop_new(model, a);
            if (!same_lists(a, b))
                fail_msg("%s: %s gets another list than the history", serving[m], user);
            inmo_list_free(b);
            inmo_list_free(a);
        }
        /* who did nothing gets what they got, new items aside */
        struct inmo_list *a = list_for(live, "user-20", NULL, 0), *b = list_for(still, "user-20", NULL, 0);
        drop_new(model, a);
        assert_true(same_lists(a, b));
        inmo_list_free(b);
        inmo_list_free(a);
        inmo_view_free(live);
        inmo_view_free(still);
    }
}

/* An item nobody had seen is offered with the next request by models that can, near where a refresh will put it. */
static void test_new_item(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT(serving); m++) {
        struct inmo_error error = {0};
        struct inmo_model *model = live_model(serving[m]);
        struct inmo_view *live = live_view(model, NULL);
        struct inmo_list *before, *after;
        const struct inmo_entry *was, *is;
        observe(live, "user-0 new-1, user-4 new-1, user-8 new-1");
        before = list_for(live, "user-12", NULL, 0);
        must(inmo_view_refresh(live, NULL, &error));
        after = list_for(live, "user-12", NULL, 0);
        was = entry_named(before, "new-1");
        is = entry_named(after, "new-1");
        assert_int_equal(was != NULL, is != NULL);
        if (was && (strcmp(serving[m], "inmo-mf") == 0 || strcmp(serving[m], "popular") == 0))
            assert_near(was->score, is->score, 1e-5 * fmax(1, fabs(is->score)));
        inmo_list_free(after);
        inmo_list_free(before);
        inmo_view_free(live);
    }
}

static void test_lookup_models(void **state)
{
    static const char *const models[] = {"mf", "lightgcn", "ngcf", "neumf"};
    static const char *const more[] = {"item-33"};
    (void)state;
    for (size_t m = 0; m < COUNT(models); m++) {
        struct inmo_error error = {0};
        struct inmo_model *model = live_model(models[m]);
        struct inmo_view *live = live_view(model, NULL);
        struct inmo_list *before = list_for(live, "user-3", NULL, 0), *list;
        struct inmo_query query;
        const char *best = before->entry[0].id;
        char event[64];
        snprintf(event, sizeof event, "user-3 %s, zoe item-1", best);
        observe(live, event);
        list = list_for(live, "user-3", NULL, 0); /* as before, without what they have now */
        assert_null(entry_named(list, best));
        assert_int_equal(list->count, before->count - 1);
        assert_true(list->entry[0].score == before->entry[1].score);
        inmo_list_free(list);
        list = list_for(live, "user-4", more, 1);
        assert_null(entry_named(list, "item-33"));
        inmo_list_free(list);
        list = NULL;
        inmo_query_init(&query);
        query.user = "zoe";
        must_fail(inmo_recommend(live, &query, &list, &error), INMO_UNSUPPORTED, "no vector for user 'zoe'");
        inmo_list_free(before);
        inmo_view_free(live);
    }
}

/* ---- Forgetting ---------------------------------------------------------------------------------------------- */

static void must_be_unknown(struct inmo_view *view, const char *user)
{
    struct inmo_error error = {0};
    struct inmo_query query;
    struct inmo_list *list = NULL;
    inmo_query_init(&query);
    query.user = user;
    must_fail(inmo_recommend(view, &query, &list, &error), INMO_UNKNOWN, user);
}

static void test_forget(void **state)
{
    static const char *const history[] = {"item-1", "item-2", "item-3", "item-5"};
    (void)state;
    for (size_t m = 0; m < COUNT(serving); m++) {
        struct inmo_error error = {0};
        struct inmo_model *model = live_model(serving[m]);
        struct inmo_view *live = live_view(model, NULL);
        struct inmo_list *list, *anew;
        observe(live, "zoe item-1, zoe new-1, user-5 new-1");
        must(inmo_view_forget(live, "user-3", NULL, &error));
        must(inmo_view_forget(live, "zoe", NULL, &error));
        must(inmo_view_forget(live, NULL, "item-2", &error));
        for (int refreshed = 0; refreshed < 2; refreshed++) {
            must_be_unknown(live, "user-3");
            must_be_unknown(live, "zoe");
            list = list_for(live, "user-20", NULL, 0);
            assert_null(entry_named(list, "item-2"));
            inmo_list_free(list);
            list = list_for(live, NULL, history + 2, 2);
            assert_null(entry_named(list, "item-2"));
            inmo_list_free(list);
            must(inmo_view_refresh(live, NULL, &error));
        }
        /* whoever comes back is new: the model's own knowledge of them is not used */
        observe(live, "user-3 item-1, user-3 item-3");
        must(inmo_view_refresh(live, NULL, &error));
        observe(live, "xia item-1, xia item-3");
        must(inmo_view_refresh(live, NULL, &error));
        list = list_for(live, "user-3", NULL, 0);
        anew = list_for(live, "xia", NULL, 0);
        for (size_t n = 0; n < list->count; n++)
            assert_near(list->entry[n].score, anew->entry[n].score, 1e-4 * fmax(1, fabs(anew->entry[n].score)));
        assert_null(entry_named(list, "item-2"));
        inmo_list_free(anew);
        inmo_list_free(list);
        must_fail(inmo_view_forget(live, NULL, NULL, &error), INMO_USAGE, "nothing to forget");
        must_fail(inmo_view_forget(live, "nobody", NULL, &error), INMO_UNKNOWN, "nobody");
        inmo_view_free(live);
    }
}

/* One interaction: as if it had never been. */
static void test_forget_one(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT(serving); m++) {
        struct inmo_error error = {0};
        struct inmo_model *model = live_model(serving[m]);
        struct inmo_view *live = live_view(model, NULL), *made = live_view(model, "yan item-40, yan item-41");
        struct inmo_list *a, *b;
        observe(live, "yan item-40, yan item-7, yan item-41");
        must(inmo_view_forget(live, "yan", "item-7", &error));
        observe(live, "yan item-8");
        must(inmo_view_refresh(live, NULL, &error));
        must(inmo_view_forget(live, "yan", "item-8", &error));
        must(inmo_view_refresh(live, NULL, &error));
        a = list_for(live, "yan", NULL, 0);
        b = list_for(made, "yan", NULL, 0);
        assert_true(same_lists(a, b));
        inmo_list_free(b);
        inmo_list_free(a);
        inmo_view_free(made);
        inmo_view_free(live);
    }
}

/* ---- Several at once, and memory ----------------------------------------------------------------------------- */

static void fill_queries(struct inmo_query *query)
{
    static const char *const history[] = {"item-1", "item-2", "nowhere", "item-50"};
    static const char *const few[] = {"item-3", "item-4", "item-5", "item-1", "new-1"};
    for (int n = 0; n < 9; n++) {
        inmo_query_init(query + n);
        query[n].k = n == 3 ? 1 : n == 4 ? 200 : 10;
    }
    query[0].user = "user-1";
    query[1].items = history;
    query[1].item_count = 4;
    query[2].user = "zoe";
    query[2].deny = few;
    query[2].deny_count = 5;
    query[3].user = "user-2";
    query[4].user = "user-3";
    query[4].include_seen = 1;
    query[5].user = "nobody-knows";
    query[6].user = "user-4";
    query[6].allow = few;
    query[6].allow_count = 5;
    query[7].items = history + 2; /* nothing of it is known: by popularity */
    query[7].item_count = 1;
    query[8].user = "user-5"; /* with items beside their own */
    query[8].items = history;
    query[8].item_count = 2;
}

static void test_many(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT(serving); m++) {
        struct inmo_error error = {0};
        struct inmo_model *model = live_model(serving[m]);
        struct inmo_view *live = live_view(model, NULL);
        struct inmo_query query[9];
        const struct inmo_list *lists = NULL;
        struct inmo_work *work = NULL;
        /* one product for all queries */
        int by_blas = strcmp(serving[m], "gf-cf") == 0 || strcmp(serving[m], "mult-vae") == 0;
        observe(live, "zoe item-1, zoe item-2, zoe new-1, user-3 new-1");
        fill_queries(query);
        must(inmo_work_create(&work, &error));
        must(inmo_recommend_many(live, work, query, COUNT(query), &lists, &error));
        for (size_t n = 0; n < COUNT(query); n++) {
            struct inmo_list *alone = NULL;
            enum inmo_status status = inmo_recommend(live, query + n, &alone, &error);
            assert_int_equal(status, lists[n].status);
            if (status == INMO_OK && !(by_blas ? alike_lists : same_lists)(alone, lists + n))
                fail_msg("%s: query %zu gets another list among others", serving[m], n);
            if (status == INMO_OK)
                assert_int_equal(alone->unknown_items, lists[n].unknown_items);
            else
                assert_string_equal(error.message, lists[n].problem);
            inmo_list_free(alone);
        }
        assert_int_equal(lists[5].status, INMO_UNKNOWN);
        assert_int_equal(lists[7].fallback, strcmp(serving[m], "popular") != 0);
        /* warm: the same once more without a single allocation */
        must(inmo_recommend_many(live, work, query, COUNT(query), &lists, &error));
        inmo_alloc_fail_after(0);
        enum inmo_status status = inmo_recommend_many(live, work, query, COUNT(query), &lists, &error);
        inmo_alloc_fail_after(-1);
        if (strcmp(serving[m], "ials") != 0) /* its solver allocates */
            must(status);
        inmo_work_free(work);
        inmo_view_free(live);
    }
}

/* Everybody's lists are those each gets alone, also while events are pending. */
static int compare_alone(void *context, const char *user, size_t count, const struct inmo_entry *entry)
{
    const struct inmo_view *view = context;
    struct inmo_list *alone = list_for(view, user, NULL, 0);
    assert_int_equal(alone->count < 100 ? alone->count : 100, count);
    for (size_t n = 0; n < count; n++)
        assert_near(entry[n].score, alone->entry[n].score, 1e-5 * fmax(1, fabs(alone->entry[n].score)));
    inmo_list_free(alone);
    return 0;
}

static void test_everybody(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT(serving); m++)
        for (int with_new = 0; with_new < 2; with_new++) {
            struct inmo_error error = {0};
            struct inmo_model *model = live_model(serving[m]);
            struct inmo_view *live = live_view(model, "cold strange-item"); /* no system can use that history */
            struct inmo_query query;
            observe(live, with_new ? events : "user-3 item-2, yan item-40");
            inmo_query_init(&query);
            query.k = 100;
            must(inmo_recommend_all(live, &query, NULL, compare_alone, live, &error));
            inmo_view_free(live);
        }
}

/* A call that fails for want of memory leaves the view as it was. */
static void test_out_of_memory(void **state)
{
    static const struct inmo_event told[] = {{"zoe", "item-1", 0}, {"zoe", "new-1", 0}, {"user-3", "new-1", 0}};
    struct inmo_model *model = live_model("inmo-lightgcn");
    (void)state;
    for (int call = 0; call < 3; call++) {
        enum inmo_status status = INMO_MEMORY;
        for (long allowed = 0; status == INMO_MEMORY; allowed++) {
            struct inmo_error error = {0};
            struct inmo_view *live = live_view(model, NULL);
            struct inmo_freshness fresh;
            struct inmo_list *before, *after;
            if (call == 1)
                must(inmo_view_observe(live, told, COUNT(told), &error));
            before = list_for(live, "user-3", NULL, 0);
            inmo_alloc_fail_after(allowed);
            status = call == 0   ? inmo_view_observe(live, told, COUNT(told), &error)
                     : call == 1 ? inmo_view_refresh(live, NULL, &error)
                                 : inmo_view_forget(live, "user-3", NULL, &error);
            inmo_alloc_fail_after(-1);
            inmo_view_freshness(live, &fresh);
            assert_int_equal(fresh.refreshing, 0);
            if (status == INMO_MEMORY) {
                after = list_for(live, "user-3", NULL, 0);
                assert_true(same_lists(before, after));
                assert_int_equal(fresh.pending, call == 1 ? COUNT(told) : 0);
                inmo_list_free(after);
            }
            inmo_list_free(before);
            inmo_view_free(live);
        }
        assert_int_equal(status, INMO_OK);
    }
}

/* A list outlives its view. */
static void test_lifetime(void **state)
{
    struct inmo_error error = {0};
    struct inmo_model *model = live_model("inmo-mf");
    struct inmo_view *live = live_view(model, "zoe new-1, zoe item-1, user-0 new-1");
    struct inmo_list *list = list_for(live, "user-4", NULL, 0);
    struct inmo_explanation *why = NULL;
    struct inmo_query query;
    (void)state;
    inmo_query_init(&query);
    query.user = "zoe";
    must(inmo_explain(live, &query, "item-2", &why, &error));
    inmo_view_free(live);
    assert_non_null(entry_named(list, "new-1"));
    assert_true(why->count >= 2 && strlen(why->part[0].id) > 0);
    inmo_explanation_free(why);
    inmo_list_free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_after_refresh), cmocka_unit_test(test_between_refreshes),
        cmocka_unit_test(test_new_item),      cmocka_unit_test(test_lookup_models),
        cmocka_unit_test(test_forget),        cmocka_unit_test(test_forget_one),
        cmocka_unit_test(test_many),          cmocka_unit_test(test_everybody),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_lifetime),
    };
    return cmocka_run_group_tests(tests, NULL, free_models);
}
