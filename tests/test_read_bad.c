/* test_read_bad.c - what cannot be read, and the exact sentence that says so. */
#include "read_common.h"

#include <sys/stat.h>

/* A file and the error it gives. */
static void refuse(const char *name, const char *text, const char *message)
{
    put(name, text);
    expect_error(name, NULL, INMO_INPUT, message);
}

static void column_counts(void **state)
{
    (void)state;
    refuse("a.tsv", "a\tx\t5\na\ty\n", "a.tsv:2: found 2 columns, expected 3 (user,item,rating)");
    refuse("a.tsv", "a\tx\nb\ty\nc\n", "a.tsv:3: found 1 column, expected 2 (user,item)");
    refuse("a.tsv", "a\tx\na\ty\t4\n", "a.tsv:2: found 3 columns, expected 2 (user,item)");
    refuse("a.csv", "user,text,item\na,b,c\na,b,c,\n", "a.csv:3: found 4 columns, expected 3 (user,-,item)");
    refuse(
        "a.tsv", "1\t2\t3\t4\t5\n",
        "a.tsv:1: found 5 columns without a header, expected 2 to 4 (user,item,rating,time); `columns` says which "
        "column is which");
    refuse("a.txt", "alone\n",
           "a.txt:1: found 1 column in \"alone\", expected at least a user and an item; "
           "`separator` says what stands between them");
}

static void numbers(void **state)
{
    struct inmo_read_options options = defaults();
    (void)state;
    refuse("n.tsv", "a\tx\t5\na\ty\tfive\n", "n.tsv:2: found the rating \"five\", expected a finite number");
    refuse("n.tsv", "a\tx\t5\na\ty\tnan\n", "n.tsv:2: found the rating \"nan\", expected a finite number");
    refuse("n.tsv", "a\tx\t5\na\ty\tNaN\n", "n.tsv:2: found the rating \"NaN\", expected a finite number");
    refuse("n.tsv", "a\tx\t5\na\ty\tinf\n", "n.tsv:2: found the rating \"inf\", expected a finite number");
    refuse("n.tsv", "a\tx\t5\na\ty\t1e999\n", "n.tsv:2: found the rating \"1e999\", expected a finite number");
    refuse("n.tsv", "a\tx\t5\na\ty\t\n", "n.tsv:2: found the rating \"\", expected a finite number");
    refuse("n.tsv", "a\tx\t5\na\ty\t0x10\n", "n.tsv:2: found the rating \"0x10\", expected a finite number");
    refuse("n.tsv", "a\tx\t5\na\ty\t4,5\n", "n.tsv:2: found the rating \"4,5\", expected a finite number");
    refuse(
        "n.tsv", "a\tx\t5\t0\na\ty\t5\tnever\n",
        "n.tsv:2: found the time \"never\", expected seconds or a date such as 2024-01-31 or 2024-01-31T23:59:59Z");
    refuse("n.tsv", "a\tx\t5\t0\na\ty\t5\t2023-02-29\n",
           "n.tsv:2: found the time \"2023-02-29\", expected seconds or a date such as 2024-01-31 or "
           "2024-01-31T23:59:59Z");
    refuse(
        "n.tsv", "a\tx\t5\t0\na\ty\t5\t1e30\n",
        "n.tsv:2: found the time \"1e30\", expected seconds or a date such as 2024-01-31 or 2024-01-31T23:59:59Z");
    options.columns = "user,item,split";
    put("n.tsv", "a\tx\t0\na\ty\t3\n");
    expect_error("n.tsv", &options, INMO_INPUT,
                 "n.tsv:2: found the split \"3\", expected 0 or train, 1 or test, 2 or valid");
}

