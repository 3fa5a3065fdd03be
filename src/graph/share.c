/* share.c - rows between ranks: see share.h. */
#include "graph/share.h"

#include "base/memory.h"

#include <string.h>

int inmo_share_owner(const struct inmo_share *share, int32_t node)
{
    if (node < share->whole->users)
        return inmo_share_block(share->user_cut, inmo_ranks(), node);
    return share->item_rank[inmo_share_block(share->item_cut, inmo_ranks(), node)];
}

/* How many of these nodes have a row; *first: the first such row. */
static int32_t rows_among(const int32_t *position, int32_t begin, int32_t end, int32_t *first)
{
    int32_t count = 0;
    *first = begin;
    if (!position)
        return end - begin;
    for (int32_t v = begin; v < end; v++)
        if (position[v] >= 0) {
            *first = count == 0 ? position[v] : *first;
            count++;
        }
    return count;
}

/* Where a rank's nodes end in the halo of one side: where the next rank's begin, in the order of the blocks. */
static int32_t halo_end(const struct inmo_share *share, int rank, int items)
{
    if (!items)
        return share->halo_users[rank + 1];
    return share->item_block[rank] + 1 < inmo_ranks()
               ? share->halo_items[share->item_rank[share->item_block[rank] + 1]]
               : share->halo_items[inmo_ranks()];
}

void inmo_share_start(const struct inmo_graph *graph, void *rows, size_t bytes, const int32_t *position)
{
    const struct inmo_share *share = graph->share;
    int outs = 0, ins = 0, ranks = inmo_ranks(), own = inmo_own_rank();
    int32_t *at;
    struct inmo_message *out, *in;
    if (!share)
        return;
    out = share->message;
    in = share->message + 2 * ranks;
    at = share->sent_row;
    for (int step = 1; step < ranks; step++) { /* each begins with another rank */
        int to = (own + step) % ranks, from = (own + ranks - step) % ranks;
        for (int side = 0; side < 2; side++) {
            int32_t begin = share->sent_begin[to] + (side ? share->sent_users[to] : 0);
            int32_t end = side ? share->sent_begin[to + 1] : share->sent_begin[to] + share->sent_users[to];
            int32_t halo = (side ? share->halo_items : share->halo_users)[from], first, count;
            const int32_t *sent = position ? at : share->sent + begin;
            for (int32_t n = begin; position && n < end; n++)
                if (position[share->sent[n]] >= 0)
                    *at++ = position[share->sent[n]];
            count = position ? (int32_t)(at - sent) : end - begin;
            if (count > 0)
                out[outs++] = (struct inmo_message){to, count, bytes, rows, sent};
            count = rows_among(position, halo, halo_end(share, from, side), &first);
            if (count > 0)
                in[ins++] = (struct inmo_message){from, count, bytes, (char *)rows + (size_t)first * bytes, NULL};
        }
    }
    inmo_ranks_start(out, outs, in, ins, INMO_TRAFFIC_LAYERS);
}

void inmo_share_finish(const struct inmo_graph *graph)
{
    if (graph->share)
        inmo_ranks_finish();
}

void inmo_share_release(const struct inmo_graph *graph, void *rows, size_t bytes, const int32_t *position)
{
    const struct inmo_share *share = graph->share;
    for (int side = 0; share && side < 2; side++) {
        int32_t end = side ? graph->nodes : graph->users, first;
        int32_t halo = side ? graph->users + share->own_items : share->own_users;
        int32_t count = rows_among(position, halo, end, &first);
        inmo_release(rows, (size_t)first * bytes, ((size_t)first + (size_t)count) * bytes);
    }
}

