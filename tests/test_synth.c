/* test_synth.c - the synthetic log: exact number of lines, the same for the same seed, no pair twice, long
 * tails, taste groups, compressed output, and refusals. */
#include "read_common.h"

#include "base/memory.h"
#include "data/alias.h"

#include <math.h>

static struct inmo_synth_options small(uint64_t interactions, uint64_t users, uint64_t items, int groups)
{
    struct inmo_synth_options options;
    inmo_synth_options_init(&options);
    options.interactions = interactions;
    options.users = users;
    options.items = items;
    options.groups = groups;
    return options;
}

static void make(const struct inmo_synth_options *options, const char *name)
{
    struct inmo_error error = {0};
    enum inmo_status status = inmo_synth(options, name, 1, NULL, &error);
    if (status != INMO_OK)
        print_error("%s\n", error.message);
    assert_int_equal(status, INMO_OK);
}

static struct inmo_log *make_and_read(const struct inmo_synth_options *options, const char *name)
{
    make(options, name);
    return read_files(&name, 1, NULL);
}

static int same_files(const char *one, const char *other)
{
    char command[200];
    snprintf(command, sizeof command, "cmp -s %s %s", one, other);
    return system(command) == 0;
}

static int compare_numbers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Every size from one line to a full table: exactly so many lines, every user there, no pair twice. */
static void counts(void **state)
{
    static const struct {
        uint64_t interactions, users, items;
        int groups;
    } cases[] = {{1, 0, 0, 12},       {2, 2, 1, 1},      {100, 0, 0, 12}, {100, 100, 12, 12},
                 {1000, 10, 100, 7},  {999, 10, 100, 7}, {5000, 0, 0, 1}, {5000, 0, 0, 200},
                 {30000, 700, 0, 12}, {30000, 0, 65, 5}, {64, 8, 8, 8},   {63, 8, 8, 3}};
    (void)state;
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
        struct inmo_synth_options options =
            small(cases[n].interactions, cases[n].users, cases[n].items, cases[n].groups);
        struct inmo_log *log = make_and_read(&options, "counts.tsv");
        int64_t *pair = malloc(cases[n].interactions * sizeof *pair);
        assert_int_equal(inmo_log_count(log), cases[n].interactions);
        assert_int_equal(log->lines, cases[n].interactions);
        if (cases[n].users)
            assert_int_equal(inmo_idtable_map(log->users).count, cases[n].users);
        if (cases[n].items)
            assert_true(inmo_idtable_map(log->items).count <= (int64_t)cases[n].items);
        for (int64_t i = 0; i < log->count; i++)
            pair[i] = (int64_t)inmo_log_user(log, i) << 32 | inmo_log_item(log, i);
        qsort(pair, (size_t)log->count, sizeof *pair, compare_numbers);
        for (int64_t i = 1; i < log->count; i++)
            assert_true(pair[i] > pair[i - 1]);
        free(pair);
        inmo_log_free(log);
    }
}

static void determinism(void **state)
{
    struct inmo_synth_options options = small(20000, 0, 0, 12);
    (void)state;
    make(&options, "one.tsv");
    make(&options, "again.tsv");
    assert_true(same_files("one.tsv", "again.tsv"));
    options.seed = 2;
    make(&options, "other.tsv");
    assert_false(same_files("one.tsv", "other.tsv"));
    /* The first lines, so that a change of what a seed means does not go unnoticed. */
    options = small(6, 2, 40, 4);
    make(&options, "first.tsv");
    expect_log("first.tsv", NULL, "u1 opera-07\nu1 opera-06\nu1 opera-01\nu1 techno-06\nu2 jazz-02\nu2 jazz-04\n");
}

static void names(void **state)
{
    struct inmo_synth_options options = small(100000, 0, 0, 100);
    struct inmo_log *log = make_and_read(&options, "names.tsv");
    struct inmo_idmap users = inmo_idtable_map(log->users), items = inmo_idtable_map(log->items);
    (void)state;
    assert_string_equal(inmo_idmap_id(&users, 0), "u0001");
    assert_string_equal(inmo_idmap_id(&users, users.count - 1), "u2500");
    for (int32_t n = 0; n < items.count; n++)
        assert_non_null(strchr(inmo_idmap_id(&items, n), '-'));
    inmo_log_free(log);
}

static int64_t *degrees(const struct inmo_log *log, int of_items, int32_t *count)
{
    struct inmo_idmap map = inmo_idtable_map(of_items ? log->items : log->users);
    int64_t *degree = calloc((size_t)map.count, sizeof *degree);
    for (int64_t n = 0; n < log->count; n++)
        degree[of_items ? inmo_log_item(log, n) : inmo_log_user(log, n)]++;
    qsort(degree, (size_t)map.count, sizeof *degree, compare_numbers);
    *count = map.count;
    return degree;
}

