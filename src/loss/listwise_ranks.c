/* listwise_ranks.c - the listwise loss on several ranks, with the bytes of one.
 *
 * Positives are judged where a user's neighbours are: by its owner. Products with the negatives are of whole
 * blocks of users, in the order of the batch, and the blocks of a group add to one sum, so a rank computes
 * whole groups, for users of any owner: it gets their rows, tells the log-sums, learns how much weight the
 * negatives have, and returns the gradients.
 *
 *     owner                          rank of the group
 *     r of users         ->          scores, their exponentials and log-sum
 *     positives          <-          log-sums (to all: the owners of items need them, too)
 *     loss, weight       ->          gradients of negatives and users
 *     adds it            <-          gradients of users; sums of groups, to all
 *
 * A batch goes through this in rounds of some of its users, as the exponentials must be kept in between. */
#include "base/memory.h"
#include "base/threads.h"
#include "graph/share.h"
#include "kernel/kernel.h"
#include "loss/listwise.h"

#include <cblas.h>
#include <string.h>

enum { GROUPS = INMO_LISTWISE_GROUPS, USERS_AT_ONCE = 2048 /* of a rank, in a round */ };

struct inmo_listwise_ranks {
    int32_t round;                /* users of a round: whole blocks of all groups */
    int32_t first, end;           /* those of the current one, in the batch */
    int32_t most;                 /* users of the own groups in a round, at most */
    int32_t *turn;                // (batch) which of the users of its group's rank a user is
    int *owner;                   // (batch)
    float *user;                  // (most, dim) rows of users of the own groups, then their gradients
    float *score;                 // (most, negatives)
    double *sum;                  // (most) of the exponentials
    double *spread;               // (batch) weight of the negatives
    double *packed;               // (2 batch) numbers by rank, on their way
    float *row;                   // (2, batch or negatives, dim) rows by rank, on their way
    int32_t *index;               // (negatives) rows of r of those that the rank has
    int32_t *node;                // (negatives) the negatives as nodes
    int64_t *begin[2], *size[2];  // (ranks)
};

/* Groups of consecutive numbers are one rank's; with more ranks than groups, some have none. */
static int rank_of_group(int group)
{
    return inmo_ranks() < GROUPS ? group * inmo_ranks() / GROUPS : group;
}

static int rank_of(const struct inmo_listwise *listwise, int32_t n)
{
    return rank_of_group(n / inmo_listwise_block(listwise->negatives) % GROUPS);
}

void inmo_listwise_ranks_free(struct inmo_listwise *listwise)
{
    struct inmo_listwise_ranks *ranks = listwise->ranks;
    if (!ranks)
        return;
    for (int side = 0; side < 2; side++) {
        inmo_free(ranks->size[side]);
        inmo_free(ranks->begin[side]);
    }
    inmo_free(ranks->node);
    inmo_free(ranks->index);
    inmo_free(ranks->row);
    inmo_free(ranks->packed);
    inmo_free(ranks->spread);
    inmo_free(ranks->sum);
    inmo_free(ranks->score);
    inmo_free(ranks->user);
    inmo_free(ranks->owner);
    inmo_free(ranks->turn);
    inmo_free(ranks);
    listwise->ranks = NULL;
}

