/* events.c - see events.h. */
#include "server/events.h"

#include "server/stamp.h"
#include "server/store.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

enum { FIELDS = 32 };

/* What take is to be called with; bad: the line is, and why is set. */
struct reading {
    struct events *events;
    struct event event;
    int has_event, bad, out_of_memory;
    json_t *object; /* holds the texts of a JSON line */
};

__attribute__((format(printf, 2, 3))) static void fail(struct reading *reading, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    inmo_vformat(reading->events->why, sizeof reading->events->why, format, arguments);
    va_end(arguments);
    reading->bad = 1;
}

void events_free(struct events *events)
{
    inmo_text_free(&events->line);
}

/* ---- One line ------------------------------------------------------------------------------------------------ */

static int is_id(const char *text)
{
    return text && *text && strlen(text) <= EVENTS_ID_LIMIT;
}

static void read_event(struct reading *reading, const char *user, const char *item, const char *type,
                       const char *time, double time_number, const char *comment)
{
    int64_t when = STORE_NO_TIME;

    type = type && *type ? type : reading->events->type;
    if (!is_id(user) || !is_id(item) || strlen(type) > EVENTS_ID_LIMIT) {
        fail(reading, "expected a user and an item of 1 to %d bytes", EVENTS_ID_LIMIT);
    } else if (time && *time ? !stamp_parse(time, strlen(time), &when)
                             : time_number == time_number && !stamp_number(time_number, &when)) {
        fail(reading, "time: found \"%.40s\", expected " STAMP_EXPECTED, time ? time : "a number");
    } else {
        reading->event = (struct event){user, item, type, comment ? comment : "", when};
        reading->has_event = 1;
    }
}

static const char *member(const json_t *object, const char *name, const char *other)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : json_string_value(json_object_get(object, other));
}

static void take_json(struct reading *reading, const char *line, size_t length)
{
    json_error_t wrong = {0};
    const json_t *time;
    enum inmo_status status = inmo_json_parse(line, length, 0, &reading->object, &wrong);

    if (status || !json_is_object(reading->object)) {
        fail(reading, "it is not a JSON object%s%.200s", status ? ": " : "", status ? wrong.text : "");
        return;
    }
    time = json_object_get(reading->object, "Timestamp");
    time = time ? time : json_object_get(reading->object, "time");
    read_event(reading, member(reading->object, "UserId", "user"), member(reading->object, "ItemId", "item"),
               member(reading->object, "FeedbackType", "type"), json_string_value(time),
               json_is_number(time) ? json_number_value(time) : (double)NAN,
               member(reading->object, "Comment", "comment"));
}

/* Cuts the record into fields, in place. Returns how many, or -1 for a quote that is not one. */
static int cut(char *line, char separator, char *field[FIELDS])
{
    int count = 0;
    for (char *at = line; count < FIELDS;) {
        char *to = at;
        field[count++] = at;
        if (*at == '"') {
            for (at++; *at && (*at != '"' || at[1] == '"'); at++) {
                at += *at == '"';
                *to++ = *at;
            }
            if (*at != '"' || (at[1] && at[1] != separator))
                return -1;
            at++;
        } else {
            while (*at && *at != separator)
                at++;
            to = at;
        }
        if (!*at) {
            *to = 0;
            return count;
        }
        at++;
        *to = 0;
    }
    return count;
}

static void name_column(struct events *events, const char *name, int place)
{
    static const char *const role_of[EVENTS_COLUMNS] = {"user", "item", "event", "time", NULL, "rating"};
    const char *role = inmo_column_role(name);

    for (int c = 0; c < EVENTS_COLUMNS; c++)
        if (role && role_of[c] && !strcmp(role, role_of[c]))
            events->column[c] = place;
    if (!strcasecmp(name, "FeedbackType"))
        events->column[EVENTS_TYPE] = place;
    if (!strcasecmp(name, "comment"))
        events->column[EVENTS_COMMENT] = place;
}

static void forget_columns(struct events *events)
{
    for (int c = 0; c < EVENTS_COLUMNS; c++)
        events->column[c] = -1;
}

