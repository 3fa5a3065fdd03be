/* serve.c - see serve.h: the start, the loop of the main thread, the end. */
#include "server/serve.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"
#include "server/http.h"
#include "server/notify.h"
#include "server/retrain.h"
#include "server/route.h"
#include "server/stamp.h"

#include <errno.h>
#include <malloc.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DRAIN_SECONDS = 10, LARGE_BLOCK = 1 << 18 };

void serve_print_routes(void (*line)(const char *text))
{
    for (size_t n = 0; n < route_count; n++) {
        char text[256];
        snprintf(text, sizeof text, "%s %s %s", routes[n].method, routes[n].pattern,
                 keys_right_name(routes[n].right));
        line(text);
    }
}

/* ---- The log ------------------------------------------------------------------------------------------------- */

static void write_log(void *context, enum inmo_level level, const char *sentence)
{
    const struct server *server = context;
    struct inmo_text line = {0};
    char stamp[STAMP_SIZE];
    stamp_format(stamp_now(), stamp);
    if (!strcmp(server->options->log_format, "json")) {
        inmo_text_format(&line, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":", stamp,
                         level == INMO_WARNING ? "warning" : "info");
        inmo_text_json_string(&line, sentence);
        inmo_text_add(&line, "}\n", 2);
    } else {
        inmo_text_format(&line, "%s %s", stamp, level == INMO_WARNING ? "warning: " : "");
        for (const char *c = sentence; *c; c++) /* a name with a line break in it must not look like two lines */
            inmo_text_add(&line, (unsigned char)*c < 0x20 || *c == 0x7f ? "?" : c, 1);
        inmo_text_add(&line, "\n", 1);
    }
    if (!line.failed && write(STDERR_FILENO, line.data, line.length) < 0)
        errno = 0; /* nobody reads the log: serving goes on */
    inmo_text_free(&line);
}

/* ---- Checks -------------------------------------------------------------------------------------------------- */

static enum inmo_status open_keys(const struct serve_options *options, const struct keys *before,
                                  struct keys **keys, struct inmo_error *error)
{
    const char *secret = getenv("INMO_API_KEY");
    struct keys_options wanted = {.path = options->keys,
                                  .environment = secret && *secret ? secret : NULL,
                                  .rate = options->rate,
                                  .burst = 2 * options->rate + 10,
                                  .anonymous_rate = options->anonymous_rate,
                                  .anonymous_burst = 2 * options->anonymous_rate + 10};
    return keys_open(&wanted, before, keys, error);
}

static enum inmo_status check_options(const struct serve_options *options, const struct keys *keys,
                                      struct inmo_error *error)
{
    if (!http_is_loopback(options->host) && !keys_count(keys))
        return inmo_fail(error, INMO_USAGE,
                         "`host`: %s can be reached from other machines, and there are no API keys; make one with "
                         "`new-key` and name the file with `keys`, or set INMO_API_KEY",
                         options->host);
    if (!options->tls_certificate != !options->tls_key)
        return inmo_fail(error, INMO_USAGE,
                         "`tls-certificate` and `tls-key` belong together: found only one of them");
    return INMO_OK;
}

/* STORE.models; for a database a folder of that name here. */
static char *models_folder_of(const struct serve_options *options)
{
    struct inmo_text text = {0};
    const char *name = strstr(options->store, "://") ? "inmo" : options->store;
    if (options->models)
        return inmo_copy_string(options->models);
    inmo_text_add(&text, name, strlen(name));
    inmo_text_add(&text, ".models", 7);
    return inmo_text_take(&text);
}

/* ---- Start and end ------------------------------------------------------------------------------------------- */

static void stop(struct server *server)
{
    atomic_store(&server->stopping, 1);
    if (server->http)
        http_stop(server->http); /* until then requests may ask for any of the others */
    retrain_free(server->retrain);
    ingest_free(server->ingest);
    live_free(server->live);
    models_close(server->models);
    store_close(server->store);
    if (server->metrics)
        metrics_destroy(server->metrics);
    keys_close(server->keys);
    pthread_rwlock_destroy(&server->keys_lock);
}

/* A store without events takes over those of the given model: then they can be seen, forgotten and trained on. */
static enum inmo_status adopt_events(struct server *server, struct inmo_error *error)
{
    struct store_counts counts = {0};
    struct inmo_model *model = NULL;
    int64_t added = 0;
    enum inmo_status status = store_count(server->store, &counts, error);

