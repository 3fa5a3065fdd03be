/* ahead.c - see ahead.h. A ring of blocks between one thread that fills and one that takes. */
#include "data/ahead.h"

#include "base/memory.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

enum { BLOCK = 256 << 10, LEAST_BLOCKS = 2, MOST_BLOCKS = 64 };

struct inmo_ahead {
    inmo_read_some *read;
    void *context;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    char *block;               // (blocks * BLOCK)
    size_t size[MOST_BLOCKS];  // bytes of each
    size_t blocks, first, waiting;
    size_t taken;       // bytes of the first block
    int stopped, ended; /* ended: nothing follows what is waiting, and status says why */
    enum inmo_status status;
    struct inmo_error error;
};

static void *fill(void *context)
{
    struct inmo_ahead *ahead = context;
    pthread_mutex_lock(&ahead->lock);
    while (!ahead->stopped && !ahead->ended) {
        struct inmo_error error = {0};
        enum inmo_status status;
        size_t got = 0, at;
        if (ahead->waiting == ahead->blocks) {
            pthread_cond_wait(&ahead->emptied, &ahead->lock);
            continue;
        }
        at = (ahead->first + ahead->waiting) % ahead->blocks;
        pthread_mutex_unlock(&ahead->lock);
        status = ahead->read(ahead->context, ahead->block + at * BLOCK, BLOCK, &got, &error);
        pthread_mutex_lock(&ahead->lock);
        if (status != INMO_OK || got == 0) {
            ahead->ended = 1;
            ahead->status = status;
            ahead->error = error;
        } else {
            ahead->size[at] = got;
            ahead->waiting++;
        }
        pthread_cond_signal(&ahead->filled);
    }
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

struct inmo_ahead *inmo_ahead_start(inmo_read_some *read, void *context, size_t memory)
{
    struct inmo_ahead *ahead = inmo_alloc_zero(1, sizeof *ahead);
    sigset_t all, before;
    int failed;
    if (!ahead)
        return NULL;
    ahead->read = read;
    ahead->context = context;
    ahead->blocks = memory / BLOCK < LEAST_BLOCKS ? LEAST_BLOCKS : memory / BLOCK;
    ahead->blocks = ahead->blocks > MOST_BLOCKS ? MOST_BLOCKS : ahead->blocks;
    ahead->block = inmo_alloc(ahead->blocks, BLOCK);
    if (!ahead->block) {
        inmo_free(ahead);
        return NULL;
    }
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->filled, NULL);
    pthread_cond_init(&ahead->emptied, NULL);
    sigfillset(&all); /* signals are for the threads of the program */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&ahead->thread, NULL, fill, ahead);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        pthread_cond_destroy(&ahead->emptied);
        pthread_cond_destroy(&ahead->filled);
        pthread_mutex_destroy(&ahead->lock);
        inmo_free(ahead->block);
        inmo_free(ahead);
        ahead = NULL;
    }
    return ahead;
}

enum inmo_status inmo_ahead_take(struct inmo_ahead *ahead, char *to, size_t room, size_t *got,
                                 struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    size_t left = 0;
    pthread_mutex_lock(&ahead->lock);
    while (ahead->waiting == 0 && !ahead->ended)
        pthread_cond_wait(&ahead->filled, &ahead->lock);
    if (ahead->waiting > 0)
        left = ahead->size[ahead->first] - ahead->taken;
    else if ((status = ahead->status) != INMO_OK && error)
        *error = ahead->error;
    pthread_mutex_unlock(&ahead->lock);
    *got = left < room ? left : room;
    if (*got > 0)
        memcpy(to, ahead->block + ahead->first * BLOCK + ahead->taken, *got);
    ahead->taken += *got;
    if (left > 0 && *got == left) {
        pthread_mutex_lock(&ahead->lock);
        ahead->first = (ahead->first + 1) % ahead->blocks;
        ahead->waiting--;
        ahead->taken = 0;
        pthread_cond_signal(&ahead->emptied);
        pthread_mutex_unlock(&ahead->lock);
    }
    return status;
}

void inmo_ahead_stop(struct inmo_ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->stopped = 1;
    pthread_cond_signal(&ahead->emptied);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    pthread_cond_destroy(&ahead->emptied);
    pthread_cond_destroy(&ahead->filled);
    pthread_mutex_destroy(&ahead->lock);
    inmo_free(ahead->block);
    inmo_free(ahead);
}
