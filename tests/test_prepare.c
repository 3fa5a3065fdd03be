/* test_prepare.c - from a log to the parts: cases worked out by hand (and, for what is random, from the formulas in
 * data/split.h in another language), a deliberately naive twin for many random logs, the error messages, and every
 * allocation failing once. */
#include "base/memory.h"
#include "base/random.h"
#include "base/setting.h"
#include "data/dataset.h"
#include "data/log.h"
#include "data/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void add(struct inmo_log *log, const char *user, const char *item, int64_t time, uint8_t part)
{
    int32_t u = inmo_idtable_intern(log->users, user, strlen(user));
    int32_t i = inmo_idtable_intern(log->items, item, strlen(item));
    assert_int_equal(inmo_log_add(log, u, i, time, part), 0);
    log->lines++;
}

static struct inmo_dataset *prepare(const struct inmo_log *log, const struct inmo_prepare_options *options)
{
    struct inmo_dataset *dataset = NULL;
    struct inmo_error error = {0};
    if (inmo_dataset_prepare(log, options, &dataset, &error) != INMO_OK)
        fail_msg("%s", error.message);
    return dataset;
}

static void prepare_fails(const struct inmo_log *log, const struct inmo_prepare_options *options,
                          enum inmo_status code, const char *says)
{
    struct inmo_dataset *dataset = NULL;
    struct inmo_error error = {0};
    assert_int_equal(inmo_dataset_prepare(log, options, &dataset, &error), code);
    assert_null(dataset);
    if (!strstr(error.message, says))
        fail_msg("message \"%s\" lacks \"%s\"", error.message, says);
}

