/* ask.c - see ask.h. */
#include "server/ask.h"

#include "base/memory.h"
#include "base/status.h"
#include "server/server.h"

#include <stdlib.h>
#include <string.h>

enum { SEEN_MOST = 100000, LISTED_MOST = 1 << 20 };

/* ---- A thread's memory --------------------------------------------------------------------------------------- */

static pthread_key_t work_key;
static pthread_once_t work_once = PTHREAD_ONCE_INIT;

static void work_free(void *work)
{
    inmo_work_free(work);
}

static void work_begin(void)
{
    pthread_key_create(&work_key, work_free);
}

struct inmo_work *ask_work(void)
{
    struct inmo_work *work;
    pthread_once(&work_once, work_begin);
    work = pthread_getspecific(work_key);
    if (!work && !inmo_work_create(&work, NULL))
        pthread_setspecific(work_key, work);
    return work;
}

/* ---- Lists of ids -------------------------------------------------------------------------------------------- */

int ask_take_ids(struct request *request, const json_t *array, const char *field, size_t most,
                 const char *const **ids, size_t *count)
{
    const char **found;
    size_t n;
    json_t *value;

    *ids = NULL;
    *count = 0;
    if (!array || json_is_null(array))
        return 1;
    if (!json_is_array(array) || json_array_size(array) > most) {
        request_fail(request, 400, "BAD_REQUEST", field, "%s: expected an array of at most %zu ids", field, most);
        return 0;
    }
    found = request_room(request, json_array_size(array), sizeof *found);
    if (!found)
        return 0;
    json_array_foreach(array, n, value) {
        found[n] = json_string_value(value);
        if (!found[n] || !*found[n] || strlen(found[n]) > REQUEST_ID_LIMIT) {
            request_fail(request, 400, "BAD_REQUEST", field,
                         "%s: entry %zu is not an id: a string of 1 to %d bytes", field, n, REQUEST_ID_LIMIT);
            return 0;
        }
    }
    *ids = found;
    *count = json_array_size(array);
    return 1;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

void ask_sort(const char **ids, size_t count)
{
    if (count)
        qsort(ids, count, sizeof *ids, by_text);
}

int ask_has(const char *const *sorted, size_t count, const char *id)
{
    return count && bsearch(&id, sorted, count, sizeof *sorted, by_text) != NULL;
}

/* Which items may be listed: the category's, those allowed, or those in both. 0: answered. */
static int limit_items(struct request *request, const struct ask *ask, struct answer *answer,
                       struct inmo_query *query)
{
    const char **of_category = NULL, **both;
    struct inmo_error error = {0};
    size_t count = 0, kept = 0;

    if (ask->has_allow) {
        query->allow = ask->allow ? ask->allow : (const char *const *)answer->lists;
        query->allow_count = ask->allow_count;
    }
    if (!ask->category)
        return 1;
    if (ledger_category(live_ledger(request->server->live), ask->category, &count, &of_category, &error)) {
        request_fail_status(request, &error);
        return 0;
    }
    answer->lists[0] = of_category;
    if (ask->has_allow) {
        both = answer->lists[1] = inmo_alloc(ask->allow_count, sizeof *both);
        if (!both) {
            request_fail_memory(request);
            return 0;
        }
        ask_sort(of_category, count);
        for (size_t n = 0; n < ask->allow_count; n++)
            if (ask_has(of_category, count, ask->allow[n]))
                both[kept++] = ask->allow[n];
        of_category = both;
        count = kept;
    }
    query->allow = of_category;
    query->allow_count = count;
    return 1;
}

/* What must not be listed beside the history: given by the request, or seen and not chosen. 0: answered. */
static int exclude_items(struct request *request, const struct ask *ask, struct answer *answer,
                         struct inmo_query *query)
{
    const struct ledger *ledger = live_ledger(request->server->live);
    const char *few[64], **all;
    size_t seen = 0;

    query->deny = ask->deny;
    query->deny_count = ask->deny_count;
    if (!ask->user || ask->include_seen)
        return 1;
    seen = ledger_seen(ledger, ask->user, few, 64);
    if (!seen)
        return 1;
    all = answer->lists[2] = inmo_alloc((seen < 64 ? 64 : SEEN_MOST) + ask->deny_count, sizeof *all);
    if (!all) {
        request_fail_memory(request);
        return 0;
    }
    if (seen < 64)
        memcpy(all, few, seen * sizeof *all);
    else
        seen = ledger_seen(ledger, ask->user, all, SEEN_MOST);
    if (ask->deny_count)
        memcpy(all + seen, ask->deny, ask->deny_count * sizeof *all);
    query->deny = all;
    query->deny_count = seen + ask->deny_count;
    return 1;
}

/* ---- Popularity ---------------------------------------------------------------------------------------------- */

/* Adds ids; all is sorted when the last ones have come. */
static size_t gather(const char **all, size_t count, const char *const *more, size_t more_count)
{
    if (more_count)
        memcpy(all + count, more, more_count * sizeof *all);
    return count + more_count;
}

/* When the model cannot answer: the most popular items that the rest of the query lets pass. */
static int ask_popular(struct request *request, const struct ask *ask, const struct inmo_query *query,
                       struct answer *answer)
{
    struct ledger *ledger = live_ledger(request->server->live);
    struct inmo_error error = {0};
    const char **out = inmo_alloc(SEEN_MOST + query->deny_count + ask->item_count, sizeof *out);
    const char **allowed = inmo_alloc(ask->allow_count, sizeof *allowed);
    size_t outside = 0, kept = 0, skip = ask->offset, count = 0;
    enum inmo_status status = out && allowed ? INMO_OK : inmo_fail_memory(&error, "a list");

    if (!status && ask->user && !ask->include_seen)
        outside = ledger_history(ledger, ask->user, out, SEEN_MOST);
    if (!status) {
        outside = gather(out, outside, query->deny, query->deny_count);
        outside = gather(out, outside, ask->items, ask->include_seen ? 0 : ask->item_count);
        ask_sort(out, outside);
        gather(allowed, 0, ask->allow, ask->allow_count);
        ask_sort(allowed, ask->allow_count);
        /* Whoever is allowed may be the least popular of all. */
        status =
            ledger_list(ledger, LEDGER_POPULAR, ask->category, 0,
                        ask->has_allow ? SIZE_MAX : ask->n + ask->offset + outside, &count, &answer->own, &error);
    }
    for (size_t n = 0; n < count && !status && kept < ask->n; n++) {
        const char *id = answer->own[n].id;
        if (ask_has(out, outside, id) || (ask->has_allow && !ask_has(allowed, ask->allow_count, id)))
            continue;
        if (skip)
            skip--;
        else
            answer->own[kept++] = answer->own[n];
    }
    inmo_free(allowed);
    inmo_free(out);
    answer->entry = answer->own;
    answer->count = kept;
    answer->fallback = 1;
    if (status)
        request_fail_status(request, &error);
    else
        metrics_count(request->server->metrics, METRICS_RECOMMEND_FALLBACK, 1);
    return !status;
}

/* ---- Asking -------------------------------------------------------------------------------------------------- */

/* The list with hidden items left out, as long as wanted if there are so many. */
static enum inmo_status ask_view(struct request *request, struct inmo_query *query, size_t wanted,
                                 struct answer *answer, const struct inmo_list **list, struct inmo_error *error)
{
    const struct ledger *ledger = live_ledger(request->server->live);
    struct inmo_work *work = ask_work();
    int64_t hidden = ledger_hidden_count(ledger);
    size_t k = wanted + (hidden ? (size_t)(hidden < 64 ? hidden : 64) : 0), kept;
    enum inmo_status status = work ? INMO_OK : inmo_fail_memory(error, "a list");

    for (; !status; k = k * 4 > LISTED_MOST ? LISTED_MOST : k * 4) {
        query->k = (int)k;
        status = inmo_recommend_many(answer->held->view, work, query, 1, list, error);
        if (!status && (*list)->status)
            status = inmo_fail(error, (*list)->status, "%s", (*list)->problem);
        if (status)
            break;
        answer->entry = (*list)->entry;
        answer->count = (*list)->count;
        if (!hidden)
            break;
        inmo_free(answer->own);
        answer->own = inmo_alloc((*list)->count, sizeof *answer->own);
        if (!answer->own) {
            status = inmo_fail_memory(error, "a list");
            break;
        }
        if ((*list)->count)
            memcpy(answer->own, (*list)->entry, (*list)->count * sizeof *answer->own);
        kept = ledger_drop_hidden(ledger, answer->own, (*list)->count);
        answer->entry = answer->own;
        answer->count = kept;
        if (kept >= wanted || (*list)->count < k || k == LISTED_MOST)
            break;
    }
    return status;
}

int ask_list(struct request *request, const struct ask *ask, struct answer *answer)
{
    const struct inmo_list *list = NULL;
    struct inmo_query query;
    struct inmo_error error = {0};
    enum inmo_status status;
    size_t wanted = ask->n + ask->offset;

    *answer = (struct answer){.held = live_hold(request->server->live)};
    inmo_query_init(&query);
    query.user = ask->user;
    query.items = ask->items;
    query.item_count = ask->item_count;
    query.include_seen = ask->include_seen;
    if (!limit_items(request, ask, answer, &query) || !exclude_items(request, ask, answer, &query))
        return 0;
    if (query.allow && !query.allow_count)
        return 1; /* an empty category: nothing, from whomever */
    if (!answer->held)
        return ask_popular(request, ask, &query, answer);
    answer->model = answer->held->number;
    status = ask_view(request, &query, wanted, answer, &list, &error);
    if (status == INMO_UNKNOWN && query.user) {
        query.user = NULL; /* nobody knows this user yet */
        status = ask_view(request, &query, wanted, answer, &list, &error);
    }
    if (status == INMO_UNSUPPORTED) /* a model without a place for newcomers */
        return ask_popular(request, ask, &query, answer);
    if (status) {
        request_fail_status(request, &error);
        return 0;
    }
    answer->coverage = list->coverage;
    answer->fallback = list->fallback;
    answer->unknown = list->unknown_items;
    if (answer->count)
        answer->entry += answer->count < ask->offset ? answer->count : ask->offset;
    answer->count -= answer->count < ask->offset ? answer->count : ask->offset;
    answer->count = answer->count < ask->n ? answer->count : ask->n;
    metrics_count(request->server->metrics, answer->fallback ? METRICS_RECOMMEND_FALLBACK : METRICS_RECOMMEND_MODEL,
                  1);
    return 1;
}

void ask_end(struct request *request, struct answer *answer)
{
    live_release(request->server->live, answer->held);
    inmo_free(answer->own);
    for (int n = 0; n < 3; n++)
        inmo_free(answer->lists[n]);
    *answer = (struct answer){0};
}
