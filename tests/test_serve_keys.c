/* test_serve_keys.c - API keys: what the file may say and what is refused, who gets which rights, keys that are
 * generated, and the allowance of each key, also from several threads at once. */
#include "support.h"

#include "server/keys.h"
#include "server/stamp.h"

#include <pthread.h>
#include <sys/stat.h>

/* The hash of some other key. */
#define OTHER "0123456789abcdefABCDEF00000000000000000000000000000000000000000f"

static char hash_of_reading[KEYS_HASH_SIZE], hash_of_writing[KEYS_HASH_SIZE], hash_of_all[KEYS_HASH_SIZE];

static int setup(void **state)
{
    struct inmo_error error = {0};
    must(keys_hash("reading", 7, hash_of_reading, &error));
    must(keys_hash("writing", 7, hash_of_writing, &error));
    must(keys_hash("all", 3, hash_of_all, &error));
    return enter_directory(state);
}

static void write_keys(const char *text)
{
    write_bytes("keys", text, strlen(text));
    assert_int_equal(chmod("keys", 0600), 0);
}

static struct keys *opened(const struct keys_options *options)
{
    struct inmo_error error = {0};
    struct keys *keys = NULL;
    must(keys_open(options, NULL, &keys, &error));
    return keys;
}

static enum keys_right right_of(const struct keys *keys, const char *key, int *which)
{
    return keys_check(keys, key, strlen(key), which);
}

