/* compare_links.c - see compare_links.h. Links are solved once for each ridge, without regard to popularity, which
 * only scales them. */
#include "train/compare_links.h"

#include "base/memory.h"
#include "score/link_solve.h"

#include <math.h>
#include <string.h>

/* Ridges to choose from, with the share of an item's own weight; found on logs of several shapes
 * (docs/choices.md). */
static const struct {
    double ridge, share;
} ridges[] = {{10, 0.3}, {30, 1}, {100, 1}, {300, 1}};
enum { RIDGES = sizeof ridges / sizeof *ridges };

/* Exponents of an item's popularity in its links that are compared with that of the vectors. That one comes first
 * unless another is better by so many standard errors of the difference. The first one judges the epochs, and is
 * the model's where the weights of walks and links are both given. */
static const double exponents[] = {-0.2, -0.1, 0};
enum { EXPONENTS = sizeof exponents / sizeof *exponents };
static const double standard_errors = 3; /* up to twelve links are compared with the best of four */

/* A ridge that is given gets the share that it would have if it had been chosen. */
struct inmo_link_rule inmo_link_rule_of(const struct inmo_train_options *options)
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

/* Numbers of two of the links that were solved, and their exponents. */
struct two {
    int first, other; /* other < 0: there is no other exponent */
    double first_exponent, other_exponent;
};

/* The best ridge by the exponent of the vectors, or by the one that is given, and the best of all other
 * exponents. */
static enum inmo_status choose_two(const struct inmo_train_options *options, struct comparison *comparison,
                                   struct inmo_links *const *links, int count, struct two *two,
                                   struct inmo_error *error)
{
    int is_open = options->link_popularity == INMO_AUTO;
    double highest = -1, highest_other = -1;
    enum inmo_status status = INMO_OK;
    *two = (struct two){-1, -1, is_open ? options->popularity : options->link_popularity, 0};
    set_factors(comparison, two->first_exponent);
    for (int n = 0; n < count && !status; n++)
        status = compare(comparison, links[n], n, &two->first, &highest, comparison->stays, error);
    for (int e = 0; e < EXPONENTS && is_open && !status; e++) {
        double before = highest_other;
        if (exponents[e] == two->first_exponent)
            continue;
        set_factors(comparison, exponents[e]);
        for (int n = 0; n < count && !status; n++)
            status = compare(comparison, links[n], n, &two->other, &highest_other, comparison->best, error);
        two->other_exponent = highest_other > before ? exponents[e] : two->other_exponent;
    }
    if (!status && two->other >= 0 && is_clear(comparison))
        *two = (struct two){two->other, two->first, two->other_exponent, two->first_exponent};
    return status;
}

/* Takes what was chosen out of the links that were solved. */
static enum inmo_status take(struct comparison *comparison, const struct two *two,
                             const struct inmo_link_rule *rule, struct inmo_links **links,
                             struct inmo_link_pair *pair, struct inmo_error *error)
{
    pair->rule = rule[two->first];
    pair->rule.popularity = two->first_exponent;
    if (two->other >= 0) {
        pair->other = rule[two->other];
        pair->other.popularity = two->other_exponent;
        pair->other_weight = inmo_alloc((size_t)inmo_links_count(links[two->other]), sizeof(float));
        if (!pair->other_weight)
            return inmo_fail_memory(error, "the links between items");
        set_factors(comparison, two->other_exponent);
        scale(comparison, links[two->other], pair->other_weight);
    }
    set_factors(comparison, two->first_exponent);
    scale(comparison, links[two->first], (float *)links[two->first]->weight);
    pair->links = links[two->first];
    links[two->first] = NULL;
    return INMO_OK;
}

enum inmo_status inmo_links_compare(const struct inmo_train_options *options, const struct inmo_graph *graph,
                                    const struct inmo_validation *validation, const struct inmo_scorer *scorer,
                                    const struct inmo_hooks *hooks, struct inmo_link_pair *pair,
                                    struct inmo_error *error)
{
    struct comparison comparison = {.graph = graph, .validation = validation, .scorer = scorer};
    struct inmo_link_rule rule[RIDGES];
    struct inmo_links *links[RIDGES] = {NULL};
    int count = options->link_ridge > 0 ? 1 : RIDGES;
    struct two two;
    enum inmo_status status;
    *pair = (struct inmo_link_pair){0};
    for (int n = 0; n < count; n++) {
        rule[n] = inmo_link_rule_of(options);
        rule[n].popularity = 0;
        if (count > 1) {
            rule[n].ridge = ridges[n].ridge;
            rule[n].share = ridges[n].share;
        }
    }
    status = inmo_links_solve_all(graph, rule, count, NULL, hooks, links, error);
    if (!status && comparison_make(&comparison, inmo_links_count(links[0])) != 0)
        status = inmo_fail_memory(error, "the links between items");
    if (!status)
        status = choose_two(options, &comparison, links, count, &two, error);
    if (!status)
        status = take(&comparison, &two, rule, links, pair, error);
    comparison_free(&comparison);
    for (int n = 0; n < count; n++)
        inmo_links_free(links[n]);
    return status;
}
