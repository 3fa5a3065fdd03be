/* short_memory.c - preloaded into the program by a test (cases_files.py): the allocation that SHORT_MEMORY_AT names, and
 * with SHORT_MEMORY_STAYS every one after it, fails. Counted are those that jansson and the program itself ask for,
 * as found by the address they return to; the run-time libraries of the compiler end the process when theirs
 * fail. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static long count, at = -1;
static int stays;
static __thread int inside;

static int refused(const void *caller)
{
    Dl_info about;
    int counted = 0;
    if (inside)
        return 0;
    inside = 1; /* what is called below may allocate */
    if (at < 0) {
        const char *text = getenv("SHORT_MEMORY_AT");
        at = text ? atol(text) : 0;
        stays = getenv("SHORT_MEMORY_STAYS") != NULL;
    }
    if (at > 0 && dladdr(caller, &about) && about.dli_fname) {
        const char *name = strrchr(about.dli_fname, '/') ? strrchr(about.dli_fname, '/') + 1 : about.dli_fname;
        counted = !strncmp(name, "libjansson", 10) || !strcmp(name, "inmo");
    }
    inside = 0;
    if (!counted)
        return 0;
    count++;
    if (count != at && !(stays && count > at))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    static void *(*real)(size_t);
    if (!real)
        real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    return refused(__builtin_return_address(0)) ? NULL : real(size);
}

void *realloc(void *block, size_t size)
{
    static void *(*real)(void *, size_t);
    if (!real)
        real = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    return refused(__builtin_return_address(0)) ? NULL : real(block, size);
}

void *calloc(size_t number, size_t size)
{
    static void *(*real)(size_t, size_t);
    static char early[4096]; /* dlsym itself may ask for a little */
    static size_t used;
    if (!real) {
        static int looking;
        if (looking) {
            void *block = early + used;
            used += (number * size + 15) & ~(size_t)15;
            return used <= sizeof early ? block : NULL;
        }
        looking = 1;
        real = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    }
    return refused(__builtin_return_address(0)) ? NULL : real(number, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    static int (*real)(void **, size_t, size_t);
    if (!real)
        real = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    return refused(__builtin_return_address(0)) ? ENOMEM : real(block, alignment, size);
}
