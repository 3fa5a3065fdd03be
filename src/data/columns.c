/* columns.c - see columns.h. Runs once per file, so linear search is enough. */
#include "data/columns.h"

#include "data/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const role_name[INMO_ROLES] = {"-",    "user",  "item",  "rating",
                                                  "time", "split", "event", "weight"};

/* Column names found in real files, in lower case without '_', '-' and spaces. */
static const struct {
    enum inmo_role role;
    const char *names;
} well_known[] = {
    {INMO_ROLE_USER, " user userid uid username reviewerid reviewer customerid customer visitorid visitor memberid "
                     "member accountid personid profileid sessionid session listenerid readerid authorid "},
    {INMO_ROLE_ITEM, " item itemid iid movieid movie filmid film businessid business asin parentasin productid "
                     "product bookid book isbn songid song trackid track artistid artist albumid articleid article "
                     "newsid venueid venue locationid location poiid placeid gmapid gameid game appid videoid "
                     "recipeid animeid beerid beerbeerid courseid jobid adid sku "},
    {INMO_ROLE_RATING, " rating ratings bookrating stars score overall "},
    {INMO_ROLE_TIME, " time timestamp date datetime unixreviewtime unixtime ts createdat reviewtime "},
    {INMO_ROLE_SPLIT, " split part "},
    {INMO_ROLE_EVENT,
     " event eventtype type action actiontype behavior behaviour behaviortype behaviourtype kind "},
};

const char *inmo_role_name(enum inmo_role role)
{
    return role_name[role];
}

enum inmo_role inmo_role_of_name(const char *name, size_t length)
{
    char plain[40] = " ";
    size_t at = 1;
    for (size_t n = 0; n < length && name[n] != ':'; n++) {
        char c = name[n];
        if (c == '_' || c == '-' || c == ' ')
            continue;
        if (at + 2 >= sizeof plain)
            return INMO_ROLE_NONE;
        plain[at++] = c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
    }
    if (at == 1)
        return INMO_ROLE_NONE;
    plain[at] = ' ';
    plain[at + 1] = 0;
    for (size_t n = 0; n < sizeof well_known / sizeof well_known[0]; n++)
        if (strstr(well_known[n].names, plain))
            return well_known[n].role;
    return INMO_ROLE_NONE;
}

const char *inmo_column_role(const char *name)
{
    enum inmo_role role = inmo_role_of_name(name, strlen(name));
    return role == INMO_ROLE_NONE ? NULL : inmo_role_name(role);
}

static void append(struct inmo_columns *columns, enum inmo_role role)
{
    columns->role[columns->count++] = (uint8_t)role;
    columns->has[role] = 1;
}

void inmo_columns_usual(int count, struct inmo_columns *columns)
{
    memset(columns, 0, sizeof *columns);
    for (int n = 0; n < count; n++)
        append(columns, (enum inmo_role)(INMO_ROLE_USER + n));
}

void inmo_columns_from_names(const struct inmo_field *name, int count, struct inmo_columns *columns)
{
    memset(columns, 0, sizeof *columns);
    for (int n = 0; n < count; n++) {
        enum inmo_role role = inmo_role_of_name(name[n].text, name[n].length);
        append(columns, columns->has[role] ? INMO_ROLE_NONE : role);
    }
}

enum inmo_status inmo_columns_parse(const char *text, struct inmo_columns *result, struct inmo_error *error)
{
    struct inmo_columns columns = {0};
    char shown[INMO_SHOWN];
    for (const char *at = text;; at++) {
        size_t length, whole;
        int role = 0;
        at += strspn(at, " ");
        whole = length = strcspn(at, ",");
        while (length > 0 && at[length - 1] == ' ')
            length--;
        while (role < INMO_ROLES && (strlen(role_name[role]) != length || memcmp(role_name[role], at, length) != 0))
            role++;
        if (role == INMO_ROLES)
            return inmo_fail(error, INMO_USAGE,
                             "`columns` %s: found %s, expected user, item, rating, time, split, event, weight or -",
                             text, inmo_show(shown, at, length));
        if (role != INMO_ROLE_NONE && columns.has[role])
            return inmo_fail(error, INMO_USAGE, "`columns` %s: found %s twice, expected it once", text,
                             role_name[role]);
        if (columns.count == INMO_COLUMNS_MOST)
            return inmo_fail(error, INMO_USAGE, "`columns`: found more than %d columns, expected fewer",
                             INMO_COLUMNS_MOST);
        append(&columns, (enum inmo_role)role);
        at += whole;
        if (*at == 0)
            break;
    }
    if (!columns.has[INMO_ROLE_USER] || !columns.has[INMO_ROLE_ITEM])
        return inmo_fail(error, INMO_USAGE, "`columns` %s: found no %s, expected both user and item", text,
                         columns.has[INMO_ROLE_USER] ? "item" : "user");
    *result = columns;
    return INMO_OK;
}

