/* test_read.c - what can be read: every format, every packing, headers, columns, several files, hooks. */
#include "read_common.h"

#include "base/memory.h"

#include <fcntl.h>
#include <math.h>
#include <sys/wait.h>

/* ---- Delimited ----------------------------------------------------------------------------------------------- */

static void two_columns(void **state)
{
    (void)state;
    put("a.tsv", "ana\tjazz-1\nben\tjazz-2\nana\tjazz-2\nana\tjazz-1\n");
    expect_log("a.tsv", NULL, "ana jazz-1\nben jazz-2\nana jazz-2\nana jazz-1\n");
    put("a.csv", "ana,jazz 1\nben,jazz 2\n");
    expect_log("a.csv", NULL, "ana jazz 1\nben jazz 2\n");
    put("a.txt", "ana;x 1\nben;x 2\n");
    expect_log("a.txt", NULL, "ana x 1\nben x 2\n");
    put("a.txt", "ana|x\nben|y\n");
    expect_log("a.txt", NULL, "ana x\nben y\n");
    put("a.txt", "1 10\n1 11\n2 10\n");
    expect_log("a.txt", NULL, "1 10\n1 11\n2 10\n");
}

static void line_ends(void **state)
{
    (void)state;
    put("crlf.csv", "\xef\xbb\xbfuser,item\r\nana,x\r\n\r\n   \r\nben,y");
    expect_log("crlf.csv", NULL, "ana x\nben y\n");
    put("bom.tsv", "\xef\xbb\xbf"
                   "ana\tx\n");
    expect_log("bom.tsv", NULL, "ana x\n");
    put("one.tsv", "ana\tx");
    expect_log("one.tsv", NULL, "ana x\n");
    put("blank.tsv", "\n\n\nana\tx\n\n");
    expect_log("blank.tsv", NULL, "ana x\n");
}

static void ratings(void **state)
{
    struct inmo_read_options options = defaults();
    struct inmo_log *log;
    const char *name = "r.tsv";
    (void)state;
    put(name, "a\tx\t5\na\ty\t3\nb\tx\t3.0001\nb\ty\t-1\nb\tz\t 4e0 \n");
    log = read_files(&name, 1, &options);
    assert_string_equal(show_log(log), "a x\nb x\nb z\n");
    assert_int_equal(log->lines, 5);
    assert_int_equal(log->low_rating_lines, 2);
    assert_int_equal(log->bad_lines, 0);
    assert_true(log->highest_rating == 5);
    assert_string_equal(log->sources, "r.tsv");
    inmo_log_free(log);
    options.min_rating = 4; /* at least */
    expect_log(name, &options, "a x\nb z\n");
    options.keep_all_ratings = 1;
    expect_log(name, &options, "a x\na y\nb x\nb y\nb z\n");
    put("n.tsv", "a\tx\n");
    name = "n.tsv";
    log = read_files(&name, 1, NULL);
    assert_true(isnan(log->highest_rating));
    inmo_log_free(log);
}

static void times(void **state)
{
    (void)state;
    put("t.tsv", "a\tx\t5\t100\na\ty\t5\t100.9\na\tz\t5\t-0.5\na\tw\t5\t1.5e9\n"
                 "b\tx\t5\t2024-02-29\nb\ty\t5\t2024-02-29 12:30:15\nb\tz\t5\t2024-02-29T12:30:15Z\n"
                 "b\tw\t5\t2024-02-29T12:30:15.25+01:30\nb\tv\t5\t1969-12-31T23:59:59Z\n");
    expect_log("t.tsv", NULL,
               "a x @100\na y @100\na z @-1\na w @1500000000\nb x @1709164800\nb y @1709209815\nb z @1709209815\n"
               "b w @1709204415\nb v @-1\n");
}