static void ids(void **state)
{
    char text[8000] = "a\tx\na\t";
    (void)state;
    refuse("i.tsv", "a\tx\n\ty\n", "i.tsv:2: found an empty user, expected an id");
    refuse("i.tsv", "a\tx\na\t\n", "i.tsv:2: found an empty item, expected an id");
    put_bytes("i.tsv", "a\tx\nb\0c\ty\n", 10);
    expect_error("i.tsv", NULL, INMO_INPUT, "i.tsv:2: found a NUL byte in the user, expected text");
    put_bytes("i.tsv", "a\tx\n\0\0\0\0", 8);
    expect_error("i.tsv", NULL, INMO_INPUT, "i.tsv:2: found a NUL byte, expected text");
    put_bytes("i.tsv", "a\tx\nb\tlong-item-\0-c\n", 21);
    expect_error("i.tsv", NULL, INMO_INPUT, "i.tsv:2: found a NUL byte in the item, expected text");
    refuse("i.tsv", "a\tx\na\tcaf\xe9\n",
           "i.tsv:2: found the byte 0xe9 in the item, expected UTF-8 text; `encoding` names another one, such as "
           "latin-1");
    refuse("i.tsv", "a\tx\na\toverlong \xc0\xaf\n",
           "i.tsv:2: found the byte 0xc0 in the item, expected UTF-8 text; `encoding` names another one, such as "
           "latin-1");
    refuse("i.tsv", "a\tx\na\tsurrogate \xed\xa0\x80\n",
           "i.tsv:2: found the byte 0xed in the item, expected UTF-8 text; `encoding` names another one, such as "
           "latin-1");
    memset(text + 6, 'z', 4097);
    refuse("i.tsv", text, "i.tsv:2: found an item of 4097 bytes, expected at most 4096");
    text[6 + 4096] = '\n';
    put_bytes("i.tsv", text, 6 + 4097);
    inmo_log_free(read_files((const char *const[]){"i.tsv"}, 1, NULL));
    put("u.tsv", "Zo\xc3\xab\t\xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x8e\xb7\n");
    expect_log("u.tsv", NULL, "Zo\xc3\xab \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x8e\xb7\n");
}

static void quotes(void **state)
{
    struct inmo_read_options options = defaults();
    (void)state;
    refuse("q.csv", "a,x\nb,\"y\n", "q.csv:2: found a quote that is not closed, expected a closing \"");
    refuse("q.csv", "a,x\nb,\"y\nc,z\n", "q.csv:2: found a quote that is not closed, expected a closing \"");
    refuse("q.csv", "a,x\nb,\"y\" or z\n",
           "q.csv:2: found text after a closing quote, expected a separator or the end of the line");
    /* One bad quote costs one line. */
    put("q.csv", "a,x\nb,\"y\nc,z\nd,w\n");
    options.skip_bad = 1;
    expect_log("q.csv", &options, "a x\nc z\nd w\n");
}

/* 10 MB without a line end, in the middle, at the end, and packed. */
static void long_lines(void **state)
{
    enum { LONG = 10 << 20 };
    struct inmo_read_options options = defaults();
    char *text = malloc(LONG + 100);
    unsigned char *bytes = malloc(LONG + 100);
    size_t size;
    (void)state;
    options.skip_bad = 1;
    memcpy(text, "a\tx\n", 4);
    memset(text + 4, 'z', LONG);
    memcpy(text + 4 + LONG, "\nb\ty\n", 5);
    size = LONG + 9;
    put_bytes("l.tsv", text, size);
    expect_error("l.tsv", NULL, INMO_INPUT, "l.tsv:2: found a line longer than 8 MB, expected at most that");
    expect_log("l.tsv", &options, "a x\nb y\n");
    put_bytes("l.zst", bytes, pack_zstd(text, size, bytes, LONG + 100));
    expect_log("l.zst", &options, "a x\nb y\n");
    put_bytes("l.tsv", text, size - 5);
    expect_log("l.tsv", &options, "a x\n");
    put_bytes("l.tsv", text + 4, size - 4);
    expect_error("l.tsv", NULL, INMO_INPUT, "l.tsv:1: found a line longer than 8 MB, expected at most that");
    /* An open quote gives up at the limit, not at the end of the file. */
    for (size_t n = 4; n < LONG; n += 50)
        text[n] = '\n';
    memcpy(text, "a,x\n\"", 5);
    put_bytes("l.csv", text, size - 5);
    expect_error("l.csv", NULL, INMO_INPUT, "l.csv:2: found a quote that is not closed, expected a closing \"");
    free(bytes);
    free(text);
}

