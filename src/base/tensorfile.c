/* tensorfile.c - opening, see tensorfile.h and tensorfile_layout.h; tensorfile_write.c writes.
 *
 * Everything is checked before it is used, in this order: that the file is ours, the checksum of the header, the
 * header as JSON, kind and version, the place of every array, the checksum of the arrays. Opening reads the file
 * once, at memory speed. */
#include "base/tensorfile.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/tensorfile_layout.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* Short names for the layout. */
enum {
    ALIGNMENT = INMO_TENSORFILE_ALIGNMENT,
    LENGTH_BYTES = INMO_TENSORFILE_LENGTH,
    DIGITS = INMO_TENSORFILE_DIGITS,
    DIGITS_AT = INMO_TENSORFILE_DIGITS_AT,
    HEADER_MOST = INMO_TENSORFILE_HEADER_MOST
};
static const char OPENING[] = INMO_TENSORFILE_OPENING;

enum { DTYPES = INMO_F64 + 1 };

struct inmo_tensorfile {
    char *path;
    const char *map;  // (map_size)
    size_t map_size;
    json_t *header;              // owns the names and metadata
    struct inmo_tensor *tensor;  // (tensor_count) in file order, without the gaps
    size_t tensor_count;
};

static enum inmo_status map_file(struct inmo_tensorfile *file, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct stat about;
    void *map = MAP_FAILED;
    /* Non-blocking: opening a named pipe would wait for a writer. */
    int descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return inmo_fail_errno(error, "open", file->path);
    if (fstat(descriptor, &about) != 0)
        status = inmo_fail_errno(error, "open", file->path);
    else if (!S_ISREG(about.st_mode))
        status = inmo_fail(error, INMO_FORMAT, "%s is not an ordinary file", file->path);
    else if (about.st_size < DIGITS_AT + DIGITS)
        status = inmo_fail(error, INMO_FORMAT,
                           "%s is truncated or not a file of inmo: it has %lld bytes, a header has more",
                           file->path, (long long)about.st_size);
    if (status == INMO_OK) {
        map = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (map == MAP_FAILED)
            status = inmo_fail_errno(error, "map", file->path);
    }
    if (status == INMO_OK) {
        file->map = map;
        file->map_size = (size_t)about.st_size;
        posix_madvise(map, file->map_size, POSIX_MADV_WILLNEED);
    }
    close(descriptor);
    return status;
}

/* Runs before the header is parsed. */
static enum inmo_status check_header(const struct inmo_tensorfile *file, size_t *size, struct inmo_error *error)
{
    char digits[DIGITS + 1];
    char *copy = NULL;
    uint64_t length;
    memcpy(&length, file->map, LENGTH_BYTES);
    if (memcmp(file->map + LENGTH_BYTES, OPENING, sizeof OPENING - 1) != 0)
        return inmo_fail(error, INMO_FORMAT,
                         "%s is damaged or not a file of inmo: its header does not begin as one", file->path);
    if (length > HEADER_MOST)
        return inmo_fail(error, INMO_FORMAT,
                         "%s is damaged: its header should have %" PRIu64 " bytes, at most %d are possible",
                         file->path, length, HEADER_MOST);
    if (length + LENGTH_BYTES > file->map_size)
        return inmo_fail(error, INMO_FORMAT,
                         "%s is truncated: the header alone has %" PRIu64 " bytes, the file has %zu", file->path,
                         length + LENGTH_BYTES, file->map_size);
    *size = (size_t)length + LENGTH_BYTES;
    if (*size % ALIGNMENT != 0 || *size < DIGITS_AT + DIGITS)
        return inmo_fail(error, INMO_FORMAT,
                         "%s is damaged: its header has %zu bytes, a multiple of %d was expected", file->path,
                         *size, ALIGNMENT);
    copy = inmo_alloc(*size, 1);
    if (!copy)
        return inmo_fail_memory(error, "the header of a file");
    memcpy(copy, file->map, *size);
    memset(copy + DIGITS_AT, '0', DIGITS);
    snprintf(digits, sizeof digits, "%016" PRIx64, (uint64_t)XXH3_64bits(copy, *size));
    inmo_free(copy);
    if (memcmp(digits, file->map + DIGITS_AT, DIGITS) != 0)
        return inmo_fail(error, INMO_FORMAT, "%s: checksum of the header differs: the file is damaged", file->path);
    return INMO_OK;
}

