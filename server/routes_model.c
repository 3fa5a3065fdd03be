/* routes_model.c - the model in use, those before it, and how the server is doing. */
#include "server/retrain.h"
#include "server/route.h"
#include "server/stamp.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

/* Sends the value and drops it. */
static void answer_json(struct request *request, int status, json_t *value)
{
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    if (text) {
        inmo_text_add(&request->out, text, strlen(text));
        request_answer(request, status);
    } else {
        request_fail_memory(request);
    }
    free(text);
    json_decref(value);
}

static json_t *stamp_json(int64_t milliseconds)
{
    char text[STAMP_SIZE];
    return milliseconds > 0 && stamp_format(milliseconds, text) ? json_string(text) : json_null();
}

static json_t *parsed(const char *text)
{
    json_t *value = NULL;
    return text && !inmo_json_parse(text, strlen(text), JSON_DECODE_ANY, &value, NULL) ? value : json_null();
}

/* The best validation score of a training record. */
static json_t *best_of(const json_t *record)
{
    json_t *best = NULL, *row;
    size_t n;
    json_array_foreach(record, n, row) {
        json_t *score = json_object_get(row, "ndcg@20");
        if (json_is_number(score) && (!best || json_number_value(score) > json_number_value(best)))
            best = score;
    }
    return best ? json_incref(best) : json_null();
}

static json_t *model_json(struct server *server, struct live_model *model)
{
    struct inmo_model_info info;
    json_t *about, *record;
    const char *file;
    if (!model)
        return json_null();
    inmo_model_info(model->model, &info);
    about = model->number ? models_about(server->models, model->number) : NULL;
    record = parsed(info.record);
    file = model->path ? strrchr(model->path, '/') : NULL;
    json_t *made =
        json_pack("{si ss ss? so so so si si si sI so}", "number", model->number, "name", info.name, "file",
                  file ? file + 1 : model->path, "since", stamp_json((int64_t)model->since * 1000), "trained",
                  stamp_json(1000 * (int64_t)json_integer_value(json_object_get(about, "trained"))), "validation",
                  best_of(record), "dim", info.dim, "users", (int)info.users, "items", (int)info.items,
                  "parameters", (json_int_t)info.parameters, "record", record);
    if (about)
        json_object_set(made, "score", json_object_get(about, "score"));
    json_object_set_new(made, "load_seconds", json_real(model->seconds));
    json_object_set_new(made, "trained_to", json_integer(model->seq));
    json_decref(about);
    return made;
}

static json_t *models_json(struct server *server)
{
    json_t *all = json_array();
    struct models_entry *entry = NULL;
    size_t count = 0;
    int active = models_active(server->models);
    models_list(server->models, &count, &entry, NULL);
    for (size_t n = 0; n < count; n++) {
        json_t *one = json_copy(entry[n].about);
        json_object_set_new(one, "number", json_integer(entry[n].number));
        json_object_set_new(
            one, "trained",
            stamp_json(1000 * (int64_t)json_integer_value(json_object_get(entry[n].about, "trained"))));
        json_object_set_new(one, "active", json_boolean(entry[n].number == active));
        json_array_append_new(all, one);
    }
    models_entries_free(entry, count);
    return all;
}

/* The last change in the store; other servers may have written what is not applied here yet. */
static int64_t last_stored(struct server *server, const struct live_state *state)
{
    int64_t stored = 0;
    if (!store_is_shared(server->store) || store_last(server->store, &stored, NULL))
        stored = state->applied;
    return stored;
}

static json_t *freshness_json(struct server *server)
{
    struct live_state state;
    struct ingest_state writing;
    live_state(server->live, &state);
    ingest_state(server->ingest, &writing);
    return json_pack("{sI sI sI sf sb so so sI sI sI sb}", "events", (json_int_t)state.view.events, "pending",
                     (json_int_t)state.view.pending, "refreshes", (json_int_t)state.view.refreshes,
                     "last_refresh_seconds", state.view.seconds, "refreshing", state.view.refreshing, "newest_time",
                     stamp_json(state.newest), "snapshot", stamp_json(state.snapshot), "stored",
                     (json_int_t)last_stored(server, &state), "applied", (json_int_t)state.applied, "waiting",
                     (json_int_t)writing.waiting, "loading", state.building);
}

