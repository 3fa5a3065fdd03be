/* routes_recommend.c - lists: for users, for sessions, for whatever a query describes; neighbours, popular,
 * latest. */
#include "server/ask.h"
#include "server/entity.h"
#include "server/route.h"
#include "server/stamp.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_USUAL = 10, OFFSET_MOST = 100000, REASONS_MOST = 10, EXPLAINED_MOST = 50 };

/* n and offset of the query. 0: answered. */
static int take_range(struct request *request, size_t *n, size_t *offset)
{
    int64_t wanted, skipped;
    if (!request_number(request, "n", LIST_USUAL, 1, request->server->options->most_n, &wanted) ||
        !request_number(request, "offset", 0, 0, OFFSET_MOST, &skipped))
        return 0;
    *n = (size_t)wanted;
    *offset = (size_t)skipped;
    return 1;
}

static void put_scored(struct inmo_text *out, const struct inmo_entry *entry, size_t count)
{
    inmo_text_add(out, "[", 1);
    for (size_t n = 0; n < count; n++) {
        inmo_text_add(out, ",{\"Id\":" + (n == 0), 7 - (n == 0));
        inmo_text_json_string(out, entry[n].id);
        inmo_text_add(out, ",\"Score\":", 9);
        inmo_text_number(out, entry[n].score, 9);
        inmo_text_add(out, "}", 1);
    }
    inmo_text_add(out, "]", 1);
}

static void answer_200(struct request *request)
{
    request_answer(request, 200);
}

/* ---- A user -------------------------------------------------------------------------------------------------- */

/* "10m", "1h30m", "24h", "3s", as Go writes durations; milliseconds. 0: none of these. */
static int duration(const char *text, int64_t *milliseconds)
{
    int64_t sum = 0;
    if (!*text)
        return 0;
    while (*text) {
        char *end;
        long long number = strtoll(text, &end, 10);
        int64_t unit;
        if (end == text || number < 0 || number > 1000000000)
            return 0;
        unit = !strncmp(end, "ms", 2) ? 1 : *end == 's' ? 1000 : *end == 'm' ? 60000 : *end == 'h' ? 3600000 : 0;
        if (!unit || sum > INT64_MAX / 4)
            return 0;
        sum += number * unit;
        text = end + (unit == 1 ? 2 : 1);
    }
    *milliseconds = sum;
    return 1;
}

/* The listed items become feedback of that type: they are not listed again. 0: answered. */
static int write_back(struct request *request, const struct answer *answer, const char *type, int64_t later)
{
    if (strlen(type) > REQUEST_ID_LIMIT) {
        request_fail(request, 400, "BAD_REQUEST", "write-back-type", "write-back-type: found more than %d bytes",
                     REQUEST_ID_LIMIT);
        return 0;
    }
    for (size_t n = 0; n < answer->count; n++) {
        const char *item = request_keep(request, answer->entry[n].id, strlen(answer->entry[n].id));
        struct store_change *change = item ? request_change(request) : NULL;
        if (!change)
            return 0;
        change->deed = STORE_ADD_FEEDBACK;
        change->feedback = (struct store_feedback){
            .type = type, .user = request->param[0], .item = item, .time = stamp_now() + later};
    }
    return 1;
}

void route_recommend(struct request *request)
{
    const char *type = request_query(request, "write-back-type");
    struct ask ask = {.user = request->param[0], .category = request->param[1]};
    const char *delay = request_query(request, "write-back-delay");
    struct answer answer = {0};
    int64_t later = 0;
    int fine;

    if (!take_range(request, &ask.n, &ask.offset))
        return;
    if (delay && *delay && !duration(delay, &later)) {
        request_fail(request, 400, "BAD_REQUEST", "write-back-delay",
                     "write-back-delay: found \"%.40s\", expected a duration such as 10m or 1h30m", delay);
        return;
    }
    if (type && *type && request->right < KEYS_WRITE) {
        request_fail(request, 403, "FORBIDDEN", "write-back-type",
                     "write-back-type needs a key with the right to write");
        return;
    }
    fine = ask_list(request, &ask, &answer);
    if (fine) {
        inmo_text_add(&request->out, "[", 1);
        for (size_t n = 0; n < answer.count; n++) {
            if (n)
                inmo_text_add(&request->out, ",", 1);
            inmo_text_json_string(&request->out, answer.entry[n].id);
        }
        inmo_text_add(&request->out, "]", 1);
        if (type && *type)
            fine = write_back(request, &answer, type, later);
    }
    ask_end(request, &answer);
    if (fine)
        request_write(request, answer_200);
}

