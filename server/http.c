/* http.c - see http.h. */
#include "server/http.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "server/http_inside.h"
#include "server/import.h"
#include "server/route.h"
#include "server/stamp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READER_BODY = 4 << 20 };
/* An address may have three ids of 4096 bytes, each byte as %XX: 36 KB. */
enum { HEADER_LIMIT = 64 << 10 };

/* ---- Addresses ----------------------------------------------------------------------------------------------- */

int http_is_loopback(const char *host)
{
    struct in_addr address;
    return !strcmp(host, "localhost") || !strcmp(host, "::1") ||
           (inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}

/* ---- Keys ---------------------------------------------------------------------------------------------------- */

/* Without keys, a page of somebody else's that is open in a browser on this machine could write here: browsers send
 * such requests, and say from where. */
static int is_foreign(const struct call *call)
{
    const char *origin = MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, "Origin");
    const char *host = MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, "Host");
    const char *allowed = call->request.server->options->allow_origin, *name;
    if (!origin || (allowed && (!strcmp(allowed, "*") || !strcmp(allowed, origin))))
        return 0;
    name = strstr(origin, "://");
    return !name || !host || strcasecmp(name + 3, host) != 0;
}

/* Fills in the rights; 0: answered. Without any keys everybody on this machine may do everything. */
static int admit(struct call *call)
{
    struct request *request = &call->request;
    struct server *server = request->server;
    const char *key = MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, "X-API-Key");
    const char *bearer =
        key ? NULL : MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, "Authorization");
    enum keys_right needed = request->route->right;
    double retry = 0;
    int which = KEYS_ANONYMOUS, fine = 1, foreign = 0;

    if (bearer && !strncasecmp(bearer, "Bearer ", 7))
        key = bearer + 7;
    pthread_rwlock_rdlock(&server->keys_lock);
    if (!keys_count(server->keys))
        request->right = (foreign = needed != KEYS_NONE && is_foreign(call)) ? KEYS_NONE : KEYS_ADMIN;
    else
        request->right = key ? keys_check(server->keys, key, strlen(key), &which) : KEYS_NONE;
    if (needed != KEYS_NONE && !keys_take(server->keys, which, inmo_now(), &retry)) {
        request->retry_after = retry;
        metrics_count(server->metrics, METRICS_REFUSED_RATE, 1);
        request_fail(request, 429, "TOO_MANY", NULL, "too many requests; try again in %.0f s", retry + 0.5);
        fine = 0;
    } else if (request->right < needed) {
        metrics_count(server->metrics, METRICS_REFUSED_KEY, 1);
        if (foreign)
            request_fail(request, 403, "FORBIDDEN", "Origin",
                         "a page of another origin may ask only with a key, or if --allow-origin names it");
        else if (request->right == KEYS_NONE)
            request_fail(request, 401, "UNAUTHORIZED", "X-API-Key", "%s",
                         key ? "this key is not known or has expired" : "a key is needed in the header X-API-Key");
        else
            request_fail(request, 403, "FORBIDDEN", "X-API-Key", "this key has the right %s; this needs %s",
                         keys_right_name(request->right), keys_right_name(needed));
        fine = 0;
    }
    pthread_rwlock_unlock(&server->keys_lock);
    return fine;
}

/* ---- Receiving ----------------------------------------------------------------------------------------------- */

static void suspend(struct request *request)
{
    request->suspended = 1;
    MHD_suspend_connection(request->connection);
}

static void resume(struct request *request)
{
    MHD_resume_connection(request->connection);
}

/* Who may only read has less to say: JSON takes many times its length when it is parsed. */
static double most_body(const struct request *request)
{
    double most = request->server->options->most_body;
    return request->route->right <= KEYS_READ && most > READER_BODY ? READER_BODY : most;
}

/* A new request: finds its route, asks for the key, looks at the announced length. */
static struct call *begin(struct server *server, struct MHD_Connection *connection, const char *path,
                          const char *method)
{
    struct call *call = inmo_alloc_zero(1, sizeof *call);
    const union MHD_ConnectionInfo *socket;
    const char *length, *query;
    struct request *request;
    if (!call)
        return NULL;
    request = &call->request;
    call->connection = connection;
    call->began = inmo_now();
    request->server = server;
    request->connection = connection;
    request->suspend = suspend;
    request->resume = resume;
    request->method = method;
    request->route_number = -1;
    socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    call->wire = socket ? socket->socket_context : NULL;
    if (call->wire)
        atomic_store(&call->wire->deadline, WIRE_BUSY); /* the header has come; the body has its own limit */
    length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
    query = call->wire ? call->wire->query : NULL;
    if (server->options->allow_origin && !strcmp(method, "OPTIONS")) {
        inmo_text_add(&request->out, "{}", 2);
        request_answer(request, 200);
    } else if (request_parse(request, path, query) && route_find(request) && admit(call)) {
        if (length && !(request->route->flags & ROUTE_STREAM) && strtod(length, NULL) > most_body(request)) {
            metrics_count(server->metrics, METRICS_REFUSED_SIZE, 1);
            request_fail(request, 413, "TOO_LARGE", NULL, "a body of %.20s bytes; at most %.0f are taken", length,
                         most_body(request));
        }
    }
    return call;
}

