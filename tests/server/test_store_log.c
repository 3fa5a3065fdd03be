/* test_store_log.c - from a store to the log that models are trained on: which feedback counts, and when it was. */
#include "store_world.h"

/* The log of a store as "user item time; ..."; NULL and *error when there is none. */
static const char *read_back(struct store *store, const char *types, const char *seen, struct inmo_error *error)
{
    static char text[1024];
    struct inmo_log *log = NULL;
    const char *user, *item;
    int64_t time, last = 0, stored = 0;
    size_t length = 0;

    if (store_read_log(store, types, seen, NULL, &log, &last, error))
        return NULL;
    assert_int_equal(store_last(store, &stored, error), INMO_OK);
    assert_int_equal(last, stored);
    *text = 0;
    for (int64_t n = 0; inmo_log_at(log, n, &user, &item, &time); n++)
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "%s %s %lld; ", user, item, (long long)time);
    inmo_log_free(log);
    return text;
}

static void feedback_of_the_types_wanted_is_read(void **state)
{
    struct store *store = opened(fresh_url());
    struct inmo_error error = {0};
    (void)state;
    assert_null(read_back(store, NULL, NULL, &error));
    assert_non_null(strstr(error.message, "has no feedback"));
    wrote(store, added("like", "ann", "tea"));
    wrote(store, added("view", "ann", "cup"));
    wrote(store, added("buy", "bob", "cup"));
    assert_string_equal(read_back(store, NULL, NULL, &error), "ann tea 1; ann cup 2; bob cup 3; ");
    assert_string_equal(read_back(store, NULL, "view", &error), "ann tea 1; bob cup 3; ");
    assert_string_equal(read_back(store, "", "view", &error), "ann tea 1; bob cup 3; ");
    assert_string_equal(read_back(store, "buy,like", NULL, &error), "ann tea 1; bob cup 2; ");
    /* As the server and `inmo prepare` of a file read these lists. */
    assert_string_equal(read_back(store, " buy , view", NULL, &error), "ann cup 1; bob cup 2; ");
    assert_string_equal(read_back(store, NULL, "like, view ", &error), "bob cup 3; ");
    assert_null(read_back(store, "bu,y", NULL, &error));
    assert_non_null(strstr(error.message, "only 1 like, 1 view, 1 buy"));
    store_close(store);
}

/* What was only seen is a part of the data set, and no interaction. */
static void what_was_only_seen_is_masked(void **state)
{
    struct store *store = opened(fresh_url());
    struct inmo_error error = {0};
    struct inmo_prepare_options options;
    struct inmo_interactions train, seen;
    struct inmo_dataset *data = NULL;
    struct inmo_log *log = NULL;
    (void)state;
    wrote(store, added("like", "ann", "tea"));
    wrote(store, added("view", "ann", "cup"));
    wrote(store, added("hover", "ann", "pot"));
    wrote(store, added("buy", "bob", "cup"));
    inmo_prepare_options_init(&options);
    options.split = "100/0/0";
    options.by = "random";
    assert_int_equal(store_read_log(store, "like,buy", "view", NULL, &log, NULL, &error), INMO_OK);
    assert_int_equal(inmo_dataset_prepare(log, &options, &data, &error), INMO_OK);
    assert_true(inmo_dataset_part(data, "train", &train) && train.count == 2 && train.items == 2);
    assert_true(inmo_dataset_part(data, "seen", &seen) && seen.count == 1);
    assert_int_equal(seen.offset[1], 1); /* ann's */
    inmo_dataset_free(data);
    inmo_log_free(log);
    assert_int_equal(store_read_log(store, "hug", "view", NULL, &log, NULL, &error), INMO_INPUT);
    assert_non_null(strstr(error.message, "only 1 like, 1 hover, 1 buy, 1 view"));
    store_close(store);
}

static void events_without_a_time_have_that_of_the_one_before(void **state)
{
    struct store *store = opened(fresh_url());
    struct inmo_error error = {0};
    (void)state;
    wrote(store, added("like", "ann", "a"));
    wrote(store, feedback_of(STORE_ADD_FEEDBACK, "like", "ann", "b", 5000, NULL));
    wrote(store, added("like", "ann", "c"));
    wrote(store, feedback_of(STORE_ADD_FEEDBACK, "like", "ann", "d", 7000, NULL));
    assert_string_equal(read_back(store, NULL, NULL, &error), "ann a 5000; ann b 5000; ann c 5000; ann d 7000; ");
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(feedback_of_the_types_wanted_is_read),
        cmocka_unit_test(what_was_only_seen_is_masked),
        cmocka_unit_test(events_without_a_time_have_that_of_the_one_before),
    };
    return cmocka_run_group_tests_name("log of a store", tests, enter_directory, leave_directory);
}