/* ---- A session ----------------------------------------------------------------------------------------------- */

void route_session_recommend(struct request *request)
{
    const struct ledger *ledger = live_ledger(request->server->live);
    json_t *body = request_json(request, JSON_ARRAY), *one;
    size_t most = (size_t)request->server->options->most_history, n, chosen = 0, seen = 0;
    struct ask ask = {.category = request->param[0]};
    struct answer answer = {0};
    const char **items = NULL, **denied = NULL;
    int fine = body != NULL && take_range(request, &ask.n, &ask.offset);

    if (fine && json_array_size(body) > most) {
        request_fail(request, 413, "TOO_LARGE", NULL, "found %zu rows, expected at most %zu", json_array_size(body),
                     most);
        fine = 0;
    }
    items = inmo_alloc(fine ? json_array_size(body) : 0, sizeof *items);
    denied = inmo_alloc(fine ? json_array_size(body) : 0, sizeof *denied);
    if (fine && (!items || !denied)) {
        request_fail_memory(request);
        fine = 0;
    }
    if (fine)
        json_array_foreach(body, n, one) {
            const char *item = request_id(request, one, "ItemId", (int)n);
            const json_t *kind = json_object_get(one, "FeedbackType");
            const char *type = json_string_value(kind);
            if (item && kind && !json_is_null(kind) && !type)
                request_fail(request, 400, "BAD_REQUEST", "FeedbackType",
                             "row %zu: FeedbackType: found something else, expected a string", n);
            if (request->state == REQUEST_ANSWERED) {
                fine = 0;
                break;
            }
            if (type && *type && !ledger_is_positive(ledger, type))
                denied[seen++] = item;
            else
                items[chosen++] = item;
        }
    ask.items = items;
    ask.item_count = chosen;
    ask.deny = denied;
    ask.deny_count = seen;
    fine = fine && ask_list(request, &ask, &answer);
    if (fine) {
        put_scored(&request->out, answer.entry, answer.count);
        request_answer(request, 200);
    }
    ask_end(request, &answer);
    inmo_free(denied);
    inmo_free(items);
}

/* ---- A query ------------------------------------------------------------------------------------------------- */

/* A whole number of the body. 0: answered. */
static int take_member(struct request *request, const json_t *body, const char *field, int64_t usual, int64_t most,
                       size_t *number)
{
    const json_t *value = json_object_get(body, field);
    double found = value && !json_is_null(value) ? json_number_value(value) : (double)usual; /* 5.0 is whole, too */
    if ((value && !json_is_null(value) && !json_is_number(value)) || !(found >= 0 && found <= (double)most) ||
        found != (double)(int64_t)found) {
        request_fail(request, 400, "BAD_REQUEST", field, "%s: expected a whole number from 0 to %lld", field,
                     (long long)most);
        return 0;
    }
    *number = (size_t)found;
    return 1;
}

