/* weigh.c - see weigh.h. A weight is a multiple of a unit: with weight 1, the 20 largest sums of a history are on
 * average one standard deviation of its products. So the weights tried suit vectors of any length. */
#include "eval/weigh.h"

#include "base/memory.h"
#include "base/threads.h"
#include "eval/metrics.h"
#include "eval/weigh_reach.h"
#include "eval/weigh_trial.h"
#include "kernel/kernel.h"

#include <cblas.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { BLOCK_SCORES = 2 << 20, BLOCK_USERS = 64, UNIT_USERS = 512, MOST_K = 64 };

static const double multiple[] = {0, 0.25, 0.5, 1, 2, 4, 8, 16, 32};
enum { MULTIPLES = sizeof multiple / sizeof *multiple, MOST_TRIALS = MULTIPLES * MULTIPLES };
/* A prior must be better than none by so many standard errors of the difference. Where histories are long it is
 * worse at every weight, so less than for other choices is enough (docs/choices.md). */
static const double standard_errors = 2;

struct weigher {
    const struct inmo_weighing *weighing;
    struct inmo_reach reach;  // what is weighed
    int32_t trials;
    float walk_factor[MOST_TRIALS], link_factor[MOST_TRIALS], prior_factor[MOST_TRIALS];
    float *ndcg;   // (users, trials)
    double *unit;  // (users, 3) spread of the products, heads of the walks and of the links
};

static int32_t block_users(int32_t items)
{
    int32_t users = BLOCK_SCORES / (items > 0 ? items : 1);
    return users < 1 ? 1 : users > BLOCK_USERS ? BLOCK_USERS : users;
}

/* Mean of the k largest of count values. */
static double mean_of_largest(const float *value, int32_t count, int k)
{
    float score[MOST_K];
    int32_t item[MOST_K];
    struct inmo_top top = {k, 0, score, item};
    double sum = 0;
    for (int32_t n = 0; n < count; n++)
        inmo_top_add(&top, value[n], n);
    for (int32_t n = 0; n < top.count; n++)
        sum += score[n];
    return top.count > 0 ? sum / k : 0;
}

static double spread_of(const float *score, int32_t items)
{
    double sum = 0, squares = 0;
    for (int32_t i = 0; i < items; i++) {
        sum += score[i];
        squares += (double)score[i] * score[i];
    }
    sum /= items;
    return sqrt(fmax(squares / items - sum * sum, 0));
}

/* Tries all weights for one user. */
static void try_user(const struct weigher *weigher, int32_t n, int32_t count, const float *score,
                     const struct inmo_reach_space *space)
{
    const struct inmo_weighing *weighing = weigher->weighing;
    const struct inmo_csr *truth = weighing->truth;
    int32_t u = weighing->who[n], items = weighing->scorer->graph->items, rest_item[MOST_K], item[MOST_K];
    float rest_score[MOST_K], best[MOST_K];
    struct inmo_reached reached = {count,       space->item, space->place, space->product,
                                   space->walk, space->link, space->prior};
    struct inmo_top rest = {weighing->k, 0, rest_score, rest_item}, top = {weighing->k, 0, best, item};
    for (int32_t i = 0; i < items; i++) /* items that neither reaches keep their place whatever the weights */
        if (score[i] > inmo_top_bound(&rest))
            inmo_top_add(&rest, score[i], i);
    for (int32_t t = 0; t < weigher->trials; t++) {
        struct inmo_metrics metrics = {0};
        inmo_weigh_rank(
            &reached, &rest,
            (struct inmo_factors){weigher->walk_factor[t], weigher->link_factor[t], weigher->prior_factor[t]},
            &top);
        for (int32_t m = top.count; m < weighing->k; m++)
            item[m] = -1;
        inmo_metrics_add(item, weighing->k, truth->column + truth->offset[u], inmo_csr_degree(truth, u), &metrics);
        weigher->ndcg[(size_t)n * (size_t)weigher->trials + (size_t)t] = (float)metrics.ndcg;
    }
}

/* The memory of one thread. */
struct space {
    float *user, *score;  // (block, dim), (block, items)
    struct inmo_reach_space reach;
};

static void space_free(struct space *space)
{
    inmo_reach_space_free(&space->reach);
    inmo_free(space->score);
    inmo_free(space->user);
}

static int space_make(struct space *space, int32_t block, const struct inmo_scorer *scorer)
{
    size_t users = (size_t)block;
    space->user = inmo_alloc(users * (size_t)scorer->dim, sizeof *space->user);
    space->score = inmo_alloc(users * (size_t)scorer->graph->items, sizeof *space->score);
    return inmo_reach_space_make(&space->reach, scorer->graph->items) == 0 && space->user && space->score ? 0 : -1;
}

