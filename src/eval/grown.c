/* grown.c - see grown.h. */
#include "eval/grown.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "eval/metrics.h"
#include "eval/weigh.h"
#include "ranks/ranks.h"
#include "score/link_spectrum.h"
#include "score/links.h"

#include <math.h>
#include <string.h>

enum {
    VALIDATION_K = 20,
    MOST_FOR_SPECTRUM = 1 << 19, /* interactions; beyond, a decomposition takes seconds and has not helped */
    MOST_FOR_DRAWS = 1 << 17,    /* what is held out of a larger log decides with certainty enough */
    DRAWS = 4,
};

/* Weights of the spectrum that are tried as long as each is better than the one before, in units: with 1 it adds as
 * much to links as they have. */
static const double units[] = {0.5, 1, 2, 4};
enum { UNITS = sizeof units / sizeof *units };

/* Other weights must be better than those of training by so many standard errors of the difference. */
static const double standard_errors = 1;

/* A grown log without the part that is held out, and what is compared on that. */
struct trial {
    struct inmo_csr kept, truth;
    struct inmo_graph *graph;         // of what is kept
    struct inmo_model_binding bound;  // of the whole graph, but for the graph
    struct inmo_scorer scorer;
    int32_t *who, count;          // users of the sample
    float *before, *now, *best;   // (count) their NDCG: as trained, just tried, best so far
    struct inmo_weights weights;  // the best ones
    double spectrum, highest;     // and theirs
};

/* The validation interactions: parameters have not seen them. */
static const struct inmo_csr *untrained_of(const struct inmo_model *model)
{
    return model->refitted == INMO_REFIT_GRAPH ? &model->untrained : &model->valid;
}

/* Whether the training record says that validation chose this. */
static int was_chosen(const struct inmo_model *model, const char *setting)
{
    const char *chosen = model->record ? strstr(model->record, "\"chosen\": {") : NULL;
    const char *end = chosen ? strchr(chosen, '}') : NULL, *found = chosen ? strstr(chosen, setting) : NULL;
    return found && end && found < end;
}

static void trial_close(struct trial *trial)
{
    inmo_free(trial->best);
    inmo_free(trial->now);
    inmo_free(trial->before);
    inmo_free(trial->who);
    inmo_scorer_close(&trial->scorer);
    inmo_graph_free(trial->graph);
    inmo_csr_free(&trial->truth);
    inmo_csr_free(&trial->kept);
}

enum inmo_status inmo_grown_divide(const struct inmo_model *model, const struct inmo_model_binding *bound,
                                   int is_all, int draw, struct inmo_csr *kept, struct inmo_csr *out,
                                   struct inmo_error *error)
{
    const struct inmo_graph *graph = bound->graph;
    const struct inmo_csr *untrained = untrained_of(model);
    int64_t validated = inmo_csr_count(untrained);
    double share = (double)validated / (double)(inmo_csr_count(&model->valid) + inmo_csr_count(&model->train));
    uint64_t key = inmo_key(1 + (uint64_t)draw, INMO_STREAM_HOLD_OUT);
    *kept = *out = (struct inmo_csr){0};
    if (inmo_csr_make(graph->users, graph->items, graph->edges, graph->weight != NULL, kept) != 0 ||
        inmo_csr_make(graph->users, graph->items, graph->edges + validated, 0, out) != 0)
        return inmo_fail_memory(error, "weighing");
    for (int32_t u = 0; u < graph->users; u++) {
        int32_t own = bound->model_user[u], *truth = (int32_t *)out->column + out->offset[u];
        int64_t stays = kept->offset[u], held = 0;
        uint64_t base = inmo_random(key, (uint64_t)u);
        for (int64_t e = 0; own >= 0 && e < inmo_csr_degree(untrained, own); e++) {
            int32_t i = bound->graph_item[untrained->column[untrained->offset[own] + e]];
            if (i >= 0 && (!is_all || inmo_holds(graph->neighbour + graph->offset[u], inmo_graph_degree(graph, u),
                                                 graph->users + i)))
                truth[held++] = i;
        }
        held = inmo_ascending(truth, held);
        for (int64_t e = graph->offset[u], known = held; e < graph->offset[u + 1]; e++) {
            int32_t i = graph->neighbour[e] - graph->users, item = bound->model_item[i];
            if (inmo_holds(truth, known, i))
                continue;
            if ((own < 0 || item < 0 || !inmo_csr_has(&model->train, own, item)) &&
                inmo_random_unit(inmo_random(base, (uint64_t)i)) < share) {
                truth[held++] = i;
                continue;
            }
            if (kept->weight)
                ((float *)kept->weight)[stays] = graph->weight[e];
            ((int32_t *)kept->column)[stays++] = i;
        }
        ((int64_t *)kept->offset)[u + 1] = stays;
        ((int64_t *)out->offset)[u + 1] = out->offset[u] + inmo_ascending(truth, held);
    }
    return INMO_OK;
}

