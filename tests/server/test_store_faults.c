/* test_store_faults.c - a file that is damaged, foreign, of another version or in use; a disk that is full and has
 * space again; a log that stays short. */
#include "store_world.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void execute(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void a_file_in_use_is_refused_and_says_by_whom(void **state)
{
    struct store *store = opened(fresh_url()), *second = NULL;
    struct inmo_error error = {0};
    char who[64];
    pid_t child;
    int out[2], ended;
    (void)state;
    snprintf(who, sizeof who, "process %d", (int)getpid());
    must_fail(store_open(store_url, 0, 0, &second, &error), INMO_EXISTS, who);
    must(store_open(store_url, 1, 1, &second, &error)); /* reading needs no lock */
    store_close(second);
    store_close(store);

    /* kill -9 gives it back */
    assert_int_equal(pipe(out), 0);
    child = fork();
    if (!child) {
        store = opened(store_url);
        if (write(out[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(out[0], who, 1), 1);
    must_fail(store_open(store_url, 0, 0, &second, &error), INMO_EXISTS, "in use by another server");
    kill(child, SIGKILL);
    waitpid(child, &ended, 0);
    store_close(opened(store_url));
    close(out[0]);
    close(out[1]);
}

static void what_is_no_store_of_ours_is_refused(void **state)
{
    struct inmo_error error = {0};
    struct store *store = NULL;
    (void)state;
    must_fail(store_open("nowhere.db", 1, 0, &store, &error), INMO_IO, "nowhere.db");
    must_fail(store_open("no/folder/x.db", 0, 0, &store, &error), INMO_IO, "no/folder/x.db");
    must_fail(store_open(".", 0, 0, &store, &error), INMO_FORMAT, "not an event store");
    write_bytes("text.db", "user,item\nann,tea\nthis is a long enough text to be no header at all............\n",
                80);
    must_fail(store_open("text.db", 0, 0, &store, &error), INMO_FORMAT, "text.db is not an event store of inmo");
    assert_false(store_is_store("text.db"));
    execute("foreign.db", "CREATE TABLE t(a); INSERT INTO t VALUES(1);");
    must_fail(store_open("foreign.db", 0, 0, &store, &error), INMO_FORMAT, "another SQLite database");
    must_fail(store_open("foreign.db", 1, 1, &store, &error), INMO_FORMAT, "another SQLite database");
    assert_true(store_is_store("foreign.db"));
    store_close(opened("newer.db"));
    execute("newer.db", "PRAGMA user_version=2");
    must_fail(store_open("newer.db", 0, 0, &store, &error), INMO_FORMAT, "version 2; this program knows version 1");
    write_bytes("empty.db", "", 0); /* as touch or mktemp leave it */
    store_close(opened("empty.db"));
}

/* Every kind of damage is refused or goes unnoticed until the page is read; none crashes. */
static void a_damaged_file_is_refused(void **state)
{
    struct inmo_error error = {0};
    struct bytes whole;
    int refused = 0;
    (void)state;
    struct store *store = opened("good.db");
    for (int n = 0; n < 400; n++) {
        char user[16], item[16];
        snprintf(user, sizeof user, "u%d", n % 40);
        snprintf(item, sizeof item, "i%d", n);
        wrote(store, added("like", user, item));
    }
    store_close(store);
    whole = read_bytes("good.db");
    write_bytes("cut.db", whole.at, whole.count / 2 / 4096 * 4096);
    must_fail(store_open("cut.db", 1, 0, &store, &error), INMO_FORMAT, "cut.db is damaged");
    for (size_t page = 0; page < whole.count / 4096; page++) {
        struct written *out = calloc(1, sizeof *out);
        unsigned char saved[4096];
        enum inmo_status status;
        memcpy(saved, whole.at + 4096 * page, 4096);
        memset(whole.at + 4096 * page + (page ? 0 : 16), 0x5a, 512);
        write_bytes("bad.db", whole.at, whole.count);
        memcpy(whole.at + 4096 * page, saved, 4096);
        store = NULL;
        status = store_open("bad.db", 1, 0, &store, &error);
        if (!status)
            status = store_changes(store, 0, 0, put_change, out, NULL, &error);
        if (status) {
            if (status != INMO_FORMAT)
                fail_msg("page %zu: %s", page, error.message);
            refused++;
        }
        store_close(store);
        free(out);
    }
    assert_true(refused >= 3);
    free(whole.at);
    execute("good.db", "INSERT INTO feedback VALUES(1000000, 999, 1, 1, NULL, NULL)");
    must_fail(store_open("good.db", 1, 0, &store, &error), INMO_FORMAT, "damaged");
}

static int count_row(void *context, const struct store_change *change)
{
    (void)change;
    ++*(int *)context;
    return 1;
}

static int rows_of(struct store *store)
{
    struct inmo_error error = {0};
    int rows = 0;
    must(store_changes(store, 0, 1, count_row, &rows, NULL, &error));
    return rows;
}

/* A limit on the size of files, as a full disk or a quota would stop the log. */
static void a_full_disk_refuses_writes_until_there_is_space(void **state)
{
    struct store *store = opened(fresh_url());
    struct inmo_error error = {0};
    struct store_counts before, after;
    struct rlimit limit = {256 << 10, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
    static char big[65536], item[16];
    struct store_change change;
    int written = 0, tries = 0;
    enum inmo_status status = INMO_OK;
    (void)state;
    memset(big, 'x', sizeof big - 1);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (; !status && tries < 100; tries++) {
        snprintf(item, sizeof item, "i%d", tries);
        change = feedback_of(STORE_ADD_FEEDBACK, "like", "ann", item, 0, big);
        status = store_write(store, &change, 1, &error);
        written += !status;
    }
    assert_int_equal(status, INMO_IO);
    assert_non_null(strstr(error.message, "no space left"));
    assert_int_equal(store_trouble(store), STORE_FULL);
    must(store_count(store, &before, &error)); /* reads go on */
    assert_int_equal(before.feedback, written);
    assert_int_equal(rows_of(store), written);
    must_fail(store_write(store, &change, 1, &error), INMO_IO, "no space left");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    must(store_write(store, &change, 1, &error));
    assert_int_equal(change.affected, 1);
    assert_int_equal(store_trouble(store), STORE_FINE);
    store_close(store);
    store = opened(store_url);
    must(store_count(store, &after, &error));
    assert_int_equal(after.feedback, written + 1);
    store_close(store);
}

/* A reader that takes its time over every row does not keep the log from starting over. */
static int slow_row(void *context, const struct store_change *change)
{
    static struct store_change batch[1000];
    static char item[1000][24];
    struct inmo_error error = {0};
    int *rounds = context;
    struct store *store = *(struct store **)(rounds + 2);
    (void)change;
    for (int n = 0; n < 1000 && *rounds < 300; n++) {
        snprintf(item[n], sizeof item[n], "i%d-%d", *rounds, n);
        batch[n] =
            feedback_of(STORE_ADD_FEEDBACK, "like", "bob", item[n], 0, "a comment of some length, for the log");
    }
    if (*rounds < 300)
        must(store_write(store, batch, 1000, &error));
    ++*rounds;
    return 1;
}

static void the_log_stays_short_beside_a_slow_reader(void **state)
{
    struct {
        int rounds, unused;
        struct store *store;
    } context = {0, 0, opened(fresh_url())};
    struct inmo_error error = {0};
    struct stat file;
    char name[300];
    (void)state;
    for (int n = 0; n < 300; n++) {
        char item[16];
        snprintf(item, sizeof item, "first%d", n);
        wrote(context.store, added("like", "ann", item));
    }
    must(store_changes(context.store, 0, 1, slow_row, &context, NULL, &error));
    assert_true(context.rounds >= 300);
    snprintf(name, sizeof name, "%s-wal", store_url);
    assert_int_equal(stat(name, &file), 0);
    assert_true(file.st_size < 80 << 20);
    store_close(context.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_in_use_is_refused_and_says_by_whom),
        cmocka_unit_test(what_is_no_store_of_ours_is_refused),
        cmocka_unit_test(a_damaged_file_is_refused),
        cmocka_unit_test(a_full_disk_refuses_writes_until_there_is_space),
        cmocka_unit_test(the_log_stays_short_beside_a_slow_reader),
    };
    return cmocka_run_group_tests_name("faults of a store in a file", tests, enter_directory, leave_directory);
}
