/* test_seen.c - nobody vanishes, what was seen is in no list, and nothing leaks: from the log to every kind of
 * list. */
#include "live_world.h"

#include "eval/leak.h"

enum { USERS = 60, ITEMS = 50, MOST = USERS * 20 };

/* Ratings from 1 to 5 of users with groups of taste: the first ten users have a single rating of 5, the next five
 * only low ones, the others about twenty of any height. Item i49 has only low ratings. */
static struct {
    char user[MOST][8], item[MOST][8];
    const char *user_id[MOST], *item_id[MOST];
    double rating[MOST];
    size_t count;
} world;

static void rate(int user, int item, double rating)
{
    size_t n = world.count++;
    snprintf(world.user[n], sizeof world.user[n], "u%d", user);
    snprintf(world.item[n], sizeof world.item[n], "i%d", item);
    world.user_id[n] = world.user[n];
    world.item_id[n] = world.item[n];
    world.rating[n] = rating;
}

static int make_world(void **state)
{
    (void)state;
    for (int u = 0; u < USERS; u++)
        for (int j = 0; j < (u < 10 ? 1 : u < 15 ? 4 : 18); j++) {
            uint64_t bits = inmo_random(7, (uint64_t)(u * 64 + j));
            int item = (u % 3) * 16 + (u * 5 + j * 7) % 16;
            double rating = u < 10 ? 5 : u < 15 ? 1 + (double)(bits % 3) : 1 + (double)(bits % 5);
            rate(u, j >= 16 ? 49 : item, j >= 16 ? 2 : rating);
        }
    return enter_directory(state);
}

/* 1: liked, -1: seen but not liked, 0: unknown. A liking counts, whatever else was said. */
static int taste(const char *user, const char *item)
{
    int found = 0;
    for (size_t n = 0; n < world.count; n++)
        if (strcmp(world.user[n], user) == 0 && strcmp(world.item[n], item) == 0)
            found = world.rating[n] > 3 || found == 1 ? 1 : -1;
    return found;
}

static struct inmo_dataset *rated_dataset(const char *split)
{
    struct inmo_error error = {0};
    struct inmo_prepare_options options;
    struct inmo_log *log = NULL;
    struct inmo_dataset *data = NULL;
    inmo_prepare_options_init(&options);
    options.split = split;
    must(inmo_log_from_ratings(world.count, world.user_id, world.item_id, world.rating, NULL, NULL, &log, &error));
    must(inmo_dataset_prepare(log, &options, &data, &error));
    inmo_log_free(log);
    return data;
}

static struct inmo_model *rated_model(const char *name, const char *split)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = rated_dataset(split);
    struct inmo_train_options options = small_options(name);
    struct inmo_model *model = NULL, *loaded = NULL;
    options.epochs = options.epochs > 2 ? 2 : options.epochs;
    must(inmo_train(data, &options, NULL, &model, NULL, &error));
    must(inmo_model_save(model, "m.inmo", 1, &error));
    must(inmo_model_load("m.inmo", &loaded, &error));
    inmo_model_free(model);
    inmo_dataset_free(data);
    return loaded;
}

/* ---- The data set -------------------------------------------------------------------------------------------- */

/* A model has from its data set whom it knows by name only, and what was seen. */
static void a_model_tells_whom_it_knows_by_name(void **state)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = rated_dataset("70/10/20");
    struct inmo_train_options options;
    struct inmo_model *model = NULL, *opened = NULL;
    struct inmo_id_table users, items, of_data[2];
    struct inmo_interactions seen, seen_in_data;
    (void)state;
    must(inmo_train_options_init(&options, "popular", "fast", &error));
    must(inmo_train(data, &options, NULL, &model, NULL, &error));
    must(inmo_model_save(model, "named.inmo", 1, &error));
    must(inmo_model_load("named.inmo", &opened, &error));
    inmo_dataset_extra_ids(data, &of_data[0], &of_data[1]);
    inmo_model_extra_ids(opened, &users, &items);
    assert_int_equal(users.count, 5);
    assert_int_equal(items.count, of_data[1].count);
    for (int64_t n = 0; n < users.count; n++)
        assert_string_equal(users.text + users.offset[n], of_data[0].text + of_data[0].offset[n]);
    assert_int_equal(inmo_dataset_part(data, "seen", &seen_in_data), 1);
    inmo_model_seen(opened, &seen);
    assert_int_equal(seen.users, USERS);
    assert_int_equal(seen.items, seen_in_data.items);
    assert_int_equal(seen.offset[USERS], seen_in_data.offset[USERS]);
    assert_memory_equal(seen.item, seen_in_data.item, (size_t)seen.offset[USERS] * sizeof *seen.item);
    inmo_model_free(opened);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

