/* general.c - see general.h.
 *
 *     dt_user = Σ_u kept(u) scale_u de_u,   dt_item alike
 *
 * Partial sums of fixed chunks of nodes, in the order of the whole graph, then added in order. Where a chunk is cut
 * between two ranks, the first passes on how far it came, so the order of additions is the same. */
#include "model/provider/general.h"

#include "base/threads.h"

#include <string.h>

enum { CHUNK = 1024 }; /* rows per partial sum; fixed, which fixes the order of additions */

size_t inmo_general_partials(int32_t nodes)
{
    return ((size_t)nodes / CHUNK + 2) * 2;
}

/* The term of a node, by its number among the users or items of the whole graph. */
static void add_term(const struct inmo_general *job, int is_user, int32_t number, float scale, const float *de,
                     float *sum)
{
    uint32_t key = is_user ? job->drop.key_user_rows : job->drop.key_item_rows;
    if (inmo_drop_keeps(key, job->drop.threshold, is_user ? (uint32_t)number : UINT32_MAX,
                        is_user ? UINT32_MAX : (uint32_t)number))
        inmo_kernels()->add_scaled(job->dim, scale, de, sum);
}

/* Of a graph that is not cut, or of a batch that every rank has: node and scale by row or by node. */
static void whole_sums(const struct inmo_general *job, int32_t count, const int32_t *node, const float *scale,
                       int scale_by_row, const float *de, float *partial, float *general)
{
    const struct inmo_graph *graph = inmo_graph_whole(job->graph);
    size_t dim = (size_t)job->dim;
    int32_t chunks = (count + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
    for (int32_t chunk = 0; chunk < chunks; chunk++) {
        float *sums = partial + (size_t)chunk * 2 * dim;
        int32_t end = (chunk + 1) * CHUNK < count ? (chunk + 1) * CHUNK : count;
        memset(sums, 0, 2 * dim * sizeof *sums);
        for (int32_t n = chunk * CHUNK; n < end; n++) {
            int32_t v = node ? node[n] : n;
            int is_user = v < graph->users;
            add_term(job, is_user, is_user ? v : v - graph->users, scale[scale_by_row ? n : v],
                     de + (size_t)n * dim, sums + (is_user ? 0 : dim));
        }
    }
    for (int32_t chunk = 0; chunk < chunks; chunk++)
        inmo_kernels()->add_scaled(2 * job->dim, 1, partial + (size_t)chunk * 2 * dim, general);
}

/* The ranks before and after this one in the order of one side's blocks; -1: none. */
static int neighbour_rank(const struct inmo_share *share, int items, int step)
{
    int block = (items ? share->item_block[inmo_own_rank()] : inmo_own_rank()) + step;
    if (block < 0 || block >= inmo_ranks())
        return -1;
    return items ? share->item_rank[block] : block;
}

/* The chunks that a rank finishes: [*first, *end). An empty block finishes one if it is the last. */
static void finished(const struct inmo_share *share, int items, int rank, int32_t *first, int32_t *end)
{
    int32_t begin = inmo_share_begin(share, rank, items), stop = inmo_share_end(share, rank, items);
    int32_t last = items ? share->whole->nodes : share->whole->users;
    int block = items ? share->item_block[rank] : rank;
    *first = begin / CHUNK;
    *end = stop / CHUNK;
    if (block == inmo_ranks() - 1)
        *end = (last + CHUNK - 1) / CHUNK;
}

/* Adds the own nodes [begin, end) of one side, in whole numbers, to a sum. */
static void add_nodes(const struct inmo_general *job, int items, int32_t begin, int32_t end, const float *de,
                      float *sum)
{
    const struct inmo_share *share = job->graph->share;
    int32_t first = inmo_share_begin(share, inmo_own_rank(), items), base = items ? job->graph->users : 0;
    for (int32_t v = begin; v < end; v++) {
        int32_t local = base + v - first;
        add_term(job, !items, items ? v - share->whole->users : v, job->scale[local],
                 de + (size_t)local * (size_t)job->dim, sum);
    }
}

static void side_sums(const struct inmo_general *job, int items, const float *de, float *partial, float *general)
{
    const struct inmo_share *share = job->graph->share;
    int own = inmo_own_rank(), before = neighbour_rank(share, items, -1), after = neighbour_rank(share, items, 1);
    int32_t begin = inmo_share_begin(share, own, items), end = inmo_share_end(share, own, items);
    int32_t start = items ? share->whole->users : 0, first = begin / CHUNK, chunks;
    int continues = before >= 0 && begin % CHUNK != 0;
    size_t dim = (size_t)job->dim, bytes = dim * sizeof *partial;
    chunks = end > begin ? (end - 1) / CHUNK - first + 1 : 0;
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
    for (int32_t c = continues; c < chunks; c++) {
        int32_t from = (first + c) * CHUNK, to = from + CHUNK;
        float *sum = partial + (size_t)(first + c) * dim;
        memset(sum, 0, bytes);
        add_nodes(job, items, from < begin ? begin : from, to < end ? to : end, de, sum);
    }
    if (continues) {
        int32_t to = (first + 1) * CHUNK;
        inmo_ranks_take(before, partial + (size_t)first * dim, bytes);
        add_nodes(job, items, begin, to < end ? to : end, de, partial + (size_t)first * dim);
    } else if (chunks == 0) {
        memset(partial + (size_t)first * dim, 0, bytes);
    }
    if (after >= 0 && end % CHUNK != 0)
        inmo_ranks_pass(after, partial + (size_t)(end / CHUNK) * dim, bytes);
    for (int rank = 0; rank < inmo_ranks(); rank++) {
        int32_t from, to;
        finished(share, items, rank, &from, &to);
        share->begin[rank] = (int64_t)((size_t)from * bytes);
        share->size[rank] = (int64_t)((size_t)(to > from ? to - from : 0) * bytes);
    }
    inmo_ranks_gather(partial, (struct inmo_parts){share->begin, share->size}, INMO_TRAFFIC_LOSS);
    for (int32_t chunk = start / CHUNK;
         chunk < ((items ? share->whole->nodes : share->whole->users) + CHUNK - 1) / CHUNK; chunk++)
        inmo_kernels()->add_scaled(job->dim, 1, partial + (size_t)chunk * dim, general);
}

void inmo_general_gradient(const struct inmo_general *job, const struct inmo_rows *rows, const float *de,
                           float *partial, float *general)
{
    const struct inmo_share *share = job->graph->share;
    size_t dim = (size_t)job->dim;
    memset(general, 0, 3 * dim * sizeof *general);
    if (!share)
        whole_sums(job, rows ? rows->count : job->graph->nodes, rows ? rows->node : NULL, job->scale, 0, de,
                   partial, general);
    else if (rows)
        whole_sums(job, share->batch, share->batch_node, share->batch_scale, 1, share->batch_gradient, partial,
                   general);
    else
        for (int side = 0; side < 2; side++)
            side_sums(job, side, de, partial, general + (size_t)side * dim);
}
