/* aimed.c - a library for LD_PRELOAD that kills a rank at a chosen place, with SIGKILL, as a machine that loses its
 * power. The program knows nothing of it.
 *
 *     INMO_KILL_RANK   the rank
 *     INMO_KILL_CALL   in which function: MPI_Isend, MPI_Waitall, cblas_sgemm, rename
 *     INMO_KILL_PATH   count only renames to a file whose name ends so
 *     INMO_KILL_AT     at which call of it, from 1
 *     INMO_KILL_AFTER  set: after the call, not before it */
#define _GNU_SOURCE
#include <cblas.h>
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long calls;

static int is_aim(const char *name)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *wanted = getenv("INMO_KILL_RANK"),
               *call = getenv("INMO_KILL_CALL");
    return rank && wanted && call && !strcmp(rank, wanted) && !strcmp(call, name);
}

/* 1: this is the call. */
static int counts(const char *name)
{
    const char *at = getenv("INMO_KILL_AT");
    return is_aim(name) && at && atomic_fetch_add(&calls, 1) + 1 == atol(at);
}

static void fire(int hit, int after)
{
    if (hit && after == (getenv("INMO_KILL_AFTER") != NULL))
        kill(getpid(), SIGKILL);
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    int hit = counts("MPI_Isend"), code;
    fire(hit, 0);
    code = PMPI_Isend(data, count, type, to, tag, comm, request);
    fire(hit, 1);
    return code;
}

int MPI_Waitall(int count, MPI_Request *request, MPI_Status *status)
{
    int hit = counts("MPI_Waitall"), code;
    fire(hit, 0);
    code = PMPI_Waitall(count, request, status);
    fire(hit, 1);
    return code;
}

void cblas_sgemm(const enum CBLAS_ORDER order, const enum CBLAS_TRANSPOSE ta, const enum CBLAS_TRANSPOSE tb,
                 const blasint m, const blasint n, const blasint k, const float alpha, const float *a,
                 const blasint lda, const float *b, const blasint ldb, const float beta, float *c,
                 const blasint ldc)
{
    void (*real)(enum CBLAS_ORDER, enum CBLAS_TRANSPOSE, enum CBLAS_TRANSPOSE, blasint, blasint, blasint, float,
                 const float *, blasint, const float *, blasint, float, float *, blasint) =
        (__typeof__(real))dlsym(RTLD_NEXT, "cblas_sgemm");
    int hit = counts("cblas_sgemm");
    fire(hit, 0);
    real(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    fire(hit, 1);
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *) = (__typeof__(real))dlsym(RTLD_NEXT, "rename");
    const char *path = getenv("INMO_KILL_PATH");
    size_t length = path ? strlen(path) : 0;
    int hit = strlen(to) >= length && !strcmp(to + strlen(to) - length, path ? path : "") && counts("rename"), code;
    fire(hit, 0);
    code = real(from, to);
    fire(hit, 1);
    return code;
}
