/* rank.c - see rank.h. Blocks and tiles have fixed sizes, so a user's scores, and with them the order of near ties,
 * do not depend on the number of threads. */
#include "score/rank.h"

#include "base/memory.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "ranks/ranks.h"

#include <cblas.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { USERS = 192, ITEMS = 1024, MASKS = 5, FILLED = 8 << 20 /* most scores in a filled block */ };

/* What walks and links add to the scores of a block of users. The entries of user n start at begin[n],
 * ascending. */
struct added {
    struct inmo_sums sums;
    int32_t *item;
    float *value;
    int64_t capacity, begin[USERS + 1], cursor[USERS];
};

/* The memory of one thread. Filled scores cover all items, for `users` users. */
struct workspace {
    float *user;       // (USERS, dim)
    float *score;      // (USERS, ITEMS) or (users, items)
    float *top_score;  // (USERS, k)
    int32_t *hit;      // (ITEMS)
    int64_t *cursor;   // (USERS, MASKS) next masked item
    void *scratch;     // for the fill function
    struct added added;
};

/* Items that are not ranked, where they are the smaller part; else NULL. */
struct closed {
    int32_t *item;  // (count)
    int32_t count;
};

/* Users in a block. With a fill function: as many as it prefers, within FILLED scores. */
static int32_t block_users(const struct inmo_rank *job)
{
    int32_t fit = job->items > 0 ? FILLED / job->items : USERS, users = job->fill ? job->fill->users : USERS;
    if (job->fill && users > fit)
        users = fit;
    return users < 1 ? 1 : users > USERS ? USERS : users;
}

/* A rank has whole blocks. */
int32_t inmo_rank_first(const struct inmo_rank *job, int rank)
{
    int32_t users = block_users(job);
    int64_t blocks = ((int64_t)job->count + users - 1) / users, first = blocks * rank / inmo_ranks() * users;
    return first < job->count ? (int32_t)first : job->count;
}

static void workspace_free(struct workspace *space)
{
    inmo_free(space->added.value);
    inmo_free(space->added.item);
    inmo_sums_free(&space->added.sums);
    inmo_free(space->scratch);
    inmo_free(space->cursor);
    inmo_free(space->hit);
    inmo_free(space->top_score);
    inmo_free(space->score);
    inmo_free(space->user);
}

static int workspace_make(struct workspace *space, const struct inmo_rank *job)
{
    *space = (struct workspace){0};
    space->user = inmo_alloc((size_t)USERS * (size_t)job->dim, sizeof(float));
    space->score = job->fill ? inmo_alloc((size_t)block_users(job) * (size_t)job->items, sizeof(float))
                             : inmo_alloc((size_t)USERS * ITEMS, sizeof(float));
    space->scratch = inmo_alloc_zero(job->fill ? job->fill->scratch_bytes : 0, 1);
    space->top_score = inmo_alloc((size_t)USERS * (size_t)job->k, sizeof(float));
    space->hit = inmo_alloc(ITEMS, sizeof(int32_t));
    space->cursor = inmo_alloc((size_t)USERS * MASKS, sizeof(int64_t));
    if (job->beside && inmo_sums_make(&space->added.sums, job->items) != 0)
        return -1;
    return space->user && space->score && space->top_score && space->hit && space->cursor && space->scratch ? 0
                                                                                                            : -1;
}

/* Sets the scores of masked items to -inf, so that they are never selected. Masks are ascending, so each tile
 * continues where the last one ended. */
static void mask_tile(const struct inmo_rank *job, const int32_t *place, int32_t who, int64_t *cursor,
                      int32_t begin, int32_t end, float *score)
{
    for (int m = 0; m < MASKS && job->mask[m]; m++) {
        const struct inmo_csr *mask = job->mask[m];
        int64_t at = cursor[m], stop;
        if (!mask->offset)
            continue;
        stop = mask->offset[who + 1];
        for (; at < stop; at++) {
            int32_t item = place ? place[mask->column[at]] : mask->column[at];
            if (item >= end)
                break;
            if (item >= begin)
                score[item - begin] = -INFINITY;
        }
        cursor[m] = at;
    }
}

