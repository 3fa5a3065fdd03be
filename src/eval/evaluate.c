/* evaluate.c - a model against a data set: representations on the observed graph, full ranking, metrics per group.
 *
 * Interactions used for the test part (for validation in brackets):
 *
 *     graph     train, later unless without_new, and valid if the model has it (train/refit.h)   (train)
 *     masked    train, later, valid                   (train), and what was seen with mask_seen
 *     truth     test                                  (valid)
 *
 * Metrics are summed in the order of the users, so they do not depend on the number of threads. */
#include "base/memory.h"
#include "base/threads.h"
#include "data/dataset.h"
#include "eval/beyond.h"
#include "eval/grown.h"
#include "eval/leak.h"
#include "eval/metrics.h"
#include "eval/settings.h"
#include "score/offer.h"
#include "score/scorer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_GROUPS = 16, MOST_LISTS = 3 };

/* Selects the users and items of a group. */
struct group_rule {
    char name[32];
    const uint8_t *user;  // (users) in the group iff equal to user_value; NULL: all
    uint8_t user_value;
    const uint8_t *item;  // candidates and truth restricted to items equal to item_value; NULL: all
    uint8_t item_value;
    int64_t least, most;  // observed history length
};

struct evaluation {
    const struct inmo_model *model;
    const struct inmo_dataset *data;
    struct inmo_list_lengths lengths;
    struct inmo_graph *graph;
    struct inmo_model_binding bound;
    struct inmo_scorer scorer;
    const struct inmo_csr *truth, *mask[5];
    int masks;
    int32_t *who, count;  // users with truth items
    int32_t *candidate, candidates;
    int32_t *top;     // (count, longest)
    uint8_t *listed;  // (items) in some list
    int32_t *member;  // (count) lists of the group at hand
};

/* What is allocated for a report. The public part comes first, so a pointer to it is a pointer to all. */
struct report {
    struct inmo_report head;
    struct inmo_group group[MOST_GROUPS];
    char name[MOST_GROUPS][32];
    struct inmo_metrics at[MOST_GROUPS][INMO_MOST_KS];
    float user_ndcg[];  // (users)
};

void inmo_report_free(struct inmo_report *report)
{
    inmo_free(report);
}

/* Refuses a scenario that the model cannot handle. */
static enum inmo_status check_scenario(const struct inmo_model *model, const struct inmo_dataset *data, int is_test,
                                       int without_new, struct inmo_error *error)
{
    const struct inmo_model_kind *kind = model->kind;
    if (!is_test || inmo_kind_serves_unseen(kind))
        return INMO_OK;
    if (data->scenario == INMO_NEW_USERS_ITEMS)
        return inmo_fail(
            error, INMO_UNSUPPORTED,
            "%s cannot serve new users and items: it has a learned vector for each one seen in training "
            "and none for others; use %s",
            kind->name, inmo_models_for_unseen());
    if (data->scenario == INMO_NEW_INTERACTIONS && !without_new && !(kind->backbone && kind->backbone->needs_all))
        return inmo_fail(error, INMO_UNSUPPORTED,
                         "%s cannot use new interactions: its vectors do not depend on the graph; evaluate "
                         "`without-new`, or use lightgcn, ngcf, %s",
                         kind->name, inmo_models_for_unseen());
    return INMO_OK;
}

static enum inmo_status choose_candidates(struct evaluation *run, const struct group_rule *rule,
                                          struct inmo_error *error)
{
    inmo_free(run->candidate);
    run->candidate = inmo_alloc((size_t)run->data->items.count, sizeof *run->candidate);
    run->candidates = 0;
    if (!run->candidate)
        return inmo_fail_memory(error, "the candidate items");
    for (int32_t i = 0; i < run->data->items.count; i++)
        if ((!rule->item || rule->item[i] == rule->item_value) && inmo_is_on_offer(run->model, &run->bound, i))
            run->candidate[run->candidates++] = i;
    return INMO_OK;
}

