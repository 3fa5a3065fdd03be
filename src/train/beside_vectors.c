/* beside_vectors.c - see beside_vectors.h. */
#include "train/beside_vectors.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/threads.h"
#include "base/text.h"
#include "score/link_solve.h"
#include "train/settings.h"

#include <math.h>
#include <string.h>

/* Ridges to choose from, with the share of an item's own weight; found on logs of several shapes
 * (docs/choices.md). */
static const struct {
    double ridge, share;
} ridges[] = {{10, 0.3}, {30, 1}, {100, 1}, {300, 1}};
enum { RIDGES = sizeof ridges / sizeof *ridges };

/* Weights where there is no validation part to choose by. */
enum { PLAIN_WALKS = 4 };

/* Exponents of an item's popularity in its links that are compared with that of the vectors, which stays unless one
 * of them is better by so many standard errors of the difference. */
static const double exponents[] = {-0.2, -0.1, 0};
enum { EXPONENTS = sizeof exponents / sizeof *exponents };
static const double standard_errors = 3; /* up to eight are compared */

/* A ridge that is given gets the share that it would have if it had been chosen. */
static struct inmo_link_rule rule_of(const struct inmo_train_options *options)
{
    struct inmo_link_rule rule = inmo_link_rule_default(
        options->link_popularity == INMO_AUTO ? options->popularity : options->link_popularity);
    rule.k = options->link_neighbours;
    if (options->link_ridge > 0) {
        rule.ridge = options->link_ridge;
        rule.share = rule.ridge <= ridges[0].ridge ? ridges[0].share : rule.share;
    }
    return rule;
}

/* Links that were solved without regard to popularity, and what they are compared by. */
struct comparison {
    const struct inmo_graph *graph;
    const struct inmo_validation *validation;
    const struct inmo_scorer *scorer;
    float *factor;  // (items) of an item's links
    float *weight;  // those of the links that are compared
    float *ndcg, *best,
        *stays;  // (users) of the links just compared, the best ones, and those by the vectors' exponent
    int32_t users;
};

static void comparison_free(struct comparison *comparison)
{
    inmo_free(comparison->stays);
    inmo_free(comparison->best);
    inmo_free(comparison->ndcg);
    inmo_free(comparison->weight);
    inmo_free(comparison->factor);
}

static int comparison_make(struct comparison *comparison, int64_t links)
{
    comparison->factor = inmo_alloc((size_t)comparison->graph->items, sizeof(float));
    comparison->weight = inmo_alloc((size_t)links, sizeof(float));
    comparison->ndcg = inmo_alloc(INMO_WEIGH_USERS, sizeof(float));
    comparison->best = inmo_alloc(INMO_WEIGH_USERS, sizeof(float));
    comparison->stays = inmo_alloc(INMO_WEIGH_USERS, sizeof(float));
    return comparison->factor && comparison->weight && comparison->ndcg && comparison->best && comparison->stays
               ? 0
               : -1;
}

/* The factors that inmo_links_solve has for this exponent. */
static void set_factors(const struct comparison *comparison, double exponent)
{
    const struct inmo_graph *graph = comparison->graph;
    for (int32_t i = 0; i < graph->items; i++)
        comparison->factor[i] = (float)pow(inmo_graph_strength(graph, graph->users + i), exponent);
}

static void scale(const struct comparison *comparison, const struct inmo_links *links, float *weight)
{
    for (int64_t e = 0; e < inmo_links_count(links); e++)
        weight[e] = links->weight[e] * comparison->factor[links->item[e]];
}

/* Ranks by the links alone. Replaces *ridge by n, and the users' scores in best, if they are better than before. */
static enum inmo_status compare(struct comparison *comparison, const struct inmo_links *links, int n, int *ridge,
                                double *highest, float *best, struct inmo_error *error)
{
    struct inmo_links scaled = *links;
    double sum = 0;
    enum inmo_status status;
    scaled.weight = comparison->weight;
    scale(comparison, links, comparison->weight);
    status = inmo_validation_links_ndcg(comparison->validation, comparison->scorer, &scaled, comparison->ndcg,
                                        &comparison->users, error);
    for (int32_t u = 0; !status && u < comparison->users; u++)
        sum += comparison->ndcg[u];
    if (!status && (*ridge < 0 || sum > *highest)) {
        *ridge = n;
        *highest = sum;
        memcpy(best, comparison->ndcg, (size_t)comparison->users * sizeof *best);
    }
    return status;
}

/* Whether the best links are better than those by the vectors' exponent by more than chance. */
static int is_clear(const struct comparison *comparison)
{
    double sum = 0, squares = 0, users = comparison->users;
    for (int32_t u = 0; u < comparison->users; u++) {
        double difference = (double)comparison->best[u] - comparison->stays[u];
        sum += difference;
        squares += difference * difference;
    }
    return sum > standard_errors * sqrt(fmax(squares - sum * sum / users, 0));
}

