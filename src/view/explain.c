/* explain.c - splits a score into contributions. A person's representation is a base plus one term for each item
 * of the history (person.c), and the score is linear in it:
 *
 *     r · r_i = base · r_i + Σ_{j in history} term_j · r_i
 *
 * so the parts sum to the score, up to rounding. The same holds for systems without vectors whose score is a sum
 * over the history. Other scores (ngcf, idcf, heads, mult-vae) are not linear: there an item's part is what the
 * score would lose without it, and one more part holds the rest, so the sum is the score by construction. */
#include "base/memory.h"
#include "kernel/kernel.h"
#include "view/list.h"
#include "view/person.h"

#include <stdlib.h>
#include <string.h>

void inmo_explanation_free(struct inmo_explanation *explanation)
{
    inmo_free(explanation);
}

/* An explanation in the making. Arrays are in the work space's arena. */
struct reasons {
    const struct inmo_view *view;
    const struct inmo_snapshot *snapshot;
    struct inmo_work *work;
    struct inmo_person person;
    int32_t wanted;
    double score;
    struct inmo_entry *part;  // (count)
    size_t count;
};

static int by_contribution(const void *a, const void *b)
{
    const struct inmo_entry *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return strcmp(x->id, y->id);
}

static const char *base_name(const struct reasons *reasons)
{
    return inmo_person_has_row(reasons->snapshot, &reasons->person) ? "(own embedding)" : "(any user)";
}

/* What walks and links from item n of the history add to the score. */
static double added_by(const struct reasons *reasons, int32_t n)
{
    const struct inmo_person *person = &reasons->person;
    return inmo_beside_between(&reasons->snapshot->scorer.beside, person->item[n],
                               person->share ? person->share[n] : 1, reasons->wanted);
}

static void add_part(struct reasons *reasons, const char *id, double score)
{
    reasons->part[reasons->count++] = (struct inmo_entry){id, score};
}

/* What is added to the score for anybody, as a part of its own. */
static void add_always(struct reasons *reasons)
{
    const struct inmo_beside *beside = &reasons->snapshot->scorer.beside;
    if (!beside->prior)
        return;
    reasons->score += inmo_beside_always(beside, reasons->wanted);
    add_part(reasons, "(popularity)", inmo_beside_always(beside, reasons->wanted));
}

static void add_item(struct reasons *reasons, int32_t n, double score)
{
    add_part(reasons, inmo_view_item_name(reasons->view, reasons->person.item[n]), score);
}

static int depends_on_history(const struct inmo_snapshot *snapshot)
{
    const struct inmo_model_kind *kind = snapshot->model->kind;
    return kind->system || kind->provider->templates || snapshot->model->layers > 0 ||
           snapshot->scorer.beside.graph;
}

/* Models whose vectors are sums: the dot product of the item's vector with the base and with each term. */
static enum inmo_status by_vectors(struct reasons *reasons, struct inmo_error *error)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    const struct inmo_snapshot *snapshot = reasons->snapshot;
    const struct inmo_person *person = &reasons->person;
    const float *target = inmo_snapshot_item_row(snapshot, reasons->wanted);
    int dim = snapshot->scorer.dim;
    size_t width = (size_t)dim, size = (size_t)person->count * width;
    float *base = inmo_work_take(reasons->work, width, sizeof *base);
    float *term = inmo_work_take(reasons->work, size, sizeof *term);
    enum inmo_status status;
    if (!base || !term)
        return inmo_fail_memory(error, "the explanation");
    memset(base, 0, width * sizeof *base);
    memset(term, 0, size * sizeof *term);
    status = inmo_person_parts(snapshot, person, base, term, error);
    if (status)
        return status;
    reasons->score = kernels->dot(dim, person->r, target);
    if (snapshot->model->kind->provider)
        add_part(reasons, base_name(reasons), kernels->dot(dim, base, target));
    add_always(reasons);
    for (int32_t n = 0; n < person->count && depends_on_history(snapshot); n++) {
        double added = added_by(reasons, n);
        reasons->score += added;
        add_item(reasons, n, kernels->dot(dim, term + (size_t)n * width, target) + added);
    }
    return INMO_OK;
}

