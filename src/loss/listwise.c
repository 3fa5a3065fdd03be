/* listwise.c - see listwise.h. Cost of a step with B users, M negatives: 6 B M d flops in products, B M
 * exponentials, and two gathers over the batch's interactions. */
#include "loss/listwise.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "graph/share.h"
#include "kernel/kernel.h"
#include "loss/batch.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = INMO_LISTWISE_GROUPS, SCORES = 1 << 18, FEWEST_USERS = 16, MOST_USERS = 128 };

int32_t inmo_listwise_block(int32_t negatives)
{
    int32_t users = SCORES / negatives;
    return users < FEWEST_USERS ? FEWEST_USERS : users > MOST_USERS ? MOST_USERS : users;
}

void inmo_listwise_free(struct inmo_listwise *listwise)
{
    inmo_free(listwise->strength);
    inmo_listwise_ranks_free(listwise);
    inmo_free(listwise->term);
    inmo_free(listwise->sum);
    inmo_free(listwise->block);
    inmo_free(listwise->negative);
    inmo_free(listwise->row);
    inmo_free(listwise->in_batch);
    inmo_free(listwise->rest);
    inmo_free(listwise->eligible);
    inmo_free(listwise->order);
    inmo_free(listwise->drawn);
    inmo_free(listwise->who);
    *listwise = (struct inmo_listwise){0};
}

int32_t inmo_listwise_batch(const struct inmo_graph *graph, int32_t batch, int32_t least_steps, int32_t most_steps)
{
    /* Each step passes over the whole graph, so a bounded number of steps keeps an epoch linear in the log. A
     * small log still takes several steps. */
    int32_t fewest = most_steps > 0 ? (graph->users + most_steps - 1) / most_steps : 1;
    batch = inmo_batch_within(batch, graph->users, least_steps);
    return fewest > batch ? fewest : batch;
}

enum inmo_status inmo_listwise_make(const struct inmo_graph *graph, int32_t batch, int32_t least_steps,
                                    int32_t most_steps, int32_t negatives, int dim, double temperature, double l2,
                                    struct inmo_listwise *out, struct inmo_error *error)
{
    struct inmo_listwise made = {.graph = graph,
                                 .dim = dim,
                                 .negatives = negatives,
                                 .temperature = temperature,
                                 .l2 = l2,
                                 .order_epoch = -1};
    size_t users = (size_t)graph->users, m = (size_t)negatives, d = (size_t)dim;
    enum inmo_status status = INMO_OK;
    made.batch = inmo_listwise_batch(graph, batch, least_steps, most_steps);
    made.who = inmo_alloc((size_t)made.batch, sizeof *made.who);
    made.drawn = inmo_alloc(m, sizeof *made.drawn);
    made.order = inmo_alloc(users, sizeof *made.order);
    made.eligible = inmo_alloc(users, sizeof *made.eligible);
    made.rest = inmo_alloc(users, sizeof *made.rest);
    made.in_batch = inmo_alloc_zero(users, 1);
    made.row = inmo_alloc(users, sizeof *made.row);
    made.negative = inmo_alloc(m * d, sizeof(float));
    made.block = inmo_alloc(GROUPS * (size_t)inmo_listwise_block(negatives) * (d + m), sizeof(float));
    made.sum = inmo_alloc(GROUPS * m * d, sizeof(float));
    made.term = inmo_alloc((size_t)made.batch, sizeof *made.term);
    made.strength = graph->weight ? inmo_alloc(users, sizeof *made.strength) : NULL;
    if (!made.who || !made.drawn || !made.order || !made.eligible || !made.rest || !made.in_batch || !made.row ||
        !made.negative || !made.block || !made.sum || !made.term || (graph->weight && !made.strength))
        status = inmo_fail_memory(error, "the listwise loss");
    if (status) {
        inmo_listwise_free(&made);
        return status;
    }
    for (int32_t u = 0; made.strength && u < graph->users; u++)
        made.strength[u] = inmo_graph_strength(graph, u);
    for (int32_t u = 0; u < graph->users; u++)
        if (inmo_graph_degree(graph, inmo_graph_place(graph, u)) > 0)
            made.eligible[made.eligible_count++] = inmo_graph_place(graph, u);
    *out = made;
    return INMO_OK;
}

