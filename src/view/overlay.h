/* overlay.h - what has happened since a snapshot was taken: for each user concerned what was added to and taken
 * from the history, and the items that the snapshot does not have.
 *
 *     history of u = (the snapshot's, unless u was forgotten) + added - removed
 *
 * Numbers are those of the view's names: an item from snapshot->graph->items on is new. Nothing here is locked; the
 * view does that. */
#ifndef INMO_VIEW_OVERLAY_H
#define INMO_VIEW_OVERLAY_H

#include "view/snapshot.h"

enum inmo_deed { INMO_OBSERVED, INMO_FORGOTTEN }; /* FORGOTTEN with -1 for "all": a whole user, a whole item */

struct inmo_happening {
    int32_t user, item;
    enum inmo_deed deed;
    enum { INMO_NO_EFFECT, INMO_ADDED, INMO_RESTORED } effect; /* of an observation, noted when it is applied */
};

struct inmo_numbers {
    int32_t *number;
    int32_t count, capacity;
};

struct inmo_change {
    int32_t user;
    int forgotten; /* what the snapshot knows of the user does not count */
    struct inmo_numbers added, removed;
};

/* An item that the snapshot does not have. */
struct inmo_newcomer {
    struct inmo_numbers users;
    int stale; /* r is older than users */
    float *r;  // (dim) folded in from its users that the snapshot has; NULL: not yet
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
    struct inmo_numbers gone;  // items of the snapshot that were forgotten since, ascending
};

/* Refers to the snapshot without holding it. */
enum inmo_status inmo_overlay_make(const struct inmo_snapshot *snapshot, struct inmo_overlay *overlay,
                                   struct inmo_error *error);
void inmo_overlay_free(struct inmo_overlay *overlay);

/* Takes in one happening. Repeated and contradicted ones change nothing. MEMORY leaves everything as it was. */
enum inmo_status inmo_overlay_apply(struct inmo_overlay *overlay, struct inmo_happening *happening,
                                    struct inmo_error *error);
/* Takes back the observation that was applied last. Needs no memory. */
void inmo_overlay_revert(struct inmo_overlay *overlay, const struct inmo_happening *happening);
/* NULL: nothing has happened to the user. */
const struct inmo_change *inmo_overlay_change(const struct inmo_overlay *overlay, int32_t user);
/* Whether anything is known of the user now. */
int inmo_overlay_has_user(const struct inmo_overlay *overlay, int32_t user);
/* Whether the item was forgotten since the snapshot. */
int inmo_overlay_is_gone(const struct inmo_overlay *overlay, int32_t item);

/* Everything together as a graph of so many users and items, and the fate of its nodes (NULL: nothing
 * forgotten). */
enum inmo_status inmo_overlay_merge(const struct inmo_overlay *overlay, int32_t users, int32_t items,
                                    struct inmo_graph **graph, uint8_t **fate, struct inmo_error *error);

#endif
