/* view.c - creates a view and takes in events. */
#include "view/view.h"

#include "base/memory.h"
#include "base/threads.h"
#include "data/log.h"
#include "data/value.h"
#include "view/person.h"
#include "view/work.h"

#include <string.h>

void inmo_view_read_lock(const struct inmo_view *view)
{
    pthread_rwlock_rdlock((pthread_rwlock_t *)&view->lock);
}

void inmo_view_unlock(const struct inmo_view *view)
{
    pthread_rwlock_unlock((pthread_rwlock_t *)&view->lock);
}

struct inmo_snapshot *inmo_view_snapshot(const struct inmo_view *view)
{
    struct inmo_snapshot *snapshot;
    inmo_view_read_lock(view);
    snapshot = inmo_snapshot_hold(view->snapshot);
    inmo_view_unlock(view);
    return snapshot;
}

/* Needs the lock only for names added after the model's: adding more may move them. */
static const char *name_of(const struct inmo_view *view, const struct inmo_names *names, int32_t number)
{
    const char *id;
    if (number < names->known->count)
        return inmo_names_id(names, number);
    inmo_view_read_lock(view);
    id = inmo_names_id(names, number);
    inmo_view_unlock(view);
    return id;
}

const char *inmo_view_item_name(const struct inmo_view *view, int32_t item)
{
    return name_of(view, &view->items, item);
}

const char *inmo_view_user_name(const struct inmo_view *view, int32_t user)
{
    return name_of(view, &view->users, user);
}

/* ---- Making one ---------------------------------------------------------------------------------------------- */

void inmo_view_free(struct inmo_view *view)
{
    if (!view)
        return;
    if (view->has_background)
        pthread_join(view->background, NULL);
    while (view->idle) {
        struct inmo_work *next = view->idle->next;
        inmo_work_free(view->idle);
        view->idle = next;
    }
    inmo_free(view->happening);
    inmo_seen_free(&view->seen);
    inmo_overlay_free(&view->overlay);
    inmo_snapshot_release(view->snapshot);
    inmo_names_free(&view->items);
    inmo_names_free(&view->users);
    pthread_mutex_destroy(&view->background_lock);
    pthread_mutex_destroy(&view->idle_lock);
    pthread_mutex_destroy(&view->refreshing);
    pthread_rwlock_destroy(&view->lock);
    inmo_free(view);
}

/* Prefers writers: an event waits for the requests that hold the lock, not for those that come after it. */
static int make_locks(struct inmo_view *view)
{
    pthread_rwlockattr_t attributes;
    int failed = pthread_rwlockattr_init(&attributes) != 0;
    if (failed)
        return -1;
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    failed = pthread_rwlock_init(&view->lock, &attributes) != 0;
    pthread_rwlockattr_destroy(&attributes);
    return failed || pthread_mutex_init(&view->refreshing, NULL) != 0 ||
                   pthread_mutex_init(&view->idle_lock, NULL) != 0 ||
                   pthread_mutex_init(&view->background_lock, NULL) != 0
               ? -1
               : 0;
}

/* Turns the observed log into a list of interactions in the view's numbers. */
static enum inmo_status list_observed(const struct inmo_log *log, const int32_t *user, const int32_t *item,
                                      int32_t users, int32_t items, struct inmo_csr *list, struct inmo_error *error)
{
    int64_t *offset = inmo_alloc_zero((size_t)users + 2, sizeof *offset), written = 0;
    int32_t *column = inmo_alloc((size_t)log->count, sizeof *column);
    if (!offset || !column) {
        inmo_free(column);
        inmo_free(offset);
        return inmo_fail_memory(error, "the observed interactions");
    }
    for (int64_t n = 0; n < log->count; n++)
        offset[user[inmo_log_user(log, n)] + 2]++;
    for (int32_t u = 0; u < users; u++)
        offset[u + 2] += offset[u + 1];
    for (int64_t n = 0; n < log->count; n++)
        column[offset[user[inmo_log_user(log, n)] + 1]++] = item[inmo_log_item(log, n)];
    for (int32_t u = 0; u < users; u++) {
        int64_t begin = offset[u], end = offset[u + 1], kept = inmo_ascending(column + begin, end - begin);
        memmove(column + written, column + begin, (size_t)kept * sizeof *column);
        offset[u] = written;
        written += kept;
    }
    offset[users] = written;
    *list = (struct inmo_csr){users, items, offset, column, NULL};
    return INMO_OK;
}