static void test_hash(void **state)
{
    struct inmo_error error = {0};
    char hash[KEYS_HASH_SIZE];
    (void)state;
    must(keys_hash("abc", 3, hash, &error)); /* FIPS 180-2, appendix B.1 */
    assert_string_equal(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void test_rights(void **state)
{
    char text[1000];
    struct keys_options options = {.path = "keys", .environment = "one more admin key"};
    struct keys *keys;
    int which = 99;
    (void)state;
    snprintf(text, sizeof text,
             "# keys of the shop\n\nreporting read %s # of the dashboards\r\n\tsite\twrite %s 9999-01-01\n"
             "  root admin %s",
             hash_of_reading, hash_of_writing, hash_of_all);
    write_keys(text);
    keys = opened(&options);
    assert_int_equal(keys_count(keys), 4);
    assert_int_equal(right_of(keys, "reading", &which), KEYS_READ);
    assert_string_equal(keys_name(keys, which), "reporting");
    assert_int_equal(right_of(keys, "writing", &which), KEYS_WRITE);
    assert_string_equal(keys_name(keys, which), "site");
    assert_int_equal(right_of(keys, "all", &which), KEYS_ADMIN);
    assert_string_equal(keys_name(keys, which), "root");
    assert_int_equal(right_of(keys, "one more admin key", &which), KEYS_ADMIN);
    assert_string_equal(keys_name(keys, which), "environment");
    assert_int_equal(right_of(keys, "one more admin key", NULL), KEYS_ADMIN);
    assert_true(KEYS_NONE < KEYS_READ && KEYS_READ < KEYS_WRITE && KEYS_WRITE < KEYS_ADMIN);
    keys_close(keys);
}

static void test_no_rights(void **state)
{
    static const char *const strange[] = {"", "readin", "readingx", "Reading", "reading ", "site", "read"};
    char text[1000], *large = malloc(100000);
    struct keys_options options = {.path = "keys"};
    struct keys *keys;
    int which = 99;
    (void)state;
    assert_non_null(large);
    snprintf(text, sizeof text, "reporting read %s\nold admin %s 2020-01-01\n", hash_of_reading, hash_of_writing);
    write_keys(text);
    keys = opened(&options);
    for (size_t n = 0; n < COUNT(strange); n++) {
        which = 99;
        assert_int_equal(right_of(keys, strange[n], &which), KEYS_NONE);
        assert_int_equal(which, KEYS_ANONYMOUS);
    }
    assert_int_equal(right_of(keys, hash_of_reading, &which), KEYS_NONE); /* the file gives no key away */
    assert_int_equal(right_of(keys, "writing", &which), KEYS_NONE);       /* expired */
    assert_int_equal(keys_check(keys, NULL, 0, &which), KEYS_NONE);
    assert_int_equal(keys_check(keys, "reading\0", 8, &which), KEYS_NONE);
    memset(large, 'x', 100000);
    assert_int_equal(keys_check(keys, large, 100000, &which), KEYS_NONE);
    assert_string_equal(keys_name(keys, KEYS_ANONYMOUS), "anonymous");
    keys_close(keys);
    free(large);
    options.path = NULL;
    keys = opened(&options);
    assert_int_equal(keys_count(keys), 0);
    assert_int_equal(right_of(keys, "reading", &which), KEYS_NONE);
    assert_int_equal(right_of(keys, "", &which), KEYS_NONE);
    keys_close(keys);
}

/* A key stops being one at its expiry, not at the next rereading. */
static void test_expires_while_open(void **state)
{
    char text[1000], when[STAMP_SIZE];
    struct keys_options options = {.path = "keys"};
    struct keys *keys;
    int64_t expiry = stamp_now() + 300;
    int before, after = 1;
    (void)state;
    stamp_format(expiry, when);
    snprintf(text, sizeof text, "short read %s %s\n", hash_of_reading, when);
    write_keys(text);
    keys = opened(&options);
    before = right_of(keys, "reading", NULL) == KEYS_READ || stamp_now() >= expiry;
    while (stamp_now() < expiry)
        usleep(10000);
    after = right_of(keys, "reading", NULL);
    assert_true(before);
    assert_int_equal(after, KEYS_NONE);
    keys_close(keys);
}

static void test_bad_files(void **state)
{
    static const struct {
        const char *text, *words; /* @ stands for a hash */
    } cases[] = {
        {"# first\nsite write\n", "keys:2: expected the SHA-256 of the key \"site\""},
        {"site\n", "keys:1: expected read, write or admin"},
        {"site rw @\n", "keys:1: expected read, write or admin"},
        {"site none @\n", "keys:1: expected read, write or admin"},
        {"site write 123abc\n", "64 hexadecimal digits"},
        {"site write @0\n", "64 hexadecimal digits"},
        {"site write inmo_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n", "found the key itself"},
        {"site write @ tomorrow\n", "keys:1: found \"tomorrow\" as expiry"},
        {"site write @ 2022-02-30\n", "keys:1: found \"2022-02-30\" as expiry"},
        {"site write @ 2030-01-01 more\n", "more than name, rights, hash and expiry"},
        {"s/te write @\n", "the name of a key"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa write @\n", "the name of a key"},
        {"site write @\nsite read " OTHER "\n", "keys:2: a second key named \"site\""},
        {"site write @\nother read @\n", "keys:2: \"other\" is the same key as \"site\""},
    };
    struct inmo_error error = {0};
    struct keys_options options = {.path = "keys"};
    (void)state;
    for (size_t n = 0; n < COUNT(cases); n++) {
        char text[1000] = "";
        struct keys *keys = NULL;
        for (const char *c = cases[n].text; *c; c++)
            strcat(text, *c == '@' ? hash_of_reading : (char[]){*c, 0});
        write_keys(text);
        must_fail(keys_open(&options, NULL, &keys, &error), INMO_INPUT, cases[n].words);
        assert_null(strstr(error.message, "AAAA")); /* no key in a message, which goes to a log */
        assert_null(keys);
    }
    write_bytes("keys", "site\0 write", 11);
    chmod("keys", 0600);
    must_fail(keys_open(&options, NULL, &(struct keys *){NULL}, &error), INMO_INPUT, "NUL byte");
}

static void test_permissions(void **state)
{
    static const unsigned refused[] = {0604, 0644, 0602, 0666, 0601, 0777},
                          accepted[] = {0600, 0400, 0640, 0440, 0660};
    struct inmo_error error = {0};
    struct keys_options options = {.path = "keys"};
    struct keys *keys = NULL;
    (void)state;
    write_keys("");
    for (size_t n = 0; n < COUNT(refused); n++) {
        assert_int_equal(chmod("keys", refused[n]), 0);
        must_fail(keys_open(&options, NULL, &keys, &error), INMO_IO, "others may read or write it");
    }
    for (size_t n = 0; n < COUNT(accepted); n++) {
        assert_int_equal(chmod("keys", accepted[n]), 0);
        must(keys_open(&options, NULL, &keys, &error));
        assert_int_equal(keys_count(keys), 0);
        keys_close(keys);
        keys = NULL;
    }
    options.path = "nothing";
    must_fail(keys_open(&options, NULL, &keys, &error), INMO_IO, "nothing");
    options.path = ".";
    must_fail(keys_open(&options, NULL, &keys, &error), INMO_IO, "not an ordinary file");
    assert_int_equal(mkfifo("pipe", 0600), 0);
    options.path = "pipe"; /* and does not wait for a writer */
    must_fail(keys_open(&options, NULL, &keys, &error), INMO_IO, "not an ordinary file");
    options.path = NULL;
    options.environment = "too short";
    must_fail(keys_open(&options, NULL, &keys, &error), INMO_USAGE, "INMO_API_KEY has 9 bytes");
    options.environment = "";
    must_fail(keys_open(&options, NULL, &keys, &error), INMO_USAGE, "INMO_API_KEY has 0 bytes");
}

static void test_memory_runs_out(void **state)
{
    char text[1000];
    struct inmo_error error = {0};
    struct keys_options options = {.path = "keys", .environment = "one more admin key"};
    struct keys *keys = NULL;
    enum inmo_status status = INMO_MEMORY;
    int refused = 0;
    (void)state;
    snprintf(text, sizeof text, "a read %s\nb read %s\n", hash_of_reading, hash_of_writing);
    write_keys(text);
    for (long n = 0; status != INMO_OK; n++) {
        inmo_alloc_fail_after(n);
        status = keys_open(&options, NULL, &keys, &error);
        inmo_alloc_fail_after(-1);
        if (status != INMO_OK) {
            assert_int_equal(status, INMO_MEMORY);
            assert_null(keys);
            refused++;
        }
    }
    assert_true(refused >= 3);
    keys_close(keys);
}

static void test_generated(void **state)
{
    struct inmo_error error = {0};
    struct keys_options options = {.path = "keys"};
    enum { KEYS = 200 };
    static char key[KEYS][KEYS_SIZE];
    char hash[KEYS_HASH_SIZE], text[200], seen[64] = {0};
    int different = 0;
    (void)state;
    for (int n = 0; n < KEYS; n++) {
        must(keys_generate(key[n], hash, &error));
        assert_int_equal(strlen(key[n]), 48);
        assert_memory_equal(key[n], "inmo_", 5);
        for (const char *c = key[n] + 5; *c; c++) {
            const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", *place;
            place = strchr(digits, *c);
            assert_non_null(place);
            different += !seen[place - digits];
            seen[place - digits] = 1;
        }
        for (int k = 0; k < n; k++)
            assert_string_not_equal(key[n], key[k]);
    }
    assert_int_equal(different, 64);
    snprintf(text, sizeof text, "new write %s\n", hash);
    write_keys(text);
    {
        struct keys *keys = opened(&options);
        assert_int_equal(right_of(keys, key[KEYS - 1], NULL), KEYS_WRITE);
        assert_int_equal(right_of(keys, key[0], NULL), KEYS_NONE);
        keys_close(keys);
    }
}

/* ---- Allowance ---------------------------------------------------------------------------------------------- */

static void test_allowance(void **state)
{
    char text[1000];
    struct keys_options options = {
        .path = "keys", .rate = 10, .burst = 5, .anonymous_rate = 1, .anonymous_burst = 1};
    struct inmo_error error = {0};
    struct keys *keys, *again = NULL;
    double retry = 0, now = 1000;
    (void)state;
    snprintf(text, sizeof text, "a read %s\nb read %s\n", hash_of_reading, hash_of_writing);
    write_keys(text);
    keys = opened(&options);
    for (int n = 0; n < 5; n++)
        assert_int_equal(keys_take(keys, 0, now, &retry), 1);
    assert_int_equal(keys_take(keys, 0, now, &retry), 0);
    assert_near(retry, 0.1, 1e-6);
    assert_int_equal(keys_take(keys, 0, now + 0.06, &retry), 0);
    assert_near(retry, 0.04, 1e-6);
    assert_int_equal(keys_take(keys, 0, now + 0.1001, &retry), 1); /* one more after a tenth of a second */
    assert_int_equal(keys_take(keys, 0, now + 0.1001, &retry), 0);
    assert_int_equal(keys_take(keys, 1, now, &retry), 1); /* the other key has its own */
    assert_int_equal(keys_take(keys, KEYS_ANONYMOUS, now, &retry), 1);
    assert_int_equal(keys_take(keys, KEYS_ANONYMOUS, now, &retry), 0);
    assert_near(retry, 1, 1e-6);
    assert_int_equal(keys_take(keys, 12345, now, &retry), 0); /* no key: anonymous */
    now += 1000;                                              /* full again, and no fuller than that */
    for (int n = 0; n < 5; n++)
        assert_int_equal(keys_take(keys, 0, now, &retry), 1);
    assert_int_equal(keys_take(keys, 0, now, &retry), 0);

    /* Reread in another order: what was used up stays so. */
    snprintf(text, sizeof text, "b read %s\nc read %s\na read %s\n", hash_of_writing, hash_of_all, hash_of_reading);
    write_keys(text);
    must(keys_open(&options, keys, &again, &error));
    keys_close(keys);
    assert_int_equal(keys_take(again, 2, now, &retry), 0);
    assert_int_equal(keys_take(again, 1, now, &retry), 1);

    /* A clock that goes back costs at most one full allowance's time, not the whole jump. */
    assert_int_equal(keys_take(again, 2, now - 500, &retry), 0);
    assert_true(retry <= 0.1001);
    keys_close(again);
    options.rate = 0; /* no limit */
    again = opened(&options);
    for (int n = 0; n < 10000; n++)
        assert_int_equal(keys_take(again, 0, 0, &retry), 1);
    keys_close(again);
}

/* Steady requests for ten seconds at twice the rate: half of them pass, and the one more of the burst. */
static void test_steady_rate(void **state)
{
    struct keys_options options = {.anonymous_rate = 50, .anonymous_burst = 2};
    struct keys *keys = opened(&options);
    int passed = 0;
    double retry;
    (void)state;
    for (int n = 0; n < 1000; n++)
        passed += keys_take(keys, KEYS_ANONYMOUS, 5 + n / 100.0, &retry);
    assert_in_range(passed, 500, 502);
    keys_close(keys);
}

enum { THREADS = 4, EACH = 20000 };

static void *take_many(void *context)
{
    static _Thread_local int passed;
    double retry;
    passed = 0;
    for (int n = 0; n < EACH; n++)
        passed += keys_take(context, KEYS_ANONYMOUS, 7, &retry);
    return (void *)(intptr_t)passed;
}

/* From many threads at one moment exactly the burst passes. */
static void test_threads(void **state)
{
    struct keys_options options = {.anonymous_rate = 1, .anonymous_burst = 1000};
    struct keys *keys = opened(&options);
    pthread_t thread[THREADS];
    intptr_t sum = 0;
    (void)state;
    for (int n = 0; n < THREADS; n++)
        assert_int_equal(pthread_create(&thread[n], NULL, take_many, keys), 0);
    for (int n = 0; n < THREADS; n++) {
        void *passed = NULL;
        assert_int_equal(pthread_join(thread[n], &passed), 0);
        sum += (intptr_t)passed;
    }
    assert_int_equal(sum, 1000);
    keys_close(keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_rights),
        cmocka_unit_test(test_no_rights),
        cmocka_unit_test(test_expires_while_open),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_permissions),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_generated),
        cmocka_unit_test(test_allowance),
        cmocka_unit_test(test_steady_rate),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, setup, leave_directory);
}