/* "1 2 3" for items 1, 2, 3 of a row. */
static void row_is(const struct inmo_csr *csr, int32_t row, const char *expected)
{
    char found[512] = "";
    for (int64_t e = csr->offset[row]; e < csr->offset[row + 1]; e++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%d", *found ? " " : "", csr->column[e]);
    assert_string_equal(found, expected);
}

/* Two users, ten items each, item n called "item-n" and numbered n. */
static struct inmo_log *two_by_ten(int has_part)
{
    struct inmo_log *log = inmo_log_new(0, has_part);
    char item[16];
    for (int u = 0; u < 2; u++)
        for (int i = 0; i < 10; i++) {
            snprintf(item, sizeof item, "item-%d", i);
            /* With a split column: 0-4 train, 5-6 valid, 7-9 test. */
            add(log, u ? "bob" : "ann", item, 0, i < 5 ? 0 : i < 7 ? 2 : 1);
        }
    return log;
}

static void by_seed(void **state)
{
    struct inmo_log *log = two_by_ten(0);
    struct inmo_prepare_options options;
    struct inmo_dataset_info info;
    struct inmo_dataset *dataset;
    (void)state;
    inmo_prepare_options_init(&options);
    dataset = prepare(log, &options);
    row_is(&dataset->train, 0, "1 2 3 5 6 7 8");
    row_is(&dataset->valid, 0, "9");
    row_is(&dataset->test, 0, "0 4");
    row_is(&dataset->train, 1, "0 1 4 5 6 7 8");
    row_is(&dataset->valid, 1, "9");
    row_is(&dataset->test, 1, "2 3");
    row_is(&dataset->later, 0, "");
    inmo_dataset_info(dataset, &info);
    assert_int_equal(info.users, 2);
    assert_int_equal(info.items, 10);
    assert_int_equal(info.train, 14);
    assert_int_equal(info.valid, 2);
    assert_int_equal(info.test, 4);
    assert_int_equal(info.later, 0);
    assert_int_equal(info.new_users, 0);
    assert_string_equal(info.scenario, "transductive");
    assert_non_null(strstr(info.description, "\"by\": \"random\""));
    assert_string_equal(inmo_idmap_id(&dataset->users, 1), "bob");
    assert_string_equal(inmo_idmap_id(&dataset->items, 9), "item-9");
    inmo_dataset_free(dataset);
    options.seed = 2;
    dataset = prepare(log, &options);
    row_is(&dataset->test, 0, "0 2");
    row_is(&dataset->test, 1, "2 7");
    inmo_dataset_free(dataset);
    options.split = "90/10/0";
    dataset = prepare(log, &options);
    row_is(&dataset->valid, 0, "0"); /* the last of the shuffle */
    assert_int_equal(inmo_csr_count(&dataset->test), 0);
    inmo_dataset_free(dataset);
    inmo_log_free(log);
}

/* Order of first appearance counts only what is kept; duplicates count once. */
static void numbers_and_duplicates(void **state)
{
    struct inmo_log *log = inmo_log_new(0, 0);
    struct inmo_prepare_options options;
    struct inmo_dataset *dataset;
    (void)state;
    add(log, "gone", "y", 0, 0); /* one interaction, repeated: below a core of 2 */
    add(log, "gone", "y", 0, 0);
    add(log, "b", "y", 0, 0);
    add(log, "a", "x", 0, 0);
    add(log, "b", "x", 0, 0);
    add(log, "a", "y", 0, 0);
    add(log, "a", "lonely", 0, 0);
    add(log, "b", "x", 0, 0);
    inmo_prepare_options_init(&options);
    options.k_core = 2;
    options.split = "100/0/0";
    dataset = prepare(log, &options);
    assert_int_equal(dataset->users.count, 2);
    assert_int_equal(dataset->items.count, 2);
    assert_string_equal(inmo_idmap_id(&dataset->users, 0), "b");
    assert_string_equal(inmo_idmap_id(&dataset->users, 1), "a");
    assert_string_equal(inmo_idmap_id(&dataset->items, 0), "y");
    assert_string_equal(inmo_idmap_id(&dataset->items, 1), "x");
    row_is(&dataset->train, 0, "0 1");
    row_is(&dataset->train, 1, "0 1");
    assert_non_null(strstr(dataset->description, "\"duplicates\": 2"));
    assert_non_null(strstr(dataset->description, "\"below_k_core\": 2"));
    inmo_dataset_free(dataset);
    inmo_log_free(log);
}

static void by_time(void **state)
{
    struct inmo_log *log = inmo_log_new(1, 0);
    struct inmo_prepare_options options;
    struct inmo_dataset *dataset;
    (void)state;
    /* Numbers: a 0, b 1, c 2, d 3, e 4. Times: e 1, b 3, a 3 (its earliest, which stands after b), c 4, d -5. */
    add(log, "u", "a", 9, 0);
    add(log, "u", "b", 3, 0);
    add(log, "u", "c", 4, 0);
    add(log, "u", "a", 3, 0);
    add(log, "u", "d", -5, 0);
    add(log, "u", "e", 1, 0);
    add(log, "u", "b", 7, 0);
    inmo_prepare_options_init(&options);
    options.by = "time";
    options.split = "60/20/20";
    dataset = prepare(log, &options);
    row_is(&dataset->train, 0, "1 3 4"); /* d e b */
    row_is(&dataset->valid, 0, "0");
    row_is(&dataset->test, 0, "2");
    inmo_dataset_free(dataset);
    inmo_log_free(log);
}

static void by_column(void **state)
{
    struct inmo_log *log = two_by_ten(1);
    struct inmo_prepare_options options;
    struct inmo_dataset *dataset;
    (void)state;
    inmo_prepare_options_init(&options); /* a split column is used without being asked for */
    dataset = prepare(log, &options);
    row_is(&dataset->train, 0, "0 1 2 3 4");
    row_is(&dataset->valid, 0, "5 6");
    row_is(&dataset->test, 0, "7 8 9");
    assert_non_null(strstr(dataset->description, "\"by\": \"column\""));
    inmo_dataset_free(dataset);
    options.hold_out = 0.4;
    dataset = prepare(log, &options);
    row_is(&dataset->train, 0, "0 1 3");
    row_is(&dataset->valid, 0, "2 4 5 6");
    row_is(&dataset->test, 0, "7 8 9");
    inmo_dataset_free(dataset);
    inmo_log_free(log);

    /* A pair in two parts: the earlier in time counts, without times the first. */
    for (int has_time = 0; has_time < 2; has_time++) {
        log = inmo_log_new(has_time, 1);
        add(log, "u", "x", 8, 1);
        add(log, "u", "x", 7, 0);
        add(log, "u", "y", 1, 0);
        options.hold_out = 0;
        dataset = prepare(log, &options);
        row_is(&dataset->train, 0, has_time ? "0 1" : "1");
        row_is(&dataset->test, 0, has_time ? "" : "0");
        inmo_dataset_free(dataset);
        inmo_log_free(log);
    }
}

/* hold-out-by: user u's items i0 ... i9 are in the training part, in this order by time, or else in the log. */
static void hold_out_by(void **state)
{
    enum { USERS = 200, ITEMS = 10 };
    (void)state;
    for (int has_time = 0; has_time < 2; has_time++) {
        struct inmo_log *log = inmo_log_new(has_time, 1);
        struct inmo_prepare_options options;
        struct inmo_dataset *dataset, *again;
        int with_run = 0, begin[ITEMS] = {0};
        char user[16], item[16];
        for (int u = 0; u < USERS; u++)
            for (int n = 0; n <= ITEMS;
                 n++) { /* with times, the log has them backwards; the last one is the test */
                int i = has_time ? ITEMS - n : n;
                snprintf(user, sizeof user, "u%d", u);
                snprintf(item, sizeof item, "i%d", i);
                add(log, user, item, i, i == ITEMS);
            }
        inmo_prepare_options_init(&options);
        options.hold_out = 0.1;
        options.hold_out_by = "last";
        dataset = prepare(log, &options);
        for (int32_t u = 0; u < USERS; u++) {
            assert_int_equal(inmo_csr_degree(&dataset->valid, u), 1);
            assert_string_equal(inmo_idmap_id(&dataset->items, dataset->valid.column[u]), "i9");
            assert_int_equal(inmo_csr_degree(&dataset->test, u), 1);
        }
        inmo_dataset_free(dataset);
        options.hold_out_by = "runs"; /* a fifth of half the users' */
        dataset = prepare(log, &options);
        again = prepare(log, &options);
        assert_int_equal(inmo_csr_count(&dataset->valid), inmo_csr_count(&again->valid));
        for (int32_t u = 0; u < USERS; u++) {
            const int32_t *moved = dataset->valid.column + dataset->valid.offset[u];
            int number[2] = {0};
            assert_int_equal(inmo_csr_degree(&dataset->train, u) + inmo_csr_degree(&dataset->valid, u), ITEMS);
            if (inmo_csr_degree(&dataset->valid, u) == 0)
                continue;
            assert_int_equal(inmo_csr_degree(&dataset->valid, u), 2);
            for (int n = 0; n < 2; n++) {
                number[n] = atoi(inmo_idmap_id(&dataset->items, moved[n]) + 1);
                assert_int_equal(again->valid.column[dataset->valid.offset[u] + n], moved[n]);
            }
            assert_int_equal(abs(number[0] - number[1]), 1);
            begin[number[0] < number[1] ? number[0] : number[1]]++;
            with_run++;
        }
        assert_true(with_run > USERS * 0.4 && with_run < USERS * 0.6);
        for (int i = 0; i + 1 < ITEMS; i++)
            assert_true(begin[i] > 0); /* from anywhere */
        inmo_dataset_free(again);
        inmo_dataset_free(dataset);
        options.hold_out = 0.95; /* nobody is left without */
        dataset = prepare(log, &options);
        for (int32_t u = 0; u < USERS; u++)
            assert_true(inmo_csr_degree(&dataset->train, u) >= 1);
        inmo_dataset_free(dataset);
        options.hold_out = 0;
        prepare_fails(log, &options, INMO_USAGE, "`hold-out-by` runs says which items `hold-out`");
        options.hold_out_by = "first";
        prepare_fails(log, &options, INMO_USAGE, "random|runs|last");
        inmo_log_free(log);
    }
}

/* What is missing is named, whether a share is given or not. */
static void hold_out_by_alone(void **state)
{
    struct inmo_log *log = two_by_ten(0);
    struct inmo_prepare_options options;
    (void)state;
    inmo_prepare_options_init(&options);
    options.hold_out_by = "runs";
    prepare_fails(log, &options, INMO_USAGE, "`hold-out-by` needs a split column");
    options.hold_out = 0.1;
    prepare_fails(log, &options, INMO_USAGE, "`hold-out` needs a split column");
    inmo_log_free(log);
}

static void new_interactions(void **state)
{
    struct inmo_log *log = two_by_ten(0);
    struct inmo_prepare_options options;
    struct inmo_dataset *dataset;
    (void)state;
    inmo_prepare_options_init(&options);
    options.scenario = "new-interactions";
    dataset = prepare(log, &options);
    row_is(&dataset->train, 0, "1 2 3 6 7"); /* floor(0.8 * 7) */
    row_is(&dataset->later, 0, "5 8");
    row_is(&dataset->valid, 0, "9");
    row_is(&dataset->test, 0, "0 4");
    assert_int_equal(dataset->scenario, INMO_NEW_INTERACTIONS);
    inmo_dataset_free(dataset);
    inmo_log_free(log);
}

static void new_users_items(void **state)
{
    struct inmo_log *log = inmo_log_new(0, 0);
    struct inmo_prepare_options options;
    struct inmo_dataset *all, *dataset;
    struct inmo_dataset_info info;
    char user[16], item[16];
    (void)state;
    for (int u = 0; u < 10; u++)
        for (int i = 0; i < 10; i++) {
            snprintf(user, sizeof user, "u%d", u);
            snprintf(item, sizeof item, "i%d", i);
            add(log, user, item, 0, 0);
        }
    inmo_prepare_options_init(&options);
    all = prepare(log, &options);
    options.scenario = "new-users-items";
    dataset = prepare(log, &options);
    inmo_dataset_info(dataset, &info);
    assert_int_equal(info.new_users, 2);
    assert_int_equal(info.new_items, 2);
    for (int n = 0; n < 10; n++) {
        assert_int_equal(dataset->new_user[n], n == 4 || n == 5);
        assert_int_equal(dataset->new_item[n], n == 7 || n == 8);
    }
    for (int32_t u = 0; u < 10; u++)
        for (int32_t i = 0; i < 10; i++) {
            int is_new = dataset->new_user[u] || dataset->new_item[i];
            int train = inmo_csr_has(&all->train, u, i), valid = inmo_csr_has(&all->valid, u, i);
            assert_int_equal(inmo_csr_has(&dataset->train, u, i), train && !is_new);
            assert_int_equal(inmo_csr_has(&dataset->later, u, i), train && is_new);
            assert_int_equal(inmo_csr_has(&dataset->valid, u, i), valid && !is_new);
            assert_int_equal(inmo_csr_has(&dataset->aside, u, i), valid && is_new);
            assert_int_equal(inmo_csr_has(&dataset->test, u, i), inmo_csr_has(&all->test, u, i));
        }
    assert_int_equal(info.valid + info.aside, 10);
    assert_true(info.aside > 0);
    assert_int_equal(info.train + info.later, 70);
    inmo_dataset_free(dataset);
    inmo_dataset_free(all);
    inmo_log_free(log);
}

/* The log in which "late" and "z" come last, though the users and items before them come again after them. */
static void the_last_are_new(void **state)
{
    static const char *const PAIR[][2] = {
        {"b", "y"}, {"a", "x"}, {"c", "y"}, {"b", "w"},    {"d", "v"}, {"a", "y"}, {"late", "y"},
        {"d", "z"}, {"b", "x"}, {"a", "v"}, {"late", "z"}, {"c", "x"}, {"d", "w"},
    };
    enum { PAIRS = sizeof PAIR / sizeof *PAIR };
    static const char *const LATER[3][2] = {{"d", "z"}, {"late", "y"}, {"late", "z"}};
    struct inmo_log *log = inmo_log_new(0, 0);
    struct inmo_prepare_options options;
    struct inmo_dataset *dataset, *other;
    int later = 0;
    (void)state;
    for (int n = 0; n < PAIRS; n++)
        add(log, PAIR[n][0], PAIR[n][1], 0, 0);
    inmo_prepare_options_init(&options);
    options.split = "100/0/0";
    options.scenario = "new-users-items";
    options.new_choice = "last";
    dataset = prepare(log, &options);
    assert_int_equal(dataset->users.count, 5); /* a fifth is one of each */
    assert_int_equal(dataset->items.count, 5);
    for (int32_t n = 0; n < 5; n++) {
        assert_int_equal(dataset->new_user[n], strcmp(inmo_idmap_id(&dataset->users, n), "late") == 0);
        assert_int_equal(dataset->new_item[n], strcmp(inmo_idmap_id(&dataset->items, n), "z") == 0);
    }
    for (int32_t u = 0; u < 5; u++)
        for (int32_t i = 0; i < 5; i++)
            for (int n = 0; n < 3; n++)
                if (strcmp(inmo_idmap_id(&dataset->users, u), LATER[n][0]) == 0 &&
                    strcmp(inmo_idmap_id(&dataset->items, i), LATER[n][1]) == 0)
                    later += inmo_csr_has(&dataset->later, u, i);
    assert_int_equal(later, 3);
    assert_int_equal(inmo_csr_count(&dataset->later), 3);
    assert_int_equal(inmo_csr_count(&dataset->train), PAIRS - 3);
    assert_non_null(strstr(dataset->description, "\"new-choice\": \"last\""));
    options.seed = 2; /* no draw */
    other = prepare(log, &options);
    assert_memory_equal(other->new_user, dataset->new_user, 5);
    assert_memory_equal(other->new_item, dataset->new_item, 5);
    inmo_dataset_free(other);
    options.new_share = 0.7; /* floor(3.5) */
    other = prepare(log, &options);
    assert_memory_equal(other->new_user, "\0\0\1\1\1", 5);
    assert_memory_equal(other->new_item, "\0\0\1\1\1", 5);
    inmo_dataset_free(other);
    inmo_dataset_free(dataset);

    /* The default, said or not, is what was always drawn, and is described as before there was a choice. */
    options.new_share = 0.4;
    options.new_choice = NULL;
    dataset = prepare(log, &options);
    options.new_choice = "random";
    other = prepare(log, &options);
    assert_string_equal(other->description, dataset->description);
    assert_null(strstr(dataset->description, "new-choice"));
    assert_memory_equal(other->new_user, dataset->new_user, 5);
    inmo_dataset_free(other);
    inmo_dataset_free(dataset);
    options.new_choice = "first";
    prepare_fails(log, &options, INMO_USAGE, "`new-choice`");
    inmo_log_free(log);
}

/* The naive twin: matrices, and filters repeated until nothing changes. */
enum { SIDE = 24 };

static void compare_with_twin(uint64_t seed, int interactions, int k)
{
    static const char *const BY[] = {"random", "time", "column"};
    struct inmo_log *log = inmo_log_new(1, 1);
    struct inmo_prepare_options options;
    struct inmo_dataset *dataset = NULL;
    struct inmo_error error;
    int present[SIDE][SIDE] = {{0}}, changed = 1, total = 0;
    int32_t user_number[SIDE], item_number[SIDE], users = 0, items = 0;
    char user[16], item[16];
    for (int n = 0; n < interactions; n++) {
        uint64_t bits = inmo_random(seed, (uint64_t)n);
        int u = (int)(bits >> 59) % SIDE;
        int i = (int)(bits >> 54 & 31) * (int)(bits >> 49 & 31) % SIDE; /* some items are popular */
        snprintf(user, sizeof user, "u%d", u);
        snprintf(item, sizeof item, "i%d", i);
        add(log, user, item, (int64_t)(bits & 7), (uint8_t)(n % 3));
        present[u][i] = 1;
    }
    while (changed) {
        changed = 0;
        for (int a = 0; a < SIDE; a++) {
            int row = 0, column = 0;
            for (int b = 0; b < SIDE; b++) {
                row += present[a][b];
                column += present[b][a];
            }
            for (int b = 0; b < SIDE; b++) {
                changed |= (row < k && present[a][b]) || (column < k && present[b][a]);
                present[a][b] = present[a][b] && row >= k;
                present[b][a] = present[b][a] && column >= k;
            }
        }
    }
    for (int a = 0; a < SIDE; a++) {
        user_number[a] = item_number[a] = -1;
        for (int b = 0; b < SIDE; b++)
            total += present[a][b];
    }
    for (int64_t n = 0; n < log->count; n++) {
        struct inmo_idmap user_map = inmo_idtable_map(log->users), item_map = inmo_idtable_map(log->items);
        int u = atoi(inmo_idmap_id(&user_map, inmo_log_user(log, n)) + 1);
        int i = atoi(inmo_idmap_id(&item_map, inmo_log_item(log, n)) + 1);
        if (!present[u][i])
            continue;
        if (user_number[u] < 0)
            user_number[u] = users++;
        if (item_number[i] < 0)
            item_number[i] = items++;
    }
    inmo_prepare_options_init(&options);
    options.k_core = k;
    options.by = BY[seed % 3];
    options.seed = seed;
    options.hold_out = seed % 6 == 5 ? 0.3 : 0;
    if (total == 0) {
        assert_int_equal(inmo_dataset_prepare(log, &options, &dataset, &error), INMO_INPUT);
    } else {
        dataset = prepare(log, &options);
        assert_int_equal(dataset->users.count, users);
        assert_int_equal(dataset->items.count, items);
        assert_int_equal(inmo_csr_count(&dataset->train) + inmo_csr_count(&dataset->valid) +
                             inmo_csr_count(&dataset->test),
                         total);
        for (int u = 0; u < SIDE; u++)
            for (int i = 0; i < SIDE; i++) {
                int32_t row = user_number[u], column = item_number[i];
                if (row >= 0 && column >= 0)
                    assert_int_equal(inmo_csr_has(&dataset->train, row, column) +
                                         inmo_csr_has(&dataset->valid, row, column) +
                                         inmo_csr_has(&dataset->test, row, column),
                                     present[u][i]);
            }
        for (int u = 0; u < SIDE; u++) {
            int64_t n = 0;
            if (user_number[u] < 0)
                continue;
            snprintf(user, sizeof user, "u%d", u);
            assert_string_equal(inmo_idmap_id(&dataset->users, user_number[u]), user);
            for (int i = 0; i < SIDE; i++)
                n += present[u][i];
            if (seed % 3 != 2) {
                assert_int_equal(inmo_csr_degree(&dataset->train, user_number[u]), n == 1 ? 1 : n * 7 / 10);
                assert_int_equal(inmo_csr_degree(&dataset->test, user_number[u]), n * 2 / 10);
            }
        }
    }
    inmo_dataset_free(dataset);
    inmo_log_free(log);
}

static void naive_twin(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++)
        compare_with_twin(seed, 60 + (int)seed * 2, (int)(seed / 3 % 7));
}

