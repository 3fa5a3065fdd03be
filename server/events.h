/* events.h - lines of events, as they arrive: the body of POST /api/import or a file of `inmo serve --import`.
 * Lines are
 *
 *     JSON    {"FeedbackType": "buy", "UserId": "u", "ItemId": "i", "Timestamp": "..."} or {"user", "item", "type",
 *             "time"}
 *     CSV     with a header that names user and item, and perhaps type and time, separated by commas, semicolons or
 *             tabs; fields in quotes may have separators, quotes and line breaks
 *
 * told apart by the first byte. Memory is that of one line. */
#ifndef INMO_SERVER_EVENTS_H
#define INMO_SERVER_EVENTS_H

#include "base/text.h"

#include "inmo.h"

#include <stdint.h>

enum { EVENTS_ID_LIMIT = 4096, EVENTS_LINE_LIMIT = 1 << 20 };

/* What a line says; the texts live until the next. */
struct event {
    const char *user, *item, *type, *comment; /* comment: "" if there is none */
    int64_t time;                             /* milliseconds; STORE_NO_TIME if there is none */
};

enum events_column {
    EVENTS_USER,
    EVENTS_ITEM,
    EVENTS_TYPE,
    EVENTS_TIME,
    EVENTS_COMMENT,
    EVENTS_RATING,
    EVENTS_COLUMNS
};

/* Begins as {0} with a type. */
struct events {
    const char *type; /* of lines without one */
    /* of lines with a rating that is not positive by the options; "": they are passed over; NULL: ratings do not
     * matter */
    const char *low_type;
    const struct inmo_read_options *options; /* ratings; NULL if low_type is */
    int64_t skip;                            /* lines to pass over */
    int64_t lines;                           /* that have come, the header among them */
    char why[400];                           /* it is bad */
    /* of events.c */
    struct inmo_text line;
    int in_quotes, is_csv, has_header;
    char separator;
    int column[EVENTS_COLUMNS]; /* place in the line, or -1 */
};
void events_free(struct events *events);

enum events_result {
    EVENTS_MORE,  /* all was used */
    EVENTS_PAUSE, /* take asked for it; the rest is to come again */
    EVENTS_BAD,   /* a line is bad (why), and passed over: what follows may come again */
    EVENTS_MEMORY
};
/* Uses up to size bytes, and returns how many. take gets each event, and returns 0 for a pause after it. */
size_t events_feed(struct events *events, const char *data, size_t size,
                   int (*take)(void *context, const struct event *event), void *context,
                   enum events_result *result);
/* The last line may have no end. */
enum events_result events_end(struct events *events, int (*take)(void *context, const struct event *event),
                              void *context);

/* Whether a log is one of typed events, by its first line (without its end) and the options that it is read with:
 * JSON as above, or a column of types, or of ratings, that the header or `columns` names. Then events is ready for
 * all of its lines; else it is as it was. */
int events_begin(struct events *events, const char *line, size_t length, const struct inmo_read_options *options);

#endif
