/* test_dataset.c - prepared directories: what is saved is opened again; flipped bytes, cut files and well-formed
 * lies are found; --force replaces a data set and nothing else; a failure leaves what was there. */
#include "base/memory.h"
#include "base/tensorfile.h"
#include "data/dataset.h"
#include "data/log.h"

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
#include <jansson.h>

static char folder[64], directory[96], data_path[128], meta_path[128];

static struct inmo_dataset *sample(const char *scenario, uint64_t seed)
{
    struct inmo_log *log = inmo_log_new(0, 0);
    struct inmo_prepare_options options;
    struct inmo_dataset *dataset = NULL;
    char user[16], item[16];
    for (int n = 0; n < 60; n++) {
        int32_t u, i;
        snprintf(user, sizeof user, "user-%d", n % 7);
        snprintf(item, sizeof item, "\xc3\xa4-%d", n * 5 % 11);
        u = inmo_idtable_intern(log->users, user, strlen(user));
        i = inmo_idtable_intern(log->items, item, strlen(item));
        assert_int_equal(inmo_log_add(log, u, i, 0, 0), 0);
    }
    log->sources = inmo_copy_string("a \"name\"\xff.tsv");
    inmo_prepare_options_init(&options);
    options.scenario = scenario;
    options.seed = seed;
    assert_int_equal(inmo_dataset_prepare(log, &options, &dataset, NULL), INMO_OK);
    inmo_log_free(log);
    return dataset;
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/inmo-test-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(directory, sizeof directory, "%s/set", folder);
    snprintf(data_path, sizeof data_path, "%s/data.safetensors", directory);
    snprintf(meta_path, sizeof meta_path, "%s/meta.json", directory);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(data_path);
    unlink(meta_path);
    rmdir(directory);
    return rmdir(folder); /* fails when something was left behind */
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

static void csr_equal(const struct inmo_csr *a, const struct inmo_csr *b)
{
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->columns, b->columns);
    assert_memory_equal(a->offset, b->offset, ((size_t)a->rows + 1) * sizeof *a->offset);
    if (inmo_csr_count(a) > 0)
        assert_memory_equal(a->column, b->column, (size_t)inmo_csr_count(a) * sizeof *a->column);
}

static void datasets_equal(struct inmo_dataset *a, struct inmo_dataset *b)
{
    assert_int_equal(a->scenario, b->scenario);
    assert_string_equal(a->description, b->description);
    assert_int_equal(a->users.count, b->users.count);
    assert_int_equal(a->items.count, b->items.count);
    for (int32_t n = 0; n < a->users.count; n++) {
        assert_string_equal(inmo_idmap_id(&a->users, n), inmo_idmap_id(&b->users, n));
        assert_int_equal(a->new_user[n], b->new_user[n]);
    }
    for (int32_t n = 0; n < a->items.count; n++) {
        assert_string_equal(inmo_idmap_id(&a->items, n), inmo_idmap_id(&b->items, n));
        assert_int_equal(a->new_item[n], b->new_item[n]);
    }
    csr_equal(&a->train, &b->train);
    csr_equal(&a->valid, &b->valid);
    csr_equal(&a->test, &b->test);
    csr_equal(&a->later, &b->later);
    csr_equal(&a->aside, &b->aside);
}