/* A chain falls apart from its ends, one at a time: many rounds, but linear. */
static void long_chain(void **state)
{
    enum { LENGTH = 100000 };
    struct inmo_log *log = inmo_log_new(0, 0);
    struct inmo_prepare_options options;
    struct inmo_dataset *dataset;
    char user[16], item[16];
    (void)state;
    for (int n = 0; n < LENGTH; n++) {
        snprintf(user, sizeof user, "u%d", n);
        snprintf(item, sizeof item, "i%d", n);
        add(log, user, item, 0, 0);
        snprintf(item, sizeof item, "i%d", n + 1);
        add(log, user, item, 0, 0);
    }
    inmo_prepare_options_init(&options);
    options.k_core = 2;
    prepare_fails(log, &options, INMO_INPUT, "200000 removed by `k-core` 2");
    add(log, "u0", "i100000", 0, 0); /* a ring stays */
    add(log, "u1", "i0", 0, 0);
    dataset = prepare(log, &options);
    assert_int_equal(dataset->users.count, LENGTH);
    assert_int_equal(dataset->items.count, LENGTH + 1);
    inmo_dataset_free(dataset);
    inmo_log_free(log);
}

/* What a user gets does not depend on those who come later. */
static void users_are_independent(void **state)
{
    struct inmo_log *log = two_by_ten(0);
    struct inmo_prepare_options options;
    struct inmo_dataset *dataset;
    (void)state;
    add(log, "zoe", "item-3", 0, 0);
    add(log, "zoe", "item-99", 0, 0);
    inmo_prepare_options_init(&options);
    dataset = prepare(log, &options);
    row_is(&dataset->test, 0, "0 4");
    row_is(&dataset->test, 1, "2 3");
    row_is(&dataset->train, 2, "10"); /* floor(1.4) of them; the shuffle swapped the two */
    row_is(&dataset->valid, 2, "3");  /* the rest */
    row_is(&dataset->test, 2, "");    /* floor(0.4) */
    inmo_dataset_free(dataset);
    inmo_log_free(log);
}

