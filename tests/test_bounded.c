/* test_bounded.c - what a bounded preparation is made of: temporary files, the sorter, the text of a source; and
 * that it survives every failed allocation and every request to stop. That its data sets have the bytes of an
 * unbounded one is tested from outside (tests/cli/cases_bounded.py). */
#include "read_common.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/scratch.h"
#include "data/sorter.h"

#include <dirent.h>
#include <sys/stat.h>

/* ---- The sorter ---------------------------------------------------------------------------------------------- */

struct entry {
    uint64_t word[3];
    size_t place;
};

static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->word[0] >> 2 != y->word[0] >> 2)
        return x->word[0] >> 2 < y->word[0] >> 2 ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Sorts count records with so many different keys and compares with the obvious way. */
static size_t check_sorter(size_t count, uint64_t different, int words, size_t memory, size_t kept, size_t merging)
{
    struct inmo_scratch scratch = {".", NULL};
    struct inmo_sorter sorter = {0};
    struct inmo_error error;
    struct entry *entry = malloc((count + 1) * sizeof *entry);
    const uint64_t *record;
    size_t runs;
    assert_int_equal(inmo_sorter_make(&sorter, &scratch, words, memory, &error), INMO_OK);
    for (size_t n = 0; n < count; n++) {
        uint64_t key = inmo_random(7, n) % different;
        entry[n] = (struct entry){{inmo_sort_key((int32_t)(key * 40503 % 2147483647), (int32_t)(key % 97), n & 3),
                                   inmo_random(8, n), ~(uint64_t)n},
                                  n};
        assert_int_equal(inmo_sorter_add(&sorter, entry[n].word, &error), INMO_OK);
    }
    qsort(entry, count, sizeof *entry, compare);
    assert_int_equal(inmo_sorter_end(&sorter, kept, merging, &error), INMO_OK);
    runs = sorter.run_count;
    for (size_t n = 0; n < count; n++) {
        assert_int_equal(inmo_sorter_next(&sorter, &record, &error), INMO_OK);
        assert_non_null(record);
        assert_memory_equal(record, entry[n].word, (size_t)words * sizeof *record);
    }
    for (int n = 0; n < 2; n++) {
        assert_int_equal(inmo_sorter_next(&sorter, &record, &error), INMO_OK);
        assert_null(record);
    }
    inmo_sorter_free(&sorter);
    free(entry);
    return runs;
}

static void sorts_stably_in_memory_in_runs_and_in_levels(void **state)
{
    (void)state;
    for (int words = 1; words <= 3; words++) {
        assert_int_equal(check_sorter(0, 1, words, 4096, 4096, 65536), 0);
        assert_int_equal(check_sorter(0, 1, words, 4096, 0, 65536), 0);
        assert_int_equal(check_sorter(1, 1, words, 4096, 4096, 65536), 0);
        assert_int_equal(check_sorter(5000, 1000, words, 1 << 20, 1 << 20, 65536), 0); /* all in memory */
        assert_int_equal(check_sorter(5000, 1000, words, 1 << 20, 0, 65536), 1);       /* but may not stay there */
        assert_int_equal(check_sorter(5000, 1 << 30, words, 8192 * (size_t)words, 0, 1 << 20), 10);
        assert_true(check_sorter(60000, 3000, words, 1024, 0, 65536) <= 4); /* hundreds of runs, four buffers */
        check_sorter(20000, 1, words, 4096, 0, 65536);                      /* one key: the order of arrival */
    }
}

/* ---- Temporary files ----------------------------------------------------------------------------------------- */

static int names_here(void)
{
    DIR *folder = opendir(".");
    int count = 0;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 2;
}

