/* recommend.c - the k best items for one or several people. Exact: the result is that of scoring every item.
 *
 *     gather   under the view's lock (gather.c): looks up ids, the person, the items that may not be listed, and
 *              scores items newer than the snapshot
 *     rank     without the lock: one pass over the quantised item rows for all people, or a system's own scores
 *     name     turns numbers back into ids */
#include "kernel/kernel.h"
#include "score/offer.h"
#include "view/gather.h"
#include "view/list.h"

#include <string.h>

/* ---- Rank ---------------------------------------------------------------------------------------------------- */

/* What walks and links from the history add to the scores. */
static enum inmo_status collect_boosts(const struct inmo_list_request *request, struct inmo_list_task *task,
                                       struct inmo_error *error)
{
    const struct inmo_beside *beside = &request->snapshot->scorer.beside;
    const struct inmo_person *person = &task->person;
    size_t most;
    if (!beside->graph)
        return INMO_OK;
    most = (size_t)inmo_beside_most(beside, person->item, person->count, 0);
    task->boosted = inmo_work_take(request->work, most, sizeof *task->boosted);
    task->boost = inmo_work_take(request->work, most, sizeof *task->boost);
    if (!task->boosted || !task->boost || inmo_work_sums(request->work, beside->graph->items) != 0)
        return inmo_fail_memory(error, "the recommendations");
    inmo_beside_need(beside, person->item, person->count, 0, &request->work->sums);
    task->boosted_count = inmo_beside_collect(beside, person->item, person->share, person->count, 0,
                                              &request->work->sums, task->boosted, task->boost);
    return INMO_OK;
}

/* Scores the allowed items one by one: an allow list is short as a rule. */
static void rank_allowed(const struct inmo_list_request *request, struct inmo_list_task *task)
{
    const struct inmo_snapshot *snapshot = request->snapshot;
    int32_t at = 0;
    for (int32_t n = 0; n < task->allowed_count && task->allowed[n] < snapshot->graph->items; n++) {
        int32_t item = task->allowed[n];
        float score;
        if (inmo_holds(task->closed, task->closed_count, item) ||
            (snapshot->unoffered && snapshot->unoffered[item]))
            continue;
        score = inmo_kernels()->dot(snapshot->scorer.dim, task->person.r, inmo_snapshot_item_row(snapshot, item));
        while (at < task->boosted_count && task->boosted[at] < item)
            at++;
        if (at < task->boosted_count && task->boosted[at] == item)
            score += task->boost[at];
        inmo_top_add(&task->top, score, item);
    }
    inmo_top_sort(&task->top);
}

/* Dot products: one pass for all queries without an allow list. */
static enum inmo_status rank_by_vectors(struct inmo_list_request *request, struct inmo_error *error)
{
    const struct inmo_snapshot *snapshot = request->snapshot;
    struct inmo_scan_query *scan = inmo_work_take(request->work, request->tasks, sizeof *scan);
    struct inmo_list_task **of = inmo_work_take(request->work, request->tasks, sizeof *of);
    size_t scans = 0;
    enum inmo_status status = scan && of ? INMO_OK : inmo_fail_memory(error, "the recommendations");
    for (size_t n = 0; n < request->tasks && !status; n++) {
        struct inmo_list_task *task = request->task + n;
        if (task->list->status || task->person.falls_back)
            continue;
        status = collect_boosts(request, task, error);
        if (status)
            break;
        if (task->limited) {
            rank_allowed(request, task);
            continue;
        }
        of[scans] = task;
        scan[scans++] = (struct inmo_scan_query){
            .vector = task->person.r,
            .closed = task->closed,
            .closed_count = task->closed_count,
            .boosted = task->boosted,
            .boost = task->boost,
            .boosted_count = task->boosted_count,
            .top = task->top,
        };
    }
    if (!status && scans > 0)
        status =
            inmo_quantised_scan(snapshot->quantised, snapshot->unoffered, scan, scans, &request->work->scan, error);
    for (size_t n = 0; n < scans && !status; n++)
        of[n]->top = scan[n].top;
    return status;
}

/* Adds the items whose scores are above the k-th best so far: few after the first tile, which the vector comparison
 * finds without looking at each. hit has room for a tile. */
