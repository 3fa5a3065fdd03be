/* output.h - a byte stream to a new file, compressed according to its name (.gz, .zst), or to standard output. */
#ifndef INMO_DATA_OUTPUT_H
#define INMO_DATA_OUTPUT_H

#include "base/status.h"

struct inmo_output;

/* path "-" is standard output, plain. Errors: EXISTS (without force), IO, MEMORY. */
enum inmo_status inmo_output_open(const char *path, int force, struct inmo_output **output,
                                  struct inmo_error *error);
enum inmo_status inmo_output_write(struct inmo_output *output, const void *data, size_t size,
                                   struct inmo_error *error);
/* Finishes compression, syncs and renames the file into place. The output must still be closed. */
enum inmo_status inmo_output_commit(struct inmo_output *output, struct inmo_error *error);
/* Frees the output. Without a commit before, the file is unchanged. */
void inmo_output_close(struct inmo_output *output);

#endif