/* The busiest tenth has much more than a tenth, the median lies below the mean; without skew all are about
 * alike. */
static void long_tails(void **state)
{
    struct inmo_synth_options options = small(200000, 5000, 4000, 10);
    (void)state;
    for (int skewed = 0; skewed < 2; skewed++) {
        struct inmo_log *log;
        options.skew = skewed ? 0.9 : 0;
        log = make_and_read(&options, "tails.tsv");
        for (int of_items = 0; of_items < 2; of_items++) {
            int32_t count;
            int64_t top = 0, *degree = degrees(log, of_items, &count);
            double mean = (double)log->count / count, share;
            for (int32_t n = count - count / 10; n < count; n++)
                top += degree[n];
            share = (double)top / (double)log->count;
            if (skewed) {
                assert_true(share > 0.28);
                assert_true((double)degree[count / 2] < 0.75 * mean);
                assert_true((double)degree[count - 1] > 6 * mean);
            } else {
                assert_true(share < 0.15);
                assert_true((double)degree[count - 1] < 2 * mean);
            }
            free(degree);
        }
        inmo_log_free(log);
    }
}

/* Share of interactions in each user's two most frequent groups. */
static double share_of_own(const struct inmo_log *log, int groups)
{
    struct inmo_idmap users = inmo_idtable_map(log->users), items = inmo_idtable_map(log->items);
    struct inmo_idtable *names = inmo_idtable_new();
    int64_t *count = calloc((size_t)users.count * (size_t)groups, sizeof *count), own = 0;
    for (int64_t n = 0; n < log->count; n++) {
        const char *item = inmo_idmap_id(&items, inmo_log_item(log, n));
        int32_t group = inmo_idtable_intern(names, item, strcspn(item, "-"));
        assert_true(group < groups);
        count[(int64_t)inmo_log_user(log, n) * groups + group]++;
    }
    for (int32_t u = 0; u < users.count; u++) {
        qsort(count + (int64_t)u * groups, (size_t)groups, sizeof *count, compare_numbers);
        own += count[(int64_t)u * groups + groups - 1] + count[(int64_t)u * groups + groups - 2];
    }
    free(count);
    inmo_idtable_free(names);
    return (double)own / (double)log->count;
}

static void groups_of_taste(void **state)
{
    struct inmo_synth_options options = small(100000, 1000, 24000, 12);
    static const double purity[] = {0, 0.8, 1}, least[] = {0.2, 0.8, 0.9999}, most[] = {0.42, 0.88, 1};
    (void)state;
    for (int n = 0; n < 3; n++) {
        struct inmo_log *log;
        double share;
        options.purity = purity[n];
        log = make_and_read(&options, "groups.tsv");
        share = share_of_own(log, 12);
        assert_true(share >= least[n] && share <= most[n]);
        inmo_log_free(log);
    }
}

static void times(void **state)
{
    struct inmo_synth_options options = small(1000, 50, 200, 5);
    struct inmo_log *log;
    (void)state;
    options.times = 1;
    log = make_and_read(&options, "times.tsv");
    assert_true(log->has_time);
    for (int64_t n = 1; n < log->count; n++) {
        const int64_t *time = log->block[0]->time;
        assert_true(time[n] > 1577836800 && time[n] < 2000000000);
        assert_true(inmo_log_user(log, n) != inmo_log_user(log, n - 1) || time[n] > time[n - 1]);
    }
    inmo_log_free(log);
}

static void compressed(void **state)
{
    struct inmo_synth_options options = small(50000, 0, 0, 12);
    (void)state;
    make(&options, "plain.tsv");
    make(&options, "packed.tsv.gz");
    make(&options, "packed.tsv.zst");
    assert_int_equal(system("gzip -dc packed.tsv.gz | cmp - plain.tsv"), 0);
    for (int zstd = 0; zstd < 2; zstd++) {
        struct inmo_log *log =
            read_files((const char *const[]){zstd ? "packed.tsv.zst" : "packed.tsv.gz"}, 1, NULL);
        assert_int_equal(inmo_log_count(log), 50000);
        inmo_log_free(log);
    }
}