/* Three columns without a header: a rating, unless all of them are plainly times. */
static void third_column(void **state)
{
    (void)state;
    put("t.tsv", "a\tx\t1700000000\nb\ty\t1700000001.5\n");
    expect_log("t.tsv", NULL, "a x @1700000000\nb y @1700000001\n");
    put("t.tsv", "a\tx\t2024-02-29\nb\ty\t2024-02-29 12:30:15\n");
    expect_log("t.tsv", NULL, "a x @1709164800\nb y @1709209815\n");
    put("t.tsv", "a\tx\t1700000000\nb\ty\t4\n");
    expect_log("t.tsv", NULL, "a x\nb y\n");
    put("t.tsv", "a\tx\t-4\nb\ty\t1e9\n");
    expect_log("t.tsv", NULL, "b y\n");
}

static void splits(void **state)
{
    struct inmo_read_options options = defaults();
    (void)state;
    options.columns = "user,item,split";
    put("s.tsv", "a\tx\t0\na\ty\t1\na\tz\t2\nb\tx\ttrain\nb\ty\ttest\nb\tz\tvalid\nb\tw\tvalidation\n");
    expect_log("s.tsv", &options, "a x 0\na y 1\na z 2\nb x 0\nb y 1\nb z 2\nb w 2\n");
    put("h.csv", "split,item_id,timestamp,user_id\ntest,x,5,a\n");
    expect_log("h.csv", NULL, "a x @5 1\n");
}

static void quotes(void **state)
{
    (void)state;
    put("q.csv", "\"user\",\"item\",\"rating\"\n\"ana, of York\",\"the \"\"best\"\"\",\"5\"\nben,\"\"\"\",4\n"
                 "\"c\",\"two\nlines\",5\r\n\"d\",e\"f,5\n");
    expect_log("q.csv", NULL, "ana, of York the \"best\"\nben \"\nc two\nlines\nd e\"f\n");
    put("q.tsv", "\"ana\tx\"\nben\ty\n");
    expect_log("q.tsv", NULL, "\"ana x\"\nben y\n");
    put("text.csv", "user_id,text,business_id\na,\"line 1\nline 2, \"\"quoted\"\"\n\nline 4\",x\nb,short,y\n");
    expect_log("text.csv", NULL, "a x\nb y\n");
}

static void headers(void **state)
{
    static const char *const header[] = {"user,item,rating,time",
                                         "userId,movieId,rating,timestamp",
                                         "reviewerID,asin,overall,unixReviewTime",
                                         "USER_ID,BUSINESS_ID,STARS,DATE",
                                         "uid,iid,score,date",
                                         "user-id,Product ID,Rating,Time"};
    struct inmo_read_options options = defaults();
    char text[200];
    (void)state;
    for (size_t n = 0; n < sizeof header / sizeof header[0]; n++) {
        snprintf(text, sizeof text, "%s\na,x,4,7\n", header[n]);
        put("h.csv", text);
        expect_log("h.csv", NULL, "a x @7\n");
    }
    put("h.csv", "review,item,who,user\nr1,x,?,a\nr2,y,?,b\n");
    expect_log("h.csv", NULL, "a x\nb y\n");
    options.header = "no";
    put("h.csv", "user,item\na,x\n");
    expect_log("h.csv", &options, "user item\na x\n");
    options = defaults();
    options.columns = "item,user,rating";
    put("h.csv", "product,person,grade\nx,a,4\n");
    expect_log("h.csv", &options, "a x\n");
    options.columns = "item,user";
    options.header = "yes";
    put("h.csv", "thing,person\nx,a\n");
    expect_log("h.csv", &options, "a x\n");
}

static void separators(void **state)
{
    struct inmo_read_options options = defaults();
    (void)state;
    put("s.txt", "a b:c d\ne:f\n");
    options.separator = ":";
    expect_log("s.txt", &options, "a b c d\ne f\n");
    options.separator = "colon";
    expect_log("s.txt", &options, "a b c d\ne f\n");
    put("s.txt", "a, b<>c\ne<>f\n");
    options.separator = "<>";
    expect_log("s.txt", &options, "a, b c\ne f\n");
    put("s.txt", "a b,c\n");
    options.separator = "space";
    expect_log("s.txt", &options, "a b,c\n");
}

/* ---- The other formats --------------------------------------------------------------------------------------- */