/* Other providers and backbones: what the score loses without each item. */
static enum inmo_status by_absence(struct reasons *reasons, struct inmo_error *error)
{
    const struct inmo_snapshot *snapshot = reasons->snapshot;
    const struct inmo_person *person = &reasons->person;
    float *r = inmo_work_take(reasons->work, (size_t)snapshot->scorer.dim, sizeof *r);
    double rest, product;
    if (!r)
        return inmo_fail_memory(error, "the explanation");
    product = inmo_scorer_pair(&snapshot->scorer, person->r, reasons->wanted);
    rest = reasons->score = product;
    for (int32_t n = 0; n < person->count; n++)
        rest = reasons->score += added_by(reasons, n);
    for (int32_t n = 0; n < person->count && depends_on_history(snapshot); n++) {
        double lost;
        inmo_person_without(snapshot, person, n, r);
        lost = product - inmo_scorer_pair(&snapshot->scorer, r, reasons->wanted) + added_by(reasons, n);
        add_item(reasons, n, lost);
        rest -= lost;
    }
    add_part(reasons, "(the rest)", rest);
    add_always(reasons);
    return INMO_OK;
}

/* The system's score of the item for a history. */
static double score_of(const struct reasons *reasons, const struct inmo_history *history)
{
    struct inmo_work *work = reasons->work;
    inmo_scorer_fill(&reasons->snapshot->scorer, history, 1, work->scratch, work->score);
    return work->score[reasons->wanted];
}

/* Systems whose score is a sum over the history: the score with each item alone. */
static void by_scores(struct reasons *reasons)
{
    const struct inmo_person *person = &reasons->person;
    struct inmo_history history = inmo_person_history(person);
    reasons->score = score_of(reasons, &history);
    for (int32_t n = 0; n < person->count; n++) {
        struct inmo_history alone = {-1, 1, 0, person->item + n, NULL, NULL};
        add_item(reasons, n, score_of(reasons, &alone));
    }
}

/* Other systems: what the score loses without each item, and the rest. */
static enum inmo_status by_missing(struct reasons *reasons, struct inmo_error *error)
{
    const struct inmo_person *person = &reasons->person;
    struct inmo_history history = inmo_person_history(person);
    int32_t *others = inmo_work_take(reasons->work, (size_t)person->count, sizeof *others);
    double rest;
    if (!others)
        return inmo_fail_memory(error, "the explanation");
    rest = reasons->score = score_of(reasons, &history);
    for (int32_t n = 0; n < person->count; n++) {
        struct inmo_history without = {-1, person->count - 1, 0, others, NULL, NULL};
        double lost;
        memcpy(others, person->item, (size_t)n * sizeof *others);
        memcpy(others + n, person->item + n + 1, (size_t)(person->count - n - 1) * sizeof *others);
        lost = reasons->score - score_of(reasons, &without);
        add_item(reasons, n, lost);
        rest -= lost;
    }
    add_part(reasons, "(the rest)", rest);
    return INMO_OK;
}

static void by_popularity(struct reasons *reasons)
{
    const struct inmo_graph *graph = reasons->snapshot->graph;
    reasons->score = (double)inmo_graph_degree(graph, graph->users + reasons->wanted);
    add_part(reasons, "(popularity)", reasons->score);
}

