/* test_matrix.c - data sets from matrices: the same model as from the log of the same interactions, checks of what
 * a caller may get wrong, and representations that outlive their view. */
#include "support.h"

/* The interactions of a part with decimal ids, as a log in the order of the matrix. */
static struct inmo_log *log_of_matrix(const struct inmo_interactions *matrix)
{
    struct inmo_error error = {0};
    struct inmo_log *log = NULL;
    size_t count = (size_t)matrix->count, n = 0;
    char(*name)[2][12] = calloc(count, sizeof *name);
    const char **user = calloc(count, sizeof *user), **item = calloc(count, sizeof *item);
    for (int64_t u = 0; u < matrix->users; u++)
        for (int64_t e = matrix->offset[u]; e < matrix->offset[u + 1]; e++, n++) {
            snprintf(name[n][0], sizeof name[n][0], "%d", (int)u);
            snprintf(name[n][1], sizeof name[n][1], "%d", (int)matrix->item[e]);
            user[n] = name[n][0];
            item[n] = name[n][1];
        }
    must(inmo_log_from_pairs(count, user, item, NULL, &log, &error));
    free(item);
    free(user);
    free(name);
    return log;
}

/* Items are numbered by first appearance, as preparing a log numbers them: rows ascend, so the first rows must
 * bring the items in order. */
static void make_matrix(struct inmo_interactions *matrix, int64_t *offset, int32_t *item)
{
    enum { USERS = 60, ITEMS = 40 };
    int64_t count = 0;
    for (int u = 0; u < USERS; u++) {
        offset[u] = count;
        for (int i = 0; i < ITEMS; i++)
            if (u < 4 ? i / 10 == u
                      : inmo_random_below(inmo_random(inmo_key(5, 79), (uint64_t)(u * ITEMS + i)), 4) == 0)
                item[count++] = i;
    }
    offset[USERS] = count;
    *matrix = (struct inmo_interactions){USERS, ITEMS, offset, item, count};
}

static void test_same_as_log(void **state)
{
    static int64_t offset[61];
    static int32_t item[2400];
    struct inmo_error error = {0};
    struct inmo_interactions matrix, part, other;
    struct inmo_prepare_options options;
    struct inmo_dataset *one = NULL, *two = NULL;
    struct inmo_train_options train = small_options("inmo-mf");
    (void)state;
    make_matrix(&matrix, offset, item);
    struct inmo_log *log = log_of_matrix(&matrix);
    inmo_prepare_options_init(&options);
    options.seed = 7;
    must(inmo_dataset_from_matrices(&matrix, NULL, NULL, &options, &one, &error));
    must(inmo_dataset_prepare(log, &options, &two, &error));
    for (int n = 0; n < 3; n++) {
        static const char *const name[] = {"train", "valid", "test"};
        assert_int_equal(inmo_dataset_part(one, name[n], &part), 1);
        assert_int_equal(inmo_dataset_part(two, name[n], &other), 1);
        assert_true(part.count > 0 && part.count == other.count);
        assert_memory_equal(part.offset, other.offset, 61 * sizeof *part.offset);
        assert_memory_equal(part.item, other.item, (size_t)part.count * sizeof *part.item);
    }
    assert_int_equal(inmo_dataset_part(one, "no such part", &part), 0);
    struct inmo_model *a = trained(one, &train), *b = trained(two, &train);
    must(inmo_model_save(a, "a.inmo", 1, &error));
    must(inmo_model_save(b, "b.inmo", 1, &error));
    assert_true(same_files("a.inmo", "b.inmo"));
    must(inmo_dataset_save(one, "one", 0, &error));
    inmo_dataset_free(two);
    must(inmo_dataset_open("one", &two, &error));
    inmo_model_free(b);
    inmo_model_free(a);
    inmo_dataset_free(two);
    inmo_dataset_free(one);
    inmo_log_free(log);
}

/* Nobody is renumbered; order and repeats do not matter; three matrices become three parts. */
static void test_parts(void **state)
{
    static const int64_t offset[] = {0, 3, 3, 5}, valid_offset[] = {0, 0, 0, 1};
    static const int32_t item[] = {4, 1, 4, 0, 2}, valid_item[] = {3}, twice[] = {2};
    const struct inmo_interactions train = {3, 6, offset, item, 5}, valid = {3, 6, valid_offset, valid_item, 1},
                                   overlapping = {3, 6, valid_offset, twice, 1},
                                   wider = {3, 7, valid_offset, valid_item, 1};
    struct inmo_prepare_options options;
    struct inmo_error error = {0};
    struct inmo_dataset *data = NULL;
    struct inmo_interactions part;
    struct inmo_id_table users, items;
    (void)state;
    must(inmo_dataset_from_matrices(&train, &valid, NULL, NULL, &data, &error));
    inmo_dataset_part(data, "train", &part);
    assert_int_equal(part.count, 4);
    assert_int_equal(part.offset[1], 2);
    assert_int_equal(part.offset[2], 2);
    assert_int_equal(part.item[0], 1);
    assert_int_equal(part.item[1], 4);
    inmo_dataset_part(data, "valid", &part);
    assert_int_equal(part.count, 1);
    inmo_dataset_part(data, "test", &part);
    assert_int_equal(part.count, 0);
    inmo_dataset_ids(data, &users, &items);
    assert_int_equal(users.count, 3);
    assert_int_equal(items.count, 6);
    assert_string_equal(items.text + items.offset[5], "5");
    inmo_dataset_free(data);
    inmo_prepare_options_init(&options);
    must_fail(inmo_dataset_from_matrices(&train, &overlapping, NULL, NULL, &data, &error), INMO_INPUT,
              "row 2, item 2: found in the validation and in the training matrix");
    must_fail(inmo_dataset_from_matrices(&train, NULL, &wider, NULL, &data, &error), INMO_INPUT, "7 items");
    must_fail(inmo_dataset_from_matrices(&train, &valid, NULL, &options, &data, &error), INMO_USAGE, "splitting");
    options.k_core = 2;
    must_fail(inmo_dataset_from_matrices(&train, NULL, NULL, &options, &data, &error), INMO_USAGE, "`k-core`");
}

