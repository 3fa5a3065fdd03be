/* mpi.c - see ranks.h: processes started by mpirun, or by Slurm. Errors of MPI itself end the job, which is its
 * default. Messages are cut into pieces, as MPI counts in int. Every call that waits for others starts requests
 * and waits for them in one place, wait_all, so that there is one place that can find that nothing comes. */
#include "ranks/ranks.h"

#include "base/threads.h"
#include "inmo.h"

#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 28, SLOTS = 4, SLOT = 1 << 20, ALL = -1, ABORT_SECONDS = 10 };

static struct {
    int count, own; /* 0: not begun */
    struct inmo_traffic traffic;
    MPI_Request *request;  // (room)
    int *peer, *done;      // (room) the rank at the other end of a request, or ALL; scratch
    int requests, room;
    struct inmo_ranks_watch watch;
    enum inmo_traffic_kind kind; /* of the exchange under way: */
    const struct inmo_message *out;
    int outs, at;   /* messages to others, and which is next, */
    int32_t packed; /* of which so many rows are on their way */
    char *slot;     /* (SLOTS, slot_bytes) pieces that are being sent */
    size_t slot_bytes;
    MPI_Request sending[SLOTS];
    int slot_peer[SLOTS];
} world;

int inmo_ranks(void)
{
    return world.count > 0 ? world.count : 1;
}

int inmo_own_rank(void)
{
    return world.own;
}

void inmo_ranks_abort(int code)
{
    if (world.count > 1) {
        /* MPI tells the others by a network that may be what failed. This process ends in any case. */
        signal(SIGALRM, SIG_DFL);
        alarm(ABORT_SECONDS);
        MPI_Abort(MPI_COMM_WORLD, code);
    }
    exit(code);
}

void inmo_ranks_abort_memory(void)
{
    if (world.watch.no_memory)
        world.watch.no_memory();
    inmo_ranks_abort(INMO_MEMORY);
}

void inmo_ranks_begin(struct inmo_ranks_watch watch)
{
    int provided;
    /* Set by mpirun of Open MPI and MPICH and by srun. Without them the program is alone and needs no MPI. */
    if (!getenv("OMPI_COMM_WORLD_SIZE") && !getenv("PMI_SIZE") && !getenv("PMIX_RANK"))
        return;
    /* A rank that waits must not take the processor from one that computes on the same machine. */
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    /* Over TCP, Open MPI answers the announcement of a large message on the connection on which it sends its own.
     * By default that is one fragment of any length into a socket that takes megabytes, so the answer waits and two
     * ranks that exchange rows send in turn, at half the rate of the link. Fragments of 128 KB and a small socket
     * let it pass. */
    setenv("OMPI_MCA_btl_tcp_flags", "send", 0);
    setenv("OMPI_MCA_btl_tcp_sndbuf", "262144", 0);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_size(MPI_COMM_WORLD, &world.count);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.own);
    for (int s = 0; s < SLOTS; s++)
        world.sending[s] = MPI_REQUEST_NULL;
    world.watch = watch;
}

void inmo_ranks_end(void)
{
    free(world.slot);
    world.slot = NULL;
    world.slot_bytes = 0;
    free(world.done);
    free(world.peer);
    free(world.request);
    world.request = NULL;
    world.peer = world.done = NULL;
    world.room = 0;
    if (world.count > 0)
        MPI_Finalize();
    world.count = world.own = 0;
}

static void count_traffic(enum inmo_traffic_kind kind, int64_t bytes, double since)
{
    world.traffic.exchanges[kind]++;
    world.traffic.bytes[kind] += bytes;
    world.traffic.waited[kind] += inmo_now() - since;
}

void inmo_ranks_note_cut(int64_t own_rows, int64_t sent_rows, int64_t received_rows)
{
    world.traffic.own_rows = own_rows;
    world.traffic.sent_rows = sent_rows;
    world.traffic.received_rows = received_rows;
}

struct inmo_traffic inmo_ranks_traffic(void)
{
    return world.traffic;
}

static MPI_Request *next_request(int peer)
{
    if (world.requests == world.room) {
        size_t room = 2 * (size_t)world.room + 16;
        MPI_Request *request = realloc(world.request, room * sizeof *request);
        int *peers = realloc(world.peer, room * sizeof *peers), *done = realloc(world.done, room * sizeof *done);
        if (!request || !peers || !done)
            inmo_ranks_abort_memory();
        world.request = request;
        world.peer = peers;
        world.done = done;
        world.room = (int)room;
    }
    world.peer[world.requests] = peer;
    return world.request + world.requests++;
}

static void post_send(int to, int tag, const char *data, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += PIECE)
        MPI_Isend(data + at, (int)(bytes - at < PIECE ? bytes - at : PIECE), MPI_BYTE, to, tag, MPI_COMM_WORLD,
                  next_request(to));
}

