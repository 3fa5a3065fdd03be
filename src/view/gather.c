/* gather.c - see gather.h. */
#include "view/gather.h"

#include "view/list.h"

#include <string.h>

/* Appends the numbers of the ids that the view knows at number[at]; counts the others in unknown. Returns the new
 * end. */
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

/* The same for numbers. */
static int32_t take_items(const int32_t *from, int64_t count, int32_t *number, int32_t at)
{
    for (int64_t n = 0; n < count; n++)
        if (from[n] >= 0)
            number[at++] = from[n];
    return at;
}

struct inmo_row inmo_rows_person(const struct inmo_rows_query *rows, int64_t n)
{
    struct inmo_row row = {rows->user && rows->user[n] >= 0 ? (int32_t)rows->user[n] : -1, NULL, 0};
    if (row.user < 0) {
        row.item = rows->item + rows->offset[n];
        row.count = rows->offset[n + 1] - rows->offset[n];
    }
    return row;
}

/* What the limits of a task are made from, whether it came by ids or by numbers. A row closes its own items, also
 * those that a known user did not choose. */
struct limits {
    int64_t seen, deny, allow;
};

/* Adds what the person has seen without choosing it; chosen items are left to include_seen. */
static int32_t add_unliked(const struct inmo_person *person, const int32_t *unliked, int32_t unliked_count,
                           int32_t *closed, int32_t at)
{
    for (int32_t n = 0; n < unliked_count; n++)
        if (!inmo_holds(person->seen, person->seen_count, unliked[n]))
            closed[at++] = unliked[n];
    return at;
}

static struct limits limits_of(const struct inmo_list_task *task)
{
    const struct inmo_rows_query *rows = task->rows;
    int64_t n = task->number;
    if (rows)
        return (struct limits){(task->include_seen ? 0 : rows->offset[n + 1] - rows->offset[n]) +
                                   (rows->exclude_past ? task->person.seen_count : 0),
                               (int64_t)rows->deny_count, (int64_t)rows->allow_count};
    return (struct limits){task->include_seen ? 0 : task->person.seen_count, (int64_t)task->query->deny_count,
                           (int64_t)task->query->allow_count};
}

/* Of the items that the query allows, those that the rules allow, too. */
static enum inmo_status limit_by_rules(const struct inmo_list_request *request, struct inmo_list_task *task,
                                       struct inmo_error *error)
{
    const struct inmo_rules *rules = task->rules;
    int32_t kept = 0;
    if (!task->limited) {
        task->allowed = inmo_work_take(request->work, (size_t)rules->allow_count, sizeof *task->allowed);
        if (!task->allowed)
            return inmo_fail_memory(error, "the recommendations");
        memcpy(task->allowed, rules->allow, (size_t)rules->allow_count * sizeof *task->allowed);
        kept = rules->allow_count;
    }
    for (int32_t n = 0; task->limited && n < task->allowed_count; n++)
        if (inmo_holds(rules->allow, rules->allow_count, task->allowed[n]))
            task->allowed[kept++] = task->allowed[n];
    task->allowed_count = kept;
    task->limited = 1;
    return INMO_OK;
}

/* Lists the items that may not be recommended (history, seen, deny list, forgotten since the snapshot) and, if the
 * query has an allow list, those that may. */