enum { TILE = 1024 };
static void take_scores(const struct inmo_snapshot *snapshot, struct inmo_list_task *task, const float *score,
                        int32_t *hit)
{
    int32_t items = snapshot->graph->items;
    for (int32_t begin = 0; begin < items; begin += TILE) {
        int32_t tile = items - begin < TILE ? items - begin : TILE;
        int32_t hits = inmo_kernels()->above(tile, score + begin, inmo_top_bound(&task->top), hit);
        for (int32_t h = 0; h < hits; h++) {
            int32_t i = begin + hit[h];
            if (score[i] > inmo_top_bound(&task->top) && !(snapshot->unoffered && snapshot->unoffered[i]) &&
                inmo_task_may_list(task, i))
                inmo_top_add(&task->top, score[i], i);
        }
    }
    inmo_top_sort(&task->top);
}

/* Systems and heads: computes all scores of a few people at a time. */
static enum inmo_status rank_by_scores(struct inmo_list_request *request, struct inmo_error *error)
{
    enum { MOST = 64 };
    const struct inmo_snapshot *snapshot = request->snapshot;
    int32_t items = snapshot->graph->items, most = snapshot->scorer.fill.users, people;
    struct inmo_history history[MOST];
    struct inmo_list_task *of[MOST];
    int32_t *hit = inmo_work_take(request->work, TILE, sizeof *hit);
    size_t n = 0;
    most = most < 1 ? 1 : most > MOST ? MOST : most;
    most = (size_t)most < request->tasks ? most : (int32_t)request->tasks;
    if (!hit || inmo_work_score_space(request->work, snapshot, most) != 0)
        return inmo_fail_memory(error, "the scores");
    while (n < request->tasks) {
        for (people = 0; people < most && n < request->tasks; n++)
            if (!request->task[n].list->status && !request->task[n].person.falls_back) {
                of[people] = request->task + n;
                history[people++] = inmo_person_history(&request->task[n].person);
            }
        if (people > 0)
            inmo_scorer_fill(&snapshot->scorer, history, people, request->work->scratch, request->work->score);
        for (int32_t p = 0; p < people; p++)
            take_scores(snapshot, of[p], request->work->score + (size_t)p * (size_t)items, hit);
    }
    return INMO_OK;
}

/* The fallback when the model can use nothing of the history. */
static enum inmo_status rank_by_popularity(struct inmo_list_request *request, struct inmo_list_task *task,
                                           struct inmo_error *error)
{
    const struct inmo_snapshot *snapshot = request->snapshot;
    const int32_t *order = NULL;
    enum inmo_status status = INMO_OK;
    if (task->limited) {
        for (int32_t n = 0; n < task->allowed_count && task->allowed[n] < snapshot->graph->items; n++)
            if (inmo_task_may_list(task, task->allowed[n]) &&
                !(snapshot->unoffered && snapshot->unoffered[task->allowed[n]]))
                inmo_top_add(&task->top,
                             (float)inmo_graph_degree(snapshot->graph, snapshot->graph->users + task->allowed[n]),
                             task->allowed[n]);
        inmo_top_sort(&task->top);
        return INMO_OK;
    }
    status = inmo_snapshot_popular(request->snapshot, &order, error);
    if (!status)
        inmo_popular_top(snapshot->graph, order, snapshot->unoffered, task->closed, task->closed_count, &task->top);
    return status;
}

static enum inmo_status add_newcomers(const struct inmo_list_request *request, struct inmo_list_task *task,
                                      struct inmo_error *error)
{
    struct inmo_top all;
    enum inmo_status status;
    if (task->newcomers == 0)
        return INMO_OK;
    status = inmo_task_make_top(request->work, task->top.k, task->top.k, &all, error);
    for (int32_t n = 0; n < task->top.count && !status; n++)
        inmo_top_add(&all, task->top.score[n], task->top.item[n]);
    for (int32_t n = 0; n < task->newcomers && !status; n++)
        inmo_top_add(&all, task->newcomer_score[n], task->newcomer[n]);
    if (!status) {
        inmo_top_sort(&all);
        task->top = all;
    }
    return status;
}

/* Chooses the list again by the rules. */
static enum inmo_status rerank(const struct inmo_list_request *request, struct inmo_list_task *task,
                               struct inmo_error *error)
{
    struct inmo_rerank rules = inmo_rules_on(task->rules, request->snapshot);
    struct inmo_top *top = &task->top;
    float *space = inmo_work_take(request->work, inmo_rerank_space(&rules, top->count), sizeof *space);
    if (!space)
        return inmo_fail_memory(error, "the recommendations");
    top->count = inmo_rerank(&rules, top->count, top->item, top->score, task->k, space);
    return INMO_OK;
}

