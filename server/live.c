/* live.c - see live.h.
 *
 * Locks, in the order in which they may be taken together:
 *     build    one model is loaded at a time
 *     follow   one thread at a time reads what other servers wrote
 *     apply    changes are applied one after the other; a swap happens between two of them
 *     swap     the pointer to the model in use and its count of references; held for a few instructions */
#include "server/live.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OBSERVED_AT_ONCE = 4096, JANITOR_NICE = 10 };

/* What a view under construction has yet to hear. */
struct deed {
    enum ledger_effect effect;
    const char *user, *item; /* the ledger's, or own copies of what was forgotten */
    int64_t seq;
};

struct deeds {
    struct deed *deed;
    size_t count, capacity;
};

struct live {
    struct live_options options;
    struct ledger *ledger;
    pthread_mutex_t build, follow, apply, swap;
    struct live_model *current, *retired;
    struct deeds forgotten; /* everything forgotten since the store was made, for models older than that */
    struct deeds missed;    /* while a view is built */
    int building;
    atomic_int needs_rebuild, stopping;
    int64_t applied, events_since;
    pthread_t janitor;
    int has_janitor;
    pthread_mutex_t janitor_lock;
    pthread_cond_t janitor_wake;
};

static void say(const struct live *live, enum inmo_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(const struct live *live, enum inmo_level level, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    inmo_vformat(text, sizeof text, format, arguments);
    va_end(arguments);
    if (live->options.log)
        live->options.log(live->options.context, level, text);
}

/* ---- Notes of what happened ---------------------------------------------------------------------------------- */

static void deeds_free(struct deeds *deeds, int with_text)
{
    for (size_t n = 0; n < deeds->count; n++)
        if (with_text || deeds->deed[n].effect != LEDGER_OBSERVE) {
            inmo_free((char *)deeds->deed[n].user);
            inmo_free((char *)deeds->deed[n].item);
        }
    inmo_free(deeds->deed);
    *deeds = (struct deeds){0};
}

/* What is observed has ids of the ledger's; what is forgotten is copied. 0 when memory is short. */
static int deeds_add(struct deeds *deeds, enum ledger_effect effect, const char *user, const char *item,
                     int64_t seq)
{
    struct deed deed = {effect, user, item, seq};
    if (deeds->count == deeds->capacity) {
        size_t capacity = deeds->capacity ? 2 * deeds->capacity : 64;
        struct deed *grown = inmo_resize(deeds->deed, deeds->count, capacity, sizeof *grown);
        if (!grown)
            return 0;
        deeds->deed = grown;
        deeds->capacity = capacity;
    }
    if (effect != LEDGER_OBSERVE) {
        deed.user = inmo_copy_string(user);
        deed.item = inmo_copy_string(item);
        if ((user && !deed.user) || (item && !deed.item)) {
            inmo_free((char *)deed.user);
            inmo_free((char *)deed.item);
            return 0;
        }
    }
    deeds->deed[deeds->count++] = deed;
    return 1;
}

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

static void model_free(struct live_model *model)
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

static void swap_in(struct live *live, struct live_model *model)
{
    struct live_model *before;
    pthread_mutex_lock(&live->swap);
    before = live->current;
    model->refs = 1;
    model->since = time(NULL);
    live->current = model;
    pthread_mutex_unlock(&live->swap);
    live_release(live, before);
}

/* ---- Applying ------------------------------------------------------------------------------------------------ */

/* Tells a view; UNKNOWN is no error: what the view never knew needs no forgetting. */
static enum inmo_status tell(struct inmo_view *view, const struct deed *deed, size_t count,
                             struct inmo_error *error)
{
    struct inmo_event event[OBSERVED_AT_ONCE];
    enum inmo_status status = INMO_OK;
    size_t waiting = 0;

    for (size_t n = 0; n <= count && !status; n++) {
        int observed = n < count && deed[n].effect == LEDGER_OBSERVE;
        if (waiting && (!observed || waiting == OBSERVED_AT_ONCE)) {
            status = inmo_view_observe(view, event, waiting, error);
            waiting = 0;
        }
        if (observed) {
            event[waiting++] = (struct inmo_event){deed[n].user, deed[n].item, 0};
        } else if (n < count && !status) {
            status = inmo_view_forget(view, deed[n].user, deed[n].item, error);
            status = status == INMO_UNKNOWN ? INMO_OK : status;
        }
    }
    return status;
}

static enum inmo_status make_popular(struct live *live, struct inmo_error *error);

void live_apply(struct live *live, const struct store_change *changes, size_t count)
{
    struct inmo_error error = {0};
    struct deeds deeds = {0};
    enum inmo_status status = INMO_OK;

    pthread_mutex_lock(&live->apply);
    for (size_t n = 0; n < count && !status; n++) {
        enum ledger_effect effect;
        const char *user, *item;
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
        if (changes[n].seq > live->applied)
            live->applied = changes[n].seq;
    }
    if (!status && deeds.count && live->current)
        status = tell(live->current->view, deeds.deed, deeds.count, &error);
    else if (!status && deeds.count)
        status = make_popular(live, &error);
    if (status) {
        say(live, INMO_WARNING, "events are stored but not in the lists yet: %s", error.message);
        live->needs_rebuild = 1;
    }
    deeds_free(&deeds, 0);
    pthread_mutex_unlock(&live->apply);
}

/* ---- Building ------------------------------------------------------------------------------------------------ */

/* Everything that was chosen, as a log; NULL when there is nothing. */
static enum inmo_status log_of_choices(const struct live *live, struct inmo_log **log, struct inmo_error *error)
{
    const char **user = NULL, **item = NULL;
    size_t count = 0;
    enum inmo_status status = ledger_pairs(live->ledger, &count, &user, &item, error);
    if (!status && count)
        status = inmo_log_from_pairs(count, user, item, NULL, log, error);
    inmo_free(item);
    inmo_free(user);
    return status;
}

/* A view of the model on everything chosen, without what was forgotten after the model's training. */
static enum inmo_status make_view(const struct live *live, struct live_model *made, const struct deeds *forgotten,
                                  struct inmo_log *log, struct inmo_error *error)
{
    enum inmo_status status = inmo_view_create(made->model, forgotten->count ? NULL : log, &made->view, error);
    const char **user = NULL, **item = NULL;
    size_t count = 0;

    if (status || !forgotten->count)
        return status;
    /* First forgotten, then observed: whoever came back after that has the history since then. */
    status = tell(made->view, forgotten->deed, forgotten->count, error);
    if (!status)
        status = ledger_pairs(live->ledger, &count, &user, &item, error);
    for (size_t first = 0; first < count && !status; first += OBSERVED_AT_ONCE) {
        struct inmo_event event[OBSERVED_AT_ONCE];
        size_t some = count - first < OBSERVED_AT_ONCE ? count - first : OBSERVED_AT_ONCE;
        for (size_t n = 0; n < some; n++)
            event[n] = (struct inmo_event){user[first + n], item[first + n], 0};
        status = inmo_view_observe(made->view, event, some, error);
    }
    if (!status)
        status = inmo_view_refresh(made->view, NULL, error);
    inmo_free(item);
    inmo_free(user);
    return status;
}

/* With apply held: popularity, from the first event on. */
static enum inmo_status make_popular(struct live *live, struct inmo_error *error)
{
    struct live_model *made = inmo_alloc_zero(1, sizeof *made);
    struct inmo_prepare_options prepare;
    struct inmo_train_options train;
    struct inmo_dataset *dataset = NULL;
    struct inmo_log *log = NULL;
    enum inmo_status status = made ? log_of_choices(live, &log, error) : inmo_fail_memory(error, "a model");

    inmo_prepare_options_init(&prepare);
    prepare.split = "100/0/0";
    if (!status && log)
        status = inmo_dataset_prepare(log, &prepare, &dataset, error);
    if (!status && log)
        status = inmo_train_options_init(&train, "popular", NULL, error);
    if (!status && log)
        status = inmo_train(dataset, &train, NULL, &made->model, NULL, error);
    if (!status && log)
        status = inmo_view_create(made->model, NULL, &made->view, error);
    if (!status && log) {
        made->seq = live->applied;
        swap_in(live, made);
        made = NULL;
    }
    model_free(made);
    if (dataset)
        inmo_dataset_free(dataset);
    if (log)
        inmo_log_free(log);
    return status;
}

/* Deeds later than seq, borrowed from live->forgotten. */
static enum inmo_status forgotten_after(struct live *live, int64_t seq, struct deeds *found,
                                        struct inmo_error *error)
{
    for (size_t n = 0; n < live->forgotten.count; n++) {
        const struct deed *deed = &live->forgotten.deed[n];
        if (deed->seq > seq && !deeds_add(found, deed->effect, deed->user, deed->item, deed->seq))
            return inmo_fail_memory(error, "a model");
    }
    return INMO_OK;
}

enum inmo_status live_load(struct live *live, const char *path, int number, int64_t seq, struct inmo_error *error)
{
    struct live_model *made = inmo_alloc_zero(1, sizeof *made);
    struct deeds forgotten = {0};
    struct inmo_log *log = NULL;
    struct timespec began, ended;
    enum inmo_status status = INMO_OK;

    pthread_mutex_lock(&live->build);
    clock_gettime(CLOCK_MONOTONIC, &began);
    if (!made || !(made->path = inmo_copy_string(path)))
        status = inmo_fail_memory(error, "a model");
    if (!status)
        status = inmo_model_load(path, &made->model, error);
    pthread_mutex_lock(&live->apply);
    live->building = 1;
    if (!status)
        status = log_of_choices(live, &log, error);
    if (!status)
        status = forgotten_after(live, seq, &forgotten, error);
    pthread_mutex_unlock(&live->apply);
    if (!status)
        status = make_view(live, made, &forgotten, log, error);
    if (!status)
        status = inmo_view_warm(made->view, NULL, error);
    pthread_mutex_lock(&live->apply);
    if (!status)
        status = tell(made->view, live->missed.deed, live->missed.count, error);
    if (!status) {
        clock_gettime(CLOCK_MONOTONIC, &ended);
        made->seconds = (double)(ended.tv_sec - began.tv_sec) + 1e-9 * (double)(ended.tv_nsec - began.tv_nsec);
        made->number = number;
        made->seq = seq;
        live->events_since = live->applied - seq; /* an upper bound: items and users are changes, too */
        swap_in(live, made);
        made = NULL;
    }
    live->building = 0;
    deeds_free(&live->missed, 0);
    pthread_mutex_unlock(&live->apply);
    deeds_free(&forgotten, 0);
    if (log)
        inmo_log_free(log);
    model_free(made);
    pthread_mutex_unlock(&live->build);
    return status;
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
        model_free(retired);
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
    if (model && model->path)
        status = live_load(live, model->path, model->number, model->seq, &error);
    if (status) {
        live->needs_rebuild = 1;
        say(live, INMO_WARNING, "the view could not be built anew: %s", error.message);
    }
    live_release(live, model);
}

enum inmo_status live_refresh(struct live *live, struct inmo_error *error)
{
    struct live_model *model = live_hold(live);
    enum inmo_status status = model ? inmo_view_refresh(model->view, NULL, error) : INMO_OK;
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
                say(live, INMO_WARNING, "the view could not be refreshed: %s", error.message);
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
    if (fine && (effect == LEDGER_FORGET_ITEM || effect == LEDGER_FORGET_PAIR || effect == LEDGER_FORGET_USER))
        fine = deeds_add(&live->forgotten, effect, user, item, change->seq);
    else if (fine && change->deed == STORE_DELETE_FEEDBACK) /* nothing here knows the pair, a model may */
        fine = deeds_add(&live->forgotten, LEDGER_FORGET_PAIR, change->feedback.user, change->feedback.item,
                         change->seq);
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
        status = make_popular(live, error);
    pthread_mutex_unlock(&live->apply);
    return status;
}

enum inmo_status live_create(const struct live_options *options, struct live **live, struct inmo_error *error)
{
    struct live *made = inmo_alloc_zero(1, sizeof *made);
    pthread_condattr_t monotonic;
    enum inmo_status status;

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
        status = store_changes(options->store, 0, 0, first_row, made, &made->applied, error);
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
    model_free(live->current);
    free_retired(live);
    deeds_free(&live->forgotten, 0);
    deeds_free(&live->missed, 0);
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
    pthread_mutex_lock(&live->apply);
    state->applied = live->applied;
    state->events_since = live->events_since;
    state->building = live->building;
    pthread_mutex_unlock(&live->apply);
}
