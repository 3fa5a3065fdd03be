/* http_wire.c - connections and certificates: see http.h.
 *
 * libmicrohttpd's timeout begins anew with each byte, so a client that sends one byte a second could keep a
 * connection for hours. Here a connection has a deadline by which the header of its next request must have come
 * whole. */
#include "server/http_inside.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { LARGEST_CERTIFICATE = 1 << 20 };

struct http *http_current;

/* ---- Connections --------------------------------------------------------------------------------------------- */

void http_wire_idle(struct wire *wire, int seconds)
{
    atomic_store(&wire->deadline, inmo_now() + seconds);
}

void http_connection(void *context, struct MHD_Connection *connection, void **place,
                     enum MHD_ConnectionNotificationCode what)
{
    struct http *http = context;
    struct wire *wire = *place;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *about =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        *place = wire = inmo_alloc_zero(1, sizeof *wire);
        if (!wire)
            return;
        wire->http = http;
        wire->socket = about ? about->connect_fd : -1;
        http_wire_idle(wire, http->server->options->idle_seconds);
        pthread_mutex_lock(&http->lock);
        wire->next = http->wires;
        wire->link = &http->wires;
        if (wire->next)
            wire->next->link = &wire->next;
        http->wires = wire;
        pthread_mutex_unlock(&http->lock);
        atomic_fetch_add(&http->server->connections, 1);
    } else if (wire) {
        pthread_mutex_lock(&http->lock);
        *wire->link = wire->next;
        if (wire->next)
            wire->next->link = wire->link;
        pthread_mutex_unlock(&http->lock);
        atomic_fetch_sub(&http->server->connections, 1);
        inmo_free(wire->query);
        inmo_free(wire);
        *place = NULL;
    }
}

/* The address as it came: path and query have not been cut or decoded yet. */
void *http_take_address(void *context, const char *address, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *about = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct wire *wire = about ? about->socket_context : NULL;
    const char *query = strchr(address, '?');
    (void)context;
    if (wire) {
        inmo_free(wire->query);
        wire->query = query ? inmo_copy_string(query + 1) : NULL;
    }
    return NULL;
}

void http_tick(struct http *http)
{
    double now = inmo_now();
    pthread_mutex_lock(&http->lock);
    for (struct wire *wire = http->wires; wire; wire = wire->next)
        if (atomic_load(&wire->deadline) < now && wire->socket >= 0)
            shutdown(wire->socket, SHUT_RDWR); /* libmicrohttpd notices and frees it */
    pthread_mutex_unlock(&http->lock);
}

void http_close_idle(struct http *http)
{
    pthread_mutex_lock(&http->lock);
    for (struct wire *wire = http->wires; wire; wire = wire->next)
        if (atomic_load(&wire->deadline) != WIRE_BUSY && wire->socket >= 0)
            shutdown(wire->socket, SHUT_RD);
    pthread_mutex_unlock(&http->lock);
}

int http_busy(struct http *http)
{
    int busy = 0;
    pthread_mutex_lock(&http->lock);
    for (struct wire *wire = http->wires; wire && !busy; wire = wire->next)
        busy = atomic_load(&wire->deadline) == WIRE_BUSY;
    pthread_mutex_unlock(&http->lock);
    return busy;
}

void http_log(void *context, const char *format, va_list arguments)
{
    const struct server *server = context;
    char text[512];
    size_t length;
    vsnprintf(text, sizeof text, format, arguments);
    length = strlen(text);
    while (length && (text[length - 1] == '\n' || text[length - 1] == '.'))
        text[--length] = 0;
    inmo_note(&server->hooks, INMO_NOTE, "http: %s", text);
}

/* ---- Certificates -------------------------------------------------------------------------------------------- */

static void certificate_free(struct certificate *certificate)
{
    if (!certificate)
        return;
    for (unsigned n = 0; n < certificate->length; n++)
        gnutls_pcert_deinit(&certificate->chain[n]);
    if (certificate->key)
        gnutls_privkey_deinit(certificate->key);
    inmo_free(certificate);
}