/* Finds the columns in a header. The separator is the first that gives a user and an item. 0: none does. */
static int read_header(struct events *events, const char *line, char given)
{
    static const char usual[] = {',', '\t', ';', 0};
    const char one[] = {given, 0};
    char *field[FIELDS];
    int found = 0;

    for (const char *separator = given ? one : usual; *separator && !found; separator++) {
        char *copy = inmo_copy_string(line);
        int count = copy ? cut(copy, *separator, field) : 0;
        forget_columns(events);
        for (int n = 0; n < count; n++)
            name_column(events, field[n] + strspn(field[n], " "), n);
        inmo_free(copy);
        events->separator = *separator;
        found = events->column[EVENTS_USER] >= 0 && events->column[EVENTS_ITEM] >= 0;
    }
    events->has_header = 1;
    return found;
}

static int is_low(struct reading *reading, const char *rating)
{
    const struct inmo_read_options *options = reading->events->options;
    char *end;
    double value;

    if (!reading->events->low_type || !rating || !*rating || options->keep_all_ratings)
        return 0;
    value = inmo_real(rating, &end);
    if (*end || !isfinite(value))
        fail(reading, "rating: found \"%.40s\", expected a number", rating);
    return options->min_rating == INMO_AUTO ? value <= 3 : value < options->min_rating;
}

static void take_csv(struct reading *reading, char *line)
{
    struct events *events = reading->events;
    char *field[FIELDS];
    const char *value[EVENTS_COLUMNS], *type;
    int count = cut(line, events->separator, field), low;

    if (count < 0) {
        fail(reading, "a quote stands where none can");
        return;
    }
    for (int c = 0; c < EVENTS_COLUMNS; c++)
        value[c] = events->column[c] >= 0 && events->column[c] < count ? field[events->column[c]] : NULL;
    type = value[EVENTS_TYPE];
    low = is_low(reading, value[EVENTS_RATING]);
    if (low)
        type = events->low_type;
    if (!reading->bad && !(low && !*type))
        read_event(reading, value[EVENTS_USER], value[EVENTS_ITEM], type, value[EVENTS_TIME], (double)NAN,
                   value[EVENTS_COMMENT]);
}

static int is_text(const char *line, size_t length)
{
    size_t step = 0;
    for (const unsigned char *c = (const unsigned char *)line; (size_t)((const char *)c - line) < length; c += step)
        if (!*c || !(step = inmo_utf8_length(c)))
            return 0;
    return 1;
}

/* The line that has come whole. */
static void take_line(struct reading *reading)
{
    struct events *events = reading->events;
    char *line = events->line.data;
    size_t length = events->line.length;

    events->lines++;
    events->line.length = 0;
    if (length && line[length - 1] == '\r')
        line[--length] = 0;
    if (!is_text(line, length)) {
        fail(reading, "expected UTF-8 text without zero bytes");
        return;
    }
    if (events->lines == 1 && !events->has_header)
        events->is_csv = length && *line != '{';
    if (events->is_csv && !events->has_header) {
        if (!read_header(events, line, 0))
            fail(reading, "expected a CSV header that names user and item (and type, time), or JSON lines");
    } else if (length && events->lines > events->skip) {
        if (events->is_csv)
            take_csv(reading, line);
        else
            take_json(reading, line, length);
    }
}

/* ---- Pieces -------------------------------------------------------------------------------------------------- */

static enum events_result finish_line(struct events *events, int (*take)(void *, const struct event *),
                                      void *context)
{
    struct reading reading = {.events = events};
    enum events_result result = EVENTS_MORE;

    take_line(&reading);
    if (reading.bad)
        result = EVENTS_BAD;
    else if (reading.has_event && !take(context, &reading.event))
        result = EVENTS_PAUSE;
    json_decref(reading.object);
    return result;
}

