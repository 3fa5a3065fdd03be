/* ingest.h - the one way of a change: queued by a request, made durable together with all others that wait (group
 * commit), applied to the ledger and the view, and only then acknowledged.
 *
 * One thread writes. While it waits for the disk, requests queue up; what has come meanwhile is the next
 * transaction. So an fdatasync of 0.3 ms is shared by as many requests as arrive in 0.3 ms, and nobody waits for
 * more than two. */
#ifndef INMO_SERVER_INGEST_H
#define INMO_SERVER_INGEST_H

#include "server/live.h"
#include "server/metrics.h"

struct ingest;

/* The changes of one request, all or none. The caller owns the job and everything in it, and leaves it alone until
 * done is called, from the writing thread. */
struct ingest_job {
    struct ingest_job *next;
    struct store_change *change;
    size_t count;
    void (*done)(struct ingest_job *job);
    void *context;
    enum inmo_status status;
    enum store_trouble trouble;
    struct inmo_error error;
    int64_t affected;
    double queued; /* when, by inmo_now */
};

enum inmo_status ingest_create(struct store *store, struct live *live, struct metrics *metrics,
                               struct ingest **ingest, struct inmo_error *error);
/* Writes what is queued and takes nothing more: afterwards no job is on its way. */
void ingest_end(struct ingest *ingest);
/* The same, and frees it. */
void ingest_free(struct ingest *ingest);
/* Queues the job; 0 when the queue is full or ending, and then done is not called. */
int ingest_submit(struct ingest *ingest, struct ingest_job *job);
struct ingest_state {
    int64_t waiting;            /* changes in the queue */
    enum store_trouble trouble; /* of the last transaction */
};
void ingest_state(struct ingest *ingest, struct ingest_state *state);

#endif
