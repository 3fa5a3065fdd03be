/* view.c - building a view. Cost: the graph, one provider pass and K products; nothing is trained. */
#include "view/view.h"

#include "base/memory.h"
#include "data/log.h"

#include <string.h>

void inmo_view_free(struct inmo_view *view)
{
    if (!view)
        return;
    inmo_quantised_free(view->quantised);
    inmo_scorer_close(&view->scorer);
    inmo_model_unbind(&view->bound);
    inmo_graph_free(view->graph);
    inmo_idmap_drop_index(&view->items);
    inmo_idmap_drop_index(&view->users);
    inmo_idtable_free(view->item_table);
    inmo_idtable_free(view->user_table);
    inmo_free(view);
}

/* The model's ids first, with the same numbers, then the observed ones; number[n] is that of the log's n-th id. */
static enum inmo_status join_ids(const struct inmo_idmap *known, const struct inmo_idtable *observed,
                                 struct inmo_idtable **table, int32_t **number, struct inmo_error *error)
{
    struct inmo_idmap theirs = inmo_idtable_map(observed);
    *table = inmo_idtable_new();
    *number = inmo_alloc((size_t)theirs.count, sizeof **number);
    if (!*table || !*number)
        return inmo_fail_memory(error, "the ids");
    for (int32_t n = 0; n < known->count; n++) {
        const char *id = inmo_idmap_id(known, n);
        if (inmo_idtable_intern(*table, id, strlen(id)) < 0)
            return inmo_fail_memory(error, "the ids");
    }
    for (int32_t n = 0; n < theirs.count; n++) {
        const char *id = inmo_idmap_id(&theirs, n);
        (*number)[n] = inmo_idtable_intern(*table, id, strlen(id));
        if ((*number)[n] < 0)
            return inmo_fail_memory(error, "the ids");
    }
    return INMO_OK;
}

/* The observed log as a list of interactions in the view's numbers. */
static enum inmo_status list_observed(const struct inmo_log *log, const int32_t *user, const int32_t *item,
                                      int32_t users, int32_t items, struct inmo_csr *list, struct inmo_error *error)
{
    int64_t *offset = inmo_alloc_zero((size_t)users + 2, sizeof *offset), written = 0;
    int32_t *column = inmo_alloc((size_t)log->count, sizeof *column);
    if (!offset || !column) {
        inmo_free(column);
        inmo_free(offset);
        return inmo_fail_memory(error, "the observed interactions");
    }
    for (int64_t n = 0; n < log->count; n++)
        offset[user[inmo_log_user(log, n)] + 2]++;
    for (int32_t u = 0; u < users; u++)
        offset[u + 2] += offset[u + 1];
    for (int64_t n = 0; n < log->count; n++)
        column[offset[user[inmo_log_user(log, n)] + 1]++] = item[inmo_log_item(log, n)];
    for (int32_t u = 0; u < users; u++) {
        int64_t begin = offset[u], end = offset[u + 1], kept = inmo_ascending(column + begin, end - begin);
        memmove(column + written, column + begin, (size_t)kept * sizeof *column);
        offset[u] = written;
        written += kept;
    }
    offset[users] = written;
    *list = (struct inmo_csr){users, items, offset, column};
    return INMO_OK;
}

static enum inmo_status observe(struct inmo_view *view, const struct inmo_log *log, struct inmo_csr *list,
                                struct inmo_error *error)
{
    int32_t *user = NULL, *item = NULL;
    enum inmo_status status = join_ids(&view->model->users, log->users, &view->user_table, &user, error);
    if (!status)
        status = join_ids(&view->model->items, log->items, &view->item_table, &item, error);
    if (!status) {
        view->users = inmo_idtable_map(view->user_table);
        view->items = inmo_idtable_map(view->item_table);
        status = list_observed(log, user, item, view->users.count, view->items.count, list, error);
    }
    inmo_free(item);
    inmo_free(user);
    return status;
}

enum inmo_status inmo_view_create(const struct inmo_model *model, const struct inmo_log *observed,
                                  struct inmo_view **out, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_csr seen = {0};
    const struct inmo_csr *lists[3] = {&model->train, &model->valid, &seen};
    struct inmo_view *view = inmo_alloc_zero(1, sizeof *view);
    if (!view) {
        status = inmo_fail_memory(error, "the view");
        goto done;
    }
    view->model = model;
    view->users = model->users;
    view->items = model->items;
    view->users.slot = view->items.slot = NULL;
    if (observed)
        status = observe(view, observed, &seen, error);
    if (!status)
        status = inmo_idmap_index(&view->users, error);
    if (!status)
        status = inmo_idmap_index(&view->items, error);
    if (!status)
        status = inmo_graph_build(view->users.count, view->items.count, lists, 3, &view->graph, error);
    if (!status)
        status = inmo_model_bind(model, view->graph, &view->users, &view->items, &view->bound, error);
    if (!status)
        status = inmo_scorer_open(&view->scorer, model, &view->bound, inmo_model_alpha(model), 1, error);
    if (!status && inmo_view_has_vectors(view))
        status = inmo_quantised_make(inmo_view_item_row(view, 0), view->items.count, view->scorer.dim,
                                     &view->quantised, error);
    if (status)
        goto done;
    *out = view;
    view = NULL;
done:
    inmo_csr_free(&seen);
    inmo_view_free(view);
    return status;
}

void inmo_view_users(const struct inmo_view *view, struct inmo_matrix *matrix)
{
    *matrix = (struct inmo_matrix){view->graph->users, view->scorer.dim, view->scorer.r};
}

void inmo_view_items(const struct inmo_view *view, struct inmo_matrix *matrix)
{
    *matrix = (struct inmo_matrix){view->graph->items, view->scorer.dim, inmo_view_item_row(view, 0)};
}

const char *inmo_view_user_id(const struct inmo_view *view, int64_t row)
{
    return row >= 0 && row < view->users.count ? inmo_idmap_id(&view->users, (int32_t)row) : NULL;
}

const char *inmo_view_item_id(const struct inmo_view *view, int64_t row)
{
    return row >= 0 && row < view->items.count ? inmo_idmap_id(&view->items, (int32_t)row) : NULL;
}