static int has_body(const struct call *call)
{
    const char *length = MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, "Content-Length");
    return MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, "Transfer-Encoding") ||
           (length && strcmp(length, "0"));
}

/* MHD_NO: the connection ends. */
static enum MHD_Result take_body(struct call *call, const char *data, size_t *size)
{
    struct request *request = &call->request;
    int is_stream = request->route && (request->route->flags & ROUTE_STREAM);
    if (request->state != REQUEST_NEW) {
        *size = 0; /* refused already: the rest of it is of no interest, and is not waited for much longer */
        if (!is_stream && inmo_now() - call->began > 2 * request->server->options->idle_seconds)
            return MHD_NO;
    } else if (call->wire && inmo_now() - call->began > request->server->options->idle_seconds && !is_stream) {
        request->close_after = 1;
        request_fail(request, 408, "TOO_SLOW", NULL, "the body did not come within %d s",
                     request->server->options->idle_seconds);
        *size = 0;
    } else if (is_stream) {
        *size -= import_feed(request, data, *size);
    } else if ((double)(request->body.length + *size) > most_body(request)) {
        metrics_count(request->server->metrics, METRICS_REFUSED_SIZE, 1);
        request->close_after = 1;
        request_fail(request, 413, "TOO_LARGE", NULL, "the body has more than %.0f bytes", most_body(request));
        inmo_text_free(&request->body);
        *size = 0;
    } else {
        inmo_text_add(&request->body, data, *size);
        if (request->body.failed)
            request_fail_memory(request);
        *size = 0;
    }
    return MHD_YES;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *data, size_t *size, void **place)
{
    struct call *call = *place;
    struct request *request;
    (void)version;

    if (!call) {
        *place = call = begin(context, connection, path, method);
        if (!call)
            return MHD_NO;
        /* Refused: answered before the body is sent, if there is one, and then the connection ends. */
        if (call->request.state == REQUEST_ANSWERED) {
            call->request.close_after = has_body(call);
            return http_respond(call);
        }
        return MHD_YES;
    }
    request = &call->request;
    request->suspended = 0;
    if (*size) {
        return take_body(call, data, size);
    }
    if (request->state == REQUEST_NEW) {
        if ((request->route->flags & ROUTE_STORE) && store_is_shared(request->server->store))
            request_in_background(request, REQUEST_READING, request->route->answer);
        else
            request->route->answer(request);
        if (request->suspended)
            return MHD_YES; /* another thread has it now, and wakes the connection */
    }
    return http_respond(call);
}

static void completed(void *context, struct MHD_Connection *connection, void **place,
                      enum MHD_RequestTerminationCode why)
{
    struct server *server = context;
    struct call *call = *place;
    (void)connection;
    if (!call)
        return;
    if (call->request.route_number >= 0)
        metrics_request(server->metrics, (size_t)call->request.route_number,
                        why == MHD_REQUEST_TERMINATED_COMPLETED_OK ? call->request.status : 499,
                        inmo_now() - call->began);
    if (call->request.route && (call->request.route->flags & ROUTE_STREAM))
        import_free(&call->request);
    else
        export_free(&call->request);
    if (call->wire)
        http_wire_idle(call->wire, server->options->idle_seconds);
    request_clear(&call->request);
    inmo_text_free(&call->piece);
    inmo_free(call);
    *place = NULL;
}

/* Addresses are decoded by request.c, each word by itself: an id may have a slash in it. */
static size_t leave_encoded(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context;
    (void)connection;
    return strlen(text);
}

/* ---- Start and end ------------------------------------------------------------------------------------------- */

