/* file.h - writing whole files so that what was there is never lost: write aside, sync, rename, sync the folder.
 *
 * What can be renamed over is an ordinary file. A pipe or a character device (/dev/null, a terminal) is written
 * into as it is; a directory, a block device and a socket are refused. */
#ifndef INMO_BASE_FILE_H
#define INMO_BASE_FILE_H

#include "base/status.h"

#include <stdio.h>

struct inmo_new_file {
    FILE *stream;
    char *path;
    char *
        /* path + ".inmo-part-<pid>" in the same folder, locked while it is written; NULL: path is written into */
        aside;
    int force, lock;
    enum { INMO_NOT_MOVED, INMO_MOVED, INMO_EXCHANGED } moved; /* between the steps of a commit */
};

/* Opens the file aside, after removing what killed runs left of the same path. Without force an existing file is
 * EXISTS; pipes and character devices need no force. A folder that cannot be written is IO. */
enum inmo_status inmo_new_file_open(struct inmo_new_file *file, const char *path, int force,
                                    struct inmo_error *error);
/* Flushes, syncs, renames into place. On failure the aside file is removed and path is as it was; without force a
 * file made at path meanwhile is EXISTS. */
enum inmo_status inmo_new_file_commit(struct inmo_new_file *file, struct inmo_error *error);
/* The same for files that belong together: all are on the disk before the first is renamed, and on failure all
 * paths are as they were. */
enum inmo_status inmo_new_files_commit(struct inmo_new_file *files, size_t count, struct inmo_error *error);
/* Removes the aside file; safe after a failed open and after a commit (does nothing). */
void inmo_new_file_abandon(struct inmo_new_file *file);

/* 1 when the file called candidate is, or was left of, one that is written aside to become name. */
int inmo_is_aside_of(const char *candidate, const char *name);

/* Appends bytes. The IO error names the path and the reason ("no space left on device", ...). */
enum inmo_status inmo_new_file_write(struct inmo_new_file *file, const void *data, size_t size,
                                     struct inmo_error *error);

/* What inmo_new_file_open would say, asked before long work; nothing is made or removed. */
enum inmo_status inmo_new_file_check(const char *path, int force, struct inmo_error *error);
/* Whether something can be made in the folder of path: IO when it is not there or refuses. */
enum inmo_status inmo_check_folder_of(const char *path, struct inmo_error *error);
/* 1 when path is there and is written into rather than replaced. */
int inmo_is_written_into(const char *path);

/* Locks a folder for this process, which is released with it, also by kill -9; IO when another one has it. *lock is
 * a descriptor to be closed, -1 where the file system has no locks. */
enum inmo_status inmo_lock_folder(const char *folder, int *lock, struct inmo_error *error);

/* Locks an output for this process, from before the work on it begins until it is there. The lock is the file
 * path.lock, which says who holds it and is removed by inmo_unlock_output; what a killed process left is taken
 * over. Errors: BUSY (says who holds it), IO. Where the file system has no locks there is none, and no error. */
struct inmo_lock {
    int file;   /* -1: not held */
    char *name; /* of the lock file */
};
enum inmo_status inmo_lock_output(const char *path, struct inmo_lock *lock, struct inmo_error *error);
/* Does nothing to a lock that is not held ({-1, NULL}). */
void inmo_unlock_output(struct inmo_lock *lock);

/* A new name must last through a power cut as well. By now the file is in place, and a folder that may not be
 * read or a file system that cannot sync folders takes nothing away from it: no error. */
void inmo_sync_folder(const char *folder);

#endif