static void round_trip(void **state)
{
    static const char *const SCENARIO[] = {"transductive", "new-interactions", "new-users-items"};
    (void)state;
    for (int n = 0; n < 3; n++) {
        struct inmo_dataset *saved = sample(SCENARIO[n], 1), *opened = NULL;
        struct inmo_dataset_info info;
        size_t size, again_size;
        char *data, *again;
        json_t *meta, *description;
        assert_int_equal(inmo_dataset_save(saved, directory, 1, NULL), INMO_OK);
        assert_int_equal(inmo_dataset_open(directory, &opened, NULL), INMO_OK);
        datasets_equal(saved, opened);
        assert_int_equal(inmo_idmap_index(&opened->items, NULL), INMO_OK); /* freed with the data set */
        assert_int_equal(inmo_idmap_find(&opened->items, "\xc3\xa4-5"), 1);

        inmo_dataset_info(opened, &info);
        assert_string_equal(info.scenario, SCENARIO[n]);
        meta = json_load_file(meta_path, 0, NULL);
        assert_string_equal(json_string_value(json_object_get(meta, "format")), "inmo dataset");
        assert_int_equal(json_integer_value(json_object_get(meta, "users")), info.users);
        assert_int_equal(json_integer_value(json_object_get(meta, "train")), info.train);
        assert_int_equal(json_integer_value(json_object_get(meta, "later")), info.later);
        description = json_object_get(meta, "description");
        assert_string_equal(json_string_value(json_object_get(description, "sources")),
                            "a \"name\"\xef\xbf\xbd.tsv");
        assert_string_equal(json_string_value(json_object_get(json_object_get(description, "options"), "scenario")),
                            SCENARIO[n]);
        json_decref(meta);

        /* Saved over itself, while it is mapped: the same bytes. */
        data = slurp(data_path, &size);
        assert_int_equal(inmo_dataset_save(opened, directory, 1, NULL), INMO_OK);
        again = slurp(data_path, &again_size);
        assert_int_equal(size, again_size);
        assert_memory_equal(data, again, size);
        free(again);
        free(data);
        inmo_dataset_free(opened);
        inmo_dataset_free(saved);
    }
    inmo_dataset_free(NULL);
}

static void force_and_directories(void **state)
{
    struct inmo_dataset *old = sample("transductive", 1), *fresh = sample("new-interactions", 2), *opened = NULL;
    struct inmo_error error;
    char other[128], note[160];
    FILE *stream;
    (void)state;
    assert_int_equal(inmo_dataset_save(old, directory, 1, NULL), INMO_OK);
    assert_int_equal(inmo_dataset_save(fresh, directory, 0, &error), INMO_EXISTS);
    assert_non_null(strstr(error.message, "`force`"));
    assert_int_equal(inmo_dataset_open(directory, &opened, NULL), INMO_OK);
    datasets_equal(old, opened);
    inmo_dataset_free(opened);
    assert_int_equal(truncate(data_path, 300), 0); /* a damaged data set may be replaced */
    assert_int_equal(inmo_dataset_save(fresh, directory, 1, NULL), INMO_OK);
    assert_int_equal(inmo_dataset_open(directory, &opened, NULL), INMO_OK);
    datasets_equal(fresh, opened);
    inmo_dataset_free(opened);

    /* Somebody's own files are not replaced, with or without force; an empty directory holds nothing to lose. */
    snprintf(other, sizeof other, "%s/other", folder);
    snprintf(note, sizeof note, "%s/note.txt", other);
    assert_int_equal(mkdir(other, 0700), 0);
    stream = fopen(note, "w");
    fputs("mine", stream);
    fclose(stream);
    assert_int_equal(inmo_dataset_save(fresh, other, 0, &error), INMO_EXISTS);
    assert_int_equal(inmo_dataset_save(fresh, other, 1, &error), INMO_EXISTS);
    assert_non_null(strstr(error.message, "not a prepared data set"));
    assert_int_equal(inmo_dataset_open(other, &opened, &error), INMO_FORMAT);
    assert_non_null(strstr(error.message, "not a prepared data set"));
    assert_int_equal(inmo_dataset_save(fresh, note, 1, &error), INMO_EXISTS);
    assert_int_equal(unlink(note), 0);
    assert_int_equal(inmo_dataset_save(fresh, other, 0, &error), INMO_OK);
    snprintf(note, sizeof note, "%s/meta.json", other);
    unlink(note);
    snprintf(note, sizeof note, "%s/data.safetensors", other);
    unlink(note);
    rmdir(other);
    assert_int_equal(inmo_dataset_open(other, &opened, &error), INMO_IO);
    snprintf(note, sizeof note, "%s/not/there", folder);
    assert_int_equal(inmo_dataset_save(fresh, note, 1, &error), INMO_IO);
    assert_non_null(strstr(error.message, note));
    inmo_dataset_free(fresh);
    inmo_dataset_free(old);
}

