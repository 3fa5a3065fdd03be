/* output.c - see output.h. The other end of unpack.c; one buffer of 256 KB for compressed bytes. */
#include "data/output.h"

#include "base/file.h"
#include "base/memory.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { PACKED_SIZE = 256 << 10, GZIP_LEVEL = 5, ZSTD_LEVEL = 3 };

struct inmo_output {
    int standard;
    struct inmo_new_file file;
    unsigned char *packed;  // (PACKED_SIZE)
    z_stream deflater;
    int deflater_made;
    ZSTD_CCtx *zstd;
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

static int ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length > end_length && strcmp(text + length - end_length, end) == 0;
}

enum inmo_status inmo_output_open(const char *path, int force, struct inmo_output **result,
                                  struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_output *output = inmo_alloc_zero(1, sizeof *output);
    if (!output)
        return inmo_fail_memory(error, "writing a file");
    output->standard = strcmp(path, "-") == 0;
    if (!output->standard)
        status = inmo_new_file_open(&output->file, path, force, error);
    if (status == INMO_OK && (ends_with(path, ".gz") || ends_with(path, ".zst"))) {
        int made;
        output->packed = inmo_alloc(PACKED_SIZE, 1);
        if (ends_with(path, ".gz")) {
            output->deflater.zalloc = allocate_for_zlib;
            output->deflater.zfree = free_for_zlib;
            made = deflateInit2(&output->deflater, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
            output->deflater_made = made;
        } else {
            output->zstd = ZSTD_createCCtx();
            made = output->zstd &&
                   !ZSTD_isError(ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)) &&
                   !ZSTD_isError(ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_checksumFlag, 1));
        }
        if (!output->packed || !made)
            status = inmo_fail_memory(error, "compressing a file");
    }
    if (status == INMO_OK)
        *result = output;
    else
        inmo_output_close(output);
    return status;
}

static enum inmo_status write_bytes(struct inmo_output *output, const void *data, size_t size,
                                    struct inmo_error *error)
{
    if (!output->standard)
        return inmo_new_file_write(&output->file, data, size, error);
    if (size > 0 && fwrite(data, 1, size, stdout) != size)
        return inmo_fail_errno(error, "write", "standard output");
    return INMO_OK;
}

static enum inmo_status write_gzip(struct inmo_output *output, const void *data, size_t size, int last,
                                   struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    z_stream *z = &output->deflater;
    int result;
    z->next_in = (unsigned char *)(uintptr_t)data;
    z->avail_in = (unsigned)size;
    do {
        z->next_out = output->packed;
        z->avail_out = PACKED_SIZE;
        result = deflate(z, last ? Z_FINISH : Z_NO_FLUSH);
        status = write_bytes(output, output->packed, PACKED_SIZE - z->avail_out, error);
    } while (status == INMO_OK && (last ? result != Z_STREAM_END : z->avail_out == 0));
    return status;
}

static enum inmo_status write_zstd(struct inmo_output *output, const void *data, size_t size, int last,
                                   struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    ZSTD_inBuffer in = {data, size, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {output->packed, PACKED_SIZE, 0};
        left = ZSTD_compressStream2(output->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return inmo_fail(error, INMO_MEMORY, "cannot compress %s: %s", output->file.path,
                             ZSTD_getErrorName(left));
        status = write_bytes(output, output->packed, out.pos, error);
    } while (status == INMO_OK && (last ? left > 0 : in.pos < in.size));
    return status;
}

/* zlib counts in unsigned int, so large pieces are split. */
enum inmo_status inmo_output_write(struct inmo_output *output, const void *data, size_t size,
                                   struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    const char *at = data;
    while (size > 0 && status == INMO_OK) {
        size_t piece = size < INT_MAX ? size : INT_MAX;
        if (output->deflater_made)
            status = write_gzip(output, at, piece, 0, error);
        else if (output->zstd)
            status = write_zstd(output, at, piece, 0, error);
        else
            status = write_bytes(output, at, piece, error);
        at += piece;
        size -= piece;
    }
    return status;
}

enum inmo_status inmo_output_commit(struct inmo_output *output, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    if (output->deflater_made)
        status = write_gzip(output, NULL, 0, 1, error);
    else if (output->zstd)
        status = write_zstd(output, NULL, 0, 1, error);
    if (status == INMO_OK && output->standard && fflush(stdout) != 0)
        status = inmo_fail_errno(error, "write", "standard output");
    if (status == INMO_OK && !output->standard)
        status = inmo_new_file_commit(&output->file, error);
    return status;
}

void inmo_output_close(struct inmo_output *output)
{
    if (!output)
        return;
    ZSTD_freeCCtx(output->zstd);
    if (output->deflater_made)
        deflateEnd(&output->deflater);
    inmo_free(output->packed);
    if (!output->standard)
        inmo_new_file_abandon(&output->file);
    inmo_free(output);
}
