/* failing.c - a library for LD_PRELOAD that refuses memory: allocation number INMO_FAIL_AT (from 0) fails, and with
 * INMO_FAIL_ON every one after it. At the end the number of allocations goes to the file INMO_FAIL_COUNT.
 *
 * Counted is whoever calls malloc, calloc, realloc, posix_memalign, aligned_alloc or mmap from the program or any
 * of its libraries, but for those that end the process by themselves when memory is short, which no caller can
 * mend:
 *
 *     libgomp       gomp_malloc: "libgomp: Out of memory", exit
 *     libopenblas   its buffers: tries again for ever, or prints and ends
 *     libgfortran   "Error allocating", exit; the LAPACK routines of OpenBLAS load it
 *     ld-linux      loading libraries and threads
 *
 * With INMO_FAIL_NARROW only the program itself and jansson are counted: few enough to fail each in turn. */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <fcntl.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

enum { MOST_NAMED = 8 };
static struct {
    uintptr_t begin, end;
} named[MOST_NAMED]; /* where those above are loaded; when narrow, the two that are counted */
static int named_count, narrow;
static long fail_at = -1;
static int fail_on;
static atomic_long counted;
static int ready;

static int is_named(const char *path)
{
    static const char *const name[] = {"libgomp", "libopenblas", "libgfortran", "libquadmath", "ld-linux"};
    if (narrow)
        return path[0] == 0 || strstr(path, "libjansson") != NULL; /* the program has no path */
    for (size_t n = 0; n < sizeof name / sizeof *name; n++)
        if (strstr(path, name[n]))
            return 1;
    return 0;
}

static int note_library(struct dl_phdr_info *info, size_t size, void *context)
{
    uintptr_t end = info->dlpi_addr;
    (void)size;
    (void)context;
    if (!is_named(info->dlpi_name) || named_count == MOST_NAMED)
        return 0;
    for (int p = 0; p < info->dlpi_phnum; p++) {
        uintptr_t last = info->dlpi_addr + info->dlpi_phdr[p].p_vaddr + info->dlpi_phdr[p].p_memsz;
        if (info->dlpi_phdr[p].p_type == PT_LOAD && last > end)
            end = last;
    }
    named[named_count].begin = info->dlpi_addr;
    named[named_count++].end = end;
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("INMO_FAIL_AT");
    narrow = getenv("INMO_FAIL_NARROW") != NULL;
    dl_iterate_phdr(note_library, NULL);
    fail_at = at ? atol(at) : -1;
    fail_on = getenv("INMO_FAIL_ON") != NULL;
    ready = 1;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("INMO_FAIL_COUNT");
    char digits[24];
    size_t at = sizeof digits;
    long number = atomic_load(&counted);
    int file = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (file < 0)
        return;
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    if (write(file, digits + at, sizeof digits - at) < 0)
        _exit(99);
    close(file);
}

/* Whether this one fails. */
static int refused(const void *caller)
{
    long number;
    int is_inside = 0;
    if (!ready)
        return 0;
    for (int n = 0; n < named_count && !is_inside; n++)
        is_inside = (uintptr_t)caller >= named[n].begin && (uintptr_t)caller < named[n].end;
    if (is_inside != narrow)
        return 0;
    number = atomic_fetch_add(&counted, 1);
    if (fail_at < 0 || number < fail_at || (number > fail_at && !fail_on))
        return 0;
    errno = ENOMEM;
    return 1;
}

#define REFUSED refused(__builtin_return_address(0))

void *malloc(size_t size)
{
    return REFUSED ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return REFUSED ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return REFUSED ? NULL : __libc_realloc(block, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    void *fresh = REFUSED ? NULL : __libc_memalign(alignment, size);
    if (fresh)
        *block = fresh;
    return fresh ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return REFUSED ? NULL : __libc_memalign(alignment, size);
}

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset)
{
    return REFUSED ? MAP_FAILED : (void *)syscall(SYS_mmap, address, length, protection, flags, file, offset);
}

void *mmap64(void *address, size_t length, int protection, int flags, int file, off_t offset)
{
    return REFUSED ? MAP_FAILED : (void *)syscall(SYS_mmap, address, length, protection, flags, file, offset);
}
