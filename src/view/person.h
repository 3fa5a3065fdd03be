/* person.h - the person a query is for: a user of the view, an unseen user with a list of items, or both. */
#ifndef INMO_VIEW_PERSON_H
#define INMO_VIEW_PERSON_H

#include "view/work.h"

/* All arrays are in the work space's arena or in the snapshot. */
struct inmo_person {
    int32_t user;   /* the snapshot's user whose representation is used; -1: folded in from the history */
    int32_t asked;  /* the view's user the query is for, or -1 */
    int32_t own;    /* the snapshot's user the query is for, or -1; may have a learned embedding */
    int32_t *item;  // (count) items of the history that are in the snapshot, ascending
    int32_t count;
    float *weight;   // (count) with weights: of each item, 1 for what came after training; else NULL
    float *share;    // (count) weight / its mean; else NULL
    double strength; /* sum of the weights; count without */
    int32_t *seen;   // (seen_count) all items of the history, including ones newer than the snapshot, ascending
    int32_t seen_count;
    int32_t usable;      /* items of the history that the model can use */
    int32_t unknown;     /* items of the query that the view does not know */
    int falls_back;      /* 1: the list is by popularity */
    const float *r;      // (dim) NULL for models without vectors
    int32_t *node;       // (count) scratch
    float *node_weight;  // (count) scratch, with weights
    float *space;        // scratch
};

/* Whom a query is for, in the view's numbers. */
struct inmo_row {
    int32_t user;         /* -1: nobody of the view */
    const int32_t *item;  // (count) further history; negative: an item that the view does not know
    int64_t count;
};

/* Call it under the view's read lock, with the current snapshot. Errors: UNKNOWN (a user), UNSUPPORTED (the model
 * has no vector for this person), MEMORY. */
enum inmo_status inmo_person_make(const struct inmo_view *view, const struct inmo_snapshot *snapshot,
                                  struct inmo_work *work, const struct inmo_query *query,
                                  struct inmo_person *person, struct inmo_error *error);
/* The same by numbers. id names the user in messages; NULL: the number does. */
enum inmo_status inmo_person_make_row(const struct inmo_view *view, const struct inmo_snapshot *snapshot,
                                      struct inmo_work *work, const struct inmo_row *row, const char *id,
                                      struct inmo_person *person, struct inmo_error *error);
static inline struct inmo_history inmo_person_history(const struct inmo_person *person)
{
    return (struct inmo_history){person->user, person->count, 0, person->item, person->r, person->weight};
}
/* Share of the history that the model can use. */
double inmo_person_coverage(const struct inmo_person *person);

/* Whether the model has a learned row for the person. */
int inmo_person_has_row(const struct inmo_snapshot *snapshot, const struct inmo_person *person);
/* The representation of a person as a sum (docs/math.md, "Cold-start users"), for systems with vectors and for an
 * additive provider on an affine backbone: base (dim) does not depend on the history; term (count, dim) has a row
 * for each item of it. Both must be zero before the call. */
enum inmo_status inmo_person_parts(const struct inmo_snapshot *snapshot, const struct inmo_person *person,
                                   float *base, float *term, struct inmo_error *error);
/* The representation of the person without item number n of the history; all other nodes stay as they are. */
void inmo_person_without(const struct inmo_snapshot *snapshot, const struct inmo_person *person, int32_t n,
                         float *out);

/* r (dim) of an item newer than the snapshot, folded in from its users; users newer than the snapshot are skipped.
 * 0, or -1 when memory is short. */
int inmo_newcomer_fold(const struct inmo_snapshot *snapshot, const int32_t *user, int32_t count, float *r);

#endif
