/* bench_http.c - an HTTP server that does nothing: libmicrohttpd as server/http.c uses it, with an answer of a
 * given size and the same headers, whatever is asked. So much of a request remains when lists cost nothing.
 *
 *     bench_http BYTES THREADS
 *
 * Prints its address, then serves until its input ends. */
#include <microhttpd.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t size;
static int begun;

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *data, size_t *length,
                              void **place)
{
    struct MHD_Response *response;
    enum MHD_Result result;
    char *text;
    (void)context;
    (void)path;
    (void)method;
    (void)version;
    (void)data;
    if (!*place) {
        *place = &begun;
        return MHD_YES;
    }
    *length = 0;
    text = malloc(size + 1);
    if (!text)
        return MHD_NO;
    memset(text, 'x', size);
    response = MHD_create_response_from_buffer_with_free_callback(size, text, free);
    MHD_add_response_header(response, "Content-Type", "application/json; charset=utf-8");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    result = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    return result;
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct MHD_OptionItem more[2] = {{MHD_OPTION_END, 0, NULL}, {MHD_OPTION_END, 0, NULL}};
    struct MHD_Daemon *daemon;
    char wait[16];
    int threads = argc > 2 ? atoi(argv[2]) : 0;

    if (threads < 1) {
        fprintf(stderr, "usage: bench_http BYTES THREADS\n");
        return 2;
    }
    size = (size_t)strtoull(argv[1], NULL, 10);
    if (threads > 1)
        more[0] = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE, threads, NULL};
    daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, NULL,
                              MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, 10000u,
                              MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)64 << 10, MHD_OPTION_CONNECTION_TIMEOUT,
                              60u, MHD_OPTION_ARRAY, more, MHD_OPTION_END);
    if (!daemon) {
        fprintf(stderr, "bench_http: it cannot be started\n");
        return 1;
    }
    printf("http://127.0.0.1:%d\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    while (read(0, wait, sizeof wait) > 0)
        continue;
    MHD_stop_daemon(daemon);
    return 0;
}
