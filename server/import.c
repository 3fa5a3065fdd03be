/* import.c - see import.h. */
#include "server/import.h"

#include "server/entity.h"
#include "server/route.h"
#include "server/stamp.h"

#include "base/json.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum { CHANGES_AT_ONCE = 5000, LINE_LIMIT = 1 << 20, COLUMNS = 32 };
enum column { USER, ITEM, TYPE, TIME, COMMENT, KNOWN_COLUMNS };

struct import {
    struct inmo_text line; /* what has come of it */
    int in_quotes, is_csv, has_header;
    int column[KNOWN_COLUMNS]; /* place in the CSV file, or -1 */
    int64_t lines, stored_lines, skip, affected;
    const char *type; /* where a line has none */
};

static struct import *import_of(struct request *request)
{
    struct import *import = request->stream;
    const char *type = request_query(request, "type");
    int64_t skip;
    if (import)
        return import;
    if (!request_number(request, "skip", 0, 0, INT64_MAX, &skip))
        return NULL;
    if (type && strlen(type) > REQUEST_ID_LIMIT) {
        request_fail(request, 400, "BAD_REQUEST", "type", "type: found %zu bytes, expected at most %d",
                     strlen(type), REQUEST_ID_LIMIT);
        return NULL;
    }
    request->stream = import = inmo_alloc_zero(1, sizeof *import);
    if (!import) {
        request_fail_memory(request);
        return NULL;
    }
    import->skip = skip;
    import->type = type && *type ? type : request->server->options->import_type;
    return import;
}

void import_free(struct request *request)
{
    struct import *import = request->stream;
    if (import)
        inmo_text_free(&import->line);
    inmo_free(import);
    request->stream = NULL;
}

__attribute__((format(printf, 2, 3))) static int fail_line(struct request *request, const char *format, ...)
{
    struct import *import = request->stream;
    char why[400];
    va_list arguments;
    va_start(arguments, format);
    inmo_vformat(why, sizeof why, format, arguments);
    va_end(arguments);
    request_fail(request, 400, "BAD_REQUEST", NULL, "line %lld: %s; %lld lines are stored (go on with skip=%lld)",
                 (long long)import->lines, why, (long long)import->stored_lines, (long long)import->stored_lines);
    return 0;
}

/* ---- Lines --------------------------------------------------------------------------------------------------- */

/* A new event. Texts are copied: the line is gone when it is written. 0: answered. */
static int add(struct request *request, const char *user, const char *item, const char *type, const char *time,
               double time_number, const char *comment)
{
    struct import *import = request->stream;
    struct store_change *change;
    int64_t when = STORE_NO_TIME;

    type = type && *type ? type : import->type;
    if (!user || !*user || strlen(user) > REQUEST_ID_LIMIT || !item || !*item || strlen(item) > REQUEST_ID_LIMIT ||
        strlen(type) > REQUEST_ID_LIMIT)
        return fail_line(request, "expected a user and an item of 1 to %d bytes", REQUEST_ID_LIMIT);
    if (time && *time ? !stamp_parse(time, strlen(time), &when)
                      : time_number == time_number && !stamp_number(time_number, &when))
        return fail_line(request, "time: found \"%.40s\", expected " STAMP_EXPECTED, time ? time : "a number");
    if (!(change = request_change(request)))
        return 0;
    change->deed = STORE_ADD_FEEDBACK;
    change->feedback = (struct store_feedback){
        .type = request_keep(request, type, strlen(type)),
        .user = request_keep(request, user, strlen(user)),
        .item = request_keep(request, item, strlen(item)),
        .time = when,
        .comment = comment && *comment ? request_keep(request, comment, strlen(comment)) : "",
    };
    return request->state != REQUEST_ANSWERED;
}

static const char *member(const json_t *object, const char *name, const char *other)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : json_string_value(json_object_get(object, other));
}

static int take_json(struct request *request, const char *line, size_t length)
{
    json_error_t wrong = {0};
    json_t *object = NULL;
    const json_t *time;
    enum inmo_status status = inmo_json_parse(line, length, 0, &object, &wrong);
    int fine;

    if (status || !json_is_object(object)) {
        json_decref(object);
        return fail_line(request, "it is not a JSON object%s%.200s", status ? ": " : "", status ? wrong.text : "");
    }
    time = json_object_get(object, "Timestamp");
    time = time ? time : json_object_get(object, "time");
    fine = add(request, member(object, "UserId", "user"), member(object, "ItemId", "item"),
               member(object, "FeedbackType", "type"), json_string_value(time),
               json_is_number(time) ? json_number_value(time) : (double)NAN, member(object, "Comment", "comment"));
    json_decref(object);
    return fine;
}

