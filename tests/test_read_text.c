/* test_read_text.c - what text may be written in: line ends of three kinds, UTF-16 and UTF-32 with and without a
 * byte order mark, and encodings that have to be named. */
#include "read_common.h"

#include <iconv.h>

/* The UTF-8 text in another encoding, at to; its size. */
static size_t encode(const char *text, size_t size, const char *encoding, char *to, size_t room)
{
    iconv_t converter = iconv_open(encoding, "UTF-8");
    char *in = (char *)(uintptr_t)text, *out = to;
    size_t left = room;
    assert_true(converter != (iconv_t)-1);
    assert_int_equal(iconv(converter, &in, &size, &out, &left), 0);
    assert_int_equal(iconv(converter, NULL, NULL, &out, &left), 0);
    iconv_close(converter);
    return room - left;
}

/* ---- Line ends ----------------------------------------------------------------------------------------------- */

static void returns_alone(void **state)
{
    struct inmo_read_options options = defaults();
    (void)state;
    put("r.csv", "user,item,rating\rana,x,5\r\rben,y,4\r");
    expect_log("r.csv", NULL, "ana x\nben y\n");
    put("r.tsv", "\xef\xbb\xbf"
                 "ana\tx\rben\ty");
    expect_log("r.tsv", NULL, "ana x\nben y\n");
    put("r.tsv", "ana\tx\r");
    expect_log("r.tsv", NULL, "ana x\n");
    put("r.txt", "0 10 11\r1 10\r");
    expect_log("r.txt", NULL, "0 10\n0 11\n1 10\n");
    put("r.json", "{\"user\":\"a\",\"item\":\"x\"}\r{\"user\":\"b\",\"item\":\"y\"}\r");
    expect_log("r.json", NULL, "a x\nb y\n");
    put("r.csv", "user,text,item\ra,\"one\rtwo\",x\rb,t,y\r");
    expect_log("r.csv", NULL, "a x\nb y\n");
    put("r.dat", "1::10::5::7\r2::11::5::8\r");
    expect_log("r.dat", NULL, "1 10 @7\n2 11 @8\n");
    /* The line is counted, and a bad one is one line. */
    put("r.tsv", "a\tx\rb\rc\ty\r");
    expect_error("r.tsv", NULL, INMO_INPUT, "r.tsv:2: found 1 column, expected 2 (user,item)");
    options.skip_bad = 1;
    expect_log("r.tsv", &options, "a x\nc y\n");
}

/* In a file with LF, a CR inside a line is text. */
static void return_inside(void **state)
{
    (void)state;
    put("i.tsv", "a\tx\ry\nb\tz\r\n");
    expect_log("i.tsv", NULL, "a x\ry\nb z\n");
}

/* Megabytes, so that reads end everywhere. */
static void many_returns(void **state)
{
    enum { LINES = 200000 };
    const char *name = "many.tsv";
    size_t size = 0;
    char *text = malloc((size_t)LINES * 64);
    struct inmo_log *log;
    struct inmo_idmap items;
    int good = 0;
    (void)state;
    for (int n = 0; n < LINES; n++)
        size += (size_t)sprintf(text + size, "user%d\titem%0*d\r", n / 7, n % 30 + 1, n % 1000);
    put_bytes(name, text, size);
    log = read_files(&name, 1, NULL);
    items = inmo_idtable_map(log->items);
    assert_int_equal(inmo_log_count(log), LINES);
    for (int n = 0; n < LINES; n++) {
        char item[64];
        snprintf(item, sizeof item, "item%0*d", n % 30 + 1, n % 1000);
        good += strcmp(inmo_idmap_id(&items, inmo_log_item(log, n)), item) == 0;
    }
    assert_int_equal(good, LINES);
    inmo_log_free(log);
    free(text);
}

/* ---- UTF-16 and UTF-32 --------------------------------------------------------------------------------------- */