int64_t inmo_listwise_steps(const struct inmo_listwise *listwise)
{
    return (listwise->eligible_count + listwise->batch - 1) / listwise->batch;
}

/* Gives the users of r their rows; node as in inmo_listwise_draw. */
static int32_t name_rows(struct inmo_listwise *listwise, int32_t *node)
{
    const struct inmo_graph *graph = listwise->local ? listwise->local : listwise->graph;
    const int32_t *origin = listwise->local ? listwise->local->share->origin : NULL;
    int32_t count = 0;
    for (int32_t u = 0; u < graph->users; u++) {
        int named = listwise->all_users || listwise->in_batch[origin ? origin[u] : u];
        listwise->row[u] = named ? count : -1;
        if (named && node)
            node[count] = u;
        count += named;
    }
    listwise->user_rows = count;
    for (int32_t v = graph->users; node && v < graph->nodes; v++)
        node[count + (v - graph->users)] = v;
    return count + graph->items;
}

int32_t inmo_listwise_draw(struct inmo_listwise *listwise, uint64_t seed, int64_t step, int32_t *node)
{
    const struct inmo_graph *graph = listwise->graph;
    int64_t steps = inmo_listwise_steps(listwise), epoch = step / steps;
    int32_t users = listwise->eligible_count, first = (int32_t)(step % steps) * listwise->batch;
    uint64_t key = inmo_random(inmo_key(seed, INMO_STREAM_NEGATIVE), (uint64_t)step);
    if (listwise->order_epoch != epoch) {
        uint64_t base = inmo_random(inmo_key(seed, INMO_STREAM_BATCH), (uint64_t)epoch);
        memcpy(listwise->order, listwise->eligible, (size_t)users * sizeof *listwise->order);
        for (int32_t n = users - 1; n > 0; n--) {
            int32_t other = (int32_t)inmo_random_below(inmo_random(base, (uint64_t)n), (uint32_t)n + 1);
            int32_t kept = listwise->order[n];
            listwise->order[n] = listwise->order[other];
            listwise->order[other] = kept;
        }
        listwise->order_epoch = epoch;
    }
    for (int32_t n = 0; n < listwise->count; n++)
        listwise->in_batch[listwise->who[n]] = 0;
    listwise->count = users - first < listwise->batch ? users - first : listwise->batch;
    memcpy(listwise->who, listwise->order + first, (size_t)listwise->count * sizeof *listwise->who);
    for (int32_t n = 0; n < listwise->count; n++)
        listwise->in_batch[listwise->who[n]] = 1;
    for (int32_t n = 0; n < listwise->negatives; n++) {
        int32_t item = (int32_t)inmo_random_below(inmo_random(key, (uint64_t)n), (uint32_t)graph->items);
        listwise->drawn[n] = inmo_graph_place(graph, graph->users + item) - graph->users;
    }
    return name_rows(listwise, node);
}

/* The loss of a positive: gap = log Σ_j e^{s_uj/T} - s_ui/T, and the probability given to the negatives. Computed
 * twice from the same numbers, once for the user and once for the item, so that nothing is stored per
 * interaction. */
struct judged {
    double gap, missed;
};
static inline struct judged judge(const struct inmo_listwise *listwise, int32_t u, const float *user,
                                  const float *item)
{
    double gap = listwise->rest[u] - inmo_kernels()->dot(listwise->dim, user, item) / listwise->temperature;
    return (struct judged){gap, 1 / (1 + exp(-gap))};
}

/* w_ui / (d_u B): the weight of one positive of the user, edge e of the graph, which may be a rank's part; d_u is
 * the sum of w_uj. u is their number in the whole graph. */
static inline double share_of(const struct inmo_listwise *listwise, const struct inmo_graph *graph, int32_t u,
                              int64_t e)
{
    if (!graph->weight)
        return 1 / ((double)inmo_graph_degree(listwise->graph, u) * listwise->count);
    return graph->weight[e] / (listwise->strength[u] * listwise->count);
}

/* w_ui / d_u */
static inline float norm_of(const struct inmo_graph *graph, int32_t u, int64_t e)
{
    return graph->weight ? graph->weight[e] * graph->inverse_degree[u] : graph->inverse_degree[u];
}