/* A listening socket for the first address of that name. */
static int listen_at(const struct serve_options *options, char address[HTTP_ADDRESS], struct inmo_error *error)
{
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    char port[16], name[128] = "";
    struct sockaddr_storage bound = {0};
    socklen_t size = sizeof bound;
    int on = 1, listening = -1, failed;

    snprintf(port, sizeof port, "%d", options->port);
    failed = getaddrinfo(options->host, port, &wanted, &found);
    if (failed) {
        inmo_fail(error, INMO_USAGE, "`host`: found \"%s\", which is no address: %s", options->host,
                  gai_strerror(failed));
        return -1;
    }
    listening = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listening >= 0)
        setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (listening < 0 || bind(listening, found->ai_addr, found->ai_addrlen) || listen(listening, 4096)) {
        inmo_fail(error, INMO_IO, "cannot listen at %s port %d: %s", options->host, options->port, strerror(errno));
        if (listening >= 0)
            close(listening);
        listening = -1;
    } else {
        getsockname(listening, (struct sockaddr *)&bound, &size);
        getnameinfo((struct sockaddr *)&bound, size, name, sizeof name, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV);
        snprintf(address, HTTP_ADDRESS, strchr(name, ':') ? "http%s://[%s]:%s" : "http%s://%s:%s",
                 options->tls_certificate ? "s" : "", name, port);
    }
    freeaddrinfo(found);
    return listening;
}

static void raise_descriptors(int wanted)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < (rlim_t)wanted + 256) {
        limit.rlim_cur = limit.rlim_max < (rlim_t)wanted + 256 ? limit.rlim_max : (rlim_t)wanted + 256;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Nobody new once the server stops. MHD_quiesce_daemon would close the door itself, but it aborts the program when
 * a thread of the pool, woken at the same moment, has taken the socket out of its epoll set first. */
static enum MHD_Result may_connect(void *context, const struct sockaddr *address, socklen_t length)
{
    struct server *server = context;
    (void)address;
    (void)length;
    return atomic_load(&server->stopping) ? MHD_NO : MHD_YES;
}

enum inmo_status http_start(struct server *server, struct http **http, char address[HTTP_ADDRESS],
                            struct inmo_error *error)
{
    const struct serve_options *options = server->options;
    struct http *made = inmo_alloc_zero(1, sizeof *made);
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    unsigned threads = options->threads ? (unsigned)options->threads : (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    enum inmo_status status = made ? INMO_OK : inmo_fail_memory(error, "the server");
    struct MHD_OptionItem more[8];
    int n = 0, listening = -1;

    if (status)
        return status;
    made->server = server;
    pthread_mutex_init(&made->lock, NULL);
    raise_descriptors(options->connections);
    if (options->tls_certificate) {
        flags |= MHD_USE_TLS;
        status = http_reload(made, error);
        more[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)http_certificate};
    }
    if (!status && (listening = listen_at(options, address, error)) < 0)
        status = error ? error->code : INMO_IO;
    if (threads > 1)
        more[n++] = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)threads, NULL};
    more[n++] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    if (!status) {
        http_current = made;
        made->daemon = MHD_start_daemon(
            flags, 0, may_connect, server, handle, server, MHD_OPTION_LISTEN_SOCKET, listening,
            MHD_OPTION_UNESCAPE_CALLBACK, leave_encoded, NULL, MHD_OPTION_URI_LOG_CALLBACK, http_take_address, made,
            MHD_OPTION_NOTIFY_COMPLETED, completed, server, MHD_OPTION_NOTIFY_CONNECTION, http_connection, made,
            MHD_OPTION_CONNECTION_LIMIT, (unsigned)options->connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
            (size_t)HEADER_LIMIT, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)options->idle_seconds,
            MHD_OPTION_EXTERNAL_LOGGER, http_log, server, MHD_OPTION_ARRAY, more, MHD_OPTION_END);
        if (!made->daemon) {
            status = inmo_fail(error, INMO_IO, "the HTTP server could not be started: %s", strerror(errno));
            close(listening);
        }
    }
    if (status)
        http_stop(made);
    else
        *http = made;
    return status;
}

void http_drain(struct http *http, double seconds)
{
    const union MHD_DaemonInfo *about;
    double until = inmo_now() + seconds;
    do {
        about = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
        http_close_idle(http);
        usleep(10000);
    } while (about && about->num_connections && http_busy(http) && inmo_now() < until);
}

void http_stop(struct http *http)
{
    if (!http)
        return;
    /* libmicrohttpd aborts when a connection is still suspended: first whoever could resume one comes to an end. */
    request_background_end();
    ingest_end(http->server->ingest);
    if (http->daemon)
        MHD_stop_daemon(http->daemon);
    http_free_certificate(http);
    pthread_mutex_destroy(&http->lock);
    inmo_free(http);
}
