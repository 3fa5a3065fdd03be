/* live_build.c - see live.h: a view of a model on everything that was chosen and not forgotten; popularity until
 * there is a model; notes of what a view under construction has yet to hear. */
#include "server/live_inside.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"

/* ---- Notes of what happened ---------------------------------------------------------------------------------- */

static void deed_clear(struct deed *deed)
{
    if (deed->effect != LEDGER_OBSERVE) {
        inmo_free((char *)deed->user);
        inmo_free((char *)deed->item);
    }
}

void deeds_drop(struct deeds *deeds, int64_t seq)
{
    size_t kept = 0;
    for (size_t n = 0; n < deeds->count; n++)
        if (deeds->deed[n].seq > seq)
            deeds->deed[kept++] = deeds->deed[n];
        else
            deed_clear(&deeds->deed[n]);
    deeds->count = kept;
}

void deeds_free(struct deeds *deeds)
{
    deeds_drop(deeds, INT64_MAX);
    inmo_free(deeds->deed);
    *deeds = (struct deeds){0};
}

int deeds_add(struct deeds *deeds, enum ledger_effect effect, const char *user, const char *item, int64_t seq)
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

enum inmo_status deeds_tell(struct inmo_view *view, const struct deeds *deeds, struct inmo_error *error)
{
    const struct deed *deed = deeds->deed;
    size_t count = deeds->count;
    struct inmo_event event[LIVE_OBSERVED_AT_ONCE];
    enum inmo_status status = INMO_OK;
    size_t waiting = 0;

    for (size_t n = 0; n <= count && !status; n++) {
        int observed = n < count && deed[n].effect == LEDGER_OBSERVE;
        if (waiting && (!observed || waiting == LIVE_OBSERVED_AT_ONCE)) {
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
    status = deeds_tell(made->view, forgotten, error);
    if (!status)
        status = ledger_pairs(live->ledger, &count, &user, &item, error);
    for (size_t first = 0; first < count && !status; first += LIVE_OBSERVED_AT_ONCE) {
        struct inmo_event event[LIVE_OBSERVED_AT_ONCE];
        size_t some = count - first < LIVE_OBSERVED_AT_ONCE ? count - first : LIVE_OBSERVED_AT_ONCE;
        for (size_t n = 0; n < some; n++)
            event[n] = (struct inmo_event){user[first + n], item[first + n], 0};
        status = inmo_view_observe(made->view, event, some, error);
    }
    if (!status)
        status = inmo_view_refresh(made->view, live->options.hooks, error);
    inmo_free(item);
    inmo_free(user);
    return status;
}

enum inmo_status live_make_popular(struct live *live, struct inmo_error *error)
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
        live_swap_in(live, made);
        made = NULL;
    }
    live_model_free(made);
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
    double began = 0;
    enum inmo_status status = INMO_OK;

    pthread_mutex_lock(&live->build);
    began = inmo_now();
    if (!made || !(made->path = inmo_copy_string(path)))
        status = inmo_fail_memory(error, "a model");
    if (!status)
        status = inmo_model_load(path, &made->model, error);
    pthread_mutex_lock(&live->apply);
    live->building = 1;
    if (!status)
        status = forgotten_after(live, seq, &forgotten, error);
    pthread_mutex_unlock(&live->apply);
    /* Not with apply held: events go on. One that comes meanwhile may be in the log and among the missed, in which
     * order ever; telling all of the missed again ends in the same state. */
    if (!status && !forgotten.count)
        status = log_of_choices(live, &log, error);
    if (!status)
        status = make_view(live, made, &forgotten, log, error);
    if (!status)
        status = inmo_view_warm(made->view, NULL, error);
    pthread_mutex_lock(&live->apply);
    if (!status)
        status = deeds_tell(made->view, &live->missed, error);
    if (!status) {
        made->seconds = inmo_now() - began;
        made->number = number;
        made->seq = seq;
        /* An upper bound: items and users are changes, too. Of a file from elsewhere nothing is known. */
        live->events_since = seq ? live->applied - seq : 0;
        live_swap_in(live, made);
        made = NULL;
    }
    live->building = 0;
    deeds_free(&live->missed);
    pthread_mutex_unlock(&live->apply);
    deeds_free(&forgotten);
    if (log)
        inmo_log_free(log);
    live_model_free(made);
    pthread_mutex_unlock(&live->build);
    return status;
}