static void damage_is_found(void **state)
{
    struct inmo_dataset *dataset = sample("new-users-items", 1), *opened = NULL;
    struct inmo_error error;
    size_t size;
    char *data;
    int descriptor;
    (void)state;
    assert_int_equal(inmo_dataset_save(dataset, directory, 1, NULL), INMO_OK);
    data = slurp(data_path, &size);
    descriptor = open(data_path, O_WRONLY);
    for (size_t n = 0; n < size; n++) {
        char flipped = (char)(data[n] ^ (1 << n % 8));
        assert_int_equal(pwrite(descriptor, &flipped, 1, (off_t)n), 1);
        assert_int_equal(inmo_dataset_open(directory, &opened, &error), INMO_FORMAT);
        assert_non_null(strstr(error.message, data_path));
        assert_int_equal(pwrite(descriptor, data + n, 1, (off_t)n), 1);
    }
    close(descriptor);
    assert_int_equal(inmo_dataset_open(directory, &opened, &error), INMO_OK);
    inmo_dataset_free(opened);
    opened = NULL;
    for (size_t cut = size; cut-- > 0;) {
        assert_int_equal(truncate(data_path, (off_t)cut), 0);
        assert_int_equal(inmo_dataset_open(directory, &opened, &error), INMO_FORMAT);
    }
    assert_null(opened);
    free(data);
    inmo_dataset_free(dataset);
    unlink(data_path);
}

/* A data set of two users and three items whose checksums are right; tests change one array at a time. */
static const int64_t ID2[] = {0, 2, 4}, ID3[] = {0, 2, 4, 6}, ROWS[] = {0, 2, 3}, NONE[] = {0, 0, 0};
static const int32_t COLUMNS[] = {0, 2, 1};
static const uint8_t ZERO[4];
static const struct inmo_tensor GOOD[16] = {
    {"users.offset", INMO_I64, 3, 0, ID2},    {"users.text", INMO_U8, 4, 0, "a\0b"},
    {"users.new", INMO_U8, 2, 0, ZERO},       {"items.offset", INMO_I64, 4, 0, ID3},
    {"items.text", INMO_U8, 6, 0, "x\0y\0z"}, {"items.new", INMO_U8, 3, 0, ZERO},
    {"train.offset", INMO_I64, 3, 0, ROWS},   {"train.item", INMO_I32, 3, 0, COLUMNS},
    {"valid.offset", INMO_I64, 3, 0, NONE},   {"valid.item", INMO_I32, 0, 0, NULL},
    {"test.offset", INMO_I64, 3, 0, NONE},    {"test.item", INMO_I32, 0, 0, NULL},
    {"later.offset", INMO_I64, 3, 0, NONE},   {"later.item", INMO_I32, 0, 0, NULL},
    {"aside.offset", INMO_I64, 3, 0, NONE},   {"aside.item", INMO_I32, 0, 0, NULL},
};

static enum inmo_status open_forged(const struct inmo_tensor *tensor, size_t count, const char *scenario,
                                    const char *description, struct inmo_dataset **dataset)
{
    const struct inmo_metadata metadata[] = {{"scenario", scenario}, {"description", description}};
    assert_int_equal(inmo_tensorfile_write(data_path, 1, "dataset", 2, metadata, 2, tensor, count, NULL), INMO_OK);
    return inmo_dataset_open(directory, dataset, NULL);
}

