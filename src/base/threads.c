/* threads.c - see threads.h. */
#include "base/threads.h"

#include "inmo.h"

#include <cblas.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
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

/* Here, and not in blas.c, as whoever links the archive needs this file. */
__attribute__((constructor)) static void begin(void)
{
    inmo_blas_choose_again();
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

/* OpenBLAS's own functions, which its shared library exports. Another library may not have them. */
extern void *blas_memory_alloc(int where) __attribute__((weak));
extern void blas_memory_free(void *buffer) __attribute__((weak));

enum inmo_status inmo_blas_reserve(struct inmo_error *error)
{
    enum { MOST = 64 }; /* buffers; it has room for twice the processors it was built for */
    const size_t bytes = ((size_t)128 << 20) + 4096; /* the largest that any of its processors has */
    int count = inmo_threads() < MOST ? inmo_threads() : MOST;
    void *room, *buffer[MOST];
    if (!blas_memory_alloc || !blas_memory_free)
        return INMO_OK;
    room = mmap(NULL, bytes * (size_t)count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return inmo_fail(
            error, INMO_MEMORY,
            "no memory for OpenBLAS: %d threads need %lld MB of addresses (ulimit -v), or fewer `threads`", count,
            (long long)(bytes * (size_t)count >> 20));
    munmap(room, bytes * (size_t)count);
    for (int n = 0; n < count; n++)
        buffer[n] = blas_memory_alloc(0);
    for (int n = 0; n < count; n++)
        blas_memory_free(buffer[n]);
    return INMO_OK;
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
