/* person.c - see person.h.
 *
 * Folding in: for a person who is new or has changed since the snapshot, the provider composes an embedding from
 * the history, and the backbone computes the row of one more node from what the scorer keeps of the others, which
 * do not change (docs/math.md, "Cold-start users"). With an additive provider and an affine backbone the result is
 * a base plus one term for each item of the history; explanations use these. Systems with vectors compute such
 * terms themselves. Items newer than the snapshot are folded in from their users in the same way. */
#include "view/person.h"

#include "base/memory.h"
#include "kernel/kernel.h"
#include "score/offer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double inmo_person_coverage(const struct inmo_person *person)
{
    int32_t all = person->seen_count + person->unknown;
    return all > 0 ? (double)person->usable / all : 0;
}

/* ---- Folding in ---------------------------------------------------------------------------------------------- */

/* Scratch floats for folding in: the embedding, the backbone's scratch, and a row to subtract. */
static size_t fold_space(const struct inmo_snapshot *snapshot)
{
    return (1 + INMO_FOLD_SPACE) * (size_t)snapshot->model->dim + (size_t)snapshot->scorer.dim;
}

static struct inmo_composition composition(const struct inmo_snapshot *snapshot, const int32_t *node, int32_t count,
                                           int32_t usable)
{
    return (struct inmo_composition){
        .binding = &snapshot->bound.binding,
        .parameter = snapshot->model->parameter,
        .base = snapshot->scorer.base,
        .alpha = inmo_model_alpha(snapshot->model),
        .own_row = -1,
        .node = node,
        .count = count,
        .usable = usable,
        .with_base = 1,
        .mean = 1,
    };
}

/* out = the row that provider and backbone compute from the listed neighbours; degree counts all of them, strength
 * sums their weights. */
static void fold(const struct inmo_snapshot *snapshot, const struct inmo_composition *made_of, int32_t degree,
                 double strength, float *space, float *out)
{
    const struct inmo_model *model = snapshot->model;
    struct inmo_fold job = {
        .graph = snapshot->graph,
        .dim = model->dim,
        .layers = model->layers,
        .own = inmo_kind_backbone_own(model->kind, model->dim, model->own),
        .memory = snapshot->scorer.memory,
        .e = space,
        .node = made_of->node,
        .count = made_of->count,
        .degree = degree,
        .weight = made_of->weight,
        .strength = strength,
        .space = space + model->dim,
        .is_item = made_of->is_item,
    };
    model->kind->provider->compose(made_of, space);
    model->kind->backbone->fold(&job, out);
}

int inmo_person_has_row(const struct inmo_snapshot *snapshot, const struct inmo_person *person)
{
    const struct inmo_provider *provider = snapshot->model->kind->provider;
    return provider && !provider->templates && person->own >= 0 && snapshot->bound.row_of_node[person->own] >= 0;
}

static int32_t own_row(const struct inmo_snapshot *snapshot, const struct inmo_person *person)
{
    return inmo_person_has_row(snapshot, person) ? snapshot->bound.row_of_node[person->own] : -1;
}

/* What the item adds to the row of an affine backbone: the row with this item minus the row with none. */
static void fold_term(const struct inmo_snapshot *snapshot, const struct inmo_person *person, int32_t n, float *out)
{
    int32_t node = snapshot->graph->users + person->item[n];
    float *space = person->space, *constant = space + (1 + INMO_FOLD_SPACE) * (size_t)snapshot->model->dim;
    struct inmo_composition nothing = composition(snapshot, NULL, 0, person->usable);
    struct inmo_composition alone = composition(snapshot, &node, 1, person->usable);
    nothing.with_base = alone.with_base = 0;
    if (person->weight) {
        alone.weight = person->weight + n;
        alone.mean = person->strength / person->count;
    }
    fold(snapshot, &nothing, person->count, person->strength, space, constant);
    fold(snapshot, &alone, person->count, person->strength, space, out);
    inmo_kernels()->add_scaled(snapshot->scorer.dim, -1, constant, out);
}

enum inmo_status inmo_person_parts(const struct inmo_snapshot *snapshot, const struct inmo_person *person,
                                   float *base, float *term, struct inmo_error *error)
{
    const struct inmo_system *system = snapshot->model->kind->system;
    struct inmo_history history = inmo_person_history(person);
    struct inmo_composition nothing;
    if (system)
        return system->fold(snapshot->scorer.state, &history, term, error);
    nothing = composition(snapshot, NULL, 0, person->usable);
    nothing.own_row = own_row(snapshot, person);
    fold(snapshot, &nothing, person->count, person->strength, person->space, base);
    for (int32_t n = 0; n < person->count; n++)
        fold_term(snapshot, person, n, term + (size_t)n * (size_t)snapshot->scorer.dim);
    return INMO_OK;
}

