/* refresh.c - builds the next snapshot from the current one and its overlay, and swaps it in. Events that arrive
 * during the build stay in the overlay. Requests that hold the old snapshot finish with it. */
#include "base/memory.h"
#include "base/threads.h"
#include "view/view.h"

#include <string.h>

/* Swaps the snapshot in, which has the first `taken` happenings; the later ones go into its overlay. */
static enum inmo_status put_in_place(struct inmo_view *view, struct inmo_snapshot *snapshot, size_t taken,
                                     double seconds, struct inmo_error *error)
{
    struct inmo_overlay later = {0}, earlier;
    struct inmo_snapshot *old;
    enum inmo_status status;
    pthread_rwlock_wrlock(&view->lock);
    status = inmo_overlay_make(snapshot, &later, error);
    for (size_t n = taken; n < view->happenings && !status; n++)
        status = inmo_overlay_apply(&later, view->happening + n, error);
    if (status) {
        pthread_rwlock_unlock(&view->lock);
        inmo_overlay_free(&later);
        return status;
    }
    earlier = view->overlay;
    old = view->snapshot;
    view->overlay = later;
    view->snapshot = snapshot;
    view->happenings -= taken;
    if (view->happenings > 0)
        memmove(view->happening, view->happening + taken, view->happenings * sizeof *view->happening);
    view->freshness.pending = view->happenings;
    view->freshness.refreshes++;
    view->freshness.seconds = seconds;
    pthread_rwlock_unlock(&view->lock);
    inmo_overlay_free(&earlier); /* outside the lock: freeing a large one takes time */
    inmo_snapshot_release(old);
    return INMO_OK;
}

static void set_refreshing(struct inmo_view *view, int refreshing)
{
    pthread_rwlock_wrlock(&view->lock);
    view->freshness.refreshing = refreshing;
    pthread_rwlock_unlock(&view->lock);
}

/* Copies the happenings so far, for work without the lock. */
static enum inmo_status copy_happenings(struct inmo_view *view, struct inmo_happening **copy, size_t *count,
                                        int32_t *users, int32_t *items, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    inmo_view_read_lock(view);
    *count = view->happenings;
    *users = inmo_names_count(&view->users);
    *items = inmo_names_count(&view->items);
    *copy = inmo_alloc(*count, sizeof **copy);
    if (*copy && *count > 0) /* a view that was told nothing has no array */
        memcpy(*copy, view->happening, *count * sizeof **copy);
    if (!*copy)
        status = inmo_fail_memory(error, "the events");
    inmo_view_unlock(view);
    return status;
}

enum inmo_status inmo_view_refresh(struct inmo_view *view, const struct inmo_hooks *hooks, struct inmo_error *error)
{
    struct inmo_happening *happening = NULL;
    struct inmo_overlay overlay = {0};
    struct inmo_snapshot *old = NULL, *made = NULL;
    struct inmo_graph *graph = NULL;
    uint8_t *fate = NULL;
    size_t count = 0;
    int32_t users = 0, items = 0;
    double start;
    enum inmo_status status;
    pthread_mutex_lock(&view->refreshing);
    start = inmo_now();
    set_refreshing(view, 1);
    old = inmo_view_snapshot(view); /* only this call can replace it */
    status = copy_happenings(view, &happening, &count, &users, &items, error);
    if (!status)
        status = inmo_overlay_make(old, &overlay, error);
    for (size_t n = 0; n < count && !status; n++)
        status = inmo_overlay_apply(&overlay, happening + n, error);
    if (!status)
        status = inmo_overlay_merge(&overlay, users, items, &graph, &fate, error);
    if (!status)
        status = inmo_snapshot_make(view->model, old, graph, fate, hooks, &made, error);
    if (!status) /* nobody waits here, and no request has to compute walks later */
        status = inmo_beside_complete(&made->scorer.beside, hooks, error);
    if (!status)
        status = put_in_place(view, made, count, inmo_now() - start, error);
    if (status)
        inmo_snapshot_release(made);
    set_refreshing(view, 0);
    pthread_mutex_unlock(&view->refreshing);
    inmo_overlay_free(&overlay);
    inmo_snapshot_release(old);
    inmo_free(happening);
    return status;
}

static void *refresh_alone(void *context)
{
    struct inmo_view *view = context;
    enum inmo_status status = inmo_view_refresh(view, NULL, NULL);
    pthread_rwlock_wrlock(&view->lock);
    view->freshness.background = status;
    pthread_rwlock_unlock(&view->lock);
    pthread_mutex_lock(&view->background_lock);
    view->background_runs = 0;
    pthread_mutex_unlock(&view->background_lock);
    return NULL;
}

enum inmo_status inmo_view_refresh_in_background(struct inmo_view *view, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    pthread_mutex_lock(&view->background_lock);
    if (!view->background_runs) {
        if (view->has_background) /* it has ended or is about to */
            pthread_join(view->background, NULL);
        view->has_background = pthread_create(&view->background, NULL, refresh_alone, view) == 0;
        view->background_runs = view->has_background;
        if (!view->has_background)
            status = inmo_fail_memory(error, "a thread for the refresh");
    }
    pthread_mutex_unlock(&view->background_lock);
    return status;
}
