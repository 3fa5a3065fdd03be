/* validate.c - see validate.h. */
#include "eval/validate.h"

#include "base/memory.h"
#include "base/random.h"
#include "eval/metrics.h"
#include "graph/share.h"

struct inmo_validation {
    const struct inmo_csr *truth, *seen;
    int k;
    int32_t *who, count;
    int32_t *top;                    // (count, k)
    int32_t *candidate, candidates;  // NULL: all items
};

void inmo_validation_free(struct inmo_validation *validation)
{
    if (!validation)
        return;
    inmo_free(validation->candidate);
    inmo_free(validation->top);
    inmo_free(validation->who);
    inmo_free(validation);
}

static enum inmo_status choose_seen(struct inmo_validation *validation, struct inmo_error *error)
{
    const struct inmo_csr *seen = validation->seen;
    uint8_t *has = inmo_alloc_zero((size_t)seen->columns, 1);
    validation->candidate = inmo_alloc((size_t)seen->columns, sizeof(int32_t));
    if (!has || !validation->candidate) {
        inmo_free(has);
        return inmo_fail_memory(error, "validation");
    }
    for (int64_t e = 0; e < inmo_csr_count(seen); e++)
        has[seen->column[e]] = 1;
    for (int32_t i = 0; i < seen->columns; i++)
        if (has[i])
            validation->candidate[validation->candidates++] = i;
    inmo_free(has);
    return INMO_OK;
}

enum inmo_status inmo_validation_new(const struct inmo_csr *truth, const struct inmo_csr *seen, int k,
                                     int only_seen, struct inmo_validation **out, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_validation *validation = inmo_alloc_zero(1, sizeof *validation);
    if (!validation)
        return inmo_fail_memory(error, "validation");
    validation->truth = truth;
    validation->seen = seen;
    validation->k = k;
    status = inmo_rank_users(truth, &validation->who, &validation->count, error);
    if (!status) {
        validation->top = inmo_alloc((size_t)validation->count * (size_t)k, sizeof(int32_t));
        if (!validation->top)
            status = inmo_fail_memory(error, "validation");
    }
    if (!status && only_seen)
        status = choose_seen(validation, error);
    if (status)
        inmo_validation_free(validation);
    else
        *out = validation;
    return status;
}

void inmo_validation_sample(struct inmo_validation *validation, int32_t most, uint64_t seed)
{
    uint64_t key = inmo_key(seed, INMO_STREAM_VALIDATION);
    if (most <= 0 || most >= validation->count)
        return;
    for (int32_t n = 0; n < most; n++) { /* a partial shuffle, sorted again below */
        int32_t other =
            n + (int32_t)inmo_random_below(inmo_random(key, (uint64_t)n), (uint32_t)(validation->count - n));
        int32_t kept = validation->who[n];
        validation->who[n] = validation->who[other];
        validation->who[other] = kept;
    }
    validation->count = (int32_t)inmo_ascending(validation->who, most);
}

static int32_t first_of(const void *job, int rank)
{
    return inmo_rank_first(job, rank);
}

/* Brings the vectors of the users whom this rank ranks for, from the ranks that have them. */
static enum inmo_status fetch_users(const struct inmo_scorer *scorer, const struct inmo_rank *job, float **user,
                                    struct inmo_error *error)
{
    const struct inmo_share *share = scorer->bound->binding.graph->share;
    int32_t count = first_of(job, inmo_own_rank() + 1) - first_of(job, inmo_own_rank());
    int32_t *node = inmo_alloc((size_t)job->count, sizeof *node);
    enum inmo_status status = INMO_OK;
    *user = inmo_alloc((size_t)count * (size_t)job->dim, sizeof **user);
    if (!node || !*user)
        status = inmo_fail_memory(error, "validation");
    for (int32_t n = 0; !status && n < job->count; n++)
        node[n] = inmo_graph_place(share->whole, job->who[n]);
    if (!status)
        status = inmo_share_deliver(share, node, first_of, job, (size_t)job->dim * sizeof **user, scorer->r, *user,
                                    error);
    inmo_free(node);
    return status;
}

