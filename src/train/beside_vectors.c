/* beside_vectors.c - see beside_vectors.h. */
#include "train/beside_vectors.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/threads.h"
#include "base/text.h"
#include "score/link_solve.h"
#include "train/compare_links.h"
#include "train/settings.h"

#include <string.h>

/* Weights where there is no validation part to choose by. */
enum { PLAIN_WALKS = 4 };

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
        .rule = inmo_link_rule_of(options),
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
    if (compares) {
        struct inmo_link_pair pair;
        status = inmo_links_compare(options, graph, validation, scorer, hooks, &pair, error);
        scorer->beside.links = pair.links;
        if (!status)
            choice->rule = pair.rule;
        choice->other = pair.other;
        if (choice->chooses)
            choice->other_weight = pair.other_weight;
        else /* weights that are given would not suit links of another scale */
            inmo_free(pair.other_weight);
    } else {
        status = inmo_links_solve(graph, &choice->rule, NULL, hooks, &scorer->beside.links, error);
    }
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

/* Swaps the links' weights and the rules that they are solved by. */
static void swap_links(struct inmo_links *links, struct inmo_beside_choice *choice)
{
    struct inmo_link_rule rule = choice->rule;
    float *weight = (float *)links->weight;
    int64_t count = inmo_links_count(links);
    choice->rule = choice->other;
    choice->other = rule;
    for (int64_t e = 0; e < count; e++) {
        float kept = weight[e];
        weight[e] = choice->other_weight[e];
        choice->other_weight[e] = kept;
    }
}

enum inmo_status inmo_beside_choose_links(const struct inmo_train_options *options,
                                          const struct inmo_validation *validation, struct inmo_scorer *scorer,
                                          struct inmo_beside_choice *choice, struct inmo_error *error)
{
    double first;
    enum inmo_status status;
    if (!choice->chooses || !choice->other_weight)
        return INMO_OK;
    status = inmo_beside_weigh(options, validation, INMO_WEIGH_USERS, 0, scorer, choice, error);
    first = choice->weights.ndcg;
    if (!status) {
        swap_links(scorer->beside.links, choice);
        status = inmo_beside_weigh(options, validation, INMO_WEIGH_USERS, 0, scorer, choice, error);
        choice->swapped = choice->weights.ndcg > first;
        if (!choice->swapped)
            swap_links(scorer->beside.links, choice);
    }
    inmo_free(choice->other_weight);
    choice->other_weight = NULL;
    return status;
}

/* A setting, and what it has become. */
struct settled {
    const char *name;
    double *setting, chosen;
    int of_links; /* 1: without links there is nothing to choose */
};

enum inmo_status inmo_beside_tell(struct inmo_train_options *options, const struct inmo_beside_choice *choice,
                                  const struct inmo_hooks *hooks, char **record, struct inmo_error *error)
{
    static const char before[] = "{\"chosen\": {";
    const char *written = *record ? *record : "";
    int has_choice = strncmp(written, before, strlen(before)) == 0;
    struct inmo_text text = {0};
    const struct settled settled[] = {{"walks", &options->walks, choice->weights.walks, 0},
                                      {"links", &options->links, choice->weights.links, 0},
                                      {"link-ridge", &options->link_ridge, choice->rule.ridge, 1},
                                      {"link-popularity", &options->link_popularity, choice->rule.popularity, 1},
                                      {"prior", &options->prior, choice->weights.prior, 0}};
    int listed = 0, has_links = options->links != 0;
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
    inmo_text_add(&text, before, strlen(before));
    for (size_t n = 0; n < sizeof settled / sizeof *settled; n++) {
        /* a weight that was given is not what was chosen */
        if (*settled[n].setting == INMO_AUTO && (has_links || !settled[n].of_links)) {
            inmo_text_format(&text, "%s\"%s\": ", listed++ ? ", " : "", settled[n].name);
            inmo_text_number(&text, settled[n].chosen, 6);
        }
        *settled[n].setting = settled[n].chosen;
    }
    if (!choice->chooses) {
        inmo_text_free(&text);
        return INMO_OK;
    }
    inmo_text_format(&text, "%s%s", has_choice ? ", " : "}}", has_choice || !*written ? "" : ",\n");
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