static void a_tape_gives_back_what_it_took_and_has_no_name(void **state)
{
    struct inmo_scratch scratch = {".", NULL};
    struct inmo_tape tape = INMO_NO_TAPE;
    struct inmo_tape_reader reader = {0};
    struct inmo_error error;
    const void *data;
    int before = names_here();
    (void)state;
    assert_int_equal(inmo_tape_open(&tape, &scratch, 100, &error), INMO_OK);
    for (uint32_t n = 0; n < 1000; n++)
        assert_int_equal(inmo_tape_add(&tape, &n, 4, &error), INMO_OK);
    assert_int_equal(inmo_tape_end(&tape, &error), INMO_OK);
    assert_int_equal(inmo_tape_size(&tape), 4000);
    assert_int_equal(names_here(), before);
    for (int64_t begin = 0; begin < 4000; begin += 1333 / 4 * 4) {
        assert_int_equal(inmo_tape_read(&reader, &tape, begin, 4000, 64, &error), INMO_OK);
        for (uint32_t n = (uint32_t)begin / 4; n < 1000; n++) {
            assert_int_equal(inmo_tape_next(&reader, 4, &data, &error), INMO_OK);
            assert_memory_equal(data, &n, 4);
        }
        assert_int_equal(inmo_tape_next(&reader, 4, &data, &error), INMO_OK);
        assert_null(data);
        inmo_tape_read_end(&reader);
    }
    inmo_tape_close(&tape);
    inmo_tape_close(&tape);
    scratch.folder = "./nowhere";
    assert_int_equal(inmo_tape_open(&tape, &scratch, 100, &error), INMO_IO);
    assert_non_null(strstr(error.message, "cannot make temporary files in ./nowhere: "));
}

/* ---- A source ------------------------------------------------------------------------------------------------ */

struct pieces {
    const char *text;
    size_t at, piece;
    size_t fails_at; /* 0: never */
};

static enum inmo_status read_pieces(void *context, char *to, size_t room, size_t *got, struct inmo_error *error)
{
    struct pieces *from = context;
    size_t left = strlen(from->text) - from->at, size = from->piece < room ? from->piece : room;
    if (from->fails_at && from->at >= from->fails_at) {
        error->code = INMO_IO;
        strcpy(error->message, "the line was cut");
        return INMO_IO;
    }
    *got = size < left ? size : left;
    memcpy(to, from->text + from->at, *got);
    from->at += *got;
    return INMO_OK;
}

static void a_source_is_read_as_a_file_of_its_text(void **state)
{
    static const char text[] =
        "when,user_id,Item,stars\n2024-01-02,\"a, b\",x,5\n2024-01-01,c,\"y\nz\",1\n1,c,x,4\n";
    struct pieces pieces = {text, 0, 0, 0};
    struct inmo_source source = {"a database", read_pieces, &pieces};
    struct inmo_read_options options;
    struct inmo_error error;
    const char *user[2], *item[2];
    int64_t time[2];
    (void)state;
    inmo_read_options_init(&options);
    options.columns = "time,user,item,rating";
    put("log.csv", text);
    for (pieces.piece = 1; pieces.piece < 70; pieces.piece += 7) {
        struct inmo_log *from_file = NULL, *from_source = NULL;
        const char *path = "log.csv";
        pieces.at = 0;
        assert_int_equal(inmo_log_read(&path, 1, &options, NULL, &from_file, &error), INMO_OK);
        assert_int_equal(inmo_log_read_source(&source, &options, NULL, &from_source, &error), INMO_OK);
        assert_int_equal(inmo_log_count(from_file), 2);
        assert_int_equal(inmo_log_count(from_source), 2);
        for (int64_t n = 0; n < 2; n++) {
            assert_true(inmo_log_at(from_file, n, &user[0], &item[0], &time[0]));
            assert_true(inmo_log_at(from_source, n, &user[1], &item[1], &time[1]));
            assert_string_equal(user[0], user[1]);
            assert_string_equal(item[0], item[1]);
            assert_int_equal(time[0], time[1]);
        }
        inmo_log_free(from_source);
        inmo_log_free(from_file);
    }
    pieces = (struct pieces){text, 0, 10, 40};
    struct inmo_log *log = NULL;
    assert_int_equal(inmo_log_read_source(&source, &options, NULL, &log, &error), INMO_IO);
    assert_string_equal(error.message, "the line was cut");
    assert_null(log);
    pieces = (struct pieces){"who,what\n1,2\n", 0, 10, 0};
    options.columns = NULL;
    assert_int_equal(inmo_log_read_source(&source, &options, NULL, &log, &error), INMO_INPUT);
    assert_non_null(strstr(error.message, "a database:1: found the header"));
}

