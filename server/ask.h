/* ask.h - a list for somebody: the one way from a request to the view, shared by all routes that recommend.
 *
 *     what the user has only seen, hidden items, a category, allow and deny lists  ->  one query of the view
 *     a user nobody knows, a history of nothing known, no model yet                ->  popularity, and said so */
#ifndef INMO_SERVER_ASK_H
#define INMO_SERVER_ASK_H

#include "server/request.h"

struct ask {
    const char *user;         /* or NULL */
    const char *const *items; /* history beside the user's, or of somebody unknown */
    size_t item_count;
    const char *category; /* or NULL */
    const char *const *allow, *const *deny;
    size_t allow_count, deny_count;
    int has_allow;
    int include_seen;
    size_t n, offset;
};

struct answer {
    const struct inmo_entry *entry; /* (count) */
    size_t count;
    double coverage;
    int fallback, unknown;
    int model; /* number */

    /* The rest is for ask_end. */
    struct live_model *held;
    struct inmo_entry *own;
    const char **lists[3];
};

/* 0: the request has been answered with an error. Entries are valid until ask_end and the thread's next
 * question. */
int ask_list(struct request *request, const struct ask *ask, struct answer *answer);
void ask_end(struct request *request, struct answer *answer);

/* The thread's memory for questions; NULL when memory is short. Freed with the thread. */
struct inmo_work *ask_work(void);

/* Sets of ids: sorted once, then asked. */
void ask_sort(const char **ids, size_t count);
int ask_has(const char *const *sorted, size_t count, const char *id);

/* Strings of a JSON array, checked as ids, as an array that lives as long as the request; at most most. 0:
 * answered. */
int ask_take_ids(struct request *request, const json_t *array, const char *field, size_t most,
                 const char *const **ids, size_t *count);

#endif
