/* seen.h - what users have seen but not chosen, and whom the view knows by name only. Such items are in no list of
 * that user and count for nothing else, so they need no snapshot: an event takes effect at once and for good.
 *
 *     of a user = the user's own list once anything about it has changed, else the model's
 *
 * Numbers are those of the view's names; the model's extra users and items are the first that follow its own.
 * Nothing here takes a lock: the view does. The model's lists never change and may be read without one. */
#ifndef INMO_VIEW_SEEN_H
#define INMO_VIEW_SEEN_H

#include "base/names.h"
#include "model/model.h"

struct inmo_seen_list {
    int32_t user;
    int is_known;   /* 0: the user was forgotten, and nothing was seen since */
    int32_t *item;  // (count) ascending
    int32_t count, capacity;
};

struct inmo_seen {
    const struct inmo_model *model;
    struct inmo_seen_list *list;  // (lists)
    int32_t lists, list_capacity;
    int32_t *slot;  // (slot_mask + 1) hash of the user -> list + 1; 0: empty
    uint32_t slot_mask;
};

/* Adds the model's extra names to the view's. Errors: MEMORY, FORMAT (an id twice). */
enum inmo_status inmo_seen_make(const struct inmo_model *model, struct inmo_names *users, struct inmo_names *items,
                                struct inmo_seen *seen, struct inmo_error *error);
void inmo_seen_free(struct inmo_seen *seen);

/* What the user has seen, ascending; *count may be 0. */
const int32_t *inmo_seen_of(const struct inmo_seen *seen, int32_t user, int32_t *count);
/* The same as the model has it. */
const int32_t *inmo_seen_in_model(const struct inmo_model *model, int32_t user, int32_t *count);
/* Whether the user's list is no longer the model's. */
int inmo_seen_has_changed(const struct inmo_seen *seen, int32_t user);
/* Whether the user is known, be it by name only. */
int inmo_seen_knows(const struct inmo_seen *seen, int32_t user);
/* 1 if it was added, 0 if it was there, -1 when memory is short. */
int inmo_seen_add(struct inmo_seen *seen, int32_t user, int32_t item);
/* Forgets one item of the user, or with item -1 the user. 0, or -1 when memory is short. */
int inmo_seen_forget(struct inmo_seen *seen, int32_t user, int32_t item);

/* The lists of the users of a graph as a mask, one row each; not touched if nobody has seen anything. With all,
 * items that the user has in the graph stay out of it: who has chosen an item does not merely see it. The csr owns
 * its arrays. */
enum inmo_status inmo_seen_mask(const struct inmo_seen *seen, const struct inmo_graph *graph, int all,
                                struct inmo_csr *mask, struct inmo_error *error);
/* Flags for nodes that are names only: no interactions, and unknown to the model (snapshot.h). NULL: there are
 * none. */
enum inmo_status inmo_seen_fates(const struct inmo_model *model, const struct inmo_graph *graph, uint8_t **fate,
                                 struct inmo_error *error);

#endif