/* Masks a tile of one user's scores and adds those among the k best so far. */
static void take_tile(const struct inmo_rank *job, const int32_t *place, int32_t n, int32_t first, int32_t begin,
                      int32_t tile, float *score, struct workspace *space, int32_t *kept)
{
    size_t k = (size_t)job->k;
    struct inmo_top top = {job->k, *kept, space->top_score + (size_t)n * k,
                           job->top_item + (size_t)(first + n) * k};
    int32_t hits;
    mask_tile(job, place, job->who[first + n], space->cursor + n * MASKS, begin, begin + tile, score);
    hits = inmo_kernels()->above(tile, score, inmo_top_bound(&top), space->hit);
    for (int32_t h = 0; h < hits; h++)
        inmo_top_add(&top, score[space->hit[h]], begin + space->hit[h]);
    *kept = top.count;
}

/* Collects what is added for a block's users, with items as places among the candidates. 0, or -1 when memory is
 * short. */
static int collect_block(const struct inmo_rank *job, const int32_t *place, int32_t first, int32_t count,
                         struct added *added)
{
    const struct inmo_graph *graph = job->beside->graph;
    int64_t most = 0, at = 0;
    for (int32_t n = 0; n < count; n++)
        most += inmo_beside_most(job->beside, graph->neighbour + graph->offset[job->who[first + n]],
                                 (int32_t)inmo_graph_degree(graph, job->who[first + n]), graph->users);
    if (most > added->capacity) {
        inmo_free(added->item);
        inmo_free(added->value);
        added->capacity = most;
        added->item = inmo_alloc((size_t)most, sizeof *added->item);
        added->value = inmo_alloc((size_t)most, sizeof *added->value);
    }
    if (most > 0 && (!added->item || !added->value))
        return -1;
    for (int32_t n = 0; n < count; n++) {
        int32_t u = job->who[first + n], found, kept = 0;
        int32_t *item = added->item + at;
        float *value = added->value + at;
        found = inmo_beside_collect(job->beside, graph->neighbour + graph->offset[u],
                                    graph->relative ? graph->relative + graph->offset[u] : NULL,
                                    (int32_t)inmo_graph_degree(graph, u), graph->users, &added->sums, item, value);
        for (int32_t e = 0; e < found; e++)
            if (!place || place[item[e]] >= 0) {
                item[kept] = place ? place[item[e]] : item[e];
                value[kept++] = value[e];
            }
        added->begin[n] = added->cursor[n] = at;
        at += kept;
    }
    added->begin[count] = at;
    return 0;
}

static void add_sparse(struct added *added, int32_t n, int32_t begin, int32_t end, float *score)
{
    int64_t at = added->cursor[n];
    for (; at < added->begin[n + 1] && added->item[at] < end; at++)
        score[added->item[at] - begin] += added->value[at];
    added->cursor[n] = at;
}

static void rank_products(const struct inmo_rank *job, const float *item, const int32_t *place, int32_t items,
                          int32_t first, int32_t count, struct workspace *space, int32_t *kept)
{
    size_t dim = (size_t)job->dim;
    int32_t skipped = job->by_turn ? inmo_rank_first(job, inmo_own_rank()) : 0;
    for (int32_t n = 0; n < count; n++) {
        int32_t row = job->by_turn ? first + n - skipped : job->who[first + n];
        memcpy(space->user + (size_t)n * dim, job->user + (size_t)row * dim, dim * sizeof(float));
    }
    for (int32_t begin = 0; begin < items; begin += ITEMS) {
        int32_t tile = items - begin < ITEMS ? items - begin : ITEMS;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, tile, job->dim, 1, space->user, job->dim,
                    item + (size_t)begin * dim, job->dim, 0, space->score, ITEMS);
        for (int32_t n = 0; n < count; n++) {
            if (job->beside)
                add_sparse(&space->added, n, begin, begin + tile, space->score + (size_t)n * ITEMS);
            take_tile(job, place, n, first, begin, tile, space->score + (size_t)n * ITEMS, space, kept + n);
        }
    }
}

static void rank_filled(const struct inmo_rank *job, const int32_t *place, int32_t items,
                        const struct closed *closed, int32_t first, int32_t count, struct workspace *space,
                        int32_t *kept)
{
    job->fill->scores(job->fill->context, job->who + first, count, space->scratch, space->score);
    for (int32_t n = 0; n < count; n++) {
        float *score = space->score + (size_t)n * (size_t)job->items;
        for (int32_t c = 0; c < closed->count; c++)
            score[closed->item[c]] = -INFINITY;
        for (int32_t c = 0; job->candidate && c < items;
             c++) /* ascending, so no score is overwritten before it is moved */
            score[c] = score[job->candidate[c]];
        for (int32_t begin = 0; begin < items; begin += ITEMS)
            take_tile(job, place, n, first, begin, items - begin < ITEMS ? items - begin : ITEMS, score + begin,
                      space, kept + n);
    }
}