static enum inmo_status limit(const struct inmo_list_request *request, struct inmo_list_task *task,
                              struct inmo_error *error)
{
    const struct inmo_query *query = task->query;
    const struct inmo_rows_query *rows = task->rows;
    const struct inmo_numbers *gone = &request->view->overlay.gone;
    struct limits most = limits_of(task);
    int *unknown = &task->list->unknown_items;
    int32_t seen = 0, count, unliked_count;
    const int32_t *unliked = inmo_seen_of(&request->view->seen, task->person.asked, &unliked_count);
    task->limited = rows ? rows->allow != NULL : query->allow != NULL;
    task->closed = inmo_work_take(request->work, (size_t)(most.seen + most.deny + gone->count + unliked_count),
                                  sizeof *task->closed);
    task->allowed = inmo_work_take(request->work, task->limited ? (size_t)most.allow : 0, sizeof *task->allowed);
    if (!task->closed || !task->allowed)
        return inmo_fail_memory(error, "the recommendations");
    if (rows && most.seen > 0) {
        int32_t past = rows->exclude_past ? task->person.seen_count : 0;
        seen = take_items(rows->item + rows->offset[task->number], most.seen - past, task->closed, 0);
        seen = (int32_t)inmo_ascending(task->closed, take_items(task->person.seen, past, task->closed, seen));
    } else if (most.seen > 0)
        memcpy(task->closed, task->person.seen, (size_t)(seen = (int32_t)most.seen) * sizeof *task->closed);
    count = rows ? take_items(rows->deny, most.deny, task->closed, seen)
                 : find_items(request->view, query->deny, query->deny_count, task->closed, seen, unknown);
    count = add_unliked(&task->person, unliked, unliked_count, task->closed, count);
    if (gone->count > 0)
        memcpy(task->closed + count, gone->number, (size_t)gone->count * sizeof *task->closed);
    count += gone->count;
    task->closed_count = count > seen ? (int32_t)inmo_ascending(task->closed, count) : count;
    if (task->limited) {
        count = rows ? take_items(rows->allow, most.allow, task->allowed, 0)
                     : find_items(request->view, query->allow, query->allow_count, task->allowed, 0, unknown);
        task->allowed_count = (int32_t)inmo_ascending(task->allowed, count);
    }
    return task->rules && task->rules->limited ? limit_by_rules(request, task, error) : INMO_OK;
}

/* Scores the items newer than the snapshot, if the model can offer unseen items. */
static enum inmo_status score_newcomers(const struct inmo_list_request *request, struct inmo_list_task *task,
                                        struct inmo_error *error)
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
        if (newcomer->users.count == 0 || !inmo_task_may_list(task, item))
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

enum inmo_status inmo_task_make_top(struct inmo_work *work, int32_t k, int32_t most, struct inmo_top *top,
                                    struct inmo_error *error)
{
    top->k = k < most ? k : most;
    top->count = 0;
    top->score = inmo_work_take(work, (size_t)top->k + 1, sizeof *top->score);
    top->item = inmo_work_take(work, (size_t)top->k + 1, sizeof *top->item);
    return top->score && top->item ? INMO_OK : inmo_fail_memory(error, "the recommendations");
}

/* Puts the fault of a query into its list; the other queries are still answered. */
static enum inmo_status refuse(const struct inmo_list_request *request, struct inmo_list_task *task,
                               const struct inmo_error *why, struct inmo_error *error)
{
    size_t size = strlen(why->message) + 1;
    char *sentence = inmo_work_take(request->work, size, 1);
    if (why->code == INMO_MEMORY || !sentence)
        return inmo_fail_memory(error, "the recommendations");
    task->list->status = why->code;
    task->list->problem = memcpy(sentence, why->message, size);
    return INMO_OK;
}

enum inmo_status inmo_task_gather(const struct inmo_list_request *request, struct inmo_list_task *task,
                                  struct inmo_error *error)
{
    const struct inmo_snapshot *snapshot = request->snapshot;
    struct inmo_error why = {0};
    enum inmo_status status;
    task->k = task->rows ? task->rows->k : task->query->k;
    task->rules = task->rows ? task->rows->rules : task->query->rules;
    task->include_seen = task->rows ? task->rows->include_seen : task->query->include_seen;
    status = inmo_check_k(task->k, &why);
    if (!status && task->rows) {
        struct inmo_row row = inmo_rows_person(task->rows, task->number);
        status = inmo_person_make_row(request->view, snapshot, request->work, &row, NULL, &task->person, &why);
    } else if (!status) {
        status = inmo_person_make(request->view, snapshot, request->work, task->query, &task->person, &why);
    }
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
            inmo_task_make_top(request->work, task->rules ? inmo_rules_candidates(task->rules, task->k) : task->k,
                               snapshot->graph->items + task->newcomers, &task->top, error);
    return status;
}
