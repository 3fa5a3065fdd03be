/* store_sqlite.c - opening and closing a store in a file of SQLite: one server at a time, refused when it is not
 * ours or damaged. See store_sqlite.h. */
#include "server/store_sqlite.h"

#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BUSY_MILLISECONDS = 5000 };

/* The reason of the system for a failed read or write of the file or of its log. errno may have changed since, and
 * with it sqlite3_system_errno. */
static int system_reason(sqlite3 *db)
{
    sqlite3_file *log = NULL;
    int reason = 0;

    sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (log && log->pMethods)
        log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &reason);
    if (!reason)
        sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &reason);
    return reason;
}

enum inmo_status store_sqlite_fail(struct store_sqlite *store, sqlite3 *db, const char *verb,
                                   struct inmo_error *error)
{
    int code = db ? sqlite3_extended_errcode(db) : SQLITE_NOMEM;
    const char *text = db ? sqlite3_errmsg(db) : "not enough memory", *path = store->path;
    int reason = db && (code & 255) == SQLITE_IOERR ? system_reason(db) : 0;
    enum store_trouble trouble = STORE_BROKEN;
    enum inmo_status status;

    /* The file system, a quota, a limit on the size of files: FULL for some of them, IOERR for others. */
    if ((code & 255) == SQLITE_FULL || reason == ENOSPC || reason == EDQUOT || reason == EFBIG) {
        trouble = STORE_FULL;
        status = inmo_fail(error, INMO_IO, "cannot %s %s: no space left (%s)", verb, path,
                           reason ? strerror(reason) : text);
    } else {
        switch (code & 255) {
        case SQLITE_NOMEM: status = inmo_fail_memory(error, path); break;
        case SQLITE_NOTADB: status = inmo_fail(error, INMO_FORMAT, "%s is not an event store of inmo", path); break;
        case SQLITE_CORRUPT: status = inmo_fail(error, INMO_FORMAT, "%s is damaged: %s", path, text); break;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            trouble = STORE_AWAY;
            status = inmo_fail(error, INMO_IO, "cannot %s %s: another program is writing to it", verb, path);
            break;
        default:
            status = reason ? inmo_fail(error, INMO_IO, "cannot %s %s: %s", verb, path, strerror(reason))
                            : inmo_fail(error, INMO_IO, "cannot %s %s: %s", verb, path, text);
        }
    }
    atomic_store(&store->common.trouble, (int)trouble);
    return status;
}

enum inmo_status store_sqlite_connect(struct store_sqlite *store, int flags, sqlite3 **db, struct inmo_error *error)
{
    /* FULL: the log is on the disk before a commit returns. What is deleted is overwritten with zeros. */
    static const char settings[] = "PRAGMA synchronous=FULL; PRAGMA secure_delete=ON; PRAGMA temp_store=MEMORY;"
                                   "PRAGMA trusted_schema=OFF;";
    enum inmo_status status = INMO_OK;

    *db = NULL;
    if (sqlite3_open_v2(store->path, db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, NULL))
        status = store_sqlite_fail(store, *db, "open", error);
    if (!status) {
        sqlite3_busy_timeout(*db, BUSY_MILLISECONDS);
        sqlite3_extended_result_codes(*db, 1);
        if (sqlite3_exec(*db, settings, NULL, NULL, NULL))
            status = store_sqlite_fail(store, *db, "open", error);
    }
    if (status) {
        sqlite3_close_v2(*db);
        *db = NULL;
    }
    return status;
}

/* ---- One server at a time -------------------------------------------------------------------------------------
 * A lock of the kernel on a file beside the store: it ends with the process, also by kill -9. The file holds the
 * number of the process, for the message, and stays: removing it could take it from under another server. Not on
 * the store's own file, where SQLite's locks of another kind would be lost when the descriptor is closed. */
static enum inmo_status lock(struct store_sqlite *store, struct inmo_error *error)
{
    size_t length = strlen(store->path);
    char *path = inmo_alloc(length + 6, 1), who[32] = {0};
    enum inmo_status status = path ? INMO_OK : inmo_fail_memory(error, store->path);

    if (!status) {
        memcpy(path, store->path, length);
        memcpy(path + length, ".lock", 6);
        store->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (store->lock < 0)
            status = inmo_fail_errno(error, "open", path);
    }
    if (!status && flock(store->lock, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK) {
            status = inmo_fail_errno(error, "lock", path);
        } else {
            ssize_t got = pread(store->lock, who, sizeof who - 1, 0);
            who[got > 0 ? strspn(who, "0123456789") : 0] = 0;
            status = inmo_fail(error, INMO_EXISTS, "%s is in use by another server (process %s)", store->path,
                               *who ? who : "unknown");
        }
    }
    if (!status) {
        int digits = snprintf(who, sizeof who, "%ld\n", (long)getpid());
        if (ftruncate(store->lock, 0) || pwrite(store->lock, who, (size_t)digits, 0) != digits)
            errno = 0; /* only the message of another server would lack the number */
    }
    inmo_free(path);
    return status;
}

