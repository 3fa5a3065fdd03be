/* gather.h - the first stage of a request: looks up everything that needs the view's lock, so that ranking can run
 * without it. Private to recommend.c and gather.c. */
#ifndef INMO_VIEW_GATHER_H
#define INMO_VIEW_GATHER_H

#include "kernel/top.h"
#include "view/person.h"
#include "view/rules.h"

/* One query and the list it will become. All arrays are in the arena; items are numbers, ascending. */
struct inmo_list_task {
    const struct inmo_query *query;     /* by ids, */
    const struct inmo_rows_query *rows; /* or, if not NULL, by numbers: */
    int64_t number;                     /* the person's place among them */
    int k, include_seen, limited;       /* limited: only what is allowed may be listed */
    const struct inmo_rules *rules;     /* NULL: none */
    struct inmo_list *list;
    struct inmo_person person;
    int32_t *closed;  // (closed_count) items that may not be listed, including ones newer than the snapshot
    int32_t closed_count;
    int32_t *allowed;  // (allowed_count) if the query has an allow list: the only items that may be listed
    int32_t allowed_count;
    int32_t *newcomer;  // (newcomers) items newer than the snapshot that may be listed
    float *newcomer_score;
    int32_t newcomers;
    int32_t *boosted;  // (boosted_count) items that walks and links reach
    float *boost;
    int32_t boosted_count;
    struct inmo_top top;
};

struct inmo_list_request {
    const struct inmo_view *view;
    struct inmo_snapshot *snapshot;
    struct inmo_work *work;
    struct inmo_list_task *task;
    size_t tasks;
};

static inline int inmo_task_may_list(const struct inmo_list_task *task, int32_t item)
{
    return !inmo_holds(task->closed, task->closed_count, item) &&
           (!task->limited || inmo_holds(task->allowed, task->allowed_count, item));
}

/* Person n of a query by numbers: whose history it is. */
struct inmo_row inmo_rows_person(const struct inmo_rows_query *rows, int64_t n);
/* Answers the tasks of a request: fills in each list but its entries, and top. Errors: MEMORY. */
enum inmo_status inmo_request_answer(struct inmo_list_request *request, struct inmo_error *error);

/* Fills in the task of a query: the person, the items that may be listed, the scores of items newer than the
 * snapshot, and an empty top. Call it under the view's read lock. A fault of the query goes into the list's status
 * and problem. Errors: MEMORY. */
enum inmo_status inmo_task_gather(const struct inmo_list_request *request, struct inmo_list_task *task,
                                  struct inmo_error *error);
/* An empty heap for the k best of at most `most` items. Errors: MEMORY. */
enum inmo_status inmo_task_make_top(struct inmo_work *work, int32_t k, int32_t most, struct inmo_top *top,
                                    struct inmo_error *error);

#endif
