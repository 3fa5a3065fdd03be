/* person.c - who is asking: a user of the view, or somebody with a list of items.
 *
 * A person nobody has seen gets an embedding as the provider would make it, and the backbone folds it in: the
 * row of one more node, computed from what the scorer keeps of the others, which stay as they are (docs/math.md,
 * "Somebody unseen"). With an affine backbone that is the sum of one term for each item of the history and a
 * base; explanations use those. A system with vectors gives such terms itself. */
#include "base/memory.h"
#include "kernel/kernel.h"
#include "view/view.h"

#include <math.h>
#include <string.h>

void inmo_person_free(struct inmo_person *person)
{
    inmo_free(person->space);
    inmo_free(person->node);
    inmo_free(person->r);
    inmo_free(person->item);
    *person = (struct inmo_person){.user = -1};
}

static int is_template(const struct inmo_view *view, int32_t item)
{
    return view->bound.row_of_node[view->graph->users + item] >= 0;
}

static int has_templates(const struct inmo_view *view)
{
    const struct inmo_provider *provider = view->model->kind->provider;
    return provider && provider->templates;
}

static enum inmo_status known_user(const struct inmo_view *view, const char *id, struct inmo_person *person,
                                   struct inmo_error *error)
{
    const struct inmo_graph *graph = view->graph;
    int32_t u = inmo_idmap_find(&view->users, id);
    if (u < 0)
        return inmo_fail(error, INMO_UNKNOWN,
                         "user '%s' is in neither the model nor the observed interactions; recommend by a history "
                         "instead (`items` a,b,c), or add one (`observed` LOG)",
                         id);
    if (!inmo_kind_serves_unseen(view->model->kind) && view->bound.model_user[u] < 0)
        return inmo_fail(error, INMO_UNSUPPORTED,
                         "%s has no vector for user '%s', who was not in its training data; use %s",
                         view->model->kind->name, id, inmo_models_for_unseen);
    person->user = u;
    person->count = (int32_t)inmo_graph_degree(graph, u);
    person->item = inmo_alloc((size_t)person->count, sizeof *person->item);
    if (!person->item)
        return inmo_fail_memory(error, "a history");
    for (int32_t n = 0; n < person->count; n++)
        person->item[n] = graph->neighbour[graph->offset[u] + n] - graph->users;
    return INMO_OK;
}

static enum inmo_status unseen_person(const struct inmo_view *view, const struct inmo_query *query,
                                      struct inmo_person *person, struct inmo_error *error)
{
    if (!inmo_kind_serves_unseen(view->model->kind))
        return inmo_fail(error, INMO_UNSUPPORTED,
                         "%s cannot recommend for somebody unseen: it has learned vectors for the users of its "
                         "training data only; use %s",
                         view->model->kind->name, inmo_models_for_unseen);
    if (query->item_count > INT32_MAX)
        return inmo_fail(error, INMO_USAGE, "a history of %zu items is too long", query->item_count);
    person->item = inmo_alloc(query->item_count, sizeof *person->item);
    if (!person->item)
        return inmo_fail_memory(error, "a history");
    for (size_t n = 0; n < query->item_count; n++) {
        int32_t item = inmo_idmap_find(&view->items, query->items[n]);
        if (item >= 0)
            person->item[person->count++] = item;
        else
            person->unknown++;
    }
    person->count = (int32_t)inmo_ascending(person->item, person->count);
    return INMO_OK;
}

/* Whether the embedding is made of the plain sum over the rows of the history, which is not its part. */
static int is_completed(const struct inmo_view *view)
{
    return view->model->kind->provider->complete != NULL;
}

/* 1 / (templates + 1)^alpha, rounded as the provider rounds it. */
static float template_scale(const struct inmo_view *view, int templates)
{
    if (is_completed(view))
        return 1;
    return (float)pow((double)templates + 1, -inmo_model_alpha(view->model));
}

/* e += factor times the item's template vector, if it has one. */
static void add_template(const struct inmo_view *view, int32_t item, float factor, float *e)
{
    size_t dim = (size_t)view->model->dim;
    if (has_templates(view) && is_template(view, item))
        inmo_kernels()->add_scaled(
            (int)dim, factor,
            view->model->parameter + (size_t)view->bound.row_of_node[view->graph->users + item] * dim, e);
}

int inmo_person_has_row(const struct inmo_view *view, const struct inmo_person *person)
{
    return view->model->kind->provider && !has_templates(view) && person->user >= 0 &&
           view->bound.row_of_node[person->user] >= 0;
}

/* e += what of the embedding does not depend on the history: t_user, or the user's own row, or the mean of all. */
static void add_base(const struct inmo_view *view, const struct inmo_person *person, float factor, float *e)
{
    const struct inmo_model *model = view->model;
    const float *base = view->scorer.base;
    if (inmo_person_has_row(view, person))
        base = model->parameter + (size_t)view->bound.row_of_node[person->user] * (size_t)model->dim;
    inmo_kernels()->add_scaled(model->dim, has_templates(view) ? factor : 1, base, e);
}

