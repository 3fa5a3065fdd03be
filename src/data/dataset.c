/* dataset.c - a data set in a directory:
 *
 *     data.safetensors   everything (base/tensorfile.h, kind "dataset"), memory-mapped when opened:
 *                          users.offset I64 (U + 1), users.text U8, users.new U8 (U); the same for items.*
 *                          train.offset I64 (U + 1), train.item I32; the same for valid, test, later, aside
 *                          seen.offset I64 (U + extra + 1), seen.item I32, extra_users.*, extra_items.*: only if
 *                          something was seen but not chosen; older programs pass over them
 *                          train.weight F32, the same for valid and later: only with weights
 *                          metadata: scenario, description
 *     meta.json          counts and description for readers; never read back
 *
 * Saving puts data.safetensors in place by one rename, so the directory holds the old data set or the new one,
 * never a mixture. Opening checks every offset, column and id once, and after that nothing has to be checked
 * again: linear in the size, at about the speed of reading it. */
#include "data/dataset.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/tensorfile.h"
#include "base/text.h"
#include "data/seen.h"
#include "data/stored.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION = INMO_DATASET_VERSION, TENSORS = 16, SEEN_TENSORS = 6, WEIGHTED = 3 };
static const char KIND[] = INMO_DATASET_KIND, DATA[] = "data.safetensors", META[] = "meta.json";

static const char *const SCENARIO[] = {"transductive", "new-interactions", "new-users-items"};
enum { SCENARIOS = sizeof SCENARIO / sizeof SCENARIO[0] };

const char *inmo_scenario_name(enum inmo_scenario scenario)
{
    return SCENARIO[scenario];
}

void inmo_dataset_free(struct inmo_dataset *dataset)
{
    if (!dataset)
        return;
    inmo_idmap_drop_index(&dataset->items);
    inmo_idmap_drop_index(&dataset->users);
    inmo_free(dataset->description);
    if (dataset->file) {
        inmo_tensorfile_close(dataset->file);
    } else {
        inmo_csr_free(&dataset->seen);
        inmo_drop_ids(&dataset->extra_items);
        inmo_drop_ids(&dataset->extra_users);
        inmo_csr_free(&dataset->aside);
        inmo_csr_free(&dataset->later);
        inmo_csr_free(&dataset->test);
        inmo_csr_free(&dataset->valid);
        inmo_csr_free(&dataset->train);
        inmo_free((void *)dataset->new_item);
        inmo_free((void *)dataset->new_user);
        inmo_drop_ids(&dataset->items);
        inmo_drop_ids(&dataset->users);
    }
    inmo_free(dataset);
}

static int32_t count_ones(const uint8_t *flag, int32_t count)
{
    int32_t ones = 0;
    for (int32_t n = 0; n < count; n++)
        ones += flag[n];
    return ones;
}

void inmo_dataset_info(const struct inmo_dataset *dataset, struct inmo_dataset_info *info)
{
    *info = (struct inmo_dataset_info){
        .users = dataset->users.count,
        .items = dataset->items.count,
        .new_users = count_ones(dataset->new_user, dataset->users.count),
        .new_items = count_ones(dataset->new_item, dataset->items.count),
        .train = inmo_csr_count(&dataset->train),
        .valid = inmo_csr_count(&dataset->valid),
        .test = inmo_csr_count(&dataset->test),
        .later = inmo_csr_count(&dataset->later),
        .aside = inmo_csr_count(&dataset->aside),
        .scenario = inmo_scenario_name(dataset->scenario),
        .description = dataset->description,
    };
}

static char *join(const char *directory, const char *name)
{
    struct inmo_text path = {0};
    inmo_text_add(&path, directory, strlen(directory));
    inmo_text_add(&path, "/", 1);
    inmo_text_add(&path, name, strlen(name));
    return inmo_text_take(&path);
}

/* ---- Saving ---- */

/* But for what a killed run left of the two files, which the next one removes. */
static int is_empty(const char *directory)
{
    DIR *stream = opendir(directory);
    struct dirent *entry;
    int empty = stream != NULL;
    while (empty && (entry = readdir(stream)))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                inmo_is_aside_of(entry->d_name, DATA) || inmo_is_aside_of(entry->d_name, META);
    if (stream)
        closedir(stream);
    return empty;
}

