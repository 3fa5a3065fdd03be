/* request.c - see request.h. */
#define _GNU_SOURCE /* strchrnul */
#include "server/request.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "server/server.h"

#include <errno.h>
#include <stdlib.h>

struct request_kept {
    struct request_kept *next;
    char text[]; /* aligned for pointers */
};

/* ---- Addresses ----------------------------------------------------------------------------------------------- */

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decodes [from, end) to *to and moves it behind the NUL. NULL: not percent-encoded UTF-8 without NUL. */
static const char *decode(const char *from, const char *end, int plus_is_space, char **to)
{
    char *start = *to, *at = *to;
    for (; from < end; from++) {
        if (*from == '%') {
            int high = end - from > 2 ? hex(from[1]) : -1, low = end - from > 2 ? hex(from[2]) : -1;
            if (high < 0 || low < 0 || !(high | low))
                return NULL;
            *at++ = (char)(high << 4 | low);
            from += 2;
        } else {
            *at++ = plus_is_space && *from == '+' ? ' ' : *from;
        }
    }
    *at = 0;
    for (const unsigned char *c = (const unsigned char *)start; *c;) {
        size_t length = inmo_utf8_length(c);
        if (!length)
            return NULL;
        c += length;
    }
    *to = at + 1;
    return start;
}

static int fail_address(struct request *request, const char *what)
{
    request_fail(request, 400, "BAD_REQUEST", NULL, "%s is not percent-encoded UTF-8 without a zero byte", what);
    return 0;
}

int request_parse(struct request *request, const char *path, const char *query)
{
    size_t room = strlen(path) + (query ? strlen(query) : 0) + REQUEST_SEGMENTS + 2 * REQUEST_QUERIES + 8;
    char *to = request->text = inmo_alloc(room, 1);
    if (!to) {
        request_fail_memory(request);
        return 0;
    }
    for (const char *at = path; *at == '/';) {
        const char *end = strchrnul(++at, '/');
        if (!*end && at == end)
            break; /* a slash at the end: clients put one where a category could stand */
        if (request->segments == REQUEST_SEGMENTS) {
            request_fail(request, 404, "NOT_FOUND", NULL, "there is no such address");
            return 0;
        }
        if (!(request->segment[request->segments++] = decode(at, end, 0, &to)))
            return fail_address(request, "the path");
        at = end;
    }
    for (const char *at = query; at && *at;) {
        const char *end = strchrnul(at, '&'), *equals = memchr(at, '=', (size_t)(end - at));
        if (request->queries == REQUEST_QUERIES) {
            request_fail(request, 400, "BAD_REQUEST", NULL, "found more than %d parameters", REQUEST_QUERIES);
            return 0;
        }
        request->query[request->queries].name = decode(at, equals ? equals : end, 1, &to);
        request->query[request->queries].value = decode(equals ? equals + 1 : end, end, 1, &to);
        if (!request->query[request->queries].name || !request->query[request->queries].value)
            return fail_address(request, "the query");
        request->queries++;
        at = *end ? end + 1 : end;
    }
    return 1;
}

void request_drop_changes(struct request *request)
{
    while (request->kept) {
        struct request_kept *next = request->kept->next;
        inmo_free(request->kept);
        request->kept = next;
    }
    request->job.count = 0;
}

void request_clear(struct request *request)
{
    inmo_free(request->text);
    inmo_text_free(&request->body);
    inmo_text_free(&request->out);
    request_drop_changes(request);
    inmo_free(request->change);
    json_decref(request->json);
    request->text = NULL;
    request->change = NULL;
    request->json = NULL;
}

const char *request_query(const struct request *request, const char *name)
{
    for (int n = 0; n < request->queries; n++)
        if (!strcmp(request->query[n].name, name))
            return request->query[n].value;
    return NULL;
}

int request_number(struct request *request, const char *name, int64_t usual, int64_t least, int64_t most,
                   int64_t *number)
{
    const char *text = request_query(request, name);
    char *end = NULL;
    long long found = usual;
    int given = 0;
    for (int n = 0; n < request->queries; n++)
        given += !strcmp(request->query[n].name, name);
    if (given > 1) {
        request_fail(request, 400, "BAD_REQUEST", name, "%s: it is given %d times", name, given);
        return 0;
    }
    if (text) {
        errno = 0;
        found = strtoll(text, &end, 10);
        if (!*text || *end || errno || strspn(text, "-0123456789") != strlen(text) || found < least ||
            found > most) {
            request_fail(request, 400, "BAD_REQUEST", name,
                         "%s: found \"%.40s\", expected a whole number from %lld to %lld", name, text,
                         (long long)least, (long long)most);
            return 0;
        }
    }
    *number = found;
    return 1;
}

/* ---- Answers ------------------------------------------------------------------------------------------------- */

