/* test_tensorfile.c - the file layout: what is written can be read, by its documented layout and by us; every
 * flipped bit, every cut and every lie in the header is found; no shortage of memory or refused write leaves
 * anything behind. */
#include "base/memory.h"
#include "base/tensorfile.h"
#include "base/text.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <xxhash.h>

static char folder[64];
static char path[128];

static const float F[6] = {1, 2, 3, 4, 5, 6.5f};
static const int32_t I[3] = {-1, 0, 7};
static const uint8_t U[5] = {1, 2, 3, 4, 5};
static const int64_t L[1] = {INT64_MIN};
static const double D[2] = {0.1, -1e300};
static const struct inmo_tensor TENSOR[] = {
    {"f", INMO_F32, 3, 2, F}, {"i", INMO_I32, 3, 0, I}, {"none", INMO_F32, 0, 0, NULL},
    {"u", INMO_U8, 5, 0, U},  {"l", INMO_I64, 1, 0, L}, {"d", INMO_F64, 1, 2, D},
};
enum { TENSORS = sizeof TENSOR / sizeof TENSOR[0] };
static const struct inmo_metadata META[] = {{"note", "q\" \\ \n \xc3\xa4 \xff."}, {"empty", ""}};

static enum inmo_status write_sample(int force, struct inmo_error *error)
{
    return inmo_tensorfile_write(path, force, "sample", 1, META, 2, TENSOR, TENSORS, error);
}

static char *slurp(const char *name, size_t *size)
{
    FILE *stream = fopen(name, "rb");
    char *data;
    assert_non_null(stream);
    fseek(stream, 0, SEEK_END);
    *size = (size_t)ftell(stream);
    rewind(stream);
    data = malloc(*size + 1);
    assert_int_equal(fread(data, 1, *size, stream), *size);
    data[*size] = 0;
    fclose(stream);
    return data;
}

static void spill(const char *name, const char *data, size_t size)
{
    FILE *stream = fopen(name, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(data, 1, size, stream), size);
    fclose(stream);
}

static void open_fails(enum inmo_status code, const char *says)
{
    struct inmo_tensorfile *file = (struct inmo_tensorfile *)&path; /* must stay as it is */
    struct inmo_error error = {0};
    assert_int_equal(inmo_tensorfile_open(path, "sample", 1, &file, &error), code);
    assert_ptr_equal(file, &path);
    assert_int_equal(error.code, code);
    if (!strstr(error.message, path) || (says && !strstr(error.message, says)))
        fail_msg("message \"%s\" lacks the path or \"%s\"", error.message, says ? says : "");
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/inmo-test-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/file.safetensors", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder); /* fails when something was left behind */
}

static void round_trip(void **state)
{
    struct inmo_tensorfile *file = NULL;
    struct inmo_tensor tensor;
    struct inmo_error error;
    (void)state;
    assert_int_equal(write_sample(0, &error), INMO_OK);
    assert_int_equal(inmo_tensorfile_open(path, "sample", 1, &file, &error), INMO_OK);
    assert_int_equal(inmo_tensorfile_count(file), TENSORS);
    for (size_t n = 0; n < TENSORS; n++) {
        const struct inmo_tensor *at = inmo_tensorfile_at(file, n);
        assert_string_equal(at->name, TENSOR[n].name);
        assert_int_equal(at->dtype, TENSOR[n].dtype);
        assert_int_equal(at->rows, TENSOR[n].rows);
        assert_int_equal(at->columns, TENSOR[n].columns);
        assert_int_equal((uintptr_t)at->data % 64, 0);
    }
    assert_int_equal(inmo_tensorfile_get(file, "f", INMO_F32, 3, 2, &tensor, &error), INMO_OK);
    assert_memory_equal(tensor.data, F, sizeof F);
    assert_int_equal(inmo_tensorfile_get(file, "i", INMO_I32, -1, 0, &tensor, &error), INMO_OK);
    assert_memory_equal(tensor.data, I, sizeof I);
    assert_int_equal(inmo_tensorfile_get(file, "u", INMO_U8, -1, -1, &tensor, &error), INMO_OK);
    assert_memory_equal(tensor.data, U, sizeof U);
    assert_int_equal(inmo_tensorfile_get(file, "l", INMO_I64, 1, 0, &tensor, &error), INMO_OK);
    assert_memory_equal(tensor.data, L, sizeof L);
    assert_int_equal(inmo_tensorfile_get(file, "d", INMO_F64, 1, 2, &tensor, &error), INMO_OK);
    assert_memory_equal(tensor.data, D, sizeof D);
    /* What is not UTF-8 cannot be in JSON. */
    assert_string_equal(inmo_tensorfile_metadata(file, "note"), "q\" \\ \n \xc3\xa4 \xef\xbf\xbd.");
    assert_string_equal(inmo_tensorfile_metadata(file, "empty"), "");
    assert_null(inmo_tensorfile_metadata(file, "absent"));
    inmo_tensorfile_close(file);
    inmo_tensorfile_close(NULL);
}