/* 1 if the file claims to be a data set of any version, even a damaged one: such a file may be replaced. The kind
 * is near the beginning (base/tensorfile.c). */
static int is_prepared(const char *data_path)
{
    static const char SAYS[] = "\"inmo.kind\":\"dataset\"";
    char beginning[256] = "";
    FILE *stream = fopen(data_path, "rb");
    size_t size = stream ? fread(beginning, 1, sizeof beginning - 1, stream) : 0;
    if (stream)
        fclose(stream);
    for (size_t n = 0; n + sizeof SAYS - 1 <= size; n++)
        if (memcmp(beginning + n, SAYS, sizeof SAYS - 1) == 0)
            return 1;
    return 0;
}

static enum inmo_status check_place(const char *directory, const char *data_path, int force,
                                    struct inmo_error *error)
{
    struct stat present;
    if (stat(directory, &present) != 0)
        return inmo_check_folder_of(directory, error);
    if (!S_ISDIR(present.st_mode))
        return inmo_fail(error, INMO_EXISTS, "%s exists already and is not a directory", directory);
    if (is_empty(directory))
        return INMO_OK;
    if (!is_prepared(data_path))
        return inmo_fail(error, INMO_EXISTS,
                         "%s exists already and is not a prepared data set; it is not replaced, "
                         "not even with `force`",
                         directory);
    if (!force)
        return inmo_fail(error, INMO_EXISTS, "%s exists already; `force` replaces it", directory);
    return INMO_OK;
}

enum inmo_status inmo_dataset_check_place(const char *directory, int force, struct inmo_error *error)
{
    char *data_path = join(directory, DATA);
    enum inmo_status status = data_path ? check_place(directory, data_path, force, error)
                                        : inmo_fail_memory(error, "looking at the output");
    inmo_free(data_path);
    return status;
}

/* Creates the directory, or checks that it may be written. */
static enum inmo_status claim(const char *directory, const char *data_path, int force, int *created,
                              struct inmo_error *error)
{
    if (mkdir(directory, 0777) == 0) {
        *created = 1;
        return INMO_OK;
    }
    return errno == EEXIST ? check_place(directory, data_path, force, error)
                           : inmo_fail_errno(error, "make the directory", directory);
}

static char *meta_json(const struct inmo_dataset_info *info)
{
    struct inmo_text json = {0};
    inmo_text_format(&json, "{\n  \"format\": \"inmo dataset\",\n  \"version\": %d,\n  \"scenario\": \"%s\",\n",
                     VERSION, info->scenario);
    inmo_text_format(&json,
                     "  \"users\": %" PRId32 ",\n  \"items\": %" PRId32 ",\n  \"new_users\": %" PRId32
                     ",\n  \"new_items\": %" PRId32 ",\n",
                     info->users, info->items, info->new_users, info->new_items);
    inmo_text_format(&json,
                     "  \"train\": %" PRId64 ",\n  \"valid\": %" PRId64 ",\n  \"test\": %" PRId64
                     ",\n  \"later\": %" PRId64 ",\n  \"aside\": %" PRId64 ",\n  \"description\": ",
                     info->train, info->valid, info->test, info->later, info->aside);
    inmo_text_add(&json, info->description, strlen(info->description));
    inmo_text_add(&json, "\n}\n", 3);
    return inmo_text_take(&json);
}

