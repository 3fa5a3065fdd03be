/* mpi.c - see ranks.h: processes started by mpirun, or by Slurm. Errors of MPI itself end the job, which is its
 * default. Messages are cut into pieces, as MPI counts in int. */
#include "ranks/ranks.h"

#include "base/threads.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 28, SLOTS = 4, SLOT = 1 << 20 };

static struct {
    int count, own; /* 0: not begun */
    struct inmo_traffic traffic;
    MPI_Request *request;
    int requests, room;
    enum inmo_traffic_kind kind; /* of the exchange under way: */
    const struct inmo_message *out;
    int outs, at;   /* messages to others, and which is next, */
    int32_t packed; /* of which so many rows are on their way */
    char *slot;     /* (SLOTS, slot_bytes) pieces that are being sent */
    size_t slot_bytes;
    MPI_Request sending[SLOTS];
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
    if (world.count > 1)
        MPI_Abort(MPI_COMM_WORLD, code);
    exit(code);
}

void inmo_ranks_begin(void)
{
    int provided;
    /* Set by mpirun of Open MPI and MPICH and by srun. Without them the program is alone and needs no MPI. */
    if (!getenv("OMPI_COMM_WORLD_SIZE") && !getenv("PMI_SIZE") && !getenv("PMIX_RANK"))
        return;
    /* A rank that waits must not take the processor from one that computes on the same machine. */
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_size(MPI_COMM_WORLD, &world.count);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.own);
}

void inmo_ranks_end(void)
{
    free(world.slot);
    world.slot = NULL;
    world.slot_bytes = 0;
    free(world.request);
    world.request = NULL;
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

static MPI_Request *next_request(void)
{
    if (world.requests == world.room) {
        world.room = 2 * world.room + 16;
        world.request = realloc(world.request, (size_t)world.room * sizeof *world.request);
        if (!world.request)
            inmo_ranks_abort(5);
    }
    return world.request + world.requests++;
}

static void post_send(int to, const char *data, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += PIECE)
        MPI_Isend(data + at, (int)(bytes - at < PIECE ? bytes - at : PIECE), MPI_BYTE, to, 0, MPI_COMM_WORLD,
                  next_request());
}

static void post_receive(int from, char *data, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += PIECE)
        MPI_Irecv(data + at, (int)(bytes - at < PIECE ? bytes - at : PIECE), MPI_BYTE, from, 0, MPI_COMM_WORLD,
                  next_request());
}

static void wait_all(void)
{
    MPI_Waitall(world.requests, world.request, MPI_STATUSES_IGNORE);
    world.requests = 0;
}

void inmo_ranks_broadcast(int from, void *data, size_t bytes)
{
    double since = inmo_now();
    if (inmo_ranks() == 1)
        return;
    for (size_t at = 0; at < bytes; at += PIECE)
        MPI_Bcast((char *)data + at, (int)(bytes - at < PIECE ? bytes - at : PIECE), MPI_BYTE, from,
                  MPI_COMM_WORLD);
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
        post_receive(from, bytes + parts.begin[from], parts.size[from]);
    }
    for (int step = 1; step < world.count; step++)
        post_send((world.own + step) % world.count, bytes + parts.begin[world.own], parts.size[world.own]);
    wait_all();
    count_traffic(kind, sent, since);
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
        post_receive(peer, to + received.begin[peer], received.size[peer]);
    }
    for (int step = 1; step < inmo_ranks(); step++) {
        int peer = (world.own + step) % world.count;
        post_send(peer, from + sent.begin[peer], sent.size[peer]);
        bytes += sent.size[peer];
    }
    if (sent.size[world.own] > 0)
        memcpy(to + received.begin[world.own], from + sent.begin[world.own], (size_t)sent.size[world.own]);
    wait_all();
    count_traffic(kind, bytes, since);
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

/* A slot whose piece has been sent; -1: none yet. */
static int free_slot(int wait)
{
    int slot = -1, done = 0;
    MPI_Testany(SLOTS, world.sending, &slot, &done, MPI_STATUS_IGNORE);
    for (int s = 0; s < SLOTS; s++)
        if (world.sending[s] == MPI_REQUEST_NULL)
            return s;
    if (wait)
        MPI_Waitany(SLOTS, world.sending, &slot, MPI_STATUS_IGNORE);
    return wait ? slot : -1;
}

/* Sends pieces as long as there are free slots, or all of them. */
static void send_pieces(int all)
{
    while (world.at < world.outs) {
        const struct inmo_message *message = world.out + world.at;
        int32_t rows = piece_of(message, world.packed);
        int slot = free_slot(all);
        char *piece;
        if (slot < 0)
            return;
        piece = world.slot + (size_t)slot * world.slot_bytes;
        pack(message, world.packed, rows, piece);
        MPI_Isend(piece, (int)((size_t)rows * message->row_bytes), MPI_BYTE, message->rank, 0, MPI_COMM_WORLD,
                  world.sending + slot);
        world.packed += rows;
        if (world.packed == message->rows) {
            world.packed = 0;
            world.at++;
        }
    }
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
            inmo_ranks_abort(5);
    }
    for (int s = 0; s < SLOTS; s++)
        world.sending[s] = MPI_REQUEST_NULL;
}

void inmo_ranks_start(const struct inmo_message *out, int outs, const struct inmo_message *in, int ins,
                      enum inmo_traffic_kind kind)
{
    world.kind = kind;
    world.traffic.exchanges[kind]++;
    for (int n = 0; n < ins; n++)
        for (int32_t done = 0, rows; done < in[n].rows; done += rows) {
            rows = piece_of(in + n, done);
            post_receive(in[n].rank, in[n].data + (size_t)done * in[n].row_bytes,
                         (int64_t)((size_t)rows * in[n].row_bytes));
        }
    for (int n = 0; n < outs; n++)
        world.traffic.bytes[kind] += (int64_t)((size_t)out[n].rows * out[n].row_bytes);
    make_slots(out, outs);
    world.out = out;
    world.outs = outs;
    world.at = 0;
    world.packed = 0;
    send_pieces(0);
}

void inmo_ranks_go_on(void)
{
    int all;
    send_pieces(0);
    MPI_Testall(world.requests, world.request, &all, MPI_STATUSES_IGNORE);
}

void inmo_ranks_finish(void)
{
    double since = inmo_now();
    send_pieces(1);
    MPI_Waitall(SLOTS, world.sending, MPI_STATUSES_IGNORE);
    wait_all();
    world.traffic.waited[world.kind] += inmo_now() - since;
}

void inmo_ranks_pass(int to, const void *data, size_t bytes)
{
    double since = inmo_now();
    MPI_Send(data, (int)bytes, MPI_BYTE, to, 1, MPI_COMM_WORLD);
    count_traffic(INMO_TRAFFIC_LOSS, (int64_t)bytes, since);
}

void inmo_ranks_take(int from, void *data, size_t bytes)
{
    double since = inmo_now();
    MPI_Recv(data, (int)bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    world.traffic.waited[INMO_TRAFFIC_LOSS] += inmo_now() - since;
}

void inmo_ranks_most(int32_t *value, int count)
{
    double since = inmo_now();
    if (inmo_ranks() == 1)
        return;
    MPI_Allreduce(MPI_IN_PLACE, value, count, MPI_INT32_T, MPI_MAX, MPI_COMM_WORLD);
    count_traffic(INMO_TRAFFIC_OTHER, (int64_t)count * 4, since);
}