static void get_refuses(void **state)
{
    struct inmo_tensorfile *file = NULL;
    struct inmo_tensor tensor = {.rows = 77};
    struct inmo_error error;
    (void)state;
    assert_int_equal(write_sample(1, NULL), INMO_OK);
    assert_int_equal(inmo_tensorfile_open(path, "sample", 1, &file, NULL), INMO_OK);
    assert_int_equal(inmo_tensorfile_get(file, "absent", INMO_F32, 3, 2, &tensor, &error), INMO_FORMAT);
    assert_non_null(strstr(error.message, "absent"));
    assert_int_equal(inmo_tensorfile_get(file, "f", INMO_I32, 3, 2, &tensor, &error), INMO_FORMAT);
    assert_non_null(strstr(error.message, "F32"));
    assert_int_equal(inmo_tensorfile_get(file, "f", INMO_F32, 4, 2, &tensor, &error), INMO_FORMAT);
    assert_int_equal(inmo_tensorfile_get(file, "f", INMO_F32, 3, 0, &tensor, &error), INMO_FORMAT);
    assert_int_equal(inmo_tensorfile_get(file, "inmo.pad.0", INMO_U8, -1, -1, &tensor, &error), INMO_FORMAT);
    assert_int_equal(tensor.rows, 77);
    inmo_tensorfile_close(file);
}

/* The layout as any reader of safetensors sees it, and both checksums as documented. */
static void layout(void **state)
{
    size_t size, again_size, payload;
    char *data, *again, *at, digits[17];
    uint64_t length;
    (void)state;
    assert_int_equal(write_sample(1, NULL), INMO_OK);
    data = slurp(path, &size);
    assert_int_equal(write_sample(1, NULL), INMO_OK);
    again = slurp(path, &again_size);
    assert_int_equal(size, again_size);
    assert_memory_equal(data, again, size);
    memcpy(&length, data, 8);
    payload = 8 + (size_t)length;
    assert_int_equal(payload % 64, 0);
    assert_int_equal(size, payload + 4 * 64 + sizeof D);
    assert_memory_equal(data + payload, F, sizeof F);
    assert_memory_equal(data + payload + 64, I, sizeof I);
    assert_memory_equal(data + payload + 128, U, sizeof U);
    assert_non_null(strstr(data + 8, "\"inmo.pad.0\":{\"dtype\":\"U8\",\"shape\":[40],\"data_offsets\":[24,64]}"));
    assert_non_null(strstr(data + 8, "\"none\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[128,128]}"));
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)XXH3_64bits(data + payload, size - payload));
    assert_non_null(strstr(data + 8, digits));
    at = strstr(data + 8, "header-checksum") + strlen("header-checksum\":\"");
    memcpy(digits, at, 16);
    memset(at, '0', 16);
    assert_int_equal(strtoull(digits, NULL, 16), XXH3_64bits(data, payload));
    free(again);
    free(data);
}

