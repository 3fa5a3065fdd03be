/* routes_feedback.c - feedback: in by POST and PUT, out by type, user and item, deleted. */
#include "server/entity.h"
#include "server/route.h"

#include <stdlib.h>
#include <string.h>

static void answer_affected(struct request *request)
{
    struct metrics *metrics = request->server->metrics;
    size_t count = request->job.count;
    uint64_t affected = (uint64_t)request->job.affected;
    switch (count ? request->change[0].deed : STORE_PUT_USER) {
    case STORE_ADD_FEEDBACK:
        metrics_count(metrics, METRICS_EVENTS_INSERTED, affected);
        metrics_count(metrics, METRICS_EVENTS_DUPLICATE, count - affected);
        break;
    case STORE_PUT_FEEDBACK: metrics_count(metrics, METRICS_EVENTS_OVERWRITTEN, affected); break;
    case STORE_DELETE_FEEDBACK: metrics_count(metrics, METRICS_EVENTS_DELETED, affected); break;
    default: break;
    }
    request_affected(request, request->job.affected);
}

static void take_feedback(struct request *request, enum store_deed deed)
{
    json_t *body = request_json(request, JSON_ARRAY), *object;
    int fine = body != NULL;
    size_t n;
    json_array_foreach(body, n, object)
        fine = fine && entity_take_feedback(request, object, deed, (int)n);
    if (fine)
        request_write(request, answer_affected);
}

void route_post_feedback(struct request *request)
{
    take_feedback(request, STORE_ADD_FEEDBACK);
}

void route_put_feedback(struct request *request)
{
    take_feedback(request, STORE_PUT_FEEDBACK);
}

static void delete_feedback(struct request *request, const char *type, const char *user, const char *item)
{
    struct store_change *change = request_change(request);
    if (change) {
        change->deed = STORE_DELETE_FEEDBACK;
        change->feedback.type = type;
        change->feedback.user = user;
        change->feedback.item = item;
        request_write(request, answer_affected);
    }
}

void route_delete_feedback(struct request *request)
{
    delete_feedback(request, request->param[0], request->param[1], request->param[2]);
}

void route_delete_feedback_of_pair(struct request *request)
{
    delete_feedback(request, NULL, request->param[0], request->param[1]);
}

/* ---- Out ----------------------------------------------------------------------------------------------------- */

static int add_row(void *context, const struct store_feedback *feedback)
{
    entity_separate(context);
    entity_put_feedback(context, feedback);
    return 1;
}

/* A page with its cursor, or (as a list) everything up to a page, as gorse answers for one user or item. */
static void answer_rows(struct request *request, const char *type, const char *user, const char *item, int as_list)
{
    const char *cursor = entity_cursor(request);
    struct inmo_text rows = {0};
    struct inmo_error error = {0};
    char *next = malloc(STORE_CURSOR);
    int64_t most;

    if (!next) {
        request_fail_memory(request);
    } else if (request_number(request, "n", as_list ? ENTITY_PAGE_MOST : ENTITY_PAGE_USUAL, 1, ENTITY_PAGE_MOST,
                              &most)) {
        inmo_text_add(&rows, "[", 1);
        if (store_feedback(request->server->store, type, user, item, cursor, (int)most, add_row, &rows, next,
                           &error)) {
            request_fail_status(request, &error);
        } else {
            entity_answer_rows(request, as_list ? NULL : "Feedback", &rows, next);
        }
    }
    free(next);
    inmo_text_free(&rows);
}

void route_get_feedback(struct request *request)
{
    answer_rows(request, NULL, NULL, NULL, 0);
}

void route_get_feedback_of_type(struct request *request)
{
    answer_rows(request, request->param[0], NULL, NULL, 0);
}

void route_get_feedback_of_pair_all(struct request *request)
{
    answer_rows(request, NULL, request->param[0], request->param[1], 1);
}

void route_user_feedback(struct request *request)
{
    answer_rows(request, request->param[1], request->param[0], NULL, 1);
}

void route_item_feedback(struct request *request)
{
    answer_rows(request, request->param[1], NULL, request->param[0], 1);
}

static int put_row(void *context, const struct store_feedback *feedback)
{
    entity_put_feedback(context, feedback);
    return 1;
}

void route_get_feedback_of_pair(struct request *request)
{
    struct inmo_error error = {0};
    char *next = malloc(STORE_CURSOR);
    if (!next)
        request_fail_memory(request);
    else if (store_feedback(request->server->store, request->param[0], request->param[1], request->param[2], "", 1,
                            put_row, &request->out, next, &error))
        request_fail_status(request, &error);
    else if (!request->out.length)
        request_fail(request, 404, "NOT_FOUND", NULL, "there is no such feedback");
    else
        request_answer(request, 200);
    free(next);
}
