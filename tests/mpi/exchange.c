/* exchange.c - what an exchange between all ranks takes over a network, by message size: latency and rate, without
 * inmo.
 *
 *     mpicc -O2 -o exchange tests/mpi/exchange.c && tests/mpi/netns.py --nodes 2 --rate 1gbit -- ./exchange
 *
 * Between exchanges each rank spins for about `work` milliseconds, each for another time, as ranks compute: whether
 * both directions of a link are used depends on who comes first. With Open MPI's defaults one may wait for the
 * other (src/ranks/mpi.c); OMPI_MCA_btl_tcp_flags=send OMPI_MCA_btl_tcp_sndbuf=262144 is what inmo sets. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void spin(double seconds)
{
    double since = MPI_Wtime();
    while (MPI_Wtime() - since < seconds)
        ;
}

/* Seconds of an exchange, apart from the spinning. */
static double exchange(int own, int ranks, const char *out, char *in, int bytes, double work)
{
    enum { TIMES = 24, MOST = 256 };
    MPI_Request request[2 * MOST];
    double since, spun = 0, seconds;
    MPI_Barrier(MPI_COMM_WORLD);
    since = MPI_Wtime();
    for (int n = 0; n < TIMES; n++) {
        double time = work * (0.5 + rand() / (double)RAND_MAX);
        int count = 0;
        spin(time);
        spun += time;
        for (int step = 1; step < ranks; step++)
            MPI_Irecv(in + (size_t)(step - 1) * (size_t)bytes, bytes, MPI_BYTE, (own + ranks - step) % ranks, 0,
                      MPI_COMM_WORLD, request + count++);
        for (int step = 1; step < ranks; step++)
            MPI_Isend(out, bytes, MPI_BYTE, (own + step) % ranks, 0, MPI_COMM_WORLD, request + count++);
        MPI_Waitall(count, request, MPI_STATUSES_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    seconds = (MPI_Wtime() - since - spun) / TIMES;
    return seconds;
}

int main(int argc, char **argv)
{
    enum { MOST_BYTES = 1 << 24 };
    int own, ranks;
    char *out, *in;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    out = malloc(MOST_BYTES);
    in = malloc((size_t)MOST_BYTES * (size_t)ranks);
    if (!out || !in || ranks > 256)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(out, 1, MOST_BYTES);
    memset(in, 1, (size_t)MOST_BYTES * (size_t)ranks);
    srand((unsigned)own + 1);
    exchange(own, ranks, out, in, 1024, 0); /* connects */
    for (int bytes = 1024; bytes <= MOST_BYTES; bytes *= 4)
        for (int work = 0; work <= 12; work += 6) {
            double seconds = exchange(own, ranks, out, in, bytes, 1e-3 * work);
            if (own == 0)
                printf("%9d bytes to each, work %2d ms: %10.1f us, %6.3f Gbit/s\n", bytes, work, 1e6 * seconds,
                       8e-9 * bytes * (ranks - 1) / seconds);
        }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