static void lists(void **state)
{
    struct inmo_read_options options = defaults();
    (void)state;
    put("train.txt", "0 10 11 12\n1 10\n2 \n3 12 13\n");
    expect_log("train.txt", NULL, "0 10\n0 11\n0 12\n1 10\n3 12\n3 13\n");
    put("same.txt", "0 10 11\n1 10 12\n");
    options.format = "list";
    expect_log("same.txt", &options, "0 10\n0 11\n1 10\n1 12\n");
    put("tabs.txt", "0\t10  11\t\n");
    expect_log("tabs.txt", &options, "0 10\n0 11\n");
}

static void inter(void **state)
{
    struct inmo_read_options options = defaults();
    (void)state;
    put("ml.inter", "user_id:token\titem_id:token\trating:float\ttimestamp:float\n1\t20\t4\t8.8e8\n1\t21\t2\t5\n");
    expect_log("ml.inter", NULL, "1 20 @880000000\n");
    options.format = "inter";
    expect_log("ml.inter", &options, "1 20 @880000000\n");
    put("i.inter", "item_id:token\tlabel:float\tuser_id:token\n20\t0\tu\n");
    expect_log("i.inter", NULL, "u 20\n");
}

static void movielens(void **state)
{
    struct inmo_read_options options = defaults();
    (void)state;
    put("ratings.dat", "1::1193::5::978300760\n1::661::3::978302109\n2::1193::4::978298413\n");
    expect_log("ratings.dat", NULL, "1 1193 @978300760\n2 1193 @978298413\n");
    options.format = "movielens";
    expect_log("ratings.dat", &options, "1 1193 @978300760\n2 1193 @978298413\n");
}

static void gowalla(void **state)
{
    struct inmo_read_options options = defaults();
    (void)state;
    put("checkins.txt", "0\t2010-10-19T23:55:27Z\t30.2359091167\t-97.7951395833\t22847\n"
                        "0\t2010-10-18T22:17:43Z\t30.2691029532\t-97.7493953705\t420315\n");
    expect_log("checkins.txt", NULL, "0 22847 @1287532527\n0 420315 @1287440263\n");
    options.format = "gowalla";
    expect_log("checkins.txt", &options, "0 22847 @1287532527\n0 420315 @1287440263\n");
}

static void amazon(void **state)
{
    struct inmo_read_options options = defaults();
    (void)state;
    put("books.csv", "AH2L9G3DQHHAJ,0000000116,4.0,1019865600\nA2IIIDRK3PRRZY,0000000116,1.0,1395619200\n");
    expect_log("books.csv", NULL, "AH2L9G3DQHHAJ 0000000116 @1019865600\n");
    options.format = "amazon";
    expect_log("books.csv", &options, "AH2L9G3DQHHAJ 0000000116 @1019865600\n");
}

static void yelp(void **state)
{
    struct inmo_read_options options = defaults();
    (void)state;
    put("review.json",
        "{\"review_id\":\"r\",\"user_id\":\"u1\",\"business_id\":\"b\\u00e9\",\"stars\":4.0,"
        "\"text\":\"a\\n, \\\"b\\\"\",\"date\":\"2018-07-07 22:09:11\"}\n"
        "{\"user_id\":7,\"business_id\":\"b2\",\"stars\":5,\"date\":1531001351}\n"
        "{\"user_id\":\"u1\",\"business_id\":\"b2\",\"stars\":1.0,\"date\":\"2018-07-07 22:09:11\"}\n");
    expect_log("review.json", NULL, "u1 b\xc3\xa9 @1531001351\n7 b2 @1531001351\n");
    options.format = "yelp";
    expect_log("review.json", &options, "u1 b\xc3\xa9 @1531001351\n7 b2 @1531001351\n");
    put("amazon.json", "{\"reviewerID\":\"A\",\"asin\":\"B\",\"overall\":5.0,\"unixReviewTime\":1252800000}\n");
    expect_log("amazon.json", NULL, "A B @1252800000\n");
}

/* ---- Packing, standard input, long files
 * ---------------------------------------------------------------------- */

