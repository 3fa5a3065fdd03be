/* status.h - error reporting: a status code and one sentence. */
#ifndef INMO_BASE_STATUS_H
#define INMO_BASE_STATUS_H

#include "inmo.h"

/* Fills error (if not NULL) with the code and the formatted sentence and returns the code, so that
 * `status = inmo_fail(error, INMO_INPUT, ...)` is one line at the place that knows what happened. */
enum inmo_status inmo_fail(struct inmo_error *error, enum inmo_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a failed allocation. */
enum inmo_status inmo_fail_memory(struct inmo_error *error, const char *what);

/* The same for errno: "cannot VERB PATH: reason". */
enum inmo_status inmo_fail_errno(struct inmo_error *error, const char *verb, const char *path);

/* Call a hook; hooks and any of its members may be NULL. */
void inmo_note(const struct inmo_hooks *hooks, enum inmo_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void inmo_report_progress(const struct inmo_hooks *hooks, const struct inmo_progress *progress);
int inmo_is_interrupted(const struct inmo_hooks *hooks);

#endif