void inmo_share_collect(const struct inmo_share *share, int32_t count, const int32_t *node, const int32_t *index,
                        int dim, const float *rows, float *out, float *scratch, enum inmo_traffic_kind kind)
{
    size_t bytes = (size_t)dim * sizeof *rows;
    int ranks = inmo_ranks(), own = inmo_own_rank();
    int64_t sum = 0;
    for (int rank = 0; rank < ranks; rank++)
        share->size[rank] = 0;
    for (int32_t n = 0; n < count; n++)
        share->size[inmo_share_owner(share, node[n])] += (int64_t)bytes;
    for (int rank = 0; rank < ranks; rank++) {
        share->begin[rank] = sum;
        sum += share->size[rank];
    }
    sum = share->begin[own];
    for (int32_t n = 0; n < count; n++)
        if (inmo_share_owner(share, node[n]) == own) {
            memcpy((char *)scratch + sum, (const char *)rows + (size_t)index[n] * bytes, bytes);
            sum += (int64_t)bytes;
        }
    inmo_ranks_gather(scratch, (struct inmo_parts){share->begin, share->size}, kind);
    for (int32_t n = 0; n < count; n++) {
        int64_t *at = share->begin + inmo_share_owner(share, node[n]);
        memcpy((char *)out + (size_t)n * bytes, (char *)scratch + *at, bytes);
        *at += (int64_t)bytes;
    }
}

void inmo_share_assemble(const struct inmo_graph *graph, int items, size_t bytes, const void *rows, void *whole)
{
    const struct inmo_share *share = graph->share;
    int32_t own = items ? share->own_items : share->own_users, first = items ? graph->users : 0;
    int32_t skipped = items ? share->whole->users : 0;
    for (int rank = 0; rank < inmo_ranks(); rank++) {
        int32_t begin = inmo_share_begin(share, rank, items) - skipped;
        share->begin[rank] = (int64_t)((size_t)begin * bytes);
        share->size[rank] = (int64_t)((size_t)(inmo_share_end(share, rank, items) - skipped - begin) * bytes);
    }
    memcpy((char *)whole + share->begin[inmo_own_rank()], (const char *)rows + (size_t)first * bytes,
           (size_t)own * bytes);
    inmo_ranks_gather(whole, (struct inmo_parts){share->begin, share->size}, INMO_TRAFFIC_OTHER);
}

enum inmo_status inmo_share_deliver(const struct inmo_share *share, const int32_t *node,
                                    int32_t (*first)(const void *context, int rank), const void *context,
                                    size_t bytes, const void *own, void *out, struct inmo_error *error)
{
    int ranks = inmo_ranks(), here = inmo_own_rank();
    int32_t begin = first(context, here), end = first(context, here + 1), count = first(context, ranks);
    int64_t sum = 0, *sent = inmo_alloc(2 * (size_t)ranks, sizeof *sent);
    char *packed = NULL, *received = inmo_alloc((size_t)(end - begin), bytes);
    enum inmo_status status = INMO_OK;
    for (int32_t n = 0; n < count; n++)
        sum += inmo_share_owner(share, node[n]) == here;
    packed = inmo_alloc((size_t)sum, bytes);
    if (!sent || !received || !packed) {
        status = inmo_fail_memory(error, "validation");
        goto done;
    }
    sum = 0;
    for (int rank = 0; rank < ranks; rank++) {
        sent[rank] = sum;
        for (int32_t n = first(context, rank); n < first(context, rank + 1); n++)
            if (inmo_share_owner(share, node[n]) == here) {
                memcpy(packed + sum, (const char *)own + (size_t)share->local[node[n]] * bytes, bytes);
                sum += (int64_t)bytes;
            }
        sent[ranks + rank] = sum - sent[rank];
        share->size[rank] = 0;
    }
    for (int32_t n = begin; n < end; n++)
        share->size[inmo_share_owner(share, node[n])] += (int64_t)bytes;
    sum = 0;
    for (int rank = 0; rank < ranks; rank++) {
        share->begin[rank] = sum;
        sum += share->size[rank];
    }
    inmo_ranks_exchange(packed, (struct inmo_parts){sent, sent + ranks}, received,
                        (struct inmo_parts){share->begin, share->size}, INMO_TRAFFIC_OTHER);
    for (int32_t n = begin; n < end; n++) { /* they came by owner */
        int64_t *at = share->begin + inmo_share_owner(share, node[n]);
        memcpy((char *)out + (size_t)(n - begin) * bytes, received + *at, bytes);
        *at += (int64_t)bytes;
    }
done:
    inmo_free(packed);
    inmo_free(received);
    inmo_free(sent);
    return status;
}