/* The neighbours' rows lie anywhere: asks the memory for the beginnings of those that will be summed first; the
 * rest of a row, and of the rows, comes while others are. */
static void fetch_rows(const struct inmo_snapshot *snapshot, const int32_t *node, int32_t count)
{
    enum { ROWS = 64 };
    const struct inmo_model *model = snapshot->model;
    int width = inmo_backbone_memory_width(model->kind->backbone, model->dim, model->layers);
    for (int32_t n = 0; n < count && n < ROWS; n++) {
        int32_t row = snapshot->bound.row_of_node[node[n]];
        if (row >= 0)
            __builtin_prefetch(model->parameter + (size_t)row * (size_t)model->dim);
        if (width > 0)
            __builtin_prefetch(snapshot->scorer.memory + (size_t)node[n] * (size_t)width);
    }
}

/* The representation from the history without item number `without`; -1: from the whole history. */
static void fold_history(const struct inmo_snapshot *snapshot, const struct inmo_person *person, int32_t without,
                         float *out)
{
    struct inmo_composition made_of;
    int32_t kept = 0, usable = 0;
    double strength = 0;
    for (int32_t n = 0; n < person->count; n++)
        if (n != without) {
            if (person->weight)
                person->node_weight[kept] = person->weight[n];
            strength += person->weight ? (double)person->weight[n] : 1;
            person->node[kept++] = snapshot->graph->users + person->item[n];
            usable += inmo_is_usable(snapshot->model, &snapshot->bound, person->item[n]);
        }
    fetch_rows(snapshot, person->node, kept);
    made_of = composition(snapshot, person->node, kept, usable);
    made_of.own_row = own_row(snapshot, person);
    if (person->weight && kept > 0) {
        made_of.weight = person->node_weight;
        made_of.mean = strength / kept;
    }
    fold(snapshot, &made_of, kept, strength, person->space, out);
}

void inmo_person_without(const struct inmo_snapshot *snapshot, const struct inmo_person *person, int32_t n,
                         float *out)
{
    fold_history(snapshot, person, n, out);
}

int inmo_newcomer_fold(const struct inmo_snapshot *snapshot, const int32_t *user, int32_t count, float *r)
{
    const struct inmo_model *model = snapshot->model;
    int32_t *node = inmo_alloc((size_t)count, sizeof *node), kept = 0, usable = 0;
    float *space = inmo_alloc(fold_space(snapshot), sizeof *space);
    if (node && space) {
        struct inmo_composition made_of;
        for (int32_t n = 0; n < count; n++)
            if (user[n] < snapshot->graph->users && !inmo_snapshot_is_gone(snapshot, user[n])) {
                node[kept++] = user[n];
                usable += !model->kind->provider->templates || snapshot->bound.row_of_node[user[n]] >= 0;
            }
        kept = (int32_t)inmo_ascending(node, kept);
        made_of = composition(snapshot, node, kept, usable);
        made_of.is_item = 1;
        fold(snapshot, &made_of, kept, kept, space, r);
        if (model->popularity != 0) {
            float scale = (float)pow(kept > 0 ? (double)kept : 1, model->popularity);
            for (int j = 0; j < snapshot->scorer.dim; j++)
                r[j] *= scale;
        }
    }
    inmo_free(space);
    inmo_free(node);
    return node && space ? 0 : -1;
}

/* The vector of a history in a system: the sum of its terms. */
static enum inmo_status add_terms(const struct inmo_snapshot *snapshot, struct inmo_work *work,
                                  const struct inmo_person *person, float *r, struct inmo_error *error)
{
    size_t width = (size_t)snapshot->scorer.dim, size = (size_t)person->count * width;
    float *term = inmo_work_take(work, size, sizeof *term);
    enum inmo_status status;
    if (!term)
        return inmo_fail_memory(error, "a representation");
    memset(term, 0, size * sizeof *term);
    memset(r, 0, width * sizeof *r);
    status = inmo_person_parts(snapshot, person, r, term, error);
    for (int32_t n = 0; n < person->count && !status; n++)
        inmo_kernels()->add_scaled(snapshot->scorer.dim, 1, term + (size_t)n * width, r);
    return status;
}

