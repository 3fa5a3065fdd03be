/* input.h - the lines of a file or standard input, unpacked (unpack.h) and decoded to UTF-8 (decode.h).
 *
 * A line is returned in place in the buffer; only the one line that a read cuts in two is copied. */
#ifndef INMO_DATA_INPUT_H
#define INMO_DATA_INPUT_H

#include "base/status.h"

enum { INMO_LINE_LIMIT = 8 << 20 };

struct inmo_input;

/* Called after each read with the bytes of the file (compressed size) read so far. A status other than INMO_OK
 * stops reading. */
struct inmo_watch {
    enum inmo_status (*step)(void *context, int64_t bytes, struct inmo_error *error);
    void *context;
};

struct inmo_line {
    char *text; /* without its line end, not NUL-terminated, may be changed in place; NULL after the last */
    size_t length;
    int64_t number; /* from 1 */
    int too_long;   /* longer than INMO_LINE_LIMIT; text is only its beginning */
};

/* path "-" is standard input. encoding NULL is utf-8. watch may be NULL. A byte order mark is skipped.
 * Errors: USAGE (an unknown encoding), IO (missing, a directory, unreadable), INPUT (damaged gzip or zstd, not text
 * in the encoding), MEMORY. */
enum inmo_status inmo_input_open(const char *path, const char *encoding, const struct inmo_watch *watch,
                                 struct inmo_input **input, struct inmo_error *error);
/* The same for a file that is open already (unpack.h); closes it, also on failure. */
struct inmo_unpack;
enum inmo_status inmo_input_open_on(struct inmo_unpack *unpack, const char *encoding,
                                    const struct inmo_watch *watch, struct inmo_input **input,
                                    struct inmo_error *error);
/* The same for text that is not in a file; it is UTF-8. */
enum inmo_status inmo_input_open_source(const struct inmo_source *source, const struct inmo_watch *watch,
                                        struct inmo_input **input, struct inmo_error *error);
void inmo_input_close(struct inmo_input *input);

/* The name for messages: the path, or "standard input". */
const char *inmo_input_name(const struct inmo_input *input);
/* The encoding that is converted; NULL for UTF-8. */
const char *inmo_input_encoding(const struct inmo_input *input);

/* The first non-blank lines, at most `most`, without consuming them: inmo_input_next still returns the first line.
 * count is 0 only for an input without text. */
enum inmo_status inmo_input_peek(struct inmo_input *input, struct inmo_line *line, size_t most, size_t *count,
                                 struct inmo_error *error);

/* The next line, valid until the next call. LF and CR LF end a line, and CR alone in an input that begins without
 * any LF; the last line needs no end. */
enum inmo_status inmo_input_next(struct inmo_input *input, struct inmo_line *line, struct inmo_error *error);

/* Extends the line just returned by the next one (with the line end between them), because a quoted CSV field may
 * contain line ends. The text may move. Sets *extended to 0 at the end of the input or at the limit. */
enum inmo_status inmo_input_extend(struct inmo_input *input, struct inmo_line *line, int *extended,
                                   struct inmo_error *error);
/* Undoes all extensions: the next line is again the one after the first line end. */
void inmo_input_retract(struct inmo_input *input, struct inmo_line *line);

/* Only spaces, or nothing. */
static inline int inmo_line_is_blank(const struct inmo_line *line)
{
    size_t n = 0;
    while (n < line->length && line->text[n] == ' ')
        n++;
    return n == line->length;
}

#endif
