/* slow_epoll.c - a library for LD_PRELOAD: the first thread waits before it takes a descriptor out of an epoll set,
 * so that others who do the same are always first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

int epoll_ctl(int set, int what, int descriptor, struct epoll_event *event)
{
    int (*real)(int, int, int, struct epoll_event *) =
        (int (*)(int, int, int, struct epoll_event *))dlsym(RTLD_NEXT, "epoll_ctl");
    if (what == EPOLL_CTL_DEL && syscall(SYS_gettid) == getpid())
        usleep(50000);
    return real(set, what, descriptor, event);
}
