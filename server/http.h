/* http.h - connections: libmicrohttpd with epoll and a pool of threads, keys, limits, TLS.
 *
 * A thread of the pool serves many connections and never waits for the disk or for another thread: whoever waits is
 * suspended (request.h). Limits hold before memory is spent: the length of a header, of a body, the number of
 * connections, the time until a request has come whole. */
#ifndef INMO_SERVER_HTTP_H
#define INMO_SERVER_HTTP_H

#include "server/server.h"

/* Listens and answers. address gets "http://127.0.0.1:8088". */
enum { HTTP_ADDRESS = 320 };
enum inmo_status http_start(struct server *server, struct http **http, char address[HTTP_ADDRESS],
                            struct inmo_error *error);
/* No new connections; requests that have begun may end, for so many seconds at most. */
void http_drain(struct http *http, double seconds);
void http_stop(struct http *http);
/* Closes connections that have taken too long to send a request. Called every second or so. */
void http_tick(struct http *http);
/* Reads the certificate again; the old one stays on failure. */
enum inmo_status http_reload(struct http *http, struct inmo_error *error);

/* Whether an address of that name reaches only this machine. */
int http_is_loopback(const char *host);

#endif
