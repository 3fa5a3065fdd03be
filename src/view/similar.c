/* similar.c - the k nearest items or users: of one by id, or of many by number. */
#include "base/memory.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "view/list.h"
#include "view/rows.h"
#include "view/work.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* cosine: a · b / (|a| |b|); a row of zeros is similar to nothing. */
static void cosines(int dim, const float *rows, int32_t count, int32_t self, float *score)
{
    const struct inmo_kernels *kernels = inmo_kernels();
    const float *own = rows + (size_t)self * (size_t)dim;
    float length = sqrtf(kernels->dot(dim, own, own));
    kernels->dot_rows(count, dim, own, rows, score);
    for (int32_t n = 0; n < count; n++) {
        const float *row = rows + (size_t)n * (size_t)dim;
        float norm = sqrtf(kernels->dot(dim, row, row));
        score[n] = norm > 0 ? score[n] / norm / (length > 0 ? length : 1) : -INFINITY;
    }
}

/* Similarities to all others: cosines, or a system's scores for a history of this item alone. */
static enum inmo_status compare(const struct inmo_snapshot *snapshot, struct inmo_work *work, int of_items,
                                int32_t self, float *score, struct inmo_error *error)
{
    const struct inmo_graph *graph = snapshot->graph;
    const struct inmo_system *system = snapshot->model->kind->system;
    struct inmo_history alone = {-1, 1, 0, &self, NULL, NULL};
    if (snapshot->scorer.by_dot) {
        cosines(snapshot->scorer.dim, of_items ? inmo_snapshot_item_row(snapshot, 0) : snapshot->scorer.r,
                of_items ? graph->items : graph->users, self, score);
        return INMO_OK;
    }
    if (!of_items || !system || !system->additive)
        return inmo_fail(error, INMO_UNSUPPORTED,
                         "%s cannot say which %s are alike; models whose score is a product of vectors can "
                         "(inmo-lightgcn, lightgcn, mf, ials, ...), and for items also item-knn, ease and gf-cf",
                         snapshot->model->kind->name, of_items ? "items" : "users");
    if (inmo_work_score_space(work, snapshot, 1) != 0)
        return inmo_fail_memory(error, "the neighbours");
    inmo_scorer_fill(&snapshot->scorer, &alone, 1, work->scratch, score);
    for (int32_t n = 0; n < graph->items; n++)
        if ((snapshot->unoffered && snapshot->unoffered[n]) ||
            !(score[n] > 0)) /* unknown to the model, or nothing in common */
            score[n] = -INFINITY;
    return INMO_OK;
}

/* Under the view's lock. What was forgotten since the snapshot is in no list either. */
static int is_known(const struct inmo_view *view, int of_items, int32_t number)
{
    return of_items ? inmo_overlay_has_item(&view->overlay, number) : inmo_overlay_has_user(&view->overlay, number);
}

/* Finds the number of the id in the snapshot. */
static enum inmo_status find(const struct inmo_view *view, const struct inmo_snapshot *snapshot, const char *item,
                             const char *user, int32_t *self, struct inmo_error *error)
{
    const struct inmo_graph *graph = snapshot->graph;
    const struct inmo_change *change = NULL;
    int32_t number;
    int known, is_new;
    inmo_view_read_lock(view);
    number = inmo_names_find(item ? &view->items : &view->users, item ? item : user);
    known = number >= 0 && is_known(view, item != NULL, number);
    if (known && user)
        change = inmo_overlay_change(&view->overlay, number);
    is_new = known && (number >= (item ? graph->items : graph->users) ||
                       inmo_snapshot_is_gone(snapshot, item ? graph->users + number : number) ||
                       (change && change->forgotten));
    inmo_view_unlock(view);
    if (!known)
        return inmo_fail(error, INMO_UNKNOWN, "%s '%s' is in neither the model nor the observed interactions",
                         item ? "item" : "user", item ? item : user);
    if (is_new)
        return inmo_fail(error, INMO_UNKNOWN, "%s '%s' is new since the view was last refreshed",
                         item ? "item" : "user", item ? item : user);
    *self = number;
    return INMO_OK;
}

