/* recommend.c - the k best items of one or several people. Exact: the result is that of scoring every item.
 *
 *     gather   under the view's lock: ids to numbers, who is asking, what may not be in the list, and the scores of
 *              items that the snapshot does not have
 *     rank     without it: one pass over the items' rows in bytes for all people together, or a system's scores
 *     name     numbers back to ids */
#include "base/memory.h"
#include "kernel/kernel.h"
#include "score/offer.h"
#include "view/list.h"
#include "view/person.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One query on its way to a list. All arrays are in the arena, items are numbers, ascending. */
struct task {
    const struct inmo_query *query;
    struct inmo_list *list;
    struct inmo_person person;
    int32_t *closed;  // (closed_count) may not be in the list; of all items, also those the snapshot does not have
    int32_t closed_count;
    int32_t *allowed;  // (allowed_count) the only items that may be, if the query names any
    int32_t allowed_count;
    int32_t *newcomer;  // (newcomers) items that the snapshot does not have and that may be in the list
    float *newcomer_score;
    int32_t newcomers;
    int32_t *boosted;  // (boosted_count) items that walks lead to
    float *boost;
    int32_t boosted_count;
    struct inmo_top top;
};

struct request {
    const struct inmo_view *view;
    struct inmo_snapshot *snapshot;
    struct inmo_work *work;
    struct task *task;
    size_t tasks;
};