/* All that follows uses differences of logarithms, so that widely spread scores neither overflow nor divide by
 * zero. */
double inmo_listwise_negatives(struct inmo_listwise *listwise, int32_t n, float *score)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    double factor = 1 / listwise->temperature, highest, sum;
    highest = factor * kernels->largest(listwise->negatives, score);
    sum = kernels->exponentials(listwise->negatives, (float)factor, (float)highest, score);
    listwise->rest[listwise->who[n]] = highest + log(sum);
    return sum;
}

double inmo_listwise_positives(const struct inmo_listwise *listwise, const struct inmo_graph *graph, int32_t n,
                               int32_t u, const float *r, float *dr, double *spread)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    size_t d = (size_t)listwise->dim;
    const float *row = r + (size_t)listwise->row[u] * d;
    float *gradient = dr + (size_t)listwise->row[u] * d;
    double factor = 1 / listwise->temperature, loss = 0;
    *spread = 0;
    for (int j = 0; j < listwise->dim; j++) {
        gradient[j] = (float)(2 * listwise->l2 / listwise->count * row[j]);
        loss += listwise->l2 / listwise->count * row[j] * row[j];
    }
    for (int64_t e = graph->offset[u]; e < graph->offset[u + 1]; e++) {
        const float *item = r + inmo_listwise_item(listwise, graph, graph->neighbour[e]) * d;
        struct judged judged = judge(listwise, listwise->who[n], row, item);
        double share = share_of(listwise, graph, listwise->who[n], e);
        loss += share * (fmax(judged.gap, 0) + log1p(exp(-fabs(judged.gap))));
        *spread += share * judged.missed;
        kernels->add_scaled(listwise->dim, (float)(-share * factor * judged.missed), item, gradient);
        if (listwise->l2 > 0)
            loss += share * listwise->l2 * kernels->dot(listwise->dim, item, item);
    }
    return loss;
}

/* One user: turns the scores of the negatives into their gradients, and adds the positives' gradient to the user.
 * Returns the loss. */
static double judge_user(struct inmo_listwise *listwise, int32_t n, const float *r, float *score, float *dr)
{
    double sum = inmo_listwise_negatives(listwise, n, score), spread;
    double loss = inmo_listwise_positives(listwise, listwise->graph, n, listwise->who[n], r, dr, &spread);
    for (int32_t j = 0; j < listwise->negatives; j++)
        score[j] *= (float)(spread * (1 / listwise->temperature) / sum);
    return loss;
}

static void run_block(struct inmo_listwise *listwise, const float *r, float *dr, int32_t first, int32_t count,
                      float *space, float *sum)
{
    int dim = listwise->dim, negatives = listwise->negatives;
    size_t d = (size_t)dim, m = (size_t)negatives;
    float *user = space, *score = space + (size_t)inmo_listwise_block(negatives) * d;
    for (int32_t n = 0; n < count; n++)
        memcpy(user + (size_t)n * d, r + (size_t)listwise->row[listwise->who[first + n]] * d, d * sizeof *user);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, negatives, dim, 1, user, dim, listwise->negative,
                dim, 0, score, negatives);
    for (int32_t n = 0; n < count; n++)
        listwise->term[first + n] = judge_user(listwise, first + n, r, score + (size_t)n * m, dr);
    /* gradient of the negatives += score' user; then user = score negative */
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, negatives, dim, count, 1, score, negatives, user, dim, 1,
                sum, dim);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, count, dim, negatives, 1, score, negatives,
                listwise->negative, dim, 0, user, dim);
    for (int32_t n = 0; n < count; n++)
        inmo_kernels()->add_scaled(dim, 1, user + (size_t)n * d,
                                   dr + (size_t)listwise->row[listwise->who[first + n]] * d);
}

/* dr_i = -Σ_{u in N_i, in the batch} w_ui missed_ui / (d_u B T) r_u + 2 λ/B Σ_u w_ui/d_u r_i */
void inmo_listwise_pull_items(const struct inmo_listwise *listwise, const struct inmo_graph *graph, const float *r,
                              float *dr)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    const int32_t *origin = graph->share ? graph->share->origin : NULL;
    size_t d = (size_t)listwise->dim;
    double factor = 1 / listwise->temperature;
    int32_t end = graph->share ? graph->users + graph->share->own_items : graph->nodes;