/* Every n-th user with something to find, so that at most INMO_WEIGH_USERS remain. */
static enum inmo_status choose_users(struct trial *trial, struct inmo_error *error)
{
    int32_t all = 0, step;
    enum inmo_status status = inmo_rank_users(&trial->truth, &trial->who, &all, error);
    if (status)
        return status;
    step = (all + INMO_WEIGH_USERS - 1) / INMO_WEIGH_USERS;
    for (int32_t n = 0; n < all; n += step)
        trial->who[trial->count++] = trial->who[n];
    trial->before = inmo_alloc((size_t)trial->count, sizeof *trial->before);
    trial->now = inmo_alloc((size_t)trial->count, sizeof *trial->now);
    trial->best = inmo_alloc((size_t)trial->count, sizeof *trial->best);
    return trial->before && trial->now && trial->best ? INMO_OK : inmo_fail_memory(error, "weighing");
}

static enum inmo_status set_up(const struct inmo_model *model, const struct inmo_model_binding *bound, int is_all,
                               int draw, double alpha, struct trial *trial, struct inmo_error *error)
{
    const struct inmo_csr *lists[1] = {&trial->kept};
    enum inmo_status status = inmo_grown_divide(model, bound, is_all, draw, &trial->kept, &trial->truth, error);
    if (!status)
        status = inmo_graph_build(bound->graph->users, bound->graph->items, lists, 1, &trial->graph, error);
    if (!status)
        status = choose_users(trial, error);
    trial->bound = *bound;
    trial->bound.graph = trial->bound.binding.graph = trial->graph;
    if (!status)
        status = inmo_scorer_open(&trial->scorer, model, &trial->bound, alpha, 0, error);
    return status;
}

/* Weighs the parts of the score as they are now, and keeps the weights if they are the best: then *is_best is 1. */
static enum inmo_status weigh(struct trial *trial, double walks, double links, double prior, double spectrum,
                              float *ndcg, int *is_best, struct inmo_error *error)
{
    struct inmo_weighing weighing = {.scorer = &trial->scorer,
                                     .truth = &trial->truth,
                                     .seen = &trial->kept,
                                     .who = trial->who,
                                     .count = trial->count,
                                     .k = VALIDATION_K,
                                     .walks = walks,
                                     .links = links,
                                     .prior = prior,
                                     .ndcg = ndcg};
    struct inmo_weights weights;
    enum inmo_status status = inmo_weigh(&weighing, &weights, error);
    *is_best = !status && weights.ndcg > trial->highest;
    if (*is_best) {
        trial->weights = weights;
        trial->spectrum = spectrum;
        trial->highest = weights.ndcg;
        memcpy(trial->best, ndcg, (size_t)trial->count * sizeof *ndcg);
    }
    return status;
}

static double sum_of(const float *value, int64_t count)
{
    double sum = 0;
    for (int64_t n = 0; n < count; n++)
        sum += fabs((double)value[n]);
    return sum;
}

static enum inmo_status try_spectra(struct trial *trial, const struct inmo_model *model,
                                    const struct inmo_hooks *hooks, struct inmo_error *error)
{
    struct inmo_links *links = trial->scorer.beside.links;
    int64_t count = inmo_links_count(links);
    float *kernel = inmo_alloc((size_t)count, sizeof *kernel), *plain = inmo_alloc((size_t)count, sizeof *plain);
    double popularity = model->link_rule.popularity, unit = 0;
    int is_better = 1;
    enum inmo_status status = kernel && plain ? INMO_OK : inmo_fail_memory(error, "weighing");
    if (!status)
        status = inmo_link_spectrum(trial->graph, links, hooks, kernel, error);
    if (!status) {
        memset(plain, 0, (size_t)count * sizeof *plain);
        inmo_link_spectrum_add(trial->graph, links, kernel, 1, popularity, plain, plain);
        unit = sum_of(plain, count);
        unit = unit > 0 ? sum_of(links->weight, count) / unit : 0;
        memcpy(plain, links->weight, (size_t)count * sizeof *plain);
    }
    for (int n = 0; n < UNITS && !status && unit > 0 && is_better; n++) {
        inmo_link_spectrum_add(trial->graph, links, kernel, units[n] * unit, popularity, plain,
                               (float *)links->weight);
        status = weigh(trial, INMO_AUTO, INMO_AUTO, model->prior, units[n] * unit, trial->now, &is_better, error);
    }
    inmo_free(plain);
    inmo_free(kernel);
    return status;
}

/* What the draws have found together: sums over them. */
struct finding {
    int draws;                     /* that had somebody to judge by */
    double walks, links, spectrum; /* weights; the spectrum's is that of a score, not of links */
    double gain, error;            /* of NDCG over the weights of training, and its standard error */
};

static void add_finding(const struct trial *trial, struct finding *finding)
{
    double sum = 0, squares = 0, users = trial->count;
    if (trial->count == 0)
        return;
    for (int32_t n = 0; n < trial->count; n++) {
        double difference = (double)trial->best[n] - trial->before[n];
        sum += difference / users;
        squares += difference * difference / users;
    }
    finding->gain += sum;
    finding->error += sqrt(fmax(squares - sum * sum, 0) / users);
    finding->draws++;
    finding->walks += trial->weights.walks;
    finding->links += trial->weights.links;
    finding->spectrum += trial->weights.links * trial->spectrum;
}

