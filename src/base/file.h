/* file.h - writing whole files so that what was there is never lost: write aside, sync, rename, sync the folder. */
#ifndef INMO_BASE_FILE_H
#define INMO_BASE_FILE_H

#include "base/status.h"

#include <stdio.h>

struct inmo_new_file {
    FILE *stream;
    char *path, *aside; /* aside is path + ".part-<pid>" in the same folder */
    int force;
};

/* Opens the file aside. Without force an existing path is EXISTS. A folder that cannot be written is IO. */
enum inmo_status inmo_new_file_open(struct inmo_new_file *file, const char *path, int force,
                                    struct inmo_error *error);
/* Flushes, syncs, renames into place. On failure the aside file is removed and path is as it was. */
enum inmo_status inmo_new_file_commit(struct inmo_new_file *file, struct inmo_error *error);
/* Removes the aside file; safe after a failed open and after a commit (does nothing). */
void inmo_new_file_abandon(struct inmo_new_file *file);

/* fopen'ed bytes to the new file; IO error names the path ("no space left on device", ...). */
enum inmo_status inmo_new_file_write(struct inmo_new_file *file, const void *data, size_t size,
                                     struct inmo_error *error);

/* A new name must last through a power cut as well. By now the file is in place, and a folder that may not be
 * read or a file system that cannot sync folders takes nothing away from it: no error. */
void inmo_sync_folder(const char *folder);

#endif
