/* one.c - see ranks.h: a program that is always alone. */
#include "ranks/ranks.h"

#include "inmo.h"

#include <stdlib.h>

int inmo_ranks(void)
{
    return 1;
}

int inmo_own_rank(void)
{
    return 0;
}

void inmo_ranks_abort(int code)
{
    exit(code);
}

void inmo_ranks_abort_memory(void)
{
    exit(INMO_MEMORY);
}

void inmo_ranks_begin(struct inmo_ranks_watch watch)
{
    (void)watch;
}

void inmo_ranks_end(void)
{
}

void inmo_ranks_broadcast(int from, void *data, size_t bytes)
{
    (void)from;
    (void)data;
    (void)bytes;
}

void inmo_ranks_gather(void *data, struct inmo_parts parts, enum inmo_traffic_kind kind)
{
    (void)data;
    (void)parts;
    (void)kind;
}

void inmo_ranks_gather_cut(void *data, int64_t (*first)(const void *context, int rank), const void *context)
{
    (void)data;
    (void)first;
    (void)context;
}

void inmo_ranks_exchange(const void *out, struct inmo_parts sent, void *in, struct inmo_parts received,
                         enum inmo_traffic_kind kind)
{
    (void)out;
    (void)sent;
    (void)in;
    (void)received;
    (void)kind;
}

void inmo_ranks_start(const struct inmo_message *out, int outs, const struct inmo_message *in, int ins,
                      enum inmo_traffic_kind kind)
{
    (void)out;
    (void)outs;
    (void)in;
    (void)ins;
    (void)kind;
}

void inmo_ranks_go_on(void)
{
}

void inmo_ranks_finish(void)
{
}

void inmo_ranks_pass(int to, const void *data, size_t bytes)
{
    (void)to;
    (void)data;
    (void)bytes;
}

void inmo_ranks_take(int from, void *data, size_t bytes)
{
    (void)from;
    (void)data;
    (void)bytes;
}

void inmo_ranks_most(int32_t *value, int count)
{
    (void)value;
    (void)count;
}

void inmo_ranks_note_cut(int64_t own_rows, int64_t sent_rows, int64_t received_rows)
{
    (void)own_rows;
    (void)sent_rows;
    (void)received_rows;
}

struct inmo_traffic inmo_ranks_traffic(void)
{
    return (struct inmo_traffic){0};
}