static void run_block(const struct weigher *weigher, int32_t first, int32_t count, int by_vectors, int for_unit,
                      struct space *space)
{
    const struct inmo_scorer *scorer = weigher->weighing->scorer;
    int32_t items = scorer->graph->items;
    size_t dim = (size_t)scorer->dim;
    for (int32_t n = 0; n < count; n++)
        memcpy(space->user + (size_t)n * dim, scorer->r + (size_t)weigher->weighing->who[first + n] * dim,
               dim * sizeof(float));
    if (by_vectors)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, items, scorer->dim, 1, space->user, scorer->dim,
                    scorer->r + (size_t)scorer->graph->users * dim, scorer->dim, 0, space->score, items);
    else
        memset(space->score, 0, (size_t)count * (size_t)items * sizeof *space->score);
    for (int32_t n = 0; n < count; n++) {
        float *score = space->score + (size_t)n * (size_t)items;
        double *unit = weigher->unit + 3 * (size_t)(first + n);
        int32_t found;
        if (for_unit)
            unit[0] = spread_of(score, items);
        found = inmo_reach_gather(&weigher->reach, weigher->weighing->who[first + n], score, &space->reach);
        if (for_unit) {
            unit[1] = mean_of_largest(space->reach.walk, found, weigher->weighing->k);
            unit[2] = mean_of_largest(space->reach.link, found, weigher->weighing->k);
        } else {
            try_user(weigher, first + n, found, score, &space->reach);
        }
    }
}

/* Runs over the first `count` users. Each writes only what is its own, so threads change nothing. */
static enum inmo_status run_over(const struct weigher *weigher, int32_t count, int by_vectors, int for_unit,
                                 struct inmo_error *error)
{
    const struct inmo_scorer *scorer = weigher->weighing->scorer;
    int32_t block = block_users(scorer->graph->items);
    atomic_int failed = 0;
    inmo_blas_hold();
#pragma omp parallel num_threads(inmo_threads())
    {
        struct space space;
        int ready = space_make(&space, block, scorer) == 0;
        if (!ready)
            atomic_store(&failed, 1);
#pragma omp for schedule(dynamic)
        for (int32_t first = 0; first < count; first += block)
            if (ready && !atomic_load(&failed))
                run_block(weigher, first, count - first < block ? count - first : block, by_vectors, for_unit,
                          &space);
        space_free(&space);
    }
    inmo_blas_release();
    return atomic_load(&failed) ? inmo_fail_memory(error, "weighing the parts of a score") : INMO_OK;
}

static enum inmo_status set_up(struct weigher *weigher, struct inmo_error *error)
{
    const struct inmo_weighing *weighing = weigher->weighing;
    const struct inmo_graph *graph = weighing->scorer->graph;
    weigher->reach.graph = graph;
    weigher->reach.seen = weighing->seen;
    weigher->unit = inmo_alloc_zero(3 * (size_t)weighing->count, sizeof *weigher->unit);
    weigher->ndcg = inmo_alloc((size_t)weighing->count * MOST_TRIALS, sizeof *weigher->ndcg);
    weigher->reach.closed = weighing->only_seen ? inmo_alloc_zero((size_t)graph->items, 1) : NULL;
    if (!weigher->unit || !weigher->ndcg || (weighing->only_seen && !weigher->reach.closed))
        return inmo_fail_memory(error, "weighing the parts of a score");
    for (int32_t i = 0; weigher->reach.closed && i < graph->items; i++)
        weigher->reach.closed[i] = inmo_graph_degree(graph, graph->users + i) == 0;
    return INMO_OK;
}

static void tear_down(struct weigher *weigher)
{
    inmo_free(weigher->reach.closed);
    inmo_free(weigher->ndcg);
    inmo_free(weigher->unit);
}

/* All pairs of weights: multiples of the units where they are to be chosen, else what is given. */
static void plan_trials(struct weigher *weigher, int32_t users, float prior)
{
    const struct inmo_weighing *weighing = weigher->weighing;
    double sum[3] = {0}, walk_unit, link_unit;
    for (int32_t n = 0; n < users; n++)
        for (int part = 0; part < 3; part++)
            sum[part] += weigher->unit[3 * (size_t)n + (size_t)part];
    walk_unit = sum[1] > 0 ? sum[0] / sum[1] : 0;
    link_unit = sum[2] > 0 ? sum[0] / sum[2] : 0;
    weigher->trials = 0;
    for (int w = 0; w < (weighing->walks < 0 && walk_unit > 0 ? MULTIPLES : 1); w++)
        for (int l = 0; l < (weighing->links < 0 && link_unit > 0 ? MULTIPLES : 1); l++) {
            weigher->prior_factor[weigher->trials] = prior;
            weigher->walk_factor[weigher->trials] =
                (float)(weighing->walks < 0 ? multiple[w] * walk_unit : weighing->walks);
            weigher->link_factor[weigher->trials++] =
                (float)(weighing->links < 0 ? multiple[l] * link_unit : weighing->links);
        }
}

/* The trial with the highest mean; the first of equals, so smaller weights. */
static int32_t best_trial(const struct weigher *weigher, double *ndcg)
{
    int32_t best = 0;
    for (int32_t t = 0; t < weigher->trials; t++) {
        double sum = 0;
        for (int32_t n = 0; n < weigher->weighing->count; n++)
            sum += weigher->ndcg[(size_t)n * (size_t)weigher->trials + (size_t)t];
        if (t == 0 || sum > *ndcg) {
            best = t;
            *ndcg = sum;
        }
    }
    *ndcg /= weigher->weighing->count;
    return best;
}