static void packed(void **state)
{
    static const char first[] = "ana\tx\nben\t", second[] = "y\ncid\tz\n";
    unsigned char bytes[1000];
    size_t size;
    (void)state;
    /* A member ends inside a line; padding of zeros follows the last. */
    size = pack_gzip(first, strlen(first), bytes, sizeof bytes);
    size += pack_gzip(second, strlen(second), bytes + size, sizeof bytes - size);
    memset(bytes + size, 0, 100);
    put_bytes("two.gz", bytes, size + 100);
    expect_log("two.gz", NULL, "ana x\nben y\ncid z\n");
    put_bytes("no-name", bytes, size);
    expect_log("no-name", NULL, "ana x\nben y\ncid z\n");
    /* A skippable frame, then two frames. */
    memcpy(bytes,
           "\x50\x2a\x4d\x18\x03\x00\x00\x00"
           "abc",
           11);
    size = 11 + pack_zstd(first, strlen(first), bytes + 11, sizeof bytes - 11);
    size += pack_zstd(second, strlen(second), bytes + size, sizeof bytes - size);
    put_bytes("two.zst", bytes, size);
    expect_log("two.zst", NULL, "ana x\nben y\ncid z\n");
}

/* What a child writes into a pipe in small pieces is read as standard input. */
static void standard_input(void **state)
{
    static const char text[] = "\xef\xbb\xbfuser\titem\r\nana\tx\r\nben\ty\r\n";
    unsigned char bytes[200];
    size_t sizes[2] = {strlen(text), pack_gzip(text, strlen(text), bytes, sizeof bytes)};
    int saved = dup(STDIN_FILENO);
    (void)state;
    for (int packing = 0; packing < 2; packing++) {
        int ends[2], result;
        pid_t child;
        assert_int_equal(pipe(ends), 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            for (size_t n = 0; n < sizes[packing]; n++)
                if (write(ends[1], packing ? (const char *)bytes + n : text + n, 1) != 1)
                    _exit(1);
            _exit(0);
        }
        close(ends[1]);
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        expect_log("-", NULL, "ana x\nben y\n");
        waitpid(child, &result, 0);
        assert_int_equal(result, 0);
    }
    close(STDIN_FILENO);
    assert_int_equal(open("/dev/null", O_RDONLY), STDIN_FILENO);
    expect_error("-", NULL, INMO_INPUT, "standard input is empty");
    dup2(saved, STDIN_FILENO);
    close(saved);
}

/* Some megabytes in lines of many lengths, so that reads cut lines everywhere, plain and packed. */
static void many_lines(void **state)
{
    enum { LINES = 200000 };
    static const char *const name[] = {"many.tsv", "many.gz", "many.zst"};
    size_t size = 0, room = (size_t)LINES * 64;
    char *text = malloc(room);
    unsigned char *bytes = malloc(room);
    (void)state;
    for (int n = 0; n < LINES; n++)
        size += (size_t)sprintf(text + size, "user%d\titem%0*d\n", n / 7, n % 30 + 1, n % 1000);
    put_bytes(name[0], text, size);
    put_bytes(name[1], bytes, pack_gzip(text, size, bytes, room));
    put_bytes(name[2], bytes, pack_zstd(text, size, bytes, room));
    for (int packing = 0; packing < 3; packing++) {
        struct inmo_log *log = read_files(&name[packing], 1, NULL);
        struct inmo_idmap users = inmo_idtable_map(log->users), items = inmo_idtable_map(log->items);
        assert_int_equal(inmo_log_count(log), LINES);
        for (int n = 0; n < LINES; n++) {
            char user[40], item[64];
            snprintf(user, sizeof user, "user%d", n / 7);
            snprintf(item, sizeof item, "item%0*d", n % 30 + 1, n % 1000);
            assert_string_equal(inmo_idmap_id(&users, inmo_log_user(log, n)), user);
            assert_string_equal(inmo_idmap_id(&items, inmo_log_item(log, n)), item);
        }
        inmo_log_free(log);
    }
    free(bytes);
    free(text);
}

/* Quoted fields of many lengths, line ends and all, so that reads cut records everywhere; every thousandth line
 * has an open quote, which must cost no more than that line however far the search for its end went. */