/* out = what the backbone makes of the embedding at the beginning of space and of count nodes out of degree. */
static void fold(const struct inmo_view *view, const int32_t *node, int32_t count, int32_t degree, float *space,
                 float *out)
{
    const struct inmo_model *model = view->model;
    struct inmo_fold job = {view->graph,
                            model->dim,
                            model->layers,
                            inmo_kind_backbone_own(model->kind, model->dim, model->own),
                            view->scorer.memory,
                            space,
                            node,
                            count,
                            degree,
                            space + model->dim};
    model->kind->backbone->fold(&job, out);
}

static float *cleared(const struct inmo_view *view, float *space)
{
    return memset(space, 0, (size_t)view->model->dim * sizeof *space);
}

/* What the item adds to the row that an affine backbone makes: the row with it minus the row with nothing. */
static void fold_term(const struct inmo_view *view, const struct inmo_person *person, int32_t item, float *out)
{
    int32_t node = view->graph->users + item;
    float *space = person->space, *constant = space + (1 + INMO_FOLD_SPACE) * (size_t)view->model->dim;
    fold(view, NULL, 0, person->count, cleared(view, space), constant);
    add_template(view, item, template_scale(view, person->usable), cleared(view, space));
    fold(view, &node, 1, person->count, space, out);
    inmo_kernels()->add_scaled(view->scorer.dim, -1, constant, out);
}

enum inmo_status inmo_person_parts(const struct inmo_view *view, const struct inmo_person *person, float *base,
                                   float *term, struct inmo_error *error)
{
    const struct inmo_system *system = view->model->kind->system;
    struct inmo_history history = inmo_person_history(person);
    if (system)
        return system->fold(view->scorer.state, &history, term, error);
    add_base(view, person, template_scale(view, person->usable), cleared(view, person->space));
    fold(view, NULL, 0, person->count, person->space, base);
    for (int32_t n = 0; n < person->count; n++)
        fold_term(view, person, person->item[n], term + (size_t)n * (size_t)view->scorer.dim);
    return INMO_OK;
}

void inmo_person_without(const struct inmo_view *view, const struct inmo_person *person, int32_t item, float *out)
{
    int32_t kept = 0, templates = 0;
    float scale, *e = cleared(view, person->space);
    for (int32_t n = 0; n < person->count; n++)
        if (person->item[n] != item) {
            person->node[kept++] = view->graph->users + person->item[n];
            templates += has_templates(view) && is_template(view, person->item[n]);
        }
    scale = template_scale(view, templates);
    if (!is_completed(view))
        add_base(view, person, scale, e);
    for (int32_t n = 0; n < kept; n++)
        add_template(view, person->node[n] - view->graph->users, scale, e);
    if (is_completed(view))
        view->model->kind->provider->complete(&view->bound.binding, view->scorer.base, e);
    fold(view, person->node, kept, kept, e, out);
}

/* A system's vector of somebody unseen: the sum of its terms. */
static enum inmo_status add_terms(const struct inmo_view *view, const struct inmo_person *person,
                                  struct inmo_error *error)
{
    size_t width = (size_t)view->scorer.dim;
    float *term = inmo_alloc_zero((size_t)person->count * width, sizeof *term);
    enum inmo_status status = term ? inmo_person_parts(view, person, person->r, term, error)
                                   : inmo_fail_memory(error, "a representation");
    for (int32_t n = 0; n < person->count && !status; n++)
        inmo_kernels()->add_scaled(view->scorer.dim, 1, term + (size_t)n * width, person->r);
    inmo_free(term);
    return status;
}

static enum inmo_status represent(const struct inmo_view *view, struct inmo_person *person,
                                  struct inmo_error *error)
{
    size_t width = (size_t)view->scorer.dim;
    /* the embedding, the backbone's, and a row to subtract */
    size_t space = (1 + INMO_FOLD_SPACE) * (size_t)view->model->dim + width;
    person->r = inmo_alloc_zero(width, sizeof *person->r);
    person->node = inmo_alloc((size_t)person->count, sizeof *person->node);
    person->space = inmo_alloc(space, sizeof *person->space);
    if (!person->r || !person->node || !person->space)
        return inmo_fail_memory(error, "a representation");
    if (person->user >= 0)
        memcpy(person->r, view->scorer.r + (size_t)person->user * width, width * sizeof *person->r);
    else if (view->model->kind->system)
        return add_terms(view, person, error);
    else
        inmo_person_without(view, person, -1, person->r);
    return INMO_OK;
}

static int usable(const struct inmo_view *view, int32_t item)
{
    const struct inmo_system *system = view->model->kind->system;
    if (system)
        return system->new_items || view->bound.model_item[item] >= 0;
    return !has_templates(view) || is_template(view, item);
}

enum inmo_status inmo_person_make(const struct inmo_view *view, const struct inmo_query *query,
                                  struct inmo_person *out, struct inmo_error *error)
{
    struct inmo_person person = {.user = -1};
    enum inmo_status status =
        query->user ? known_user(view, query->user, &person, error) : unseen_person(view, query, &person, error);
    if (status)
        goto done;
    for (int32_t n = 0; n < person.count; n++)
        person.usable += usable(view, person.item[n]);
    if (view->scorer.dim > 0)
        status = represent(view, &person, error);
    if (status)
        goto done;
    *out = person;
    person = (struct inmo_person){.user = -1};
done:
    inmo_person_free(&person);
    return status;
}