enum inmo_status inmo_listwise_ranks_make(struct inmo_listwise *listwise, struct inmo_error *error)
{
    struct inmo_listwise_ranks *ranks = inmo_alloc_zero(1, sizeof *ranks);
    size_t batch = (size_t)listwise->batch, m = (size_t)listwise->negatives, d = (size_t)listwise->dim;
    size_t count = (size_t)inmo_ranks();
    int complete = ranks != NULL;
    listwise->ranks = ranks;
    if (ranks) {
        int32_t whole = GROUPS * inmo_listwise_block(listwise->negatives);
        int32_t wanted = (inmo_ranks() < GROUPS ? inmo_ranks() : GROUPS) * USERS_AT_ONCE;
        ranks->round = wanted < whole ? whole : wanted / whole * whole;
        for (int32_t n = 0; n < ranks->round; n++)
            ranks->most += rank_of(listwise, n) == inmo_own_rank();
        batch = (size_t)ranks->round;
        ranks->turn = inmo_alloc((size_t)listwise->batch, sizeof *ranks->turn);
        ranks->owner = inmo_alloc((size_t)listwise->batch, sizeof *ranks->owner);
        ranks->user = inmo_alloc((size_t)ranks->most * d, sizeof *ranks->user);
        ranks->score = inmo_alloc((size_t)ranks->most * m, sizeof *ranks->score);
        ranks->sum = inmo_alloc((size_t)ranks->most, sizeof *ranks->sum);
        ranks->spread = inmo_alloc((size_t)listwise->batch, sizeof *ranks->spread);
        ranks->packed = inmo_alloc(2 * batch, sizeof *ranks->packed);
        ranks->row = inmo_alloc(2 * (batch > m ? batch : m) * d, sizeof *ranks->row);
        ranks->index = inmo_alloc(m, sizeof *ranks->index);
        ranks->node = inmo_alloc(m, sizeof *ranks->node);
        complete = ranks->turn && ranks->owner && ranks->user && ranks->score && ranks->sum && ranks->spread &&
                   ranks->packed && ranks->row && ranks->index && ranks->node;
        for (int side = 0; side < 2; side++) {
            ranks->begin[side] = inmo_alloc(count, sizeof(int64_t));
            ranks->size[side] = inmo_alloc(count, sizeof(int64_t));
            complete = complete && ranks->begin[side] && ranks->size[side];
        }
    }
    return complete ? INMO_OK : inmo_fail_memory(error, "the listwise loss");
}

/* Finds the owners, and numbers the users of each group's rank. */
static void assign(struct inmo_listwise *listwise)
{
    struct inmo_listwise_ranks *ranks = listwise->ranks;
    const struct inmo_share *share = listwise->local->share;
    int64_t *next = ranks->size[0];
    memset(next, 0, (size_t)inmo_ranks() * sizeof *next);
    for (int32_t n = ranks->first; n < ranks->end; n++) {
        ranks->owner[n] = inmo_share_owner(share, listwise->who[n]);
        ranks->turn[n] = (int32_t)next[rank_of(listwise, n)]++;
    }
}

/* Sets begin and size of what passes between this rank and the others, user by user. to_owner 0: side 0 is from
 * owners to groups as this rank sends it, side 1 as it receives it; 1: the way back. Returns how many this rank
 * sends. */
static int64_t plan(const struct inmo_listwise *listwise, size_t bytes, int to_owner)
{
    struct inmo_listwise_ranks *ranks = listwise->ranks;
    int own = inmo_own_rank();
    for (int side = 0; side < 2; side++)
        memset(ranks->size[side], 0, (size_t)inmo_ranks() * sizeof *ranks->size[side]);
    for (int32_t n = ranks->first; n < ranks->end; n++) {
        int from = to_owner ? rank_of(listwise, n) : ranks->owner[n],
            to = to_owner ? ranks->owner[n] : rank_of(listwise, n);
        if (from == own)
            ranks->size[0][to] += (int64_t)bytes;
        if (to == own)
            ranks->size[1][from] += (int64_t)bytes;
    }
    for (int side = 0; side < 2; side++) {
        int64_t sum = 0;
        for (int rank = 0; rank < inmo_ranks(); rank++) {
            ranks->begin[side][rank] = sum;
            sum += ranks->size[side][rank];
        }
    }
    return ranks->begin[0][inmo_ranks() - 1] + ranks->size[0][inmo_ranks() - 1];
}

/* Moves rows of users between their owners (rows of local nodes) and the ranks of their groups (by turn). */
static void move_rows(struct inmo_listwise *listwise, const float *rows, float *added, int to_owner)
{
    struct inmo_listwise_ranks *ranks = listwise->ranks;
    const struct inmo_share *share = listwise->local->share;
    size_t d = (size_t)listwise->dim, bytes = d * sizeof(float);
    float *out = ranks->row, *in = out + (size_t)plan(listwise, bytes, to_owner) / sizeof(float);
    for (int32_t n = ranks->first; n < ranks->end; n++) {
        int group = rank_of(listwise, n), from = to_owner ? group : ranks->owner[n];
        int64_t *at = ranks->begin[0] + (to_owner ? ranks->owner[n] : group);
        if (from != inmo_own_rank())
            continue;
        memcpy((char *)out + *at,
               to_owner ? ranks->user + (size_t)ranks->turn[n] * d
                        : rows + (size_t)listwise->row[share->local[listwise->who[n]]] * d,
               bytes);
        *at += (int64_t)bytes;
    }
    plan(listwise, bytes, to_owner);
    inmo_ranks_exchange(out, (struct inmo_parts){ranks->begin[0], ranks->size[0]}, in,
                        (struct inmo_parts){ranks->begin[1], ranks->size[1]}, INMO_TRAFFIC_LOSS);
    for (int32_t n = ranks->first; n < ranks->end; n++) {
        int group = rank_of(listwise, n), to = to_owner ? ranks->owner[n] : group;
        int64_t *at = ranks->begin[1] + (to_owner ? group : ranks->owner[n]);
        const float *row = (const float *)((const char *)in + *at);
        if (to != inmo_own_rank())
            continue;
        if (to_owner)
            inmo_kernels()->add_scaled(listwise->dim, 1, row,
                                       added + (size_t)listwise->row[share->local[listwise->who[n]]] * d);
        else
            memcpy(ranks->user + (size_t)ranks->turn[n] * d, row, bytes);
        *at += (int64_t)bytes;
    }
}