/* ---- Opening and closing ------------------------------------------------------------------------------------- */

static void wait_a_while(struct store *store, double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    (void)store; /* nobody else writes: nothing can come */
    nanosleep(&time, NULL);
}

static void wake(struct store *store)
{
    (void)store;
}

static void close_store(struct store *common)
{
    struct store_sqlite *store = (struct store_sqlite *)common;

    store_sqlite_mover_stop(store);
    store_sqlite_readers_free(store);
    store_sqlite_writer_free(store); /* the last connection: moves the log into the file and removes it */
    store_sqlite_known_free(store);
    if (store->lock >= 0)
        close(store->lock);
    pthread_cond_destroy(&store->reader_free);
    pthread_cond_destroy(&store->wanted);
    pthread_mutex_destroy(&store->readers);
    pthread_mutex_destroy(&store->signal);
    pthread_mutex_destroy(&store->moving);
    pthread_mutex_destroy(&store->known);
    pthread_mutex_destroy(&store->writing);
    inmo_free(store->path);
    inmo_free(store->common.name);
    inmo_free(store);
}

static const struct store_kind kind = {
    .fetch = store_sqlite_fetch,
    .write = store_sqlite_write,
    .last = store_sqlite_last,
    .bury = store_sqlite_bury,
    .count = store_sqlite_count,
    .wait = wait_a_while,
    .wake = wake,
    .close = close_store,
};

static struct store_sqlite *new_store(const char *path, int read_only)
{
    struct store_sqlite *store = inmo_alloc_zero(1, sizeof *store);

    if (!store)
        return NULL;
    store->common.kind = &kind;
    store->common.read_only = read_only;
    store->lock = -1;
    pthread_mutex_init(&store->writing, NULL);
    pthread_mutex_init(&store->known, NULL);
    pthread_mutex_init(&store->moving, NULL);
    pthread_mutex_init(&store->signal, NULL);
    pthread_mutex_init(&store->readers, NULL);
    pthread_cond_init(&store->wanted, NULL);
    pthread_cond_init(&store->reader_free, NULL);
    store->path = inmo_copy_string(path);
    store->common.name = inmo_copy_string(path);
    if (!store->path || !store->common.name) {
        close_store(&store->common);
        store = NULL;
    }
    return store;
}

/* A name that is new lasts through a power cut only when its folder is on the disk. */
static void sync_folder_of(const char *path)
{
    char *copy = inmo_copy_string(path);
    if (copy)
        inmo_sync_folder(dirname(copy));
    inmo_free(copy);
}

enum inmo_status store_sqlite_open(const char *path, int must_exist, int read_only, struct store **result,
                                   struct inmo_error *error)
{
    struct store_sqlite *store = new_store(path, read_only);
    struct stat found;
    int is_new = 0;
    sqlite3 *db = NULL;
    enum inmo_status status = store ? INMO_OK : inmo_fail_memory(error, path);

    if (!status && stat(path, &found)) {
        is_new = errno == ENOENT && !must_exist;
        if (!is_new)
            status = inmo_fail_errno(error, "open", path);
    } else if (!status && !S_ISREG(found.st_mode)) {
        status = inmo_fail(error, INMO_FORMAT, "%s is not an event store of inmo, which is a file", path);
    }
    if (!status && !read_only)
        status = lock(store, error);
    if (!status && read_only) {
        status = store_sqlite_connect(store, SQLITE_OPEN_READONLY, &db, error);
        if (!status)
            status = store_sqlite_schema(store, db, 0, error);
        if (!status)
            status = store_sqlite_load(store, db, 0, error);
        sqlite3_close_v2(db);
    } else if (!status) {
        status = store_sqlite_connect(store, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &store->db, error);
        if (!status)
            status = store_sqlite_schema(store, store->db, 1, error);
        if (!status)
            status = store_sqlite_load(store, store->db, 1, error);
        if (!status)
            status = store_sqlite_writer(store, error);
        if (!status)
            status = store_sqlite_mover(store, error);
        if (!status && is_new)
            sync_folder_of(path);
    }
    if (!status) {
        *result = &store->common;
        store = NULL;
    }
    if (store)
        close_store(&store->common);
    return status;
}