static void shares(void **state)
{
    static const char *const BAD[] = {
        "",           "70",        "70/30",     "70/10/20/0", "70/10/21",
        "0/50/50",    "a/b/c",     "70/10/20 ", " 70/10/20",  "70/+10/20",
        "-10/90/20",  "70//30",    "70./10/20", ".7/.1/.2",   "99.99999999/0/0.00000001",
        "100000/0/0", "nan/0/100", "70,10,20",  "7e1/10/20"};
    struct inmo_split split = {1, 2, 3};
    struct inmo_error error;
    (void)state;
    for (size_t n = 0; n < sizeof BAD / sizeof BAD[0]; n++) {
        assert_int_equal(inmo_split_parse(BAD[n], &split, &error), INMO_USAGE);
        assert_non_null(strstr(error.message, "`split`"));
    }
    assert_int_equal(split.valid, 2);
    assert_int_equal(inmo_split_parse("72.5/7.4999999/20.0000001", &split, &error), INMO_OK);
    assert_int_equal(split.train, 725000000);
    assert_int_equal(split.test, 200000001);
    assert_int_equal(inmo_split_parse("100/0/0", &split, NULL), INMO_OK);
    assert_int_equal(inmo_share_of(inmo_share(0.1), 10), 1);
    assert_int_equal(inmo_share_of(INMO_WHOLE - inmo_share(0.9), 10), 1);
    assert_int_equal(inmo_share_of(inmo_share(0.29), 100), 29);
    assert_int_equal(inmo_share_of(INMO_WHOLE, INT32_MAX), INT32_MAX);
}

