/* scorer.c - see scorer.h. */
#include "score/scorer.h"

#include "base/memory.h"
#include "base/threads.h"
#include "graph/order.h"
#include "graph/share.h"
#include "kernel/kernel.h"

#include <string.h>

struct inmo_history inmo_history_of(const struct inmo_graph *graph, int32_t user)
{
    return (struct inmo_history){user,         (int32_t)inmo_graph_degree(graph, user),
                                 graph->users, graph->neighbour + graph->offset[user],
                                 NULL,         graph->weight ? graph->weight + graph->offset[user] : NULL};
}

static void fill_scores(const void *context, const int32_t *who, int32_t count, void *scratch, float *score)
{
    enum { AT_ONCE = 192 };
    const struct inmo_scorer *scorer = context;
    struct inmo_history history[AT_ONCE];
    for (int32_t done = 0, part; done < count; done += part) {
        part = count - done < AT_ONCE ? count - done : AT_ONCE;
        for (int32_t n = 0; n < part; n++)
            history[n] = inmo_history_of(scorer->graph, who[done + n]);
        scorer->model->kind->system->score(scorer->state, history, part, scratch,
                                           score + (size_t)done * (size_t)scorer->graph->items);
    }
}

static void close_state(struct inmo_scorer *scorer)
{
    if (scorer->state)
        scorer->model->kind->system->close(scorer->state);
    scorer->state = NULL;
}

void inmo_scorer_close(struct inmo_scorer *scorer)
{
    inmo_beside_free(&scorer->beside);
    inmo_head_source_close(&scorer->head);
    inmo_free(scorer->base);
    inmo_free(scorer->memory);
    inmo_free(scorer->r);
    close_state(scorer);
    if (scorer->holds_blas)
        inmo_blas_release();
    *scorer = (struct inmo_scorer){0};
}

static enum inmo_status open_system(struct inmo_scorer *scorer, struct inmo_error *error)
{
    const struct inmo_system *system = scorer->model->kind->system;
    enum inmo_status status;
    close_state(scorer);
    status = system->open(scorer->model, scorer->bound, &scorer->state, error);
    if (status)
        return status;
    if (system->vectors)
        return system->vectors(scorer->state, scorer->r, error);
    scorer->fill = (struct inmo_fill){
        fill_scores, scorer, system->scratch_bytes ? system->scratch_bytes(scorer->state) : 0, system->users};
    return INMO_OK;
}

/* Walks, links and popularity of the graph, unless they are there already. */
static enum inmo_status put_beside(struct inmo_scorer *scorer, struct inmo_error *error)
{
    const struct inmo_model *model = scorer->model;
    struct inmo_beside *beside = &scorer->beside;
    enum inmo_status status = INMO_OK;
    if (model->walks > 0 && !beside->walks) {
        status = inmo_walks_open(scorer->graph, model->walks, model->popularity, model->walk_neighbours,
                                 &beside->walks, error);
        if (!status && !scorer->for_serving)
            status = inmo_walks_complete(beside->walks, NULL, error);
    }
    if (!status && model->links > 0 && !beside->links)
        status = inmo_links_bind(model, scorer->bound, NULL, &beside->links, error);
    if (!status && model->prior > 0 && !beside->prior)
        status = inmo_prior_make(scorer->graph, model->prior, &beside->prior, error);
    beside->graph = beside->walks || beside->links || beside->prior ? scorer->graph : NULL;
    return status;
}

/* How many users have a row in r. */
static size_t user_rows(const struct inmo_scorer *scorer)
{
    return (size_t)(scorer->bound->divided ? scorer->bound->binding.graph->share->own_users : scorer->graph->users);
}

/* Puts the rows of all items back in the data set's order. */
static enum inmo_status restore_items(const struct inmo_graph *whole, int dim, float *rows,
                                      struct inmo_error *error)
{
    int32_t *from = whole->place ? inmo_alloc((size_t)whole->items, sizeof *from) : NULL;
    enum inmo_status status;
    if (!whole->place)
        return INMO_OK;
    if (!from)
        return inmo_fail_memory(error, "the representations");
    for (int32_t i = 0; i < whole->items; i++)
        from[i] = whole->place[whole->users + i] - whole->users;
    status = inmo_order_rows(whole->items, from, dim, rows, error);
    inmo_free(from);
    return status;
}

/* Each rank computes the rows of its own nodes; then all have those of all items, and of all users unless they are
 * divided. */
static enum inmo_status represent_share(struct inmo_scorer *scorer, double alpha, struct inmo_error *error)
{
    const struct inmo_model *model = scorer->model;
    const struct inmo_binding *binding = &scorer->bound->binding;
    size_t width = (size_t)scorer->dim;
    float *r = inmo_alloc((size_t)binding->graph->nodes * width, sizeof *r);
    enum inmo_status status = r ? inmo_represent(model->kind, binding, model->layers, model->parameter, model->own,
                                                 alpha, model->popularity, r, NULL, error)
                                : inmo_fail_memory(error, "the representations");
    if (!status && scorer->bound->divided)
        memcpy(scorer->r, r, user_rows(scorer) * width * sizeof *r);
    else if (!status)
        inmo_share_assemble(binding->graph, 0, width * sizeof *r, r, scorer->r);
    if (!status)
        inmo_share_assemble(binding->graph, 1, width * sizeof *r, r, scorer->r + user_rows(scorer) * width);
    inmo_free(r);
    return status;
}

