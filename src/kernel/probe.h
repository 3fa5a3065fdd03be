/* probe.h - the barest loops that read, change, gather and multiply: what the machine can do at most, for
 * limit/. */
#ifndef INMO_KERNEL_PROBE_H
#define INMO_KERNEL_PROBE_H

#include <stddef.h>
#include <stdint.h>

/* Results are returned only so that no compiler leaves the work out. */
struct inmo_probes {
    /* Reads count floats, a multiple of 64. */
    float (*read)(size_t count, const float *x);
    /* Reads, changes and writes them. */
    void (*update)(size_t count, float *x);
    /* Reads rows of 32 or 64 floats in the order of the list. */
    float (*rows)(size_t count, const int32_t *row, int floats, const float *x);
    /* Multiplies and adds in registers. */
    float (*multiply_add)(int64_t rounds, float factor, float term);
    int flops_per_round;
};

#endif