static void every_flip_is_found(void **state)
{
    size_t size;
    char *data;
    (void)state;
    assert_int_equal(write_sample(1, NULL), INMO_OK);
    data = slurp(path, &size);
    for (size_t n = 0; n < size; n++) {
        int descriptor = open(path, O_WRONLY);
        for (int bit = 0; bit < 8; bit++) {
            char flipped = (char)(data[n] ^ (1 << bit));
            assert_int_equal(pwrite(descriptor, &flipped, 1, (off_t)n), 1);
            open_fails(INMO_FORMAT, NULL);
        }
        assert_int_equal(pwrite(descriptor, data + n, 1, (off_t)n), 1);
        close(descriptor);
    }
    free(data);
}

static void every_cut_is_found(void **state)
{
    size_t size;
    char *data;
    (void)state;
    assert_int_equal(write_sample(1, NULL), INMO_OK);
    data = slurp(path, &size);
    for (size_t cut = size; cut-- > 0;) {
        assert_int_equal(truncate(path, (off_t)cut), 0);
        open_fails(INMO_FORMAT, "truncated");
    }
    data[size] = 'x';
    spill(path, data, size + 1);
    open_fails(INMO_FORMAT, "header says");
    free(data);
}

static void says_what_it_is(void **state)
{
    static const char LOG[] =
        "a plain text of any kind, longer than the fixed beginning of a header, is not one of ours\n";
    struct inmo_tensorfile *file = NULL;
    struct inmo_error error;
    (void)state;
    assert_int_equal(inmo_tensorfile_write(path, 1, "sample", 3, NULL, 0, NULL, 0, NULL), INMO_OK);
    open_fails(INMO_FORMAT, "is version 3, this program reads version 1");
    assert_int_equal(inmo_tensorfile_open(path, "model", 3, &file, &error), INMO_FORMAT);
    assert_non_null(strstr(error.message, "\"sample\", \"model\" was expected"));
    assert_int_equal(inmo_tensorfile_open(path, "sample", 3, &file, NULL), INMO_OK);
    assert_int_equal(inmo_tensorfile_count(file), 0);
    inmo_tensorfile_close(file);
    spill(path, LOG, sizeof LOG - 1);
    open_fails(INMO_FORMAT, "not a file of inmo");
    unlink(path);
    open_fails(INMO_IO, "No such file");
    assert_int_equal(inmo_tensorfile_open(folder, "sample", 1, &file, &error), INMO_FORMAT);
    assert_int_equal(mkfifo(path, 0600), 0);
    open_fails(INMO_FORMAT, "not an ordinary file");
    unlink(path);
}

/* A file with the given entries after the metadata and with right checksums: only the entries are wrong. */
static void forge(const char *metadata, const char *entries, size_t payload)
{
    struct inmo_text text = {0};
    char digits[17], *zeros = calloc(1, payload + 1);
    uint64_t length;
    inmo_text_add(&text, "\0\0\0\0\0\0\0", 8);
    inmo_text_format(&text,
                     "{\"__metadata__\":{\"inmo.header-checksum\":\"%016d\"%s,\"inmo.checksum\":\"%016llx\"}%s}", 0,
                     metadata, (unsigned long long)XXH3_64bits(zeros, payload), entries);
    while (text.length % 64)
        inmo_text_add(&text, " ", 1);
    length = text.length - 8;
    memcpy(text.data, &length, 8);
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)XXH3_64bits(text.data, text.length));
    memcpy(text.data + 8 + strlen("{\"__metadata__\":{\"inmo.header-checksum\":\""), digits, 16);
    inmo_text_add(&text, zeros, payload);
    spill(path, text.data, text.length);
    inmo_text_free(&text);
    free(zeros);
}