static enum inmo_status find_reasons(struct reasons *reasons, struct inmo_error *error)
{
    const struct inmo_snapshot *snapshot = reasons->snapshot;
    const struct inmo_model_kind *kind = snapshot->model->kind;
    const struct inmo_person *person = &reasons->person;
    if (snapshot->scorer.beside.graph) {
        if (inmo_work_sums(reasons->work, snapshot->graph->items) != 0)
            return inmo_fail_memory(error, "the explanation");
        inmo_beside_need(&snapshot->scorer.beside, person->item, person->count, 0, &reasons->work->sums);
    }
    if (!snapshot->scorer.by_dot && inmo_work_score_space(reasons->work, snapshot, 1) != 0)
        return inmo_fail_memory(error, "the explanation");
    if ((kind->system && !kind->system->personal) || person->falls_back)
        by_popularity(reasons); /* like the list, which is by popularity too */
    else if (!kind->system && (!kind->backbone->affine || kind->head || !kind->provider->additive))
        return by_absence(reasons, error);
    else if (snapshot->scorer.by_dot)
        return by_vectors(reasons, error);
    else if (kind->system->additive)
        by_scores(reasons);
    else
        return by_missing(reasons, error);
    return INMO_OK;
}

/* Finds the person and the item. Takes the view's lock. */
static enum inmo_status find_who(struct reasons *reasons, const struct inmo_query *query, const char *item,
                                 struct inmo_error *error)
{
    const struct inmo_snapshot *snapshot = reasons->snapshot;
    int32_t items = snapshot->graph->items;
    reasons->wanted = inmo_names_find(&reasons->view->items, item);
    if (reasons->wanted >= items && reasons->wanted < items + reasons->view->overlay.newcomers)
        return inmo_fail(error, INMO_UNKNOWN,
                         "item '%s' is new since the view was last refreshed; it can be explained after a refresh",
                         item);
    if (reasons->wanted < 0 || reasons->wanted >= items ||
        inmo_snapshot_is_gone(snapshot, snapshot->graph->users + reasons->wanted) ||
        inmo_overlay_is_gone(&reasons->view->overlay, reasons->wanted))
        return inmo_fail(error, INMO_UNKNOWN, "item '%s' is in neither the model nor the observed interactions",
                         item);
    return inmo_person_make(reasons->view, snapshot, reasons->work, query, &reasons->person, error);
}

static struct inmo_explanation *copy_out(const struct reasons *reasons)
{
    struct inmo_entry *part = NULL;
    struct inmo_explanation *explanation =
        inmo_entries_copy(sizeof *explanation, reasons->part, reasons->count, &part);
    if (explanation)
        *explanation = (struct inmo_explanation){reasons->score, reasons->count, part};
    return explanation;
}

static enum inmo_status explain(struct reasons *reasons, const struct inmo_query *query, const char *item,
                                struct inmo_explanation **out, struct inmo_error *error)
{
    struct inmo_snapshot *snapshot;
    enum inmo_status status;
    inmo_view_read_lock(reasons->view);
    reasons->snapshot = snapshot = inmo_snapshot_hold(reasons->view->snapshot);
    status = find_who(reasons, query, item, error);
    inmo_view_unlock(reasons->view);
    if (!status) {
        reasons->part = inmo_work_take(reasons->work, (size_t)reasons->person.count + 2, sizeof *reasons->part);
        status = reasons->part ? find_reasons(reasons, error) : inmo_fail_memory(error, "the explanation");
    }
    if (!status) {
        qsort(reasons->part, reasons->count, sizeof *reasons->part, by_contribution);
        *out = copy_out(reasons);
        if (!*out)
            status = inmo_fail_memory(error, "the explanation");
    }
    inmo_snapshot_release(snapshot);
    return status;
}

enum inmo_status inmo_explain(const struct inmo_view *view, const struct inmo_query *query, const char *item,
                              struct inmo_explanation **out, struct inmo_error *error)
{
    struct inmo_explanation *explanation = NULL;
    struct reasons reasons = {.view = view};
    enum inmo_status status = inmo_check_query(query, error);
    if (status)
        return status;
    reasons.work = inmo_view_borrow(view);
    status = reasons.work ? explain(&reasons, query, item, &explanation, error)
                          : inmo_fail_memory(error, "the explanation");
    if (!status)
        *out = explanation;
    inmo_view_give_back(view, reasons.work);
    return status;
}
