/* ranks.h - the processes that train one model together, numbered from 0. Two files implement it: one.c, for a
 * program that is always alone, and mpi.c, for one that mpirun may start several times (`make mpi`).
 *
 * Every call but the first three is collective: all ranks make the same calls in the same order. A rank that
 * fails elsewhere ends the others by inmo_ranks_abort, as MPI itself does when a process dies. Only one thread
 * of a process makes these calls. With one rank they do nothing. */
#ifndef INMO_RANKS_RANKS_H
#define INMO_RANKS_RANKS_H

#include <stddef.h>
#include <stdint.h>

int inmo_ranks(void);    /* how many there are */
int inmo_own_rank(void); /* the number of this one */
/* Ends all ranks at once, with this exit code. */
void inmo_ranks_abort(int code);
/* The same for want of memory, in functions that cannot return an error; the program says so first. */
void inmo_ranks_abort_memory(void);

/* How a program hears of what ends all ranks without an error that is returned to it; either may be NULL.
 *
 * seconds above 0: a rank that waits so long without any message coming or going calls stalled, with the ranks that
 * it waits for (none: any of them), and ends all. 0: it waits as long as it takes, as others may have long work of
 * their own, and MPI's daemons notice a machine that is gone. */
struct inmo_ranks_watch {
    double seconds;
    void (*stalled)(const int *rank, int count, double seconds);
    void (*no_memory)(void);
};

/* Joins the other processes, if there are any; before, there is one rank. Called by programs, once. */
void inmo_ranks_begin(struct inmo_ranks_watch watch);
void inmo_ranks_end(void);

/* Where the parts of an array are that belong to the ranks, in bytes. */
struct inmo_parts {
    const int64_t *begin, *size;  // (ranks)
};

/* What an exchange is for. Traffic is counted for each of them. */
enum inmo_traffic_kind {
    INMO_TRAFFIC_LAYERS, /* rows of neighbours */
    INMO_TRAFFIC_LOSS,
    INMO_TRAFFIC_OTHER, /* set-up, validation, checkpoints */
    INMO_TRAFFIC_KINDS,
};

void inmo_ranks_broadcast(int from, void *data, size_t bytes);
/* Each rank has its part of data; afterwards all have all parts. */
void inmo_ranks_gather(void *data, struct inmo_parts parts, enum inmo_traffic_kind kind);
/* The same where rank p has bytes [first(context, p), first(context, p + 1)). */
void inmo_ranks_gather_cut(void *data, int64_t (*first)(const void *context, int rank), const void *context);
/* The same where every rank has so many bytes. */
static inline int64_t inmo_ranks_even(const void *bytes, int rank)
{
    return (int64_t) * (const size_t *)bytes * rank;
}
static inline void inmo_ranks_gather_even(void *data, size_t bytes)
{
    inmo_ranks_gather_cut(data, inmo_ranks_even, &bytes);
}
/* Every rank sends a part of out to each other one and receives a part of in from it. The part for itself is
 * copied. */
void inmo_ranks_exchange(const void *out, struct inmo_parts sent, void *in, struct inmo_parts received,
                         enum inmo_traffic_kind kind);
/* Rows to and from others that are under way until finish, so that there is something else to do meanwhile. They
 * travel in pieces, as a copy of all that is sent would be as large as the rows that are received. Messages between
 * two ranks arrive in the order in which they are listed. One such exchange at a time, and no other call that
 * waits for ranks until its end; so long the caller keeps the lists. */
struct inmo_message {
    int rank;
    int32_t rows;
    size_t row_bytes;
    char *data;
    const int32_t *row;  // (rows) which rows of data are sent; NULL: the first
};
void inmo_ranks_start(const struct inmo_message *out, int outs, const struct inmo_message *in, int ins,
                      enum inmo_traffic_kind kind);
void inmo_ranks_go_on(void); /* lets them move meanwhile */
void inmo_ranks_finish(void);
/* Sends to one rank, or receives from one. */
void inmo_ranks_pass(int to, const void *data, size_t bytes);
void inmo_ranks_take(int from, void *data, size_t bytes);
/* Element by element the largest value of any rank. */
void inmo_ranks_most(int32_t *value, int count);
/* The value that rank 0 has. */
static inline int inmo_ranks_agree(int value)
{
    inmo_ranks_broadcast(0, &value, sizeof value);
    return value;
}

/* What this rank has sent and how long it has waited for others, since the program started; and what the last
 * cut gave it (graph/share.h): rows of its own, and rows that each exchange of a layer sends and receives. */
struct inmo_traffic {
    int64_t own_rows, sent_rows, received_rows;
    int64_t exchanges[INMO_TRAFFIC_KINDS], bytes[INMO_TRAFFIC_KINDS];
    double waited[INMO_TRAFFIC_KINDS]; /* seconds */
};
struct inmo_traffic inmo_ranks_traffic(void);
void inmo_ranks_note_cut(int64_t own_rows, int64_t sent_rows, int64_t received_rows);

#endif
