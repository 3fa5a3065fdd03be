/* store_sqlite_log.c - moving the log (WAL) into the file without making the writer wait.
 *
 * A commit appends to the log. A thread copies the log into the file once it has SOON pages, while the writer goes
 * on; the log starts over when all of it was copied at the moment of a commit. Under a stream of writes that moment
 * may never come by itself, so from LATEST pages on the writer copies the rest, which is short by then. No reader
 * holds the log for long (store_kind.h). So the log stays near LATEST pages: 64 MB. */
#include "server/store_sqlite.h"

#include <time.h>

enum { SOON = 4096, LATEST = 16384 }; /* pages of 4096 bytes */

static int after_commit(void *context, sqlite3 *db, const char *name, int pages)
{
    struct store_sqlite *store = context;
    (void)db;
    (void)name;
    atomic_store(&store->log_pages, pages);
    if (pages >= SOON) {
        pthread_mutex_lock(&store->signal);
        pthread_cond_signal(&store->wanted);
        pthread_mutex_unlock(&store->signal);
    }
    return SQLITE_OK;
}

static void *move_log(void *context)
{
    struct store_sqlite *store = context;
    sqlite3 *db = NULL;
    int moved = 0, done;

    (void)store_sqlite_connect(store, SQLITE_OPEN_READWRITE, &db, NULL);
    pthread_mutex_lock(&store->signal);
    while (db && !store->stopping) {
        int pages = atomic_load(&store->log_pages);
        if (pages < moved)
            moved = 0; /* the log has started over */
        if (pages < moved + SOON) {
            pthread_cond_wait(&store->wanted, &store->signal);
            continue;
        }
        pthread_mutex_unlock(&store->signal);
        pthread_mutex_lock(&store->moving);
        done = !sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        pthread_mutex_unlock(&store->moving);
        pthread_mutex_lock(&store->signal);
        /* A disk that is full or broken is not asked again and again; the writer is told by its own errors. */
        moved = done ? pages : moved + SOON;
    }
    pthread_mutex_unlock(&store->signal);
    sqlite3_close_v2(db);
    return NULL;
}

enum inmo_status store_sqlite_mover(struct store_sqlite *store, struct inmo_error *error)
{
    sqlite3_wal_hook(store->db, after_commit, store); /* in place of SQLite's own checkpoints within a commit */
    if (pthread_create(&store->mover, NULL, move_log, store))
        return inmo_fail(error, INMO_MEMORY, "no thread for the log of %s", store->path);
    store->has_mover = 1;
    return INMO_OK;
}

void store_sqlite_mover_stop(struct store_sqlite *store)
{
    if (!store->has_mover)
        return;
    pthread_mutex_lock(&store->signal);
    store->stopping = 1;
    pthread_cond_signal(&store->wanted);
    pthread_mutex_unlock(&store->signal);
    pthread_join(store->mover, NULL);
    store->has_mover = 0;
}

void store_sqlite_bound_log(struct store_sqlite *store)
{
    if (atomic_load(&store->log_pages) < LATEST)
        return;
    pthread_mutex_lock(&store->moving); /* waits for the thread, which has most of it done */
    sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    pthread_mutex_unlock(&store->moving);
}