#pragma omp parallel for schedule(dynamic, 64) num_threads(inmo_threads())
    for (int32_t v = graph->users; v < end; v++) {
        const float *item = r + inmo_listwise_item(listwise, graph, v) * d;
        float *sum = dr + inmo_listwise_item(listwise, graph, v) * d;
        double norms = 0;
        memset(sum, 0, d * sizeof *sum);
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; e++) {
            int32_t u = graph->neighbour[e], number = origin ? origin[u] : u;
            const float *user;
            if (!listwise->in_batch[number])
                continue;
            user = r + (size_t)listwise->row[u] * d;
            kernels->add_scaled(listwise->dim,
                                (float)(-share_of(listwise, graph, number, e) * factor *
                                        judge(listwise, number, user, item).missed),
                                user, sum);
            norms += norm_of(graph, u, e);
        }
        if (listwise->l2 > 0)
            kernels->add_scaled(listwise->dim, (float)(2 * listwise->l2 / listwise->count * norms), item, sum);
    }
}

void inmo_listwise_weights(const struct inmo_listwise *listwise, double factor, float *weight)
{
    const struct inmo_graph *graph = listwise->graph;
#pragma omp parallel for schedule(dynamic, 1024) num_threads(inmo_threads())
    for (int32_t v = 0; v < graph->nodes; v++) {
        int is_user = v < graph->users;
        double sum = is_user ? listwise->in_batch[v] : 0;
        for (int64_t e = graph->offset[v]; !is_user && e < graph->offset[v + 1]; e++)
            if (listwise->in_batch[graph->neighbour[e]])
                sum += norm_of(graph, graph->neighbour[e], e);
        if (!is_user || listwise->row[v] >= 0)
            weight[is_user ? (size_t)listwise->row[v] : inmo_listwise_item(listwise, graph, v)] =
                (float)(factor / listwise->count * sum);
    }
}

double inmo_listwise_run(struct inmo_listwise *listwise, const float *r, float *dr)
{
    const struct inmo_graph *graph = listwise->graph;
    int dim = listwise->dim, threads = inmo_threads();
    size_t d = (size_t)dim, m = (size_t)listwise->negatives;
    int32_t users = inmo_listwise_block(listwise->negatives), blocks = (listwise->count + users - 1) / users;
    double loss = 0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t n = 0; n < m; n++)
        memcpy(listwise->negative + n * d, r + ((size_t)listwise->user_rows + (size_t)listwise->drawn[n]) * d,
               d * sizeof(float));
    inmo_blas_hold(); /* the groups run in parallel instead */
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static)
        for (int32_t u = 0; u < graph->users; u++)
            if (listwise->row[u] >= 0 && !listwise->in_batch[u])
                memset(dr + (size_t)listwise->row[u] * d, 0, d * sizeof *dr);
#pragma omp for schedule(dynamic)
        for (int group = 0; group < GROUPS; group++) {
            float *sum = listwise->sum + (size_t)group * m * d;
            memset(sum, 0, m * d * sizeof *sum);
            for (int32_t b = group; b < blocks; b += GROUPS) {
                int32_t first = b * users, left = listwise->count - first;
                run_block(listwise, r, dr, first, left < users ? left : users,
                          listwise->block + (size_t)group * (size_t)users * (d + m), sum);
            }
        }
        /* adds the groups' sums in order */
#pragma omp for schedule(static)
        for (size_t n = 0; n < m; n++)
            for (size_t group = 1; group < GROUPS; group++)
                inmo_kernels()->add_scaled(dim, 1, listwise->sum + (group * m + n) * d, listwise->sum + n * d);
    }
    inmo_blas_release();
    inmo_listwise_pull_items(listwise, graph, r, dr);
    for (size_t n = 0; n < m; n++) /* an item drawn twice gets both gradients */
        inmo_kernels()->add_scaled(dim, 1, listwise->sum + n * d,
                                   dr + ((size_t)listwise->user_rows + (size_t)listwise->drawn[n]) * d);
    for (int32_t n = 0; n < listwise->count; n++)
        loss += listwise->term[n];
    return loss;
}
