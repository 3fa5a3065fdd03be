/* tensorfile_write.c - writing, see tensorfile.h and tensorfile_layout.h.
 *
 * The arrays are read twice: for the checksum, which the header needs, and to be written. The header is written by
 * hand, not by a JSON library, so that its bytes depend only on the arguments. */
#include "base/file.h"
#include "base/memory.h"
#include "base/tensorfile_layout.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
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
static const int64_t SIZE_MOST = INT64_C(1) << 60; /* far below where sums of sizes overflow */

static int64_t gap_after(int64_t end)
{
    return -end & (ALIGNMENT - 1);
}

static enum inmo_status check_arguments(const struct inmo_metadata *metadata, size_t metadata_count,
                                        const struct inmo_tensor *tensor, const int *file, size_t tensor_count,
                                        struct inmo_error *error)
{
    int64_t total = 0;
    for (size_t n = 0; n < metadata_count; n++) {
        int bad = inmo_starts_with(metadata[n].key, INMO_TENSORFILE_RESERVED) || !metadata[n].value;
        for (size_t m = 0; m < n; m++)
            bad |= strcmp(metadata[n].key, metadata[m].key) == 0;
        if (bad)
            return inmo_fail(error, INMO_INTERNAL, "metadata \"%s\" is reserved, empty or given twice",
                             metadata[n].key);
    }
    for (size_t n = 0; n < tensor_count; n++) {
        int64_t bytes = inmo_tensor_bytes(&tensor[n]);
        int bad = inmo_starts_with(tensor[n].name, INMO_TENSORFILE_RESERVED) ||
                  inmo_starts_with(tensor[n].name, "__") || bytes < 0 || bytes > SIZE_MOST ||
                  (bytes > 0 && !tensor[n].data && (!file || file[n] < 0));
        total += bad ? 0 : bytes + ALIGNMENT;
        bad |= total > SIZE_MOST;
        for (size_t m = 0; m < n; m++)
            bad |= strcmp(tensor[n].name, tensor[m].name) == 0;
        if (bad)
            return inmo_fail(error, INMO_INTERNAL,
                             "array \"%s\" has a reserved name, an impossible size or is given twice",
                             tensor[n].name);
    }
    return INMO_OK;
}

static void add_entry(struct inmo_text *header, const char *name, const struct inmo_tensor *tensor, int64_t begin)
{
    inmo_text_add(header, ",", 1);
    inmo_text_json_string(header, name);
    inmo_text_format(header, ":{\"dtype\":\"%s\",\"shape\":[%" PRId64, inmo_dtype_name(tensor->dtype),
                     tensor->rows);
    if (tensor->columns)
        inmo_text_format(header, ",%" PRId64, tensor->columns);
    inmo_text_format(header, "],\"data_offsets\":[%" PRId64 ",%" PRId64 "]}", begin,
                     begin + inmo_tensor_bytes(tensor));
}

/* The length and the header, padding included. */
static char *make_header(const char *kind, int version, const struct inmo_metadata *metadata, size_t metadata_count,
                         const struct inmo_tensor *tensor, size_t tensor_count, uint64_t checksum, size_t *size)
{
    struct inmo_text header = {0};
    int64_t begin = 0;
    uint64_t length;
    char digits[DIGITS + 1];
    inmo_text_add(&header, "\0\0\0\0\0\0\0", LENGTH_BYTES);
    inmo_text_add(&header, OPENING, sizeof OPENING - 1);
    inmo_text_format(&header, "%016d\",\"inmo.kind\":", 0);
    inmo_text_json_string(&header, kind);
    inmo_text_format(&header, ",\"inmo.version\":\"%d\",\"inmo.checksum\":\"%016" PRIx64 "\"", version, checksum);
    for (size_t n = 0; n < metadata_count; n++) {
        inmo_text_add(&header, ",", 1);
        inmo_text_json_string(&header, metadata[n].key);
        inmo_text_add(&header, ":", 1);
        inmo_text_json_string(&header, metadata[n].value);
    }
    inmo_text_add(&header, "}", 1);
    for (size_t n = 0; n < tensor_count; n++) {
        int64_t end = begin + inmo_tensor_bytes(&tensor[n]), gap = gap_after(end);
        add_entry(&header, tensor[n].name, &tensor[n], begin);
        if (gap > 0 && n + 1 < tensor_count) {
            char name[32];
            snprintf(name, sizeof name, "%s%zu", INMO_TENSORFILE_PAD, n);
            add_entry(&header, name, &(struct inmo_tensor){.dtype = INMO_U8, .rows = gap}, end);
        }
        begin = end + gap;
    }
    inmo_text_add(&header, "}", 1);
    while (header.length % ALIGNMENT != 0 && !header.failed)
        inmo_text_add(&header, " ", 1);
    if (!header.failed) {
        *size = header.length;
        length = header.length - LENGTH_BYTES;
        memcpy(header.data, &length, LENGTH_BYTES);
        snprintf(digits, sizeof digits, "%016" PRIx64, (uint64_t)XXH3_64bits(header.data, header.length));
        memcpy(header.data + DIGITS_AT, digits, DIGITS);
    }
    return inmo_text_take(&header);
}