/* Each in both orders, with and without a mark, plain and packed. */
static void wide_text(void **state)
{
    static const char *const encoding[] = {"UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE"};
    static const char *const text[] = {
        "a\tx\nb\ty\n",
        "1\t2\n3\t4\n",
        "user,item,rating\r\nana,Zo\xc3\xab,5\r\nben,\xf0\x9f\x8e\xb7,4\r\n",
        /* Cyrillic ids, CJK ids with a time, and U+4E00, whose lower byte is 0. */
        "\xd0\x98\xd0\xb2\xd0\xb0\xd0\xbd\t\xd0\xba\xd0\xbd\xd0\xb8\xd0\xb3\xd0\xb0\n",
        "\xe7\x94\xa8\xe6\x88\xb7\xe4\xb8\x80\t\xe7\x89\xa9\t5\t1500000000\n",
    };
    static const char *const log[] = {
        "a x\nb y\n",
        "1 2\n3 4\n",
        "ana Zo\xc3\xab\nben \xf0\x9f\x8e\xb7\n",
        "\xd0\x98\xd0\xb2\xd0\xb0\xd0\xbd \xd0\xba\xd0\xbd\xd0\xb8\xd0\xb3\xd0\xb0\n",
        "\xe7\x94\xa8\xe6\x88\xb7\xe4\xb8\x80 \xe7\x89\xa9 @1500000000\n",
    };
    (void)state;
    for (size_t e = 0; e < 4; e++) {
        for (size_t t = 0; t < sizeof text / sizeof text[0]; t++) {
            char marked[400] = "", bytes[1000];
            unsigned char packed[1000];
            size_t size;
            for (int mark = 0; mark < 2; mark++) {
                snprintf(marked, sizeof marked, "%s%s", mark ? "\xef\xbb\xbf" : "", text[t]);
                size = encode(marked, strlen(marked), encoding[e], bytes, sizeof bytes);
                put_bytes("w.txt", bytes, size);
                expect_log("w.txt", NULL, log[t]);
                put_bytes("w.gz", packed, pack_gzip(bytes, size, packed, sizeof packed));
                expect_log("w.gz", NULL, log[t]);
            }
        }
    }
    put_bytes("w.txt",
              "\xff\xfe"
              "a\0\t\0x\0\r\0b\0\t\0y\0\r\0",
              18);
    expect_log("w.txt", NULL, "a x\nb y\n");
}

static void wide_text_that_is_not(void **state)
{
    (void)state;
    put_bytes("w.txt",
              "\xff\xfe"
              "a\0\t\0x\0\n\0b\0\t\0\0\xd8\n\0",
              18);
    expect_error("w.txt", NULL, INMO_INPUT,
                 "w.txt:2: found the byte 0x00, expected UTF-16LE text; `encoding` says what else it is");
    put_bytes("w.txt",
              "\xff\xfe"
              "a\0\t\0x\0\n\0b",
              11);
    expect_error("w.txt", NULL, INMO_INPUT,
                 "w.txt:2: found the end of the file inside a character, expected UTF-16LE text");
    /* A NUL byte does not make UTF-16. */
    put_bytes("w.txt", "a\tx\nb\0\ty\n", 9);
    expect_error("w.txt", NULL, INMO_INPUT, "w.txt:2: found a NUL byte in the user, expected text");
    put_bytes("w.txt", "\0\0\0\0\0\0\0\0\0\0\0\n", 12);
    expect_error("w.txt", NULL, INMO_INPUT, "w.txt:1: found a NUL byte, expected text");
}

/* Characters of one to four bytes, cut everywhere by the converter's and the input's buffers. */
static void much_wide_text(void **state)
{
    enum { LINES = 50000 };
    static const char *const name = "much.txt", *const letter[] = {"a", "\xc3\xa9", "\xe6\x97\xa5",
                                                                   "\xf0\x9f\x8e\xb7"};
    size_t size = 0, room = (size_t)LINES * 100;
    char *text = malloc(room), *bytes = malloc(4 * room);
    struct inmo_log *log;
    struct inmo_idmap items;
    int good = 0;
    (void)state;
    for (int n = 0; n < LINES; n++) {
        size += (size_t)sprintf(text + size, "user%d\titem%d", n / 7, n % 1000);
        for (int m = 0; m < n % 9; m++)
            size += (size_t)sprintf(text + size, "%s", letter[(n + m) % 4]);
        size += (size_t)sprintf(text + size, "\n");
    }
    put_bytes(name, bytes, encode(text, size, "UTF-16LE", bytes, 4 * room));
    log = read_files(&name, 1, NULL);
    items = inmo_idtable_map(log->items);
    assert_int_equal(inmo_log_count(log), LINES);
    for (int n = 0; n < LINES; n++) {
        char item[100];
        int at = snprintf(item, sizeof item, "item%d", n % 1000);
        for (int m = 0; m < n % 9; m++)
            at += snprintf(item + at, sizeof item - (size_t)at, "%s", letter[(n + m) % 4]);
        good += strcmp(inmo_idmap_id(&items, inmo_log_item(log, n)), item) == 0;
    }
    assert_int_equal(good, LINES);
    inmo_log_free(log);
    free(bytes);
    free(text);
}

