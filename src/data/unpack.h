/* unpack.h - the bytes of a plain, gzip (any number of members) or zstd (any number of frames) file, or of standard
 * input. The first bytes decide, never the name. Other compression formats are refused by name. */
#ifndef INMO_DATA_UNPACK_H
#define INMO_DATA_UNPACK_H

#include "base/status.h"

struct inmo_unpack;

/* path "-" is standard input. Errors: IO (missing, a directory, unreadable), INPUT (another compression format),
 * MEMORY. */
enum inmo_status inmo_unpack_open(const char *path, struct inmo_unpack **unpack, struct inmo_error *error);
/* The same for bytes that come from somewhere else and are not packed. */
enum inmo_status inmo_unpack_open_source(const struct inmo_source *source, struct inmo_unpack **unpack,
                                         struct inmo_error *error);
/* Lets a thread unpack ahead, with so many bytes waiting at most; only packed files, which take the time, and only
 * ordinary ones: a pipe would hold the thread. Before the first read. */
void inmo_unpack_ahead(struct inmo_unpack *unpack, size_t memory);
void inmo_unpack_close(struct inmo_unpack *unpack);

/* The next bytes, at least one and at most room; *got is 0 only at the end. room is below 4 GB.
 * Errors: IO, INPUT (damaged or cut off gzip or zstd data), MEMORY. */
enum inmo_status inmo_unpack_read(struct inmo_unpack *unpack, char *to, size_t room, size_t *got,
                                  struct inmo_error *error);

/* The name for messages: the path, or "standard input". */
const char *inmo_unpack_name(const struct inmo_unpack *unpack);
/* Bytes read from the file so far. */
int64_t inmo_unpack_taken(const struct inmo_unpack *unpack);

#endif