/* Users of whom the model can use nothing get the most popular candidates, as they would from a view. */
static enum inmo_status fall_back(struct evaluation *run, const struct inmo_rank *job, struct inmo_error *error)
{
    int32_t items = run->data->items.count, *order = NULL;
    uint8_t *closed = NULL;
    float *score = NULL;
    enum inmo_status status = INMO_OK;
    for (int32_t n = 0; n < run->count && !status; n++) {
        int32_t *list = run->top + (size_t)n * (size_t)run->lengths.longest;
        struct inmo_top top = {run->lengths.longest, 0, NULL, list};
        if (!inmo_user_falls_back(run->model, &run->bound, run->who[n]))
            continue;
        if (!order) {
            closed = inmo_alloc((size_t)items, 1);
            score = inmo_alloc((size_t)run->lengths.longest, sizeof *score);
            status = closed && score ? inmo_popular_order(run->graph, &order, error)
                                     : inmo_fail_memory(error, "evaluation");
        }
        if (status)
            break;
        memset(closed, job->candidate != NULL, (size_t)items);
        for (int32_t c = 0; job->candidate && c < job->candidates; c++)
            closed[job->candidate[c]] = 0;
        for (int m = 0; m < run->masks; m++)
            for (int64_t e = 0; e < inmo_csr_degree(job->mask[m], run->who[n]); e++)
                closed[job->mask[m]->column[job->mask[m]->offset[run->who[n]] + e]] = 1;
        top.score = score;
        inmo_popular_top(run->graph, order, closed, NULL, 0, &top);
        for (int32_t j = top.count; j < run->lengths.longest; j++)
            list[j] = -1;
    }
    inmo_free(score);
    inmo_free(closed);
    inmo_free(order);
    return status;
}

static enum inmo_status rank_all(struct evaluation *run, const struct group_rule *rule,
                                 const struct inmo_hooks *hooks, struct inmo_error *error)
{
    struct inmo_rank job = {
        .who = run->who,
        .count = run->count,
        .k = run->lengths.longest,
        .top_item = run->top,
        .spread = 1,
    };
    enum inmo_status status = choose_candidates(run, rule, error);
    if (status)
        return status;
    inmo_scorer_source(&run->scorer, &job);
    memcpy(job.mask, run->mask, sizeof job.mask);
    if (run->candidates < job.items) {
        job.candidate = run->candidate;
        job.candidates = run->candidates;
    }
    status = inmo_rank(&job, hooks, error);
    return status ? status : fall_back(run, &job, error);
}

static int in_group(const struct evaluation *run, const struct group_rule *rule, int32_t u)
{
    int64_t history = inmo_graph_degree(run->graph, u);
    return (!rule->user || rule->user[u] == rule->user_value) && history >= rule->least && history <= rule->most;
}

/* Computes the metrics of a group from the lists in run->top. truth is scratch space for a user's test items in the
 * group. */
static enum inmo_status judge_group(struct evaluation *run, const struct group_rule *rule, int32_t *truth,
                                    struct report *report, struct inmo_error *error)
{
    size_t g = report->head.group_count;
    int32_t users = 0;
    enum inmo_status status = INMO_OK;
    memset(report->at[g], 0, sizeof report->at[g]);
    for (int32_t n = 0; n < run->count; n++) {
        int32_t u = run->who[n];
        int64_t wanted = 0;
        double before = report->at[g][0].ndcg;
        if (!in_group(run, rule, u))
            continue;
        for (int64_t e = run->truth->offset[u]; e < run->truth->offset[u + 1]; e++)
            if (!rule->item || rule->item[run->truth->column[e]] == rule->item_value)
                truth[wanted++] = run->truth->column[e];
        if (wanted == 0)
            continue;
        run->member[users++] = n;
        for (int j = 0; j < run->lengths.count; j++)
            inmo_metrics_add(run->top + (size_t)n * (size_t)run->lengths.longest, run->lengths.k[j], truth, wanted,
                             &report->at[g][j]);
        if (g == 0)
            report->user_ndcg[u] = (float)(report->at[g][0].ndcg - before);
    }
    for (int j = 0; j < run->lengths.count; j++) {
        int64_t listed = 0;
        memset(run->listed, 0, (size_t)run->data->items.count);
        for (int32_t n = 0; n < run->count; n++)
            for (int p = 0; p < run->lengths.k[j] && in_group(run, rule, run->who[n]); p++)
                if (run->top[(size_t)n * (size_t)run->lengths.longest + (size_t)p] >= 0)
                    run->listed[run->top[(size_t)n * (size_t)run->lengths.longest + (size_t)p]] = 1;
        for (int32_t i = 0; i < run->data->items.count; i++)
            listed += run->listed[i];
        inmo_metrics_mean(&report->at[g][j], users);
        report->at[g][j].k = run->lengths.k[j];
        report->at[g][j].coverage = run->candidates > 0 ? (double)listed / run->candidates : 0;
        if (!status)
            status = inmo_beyond_mean(run->graph, run->top, run->lengths.longest, run->member, users,
                                      run->lengths.k[j], &report->at[g][j], error);
    }
    if (status || (users == 0 && g > 0))
        return status;
    memcpy(report->name[g], rule->name, sizeof rule->name);
    report->group[g] = (struct inmo_group){report->name[g], users, report->at[g]};
    report->head.group_count++;
    return INMO_OK;
}

