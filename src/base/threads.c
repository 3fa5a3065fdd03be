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

void inmo_split_rows(const int64_t *offset, int32_t rows, int parts, int32_t *bound)
{
    int64_t total = offset[rows] - offset[0] + rows;
    bound[0] = 0;
    for (int part = 1; part < parts; part++) {
        int64_t want = total * part / parts;
        int32_t low = bound[part - 1], high = rows;
        while (low < high) {
            int32_t middle = low + (high - low) / 2;
            if (offset[middle] - offset[0] + middle < want)
                low = middle + 1;
            else
                high = middle;
        }
        bound[part] = low;
    }
    bound[parts] = rows;
}
