/* request.h - one request and its answer, apart from the connection they travel on: http.c fills in the first half
 * and sends the second; the routes (route.h) stand between. So the routes can be tested and fuzzed without a
 * socket.
 *
 * A route either answers at once or hands changes to the writer (request_write) and is called back when they are
 * durable; http.c suspends the connection meanwhile, and no thread waits. */
#ifndef INMO_SERVER_REQUEST_H
#define INMO_SERVER_REQUEST_H

#include "base/text.h"
#include "server/ingest.h"
#include "server/keys.h"

#include <jansson.h>

struct server;
struct route;

enum { REQUEST_SEGMENTS = 12, REQUEST_QUERIES = 24 };
enum { REQUEST_ID_LIMIT = 4096 };

enum request_state {
    REQUEST_NEW,
    REQUEST_WAITS, /* for the writer or for a thread of its own */
    REQUEST_ANSWERED,
    REQUEST_STREAMS, /* the answer comes piece by piece (export_more) */
};

struct request {
    struct server *server;
    const struct route *route;
    int route_number; /* in the table; for metrics */

    /* What was asked. */
    const char *method;
    char *text;                            /* the decoded words of the address, NUL after each */
    const char *segment[REQUEST_SEGMENTS]; /* of the path, decoded */
    int segments;
    const char *param[4]; /* the segments that stand where the pattern has {...} */
    struct {
        const char *name, *value;
    } query[REQUEST_QUERIES];
    int queries;
    struct inmo_text body;
    enum keys_right right;

    /* What is answered. */
    enum request_state state;
    int status;
    struct inmo_text out;
    const char *out_type;
    const unsigned char *fixed; /* instead of out: bytes that stay, the page's files */
    size_t fixed_size;
    const char *etag, *allow;
    double retry_after; /* seconds; 0: none */
    int close_after;

    /* Changes on their way. */
    struct ingest_job job;
    struct store_change *change;
    size_t change_capacity;
    json_t *json;                             /* the parsed body, which changes point into */
    struct request_kept *kept;                /* other texts that they point into */
    void (*written)(struct request *request); /* fills in the answer once the changes are durable */
    void (*suspend)(struct request *request); /* http.c's: puts the connection to sleep, and wakes it */
    void (*resume)(struct request *request);
    int in_background; /* the connection is suspended already */
    int suspended;     /* what came of it belongs to another thread until the connection is woken */
    void *connection;
    void *stream; /* of a route that takes or gives its body piece by piece */
};

/* Splits and decodes path and query; 400 for what is no percent-encoded UTF-8 without NUL, 414 for too many words.
 * 1: fine; 0: the request has been answered. */
int request_parse(struct request *request, const char *path, const char *query);
void request_clear(struct request *request);

/* The value of a query parameter, or NULL. */
const char *request_query(const struct request *request, const char *name);
/* A whole number from the query, within bounds. 0 when it was none: then the request has been answered with 400. */
int request_number(struct request *request, const char *name, int64_t usual, int64_t least, int64_t most,
                   int64_t *number);

/* ---- Answers: each sets the status and the body. ---- */
/* {"error": sentence, "code": code, "field": field}; field may be NULL. */
void request_fail(struct request *request, int status, const char *code, const char *field, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void request_fail_memory(struct request *request);
/* From an error of the library or of the store. */
void request_fail_status(struct request *request, const struct inmo_error *error);
/* An answer of what request->out has, as JSON. */
void request_answer(struct request *request, int status);
/* {"RowAffected": n} */
void request_affected(struct request *request, int64_t rows);

/* ---- The body ---- */
/* Parses it as JSON of this type; NULL: answered with 400. The value stays with the request. */
json_t *request_json(struct request *request, json_type type);
/* An id from JSON, checked; NULL: answered with 400, naming the field (and the row, from 0, unless negative). */
const char *request_id(struct request *request, const json_t *object, const char *field, int row);

/* Room, a copy of the text, or the JSON value as text, that lives as long as the request; NULL: memory is short,
 * answered. */
void *request_room(struct request *request, size_t count, size_t size);
const char *request_keep(struct request *request, const char *text, size_t length);
const char *request_dump(struct request *request, const json_t *value);

/* ---- Changes ---- */
/* One more change, zero; NULL: memory is short, answered. */
struct store_change *request_change(struct request *request);
/* Hands all of them to the writer; written is called by its thread when they are durable, unless they failed: then
 * the failure is the answer. */
void request_write(struct request *request, void (*written)(struct request *request));
/* Called by written instead of an answer: the route runs once more, from the beginning. */
void request_again(struct request *request);

/* The changes are done with; another set may follow. */
void request_drop_changes(struct request *request);

/* Runs work on a thread of its own, for what takes longer than a list; the connection waits, the others do not.
 * At most so many at once: REQUEST_HEAVY for what needs processor and memory. work may end in request_write. */
enum { REQUEST_HEAVY = 4, REQUEST_READING = 64 };
void request_in_background(struct request *request, int most, void (*work)(struct request *request));
/* Waits until none is running; none is begun any more. */
void request_background_end(void);

#endif
