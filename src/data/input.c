/* input.c - see input.h. The first step: bytes -> lines.
 *
 *     decode --> buffer [ begin .. end )   bytes of lines not yet returned
 *
 * One buffer of 1 MB, which grows to INMO_LINE_LIMIT and a little for long lines. The lines do not depend on the
 * sizes of the reads. */
#include "data/input.h"

#include "base/memory.h"
#include "data/decode.h"

#include <string.h>

enum { BUFFER_SIZE = 1 << 20, PEEK_SIZE = 64 << 10 };
/* Before a read the buffer holds at most one unfinished line. */
enum { BUFFER_LIMIT = INMO_LINE_LIMIT + BUFFER_SIZE };

struct inmo_input {
    struct inmo_decode *decode;
    struct inmo_watch watch;

    char *buffer;  // (capacity)
    size_t capacity, begin, end;
    int ended, discarding;  // at the end; inside the rest of a line that was too long
    int returns;            // CR ends a line: replaced by LF on arrival, so no other code needs to know

    int64_t number;                // of the last line given
    size_t line_begin, first_end;  // the last line given, and where the line after its first line end begins
    size_t first_length;           // of the last line given, as it was given
    int64_t first_number;
};

static void feed_for_return(char *text, size_t length)
{
    for (char *at = text; (at = memchr(at, '\r', length - (size_t)(at - text))); at++)
        *at = '\n';
}

/* Reads once more into the buffer. Everything from keep on is kept and moves to the front. */
static enum inmo_status refill(struct inmo_input *input, size_t keep, struct inmo_error *error)
{
    enum inmo_status status;
    size_t got = 0, room;
    memmove(input->buffer, input->buffer + keep, input->end - keep);
    input->begin -= keep;
    input->end -= keep;
    input->line_begin -= keep < input->line_begin ? keep : input->line_begin;
    input->first_end -= keep < input->first_end ? keep : input->first_end;
    if (input->capacity - input->end < BUFFER_SIZE / 2 && input->capacity < BUFFER_LIMIT) {
        size_t larger = input->capacity * 2 < BUFFER_LIMIT ? input->capacity * 2 : BUFFER_LIMIT;
        char *buffer = inmo_resize(input->buffer, input->end, larger, 1);
        if (!buffer)
            return inmo_fail_memory(error, "a long line");
        input->buffer = buffer;
        input->capacity = larger;
    }
    room = input->capacity - input->end;
    status = inmo_decode_read(input->decode, input->buffer + input->end, room, &got, error);
    if (status == INMO_OK) {
        if (input->returns)
            feed_for_return(input->buffer + input->end, got);
        input->end += got;
        input->ended = got == 0;
        if (input->watch.step)
            status = input->watch.step(input->watch.context, inmo_decode_taken(input->decode), error);
    }
    return status;
}

/* Looks at the first bytes: passes over a mark, and finds out whether CR alone ends the lines. A CR in the middle
 * of a line is text, so one LF is enough to say no. The last byte seen may be the CR of a CR LF. */
static enum inmo_status look_at_beginning(struct inmo_input *input, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    while (status == INMO_OK && !input->ended &&
           (input->end < 3 || (input->end < PEEK_SIZE && !memchr(input->buffer, '\n', input->end))))
        status = refill(input, 0, error);
    if (status == INMO_OK && input->end >= 3 && memcmp(input->buffer, "\xef\xbb\xbf", 3) == 0)
        input->begin = 3;
    if (status == INMO_OK && input->end > 0 && !memchr(input->buffer, '\n', input->end) &&
        memchr(input->buffer, '\r', input->end - !input->ended)) {
        input->returns = 1;
        feed_for_return(input->buffer, input->end);
    }
    return status;
}

/* Text that is decoded; closed on failure. */
static enum inmo_status open_input(struct inmo_decode *decode, const struct inmo_watch *watch,
                                   struct inmo_input **result, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_input *input = inmo_alloc_zero(1, sizeof *input);
    if (!input) {
        inmo_decode_close(decode);
        return inmo_fail_memory(error, "reading a file");
    }
    input->decode = decode;
    input->capacity = BUFFER_SIZE;
    input->buffer = inmo_alloc(BUFFER_SIZE, 1);
    if (!input->buffer)
        status = inmo_fail_memory(error, "reading a file");
    if (watch)
        input->watch = *watch;
    if (status == INMO_OK)
        status = look_at_beginning(input, error);
    if (status == INMO_OK)
        *result = input;
    else
        inmo_input_close(input);
    return status;
}

enum inmo_status inmo_input_open(const char *path, const char *encoding, const struct inmo_watch *watch,
                                 struct inmo_input **input, struct inmo_error *error)
{
    struct inmo_decode *decode = NULL;
    enum inmo_status status = inmo_decode_open(path, encoding, &decode, error);
    return status == INMO_OK ? open_input(decode, watch, input, error) : status;
}

enum inmo_status inmo_input_open_on(struct inmo_unpack *unpack, const char *encoding,
                                    const struct inmo_watch *watch, struct inmo_input **input,
                                    struct inmo_error *error)
{
    struct inmo_decode *decode = NULL;
    enum inmo_status status = inmo_decode_open_on(unpack, encoding, &decode, error);
    return status == INMO_OK ? open_input(decode, watch, input, error) : status;
}