static void everybody_is_in_the_data_set(void **state)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = rated_dataset("70/10/20"), *opened = NULL;
    struct inmo_id_table users, items;
    struct inmo_interactions seen;
    int64_t pairs = 0;
    (void)state;
    must(inmo_dataset_save(data, "d", 0, &error));
    must(inmo_dataset_open("d", &opened, &error));
    inmo_dataset_extra_ids(opened, &users, &items);
    assert_int_equal(opened->users.count, USERS - 5);
    assert_int_equal(users.count, 5);
    assert_string_equal(users.text + users.offset[0], "u10");
    for (int32_t u = 0; u < opened->users.count; u++)
        assert_true(inmo_csr_degree(&opened->train, u) > 0);
    assert_int_equal(inmo_dataset_part(opened, "seen", &seen), 1);
    assert_int_equal(seen.users, USERS);
    assert_int_equal(seen.items, opened->items.count + items.count);
    for (int64_t u = 0; u < seen.users; u++)
        for (int64_t e = seen.offset[u]; e < seen.offset[u + 1]; e++) {
            const char *user = u < opened->users.count ? inmo_idmap_id(&opened->users, (int32_t)u)
                                                       : users.text + users.offset[u - opened->users.count];
            int32_t i = seen.item[e];
            const char *item = i < opened->items.count ? inmo_idmap_id(&opened->items, i)
                                                       : items.text + items.offset[i - opened->items.count];
            assert_int_equal(taste(user, item), -1);
            pairs++;
        }
    for (int u = 0; u < USERS; u++)
        for (int i = 0; i < ITEMS; i++) {
            char user[8], item[8];
            snprintf(user, sizeof user, "u%d", u);
            snprintf(item, sizeof item, "i%d", i);
            pairs -= taste(user, item) == -1;
        }
    assert_int_equal(pairs, 0); /* each of them, once */
    assert_non_null(strstr(opened->description, "\"positive_rating\": \"> 3\""));
    inmo_dataset_free(opened);
    inmo_dataset_free(data);
}

/* A k-core says who stays. */
static void a_core_leaves_no_names(void **state)
{
    struct inmo_error error = {0};
    struct inmo_prepare_options options;
    struct inmo_log *log = NULL;
    struct inmo_dataset *data = NULL;
    (void)state;
    inmo_prepare_options_init(&options);
    options.k_core = 3;
    must(inmo_log_from_ratings(world.count, world.user_id, world.item_id, world.rating, NULL, NULL, &log, &error));
    must(inmo_dataset_prepare(log, &options, &data, &error));
    assert_int_equal(data->extra_users.count, 0);
    assert_int_equal(data->extra_items.count, 0);
    assert_int_equal(data->seen.rows, data->users.count);
    assert_true(inmo_csr_count(&data->seen) > 0);
    inmo_dataset_free(data);
    inmo_log_free(log);
}

static void hear(void *context, enum inmo_level level, const char *sentence)
{
    (void)level;
    *(int *)context += strstr(sentence, "column of event types, which is not read") != NULL;
}

static void events_by_their_types(void **state)
{
    int heard = 0;
    struct inmo_hooks hooks = {.context = &heard, .log = hear};
    struct inmo_error error = {0};
    struct inmo_read_options options;
    struct inmo_log *log = NULL;
    struct inmo_dataset *data = NULL;
    struct inmo_prepare_options all;
    const char *name = "events.csv";
    static const char text[] =
        "user,item,event\na,x,view\na,x,buy\na,y,view\nb,x,buy\nb,y,buy\nb,y,return\nc,z,view\n"
        "d,x,scroll\n";
    (void)state;
    write_bytes(name, text, strlen(text));
    inmo_read_options_init(&options);
    options.positive = "buy, like";
    options.seen = "view";
    options.negative = "return";
    must(inmo_log_read(&name, 1, &options, NULL, &log, &error));
    assert_int_equal(log->count, 3);
    assert_int_equal(log->seen_lines, 3);
    assert_int_equal(log->cancelled_lines, 1);
    assert_int_equal(log->ignored_lines, 1);
    inmo_prepare_options_init(&all);
    all.split = "100/0/0";
    must(inmo_dataset_prepare(log, &all, &data, &error));
    assert_int_equal(inmo_csr_count(&data->train), 2); /* a x, b x: b y was taken back */
    assert_int_equal(data->items.count, 1);
    assert_int_equal(data->extra_users.count, 1);     /* c */
    assert_int_equal(inmo_csr_count(&data->seen), 3); /* a y, b y, c z; a bought x */
    assert_non_null(strstr(data->description, "\"cancelled\": 1"));
    inmo_dataset_free(data);
    inmo_log_free(log);
    options.positive = options.negative = NULL; /* all but views */
    must(inmo_log_read(&name, 1, &options, &hooks, &log, &error));
    assert_int_equal(log->count, 5);
    assert_int_equal(heard, 0);
    inmo_log_free(log);
    options.seen = NULL; /* the column is not looked at, which is said */
    must(inmo_log_read(&name, 1, &options, &hooks, &log, &error));
    assert_int_equal(log->count, 8);
    assert_int_equal(heard, 1);
    inmo_log_free(log);
    options.columns = "user,item,-"; /* nor is it here, as was asked for */
    must(inmo_log_read(&name, 1, &options, &hooks, &log, &error));
    assert_int_equal(heard, 1);
    inmo_log_free(log);
    options.seen = "view";
    must_fail(inmo_log_read(&name, 1, &options, NULL, &log, &error), INMO_USAGE, "`seen` needs a column");
}

