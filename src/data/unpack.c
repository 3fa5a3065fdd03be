/* unpack.c - see unpack.h.
 *
 *     file --read--> raw --inflate/zstd--> the caller's buffer
 *     file --read------------------------> the caller's buffer    plain
 *
 * One buffer of 256 KB and the decoder's window, whatever the size of the file; with a thread that reads ahead,
 * what waits to be taken. */
#include "data/unpack.h"

#include "base/memory.h"
#include "data/ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { RAW_SIZE = 256 << 10 };

enum packing { PLAIN, GZIP, ZSTD, SOURCE };

struct inmo_unpack {
    char *name;
    int file, standard;
    enum packing packing;
    struct inmo_source source;
    struct inmo_ahead *ahead;  // NULL: no thread

    unsigned char *raw;  // (RAW_SIZE)
    size_t raw_begin, raw_end;
    int raw_ended;
    _Atomic int64_t taken;

    z_stream inflater;
    int inflater_made;
    ZSTD_DStream *unzstd;
    int part_open;  // inside a gzip member or a zstd frame: the file must not end here
};

static void *allocate_for_zlib(void *opaque, unsigned count, unsigned size)
{
    (void)opaque;
    return inmo_alloc(count, size);
}

static void free_for_zlib(void *opaque, void *block)
{
    (void)opaque;
    inmo_free(block);
}

static enum inmo_status read_file(struct inmo_unpack *unpack, void *to, size_t room, size_t *got,
                                  struct inmo_error *error)
{
    ssize_t bytes;
    do
        bytes = read(unpack->file, to, room);
    while (bytes < 0 && errno == EINTR);
    if (bytes < 0)
        return inmo_fail_errno(error, "read", unpack->name);
    unpack->taken += bytes;
    *got = (size_t)bytes;
    return INMO_OK;
}

/* Reads until raw holds at least one byte or the file ends. */
static enum inmo_status fill_raw(struct inmo_unpack *unpack, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    size_t got = 0;
    if (unpack->raw_begin == unpack->raw_end && !unpack->raw_ended) {
        status = read_file(unpack, unpack->raw, RAW_SIZE, &got, error);
        unpack->raw_begin = 0;
        unpack->raw_end = got;
        unpack->raw_ended = status == INMO_OK && got == 0;
    }
    return status;
}

static enum inmo_status fail_cut_off(const struct inmo_unpack *unpack, const char *kind, struct inmo_error *error)
{
    return inmo_fail(error, INMO_INPUT, "%s: the %s data is cut off before its end", unpack->name, kind);
}

static enum inmo_status fail_damaged(const struct inmo_unpack *unpack, const char *kind, const char *why,
                                     struct inmo_error *error)
{
    return inmo_fail(error, INMO_INPUT, "%s: the %s data is damaged (%s)", unpack->name, kind, why);
}

/* All three decoders write *got bytes, at most room, to `to`; *got is 0 only at the end. */

static enum inmo_status decode_plain(struct inmo_unpack *unpack, char *to, size_t room, size_t *got,
                                     struct inmo_error *error)
{
    size_t held = unpack->raw_end - unpack->raw_begin;
    if (held == 0)
        return read_file(unpack, to, room, got, error);
    held = held < room ? held : room;
    memcpy(to, unpack->raw + unpack->raw_begin, held);
    unpack->raw_begin += held;
    *got = held;
    return INMO_OK;
}

/* Between members: skip zero padding (as on tapes); another member must follow. */
static enum inmo_status begin_member(struct inmo_unpack *unpack, int *ended, struct inmo_error *error)
{
    enum inmo_status status;
    for (;;) {
        status = fill_raw(unpack, error);
        if (status != INMO_OK || unpack->raw_begin == unpack->raw_end || unpack->raw[unpack->raw_begin] != 0)
            break;
        unpack->raw_begin++;
    }
    *ended = unpack->raw_begin == unpack->raw_end;
    if (status == INMO_OK && !*ended) {
        if (unpack->raw[unpack->raw_begin] != 0x1f)
            status = fail_damaged(unpack, "gzip", "something else follows it", error);
        inflateReset(&unpack->inflater);
        unpack->part_open = 1;
    }
    return status;
}

