/* threads.c - see threads.h. */
#include "base/threads.h"

#include "inmo.h"

#include <omp.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int chosen;

int inmo_set_threads(int threads)
{
    atomic_store(&chosen, threads > 0 ? threads : 0);
    return inmo_threads();
}

int inmo_threads(void)
{
    int threads = atomic_load(&chosen);
    return threads > 0 ? threads : omp_get_num_procs();
}

double inmo_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
