/* memory.h - the one allocator: overflow-checked, 64-byte aligned, large blocks on huge pages, replaceable. */
#ifndef INMO_BASE_MEMORY_H
#define INMO_BASE_MEMORY_H

#include <stddef.h>

/* count elements of size bytes, uninitialised; NULL if the product overflows or memory is short. A count of 0 gives
 * a valid pointer. Blocks of 4 MB and more ask for huge pages: a training step gathers random rows from 200 MB, and
 * with 4 KB pages address translation took half of its time. */
void *inmo_alloc(size_t count, size_t size);
/* The same, filled with zero bytes. */
void *inmo_alloc_zero(size_t count, size_t size);
/* Keeps the first old_count elements. On failure returns NULL and the old block stays. */
void *inmo_resize(void *block, size_t old_count, size_t new_count, size_t size);
void inmo_free(void *block);
/* Gives the memory of whole huge pages within [begin, end) of a block back to the system until they are written
 * again. What was in these bytes is lost. */
void inmo_release(void *block, size_t begin, size_t end);
/* A copy of a string; NULL gives NULL. */
char *inmo_copy_string(const char *text);

/* Bytes available without swapping: what the system reports, capped by the limit of the process's cgroup. */
size_t inmo_memory_available(void);

/* For tests: after n more successful allocations, every allocation fails. Negative (the default): never. */
void inmo_alloc_fail_after(long n);

#endif