/* 0, or -1 when memory is short. */
static int rank_block(const struct inmo_rank *job, const float *item, const int32_t *place, int32_t items,
                      const struct closed *closed, int32_t first, int32_t users, struct workspace *space)
{
    int32_t count = job->count - first < users ? job->count - first : users;
    int32_t kept[USERS] = {0};
    size_t k = (size_t)job->k;
    if (job->beside && collect_block(job, place, first, count, &space->added) != 0)
        return -1;
    for (int32_t n = 0; n < count; n++)
        for (int m = 0; m < MASKS && job->mask[m]; m++)
            if (job->mask[m]->offset)
                space->cursor[n * MASKS + m] = job->mask[m]->offset[job->who[first + n]];
    if (job->fill)
        rank_filled(job, place, items, closed, first, count, space, kept);
    else
        rank_products(job, item, place, items, first, count, space, kept);
    for (int32_t n = 0; n < count; n++) {
        int32_t *best = job->top_item + (size_t)(first + n) * k;
        struct inmo_top top = {job->k, kept[n], space->top_score + (size_t)n * k, best};
        inmo_top_sort(&top);
        for (int32_t j = 0; j < job->k; j++)
            best[j] = j < kept[n] ? (job->candidate ? job->candidate[best[j]] : best[j]) : -1;
        if (job->top_score)
            memcpy(job->top_score + (size_t)(first + n) * k, space->top_score + (size_t)n * k, k * sizeof(float));
    }
    return 0;
}

/* Copies the rows of the candidates, and sets place to the position of each item among them; -1, which is before
 * every tile, for items that are not candidates. */
static enum inmo_status pack_candidates(const struct inmo_rank *job, float **item, int32_t **place,
                                        struct inmo_error *error)
{
    size_t dim = (size_t)job->dim;
    *item = inmo_alloc((size_t)job->candidates * dim, sizeof **item);
    *place = inmo_alloc((size_t)job->items, sizeof **place);
    if (!*item || !*place)
        return inmo_fail_memory(error, "ranking");
    memset(*place, 0xff, (size_t)job->items * sizeof **place);
    for (int32_t n = 0; n < job->candidates; n++) {
        if (!job->fill)
            memcpy(*item + (size_t)n * dim, job->item + (size_t)job->candidate[n] * dim, dim * sizeof(float));
        (*place)[job->candidate[n]] = n;
    }
    return INMO_OK;
}

static int64_t first_byte(const void *context, int rank)
{
    const struct inmo_rank *job = context; /* items and scores have four bytes each */
    return (int64_t)inmo_rank_first(job, rank) * job->k * 4;
}

/* Gives all ranks the lists that each has made. */
static void gather_lists(const struct inmo_rank *job)
{
    inmo_ranks_gather_cut(job->top_item, first_byte, job);
    if (job->top_score)
        inmo_ranks_gather_cut(job->top_score, first_byte, job);
}

/* Filled scores have all items: where most of them are ranked, the others are closed instead of moving the scores
 * of those, which took longer than making them. */
static enum inmo_status close_items(const struct inmo_rank *job, struct closed *closed, struct inmo_error *error)
{
    int32_t next = 0;
    closed->item = inmo_alloc((size_t)(job->items - job->candidates), sizeof *closed->item);
    if (!closed->item)
        return inmo_fail_memory(error, "ranking");
    for (int32_t i = 0; i < job->items; i++) {
        if (next < job->candidates && job->candidate[next] == i)
            next++;
        else
            closed->item[closed->count++] = i;
    }
    return INMO_OK;
}

enum inmo_status inmo_rank(const struct inmo_rank *given, const struct inmo_hooks *hooks, struct inmo_error *error)
{
    struct inmo_rank whole = *given;
    const struct inmo_rank *job = given;
    struct closed closed = {0};
    enum inmo_status status = INMO_OK;
    float *packed = NULL;
    int32_t *place = NULL;
    int threads = inmo_threads();
    double start = inmo_now(), shown = start;
    int32_t items, users = block_users(job);
    int32_t own = job->spread ? inmo_rank_first(job, inmo_own_rank()) : 0;
    int32_t end = job->spread ? inmo_rank_first(job, inmo_own_rank() + 1) : job->count;
    atomic_int failed = 0, stop = 0;
    atomic_int done = 0;