static void errors_name_the_option(void **state)
{
    struct inmo_log *log = two_by_ten(0), *empty = inmo_log_new(0, 0);
    struct inmo_prepare_options options, wrong;
    (void)state;
    inmo_prepare_options_init(&options);
    prepare_fails(empty, &options, INMO_INPUT, "nothing is left: 0 interactions read");
    empty->lines = 50;
    empty->low_rating_lines = 48;
    empty->bad_lines = 2;
    empty->highest_rating = 2.5;
    prepare_fails(empty, &options, INMO_INPUT,
                  "50 interactions read, 48 not rated > 3 (`min-rating`) "
                  "(highest rating seen 2.5), 2 passed over as bad lines");
    add(log, "ann", "item-1", 0, 0);
    wrong = options;
    wrong.k_core = 3;
    prepare_fails(log, &wrong, INMO_INPUT,
                  "21 interactions read, 1 merged as duplicates, 20 removed by `k-core` 3");
    wrong = options;
    wrong.k_core = -1;
    prepare_fails(log, &wrong, INMO_USAGE, "`k-core` is -1");
    wrong = options;
    wrong.by = "time";
    prepare_fails(log, &wrong, INMO_USAGE, "`columns`");
    wrong = options;
    wrong.by = "column";
    prepare_fails(log, &wrong, INMO_USAGE, "`columns`");
    wrong = options;
    wrong.by = "magic";
    prepare_fails(log, &wrong, INMO_USAGE, "random|time|cut|column");
    wrong = options;
    wrong.scenario = "new";
    prepare_fails(log, &wrong, INMO_USAGE, "`scenario` is \"new\"");
    wrong = options;
    wrong.hold_out = 0.1;
    prepare_fails(log, &wrong, INMO_USAGE, "`hold-out`");
    wrong = options;
    wrong.hold_out = 1.5;
    prepare_fails(log, &wrong, INMO_USAGE, "`hold-out` is 1.5; it must be between 0 and 1");
    wrong = options;
    wrong.new_share = 0.0 / 0.0;
    prepare_fails(log, &wrong, INMO_USAGE, "`new-share`");
    wrong = options;
    wrong.seed = UINT64_MAX;
    prepare_fails(log, &wrong, INMO_USAGE, "`seed` is 18446744073709551615");
    wrong = options;
    wrong.split = "70/10/10";
    prepare_fails(log, &wrong, INMO_USAGE, "sum to 100");
    wrong = options;
    wrong.scenario = "new-users-items";
    wrong.new_share = 1;
    prepare_fails(log, &wrong, INMO_INPUT, "nothing is left to train on");
    assert_int_equal(inmo_dataset_prepare(empty, &options, NULL, NULL), INMO_INPUT); /* no error structure */
    inmo_log_free(empty);
    inmo_log_free(log);
}