    if (status || counts.feedback)
        return status;
    status = inmo_model_load(server->options->model, &model, error);
    if (!status)
        status = store_import_model(server->store, model, server->options->import_type, NULL, &added, error);
    if (!status && added)
        inmo_note(&server->hooks, INMO_NOTE, "the store was empty; it has the model's %lld interactions now",
                  (long long)added);
    if (model)
        inmo_model_free(model);
    return status;
}

/* The model to begin with: the one given, else the one in use when the server ended, else popularity. */
static enum inmo_status begin_model(struct server *server, struct inmo_error *error)
{
    int number = server->options->model ? 0 : models_active(server->models);
    json_t *about = number ? models_about(server->models, number) : NULL;
    char *path = about ? models_path(server->models, number, ".inmo") : NULL;
    struct inmo_error wrong = {0};
    enum inmo_status status = INMO_OK;

    if (server->options->model) {
        status = live_load(server->live, server->options->model, 0, 0, error);
    } else if (path) {
        status = live_load(server->live, path, number, (int64_t)json_integer_value(json_object_get(about, "seq")),
                           &wrong);
        if (status)
            inmo_note(&server->hooks, INMO_WARNING, "model %d cannot be used, so popularity serves: %s", number,
                      wrong.message);
        status = status ? live_serve_popular(server->live, error) : INMO_OK;
    } else {
        status = live_serve_popular(server->live, error);
    }
    inmo_free(path);
    json_decref(about);
    return status;
}

static enum inmo_status start(struct server *server, char address[HTTP_ADDRESS], struct inmo_error *error)
{
    const struct serve_options *options = server->options;
    char *folder = models_folder_of(options);
    struct live_options live = {
        .types = {options->positive, options->seen}, .refresh_seconds = options->refresh, .hooks = &server->hooks};
    enum inmo_status status =
        folder ? open_keys(options, NULL, &server->keys, error) : inmo_fail_memory(error, "a path");

    if (!status)
        status = check_options(options, server->keys, error);
    if (!status && !(server->metrics = route_make_metrics()))
        status = inmo_fail_memory(error, "the metrics");
    if (!status)
        status = store_open(options->store, 0, 0, &server->store, error);
    if (!status)
        status = models_open(folder, &server->models, error);
    if (!status && options->model)
        status = adopt_events(server, error);
    live.store = server->store;
    live.metrics = server->metrics;
    if (!status)
        status = live_create(&live, &server->live, error);
    if (!status)
        status = begin_model(server, error);
    if (!status)
        status = ingest_create(server->store, server->live, server->metrics, &server->ingest, error);
    if (!status)
        status = retrain_create(server, &server->retrain, error);
    if (!status)
        status = http_start(server, &server->http, address, error);
    inmo_free(folder);
    return status;
}

/* SIGHUP: keys and certificates anew; what cannot be read stays as it was. */
static void reload(struct server *server)
{
    struct inmo_error error = {0};
    struct keys *fresh = NULL, *old = NULL;
    enum inmo_status status = open_keys(server->options, server->keys, &fresh, &error);

    notify_reloading();
    if (!status)
        status = check_options(server->options, fresh, &error);
    if (!status) {
        pthread_rwlock_wrlock(&server->keys_lock);
        old = server->keys;
        server->keys = fresh;
        pthread_rwlock_unlock(&server->keys_lock);
        status = http_reload(server->http, &error);
    } else {
        old = fresh;
    }
    keys_close(old);
    if (status)
        inmo_note(&server->hooks, INMO_WARNING, "keys or certificate stay as they were: %s", error.message);
    else
        inmo_note(&server->hooks, INMO_NOTE, "keys and certificate were read again");
    notify_ready(NULL);
}

/* Follows what other servers write to a shared store. */
static void *follower(void *context)
{
    struct server *server = context;
    while (!atomic_load(&server->stopping)) {
        store_wait(server->store, 1);
        if (!atomic_load(&server->stopping))
            live_catch_up(server->live, NULL);
    }
    return NULL;
}

/* ---- Signals ------------------------------------------------------------------------------------------------- */

/* Handlers, not sigtimedwait: OpenBLAS has threads before main begins, which do not block signals and would get
 * them. */
static sem_t signalled;
static atomic_int end_wanted, reload_wanted; /* any thread may get the signal */

static void on_signal(int signal)
{
    if (signal == SIGHUP)
        reload_wanted = 1;
    else if (end_wanted++)
        _exit(INMO_INTERRUPTED); /* asked twice: at once. The store is as after kill -9: whole. */
    sem_post(&signalled);
}

static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE};
enum { SIGNALS = sizeof signals / sizeof *signals };

