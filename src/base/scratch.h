/* scratch.h - temporary files for what does not fit into memory.
 *
 * A tape is written from its beginning to its end, and then read from any place, by any number of readers. Its file
 * has no name (O_TMPFILE, or removed as soon as it is made), so the system takes it back with the process, also at
 * kill -9. The folder is the caller's choice: the one of the output has room for data of that size, /tmp may be in
 * memory. */
#ifndef INMO_BASE_SCRATCH_H
#define INMO_BASE_SCRATCH_H

#include "base/status.h"

#include <stdint.h>
#include <string.h>

/* Where temporary files are made, and who may stop the work that fills them. */
struct inmo_scratch {
    const char *folder;
    const struct inmo_hooks *hooks; /* NULL: nobody */
};

struct inmo_tape { /* starts as {.file = -1} */
    const struct inmo_scratch *scratch;
    int file;
    int64_t written;  // bytes in the file; size is written + used
    char *buffer;     // (capacity)
    size_t capacity, used;
};
#define INMO_NO_TAPE ((struct inmo_tape){.file = -1})

/* Errors of all calls: IO (names the folder and the reason: no space, not writable), INTERRUPTED, MEMORY. */
enum inmo_status inmo_tape_open(struct inmo_tape *tape, const struct inmo_scratch *scratch, size_t buffer,
                                struct inmo_error *error);
/* Writes the buffer out. */
enum inmo_status inmo_tape_flush(struct inmo_tape *tape, struct inmo_error *error);
/* Flushes and frees the buffer: the tape is only read from here on. */
enum inmo_status inmo_tape_end(struct inmo_tape *tape, struct inmo_error *error);
/* Gives back the file and the memory; does nothing to one that is not open. */
void inmo_tape_close(struct inmo_tape *tape);

static inline int64_t inmo_tape_size(const struct inmo_tape *tape)
{
    return tape->written + (int64_t)tape->used;
}

/* size is at most the capacity of the buffer. */
static inline enum inmo_status inmo_tape_add(struct inmo_tape *tape, const void *data, size_t size,
                                             struct inmo_error *error)
{
    if (size > tape->capacity - tape->used) {
        enum inmo_status status = inmo_tape_flush(tape, error);
        if (status != INMO_OK)
            return status;
    }
    memcpy(tape->buffer + tape->used, data, size);
    tape->used += size;
    return INMO_OK;
}

/* Reads [begin, end) of a tape that has ended (or was flushed) in order. */
struct inmo_tape_reader { /* starts as {0} */
    const struct inmo_tape *tape;
    int64_t at, end;  // of the file: the next byte to be read, and the last one
    char *buffer;     // (capacity)
    size_t capacity, begin, held;
};
enum inmo_status inmo_tape_read(struct inmo_tape_reader *reader, const struct inmo_tape *tape, int64_t begin,
                                int64_t end, size_t buffer, struct inmo_error *error);
/* Makes at least size bytes available unless the end comes before; size is at most the capacity. */
enum inmo_status inmo_tape_fill(struct inmo_tape_reader *reader, size_t size, struct inmo_error *error);
void inmo_tape_read_end(struct inmo_tape_reader *reader);

/* *data is the next size bytes, valid until the next call; NULL at the end. */
static inline enum inmo_status inmo_tape_next(struct inmo_tape_reader *reader, size_t size, const void **data,
                                              struct inmo_error *error)
{
    *data = NULL;
    if (reader->held < size) {
        enum inmo_status status = inmo_tape_fill(reader, size, error);
        if (status != INMO_OK || reader->held < size)
            return status;
    }
    *data = reader->buffer + reader->begin;
    reader->begin += size;
    reader->held -= size;
    return INMO_OK;
}

#endif