static void many_quotes(void **state)
{
    enum { RECORDS = 30000 };
    struct inmo_read_options options = defaults();
    size_t size = 0, room = (size_t)RECORDS * 400;
    char *text = malloc(room);
    struct inmo_log *log;
    struct inmo_idmap items;
    int broken = 0, good = 0;
    (void)state;
    size += (size_t)sprintf(text, "user,text,item\n");
    for (int n = 0; n < RECORDS; n++) {
        size += (size_t)sprintf(text + size, "u%d,\"", n);
        for (int m = 0; m < n % 40; m++)
            size += (size_t)sprintf(text + size, m % 7 == 3 ? "line\r\n" : m % 7 == 5 ? "a \"\"b\"\", " : "word ");
        size += (size_t)sprintf(text + size, "\",\"i\"\"%d\"\n", n);
        if (n % 1000 == 999)
            size += (size_t)sprintf(text + size, "bad,\" word,bad\n");
        broken += n % 1000 == 999;
    }
    put_bytes("quotes.csv", text, size);
    options.skip_bad = (uint64_t)broken;
    log = read_files((const char *const[]){"quotes.csv"}, 1, &options);
    items = inmo_idtable_map(log->items);
    assert_int_equal(log->bad_lines, broken);
    assert_int_equal(inmo_log_count(log), RECORDS);
    for (int n = 0; n < RECORDS; n++) {
        char item[40];
        snprintf(item, sizeof item, "i\"%d", n);
        good += strcmp(inmo_idmap_id(&items, inmo_log_item(log, n)), item) == 0;
    }
    assert_int_equal(good, RECORDS);
    inmo_log_free(log);
    free(text);
}

/* A list line of 5 MB is fine: the limit is 8. */
static void long_line(void **state)
{
    enum { ITEMS = 500000 };
    const char *name = "long.txt";
    char *text = malloc(ITEMS * 11 + 100);
    size_t size = (size_t)sprintf(text, "u");
    struct inmo_log *log;
    (void)state;
    for (int n = 0; n < ITEMS; n++)
        size += (size_t)sprintf(text + size, " i%08d", n);
    size += (size_t)sprintf(text + size, "\nv i0\n");
    put_bytes(name, text, size);
    log = read_files(&name, 1, NULL);
    assert_int_equal(inmo_log_count(log), ITEMS + 1);
    inmo_log_free(log);
    free(text);
}

/* ---- Several files, hooks, memory
 * ----------------------------------------------------------------------------- */

static void several_files(void **state)
{
    static const char *const name[] = {"one.tsv", "two.csv", "three.txt"};
    struct inmo_log *log;
    (void)state;
    put(name[0], "a\tx\nb\ty\n");
    put(name[1], "item,user\ny,a\n");
    put(name[2], "c x y z\nd x\n");
    log = read_files(name, 3, NULL);
    assert_string_equal(show_log(log), "a x\nb y\na y\nc x\nc y\nc z\nd x\n");
    assert_int_equal(log->lines, 5);
    assert_string_equal(log->sources, "one.tsv,two.csv,three.txt");
    inmo_log_free(log);
    put("time.tsv", "a\tx\t5\t1\n");
    expect_errors(
        (const char *const[]){"one.tsv", "time.tsv"}, 2, NULL, INMO_INPUT,
        "time.tsv has a time column and one.tsv has none, expected files alike; `columns` can make them so");
    expect_errors(
        (const char *const[]){"time.tsv", "one.tsv"}, 2, NULL, INMO_INPUT,
        "one.tsv has no time column and time.tsv has one, expected files alike; `columns` can make them so");
}

struct heard {
    char note[400], warning[400];
    double done, total;
    int stop;
};

static void hear(void *context, enum inmo_level level, const char *sentence)
{
    struct heard *heard = context;
    snprintf(level == INMO_NOTE ? heard->note : heard->warning, sizeof heard->note, "%s", sentence);
}

static void see(void *context, const struct inmo_progress *progress)
{
    struct heard *heard = context;
    assert_string_equal(progress->stage, "reading");
    assert_string_equal(progress->unit, "bytes");
    heard->done = progress->done;
    heard->total = progress->total;
}