/* ---- Named encodings ----------------------------------------------------------------------------------------- */

static void named(void **state)
{
    struct inmo_read_options options = defaults();
    static const char *const latin[] = {"latin-1", "Latin-1", "ISO-8859-1", "latin1", "windows-1252", "cp1252"};
    (void)state;
    put("n.csv", "caf\xe9,x\nb,y\n");
    for (size_t n = 0; n < sizeof latin / sizeof latin[0]; n++) {
        options.encoding = latin[n];
        expect_log("n.csv", &options, "caf\xc3\xa9 x\nb y\n");
    }
    put("n.csv", "\x93quoted\x94,\x80\n");
    options.encoding = "windows-1252";
    expect_log("n.csv", &options, "\xe2\x80\x9cquoted\xe2\x80\x9d \xe2\x82\xac\n");
    put("n.csv", "a,x\nb,caf\x81\n");
    expect_error("n.csv", &options, INMO_INPUT,
                 "n.csv:2: found the byte 0x81, expected windows-1252 text; `encoding` says what else it is");
    put("n.csv", "a,x\rb,y\rb,caf\x81\r");
    expect_error("n.csv", &options, INMO_INPUT,
                 "n.csv:3: found the byte 0x81, expected windows-1252 text; `encoding` says what else it is");
    put("n.csv", "\x82\xa0,\x83\x41\n");
    options.encoding = "shift_jis";
    expect_log("n.csv", &options, "\xe3\x81\x82 \xe3\x82\xa2\n");
    /* Sparse in small letters, so that looking would not tell; the name does, and the mark is no text. */
    put_bytes("n.csv",
              "\xff\xfe"
              "\x2d\x4e,\0\x2d\x4e\n\0",
              10);
    options.encoding = "utf-16le";
    expect_log("n.csv", &options, "\xe4\xb8\xad \xe4\xb8\xad\n");
    options.encoding = "UTF-16";
    expect_log("n.csv", &options, "\xe4\xb8\xad \xe4\xb8\xad\n");
    /* NULL and the default are UTF-8. */
    put("n.csv", "caf\xc3\xa9,x\n");
    options.encoding = NULL;
    expect_log("n.csv", &options, "caf\xc3\xa9 x\n");
    options.encoding = "UTF8";
    expect_log("n.csv", &options, "caf\xc3\xa9 x\n");
}

static void hear(void *context, enum inmo_level level, const char *sentence)
{
    if (level == INMO_NOTE)
        snprintf(context, 200, "%s", sentence);
}

static void told(void **state)
{
    char note[200] = "";
    struct inmo_hooks hooks = {.context = note, .log = hear};
    const char *name = "t.tsv";
    struct inmo_log *log = NULL;
    struct inmo_error error;
    (void)state;
    put_bytes(name, "a\0\t\0x\0\n\0", 8);
    assert_int_equal(inmo_log_read(&name, 1, NULL, &hooks, &log, &error), INMO_OK);
    assert_string_equal(note, "reading t.tsv as tab-separated user,item without header, decoded from UTF-16LE");
    inmo_log_free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returns_alone),         cmocka_unit_test(return_inside),
        cmocka_unit_test(many_returns),          cmocka_unit_test(wide_text),
        cmocka_unit_test(much_wide_text),        cmocka_unit_test(named),
        cmocka_unit_test(wide_text_that_is_not), cmocka_unit_test(told),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