static enum inmo_status represent(const struct inmo_snapshot *snapshot, struct inmo_work *work,
                                  struct inmo_person *person, struct inmo_error *error)
{
    float *r = inmo_work_take(work, (size_t)snapshot->scorer.dim, sizeof *r);
    person->node = inmo_work_take(work, (size_t)person->count, sizeof *person->node);
    person->space = inmo_work_take(work, fold_space(snapshot), sizeof *person->space);
    person->node_weight =
        person->weight ? inmo_work_take(work, (size_t)person->count, sizeof *person->node_weight) : NULL;
    if (!r || !person->node || !person->space || (person->weight && !person->node_weight))
        return inmo_fail_memory(error, "a representation");
    person->r = r;
    if (person->user >= 0)
        person->r = inmo_snapshot_row(snapshot, person->user);
    else if (snapshot->model->kind->system)
        return add_terms(snapshot, work, person, r, error);
    else
        fold_history(snapshot, person, -1, r);
    return INMO_OK;
}

/* ---- Who it is ----------------------------------------------------------------------------------------------- */

/* Puts the history together in seen, the snapshot's part first; *past is the length of that part. */
static enum inmo_status gather_history(const struct inmo_view *view, const struct inmo_snapshot *snapshot,
                                       struct inmo_work *work, const struct inmo_row *row,
                                       struct inmo_person *person, int32_t *past, struct inmo_error *error)
{
    const struct inmo_graph *graph = snapshot->graph;
    int32_t user = row->user;
    const struct inmo_change *change = user >= 0 ? inmo_overlay_change(&view->overlay, user) : NULL;
    int64_t degree = person->own >= 0 ? inmo_graph_degree(graph, user) : 0, count = 0;
    size_t most = (size_t)degree + (change ? (size_t)change->added.count : 0) + (size_t)row->count;
    if (most > INT32_MAX)
        return inmo_fail(error, INMO_USAGE, "a history of %zu items is too long", most);
    person->seen = inmo_work_take(work, most, sizeof *person->seen);
    person->item = inmo_work_take(work, most, sizeof *person->item);
    if (!person->seen || !person->item)
        return inmo_fail_memory(error, "a history");
    for (int64_t e = 0; e < degree; e++) {
        int32_t item = graph->neighbour[graph->offset[user] + e] - graph->users, removed = 0;
        for (int32_t n = 0; change && n < change->removed.count; n++)
            removed |= change->removed.number[n] == item;
        if (!removed)
            person->seen[count++] = item;
    }
    *past = (int32_t)count;
    for (int32_t n = 0; change && n < change->added.count; n++)
        person->seen[count++] = change->added.number[n];
    for (int64_t n = 0; n < row->count; n++)
        if (row->item[n] >= 0)
            person->seen[count++] = row->item[n];
        else
            person->unknown++;
    person->seen_count = (int32_t)(count > *past ? inmo_ascending(person->seen, count) : count);
    return INMO_OK;
}

/* The weights of the history: those of the snapshot's graph, 1 for what it does not have. */
static enum inmo_status weigh_history(const struct inmo_snapshot *snapshot, struct inmo_work *work,
                                      struct inmo_person *person, struct inmo_error *error)
{
    const struct inmo_graph *graph = snapshot->graph;
    int64_t at = person->own >= 0 ? graph->offset[person->own] : 0;
    int64_t end = person->own >= 0 ? graph->offset[person->own + 1] : 0;
    person->strength = person->count;
    if (!graph->weight)
        return INMO_OK;
    person->weight = inmo_work_take(work, (size_t)person->count, sizeof *person->weight);
    person->share = inmo_work_take(work, (size_t)person->count, sizeof *person->share);
    if (!person->weight || !person->share)
        return inmo_fail_memory(error, "a history");
    person->strength = 0;
    for (int32_t n = 0; n < person->count; n++) { /* both are ascending */
        while (at < end && graph->neighbour[at] - graph->users < person->item[n])
            at++;
        person->weight[n] =
            at < end && graph->neighbour[at] - graph->users == person->item[n] ? graph->weight[at] : 1;
        person->strength += person->weight[n];
    }
    for (int32_t n = 0; n < person->count; n++)
        person->share[n] = (float)(person->weight[n] / (person->strength / person->count));
    return INMO_OK;
}

