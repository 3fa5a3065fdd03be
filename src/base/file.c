/* file.c - see file.h. The order is the one that survives a power cut: write aside, flush, sync the data, rename,
 * sync the folder. Until the rename, path is untouched; after it, path is whole.
 *
 * The file aside is locked (flock) by the process that writes it, and the system drops the lock with the process,
 * also at kill -9. So a file aside that can be locked is nobody's, whatever process number its name has: the next
 * writer of the same path removes it. */
#include "base/file.h"

#include "base/memory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ASIDE ".inmo-part-"
enum { ATTEMPTS = 100, WITHOUT_REPLACING = 1, EXCHANGING = 2 /* flags of renameat2 */ };

static enum inmo_status fail_exists(struct inmo_error *error, const char *path)
{
    return inmo_fail(error, INMO_EXISTS, "%s exists already; `force` replaces it", path);
}

/* ---- What is at path ---------------------------------------------------------------------------------------- */

enum target { ABSENT, ORDINARY, STREAM, STANDARD_OUTPUT, REFUSED };

static enum target target_of(const char *path, const char **what)
{
    struct stat present, named, output;
    *what = "";
    if (stat(path, &present) != 0)
        return ABSENT;
    /* /dev/stdout is a symbolic link to what standard output is, which may be an ordinary file: a rename would put
     * a file in the place of the link. */
    if (lstat(path, &named) == 0 && S_ISLNK(named.st_mode) && fstat(STDOUT_FILENO, &output) == 0 &&
        output.st_dev == present.st_dev && output.st_ino == present.st_ino)
        return STANDARD_OUTPUT;
    if (S_ISREG(present.st_mode))
        return ORDINARY;
    if (S_ISFIFO(present.st_mode) || S_ISCHR(present.st_mode))
        return STREAM;
    *what = S_ISDIR(present.st_mode)    ? "it is a directory"
            : S_ISBLK(present.st_mode)  ? "it is a block device"
            : S_ISSOCK(present.st_mode) ? "it is a socket"
                                        : "it is not an ordinary file";
    return REFUSED;
}

int inmo_is_written_into(const char *path)
{
    const char *what;
    enum target target = target_of(path, &what);
    return target == STREAM || target == STANDARD_OUTPUT;
}

static enum inmo_status check_target(const char *path, int force, enum target *target, struct inmo_error *error)
{
    const char *what;
    *target = target_of(path, &what);
    if (*target == REFUSED)
        return inmo_fail(error, INMO_IO, "cannot write %s: %s", path, what);
    if (*target == ORDINARY && !force)
        return fail_exists(error, path);
    return INMO_OK;
}

/* The folder of path ("." for none), freed by the caller; NULL when memory is short. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder;
    if (!slash)
        return inmo_copy_string(".");
    folder = inmo_copy_string(path);
    if (folder)
        folder[slash == path ? 1 : slash - path] = 0;
    return folder;
}

enum inmo_status inmo_check_folder_of(const char *path, struct inmo_error *error)
{
    static const char PROBE[] = "/.inmo-probe-XXXXXX";
    enum inmo_status status = INMO_OK;
    struct stat found;
    char *folder = folder_of(path), *probe = NULL;
    int descriptor = -1;

    if (folder)
        probe = inmo_alloc(strlen(folder) + sizeof PROBE, 1);
    if (!probe) {
        status = inmo_fail_memory(error, "a file name");
    } else if (stat(folder, &found) != 0) {
        status = inmo_fail(error, INMO_IO, "cannot write %s: %s: %s", path, folder, strerror(errno));
    } else if (!S_ISDIR(found.st_mode)) {
        status = inmo_fail(error, INMO_IO, "cannot write %s: %s is not a directory", path, folder);
    } else {
        /* access() says yes where a quota or a read-only mount says no; a file that was made says the truth. */
        strcpy(probe, folder);
        strcat(probe, PROBE);
        descriptor = mkstemp(probe);
        if (descriptor < 0)
            status = inmo_fail(error, INMO_IO, "cannot write in %s: %s", folder, strerror(errno));
    }
    if (descriptor >= 0) {
        close(descriptor);
        unlink(probe);
    }
    inmo_free(probe);
    inmo_free(folder);
    return status;
}

enum inmo_status inmo_new_file_check(const char *path, int force, struct inmo_error *error)
{
    enum target target;
    enum inmo_status status = check_target(path, force, &target, error);
    if (status == INMO_OK && (target == ABSENT || target == ORDINARY))
        status = inmo_check_folder_of(path, error);
    return status;
}