size_t events_feed(struct events *events, const char *data, size_t size,
                   int (*take)(void *context, const struct event *event), void *context, enum events_result *result)
{
    size_t at = 0;

    *result = EVENTS_MORE;
    while (at < size && *result == EVENTS_MORE) {
        size_t end = at;
        while (end < size && (data[end] != '\n' || events->in_quotes)) {
            events->in_quotes ^= data[end] == '"' && events->is_csv;
            end++;
        }
        inmo_text_add(&events->line, data + at, end - at);
        at = end < size ? end + 1 : end;
        if (events->line.failed) {
            *result = EVENTS_MEMORY;
        } else if (events->line.length > EVENTS_LINE_LIMIT) {
            inmo_format(events->why, sizeof events->why, "it is longer than %d bytes", EVENTS_LINE_LIMIT);
            events->line.length = 0;
            *result = EVENTS_BAD;
        } else if (end < size) {
            *result = finish_line(events, take, context);
        }
    }
    return at;
}

enum events_result events_end(struct events *events, int (*take)(void *context, const struct event *event),
                              void *context)
{
    return events->line.length ? finish_line(events, take, context) : EVENTS_MORE;
}

/* ---- Files --------------------------------------------------------------------------------------------------- */

/* The separator that an option names; 0: by looking; -1: more than one character. */
static int separator_of(const char *text)
{
    static const struct {
        const char *name;
        char separator;
    } known[] = {{"tab", '\t'}, {"\\t", '\t'}, {"comma", ','}, {"semicolon", ';'}, {"bar", '|'}};

    if (!text || !*text)
        return 0;
    for (size_t n = 0; n < sizeof known / sizeof *known; n++)
        if (!strcmp(text, known[n].name))
            return known[n].separator;
    return text[1] || *text == ' ' ? -1 : *text;
}

/* Takes the columns from an option, "user,item,-,event". The first line may name them all the same. */
static int take_columns(struct events *events, const char *names, const char *line, int separator,
                        const char *header)
{
    char *copy = inmo_copy_string(names), *field[FIELDS];
    int count = copy ? cut(copy, ',', field) : 0, named = 0;

    forget_columns(events);
    for (int n = 0; n < count; n++)
        name_column(events, field[n] + strspn(field[n], " "), n);
    inmo_free(copy);
    for (const char *c = "\t,;"; *c && !separator; c++)
        separator = strchr(line, *c) ? *c : 0;
    events->separator = (char)separator;
    events->has_header = 1;
    copy = inmo_copy_string(line);
    count = copy ? cut(copy, events->separator, field) : 0;
    for (int n = 0; n < count; n++)
        named |= (n == events->column[EVENTS_USER] || n == events->column[EVENTS_ITEM]) &&
                 inmo_column_role(field[n]) != NULL;
    inmo_free(copy);
    if (!strcmp(header, "yes") || (!strcmp(header, "auto") && named))
        events->skip = 1;
    return events->separator != 0;
}

int events_begin(struct events *events, const char *line, size_t length, const struct inmo_read_options *options)
{
    struct events begun = *events;
    char *first = inmo_alloc(length + 1, 1);
    int separator = separator_of(options->separator), typed = 0;

    if (first) {
        memcpy(first, line, length);
        first[length] = 0;
    }
    begun.options = options;
    begun.is_csv = 1;
    if (!first || strlen(first) != length || separator < 0 ||
        (strcmp(options->format, "auto") && strcmp(options->format, "delimited"))) {
        typed = 0;
    } else if (*first == '{') {
        json_t *object = NULL;
        begun.is_csv = 0;
        typed = !inmo_json_parse(first, length, 0, &object, NULL) && json_is_object(object) &&
                member(object, "UserId", "user") && member(object, "ItemId", "item");
        json_decref(object);
    } else if (options->columns) {
        typed = take_columns(&begun, options->columns, first, separator, options->header);
    } else if (strcmp(options->header, "no")) {
        typed = read_header(&begun, first, (char)separator);
        begun.skip = 1;
    }
    if (typed && begun.is_csv)
        typed = begun.column[EVENTS_USER] >= 0 && begun.column[EVENTS_ITEM] >= 0 &&
                (begun.column[EVENTS_TYPE] >= 0 || begun.column[EVENTS_RATING] >= 0);
    if (typed)
        *events = begun;
    inmo_free(first);
    return typed;
}