/* ,"reasons":[...]: the largest parts of the score that are items. */
static void put_reasons(struct request *request, const struct inmo_view *view, const struct inmo_query *query,
                        const char *item, size_t most)
{
    struct inmo_explanation *why = NULL;
    size_t put = 0;
    inmo_text_add(&request->out, ",\"reasons\":[", 12);
    if (!inmo_explain(view, query, item, &why, NULL)) {
        for (size_t n = 0; n < why->count && put < most && why->part[n].score > 0; n++) {
            if (why->part[n].id[0] == '(' && inmo_view_item_row(view, why->part[n].id) < 0)
                continue; /* what does not depend on the history */
            inmo_text_add(&request->out, ",{\"id\":" + !put, 7 - !put);
            inmo_text_json_string(&request->out, why->part[n].id);
            entity_put_title(request, why->part[n].id);
            inmo_text_add(&request->out, ",\"share\":", 9);
            inmo_text_number(&request->out, why->score > 0 ? why->part[n].score / why->score : 0, 4);
            inmo_text_add(&request->out, "}", 1);
            put++;
        }
        inmo_explanation_free(why);
    }
    inmo_text_add(&request->out, "]", 1);
}

static void put_list(struct request *request, const struct ask *ask, const struct answer *answer, size_t reasons)
{
    struct inmo_query query;
    struct inmo_entry *entry = inmo_alloc(answer->count, sizeof *entry);
    size_t explained = reasons && !answer->fallback && answer->held ? answer->count : 0;

    explained = explained < EXPLAINED_MOST ? explained : EXPLAINED_MOST;
    inmo_query_init(&query);
    query.user =
        ask->user && answer->held && inmo_view_user_row(answer->held->view, ask->user) >= 0 ? ask->user : NULL;
    query.items = ask->items;
    query.item_count = ask->item_count;
    if (!entry) {
        request->out.failed = 1;
        return;
    }
    if (answer->count)
        memcpy(entry, answer->entry, answer->count * sizeof *entry);
    inmo_text_add(&request->out, "{\"items\":[", 10);
    for (size_t n = 0; n < answer->count; n++) {
        inmo_text_add(&request->out, ",{\"id\":" + (n == 0), 7 - (n == 0));
        inmo_text_json_string(&request->out, entry[n].id);
        inmo_text_add(&request->out, ",\"score\":", 9);
        inmo_text_number(&request->out, entry[n].score, 9);
        entity_put_title(request, entry[n].id);
        if (n < explained)
            put_reasons(request, answer->held->view, &query, entry[n].id, reasons);
        inmo_text_add(&request->out, "}", 1);
    }
    inmo_text_add(&request->out, "],\"coverage\":", 13);
    inmo_text_number(&request->out, answer->coverage, 6);
    inmo_text_format(&request->out, ",\"fallback\":%s,\"unknown\":%d,\"model\":%d}",
                     answer->fallback ? "true" : "false", answer->unknown, answer->model);
    inmo_free(entry);
}

void route_recommend_query(struct request *request)
{
    const struct serve_options *options = request->server->options;
    json_t *body = request_json(request, JSON_OBJECT);
    const json_t *seen = json_object_get(body, "include_seen"), *allow = json_object_get(body, "allow");
    struct ask ask = {0};
    struct answer answer = {0};
    size_t reasons = 0;

    if (!body || !take_member(request, body, "n", LIST_USUAL, options->most_n, &ask.n) ||
        !take_member(request, body, "offset", 0, OFFSET_MOST, &ask.offset) ||
        !take_member(request, body, "explain", 0, REASONS_MOST, &reasons) ||
        !ask_take_ids(request, json_object_get(body, "items"), "items", (size_t)options->most_history, &ask.items,
                      &ask.item_count) ||
        !ask_take_ids(request, allow, "allow", (size_t)options->most_history, &ask.allow, &ask.allow_count) ||
        !ask_take_ids(request, json_object_get(body, "deny"), "deny", (size_t)options->most_history, &ask.deny,
                      &ask.deny_count))
        return;
    ask.has_allow = json_is_array(allow);
    if (json_object_get(body, "user") && !json_is_null(json_object_get(body, "user")) &&
        !(ask.user = request_id(request, body, "user", -1)))
        return;
    if (json_object_get(body, "category") && !json_is_null(json_object_get(body, "category")) &&
        !(ask.category = request_id(request, body, "category", -1)))
        return;
    if (seen && !json_is_boolean(seen)) {
        request_fail(request, 400, "BAD_REQUEST", "include_seen", "include_seen: expected true or false");
        return;
    }
    ask.include_seen = json_is_true(seen);
    ask.n = ask.n ? ask.n : 1;
    if (ask_list(request, &ask, &answer)) {
        put_list(request, &ask, &answer, reasons);
        request_answer(request, 200);
    }
    ask_end(request, &answer);
}