static enum inmo_status write_data(const void *context, const char *path, struct inmo_error *error)
{
    const struct inmo_dataset *d = context;
    const int64_t users = d->users.count, items = d->items.count;
    const struct inmo_metadata metadata[] = {{"scenario", inmo_scenario_name(d->scenario)},
                                             {"description", d->description}};
    const struct inmo_idmap *extra_users = &d->extra_users, *extra_items = &d->extra_items;
    const int has_seen = d->seen.offset != NULL;
    const int64_t rows = users + extra_users->count;
    struct inmo_tensor tensor[TENSORS + SEEN_TENSORS + WEIGHTED] = {
        {"users.offset", INMO_I64, users + 1, 0, d->users.offset},
        {"users.text", INMO_U8, d->users.offset[users], 0, d->users.text},
        {"users.new", INMO_U8, users, 0, d->new_user},
        {"items.offset", INMO_I64, items + 1, 0, d->items.offset},
        {"items.text", INMO_U8, d->items.offset[items], 0, d->items.text},
        {"items.new", INMO_U8, items, 0, d->new_item},
        {"train.offset", INMO_I64, users + 1, 0, d->train.offset},
        {"train.item", INMO_I32, inmo_csr_count(&d->train), 0, d->train.column},
        {"valid.offset", INMO_I64, users + 1, 0, d->valid.offset},
        {"valid.item", INMO_I32, inmo_csr_count(&d->valid), 0, d->valid.column},
        {"test.offset", INMO_I64, users + 1, 0, d->test.offset},
        {"test.item", INMO_I32, inmo_csr_count(&d->test), 0, d->test.column},
        {"later.offset", INMO_I64, users + 1, 0, d->later.offset},
        {"later.item", INMO_I32, inmo_csr_count(&d->later), 0, d->later.column},
        {"aside.offset", INMO_I64, users + 1, 0, d->aside.offset},
        {"aside.item", INMO_I32, inmo_csr_count(&d->aside), 0, d->aside.column},
        {"extra_users.offset", INMO_I64, (int64_t)extra_users->count + 1, 0, extra_users->offset},
        {"extra_users.text", INMO_U8, has_seen ? extra_users->offset[extra_users->count] : 0, 0, extra_users->text},
        {"extra_items.offset", INMO_I64, (int64_t)extra_items->count + 1, 0, extra_items->offset},
        {"extra_items.text", INMO_U8, has_seen ? extra_items->offset[extra_items->count] : 0, 0, extra_items->text},
        {"seen.offset", INMO_I64, rows + 1, 0, d->seen.offset},
        {"seen.item", INMO_I32, inmo_csr_count(&d->seen), 0, d->seen.column},
    };
    const struct inmo_csr *const weighted[WEIGHTED] = {&d->train, &d->valid, &d->later};
    static const char *const name[WEIGHTED] = {"train.weight", "valid.weight", "later.weight"};
    size_t count = TENSORS + (has_seen ? SEEN_TENSORS : 0);
    for (int n = 0; n < WEIGHTED; n++)
        if (weighted[n]->weight)
            tensor[count++] =
                (struct inmo_tensor){name[n], INMO_F32, inmo_csr_count(weighted[n]), 0, weighted[n]->weight};
    return inmo_tensorfile_write(path, 1, KIND, VERSION, metadata, 2, tensor, count, error);
}

enum inmo_status inmo_dataset_save(const struct inmo_dataset *dataset, const char *directory, int force,
                                   struct inmo_error *error)
{
    struct inmo_dataset_info info;
    inmo_dataset_info(dataset, &info);
    return inmo_dataset_save_by(&info, write_data, dataset, directory, force, error);
}

enum inmo_status inmo_dataset_save_by(const struct inmo_dataset_info *info, inmo_write_data *write_it,
                                      const void *context, const char *directory, int force,
                                      struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_new_file meta = {0};
    char *data_path = join(directory, DATA), *meta_path = join(directory, META), *json = meta_json(info);
    int created = 0, data_written = 0;

    if (!data_path || !meta_path || !json) {
        status = inmo_fail_memory(error, "saving the data set");
        goto done;
    }
    status = claim(directory, data_path, force, &created, error);
    if (status != INMO_OK)
        goto done;
    /* meta.json is written to its temporary file first: a full disk is noticed while nothing has changed. */
    status = inmo_new_file_open(&meta, meta_path, 1, error);
    if (status == INMO_OK)
        status = inmo_new_file_write(&meta, json, strlen(json), error);
    if (status == INMO_OK && fflush(meta.stream) != 0)
        status = inmo_fail_errno(error, "write", meta_path);
    if (status == INMO_OK)
        status = write_it(context, data_path, error);
    if (status != INMO_OK)
        goto done;
    data_written = 1;
    status = inmo_new_file_commit(&meta, error);
done:
    inmo_new_file_abandon(&meta);
    if (status != INMO_OK && created) {
        if (data_written)
            unlink(data_path);
        rmdir(directory);
    }
    inmo_free(json);
    inmo_free(meta_path);
    inmo_free(data_path);
    return status;
}

