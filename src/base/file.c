/* file.c - see file.h. The order is the one that survives a power cut: write aside, flush, sync the data, rename,
 * sync the folder. Until the rename, path is untouched; after it, path is whole. */
#include "base/file.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum inmo_status fail_exists(struct inmo_error *error, const char *path)
{
    return inmo_fail(error, INMO_EXISTS, "%s exists already; `force` replaces it", path);
}

enum inmo_status inmo_new_file_open(struct inmo_new_file *file, const char *path, int force,
                                    struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_new_file fresh = {.force = force};
    struct stat present;
    size_t size = strlen(path) + 32;
    int descriptor = -1;

    *file = (struct inmo_new_file){0};
    if (stat(path, &present) == 0) {
        if (!force)
            return fail_exists(error, path);
        /* A rename would put a plain file in the place of a device or folder. */
        if (!S_ISREG(present.st_mode))
            return inmo_fail(error, INMO_IO, "cannot replace %s: it is not an ordinary file", path);
    }
    fresh.path = inmo_copy_string(path);
    fresh.aside = inmo_alloc(size, 1);
    if (!fresh.path || !fresh.aside) {
        status = inmo_fail_memory(error, "a file name");
        goto done;
    }
    snprintf(fresh.aside, size, "%s.part-%ld", path, (long)getpid());
    descriptor = open(fresh.aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0) {
        status = inmo_fail_errno(error, "write", path);
        goto done;
    }
    fresh.stream = fdopen(descriptor, "wb");
    if (!fresh.stream) {
        status = inmo_fail_errno(error, "write", path);
        close(descriptor);
        unlink(fresh.aside);
        goto done;
    }
    *file = fresh;
done:
    if (status != INMO_OK) {
        inmo_free(fresh.aside);
        inmo_free(fresh.path);
    }
    return status;
}

enum inmo_status inmo_new_file_write(struct inmo_new_file *file, const void *data, size_t size,
                                     struct inmo_error *error)
{
    if (size > 0 && fwrite(data, 1, size, file->stream) != size)
        return inmo_fail_errno(error, "write", file->path);
    return INMO_OK;
}

void inmo_sync_folder(const char *folder)
{
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)!fsync(descriptor);
        close(descriptor);
    }
}

static void sync_folder_of(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash && slash != path)
        *slash = 0;
    inmo_sync_folder(!slash ? "." : slash == path ? "/" : path);
}

/* Without force, somebody may have made path since it was looked at. A hard link, unlike a rename, replaces
 * nothing; a file system without hard links gets a second look instead. */
static int move_into_place(const struct inmo_new_file *file)
{
    struct stat present;
    if (!file->force) {
        if (link(file->aside, file->path) == 0)
            return unlink(file->aside);
        if (errno == EEXIST)
            return -1;
        if (stat(file->path, &present) == 0) {
            errno = EEXIST;
            return -1;
        }
    }
    return rename(file->aside, file->path);
}

enum inmo_status inmo_new_file_commit(struct inmo_new_file *file, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    int closed;
    if (fflush(file->stream) != 0) {
        status = inmo_fail_errno(error, "write", file->path);
        goto done;
    }
    /* EINVAL and ENOTSUP: a file system that has nothing to sync. */
    if (fsync(fileno(file->stream)) != 0 && errno != EINVAL && errno != ENOTSUP) {
        status = inmo_fail_errno(error, "write", file->path);
        goto done;
    }
    closed = fclose(file->stream);
    file->stream = NULL;
    if (closed != 0) {
        status = inmo_fail_errno(error, "write", file->path);
        goto done;
    }
    if (move_into_place(file) != 0) {
        status = errno == EEXIST ? fail_exists(error, file->path) : inmo_fail_errno(error, "write", file->path);
        goto done;
    }
    inmo_free(file->aside);
    file->aside = NULL;
    sync_folder_of(file->path);
done:
    inmo_new_file_abandon(file);
    return status;
}

void inmo_new_file_abandon(struct inmo_new_file *file)
{
    if (file->stream)
        fclose(file->stream);
    if (file->aside)
        unlink(file->aside);
    inmo_free(file->aside);
    inmo_free(file->path);
    *file = (struct inmo_new_file){0};
}