void request_answer(struct request *request, int status)
{
    request->status = status;
    request->out_type = "application/json; charset=utf-8";
    request->state = REQUEST_ANSWERED;
    if (request->out.failed) {
        inmo_text_free(&request->out);
        request->status = 503;
        inmo_text_add(&request->out, "{}", 2);
    }
}

void request_fail(struct request *request, int status, const char *code, const char *field, const char *format, ...)
{
    char sentence[1200];
    va_list arguments;
    va_start(arguments, format);
    inmo_vformat(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    inmo_text_free(&request->out);
    inmo_text_add(&request->out, "{\"error\":", 9);
    inmo_text_json_string(&request->out, sentence);
    inmo_text_add(&request->out, ",\"code\":", 8);
    inmo_text_json_string(&request->out, code);
    if (field) {
        inmo_text_add(&request->out, ",\"field\":", 9);
        inmo_text_json_string(&request->out, field);
    }
    inmo_text_add(&request->out, "}", 1);
    request_answer(request, status);
}

void request_fail_memory(struct request *request)
{
    request->retry_after = 1;
    request_fail(request, 503, "INTERNAL", NULL, "not enough memory");
}

void request_fail_status(struct request *request, const struct inmo_error *error)
{
    switch (error->code) {
    case INMO_USAGE:
    case INMO_INPUT: request_fail(request, 400, "BAD_REQUEST", NULL, "%s", error->message); break;
    case INMO_UNKNOWN: request_fail(request, 404, "NOT_FOUND", NULL, "%s", error->message); break;
    case INMO_UNSUPPORTED: request_fail(request, 409, "UNSUPPORTED", NULL, "%s", error->message); break;
    case INMO_MEMORY:
        request->retry_after = 1;
        request_fail(request, 503, "INTERNAL", NULL, "%s", error->message);
        break;
    case INMO_IO:
        request->retry_after = 1;
        request_fail(request, 503, "STORE_AWAY", NULL, "%s", error->message);
        break;
    default: request_fail(request, 500, "INTERNAL", NULL, "%s", error->message); break;
    }
}

void request_affected(struct request *request, int64_t rows)
{
    inmo_text_format(&request->out, "{\"RowAffected\":%lld}", (long long)rows);
    request_answer(request, 200);
}

/* ---- The body ------------------------------------------------------------------------------------------------ */

json_t *request_json(struct request *request, json_type type)
{
    json_error_t wrong = {0};
    enum inmo_status status;

    status = inmo_json_parse(request->body.data ? request->body.data : "", request->body.length,
                             JSON_REJECT_DUPLICATES, &request->json, &wrong);
    /* Integers of any length are JSON; jansson has them as real numbers if it is told to. */
    if (status == INMO_FORMAT && json_error_code(&wrong) == json_error_numeric_overflow)
        status = inmo_json_parse(request->body.data, request->body.length,
                                 JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &request->json, &wrong);
    if (status == INMO_MEMORY)
        request_fail_memory(request);
    else if (status)
        request_fail(request, 400, "BAD_REQUEST", NULL, "the body is not JSON: %s (line %d, column %d)", wrong.text,
                     wrong.line, wrong.column);
    else if (json_typeof(request->json) != type)
        request_fail(request, 400, "BAD_REQUEST", NULL, "the body: found %s, expected %s",
                     json_is_array(request->json) ? "an array" : "an object",
                     type == JSON_ARRAY ? "an array" : "an object");
    else
        return request->json;
    return NULL;
}

const char *request_id(struct request *request, const json_t *object, const char *field, int row)
{
    const json_t *value = json_object_get(object, field);
    const char *id = json_string_value(value);
    char where[64] = "";
    if (id && *id && strlen(id) <= REQUEST_ID_LIMIT)
        return id;
    if (row >= 0)
        snprintf(where, sizeof where, "row %d: ", row);
    if (!id)
        request_fail(request, 400, "BAD_REQUEST", field, "%s%s: %s, expected a string", where, field,
                     value ? "found something else" : "it is missing");
    else
        request_fail(request, 400, "BAD_REQUEST", field, "%s%s: found %zu bytes, expected 1 to %d", where, field,
                     strlen(id), REQUEST_ID_LIMIT);
    return NULL;
}

void *request_room(struct request *request, size_t count, size_t size)
{
    struct request_kept *kept =
        count > (SIZE_MAX - sizeof *kept) / size ? NULL : inmo_alloc(sizeof *kept + count * size, 1);
    if (!kept) {
        request_fail_memory(request);
        return NULL;
    }
    kept->next = request->kept;
    request->kept = kept;
    return kept->text;
}

const char *request_keep(struct request *request, const char *text, size_t length)
{
    char *room = request_room(request, length + 1, 1);
    if (room) {
        memcpy(room, text, length);
        room[length] = 0;
    }
    return room;
}

const char *request_dump(struct request *request, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    const char *kept = NULL;
    if (text)
        kept = request_keep(request, text, strlen(text));
    else
        request_fail_memory(request);
    free(text);
    return kept;
}
