/* scratch.c - see scratch.h. Every write and read of a buffer asks the hooks first, so Ctrl-C is heard within
 * megabytes. What is read back is mostly still in the page cache, which is the system's memory and not ours. */
#define _GNU_SOURCE /* O_TMPFILE */
#include "base/scratch.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum inmo_status fail(const struct inmo_scratch *scratch, const char *verb, struct inmo_error *error)
{
    char what[512];
    snprintf(what, sizeof what, "temporary files in %.450s", scratch->folder);
    return inmo_fail_errno(error, verb, what);
}

static enum inmo_status ask(const struct inmo_scratch *scratch, struct inmo_error *error)
{
    return inmo_is_interrupted(scratch->hooks)
               ? inmo_fail(error, INMO_INTERRUPTED, "preparing was stopped on request")
               : INMO_OK;
}

/* A file system without O_TMPFILE (NFS, some overlays) gets a name for a moment. */
static int make_file(const char *folder)
{
    static const char NAME[] = "/.inmo-scratch-XXXXXX";
    int file = -1;
    char *name;
#ifdef O_TMPFILE
    file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT))
        return file;
#endif
    name = inmo_alloc(strlen(folder) + sizeof NAME, 1);
    if (!name) {
        errno = ENOMEM;
        return -1;
    }
    strcpy(name, folder);
    strcat(name, NAME);
    file = mkostemp(name, O_CLOEXEC);
    if (file >= 0)
        unlink(name);
    inmo_free(name);
    return file;
}

enum inmo_status inmo_tape_open(struct inmo_tape *tape, const struct inmo_scratch *scratch, size_t buffer,
                                struct inmo_error *error)
{
    struct inmo_tape fresh = {.scratch = scratch, .file = -1, .capacity = buffer};
    *tape = INMO_NO_TAPE;
    fresh.buffer = inmo_alloc(buffer, 1);
    if (!fresh.buffer)
        return inmo_fail_memory(error, "temporary files");
    fresh.file = make_file(scratch->folder);
    if (fresh.file < 0) {
        enum inmo_status status = fail(scratch, "make", error);
        inmo_free(fresh.buffer);
        return status;
    }
    *tape = fresh;
    return INMO_OK;
}

enum inmo_status inmo_tape_flush(struct inmo_tape *tape, struct inmo_error *error)
{
    enum inmo_status status = ask(tape->scratch, error);
    size_t done = 0;
    while (status == INMO_OK && done < tape->used) {
        ssize_t bytes = pwrite(tape->file, tape->buffer + done, tape->used - done, tape->written);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0) {
            errno = bytes == 0 ? ENOSPC : errno;
            status = fail(tape->scratch, "write", error);
            break;
        }
        done += (size_t)bytes;
        tape->written += bytes;
    }
    if (status == INMO_OK)
        tape->used = 0;
    return status;
}

enum inmo_status inmo_tape_end(struct inmo_tape *tape, struct inmo_error *error)
{
    enum inmo_status status = inmo_tape_flush(tape, error);
    if (status == INMO_OK) {
        inmo_free(tape->buffer);
        tape->buffer = NULL;
        tape->capacity = 0;
    }
    return status;
}

void inmo_tape_close(struct inmo_tape *tape)
{
    if (tape->file >= 0)
        close(tape->file);
    inmo_free(tape->buffer);
    *tape = INMO_NO_TAPE;
}

enum inmo_status inmo_tape_read(struct inmo_tape_reader *reader, const struct inmo_tape *tape, int64_t begin,
                                int64_t end, size_t buffer, struct inmo_error *error)
{
    *reader = (struct inmo_tape_reader){.tape = tape, .at = begin, .end = end, .capacity = buffer};
    reader->buffer = inmo_alloc(buffer, 1);
    return reader->buffer ? INMO_OK : inmo_fail_memory(error, "temporary files");
}

enum inmo_status inmo_tape_fill(struct inmo_tape_reader *reader, size_t size, struct inmo_error *error)
{
    const struct inmo_tape *tape = reader->tape;
    enum inmo_status status = INMO_OK;
    if (reader->held >= size || reader->at == reader->end)
        return INMO_OK;
    status = ask(tape->scratch, error);
    memmove(reader->buffer, reader->buffer + reader->begin, reader->held);
    reader->begin = 0;
    while (status == INMO_OK && reader->held < reader->capacity && reader->at < reader->end) {
        size_t room = reader->capacity - reader->held;
        int64_t left = reader->end - reader->at;
        ssize_t bytes = pread(tape->file, reader->buffer + reader->held, left < (int64_t)room ? (size_t)left : room,
                              reader->at);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0) {
            errno = bytes == 0 ? EIO : errno; /* what was written is not there */
            status = fail(tape->scratch, "read", error);
            break;
        }
        reader->held += (size_t)bytes;
        reader->at += bytes;
    }
    return status;
}

void inmo_tape_read_end(struct inmo_tape_reader *reader)
{
    inmo_free(reader->buffer);
    *reader = (struct inmo_tape_reader){0};
}
