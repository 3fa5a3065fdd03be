/* columns.h - the roles of the columns of a line. */
#ifndef INMO_DATA_COLUMNS_H
#define INMO_DATA_COLUMNS_H

#include "base/status.h"

enum inmo_role {
    INMO_ROLE_NONE, /* ignored; its field is stored but never read, which saves a branch per column */
    INMO_ROLE_USER,
    INMO_ROLE_ITEM,
    INMO_ROLE_RATING,
    INMO_ROLE_TIME,
    INMO_ROLE_SPLIT,
    INMO_ROLE_EVENT,
    INMO_ROLE_WEIGHT,
    INMO_ROLES,
};

/* Where the weight of a line comes from: nowhere; it is 1, so that repeats add up; the rating; a column. */
enum inmo_weighing { INMO_UNWEIGHTED, INMO_WEIGHT_COUNT, INMO_WEIGHT_RATING, INMO_WEIGHT_COLUMN };

enum { INMO_COLUMNS_MOST = 256 };

struct inmo_field {
    const char *text;
    size_t length;
};

struct inmo_columns {
    int count;
    uint8_t role[INMO_COLUMNS_MOST];  // (count)
    uint8_t has[INMO_ROLES];
    uint8_t unread_events; /* 1: there is a column of event types, and no option asks for it */
    uint8_t weighing;      /* enum inmo_weighing */
};

/* "user", "item", "rating", "time", "split", "event", "weight" and "-". */
const char *inmo_role_name(enum inmo_role role);

/* Parses --columns. Errors: USAGE, naming what was found and what is allowed. */
enum inmo_status inmo_columns_parse(const char *text, struct inmo_columns *columns, struct inmo_error *error);

/* user,item[,rating[,time]] for a count of 2, 3 or 4. */
void inmo_columns_usual(int count, struct inmo_columns *columns);

/* From the names in a header line; the first column with a well-known name for a role gets it. */
void inmo_columns_from_names(const struct inmo_field *name, int count, struct inmo_columns *columns);

/* Fits the columns to the options: the column of event types is read only if one of them says what they mean. file
 * is for messages. Errors: USAGE if there is no such column. */
enum inmo_status inmo_columns_fit(const char *file, const struct inmo_read_options *options,
                                  struct inmo_columns *columns, struct inmo_error *error);

/* Finds the column of `weight`, the option: by its name in the header (name NULL: there is none), its number from
 * 1, or "rating" for the ratings. "count" is no column unless one is called so: repeats add up. Errors: USAGE. */
enum inmo_status inmo_columns_weigh(const char *file, const char *weight, const struct inmo_field *name, int count,
                                    struct inmo_columns *columns, struct inmo_error *error);

/* The role of a well-known column name. Case, '_', '-', spaces and a trailing ":type" do not matter. */
enum inmo_role inmo_role_of_name(const char *name, size_t length);

/* "user,item,-,time", truncated to the room. */
const char *inmo_columns_show(const struct inmo_columns *columns, char *text, size_t room);

#endif