/* Adds the log's ids to the names; number[n] is the number of its n-th id. */
static enum inmo_status join_ids(struct inmo_names *names, const struct inmo_idtable *observed, int32_t **number,
                                 struct inmo_error *error)
{
    struct inmo_idmap theirs = inmo_idtable_map(observed);
    *number = inmo_alloc((size_t)theirs.count, sizeof **number);
    if (!*number)
        return inmo_fail_memory(error, "the ids");
    for (int32_t n = 0; n < theirs.count; n++) {
        (*number)[n] = inmo_names_intern(names, inmo_idmap_id(&theirs, n));
        if ((*number)[n] < 0)
            return inmo_fail_memory(error, "the ids");
    }
    return INMO_OK;
}

static enum inmo_status join_observed(struct inmo_view *view, const struct inmo_log *log, struct inmo_csr *list,
                                      struct inmo_error *error)
{
    int32_t *user = NULL, *item = NULL;
    enum inmo_status status = join_ids(&view->users, log->users, &user, error);
    if (!status)
        status = join_ids(&view->items, log->items, &item, error);
    if (!status)
        status = list_observed(log, user, item, inmo_names_count(&view->users), inmo_names_count(&view->items),
                               list, error);
    for (int64_t n = 0; !status && log->seen && n < log->seen->count; n++)
        if (inmo_seen_add(&view->seen, user[inmo_log_user(log->seen, n)], item[inmo_log_item(log->seen, n)]) < 0)
            status = inmo_fail_memory(error, "what was seen");
    inmo_free(item);
    inmo_free(user);
    return status;
}

enum inmo_status inmo_view_create(const struct inmo_model *model, const struct inmo_log *observed,
                                  struct inmo_view **out, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_csr list = {0};
    const struct inmo_csr *lists[3] = {&model->train, &model->valid, &list};
    struct inmo_graph *graph = NULL;
    uint8_t *fate = NULL;
    double start = inmo_now();
    struct inmo_view *view = inmo_alloc_zero(1, sizeof *view);
    if (!view || make_locks(view) != 0) {
        inmo_free(view);
        return inmo_fail_memory(error, "the view");
    }
    view->model = model;
    status = inmo_model_index(model, error);
    if (!status)
        status = inmo_names_make(&model->users, &view->users, error);
    if (!status)
        status = inmo_names_make(&model->items, &view->items, error);
    if (!status)
        status = inmo_seen_make(model, &view->users, &view->items, &view->seen, error);
    if (!status && observed)
        status = join_observed(view, observed, &list, error);
    if (!status)
        status = inmo_graph_build(inmo_names_count(&view->users), inmo_names_count(&view->items), lists, 3, &graph,
                                  error);
    if (!status && (status = inmo_seen_fates(model, graph, &fate, error)) != INMO_OK)
        inmo_graph_free(graph);
    if (!status)
        status = inmo_snapshot_make(model, NULL, graph, fate, NULL, &view->snapshot, error);
    if (!status)
        status = inmo_overlay_make(view->snapshot, &view->overlay, error);
    inmo_csr_free(&list);
    if (status) {
        inmo_view_free(view);
    } else {
        view->freshness.seconds = inmo_now() - start;
        *out = view;
    }
    return status;
}

/* ---- What happens -------------------------------------------------------------------------------------------- */

/* Makes room for count more happenings. Needs the write lock. */
static enum inmo_status make_room(struct inmo_view *view, size_t count, struct inmo_error *error)
{
    size_t needed = view->happenings + count, capacity = view->happening_capacity;
    struct inmo_happening *grown;
    if (needed <= capacity)
        return INMO_OK;
    capacity = needed > 2 * capacity ? needed : 2 * capacity;
    grown = inmo_resize(view->happening, view->happenings, capacity, sizeof *grown);
    if (!grown)
        return inmo_fail_memory(error, "the events");
    view->happening = grown;
    view->happening_capacity = capacity;
    return INMO_OK;
}