static enum inmo_status judge(struct evaluation *run, int is_test, const struct inmo_hooks *hooks,
                              struct report *report, struct inmo_error *error)
{
    static const int64_t bound[] = {0, 10, 20, 50, 100, INT64_MAX};
    const struct inmo_dataset *data = run->data;
    int inductive = is_test && data->scenario == INMO_NEW_USERS_ITEMS;
    struct group_rule rule = {.name = "all", .most = INT64_MAX};
    int32_t *truth = inmo_alloc((size_t)data->items.count, sizeof *truth);
    enum inmo_status status = truth ? INMO_OK : inmo_fail_memory(error, "the test items");
    if (!status)
        status = rank_all(run, &rule, hooks, error);
    if (status)
        goto done;
    status = judge_group(run, &rule, truth, report, error);
    for (int is_new = 1; is_new >= 0 && inductive && !status; is_new--) {
        struct group_rule users = {.user = data->new_user, .user_value = (uint8_t)is_new, .most = INT64_MAX};
        snprintf(users.name, sizeof users.name, "%s-users", is_new ? "new" : "old");
        status = judge_group(run, &users, truth, report, error);
    }
    for (size_t b = 0; b + 1 < sizeof bound / sizeof *bound && !status; b++) {
        struct group_rule history = {.least = bound[b], .most = bound[b + 1] - 1};
        if (bound[b + 1] == INT64_MAX)
            snprintf(history.name, sizeof history.name, "history %d+", (int)bound[b]);
        else
            snprintf(history.name, sizeof history.name, "history %d-%d", (int)bound[b], (int)bound[b + 1] - 1);
        status = judge_group(run, &history, truth, report, error);
    }
    for (int is_new = 1; is_new >= 0 && inductive && !status; is_new--) {
        struct group_rule items = {.item = data->new_item, .item_value = (uint8_t)is_new, .most = INT64_MAX};
        snprintf(items.name, sizeof items.name, "%s-items", is_new ? "new" : "old");
        status = rank_all(run, &items, hooks, error);
        if (!status)
            status = judge_group(run, &items, truth, report, error);
    }
done:
    inmo_free(truth);
    return status;
}

static enum inmo_status get_ready(struct evaluation *run, double alpha, struct inmo_error *error)
{
    run->top = inmo_alloc((size_t)run->count * (size_t)run->lengths.longest, sizeof *run->top);
    run->listed = inmo_alloc((size_t)run->data->items.count, 1);
    run->member = inmo_alloc((size_t)run->count, sizeof *run->member);
    if (!run->top || !run->listed || !run->member)
        return inmo_fail_memory(error, "evaluation");
    return inmo_scorer_open(&run->scorer, run->model, &run->bound, alpha, 0, error);
}

/* Chooses the interactions of the test (see above); list: those of its graph. The caller frees seen. */
static enum inmo_status choose_parts(struct evaluation *run, const struct inmo_eval_options *options, int is_test,
                                     struct inmo_csr *seen, struct inmo_csr *list, size_t *lists,
                                     struct inmo_error *error)
{
    const struct inmo_dataset *data = run->data;
    run->truth = is_test ? &data->test : &data->valid;
    if (inmo_csr_count(run->truth) == 0)
        return inmo_fail(error, INMO_INPUT, "the data set has no %s interactions to evaluate on", options->part);
    run->mask[run->masks++] = &data->train;
    if (options->mask_seen && data->seen.offset) {
        if (inmo_csr_trim(&data->seen, data->users.count, data->items.count, seen) != 0)
            return inmo_fail_memory(error, "what was seen");
        run->mask[run->masks++] = seen;
    }
    list[(*lists)++] = data->train;
    if (is_test) {
        run->mask[run->masks++] = &data->valid;
        run->mask[run->masks++] = &data->later;
        run->mask[run->masks++] = &data->aside;
        if (!options->without_new)
            list[(*lists)++] = data->later;
        if (run->model->refitted)
            list[(*lists)++] = data->valid;
    }
    for (size_t n = 0; n < *lists && !run->model->train.weight; n++) /* it was trained without weights */
        list[n].weight = NULL;
    return INMO_OK;
}

