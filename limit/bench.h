/* bench.h - measures the machine, and how near to its limits the engine works. Part of the program (inmo bench),
 * not of libinmo; conventions as in inmo.h. */
#ifndef INMO_LIMIT_BENCH_H
#define INMO_LIMIT_BENCH_H

#include "inmo.h"

struct inmo_bench_rate {
    const char *what;  /* "read", "update", "rows of 128 bytes", "rows of 256 bytes"; "multiply-add" */
    const char *level; /* of memory: "L2", "L3", "memory"; NULL for multiply-add */
    int64_t bytes;     /* size of the working set */
    int threads;
    double per_second; /* bytes; flops for multiply-add */
};
struct inmo_bench_kernel {
    const char *name;
    int threads, runs;
    double bytes, flops; /* the minimum it has to move and compute */
    const char *bound;   /* "memory" or "arithmetic", whichever takes longer */
    double limit;        /* minimum seconds on this machine */
    double seconds;      /* median of the runs */
};
struct inmo_bench_report {
    const char *instructions, *blas; /* kernels in use: ours, OpenBLAS's */
    int threads;
    int64_t l2, l3;       /* cache sizes in bytes: per core, shared */
    int32_t users, items; /* of the graph used: the data set's training part */
    int64_t interactions;
    size_t rate_count, kernel_count;
    const struct inmo_bench_rate *rate;
    const struct inmo_bench_kernel *kernel;
    double seconds;
};
/* Measures for about that many seconds. Errors: INPUT (no training interactions), MEMORY, INTERRUPTED. */
enum inmo_status inmo_bench(const struct inmo_dataset *dataset, double seconds, const struct inmo_hooks *hooks,
                            struct inmo_bench_report **report, struct inmo_error *error);
void inmo_bench_free(struct inmo_bench_report *report);

#endif
