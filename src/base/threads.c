/* threads.c - see threads.h. */
#include "base/threads.h"

#include "inmo.h"

#include <cblas.h>
#include <omp.h>
#include <pthread.h>
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

static struct {
    pthread_mutex_t lock;
    int holds;
    int before; /* OpenBLAS's number of threads when the first hold came */
} blas = {.lock = PTHREAD_MUTEX_INITIALIZER};

void inmo_blas_hold(void)
{
    pthread_mutex_lock(&blas.lock);
    if (blas.holds++ == 0) {
        blas.before = openblas_get_num_threads();
        if (blas.before != 1)
            openblas_set_num_threads(1);
    }
    pthread_mutex_unlock(&blas.lock);
}

void inmo_blas_release(void)
{
    pthread_mutex_lock(&blas.lock);
    if (--blas.holds == 0 && blas.before != 1 && openblas_get_num_threads() == 1)
        openblas_set_num_threads(blas.before);
    pthread_mutex_unlock(&blas.lock);
}

double inmo_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int inmo_stop_asked(struct inmo_stop *stop)
{
    if (omp_get_thread_num() == 0 && inmo_is_interrupted(stop->hooks))
        atomic_store_explicit(&stop->asked, 1, memory_order_relaxed);
    return atomic_load_explicit(&stop->asked, memory_order_relaxed);
}
