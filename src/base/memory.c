/* memory.c - see memory.h. A block is one aligned_alloc; blocks that get huge pages are aligned to one. */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SMALL_ALIGNMENT = 64, HUGE_PAGE = 2 << 20, HUGE_FROM = 4 << 20, ROUNDED_FROM = 8 * HUGE_PAGE };

static atomic_long allocations_left = -1;

static int allocation_allowed(void)
{
    long left = atomic_load_explicit(&allocations_left, memory_order_relaxed);
    if (left < 0)
        return 1;
    if (left == 0)
        return 0;
    atomic_fetch_sub_explicit(&allocations_left, 1, memory_order_relaxed);
    return 1;
}

void inmo_alloc_fail_after(long n)
{
    atomic_store(&allocations_left, n);
}

void *inmo_alloc(size_t count, size_t size)
{
    size_t bytes, alignment, rounding;
    void *block;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2 || !allocation_allowed())
        return NULL;
    alignment = bytes >= HUGE_FROM ? HUGE_PAGE : SMALL_ALIGNMENT;
    /* Whole cache lines; large blocks get whole huge pages so that the last megabyte has one, too. Wastes an eighth
     * at most. */
    rounding = bytes >= ROUNDED_FROM ? HUGE_PAGE : SMALL_ALIGNMENT;
    bytes = (bytes + rounding) & ~(rounding - 1);
    if (posix_memalign(&block, alignment, bytes) != 0)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (alignment == HUGE_PAGE)
        madvise(block, bytes & ~(size_t)(HUGE_PAGE - 1), MADV_HUGEPAGE);
#endif
    return block;
}

void *inmo_alloc_zero(size_t count, size_t size)
{
    void *block = inmo_alloc(count, size);
    if (block)
        memset(block, 0, count * size);
    return block;
}

void *inmo_resize(void *block, size_t old_count, size_t new_count, size_t size)
{
    void *fresh = inmo_alloc(new_count, size);
    if (fresh && block) {
        memcpy(fresh, block, (old_count < new_count ? old_count : new_count) * size);
        inmo_free(block);
    }
    return fresh;
}

void inmo_free(void *block)
{
    free(block);
}

void inmo_release(void *block, size_t begin, size_t end)
{
#ifdef MADV_DONTNEED
    uintptr_t first = ((uintptr_t)block + begin + HUGE_PAGE - 1) & ~((uintptr_t)HUGE_PAGE - 1);
    uintptr_t last = ((uintptr_t)block + end) & ~((uintptr_t)HUGE_PAGE - 1);
    if (first < last)
        madvise((void *)first, last - first, MADV_DONTNEED);
#else
    (void)block;
    (void)begin;
    (void)end;
#endif
}

char *inmo_copy_string(const char *text)
{
    size_t length;
    char *copy;
    if (!text)
        return NULL;
    length = strlen(text) + 1;
    copy = inmo_alloc(length, 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

/* The number after `word` in a system file, 0 if there is none ("max" is not a number). */
static unsigned long long number_in(const char *path, const char *word)
{
    FILE *file = fopen(path, "r");
    char line[256];
    unsigned long long number = 0;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, word, strlen(word)) == 0 && sscanf(line + strlen(word), "%llu", &number) == 1)
            break;
    if (file)
        fclose(file);
    return number;
}

size_t inmo_memory_available(void)
{
    unsigned long long available = 1024 * number_in("/proc/meminfo", "MemAvailable:");
    unsigned long long limit = number_in("/sys/fs/cgroup/memory.max", "");
    if (!available)
        available = (unsigned long long)sysconf(_SC_PHYS_PAGES) * (unsigned long long)sysconf(_SC_PAGESIZE);
    if (limit && limit < available)
        available = limit;
    return available > SIZE_MAX ? SIZE_MAX : (size_t)available;
}