const char *inmo_columns_show(const struct inmo_columns *columns, char *text, size_t room)
{
    size_t at = 0;
    text[0] = 0;
    for (int n = 0; n < columns->count && at < room; n++)
        at += (size_t)snprintf(text + at, room - at, "%s%s", n ? "," : "", role_name[columns->role[n]]);
    if (at >= room)
        memcpy(text + room - 4, "...", 4);
    return text;
}

enum inmo_status inmo_columns_fit(const char *file, const struct inmo_read_options *options,
                                  struct inmo_columns *columns, struct inmo_error *error)
{
    const char *events = options->positive   ? "positive"
                         : options->seen     ? "seen"
                         : options->negative ? "negative"
                                             : NULL;
    char shown[INMO_SHOWN];
    if (events && !columns->has[INMO_ROLE_EVENT])
        return inmo_fail(error, INMO_USAGE,
                         "`%s` needs a column with the type of event, and %s has none: found %s; `columns` says "
                         "which column is the event",
                         events, file, inmo_columns_show(columns, shown, sizeof shown));
    columns->unread_events = !events && columns->has[INMO_ROLE_EVENT];
    for (int n = 0; n < columns->count && !events; n++)
        if (columns->role[n] == INMO_ROLE_EVENT)
            columns->role[n] = INMO_ROLE_NONE;
    columns->has[INMO_ROLE_EVENT] = events != NULL;
    return INMO_OK;
}

/* Whether a header calls a column so, with or without the type that RecBole's names end in. */
static int is_called(const struct inmo_field *name, const char *text)
{
    size_t length = strlen(text);
    const char *colon = memchr(name->text, ':', name->length);
    return (name->length == length || (colon && (size_t)(colon - name->text) == length)) &&
           memcmp(name->text, text, length) == 0;
}

/* The column of the option, from 0; -1: none. */
static int find_weight(const char *weight, const struct inmo_field *name, int count)
{
    char *end = NULL;
    long number;
    for (int n = 0; name && n < count; n++)
        if (is_called(name + n, weight))
            return n;
    number = strtol(weight, &end, 10);
    return *weight && !*end && number >= 1 && number <= count ? (int)number - 1 : -1;
}

/* The names of the header, or where there is none the roles of the columns; as many as there is room for. */
static const char *show_names(const struct inmo_columns *columns, const struct inmo_field *name, int count,
                              char text[INMO_SHOWN])
{
    size_t length = 0;
    if (!name)
        return inmo_columns_show(columns, text, INMO_SHOWN);
    text[0] = 0;
    for (int n = 0; n < count && length < INMO_SHOWN; n++)
        length += (size_t)snprintf(text + length, INMO_SHOWN - length, "%s%.*s", n ? "," : "", (int)name[n].length,
                                   name[n].text);
    return text;
}

enum inmo_status inmo_columns_weigh(const char *file, const char *weight, const struct inmo_field *name, int count,
                                    struct inmo_columns *columns, struct inmo_error *error)
{
    int at = weight ? find_weight(weight, name, count) : -1;
    char shown[INMO_SHOWN];
    columns->weighing = columns->has[INMO_ROLE_WEIGHT] ? INMO_WEIGHT_COLUMN : INMO_UNWEIGHTED;
    if (!weight || (columns->has[INMO_ROLE_WEIGHT] && strcmp(weight, "weight") == 0))
        return INMO_OK;
    if (columns->has[INMO_ROLE_WEIGHT] && (at < 0 || columns->role[at] != INMO_ROLE_WEIGHT))
        return inmo_fail(error, INMO_USAGE, "`weight` is %s, and `columns` names another column as the weight",
                         weight);
    if (at < 0 && strcmp(weight, "rating") == 0 && columns->has[INMO_ROLE_RATING]) {
        columns->weighing = INMO_WEIGHT_RATING;
        return INMO_OK;
    }
    if (at < 0 && strcmp(weight, "count") == 0) {
        columns->weighing = INMO_WEIGHT_COUNT;
        return INMO_OK;
    }
    if (at < 0)
        return inmo_fail(error, INMO_USAGE,
                         "`weight`: found no column %s in %s (%s), expected a name of its header, a number from 1 "
                         "to %d, rating where there are ratings, or count",
                         weight, file, show_names(columns, name, count, shown), count);
    if (columns->role[at] == INMO_ROLE_RATING) {
        columns->weighing = INMO_WEIGHT_RATING;
        return INMO_OK;
    }
    if (columns->role[at] != INMO_ROLE_NONE && columns->role[at] != INMO_ROLE_WEIGHT)
        return inmo_fail(error, INMO_USAGE,
                         "`weight`: column %s of %s is the %s, expected one with numbers that "
                         "weigh interactions",
                         weight, file, role_name[columns->role[at]]);
    columns->role[at] = INMO_ROLE_WEIGHT;
    columns->has[INMO_ROLE_WEIGHT] = 1;
    columns->weighing = INMO_WEIGHT_COLUMN;
    return INMO_OK;
}
