/* live.c - see live.h: holding and swapping models, applying changes, the janitor. */
#include "server/live_inside.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"
#include "server/stamp.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { JANITOR_NICE = 10 };

/* ---- Holding ------------------------------------------------------------------------------------------------- */

struct ledger *live_ledger(const struct live *live)
{
    return live->ledger;
}

struct live_model *live_hold(struct live *live)
{
    struct live_model *model;
    pthread_mutex_lock(&live->swap);
    model = live->current;
    if (model)
        model->refs++;
    pthread_mutex_unlock(&live->swap);
    return model;
}

static void wake_janitor(struct live *live)
{
    pthread_mutex_lock(&live->janitor_lock);
    pthread_cond_signal(&live->janitor_wake);
    pthread_mutex_unlock(&live->janitor_lock);
}

void live_release(struct live *live, struct live_model *model)
{
    int last;
    if (!model)
        return;
    pthread_mutex_lock(&live->swap);
    last = --model->refs == 0;
    if (last) {
        model->next = live->retired;
        live->retired = model;
    }
    pthread_mutex_unlock(&live->swap);
    if (last)
        wake_janitor(live);
}

void live_model_free(struct live_model *model)
{
    if (!model)
        return;
    if (model->view)
        inmo_view_free(model->view);
    if (model->model)
        inmo_model_free(model->model);
    inmo_free(model->path);
    inmo_free(model);
}

void live_swap_in(struct live *live, struct live_model *model)
{
    struct live_model *before;
    pthread_mutex_lock(&live->swap);
    before = live->current;
    model->refs = 1;
    model->since = time(NULL);
    live->current = model;
    pthread_mutex_unlock(&live->swap);
    live->snapshot = stamp_now();
    live_release(live, before);
}

/* ---- Applying ------------------------------------------------------------------------------------------------ */

/* How far the ledger is, and how new what it knows. */
static void note_change(struct live *live, const struct store_change *change)
{
    int is_event = change->deed == STORE_ADD_FEEDBACK || change->deed == STORE_PUT_FEEDBACK;
    if (change->seq > live->applied)
        live->applied = change->seq;
    if (is_event && change->feedback.time != STORE_NO_TIME && change->feedback.time > live->newest)
        live->newest = change->feedback.time;
}

void live_apply(struct live *live, const struct store_change *changes, size_t count)
{
    struct inmo_error error = {0};
    struct deeds deeds = {0};
    enum inmo_status status = INMO_OK, told = INMO_OK;

    pthread_mutex_lock(&live->apply);
    for (size_t n = 0; n < count; n++) {
        enum inmo_status before = status; /* what cannot be applied must not keep others from it */
        enum ledger_effect effect;
        const char *user, *item;
        if (!changes[n].seq) /* it changed nothing */
            continue;
        status = ledger_apply(live->ledger, &changes[n], &effect, &user, &item, &error);
        if (!status && effect != LEDGER_NOTHING && !deeds_add(&deeds, effect, user, item, changes[n].seq))
            status = inmo_fail_memory(&error, "an event");
        if (!status && effect != LEDGER_NOTHING && effect != LEDGER_OBSERVE &&
            !deeds_add(&live->forgotten, effect, user, item, changes[n].seq))
            status = inmo_fail_memory(&error, "an event");
        if (!status && effect == LEDGER_OBSERVE)
            live->events_since++;
        if (!status && live->building && effect != LEDGER_NOTHING &&
            !deeds_add(&live->missed, effect, user, item, changes[n].seq))
            status = inmo_fail_memory(&error, "an event");
        note_change(live, &changes[n]);
        status = status ? status : before;
    }
    if (deeds.count && live->current)
        told = deeds_tell(live->current->view, &deeds, &error);
    else if (deeds.count)
        told = live_make_popular(live, &error);
    if (status || told) {
        inmo_note(live->options.hooks, INMO_WARNING, "events are stored but not in the lists yet: %s",
                  error.message);
        live->needs_rebuild = 1;
    }
    deeds_free(&deeds);
    pthread_mutex_unlock(&live->apply);
}

void live_bury(struct live *live, int64_t seq)
{
    pthread_mutex_lock(&live->apply);
    deeds_drop(&live->forgotten, seq);
    pthread_mutex_unlock(&live->apply);
}

/* ---- The janitor --------------------------------------------------------------------------------------------- */

static void free_retired(struct live *live)
{
    struct live_model *retired;
    pthread_mutex_lock(&live->swap);
    retired = live->retired;
    live->retired = NULL;
    pthread_mutex_unlock(&live->swap);
    while (retired) {
        struct live_model *next = retired->next;
        live_model_free(retired);
        retired = next;
    }
}

/* Builds a view anew that missed events for want of memory. */
static void rebuild(struct live *live)
{
    struct live_model *model = live_hold(live);
    struct inmo_error error = {0};
    enum inmo_status status = INMO_OK;
    live->needs_rebuild = 0;
    if (model && model->path) {
        status = live_load(live, model->path, model->number, model->seq, &error);
    } else {
        pthread_mutex_lock(&live->apply);
        if (live->current == model) /* no trained one has come meanwhile */
            status = live_make_popular(live, &error);
        pthread_mutex_unlock(&live->apply);
    }
    if (status) {
        live->needs_rebuild = 1;
        inmo_note(live->options.hooks, INMO_WARNING, "the view could not be built anew: %s", error.message);
    }
    live_release(live, model);
}