static void catch_signals(struct sigaction before[SIGNALS])
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sem_init(&signalled, 0, 0);
    end_wanted = reload_wanted = 0;
    for (int n = 0; n < SIGNALS; n++) {
        action.sa_handler = signals[n] == SIGPIPE ? SIG_IGN : on_signal;
        sigaction(signals[n], &action, &before[n]);
    }
}

static void release_signals(const struct sigaction before[SIGNALS])
{
    for (int n = 0; n < SIGNALS; n++)
        sigaction(signals[n], &before[n], NULL);
    sem_destroy(&signalled);
}

/* Arrays of a refresh or of a new model go back to the system when they are freed. By default glibc raises its
 * threshold once such a block was freed and keeps later ones in an arena for each thread, so that a server grows by
 * half in its first minutes. */
static void return_large_blocks(void)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
#endif
}

/* The main thread: signals, and what is to be done every second. */
static void run(struct server *server)
{
    double watchdog = notify_watchdog_seconds();
    while (!end_wanted) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        sem_timedwait(&signalled, &until);
        if (reload_wanted) {
            reload_wanted = 0;
            reload(server);
        }
        http_tick(server->http);
        retrain_tick(server->retrain);
        if (watchdog > 0)
            notify_watchdog();
    }
}

enum inmo_status serve_run(const struct serve_options *options, void (*started)(const char *address),
                           struct inmo_error *error)
{
    struct server server = {.options = options, .started = stamp_now()};
    char address[HTTP_ADDRESS] = "";
    struct sigaction before[SIGNALS];
    pthread_t follow;
    int follows = 0;
    enum inmo_status status;

    server.hooks = (struct inmo_hooks){.context = &server, .log = write_log};
    return_large_blocks();
    catch_signals(before);
    pthread_rwlock_init(&server.keys_lock, NULL);
    status = start(&server, address, error);
    if (!status && store_is_shared(server.store))
        follows = !pthread_create(&follow, NULL, follower, &server);
    if (!status) {
        atomic_store(&server.ready, 1);
        inmo_note(&server.hooks, INMO_NOTE, "serving at %s, events in %s", address, store_name(server.store));
        if (started)
            started(address);
        notify_ready(address);
        run(&server);
        notify_stopping("finishing requests");
        inmo_note(&server.hooks, INMO_NOTE, "stopping: requests that have begun may finish");
        atomic_store(&server.stopping, 1);
        http_drain(server.http, DRAIN_SECONDS);
    }
    atomic_store(&server.stopping, 1);
    if (follows) {
        store_wake(server.store);
        pthread_join(follow, NULL);
    }
    stop(&server);
    release_signals(before);
    return status;
}

enum inmo_status serve_check(const struct serve_options *options, const struct inmo_hooks *hooks,
                             struct inmo_error *error)
{
    struct keys *keys = NULL;
    struct store *store = NULL;
    struct store_counts counts = {0};
    struct inmo_model *model = NULL;
    char *folder = models_folder_of(options);
    enum inmo_status status = folder ? open_keys(options, NULL, &keys, error) : inmo_fail_memory(error, "a path");

    if (!status)
        status = check_options(options, keys, error);
    if (!status && (strstr(options->store, "://") || !access(options->store, F_OK))) {
        status = store_open(options->store, 1, 1, &store, error);
        if (!status)
            status = store_count(store, &counts, error);
        if (!status)
            inmo_note(hooks, INMO_NOTE, "store: %s with %lld events of %lld users and %lld items",
                      store_name(store), (long long)counts.feedback, (long long)counts.users,
                      (long long)counts.items);
    } else if (!status) {
        inmo_note(hooks, INMO_NOTE, "store: %s would be made", options->store);
    }
    if (!status && options->model) {
        status = inmo_model_load(options->model, &model, error);
        if (!status)
            inmo_note(hooks, INMO_NOTE, "model: %s%s", options->model,
                      counts.feedback ? "" : "; its interactions would be put into the store");
    } else if (!status) {
        inmo_note(hooks, INMO_NOTE,
                  "models: in %s; without one, popularity serves and the first is trained from %d events on",
                  folder, options->first_events);
    }
    if (!status)
        inmo_note(hooks, INMO_NOTE, "network: http%s://%s:%d, %zu key%s", options->tls_certificate ? "s" : "",
                  options->host, options->port, keys_count(keys),
                  keys_count(keys) == 1 ? ""
                  : keys_count(keys)    ? "s"
                                        : "s: everybody on this machine may do everything");
    if (model)
        inmo_model_free(model);
    store_close(store);
    keys_close(keys);
    inmo_free(folder);
    return status;
}