static void post_receive(int from, int tag, char *data, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += PIECE)
        MPI_Irecv(data + at, (int)(bytes - at < PIECE ? bytes - at : PIECE), MPI_BYTE, from, tag, MPI_COMM_WORLD,
                  next_request(from));
}

/* Tells the program for whom this rank waits, each once, and ends the job. */
static void give_up(double seconds)
{
    int *late = world.done, count = 0;
    for (int n = 0; n < world.requests + SLOTS; n++) {
        int slot = n - world.requests, peer = slot < 0 ? world.peer[n] : world.slot_peer[slot];
        int known = (slot < 0 ? world.request[n] : world.sending[slot]) == MPI_REQUEST_NULL || peer == ALL;
        for (int k = 0; k < count && !known; k++)
            known = late[k] == peer;
        if (!known && count < world.room)
            late[count++] = peer;
    }
    if (world.watch.stalled)
        world.watch.stalled(late, count, seconds);
    inmo_ranks_abort(INMO_IO);
}

/* The rows of a piece: as many on both sides. */
static int32_t piece_of(const struct inmo_message *message, int32_t done)
{
    int32_t most = message->row_bytes < SLOT ? (int32_t)(SLOT / message->row_bytes) : 1;
    return message->rows - done < most ? message->rows - done : most;
}

static void pack(const struct inmo_message *message, int32_t first, int32_t rows, char *slot)
{
    size_t bytes = message->row_bytes;
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t n = 0; n < rows; n++)
        memcpy(slot + (size_t)n * bytes,
               message->data + (size_t)(message->row ? message->row[first + n] : first + n) * bytes, bytes);
}

/* A slot whose piece has been sent; -1: none. */
static int free_slot(void)
{
    int slot = -1, done = 0;
    MPI_Testany(SLOTS, world.sending, &slot, &done, MPI_STATUS_IGNORE);
    for (int s = 0; s < SLOTS; s++)
        if (world.sending[s] == MPI_REQUEST_NULL)
            return s;
    return -1;
}

/* Sends pieces as long as there are free slots. Returns how many. */
static int send_pieces(void)
{
    int count = 0;
    for (int slot; world.at < world.outs && (slot = free_slot()) >= 0; count++) {
        const struct inmo_message *message = world.out + world.at;
        int32_t rows = piece_of(message, world.packed);
        char *piece = world.slot + (size_t)slot * world.slot_bytes;
        pack(message, world.packed, rows, piece);
        world.slot_peer[slot] = message->rank;
        MPI_Isend(piece, (int)((size_t)rows * message->row_bytes), MPI_BYTE, message->rank, 0, MPI_COMM_WORLD,
                  world.sending + slot);
        world.packed += rows;
        if (world.packed == message->rows) {
            world.packed = 0;
            world.at++;
        }
    }
    return count;
}

/* Waits for all that is under way. Pieces that are not sent yet need this rank, and a clock needs it, too. */
static void wait_all(void)
{
    double moved = inmo_now();
    int received = 0, sent = 0;
    while (world.at < world.outs || (world.watch.seconds > 0 && (received != MPI_UNDEFINED || !sent))) {
        int pieces = send_pieces();
        MPI_Testsome(world.requests, world.request, &received, world.done, MPI_STATUSES_IGNORE);
        MPI_Testall(SLOTS, world.sending, &sent, MPI_STATUSES_IGNORE);
        if (pieces > 0 || (received != MPI_UNDEFINED && received > 0))
            moved = inmo_now();
        else if (world.watch.seconds > 0 && inmo_now() - moved > world.watch.seconds)
            give_up(inmo_now() - moved);
        else
            sched_yield();
    }
    MPI_Waitall(world.requests, world.request, MPI_STATUSES_IGNORE);
    MPI_Waitall(SLOTS, world.sending, MPI_STATUSES_IGNORE);
    world.requests = 0;
}

void inmo_ranks_broadcast(int from, void *data, size_t bytes)
{
    double since = inmo_now();
    if (inmo_ranks() == 1)
        return;
    for (size_t at = 0; at < bytes; at += PIECE)
        MPI_Ibcast((char *)data + at, (int)(bytes - at < PIECE ? bytes - at : PIECE), MPI_BYTE, from,
                   MPI_COMM_WORLD, next_request(world.own == from ? ALL : from));
    wait_all();
    count_traffic(INMO_TRAFFIC_OTHER, world.own == from ? (int64_t)bytes : 0, since);
}

