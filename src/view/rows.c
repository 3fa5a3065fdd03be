/* rows.c - lists for people given by numbers: rows of a matrix, seen in training or not.
 *
 *     few people    like requests (recommend.c): one scan over the quantised items
 *     many people   folded in and ranked together, in parallel (rows_many.c)
 *
 * A person's list does not depend on who else is asked for, nor on the number of threads. */
#include "view/rows.h"

#include "base/setting.h"
#include "view/list.h"

#include <float.h>
#include <inttypes.h>
#include <string.h>

/* Up to so many people, a scan of quantised rows is faster than a matrix product. */
enum { FEW = 24 };

void inmo_rows_query_init_sized(struct inmo_rows_query *query, size_t size)
{
    const struct inmo_rows_query defaults = {.k = 20};
    inmo_sized_fill(query, size, &defaults, sizeof defaults);
}

/* ---- Checks -------------------------------------------------------------------------------------------------- */

static enum inmo_status check_items(const int32_t *item, int64_t count, int32_t items, const char *what,
                                    struct inmo_error *error)
{
    for (int64_t n = 0; n < count; n++)
        if (item[n] >= items)
            return inmo_fail(error, INMO_USAGE, "%s: found item %" PRId32 ", expected a number below %" PRId32,
                             what, item[n], items);
    return INMO_OK;
}

static enum inmo_status check_query(const struct inmo_view *view, const struct inmo_rows_query *query,
                                    struct inmo_error *error)
{
    int32_t users, items;
    enum inmo_status status = inmo_sized_check(query, sizeof *query, "inmo_rows_query", error);
    if (!status)
        status = inmo_check_k(query->k, error);
    if (status)
        return status;
    inmo_view_read_lock(view);
    users = inmo_names_count(&view->users);
    items = inmo_names_count(&view->items);
    inmo_view_unlock(view);
    for (size_t n = 0; n < query->count; n++)
        if (query->offset[n] < 0 || query->offset[n + 1] < query->offset[n] ||
            query->offset[n + 1] > query->item_count)
            return inmo_fail(error, INMO_USAGE,
                             "row %zu: found items %" PRId64 " to %" PRId64 ", expected a part of 0 to %" PRId64, n,
                             query->offset[n], query->offset[n + 1], query->item_count);
    for (size_t n = 0; query->user && n < query->count; n++)
        if (query->user[n] >= users)
            return inmo_fail(error, INMO_UNKNOWN,
                             "row %zu: found user %" PRId64 ", expected a number below %" PRId32, n, query->user[n],
                             users);
    status = check_items(query->item, query->item_count, items, "the rows", error);
    if (!status && query->allow)
        status = check_items(query->allow, (int64_t)query->allow_count, items, "`allow`", error);
    if (!status)
        status = check_items(query->deny, (int64_t)query->deny_count, items, "`deny`", error);
    return status;
}

/* ---- Like requests ------------------------------------------------------------------------------------------- */

void inmo_rows_put_nothing(int32_t *item, float *score, int from, int k)
{
    for (int n = from; n < k; n++) {
        item[n] = -1;
        score[n] = -FLT_MAX;
    }
}

enum inmo_status inmo_rows_answer(const struct inmo_view *view, const struct inmo_rows_query *query,
                                  struct inmo_work *work, const int64_t *person, size_t count, int32_t *top_item,
                                  float *top_score, struct inmo_error *error)
{
    struct inmo_list_request request = {.view = view, .work = work, .tasks = count};
    struct inmo_list *list;
    enum inmo_status status;
    inmo_work_empty(work);
    list = inmo_work_take(work, count, sizeof *list);
    request.task = inmo_work_take(work, count, sizeof *request.task);
    if (!list || !request.task)
        return inmo_fail_memory(error, "the recommendations");
    memset(list, 0, count * sizeof *list);
    memset(request.task, 0, count * sizeof *request.task);
    for (size_t n = 0; n < count; n++) {
        request.task[n].rows = query;
        request.task[n].number = person[n];
        request.task[n].list = list + n;
    }
    status = inmo_request_answer(&request, error);
    for (size_t n = 0; n < count && !status; n++) {
        const struct inmo_top *top = &request.task[n].top;
        size_t at = (size_t)person[n] * (size_t)query->k;
        if (list[n].status)
            return inmo_fail(error, list[n].status, "row %" PRId64 ": %s", person[n], list[n].problem);
        memcpy(top_item + at, top->item, (size_t)top->count * sizeof *top_item);
        memcpy(top_score + at, top->score, (size_t)top->count * sizeof *top_score);
        inmo_rows_put_nothing(top_item + at, top_score + at, top->count, query->k);
    }
    return status;
}

static enum inmo_status answer_few(const struct inmo_view *view, const struct inmo_rows_query *query,
                                   int32_t *top_item, float *top_score, struct inmo_error *error)
{
    struct inmo_work *work = inmo_view_borrow(view);
    int64_t person[FEW];
    enum inmo_status status = work ? INMO_OK : inmo_fail_memory(error, "the recommendations");
    for (size_t n = 0; n < query->count; n++)
        person[n] = (int64_t)n;
    if (!status)
        status = inmo_rows_answer(view, query, work, person, query->count, top_item, top_score, error);
    inmo_view_give_back(view, work);
    return status;
}

enum inmo_status inmo_recommend_rows(const struct inmo_view *view, const struct inmo_rows_query *query,
                                     const struct inmo_hooks *hooks, int32_t *item, float *score,
                                     struct inmo_error *error)
{
    enum inmo_status status = check_query(view, query, error);
    if (!status)
        status = inmo_view_fold_newcomers((struct inmo_view *)view, error);
    if (status)
        return status;
    return query->count <= FEW ? answer_few(view, query, item, score, error)
                               : inmo_rows_rank(view, query, hooks, item, score, error);
}
