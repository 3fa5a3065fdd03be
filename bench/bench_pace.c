/* bench_pace.c - asks a server at a steady rate, whatever it answers, and measures each answer from the moment at
 * which its request was due: a server that stalls does not slow the questions down and so hide the stall.
 *
 *     bench_pace PORT RATE SECONDS CONNECTIONS USERS    GET /api/recommend/{0 .. USERS-1}?n=20
 *
 * One thread, one request at a time on each connection. Prints one JSON line: the rate that was reached and
 * percentiles in milliseconds. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CONNECTIONS = 1024, MOST_TIMES = 1 << 22, BUFFER = 1 << 16 };

struct wire {
    int socket, busy;
    double due;
    size_t got;
    char buffer[BUFFER];
};

static struct wire wire[MOST_CONNECTIONS];
static float took[MOST_TIMES];
static long answers, wrong;
static uint64_t state = 88172645463325252ull;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static void ask(struct wire *w, double due, int users)
{
    char text[160];
    int length = snprintf(text, sizeof text, "GET /api/recommend/%d?n=20 HTTP/1.1\r\nHost: x\r\n\r\n",
                          (int)(random_bits() % (uint64_t)users));
    w->busy = 1;
    w->due = due;
    w->got = 0;
    if (write(w->socket, text, (size_t)length) != length)
        wrong++;
}

/* Takes what has come; 1 when the answer is whole. */
static int take(struct wire *w)
{
    ssize_t some = read(w->socket, w->buffer + w->got, BUFFER - 1 - w->got);
    char *end, *length;
    if (some <= 0) {
        if (some == 0 || errno != EAGAIN) {
            fprintf(stderr, "bench_pace: the connection is gone\n");
            exit(1);
        }
        return 0;
    }
    w->got += (size_t)some;
    w->buffer[w->got] = 0;
    end = strstr(w->buffer, "\r\n\r\n");
    length = end ? strcasestr(w->buffer, "Content-Length: ") : NULL;
    if (!length || w->got < (size_t)(end + 4 - w->buffer) + strtoul(length + 16, NULL, 10))
        return 0;
    wrong += strncmp(w->buffer, "HTTP/1.1 200", 12) != 0;
    took[answers++ % MOST_TIMES] = (float)(now() - w->due);
    w->busy = 0;
    return 1;
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    double rate = argc > 2 ? atof(argv[2]) : 0, seconds = argc > 3 ? atof(argv[3]) : 0, begun, due;
    int connections = argc > 4 ? atoi(argv[4]) : 0, users = argc > 5 ? atoi(argv[5]) : 0, poll, timer, on = 1;
    int idle[MOST_CONNECTIONS], idles = 0;
    long asked = 0;

    if (rate <= 0 || seconds <= 0 || connections < 1 || connections > MOST_CONNECTIONS || users < 1) {
        fprintf(stderr, "usage: bench_pace PORT RATE SECONDS CONNECTIONS USERS\n");
        return 2;
    }
    address.sin_port = htons((uint16_t)atoi(argv[1]));
    poll = epoll_create1(0);
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    for (int n = 0; n < connections; n++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)n};
        wire[n].socket = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(wire[n].socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (connect(wire[n].socket, (struct sockaddr *)&address, sizeof address) ||
            epoll_ctl(poll, EPOLL_CTL_ADD, wire[n].socket, &event)) {
            perror("bench_pace: connect");
            return 1;
        }
        idle[idles++] = n;
    }
    struct epoll_event of_timer = {.events = EPOLLIN, .data.u32 = UINT32_MAX};
    epoll_ctl(poll, EPOLL_CTL_ADD, timer, &of_timer);
    begun = due = now();
    while (due < begun + seconds || idles < connections) {
        struct epoll_event event[64];
        int count;
        for (; idles && due <= now() && due < begun + seconds; due = begun + (double)++asked / rate)
            ask(&wire[idle[--idles]], due, users);
        if (idles && due < begun + seconds) {
            double at = due;
            struct itimerspec when = {.it_value = {(time_t)at, (long)(1e9 * (at - (double)(time_t)at))}};
            timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
        }
        count = epoll_wait(poll, event, 64, 1000);
        for (int n = 0; n < count; n++) {
            uint64_t ticks;
            if (event[n].data.u32 == UINT32_MAX)
                count += 0 * (int)read(timer, &ticks, sizeof ticks);
            else if (wire[event[n].data.u32].busy && take(&wire[event[n].data.u32]))
                idle[idles++] = (int)event[n].data.u32;
        }
    }
    qsort(took, (size_t)answers, sizeof *took, by_size);
    printf("{\"rate\": %.1f, \"wanted\": %.1f, \"wrong\": %ld, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"p999_ms\": "
           "%.3f, \"most_ms\": %.3f}\n",
           (double)answers / (now() - begun), rate, wrong, 1e3 * (double)took[answers / 2],
           1e3 * (double)took[answers * 99 / 100], 1e3 * (double)took[answers * 999 / 1000],
           1e3 * (double)took[answers - 1]);
    return wrong != 0;
}
