/* test_modelfile.c - a model in a file: what is loaded answers as what was saved; a file with any byte changed,
 * cut short, of another kind or version, or sound by its checksum and wrong inside, is refused with a sentence
 * and never crashes; a file that is there is not lost. */
#define _GNU_SOURCE /* memmem */
#include "support.h"

#include "base/tensorfile.h"
#include "model/model.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct inmo_model *small_model(const char *name)
{
    struct inmo_dataset *data = grouped_dataset(8, 12, 5, "60/20/20");
    struct inmo_train_options options = small_options(name);
    struct inmo_model *model;
    options.dim = 3;
    options.epochs = 2;
    options.user_templates = 0.8;
    options.eval_alpha = "reached";
    model = trained(data, &options);
    inmo_dataset_free(data);
    return model;
}

static void save_small_model(const char *name, const char *path)
{
    struct inmo_error error = {0};
    struct inmo_model *model = small_model(name);
    must(inmo_model_save(model, path, 1, &error));
    inmo_model_free(model);
}

/* ---- There and back --------------------------------------------------------------------------------------- */

static void same_lists(const struct inmo_view *a, const struct inmo_view *b, const struct inmo_query *query)
{
    struct inmo_error error = {0};
    struct inmo_list *x = NULL, *y = NULL;
    must(inmo_recommend(a, query, &x, &error));
    must(inmo_recommend(b, query, &y, &error));
    assert_true(x->count > 0);
    assert_int_equal(x->count, y->count);
    for (size_t n = 0; n < x->count; n++) {
        assert_string_equal(x->entry[n].id, y->entry[n].id);
        assert_true(x->entry[n].score == y->entry[n].score);
    }
    inmo_list_free(y);
    inmo_list_free(x);
}

static void test_round_trip(void **state)
{
    static const char *const history[] = {"item-1", "item-4"};
    (void)state;
    for (size_t m = 0; m < COUNT(all_models); m++) {
        struct inmo_error error = {0};
        struct inmo_model *saved = small_model(all_models[m]), *loaded = NULL;
        struct inmo_view *before = NULL, *after = NULL;
        struct inmo_model_info a, b;
        struct inmo_query query;
        saved->alpha_reached = 0.87654321012345678; /* every digit counts */
        must(inmo_model_save(saved, "model", 1, &error));
        must(inmo_model_load("model", &loaded, &error));
        inmo_model_info(saved, &a);
        inmo_model_info(loaded, &b);
        assert_string_equal(a.name, b.name);
        assert_string_equal(a.configuration, b.configuration);
        assert_string_equal(a.record, b.record);
        assert_true(a.dim == b.dim && a.layers == b.layers && a.users == b.users && a.items == b.items &&
                    a.user_templates == b.user_templates && a.item_templates == b.item_templates &&
                    a.parameters == b.parameters && a.interactions == b.interactions);
        assert_true(saved->alpha_reached == loaded->alpha_reached && saved->alpha_one == loaded->alpha_one);
        must(inmo_view_create(saved, NULL, &before, &error));
        must(inmo_view_create(loaded, NULL, &after, &error));
        inmo_query_init(&query);
        for (int32_t u = 0; u < a.users; u++) {
            query.user = inmo_view_user_id(before, u);
            same_lists(before, after, &query);
        }
        if (!saved->kind->provider || saved->kind->provider->inductive) {
            inmo_query_init(&query);
            query.items = history;
            query.item_count = COUNT(history);
            same_lists(before, after, &query);
        }
        must(inmo_model_save(loaded, "again", 1, &error)); /* a loaded model saves to the same bytes */
        assert_true(same_files("model", "again"));
        inmo_view_free(after);
        inmo_view_free(before);
        inmo_model_free(loaded);
        inmo_model_free(saved);
    }
}

/* ---- What is there is not lost ------------------------------------------------------------------------------ */