/* ---- Opening ---- */

static enum inmo_status open_side(const struct inmo_tensorfile *file, const char *side, const char *path,
                                  struct inmo_idmap *ids, const uint8_t **is_new, struct inmo_error *error)
{
    char name[32];
    struct inmo_tensor flags;
    enum inmo_status status = inmo_stored_ids(file, side, path, ids, error);
    snprintf(name, sizeof name, "%s.new", side);
    if (status == INMO_OK)
        status = inmo_tensorfile_get(file, name, INMO_U8, ids->count, 0, &flags, error);
    if (status != INMO_OK)
        return status;
    for (int32_t n = 0; n < ids->count; n++)
        if (((const uint8_t *)flags.data)[n] > 1)
            return inmo_fail(error, INMO_FORMAT, "%s: entry %" PRId32 " of %s is neither 0 nor 1", path, n, name);
    *is_new = flags.data;
    return INMO_OK;
}

static enum inmo_status open_metadata(struct inmo_dataset *dataset, const char *path, struct inmo_error *error)
{
    const char *scenario = inmo_tensorfile_metadata(dataset->file, "scenario");
    const char *description = inmo_tensorfile_metadata(dataset->file, "description");
    json_t *json = NULL;
    enum inmo_status parsed =
        inmo_json_parse(description ? description : "", description ? strlen(description) : 0, 0, &json, NULL);
    int is_object = json_is_object(json), n = 0;
    json_decref(json);
    if (parsed == INMO_MEMORY)
        return inmo_fail_memory(error, "the description of a data set");
    while (scenario && n < SCENARIOS && strcmp(scenario, SCENARIO[n]) != 0)
        n++;
    if (!scenario || n == SCENARIOS || !is_object)
        return inmo_fail(error, INMO_FORMAT, "%s: the scenario is not one, or the description not a JSON object",
                         path);
    dataset->scenario = (enum inmo_scenario)n;
    dataset->description = inmo_copy_string(description);
    return dataset->description ? INMO_OK : inmo_fail_memory(error, "the description of a data set");
}

enum inmo_status inmo_dataset_open(const char *directory, struct inmo_dataset **dataset, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_dataset *d = inmo_alloc_zero(1, sizeof *d);
    char *path = join(directory, DATA);
    struct stat present;

    if (!d || !path) {
        status = inmo_fail_memory(error, "a data set");
        goto done;
    }
    if (stat(directory, &present) != 0) {
        status = inmo_fail_errno(error, "open", directory);
        goto done;
    }
    if (stat(path, &present) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        status = inmo_fail(error, INMO_FORMAT, "%s is not a prepared data set: it has no %s", directory, DATA);
        goto done;
    }
    status = inmo_tensorfile_open(path, KIND, VERSION, &d->file, error);
    if (status == INMO_OK)
        status = open_metadata(d, path, error);
    if (status == INMO_OK)
        status = open_side(d->file, "users", path, &d->users, &d->new_user, error);
    if (status == INMO_OK)
        status = open_side(d->file, "items", path, &d->items, &d->new_item, error);
    if (status == INMO_OK)
        status = inmo_stored_list(d->file, "train", path, d->users.count, d->items.count, &d->train, error);
    if (status == INMO_OK)
        status = inmo_stored_list(d->file, "valid", path, d->users.count, d->items.count, &d->valid, error);
    if (status == INMO_OK)
        status = inmo_stored_list(d->file, "test", path, d->users.count, d->items.count, &d->test, error);
    if (status == INMO_OK)
        status = inmo_stored_list(d->file, "later", path, d->users.count, d->items.count, &d->later, error);
    if (status == INMO_OK)
        status = inmo_stored_list(d->file, "aside", path, d->users.count, d->items.count, &d->aside, error);
    if (status == INMO_OK)
        status = inmo_stored_seen(d->file, path, d->users.count, d->items.count, &d->extra_users, &d->extra_items,
                                  &d->seen, error);
    if (status != INMO_OK)
        goto done;
    *dataset = d;
    d = NULL;
done:
    inmo_free(path);
    inmo_dataset_free(d);
    return status;
}
