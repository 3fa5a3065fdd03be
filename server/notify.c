/* notify.c - one datagram for each message. The socket is opened anew each time: messages are seconds apart, and a
 * descriptor that is kept would have to be guarded from forks and reloads. */
#include "server/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int send_message(const char *message)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length;
    ssize_t sent = -1;
    int file, failed;
    if (!name || !*name)
        return 0;
    length = strlen(name);
    if ((name[0] != '/' && name[0] != '@') || length < 2) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    if (length >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, name, length);
    if (name[0] == '@') /* an abstract name begins with a NUL and has no end but its length */
        address.sun_path[0] = '\0';
    file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (file < 0)
        return -1;
    do
        sent = sendto(file, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&address,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] == '/')));
    while (sent < 0 && errno == EINTR);
    failed = errno;
    close(file);
    errno = failed;
    return sent < 0 ? -1 : 1;
}

/* what, and "STATUS=..." if there is one, in one line. */
static int send_with_status(const char *what, const char *status)
{
    char message[512];
    size_t start = strlen(what);
    snprintf(message, sizeof message, "%s%s%s", what, status ? "STATUS=" : "", status ? status : "");
    for (size_t n = start; message[n]; n++)
        if (message[n] == '\n' || message[n] == '\r')
            message[n] = ' ';
    return send_message(message);
}

int notify_ready(const char *status)
{
    return send_with_status("READY=1\n", status);
}

int notify_reloading(void)
{
    char message[80];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(message, sizeof message, "RELOADING=1\nMONOTONIC_USEC=%" PRId64 "\n",
             (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    return send_message(message);
}

int notify_stopping(const char *status)
{
    return send_with_status("STOPPING=1\n", status);
}

int notify_status(const char *status)
{
    return send_with_status("", status);
}

int notify_watchdog(void)
{
    return send_message("WATCHDOG=1\n");
}

/* A whole number that is all of the text, -1 for anything else. */
static int64_t whole_number(const char *text)
{
    char *end = NULL;
    int64_t value;
    if (!text || *text < '0' || *text > '9')
        return -1;
    errno = 0;
    value = strtoll(text, &end, 10);
    return *end || errno ? -1 : value;
}

double notify_watchdog_seconds(void)
{
    int64_t microseconds = whole_number(getenv("WATCHDOG_USEC"));
    const char *watched = getenv("WATCHDOG_PID");
    if (microseconds <= 0 || (watched && whole_number(watched) != getpid()))
        return 0;
    return (double)microseconds / 1e6;
}
