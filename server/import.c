/* import.c - see import.h. */
#include "server/import.h"

#include "server/events.h"
#include "server/route.h"

#include "base/memory.h"

#include <string.h>

enum { CHANGES_AT_ONCE = 5000 };

struct import {
    struct events events;
    int64_t stored_lines, affected;
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
    import->events.skip = skip;
    import->events.type = type && *type ? type : request->server->options->import_type;
    return import;
}

void import_free(struct request *request)
{
    struct import *import = request->stream;
    if (import)
        events_free(&import->events);
    inmo_free(import);
    request->stream = NULL;
}

/* Answers if something went wrong; 1 if nothing did. */
static int check(struct request *request, enum events_result result)
{
    const struct import *import = request->stream;
    if (result == EVENTS_MEMORY)
        request_fail_memory(request);
    else if (result == EVENTS_BAD)
        request_fail(request, 400, "BAD_REQUEST", NULL,
                     "line %lld: %s; %lld lines are stored (go on with skip=%lld)", (long long)import->events.lines,
                     import->events.why, (long long)import->stored_lines, (long long)import->stored_lines);
    return request->state == REQUEST_NEW;
}

/* Texts are copied: the line is gone when they are written. */
static int take(void *context, const struct event *event)
{
    struct request *request = context;
    struct store_change *change = request_change(request);
    if (!change)
        return 0;
    change->deed = STORE_ADD_FEEDBACK;
    change->feedback = (struct store_feedback){
        .type = request_keep(request, event->type, strlen(event->type)),
        .user = request_keep(request, event->user, strlen(event->user)),
        .item = request_keep(request, event->item, strlen(event->item)),
        .time = event->time,
        .comment = *event->comment ? request_keep(request, event->comment, strlen(event->comment)) : "",
    };
    return request->state == REQUEST_NEW && request->job.count < CHANGES_AT_ONCE;
}

static void written(struct request *request)
{
    struct import *import = request->stream;
    metrics_count(request->server->metrics, METRICS_EVENTS_IMPORTED, (uint64_t)request->job.affected);
    import->affected += request->job.affected;
    request->job.affected = 0; /* the last piece may have no line of its own */
    import->stored_lines = import->events.lines;
    request_drop_changes(request);
    request->state = REQUEST_NEW;
}

size_t import_feed(struct request *request, const char *data, size_t size)
{
    struct import *import = import_of(request);
    enum events_result result;
    size_t at = 0;

    while (import && at < size && request->state == REQUEST_NEW) {
        at += events_feed(&import->events, data + at, size - at, take, request, &result);
        if (check(request, result) && request->job.count >= CHANGES_AT_ONCE) {
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
                     (long long)import->events.lines);
    request_answer(request, 200);
}

/* The body has come whole. */
void route_import(struct request *request)
{
    struct import *import = import_of(request);
    if (import && check(request, events_end(&import->events, take, request)))
        request_write(request, answer);
}