static int stop(void *context)
{
    return ((struct heard *)context)->stop;
}

static void hooks(void **state)
{
    struct heard heard = {0};
    struct inmo_hooks hook = {&heard, hear, see, stop};
    struct inmo_read_options options = defaults();
    struct inmo_error error;
    struct inmo_log *log = NULL;
    const char *name = "h.csv";
    (void)state;
    put(name, "user,item,rating\na,x,5\na,y,good\na,z\na,w,4\n");
    options.skip_bad = 2;
    assert_int_equal(inmo_log_read(&name, 1, &options, &hook, &log, &error), INMO_OK);
    assert_string_equal(heard.note, "reading h.csv as comma-separated user,item,rating with header");
    assert_string_equal(heard.warning,
                        "passed over 2 bad lines of 4; the first: h.csv:3: found the rating \"good\", "
                        "expected a finite number");
    assert_true(heard.done == 42 && heard.total == 42);
    assert_int_equal(log->bad_lines, 2);
    assert_string_equal(show_log(log), "a x\na w\n");
    inmo_log_free(log);
    heard.stop = 1;
    assert_int_equal(inmo_log_read(&name, 1, &options, &hook, &log, &error), INMO_INTERRUPTED);
}

/* Fail allocation 0, 1, 2, ... until the call succeeds: always MEMORY, and nothing is lost. */
static void short_memory(void **state)
{
    static const char *const name[] = {"m.csv", "m.gz"};
    unsigned char bytes[300];
    static const char text[] = "user,item,rating,time\na,\"x \"\"y\"\"\",5,1\nb,z,4,2\n";
    struct inmo_error error = {0};
    struct inmo_log *log = NULL;
    enum inmo_status status = INMO_MEMORY;
    (void)state;
    put(name[0], text);
    put_bytes(name[1], bytes, pack_gzip(text, strlen(text), bytes, sizeof bytes));
    for (long n = 0; status == INMO_MEMORY; n++) {
        assert_true(n < 1000);
        inmo_alloc_fail_after(n);
        status = inmo_log_read(name, 2, NULL, NULL, &log, &error);
        inmo_alloc_fail_after(-1);
    }
    assert_int_equal(status, INMO_OK);
    assert_int_equal(inmo_log_count(log), 4);
    inmo_log_free(log);
}

static void from_pairs(void **state)
{
    static const char *const user[] = {"a", "b", "a"}, *const item[] = {"x", "x", "y"},
                             *const bad[] = {"x", "", NULL};
    static const int64_t time[] = {3, 2, 1};
    struct inmo_error error;
    struct inmo_log *log = NULL;
    (void)state;
    assert_int_equal(inmo_log_from_pairs(3, user, item, time, &log, &error), INMO_OK);
    assert_string_equal(show_log(log), "a x @3\nb x @2\na y @1\n");
    inmo_log_free(log);
    assert_int_equal(inmo_log_from_pairs(0, NULL, NULL, NULL, &log, &error), INMO_OK);
    assert_int_equal(inmo_log_count(log), 0);
    inmo_log_free(log);
    assert_int_equal(inmo_log_from_pairs(3, user, bad, NULL, &log, &error), INMO_INPUT);
    assert_string_equal(error.message, "pair 2: found an empty item, expected an id");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_columns),    cmocka_unit_test(line_ends),    cmocka_unit_test(ratings),
        cmocka_unit_test(times),          cmocka_unit_test(splits),       cmocka_unit_test(quotes),
        cmocka_unit_test(headers),        cmocka_unit_test(separators),   cmocka_unit_test(lists),
        cmocka_unit_test(inter),          cmocka_unit_test(movielens),    cmocka_unit_test(gowalla),
        cmocka_unit_test(amazon),         cmocka_unit_test(yelp),         cmocka_unit_test(packed),
        cmocka_unit_test(standard_input), cmocka_unit_test(many_lines),   cmocka_unit_test(long_line),
        cmocka_unit_test(several_files),  cmocka_unit_test(hooks),        cmocka_unit_test(short_memory),
        cmocka_unit_test(from_pairs),     cmocka_unit_test(third_column), cmocka_unit_test(many_quotes),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
