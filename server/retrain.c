/* retrain.c - see retrain.h. One thread waits for orders and runs the steps one after the other. */
#include "server/retrain.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"
#include "server/child.h"
#include "server/stamp.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORDS_MOST = 64 };

struct retrain {
    struct server *server;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int wanted, forced, running, stopping;
    struct child child;
    const char *stage;
    int64_t began; /* the last try, or the server: milliseconds since 1970 */
    int64_t tried; /* choices there were at the last try; -1: none yet */
    json_t *last;
    char *data, *fresh, *report, *log; /* paths */
};

static void set_stage(struct retrain *retrain, const char *stage)
{
    pthread_mutex_lock(&retrain->lock);
    retrain->stage = stage;
    pthread_mutex_unlock(&retrain->lock);
    inmo_note(&retrain->server->hooks, INMO_NOTE, "retraining: %s", stage);
}

/* ---- The steps ----------------------------------------------------------------------------------------------- */

static enum inmo_status prepare(struct retrain *retrain, struct inmo_error *error)
{
    const struct serve_options *options = retrain->server->options;
    const char *word[WORDS_MOST] = {"inmo",     "prepare", options->store, "--by",    "time",   "--split",
                                    "80/10/10", "-o",      retrain->data,  "--force", "--quiet"};
    int n = 11;
    if (options->positive && *options->positive) {
        word[n++] = "--positive";
        word[n++] = options->positive;
    }
    if (options->seen && *options->seen) {
        word[n++] = "--seen";
        word[n++] = options->seen;
    }
    set_stage(retrain, "reading the store");
    return child_run(&retrain->child, word, retrain->report, retrain->log, error);
}

static enum inmo_status train(struct retrain *retrain, struct inmo_error *error)
{
    const struct serve_options *options = retrain->server->options;
    const char *word[WORDS_MOST] = {"inmo",         "train",   retrain->data, "-o",
                                    retrain->fresh, "--force", "--quiet",     "--threads"};
    char threads[16], *more = inmo_copy_string(options->train ? options->train : ""), *rest = more;
    enum inmo_status status = more ? INMO_OK : inmo_fail_memory(error, "the options");
    int n = 8;

    snprintf(threads, sizeof threads, "%d", options->retrain_threads);
    word[n++] = threads;
    for (char *part; !status && (part = strtok_r(rest, " ", &rest)) && n < WORDS_MOST - 1;)
        word[n++] = part;
    set_stage(retrain, "training");
    if (!status)
        status = child_run(&retrain->child, word, retrain->report, retrain->log, error);
    inmo_free(more);
    return status;
}

/* NDCG@20 on the newest events. The model in use may have been trained on some of them, which only helps it. */
static enum inmo_status score(struct retrain *retrain, const char *model, double *found, struct inmo_error *error)
{
    const char *word[] = {"inmo", "evaluate", model, retrain->data, "--json", "--quiet", "--allow-leaks", NULL};
    enum inmo_status status = child_run(&retrain->child, word, retrain->report, retrain->log, error);
    json_t *report = status ? NULL : models_read_json(retrain->report);
    const json_t *ndcg = json_object_get(json_object_get(report, "metrics"), "ndcg@20");
    if (!status && !json_is_number(ndcg))
        status = inmo_fail(error, INMO_INTERNAL, "inmo evaluate printed no NDCG@20 (%s)", retrain->report);
    else if (!status)
        *found = json_number_value(ndcg);
    json_decref(report);
    return status;
}

static json_t *number_or_null(double number)
{
    return number == number ? json_real(number) : json_null();
}

/* Moves the new model to its number and writes its record. */
static enum inmo_status keep(struct retrain *retrain, int64_t seq, double fresh, double old, int *number,
                             struct inmo_error *error)
{
    struct models *models = retrain->server->models;
    struct inmo_model *model = NULL;
    struct inmo_model_info info;
    int next = models_next(models);
    char *path = models_path(models, next, ".inmo");
    json_t *about = NULL;
    enum inmo_status status =
        path ? inmo_model_load(retrain->fresh, &model, error) : inmo_fail_memory(error, "a model");

    if (!status && rename(retrain->fresh, path))
        status = inmo_fail_errno(error, "rename", retrain->fresh);
    if (!status) {
        inmo_model_info(model, &info);
        about = json_pack("{sI ss sI so so si si}", "seq", (json_int_t)seq, "name", info.name, "trained",
                          (json_int_t)(stamp_now() / 1000), "score", number_or_null(fresh), "score_before",
                          number_or_null(old), "users", info.users, "items", info.items);
        status = about ? models_finish(models, next, about, error) : inmo_fail_memory(error, "a record");
        if (status)
            unlink(path); /* nothing would ever delete a model without a record */
    }
    if (!status)
        *number = next;
    json_decref(about);
    if (model)
        inmo_model_free(model);
    inmo_free(path);
    return status;
}