static void standard_output(void **state)
{
    struct inmo_synth_options options = small(3000, 0, 0, 12);
    struct inmo_error error;
    enum inmo_status status;
    FILE *file = fopen("out.tsv", "wb");
    int saved = dup(STDOUT_FILENO);
    (void)state;
    fflush(stdout);
    dup2(fileno(file), STDOUT_FILENO);
    status = inmo_synth(&options, "-", 0, NULL, &error);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    fclose(file);
    assert_int_equal(status, INMO_OK);
    make(&options, "file.tsv");
    assert_true(same_files("out.tsv", "file.tsv"));
}

static void refuse(const struct inmo_synth_options *options, const char *name, enum inmo_status code,
                   const char *message)
{
    struct inmo_error error = {0};
    assert_int_equal(inmo_synth(options, name, 0, NULL, &error), code);
    assert_string_equal(error.message, message);
}

static int stop_at_once(void *context)
{
    (void)context;
    return 1;
}

static void refusals(void **state)
{
    struct inmo_synth_options options = small(100, 10, 20, 5);
    struct inmo_hooks hooks = {.interrupted = stop_at_once};
    struct inmo_error error;
    (void)state;
    put("there.tsv", "old\n");
    refuse(&options, "there.tsv", INMO_EXISTS, "there.tsv exists already; `force` replaces it");
    assert_int_equal(inmo_synth(&options, "nowhere/log.tsv", 0, NULL, &error), INMO_IO);
    options = small(100, 101, 20, 5);
    refuse(&options, "no.tsv", INMO_USAGE, "`users` is 101; with `interactions` 100 it must be at most that");
    options = small(100, 10, 4, 5);
    refuse(&options, "no.tsv", INMO_USAGE, "`groups` is 5; with `items` 4 it must be at most that");
    options = small(201, 10, 20, 5);
    refuse(&options, "no.tsv", INMO_USAGE,
           "`interactions` is 201; 10 users and 20 items have room for 200 at most");
    options = small(0, 10, 20, 5);
    refuse(&options, "no.tsv", INMO_USAGE, "`interactions` is 0; it must be between 1 and 1000000000000");
    options = small(100, 10, 20, 5);
    options.purity = NAN;
    refuse(&options, "no.tsv", INMO_USAGE, "`purity` is nan; it must be between 0 and 1");
    /* Stopped: what was there stays, nothing is left aside. */
    options = small(200000, 0, 0, 12);
    assert_int_equal(inmo_synth(&options, "there.tsv", 1, &hooks, &error), INMO_INTERRUPTED);
    assert_int_equal(system("test \"$(cat there.tsv)\" = old && ! ls | grep -q part-"), 0);
}

static void short_memory(void **state)
{
    static const char *const name[] = {"m.tsv", "m.tsv.gz"};
    struct inmo_synth_options options = small(100, 10, 20, 5);
    struct inmo_error error;
    (void)state;
    for (int packing = 0; packing < 2; packing++) {
        enum inmo_status status = INMO_MEMORY;
        for (long n = 0; status == INMO_MEMORY; n++) {
            assert_true(n < 1000);
            inmo_alloc_fail_after(n);
            status = inmo_synth(&options, name[packing], 0, NULL, &error);
            inmo_alloc_fail_after(-1);
        }
        assert_int_equal(status, INMO_OK);
    }
}

/* The table gives what its formula says: a place's share is its threshold and what others give to it. */
static void alias_is_exact(void **state)
{
    static const uint32_t counts_tried[] = {1, 2, 3, 10, 1000};
    (void)state;
    for (size_t c = 0; c < 5; c++) {
        for (double exponent = 0; exponent <= 3; exponent += 0.75) {
            struct inmo_alias alias = {0};
            uint32_t count = counts_tried[c];
            double *share = calloc(count, sizeof *share), sum = 0;
            assert_true(inmo_alias_make(&alias, count, exponent));
            for (uint32_t r = 0; r < count; r++) {
                double kept = ((double)alias.threshold[r] + 1) / 0x1p32;
                share[r] += kept / count;
                share[alias.other[r]] += (1 - kept) / count;
                sum += pow(r + 1.0, -exponent);
            }
            for (uint32_t r = 0; r < count; r++)
                assert_true(fabs(share[r] - pow(r + 1.0, -exponent) / sum) < 1e-9);
            free(share);
            inmo_alias_free(&alias);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),       cmocka_unit_test(determinism),     cmocka_unit_test(names),
        cmocka_unit_test(long_tails),   cmocka_unit_test(groups_of_taste), cmocka_unit_test(times),
        cmocka_unit_test(compressed),   cmocka_unit_test(standard_output), cmocka_unit_test(refusals),
        cmocka_unit_test(short_memory), cmocka_unit_test(alias_is_exact),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