static void test_existing_file(void **state)
{
    struct inmo_error error = {0};
    struct inmo_model *model = small_model("mf");
    struct inmo_model *loaded = NULL;
    struct bytes bytes;
    (void)state;
    write_bytes("precious", "not a model", 11);
    must_fail(inmo_model_save(model, "precious", 0, &error), INMO_EXISTS, "precious");
    bytes = read_bytes("precious");
    assert_int_equal(bytes.count, 11);
    assert_memory_equal(bytes.at, "not a model", 11);
    free(bytes.at);
    must_fail(inmo_model_load("precious", &loaded, &error), INMO_FORMAT, "precious");
    must(inmo_model_save(model, "precious", 1, &error));
    must(inmo_model_load("precious", &loaded, &error));
    inmo_model_free(loaded);
    loaded = NULL;
    must_fail(inmo_model_save(model, "no/such/folder/model", 1, &error), INMO_IO, "no/such/folder");
    must_fail(inmo_model_load("nowhere", &loaded, &error), INMO_IO, "nowhere");
    assert_int_equal(mkdir("folder", 0777), 0);
    assert_int_not_equal(inmo_model_load("folder", &loaded, &error), INMO_OK);
    assert_true(error.code == INMO_IO || error.code == INMO_FORMAT);
    assert_int_not_equal(inmo_model_save(model, "folder", 1, &error), INMO_OK);
    assert_int_equal(access("folder", F_OK), 0);
    assert_null(loaded);
    inmo_model_free(model);
}

/* A loaded model is a map of its file; saving over that file must not pull it away from under the model. */
static void test_saved_over_itself(void **state)
{
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    struct bytes before, after;
    (void)state;
    save_small_model("inmo-mf", "model");
    before = read_bytes("model");
    must(inmo_model_load("model", &model, &error));
    must(inmo_model_save(model, "model", 1, &error));
    must(inmo_model_save(model, "model", 1, &error));
    after = read_bytes("model");
    assert_int_equal(before.count, after.count);
    assert_memory_equal(before.at, after.at, before.count);
    free(after.at);
    free(before.at);
    inmo_model_free(model);
}

/* ---- Damage ---------------------------------------------------------------------------------------------- */

static void refused(const char *path, const char *what, size_t at)
{
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    enum inmo_status status = inmo_model_load(path, &model, &error);
    if (status != INMO_FORMAT && status != INMO_IO)
        fail_msg("%s at %zu: status %d", what, at, status);
    assert_null(model);
    assert_non_null(strstr(error.message, path)); /* the sentence names the file */
}

static void test_every_byte(void **state)
{
    static const char *const models[] = {"inmo-lightgcn", "popular"};
    (void)state;
    for (size_t m = 0; m < COUNT(models); m++) {
        struct bytes bytes;
        int file;
        save_small_model(models[m], "model");
        bytes = read_bytes("model");
        file = open("model", O_WRONLY);
        assert_true(file >= 0);
        for (size_t at = 0; at < bytes.count; at++)
            for (int bit = at % 8, round = 0; round < 2; round++, bit = (bit + 5) % 8) {
                unsigned char flipped = (unsigned char)(bytes.at[at] ^ (1 << bit));
                assert_int_equal(pwrite(file, &flipped, 1, (off_t)at), 1);
                refused("model", "flipped", at);
                assert_int_equal(pwrite(file, bytes.at + at, 1, (off_t)at), 1);
            }
        close(file);
        free(bytes.at);
        struct inmo_error error = {0};
        struct inmo_model *model = NULL;
        must(inmo_model_load("model", &model, &error)); /* and whole again */
        inmo_model_free(model);
    }
}

static void test_every_length(void **state)
{
    struct bytes bytes;
    (void)state;
    save_small_model("inmo-mf", "model");
    bytes = read_bytes("model");
    for (size_t length = bytes.count - 1;; length--) {
        assert_int_equal(truncate("model", (off_t)length), 0);
        refused("model", "truncated", length);
        if (length == 0)
            break;
    }
    write_bytes("model", bytes.at, bytes.count);
    assert_int_equal(truncate("model", (off_t)bytes.count + 64), 0); /* and longer than it should be */
    refused("model", "grown", bytes.count + 64);
    free(bytes.at);
}

/* The digit of the version changed in the file makes the checksum fail; either is a good reason to refuse it. */
static void test_version_digit(void **state)
{
    static const char says[] = "\"inmo.version\":\"1\"";
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    struct bytes bytes;
    unsigned char *found;
    (void)state;
    save_small_model("mf", "model");
    bytes = read_bytes("model");
    found = memmem(bytes.at, bytes.count, says, strlen(says));
    assert_non_null(found);
    found[strlen(says) - 2] = '2';
    write_bytes("model", bytes.at, bytes.count);
    assert_int_equal(inmo_model_load("model", &model, &error), INMO_FORMAT);
    assert_true(strstr(error.message, "damaged") || strstr(error.message, "version"));
    assert_null(model);
    free(bytes.at);
}

