/* routes_explain.c - why an item is in a list, as exact parts of its score; and finding items by their titles. */
#include "server/ask.h"
#include "server/entity.h"
#include "server/route.h"

#include "base/memory.h"
#include "base/status.h"

#include <string.h>

enum { FOUND_USUAL = 20, FOUND_MOST = 200 };

static int owns(struct request *request, const struct inmo_query *query, const char *item)
{
    enum { LOOKED_AT = 65536 };
    const char **history;
    size_t count;
    int found = 0;
    for (size_t n = 0; n < query->item_count && !found; n++)
        found = !strcmp(query->items[n], item);
    if (found || !query->user || !(history = inmo_alloc(LOOKED_AT, sizeof *history)))
        return found;
    count = ledger_history(live_ledger(request->server->live), query->user, history, LOOKED_AT);
    for (size_t n = 0; n < count && !found; n++)
        found = !strcmp(history[n], item);
    inmo_free(history);
    return found;
}

static void explain(struct request *request, const struct inmo_query *query, const char *item)
{
    struct live_model *model = live_hold(request->server->live);
    struct inmo_explanation *why = NULL;
    struct inmo_error error = {0};
    enum inmo_status status = model ? inmo_explain(model->view, query, item, &why, &error)
                                    : inmo_fail(&error, INMO_UNSUPPORTED, "there is no model to explain yet");
    if (status) {
        request_fail_status(request, &error);
    } else {
        inmo_text_add(&request->out, "{\"item\":", 8);
        inmo_text_json_string(&request->out, item);
        entity_put_title(request, item);
        inmo_text_add(&request->out, ",\"score\":", 9);
        inmo_text_number(&request->out, why->score, 9);
        inmo_text_format(&request->out, ",\"owned\":%s,\"parts\":[", owns(request, query, item) ? "true" : "false");
        for (size_t n = 0; n < why->count; n++) {
            inmo_text_add(&request->out, ",{\"id\":" + (n == 0), 7 - (n == 0));
            inmo_text_json_string(&request->out, why->part[n].id);
            entity_put_title(request, why->part[n].id);
            inmo_text_add(&request->out, ",\"score\":", 9);
            inmo_text_number(&request->out, why->part[n].score, 9);
            inmo_text_add(&request->out, ",\"share\":", 9);
            inmo_text_number(&request->out, why->score != 0 ? why->part[n].score / why->score : 0, 6);
            inmo_text_add(&request->out, "}", 1);
        }
        inmo_text_add(&request->out, "]}", 2);
        request_answer(request, 200);
    }
    if (why)
        inmo_explanation_free(why);
    live_release(request->server->live, model);
}

void route_explain(struct request *request)
{
    struct inmo_query query;
    inmo_query_init(&query);
    query.user = request->param[0];
    explain(request, &query, request->param[1]);
}

void route_session_explain(struct request *request)
{
    json_t *body = request_json(request, JSON_OBJECT);
    const char *item = body ? request_id(request, body, "item", -1) : NULL;
    struct inmo_query query;
    inmo_query_init(&query);
    if (!item || !ask_take_ids(request, json_object_get(body, "items"), "items",
                               (size_t)request->server->options->most_history, &query.items, &query.item_count))
        return;
    if (json_object_get(body, "user") && !json_is_null(json_object_get(body, "user")) &&
        !(query.user = request_id(request, body, "user", -1)))
        return;
    explain(request, &query, item);
}

void route_search(struct request *request)
{
    const char *text = request_query(request, "q");
    struct ledger_found *found = NULL;
    struct inmo_error error = {0};
    size_t count = 0;
    int64_t most;

    if (!request_number(request, "n", FOUND_USUAL, 1, FOUND_MOST, &most))
        return;
    if (ledger_search(live_ledger(request->server->live), text ? text : "", (size_t)most, &count, &found, &error)) {
        request_fail_status(request, &error);
        return;
    }
    inmo_text_add(&request->out, "[", 1);
    for (size_t n = 0; n < count; n++) {
        inmo_text_add(&request->out, ",{\"id\":" + (n == 0), 7 - (n == 0));
        inmo_text_json_string(&request->out, found[n].id);
        inmo_text_add(&request->out, ",\"title\":", 9);
        inmo_text_json_string(&request->out, found[n].title ? found[n].title : found[n].id);
        inmo_text_format(&request->out, ",\"count\":%lld}", (long long)found[n].count);
    }
    inmo_text_add(&request->out, "]", 1);
    request_answer(request, 200);
    inmo_free(found);
}
