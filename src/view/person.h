/* person.h - who is asking: a user of the view, somebody with a list of items, or both. */
#ifndef INMO_VIEW_PERSON_H
#define INMO_VIEW_PERSON_H

#include "view/work.h"

/* Everything is in the work space's arena or in the snapshot. */
struct inmo_person {
    int32_t user;   /* of the snapshot, whose representation is the person's; -1: folded in from the history */
    int32_t own;    /* user of the snapshot who asks, or -1; may have an embedding of their own */
    int32_t *item;  // (count) items of the history that the snapshot has, ascending
    int32_t count;
    int32_t *seen;  // (seen_count) all items of the history, also those the snapshot does not have, ascending
    int32_t seen_count;
    int32_t usable;  /* items that the model can use */
    int32_t unknown; /* items of the query that nobody has seen */
    int falls_back;  /* the list is by popularity */
    const float *r;  // (dim) NULL for a model without vectors
    int32_t *node;   // (count) scratch
    float *space;    // scratch
};

/* Call it under the view's read lock, with the snapshot of that moment. Errors: UNKNOWN (a user), UNSUPPORTED
 * (somebody whom the model has no vector for), MEMORY. */
enum inmo_status inmo_person_make(const struct inmo_view *view, const struct inmo_snapshot *snapshot,
                                  struct inmo_work *work, const struct inmo_query *query,
                                  struct inmo_person *person, struct inmo_error *error);
static inline struct inmo_history inmo_person_history(const struct inmo_person *person)
{
    return (struct inmo_history){person->user, person->count, 0, person->item, person->r};
}
/* Share of the history that the model can use. */
double inmo_person_coverage(const struct inmo_person *person);

/* Whether the embedding is a row of the person's own. */
int inmo_person_has_row(const struct inmo_snapshot *snapshot, const struct inmo_person *person);
/* What the representation of a person is the sum of (docs/math.md, "Somebody unseen"), for a system with vectors or
 * an additive provider on an affine backbone: base (dim) does not depend on the history, term (count, dim) has a
 * row for each item of it. Both start at zero. */
enum inmo_status inmo_person_parts(const struct inmo_snapshot *snapshot, const struct inmo_person *person,
                                   float *base, float *term, struct inmo_error *error);
/* The representation of the person without item number n of the history, everybody else unchanged. */
void inmo_person_without(const struct inmo_snapshot *snapshot, const struct inmo_person *person, int32_t n,
                         float *out);

/* r (dim) of an item that the snapshot does not have, from its users; those the snapshot does not have are passed
 * over. 0, or -1 when memory is short. */
int inmo_newcomer_fold(const struct inmo_snapshot *snapshot, const int32_t *user, int32_t count, float *r);

#endif