static enum inmo_status represent(struct inmo_scorer *scorer, double alpha, struct inmo_error *error)
{
    const struct inmo_model *model = scorer->model;
    const struct inmo_provider *provider = model->kind->provider;
    const struct inmo_binding *binding = &scorer->bound->binding;
    const struct inmo_graph *graph = scorer->graph;
    enum inmo_status status;
    if (scorer->base && provider->base && provider->base(binding, model->parameter, model->own, scorer->base))
        return inmo_fail_memory(error, "the representations");
    if (binding->graph->share)
        status = represent_share(scorer, alpha, error);
    else
        status = inmo_represent(model->kind, binding, model->layers, model->parameter, model->own, alpha,
                                model->popularity, scorer->r, scorer->memory, error);
    /* So that ties rank alike however training numbered the nodes. */
    if (!status && scorer->bound->divided)
        status = restore_items(inmo_graph_whole(binding->graph), scorer->dim,
                               scorer->r + user_rows(scorer) * (size_t)scorer->dim, error);
    else if (!status)
        status = inmo_order_restore(inmo_graph_whole(binding->graph), scorer->dim, scorer->r, error);
    if (!status && model->kind->head) {
        inmo_head_source_close(&scorer->head);
        status = inmo_head_source_open(&scorer->head, model->kind->head, scorer->dim, inmo_model_head(model),
                                       scorer->r, graph->users, graph->items, error);
        scorer->fill = scorer->head.fill;
    }
    return status ? status : put_beside(scorer, error);
}

enum inmo_status inmo_scorer_make(struct inmo_scorer *scorer, const struct inmo_model *model,
                                  const struct inmo_model_binding *bound, int for_serving, struct inmo_error *error)
{
    const struct inmo_model_kind *kind = model->kind;
    size_t nodes;
    int complete;
    *scorer = (struct inmo_scorer){.model = model,
                                   .bound = bound,
                                   .graph = bound->graph,
                                   .dim = inmo_model_width(model),
                                   .for_serving = for_serving,
                                   .holds_blas = 1};
    inmo_blas_hold();
    nodes = user_rows(scorer) + (size_t)bound->graph->items;
    scorer->by_dot = scorer->dim > 0 && !kind->head;
    scorer->r = inmo_alloc(nodes * (size_t)scorer->dim, sizeof(float));
    complete = scorer->r != NULL;
    if (for_serving && kind->provider) {
        size_t width = (size_t)inmo_backbone_memory_width(kind->backbone, model->dim, model->layers);
        scorer->memory = inmo_alloc(nodes * width, sizeof(float));
        scorer->base = inmo_alloc_zero(2 * (size_t)kind->provider->base_rows * (size_t)model->dim, sizeof(float));
        complete = complete && scorer->memory && scorer->base;
    }
    if (complete)
        return INMO_OK;
    inmo_scorer_close(scorer);
    return inmo_fail_memory(error, "the representations");
}

enum inmo_status inmo_scorer_refresh(struct inmo_scorer *scorer, double alpha, struct inmo_error *error)
{
    return scorer->model->kind->system ? open_system(scorer, error) : represent(scorer, alpha, error);
}

void inmo_scorer_rest(struct inmo_scorer *scorer)
{
    size_t rows = user_rows(scorer) + (size_t)scorer->graph->items;
    inmo_release(scorer->r, 0, rows * (size_t)scorer->dim * sizeof *scorer->r);
}

enum inmo_status inmo_scorer_open(struct inmo_scorer *scorer, const struct inmo_model *model,
                                  const struct inmo_model_binding *bound, double alpha, int for_serving,
                                  struct inmo_error *error)
{
    enum inmo_status status = inmo_scorer_make(scorer, model, bound, for_serving, error);
    if (status)
        return status;
    status = inmo_scorer_refresh(scorer, alpha, error);
    if (status)
        inmo_scorer_close(scorer);
    return status;
}

void inmo_scorer_source(const struct inmo_scorer *scorer, struct inmo_rank *job)
{
    job->items = scorer->graph->items;
    job->dim = scorer->dim;
    job->user = scorer->bound->divided ? NULL : scorer->r;
    job->item = scorer->r + user_rows(scorer) * (size_t)scorer->dim;
    job->fill = scorer->by_dot ? NULL : &scorer->fill;
    job->beside = scorer->beside.graph ? &scorer->beside : NULL;
}

void inmo_scorer_fill(const struct inmo_scorer *scorer, const struct inmo_history *who, int32_t count,
                      void *scratch, float *score)
{
    if (!scorer->head.scores) {
        scorer->model->kind->system->score(scorer->state, who, count, scratch, score);
        return;
    }
    for (int32_t n = 0; n < count; n++)
        scorer->head.head->score(scorer->head.scores, who[n].r, 1, scratch,
                                 score + (size_t)n * (size_t)scorer->graph->items);
}

double inmo_scorer_product(const struct inmo_scorer *scorer, const float *user, const float *item)
{
    if (scorer->by_dot)
        return inmo_kernels()->dot(scorer->dim, user, item);
    return scorer->head.head->pair(scorer->dim, inmo_model_head(scorer->model), user, item);
}

double inmo_scorer_pair(const struct inmo_scorer *scorer, const float *r, int32_t item)
{
    size_t row = (size_t)scorer->graph->users + (size_t)item;
    return inmo_scorer_product(scorer, r, scorer->r + row * (size_t)scorer->dim);
}
