/* numbers.c - a view's numbers themselves: representations, and which row belongs to which id. */
#include "view/view.h"

void inmo_view_users(const struct inmo_view *view, struct inmo_matrix *matrix)
{
    inmo_snapshot_release(inmo_view_hold(view, matrix, NULL));
}

void inmo_view_items(const struct inmo_view *view, struct inmo_matrix *matrix)
{
    inmo_snapshot_release(inmo_view_hold(view, NULL, matrix));
}

/* The id of a row of the snapshot. */
static const char *id_of_row(const struct inmo_view *view, const struct inmo_names *names, int of_items,
                             int64_t row)
{
    const char *id = NULL;
    inmo_view_read_lock(view);
    if (row >= 0 && row < (of_items ? view->snapshot->graph->items : view->snapshot->graph->users))
        id = inmo_names_id(names, (int32_t)row);
    inmo_view_unlock(view);
    return id;
}

const char *inmo_view_user_id(const struct inmo_view *view, int64_t row)
{
    return id_of_row(view, &view->users, 0, row);
}

const char *inmo_view_item_id(const struct inmo_view *view, int64_t row)
{
    return id_of_row(view, &view->items, 1, row);
}

/* The number of an id, also of one that is newer than the snapshot. */
static int64_t row_of_id(const struct inmo_view *view, const struct inmo_names *names, const char *id)
{
    int32_t number;
    inmo_view_read_lock(view);
    number = inmo_names_find(names, id);
    inmo_view_unlock(view);
    return number;
}

int64_t inmo_view_user_row(const struct inmo_view *view, const char *id)
{
    return row_of_id(view, &view->users, id);
}

int64_t inmo_view_item_row(const struct inmo_view *view, const char *id)
{
    return row_of_id(view, &view->items, id);
}

struct inmo_snapshot *inmo_view_hold(const struct inmo_view *view, struct inmo_matrix *users,
                                     struct inmo_matrix *items)
{
    struct inmo_snapshot *snapshot = inmo_view_snapshot(view);
    if (users)
        *users = (struct inmo_matrix){snapshot->graph->users, snapshot->scorer.dim, snapshot->scorer.r};
    if (items)
        *items =
            (struct inmo_matrix){snapshot->graph->items, snapshot->scorer.dim, inmo_snapshot_item_row(snapshot, 0)};
    return snapshot;
}
