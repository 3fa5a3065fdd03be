/* target_routes.c - the server behind its sockets: an address and a body through the parser, the table of routes
 * and the route's answer, with a store, a model and a writer as they are in a running server.
 *
 *     routes   "METHOD ADDRESS\n" and the body
 *     import   a byte, the size of the pieces ('a': 1), and the body of POST /api/import: what comes of it must not
 *              depend on where the network cuts it
 *
 * What the answer must be: no fault of the server, and JSON wherever it says so. Training is not started, since it
 * runs this program again. */
#define _GNU_SOURCE /* nftw */
#include "fuzz.h"

#include "server/import.h"
#include "server/ingest.h"
#include "server/retrain.h"
#include "server/route.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS_A_WORLD = 400 }; /* then it begins anew, so that it does not grow */

static struct serve_options options;
static struct server world;
static int inputs = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;

/* ---- A server ----------------------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *where)
{
    (void)about;
    (void)type;
    (void)where;
    return remove(path);
}

static void end_world(void)
{
    char folder[160];
    ingest_free(world.ingest);
    retrain_free(world.retrain);
    live_free(world.live);
    models_close(world.models);
    store_close(world.store);
    if (world.metrics)
        metrics_destroy(world.metrics);
    memset(&world, 0, sizeof world);
    snprintf(folder, sizeof folder, "%s/world", inmo_fuzz_folder());
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Work in the background ends for good, so this is for the end of the process: no request is left to wait for. */
static void finish(void)
{
    request_background_end();
    end_world();
}

static const char *model_file(void)
{
    static char path[160];
    struct inmo_train_options train;
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    if (*path)
        return path;
    snprintf(path, sizeof path, "%s/model.inmo", inmo_fuzz_folder());
    inmo_fuzz_train_options(&train, "inmo-lightgcn");
    if (inmo_train(inmo_fuzz_dataset_at_hand(), &train, NULL, &model, NULL, &error) ||
        inmo_model_save(model, path, 1, &error))
        inmo_fuzz_broken("cannot make a model: %s", error.message);
    inmo_model_free(model);
    atexit(finish);
    return path;
}

static void begin_world(void)
{
    const char *model = model_file();
    char folder[160], store[200], models[200];
    struct live_options live = {0};
    struct inmo_error error = {0};
    struct inmo_model *loaded = NULL;
    int64_t added = 0;

    end_world();
    snprintf(folder, sizeof folder, "%s/world", inmo_fuzz_folder());
    snprintf(store, sizeof store, "%s/store.db", folder);
    snprintf(models, sizeof models, "%s/models", folder);
    mkdir(folder, 0700);
    serve_options_init(&options);
    options.refresh = 0;
    options.most_history = 50;
    world.options = &options;
    world.metrics = route_make_metrics();
    if (!world.metrics || store_open(store, 0, 0, &world.store, &error) ||
        models_open(models, &world.models, &error) || inmo_model_load(model, &loaded, &error) ||
        store_import_model(world.store, loaded, "like", NULL, &added, &error))
        inmo_fuzz_broken("cannot make a store: %s", error.message);
    inmo_model_free(loaded);
    live.store = world.store;
    live.types = (struct ledger_types){options.positive, options.seen};
    live.metrics = world.metrics;
    if (live_create(&live, &world.live, &error) || live_load(world.live, model, 0, 0, &error) ||
        ingest_create(world.store, world.live, world.metrics, &world.ingest, &error) ||
        retrain_create(&world, &world.retrain, &error))
        inmo_fuzz_broken("cannot make a server: %s", error.message);
}

/* ---- A request ---------------------------------------------------------------------------------------------- */

static void put_to_sleep(struct request *request)
{
    request->suspended = 1;
}

static void wake(struct request *request)
{
    pthread_mutex_lock(&lock);
    *(int *)request->connection = 1;
    pthread_cond_signal(&woken);
    pthread_mutex_unlock(&lock);
}

/* As http.c does: what has been put to sleep belongs to another thread until it is woken. */
static void wait_for(struct request *request)
{
    if (!request->suspended)
        return;
    pthread_mutex_lock(&lock);
    while (!*(int *)request->connection)
        pthread_cond_wait(&woken, &lock);
    *(int *)request->connection = 0;
    pthread_mutex_unlock(&lock);
    request->suspended = 0;
}