static enum inmo_status use(struct retrain *retrain, int number, int64_t seq, struct inmo_error *error)
{
    struct server *server = retrain->server;
    char *path = models_path(server->models, number, ".inmo");
    enum inmo_status status =
        path ? live_load(server->live, path, number, seq, error) : inmo_fail_memory(error, "a path");
    if (!status)
        status = models_activate(server->models, number, error);
    inmo_free(path);
    return status;
}

/* Deletes old models, and the tombstones that none of those left needs. A model given at the start is older than
 * all of these and may be given again; servers that share a store have other models elsewhere. */
static void tidy(struct retrain *retrain)
{
    struct server *server = retrain->server;
    int64_t oldest;
    if (!models_prune(server->models, server->options->keep_models, &oldest, NULL) && oldest != INT64_MAX &&
        !server->options->model && !store_is_shared(server->store) && !store_bury(server->store, oldest, NULL))
        live_bury(server->live, oldest);
}

/* The whole of it; *about says what came of it. */
static enum inmo_status retrain_now(struct retrain *retrain, int forced, json_t *about, struct inmo_error *error)
{
    struct server *server = retrain->server;
    struct live_model *model = live_hold(server->live);
    char *old_path = model && model->path ? inmo_copy_string(model->path) : NULL;
    double fresh = NAN, old = NAN;
    int64_t seq = 0;
    int number = 0, better;
    enum inmo_status status;

    live_release(server->live, model);
    unlink(retrain->log);
    status = store_last(server->store, &seq, error);
    if (!status)
        status = prepare(retrain, error);
    if (!status)
        status = train(retrain, error);
    if (!status) {
        set_stage(retrain, "comparing");
        status = score(retrain, retrain->fresh, &fresh, error);
        if (!status && old_path) {
            enum inmo_status compared = score(retrain, old_path, &old, error);
            if (compared == INMO_INTERNAL || compared == INMO_INTERRUPTED)
                status = compared; /* killed: nothing is known of either */
            else if (compared)
                inmo_note(&server->hooks, INMO_WARNING,
                          "retraining: the model in use cannot be compared, so the new one is taken");
        }
    }
    if (!status) {
        json_object_set_new(about, "score", number_or_null(fresh));
        json_object_set_new(about, "score_before", number_or_null(old));
        status = keep(retrain, seq, fresh, old, &number, error);
    }
    if (!status) {
        json_object_set_new(about, "number", json_integer(number));
        better = forced || old != old || fresh >= old;
        if (better) {
            set_stage(retrain, "swapping");
            status = use(retrain, number, seq, error);
        }
        tidy(retrain);
        json_object_set_new(about, "result", json_string(status ? "failed" : better ? "swapped" : "kept"));
        metrics_count(server->metrics, better ? METRICS_MODEL_SWAPPED : METRICS_MODEL_KEPT, !status);
        if (old == old)
            inmo_note(&server->hooks, INMO_NOTE,
                      "retraining: model %d scores %.4f on the newest events, the old one %.4f: %s", number, fresh,
                      old, better ? "it is used from now on" : "the old one stays");
        else
            inmo_note(&server->hooks, INMO_NOTE,
                      "retraining: model %d scores %.4f on the newest events, and is used", number, fresh);
    }
    if (status) {
        json_object_set_new(about, "result", json_string("failed"));
        json_object_set_new(about, "error", json_string(error->message));
        metrics_count(server->metrics, METRICS_MODEL_FAILED, 1);
        inmo_note(&server->hooks, INMO_WARNING, "retraining failed: %s", error->message);
    }
    inmo_free(old_path);
    return status;
}

/* ---- The thread ---------------------------------------------------------------------------------------------- */

static void *trainer(void *context)
{
    struct retrain *retrain = context;
    pthread_mutex_lock(&retrain->lock);
    while (!retrain->stopping) {
        struct inmo_error error = {0};
        json_t *about;
        int forced;
        if (!retrain->wanted) {
            pthread_cond_wait(&retrain->wake, &retrain->lock);
            continue;
        }
        forced = retrain->forced;
        retrain->wanted = retrain->forced = 0;
        retrain->running = 1;
        retrain->began = stamp_now();
        pthread_mutex_unlock(&retrain->lock);
        about = json_pack("{sI}", "started", (json_int_t)(retrain->began / 1000));
        retrain_now(retrain, forced, about, &error);
        json_object_set_new(about, "seconds", json_real((double)(stamp_now() - retrain->began) / 1000));
        pthread_mutex_lock(&retrain->lock);
        json_decref(retrain->last);
        retrain->last = about;
        retrain->running = 0;
        retrain->stage = NULL;
    }
    pthread_mutex_unlock(&retrain->lock);
    return NULL;
}

