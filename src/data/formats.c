/* formats.c - the layouts that are not fields with a separator: lists, and JSON lines.
 *
 *     list    user item item ...      a line a user, spaces or tabs between (LightGCN's files)
 *     json    {"user_id": "...", "business_id": "...", "stars": 4.0, "date": "..."}
 *             an object a line (Yelp, Amazon)
 *
 * Lists cost what delimited text costs; JSON is parsed whole, review text included, at jansson's speed. */
#include "data/record.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The next word; length 0 at the end of the line. */
static struct inmo_field next_word(const char **at, const char *end)
{
    struct inmo_field word;
    while (*at < end && (**at == ' ' || **at == '\t'))
        ++*at;
    word.text = *at;
    while (*at < end && **at != ' ' && **at != '\t')
        ++*at;
    word.length = (size_t)(*at - word.text);
    return word;
}

static enum inmo_status add_list(struct inmo_reader *reader, const struct inmo_line *line, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    const char *end = line->text + line->length, *at = line->text;
    struct inmo_field user = next_word(&at, end), item;
    const struct inmo_values values = {.weight = 1};
    const char *items = at;
    int good;
    /* Check all before adding any, so that a bad line adds nothing. */
    status = inmo_record_check_id(reader, line->number, &user, INMO_ROLE_USER, &good, error);
    while (good && (item = next_word(&at, end)).length > 0)
        status = inmo_record_check_id(reader, line->number, &item, INMO_ROLE_ITEM, &good, error);
    for (at = items; good && status == INMO_OK && (item = next_word(&at, end)).length > 0;)
        status = inmo_record_keep(reader, &user, &item, &values, error);
    return status;
}

enum inmo_status inmo_read_list(struct inmo_reader *reader, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_line line = {0};
    for (;;) {
        status = inmo_input_next(reader->input, &line, error);
        if (status != INMO_OK || !line.text)
            break;
        if (inmo_line_is_blank(&line))
            continue;
        reader->log->lines++;
        status = line.too_long ? inmo_record_too_long(reader, line.number, error) : add_list(reader, &line, error);
        if (status != INMO_OK)
            break;
    }
    return status;
}

enum { NUMBER_ROOM = 24 };

/* A string, or an integer formatted into room; NULL text otherwise. */
static struct inmo_field text_of(const json_t *value, char room[NUMBER_ROOM])
{
    struct inmo_field field = {NULL, 0};
    if (json_is_string(value)) {
        field = (struct inmo_field){json_string_value(value), json_string_length(value)};
    } else if (json_is_integer(value)) {
        int length = snprintf(room, NUMBER_ROOM, "%lld", (long long)json_integer_value(value));
        field = (struct inmo_field){room, (size_t)length};
    }
    return field;
}

/* A JSON real needs no text parser. */
static int number_of(const json_t *value, double *number)
{
    char room[NUMBER_ROOM];
    struct inmo_field text = text_of(value, room);
    if (text.text)
        return inmo_parse_number(text.text, text.length, number);
    *number = json_real_value(value);
    return json_is_real(value);
}

static int time_of(const json_t *value, int64_t *time)
{
    char room[NUMBER_ROOM];
    struct inmo_field text = text_of(value, room);
    double number = json_real_value(value);
    if (text.text)
        return inmo_parse_time(text.text, text.length, time);
    if (!json_is_real(value) || fabs(number) >= 0x1p63)
        return 0;
    *time = (int64_t)floor(number);
    return 1;
}

/* The members of an object by role; the first key with a well-known name gets it. weight: the key of the weight,
 * or NULL. */
static void members_by_role(json_t *object, const char *weight, const json_t *member[INMO_ROLES])
{
    const char *key;
    json_t *value;
    memset(member, 0, INMO_ROLES * sizeof *member);
    json_object_foreach(object, key, value) {
        enum inmo_role role = inmo_role_of_name(key, strlen(key));
        int64_t time;
        if (role == INMO_ROLE_NONE && weight && strcmp(key, weight) == 0)
            role = INMO_ROLE_WEIGHT;
        if (role == INMO_ROLE_NONE)
            continue;
        if (!member[role] || (role == INMO_ROLE_TIME && !time_of(member[role], &time) && time_of(value, &time)))
            member[role] = value;
    }
}

/* The object in a line, or NULL with the reason in fault. */
static json_t *load_object(const struct inmo_line *line, char fault[INMO_SHOWN], int *no_memory)
{
    json_error_t why;
    json_t *object = json_loadb(line->text, line->length, JSON_ALLOW_NUL, &why);
    *no_memory = !object && json_error_code(&why) == json_error_out_of_memory;
    if (!object) {
        int other_encoding = json_error_code(&why) == json_error_invalid_utf8;
        snprintf(fault, INMO_SHOWN, "found what is not JSON (%.60s, column %d), expected an object%s", why.text,
                 why.column, other_encoding ? " in UTF-8" INMO_ENCODING_HINT : "");
    } else if (!json_is_object(object)) {
        snprintf(fault, INMO_SHOWN, "found JSON that is not an object, expected an object");
        json_decref(object);
        object = NULL;
    }
    return object;
}