void inmo_ranks_gather(void *data, struct inmo_parts parts, enum inmo_traffic_kind kind)
{
    double since = inmo_now();
    char *bytes = data;
    int64_t sent = parts.size[world.own] * (inmo_ranks() - 1);
    if (inmo_ranks() == 1)
        return;
    for (int step = 1; step < world.count; step++) {
        int from = (world.own + world.count - step) % world.count;
        post_receive(from, 0, bytes + parts.begin[from], parts.size[from]);
    }
    for (int step = 1; step < world.count; step++)
        post_send((world.own + step) % world.count, 0, bytes + parts.begin[world.own], parts.size[world.own]);
    wait_all();
    count_traffic(kind, sent, since);
}

void inmo_ranks_gather_cut(void *data, int64_t (*first)(const void *context, int rank), const void *context)
{
    double since = inmo_now();
    char *bytes = data;
    int64_t begin = first(context, world.own), size = first(context, world.own + 1) - begin;
    if (inmo_ranks() == 1)
        return;
    for (int step = 1; step < world.count; step++) {
        int from = (world.own + world.count - step) % world.count;
        int64_t theirs = first(context, from);
        post_receive(from, 0, bytes + theirs, first(context, from + 1) - theirs);
    }
    for (int step = 1; step < world.count; step++)
        post_send((world.own + step) % world.count, 0, bytes + begin, size);
    wait_all();
    count_traffic(INMO_TRAFFIC_OTHER, size * (world.count - 1), since);
}

void inmo_ranks_exchange(const void *out, struct inmo_parts sent, void *in, struct inmo_parts received,
                         enum inmo_traffic_kind kind)
{
    double since = inmo_now();
    const char *from = out;
    char *to = in;
    int64_t bytes = 0;
    for (int step = 1; step < inmo_ranks(); step++) {
        int peer = (world.own + world.count - step) % world.count;
        post_receive(peer, 0, to + received.begin[peer], received.size[peer]);
    }
    for (int step = 1; step < inmo_ranks(); step++) {
        int peer = (world.own + step) % world.count;
        post_send(peer, 0, from + sent.begin[peer], sent.size[peer]);
        bytes += sent.size[peer];
    }
    if (sent.size[world.own] > 0)
        memcpy(to + received.begin[world.own], from + sent.begin[world.own], (size_t)sent.size[world.own]);
    wait_all();
    count_traffic(kind, bytes, since);
}

static void make_slots(const struct inmo_message *message, int count)
{
    size_t bytes = SLOT;
    for (int n = 0; n < count; n++)
        bytes = message[n].row_bytes > bytes ? message[n].row_bytes : bytes;
    if (bytes > world.slot_bytes) {
        free(world.slot);
        world.slot = malloc(SLOTS * bytes);
        world.slot_bytes = bytes;
        if (!world.slot)
            inmo_ranks_abort_memory();
    }
}

void inmo_ranks_start(const struct inmo_message *out, int outs, const struct inmo_message *in, int ins,
                      enum inmo_traffic_kind kind)
{
    world.kind = kind;
    world.traffic.exchanges[kind]++;
    for (int n = 0; n < ins; n++)
        for (int32_t done = 0, rows; done < in[n].rows; done += rows) {
            rows = piece_of(in + n, done);
            post_receive(in[n].rank, 0, in[n].data + (size_t)done * in[n].row_bytes,
                         (int64_t)((size_t)rows * in[n].row_bytes));
        }
    for (int n = 0; n < outs; n++)
        world.traffic.bytes[kind] += (int64_t)((size_t)out[n].rows * out[n].row_bytes);
    make_slots(out, outs);
    world.out = out;
    world.outs = outs;
    world.at = 0;
    world.packed = 0;
    send_pieces();
}

void inmo_ranks_go_on(void)
{
    int all;
    send_pieces();
    MPI_Testall(world.requests, world.request, &all, MPI_STATUSES_IGNORE);
}

void inmo_ranks_finish(void)
{
    double since = inmo_now();
    wait_all();
    world.traffic.waited[world.kind] += inmo_now() - since;
}

void inmo_ranks_pass(int to, const void *data, size_t bytes)
{
    double since = inmo_now();
    post_send(to, 1, data, (int64_t)bytes);
    wait_all();
    count_traffic(INMO_TRAFFIC_LOSS, (int64_t)bytes, since);
}

void inmo_ranks_take(int from, void *data, size_t bytes)
{
    double since = inmo_now();
    post_receive(from, 1, data, (int64_t)bytes);
    wait_all();
    world.traffic.waited[INMO_TRAFFIC_LOSS] += inmo_now() - since;
}

void inmo_ranks_most(int32_t *value, int count)
{
    double since = inmo_now();
    if (inmo_ranks() == 1)
        return;
    MPI_Iallreduce(MPI_IN_PLACE, value, count, MPI_INT32_T, MPI_MAX, MPI_COMM_WORLD, next_request(ALL));
    wait_all();
    count_traffic(INMO_TRAFFIC_OTHER, (int64_t)count * 4, since);
}
