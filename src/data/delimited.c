/* delimited.c - lines of fields with a separator between them: TSV, CSV (RFC 4180: "..." around a field, "" for a
 * quote in it, separators and line ends allowed inside), MovieLens' "::", or any other.
 *
 * Some files use \" for a quote in a field, where RFC 4180 ends the field. Neither the name nor the first lines
 * tell, so only a record that the RFC cannot read is read that way.
 *
 * Fields are not copied. The hot path, a line without quotes, is one search per separator; a field goes to the slot
 * of its role, and fields without a role share a slot that is never read. */
#define _GNU_SOURCE /* memmem */
#include "data/record.h"

#include <string.h>

static const char *find_separator(const struct inmo_plan *plan, const char *from, const char *end)
{
    const char *found = plan->separator_length == 1
                            ? memchr(from, plan->separator[0], (size_t)(end - from))
                            : memmem(from, (size_t)(end - from), plan->separator, plan->separator_length);
    return found ? found : end;
}

static int starts_with_separator(const struct inmo_plan *plan, const char *text, size_t length)
{
    return length >= plan->separator_length && memcmp(text, plan->separator, plan->separator_length) == 0;
}

/* Returns the number of columns and stores the expected fields by role. */
static int split_plain(const struct inmo_plan *plan, const struct inmo_line *line,
                       struct inmo_field field[INMO_ROLES])
{
    const char *at = line->text, *end = line->text + line->length;
    int column = 0;
    for (;;) {
        const char *stop = find_separator(plan, at, end);
        if (column < plan->columns.count)
            field[plan->columns.role[column]] = (struct inmo_field){at, (size_t)(stop - at)};
        column++;
        if (stop == end)
            break;
        at = stop + plan->separator_length;
    }
    return column;
}

/* Offsets, because the text moves when a record continues on the next line. */
struct span {
    size_t begin, end;
    int escaped; /* has "" or \" inside */
};

/* 1 if an odd number of backslashes precedes the quote at text[at]; begin is where its field begins. */
static int is_backslashed(const char *text, size_t begin, size_t at)
{
    size_t first = at;
    while (first > begin && text[first - 1] == '\\')
        first--;
    return (at - first) % 2;
}

/* Skips from the opening quote at *at past the closing one, reading more lines as needed. Sets *fault if there is
 * no closing quote or text follows it. */
static inline enum inmo_status pass_quoted(struct inmo_reader *reader, struct inmo_line *line, int backslashes,
                                           size_t *at, struct span *span, const char **fault,
                                           struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    size_t searched = *at + 1;
    span->begin = searched;
    span->escaped = 0;
    for (;;) {
        const char *quote = memchr(line->text + searched, '"', line->length - searched);
        if (!quote) {
            int extended = 0;
            searched = line->length;
            status = inmo_input_extend(reader->input, line, &extended, error);
            if (status != INMO_OK)
                return status;
            if (!extended) {
                *fault = "found a quote that is not closed, expected a closing \"";
                return INMO_OK;
            }
            continue;
        }
        span->end = (size_t)(quote - line->text);
        if (backslashes && is_backslashed(line->text, span->begin, span->end)) {
            span->escaped = 1;
            searched = span->end + 1;
            continue;
        }
        if (span->end + 1 == line->length || quote[1] != '"')
            break;
        span->escaped = 1;
        searched = span->end + 2;
    }
    *at = span->end + 1;
    if (*at < line->length && !starts_with_separator(&reader->plan, line->text + *at, line->length - *at))
        *fault = "found text after a closing quote, expected a separator or the end of the line";
    return INMO_OK;
}

/* "" and, with backslashes, \" become one quote; other backslashes are text. */
static size_t undo_quotes(char *text, size_t length, int backslashes)
{
    size_t kept = 0, run = 0; /* of backslashes just before */
    for (size_t n = 0; n < length; n++) {
        char c = text[n];
        if (c == '"' && backslashes && run % 2)
            kept--;
        else if (c == '"')
            n++;
        run = c == '\\' ? run + 1 : 0;
        text[kept++] = c;
    }
    return kept;
}

