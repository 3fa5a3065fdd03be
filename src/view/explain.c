/* explain.c - which part of a score comes from where. The representation of a person is a base plus one term for each
 * item of the history (person.c), and the score is linear in it:
 *
 *     r · r_i = base · r_i + Σ_{j in history} term_j · r_i
 *
 * so the parts sum to the score, to rounding. That holds for affine backbones. Under another one (ngcf) the part of an
 * item is what the score would lose without it, and the rest, which no single item accounts for, is a part of its
 * own: the sum is the score here, too, by construction. */
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
    const struct inmo_provider *provider = view->model->kind->provider;
    if (!provider)
        return "(popularity)";
    if (!view->model->kind->backbone->affine)
        return "(the rest)";
    return inmo_person_has_row(view, person) ? "(own embedding)" : "(any user)";
}

enum inmo_status inmo_explain(const struct inmo_view *view, const struct inmo_query *query, const char *item,
                              struct inmo_explanation **out, struct inmo_error *error)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    struct inmo_person person = {.user = -1};
    struct inmo_explanation *explanation = NULL;
    float *term = NULL, *space = NULL;
    const float *target;
    double rest;
    int affine = !view->model->kind->backbone || view->model->kind->backbone->affine;
    int by_history = view->model->kind->provider &&
                     (view->model->kind->provider->inductive || view->model->layers > 0);
    int32_t wanted = inmo_idmap_find(&view->items, item);
    enum inmo_status status = INMO_OK;
    if (wanted < 0) {
        status = inmo_fail(error, INMO_UNKNOWN, "item '%s' is in neither the model nor the observed interactions", item);
        goto done;
    }
    status = inmo_person_make(view, query, &person, error);
    if (status)
        goto done;
    explanation = inmo_alloc_zero(1, sizeof *explanation);
    term = inmo_alloc((size_t)view->dim, sizeof *term);
    if (explanation)
        explanation->part = inmo_alloc((size_t)person.count + 1, sizeof *explanation->part);
    if (!explanation || !term || !explanation->part) {
        status = inmo_fail_memory(error, "the explanation");
        goto done;
    }
    status = inmo_person_space(view, &space, error);
    if (status)
        goto done;
    if (inmo_person_falls_back(view, &person)) { /* as in recommend: the list is by popularity, and so is the reason */
        explanation->score = (double)inmo_graph_degree(view->graph, view->graph->users + wanted);
        explanation->part[explanation->count++] = (struct inmo_entry){"(popularity)", explanation->score};
        *out = explanation;
        explanation = NULL;
        goto done;
    }
    target = inmo_view_item_row(view, wanted);
    explanation->score = kernels->dot(view->dim, person.r, target);
    rest = explanation->score;
    for (int32_t n = 0; n < person.count && by_history; n++) {
        struct inmo_entry *part = explanation->part + explanation->count++;
        (affine ? inmo_person_term : inmo_person_without)(view, &person, person.item[n], space, term);
        *part = (struct inmo_entry){inmo_idmap_id(&view->items, person.item[n]), kernels->dot(view->dim, term, target)};
        if (!affine)
            part->score = explanation->score - part->score;
        rest -= part->score;
    }
    if (affine) {
        inmo_person_base(view, &person, space, term);
        rest = kernels->dot(view->dim, term, target);
    }
    explanation->part[explanation->count++] = (struct inmo_entry){base_name(view, &person), rest};
    qsort(explanation->part, explanation->count, sizeof *explanation->part, by_contribution);
    *out = explanation;
    explanation = NULL;
done:
    inmo_free(space);
    inmo_free(term);
    inmo_explanation_free(explanation);
    inmo_person_free(&person);
    return status;
}