static enum inmo_status parse_header(struct inmo_tensorfile *file, size_t header_size, struct inmo_error *error)
{
    json_error_t where;
    json_t *value;
    const char *key;
    enum inmo_status status = inmo_json_parse(file->map + LENGTH_BYTES, header_size - LENGTH_BYTES,
                                              JSON_REJECT_DUPLICATES, &file->header, &where);
    if (status == INMO_MEMORY)
        return inmo_fail_memory(error, "the header of a file");
    if (status)
        return inmo_fail(error, INMO_FORMAT, "%s: the header cannot be read: %s", file->path, where.text);
    json_object_foreach(json_object_get(file->header, "__metadata__"), key, value) {
        if (!json_is_string(value))
            return inmo_fail(error, INMO_FORMAT, "%s: metadata \"%.200s\" is not a string", file->path, key);
    }
    return INMO_OK;
}

static enum inmo_status check_kind(const struct inmo_tensorfile *file, const char *kind, int version,
                                   struct inmo_error *error)
{
    const char *found_kind = inmo_tensorfile_metadata(file, "inmo.kind");
    const char *found_version = inmo_tensorfile_metadata(file, "inmo.version");
    char expected[16];
    snprintf(expected, sizeof expected, "%d", version);
    if (!found_kind || !found_version || !inmo_tensorfile_metadata(file, "inmo.checksum"))
        return inmo_fail(error, INMO_FORMAT, "%s: the header lacks inmo.kind, inmo.version or inmo.checksum",
                         file->path);
    if (strcmp(found_kind, kind) != 0)
        return inmo_fail(error, INMO_FORMAT, "%s is a file of the kind \"%.64s\", \"%s\" was expected", file->path,
                         found_kind, kind);
    if (strcmp(found_version, expected) != 0)
        return inmo_fail(error, INMO_FORMAT, "%s is version %.16s, this program reads version %d", file->path,
                         found_version, version);
    return INMO_OK;
}

/* Parses one entry of the header; returns 0 if every field is present and valid. */
static int parse_entry(json_t *entry, struct inmo_tensor *tensor, int64_t *begin, int64_t *end)
{
    json_t *shape = json_object_get(entry, "shape"), *offsets = json_object_get(entry, "data_offsets");
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    size_t dimensions = json_array_size(shape), type = 0;
    while (dtype && type < DTYPES && strcmp(dtype, inmo_dtype_name((enum inmo_dtype)type)) != 0)
        type++;
    if (!dtype || type == DTYPES || json_object_size(entry) != 3 || dimensions < 1 || dimensions > 2 ||
        json_array_size(offsets) != 2)
        return -1;
    for (size_t n = 0; n < 2; n++)
        if (!json_is_integer(json_array_get(offsets, n)) ||
            (n < dimensions && !json_is_integer(json_array_get(shape, n))))
            return -1;
    tensor->dtype = (enum inmo_dtype)type;
    tensor->rows = json_integer_value(json_array_get(shape, 0));
    tensor->columns = dimensions == 2 ? json_integer_value(json_array_get(shape, 1)) : 0;
    *begin = json_integer_value(json_array_get(offsets, 0));
    *end = json_integer_value(json_array_get(offsets, 1));
    /* 0 columns would mean a vector. */
    return dimensions == 2 && tensor->columns == 0 ? -1 : 0;
}

/* Each array must begin where the previous one ended. That alone rules out gaps, overlaps and arrays outside the
 * file. */
static enum inmo_status place_tensors(struct inmo_tensorfile *file, size_t header_size, struct inmo_error *error)
{
    int64_t expected = 0, begin, end, bytes;
    json_t *entry;
    const char *name;
    file->tensor = inmo_alloc(json_object_size(file->header), sizeof *file->tensor);
    if (!file->tensor)
        return inmo_fail_memory(error, "the list of arrays in a file");
    json_object_foreach(file->header, name, entry) {
        struct inmo_tensor *tensor = &file->tensor[file->tensor_count];
        int is_gap = inmo_starts_with(name, INMO_TENSORFILE_PAD);
        if (strcmp(name, "__metadata__") == 0)
            continue;
        if (parse_entry(entry, tensor, &begin, &end) != 0)
            return inmo_fail(error, INMO_FORMAT, "%s: the description of array \"%.200s\" is not a valid one",
                             file->path, name);
        bytes = inmo_tensor_bytes(tensor);
        if (bytes < 0 || begin != expected || end < begin || end - begin != bytes ||
            (!is_gap && begin % ALIGNMENT != 0))
            return inmo_fail(error, INMO_FORMAT,
                             "%s: array \"%.200s\" lies at bytes %" PRId64 " to %" PRId64
                             ", which is not where its place and size say",
                             file->path, name, begin, end);
        expected = end;
        tensor->name = name;
        tensor->data = file->map + header_size + begin;
        file->tensor_count += !is_gap;
    }
    if ((uint64_t)expected > file->map_size - header_size)
        return inmo_fail(error, INMO_FORMAT, "%s is truncated: header says %" PRIu64 " bytes, file has %zu",
                         file->path, (uint64_t)expected + header_size, file->map_size);
    if ((uint64_t)expected < file->map_size - header_size)
        return inmo_fail(error, INMO_FORMAT, "%s is damaged: header says %" PRIu64 " bytes, file has %zu",
                         file->path, (uint64_t)expected + header_size, file->map_size);
    return INMO_OK;
}

