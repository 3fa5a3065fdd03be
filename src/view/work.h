/* work.h - reusable memory for the requests of one thread: an arena that is emptied at the start of each call, and
 * arrays of the catalogue's size that are zero between calls. */
#ifndef INMO_VIEW_WORK_H
#define INMO_VIEW_WORK_H

#include "score/sums.h"
#include "view/view.h"

struct inmo_work {
    struct inmo_work *next;  // in the view's list of idle work spaces
    struct inmo_work_block *block;
    size_t needed; /* bytes taken since the arena was emptied */
    struct inmo_scan_space scan;
    struct inmo_sums sums;
    float *score;  // (score_size) for systems and heads: scores of all items for some people
    size_t score_size;
    void *scratch;  // (scratch_bytes) for systems and heads, as they leave it
    size_t scratch_bytes;
    uint64_t scratch_of; /* serial number of the snapshot that scratch belongs to */
};

/* Empties the arena; what was taken from it is no longer valid. */
void inmo_work_empty(struct inmo_work *work);
/* count elements of size bytes from the arena, 64-byte aligned; NULL when memory is short. */
void *inmo_work_take(struct inmo_work *work, size_t count, size_t size);

/* Makes the sums large enough for the snapshot's items. 0, or -1 when memory is short. */
int inmo_work_sums(struct inmo_work *work, int32_t items);
/* Makes room for the scores of some people, and for the scratch that scoring needs. 0, or -1 when memory is
 * short. */
int inmo_work_score_space(struct inmo_work *work, const struct inmo_snapshot *snapshot, int32_t people);

/* One of the view's idle work spaces, or a new one; NULL when memory is short. */
struct inmo_work *inmo_view_borrow(const struct inmo_view *view);
void inmo_view_give_back(const struct inmo_view *view, struct inmo_work *work);

#endif
