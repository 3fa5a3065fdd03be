/* http_inside.h - what http.c (requests), http_send.c (answers) and http_wire.c (connections,
 * certificates) share. */
#ifndef INMO_SERVER_HTTP_INSIDE_H
#define INMO_SERVER_HTTP_INSIDE_H

#include "server/http.h"
#include "server/request.h"

#include <math.h>

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>

#define WIRE_BUSY INFINITY

/* A connection. */
struct wire {
    struct wire *next, **link;
    struct http *http;
    int socket;
    char *query;             /* of the request on its way, as it was sent */
    _Atomic double deadline; /* by inmo_now: until then a request's header must have come; WIRE_BUSY: it has */
};

/* A request on its way through libmicrohttpd. */
struct call {
    struct request request;
    struct MHD_Connection *connection;
    struct wire *wire;
    double began;
    struct inmo_text piece; /* of an answer that is sent piece by piece */
    size_t sent;
    int fetched, more; /* whether a piece has come that nobody has looked at, and what export_more said of it */
};

struct certificate {
    struct certificate *before; /* a handshake may still use it, as long as its client likes */
    gnutls_pcert_st chain[8];
    unsigned length;
    gnutls_privkey_t key;
};

struct http {
    struct server *server;
    struct MHD_Daemon *daemon;
    pthread_mutex_t lock;
    struct wire *wires;
    struct certificate *certificate; /* the present one */
};

/* Queues the answer that the request has. */
enum MHD_Result http_respond(struct call *call);

/* libmicrohttpd's certificate callback has no context. */
extern struct http *http_current;
int http_certificate(gnutls_session_t session, const gnutls_datum_t *names, int name_count,
                     const gnutls_pk_algorithm_t *algorithms, int algorithm_count, gnutls_pcert_st **chain,
                     unsigned *length, gnutls_privkey_t *key);
void http_free_certificate(struct http *http);

void http_connection(void *context, struct MHD_Connection *connection, void **place,
                     enum MHD_ConnectionNotificationCode what);
void *http_take_address(void *context, const char *address, struct MHD_Connection *connection);
void http_log(void *context, const char *format, va_list arguments);
/* The request is over: the next one has so many seconds. */
void http_wire_idle(struct wire *wire, int seconds);
/* Closes connections that wait for a request; whether any is left that does not. */
void http_close_idle(struct http *http);
int http_busy(struct http *http);

#endif
