/* threads.h - the number of threads, ours and OpenBLAS's, decided in one place. */
#ifndef INMO_BASE_THREADS_H
#define INMO_BASE_THREADS_H

#include "base/status.h"

#include <stdatomic.h>

/* Threads in force: what inmo_set_threads said, else all cores. */
int inmo_threads(void);

/* Between these two OpenBLAS works on the thread that calls it. All our dense products want that: rows, blocks and
 * tiles are the parallelism, and a product cut up among OpenBLAS's own threads may have other bytes. Its number of
 * threads belongs to the process, so it is owned here: the first hold notes it and sets one thread, the last
 * release sets what was there (unless somebody else has changed it meanwhile). Holds nest, and come from any
 * thread. A scorer holds as long as it is open, and so does a training: requests find one thread and change
 * nothing. */
void inmo_blas_hold(void);
void inmo_blas_release(void);

/* blas.c: has OpenBLAS use newer kernels than those it took for want of knowing the processor. */
void inmo_blas_choose_again(void);

/* Takes the buffers that OpenBLAS will want for its products on all threads, which it then keeps. A product that
 * gets none tries again for ever: so it is an error here, where there is still somebody to tell. Only addresses are
 * taken, memory when a product uses them. */
enum inmo_status inmo_blas_reserve(struct inmo_error *error);

/* Monotonic time in seconds. */
double inmo_now(void);

/* Whether to stop, for loops that several threads share: the thread that called asks the hooks, as these may not be
 * called by others, and the others hear of it. What is computed by then is of no use. */
struct inmo_stop {
    const struct inmo_hooks *hooks;
    atomic_int asked;
};
int inmo_stop_asked(struct inmo_stop *stop);

#endif
