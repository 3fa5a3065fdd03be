/* probe.h - minimal loops that read, update, gather and multiply. limit/ measures the limits of the machine with
 * them. */
#ifndef INMO_KERNEL_PROBE_H
#define INMO_KERNEL_PROBE_H

#include <stddef.h>
#include <stdint.h>

/* Results are returned only to keep the compiler from removing the loops. */
struct inmo_probes {
    /* Reads count floats, a multiple of 64. */
    float (*read)(size_t count, const float *x);
    /* Reads, changes and writes them back. */
    void (*update)(size_t count, float *x);
    /* Reads rows of 32 or 64 floats in list order. */
    float (*rows)(size_t count, const int32_t *row, int floats, const float *x);
    /* Multiplies and adds in registers. */
    float (*multiply_add)(int64_t rounds, float factor, float term);
    int flops_per_round;
};

#endif
