/* lock.c - one process at a time works on an output (file.h, inmo_lock_output). The lock is a file beside the
 * output that says who holds it, locked by flock: the system drops the lock with the process, also at kill -9, so
 * a file that can be locked is nobody's and is taken over. */
#include "base/file.h"

#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ATTEMPTS = 100 };

/* Whether the open file is still the one at path: its last holder removes it. */
static int is_still_there(int lock, const char *path)
{
    struct stat mine, there;
    return fstat(lock, &mine) == 0 && stat(path, &there) == 0 && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
}

/* "process 4711 on shop3 since 2026-11-17 03:00:01 UTC", in one line. */
static void sign(int lock)
{
    char host[128] = "?", line[256];
    time_t now = time(NULL);
    struct tm utc;
    size_t used;
    gethostname(host, sizeof host - 1);
    used = (size_t)snprintf(line, sizeof line, "process %ld on %s since ", (long)getpid(), host);
    if (gmtime_r(&now, &utc))
        used += strftime(line + used, sizeof line - used, "%Y-%m-%d %H:%M:%S UTC\n", &utc);
    /* who holds it is only for the message of others */
    if (ftruncate(lock, 0) != 0 || pwrite(lock, line, used, 0) < 0)
        return;
}

static enum inmo_status fail_busy(int lock, const char *path, struct inmo_error *error)
{
    char holder[256] = "";
    ssize_t length = pread(lock, holder, sizeof holder - 1, 0);
    holder[length > 0 ? strcspn(holder, "\n") : 0] = 0;
    return inmo_fail(error, INMO_BUSY, "%s is being made by %s", path, *holder ? holder : "another process");
}

enum inmo_status inmo_lock_output(const char *path, struct inmo_lock *lock, struct inmo_error *error)
{
    struct inmo_text text = {0};
    enum inmo_status status = INMO_OK;
    char *name;
    int held = -1;
    *lock = (struct inmo_lock){-1, NULL};
    inmo_text_add(&text, path, strlen(path));
    inmo_text_add(&text, ".lock", 5);
    name = inmo_text_take(&text);
    if (!name)
        return inmo_fail_memory(error, "the lock");
    for (int n = 0; n < ATTEMPTS && held < 0 && !status; n++) {
        held = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (held < 0) {
            status = inmo_fail_errno(error, "make", name);
        } else if (flock(held, LOCK_EX | LOCK_NB) != 0) {
            int in_use = errno == EWOULDBLOCK;
            if (in_use)
                status = fail_busy(held, path, error);
            close(held);
            held = -1;
            if (!in_use) /* a file system without locks */
                break;
        } else if (!is_still_there(held, name)) {
            close(held);
            held = -1;
        }
    }
    if (held >= 0) {
        sign(held);
        *lock = (struct inmo_lock){held, name};
    } else {
        inmo_free(name);
    }
    return status;
}

void inmo_unlock_output(struct inmo_lock *lock)
{
    if (lock->file >= 0) {
        unlink(lock->name); /* while it is locked: who comes next finds it gone and makes its own */
        close(lock->file);
    }
    inmo_free(lock->name);
    *lock = (struct inmo_lock){-1, NULL};
}
