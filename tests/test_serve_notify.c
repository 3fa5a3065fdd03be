/* test_serve_notify.c - the messages to systemd arrive as a real datagram socket receives them, with a name in the
 * file system and with an abstract one; and what happens when there is nobody to tell. */
#include "support.h"

#include "server/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

/* A socket as systemd has it; name begins with '/' or '@'. */
static int listen_at(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    int file = socket(AF_UNIX, SOCK_DGRAM, 0);
    struct timeval patience = {.tv_sec = 10};
    assert_true(file >= 0 && length < sizeof address.sun_path);
    memcpy(address.sun_path, name, length);
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    assert_int_equal(setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(bind(file, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] == '/'))),
                     0);
    setenv("NOTIFY_SOCKET", name, 1);
    return file;
}

static const char *received(int file)
{
    static char message[4096];
    ssize_t length = recv(file, message, sizeof message - 1, 0);
    assert_true(length > 0);
    message[length] = '\0';
    return message;
}

static void check_messages(const char *name)
{
    int file = listen_at(name);
    int64_t microseconds = 0, now;
    char rest = 0, long_status[2000];
    struct timespec clock;
    assert_int_equal(notify_ready("serving 3 items"), 1);
    assert_string_equal(received(file), "READY=1\nSTATUS=serving 3 items");
    assert_int_equal(notify_ready(NULL), 1);
    assert_string_equal(received(file), "READY=1\n");
    assert_int_equal(notify_reloading(), 1);
    assert_int_equal(sscanf(received(file), "RELOADING=1\nMONOTONIC_USEC=%" SCNd64 "%c", &microseconds, &rest), 2);
    assert_int_equal(rest, '\n');
    clock_gettime(CLOCK_MONOTONIC, &clock);
    now = (int64_t)clock.tv_sec * 1000000 + clock.tv_nsec / 1000;
    assert_true(microseconds <= now && microseconds > now - 10000000);
    assert_int_equal(notify_stopping("finishing 2 requests"), 1);
    assert_string_equal(received(file), "STOPPING=1\nSTATUS=finishing 2 requests");
    assert_int_equal(notify_status("a\nREADY=0\rb"), 1); /* a status cannot become another message */
    assert_string_equal(received(file), "STATUS=a READY=0 b");
    assert_int_equal(notify_watchdog(), 1);
    assert_string_equal(received(file), "WATCHDOG=1\n");
    memset(long_status, 'x', sizeof long_status - 1);
    long_status[sizeof long_status - 1] = '\0';
    assert_int_equal(notify_ready(long_status), 1); /* cut, but the message is there */
    assert_memory_equal(received(file), "READY=1\nSTATUS=xxx", 18);
    close(file);
}

static void test_path(void **state)
{
    char name[400];
    (void)state;
    snprintf(name, sizeof name, "%s/notify", test_directory);
    check_messages(name);
}

static void test_abstract(void **state)
{
    char name[100];
    (void)state;
    snprintf(name, sizeof name, "@inmo-test-%d", (int)getpid());
    check_messages(name);
}

static void test_nobody_listens(void **state)
{
    char name[300];
    int before, after;
    (void)state;
    unsetenv("NOTIFY_SOCKET");
    assert_int_equal(notify_ready(NULL), 0);
    assert_int_equal(notify_watchdog(), 0);
    setenv("NOTIFY_SOCKET", "", 1);
    assert_int_equal(notify_ready(NULL), 0);
    setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1);
    before = dup(0);
    for (int n = 0; n < 100; n++) {
        assert_int_equal(notify_ready(NULL), -1);
        assert_int_equal(errno, ENOENT);
    }
    after = dup(0);
    assert_int_equal(after, before + 1); /* no descriptor was left open */
    close(before);
    close(after);
    setenv("NOTIFY_SOCKET", "vsock:2:1", 1);
    assert_int_equal(notify_ready(NULL), -1);
    assert_int_equal(errno, EAFNOSUPPORT);
    memset(name, 'x', sizeof name - 1);
    name[0] = '/';
    name[sizeof name - 1] = '\0';
    setenv("NOTIFY_SOCKET", name, 1);
    assert_int_equal(notify_ready(NULL), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    unsetenv("NOTIFY_SOCKET");
}

static void test_watchdog(void **state)
{
    char pid[32];
    static const char *const bad[] = {"", "0", "-5", "5s", "99999999999999999999999", " 5"};
    (void)state;
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    assert_near(notify_watchdog_seconds(), 0, 0);
    setenv("WATCHDOG_USEC", "30000000", 1);
    assert_near(notify_watchdog_seconds(), 30, 0);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("WATCHDOG_PID", pid, 1);
    assert_near(notify_watchdog_seconds(), 30, 0);
    setenv("WATCHDOG_PID", "1", 1); /* meant for another process */
    assert_near(notify_watchdog_seconds(), 0, 0);
    unsetenv("WATCHDOG_PID");
    for (size_t n = 0; n < COUNT(bad); n++) {
        setenv("WATCHDOG_USEC", bad[n], 1);
        assert_near(notify_watchdog_seconds(), 0, 0);
    }
    unsetenv("WATCHDOG_USEC");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_abstract),
        cmocka_unit_test(test_nobody_listens),
        cmocka_unit_test(test_watchdog),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
