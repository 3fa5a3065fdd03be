/* test_read_ids.c - lists of ids: every way to write one, what is refused, and the limits that end an endless
 * one. */
#include "read_common.h"

#include "base/memory.h"

#include <fcntl.h>
#include <sys/wait.h>

static void expect_ids(const char *path, const char *encoding, const char *joined)
{
    struct inmo_error error = {0};
    struct inmo_ids *ids = NULL;
    char text[1000] = "";
    if (inmo_ids_read(path, encoding, &ids, &error) != INMO_OK)
        fail_msg("%s", error.message);
    for (size_t n = 0; n < ids->count; n++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s|", ids->id[n]);
    assert_string_equal(text, joined);
    inmo_ids_free(ids);
}

static void expect_no_ids(const char *path, const char *encoding, enum inmo_status code, const char *message)
{
    struct inmo_error error = {0};
    struct inmo_ids *untouched = (struct inmo_ids *)&error, *ids = untouched;
    assert_int_equal(inmo_ids_read(path, encoding, &ids, &error), code);
    assert_string_equal(error.message, message);
    assert_ptr_equal(ids, untouched);
}

static void lines(void **state)
{
    (void)state;
    put("i.txt", "a\nb\n\nc d\n  \na");
    expect_ids("i.txt", NULL, "a|b|c d|a|");
    put("i.txt", "\xef\xbb\xbf"
                 "a\r\nb\r\n");
    expect_ids("i.txt", NULL, "a|b|");
    put("i.txt", "a\rb\r\rc\r");
    expect_ids("i.txt", NULL, "a|b|c|");
    put_bytes("i.txt",
              "\xff\xfe"
              "a\0\n\0b\0",
              8);
    expect_ids("i.txt", NULL, "a|b|");
    put("i.txt", "caf\xe9\n");
    expect_ids("i.txt", "latin-1", "caf\xc3\xa9|");
}

static void packed(void **state)
{
    unsigned char bytes[200];
    size_t size;
    (void)state;
    size = pack_gzip("a\nb\n", 4, bytes, sizeof bytes);
    put_bytes("i.gz", bytes, size);
    expect_ids("i.gz", NULL, "a|b|");
    put_bytes("i.gz", bytes, size - 3);
    expect_no_ids("i.gz", NULL, INMO_INPUT, "i.gz: the gzip data is cut off before its end");
    put_bytes("i.zst", bytes, pack_zstd("a\nb\n", 4, bytes, sizeof bytes));
    expect_ids("i.zst", NULL, "a|b|");
}

static void refused(void **state)
{
    struct inmo_ids *ids = NULL;
    char text[5000];
    (void)state;
    put_bytes("i.txt", "a\nb\0c\n", 6);
    expect_no_ids("i.txt", NULL, INMO_INPUT, "i.txt:2: found a NUL byte, expected one id a line");
    put("i.txt", "a\n\ncaf\xe9\n");
    expect_no_ids("i.txt", NULL, INMO_INPUT,
                  "i.txt:3: found the byte 0xe9 in the id, expected UTF-8 text; `encoding` names another one, such "
                  "as latin-1");
    memset(text, 'z', 4097);
    put_bytes("i.txt", text, 4096);
    assert_int_equal(inmo_ids_read("i.txt", NULL, &ids, NULL), INMO_OK);
    inmo_ids_free(ids);
    put_bytes("i.txt", text, 4097);
    expect_no_ids("i.txt", NULL, INMO_INPUT, "i.txt:1: found an id of 4097 bytes, expected at most 4096");
    put("i.txt", "\n\n");
    expect_no_ids("i.txt", NULL, INMO_INPUT, "i.txt is empty, expected one id a line");
    expect_no_ids("none.txt", NULL, INMO_IO, "cannot open none.txt: No such file or directory");
    expect_no_ids(".", NULL, INMO_IO, "cannot read .: Is a directory");
    expect_no_ids("i.txt", "klingon", INMO_USAGE,
                  "`encoding`: found \"klingon\", expected utf-8, latin-1, windows-1252 or another name that "
                  "`iconv -l` lists");
    expect_no_ids("/dev/null", NULL, INMO_INPUT, "/dev/null is empty, expected one id a line");
    expect_no_ids("/dev/zero", NULL, INMO_INPUT, "/dev/zero:1: found a NUL byte, expected one id a line");
}

/* What a child writes without end; it is ended by the closed pipe. */
static void endless(void **state)
{
    static const struct {
        const char *piece, *message;
    } flow[] = {
        {"                                \n", /* blank */
         "standard input:8134408: found more than 256 MB in a list of ids, expected at most that"},
        {"y\n", "standard input:20000001: found more than 20 million ids in a list of ids, expected at most that"},
        {"an-id-of-thirty-two-bytes-abcdef\n",
         "standard input:8134408: found more than 256 MB in a list of ids, expected at most that"},
        {"x", "standard input:1: found a line longer than 8 MB, expected an id of at most 4096 bytes"},
    };
    int saved = dup(STDIN_FILENO);
    (void)state;
    for (size_t n = 0; n < sizeof flow / sizeof flow[0]; n++) {
        int ends[2], result;
        pid_t child;
        assert_int_equal(pipe(ends), 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            static char block[1 << 16];
            size_t length = strlen(flow[n].piece), size = sizeof block / length * length;
            close(ends[0]);
            for (size_t at = 0; at < size; at += length)
                memcpy(block + at, flow[n].piece, length);
            while (write(ends[1], block, size) == (ssize_t)size)
                ;
            _exit(0);
        }
        close(ends[1]);
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        expect_no_ids("-", NULL, INMO_INPUT, flow[n].message);
        dup2(saved, STDIN_FILENO); /* nobody reads from the pipe now */
        waitpid(child, &result, 0);
    }
    close(saved);
}

static void short_memory(void **state)
{
    struct inmo_error error = {0};
    struct inmo_ids *ids = NULL;
    enum inmo_status status = INMO_MEMORY;
    (void)state;
    put("m.txt", "a\nb\n");
    for (long n = 0; status == INMO_MEMORY; n++) {
        assert_true(n < 100);
        inmo_alloc_fail_after(n);
        status = inmo_ids_read("m.txt", NULL, &ids, &error);
        inmo_alloc_fail_after(-1);
    }
    assert_int_equal(status, INMO_OK);
    assert_int_equal(ids->count, 2);
    inmo_ids_free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),   cmocka_unit_test(packed),       cmocka_unit_test(refused),
        cmocka_unit_test(endless), cmocka_unit_test(short_memory),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
