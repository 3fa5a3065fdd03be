/* dispatch.c - chooses the instruction set at start-up and spreads rows over threads. */
#include "base/threads.h"
#include "graph/share.h"
#include "kernel/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const struct inmo_kernels inmo_kernels_plain;
#ifdef INMO_HAVE_avx2
extern const struct inmo_kernels inmo_kernels_avx2;
#endif
#ifdef INMO_HAVE_avx512
extern const struct inmo_kernels inmo_kernels_avx512;
#endif
#ifdef INMO_HAVE_avx512vnni
extern const struct inmo_kernels inmo_kernels_avx512vnni;
#endif
#ifdef INMO_HAVE_neon
extern const struct inmo_kernels inmo_kernels_neon;
#endif

const struct inmo_kernels *inmo_kernels_at(int n)
{
    const struct inmo_kernels *runnable[5] = {&inmo_kernels_plain};
    int count = 1;
#ifdef INMO_HAVE_avx2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        runnable[count++] = &inmo_kernels_avx2;
#endif
#ifdef INMO_HAVE_avx512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        runnable[count++] = &inmo_kernels_avx512;
#endif
#ifdef INMO_HAVE_avx512vnni
    if (count > 2 && __builtin_cpu_supports("avx512vnni"))
        runnable[count++] = &inmo_kernels_avx512vnni;
#endif
#ifdef INMO_HAVE_neon
    runnable[count++] = &inmo_kernels_neon;
#endif
    return n < count ? runnable[n] : NULL;
}

static const struct inmo_kernels *choose(void)
{
    const char *wanted = getenv("INMO_KERNEL");
    const struct inmo_kernels *best = NULL, *kernels;
    for (int n = 0; (kernels = inmo_kernels_at(n)) != NULL; n++)
        if (!wanted || strcmp(wanted, kernels->name) == 0)
            best = kernels;
    return best ? best : &inmo_kernels_plain;
}

const struct inmo_kernels *inmo_kernels(void)
{
    static const struct inmo_kernels *chosen;
    const struct inmo_kernels *kernels = __atomic_load_n(&chosen, __ATOMIC_ACQUIRE);
    if (!kernels) {
        kernels = choose(); /* a race is harmless: both threads choose the same */
        __atomic_store_n(&chosen, kernels, __ATOMIC_RELEASE);
    }
    return kernels;
}

static void gather_from(const struct inmo_gather *job, int32_t first, int32_t end)
{
    enum { CHUNK = 64 };
    const struct inmo_kernels *kernels = inmo_kernels();
    /* Row lengths vary widely, so threads take small chunks as they finish. */
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
    for (int32_t begin = first; begin < end; begin += CHUNK)
        kernels->gather_range(job, begin, begin + CHUNK < end ? begin + CHUNK : end);
}

static void gather_runs(const struct inmo_gather *job, const int32_t *run, int32_t begin, int32_t end)
{
    const struct inmo_kernels *kernels = inmo_kernels();
#pragma omp parallel for schedule(dynamic, 4) num_threads(inmo_threads())
    for (int32_t n = begin; n < end; n++)
        kernels->gather_range(job, run[2 * (size_t)n], run[2 * (size_t)n + 1]);
}

void inmo_gather_fetching(const struct inmo_gather *job)
{
    enum { PARTS = 8 };
    const struct inmo_share *share = job->graph->share;
    void *rows = job->half ? (void *)job->half : (void *)job->x;
    size_t bytes = (size_t)job->dim * (job->half ? sizeof *job->half / 2 : sizeof *job->x);
    if (!share) {
        inmo_gather(job);
        return;
    }
    inmo_share_start(job->graph, rows, bytes, job->position);
    /* Messages move on only when MPI is called, so it is called now and then. */
    for (int64_t part = 0; !job->node && part < PARTS; part++) {
        gather_runs(job, share->inner, (int32_t)(share->inners * part / PARTS),
                    (int32_t)(share->inners * (part + 1) / PARTS));
        inmo_ranks_go_on();
    }
    inmo_share_finish(job->graph);
    if (job->node)
        inmo_gather(job);
    else
        gather_runs(job, share->outer, 0, share->outers);
    inmo_share_release(job->graph, rows, bytes, job->position);
}

void inmo_gather(const struct inmo_gather *job)
{
    const struct inmo_graph *graph = job->graph;
    if (job->node) {
        gather_from(job, 0, job->node_count);
    } else if (graph->share) { /* the rows of the halo are computed elsewhere */
        gather_from(job, 0, graph->share->own_users);
        gather_from(job, graph->users, graph->users + graph->share->own_items);
    } else {
        gather_from(job, 0, graph->nodes);
    }
}

struct inmo_adam inmo_adam_at(double learning_rate, int64_t t)
{
    struct inmo_adam adam;
    adam.rate = (float)(learning_rate / (1 - pow(0.9, (double)t)));
    adam.root_bias = (float)(1 / sqrt(1 - pow(0.999, (double)t)));
    return adam;
}

void inmo_adam_rows(int64_t rows, int dim, struct inmo_adam adam, const float *gradient, float *m, float *root,
                    float *parameter)
{
    enum { CHUNK = 256 };
    const struct inmo_kernels *kernels = inmo_kernels();
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int64_t begin = 0; begin < rows; begin += CHUNK) {
        int64_t count = (begin + CHUNK < rows ? CHUNK : rows - begin) * dim, at = begin * dim;
        kernels->adam(count, adam, gradient + at, m + at, root + at, parameter + at);
    }
}
