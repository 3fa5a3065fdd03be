/* overlay.h - all changes since the snapshot: what was added to and removed from the history of each user, and the
 * items newer than the snapshot.
 *
 *     history of u = (the snapshot's, unless u was forgotten) + added - removed
 *
 * Numbers are those of the view's names; items from snapshot->graph->items on are new. Nothing here takes a lock:
 * the view does. */
#ifndef INMO_VIEW_OVERLAY_H
#define INMO_VIEW_OVERLAY_H

#include "view/snapshot.h"

/* FORGOTTEN: item -1 forgets a whole user, user -1 a whole item */
enum inmo_deed { INMO_OBSERVED, INMO_FORGOTTEN };

struct inmo_happening {
    int32_t user, item;
    enum inmo_deed deed;
    enum { INMO_NO_EFFECT, INMO_ADDED, INMO_RESTORED } effect; /* of an observation; set when it is applied */
};

struct inmo_numbers {
    int32_t *number;
    int32_t count, capacity;
};

struct inmo_change {
    int32_t user;
    int forgotten; /* the user's history in the snapshot does not count */
    struct inmo_numbers added, removed;
};

/* An item newer than the snapshot. */
struct inmo_newcomer {
    struct inmo_numbers users;
    int stale; /* r is older than users */
    float *r;  // (dim) folded in from its users in the snapshot; NULL: not yet
};

struct inmo_overlay {
    const struct inmo_snapshot *snapshot;
    struct inmo_change *change;
    int32_t changes, change_capacity;
    int32_t *slot;  // (slot_mask + 1) hash of the user -> change + 1; 0: empty
    uint32_t slot_mask;
    struct inmo_newcomer *newcomer;  // (newcomers) item snapshot->graph->items + n
    int32_t newcomers, newcomer_capacity;
    int stale;                 /* newcomers whose r is older than their users */
    struct inmo_numbers gone;  // items of the snapshot forgotten since then, ascending
};

/* The overlay points to the snapshot but holds no reference. */
enum inmo_status inmo_overlay_make(const struct inmo_snapshot *snapshot, struct inmo_overlay *overlay,
                                   struct inmo_error *error);
void inmo_overlay_free(struct inmo_overlay *overlay);

/* Applies one happening. Repeating it, or forgetting what is not there, changes nothing. On MEMORY nothing has
 * changed. */
enum inmo_status inmo_overlay_apply(struct inmo_overlay *overlay, struct inmo_happening *happening,
                                    struct inmo_error *error);
/* Undoes the observation that was applied last. Needs no memory. */
void inmo_overlay_revert(struct inmo_overlay *overlay, const struct inmo_happening *happening);
/* NULL: nothing has happened to the user. */
const struct inmo_change *inmo_overlay_change(const struct inmo_overlay *overlay, int32_t user);
/* Whether the user has a history in the snapshot that still counts. */
int inmo_overlay_has_past(const struct inmo_overlay *overlay, int32_t user);
/* Whether the user has a history now. */
int inmo_overlay_has_user(const struct inmo_overlay *overlay, int32_t user);
/* Whether anything is known of the item now. */
int inmo_overlay_has_item(const struct inmo_overlay *overlay, int32_t item);
/* Whether the item was forgotten after the snapshot. */
int inmo_overlay_is_gone(const struct inmo_overlay *overlay, int32_t item);

/* Merges snapshot and overlay into a graph of the given size, and the fate of its nodes (NULL: nothing
 * forgotten). */
enum inmo_status inmo_overlay_merge(const struct inmo_overlay *overlay, int32_t users, int32_t items,
                                    struct inmo_graph **graph, uint8_t **fate, struct inmo_error *error);

#endif