enum inmo_status inmo_validation_ndcg(struct inmo_validation *validation, const struct inmo_scorer *scorer,
                                      const struct inmo_hooks *hooks, double *ndcg, struct inmo_error *error)
{
    const struct inmo_csr *truth = validation->truth;
    struct inmo_metrics sum = {0};
    struct inmo_rank job = {
        .who = validation->who,
        .count = validation->count,
        .mask = {validation->seen},
        .candidate = validation->candidates < truth->columns ? validation->candidate : NULL,
        .candidates = validation->candidates,
        .k = validation->k,
        .top_item = validation->top,
        .spread = 1,
    };
    enum inmo_status status = INMO_OK;
    float *user = NULL;
    inmo_scorer_source(scorer, &job);
    if (scorer->bound->divided) {
        status = fetch_users(scorer, &job, &user, error);
        job.user = user;
        job.by_turn = 1;
    }
    if (!status)
        status = inmo_rank(&job, hooks, error);
    inmo_free(user);
    if (status)
        return status;
    for (int32_t n = 0; n < validation->count; n++) {
        int32_t u = validation->who[n];
        inmo_metrics_add(validation->top + (size_t)n * (size_t)validation->k, validation->k,
                         truth->column + truth->offset[u], inmo_csr_degree(truth, u), &sum);
    }
    inmo_metrics_mean(&sum, validation->count);
    *ndcg = sum.ndcg;
    return INMO_OK;
}

/* Every n-th user, so that at most `most` remain. */
static enum inmo_status thin_out(const struct inmo_validation *validation, int32_t most, int32_t **who,
                                 int32_t *count, struct inmo_error *error)
{
    int32_t step = (validation->count + most - 1) / most;
    *count = 0;
    *who = inmo_alloc((size_t)validation->count, sizeof **who);
    if (!*who)
        return inmo_fail_memory(error, "validation");
    for (int32_t n = 0; n < validation->count; n += step)
        (*who)[(*count)++] = validation->who[n];
    return INMO_OK;
}

static struct inmo_weighing weighing_of(const struct inmo_validation *validation, const struct inmo_scorer *scorer,
                                        const int32_t *who, int32_t count)
{
    return (struct inmo_weighing){.scorer = scorer,
                                  .truth = validation->truth,
                                  .seen = validation->seen,
                                  .who = who,
                                  .count = count,
                                  .k = validation->k,
                                  .only_seen = validation->candidate != NULL};
}

enum inmo_status inmo_validation_weigh(const struct inmo_validation *validation, int32_t most,
                                       struct inmo_scorer *scorer, double walks, double links, double prior,
                                       struct inmo_weights *weights, struct inmo_error *error)
{
    struct inmo_weighing weighing;
    int32_t *who = NULL, count = 0;
    enum inmo_status status = thin_out(validation, most, &who, &count, error);
    if (!status) {
        weighing = weighing_of(validation, scorer, who, count);
        weighing.walks = walks;
        weighing.links = links;
        weighing.prior = prior;
        status = inmo_weigh(&weighing, weights, error);
    }
    if (!status && scorer->beside.walks)
        scorer->beside.walks->factor = (float)weights->walks;
    if (!status && scorer->beside.links)
        scorer->beside.links->factor = (float)weights->links;
    if (!status && scorer->beside.prior)
        scorer->beside.prior->factor = (float)weights->prior;
    inmo_free(who);
    return status;
}

enum inmo_status inmo_validation_links_ndcg(const struct inmo_validation *validation,
                                            const struct inmo_scorer *scorer, const struct inmo_links *links,
                                            float *ndcg, int32_t *count, struct inmo_error *error)
{
    struct inmo_weighing weighing;
    int32_t *who = NULL;
    enum inmo_status status = thin_out(validation, INMO_WEIGH_USERS, &who, count, error);
    if (!status) {
        weighing = weighing_of(validation, scorer, who, *count);
        status = inmo_weigh_links_alone(&weighing, links, ndcg, error);
    }
    inmo_free(who);
    return status;
}