static enum inmo_status decode_gzip(struct inmo_unpack *unpack, char *to, size_t room, size_t *got,
                                    struct inmo_error *error)
{
    z_stream *z = &unpack->inflater;
    enum inmo_status status = INMO_OK;
    int ended = 0;
    z->next_out = (unsigned char *)to;
    z->avail_out = (unsigned)room;
    while (status == INMO_OK && z->avail_out == room && !ended) {
        int result;
        if (!unpack->part_open) {
            status = begin_member(unpack, &ended, error);
            continue;
        }
        status = fill_raw(unpack, error);
        if (status != INMO_OK)
            break;
        if (unpack->raw_begin == unpack->raw_end) {
            status = fail_cut_off(unpack, "gzip", error);
            break;
        }
        z->next_in = unpack->raw + unpack->raw_begin;
        z->avail_in = (unsigned)(unpack->raw_end - unpack->raw_begin);
        result = inflate(z, Z_NO_FLUSH);
        unpack->raw_begin = unpack->raw_end - z->avail_in;
        if (result == Z_STREAM_END)
            unpack->part_open = 0;
        else if (result == Z_MEM_ERROR)
            status = inmo_fail_memory(error, "reading gzip data");
        else if (result != Z_OK && result != Z_BUF_ERROR)
            status = fail_damaged(unpack, "gzip", z->msg ? z->msg : "unknown method", error);
    }
    *got = room - z->avail_out;
    return status;
}

static enum inmo_status decode_zstd(struct inmo_unpack *unpack, char *to, size_t room, size_t *got,
                                    struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    ZSTD_outBuffer out = {to, room, 0};
    while (out.pos == 0) {
        size_t result;
        ZSTD_inBuffer in;
        status = fill_raw(unpack, error);
        if (status != INMO_OK)
            break;
        if (unpack->raw_begin == unpack->raw_end && !unpack->part_open)
            break;
        in = (ZSTD_inBuffer){unpack->raw + unpack->raw_begin, unpack->raw_end - unpack->raw_begin, 0};
        result = ZSTD_decompressStream(unpack->unzstd, &out, &in);
        if (ZSTD_isError(result)) {
            status = fail_damaged(unpack, "zstd", ZSTD_getErrorName(result), error);
            break;
        }
        /* At the end of the file the decoder may still return buffered output. If it does not, the data is
         * incomplete. */
        if (in.size == 0 && out.pos == 0) {
            status = fail_cut_off(unpack, "zstd", error);
            break;
        }
        unpack->raw_begin += in.pos;
        unpack->part_open = result != 0;
    }
    *got = out.pos;
    return status;
}

/* What people have logs in that is not unpacked here. Parquet is none of these, but it is as unreadable. */
static enum inmo_status refuse_others(const struct inmo_unpack *unpack, struct inmo_error *error)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *what;
    } others[] = {{"PK\3\4", 4, "a zip archive"},
                  {"\xfd"
                   "7zXZ",
                   5, "xz data"},
                  {"BZh", 3, "bzip2 data"},
                  {"7z\xbc\xaf", 4, "a 7-Zip archive"},
                  {"PAR1", 4, "a Parquet file"}};
    for (size_t n = 0; n < sizeof others / sizeof others[0]; n++)
        if (unpack->raw_end > 16 && memcmp(unpack->raw, others[n].bytes, others[n].length) == 0 &&
            memchr(unpack->raw, 0, unpack->raw_end))
            return inmo_fail(error, INMO_INPUT, "%s is %s, expected text, plain or packed by gzip or zstd",
                             unpack->name, others[n].what);
    return INMO_OK;
}

static enum inmo_status recognise_packing(struct inmo_unpack *unpack, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    const unsigned char *raw = unpack->raw;
    /* A pipe may deliver its first bytes one by one. */
    while (status == INMO_OK && !unpack->raw_ended && unpack->raw_end < 4) {
        size_t got = 0;
        status = read_file(unpack, unpack->raw + unpack->raw_end, RAW_SIZE - unpack->raw_end, &got, error);
        unpack->raw_end += got;
        unpack->raw_ended = status == INMO_OK && got == 0;
    }
    if (status != INMO_OK)
        return status;
    if (unpack->raw_end >= 2 && raw[0] == 0x1f && raw[1] == 0x8b) {
        unpack->packing = GZIP;
        unpack->inflater.zalloc = allocate_for_zlib;
        unpack->inflater.zfree = free_for_zlib;
        unpack->inflater_made = inflateInit2(&unpack->inflater, 15 + 16) == Z_OK;
        if (!unpack->inflater_made)
            status = inmo_fail_memory(error, "reading gzip data");
    } else if (unpack->raw_end >= 4 &&
               ((raw[0] == 0x28 && raw[1] == 0xb5 && raw[2] == 0x2f && raw[3] == 0xfd) ||
                ((raw[0] & 0xf0) == 0x50 && raw[1] == 0x2a && raw[2] == 0x4d && raw[3] == 0x18))) {
        /* The second is a skippable frame, which parallel compressors write first. */
        unpack->packing = ZSTD;
        unpack->unzstd = ZSTD_createDStream();
        if (!unpack->unzstd)
            status = inmo_fail_memory(error, "reading zstd data");
    } else {
        status = refuse_others(unpack, error);
    }
    return status;
}

