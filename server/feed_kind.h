/* feed_kind.h - what the two kinds of feed.h have in common; only for feed*.c. */
#ifndef INMO_SERVER_FEED_KIND_H
#define INMO_SERVER_FEED_KIND_H

#include "base/status.h"
#include "base/text.h"
#include "server/feed.h"

struct feed {
    struct inmo_source source; /* its context is the feed */
    const struct inmo_hooks *hooks;
    char *name;
    int64_t rows; /* passed on, the header not counted */
    /* Adds the next line to the text; the first is the header. Adds nothing after the last. Returns before a line
     * is there if it would have to wait and may_wait is 0. */
    enum inmo_status (*next)(struct feed *feed, int may_wait, struct inmo_text *text, struct inmo_error *error);
    void (*close)(struct feed *feed);
    struct inmo_text text; /* lines that have not been taken yet, from `taken` on */
    size_t taken;
    int ended;
};

static inline enum inmo_status feed_fail_interrupted(const struct feed *feed, struct inmo_error *error)
{
    return inmo_fail(error, INMO_INTERRUPTED, "the query of %s was stopped on request", feed->name);
}

enum inmo_status feed_postgres_open(const char *address, const char *query, const struct inmo_hooks *hooks,
                                    struct feed **feed, struct inmo_error *error);
enum inmo_status feed_sqlite_open(const char *path, const char *query, const struct inmo_hooks *hooks,
                                  struct feed **feed, struct inmo_error *error);

#endif
