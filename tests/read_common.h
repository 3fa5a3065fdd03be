/* read_common.h - for the tests of reading: a temporary directory that is the current one (so messages have short,
 * fixed names), files in it, and a log as lines of text to compare with. */
#ifndef INMO_TESTS_READ_COMMON_H
#define INMO_TESTS_READ_COMMON_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/log.h"
#include "inmo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

static char test_directory[256];

static inline int enter_directory(void **state)
{
    const char *parent = getenv("TMPDIR");
    (void)state;
    snprintf(test_directory, sizeof test_directory, "%s/inmo-test-XXXXXX", parent ? parent : "/tmp");
    return mkdtemp(test_directory) && chdir(test_directory) == 0 ? 0 : -1;
}

static inline int leave_directory(void **state)
{
    char command[300];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", test_directory);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static inline void put_bytes(const char *name, const void *bytes, size_t size)
{
    FILE *file;
    unlink(name); /* some file systems sync a file that is written over, and there are thousands */
    file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline void put(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text));
}

/* One gzip member or zstd frame of the text, at to; its size. */
static inline size_t pack_gzip(const char *text, size_t size, unsigned char *to, size_t room)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (unsigned)size;
    z.next_out = to;
    z.avail_out = (unsigned)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&z), Z_OK);
    return room - z.avail_out;
}

static inline size_t pack_zstd(const char *text, size_t size, unsigned char *to, size_t room)
{
    size_t packed = ZSTD_compress(to, room, text, size, 3);
    assert_false(ZSTD_isError(packed));
    return packed;
}

/* "user item [@time] [part]\n" for each interaction; static, overwritten by the next call. */
static inline const char *show_log(const struct inmo_log *log)
{
    static char text[1 << 16];
    struct inmo_idmap users = inmo_idtable_map(log->users), items = inmo_idtable_map(log->items);
    size_t at = 0;
    text[0] = 0;
    for (int64_t n = 0; n < log->count && at < sizeof text - 200; n++) {
        const struct inmo_log_block *block = log->block[n / INMO_LOG_BLOCK];
        at += (size_t)snprintf(text + at, sizeof text - at, "%.60s %.60s",
                               inmo_idmap_id(&users, inmo_log_user(log, n)),
                               inmo_idmap_id(&items, inmo_log_item(log, n)));
        if (log->has_time)
            at +=
                (size_t)snprintf(text + at, sizeof text - at, " @%lld", (long long)block->time[n % INMO_LOG_BLOCK]);
        if (log->has_part)
            at += (size_t)snprintf(text + at, sizeof text - at, " %d", block->part[n % INMO_LOG_BLOCK]);
        at += (size_t)snprintf(text + at, sizeof text - at, "\n");
    }
    return text;
}

static inline struct inmo_read_options defaults(void)
{
    struct inmo_read_options options;
    inmo_read_options_init(&options);
    return options;
}

static inline struct inmo_log *read_files(const char *const *name, size_t count,
                                          const struct inmo_read_options *options)
{
    struct inmo_error error = {0};
    struct inmo_log *log = NULL;
    enum inmo_status status = inmo_log_read(name, count, options, NULL, &log, &error);
    if (status != INMO_OK)
        print_error("%s\n", error.message);
    assert_int_equal(status, INMO_OK);
    assert_non_null(log);
    return log;
}

/* Reads one file and compares the whole log. */
static inline void expect_log(const char *name, const struct inmo_read_options *options, const char *expected)
{
    struct inmo_log *log = read_files(&name, 1, options);
    assert_string_equal(show_log(log), expected);
    inmo_log_free(log);
}

/* Reads files and compares the error; the log must stay untouched. */
static inline void expect_errors(const char *const *name, size_t count, const struct inmo_read_options *options,
                                 enum inmo_status code, const char *message)
{
    struct inmo_error error = {0};
    struct inmo_log *untouched = (struct inmo_log *)&error, *log = untouched;
    assert_int_equal(inmo_log_read(name, count, options, NULL, &log, &error), code);
    assert_string_equal(error.message, message);
    assert_int_equal(error.code, code);
    assert_ptr_equal(log, untouched);
}

static inline void expect_error(const char *name, const struct inmo_read_options *options, enum inmo_status code,
                                const char *message)
{
    expect_errors(&name, 1, options, code, message);
}

#endif