/* Builds the graph, and checks that the model has not learned what it is asked for. */
static enum inmo_status observe(struct evaluation *run, const struct inmo_eval_options *options, int is_test,
                                const struct inmo_csr *list, size_t lists, struct inmo_error *error)
{
    const struct inmo_dataset *data = run->data;
    const struct inmo_model *model = run->model;
    const struct inmo_csr *observed[MOST_LISTS];
    struct inmo_leaks leaks;
    enum inmo_status status;
    for (size_t n = 0; n < lists; n++)
        observed[n] = &list[n];
    status = inmo_graph_build(data->users.count, data->items.count, observed, lists, &run->graph, error);
    if (!status)
        status = inmo_model_bind(model, run->graph, &data->users, &data->items, &run->bound, error);
    /* What is only in the graph of a refitted model was not learned from (train/refit.h). */
    if (!status && !options->allow_leaks && (is_test || model->refitted != INMO_REFIT_GRAPH)) {
        inmo_leaks_count(model, run->bound.model_user, run->bound.model_item, run->truth, &leaks);
        status = inmo_leaks_check(&leaks, is_test, error);
    }
    if (!status)
        status = inmo_rank_users(run->truth, &run->who, &run->count, error);
    return status;
}

static enum inmo_status make_report(struct evaluation *run, int is_test, const struct inmo_hooks *hooks,
                                    struct report **out, struct inmo_error *error)
{
    int32_t users = run->data->users.count;
    struct report *report = inmo_alloc_zero(1, sizeof *report + (size_t)users * sizeof *report->user_ndcg);
    enum inmo_status status;
    if (!report)
        return inmo_fail_memory(error, "the report");
    for (int32_t u = 0; u < users; u++)
        report->user_ndcg[u] = NAN;
    status = judge(run, is_test, hooks, report, error);
    if (status) {
        inmo_free(report);
        return status;
    }
    report->head.k_count = (size_t)run->lengths.count;
    report->head.group = report->group;
    report->head.user_ndcg = report->user_ndcg;
    *out = report;
    return INMO_OK;
}

enum inmo_status inmo_evaluate(const struct inmo_model *model, const struct inmo_dataset *data,
                               const struct inmo_eval_options *options, const struct inmo_hooks *hooks,
                               struct inmo_report **out, struct inmo_error *error)
{
    struct inmo_eval_options filled;
    struct inmo_model as_asked = *model; /* a shallow copy: what a score is made of may change */
    struct evaluation run = {.model = &as_asked, .data = data};
    struct report *report = NULL;
    struct inmo_csr list[MOST_LISTS], seen = {0}; /* seen: among the data set's own users and items */
    double start = inmo_now(), inference_start, inference_seconds, alpha = inmo_model_alpha(model);
    size_t lists = 0;
    int is_test = 0;
    enum inmo_status status = inmo_eval_options_fill(options, &filled, &run.lengths, error);
    if (!status)
        status = inmo_eval_weights(&filled, &as_asked, error);
    if (!status) {
        is_test = strcmp(filled.part, "test") == 0;
        status = check_scenario(model, data, is_test, filled.without_new, error);
    }
    if (!status)
        status = choose_parts(&run, &filled, is_test, &seen, list, &lists, error);
    if (status)
        goto done;
    if (filled.eval_alpha)
        alpha = strcmp(filled.eval_alpha, "one") == 0 ? 1 : model->alpha_reached;
    if (!is_test && model->refitted == INMO_REFIT_GRAPH)
        as_asked.linked = NULL; /* vectors have not seen this part, but links have: they are solved without it */
    inference_start = inmo_now();
    if (model->train.weight && !data->train.weight)
        inmo_note(hooks, INMO_NOTE, "the model was trained with weights and the data has none: all count alike");
    status = observe(&run, &filled, is_test, list, lists, error);
    if (!status && filled.walks < 0 && filled.links < 0) /* as the data's log has grown */
        status = inmo_weigh_grown(&as_asked, &run.bound, 0, alpha, hooks, error);
    if (!status)
        status = get_ready(&run, alpha, error);
    inference_seconds = inmo_now() - inference_start;
    if (!status)
        status = make_report(&run, is_test, hooks, &report, error);
    if (status)
        goto done;
    report->head.seconds = inmo_now() - start;
    report->head.inference_seconds = inference_seconds;
    *out = &report->head;
done:
    inmo_free(run.candidate);
    inmo_free(run.member);
    inmo_free(run.listed);
    inmo_free(run.top);
    inmo_scorer_close(&run.scorer);
    inmo_free(run.who);
    inmo_model_unbind(&run.bound);
    inmo_graph_free(run.graph);
    inmo_csr_free(&seen);
    return status;
}