/* ---- Sound by its checksum, wrong inside ------------------------------------------------------------------- */

/* An opened model file as lists that can be changed and written again. */
struct draft {
    struct inmo_tensorfile *file;
    struct inmo_metadata metadata[12];
    struct inmo_tensor tensor[16];
    size_t keys, tensors;
};

static struct draft open_draft(const char *path)
{
    static const char *const keys[] = {"model",         "dim",    "layers",     "alpha_reached", "eval_alpha",
                                       "configuration", "record", "popularity", "walks",         "walk_neighbours"};
    struct inmo_error error = {0};
    struct draft draft = {0};
    must(inmo_tensorfile_open(path, "model", 1, &draft.file, &error));
    for (; draft.keys < COUNT(keys); draft.keys++)
        draft.metadata[draft.keys] =
            (struct inmo_metadata){keys[draft.keys], inmo_tensorfile_metadata(draft.file, keys[draft.keys])};
    for (; draft.tensors < inmo_tensorfile_count(draft.file); draft.tensors++)
        draft.tensor[draft.tensors] = *inmo_tensorfile_at(draft.file, draft.tensors);
    return draft;
}

static void write_draft(const struct draft *draft, const char *kind, int version)
{
    struct inmo_error error = {0};
    must(inmo_tensorfile_write("draft", 1, kind, version, draft->metadata, draft->keys, draft->tensor,
                               draft->tensors, &error));
}

static void draft_refused(const struct draft *draft, const char *words)
{
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    write_draft(draft, "model", 1);
    must_fail(inmo_model_load("draft", &model, &error), INMO_FORMAT, words);
    assert_null(model);
}

static struct inmo_tensor *tensor_of(struct draft *draft, const char *name)
{
    for (size_t n = 0; n < draft->tensors; n++)
        if (strcmp(draft->tensor[n].name, name) == 0)
            return draft->tensor + n;
    fail_msg("no array %s", name);
    return NULL;
}

/* A copy of the draft whose array has other numbers: element n of the array becomes the value. */
static void number_refused(const char *name, int64_t n, int64_t value, const char *words)
{
    struct draft draft = open_draft("model");
    struct inmo_tensor *tensor = tensor_of(&draft, name);
    size_t size = tensor->dtype == INMO_I64 ? 8 : tensor->dtype == INMO_U8 ? 1 : 4, count = (size_t)tensor->rows;
    unsigned char *copy = malloc(count * size);
    assert_non_null(copy);
    memcpy(copy, tensor->data, count * size);
    n = n < 0 ? tensor->rows + n : n; /* counted from the end */
    memcpy(copy + (size_t)n * size, &value, size);
    tensor->data = copy;
    draft_refused(&draft, words);
    free(copy);
    inmo_tensorfile_close(draft.file);
}

static void metadata_refused(const char *key, const char *value, const char *words)
{
    struct draft draft = open_draft("model");
    for (size_t n = 0; n < draft.keys; n++)
        if (strcmp(draft.metadata[n].key, key) == 0) {
            if (value)
                draft.metadata[n].value = value;
            else
                draft.metadata[n] = draft.metadata[--draft.keys];
        }
    draft_refused(&draft, words);
    inmo_tensorfile_close(draft.file);
}