/* ---- Neighbours, popular, latest ----------------------------------------------------------------------------- */

/* Keeps the entries that are not hidden and in the category, and cuts the range out. */
static void answer_neighbors(struct request *request, struct inmo_list *list, int are_items, const char *category,
                             size_t n, size_t offset)
{
    const struct ledger *ledger = live_ledger(request->server->live);
    size_t count = are_items ? ledger_drop_hidden(ledger, list->entry, list->count) : list->count;
    size_t kept = 0, members = 0;
    const char **member = NULL;
    struct inmo_error error = {0};

    if (category && ledger_category(ledger, category, &members, &member, &error)) {
        request_fail_status(request, &error);
        return;
    }
    ask_sort(member, members);
    for (size_t e = 0; e < count; e++)
        if (!category || ask_has(member, members, list->entry[e].id))
            list->entry[kept++] = list->entry[e];
    inmo_free(member);
    offset = offset < kept ? offset : kept;
    kept -= offset;
    put_scored(&request->out, list->entry + offset, kept < n ? kept : n);
    request_answer(request, 200);
}

static void neighbors(struct request *request, const char *item, const char *user, const char *category)
{
    const struct ledger *ledger = live_ledger(request->server->live);
    struct live_model *model = live_hold(request->server->live);
    struct inmo_list *list = NULL;
    struct inmo_error error = {0};
    size_t n, offset;
    int known = item ? ledger_has_item(ledger, item) : ledger_has_user(ledger, user);

    if (take_range(request, &n, &offset)) {
        /* In a category, neighbours further away take the place of those outside. */
        size_t k = n + offset + (size_t)ledger_hidden_count(ledger);
        k = category ? k * 20 + 200 : k;
        enum inmo_status status =
            model ? inmo_similar(model->view, item, user, k > 100000 ? 100000 : (int)k, &list, &error)
                  : INMO_UNKNOWN;
        if (!status) {
            answer_neighbors(request, list, item != NULL, category, n, offset);
        } else if (status == INMO_UNSUPPORTED || (status == INMO_UNKNOWN && known)) {
            /* Popularity has no neighbours, and somebody new has some after the next refresh. */
            put_scored(&request->out, NULL, 0);
            request_answer(request, 200);
        } else if (!model || status == INMO_UNKNOWN) {
            request_fail(request, 404, "NOT_FOUND", NULL, "there is no %s %.200s", item ? "item" : "user",
                         item ? item : user);
        } else {
            request_fail_status(request, &error);
        }
    }
    if (list)
        inmo_list_free(list);
    live_release(request->server->live, model);
}

void route_item_neighbors(struct request *request)
{
    neighbors(request, request->param[0], NULL, request->param[1]);
}

void route_user_neighbors(struct request *request)
{
    neighbors(request, NULL, request->param[0], NULL);
}

static void answer_order(struct request *request, enum ledger_order order)
{
    struct inmo_entry *entry = NULL;
    struct inmo_error error = {0};
    size_t n, offset, count = 0;
    if (!take_range(request, &n, &offset))
        return;
    if (ledger_list(live_ledger(request->server->live), order, request->param[0], offset, n, &count, &entry,
                    &error)) {
        request_fail_status(request, &error);
    } else {
        put_scored(&request->out, entry, count);
        request_answer(request, 200);
    }
    inmo_free(entry);
}

void route_popular(struct request *request)
{
    answer_order(request, LEDGER_POPULAR);
}

void route_latest(struct request *request)
{
    answer_order(request, LEDGER_LATEST);
}