enum inmo_status inmo_tensorfile_open(const char *path, const char *kind, int version,
                                      struct inmo_tensorfile **opened, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_tensorfile *file = inmo_alloc_zero(1, sizeof *file);
    char digits[DIGITS + 1];
    size_t header_size = 0;

    if (file)
        file->path = inmo_copy_string(path);
    if (!file || !file->path) {
        status = inmo_fail_memory(error, "an opened file");
        goto done;
    }
    status = map_file(file, error);
    if (status == INMO_OK)
        status = check_header(file, &header_size, error);
    if (status == INMO_OK)
        status = parse_header(file, header_size, error);
    if (status == INMO_OK)
        status = check_kind(file, kind, version, error);
    if (status == INMO_OK)
        status = place_tensors(file, header_size, error);
    if (status != INMO_OK)
        goto done;
    snprintf(digits, sizeof digits, "%016" PRIx64,
             (uint64_t)XXH3_64bits(file->map + header_size, file->map_size - header_size));
    if (strcmp(digits, inmo_tensorfile_metadata(file, "inmo.checksum")) != 0) {
        status = inmo_fail(error, INMO_FORMAT, "%s: checksum differs: the file is damaged", path);
        goto done;
    }
    *opened = file;
    file = NULL;
done:
    inmo_tensorfile_close(file);
    return status;
}

void inmo_tensorfile_close(struct inmo_tensorfile *file)
{
    if (!file)
        return;
    inmo_free(file->tensor);
    json_decref(file->header);
    if (file->map)
        munmap((void *)file->map, file->map_size);
    inmo_free(file->path);
    inmo_free(file);
}

void inmo_tensorfile_rest(const struct inmo_tensorfile *file)
{
#ifdef MADV_DONTNEED
    madvise((void *)file->map, file->map_size, MADV_DONTNEED);
#else
    (void)file;
#endif
}

const char *inmo_tensorfile_metadata(const struct inmo_tensorfile *file, const char *key)
{
    return json_string_value(json_object_get(json_object_get(file->header, "__metadata__"), key));
}

enum inmo_status inmo_tensorfile_get(const struct inmo_tensorfile *file, const char *name, enum inmo_dtype dtype,
                                     int64_t rows, int64_t columns, struct inmo_tensor *tensor,
                                     struct inmo_error *error)
{
    const struct inmo_tensor *found = NULL;
    for (size_t n = 0; n < file->tensor_count && !found; n++)
        if (strcmp(file->tensor[n].name, name) == 0)
            found = &file->tensor[n];
    if (!found)
        return inmo_fail(error, INMO_FORMAT, "%s has no array \"%s\"", file->path, name);
    if (found->dtype != dtype)
        return inmo_fail(error, INMO_FORMAT, "%s: array \"%s\" is of type %s, %s was expected", file->path, name,
                         inmo_dtype_name(found->dtype), inmo_dtype_name(dtype));
    if ((rows >= 0 && found->rows != rows) || (columns >= 0 && found->columns != columns))
        return inmo_fail(error, INMO_FORMAT,
                         "%s: array \"%s\" has %" PRId64 " rows and %" PRId64 " columns, %" PRId64 " and %" PRId64
                         " were expected (0 columns: a vector, -1: any)",
                         file->path, name, found->rows, found->columns, rows, columns);
    *tensor = *found;
    return INMO_OK;
}

int inmo_tensorfile_has(const struct inmo_tensorfile *file, const char *name)
{
    int found = 0;
    for (size_t n = 0; n < file->tensor_count && !found; n++)
        found = strcmp(file->tensor[n].name, name) == 0;
    return found;
}

size_t inmo_tensorfile_count(const struct inmo_tensorfile *file)
{
    return file->tensor_count;
}

const struct inmo_tensor *inmo_tensorfile_at(const struct inmo_tensorfile *file, size_t n)
{
    return &file->tensor[n];
}