/* Applies a happening and records it; make_room has made room. Needs the write lock. */
static enum inmo_status happen(struct inmo_view *view, struct inmo_happening happening, struct inmo_error *error)
{
    enum inmo_status status = inmo_overlay_apply(&view->overlay, &happening, error);
    if (status)
        return status;
    view->freshness.events++;
    if (happening.deed == INMO_OBSERVED && happening.effect == INMO_NO_EFFECT)
        return INMO_OK; /* known already: nothing to keep for the next refresh */
    view->happening[view->happenings++] = happening;
    view->freshness.pending++;
    return status;
}

/* After a failure: undoes all happenings from number keep on; so many events had been told before. */
static void undo(struct inmo_view *view, size_t keep, uint64_t events)
{
    while (view->happenings > keep) {
        inmo_overlay_revert(&view->overlay, view->happening + --view->happenings);
        view->freshness.pending--;
    }
    view->freshness.events = events;
}

/* What a log would refuse is refused here, too: ids come back in lists, files and answers. */
static enum inmo_status check_id(const char *id, const char *what, size_t event, struct inmo_error *error)
{
    size_t length = id ? strlen(id) : 0;
    char fault[INMO_SHOWN];
    if (id && inmo_id_is_good(id, length))
        return INMO_OK;
    inmo_id_fault(id ? id : "", length, what, fault);
    return inmo_fail(error, INMO_USAGE, "event %zu: %s", event, fault);
}

enum inmo_status inmo_view_observe(struct inmo_view *view, const struct inmo_event *events, size_t count,
                                   struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    size_t before;
    uint64_t told;
    for (size_t n = 0; n < count && !status; n++) {
        status = check_id(events[n].user, "user", n, error);
        if (!status)
            status = check_id(events[n].item, "item", n, error);
    }
    if (status)
        return status;
    pthread_rwlock_wrlock(&view->lock);
    before = view->happenings;
    told = view->freshness.events;
    status = make_room(view, count, error);
    for (size_t n = 0; n < count && !status; n++) {
        struct inmo_happening happening = {inmo_names_intern(&view->users, events[n].user),
                                           inmo_names_intern(&view->items, events[n].item), INMO_OBSERVED,
                                           INMO_NO_EFFECT};
        status = happening.user >= 0 && happening.item >= 0 ? happen(view, happening, error)
                                                            : inmo_fail_memory(error, "the ids");
    }
    if (status)
        undo(view, before, told);
    for (size_t n = 0; n < count && !status; n++)
        if (events[n].time > view->freshness.newest_time)
            view->freshness.newest_time = events[n].time;
    pthread_rwlock_unlock(&view->lock);
    return status;
}

enum inmo_status inmo_view_observe_seen(struct inmo_view *view, const struct inmo_event *events, size_t count,
                                        struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    int32_t(*added)[2] = inmo_alloc(count, sizeof *added);
    size_t addings = 0;
    if (!added)
        return inmo_fail_memory(error, "the events");
    for (size_t n = 0; n < count && !status; n++) {
        status = check_id(events[n].user, "user", n, error);
        if (!status)
            status = check_id(events[n].item, "item", n, error);
    }
    if (status)
        goto done;
    pthread_rwlock_wrlock(&view->lock);
    for (size_t n = 0; n < count && !status; n++) {
        int32_t user = inmo_names_intern(&view->users, events[n].user);
        int32_t item = user < 0 ? -1 : inmo_names_intern(&view->items, events[n].item);
        int result = item < 0 ? -1 : inmo_seen_add(&view->seen, user, item);
        if (result > 0) {
            added[addings][0] = user;
            added[addings++][1] = item;
        }
        if (result < 0)
            status = inmo_fail_memory(error, "the events");
    }
    while (status && addings > 0) { /* all or nothing; needs no memory: their lists are there */
        addings--;
        inmo_seen_forget(&view->seen, added[addings][0], added[addings][1]);
    }
    for (size_t n = 0; n < count && !status; n++) {
        view->freshness.events++;
        if (events[n].time > view->freshness.newest_time)
            view->freshness.newest_time = events[n].time;
    }
    pthread_rwlock_unlock(&view->lock);
done:
    inmo_free(added);
    return status;
}

