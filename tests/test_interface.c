/* test_interface.c - what a program or a binding of another version meets: structures of a size the library does
 * not know are refused before anything else of them is read, and init calls never write beyond the caller's
 * structure. */
#include "support.h"

#define NOT_OURS 0xa5

/* An init call with a size that is not the library's: the caller's bytes and nothing behind them. */
#define init_stays_inside(type, init)                                                                              \
    do {                                                                                                           \
        for (size_t size = 0; size <= sizeof(type) + 64; size += 8) {                                              \
            unsigned char *block = malloc(size + 16);                                                              \
            size_t said = 0;                                                                                       \
            assert_non_null(block);                                                                                \
            memset(block, NOT_OURS, size + 16);                                                                    \
            init((type *)(void *)block, size);                                                                     \
            for (size_t n = size; n < size + 16; n++)                                                              \
                assert_int_equal(block[n], NOT_OURS);                                                              \
            if (size) {                                                                                            \
                memcpy(&said, block, sizeof said);                                                                 \
                assert_int_equal(said, size);                                                                      \
            }                                                                                                      \
            for (size_t n = sizeof(type); n < size; n++)                                                           \
                assert_int_equal(block[n], 0);                                                                     \
            free(block);                                                                                           \
        }                                                                                                          \
    } while (0)

static void test_version(void **state)
{
    (void)state;
    assert_string_equal(inmo_version(), INMO_VERSION);
    assert_int_equal(inmo_abi(), INMO_ABI);
}

static void test_init(void **state)
{
    struct inmo_error error = {0};
    struct inmo_train_options options, untouched;
    (void)state;
    init_stays_inside(struct inmo_read_options, inmo_read_options_init_sized);
    init_stays_inside(struct inmo_prepare_options, inmo_prepare_options_init_sized);
    init_stays_inside(struct inmo_synth_options, inmo_synth_options_init_sized);
    init_stays_inside(struct inmo_eval_options, inmo_eval_options_init_sized);
    init_stays_inside(struct inmo_tune_options, inmo_tune_options_init_sized);
    memset(&options, NOT_OURS, sizeof options);
    untouched = options;
    must_fail(inmo_train_options_init_sized(&options, sizeof options - 8, "mf", NULL, &error), INMO_USAGE,
              "inmo_train_options");
    must_fail(inmo_train_options_init_sized(&options, sizeof options + 8, "mf", NULL, &error), INMO_USAGE,
              INMO_VERSION);
    assert_memory_equal(&options, &untouched, sizeof options);
}

/* A structure of another version is refused by every call that takes it. It fills a block of the size it says it
 * has, so that a sanitizer sees any reading beyond that. */
#define refused(structure, call)                                                                                   \
    do {                                                                                                           \
        const size_t wrong[] = {sizeof(size_t), sizeof(structure) - 8, sizeof(structure) + 8};                     \
        for (size_t w = 0; w < COUNT(wrong); w++) {                                                                \
            void *given = calloc(1, wrong[w]);                                                                     \
            assert_non_null(given);                                                                                \
            memcpy(given, &(structure), wrong[w] < sizeof(structure) ? wrong[w] : sizeof(structure));              \
            memcpy(given, &wrong[w], sizeof wrong[w]);                                                             \
            must_fail(call, INMO_USAGE, "_options: found a size of ");                                             \
            free(given);                                                                                           \
        }                                                                                                          \
    } while (0)

static void test_refused(void **state)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = grouped_dataset(20, 20, 6, "70/10/20"), *no_data = NULL;
    struct inmo_log *log = grouped_log(20, 20, 6, 1), *no_log = NULL;
    struct inmo_train_options train = small_options("popular");
    struct inmo_model *model = trained(data, &train), *no_model = NULL;
    struct inmo_report *report = NULL;
    struct inmo_tune_report *found = NULL;
    struct inmo_read_options read;
    struct inmo_prepare_options prepare;
    struct inmo_synth_options synth;
    struct inmo_eval_options eval;
    struct inmo_tune_options tune;
    const char *path = "no.tsv", *id[] = {"a"};
    (void)state;
    inmo_read_options_init(&read);
    inmo_prepare_options_init(&prepare);
    inmo_synth_options_init(&synth);
    inmo_eval_options_init(&eval);
    inmo_tune_options_init(&tune);
    refused(read, inmo_log_read(&path, 1, given, NULL, &no_log, &error));
    refused(read, inmo_log_from_ratings(1, id, id, NULL, NULL, given, &no_log, &error));
    refused(prepare, inmo_dataset_prepare(log, given, &no_data, &error));
    refused(synth, inmo_synth(given, "out.tsv", 1, NULL, &error));
    refused(eval, inmo_evaluate(model, data, given, NULL, &report, &error));
    refused(tune, inmo_tune(data, &train, given, NULL, NULL, &found, &error));
    refused(train, inmo_tune(data, given, &tune, NULL, NULL, &found, &error));
    refused(train, inmo_train(data, given, NULL, &no_model, NULL, &error));
    assert_int_equal(access("out.tsv", F_OK), -1);
    assert_true(!no_log && !no_data && !no_model && !report && !found);
    inmo_model_free(model);
    inmo_log_free(log);
    inmo_dataset_free(data);
}

/* ---- Ratings from memory ------------------------------------------------------------------------------------- */

static void test_ratings(void **state)
{
    static const char *const user[] = {"a", "a", "b", "b", "c"}, *const item[] = {"x", "y", "x", "z", "z"};
    static const double rating[] = {5, 3, 4, 1, 3.5}, bad[] = {5, 4, NAN, 4, 4};
    static const struct {
        double least;
        int all;
        int64_t kept;
    } cases[] = {{INMO_AUTO, 0, 3}, {3, 0, 4}, {3.5, 0, 3}, {4, 0, 2}, {5, 0, 1}, {6, 0, 0}, {5, 1, 5}};
    struct inmo_error error = {0};
    struct inmo_read_options options;
    struct inmo_log *log = NULL;
    (void)state;
    for (size_t n = 0; n < COUNT(cases); n++) {
        inmo_read_options_init(&options);
        options.min_rating = cases[n].least;
        options.keep_all_ratings = cases[n].all;
        must(inmo_log_from_ratings(5, user, item, rating, NULL, &options, &log, &error));
        assert_int_equal(inmo_log_count(log), cases[n].kept);
        assert_int_equal(log->lines, 5);
        assert_int_equal(log->low_rating_lines, 5 - cases[n].kept);
        assert_near(log->highest_rating, 5, 0);
        inmo_log_free(log);
    }
    must(inmo_log_from_ratings(5, user, item, rating, NULL, NULL, &log, &error));
    assert_int_equal(inmo_log_count(log), 3);
    inmo_log_free(log);
    must(inmo_log_from_ratings(5, user, item, NULL, NULL, NULL, &log, &error));
    assert_int_equal(inmo_log_count(log), 5);
    inmo_log_free(log);
    must_fail(inmo_log_from_ratings(5, user, item, bad, NULL, NULL, &log, &error), INMO_INPUT, "pair 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_init),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_ratings),
    };
    return cmocka_run_group_tests_name("interface", tests, enter_directory, leave_directory);
}