static void test_wrong_inside(void **state)
{
    struct draft draft;
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    (void)state;
    save_small_model("inmo-mf", "model");
    draft = open_draft("model"); /* unchanged it is good: what follows is refused for what is changed */
    write_draft(&draft, "model", 1);
    must(inmo_model_load("draft", &model, &error));
    inmo_model_free(model);
    model = NULL;
    write_draft(&draft, "model", 2);
    must_fail(inmo_model_load("draft", &model, &error), INMO_FORMAT, "version 2");
    write_draft(&draft, "dataset", 1);
    must_fail(inmo_model_load("draft", &model, &error), INMO_FORMAT, "kind \"dataset\"");
    for (size_t n = 0; n < draft.tensors; n++) { /* one array missing; one of another shape */
        struct draft fewer = draft;
        fewer.tensor[n] = fewer.tensor[--fewer.tensors];
        draft_refused(&fewer, draft.tensor[n].name);
        fewer = draft;
        fewer.tensor[n].rows--;
        draft_refused(&fewer, "");
    }
    inmo_tensorfile_close(draft.file);

    metadata_refused("model", "quantum", "'quantum'");
    metadata_refused("model", "mf", ""); /* another model's arrays */
    metadata_refused("dim", "0", "out of bounds");
    metadata_refused("dim", "4", ""); /* not what the parameters have */
    metadata_refused("dim", "8 ", "out of bounds");
    metadata_refused("dim", "99999999999999999999", "out of bounds");
    metadata_refused("layers", "99", "out of bounds");
    metadata_refused("layers", "", "out of bounds");
    metadata_refused("alpha_reached", "2", "out of bounds");
    metadata_refused("popularity", "inf", "out of bounds");
    metadata_refused("popularity", "1e9", "out of bounds");
    metadata_refused("walks", "-1", "out of bounds");
    metadata_refused("walks", "nan", "out of bounds");
    metadata_refused("walk_neighbours", "0", "out of bounds");
    metadata_refused("walk_neighbours", "2147483647", "out of bounds");
    metadata_refused("walk_neighbours", "many", "out of bounds");
    metadata_refused("alpha_reached", "nan", "out of bounds");
    metadata_refused("configuration", NULL, "incomplete");
    number_refused("users.offset", 0, 1, "does not fit");
    number_refused("users.offset", 1, 1000000, "does not fit");
    number_refused("users.offset", 1, 0, "is not a string");
    number_refused("items.offset", -1, INT64_MAX, "does not fit");
    number_refused("users.text", -1, 'x', "is not a string"); /* the last id does not end */
    number_refused("train.offset", 1, INT64_MAX, "does not fit");
    number_refused("train.offset", 2, -1, "does not fit");
    number_refused("train.item", 0, 1000, "is not ascending");
    number_refused("train.item", 0, -1, "is not ascending");
    number_refused("train.item", -1, 1000, "is not ascending"); /* ascending, and yet not there */
    number_refused("valid.offset", -1, 1000, "does not fit");
    number_refused("template.users", 0, -1, "templates");
    number_refused("template.items", -1, 12, "templates");
    number_refused("template.items", 1, 0, "templates"); /* twice the same */
}

/* The file of a prepared data set, and of a checkpoint, are files of inmo and yet no models. */
static void test_other_kinds(void **state)
{
    struct inmo_error error = {0};
    struct inmo_dataset *data = grouped_dataset(8, 12, 5, "60/20/20");
    struct inmo_train_options options = small_options("mf");
    struct inmo_model *model = NULL;
    (void)state;
    must(inmo_dataset_save(data, "prepared", 0, &error));
    must_fail(inmo_model_load("prepared/data.safetensors", &model, &error), INMO_FORMAT, "kind \"dataset\"");
    options.checkpoint = "checkpoint";
    must(inmo_train(data, &options, NULL, &model, NULL, &error));
    inmo_model_free(model);
    model = NULL;
    must_fail(inmo_model_load("checkpoint", &model, &error), INMO_FORMAT, "kind \"checkpoint\"");
    assert_null(model);
    inmo_dataset_free(data);
}

/* ---- Every allocation fails once -------------------------------------------------------------------------- */

static void test_out_of_memory(void **state)
{
    struct inmo_error error = {0};
    struct inmo_model *model = small_model("inmo-lightgcn"), *loaded = NULL;
    (void)state;
    for (int loading = 0; loading < 2; loading++) {
        enum inmo_status status = INMO_MEMORY;
        long allowed = 0;
        for (; status == INMO_MEMORY; allowed++) {
            inmo_alloc_fail_after(allowed);
            status =
                loading ? inmo_model_load("model", &loaded, &error) : inmo_model_save(model, "model", 1, &error);
            inmo_alloc_fail_after(-1);
            assert_int_equal(loaded != NULL, loading && status == INMO_OK);
        }
        assert_int_equal(status, INMO_OK);
        assert_true(allowed > 3);
    }
    inmo_model_free(loaded);
    inmo_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),        cmocka_unit_test(test_existing_file),
        cmocka_unit_test(test_saved_over_itself), cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_every_length),      cmocka_unit_test(test_version_digit),
        cmocka_unit_test(test_wrong_inside),      cmocka_unit_test(test_other_kinds),
        cmocka_unit_test(test_out_of_memory),
    };
    inmo_set_threads(1); /* where a test asks for nothing else: small loops are slow at two on a busy machine */
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