/* ---- Lists --------------------------------------------------------------------------------------------------- */

struct gathered {
    size_t users;
    int all; /* include_seen */
};

static int check_row(void *context, const char *user, size_t count, const struct inmo_entry *entry)
{
    struct gathered *gathered = context;
    gathered->users++;
    for (size_t n = 0; n < count; n++)
        assert_true(taste(user, entry[n].id) == 0 || (gathered->all && taste(user, entry[n].id) == 1));
    assert_true(count > 0);
    return 0;
}

static void check_lists(const struct inmo_view *view, int all)
{
    struct inmo_error error = {0};
    struct inmo_query query;
    struct inmo_rows_query rows;
    struct gathered gathered = {0, all};
    int64_t number[USERS], offset[USERS + 1] = {0};
    static int32_t item[USERS * 60];
    static float score[USERS * 60];
    inmo_query_init(&query);
    query.k = 60;
    query.include_seen = all;
    for (int u = 0; u < USERS; u++) {
        struct inmo_list *list = NULL;
        char user[8];
        snprintf(user, sizeof user, "u%d", u);
        query.user = user;
        must(inmo_recommend(view, &query, &list, &error));
        if (u >= 10 && u < 15 && strcmp(view->model->kind->name, "popular") != 0)
            assert_int_equal(list->fallback, 1);
        check_row(&gathered, user, list->count, list->entry);
        inmo_list_free(list);
        number[u] = inmo_view_user_row(view, user);
        assert_true(number[u] >= 0);
    }
    query.user = NULL;
    gathered.users = 0;
    must(inmo_recommend_all(view, &query, NULL, check_row, &gathered, &error));
    assert_int_equal(gathered.users, USERS);
    for (size_t count = 10; count <= USERS; count += USERS - 10) { /* like requests, and all together */
        inmo_rows_query_init(&rows);
        rows.count = count;
        rows.user = number;
        rows.offset = offset;
        rows.k = 60;
        rows.include_seen = all;
        rows.exclude_past = !all;
        must(inmo_recommend_rows(view, &rows, NULL, item, score, &error));
        for (size_t n = 0; n < count * 60; n++)
            if (item[n] >= 0) {
                int found = taste(inmo_view_user_id(view, number[n / 60]), inmo_view_item_id(view, item[n]));
                assert_true(found == 0 || (all && found == 1));
            }
    }
}

static void seen_items_are_in_no_list(void **state)
{
    static const char *const others[] = {"lightgcn", "mf", "ngcf"};
    (void)state;
    for (size_t n = 0; n < COUNT(serving) + COUNT(others); n++) {
        struct inmo_error error = {0};
        struct inmo_model *model =
            rated_model(n < COUNT(serving) ? serving[n] : others[n - COUNT(serving)], "100/0/0");
        struct inmo_view *view = live_view(model, NULL);
        check_lists(view, 0);
        check_lists(view, 1);
        must(inmo_view_refresh(view, NULL, &error));
        check_lists(view, 0);
        inmo_view_free(view);
        inmo_model_free(model);
    }
}

struct looked_for {
    const char *user, *item;
    int found;
};

static int look_for(void *context, const char *user, size_t count, const struct inmo_entry *entry)
{
    struct looked_for *wanted = context;
    for (size_t n = 0; n < count && !strcmp(user, wanted->user); n++)
        wanted->found |= strcmp(entry[n].id, wanted->item) == 0;
    return 0;
}

/* Whether the item is in the user's list, which is the same when everybody's are made. */
static int lists(const struct inmo_view *view, const char *user, const char *item)
{
    struct inmo_error error = {0};
    struct inmo_query query;
    struct inmo_list *list = NULL;
    struct looked_for alone = {user, item, 0}, together = alone;
    inmo_query_init(&query);
    query.user = user;
    query.k = 60;
    must(inmo_recommend(view, &query, &list, &error));
    look_for(&alone, user, list->count, list->entry);
    inmo_list_free(list);
    query.user = NULL;
    must(inmo_recommend_all(view, &query, NULL, look_for, &together, &error));
    assert_int_equal(together.found, alone.found);
    return alone.found;
}