static void files(void **state)
{
    (void)state;
    refuse("e.tsv", "", "e.tsv is empty");
    refuse("e.tsv", "\n  \r\n", "e.tsv is empty");
    refuse("e.tsv", "\xef\xbb\xbf", "e.tsv is empty");
    expect_error("none.tsv", NULL, INMO_IO, "cannot open none.tsv: No such file or directory");
    expect_error("/dev/zero", NULL, INMO_INPUT, "/dev/zero:1: found a NUL byte, expected text");
    expect_error("/dev/null", NULL, INMO_INPUT, "/dev/null is empty");
    assert_int_equal(mkdir("folder", 0777), 0);
    expect_error("folder", NULL, INMO_IO, "cannot read folder: Is a directory");
    expect_errors(NULL, 0, NULL, INMO_USAGE,
                  "found no file to read, expected one or more, or - for standard input");
    /* A missing file is told before the first is read. */
    put("good.tsv", "a\tx\n");
    expect_errors((const char *const[]){"good.tsv", "none.tsv"}, 2, NULL, INMO_IO,
                  "cannot open none.tsv: No such file or directory");
}

static void packed(void **state)
{
    char text[2000], *at = text;
    unsigned char gzip[2000], zstd[2000];
    size_t gzip_size, zstd_size;
    (void)state;
    for (int n = 0; n < 100; n++)
        at += sprintf(at, "u%d\ti%d\n", n * n, n * n * n);
    gzip_size = pack_gzip(text, strlen(text), gzip, sizeof gzip);
    zstd_size = pack_zstd(text, strlen(text), zstd, sizeof zstd);
    put_bytes("p.gz", gzip, gzip_size / 2);
    expect_error("p.gz", NULL, INMO_INPUT, "p.gz: the gzip data is cut off before its end");
    put_bytes("p.gz", gzip, gzip_size - 1);
    expect_error("p.gz", NULL, INMO_INPUT, "p.gz: the gzip data is cut off before its end");
    put_bytes("p.zst", zstd, zstd_size / 2);
    expect_error("p.zst", NULL, INMO_INPUT, "p.zst: the zstd data is cut off before its end");
    put_bytes("p.zst", zstd, zstd_size - 1);
    expect_error("p.zst", NULL, INMO_INPUT, "p.zst: the zstd data is cut off before its end");
    memcpy(gzip + gzip_size, "rest", 4);
    put_bytes("p.gz", gzip, gzip_size + 4);
    expect_error("p.gz", NULL, INMO_INPUT, "p.gz: the gzip data is damaged (something else follows it)");
    gzip[gzip_size - 6] ^= 1;
    put_bytes("p.gz", gzip, gzip_size);
    expect_error("p.gz", NULL, INMO_INPUT, "p.gz: the gzip data is damaged (incorrect data check)");
    put_bytes("p.zip", "PK\3\4\x14\0\0\0\x08\0ratings.csv......", 26);
    expect_error("p.zip", NULL, INMO_INPUT,
                 "p.zip is a zip archive, expected text, plain or packed by gzip or zstd");
    put("p.tsv", "BZh\tx, not bzip2\n");
    expect_log("p.tsv", NULL, "BZh x, not bzip2\n");
    memcpy(zstd + zstd_size, "rest", 4);
    put_bytes("p.zst", zstd, zstd_size + 4);
    expect_error("p.zst", NULL, INMO_INPUT, "p.zst: the zstd data is damaged (Unknown frame descriptor)");
}