/* Makes values known to all: value[at(n)] of each user of the batch, from its owner or from its group's rank; two
 * arrays at once. */
static void tell(struct inmo_listwise *listwise, int from_owner, double *first, int by_user, double *second)
{
    struct inmo_listwise_ranks *ranks = listwise->ranks;
    int64_t each = second ? 2 : 1, sum = 0;
    int64_t *begin = ranks->begin[0], *size = ranks->size[0];
    memset(size, 0, (size_t)inmo_ranks() * sizeof *size);
    for (int32_t n = ranks->first; n < ranks->end; n++)
        size[from_owner ? ranks->owner[n] : rank_of(listwise, n)] += each * (int64_t)sizeof(double);
    for (int rank = 0; rank < inmo_ranks(); rank++) {
        begin[rank] = sum;
        sum += size[rank];
    }
    for (int pass = 0; pass < 2; pass++) { /* packs the own ones, unpacks all */
        int64_t *next = ranks->begin[1];
        memcpy(next, begin, (size_t)inmo_ranks() * sizeof *next);
        for (int32_t n = ranks->first; n < ranks->end; n++) {
            int rank = from_owner ? ranks->owner[n] : rank_of(listwise, n);
            double *packed = ranks->packed + next[rank] / (int64_t)sizeof(double);
            double *value[2] = {first + (by_user ? listwise->who[n] : n), second ? second + n : NULL};
            next[rank] += each * (int64_t)sizeof(double);
            for (int64_t k = 0; k < each; k++)
                if (pass == 1)
                    *value[k] = packed[k];
                else if (rank == inmo_own_rank())
                    packed[k] = *value[k];
        }
        if (pass == 0)
            inmo_ranks_gather(ranks->packed, (struct inmo_parts){begin, size}, INMO_TRAFFIC_LOSS);
    }
}

/* Visits the blocks of the own groups. Before the positives are judged: scores, exponentials and log-sums; after:
 * gradients. */
static void run_groups(struct inmo_listwise *listwise, int after)
{
    struct inmo_listwise_ranks *ranks = listwise->ranks;
    int dim = listwise->dim, negatives = listwise->negatives;
    size_t d = (size_t)dim, m = (size_t)negatives;
    int32_t users = inmo_listwise_block(negatives);
#pragma omp parallel for schedule(dynamic) num_threads(inmo_threads())
    for (int group = 0; group < GROUPS; group++) {
        float *sum = listwise->sum + (size_t)group * m * d;
        if (rank_of_group(group) != inmo_own_rank())
            continue;
        if (after && ranks->first == 0)
            memset(sum, 0, m * d * sizeof *sum);
        for (int32_t first = ranks->first + group * users; first < ranks->end; first += GROUPS * users) {
            int32_t left = ranks->end - first, count = left < users ? left : users;
            size_t at = (size_t)ranks->turn[first]; /* a block's turns follow each other */
            float *user = ranks->user + at * d, *score = ranks->score + at * m;
            if (!after) {
                cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, negatives, dim, 1, user, dim,
                            listwise->negative, dim, 0, score, negatives);
                for (int32_t n = 0; n < count; n++)
                    ranks->sum[at + (size_t)n] =
                        inmo_listwise_negatives(listwise, first + n, score + (size_t)n * m);
                continue;
            }
            for (int32_t n = 0; n < count; n++)
                for (int32_t j = 0; j < negatives; j++)
                    score[(size_t)n * m + (size_t)j] *=
                        (float)(ranks->spread[first + n] * (1 / listwise->temperature) /
                                ranks->sum[at + (size_t)n]);
            cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, negatives, dim, count, 1, score, negatives, user,
                        dim, 1, sum, dim);
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, count, dim, negatives, 1, score, negatives,
                        listwise->negative, dim, 0, user, dim);
        }
    }
}