void route_model(struct request *request)
{
    struct server *server = request->server;
    struct live_model *model = live_hold(server->live);
    json_t *all = json_object();
    json_object_set_new(all, "model", model_json(server, model));
    json_object_set_new(all, "models", models_json(server));
    json_object_set_new(all, "freshness", freshness_json(server));
    json_object_set_new(all, "retraining", retrain_state(server->retrain));
    live_release(server->live, model);
    answer_json(request, 200, all);
}

static void refresh(struct request *request)
{
    struct inmo_error error = {0};
    if (live_refresh(request->server->live, &error))
        request_fail_status(request, &error);
    else
        answer_json(request, 200, freshness_json(request->server));
}

void route_model_refresh(struct request *request)
{
    request_in_background(request, REQUEST_HEAVY, refresh);
}

/* An optional body; NULL: answered. */
static json_t *optional_body(struct request *request)
{
    if (!request->body.length)
        return request->json = json_object();
    return request_json(request, JSON_OBJECT);
}

void route_model_retrain(struct request *request)
{
    json_t *body = optional_body(request);
    const json_t *force = json_object_get(body, "force");
    if (!body)
        return;
    if (force && !json_is_boolean(force))
        request_fail(request, 400, "BAD_REQUEST", "force", "force: expected true or false");
    else if (!retrain_start(request->server->retrain, json_is_true(force)))
        request_fail(request, 409, "BUSY", NULL, "a model is being trained already");
    else
        answer_json(request, 202, retrain_state(request->server->retrain));
}

/* Loads a model of the folder and puts it in use. 0: answered. */
static int put_in_use(struct request *request, int number)
{
    struct server *server = request->server;
    json_t *about = models_about(server->models, number);
    char *path = about ? models_path(server->models, number, ".inmo") : NULL;
    struct inmo_error error = {0};
    int fine = 0;
    if (!about)
        request_fail(request, 404, "NOT_FOUND", "number", "there is no model %d", number);
    else if (!path)
        request_fail_memory(request);
    else if (live_load(server->live, path, number, (int64_t)json_integer_value(json_object_get(about, "seq")),
                       &error))
        request_fail_status(request, &error);
    else
        fine = 1;
    inmo_free(path);
    json_decref(about);
    return fine;
}

static void answer_model(struct request *request)
{
    struct live_model *model = live_hold(request->server->live);
    answer_json(request, 200, model_json(request->server, model));
    live_release(request->server->live, model);
}

static void activate(struct request *request)
{
    json_t *body = request_json(request, JSON_OBJECT);
    const json_t *number = json_object_get(body, "number");
    double wanted = json_number_value(number); /* 2.0 is whole, too */
    struct inmo_error error = {0};
    if (!body)
        return;
    if (!json_is_number(number) || !(wanted >= 1 && wanted <= 999999999) || wanted != (int)wanted) {
        request_fail(request, 400, "BAD_REQUEST", "number", "number: expected the number of a model");
    } else if (put_in_use(request, (int)wanted)) {
        if (models_activate(request->server->models, (int)wanted, &error))
            request_fail_status(request, &error);
        else
            answer_model(request);
    }
}

static void roll_back(struct request *request)
{
    int previous = models_previous(request->server->models);
    struct inmo_error error = {0};
    if (!optional_body(request))
        return;
    if (!previous) {
        request_fail(request, 409, "BUSY", NULL, "there is no model before the one in use");
    } else if (put_in_use(request, previous)) {
        if (models_roll_back(request->server->models, &error))
            request_fail_status(request, &error);
        else
            answer_model(request);
    }
}

void route_model_activate(struct request *request)
{
    request_in_background(request, REQUEST_HEAVY, activate);
}

void route_model_rollback(struct request *request)
{
    request_in_background(request, REQUEST_HEAVY, roll_back);
}

/* ---- How it is doing ----------------------------------------------------------------------------------------- */

static json_t *number_or_null(double number)
{
    return number == number ? json_real(number) : json_null();
}