static const char ZEROS[ALIGNMENT];

/* Gives the bytes of an array to a function, at once or, from a file, in pieces. */
typedef enum inmo_status take_bytes(void *context, const void *bytes, size_t size, struct inmo_error *error);

static enum inmo_status pass_array(const struct inmo_tensor *tensor, int file, take_bytes *take, void *context,
                                   struct inmo_error *error)
{
    enum { PIECE = 1 << 20 };
    int64_t bytes = inmo_tensor_bytes(tensor), at = 0;
    enum inmo_status status = INMO_OK;
    char *piece = NULL;
    if (bytes == 0 || file < 0)
        return take(context, bytes ? tensor->data : ZEROS, (size_t)bytes, error);
    piece = inmo_alloc(PIECE, 1);
    if (!piece)
        return inmo_fail_memory(error, "writing a file");
    while (at < bytes && status == INMO_OK) {
        ssize_t got = pread(file, piece, bytes - at < PIECE ? (size_t)(bytes - at) : PIECE, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = EIO; /* shorter than it was said to be */
        status = got > 0 ? take(context, piece, (size_t)got, error)
                         : inmo_fail_errno(error, "read temporary data of", tensor->name);
        at += got;
    }
    inmo_free(piece);
    return status;
}

static enum inmo_status pass_arrays(const struct inmo_tensor *tensor, const int *file, size_t tensor_count,
                                    take_bytes *take, void *context, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    for (size_t n = 0; n < tensor_count && status == INMO_OK; n++) {
        status = pass_array(&tensor[n], file ? file[n] : -1, take, context, error);
        if (status == INMO_OK && n + 1 < tensor_count)
            status = take(context, ZEROS, (size_t)gap_after(inmo_tensor_bytes(&tensor[n])), error);
    }
    return status;
}

static enum inmo_status add_to_checksum(void *context, const void *bytes, size_t size, struct inmo_error *error)
{
    (void)error;
    XXH3_64bits_update(context, bytes, size);
    return INMO_OK;
}

static enum inmo_status add_to_file(void *context, const void *bytes, size_t size, struct inmo_error *error)
{
    return inmo_new_file_write(context, bytes, size, error);
}

static enum inmo_status checksum_arrays(const struct inmo_tensor *tensor, const int *file, size_t tensor_count,
                                        uint64_t *checksum, struct inmo_error *error)
{
    enum inmo_status status;
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return inmo_fail_memory(error, "a checksum");
    XXH3_64bits_reset(state);
    status = pass_arrays(tensor, file, tensor_count, add_to_checksum, state, error);
    *checksum = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return status;
}

enum inmo_status inmo_tensorfile_write(const char *path, int force, const char *kind, int version,
                                       const struct inmo_metadata *metadata, size_t metadata_count,
                                       const struct inmo_tensor *tensor, size_t tensor_count,
                                       struct inmo_error *error)
{
    return inmo_tensorfile_write_from(path, force, kind, version, metadata, metadata_count, tensor, NULL,
                                      tensor_count, error);
}

enum inmo_status inmo_tensorfile_write_from(const char *path, int force, const char *kind, int version,
                                            const struct inmo_metadata *metadata, size_t metadata_count,
                                            const struct inmo_tensor *tensor, const int *file, size_t tensor_count,
                                            struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_new_file fresh = {0};
    char *header = NULL;
    size_t header_size = 0;
    uint64_t checksum = 0;

    status = check_arguments(metadata, metadata_count, tensor, file, tensor_count, error);
    if (status == INMO_OK)
        status = checksum_arrays(tensor, file, tensor_count, &checksum, error);
    if (status != INMO_OK)
        goto done;
    header = make_header(kind, version, metadata, metadata_count, tensor, tensor_count, checksum, &header_size);
    if (!header) {
        status = inmo_fail_memory(error, "the header of a file");
        goto done;
    }
    if (header_size > HEADER_MOST) {
        status = inmo_fail(error, INMO_INTERNAL,
                           "cannot write %s: its header would have %zu bytes, at most %d can be read", path,
                           header_size, HEADER_MOST);
        goto done;
    }
    status = inmo_new_file_open(&fresh, path, force, error);
    if (status == INMO_OK)
        status = inmo_new_file_write(&fresh, header, header_size, error);
    if (status == INMO_OK)
        status = pass_arrays(tensor, file, tensor_count, add_to_file, &fresh, error);
    if (status == INMO_OK)
        status = inmo_new_file_commit(&fresh, error);
done:
    inmo_new_file_abandon(&fresh);
    inmo_free(header);
    return status;
}
