/* child.h - commands of this program run in processes of their own, one at a time, at low priority. They end with
 * the server, also when it is killed. */
#ifndef INMO_SERVER_CHILD_H
#define INMO_SERVER_CHILD_H

#include "inmo.h"

#include <pthread.h>
#include <sys/types.h>

struct child {
    pthread_mutex_t lock;
    pid_t process; /* -1: none */
    int stopping;
};

void child_init(struct child *child);
void child_destroy(struct child *child);
/* Runs `inmo word[1] ...` (ended by NULL) and waits for it; what it prints goes to the file report, what it says is
 * appended to the file log. Its exit code is the status; INTERNAL when a signal ended it, INTERRUPTED after
 * child_stop. */
enum inmo_status child_run(struct child *child, const char *const *word, const char *report, const char *log,
                           struct inmo_error *error);
/* Kills the one that runs; no other is begun. Any thread. */
void child_stop(struct child *child);

#endif