/* The ridge, and the exponent unless it is given, by the links alone. */
static enum inmo_status choose_links(const struct inmo_train_options *options, struct comparison *comparison,
                                     struct inmo_links *const *links, int count, int *ridge, double *exponent,
                                     struct inmo_error *error)
{
    int is_open = options->link_popularity == INMO_AUTO, other = -1;
    double highest = 0, highest_other = 0, chosen = 0;
    enum inmo_status status = INMO_OK;
    *exponent = is_open ? options->popularity : options->link_popularity;
    *ridge = -1;
    set_factors(comparison, *exponent);
    for (int n = 0; n < count && !status; n++)
        status = compare(comparison, links[n], n, ridge, &highest, comparison->stays, error);
    for (int e = 0; e < EXPONENTS && is_open && !status; e++) {
        double before = highest_other;
        if (exponents[e] == *exponent)
            continue;
        set_factors(comparison, exponents[e]);
        for (int n = 0; n < count && !status; n++)
            status = compare(comparison, links[n], n, &other, &highest_other, comparison->best, error);
        chosen = highest_other > before ? exponents[e] : chosen;
    }
    if (!status && other >= 0 && is_clear(comparison)) {
        *ridge = other;
        *exponent = chosen;
    }
    return status;
}

static enum inmo_status solve_best(const struct inmo_train_options *options, const struct inmo_graph *graph,
                                   const struct inmo_validation *validation, const struct inmo_hooks *hooks,
                                   struct inmo_scorer *scorer, struct inmo_link_rule *chosen,
                                   struct inmo_error *error)
{
    struct comparison comparison = {.graph = graph, .validation = validation, .scorer = scorer};
    struct inmo_link_rule rule[RIDGES];
    struct inmo_links *links[RIDGES] = {NULL};
    int count = options->link_ridge > 0 ? 1 : RIDGES, best = 0;
    double exponent = 0;
    int64_t most = 0;
    enum inmo_status status;
    for (int n = 0; n < count; n++) {
        rule[n] = rule_of(options);
        rule[n].popularity = 0;
        if (count > 1) {
            rule[n].ridge = ridges[n].ridge;
            rule[n].share = ridges[n].share;
        }
    }
    status = inmo_links_solve_all(graph, rule, count, NULL, hooks, links, error);
    for (int n = 0; n < count && !status; n++)
        most = inmo_links_count(links[n]) > most ? inmo_links_count(links[n]) : most;
    if (!status && comparison_make(&comparison, most) != 0)
        status = inmo_fail_memory(error, "the links between items");
    if (!status)
        status = choose_links(options, &comparison, links, count, &best, &exponent, error);
    if (!status) {
        *chosen = rule[best];
        chosen->popularity = exponent;
        set_factors(&comparison, exponent);
        scale(&comparison, links[best], (float *)links[best]->weight);
        scorer->beside.links = links[best];
        links[best] = NULL;
    }
    comparison_free(&comparison);
    for (int n = 0; n < count; n++)
        inmo_links_free(links[n]);
    return status;
}

enum inmo_status inmo_beside_start(const struct inmo_train_options *options, const struct inmo_learner *learner,
                                   const struct inmo_model *earlier, const struct inmo_validation *validation,
                                   const struct inmo_hooks *hooks, struct inmo_scorer *scorer,
                                   struct inmo_beside_choice *choice, struct inmo_error *error)
{
    const struct inmo_graph *graph = learner->bound->graph;
    double begin = inmo_now();
    /* a run of a few seconds takes the default's ridge, and below fewer users decide on the weights */
    int compares = (options->link_ridge < 0 || options->link_popularity == INMO_AUTO) &&
                   !inmo_is_hurried(options) && !(earlier && earlier->links > 0);
    enum inmo_status status;
    *choice = (struct inmo_beside_choice){
        .rule = rule_of(options),
        .chooses = validation && (options->walks < 0 || options->links < 0),
        .weights = {options->walks < 0 ? PLAIN_WALKS : options->walks, options->links < 0 ? 0 : options->links,
                    options->prior < 0 ? 0 : options->prior, 0},
    };
    if (earlier && earlier->links > 0 && options->link_ridge < 0) {
        choice->rule.ridge = earlier->link_rule.ridge;
        choice->rule.share = earlier->link_rule.share;
    }
    if (earlier && earlier->links > 0 && options->link_popularity == INMO_AUTO)
        choice->rule.popularity = earlier->link_rule.popularity;
    if (options->links == 0 || !validation)
        return INMO_OK;
    if (compares)
        status = solve_best(options, graph, validation, hooks, scorer, &choice->rule, error);
    else
        status = inmo_links_solve(graph, &choice->rule, NULL, hooks, &scorer->beside.links, error);
    choice->seconds = inmo_now() - begin;
    choice->seconds_alone = choice->seconds * (compares ? 0.6 : 1); /* comparing the items is most of the work */
    return status;
}