/* Whatever a byte is changed to, the answer is an error or a log, never a crash: the sanitizers watch. */
static void changed_bytes(void **state)
{
    static const char text[] = "user,item,rating,time\n\"a,b\",x,5,2020-01-01\nc,\"y \"\"z\"\"\",4,17\n"
                               "d,\"w\\\"v\",1,2\n";
    static const char *const formats[] = {"auto", "delimited", "list", "inter", "movielens", "gowalla", "yelp"};
    static const char *const encodings[] = {"utf-8", "latin-1", "utf-8", "shift_jis", "utf-16", "utf-8"};
    static const unsigned char values[] = {0, '\n', '\r', '"', ',', '\t', '{', ' ', 0x80, 0xff, '#', '\\', '['};
    unsigned char gzip[300], zstd[300];
    const unsigned char *packing[3] = {(const unsigned char *)text, gzip, zstd};
    size_t size[3] = {strlen(text), pack_gzip(text, strlen(text), gzip, sizeof gzip),
                      pack_zstd(text, strlen(text), zstd, sizeof zstd)};
    const char *name = "c";
    (void)state;
    for (int p = 0; p < 3; p++) {
        for (size_t n = 0; n < size[p]; n++) {
            for (size_t v = 0; v < sizeof values; v++) {
                struct inmo_read_options options = defaults();
                struct inmo_log *log = NULL;
                struct inmo_error error;
                unsigned char bytes[300];
                memcpy(bytes, packing[p], size[p]);
                bytes[n] = values[v];
                put_bytes(name, bytes, size[p]);
                options.format = formats[(n + v) % (sizeof formats / sizeof formats[0])];
                options.encoding = encodings[(n + 2 * v) % (sizeof encodings / sizeof encodings[0])];
                options.skip_bad = v % 3;
                if (inmo_log_read(&name, 1, &options, NULL, &log, &error) == INMO_OK)
                    inmo_log_free(log);
            }
        }
    }
}

static void json(void **state)
{
    struct inmo_read_options options = defaults();
    (void)state;
    refuse("j.json", "{\"user_id\":\"a\",\"business_id\":\"x\",\"stars\":4}\n{\"user_id\":\n",
           "j.json:2: found what is not JSON (unexpected token near end of file, column 11), expected an object");
    refuse("j.json", "{\"user_id\":\"a\",\"business_id\":\"x\"}\n[1]\n",
           "j.json:2: found JSON that is not an object, expected an object");
    refuse("j.json", "{\"user_id\":\"a\",\"stars\":4}\n",
           "j.json:1: found an object without an item, expected one (such as business_id)");
    refuse("j.json", "{\"user_id\":\"a\",\"business_id\":\"x\"}\n{\"user_id\":null,\"business_id\":\"x\"}\n",
           "j.json:2: found no user, expected a string or a whole number");
    refuse("j.json", "{\"user_id\":\"a\",\"business_id\":\"x\"}\n{\"user_id\":\"\",\"business_id\":\"x\"}\n",
           "j.json:2: found an empty user, expected an id");
    refuse("j.json",
           "{\"user_id\":\"a\",\"business_id\":\"x\",\"stars\":4}\n{\"user_id\":\"a\",\"business_id\":\"x\"}\n",
           "j.json:2: found no rating, expected a finite number");
    refuse("j.json",
           "{\"user_id\":\"a\",\"business_id\":\"x\",\"date\":4}\n"
           "{\"user_id\":\"a\",\"business_id\":\"x\",\"date\":\"?\"}\n",
           "j.json:2: found no time, expected seconds or a date such as 2024-01-31 or 2024-01-31T23:59:59Z");
    put("j.json", "{\"user_id\":\"a\",\"business_id\":\"caf\xe9\"}\n");
    expect_error(
        "j.json", NULL, INMO_INPUT,
        "j.json:1: found what is not JSON (unable to decode byte 0xe9 near '\"caf', column 33), expected an "
        "object in UTF-8; `encoding` names another one, such as latin-1");
    refuse("j.json", "[\n{\"user\":1,\"item\":2}\n]\n",
           "j.json:1: found a JSON array, expected an object a line; jq -c '.[]' writes them so");
    refuse("j.json", "[{\"user\":1,\"item\":2}]\n",
           "j.json:1: found a JSON array, expected an object a line; jq -c '.[]' writes them so");
    refuse("j.json", "{\n \"user\": 1,\n \"item\": 2\n}\n",
           "j.json:1: found an object over several lines, expected an object a line; jq -c . writes them so");
    options.columns = "user,item";
    put("j.json", "{\"user_id\":\"a\",\"business_id\":\"x\"}\n");
    expect_error("j.json", &options, INMO_USAGE,
                 "`columns`: found user,item, expected none because j.json is read as JSON lines");
}

