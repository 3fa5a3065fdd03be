/* explain.c - which part of a score comes from where. The representation of a person is a base plus one term for
 * each item of the history (person.c), and the score is linear in it:
 *
 *     r · r_i = base · r_i + Σ_{j in history} term_j · r_i
 *
 * so the parts sum to the score, to rounding. The same holds for systems without vectors whose score is a sum
 * over the history. Where it is none (under ngcf, on idcf, with a head, of mult-vae) the part of an item is what
 * the score would lose without it, and the rest, which no single item accounts for, is a part of its own: the
 * sum is the score here, too, by construction. */
#include "base/memory.h"
#include "kernel/kernel.h"
#include "view/view.h"

#include <stdlib.h>
#include <string.h>

void inmo_explanation_free(struct inmo_explanation *explanation)
{
    if (!explanation)
        return;
    inmo_free(explanation->part);
    inmo_free(explanation);
}

static int by_contribution(const void *a, const void *b)
{
    const struct inmo_entry *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return strcmp(x->id, y->id);
}

static const char *base_name(const struct inmo_view *view, const struct inmo_person *person)
{
    return inmo_person_has_row(view, person) ? "(own embedding)" : "(any user)";
}

/* What walks from item n of the history add to the score of an item. */
static double walked(const struct inmo_view *view, const struct inmo_person *person, int32_t n, int32_t wanted)
{
    return view->scorer.walks ? (double)inmo_walks_between(view->scorer.walks, person->item[n], wanted) : 0;
}

static void add_part(struct inmo_explanation *explanation, const char *id, double score)
{
    explanation->part[explanation->count++] = (struct inmo_entry){id, score};
}

static int depends_on_history(const struct inmo_view *view)
{
    const struct inmo_model_kind *kind = view->model->kind;
    return kind->system || kind->provider->templates || view->model->layers > 0 || view->scorer.walks;
}

/* A model whose vectors are sums: base and terms, each multiplied with the item's vector. */
static enum inmo_status by_vectors(const struct inmo_view *view, const struct inmo_person *person, int32_t wanted,
                                   struct inmo_explanation *explanation, struct inmo_error *error)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    const struct inmo_model_kind *kind = view->model->kind;
    const float *target = inmo_view_item_row(view, wanted);
    int dim = view->scorer.dim;
    size_t width = (size_t)dim;
    float *base = inmo_alloc_zero(width, sizeof *base);
    float *term = inmo_alloc_zero((size_t)person->count * width, sizeof *term);
    enum inmo_status status = base && term ? inmo_person_parts(view, person, base, term, error)
                                           : inmo_fail_memory(error, "the explanation");
    if (!status) {
        explanation->score = kernels->dot(dim, person->r, target);
        if (kind->provider)
            add_part(explanation, base_name(view, person), kernels->dot(dim, base, target));
        for (int32_t n = 0; n < person->count && depends_on_history(view); n++) {
            double walks = walked(view, person, n, wanted);
            explanation->score += walks;
            add_part(explanation, inmo_idmap_id(&view->items, person->item[n]),
                     kernels->dot(dim, term + (size_t)n * width, target) + walks);
        }
    }
    inmo_free(term);
    inmo_free(base);
    return status;
}

/* Any other provider and backbone: what is lost without each item. */
static enum inmo_status by_absence(const struct inmo_view *view, const struct inmo_person *person, int32_t wanted,
                                   struct inmo_explanation *explanation, struct inmo_error *error)
{
    float *r = inmo_alloc((size_t)view->scorer.dim, sizeof *r);
    double rest;
    if (!r)
        return inmo_fail_memory(error, "the explanation");
    double product = inmo_scorer_pair(&view->scorer, person->r, wanted);
    rest = explanation->score = product;
    for (int32_t n = 0; n < person->count; n++)
        rest = explanation->score += walked(view, person, n, wanted);
    for (int32_t n = 0; n < person->count && depends_on_history(view); n++) {
        double lost;
        inmo_person_without(view, person, person->item[n], r);
        lost = product - inmo_scorer_pair(&view->scorer, r, wanted) + walked(view, person, n, wanted);
        add_part(explanation, inmo_idmap_id(&view->items, person->item[n]), lost);
        rest -= lost;
    }
    add_part(explanation, "(the rest)", rest);
    inmo_free(r);
    return INMO_OK;
}