/* Adds the sums of all groups, in order. */
static void add_groups(struct inmo_listwise *listwise)
{
    struct inmo_listwise_ranks *ranks = listwise->ranks;
    size_t d = (size_t)listwise->dim, m = (size_t)listwise->negatives;
    int64_t bytes = (int64_t)(m * d * sizeof(float));
    memset(ranks->size[0], 0, (size_t)inmo_ranks() * sizeof(int64_t));
    memset(ranks->begin[0], 0, (size_t)inmo_ranks() * sizeof(int64_t));
    for (int group = GROUPS - 1; group >= 0; group--) {
        ranks->begin[0][rank_of_group(group)] = group * bytes;
        ranks->size[0][rank_of_group(group)] += bytes;
    }
    inmo_ranks_gather(listwise->sum, (struct inmo_parts){ranks->begin[0], ranks->size[0]}, INMO_TRAFFIC_LOSS);
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (size_t n = 0; n < m; n++)
        for (size_t group = 1; group < GROUPS; group++)
            inmo_kernels()->add_scaled(listwise->dim, 1, listwise->sum + (group * m + n) * d,
                                       listwise->sum + n * d);
}

/* Judges the users of a round. */
static void run_round(struct inmo_listwise *listwise, const float *r, float *dr)
{
    struct inmo_listwise_ranks *ranks = listwise->ranks;
    const struct inmo_share *share = listwise->local->share;
    assign(listwise);
    move_rows(listwise, r, NULL, 0);
    inmo_blas_hold(); /* the groups run in parallel instead */
    run_groups(listwise, 0);
    tell(listwise, 0, listwise->rest, 1, NULL);
#pragma omp parallel for schedule(dynamic, 16) num_threads(inmo_threads())
    for (int32_t n = ranks->first; n < ranks->end; n++)
        if (ranks->owner[n] == inmo_own_rank())
            listwise->term[n] = inmo_listwise_positives(listwise, listwise->local, n,
                                                        share->local[listwise->who[n]], r, dr, ranks->spread + n);
    tell(listwise, 1, listwise->term, 0, ranks->spread);
    run_groups(listwise, 1);
    inmo_blas_release();
    move_rows(listwise, NULL, dr, 1);
}

double inmo_listwise_run_ranks(struct inmo_listwise *listwise, const float *r, float *dr)
{
    struct inmo_listwise_ranks *ranks = listwise->ranks;
    const struct inmo_graph *local = listwise->local, *whole = listwise->graph;
    const struct inmo_share *share = local->share;
    size_t d = (size_t)listwise->dim, m = (size_t)listwise->negatives;
    double loss = 0;
    for (size_t n = 0; n < m; n++) {
        ranks->node[n] = whole->users + listwise->drawn[n];
        ranks->index[n] = share->local[ranks->node[n]];
        if (ranks->index[n] >= 0)
            ranks->index[n] = (int32_t)inmo_listwise_item(listwise, local, ranks->index[n]);
    }
    inmo_share_collect(share, listwise->negatives, ranks->node, ranks->index, listwise->dim, r, listwise->negative,
                       ranks->row, INMO_TRAFFIC_LOSS);
#pragma omp parallel for schedule(static) num_threads(inmo_threads())
    for (int32_t u = 0; u < share->own_users; u++)
        if (listwise->row[u] >= 0 && !listwise->in_batch[share->origin[u]])
            memset(dr + (size_t)listwise->row[u] * d, 0, d * sizeof *dr);
    for (ranks->first = 0; ranks->first < listwise->count; ranks->first = ranks->end) {
        int32_t left = listwise->count - ranks->first;
        ranks->end = ranks->first + (left < ranks->round ? left : ranks->round);
        run_round(listwise, r, dr);
    }
    add_groups(listwise);
    inmo_listwise_pull_items(listwise, local, r, dr);
    for (size_t n = 0; n < m; n++) { /* an item drawn twice gets both gradients */
        int32_t v = share->local[ranks->node[n]];
        if (v >= 0 && inmo_graph_owns(local, v))
            inmo_kernels()->add_scaled(listwise->dim, 1, listwise->sum + n * d, dr + (size_t)ranks->index[n] * d);
    }
    for (int32_t n = 0; n < listwise->count; n++)
        loss += listwise->term[n];
    return loss;
}