static void lies_are_found(void **state)
{
    const struct {
        size_t which;
        struct inmo_tensor tensor;
    } LIE[] = {
        {0, {"users.offset", INMO_I64, 3, 0, (const int64_t[]){0, 5, 4}}},
        {0, {"users.offset", INMO_I64, 3, 0, (const int64_t[]){0, 2, 3}}},
        {0, {"users.offset", INMO_I64, 3, 0, (const int64_t[]){1, 2, 4}}},
        {0, {"users.offset", INMO_I64, 3, 0, (const int64_t[]){0, 0, 4}}},
        {0, {"users.offset", INMO_I64, 3, 0, (const int64_t[]){0, -1, 4}}},
        {0, {"users.offset", INMO_I64, 3, 0, (const int64_t[]){0, 4, 4}}},
        {0, {"users.offset", INMO_I64, 0, 0, NULL}},
        {0, {"users.offset", INMO_F64, 3, 0, ID2}},
        {1, {"users.text", INMO_U8, 4, 0, "a\0bb"}},
        {1, {"users.text", INMO_U8, 4, 0, "aab"}},
        {2, {"users.new", INMO_U8, 3, 0, ZERO}},
        {2, {"users.new", INMO_U8, 2, 0, "\1\2"}},
        {3, {"items.offset", INMO_I64, 3, 0, ID2}},
        {6, {"train.offset", INMO_I64, 4, 0, ID3}},
        {6, {"train.offset", INMO_I64, 3, 0, (const int64_t[]){0, 4, 3}}},
        {6, {"train.offset", INMO_I64, 3, 0, (const int64_t[]){0, -9, 3}}},
        {6, {"train.offset", INMO_I64, 3, 0, (const int64_t[]){0, 2, 4}}},
        {7, {"train.item", INMO_I32, 3, 0, (const int32_t[]){2, 0, 1}}},
        {7, {"train.item", INMO_I32, 3, 0, (const int32_t[]){1, 1, 1}}},
        {7, {"train.item", INMO_I32, 3, 0, (const int32_t[]){0, 3, 1}}},
        {7, {"train.item", INMO_I32, 3, 0, (const int32_t[]){0, 1, 3}}},
        {7, {"train.item", INMO_I32, 3, 0, (const int32_t[]){-1, 1, 1}}},
        {7, {"train.item", INMO_I32, 3, 1, COLUMNS}},
        {12, {"later.offset", INMO_I64, 3, 0, ROWS}},
        {14, {"aside.offset", INMO_I64, 3, 0, ROWS}},
    };
    struct inmo_dataset *opened = NULL;
    (void)state;
    mkdir(directory, 0700);
    assert_int_equal(open_forged(GOOD, 16, "transductive", "{}", &opened), INMO_OK);
    assert_string_equal(inmo_idmap_id(&opened->items, 2), "z");
    inmo_dataset_free(opened);
    opened = NULL;
    for (size_t n = 0; n < sizeof LIE / sizeof LIE[0]; n++) {
        struct inmo_tensor tensor[16];
        memcpy(tensor, GOOD, sizeof tensor);
        tensor[LIE[n].which] = LIE[n].tensor;
        if (open_forged(tensor, 16, "transductive", "{}", &opened) != INMO_FORMAT)
            fail_msg("lie %zu was believed", n);
    }
    assert_int_equal(open_forged(GOOD, 13, "transductive", "{}", &opened), INMO_FORMAT);
    assert_int_equal(open_forged(GOOD, 16, "transductiv", "{}", &opened), INMO_FORMAT);
    assert_int_equal(open_forged(GOOD, 16, "transductive", "[]", &opened), INMO_FORMAT);
    assert_int_equal(open_forged(GOOD, 16, "transductive", "{", &opened), INMO_FORMAT);
    assert_null(opened);
    unlink(data_path);
}

static void memory_may_be_short(void **state)
{
    struct inmo_dataset *dataset = sample("new-users-items", 1), *opened = NULL;
    enum inmo_status status = INMO_MEMORY;
    (void)state;
    unlink(data_path);
    unlink(meta_path);
    rmdir(directory);
    for (long n = 0; status != INMO_OK; n++) {
        inmo_alloc_fail_after(n);
        status = inmo_dataset_save(dataset, directory, 0, NULL);
        inmo_alloc_fail_after(-1);
        /* What failed leaves no directory behind. */
        assert_true(status == INMO_OK || (status == INMO_MEMORY && access(directory, F_OK) != 0));
    }
    status = INMO_MEMORY;
    for (long n = 0; status != INMO_OK; n++) {
        inmo_alloc_fail_after(n);
        status = inmo_dataset_open(directory, &opened, NULL);
        inmo_alloc_fail_after(-1);
        assert_true(status == INMO_OK || (status == INMO_MEMORY && !opened));
    }
    inmo_dataset_free(opened);
    inmo_dataset_free(dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),          cmocka_unit_test(force_and_directories),
        cmocka_unit_test(damage_is_found),     cmocka_unit_test(lies_are_found),
        cmocka_unit_test(memory_may_be_short),
    };
    return cmocka_run_group_tests_name("dataset", tests, make_folder, remove_folder);
}