/* A system whose score is a sum over the history: what each item alone would give. */
static enum inmo_status by_scores(const struct inmo_view *view, const struct inmo_person *person, int32_t wanted,
                                  struct inmo_explanation *explanation, struct inmo_error *error)
{
    struct inmo_history history = inmo_person_history(person);
    float *score = inmo_alloc((size_t)view->items.count, sizeof *score);
    enum inmo_status status =
        score ? inmo_scorer_one(&view->scorer, &history, score, error) : inmo_fail_memory(error, "the explanation");
    if (!status)
        explanation->score = score[wanted];
    for (int32_t n = 0; n < person->count && !status; n++) {
        struct inmo_history alone = {-1, 1, 0, person->item + n, NULL};
        status = inmo_scorer_one(&view->scorer, &alone, score, error);
        add_part(explanation, inmo_idmap_id(&view->items, person->item[n]), score[wanted]);
    }
    inmo_free(score);
    return status;
}

/* Any other system: what the score would lose without each item, and what is left of it. */
static enum inmo_status by_missing(const struct inmo_view *view, const struct inmo_person *person, int32_t wanted,
                                   struct inmo_explanation *explanation, struct inmo_error *error)
{
    struct inmo_history history = inmo_person_history(person);
    float *score = inmo_alloc((size_t)view->items.count, sizeof *score);
    int32_t *others = inmo_alloc((size_t)person->count, sizeof *others);
    enum inmo_status status = score && others ? inmo_scorer_one(&view->scorer, &history, score, error)
                                              : inmo_fail_memory(error, "the explanation");
    double rest = 0;
    if (!status)
        rest = explanation->score = score[wanted];
    for (int32_t n = 0; n < person->count && !status; n++) {
        struct inmo_history without = {-1, person->count - 1, 0, others, NULL};
        memcpy(others, person->item, (size_t)n * sizeof *others);
        memcpy(others + n, person->item + n + 1, (size_t)(person->count - n - 1) * sizeof *others);
        status = inmo_scorer_one(&view->scorer, &without, score, error);
        if (status)
            break;
        add_part(explanation, inmo_idmap_id(&view->items, person->item[n]), explanation->score - score[wanted]);
        rest -= explanation->score - score[wanted];
    }
    if (!status)
        add_part(explanation, "(the rest)", rest);
    inmo_free(others);
    inmo_free(score);
    return status;
}

static void by_popularity(const struct inmo_view *view, int32_t wanted, struct inmo_explanation *explanation)
{
    explanation->score = (double)inmo_graph_degree(view->graph, view->graph->users + wanted);
    add_part(explanation, "(popularity)", explanation->score);
}

enum inmo_status inmo_explain(const struct inmo_view *view, const struct inmo_query *query, const char *item,
                              struct inmo_explanation **out, struct inmo_error *error)
{
    const struct inmo_system *system = view->model->kind->system;
    struct inmo_person person = {.user = -1};
    struct inmo_explanation *explanation = NULL;
    int32_t wanted = inmo_idmap_find(&view->items, item);
    enum inmo_status status = INMO_OK;
    if (wanted < 0)
        status =
            inmo_fail(error, INMO_UNKNOWN, "item '%s' is in neither the model nor the observed interactions", item);
    if (!status)
        status = inmo_person_make(view, query, &person, error);
    if (status)
        goto done;
    explanation = inmo_alloc_zero(1, sizeof *explanation);
    if (explanation)
        explanation->part = inmo_alloc((size_t)person.count + 1, sizeof *explanation->part);
    if (!explanation || !explanation->part) {
        status = inmo_fail_memory(error, "the explanation");
        goto done;
    }
    if ((system && !system->personal) || inmo_person_falls_back(view, &person))
        by_popularity(view, wanted,
                      explanation); /* as in recommend: the list is by popularity, and so is the reason */
    else if (!system && (!view->model->kind->backbone->affine || view->model->kind->head ||
                         view->model->kind->provider->complete))
        status = by_absence(view, &person, wanted, explanation, error);
    else if (inmo_view_has_vectors(view))
        status = by_vectors(view, &person, wanted, explanation, error);
    else if (system->additive)
        status = by_scores(view, &person, wanted, explanation, error);
    else
        status = by_missing(view, &person, wanted, explanation, error);
    if (status)
        goto done;
    qsort(explanation->part, explanation->count, sizeof *explanation->part, by_contribution);
    *out = explanation;
    explanation = NULL;
done:
    inmo_explanation_free(explanation);
    inmo_person_free(&person);
    return status;
}