/* Cuts the record into fields, in place. Returns how many, or -1 for a quote that is not one. */
static int cut(char *line, char *field[COLUMNS])
{
    int count = 0;
    for (char *at = line; count < COLUMNS;) {
        char *to = at;
        field[count++] = at;
        if (*at == '"') {
            for (at++; *at && (*at != '"' || at[1] == '"'); at++) {
                at += *at == '"';
                *to++ = *at;
            }
            if (*at != '"' || (at[1] && at[1] != ','))
                return -1;
            at++;
        } else {
            at += strcspn(at, ",");
            to = at;
        }
        if (!*at) {
            *to = 0;
            return count;
        }
        at++;
        *to = 0;
    }
    return count;
}

static int take_header(struct request *request, char *line)
{
    static const char *const wanted[KNOWN_COLUMNS] = {"user", "item", NULL, "time", NULL};
    struct import *import = request->stream;
    char *field[COLUMNS];
    int count = cut(line, field);

    for (int c = 0; c < KNOWN_COLUMNS; c++)
        import->column[c] = -1;
    for (int n = 0; n < count; n++) {
        const char *role = inmo_column_role(field[n]);
        for (int c = 0; c < KNOWN_COLUMNS; c++)
            if (wanted[c] && role && !strcmp(role, wanted[c]))
                import->column[c] = n;
        if (!strcasecmp(field[n], "type") || !strcasecmp(field[n], "event") ||
            !strcasecmp(field[n], "FeedbackType"))
            import->column[TYPE] = n;
        if (!strcasecmp(field[n], "comment"))
            import->column[COMMENT] = n;
    }
    import->has_header = 1;
    if (import->column[USER] < 0 || import->column[ITEM] < 0)
        return fail_line(request, "expected a CSV header that names user and item (and type, time), or JSON lines");
    return 1;
}

static int take_csv(struct request *request, char *line)
{
    struct import *import = request->stream;
    char *field[COLUMNS];
    const char *value[KNOWN_COLUMNS];
    int count = cut(line, field);

    if (count < 0)
        return fail_line(request, "a quote stands where none can");
    for (int c = 0; c < KNOWN_COLUMNS; c++)
        value[c] = import->column[c] >= 0 && import->column[c] < count ? field[import->column[c]] : NULL;
    return add(request, value[USER], value[ITEM], value[TYPE], value[TIME], (double)NAN, value[COMMENT]);
}

static int take_line(struct request *request)
{
    struct import *import = request->stream;
    char *line = import->line.data;
    size_t length = import->line.length;
    int fine = 1;

    import->lines++;
    if (length && line[length - 1] == '\r')
        line[--length] = 0;
    if (length && (strlen(line) != length || !inmo_utf8_length((unsigned char *)line)))
        return fail_line(request, "expected UTF-8 text without zero bytes");
    for (const unsigned char *c = (unsigned char *)line; length && *c;) {
        size_t step = inmo_utf8_length(c);
        if (!step)
            return fail_line(request, "expected UTF-8 text");
        c += step;
    }
    if (import->lines == 1)
        import->is_csv = length && *line != '{';
    if (import->is_csv && !import->has_header)
        fine = take_header(request, line);
    else if (length && import->lines > import->skip)
        fine = import->is_csv ? take_csv(request, line) : take_json(request, line, length);
    import->line.length = 0;
    return fine;
}

/* ---- Pieces -------------------------------------------------------------------------------------------------- */

static void written(struct request *request)
{
    struct import *import = request->stream;
    metrics_count(request->server->metrics, METRICS_EVENTS_IMPORTED, (uint64_t)request->job.affected);
    import->affected += request->job.affected;
    request->job.affected = 0; /* the last piece may have no line of its own */
    import->stored_lines = import->lines;
    request_drop_changes(request);
    request->state = REQUEST_NEW;
}

size_t import_feed(struct request *request, const char *data, size_t size)
{
    struct import *import = import_of(request);
    size_t at = 0;

    while (import && at < size && request->state == REQUEST_NEW) {
        size_t end = at;
        while (end < size && (data[end] != '\n' || import->in_quotes)) {
            import->in_quotes ^= data[end] == '"' && import->is_csv;
            end++;
        }
        inmo_text_add(&import->line, data + at, end - at);
        if (import->line.failed)
            request_fail_memory(request);
        else if (import->line.length > LINE_LIMIT)
            fail_line(request, "it is longer than %d bytes", LINE_LIMIT);
        else if (end < size)
            take_line(request);
        at = end < size ? end + 1 : end;
        if (request->state == REQUEST_NEW && request->job.count >= CHANGES_AT_ONCE) {
            request_write(request, written);
            if (request->suspended)
                return at;
        }
    }
    return request->state == REQUEST_ANSWERED ? size : at;
}

static void answer(struct request *request)
{
    struct import *import = request->stream;
    written(request);
    inmo_text_format(&request->out, "{\"RowAffected\":%lld,\"lines\":%lld}", (long long)import->affected,
                     (long long)import->lines);
    request_answer(request, 200);
}

/* The body has come whole. */
void route_import(struct request *request)
{
    struct import *import = import_of(request);
    if (import && import->line.length && !take_line(request))
        return;
    if (import)
        request_write(request, answer);
}