void http_free_certificate(struct http *http)
{
    while (http->certificate) {
        struct certificate *before = http->certificate->before;
        certificate_free(http->certificate);
        http->certificate = before;
    }
}

static enum inmo_status read_file(const char *path, gnutls_datum_t *data, struct inmo_error *error)
{
    FILE *stream = fopen(path, "rb");
    enum inmo_status status = stream ? INMO_OK : inmo_fail_errno(error, "read", path);
    data->data = inmo_alloc_zero(LARGEST_CERTIFICATE + 1, 1);
    if (!status && !data->data)
        status = inmo_fail_memory(error, "a certificate");
    if (!status)
        data->size = (unsigned)fread(data->data, 1, LARGEST_CERTIFICATE, stream);
    if (!status && ferror(stream))
        status = inmo_fail_errno(error, "read", path);
    if (stream)
        fclose(stream);
    return status;
}

enum inmo_status http_reload(struct http *http, struct inmo_error *error)
{
    const struct serve_options *options = http->server->options;
    struct certificate *made;
    gnutls_datum_t chain = {0}, key = {0};
    enum inmo_status status;
    int code = 0;

    if (!options->tls_certificate)
        return INMO_OK;
    made = inmo_alloc_zero(1, sizeof *made);
    status = made ? INMO_OK : inmo_fail_memory(error, "a certificate");
    if (!status)
        status = read_file(options->tls_certificate, &chain, error);
    if (!status)
        status = read_file(options->tls_key, &key, error);
    if (!status) {
        unsigned most = sizeof made->chain / sizeof *made->chain;
        code = gnutls_pcert_list_import_x509_raw(made->chain, &most, &chain, GNUTLS_X509_FMT_PEM, 0);
        if (code < 0)
            status = inmo_fail(error, INMO_INPUT, "%s: expected a certificate in PEM format: %s",
                               options->tls_certificate, gnutls_strerror(code));
        else
            made->length = most;
    }
    if (!status && ((code = gnutls_privkey_init(&made->key)) < 0 ||
                    (code = gnutls_privkey_import_x509_raw(made->key, &key, GNUTLS_X509_FMT_PEM, NULL, 0)) < 0))
        status = inmo_fail(error, INMO_INPUT, "%s: expected a private key in PEM format: %s", options->tls_key,
                           gnutls_strerror(code));
    if (!status) { /* while files are replaced, one may be new and the other old */
        gnutls_certificate_credentials_t both = NULL;
        if ((code = gnutls_certificate_allocate_credentials(&both)) < 0 ||
            (code = gnutls_certificate_set_x509_key_mem(both, &chain, &key, GNUTLS_X509_FMT_PEM)) < 0)
            status = inmo_fail(error, INMO_INPUT, "%s and %s do not belong together: %s", options->tls_certificate,
                               options->tls_key, gnutls_strerror(code));
        if (both)
            gnutls_certificate_free_credentials(both);
    }
    if (key.data)
        gnutls_memset(key.data, 0, key.size);
    inmo_free(key.data);
    inmo_free(chain.data);
    if (status) {
        certificate_free(made);
    } else {
        pthread_mutex_lock(&http->lock);
        made->before = http->certificate; /* kept: a few kilobytes for each reload, which is by hand */
        http->certificate = made;
        pthread_mutex_unlock(&http->lock);
    }
    return status;
}

int http_certificate(gnutls_session_t session, const gnutls_datum_t *names, int name_count,
                     const gnutls_pk_algorithm_t *algorithms, int algorithm_count, gnutls_pcert_st **chain,
                     unsigned *length, gnutls_privkey_t *key)
{
    struct http *http = http_current;
    (void)session;
    (void)names;
    (void)name_count;
    (void)algorithms;
    (void)algorithm_count;
    pthread_mutex_lock(&http->lock);
    *chain = http->certificate->chain;
    *length = http->certificate->length;
    *key = http->certificate->key;
    pthread_mutex_unlock(&http->lock);
    return 0;
}
