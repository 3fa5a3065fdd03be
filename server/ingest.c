/* ingest.c - see ingest.h. */
#include "server/ingest.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"

#include <pthread.h>
#include <string.h>

/* A transaction takes whole jobs up to about so many changes; so many may wait. */
enum { CHANGES_AT_ONCE = 20000, CHANGES_WAITING = 1000000 };

struct ingest {
    struct store *store;
    struct live *live;
    struct metrics *metrics;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct ingest_job *first, **last;
    int stopping, ended;
    struct ingest_state state;
    struct store_change *gathered; /* the writing thread's */
    size_t capacity;
};

/* One transaction of these jobs, which are count changes in all. */
static enum inmo_status write_together(struct ingest *ingest, struct ingest_job *job, size_t count,
                                       struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct store_change *change = job->change;
    double began;
    size_t at = 0;

    if (job->next) {
        if (count > ingest->capacity) {
            inmo_free(ingest->gathered);
            ingest->gathered = inmo_alloc(2 * count, sizeof *ingest->gathered);
            ingest->capacity = ingest->gathered ? 2 * count : 0;
        }
        if (!ingest->gathered)
            return inmo_fail_memory(error, "events");
        change = ingest->gathered;
        for (struct ingest_job *one = job; one; one = one->next) {
            memcpy(change + at, one->change, one->count * sizeof *change);
            at += one->count;
        }
    }
    began = inmo_now();
    status = store_write(ingest->store, change, count, error);
    if (status)
        return status;
    metrics_observe(ingest->metrics, METRICS_STORE_COMMIT, inmo_now() - began);
    if (!store_is_shared(ingest->store))
        live_apply(ingest->live, change, count);
    at = 0;
    for (struct ingest_job *one = job; one; one = one->next) {
        for (size_t n = 0; n < one->count; n++)
            one->affected += change[at++].affected;
    }
    return INMO_OK;
}

static void finish(struct ingest *ingest, struct ingest_job *job, enum inmo_status status,
                   enum store_trouble trouble, const struct inmo_error *error)
{
    double now = inmo_now();
    while (job) {
        struct ingest_job *next = job->next; /* the job may be gone when done returns */
        job->status = status;
        job->trouble = trouble;
        if (status)
            job->error = *error;
        else
            metrics_observe(ingest->metrics, METRICS_FRESHNESS_EVENT, now - job->queued);
        job->done(job);
        job = next;
    }
}

static void write_group(struct ingest *ingest, struct ingest_job *job, size_t count)
{
    struct inmo_error error = {0};
    enum inmo_status status = write_together(ingest, job, count, &error);
    enum store_trouble trouble = STORE_FINE;

    /* What is wrong with one job's changes must not fail the others'. */
    if (status == INMO_INPUT && job->next) {
        while (job) {
            struct ingest_job *next = job->next;
            job->next = NULL;
            write_group(ingest, job, job->count);
            job = next;
        }
        return;
    }
    /* Another server's changes up to ours: afterwards this server's lists have ours. What cannot be read now is
     * read later by the thread that follows; the events are durable. */
    if (!status && store_is_shared(ingest->store))
        live_catch_up(ingest->live, NULL);
    if (status) {
        trouble = store_trouble(ingest->store);
        metrics_count(ingest->metrics,
                      trouble == STORE_FULL   ? METRICS_STORE_FAILED_FULL
                      : trouble == STORE_AWAY ? METRICS_STORE_FAILED_AWAY
                                              : METRICS_STORE_FAILED_OTHER,
                      1);
    }
    pthread_mutex_lock(&ingest->lock);
    ingest->state.trouble = trouble;
    pthread_mutex_unlock(&ingest->lock);
    finish(ingest, job, status, trouble, &error);
}

static void *writer(void *context)
{
    struct ingest *ingest = context;
    for (;;) {
        struct ingest_job *job, *one;
        size_t count = 0;

        pthread_mutex_lock(&ingest->lock);
        while (!ingest->first && !ingest->stopping)
            pthread_cond_wait(&ingest->filled, &ingest->lock);
        job = one = ingest->first;
        while (one && (one == job || count + one->count <= CHANGES_AT_ONCE)) {
            struct ingest_job *next = one->next;
            count += one->count;
            if (!next || count + next->count > CHANGES_AT_ONCE)
                one->next = NULL;
            ingest->first = one = next;
        }
        if (!ingest->first)
            ingest->last = &ingest->first;
        ingest->state.waiting -= (int64_t)count;
        pthread_mutex_unlock(&ingest->lock);
        if (!job)
            break;
        write_group(ingest, job, count);
    }
    return NULL;
}

enum inmo_status ingest_create(struct store *store, struct live *live, struct metrics *metrics,
                               struct ingest **ingest, struct inmo_error *error)
{
    struct ingest *made = inmo_alloc_zero(1, sizeof *made);
    if (!made)
        return inmo_fail_memory(error, "the writer");
    made->store = store;
    made->live = live;
    made->metrics = metrics;
    made->last = &made->first;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->filled, NULL);
    if (pthread_create(&made->thread, NULL, writer, made)) {
        inmo_free(made);
        return inmo_fail_memory(error, "a thread");
    }
    *ingest = made;
    return INMO_OK;
}

void ingest_end(struct ingest *ingest)
{
    if (!ingest || ingest->ended)
        return;
    pthread_mutex_lock(&ingest->lock);
    ingest->stopping = 1;
    pthread_cond_signal(&ingest->filled);
    pthread_mutex_unlock(&ingest->lock);
    pthread_join(ingest->thread, NULL);
    ingest->ended = 1;
}

void ingest_free(struct ingest *ingest)
{
    if (!ingest)
        return;
    ingest_end(ingest);
    inmo_free(ingest->gathered);
    pthread_cond_destroy(&ingest->filled);
    pthread_mutex_destroy(&ingest->lock);
    inmo_free(ingest);
}

int ingest_submit(struct ingest *ingest, struct ingest_job *job)
{
    int taken;
    job->next = NULL;
    job->affected = 0;
    job->queued = inmo_now();
    pthread_mutex_lock(&ingest->lock);
    /* One that is too large for any queue waits alone. */
    taken = !ingest->stopping &&
            (!ingest->state.waiting || ingest->state.waiting + (int64_t)job->count <= CHANGES_WAITING);
    if (taken) {
        *ingest->last = job;
        ingest->last = &job->next;
        ingest->state.waiting += (int64_t)job->count;
        pthread_cond_signal(&ingest->filled);
    }
    pthread_mutex_unlock(&ingest->lock);
    return taken;
}

void ingest_state(struct ingest *ingest, struct ingest_state *state)
{
    pthread_mutex_lock(&ingest->lock);
    *state = ingest->state;
    pthread_mutex_unlock(&ingest->lock);
}
