/* view.h - a model applied to live data.
 *
 *     names      ids <-> numbers, growing                                     under the lock
 *     overlay    changes since the snapshot                                   under the lock
 *     seen       what is in no list of a user, and who is known by name       under the lock
 *     snapshot   representations, quantised rows, walks: immutable            held by reference
 *
 * A request holds the lock for reading while it looks up ids and the person (gather.c, person.c), and releases it
 * before it ranks the items. observe and forget hold it for writing, for microseconds. refresh builds the next
 * snapshot without it and takes it only to swap the snapshot in. */
#ifndef INMO_VIEW_VIEW_H
#define INMO_VIEW_VIEW_H

#include "base/names.h"
#include "view/overlay.h"
#include "view/seen.h"

struct inmo_work;

struct inmo_view {
    const struct inmo_model *model;
    pthread_rwlock_t lock;
    struct inmo_names users, items;
    struct inmo_snapshot *snapshot;
    struct inmo_overlay overlay;
    struct inmo_seen seen;
    struct inmo_happening *happening;  // (happenings) events since the snapshot, in order
    size_t happenings, happening_capacity;
    struct inmo_freshness freshness;
    pthread_mutex_t refreshing; /* one refresh at a time */
    pthread_mutex_t idle_lock;  /* protects the list of idle work spaces */
    struct inmo_work *idle;
    pthread_mutex_t background_lock; /* protects the background refresh */
    pthread_t background;
    int has_background, background_runs;
};

/* The current snapshot; the caller releases it. */
struct inmo_snapshot *inmo_view_snapshot(const struct inmo_view *view);
void inmo_view_read_lock(const struct inmo_view *view);
void inmo_view_unlock(const struct inmo_view *view);
/* Ids of an item or user of any snapshot; valid as long as the view. */
const char *inmo_view_item_name(const struct inmo_view *view, int32_t item);
const char *inmo_view_user_name(const struct inmo_view *view, int32_t user);

/* Folds in the items newer than the snapshot whose users have changed. */
enum inmo_status inmo_view_fold_newcomers(struct inmo_view *view, struct inmo_error *error);

#endif