/* Inlined, so that the RFC case does not pay for the other. */
__attribute__((always_inline)) static inline enum inmo_status split_quoted(struct inmo_reader *reader,
                                                                           struct inmo_line *line, int backslashes,
                                                                           struct inmo_field field[INMO_ROLES],
                                                                           int *columns, const char **fault,
                                                                           struct inmo_error *error)
{
    const struct inmo_plan *plan = &reader->plan;
    enum inmo_status status = INMO_OK;
    struct span span[INMO_ROLES] = {{0}};
    size_t at = 0;
    int column = 0;
    for (;;) {
        struct span found = {at, 0, 0};
        if (at < line->length && line->text[at] == '"') {
            status = pass_quoted(reader, line, backslashes, &at, &found, fault, error);
            if (status != INMO_OK || *fault)
                return status;
        } else {
            at = (size_t)(find_separator(plan, line->text + at, line->text + line->length) - line->text);
            found.end = at;
        }
        if (column < plan->columns.count)
            span[plan->columns.role[column]] = found;
        column++;
        if (at == line->length)
            break;
        at += plan->separator_length;
    }
    *columns = column;
    if (column != plan->columns.count)
        return INMO_OK;
    /* The text is changed only now that the record is known to be complete. */
    for (int role = INMO_ROLE_USER; role < INMO_ROLES; role++) {
        char *text = line->text + span[role].begin;
        size_t length = span[role].end - span[role].begin;
        field[role] =
            (struct inmo_field){text, span[role].escaped ? undo_quotes(text, length, backslashes) : length};
    }
    return INMO_OK;
}

/* Splits a record that RFC 4180 cannot read again, with \" for a quote. If that fails, too, *fault and *columns
 * stay unchanged. */
static enum inmo_status split_backslashed(struct inmo_reader *reader, struct inmo_line *line,
                                          struct inmo_field field[INMO_ROLES], int *columns, const char **fault,
                                          struct inmo_error *error)
{
    const char *new_fault = NULL;
    int new_columns = 0;
    enum inmo_status status = INMO_OK;
    if (!memmem(line->text, line->length, "\\\"", 2))
        return INMO_OK;
    inmo_input_retract(reader->input, line);
    status = split_quoted(reader, line, 1, field, &new_columns, &new_fault, error);
    if (status == INMO_OK && !new_fault && new_columns == reader->plan.columns.count) {
        *fault = NULL;
        *columns = new_columns;
    } else if (status == INMO_OK) {
        /* A record with too many columns consumed all its lines: take them again. */
        inmo_input_retract(reader->input, line);
        status = split_quoted(reader, line, 0, field, columns, fault, error);
    }
    return status;
}

enum inmo_status inmo_read_delimited(struct inmo_reader *reader, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    const struct inmo_plan *plan = &reader->plan;
    struct inmo_field field[INMO_ROLES] = {{0}};
    struct inmo_line line = {0};
    int header = plan->header;
    for (;;) {
        const char *fault = NULL;
        int columns = 0;
        status = inmo_input_next(reader->input, &line, error);
        if (status != INMO_OK || !line.text)
            break;
        if (inmo_line_is_blank(&line))
            continue;
        if (header) {
            header--;
            continue;
        }
        reader->log->lines++;
        if (line.too_long) {
            status = inmo_record_too_long(reader, line.number, error);
        } else if (plan->quotes && memchr(line.text, '"', line.length)) {
            status = split_quoted(reader, &line, 0, field, &columns, &fault, error);
            if (status == INMO_OK && (fault || columns != plan->columns.count))
                status = split_backslashed(reader, &line, field, &columns, &fault, error);
        } else {
            columns = split_plain(plan, &line, field);
        }
        if (status != INMO_OK)
            break;
        if (fault) {
            /* With a misplaced quote the end of the record is unknown: skip only its first line. */
            inmo_input_retract(reader->input, &line);
            status = inmo_record_bad(reader, line.number, error, "%s", fault);
        } else if (columns == plan->columns.count) {
            status = inmo_record_add(reader, line.number, field, error);
        } else if (!line.too_long && memchr(line.text, 0, line.length)) {
            status = inmo_record_bad(reader, line.number, error, "found a NUL byte, expected text");
        } else if (!line.too_long) {
            char shown[200];
            status = inmo_record_bad(reader, line.number, error, "found %d column%s, expected %d (%s)", columns,
                                     columns == 1 ? "" : "s", plan->columns.count,
                                     inmo_columns_show(&plan->columns, shown, sizeof shown));
        }
        if (status != INMO_OK)
            break;
    }
    return status;
}

size_t inmo_split_line(const struct inmo_plan *plan, const struct inmo_line *line, struct inmo_field *field,
                       size_t most)
{
    const char *at = line->text, *end = line->text + line->length;
    size_t count = 0;
    for (;;) {
        const char *stop, *begin = at;
        if (plan->quotes && at < end && *at == '"') {
            begin = ++at;
            for (;;) {
                at = memchr(at, '"', (size_t)(end - at));
                if (!at || at + 1 == end || at[1] != '"')
                    break;
                at += 2;
            }
            at = at ? at : end;
            if (count < most)
                field[count] = (struct inmo_field){begin, (size_t)(at - begin)};
            stop = find_separator(plan, at, end);
        } else {
            stop = find_separator(plan, at, end);
            if (count < most)
                field[count] = (struct inmo_field){begin, (size_t)(stop - begin)};
        }
        count++;
        if (stop == end)
            break;
        at = stop + plan->separator_length;
    }
    return count;
}