static void options_that_cannot_be(void **state)
{
    struct inmo_read_options options = defaults();
    (void)state;
    put("o.tsv", "a\tx\n");
    options.columns = "user,thing";
    expect_error(
        "o.tsv", &options, INMO_USAGE,
        "`columns` user,thing: found \"thing\", expected user, item, rating, time, split, event, weight or -");
    options.columns = "user,item,user";
    expect_error("o.tsv", &options, INMO_USAGE, "`columns` user,item,user: found user twice, expected it once");
    options.columns = "user,rating";
    expect_error("o.tsv", &options, INMO_USAGE,
                 "`columns` user,rating: found no item, expected both user and item");
    options.columns = "";
    expect_error("o.tsv", &options, INMO_USAGE,
                 "`columns` : found \"\", expected user, item, rating, time, split, event, weight or -");
    options = defaults();
    options.separator = "far too long";
    expect_error("o.tsv", &options, INMO_USAGE,
                 "`separator`: found \"far too long\", expected tab, comma, semicolon, bar, space, colon or 1 to 7 "
                 "characters other than quotes and line ends");
    options = defaults();
    options.format = "excel";
    expect_error("o.tsv", &options, INMO_USAGE,
                 "`format` is \"excel\"; it must be one of "
                 "auto|delimited|list|inter|movielens|gowalla|amazon|yelp");
    options = defaults();
    options.encoding = "klingon";
    expect_error("o.tsv", &options, INMO_USAGE,
                 "`encoding`: found \"klingon\", expected utf-8, latin-1, windows-1252 or another name that "
                 "`iconv -l` lists");
    options.encoding = "";
    expect_error("o.tsv", &options, INMO_USAGE,
                 "`encoding`: found \"\", expected utf-8, latin-1, windows-1252 or another name that `iconv -l` "
                 "lists");
    options.encoding = "latin1//IGNORE";
    expect_error("o.tsv", &options, INMO_USAGE,
                 "`encoding`: found \"latin1//IGNORE\", expected utf-8, latin-1, windows-1252 or another name that "
                 "`iconv -l` lists");
}

static void headers(void **state)
{
    struct inmo_read_options options = defaults();
    (void)state;
    refuse("h.csv", "customer_id,thing\na,x\n",
           "h.csv:1: found the header \"customer_id,thing\" without an item, expected names such as user, item, "
           "rating, time; say which of the 2 columns is which, such as `columns` user,item");
    refuse("h.csv", "person,thing,grade\na,x,4\n",
           "h.csv:1: found the header \"person,thing,grade\", expected names such as user, item, rating, time; "
           "say which of the 3 columns is which, such as `columns` user,item,-");
    refuse("h.csv", "user\na\n",
           "h.csv:1: found the header \"user\", which is one column, expected at least a user and an item");
    options.header = "yes";
    put("h.csv", "person,thing\na,x\n");
    expect_error("h.csv", &options, INMO_INPUT,
                 "h.csv:1: found the header \"person,thing\", expected names such as user, item, rating, time; "
                 "say which of the 2 columns is which, such as `columns` user,item");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(column_counts), cmocka_unit_test(numbers),
        cmocka_unit_test(ids),           cmocka_unit_test(quotes),
        cmocka_unit_test(long_lines),    cmocka_unit_test(files),
        cmocka_unit_test(packed),        cmocka_unit_test(changed_bytes),
        cmocka_unit_test(json),          cmocka_unit_test(options_that_cannot_be),
        cmocka_unit_test(headers),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