/* ---- All together -------------------------------------------------------------------------------------------- */

static enum inmo_status name_items(const struct inmo_list_request *request, struct inmo_list_task *task,
                                   struct inmo_error *error)
{
    struct inmo_list *list = task->list;
    list->entry = inmo_work_take(request->work, (size_t)task->top.count, sizeof *list->entry);
    if (!list->entry)
        return inmo_fail_memory(error, "the recommendations");
    for (int32_t n = 0; n < task->top.count; n++)
        list->entry[n] =
            (struct inmo_entry){inmo_view_item_name(request->view, task->top.item[n]), task->top.score[n]};
    list->count = (size_t)task->top.count;
    return INMO_OK;
}

enum inmo_status inmo_request_answer(struct inmo_list_request *request, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    inmo_view_read_lock(request->view);
    request->snapshot = inmo_snapshot_hold(request->view->snapshot);
    for (size_t n = 0; n < request->tasks && !status; n++)
        status = inmo_task_gather(request, request->task + n, error);
    inmo_view_unlock(request->view);
    if (!status)
        status =
            request->snapshot->scorer.by_dot ? rank_by_vectors(request, error) : rank_by_scores(request, error);
    for (size_t n = 0; n < request->tasks && !status; n++) {
        if (request->task[n].list->status)
            continue;
        if (request->task[n].person.falls_back)
            status = rank_by_popularity(request, request->task + n, error);
        if (!status)
            status = add_newcomers(request, request->task + n, error);
        if (!status && inmo_rules_rerank(request->task[n].rules))
            status = rerank(request, request->task + n, error);
    }
    inmo_snapshot_release(request->snapshot);
    return status;
}

enum inmo_status inmo_recommend_many(const struct inmo_view *view, struct inmo_work *work,
                                     const struct inmo_query *queries, size_t count, const struct inmo_list **lists,
                                     struct inmo_error *error)
{
    struct inmo_list_request request = {.view = view, .work = work, .tasks = count};
    struct inmo_list *list;
    enum inmo_status status = count > 0 ? inmo_check_query(queries, error) : INMO_OK;
    if (!status)
        status = inmo_view_fold_newcomers((struct inmo_view *)view, error);
    if (status)
        return status;
    inmo_work_empty(work);
    list = inmo_work_take(work, count, sizeof *list);
    request.task = inmo_work_take(work, count, sizeof *request.task);
    if (!list || !request.task)
        return inmo_fail_memory(error, "the recommendations");
    memset(list, 0, count * sizeof *list);
    memset(request.task, 0, count * sizeof *request.task);
    for (size_t n = 0; n < count; n++) {
        request.task[n].query = queries + n;
        request.task[n].list = list + n;
    }
    status = inmo_request_answer(&request, error);
    for (size_t n = 0; n < count && !status; n++)
        if (!list[n].status)
            status = name_items(&request, request.task + n, error);
    if (!status)
        *lists = list;
    return status;
}

enum inmo_status inmo_recommend(const struct inmo_view *view, const struct inmo_query *query,
                                struct inmo_list **out, struct inmo_error *error)
{
    struct inmo_work *work = inmo_view_borrow(view);
    const struct inmo_list *list = NULL;
    struct inmo_list *copy = NULL;
    enum inmo_status status = work ? inmo_recommend_many(view, work, query, 1, &list, error)
                                   : inmo_fail_memory(error, "the recommendations");
    if (!status && list->status)
        status = inmo_fail(error, list->status, "%s", list->problem);
    if (!status && !(copy = inmo_list_copy(list)))
        status = inmo_fail_memory(error, "the recommendations");
    if (!status)
        *out = copy;
    inmo_view_give_back(view, work);
    return status;
}

enum inmo_status inmo_query_coverage(const struct inmo_view *view, const struct inmo_query *query,
                                     struct inmo_list *list, struct inmo_error *error)
{
    struct inmo_work *work = inmo_view_borrow(view);
    struct inmo_person person;
    enum inmo_status status = work ? inmo_check_query(query, error) : inmo_fail_memory(error, "a history");
    if (!status) {
        inmo_work_empty(work);
        inmo_view_read_lock(view);
        status = inmo_person_make(view, view->snapshot, work, query, &person, error);
        inmo_view_unlock(view);
    }
    if (!status) {
        list->coverage = inmo_person_coverage(&person);
        list->unknown_items = person.unknown;
        list->fallback = person.falls_back;
    }
    inmo_view_give_back(view, work);
    return status;
}
