/* http_send.c - answers on their way out: headers, bodies, and exports piece by piece. */
#include "server/http_inside.h"

#include "base/memory.h"
#include "server/import.h"

#include <string.h>

enum { STREAM_BLOCK = 1 << 16 };

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    if (value)
        MHD_add_response_header(response, name, value);
}

/* The next piece, on a thread of its own if the store is a database elsewhere, which may take its time. */
static void fetch_piece(struct request *request)
{
    struct call *call = (struct call *)request;
    call->piece.length = call->sent = 0;
    call->more = export_more(request, &call->piece);
}

static ssize_t send_piece(void *context, uint64_t position, char *buffer, size_t most)
{
    struct call *call = context;
    struct request *request = &call->request;
    size_t some;
    (void)position;
    while (call->fetched || call->sent == call->piece.length) {
        if (!call->fetched) {
            call->fetched = 1;
            call->more = -1; /* what remains if there is no thread for it */
            if (store_is_shared(request->server->store)) {
                request_in_background(request, REQUEST_READING, fetch_piece);
                return 0; /* called again when the connection is woken */
            }
            fetch_piece(request);
        }
        call->fetched = 0;
        if (call->more <= 0)
            return call->more ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
    }
    some = call->piece.length - call->sent < most ? call->piece.length - call->sent : most;
    memcpy(buffer, call->piece.data + call->sent, some);
    call->sent += some;
    return (ssize_t)some;
}

static struct MHD_Response *make_response(struct call *call)
{
    struct request *request = &call->request;
    struct MHD_Response *response;
    if (request->state == REQUEST_STREAMS)
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, send_piece, call, NULL);
    if (request->fixed)
        return MHD_create_response_from_buffer(request->fixed_size, (void *)request->fixed, MHD_RESPMEM_PERSISTENT);
    response = MHD_create_response_from_buffer_with_free_callback(
        request->out.length, request->out.data ? request->out.data : (void *)"",
        request->out.data ? inmo_free : NULL);
    if (response)
        request->out = (struct inmo_text){0}; /* the response's now */
    return response;
}

enum MHD_Result http_respond(struct call *call)
{
    struct request *request = &call->request;
    const char *known =
        request->etag ? MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, "If-None-Match") : NULL;
    enum MHD_Result result = MHD_NO;
    struct MHD_Response *response;
    char retry[32];

    if (known && !strcmp(known, request->etag)) {
        request->status = 304;
        request->fixed_size = 0;
    }
    response = make_response(call);
    if (!response)
        return MHD_NO;
    add_header(response, "Content-Type", request->out_type);
    add_header(response, "X-Content-Type-Options", "nosniff");
    add_header(response, "Cache-Control", request->etag ? "no-cache" : "no-store");
    add_header(response, "ETag", request->etag);
    add_header(response, "Allow", request->allow);
    if (request->fixed) {
        add_header(response, "Content-Security-Policy",
                   "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'");
        add_header(response, "Referrer-Policy", "no-referrer");
    }
    if (request->status == 401)
        add_header(response, "WWW-Authenticate", "ApiKey");
    if (request->retry_after > 0) {
        snprintf(retry, sizeof retry, "%d", request->retry_after < 1 ? 1 : (int)(request->retry_after + 0.999));
        add_header(response, "Retry-After", retry);
    }
    if (request->server->options->allow_origin) {
        add_header(response, "Access-Control-Allow-Origin", request->server->options->allow_origin);
        add_header(response, "Access-Control-Allow-Headers", "X-API-Key, Authorization, Content-Type");
        add_header(response, "Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE");
    }
    if (request->close_after)
        add_header(response, "Connection", "close");
    result = MHD_queue_response(call->connection, (unsigned)request->status, response);
    MHD_destroy_response(response);
    return result;
}