static int holds(const int32_t *list, int32_t count, int32_t number)
{
    int32_t low = 0, high = count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (list[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && list[low] == number;
}

static int may_be_listed(const struct task *task, int32_t item)
{
    return !holds(task->closed, task->closed_count, item) &&
           (!task->query->allow || holds(task->allowed, task->allowed_count, item));
}

/* ---- Gather -------------------------------------------------------------------------------------------------- */

/* Numbers of the ids that the view knows, behind those already there; the others are counted. */
static int32_t find_items(const struct inmo_view *view, const char *const *id, size_t count, int32_t *number,
                          int32_t at, int *unknown)
{
    for (size_t n = 0; n < count; n++) {
        int32_t item = inmo_names_find(&view->items, id[n]);
        if (item >= 0)
            number[at++] = item;
        else
            ++*unknown;
    }
    return at;
}

/* What may and may not be in the list: the history, what the query denies, what was forgotten since the
 * snapshot. */
static enum inmo_status limit(const struct request *request, struct task *task, struct inmo_error *error)
{
    const struct inmo_query *query = task->query;
    const struct inmo_numbers *gone = &request->view->overlay.gone;
    int32_t seen = query->include_seen ? 0 : task->person.seen_count, count = seen;
    task->closed =
        inmo_work_take(request->work, (size_t)seen + query->deny_count + (size_t)gone->count, sizeof *task->closed);
    task->allowed = inmo_work_take(request->work, query->allow ? query->allow_count : 0, sizeof *task->allowed);
    if (!task->closed || !task->allowed)
        return inmo_fail_memory(error, "the recommendations");
    if (seen > 0)
        memcpy(task->closed, task->person.seen, (size_t)seen * sizeof *task->closed);
    count =
        find_items(request->view, query->deny, query->deny_count, task->closed, count, &task->list->unknown_items);
    if (gone->count > 0)
        memcpy(task->closed + count, gone->number, (size_t)gone->count * sizeof *task->closed);
    count += gone->count;
    task->closed_count = count > seen ? (int32_t)inmo_ascending(task->closed, count) : count;
    if (query->allow) {
        count = find_items(request->view, query->allow, query->allow_count, task->allowed, 0,
                           &task->list->unknown_items);
        task->allowed_count = (int32_t)inmo_ascending(task->allowed, count);
    }
    return INMO_OK;
}

/* Scores of the items that the snapshot does not have, as far as the model offers any. */
static enum inmo_status score_newcomers(const struct request *request, struct task *task, struct inmo_error *error)
{
    const struct inmo_snapshot *snapshot = request->snapshot;
    const struct inmo_overlay *overlay = &request->view->overlay;
    const struct inmo_system *system = snapshot->model->kind->system;
    struct inmo_history history = inmo_person_history(&task->person);
    size_t room = (size_t)overlay->newcomers;
    if (room == 0 || !inmo_kind_offers_unseen(snapshot->model->kind))
        return INMO_OK;
    task->newcomer = inmo_work_take(request->work, room, sizeof *task->newcomer);
    task->newcomer_score = inmo_work_take(request->work, room, sizeof *task->newcomer_score);
    if (!task->newcomer || !task->newcomer_score)
        return inmo_fail_memory(error, "the recommendations");
    for (int32_t n = 0; n < overlay->newcomers; n++) {
        const struct inmo_newcomer *newcomer = overlay->newcomer + n;
        int32_t item = snapshot->graph->items + n;
        float score;
        if (newcomer->users.count == 0 || !may_be_listed(task, item))
            continue;
        if (task->person.falls_back)
            score = (float)newcomer->users.count;
        else if (newcomer->r)
            score = (float)inmo_scorer_product(&snapshot->scorer, task->person.r, newcomer->r);
        else if (system && system->score_unseen)
            score = system->score_unseen(snapshot->scorer.state, &history, newcomer->users.number,
                                         newcomer->users.count);
        else
            continue;
        task->newcomer[task->newcomers] = item;
        task->newcomer_score[task->newcomers++] = score;
    }
    return INMO_OK;
}

static enum inmo_status make_top(struct inmo_work *work, int32_t k, int32_t most, struct inmo_top *top,
                                 struct inmo_error *error)
{
    top->k = k < most ? k : most;
    top->count = 0;
    top->score = inmo_work_take(work, (size_t)top->k + 1, sizeof *top->score);
    top->item = inmo_work_take(work, (size_t)top->k + 1, sizeof *top->item);
    return top->score && top->item ? INMO_OK : inmo_fail_memory(error, "the recommendations");
}

/* A sentence that the list keeps: what is wrong with its query. */
static enum inmo_status refuse(const struct request *request, struct task *task, const struct inmo_error *why,
                               struct inmo_error *error)
{
    size_t size = strlen(why->message) + 1;
    char *sentence = inmo_work_take(request->work, size, 1);
    if (why->code == INMO_MEMORY || !sentence)
        return inmo_fail_memory(error, "the recommendations");
    task->list->status = why->code;
    task->list->problem = memcpy(sentence, why->message, size);
    return INMO_OK;
}

static enum inmo_status gather(const struct request *request, struct task *task, struct inmo_error *error)
{
    const struct inmo_snapshot *snapshot = request->snapshot;
    struct inmo_error why = {0};
    enum inmo_status status = inmo_check_k(task->query->k, &why);
    if (!status)
        status = inmo_person_make(request->view, snapshot, request->work, task->query, &task->person, &why);
    if (status)
        return refuse(request, task, &why, error);
    task->list->unknown_items = task->person.unknown;
    task->list->coverage = inmo_person_coverage(&task->person);
    task->list->fallback = task->person.falls_back;
    status = limit(request, task, error);
    if (!status)
        status = score_newcomers(request, task, error);
    if (!status)
        status =
            make_top(request->work, task->query->k, snapshot->graph->items + task->newcomers, &task->top, error);
    return status;
}

/* ---- Rank ---------------------------------------------------------------------------------------------------- */

static enum inmo_status walk(const struct request *request, struct task *task, struct inmo_error *error)
{
    struct inmo_walks *walks = request->snapshot->scorer.walks;
    const struct inmo_person *person = &task->person;
    size_t most;
    if (!walks)
        return INMO_OK;
    most = (size_t)inmo_walks_most(walks, person->count);
    task->boosted = inmo_work_take(request->work, most, sizeof *task->boosted);
    task->boost = inmo_work_take(request->work, most, sizeof *task->boost);
    if (!task->boosted || !task->boost || inmo_work_walk_space(request->work, walks->items) != 0)
        return inmo_fail_memory(error, "the recommendations");
    inmo_walks_need(walks, person->item, person->count, 0, &request->work->walk);
    task->boosted_count =
        inmo_walks_collect(walks, person->item, person->count, 0, &request->work->walk, task->boosted, task->boost);
    return INMO_OK;
}

/* The allowed items one by one: they are few, or the caller has asked for that. */
static void rank_allowed(const struct request *request, struct task *task)
{
    const struct inmo_snapshot *snapshot = request->snapshot;
    int32_t at = 0;
    for (int32_t n = 0; n < task->allowed_count && task->allowed[n] < snapshot->graph->items; n++) {
        int32_t item = task->allowed[n];
        float score;
        if (holds(task->closed, task->closed_count, item) || (snapshot->unoffered && snapshot->unoffered[item]))
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

/* By dot products: one pass for all that are not limited to a few items. */
static enum inmo_status rank_by_vectors(struct request *request, struct inmo_error *error)
{
    const struct inmo_snapshot *snapshot = request->snapshot;
    struct inmo_scan_query *scan = inmo_work_take(request->work, request->tasks, sizeof *scan);
    struct task **of = inmo_work_take(request->work, request->tasks, sizeof *of);
    size_t scans = 0;
    enum inmo_status status = scan && of ? INMO_OK : inmo_fail_memory(error, "the recommendations");
    for (size_t n = 0; n < request->tasks && !status; n++) {
        struct task *task = request->task + n;
        if (task->list->status || task->person.falls_back)
            continue;
        status = walk(request, task, error);
        if (status)
            break;
        if (task->query->allow) {
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

/* Systems and heads: all scores of a few people at a time. */
static enum inmo_status rank_by_scores(struct request *request, struct inmo_error *error)
{
    enum { MOST = 64 };
    const struct inmo_snapshot *snapshot = request->snapshot;
    int32_t items = snapshot->graph->items, most = snapshot->scorer.fill.users, people;
    struct inmo_history history[MOST];
    struct task *of[MOST];
    size_t n = 0;
    most = most < 1 ? 1 : most > MOST ? MOST : most;
    most = (size_t)most < request->tasks ? most : (int32_t)request->tasks;
    if (inmo_work_score_space(request->work, snapshot, most) != 0)
        return inmo_fail_memory(error, "the scores");
    while (n < request->tasks) {
        for (people = 0; people < most && n < request->tasks; n++)
            if (!request->task[n].list->status && !request->task[n].person.falls_back) {
                of[people] = request->task + n;
                history[people++] = inmo_person_history(&request->task[n].person);
            }
        if (people > 0)
            inmo_scorer_fill(&snapshot->scorer, history, people, request->work->scratch, request->work->score);
        for (int32_t p = 0; p < people; p++) {
            const float *score = request->work->score + (size_t)p * (size_t)items;
            for (int32_t i = 0; i < items; i++)
                if (score[i] > inmo_top_bound(&of[p]->top) && !(snapshot->unoffered && snapshot->unoffered[i]) &&
                    may_be_listed(of[p], i))
                    inmo_top_add(&of[p]->top, score[i], i);
            inmo_top_sort(&of[p]->top);
        }
    }
    return INMO_OK;
}

/* Nothing of the history can be used. */
static enum inmo_status rank_by_popularity(struct request *request, struct task *task, struct inmo_error *error)
{
    const struct inmo_snapshot *snapshot = request->snapshot;
    const int32_t *order = NULL;
    enum inmo_status status = INMO_OK;
    if (task->query->allow) {
        for (int32_t n = 0; n < task->allowed_count && task->allowed[n] < snapshot->graph->items; n++)
            if (may_be_listed(task, task->allowed[n]) &&
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

static enum inmo_status add_newcomers(const struct request *request, struct task *task, struct inmo_error *error)
{
    struct inmo_top all;
    enum inmo_status status;
    if (task->newcomers == 0)
        return INMO_OK;
    status = make_top(request->work, task->top.k, task->top.k, &all, error);
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

/* ---- All together -------------------------------------------------------------------------------------------- */

static enum inmo_status name_items(const struct request *request, struct task *task, struct inmo_error *error)
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

enum inmo_status inmo_recommend_many(const struct inmo_view *view, struct inmo_work *work,
                                     const struct inmo_query *queries, size_t count, const struct inmo_list **lists,
                                     struct inmo_error *error)
{
    struct request request = {.view = view, .work = work, .tasks = count};
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
    inmo_view_read_lock(view);
    request.snapshot = inmo_snapshot_hold(view->snapshot);
    for (size_t n = 0; n < count && !status; n++) {
        request.task[n].query = queries + n;
        request.task[n].list = list + n;
        status = gather(&request, request.task + n, error);
    }
    inmo_view_unlock(view);
    if (!status)
        status =
            request.snapshot->scorer.by_dot ? rank_by_vectors(&request, error) : rank_by_scores(&request, error);
    for (size_t n = 0; n < count && !status; n++) {
        if (list[n].status)
            continue;
        if (request.task[n].person.falls_back)
            status = rank_by_popularity(&request, request.task + n, error);
        if (!status)
            status = add_newcomers(&request, request.task + n, error);
        if (!status)
            status = name_items(&request, request.task + n, error);
    }
    inmo_snapshot_release(request.snapshot);
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
