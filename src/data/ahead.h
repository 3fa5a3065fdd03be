/* ahead.h - a thread that reads ahead: bytes are unpacked while others are parsed. They are the same bytes in the
 * same order, and an error comes when its place is reached, so nothing depends on how far ahead the thread is. */
#ifndef INMO_DATA_AHEAD_H
#define INMO_DATA_AHEAD_H

#include "base/status.h"

struct inmo_ahead;

/* As the read of struct inmo_source; called by the thread alone from here on. */
typedef enum inmo_status inmo_read_some(void *context, char *to, size_t room, size_t *got,
                                        struct inmo_error *error);

/* Reads until `memory` bytes are waiting. NULL where no thread or memory can be had: then read without one. */
struct inmo_ahead *inmo_ahead_start(inmo_read_some *read, void *context, size_t memory);
/* The next bytes; *got is 0 only at the end. Errors: those of read. */
enum inmo_status inmo_ahead_take(struct inmo_ahead *ahead, char *to, size_t room, size_t *got,
                                 struct inmo_error *error);
/* Stops and frees; waits for the read that is under way. */
void inmo_ahead_stop(struct inmo_ahead *ahead);

#endif