enum inmo_status inmo_unpack_open(const char *path, struct inmo_unpack **result, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct stat about;
    struct inmo_unpack *unpack = inmo_alloc_zero(1, sizeof *unpack);
    if (!unpack)
        return inmo_fail_memory(error, "reading a file");
    unpack->standard = strcmp(path, "-") == 0;
    unpack->file = -1;
    unpack->name = inmo_copy_string(unpack->standard ? "standard input" : path);
    unpack->raw = inmo_alloc(RAW_SIZE, 1);
    if (!unpack->name || !unpack->raw)
        status = inmo_fail_memory(error, "reading a file");
    if (status == INMO_OK) {
        unpack->file = unpack->standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
        if (unpack->file < 0)
            status = inmo_fail_errno(error, "open", path);
    }
    if (status == INMO_OK && fstat(unpack->file, &about) == 0 && S_ISDIR(about.st_mode)) {
        errno = EISDIR;
        status = inmo_fail_errno(error, "read", unpack->name);
    }
    if (status == INMO_OK)
        status = recognise_packing(unpack, error);
    if (status == INMO_OK)
        *result = unpack;
    else
        inmo_unpack_close(unpack);
    return status;
}

enum inmo_status inmo_unpack_open_source(const struct inmo_source *source, struct inmo_unpack **result,
                                         struct inmo_error *error)
{
    struct inmo_unpack *unpack = inmo_alloc_zero(1, sizeof *unpack);
    if (!unpack || !(unpack->name = inmo_copy_string(source->name))) {
        inmo_free(unpack);
        return inmo_fail_memory(error, "reading a database");
    }
    unpack->file = -1;
    unpack->packing = SOURCE;
    unpack->source = *source;
    *result = unpack;
    return INMO_OK;
}

static enum inmo_status read_source(struct inmo_unpack *unpack, char *to, size_t room, size_t *got,
                                    struct inmo_error *error)
{
    enum inmo_status status = unpack->source.read(unpack->source.context, to, room, got, error);
    unpack->taken += status == INMO_OK ? (int64_t)*got : 0;
    return status;
}

void inmo_unpack_close(struct inmo_unpack *unpack)
{
    if (!unpack)
        return;
    inmo_ahead_stop(unpack->ahead);
    ZSTD_freeDStream(unpack->unzstd);
    if (unpack->inflater_made)
        inflateEnd(&unpack->inflater);
    if (unpack->file >= 0 && !unpack->standard)
        close(unpack->file);
    inmo_free(unpack->raw);
    inmo_free(unpack->name);
    inmo_free(unpack);
}

static enum inmo_status decode(void *context, char *to, size_t room, size_t *got, struct inmo_error *error)
{
    struct inmo_unpack *unpack = context;
    switch (unpack->packing) {
    case GZIP: return decode_gzip(unpack, to, room, got, error);
    case ZSTD: return decode_zstd(unpack, to, room, got, error);
    case SOURCE: return read_source(unpack, to, room, got, error);
    default: return decode_plain(unpack, to, room, got, error);
    }
}

enum inmo_status inmo_unpack_read(struct inmo_unpack *unpack, char *to, size_t room, size_t *got,
                                  struct inmo_error *error)
{
    return unpack->ahead ? inmo_ahead_take(unpack->ahead, to, room, got, error)
                         : decode(unpack, to, room, got, error);
}

void inmo_unpack_ahead(struct inmo_unpack *unpack, size_t memory)
{
    struct stat about;
    if ((unpack->packing == GZIP || unpack->packing == ZSTD) && !unpack->standard &&
        fstat(unpack->file, &about) == 0 && S_ISREG(about.st_mode))
        unpack->ahead = inmo_ahead_start(decode, unpack, memory);
}

const char *inmo_unpack_name(const struct inmo_unpack *unpack)
{
    return unpack->name;
}

int64_t inmo_unpack_taken(const struct inmo_unpack *unpack)
{
    return unpack->taken;
}