enum inmo_status inmo_beside_weigh(const struct inmo_train_options *options,
                                   const struct inmo_validation *validation, int32_t most, int with_prior,
                                   struct inmo_scorer *scorer, struct inmo_beside_choice *choice,
                                   struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    if (choice->chooses && with_prior && options->prior < 0 && !scorer->beside.prior)
        status = inmo_prior_make(scorer->graph, 0, &scorer->beside.prior, error);
    if (!status && choice->chooses)
        status = inmo_validation_weigh(validation, inmo_is_hurried(options) ? INMO_WEIGH_USERS / 4 : most, scorer,
                                       options->walks, options->links, options->prior, &choice->weights, error);
    if (status || choice->chooses)
        return status;
    if (scorer->beside.links)
        scorer->beside.links->factor = (float)options->links;
    return INMO_OK;
}

enum inmo_status inmo_beside_tell(struct inmo_train_options *options, const struct inmo_beside_choice *choice,
                                  const struct inmo_hooks *hooks, char **record, struct inmo_error *error)
{
    static const char before[] = "{\"chosen\": {";
    const char *written = *record ? *record : "";
    int has_choice = strncmp(written, before, strlen(before)) == 0;
    struct inmo_text text = {0};
    char walks[32], links[32], ridge[32], popularity[32], prior[32], also[64] = "", *whole;
    inmo_format(walks, sizeof walks, "%.6g", choice->weights.walks);
    inmo_format(links, sizeof links, "%.6g", choice->weights.links);
    inmo_format(ridge, sizeof ridge, "%.6g", choice->rule.ridge);
    inmo_format(popularity, sizeof popularity, "%.6g", choice->rule.popularity);
    inmo_format(prior, sizeof prior, "%.6g", choice->weights.prior);
    if (choice->weights.prior > 0)
        snprintf(also, sizeof also, ", prior %s", prior);
    if (choice->chooses)
        inmo_note(hooks, INMO_NOTE,
                  "weighed by validation beside the vectors: walks %s, links %s (ridge %s, popularity %s)%s", walks,
                  links, ridge, popularity, also);
    options->walks = choice->weights.walks;
    options->links = choice->weights.links;
    options->prior = choice->weights.prior;
    options->link_ridge = choice->rule.ridge;
    options->link_popularity = choice->rule.popularity;
    if (!choice->chooses)
        return INMO_OK;
    inmo_text_format(
        &text, "%s\"walks\": %s, \"links\": %s, \"link-ridge\": %s, \"link-popularity\": %s, \"prior\": %s%s%s",
        before, walks, links, ridge, popularity, prior, has_choice ? ", " : "}}",
        has_choice || !*written ? "" : ",\n");
    written += has_choice ? strlen(before) : 0;
    inmo_text_add(&text, written, strlen(written));
    whole = inmo_text_take(&text);
    if (!whole)
        return inmo_fail_memory(error, "the training record");
    inmo_free(*record);
    *record = whole;
    return INMO_OK;
}

/* The links in the numbers of the model, which has only items with training interactions, in the same order. */
static struct inmo_links *renumber(const struct inmo_links *links, const struct inmo_csr *train,
                                   const struct inmo_model *model)
{
    struct inmo_links *made = inmo_links_new(model->items.count, inmo_links_count(links));
    int32_t *number = inmo_alloc_zero((size_t)train->columns, sizeof *number), kept = 0;
    int64_t at = 0;
    for (int64_t e = 0; number && e < inmo_csr_count(train); e++)
        number[train->column[e]] = 1;
    for (int32_t i = 0; number && i < train->columns; i++)
        number[i] = number[i] ? kept++ : -1;
    for (int32_t j = 0; made && number && j < train->columns; j++) {
        if (number[j] < 0)
            continue;
        for (int64_t e = links->offset[j]; e < links->offset[j + 1]; e++, at++) {
            ((int32_t *)made->item)[at] = number[links->item[e]];
            ((float *)made->weight)[at] = links->weight[e];
        }
        ((int64_t *)made->offset)[number[j] + 1] = at;
    }
    if (!number) {
        inmo_links_free(made);
        made = NULL;
    }
    inmo_free(number);
    return made;
}

enum inmo_status inmo_beside_finish(const struct inmo_dataset *data, const struct inmo_hooks *hooks,
                                    struct inmo_links *links, const struct inmo_beside_choice *choice,
                                    struct inmo_model *model, struct inmo_error *error)
{
    const struct inmo_csr *lists[1] = {&data->train};
    struct inmo_graph *graph = NULL;
    enum inmo_status status = INMO_OK;
    model->walks = choice->weights.walks;
    model->links = choice->weights.links;
    model->prior = choice->weights.prior;
    model->link_rule = choice->rule;
    if (!links && model->links > 0) {
        /* not training's graph, which may have its nodes in another order */
        status = inmo_graph_build(data->users.count, data->items.count, lists, 1, &graph, error);
        if (!status)
            status = inmo_links_solve(graph, &choice->rule, NULL, hooks, &links, error);
        inmo_graph_free(graph);
    }
    if (!status && model->links > 0) {
        model->linked = renumber(links, &data->train, model);
        if (!model->linked)
            status = inmo_fail_memory(error, "the links between items");
    }
    inmo_links_free(links);
    return status;
}
