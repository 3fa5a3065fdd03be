/* server.h - the parts of a running server, and what they are made from. serve.h is the entrance from outside.
 *
 *     http.c     sockets, limits, keys        request.h  one request and its answer
 *     route.h    the table of routes          ingest.h   group commit
 *     live.h     model, view, ledger          store.h    SQLite or PostgreSQL
 *     models.h   files of trained models      retrain.h  training in child processes */
#ifndef INMO_SERVER_SERVER_H
#define INMO_SERVER_SERVER_H

#include "server/ingest.h"
#include "server/keys.h"
#include "server/metrics.h"
#include "server/models.h"
#include "server/serve.h"

#include <pthread.h>
#include <stdatomic.h>

struct retrain;
struct http;

struct server {
    const struct serve_options *options;
    struct inmo_hooks hooks; /* the log: inmo_note(&server->hooks, ...) writes a line */
    struct store *store;
    struct live *live;
    struct ingest *ingest;
    struct models *models;
    struct retrain *retrain;
    struct metrics *metrics;
    struct http *http;
    pthread_rwlock_t keys_lock; /* SIGHUP replaces the keys */
    struct keys *keys;
    int64_t started; /* milliseconds since 1970 */
    atomic_int ready, stopping;
    atomic_int connections;
};

#endif