    if (job->fill && job->candidate && job->candidates > job->items / 2) {
        status = close_items(job, &closed, error);
        if (status)
            goto finish;
        whole.candidate = NULL;
        job = &whole;
    }
    items = job->candidate ? job->candidates : job->items;
    if (job->candidate) {
        status = pack_candidates(job, &packed, &place, error);
        if (status)
            goto finish;
    }
    inmo_blas_hold(); /* the blocks run in parallel instead */
#pragma omp parallel num_threads(threads)
    {
        struct workspace space;
        int ready = workspace_make(&space, job) == 0;
        if (!ready)
            atomic_store(&failed, 1);
#pragma omp for schedule(dynamic)
        for (int32_t first = own; first < end; first += users) {
            if (!ready || atomic_load(&failed) || atomic_load(&stop))
                continue;
            if (rank_block(job, packed ? packed : job->item, place, items, &closed, first, users, &space) != 0)
                atomic_store(&failed, 1);
            atomic_fetch_add(&done, users);
#pragma omp critical(inmo_rank_hooks)
            if (hooks && inmo_now() - shown > 0.2) {
                struct inmo_progress progress = {
                    "ranking", atomic_load(&done), job->count, "users", inmo_now() - start, NAN, NAN, NAN};
                shown = inmo_now();
                inmo_report_progress(hooks, &progress);
                if (inmo_is_interrupted(hooks))
                    atomic_store(&stop, 1);
            }
        }
        workspace_free(&space);
    }
    inmo_blas_release();
    if (atomic_load(&failed))
        status = inmo_fail_memory(error, "ranking");
    else if (atomic_load(&stop))
        status = inmo_fail(error, INMO_INTERRUPTED, "stopped on request while ranking");
    if (!status && job->spread && inmo_ranks() > 1)
        gather_lists(job);
finish:
    inmo_free(closed.item);
    inmo_free(place);
    inmo_free(packed);
    return status;
}

enum inmo_status inmo_rank_reference(const struct inmo_rank *job, struct inmo_error *error)
{
    double *score = inmo_alloc((size_t)job->items, sizeof *score);
    float *filled = inmo_alloc((size_t)job->items, sizeof *filled);
    void *scratch = inmo_alloc_zero(job->fill ? job->fill->scratch_bytes : 0, 1);
    if (!score || !filled || !scratch) {
        inmo_free(scratch);
        inmo_free(filled);
        inmo_free(score);
        return inmo_fail_memory(error, "ranking");
    }
    for (int32_t n = 0; n < job->count; n++) {
        int32_t u = job->who[n];
        if (job->fill)
            job->fill->scores(job->fill->context, &u, 1, scratch, filled);
        for (int32_t i = 0; i < job->items; i++) {
            int ranked = !job->candidate;
            for (int32_t c = 0; c < job->candidates && !ranked; c++)
                ranked = job->candidate[c] == i;
            for (int m = 0; m < MASKS && job->mask[m]; m++)
                ranked = ranked && !inmo_csr_has(job->mask[m], u, i);
            score[i] = !ranked ? -INFINITY : job->fill ? filled[i] : 0;
            for (int j = 0; j < job->dim && ranked; j++)
                score[i] += (double)job->user[(int64_t)u * job->dim + j] * job->item[(int64_t)i * job->dim + j];
            if (job->beside && ranked)
                score[i] += inmo_beside_always(job->beside, i);
            for (int64_t e = 0; job->beside && ranked && e < inmo_graph_degree(job->beside->graph, u); e++) {
                const struct inmo_graph *graph = job->beside->graph;
                int64_t at = graph->offset[u] + e;
                score[i] += inmo_beside_between(job->beside, graph->neighbour[at] - graph->users,
                                                graph->relative ? graph->relative[at] : 1, i);
            }
        }
        for (int32_t j = 0; j < job->k; j++) {
            int32_t best = -1;
            for (int32_t i = 0; i < job->items; i++)
                if (score[i] > -INFINITY && (best < 0 || score[i] > score[best]))
                    best = i;
            job->top_item[(int64_t)n * job->k + j] = best;
            if (best >= 0)
                score[best] = -INFINITY;
        }
    }
    inmo_free(scratch);
    inmo_free(filled);
    inmo_free(score);
    return INMO_OK;
}