static void settings(void **state)
{
    struct inmo_prepare_options options;
    const struct inmo_setting *table;
    size_t count;
    char *json;
    (void)state;
    inmo_prepare_options_init(&options);
    table = inmo_prepare_settings(&count);
    assert_int_equal(inmo_settings_check(table, count, &options, NULL), INMO_OK);
    assert_ptr_equal(inmo_setting_find(table, count, "seed")->name, table[4].name);
    assert_null(inmo_setting_find(table, count, "see"));
    options.split = "\"\\\n\xfe";
    json = inmo_settings_json(table, count, &options);
    assert_string_equal(json,
                        "{\"k-core\": 0, \"split\": \"\\\"\\\\\\u000a\\ufffd\", \"by\": null, \"hold-out\": 0, "
                        "\"seed\": 1, \"scenario\": \"transductive\", \"new-share\": 0.20000000000000001, "
                        "\"new-choice\": \"random\", \"cut\": null, \"last\": 0, \"weight-scale\": \"log\", "
                        "\"half-life\": null, \"hold-out-by\": \"random\"}");
    inmo_free(json);
    inmo_alloc_fail_after(0);
    assert_null(inmo_settings_json(table, count, &options));
    inmo_alloc_fail_after(-1);
}

static void memory_may_be_short(void **state)
{
    static const char *const BY[] = {"random", "time", "column"};
    static const char *const SCENARIO[] = {"transductive", "new-interactions", "new-users-items"};
    struct inmo_log *log = inmo_log_new(1, 1);
    struct inmo_prepare_options options;
    char user[16], item[16];
    (void)state;
    for (int n = 0; n < 400; n++) {
        snprintf(user, sizeof user, "u%d", n % 20);
        snprintf(item, sizeof item, "i%d", n * 7 % 19);
        add(log, user, item, -n, n % 5 == 0);
    }
    inmo_prepare_options_init(&options);
    for (int n = 0; n < 9; n++) {
        enum inmo_status status = INMO_MEMORY;
        struct inmo_dataset *dataset = NULL;
        long allowed = 0;
        options.k_core = 3;
        options.by = BY[n % 3];
        options.scenario = SCENARIO[n / 3];
        options.hold_out = n % 3 == 2 ? 0.1 : 0;
        for (; status != INMO_OK; allowed++) {
            inmo_alloc_fail_after(allowed);
            status = inmo_dataset_prepare(log, &options, &dataset, NULL);
            inmo_alloc_fail_after(-1);
            assert_true(status == INMO_OK || (status == INMO_MEMORY && !dataset));
        }
        assert_true(allowed > 20);
        inmo_dataset_free(dataset);
    }
    inmo_log_free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_seed),          cmocka_unit_test(numbers_and_duplicates),
        cmocka_unit_test(by_time),          cmocka_unit_test(by_column),
        cmocka_unit_test(hold_out_by),      cmocka_unit_test(hold_out_by_alone),
        cmocka_unit_test(new_interactions), cmocka_unit_test(new_users_items),
        cmocka_unit_test(the_last_are_new), cmocka_unit_test(naive_twin),
        cmocka_unit_test(long_chain),       cmocka_unit_test(users_are_independent),
        cmocka_unit_test(shares),           cmocka_unit_test(errors_name_the_option),
        cmocka_unit_test(settings),         cmocka_unit_test(memory_may_be_short),
    };
    return cmocka_run_group_tests_name("prepare", tests, NULL, NULL);
}
