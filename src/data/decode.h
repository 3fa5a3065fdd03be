/* decode.h - the bytes of a file (unpack.h) as UTF-8 text. UTF-8 passes through unchanged and unchecked; UTF-16 and
 * UTF-32 are recognised from the first bytes, with and without a byte order mark; any other must be named. */
#ifndef INMO_DATA_DECODE_H
#define INMO_DATA_DECODE_H

#include "base/status.h"

struct inmo_decode;
struct inmo_unpack;

/* path "-" is standard input. encoding NULL is utf-8; any other name is used without detection. Errors: USAGE (an
 * encoding that iconv does not know), IO, INPUT, MEMORY. */
enum inmo_status inmo_decode_open(const char *path, const char *encoding, struct inmo_decode **decode,
                                  struct inmo_error *error);
/* The same for a file that is open already; closes it, also on failure. */
enum inmo_status inmo_decode_open_on(struct inmo_unpack *unpack, const char *encoding, struct inmo_decode **decode,
                                     struct inmo_error *error);
/* The same for text that is not in a file and is UTF-8 as it comes. */
enum inmo_status inmo_decode_open_source(const struct inmo_source *source, struct inmo_decode **decode,
                                         struct inmo_error *error);
void inmo_decode_close(struct inmo_decode *decode);

/* The next bytes of text, at least one and at most room, which is at least 64; *got is 0 only at the end. A UTF-8
 * byte order mark may come first. Errors: those of inmo_unpack_read, INPUT (not text in the encoding). */
enum inmo_status inmo_decode_read(struct inmo_decode *decode, char *to, size_t room, size_t *got,
                                  struct inmo_error *error);

/* The name for messages: the path, or "standard input". */
const char *inmo_decode_name(const struct inmo_decode *decode);
/* Bytes read from the file so far. */
int64_t inmo_decode_taken(const struct inmo_decode *decode);
/* The encoding that is converted; NULL for UTF-8. */
const char *inmo_decode_encoding(const struct inmo_decode *decode);

/* Errors: USAGE if iconv cannot convert from the encoding. */
enum inmo_status inmo_encoding_check(const char *encoding, struct inmo_error *error);

#endif