enum inmo_status inmo_view_forget(struct inmo_view *view, const char *user, const char *item,
                                  struct inmo_error *error)
{
    struct inmo_happening happening = {-1, -1, INMO_FORGOTTEN, INMO_NO_EFFECT};
    enum inmo_status status = INMO_OK;
    if (!user && !item)
        return inmo_fail(error, INMO_USAGE, "nothing to forget: expected a user, an item or both");
    pthread_rwlock_wrlock(&view->lock);
    if (user &&
        ((happening.user = inmo_names_find(&view->users, user)) < 0 ||
         (!inmo_overlay_has_user(&view->overlay, happening.user) && !inmo_seen_knows(&view->seen, happening.user))))
        status =
            inmo_fail(error, INMO_UNKNOWN, "user '%s' is in neither the model nor the observed interactions", user);
    if (!status && item && (happening.item = inmo_names_find(&view->items, item)) < 0)
        status =
            inmo_fail(error, INMO_UNKNOWN, "item '%s' is in neither the model nor the observed interactions", item);
    if (!status)
        status = make_room(view, 1, error);
    if (!status && user && inmo_seen_forget(&view->seen, happening.user, happening.item) != 0)
        status = inmo_fail_memory(error, "an event");
    if (!status)
        status = happen(view, happening, error);
    pthread_rwlock_unlock(&view->lock);
    return status;
}

/* Only newcomers that gained or lost users since they were last folded in. */
enum inmo_status inmo_view_fold_newcomers(struct inmo_view *view, struct inmo_error *error)
{
    const struct inmo_model_kind *kind = view->model->kind;
    struct inmo_overlay *overlay = &view->overlay;
    enum inmo_status status = INMO_OK;
    int stale;
    if (kind->system || !inmo_kind_offers_unseen(kind))
        return INMO_OK;
    inmo_view_read_lock(view);
    stale = overlay->stale > 0;
    inmo_view_unlock(view);
    if (!stale)
        return INMO_OK;
    pthread_rwlock_wrlock(&view->lock);
    for (int32_t n = 0; n < overlay->newcomers && overlay->stale > 0 && !status; n++) {
        struct inmo_newcomer *newcomer = overlay->newcomer + n;
        if (!newcomer->stale)
            continue;
        if (!newcomer->r)
            newcomer->r = inmo_alloc((size_t)view->snapshot->scorer.dim, sizeof *newcomer->r);
        if (!newcomer->r ||
            inmo_newcomer_fold(view->snapshot, newcomer->users.number, newcomer->users.count, newcomer->r) != 0) {
            inmo_free(newcomer->r);
            newcomer->r = NULL;
            status = inmo_fail_memory(error, "a new item");
            break;
        }
        newcomer->stale = 0;
        overlay->stale--;
    }
    pthread_rwlock_unlock(&view->lock);
    return status;
}

enum inmo_status inmo_view_warm(const struct inmo_view *view, const struct inmo_hooks *hooks,
                                struct inmo_error *error)
{
    struct inmo_snapshot *snapshot = inmo_view_snapshot(view);
    const int32_t *popular = NULL;
    enum inmo_status status = inmo_snapshot_popular(snapshot, &popular, error);
    if (!status)
        status = inmo_beside_complete(&snapshot->scorer.beside, hooks, error);
    inmo_snapshot_release(snapshot);
    return status;
}

void inmo_view_freshness(const struct inmo_view *view, struct inmo_freshness *freshness)
{
    inmo_view_read_lock(view);
    *freshness = view->freshness;
    inmo_view_unlock(view);
}