static void lies_are_found(void **state)
{
    static const char KIND[] = ",\"inmo.kind\":\"sample\",\"inmo.version\":\"1\"";
    static const char *const LIE[] = {
        "{\"dtype\":\"F32\",\"shape\":[2,4],\"data_offsets\":[0,31]}",  /* size and place differ */
        "{\"dtype\":\"F32\",\"shape\":[2,4],\"data_offsets\":[32,64]}", /* a gap before it */
        "{\"dtype\":\"F32\",\"shape\":[8],\"data_offsets\":[-32,0]}",   /* before the arrays */
        "{\"dtype\":\"F32\",\"shape\":[8],\"data_offsets\":[32,0]}",    /* ends before it begins */
        "{\"dtype\":\"F32\",\"shape\":[-8],\"data_offsets\":[0,32]}",
        "{\"dtype\":\"F32\",\"shape\":[-2,-4],\"data_offsets\":[0,32]}",
        "{\"dtype\":\"F32\",\"shape\":[4611686018427387905],\"data_offsets\":[0,4]}",  /* 4 times it: 4 mod 2^64 */
        "{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}", /* 0 mod 2^64 */
        "{\"dtype\":\"U8\",\"shape\":[99999999999999999999],\"data_offsets\":[0,0]}",
        "{\"dtype\":\"U8\",\"shape\":[9223372036854775807],\"data_offsets\":[0,9223372036854775807]}",
        "{\"dtype\":\"F16\",\"shape\":[16],\"data_offsets\":[0,32]}",
        "{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}",
        "{\"dtype\":\"F32\",\"shape\":[2,2,2],\"data_offsets\":[0,32]}",
        "{\"dtype\":\"F32\",\"shape\":[8,0],\"data_offsets\":[0,0]}",
        "{\"dtype\":\"F32\",\"shape\":[8.0],\"data_offsets\":[0,32]}",
        "{\"dtype\":\"F32\",\"shape\":8,\"data_offsets\":[0,32]}",
        "{\"dtype\":\"F32\",\"shape\":[8],\"data_offsets\":[0,32,0]}",
        "{\"dtype\":\"F32\",\"shape\":[8]}",
        "{\"dtype\":\"F32\",\"shape\":[8],\"data_offsets\":[0,32],\"more\":1}",
        "{\"dtype\":4,\"shape\":[8],\"data_offsets\":[0,32]}",
        "[]",
        "null",
        "{\"dtype\":\"U8\",\"shape\":[31],\"data_offsets\":[0,31]},\"b\":{\"dtype\":\"U8\",\"shape\":[1],"
        "\"data_offsets\":[31,32]}", /* not aligned */
        "{\"dtype\":\"U8\",\"shape\":[32],\"data_offsets\":[0,32]},\"b\":{\"dtype\":\"U8\",\"shape\":[32],"
        "\"data_offsets\":[0,32]}", /* overlap */
        "{\"dtype\":\"U8\",\"shape\":[32],\"data_offsets\":[0,32]},\"a\":{\"dtype\":\"U8\",\"shape\":[0],"
        "\"data_offsets\":[32,32]}",                                 /* the name twice */
        "{\"dtype\":\"U8\",\"shape\":[32],\"data_offsets\":[0,32]",  /* not JSON */
        "{\"dtype\":\"U8\",\"shape\":[33],\"data_offsets\":[0,33]}", /* one byte too many */
        "{\"dtype\":\"U8\",\"shape\":[16],\"data_offsets\":[0,16]}", /* bytes left over */
    };
    struct inmo_tensorfile *file = NULL;
    char entries[512];
    (void)state;
    forge(KIND, ",\"a\":{\"dtype\":\"F32\",\"shape\":[8],\"data_offsets\":[0,32]}", 32);
    assert_int_equal(inmo_tensorfile_open(path, "sample", 1, &file, NULL), INMO_OK); /* the forger can */
    inmo_tensorfile_close(file);
    for (size_t n = 0; n < sizeof LIE / sizeof LIE[0]; n++) {
        snprintf(entries, sizeof entries, ",\"a\":%s", LIE[n]);
        forge(KIND, entries, 32);
        open_fails(INMO_FORMAT, NULL);
    }
    forge(",\"inmo.version\":\"1\"", "", 0);
    open_fails(INMO_FORMAT, "inmo.kind");
    forge(",\"inmo.kind\":\"sample\",\"inmo.version\":1", "", 0);
    open_fails(INMO_FORMAT, "not a string");
}