static enum inmo_status nearest(const struct inmo_view *view, const struct inmo_snapshot *snapshot,
                                struct inmo_work *work, const char *item, const char *user, int k,
                                struct inmo_list **out, struct inmo_error *error)
{
    struct inmo_list list = {.measure = snapshot->scorer.by_dot ? "cosine" : "weight", .coverage = 1};
    int32_t count = item ? snapshot->graph->items : snapshot->graph->users, self = -1;
    int32_t first = item ? snapshot->graph->users : 0;
    struct inmo_top top = {k < count ? k : count, 0, NULL, NULL};
    float *score = inmo_work_take(work, (size_t)count, sizeof *score);
    enum inmo_status status = find(view, snapshot, item, user, &self, error);
    top.score = inmo_work_take(work, (size_t)top.k, sizeof *top.score);
    top.item = inmo_work_take(work, (size_t)top.k, sizeof *top.item);
    list.entry = inmo_work_take(work, (size_t)top.k, sizeof *list.entry);
    if (!status && (!score || !top.score || !top.item || !list.entry))
        status = inmo_fail_memory(error, "the neighbours");
    if (!status)
        status = compare(snapshot, work, item != NULL, self, score, error);
    if (status)
        return status;
    inmo_view_read_lock(view);
    for (int32_t n = 0; n < count; n++)
        if (score[n] > inmo_top_bound(&top) && n != self && !inmo_snapshot_is_gone(snapshot, first + n) &&
            is_known(view, item != NULL, n))
            inmo_top_add(&top, score[n], n);
    inmo_view_unlock(view);
    inmo_top_sort(&top);
    for (int32_t n = 0; n < top.count; n++)
        list.entry[list.count++] = (struct inmo_entry){
            item ? inmo_view_item_name(view, top.item[n]) : inmo_view_user_name(view, top.item[n]), top.score[n]};
    *out = inmo_list_copy(&list);
    return *out ? INMO_OK : inmo_fail_memory(error, "the neighbours");
}

enum inmo_status inmo_similar(const struct inmo_view *view, const char *item, const char *user, int k,
                              struct inmo_list **out, struct inmo_error *error)
{
    struct inmo_snapshot *snapshot = NULL;
    struct inmo_work *work = NULL;
    struct inmo_list *list = NULL;
    enum inmo_status status = inmo_check_k(k, error);
    if (!status && !item == !user)
        status = inmo_fail(error, INMO_USAGE, "expected either `item` or `user`");
    if (status)
        return status;
    snapshot = inmo_view_snapshot(view);
    work = inmo_view_borrow(view);
    status = work ? nearest(view, snapshot, work, item, user, k, &list, error)
                  : inmo_fail_memory(error, "the neighbours");
    if (!status)
        *out = list;
    inmo_view_give_back(view, work);
    inmo_snapshot_release(snapshot);
    return status;
}

/* ---- Many, by number ----------------------------------------------------------------------------------------- */

struct many {
    const struct inmo_view *view;
    struct inmo_snapshot *snapshot;
    int of_items, k;
    int32_t rows;           /* items or users of the snapshot */
    const uint8_t *closed;  // (rows) 1: may not be listed
    int32_t *near;          // (count, k)
    float *score;
};

/* 1: the row is not in the list of anybody. Under the view's lock. */
static enum inmo_status close_rows(struct many *many, const int32_t *allow, size_t allow_count, const int32_t *deny,
                                   size_t deny_count, uint8_t *closed, struct inmo_error *error)
{
    int32_t first = many->of_items ? many->snapshot->graph->users : 0;
    const char *fault = "found number %" PRId32 ", expected 0 to %" PRId32;
    memset(closed, allow != NULL, (size_t)many->rows);
    for (size_t n = 0; allow && n < allow_count; n++)
        if (allow[n] < 0 || allow[n] >= many->rows)
            return inmo_fail(error, INMO_USAGE, fault, allow[n], many->rows - 1);
        else
            closed[allow[n]] = 0;
    for (size_t n = 0; n < deny_count; n++)
        if (deny[n] < 0 || deny[n] >= many->rows)
            return inmo_fail(error, INMO_USAGE, fault, deny[n], many->rows - 1);
        else
            closed[deny[n]] = 1;
    inmo_view_read_lock(many->view);
    for (int32_t n = 0; n < many->rows; n++)
        if (inmo_snapshot_is_gone(many->snapshot, first + n) || !is_known(many->view, many->of_items, n))
            closed[n] = 1;
    inmo_view_unlock(many->view);
    return INMO_OK;
}