/* ---- The file aside ----------------------------------------------------------------------------------------- */

/* NAME.inmo-part-<digits> and NAME.inmo-part-<digits>-<digits>. */
int inmo_is_aside_of(const char *candidate, const char *name)
{
    size_t length = strlen(name);
    const char *c = candidate + length;
    if (strncmp(candidate, name, length) != 0 || strncmp(c, ASIDE, sizeof ASIDE - 1) != 0)
        return 0;
    for (c += sizeof ASIDE - 1; isdigit((unsigned char)*c); c++)
        ;
    if (*c == '-' && isdigit((unsigned char)c[-1]))
        for (c++; isdigit((unsigned char)*c); c++)
            ;
    return !*c && isdigit((unsigned char)c[-1]);
}

/* 1 while the name is the file's. */
static int names_it(int folder, const char *name, int descriptor)
{
    struct stat mine, named;
    return fstat(descriptor, &mine) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

/* What killed runs left of path. A folder that cannot be listed, or a file system without locks, keeps it. */
static void remove_left_behind(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = folder_of(path);
    DIR *stream = folder ? opendir(folder) : NULL;
    struct dirent *entry;
    while (stream && (entry = readdir(stream))) {
        struct stat found;
        int descriptor;
        if (!inmo_is_aside_of(entry->d_name, slash ? slash + 1 : path))
            continue;
        descriptor = openat(dirfd(stream), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        /* Another run may do the same at this moment: only the name of the very file that is locked is removed. */
        if (descriptor >= 0 && fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) &&
            flock(descriptor, LOCK_EX | LOCK_NB) == 0 && names_it(dirfd(stream), entry->d_name, descriptor))
            unlinkat(dirfd(stream), entry->d_name, 0);
        if (descriptor >= 0)
            close(descriptor);
    }
    if (stream)
        closedir(stream);
    inmo_free(folder);
}

/* Makes and locks the file aside; -1 with errno. Another run may take it for left behind before it is locked: then
 * it is made again. */
static int make_aside(struct inmo_new_file *file, size_t size)
{
    int descriptor = -1;
    errno = EEXIST;
    for (int n = 0; n < ATTEMPTS && descriptor < 0 && errno == EEXIST; n++) {
        if (n == 0)
            snprintf(file->aside, size, "%s" ASIDE "%ld", file->path, (long)getpid());
        else /* another thread, or a process of the same number in another container */
            snprintf(file->aside, size, "%s" ASIDE "%ld-%d", file->path, (long)getpid(), n);
        descriptor = open(file->aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (descriptor >= 0 && ((flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) ||
                                !names_it(AT_FDCWD, file->aside, descriptor))) {
            close(descriptor);
            descriptor = -1;
            errno = EEXIST;
        }
    }
    return descriptor;
}

/* ---- Open, write, commit ------------------------------------------------------------------------------------ */

enum inmo_status inmo_new_file_open(struct inmo_new_file *file, const char *path, int force,
                                    struct inmo_error *error)
{
    struct inmo_new_file fresh = {.force = force, .lock = -1};
    size_t size = strlen(path) + sizeof ASIDE + 48;
    int descriptor = -1;
    enum target target = ABSENT;
    enum inmo_status status = check_target(path, force, &target, error);

    *file = (struct inmo_new_file){.lock = -1};
    if (status != INMO_OK)
        return status;
    fresh.path = inmo_copy_string(path);
    if (target == ABSENT || target == ORDINARY)
        fresh.aside = inmo_alloc(size, 1);
    if (!fresh.path || (!fresh.aside && (target == ABSENT || target == ORDINARY))) {
        status = inmo_fail_memory(error, "a file name");
        goto done;
    }
    if (target == STANDARD_OUTPUT) {
        fflush(stdout);
        descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    } else if (target == STREAM) {
        descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    } else {
        remove_left_behind(path);
        descriptor = make_aside(&fresh, size);
    }
    if (descriptor < 0) {
        status = inmo_fail_errno(error, "write", path);
        goto done;
    }
    fresh.stream = fdopen(descriptor, "wb");
    if (!fresh.stream) {
        status = inmo_fail_errno(error, "write", path);
        close(descriptor);
        if (fresh.aside)
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

enum inmo_status inmo_lock_folder(const char *folder, int *lock, struct inmo_error *error)
{
    int in_use;
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0)
        return inmo_fail_errno(error, "open", folder);
    if (flock(*lock, LOCK_EX | LOCK_NB) == 0)
        return INMO_OK;
    in_use = errno == EWOULDBLOCK;
    close(*lock);
    *lock = -1;
    if (in_use)
        return inmo_fail(error, INMO_IO, "%s is in use: another inmo is working there", folder);
    return INMO_OK;
}

static int rename_with(const char *from, const char *to, unsigned flags)
{
#ifdef SYS_renameat2
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags);
#else
    (void)from, (void)to, (void)flags;
    errno = ENOSYS;
    return -1;
#endif
}

/* Everything on the disk, under the name aside. The stream is closed, and a second descriptor keeps the lock. */
static enum inmo_status finish(struct inmo_new_file *file, struct inmo_error *error)
{
    int failed = fflush(file->stream) != 0 || ferror(file->stream);
    /* EINVAL and ENOTSUP: a file system that has nothing to sync. */
    if (!failed && file->aside && fsync(fileno(file->stream)) != 0)
        failed = errno != EINVAL && errno != ENOTSUP;
    if (file->aside)
        file->lock = fcntl(fileno(file->stream), F_DUPFD_CLOEXEC, 3);
    if (fclose(file->stream) != 0)
        failed = 1;
    file->stream = NULL;
    if (failed && !errno)
        errno = EIO;
    return failed ? inmo_fail_errno(error, "write", file->path) : INMO_OK;
}

/* Without force, somebody may have made path since it was looked at, and it is not replaced. A file system that
 * knows neither RENAME_NOREPLACE nor hard links gets a second look instead. With force, keep asks for the old file
 * to stay, under the name aside. */
static int move_into_place(struct inmo_new_file *file, int keep)
{
    const char *what;
    enum target target = target_of(file->path, &what);
    if (target != ABSENT && target != ORDINARY) {
        errno = target == REFUSED ? EISDIR : EEXIST;
        return -1;
    }
    file->moved = INMO_MOVED;
    if (!file->force) {
        if (rename_with(file->aside, file->path, WITHOUT_REPLACING) == 0)
            return 0;
        if (errno != EEXIST && link(file->aside, file->path) == 0)
            return unlink(file->aside), 0;
        if (errno != EEXIST && target != ABSENT)
            errno = EEXIST;
        if (errno == EEXIST) {
            file->moved = INMO_NOT_MOVED;
            return -1;
        }
    } else if (keep && target == ORDINARY && rename_with(file->aside, file->path, EXCHANGING) == 0) {
        file->moved = INMO_EXCHANGED;
        return 0;
    }
    if (rename(file->aside, file->path) == 0)
        return 0;
    file->moved = INMO_NOT_MOVED;
    return -1;
}

static void move_back(struct inmo_new_file *file)
{
    if (file->moved == INMO_EXCHANGED && rename_with(file->aside, file->path, EXCHANGING) == 0)
        file->moved = INMO_NOT_MOVED;
    else if (file->moved == INMO_MOVED && !file->force)
        unlink(file->path);
}

enum inmo_status inmo_new_files_commit(struct inmo_new_file *files, size_t count, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    for (size_t n = 0; n < count && status == INMO_OK; n++)
        status = finish(&files[n], error);
    for (size_t n = 0; n < count && status == INMO_OK; n++)
        if (files[n].aside && move_into_place(&files[n], count > 1) != 0)
            status = errno == EEXIST ? fail_exists(error, files[n].path)
                                     : inmo_fail_errno(error, "write", files[n].path);
    for (size_t n = 0; n < count; n++) {
        char *folder;
        if (status != INMO_OK)
            move_back(&files[n]);
        if (files[n].moved == INMO_MOVED) { /* nothing is left under the name aside */
            inmo_free(files[n].aside);
            files[n].aside = NULL;
        }
        folder = files[n].moved != INMO_NOT_MOVED ? folder_of(files[n].path) : NULL;
        if (folder)
            inmo_sync_folder(folder);
        inmo_free(folder);
        inmo_new_file_abandon(&files[n]);
    }
    return status;
}

enum inmo_status inmo_new_file_commit(struct inmo_new_file *file, struct inmo_error *error)
{
    return inmo_new_files_commit(file, 1, error);
}

void inmo_new_file_abandon(struct inmo_new_file *file)
{
    if (!file->path)
        return;
    if (file->stream)
        fclose(file->stream);
    if (file->aside)
        unlink(file->aside);
    if (file->lock >= 0)
        close(file->lock);
    inmo_free(file->aside);
    inmo_free(file->path);
    *file = (struct inmo_new_file){.lock = -1};
}
