/* request_hand.c - what a request hands to others, and waits for: changes to the writer, work to a thread. See
 * request.h. */
#include "server/request.h"

#include "base/memory.h"
#include "server/server.h"

#include <pthread.h>
#include <string.h>

/* Of a thread in the background: the request is the writer's now. */
static _Thread_local int handed_on;

/* ---- Changes ------------------------------------------------------------------------------------------------- */

struct store_change *request_change(struct request *request)
{
    size_t count = request->job.count;
    if (count == request->change_capacity) {
        size_t capacity = count ? 2 * count : 4;
        struct store_change *grown = inmo_resize(request->change, count, capacity, sizeof *grown);
        if (!grown) {
            request_fail_memory(request);
            return NULL;
        }
        request->change = grown;
        request->change_capacity = capacity;
    }
    request->job.count++;
    return memset(&request->change[count], 0, sizeof *request->change);
}

static void changes_done(struct ingest_job *job)
{
    struct request *request = job->context;
    if (!job->status) {
        request->written(request);
    } else if (job->trouble == STORE_FULL) {
        request_fail(request, 507, "STORE_FULL", NULL, "%s", job->error.message);
    } else if (job->trouble == STORE_AWAY) {
        request->retry_after = 1;
        request_fail(request, 503, "STORE_AWAY", NULL, "%s", job->error.message);
    } else {
        request_fail_status(request, &job->error);
    }
    request->resume(request);
}

void request_write(struct request *request, void (*written)(struct request *request))
{
    if (!request->job.count) {
        written(request);
        return;
    }
    request->written = written;
    request->job.change = request->change;
    request->job.done = changes_done;
    request->job.context = request;
    request->state = REQUEST_WAITS;
    if (request->in_background)
        handed_on = 1; /* the writer wakes the connection, and may do so before this thread goes on */
    else
        request->suspend(request);
    if (!ingest_submit(request->server->ingest, &request->job)) {
        request->retry_after = 1;
        metrics_count(request->server->metrics, METRICS_REFUSED_BUSY, 1);
        request_fail(request, 503, "TOO_MANY", NULL,
                     "too many events are waiting for the disk; try again in a second");
        request->resume(request);
    }
}

void request_again(struct request *request)
{
    request_drop_changes(request);
    json_decref(request->json);
    request->json = NULL;
    request->in_background = 0;
    request->state = REQUEST_NEW; /* which http.c finds when the connection is woken */
}

/* ---- In the background --------------------------------------------------------------------------------------- */

static pthread_mutex_t background_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t background_ended = PTHREAD_COND_INITIALIZER;
static int background_running, background_closed;

static void background_leave(void)
{
    pthread_mutex_lock(&background_lock);
    background_running--;
    pthread_cond_broadcast(&background_ended);
    pthread_mutex_unlock(&background_lock);
}

static void *background(void *context)
{
    struct request *request = context;
    void (*work)(struct request * request) = request->written;
    handed_on = 0;
    work(request);
    if (!handed_on)
        request->resume(request);
    background_leave();
    return NULL;
}

void request_in_background(struct request *request, int most, void (*work)(struct request *request))
{
    pthread_t thread;
    int taken;
    pthread_mutex_lock(&background_lock);
    taken = background_running < most && !background_closed;
    background_running += taken;
    pthread_mutex_unlock(&background_lock);
    request->state = REQUEST_WAITS;
    request->written = work;
    request->in_background = 1;
    request->suspend(request);
    if (taken && pthread_create(&thread, NULL, background, request)) {
        background_leave();
        taken = 0;
    } else if (taken) {
        pthread_detach(thread);
    }
    if (!taken) {
        request->retry_after = 1;
        metrics_count(request->server->metrics, METRICS_REFUSED_BUSY, 1);
        request_fail(request, 503, "BUSY", NULL, "the server is busy with as much as it does at once; try again");
        request->resume(request);
    }
}

void request_background_end(void)
{
    pthread_mutex_lock(&background_lock);
    background_closed = 1;
    while (background_running)
        pthread_cond_wait(&background_ended, &background_lock);
    pthread_mutex_unlock(&background_lock);
}
