/* person.c - who is asking: a user of the view, or somebody with a list of items.
 *
 * The representation of a person nobody has seen is the sum of one term for each item of the history and a base that
 * does not depend on it (docs/math.md, "Somebody unseen"). Explanations use the same two functions, which is why
 * they add up. */
#include "base/memory.h"
#include "kernel/kernel.h"
#include "view/view.h"

#include <math.h>
#include <string.h>

void inmo_person_free(struct inmo_person *person)
{
    inmo_free(person->r);
    inmo_free(person->item);
    *person = (struct inmo_person){.user = -1};
}

static int is_template(const struct inmo_view *view, int32_t item)
{
    return view->bound.row_of_node[view->graph->users + item] >= 0;
}

static int is_inmo(const struct inmo_view *view)
{
    const struct inmo_provider *provider = view->model->kind->provider;
    return provider && provider->inductive;
}

static enum inmo_status known_user(const struct inmo_view *view, const char *id, struct inmo_person *person,
                                   struct inmo_error *error)
{
    const struct inmo_graph *graph = view->graph;
    int32_t u = inmo_idmap_find(&view->users, id);
    if (u < 0)
        return inmo_fail(error, INMO_UNKNOWN,
                         "user '%s' is in neither the model nor the observed interactions; recommend by a history "
                         "instead (--items a,b,c), or add one (--observed LOG)",
                         id);
    if (!inmo_kind_serves_unseen(view->model->kind) && view->bound.model_user[u] < 0)
        return inmo_fail(error, INMO_UNSUPPORTED,
                         "%s has no vector for user '%s', who was not in its training data; use an inmo model",
                         view->model->kind->name, id);
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
                         "training data only; use an inmo model",
                         view->model->kind->name);
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

/* 1 / (templates + 1)^alpha, rounded as the provider rounds it. */
static float template_scale(const struct inmo_view *view, const struct inmo_person *person)
{
    return (float)pow((double)person->usable + 1, -inmo_model_alpha(view->model));
}

static void add_term(const struct inmo_view *view, const struct inmo_person *person, int32_t item, float *out)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    int dim = view->scorer.dim;
    int32_t node = view->graph->users + item;
    float mean = 1 / (float)(view->model->layers + 1);
    if (is_inmo(view) && is_template(view, item))
        kernels->add_scaled(dim, mean * template_scale(view, person),
                            view->model->parameter + (size_t)view->bound.row_of_node[node] * (size_t)dim, out);
    if (view->model->layers > 0)
        kernels->add_scaled(dim, mean * view->graph->inverse_root_degree[node] / sqrtf((float)person->count),
                            view->scorer.sums + (size_t)node * (size_t)dim, out);
}

/* What does not depend on the history: t_user, or the user's own vector. */
static void add_base(const struct inmo_view *view, const struct inmo_person *person, float *out)
{
    const struct inmo_model *model = view->model;
    size_t dim = (size_t)view->scorer.dim;
    float mean = 1 / (float)(model->layers + 1);
    if (is_inmo(view))
        inmo_kernels()->add_scaled(view->scorer.dim, mean * template_scale(view, person),
                                   model->parameter + (size_t)model->rows * dim, out);
    else
        inmo_kernels()->add_scaled(view->scorer.dim, mean,
                                   model->parameter + (size_t)view->bound.row_of_node[person->user] * dim, out);
}

enum inmo_status inmo_person_parts(const struct inmo_view *view, const struct inmo_person *person, float *base,
                                   float *term, struct inmo_error *error)
{
    const struct inmo_system *system = view->model->kind->system;
    struct inmo_history history = inmo_person_history(person);
    if (system)
        return system->fold(view->scorer.state, &history, term, error);
    add_base(view, person, base);
    for (int32_t n = 0; n < person->count; n++)
        add_term(view, person, person->item[n], term + (size_t)n * (size_t)view->scorer.dim);
    return INMO_OK;
}

/* The representation: a user's is there, somebody unseen is the sum of the parts. */
static enum inmo_status represent(const struct inmo_view *view, struct inmo_person *person, struct inmo_error *error)
{
    const struct inmo_system *system = view->model->kind->system;
    int dim = view->scorer.dim;
    size_t width = (size_t)dim;
    float *term = NULL;
    enum inmo_status status = INMO_OK;
    person->r = inmo_alloc_zero(width, sizeof *person->r);
    if (!person->r)
        return inmo_fail_memory(error, "a representation");
    if (person->user >= 0) {
        memcpy(person->r, view->scorer.r + (size_t)person->user * width, width * sizeof *person->r);
    } else if (!system) {
        add_base(view, person, person->r);
        for (int32_t n = 0; n < person->count; n++)
            add_term(view, person, person->item[n], person->r);
    } else {
        term = inmo_alloc_zero((size_t)person->count * width, sizeof *term);
        status = term ? inmo_person_parts(view, person, person->r, term, error)
                      : inmo_fail_memory(error, "a representation");
        for (int32_t n = 0; n < person->count && !status; n++)
            inmo_kernels()->add_scaled(dim, 1, term + (size_t)n * width, person->r);
        inmo_free(term);
    }
    return status;
}

static int usable(const struct inmo_view *view, int32_t item)
{
    const struct inmo_system *system = view->model->kind->system;
    if (system)
        return system->new_items || view->bound.model_item[item] >= 0;
    return !is_inmo(view) || is_template(view, item);
}

enum inmo_status inmo_person_make(const struct inmo_view *view, const struct inmo_query *query,
                                  struct inmo_person *out, struct inmo_error *error)
{
    struct inmo_person person = {.user = -1};
    enum inmo_status status = query->user ? known_user(view, query->user, &person, error)
                                          : unseen_person(view, query, &person, error);
    if (status)
        goto done;
    for (int32_t n = 0; n < person.count; n++)
        person.usable += usable(view, person.item[n]);
    if (inmo_view_has_vectors(view))
        status = represent(view, &person, error);
    if (status)
        goto done;
    *out = person;
    person = (struct inmo_person){.user = -1};
done:
    inmo_person_free(&person);
    return status;
}
