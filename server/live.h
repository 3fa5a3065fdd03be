/* live.h - what requests are answered from: the model in use and its view, in step with the store.
 *
 *     store --durable changes--> live_apply --> ledger (what is excluded, popular, hidden)
 *                                          \--> view   (recommendations; observe and forget)
 *     janitor thread: refreshes the view when events are waiting, frees models that nobody uses any more
 *
 * A model is put in place by one pointer. Requests hold it by reference while they are answered; whoever releases
 * it last leaves it to the janitor, so no request pays for freeing it. While a new view is built, changes go on
 * being applied to the old one and are noted down; the new one gets them before it takes its place.
 *
 * Until there is a model, popularity serves: a model of that kind is made from the first event on. */
#ifndef INMO_SERVER_LIVE_H
#define INMO_SERVER_LIVE_H

#include "server/ledger.h"
#include "server/metrics.h"

#include <time.h>

struct live;

/* A model in use. */
struct live_model {
    int refs; /* live.c's */
    struct live_model *next;
    struct inmo_model *model;
    struct inmo_view *view;
    int number;     /* of its file (models.h); 0: popularity, or a file given at the start */
    char *path;     /* NULL: made in memory */
    int64_t seq;    /* it was trained on changes up to this one */
    time_t since;   /* in use since then */
    double seconds; /* taken to load it and build its view */
};

struct live_options {
    struct store *store;
    struct ledger_types types;
    double refresh_seconds;         /* events wait no longer than this for a refresh; 0: only when asked */
    const struct inmo_hooks *hooks; /* the log */
    struct metrics *metrics;
};

/* Reads the store; starts the janitor. Nothing is served yet but popularity. */
enum inmo_status live_create(const struct live_options *options, struct live **live, struct inmo_error *error);
/* No request may be running. */
void live_free(struct live *live);

struct ledger *live_ledger(const struct live *live);
/* The model in use, held until released; NULL while there is neither a model nor an event. */
struct live_model *live_hold(struct live *live);
void live_release(struct live *live, struct live_model *model);

/* Loads the file, builds a view of everything observed, and swaps it in. Requests go on meanwhile. One at a time; a
 * second call waits. Errors leave the present model in use. */
enum inmo_status live_load(struct live *live, const char *path, int number, int64_t seq, struct inmo_error *error);

/* Without a model: popularity, if there are events. */
enum inmo_status live_serve_popular(struct live *live, struct inmo_error *error);

/* Applies durable changes, in their order. A failure is for want of memory: it is logged, and the view is built
 * anew. */
void live_apply(struct live *live, const struct store_change *changes, size_t count);
/* Shared stores: applies everything that was written by anybody and not applied yet. */
enum inmo_status live_catch_up(struct live *live, struct inmo_error *error);

/* No model will be loaded any more that was trained before this change: what was forgotten until then is. */
void live_bury(struct live *live, int64_t seq);

/* Refreshes the view now; returns when it is done. */
enum inmo_status live_refresh(struct live *live, struct inmo_error *error);

struct live_state {
    struct inmo_freshness view; /* zero without a model */
    int64_t applied;            /* seq of the last change applied */
    int64_t events_since;       /* choices observed since the model in use was trained */
    int64_t newest;             /* latest time of any event, milliseconds since 1970; 0: none had one */
    int64_t snapshot;           /* when the view was built or refreshed last, milliseconds since 1970 */
    int building;               /* 1: a model is being loaded */
};
void live_state(struct live *live, struct live_state *state);

#endif