enum inmo_status inmo_input_open_source(const struct inmo_source *source, const struct inmo_watch *watch,
                                        struct inmo_input **input, struct inmo_error *error)
{
    struct inmo_decode *decode = NULL;
    enum inmo_status status = inmo_decode_open_source(source, &decode, error);
    return status == INMO_OK ? open_input(decode, watch, input, error) : status;
}

void inmo_input_close(struct inmo_input *input)
{
    if (!input)
        return;
    inmo_decode_close(input->decode);
    inmo_free(input->buffer);
    inmo_free(input);
}

const char *inmo_input_name(const struct inmo_input *input)
{
    return inmo_decode_name(input->decode);
}

const char *inmo_input_encoding(const struct inmo_input *input)
{
    return inmo_decode_encoding(input->decode);
}

static size_t without_return(const char *text, size_t length)
{
    return length > 0 && text[length - 1] == '\r' ? length - 1 : length;
}

/* The end of the line that begins at from: the offset of its LF, or of the end of the input. Reads more as needed,
 * keeping the buffer from keep on; *from moves with it. *found is 0 if the limit is reached first. */
static enum inmo_status find_line_end(struct inmo_input *input, size_t keep, size_t *from, size_t *line_end,
                                      int *found, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    size_t searched = *from;
    *found = 0;
    for (;;) {
        const char *feed = memchr(input->buffer + searched, '\n', input->end - searched);
        if (feed || input->ended) {
            *line_end = feed ? (size_t)(feed - input->buffer) : input->end;
            *found = *line_end - keep <= INMO_LINE_LIMIT;
            break;
        }
        if (input->end - keep > INMO_LINE_LIMIT)
            break;
        searched = input->end - keep;
        *from -= keep;
        status = refill(input, keep, error);
        if (status != INMO_OK)
            break;
        keep = 0;
    }
    return status;
}

enum inmo_status inmo_input_next(struct inmo_input *input, struct inmo_line *line, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    size_t from, line_end = 0;
    int found = 0;
    while (input->discarding) {
        const char *feed = memchr(input->buffer + input->begin, '\n', input->end - input->begin);
        input->begin = feed ? (size_t)(feed - input->buffer) + 1 : input->end;
        input->discarding = !feed && !input->ended;
        if (input->discarding) {
            status = refill(input, input->begin, error);
            if (status != INMO_OK)
                return status;
        }
    }
    from = input->begin;
    status = find_line_end(input, input->begin, &from, &line_end, &found, error);
    if (status != INMO_OK)
        return status;
    line->too_long = !found;
    if (!found) {
        line_end = from + INMO_LINE_LIMIT;
        input->discarding = 1;
    }
    if (from == input->end) {
        line->text = NULL;
        line->length = 0;
        return INMO_OK;
    }
    line->text = input->buffer + from;
    line->length = without_return(line->text, line_end - from);
    line->number = ++input->number;
    input->line_begin = from;
    input->begin = found && line_end < input->end ? line_end + 1 : line_end;
    input->first_end = input->begin;
    input->first_length = line->length;
    input->first_number = input->number;
    return INMO_OK;
}

enum inmo_status inmo_input_extend(struct inmo_input *input, struct inmo_line *line, int *extended,
                                   struct inmo_error *error)
{
    enum inmo_status status;
    size_t from = input->begin, line_end = 0;
    int found = 0;
    status = find_line_end(input, input->line_begin, &from, &line_end, &found, error);
    if (status != INMO_OK)
        return status;
    line->text = input->buffer + input->line_begin;
    *extended = found && from < input->end;
    if (*extended) {
        line->length = without_return(line->text, line_end - input->line_begin);
        input->begin = line_end < input->end ? line_end + 1 : line_end;
        input->number++;
    }
    return INMO_OK;
}

void inmo_input_retract(struct inmo_input *input, struct inmo_line *line)
{
    line->text = input->buffer + input->line_begin;
    line->length = input->first_length;
    input->begin = input->first_end;
    input->number = input->first_number;
}

enum inmo_status inmo_input_peek(struct inmo_input *input, struct inmo_line *line, size_t most, size_t *count,
                                 struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    size_t lines = 0;
    /* PEEK_SIZE is usually enough; a longer first line is read to its end. */
    for (size_t wanted = PEEK_SIZE;; wanted = input->end - input->begin + 1) {
        size_t at;
        int64_t number = input->number;
        while (status == INMO_OK && !input->ended && input->end - input->begin < wanted)
            status = refill(input, input->begin, error);
        if (status != INMO_OK)
            break;
        at = input->begin;
        for (lines = 0; lines < most && at < input->end;) {
            char *feed = memchr(input->buffer + at, '\n', input->end - at);
            size_t line_end = feed ? (size_t)(feed - input->buffer) : input->end;
            if (!feed && !input->ended)
                break;
            line[lines].text = input->buffer + at;
            line[lines].length = without_return(line[lines].text, line_end - at);
            line[lines].number = ++number;
            line[lines].too_long = line[lines].length > INMO_LINE_LIMIT;
            lines += !inmo_line_is_blank(&line[lines]);
            at = line_end + 1;
        }
        if (lines > 0 || input->ended)
            break;
        if (input->end - input->begin > INMO_LINE_LIMIT) {
            line[0] = (struct inmo_line){input->buffer + input->begin, INMO_LINE_LIMIT, input->number + 1, 1};
            lines = 1;
            break;
        }
    }
    if (status == INMO_OK)
        *count = lines;
    return status;
}