/* ---- Failures in the middle ---------------------------------------------------------------------------------- */

static void write_log(const char *name, int lines)
{
    FILE *stream = fopen(name, "w");
    fprintf(stream, "user,item,rating,time,event\n");
    for (int n = 0; n < lines; n++)
        fprintf(stream, "u%d,i%d,%d,%d,%s\n", (int)(inmo_random(1, (uint64_t)n) % 30000),
                (int)(inmo_random(2, (uint64_t)n) % 3000), 1 + n % 5, n % 1000, n % 7 ? "buy" : "return");
    fclose(stream);
}

static enum inmo_status prepare(int k_core, const char *by, const struct inmo_hooks *hooks,
                                struct inmo_error *error)
{
    const char *path = "log.csv";
    struct inmo_prepared *prepared = NULL;
    struct inmo_prepare_options options;
    struct inmo_read_options read;
    enum inmo_status status;
    inmo_prepare_options_init(&options);
    inmo_read_options_init(&read);
    options.k_core = k_core;
    options.by = by;
    read.negative = "return";
    status = inmo_prepare_bounded(&path, 1, NULL, &read, &options, 4 << 20, "data", 1, hooks, &prepared, error);
    inmo_prepared_free(prepared);
    return status;
}

static void every_failed_allocation_is_reported_and_leaves_nothing(void **state)
{
    struct inmo_error error;
    enum inmo_status status = INMO_MEMORY;
    long n = 0;
    (void)state;
    write_log("log.csv", 60000);
    for (; status != INMO_OK && n < 2000; n += 1 + n / 40) {
        if (system("rm -rf data") != 0)
            fail();
        inmo_alloc_fail_after(n);
        status = prepare(2, n % 2 ? "time" : "random", NULL, &error);
        inmo_alloc_fail_after(-1);
        assert_true(status == INMO_OK || status == INMO_MEMORY);
        if (status == INMO_MEMORY)
            assert_int_equal(names_here(), 1); /* the log */
    }
    assert_int_equal(status, INMO_OK);
    assert_true(n > 60);
}

struct patience {
    int left;
};

static int ask(void *context)
{
    struct patience *patience = context;
    return patience->left-- <= 0;
}

static void stops_when_asked_at_any_moment(void **state)
{
    struct patience patience;
    struct inmo_hooks hooks = {.interrupted = ask, .context = &patience};
    struct inmo_error error;
    enum inmo_status status = INMO_INTERRUPTED;
    int n = 0;
    (void)state;
    write_log("log.csv", 60000);
    for (; status != INMO_OK && n < 10000; n += 1 + n / 10) {
        if (system("rm -rf data") != 0)
            fail();
        patience.left = n;
        status = prepare(n % 3, "random", &hooks, &error);
        assert_true(status == INMO_OK || status == INMO_INTERRUPTED);
        if (status == INMO_INTERRUPTED) {
            assert_non_null(strstr(error.message, "was stopped on request"));
            assert_int_equal(names_here(), 1);
        }
    }
    assert_int_equal(status, INMO_OK);
    assert_true(n > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sorts_stably_in_memory_in_runs_and_in_levels, enter_directory,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(a_tape_gives_back_what_it_took_and_has_no_name, enter_directory,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(a_source_is_read_as_a_file_of_its_text, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(every_failed_allocation_is_reported_and_leaves_nothing, enter_directory,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(stops_when_asked_at_any_moment, enter_directory, leave_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
