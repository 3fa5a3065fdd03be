/* heap.h - the heap of a merge: the head of each run, the smallest first. */
#ifndef INMO_DATA_HEAP_H
#define INMO_DATA_HEAP_H

#include <stddef.h>

/* Defines name(heap, count, at), which moves entry at down to its place below those that come_before it. */
#define INMO_SIFT_DOWN(name, type, comes_before)                                                                   \
    static void name(type *heap, size_t count, size_t at)                                                          \
    {                                                                                                              \
        type moved = heap[at];                                                                                     \
        for (size_t child; (child = 2 * at + 1) < count; at = child) {                                             \
            if (child + 1 < count && comes_before(&heap[child + 1], &heap[child]))                                 \
                child++;                                                                                           \
            if (!comes_before(&heap[child], &moved))                                                               \
                break;                                                                                             \
            heap[at] = heap[child];                                                                                \
        }                                                                                                          \
        heap[at] = moved;                                                                                          \
    }

#endif