static void begin_request(struct request *request, const char *method, int *awake)
{
    if (++inputs % INPUTS_A_WORLD == 0)
        begin_world();
    *awake = 0;
    *request = (struct request){.server = &world,
                                .method = method,
                                .route_number = -1,
                                .right = KEYS_ADMIN,
                                .suspend = put_to_sleep,
                                .resume = wake,
                                .connection = awake};
}

static void check_answer(struct request *request)
{
    json_t *parsed;
    if (request->state != REQUEST_ANSWERED && request->state != REQUEST_STREAMS)
        inmo_fuzz_broken("there is no answer");
    if (request->status < 200 || request->status >= 500)
        inmo_fuzz_broken("the status is %d: %.*s", request->status, (int)request->out.length, request->out.data);
    if (request->state == REQUEST_STREAMS) {
        struct inmo_text piece = {0};
        int more;
        while ((more = export_more(request, &piece)) > 0)
            piece.length = 0;
        inmo_text_free(&piece);
        if (more < 0)
            inmo_fuzz_broken("an answer in pieces breaks off");
    } else if (!request->fixed && strstr(request->out_type, "json")) {
        parsed = json_loadb(request->out.data, request->out.length, JSON_DECODE_ANY, NULL);
        if (!parsed || (request->status >= 400 && !json_is_string(json_object_get(parsed, "error"))))
            inmo_fuzz_broken("status %d with %.*s", request->status, (int)request->out.length, request->out.data);
        json_decref(parsed);
    }
    if (request->status == 200)
        inmo_fuzz_used();
}

static void end_request(struct request *request)
{
    if (request->route && (request->route->flags & ROUTE_STREAM))
        import_free(request);
    else
        export_free(request);
    request_clear(request);
}

/* The body of an import, in pieces as a network could cut it. */
static void feed(struct request *request, const char *data, size_t size, size_t piece)
{
    for (size_t at = 0; at < size;) {
        size_t some = size - at < piece ? size - at : piece;
        at += request->state == REQUEST_ANSWERED ? some : import_feed(request, data + at, some);
        wait_for(request);
    }
}

static void answer(struct request *request)
{
    if (request->state == REQUEST_NEW)
        request->route->answer(request);
    wait_for(request);
    check_answer(request);
}

/* ---- Targets ------------------------------------------------------------------------------------------------ */

void inmo_fuzz_routes(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, '\n', size);
    size_t head = end ? (size_t)(end - data) : size, body = end ? size - head - 1 : 0;
    const char *content = end ? (const char *)end + 1 : "";
    char *address = malloc(head + 1), *method = address, *path, *query;
    struct request request;
    int awake;

    if (!address)
        inmo_fuzz_broken("not enough memory");
    memcpy(address, data, head);
    address[head] = 0;
    path = strchr(address, ' ');
    if (path && strlen(address) == head) { /* a zero byte does not get past libmicrohttpd */
        *path++ = 0;
        query = strchr(path, '?');
        if (query)
            *query++ = 0;
        begin_request(&request, method, &awake);
        if (!request_parse(&request, path, query) || !route_find(&request)) {
            check_answer(&request);
        } else if (request.route->answer != route_model_retrain) {
            if (request.route->flags & ROUTE_STREAM)
                feed(&request, content, body, SIZE_MAX);
            else if (body)
                inmo_text_add(&request.body, content, body);
            answer(&request);
        }
        end_request(&request);
    }
    free(address);
}

/* Status and lines of an import. */
static void import_in_pieces(const char *data, size_t size, size_t piece, int *status, long long *lines)
{
    struct request request;
    json_t *said;
    int awake;
    begin_request(&request, "POST", &awake);
    if (!request_parse(&request, "/api/import", NULL) || !route_find(&request))
        inmo_fuzz_broken("there is no route for imports");
    feed(&request, data, size, piece);
    answer(&request);
    *status = request.status;
    said = json_loadb(request.out.data, request.out.length, 0, NULL);
    *lines = (long long)json_integer_value(json_object_get(said, "lines"));
    json_decref(said);
    end_request(&request);
}

void inmo_fuzz_import(const uint8_t *data, size_t size)
{
    int status, again;
    long long lines, counted;
    if (!size)
        return;
    import_in_pieces((const char *)data + 1, size - 1, (uint8_t)(data[0] - 'a') + 1, &status, &lines);
    import_in_pieces((const char *)data + 1, size - 1, SIZE_MAX, &again, &counted);
    if (status != again || lines != counted)
        inmo_fuzz_broken("in pieces %d with %lld lines, whole %d with %lld", status, lines, again, counted);
}
