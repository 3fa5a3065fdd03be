/* decode.c - see decode.h.
 *
 *     unpack -----------------> the caller's buffer    UTF-8, after the first bytes
 *     unpack --> raw --iconv--> the caller's buffer    everything else
 *
 * iconv knows a few hundred encodings and checks them. One buffer of 64 KB. */
#include "data/decode.h"

#include "base/memory.h"
#include "data/unpack.h"
#include "data/value.h"

#include <errno.h>
#include <iconv.h>
#include <string.h>
#include <strings.h>

enum { RAW_SIZE = 64 << 10, LOOKED_AT = 4096 };

struct inmo_decode {
    struct inmo_unpack *unpack;
    char *raw;  // (RAW_SIZE)
    size_t begin, end;
    int ended;

    char encoding[64];  // "" for UTF-8
    iconv_t converter;
    int converter_made, flushed;
    int64_t feeds, returns;  // line ends so far, to report the line of a bad byte
};

/* ---- Names --------------------------------------------------------------------------------------------------- */

static int is_utf8(const char *encoding)
{
    return !encoding || strcasecmp(encoding, "utf-8") == 0 || strcasecmp(encoding, "utf8") == 0;
}

/* The common name, if iconv needs another. */
static const char *iconv_name(const char *encoding)
{
    return strcasecmp(encoding, "latin-1") == 0 ? "ISO-8859-1" : encoding;
}

/* A suffix such as //IGNORE would make iconv skip bad bytes, and an empty name means the locale's encoding. */
static int is_plain_name(const char *encoding)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:+()";
    size_t length = strlen(encoding);
    return strspn(encoding, letters) == length && length > 0 &&
           length < sizeof((struct inmo_decode *)NULL)->encoding;
}

static enum inmo_status open_converter(const char *encoding, iconv_t *converter, struct inmo_error *error)
{
    char shown[INMO_SHOWN];
    if (is_plain_name(encoding)) {
        *converter = iconv_open("UTF-8", iconv_name(encoding));
        if (*converter != (iconv_t)-1)
            return INMO_OK;
        if (errno == ENOMEM)
            return inmo_fail_memory(error, "an encoding");
    }
    return inmo_fail(error, INMO_USAGE,
                     "`encoding`: found %s, expected utf-8, latin-1, windows-1252 or another name that `iconv -l` "
                     "lists",
                     inmo_show(shown, encoding, strlen(encoding)));
}

enum inmo_status inmo_encoding_check(const char *encoding, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    iconv_t converter;
    if (!is_utf8(encoding)) {
        status = open_converter(encoding, &converter, error);
        if (status == INMO_OK)
            iconv_close(converter);
    }
    return status;
}

/* ---- Looking ------------------------------------------------------------------------------------------------- */

static const struct {
    const char *bytes;
    size_t length;
    const char *encoding;
} marks[] = {
    /* UTF-32 first: its little-endian mark begins with that of UTF-16. */
    {"\xff\xfe\0\0", 4, "UTF-32LE"},
    {"\0\0\xfe\xff", 4, "UTF-32BE"},
    {"\xff\xfe", 2, "UTF-16LE"},
    {"\xfe\xff", 2, "UTF-16BE"},
};

/* 1 if every unit is a character of the four planes in use. UTF-16 does not pass: every second character would have
 * to be U+0000 to U+0003. */
static int looks_like_utf32(const unsigned char *head, size_t size, int big)
{
    for (size_t n = 0; n + 4 <= size; n += 4) {
        const unsigned char *unit = head + n;
        int top = big ? unit[0] : unit[3], plane = big ? unit[1] : unit[2];
        int low = big ? unit[2] | unit[3] : unit[0] | unit[1];
        if (top || plane > 3 || !(plane | low))
            return 0;
    }
    return size >= 8;
}

/* 1 if the upper byte of most characters is small: 0 in Latin text, separators and line ends, up to 8 in other
 * alphabets. In single-byte text only a stray NUL is that small, which matters only in a very short text. */
static int looks_like_utf16(const unsigned char *head, size_t size, int big)
{
    size_t upper = 0, lower = 0, units = size / 2;
    for (size_t n = 0; n < units; n++) {
        int high = head[2 * n + !big], low = head[2 * n + big];
        if (!high && !low)
            return 0;
        upper += high <= 8;
        lower += low <= 8;
    }
    return units >= 2 && (units < 8 ? upper == units : 2 * upper >= units) && 8 * lower <= upper;
}

/* The encoding of unnamed bytes and the length of their mark; NULL for UTF-8. */
static const char *recognise(const unsigned char *head, size_t size, size_t *mark)
{
    *mark = 0;
    for (size_t n = 0; n < sizeof marks / sizeof marks[0]; n++) {
        if (size >= marks[n].length && memcmp(head, marks[n].bytes, marks[n].length) == 0) {
            *mark = marks[n].length;
            return marks[n].encoding;
        }
    }
    if (!memchr(head, 0, size))
        return NULL;
    for (int big = 0; big < 2; big++) {
        if (looks_like_utf32(head, size, big))
            return big ? "UTF-32BE" : "UTF-32LE";
        if (looks_like_utf16(head, size, big))
            return big ? "UTF-16BE" : "UTF-16LE";
    }
    return NULL;
}

/* ---- Reading ------------------------------------------------------------------------------------------------- */

/* Reads once more into raw; what is there moves to the front. */
static enum inmo_status fill_raw(struct inmo_decode *decode, struct inmo_error *error)
{
    enum inmo_status status;
    size_t got = 0;
    memmove(decode->raw, decode->raw + decode->begin, decode->end - decode->begin);
    decode->end -= decode->begin;
    decode->begin = 0;
    status = inmo_unpack_read(decode->unpack, decode->raw + decode->end, RAW_SIZE - decode->end, &got, error);
    decode->end += got;
    decode->ended = status == INMO_OK && got == 0;
    return status;
}

