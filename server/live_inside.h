/* live_inside.h - what live.c (holding, applying, the janitor) and live_build.c (views of models) share.
 *
 * Locks, in the order in which they may be taken together:
 *     build    one model is loaded at a time
 *     follow   one thread at a time reads what other servers wrote
 *     apply    changes are applied one after the other; a swap happens between two of them
 *     swap     the pointer to the model in use and its count of references; held for a few instructions */
#ifndef INMO_SERVER_LIVE_INSIDE_H
#define INMO_SERVER_LIVE_INSIDE_H

#include "server/live.h"

#include <pthread.h>
#include <stdatomic.h>

enum { LIVE_OBSERVED_AT_ONCE = 4096 };

/* What a view under construction has yet to hear. */
struct deed {
    enum ledger_effect effect;
    const char *user, *item; /* the ledger's, or own copies of what was forgotten */
    int64_t seq;
};

struct deeds {
    struct deed *deed;
    size_t count, capacity;
};

struct live {
    struct live_options options;
    struct ledger *ledger;
    pthread_mutex_t build, follow, apply, swap;
    struct live_model *current, *retired;
    struct deeds forgotten; /* everything forgotten since the store was made, for models older than that */
    struct deeds missed;    /* while a view is built */
    atomic_int building, needs_rebuild, stopping;
    /* Written with apply held; read without, so that no request waits. */
    _Atomic int64_t applied, events_since, newest;
    _Atomic int64_t snapshot; /* when the view was built or refreshed last */
    pthread_t janitor;
    int has_janitor;
    pthread_mutex_t janitor_lock;
    pthread_cond_t janitor_wake;
};

/* live_build.c. What is observed has ids of the ledger's; what is forgotten is copied. 0 when memory is short. */
int deeds_add(struct deeds *deeds, enum ledger_effect effect, const char *user, const char *item, int64_t seq);
void deeds_free(struct deeds *deeds);
/* Those up to seq are done with. */
void deeds_drop(struct deeds *deeds, int64_t seq);
/* Tells a view; UNKNOWN is no error: what the view never knew needs no forgetting. */
enum inmo_status deeds_tell(struct inmo_view *view, const struct deeds *deeds, struct inmo_error *error);
/* With apply held: popularity, from the first event on. */
enum inmo_status live_make_popular(struct live *live, struct inmo_error *error);

/* live.c. Puts the model in use; with apply held. */
void live_swap_in(struct live *live, struct live_model *model);
void live_model_free(struct live_model *model);

#endif