enum inmo_status inmo_json_columns(const char *name, const char *weight, const struct inmo_line *line,
                                   struct inmo_columns *columns, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    const json_t *member[INMO_ROLES];
    char fault[INMO_SHOWN];
    int no_memory;
    json_t *object = load_object(line, fault, &no_memory);
    if (no_memory)
        return inmo_fail_memory(error, "reading JSON");
    if (!object && line->length == 1 && line->text[0] == '{')
        return inmo_fail(error, INMO_INPUT,
                         "%s:%lld: found an object over several lines, expected an object a line; jq -c . writes "
                         "them so",
                         name, (long long)line->number);
    if (!object)
        return inmo_fail(error, INMO_INPUT, "%s:%lld: %s", name, (long long)line->number, fault);
    members_by_role(object, weight, member);
    if (!member[INMO_ROLE_USER] || !member[INMO_ROLE_ITEM]) {
        status = inmo_fail(error, INMO_INPUT, "%s:%lld: found an object without %s, expected one (such as %s)",
                           name, (long long)line->number, member[INMO_ROLE_USER] ? "an item" : "a user",
                           member[INMO_ROLE_USER] ? "business_id" : "user_id");
    } else {
        memset(columns, 0, sizeof *columns);
        for (int role = INMO_ROLE_USER; role < INMO_ROLES; role++) {
            if (member[role]) {
                columns->role[columns->count++] = (uint8_t)role;
                columns->has[role] = 1;
            }
        }
        if (member[INMO_ROLE_WEIGHT])
            columns->weighing = INMO_WEIGHT_COLUMN;
        else
            status = inmo_columns_weigh(
                name, weight && inmo_role_of_name(weight, strlen(weight)) == INMO_ROLE_RATING ? "rating" : weight,
                NULL, 0, columns, error);
    }
    json_decref(object);
    return status;
}

static enum inmo_status add_object(struct inmo_reader *reader, int64_t line, json_t *object,
                                   struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    const uint8_t *has = reader->plan.columns.has;
    const json_t *member[INMO_ROLES];
    struct inmo_field id[INMO_ROLES];
    char room[INMO_ROLES][NUMBER_ROOM];
    struct inmo_values values = {0};
    int good = 1;
    members_by_role(object, reader->options.weight, member);
    for (int role = INMO_ROLE_USER; role <= INMO_ROLE_ITEM && good; role++) {
        id[role] = text_of(member[role], room[role]);
        good = id[role].text != NULL;
        if (good)
            status = inmo_record_check_id(reader, line, &id[role], (enum inmo_role)role, &good, error);
        else
            status = inmo_record_bad(reader, line, error, "found no %s, expected a string or a whole number",
                                     inmo_role_name((enum inmo_role)role));
    }
    if (good && has[INMO_ROLE_RATING] && !number_of(member[INMO_ROLE_RATING], &values.rating)) {
        good = 0;
        status = inmo_record_bad(reader, line, error, "found no rating, expected a finite number");
    }
    if (good && has[INMO_ROLE_TIME] && !time_of(member[INMO_ROLE_TIME], &values.time)) {
        good = 0;
        status = inmo_record_bad(reader, line, error,
                                 "found no time, expected seconds or a date such as 2024-01-31 or "
                                 "2024-01-31T23:59:59Z");
    }
    if (good && has[INMO_ROLE_SPLIT]) {
        struct inmo_field text = text_of(member[INMO_ROLE_SPLIT], room[INMO_ROLE_SPLIT]);
        good = text.text && inmo_parse_part(text.text, text.length, &values.part);
        if (!good)
            status =
                inmo_record_bad(reader, line, error, "found no split, expected 0 or train, 1 or test, 2 or valid");
    }
    if (good && has[INMO_ROLE_EVENT]) {
        struct inmo_field text = text_of(member[INMO_ROLE_EVENT], room[INMO_ROLE_EVENT]);
        good = text.text != NULL;
        if (good)
            values.kind = inmo_record_event(reader, &text);
        else
            status = inmo_record_bad(reader, line, error, "found no type of event, expected a string");
    }
    if (good && has[INMO_ROLE_WEIGHT] && !number_of(member[INMO_ROLE_WEIGHT], &values.weight)) {
        good = 0;
        status = inmo_record_bad(reader, line, error, "found no weight, expected a number of at least 0");
    }
    if (good)
        status = inmo_record_weigh(reader, line, &values, &good, error);
    if (good)
        status = inmo_record_keep(reader, &id[INMO_ROLE_USER], &id[INMO_ROLE_ITEM], &values, error);
    return status;
}

enum inmo_status inmo_read_json(struct inmo_reader *reader, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_line line = {0};
    for (;;) {
        json_t *object = NULL;
        char fault[INMO_SHOWN];
        int no_memory = 0;
        status = inmo_input_next(reader->input, &line, error);
        if (status != INMO_OK || !line.text)
            break;
        if (inmo_line_is_blank(&line))
            continue;
        reader->log->lines++;
        if (line.too_long)
            status = inmo_record_too_long(reader, line.number, error);
        else if ((object = load_object(&line, fault, &no_memory)))
            status = add_object(reader, line.number, object, error);
        else if (no_memory)
            status = inmo_fail_memory(error, "reading JSON");
        else
            status = inmo_record_bad(reader, line.number, error, "%s", fault);
        json_decref(object);
        if (status != INMO_OK)
            break;
    }
    return status;
}