static void test_bad(void **state)
{
    static const int64_t good[] = {0, 2, 3}, late[] = {1, 2, 3}, back[] = {0, 3, 2}, beyond[] = {0, 2, 9},
                         none[] = {0, 0, 0};
    static const int32_t item[] = {0, 1, 2}, high[] = {0, 3, 2}, low[] = {0, -1, 2};
    static const struct {
        struct inmo_interactions given;
        const char *words;
    } cases[] = {
        {{2, 3, late, item, 3}, "begin at 1"},
        {{2, 3, back, item, 3}, "row 1 ends at 2"},
        {{2, 3, beyond, item, 3}, "row 1 ends at 9"},
        {{2, 3, good, high, 3}, "row 0 has item 3"},
        {{2, 3, good, low, 3}, "row 0 has item -1"},
        {{2, 3, none, item, 3}, "no interactions"},
        {{0, 3, good, item, 3}, "0 users"},
        {{2, 0, good, item, 3}, "0 items"},
        {{2, INT64_C(1) << 31, good, item, 3}, "2147483648 items"},
    };
    struct inmo_error error = {0};
    struct inmo_dataset *data = NULL;
    (void)state;
    for (size_t n = 0; n < COUNT(cases); n++)
        must_fail(inmo_dataset_from_matrices(&cases[n].given, NULL, NULL, NULL, &data, &error), INMO_INPUT,
                  cases[n].words);
    assert_null(data);
    assert_int_equal(inmo_size("inmo_interactions"), sizeof(struct inmo_interactions));
    assert_int_equal(inmo_size("inmo_train_options"), sizeof(struct inmo_train_options));
    assert_int_equal(inmo_size("inmo_nothing"), 0);
}

/* Whoever holds representations may go on reading them after a refresh and without the view. */
static void test_hold(void **state)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = grouped_dataset(40, 30, 8, "80/20/0");
    struct inmo_train_options options = small_options("inmo-mf");
    struct inmo_model *model = trained(data, &options);
    struct inmo_view *view = NULL;
    struct inmo_matrix users, items, now;
    struct inmo_snapshot *held;
    const struct inmo_event event = {"somebody", "item-1", 0};
    struct inmo_id_table user_ids, item_ids;
    (void)state;
    must(inmo_view_create(model, NULL, &view, &error));
    inmo_model_ids(model, &user_ids, &item_ids);
    assert_int_equal(user_ids.count, 40);
    for (int64_t n = 0; n < user_ids.count; n++)
        assert_int_equal(inmo_view_user_row(view, user_ids.text + user_ids.offset[n]), n);
    for (int64_t n = 0; n < item_ids.count; n++)
        assert_int_equal(inmo_view_item_row(view, item_ids.text + item_ids.offset[n]), n);
    struct inmo_interactions train, valid, part;
    inmo_model_interactions(model, &train, &valid);
    inmo_dataset_part(data, "train", &part);
    assert_true(train.count == part.count && valid.count > 0 && train.users == 40 && train.items == item_ids.count);
    held = inmo_view_hold(view, &users, &items);
    float first = users.value[0], last = items.value[items.rows * items.columns - 1];
    assert_int_equal(inmo_view_user_row(view, "somebody"), -1);
    must(inmo_view_observe(view, &event, 1, &error));
    assert_int_equal(inmo_view_user_row(view, "somebody"), 40);
    must(inmo_view_refresh(view, NULL, &error));
    inmo_view_users(view, &now);
    assert_ptr_not_equal(now.value, users.value);
    assert_int_equal(now.rows, 41);
    inmo_view_free(view);
    assert_near(users.value[0], first, 0);
    assert_near(items.value[items.rows * items.columns - 1], last, 0);
    inmo_snapshot_release(held);
    inmo_model_free(model);
    inmo_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_log),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_hold),
    };
    return cmocka_run_group_tests_name("matrix", tests, enter_directory, leave_directory);
}