void route_status(struct request *request)
{
    struct server *server = request->server;
    struct metrics_latency latency;
    struct live_state state;
    int64_t events, positive, users, items;
    size_t lists[64], count = 0;

    for (size_t n = 0; n < route_count && count < 64; n++)
        if (routes[n].flags & ROUTE_LIST)
            lists[count++] = n;
    metrics_latency(server->metrics, lists, count, &latency);
    live_state(server->live, &state);
    ledger_counts(live_ledger(server->live), &events, &positive, &users, &items);
    answer_json(request, 200,
                json_pack("{sI sf s{so so so} sI sI sI sf s{sI sI sI sI} sI}", "requests",
                          (json_int_t)metrics_requests(server->metrics), "per_second", latency.per_second,
                          "latency", "p50", number_or_null(latency.p50), "p95", number_or_null(latency.p95), "p99",
                          number_or_null(latency.p99), "events", (json_int_t)state.view.events, "pending",
                          (json_int_t)state.view.pending, "memory", (json_int_t)metrics_memory(), "uptime",
                          (double)(stamp_now() - server->started) / 1000, "store", "feedback", (json_int_t)events,
                          "positive", (json_int_t)positive, "users", (json_int_t)users, "items", (json_int_t)items,
                          "connections", (json_int_t)atomic_load(&server->connections)));
}

void route_metrics(struct request *request)
{
    struct server *server = request->server;
    struct live_model *model = live_hold(server->live);
    struct live_state state;
    struct ingest_state writing;
    struct store_counts counts = {0};
    int64_t events, positive, users, items;

    live_state(server->live, &state);
    ingest_state(server->ingest, &writing);
    ledger_counts(live_ledger(server->live), &events, &positive, &users, &items);
    store_count(server->store, &counts, NULL);
    metrics_set(server->metrics, METRICS_READY, atomic_load(&server->ready));
    metrics_set(server->metrics, METRICS_HTTP_CONNECTIONS, atomic_load(&server->connections));
    metrics_set(server->metrics, METRICS_STORE_FEEDBACK, (double)events);
    metrics_set(server->metrics, METRICS_STORE_USERS, (double)users);
    metrics_set(server->metrics, METRICS_STORE_ITEMS, (double)items);
    metrics_set(server->metrics, METRICS_STORE_BYTES, (double)counts.bytes);
    metrics_set(server->metrics, METRICS_STORE_WAITING, (double)writing.waiting);
    metrics_set(server->metrics, METRICS_STORE_WRITABLE, writing.trouble == STORE_FINE);
    metrics_set(server->metrics, METRICS_STORE_LAG, (double)(last_stored(server, &state) - state.applied));
    metrics_set(server->metrics, METRICS_FRESHNESS_PENDING, (double)state.view.pending);
    if (state.snapshot)
        metrics_set(server->metrics, METRICS_FRESHNESS_SNAPSHOT, (double)state.snapshot / 1000);
    if (state.newest)
        metrics_set(server->metrics, METRICS_FRESHNESS_NEWEST, (double)state.newest / 1000);
    metrics_set(server->metrics, METRICS_MODEL_RETRAINING, retrain_is_running(server->retrain));
    if (model) {
        struct inmo_model_info info;
        json_t *about = model->number ? models_about(server->models, model->number) : NULL;
        double trained = json_number_value(json_object_get(about, "trained"));
        json_t *record, *best;
        inmo_model_info(model->model, &info);
        record = parsed(info.record);
        best = best_of(record);
        metrics_set(server->metrics, METRICS_MODEL_NUMBER, model->number);
        metrics_set(server->metrics, METRICS_MODEL_ACTIVATED, (double)model->since);
        metrics_set(server->metrics, METRICS_MODEL_USERS, info.users);
        metrics_set(server->metrics, METRICS_MODEL_ITEMS, info.items);
        if (json_is_number(best))
            metrics_set(server->metrics, METRICS_MODEL_VALIDATION, json_number_value(best));
        if (trained > 0) {
            metrics_set(server->metrics, METRICS_MODEL_TRAINED, trained);
            metrics_set(server->metrics, METRICS_MODEL_AGE, (double)stamp_now() / 1000 - trained);
        }
        json_decref(best);
        json_decref(record);
        json_decref(about);
    }
    live_release(server->live, model);
    metrics_write(server->metrics, &request->out);
    request_answer(request, 200);
    request->out_type = METRICS_CONTENT_TYPE;
}

void route_health_live(struct request *request)
{
    inmo_text_format(&request->out, "{\"Ready\":%s}", atomic_load(&request->server->ready) ? "true" : "false");
    request_answer(request, 200);
}

void route_health_ready(struct request *request)
{
    struct server *server = request->server;
    int ready = atomic_load(&server->ready) && !atomic_load(&server->stopping);
    inmo_text_format(&request->out, "{\"Ready\":%s}", ready ? "true" : "false");
    request_answer(request, ready ? 200 : 503);
}
