/* detect.h - decides how to read a file, from the options and its first lines. */
#ifndef INMO_DATA_DETECT_H
#define INMO_DATA_DETECT_H

#include "base/status.h"
#include "data/columns.h"
#include "data/input.h"

enum inmo_layout { INMO_LAYOUT_DELIMITED, INMO_LAYOUT_LIST, INMO_LAYOUT_JSON };

enum { INMO_SAMPLE_LINES = 50, INMO_SEPARATOR_MOST = 7 };

struct inmo_plan {
    enum inmo_layout layout;
    char separator[INMO_SEPARATOR_MOST + 1];
    size_t separator_length;
    int quotes; /* "..." may enclose a field: everywhere except in tab-separated text */
    int header; /* number of non-blank lines before the first interaction */
    struct inmo_columns columns;
};

/* sample: the first non-blank lines, at least one. name is for messages. Errors: INPUT (undecidable; says which
 * option to give), USAGE (an option that does not fit). */
enum inmo_status inmo_plan_make(const char *name, const struct inmo_read_options *options,
                                const struct inmo_line *sample, size_t count, struct inmo_plan *plan,
                                struct inmo_error *error);

/* "tab-separated user,item,rating without header", for the log. */
const char *inmo_plan_show(const struct inmo_plan *plan, char *text, size_t room);

/* Splits a line at the separator, respecting quotes but not removing them. Stores at most `most` fields and returns
 * their total number. Doubled quotes stay doubled. An unclosed quote extends to the end of the line. */
size_t inmo_split_line(const struct inmo_plan *plan, const struct inmo_line *line, struct inmo_field *field,
                       size_t most);

/* The roles of the keys of a JSON object; weight: the option, or NULL. Errors: INPUT without a user and an item. */
enum inmo_status inmo_json_columns(const char *name, const char *weight, const struct inmo_line *line,
                                   struct inmo_columns *columns, struct inmo_error *error);

#endif
