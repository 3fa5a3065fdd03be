/* machine.h - measures the machine: bytes per second from each level of memory, for each access pattern of the
 * kernels, and multiply-adds per second. Uses the loops of kernel/probe.h. The best of several tries counts,
 * because a limit is the best that was ever reached.
 *
 *     level    working set                                              shared by the threads
 *     L2       half of a core's L2                                      no
 *     L3       halfway (geometrically) between L2 and L3                yes
 *     memory   twice the L3, at most a quarter of the free memory       yes */
#ifndef INMO_LIMIT_MACHINE_H
#define INMO_LIMIT_MACHINE_H

#include "base/status.h"

enum inmo_level_of_memory { INMO_LEVEL_L2, INMO_LEVEL_L3, INMO_LEVEL_MEMORY, INMO_LEVELS };
enum inmo_traffic {
    INMO_READ,     /* sequential */
    INMO_UPDATE,   /* sequential, changed and written back; a byte counts once */
    INMO_ROWS_128, /* rows of 128 bytes in random order */
    INMO_ROWS_256,
    INMO_TRAFFICS
};
extern const char *const inmo_level_names[INMO_LEVELS], *const inmo_traffic_names[INMO_TRAFFICS];

struct inmo_machine {
    int threads;                                /* number of threads of index 1 below; index 0 is one thread */
    size_t l2, l3;                              /* bytes: per core, shared */
    size_t set[INMO_LEVELS];                    /* sizes of the working sets in bytes */
    double rate[2][INMO_TRAFFICS][INMO_LEVELS]; /* bytes per second */
    double flops[2];                            /* flops per second */
};

/* Errors: MEMORY, INTERRUPTED. */
enum inmo_status inmo_machine_measure(double seconds, const struct inmo_hooks *hooks, struct inmo_machine *machine,
                                      struct inmo_error *error);

/* The smallest level that holds that many bytes. */
enum inmo_level_of_memory inmo_machine_level(const struct inmo_machine *machine, double bytes);

#endif