static void seen_events_count_at_once(void **state)
{
    struct inmo_error error = {0};
    struct inmo_model *model = rated_model("inmo-mf", "100/0/0");
    struct inmo_view *view = live_view(model, NULL);
    struct inmo_query query;
    struct inmo_list *list = NULL;
    struct inmo_freshness freshness;
    char first[8];
    struct inmo_event events[] = {{"u20", first, 9}, {"nobody yet", first, 0}, {"u20", "newer", 0}},
                      bad[] = {{"u20", "i3", 0}, {"", "i4", 0}};
    (void)state;
    inmo_query_init(&query);
    query.user = "u20";
    must(inmo_recommend(view, &query, &list, &error));
    snprintf(first, sizeof first, "%s", list->entry[0].id);
    inmo_list_free(list);
    must(inmo_view_observe_seen(view, events, 3, &error));
    inmo_view_freshness(view, &freshness);
    assert_int_equal(freshness.pending, 0);
    assert_int_equal(freshness.newest_time, 9);
    assert_int_equal(lists(view, "u20", first), 0);
    assert_int_equal(lists(view, "nobody yet", first), 0);
    assert_int_equal(lists(view, "u21", first), taste("u21", first) == 0);
    must(inmo_view_refresh(view, NULL, &error));
    assert_int_equal(lists(view, "u20", first), 0);
    assert_int_equal(lists(view, "nobody yet", first), 0);
    must(inmo_view_forget(view, "u20", first, &error)); /* taken back: it may be listed again */
    assert_int_equal(lists(view, "u20", first), 1);
    must(inmo_view_forget(view, "nobody yet", NULL, &error));
    query.user = "nobody yet";
    must_fail(inmo_recommend(view, &query, &list, &error), INMO_UNKNOWN, "nobody yet");
    must_fail(inmo_view_observe_seen(view, bad, 2, &error), INMO_USAGE, "event 1");
    inmo_view_free(view);
    inmo_model_free(model);
}

/* ---- Leaks --------------------------------------------------------------------------------------------------- */

static void leaks_are_refused(void **state)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = rated_dataset("70/10/20");
    struct inmo_model *honest = rated_model("ease", "70/10/20"), *leaky = rated_model("ease", "90/10/0");
    struct inmo_eval_options options;
    struct inmo_report *report = NULL;
    struct inmo_leaks leaks;
    int64_t trained = 0;
    (void)state;
    must(inmo_evaluate_leaks(honest, data, "test", &leaks, &error));
    assert_int_equal(leaks.interactions, inmo_csr_count(&data->test));
    assert_int_equal(leaks.trained + leaks.validated, 0);
    must(inmo_evaluate(honest, data, NULL, NULL, &report, &error));
    inmo_report_free(report);
    must(inmo_evaluate_leaks(leaky, data, "test", &leaks, &error));
    for (int32_t u = 0; u < data->users.count; u++) /* counted by names */
        for (int64_t e = data->test.offset[u]; e < data->test.offset[u + 1]; e++) {
            int32_t user = inmo_idmap_find(&leaky->users, inmo_idmap_id(&data->users, u));
            int32_t item = inmo_idmap_find(&leaky->items, inmo_idmap_id(&data->items, data->test.column[e]));
            trained += user >= 0 && item >= 0 && inmo_csr_has(&leaky->train, user, item);
        }
    assert_true(trained > 0);
    assert_int_equal(leaks.trained, trained);
    must_fail(inmo_evaluate(leaky, data, NULL, NULL, &report, &error), INMO_INPUT, "the model was trained on");
    inmo_eval_options_init(&options);
    options.allow_leaks = 1;
    must(inmo_evaluate(leaky, data, &options, NULL, &report, &error));
    inmo_report_free(report);
    options.allow_leaks = 0;
    options.part = "valid"; /* what a model was validated with may be looked at again */
    must(inmo_evaluate(honest, data, &options, NULL, &report, &error));
    inmo_report_free(report);
    assert_non_null(strstr(inmo_model_preparation(leaky), "90/10/0"));
    inmo_model_free(leaky);
    inmo_model_free(honest);
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_is_in_the_data_set),
        cmocka_unit_test(a_model_tells_whom_it_knows_by_name),
        cmocka_unit_test(a_core_leaves_no_names),
        cmocka_unit_test(events_by_their_types),
        cmocka_unit_test(seen_items_are_in_no_list),
        cmocka_unit_test(seen_events_count_at_once),
        cmocka_unit_test(leaks_are_refused),
    };
    return cmocka_run_group_tests(tests, make_world, leave_directory);
}