/* Everything but the thread. */
static void dispose(struct retrain *retrain)
{
    json_decref(retrain->last);
    inmo_free(retrain->log);
    inmo_free(retrain->report);
    inmo_free(retrain->fresh);
    inmo_free(retrain->data);
    child_destroy(&retrain->child);
    pthread_cond_destroy(&retrain->wake);
    pthread_mutex_destroy(&retrain->lock);
    inmo_free(retrain);
}

enum inmo_status retrain_create(struct server *server, struct retrain **retrain, struct inmo_error *error)
{
    struct retrain *made = inmo_alloc_zero(1, sizeof *made);
    char *work = NULL;
    enum inmo_status status = INMO_OK;

    if (!made)
        return inmo_fail_memory(error, "the trainer");
    made->server = server;
    child_init(&made->child);
    made->tried = -1;
    made->began = stamp_now();
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->wake, NULL);
    work = models_file(server->models, "work");
    made->data = models_file(server->models, "work/data");
    made->fresh = models_file(server->models, "work/new.inmo");
    made->report = models_file(server->models, "work/report.json");
    made->log = models_file(server->models, "work/log.txt");
    if (!work || !made->data || !made->fresh || !made->report || !made->log)
        status = inmo_fail_memory(error, "the trainer");
    else if (mkdir(work, 0777) && errno != EEXIST)
        status = inmo_fail_errno(error, "make", work);
    else if (pthread_create(&made->thread, NULL, trainer, made))
        status = inmo_fail_memory(error, "a thread");
    inmo_free(work);
    if (status)
        dispose(made);
    else
        *retrain = made;
    return status;
}

void retrain_free(struct retrain *retrain)
{
    if (!retrain)
        return;
    pthread_mutex_lock(&retrain->lock);
    retrain->stopping = 1;
    child_stop(&retrain->child);
    pthread_cond_signal(&retrain->wake);
    pthread_mutex_unlock(&retrain->lock);
    pthread_join(retrain->thread, NULL);
    dispose(retrain);
}

int retrain_start(struct retrain *retrain, int force)
{
    int started;
    pthread_mutex_lock(&retrain->lock);
    started = !retrain->running && !retrain->wanted;
    if (started) {
        retrain->wanted = 1;
        retrain->forced = force;
        pthread_cond_signal(&retrain->wake);
    }
    pthread_mutex_unlock(&retrain->lock);
    return started;
}

int retrain_is_running(struct retrain *retrain)
{
    int running;
    pthread_mutex_lock(&retrain->lock);
    running = retrain->running || retrain->wanted;
    pthread_mutex_unlock(&retrain->lock);
    return running;
}

void retrain_tick(struct retrain *retrain)
{
    const struct serve_options *options = retrain->server->options;
    struct live_model *model = live_hold(retrain->server->live);
    int has_model = model && model->path;
    struct live_state state;
    int64_t events, positive, users, items, since, more, now = stamp_now();
    int due = 0;

    live_release(retrain->server->live, model);
    live_state(retrain->server->live, &state);
    ledger_counts(live_ledger(retrain->server->live), &events, &positive, &users, &items);
    pthread_mutex_lock(&retrain->lock);
    since = now - retrain->began;
    more = retrain->tried < 0 ? state.events_since : positive - retrain->tried;
    /* A first training that failed is tried again when there is more to learn from. */
    if (!has_model)
        due = options->first_events > 0 && positive >= options->first_events &&
              (retrain->tried < 0 || more >= (options->first_events + 1) / 2);
    else
        due = (options->retrain_seconds > 0 && (double)since >= options->retrain_seconds * 1000) ||
              (options->retrain_events > 0 && more >= options->retrain_events);
    if (due)
        retrain->tried = positive;
    pthread_mutex_unlock(&retrain->lock);
    if (due)
        retrain_start(retrain, 0);
}

json_t *retrain_state(struct retrain *retrain)
{
    json_t *state;
    pthread_mutex_lock(&retrain->lock);
    state = json_pack("{sb ss? sO?}", "running", retrain->running || retrain->wanted, "stage", retrain->stage,
                      "last", retrain->last);
    if (retrain->running)
        json_object_set_new(state, "started", json_integer(retrain->began / 1000));
    pthread_mutex_unlock(&retrain->lock);
    return state;
}
