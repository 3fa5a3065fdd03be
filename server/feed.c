/* feed.c - see feed.h: which database, and lines into the caller's buffer. A line is copied once; lines that are
 * there already are passed on together. */
#include "server/feed_kind.h"

#include "base/memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENOUGH = 64 << 10 };
static const char FILE_WORD[] = "sqlite:";

static int is_postgres(const char *address)
{
    return !strncmp(address, "postgresql://", 13) || !strncmp(address, "postgres://", 11);
}

int feed_is_database(const char *address)
{
    char start[16] = {0};
    struct stat found;
    int file, is = is_postgres(address) || !strncmp(address, FILE_WORD, sizeof FILE_WORD - 1);

    if (!is && !stat(address, &found) && S_ISREG(found.st_mode) &&
        (file = open(address, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) >= 0) {
        is = read(file, start, sizeof start) == (ssize_t)sizeof start && !memcmp(start, "SQLite format 3", 16);
        close(file);
    }
    return is;
}

static enum inmo_status read_lines(void *context, char *to, size_t room, size_t *got, struct inmo_error *error)
{
    struct feed *feed = context;
    struct inmo_text *text = &feed->text;
    enum inmo_status status = INMO_OK;
    size_t left;

    if (feed->taken == text->length) {
        size_t before = 0;
        text->length = feed->taken = 0;
        while (!status && !feed->ended && text->length < ENOUGH) {
            int may_wait = text->length == 0;
            before = text->length;
            status = feed->next(feed, may_wait, text, error);
            if (!status && text->failed)
                status = inmo_fail_memory(error, "a row of a database");
            if (text->length == before && !may_wait)
                break;
            feed->ended = text->length == before;
        }
    }
    if (!status && feed->ended && feed->rows == 0 && text->length == feed->taken)
        status = inmo_fail(error, INMO_INPUT, "%s: the query gives no rows", feed->name);
    left = text->length - feed->taken;
    *got = status ? 0 : left < room ? left : room;
    memcpy(to, text->data ? text->data + feed->taken : "", *got);
    feed->taken += *got;
    return status;
}

enum inmo_status feed_open(const char *address, const char *query, const struct inmo_hooks *hooks,
                           struct feed **result, const struct inmo_source **source, struct inmo_error *error)
{
    struct feed *feed = NULL;
    size_t word = strncmp(address, FILE_WORD, sizeof FILE_WORD - 1) ? 0 : sizeof FILE_WORD - 1;
    enum inmo_status status = is_postgres(address) ? feed_postgres_open(address, query, hooks, &feed, error)
                                                   : feed_sqlite_open(address + word, query, hooks, &feed, error);

    if (!status) {
        feed->source = (struct inmo_source){feed->name, read_lines, feed};
        *source = &feed->source;
        *result = feed;
    }
    return status;
}

void feed_close(struct feed *feed)
{
    if (!feed)
        return;
    inmo_text_free(&feed->text);
    feed->close(feed);
}
