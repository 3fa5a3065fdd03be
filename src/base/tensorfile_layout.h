/* tensorfile_layout.h - the layout shared by the writer and the reader of tensorfile.h. The header adds to
 * plain safetensors, always first and in this order:
 *
 *     {"__metadata__":{"inmo.header-checksum":"<16 hex>","inmo.kind":"...","inmo.version":"1",
 *                      "inmo.checksum":"<16 hex>", ...the writer's own keys...},
 *      "first":{...}, "inmo.pad.0":{...}, "second":{...}, ...}
 *
 * The header's checksum is XXH3-64 of everything before the arrays (the 8 bytes of length and the header with its
 * spaces), computed with its own 16 digits as zeros. Its place is fixed, so it is checked before anything is
 * parsed. "inmo.checksum" covers every byte after the header. Together they cover the file.
 *
 * safetensors allows no gaps between arrays, and typed access needs alignment. So a gap is itself an array of zero
 * bytes, inmo.pad.N, where N is the number of the array before it. */
#ifndef INMO_BASE_TENSORFILE_LAYOUT_H
#define INMO_BASE_TENSORFILE_LAYOUT_H

#include "base/tensorfile.h"

#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the arrays are little-endian and mapped as they are"
#endif

#define INMO_TENSORFILE_OPENING "{\"__metadata__\":{\"inmo.header-checksum\":\""
#define INMO_TENSORFILE_PAD "inmo.pad."
#define INMO_TENSORFILE_RESERVED "inmo."

enum {
    INMO_TENSORFILE_ALIGNMENT = 64,
    INMO_TENSORFILE_LENGTH = 8,  /* bytes of the header's length */
    INMO_TENSORFILE_DIGITS = 16, /* of a checksum */
    INMO_TENSORFILE_DIGITS_AT = INMO_TENSORFILE_LENGTH + sizeof INMO_TENSORFILE_OPENING - 1,
    INMO_TENSORFILE_HEADER_MOST = 100000000 /* the limit of other safetensors readers */
};

static inline const char *inmo_dtype_name(enum inmo_dtype dtype)
{
    static const char *const NAME[] = {"U8", "I32", "I64", "F32", "F64"};
    return NAME[dtype];
}

/* Bytes of the array, -1 on overflow. */
static inline int64_t inmo_tensor_bytes(const struct inmo_tensor *tensor)
{
    static const int64_t SIZE[] = {1, 4, 8, 4, 8};
    int64_t bytes;
    if (tensor->rows < 0 || tensor->columns < 0 ||
        __builtin_mul_overflow(tensor->rows, tensor->columns ? tensor->columns : 1, &bytes) ||
        __builtin_mul_overflow(bytes, SIZE[tensor->dtype], &bytes))
        return -1;
    return bytes;
}

static inline int inmo_starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

#endif