enum inmo_status inmo_decode_open(const char *path, const char *encoding, struct inmo_decode **result,
                                  struct inmo_error *error)
{
    struct inmo_unpack *unpack = NULL;
    enum inmo_status status = inmo_unpack_open(path, &unpack, error);
    return status == INMO_OK ? inmo_decode_open_on(unpack, encoding, result, error) : status;
}

enum inmo_status inmo_decode_open_on(struct inmo_unpack *unpack, const char *encoding, struct inmo_decode **result,
                                     struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    const char *name = is_utf8(encoding) ? NULL : encoding;
    struct inmo_decode *decode = inmo_alloc_zero(1, sizeof *decode);
    if (!decode) {
        inmo_unpack_close(unpack);
        return inmo_fail_memory(error, "reading a file");
    }
    decode->unpack = unpack;
    decode->raw = inmo_alloc(RAW_SIZE, 1);
    if (!decode->raw)
        status = inmo_fail_memory(error, "reading a file");
    while (status == INMO_OK && !decode->ended && decode->end < LOOKED_AT)
        status = fill_raw(decode, error);
    if (status == INMO_OK && !name) {
        size_t size = decode->end < LOOKED_AT ? decode->end : LOOKED_AT;
        name = recognise((const unsigned char *)decode->raw, size, &decode->begin);
    }
    if (status == INMO_OK && name) {
        status = open_converter(name, &decode->converter, error);
        decode->converter_made = status == INMO_OK;
        if (decode->converter_made)
            strcpy(decode->encoding, name);
    }
    if (status == INMO_OK)
        *result = decode;
    else
        inmo_decode_close(decode);
    return status;
}

enum inmo_status inmo_decode_open_source(const struct inmo_source *source, struct inmo_decode **result,
                                         struct inmo_error *error)
{
    struct inmo_decode *decode = inmo_alloc_zero(1, sizeof *decode);
    enum inmo_status status = INMO_OK;
    if (!decode)
        return inmo_fail_memory(error, "reading a database");
    status = inmo_unpack_open_source(source, &decode->unpack, error);
    if (status == INMO_OK)
        *result = decode;
    else
        inmo_decode_close(decode);
    return status;
}

void inmo_decode_close(struct inmo_decode *decode)
{
    if (!decode)
        return;
    if (decode->converter_made)
        iconv_close(decode->converter);
    inmo_unpack_close(decode->unpack);
    inmo_free(decode->raw);
    inmo_free(decode);
}

static void count_lines(struct inmo_decode *decode, const char *text, size_t length)
{
    for (size_t n = 0; n < length; n++) {
        decode->feeds += text[n] == '\n';
        decode->returns += text[n] == '\r';
    }
}

static enum inmo_status fail_encoding(const struct inmo_decode *decode, int cut, struct inmo_error *error)
{
    long long line = 1 + (long long)(decode->feeds ? decode->feeds : decode->returns);
    if (cut)
        return inmo_fail(error, INMO_INPUT,
                         "%s:%lld: found the end of the file inside a character, expected %s text",
                         inmo_decode_name(decode), line, decode->encoding);
    return inmo_fail(error, INMO_INPUT,
                     "%s:%lld: found the byte 0x%02x, expected %s text; `encoding` says what else it is",
                     inmo_decode_name(decode), line, (unsigned char)decode->raw[decode->begin], decode->encoding);
}

/* Returns what comes before a bad byte first, so that an earlier bad line is reported first. */
static enum inmo_status convert(struct inmo_decode *decode, char *to, size_t room, size_t *got,
                                struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    *got = 0;
    while (status == INMO_OK && *got == 0) {
        char *in = decode->raw + decode->begin, *out = to;
        size_t in_left = decode->end - decode->begin, out_left = room, result;
        if (in_left == 0 && decode->ended) {
            /* A converter may hold back a character that could combine with the next. */
            if (!decode->flushed)
                iconv(decode->converter, NULL, NULL, &out, &out_left);
            decode->flushed = 1;
            *got = room - out_left;
            break;
        }
        result = iconv(decode->converter, &in, &in_left, &out, &out_left);
        decode->begin = decode->end - in_left;
        *got = room - out_left;
        if (*got > 0)
            break;
        if (result == (size_t)-1 && errno != EINVAL)
            status = fail_encoding(decode, 0, error);
        else if (decode->ended && in_left > 0)
            status = fail_encoding(decode, 1, error);
        else if (!decode->ended)
            status = fill_raw(decode, error);
    }
    count_lines(decode, to, *got);
    return status;
}

enum inmo_status inmo_decode_read(struct inmo_decode *decode, char *to, size_t room, size_t *got,
                                  struct inmo_error *error)
{
    size_t held = decode->end - decode->begin;
    if (decode->converter_made)
        return convert(decode, to, room, got, error);
    if (held == 0)
        return inmo_unpack_read(decode->unpack, to, room, got, error);
    held = held < room ? held : room;
    memcpy(to, decode->raw + decode->begin, held);
    decode->begin += held;
    *got = held;
    return INMO_OK;
}

const char *inmo_decode_name(const struct inmo_decode *decode)
{
    return inmo_unpack_name(decode->unpack);
}

int64_t inmo_decode_taken(const struct inmo_decode *decode)
{
    return inmo_unpack_taken(decode->unpack);
}

const char *inmo_decode_encoding(const struct inmo_decode *decode)
{
    return decode->converter_made ? decode->encoding : NULL;
}
