/* store.c - what both kinds of store share: addresses, checks of ids, cursors, long scans in pieces. See store.h.
 * */
#include "server/store_kind.h"

#include "base/memory.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST_ID = 4096 };

/* ---- Addresses ----------------------------------------------------------------------------------------------- */

static int is_postgres(const char *url)
{
    return !strncmp(url, "postgresql://", 13) || !strncmp(url, "postgres://", 11);
}

/* Opens and closes the file, which would drop the locks that SQLite holds on it in this process: not for the file
 * of a store that is open here. */
int store_is_store(const char *url)
{
    char start[16] = {0};
    struct stat found;
    int file, is = is_postgres(url);

    /* A pipe would lose what is read. */
    if (!is && !stat(url, &found) && S_ISREG(found.st_mode) &&
        (file = open(url, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) >= 0) {
        is = read(file, start, sizeof start) == (ssize_t)sizeof start && !memcmp(start, "SQLite format 3", 16);
        close(file);
    }
    return is;
}

enum inmo_status store_open(const char *url, int must_exist, int read_only, struct store **store,
                            struct inmo_error *error)
{
    return is_postgres(url) ? store_postgres_open(url, must_exist || read_only, read_only, store, error)
                            : store_sqlite_open(url, must_exist || read_only, read_only, store, error);
}

void store_close(struct store *store)
{
    if (store)
        store->kind->close(store);
}

int store_is_shared(const struct store *store)
{
    return store->kind->shared;
}

const char *store_name(const struct store *store)
{
    return store->name;
}

enum store_trouble store_trouble(const struct store *store)
{
    return (enum store_trouble)atomic_load(&store->trouble);
}

/* ---- Writing ------------------------------------------------------------------------------------------------- */

static enum inmo_status check_id(const char *what, const char *id, size_t n, struct inmo_error *error)
{
    size_t length = 0;

    if (!id || !*id)
        return inmo_fail(error, INMO_INPUT, "change %zu: the %s is empty", n + 1, what);
    while (id[length] && length <= LONGEST_ID) {
        size_t step = inmo_utf8_length((const unsigned char *)id + length);
        if (!step)
            return inmo_fail(error, INMO_INPUT, "change %zu: the %s is not UTF-8", n + 1, what);
        length += step;
    }
    if (length > LONGEST_ID)
        return inmo_fail(error, INMO_INPUT, "change %zu: the %s is longer than %d bytes", n + 1, what, LONGEST_ID);
    return INMO_OK;
}

static enum inmo_status check_change(const struct store_change *change, size_t n, struct inmo_error *error)
{
    const struct store_feedback *feedback = &change->feedback;
    enum inmo_status status = INMO_OK;

    switch (change->deed) {
    case STORE_ADD_FEEDBACK:
    case STORE_PUT_FEEDBACK:
    case STORE_DELETE_FEEDBACK:
        if (change->deed != STORE_DELETE_FEEDBACK || feedback->type)
            status = check_id("feedback type", feedback->type, n, error);
        if (!status)
            status = check_id("user id", feedback->user, n, error);
        if (!status)
            status = check_id("item id", feedback->item, n, error);
        break;
    case STORE_PUT_ITEM:
    case STORE_DELETE_ITEM: status = check_id("item id", change->item.id, n, error); break;
    case STORE_PUT_USER:
    case STORE_DELETE_USER: status = check_id("user id", change->user.id, n, error); break;
    default: status = inmo_fail(error, INMO_INPUT, "change %zu: unknown kind %d", n + 1, (int)change->deed);
    }
    return status;
}

enum inmo_status store_write(struct store *store, struct store_change *changes, size_t count,
                             struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;

    if (store->read_only)
        status = inmo_fail(error, INMO_USAGE, "%s was opened for reading", store->name);
    for (size_t n = 0; !status && n < count; n++)
        status = check_change(&changes[n], n, error);
    if (!status && count)
        status = store->kind->write(store, changes, count, error);
    return status;
}

enum inmo_status store_bury(struct store *store, int64_t seq, struct inmo_error *error)
{
    if (store->read_only)
        return inmo_fail(error, INMO_USAGE, "%s was opened for reading", store->name);
    return store->kind->bury(store, seq, error);
}

/* ---- Reading ------------------------------------------------------------------------------------------------- */

static enum inmo_status stopped(const struct store *store, struct inmo_error *error)
{
    return inmo_fail(error, INMO_INTERRUPTED, "reading %s was stopped", store->name);
}

enum inmo_status store_changes(struct store *store, int64_t after, int feedback_only, store_change_row *row,
                               void *context, int64_t *last, struct inmo_error *error)
{
    struct store_ask ask = {
        .question = STORE_ASK_CHANGES, .after = after, .feedback_only = feedback_only, .most = STORE_PIECE_ROWS};
    struct store_rows rows = {0};
    int end = 0;
    /* What is changed while we read gets a number after upto and is left to the next call. */
    enum inmo_status status = store->kind->last(store, &ask.upto, error);

    end = ask.upto <= after;
    while (!status && !end) {
        store_rows_clear(&rows);
        status = store->kind->fetch(store, &ask, &rows, &end, error);
        for (size_t n = 0; !status && n < rows.count; n++) {
            if (!row(context, &rows.row[n]))
                status = stopped(store, error);
            ask.after = rows.row[n].seq;
        }
    }
    if (!status && last)
        *last = ask.upto > after ? ask.upto : after;
    store_rows_free(&rows);
    return status;
}

enum inmo_status store_last(struct store *store, int64_t *seq, struct inmo_error *error)
{
    return store->kind->last(store, seq, error);
}

void store_wait(struct store *store, double seconds)
{
    store->kind->wait(store, seconds);
}

void store_wake(struct store *store)
{
    store->kind->wake(store);
}

enum inmo_status store_count(struct store *store, struct store_counts *counts, struct inmo_error *error)
{
    return store->kind->count(store, counts, error);
}

/* ---- Pages: a cursor is a letter for what is paged and where the page before ended ----------------------------
 * */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* The id in base64url without padding: cursors stand in addresses. */
static void id_cursor(char kind, const char *id, char cursor[STORE_CURSOR])
{
    size_t length = strlen(id), at = 0;

    cursor[at++] = kind;
    for (size_t n = 0; n < length; n += 3) {
        uint32_t three = 0;
        size_t some = length - n < 3 ? length - n : 3;
        for (size_t b = 0; b < 3; b++)
            three = three << 8 | (b < some ? (unsigned char)id[n + b] : 0u);
        for (size_t d = 0; d <= some; d++)
            cursor[at++] = digits[three >> (18 - 6 * d) & 63];
    }
    cursor[at] = 0;
}

/* Returns 0 if the cursor is none. id has room for STORE_CURSOR bytes. */
static int cursor_id(char kind, const char *cursor, char *id)
{
    size_t length = strlen(cursor), at = 0;
    uint32_t bits = 0;
    int have = 0;

    *id = 0;
    if (!length)
        return 1;
    if (length >= STORE_CURSOR || cursor[0] != kind)
        return 0;
    for (size_t n = 1; n < length; n++) {
        const char *digit = strchr(digits, cursor[n]);
        if (!digit)
            return 0;
        bits = bits << 6 | (uint32_t)(digit - digits);
        have += 6;
        if (have >= 8) {
            have -= 8;
            id[at++] = (char)(bits >> have & 255);
            if (!id[at - 1])
                return 0;
        }
    }
    id[at] = 0;
    for (size_t n = 0, step; n < at; n += step)
        if (!(step = inmo_utf8_length((const unsigned char *)id + n)))
            return 0;
    return at > 0 && at <= LONGEST_ID;
}

static int cursor_seq(const char *cursor, int64_t *seq)
{
    char *end;

    *seq = 0;
    if (!*cursor)
        return 1;
    if (cursor[0] != 'f' || cursor[1] < '0' || cursor[1] > '9' || strlen(cursor) > 20)
        return 0;
    *seq = strtoll(cursor + 1, &end, 10);
    return !*end && *seq > 0;
}

static enum inmo_status bad_cursor(struct inmo_error *error)
{
    return inmo_fail(error, INMO_USAGE, "this cursor is none that an earlier page ended with");
}

static int page_size(int most)
{
    return most < 1 ? 1 : most > STORE_PAGE_MOST ? STORE_PAGE_MOST : most;
}

enum inmo_status store_users(struct store *store, const char *cursor, int most,
                             int (*row)(void *context, const struct store_user *user), void *context,
                             char next[STORE_CURSOR], struct inmo_error *error)
{
    char id[STORE_CURSOR];
    struct store_ask ask = {.question = STORE_ASK_USERS, .id = id, .most = page_size(most)};
    struct store_rows rows = {0};
    int end = 0;
    enum inmo_status status = cursor_id('u', cursor, id) ? INMO_OK : bad_cursor(error);

    if (!status)
        status = store->kind->fetch(store, &ask, &rows, &end, error);
    for (size_t n = 0; !status && n < rows.count; n++)
        if (!row(context, &rows.row[n].user))
            status = stopped(store, error);
    if (!status && end)
        *next = 0;
    else if (!status)
        id_cursor('u', rows.row[rows.count - 1].user.id, next);
    store_rows_free(&rows);
    return status;
}

enum inmo_status store_items(struct store *store, const char *cursor, int most,
                             int (*row)(void *context, const struct store_item *item), void *context,
                             char next[STORE_CURSOR], struct inmo_error *error)
{
    char id[STORE_CURSOR];
    struct store_ask ask = {.question = STORE_ASK_ITEMS, .id = id, .most = page_size(most)};
    struct store_rows rows = {0};
    int end = 0;
    enum inmo_status status = cursor_id('i', cursor, id) ? INMO_OK : bad_cursor(error);

    if (!status)
        status = store->kind->fetch(store, &ask, &rows, &end, error);
    for (size_t n = 0; !status && n < rows.count; n++)
        if (!row(context, &rows.row[n].item))
            status = stopped(store, error);
    if (!status && end)
        *next = 0;
    else if (!status)
        id_cursor('i', rows.row[rows.count - 1].item.id, next);
    store_rows_free(&rows);
    return status;
}

enum inmo_status store_feedback(struct store *store, const char *type, const char *user, const char *item,
                                const char *cursor, int most,
                                int (*row)(void *context, const struct store_feedback *feedback), void *context,
                                char next[STORE_CURSOR], struct inmo_error *error)
{
    struct store_ask ask = {
        .question = STORE_ASK_FEEDBACK, .type = type, .user = user, .item = item, .most = page_size(most)};
    struct store_rows rows = {0};
    int end = 0;
    enum inmo_status status = cursor_seq(cursor, &ask.after) ? INMO_OK : bad_cursor(error);

    if (!status)
        status = store->kind->fetch(store, &ask, &rows, &end, error);
    for (size_t n = 0; !status && n < rows.count; n++)
        if (!row(context, &rows.row[n].feedback))
            status = stopped(store, error);
    if (!status && end)
        *next = 0;
    else if (!status)
        snprintf(next, STORE_CURSOR, "f%lld", (long long)rows.row[rows.count - 1].seq);
    store_rows_free(&rows);
    return status;
}

enum inmo_status store_user(struct store *store, const char *id,
                            int (*row)(void *context, const struct store_user *user), void *context, int *found,
                            struct inmo_error *error)
{
    struct store_ask ask = {.question = STORE_ASK_USER, .id = id, .most = 1};
    struct store_rows rows = {0};
    int end;
    enum inmo_status status = store->kind->fetch(store, &ask, &rows, &end, error);

    if (!status)
        *found = rows.count > 0;
    if (!status && rows.count && !row(context, &rows.row[0].user))
        status = stopped(store, error);
    store_rows_free(&rows);
    return status;
}

enum inmo_status store_item(struct store *store, const char *id,
                            int (*row)(void *context, const struct store_item *item), void *context, int *found,
                            struct inmo_error *error)
{
    struct store_ask ask = {.question = STORE_ASK_ITEM, .id = id, .most = 1};
    struct store_rows rows = {0};
    int end;
    enum inmo_status status = store->kind->fetch(store, &ask, &rows, &end, error);

    if (!status)
        *found = rows.count > 0;
    if (!status && rows.count && !row(context, &rows.row[0].item))
        status = stopped(store, error);
    store_rows_free(&rows);
    return status;
}