/* Tries the pairs of weights beside a prior of this weight. */
static enum inmo_status weigh_pairs(struct weigher *weigher, int32_t users, float prior,
                                    struct inmo_weights *weights, struct inmo_error *error)
{
    enum inmo_status status;
    int32_t best;
    plan_trials(weigher, users, prior);
    status = run_over(weigher, weigher->weighing->count, 1, 0, error);
    if (status)
        return status;
    best = best_trial(weigher, &weights->ndcg);
    for (int32_t n = 0; weigher->weighing->ndcg && n < weigher->weighing->count; n++)
        weigher->weighing->ndcg[n] = weigher->ndcg[(size_t)n * (size_t)weigher->trials + (size_t)best];
    *weights = (struct inmo_weights){(double)weigher->walk_factor[best], (double)weigher->link_factor[best],
                                     (double)prior, weights->ndcg};
    return INMO_OK;
}

/* Whether a trial is better than the first by more than chance. */
static int is_clear(const struct weigher *weigher, int32_t trial)
{
    double sum = 0, squares = 0, users = weigher->weighing->count;
    for (int32_t n = 0; n < weigher->weighing->count; n++) {
        const float *ndcg = weigher->ndcg + (size_t)n * (size_t)weigher->trials;
        double difference = (double)ndcg[trial] - ndcg[0];
        sum += difference;
        squares += difference * difference;
    }
    return sum > standard_errors * sqrt(fmax(squares - sum * sum / users, 0));
}

/* Tries priors beside the walks and links that were chosen without one, and if one is clearly better, all pairs of
 * weights of these once more beside it. */
static enum inmo_status weigh_prior(struct weigher *weigher, int32_t users, struct inmo_weights *weights,
                                    struct inmo_error *error)
{
    const struct inmo_prior *prior = weigher->reach.prior;
    double spread = 0, head = mean_of_largest(prior->value, prior->count, weigher->weighing->k), ndcg;
    enum inmo_status status;
    int32_t best;
    for (int32_t n = 0; n < users; n++)
        spread += weigher->unit[3 * (size_t)n] / users;
    if (!(head > 0) || !(spread > 0))
        return INMO_OK;
    for (weigher->trials = 0; weigher->trials < MULTIPLES; weigher->trials++) {
        weigher->walk_factor[weigher->trials] = (float)weights->walks;
        weigher->link_factor[weigher->trials] = (float)weights->links;
        weigher->prior_factor[weigher->trials] = (float)(multiple[weigher->trials] * spread / head);
    }
    status = run_over(weigher, weigher->weighing->count, 1, 0, error);
    if (status)
        return status;
    best = best_trial(weigher, &ndcg);
    return is_clear(weigher, best) ? weigh_pairs(weigher, users, weigher->prior_factor[best], weights, error)
                                   : INMO_OK;
}

enum inmo_status inmo_weigh(const struct inmo_weighing *weighing, struct inmo_weights *weights,
                            struct inmo_error *error)
{
    const struct inmo_beside *beside = &weighing->scorer->beside;
    struct weigher weigher = {.weighing = weighing, .reach = {.links = beside->links, .walks = beside->walks}};
    struct inmo_walks walks;
    struct inmo_links links;
    int32_t users = weighing->count < UNIT_USERS ? weighing->count : UNIT_USERS;
    enum inmo_status status = set_up(&weigher, error);
    if (weigher.reach.walks) { /* by units of their own */
        walks = *weigher.reach.walks;
        walks.factor = 1;
        weigher.reach.walks = &walks;
    }
    if (weigher.reach.links) {
        links = *weigher.reach.links;
        links.factor = 1;
        weigher.reach.links = &links;
    }
    if (!status)
        status = run_over(&weigher, users, 1, 1, error);
    if (!status && weighing->prior > 0)
        weigher.reach.prior = beside->prior;
    if (!status)
        status = weigh_pairs(&weigher, users, (float)fmax(weighing->prior, 0), weights, error);
    if (!status && weighing->prior < 0 && beside->prior) {
        weigher.reach.prior = beside->prior;
        status = weigh_prior(&weigher, users, weights, error);
    }
    tear_down(&weigher);
    return status;
}

enum inmo_status inmo_weigh_links_alone(const struct inmo_weighing *weighing, const struct inmo_links *links,
                                        float *ndcg, struct inmo_error *error)
{
    struct weigher weigher = {.weighing = weighing, .reach = {.links = links}, .trials = 1, .link_factor = {1}};
    enum inmo_status status = set_up(&weigher, error);
    if (!status)
        status = run_over(&weigher, weighing->count, 0, 0, error);
    if (!status)
        memcpy(ndcg, weigher.ndcg, (size_t)weighing->count * sizeof *ndcg);
    tear_down(&weigher);
    return status;
}