/* The nearest of one row, which is first among them. */
static enum inmo_status near_one(const struct many *many, struct inmo_work *work, int32_t self, size_t place,
                                 struct inmo_error *error)
{
    size_t at = place * (size_t)many->k;
    struct inmo_top top = {many->k < many->rows ? many->k : many->rows, 0, many->score + at, many->near + at};
    enum inmo_status status;
    float *score, nearest = -INFINITY;
    inmo_work_empty(work);
    score = inmo_work_take(work, (size_t)many->rows, sizeof *score);
    if (!score)
        return inmo_fail_memory(error, "the neighbours");
    status = compare(many->snapshot, work, many->of_items, self, score, error);
    if (status)
        return status;
    for (int32_t n = 0; n < many->rows; n++)
        if (n != self && score[n] > nearest)
            nearest = score[n];
    if (!many->snapshot->scorer.by_dot && !(score[self] >= nearest)) /* weights: nothing is its own neighbour */
        score[self] = nearest > 0 ? nearest : 1;
    if (!many->closed[self] && top.k > 0 && score[self] > -INFINITY)
        inmo_top_add(&top, INFINITY, self);
    for (int32_t n = 0; n < many->rows; n++)
        if (n != self && score[n] > inmo_top_bound(&top) && !many->closed[n])
            inmo_top_add(&top, score[n], n);
    inmo_top_sort(&top);
    if (top.count > 0 && top.item[0] == self)
        top.score[0] = score[self];
    inmo_rows_put_nothing(many->near + at, many->score + at, top.count, many->k);
    return INMO_OK;
}

static enum inmo_status near_all(const struct many *many, const int64_t *row, size_t count,
                                 struct inmo_error *error)
{
    struct inmo_error fault;
    enum inmo_status found = INMO_OK;
#pragma omp parallel num_threads(count > 1 ? inmo_threads() : 1)
    {
        struct inmo_work *work = inmo_view_borrow(many->view);
        struct inmo_error why;
#pragma omp for schedule(dynamic)
        for (size_t n = 0; n < count; n++) {
            enum inmo_status status =
                work ? near_one(many, work, (int32_t)row[n], n, &why) : inmo_fail_memory(&why, "the neighbours");
            if (status) {
#pragma omp critical(inmo_similar_fault)
                {
                    found = status;
                    fault = why;
                }
            }
        }
        inmo_view_give_back(many->view, work);
    }
    if (found && error)
        *error = fault;
    return found;
}

enum inmo_status inmo_similar_rows(const struct inmo_view *view, int of_users, const int64_t *row, size_t count,
                                   int k, const int32_t *allow, size_t allow_count, const int32_t *deny,
                                   size_t deny_count, int32_t *near, float *score, struct inmo_error *error)
{
    struct many many = {.view = view, .of_items = !of_users, .k = k, .near = near, .score = score};
    uint8_t *closed = NULL;
    enum inmo_status status = inmo_check_k(k, error);
    if (status)
        return status;
    many.snapshot = inmo_view_snapshot(view);
    many.rows = of_users ? many.snapshot->graph->users : many.snapshot->graph->items;
    closed = inmo_alloc((size_t)many.rows, 1);
    many.closed = closed;
    for (size_t n = 0; n < count && !status; n++)
        if (row[n] < 0 || row[n] >= many.rows)
            status = inmo_fail(error, INMO_UNKNOWN, "found row %" PRId64 ", expected 0 to %" PRId32, row[n],
                               many.rows - 1);
    if (!status)
        status = closed ? close_rows(&many, allow, allow_count, deny, deny_count, closed, error)
                        : inmo_fail_memory(error, "the neighbours");
    if (!status)
        status = near_all(&many, row, count, error);
    inmo_free(closed);
    inmo_snapshot_release(many.snapshot);
    return status;
}