/* Weighs with the weights of training. If links had another exponent of popularity there, they have it here, too,
 * and none of those weights can be the best by the present one. */
static enum inmo_status weigh_as_trained(struct trial *trial, const struct inmo_model *as_trained,
                                         const struct inmo_model *model, struct inmo_error *error)
{
    struct inmo_links *links = trial->scorer.beside.links;
    size_t count = (size_t)inmo_links_count(links);
    double turn = as_trained->link_rule.popularity - model->link_rule.popularity;
    float *weight = (float *)links->weight, *kept = turn != 0 ? inmo_alloc(count, sizeof *kept) : NULL;
    int is_best;
    enum inmo_status status;
    if (turn != 0 && !kept)
        return inmo_fail_memory(error, "weighing");
    if (kept)
        memcpy(kept, weight, count * sizeof *kept);
    for (size_t e = 0; kept && e < count; e++)
        weight[e] *= (float)pow(inmo_graph_strength(trial->graph, trial->graph->users + links->item[e]), turn);
    status = weigh(trial, as_trained->walks, as_trained->links, model->prior, 0, trial->before, &is_best, error);
    if (kept) {
        memcpy(weight, kept, count * sizeof *kept);
        trial->highest = -1;
    }
    inmo_free(kept);
    return status;
}

/* Finds the best weights by one draw of what is held out. model: with everything that can be weighed. */
static enum inmo_status try_draw(int draw, const struct inmo_model *as_trained, const struct inmo_model *model,
                                 const struct inmo_model_binding *bound, int is_all, double alpha,
                                 const struct inmo_hooks *hooks, struct finding *finding, struct inmo_error *error)
{
    struct trial trial = {.highest = -1};
    int is_best;
    enum inmo_status status = set_up(model, bound, is_all, draw, alpha, &trial, error);
    if (!status)
        status = weigh_as_trained(&trial, as_trained, model, error);
    if (!status)
        status = weigh(&trial, INMO_AUTO, INMO_AUTO, model->prior, 0, trial.now, &is_best, error);
    if (!status && bound->graph->edges <= MOST_FOR_SPECTRUM)
        status = try_spectra(&trial, model, hooks, error);
    if (!status)
        add_finding(&trial, finding);
    trial_close(&trial);
    return status;
}

static void tell(const struct inmo_model *model, const struct inmo_model *as_grown, double growth,
                 const struct inmo_hooks *hooks)
{
    char popularity[64] = "";
    if (as_grown->link_rule.popularity != model->link_rule.popularity)
        inmo_format(popularity, sizeof popularity, " (popularity %.2g instead of %.2g)",
                    as_grown->link_rule.popularity, model->link_rule.popularity);
    inmo_note(hooks, INMO_NOTE,
              "the log has grown by %.0f %% since training, so the parts of a score were weighed again: walks %.4g "
              "instead of %.4g, links %.4g instead of %.4g%s%s",
              100 * growth, as_grown->walks, model->walks, as_grown->links, model->links, popularity,
              as_grown->link_rule.spectrum > 0 ? ", with a part of singular vectors" : "");
}

enum inmo_status inmo_weigh_grown(struct inmo_model *as_grown, const struct inmo_model_binding *bound, int is_all,
                                  double alpha, const struct inmo_hooks *hooks, struct inmo_error *error)
{
    const struct inmo_model as_trained = *as_grown;
    struct inmo_model model = *as_grown;
    struct finding finding = {0};
    int draws = bound->graph->edges <= MOST_FOR_DRAWS ? DRAWS : 1;
    enum inmo_status status = INMO_OK;
    if (!inmo_kind_takes_walks(model.kind) || !model.kind->provider->inductive ||
        inmo_csr_count(untrained_of(&model)) == 0 || !was_chosen(&model, "\"walks\"") ||
        !was_chosen(&model, "\"links\"") || !inmo_links_are_outgrown(&model, bound))
        return INMO_OK;
    if (model.link_rule.k < 1)
        model.link_rule = inmo_link_rule_default(model.popularity);
    model.walks = model.links = 1;
    model.linked = NULL;
    if (was_chosen(&model, "\"link-popularity\"")) /* what another was better by was little */
        model.link_rule.popularity = model.popularity;
    for (int draw = 0; draw < draws && !status; draw++)
        status = try_draw(draw, &as_trained, &model, bound, is_all, alpha, hooks, &finding, error);
    if (status)
        return status;
    inmo_ranks_broadcast(0, &finding, sizeof finding); /* what follows from it must be the same on all of them */
    if (finding.draws == 0 || finding.gain <= standard_errors * finding.error)
        return INMO_OK;
    as_grown->walks = finding.walks / finding.draws;
    as_grown->links = finding.links / finding.draws;
    as_grown->link_rule = model.link_rule;
    as_grown->link_rule.spectrum = finding.links > 0 ? finding.spectrum / finding.links : 0;
    as_grown->linked = NULL;
    tell(&as_trained, as_grown, inmo_links_growth(&model, bound), hooks);
    return INMO_OK;
}