enum inmo_status live_refresh(struct live *live, struct inmo_error *error)
{
    struct live_model *model = live_hold(live);
    double began = inmo_now();
    enum inmo_status status = model ? inmo_view_refresh(model->view, live->options.hooks, error) : INMO_OK;
    if (model && !status) {
        live->snapshot = stamp_now();
        metrics_observe(live->options.metrics, METRICS_FRESHNESS_REFRESH, inmo_now() - began);
    }
    live_release(live, model);
    return status;
}

static void *janitor(void *context)
{
    struct live *live = context;
    struct inmo_error error = {0};

    /* Refreshing must not take the processor from requests; the worker threads it starts inherit this. */
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), JANITOR_NICE);
    pthread_mutex_lock(&live->janitor_lock);
    while (!live->stopping) {
        struct timespec until;
        double seconds = live->options.refresh_seconds > 0 ? live->options.refresh_seconds : 3600;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += (time_t)seconds;
        until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        int woken = pthread_cond_timedwait(&live->janitor_wake, &live->janitor_lock, &until) == 0;
        pthread_mutex_unlock(&live->janitor_lock);
        free_retired(live);
        if (!woken && !live->stopping) {
            struct live_state state;
            live_state(live, &state);
            if (live->needs_rebuild)
                rebuild(live);
            if (state.view.pending && live->options.refresh_seconds > 0 && live_refresh(live, &error))
                inmo_note(live->options.hooks, INMO_WARNING, "the view could not be refreshed: %s", error.message);
        }
        pthread_mutex_lock(&live->janitor_lock);
    }
    pthread_mutex_unlock(&live->janitor_lock);
    return NULL;
}

/* ---- Start and end ------------------------------------------------------------------------------------------- */

/* At the start: fills the ledger; the view comes later. */
static int first_row(void *context, const struct store_change *change)
{
    struct live *live = context;
    enum ledger_effect effect;
    const char *user, *item;
    int fine = !ledger_apply(live->ledger, change, &effect, &user, &item, NULL);
    if (fine && effect != LEDGER_NOTHING && effect != LEDGER_OBSERVE)
        fine = deeds_add(&live->forgotten, effect, user, item, change->seq);
    note_change(live, change);
    return fine;
}

static int later_row(void *context, const struct store_change *change)
{
    live_apply(context, change, 1);
    return 1;
}

enum inmo_status live_catch_up(struct live *live, struct inmo_error *error)
{
    int64_t after, last;
    enum inmo_status status;
    pthread_mutex_lock(&live->follow);
    pthread_mutex_lock(&live->apply);
    after = live->applied;
    pthread_mutex_unlock(&live->apply);
    status = store_changes(live->options.store, after, 0, later_row, live, &last, error);
    pthread_mutex_unlock(&live->follow);
    return status;
}

enum inmo_status live_serve_popular(struct live *live, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    pthread_mutex_lock(&live->apply);
    if (!live->current)
        status = live_make_popular(live, error);
    pthread_mutex_unlock(&live->apply);
    return status;
}

enum inmo_status live_create(const struct live_options *options, struct live **live, struct inmo_error *error)
{
    struct live *made = inmo_alloc_zero(1, sizeof *made);
    pthread_condattr_t monotonic;
    enum inmo_status status;
    int64_t last = 0;

    if (!made)
        return inmo_fail_memory(error, "the server");
    made->options = *options;
    pthread_mutex_init(&made->build, NULL);
    pthread_mutex_init(&made->follow, NULL);
    pthread_mutex_init(&made->apply, NULL);
    pthread_mutex_init(&made->swap, NULL);
    pthread_mutex_init(&made->janitor_lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&made->janitor_wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    status = ledger_create(&options->types, &made->ledger, error);
    if (!status) {
        status = store_changes(options->store, 0, 0, first_row, made, &last, error);
        made->applied = last;
        if (status == INMO_INTERRUPTED)
            status = inmo_fail_memory(error, "the events of the store");
    }
    if (!status && pthread_create(&made->janitor, NULL, janitor, made))
        status = inmo_fail_memory(error, "a thread");
    else if (!status)
        made->has_janitor = 1;
    if (status)
        live_free(made);
    else
        *live = made;
    return status;
}

void live_free(struct live *live)
{
    if (!live)
        return;
    if (live->has_janitor) {
        pthread_mutex_lock(&live->janitor_lock);
        live->stopping = 1;
        pthread_cond_signal(&live->janitor_wake);
        pthread_mutex_unlock(&live->janitor_lock);
        pthread_join(live->janitor, NULL);
    }
    live_model_free(live->current);
    free_retired(live);
    deeds_free(&live->forgotten);
    deeds_free(&live->missed);
    ledger_free(live->ledger);
    pthread_cond_destroy(&live->janitor_wake);
    pthread_mutex_destroy(&live->janitor_lock);
    pthread_mutex_destroy(&live->swap);
    pthread_mutex_destroy(&live->apply);
    pthread_mutex_destroy(&live->follow);
    pthread_mutex_destroy(&live->build);
    inmo_free(live);
}

void live_state(struct live *live, struct live_state *state)
{
    struct live_model *model = live_hold(live);
    *state = (struct live_state){0};
    if (model)
        inmo_view_freshness(model->view, &state->view);
    live_release(live, model);
    state->applied = live->applied;
    state->events_since = live->events_since;
    state->newest = live->newest;
    state->snapshot = live->snapshot;
    state->building = live->building;
}