static void writer_refuses(void **state)
{
    static const struct inmo_tensor TWICE[] = {{"a", INMO_U8, 5, 0, U}, {"a", INMO_U8, 5, 0, U}};
    static const struct inmo_tensor RESERVED = {"inmo.pad.0", INMO_U8, 5, 0, U};
    static const struct inmo_tensor HUGE = {"a", INMO_F64, INT64_MAX / 4, 4, U};
    static const struct inmo_metadata OWN = {"inmo.kind", "x"};
    struct inmo_error error;
    size_t size;
    char *data;
    (void)state;
    unlink(path);
    assert_int_equal(inmo_tensorfile_write(path, 0, "sample", 1, NULL, 0, TWICE, 2, NULL), INMO_INTERNAL);
    assert_int_equal(inmo_tensorfile_write(path, 0, "sample", 1, NULL, 0, &RESERVED, 1, NULL), INMO_INTERNAL);
    assert_int_equal(inmo_tensorfile_write(path, 0, "sample", 1, NULL, 0, &HUGE, 1, NULL), INMO_INTERNAL);
    assert_int_equal(inmo_tensorfile_write(path, 0, "sample", 1, &OWN, 1, NULL, 0, NULL), INMO_INTERNAL);
    assert_int_not_equal(access(path, F_OK), 0);
    spill(path, "precious", 8);
    assert_int_equal(write_sample(0, &error), INMO_EXISTS);
    assert_non_null(strstr(error.message, path));
    data = slurp(path, &size);
    assert_string_equal(data, "precious");
    free(data);
    assert_int_equal(inmo_tensorfile_write(folder, 1, "sample", 1, NULL, 0, NULL, 0, &error), INMO_IO);
    assert_int_equal(inmo_tensorfile_write("/nonexistent/file", 1, "sample", 1, NULL, 0, NULL, 0, &error), INMO_IO);
    assert_non_null(strstr(error.message, "/nonexistent/file"));
}

static void memory_may_be_short(void **state)
{
    enum inmo_status status = INMO_MEMORY;
    struct inmo_tensorfile *file = NULL;
    (void)state;
    unlink(path);
    for (long n = 0; status != INMO_OK; n++) {
        inmo_alloc_fail_after(n);
        status = write_sample(0, NULL);
        inmo_alloc_fail_after(-1);
        assert_true(status == INMO_OK || (status == INMO_MEMORY && access(path, F_OK) != 0));
    }
    status = INMO_MEMORY;
    for (long n = 0; status != INMO_OK; n++) {
        inmo_alloc_fail_after(n);
        status = inmo_tensorfile_open(path, "sample", 1, &file, NULL);
        inmo_alloc_fail_after(-1);
        assert_true(status == INMO_OK || (status == INMO_MEMORY && !file));
    }
    inmo_tensorfile_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(get_refuses),
        cmocka_unit_test(layout),
        cmocka_unit_test(every_flip_is_found),
        cmocka_unit_test(every_cut_is_found),
        cmocka_unit_test(says_what_it_is),
        cmocka_unit_test(lies_are_found),
        cmocka_unit_test(writer_refuses),
        cmocka_unit_test(memory_may_be_short),
    };
    return cmocka_run_group_tests_name("tensorfile", tests, make_folder, remove_folder);
}