/* Faults name a user by id, or by number where the caller has only that. */
static enum inmo_status fail_user(enum inmo_status status, const char *before, const char *id, int32_t user,
                                  const char *after, struct inmo_error *error)
{
    return id ? inmo_fail(error, status, "%suser '%s'%s", before, id, after)
              : inmo_fail(error, status, "%suser %d%s", before, (int)user, after);
}

static enum inmo_status fail_unserved(const struct inmo_model *model, const char *id, int32_t user,
                                      struct inmo_error *error)
{
    char before[128], after[512];
    if (user < 0)
        return inmo_fail(error, INMO_UNSUPPORTED,
                         "%s cannot recommend for somebody unseen: it has learned vectors for the users of its "
                         "training data only; use %s",
                         model->kind->name, inmo_models_for_unseen());
    snprintf(before, sizeof before, "%s has no vector for ", model->kind->name);
    snprintf(after, sizeof after, ", who was not in its training data; use %s", inmo_models_for_unseen());
    return fail_user(INMO_UNSUPPORTED, before, id, user, after, error);
}

enum inmo_status inmo_person_make_row(const struct inmo_view *view, const struct inmo_snapshot *snapshot,
                                      struct inmo_work *work, const struct inmo_row *row, const char *id,
                                      struct inmo_person *person, struct inmo_error *error)
{
    const struct inmo_model *model = snapshot->model;
    int32_t user = row->user, past = 0;
    int by_name = user >= 0 && !inmo_overlay_has_user(&view->overlay, user) && inmo_seen_knows(&view->seen, user);
    enum inmo_status status = INMO_OK;
    *person = (struct inmo_person){.user = -1, .asked = user, .own = -1};
    if ((id || user >= 0) && !by_name && (user < 0 || !inmo_overlay_has_user(&view->overlay, user)))
        return fail_user(INMO_UNKNOWN, "", id, user,
                         " is in neither the model nor the observed interactions; recommend by `items` instead "
                         "(a,b,c), or add some of theirs (`observed` LOG)",
                         error);
    if (user >= 0 && inmo_overlay_has_past(&view->overlay, user))
        person->own = user;
    if (!inmo_kind_serves_unseen(model->kind) && !by_name &&
        (person->own < 0 || snapshot->bound.model_user[user] < 0))
        return fail_unserved(model, id, user, error);
    status = gather_history(view, snapshot, work, row, person, &past, error);
    if (status)
        return status;
    for (int32_t n = 0; n < person->seen_count; n++)
        if (person->seen[n] < snapshot->graph->items &&
            !inmo_snapshot_is_gone(snapshot, snapshot->graph->users + person->seen[n]) &&
            (person->own >= 0 || !inmo_overlay_is_gone(&view->overlay, person->seen[n])))
            person->item[person->count++] = person->seen[n];
    status = weigh_history(snapshot, work, person, error);
    if (status)
        return status;
    /* Use the snapshot's representation unless the history has changed. Models that cannot serve unseen users
     * always use it. */
    if (person->own >= 0 && (!inmo_kind_serves_unseen(model->kind) ||
                             (person->seen_count == past && past == inmo_graph_degree(snapshot->graph, user))))
        person->user = user;
    for (int32_t n = 0; n < person->count; n++)
        person->usable += inmo_is_usable(model, &snapshot->bound, person->item[n]);
    person->falls_back = inmo_falls_back(model, person->user >= 0, person->usable);
    if (by_name && !inmo_kind_serves_unseen(model->kind)) {
        person->falls_back = 1; /* there is no vector to go on */
        return INMO_OK;
    }
    return snapshot->scorer.dim > 0 ? represent(snapshot, work, person, error) : INMO_OK;
}

enum inmo_status inmo_person_make(const struct inmo_view *view, const struct inmo_snapshot *snapshot,
                                  struct inmo_work *work, const struct inmo_query *query,
                                  struct inmo_person *person, struct inmo_error *error)
{
    int32_t *item = inmo_work_take(work, query->item_count, sizeof *item);
    struct inmo_row row = {-1, item, (int64_t)query->item_count};
    if (!item)
        return inmo_fail_memory(error, "a history");
    if (query->user)
        row.user = inmo_names_find(&view->users, query->user);
    inmo_names_find_many(&view->items, query->items, query->item_count, item);
    return inmo_person_make_row(view, snapshot, work, &row, query->user, person, error);
}
