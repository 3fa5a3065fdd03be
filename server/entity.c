/* entity.c - see entity.h. */
#include "server/entity.h"

#include "server/server.h"
#include "server/stamp.h"

#include <string.h>

enum { COMMENT_LIMIT = 65536, LABELS_LIMIT = 65536, CATEGORIES_LIMIT = 256 };

/* The time that gorse answers with where there is none. */
#define NO_TIME "0001-01-01T00:00:00Z"

/* ---- In ------------------------------------------------------------------------------------------------------ */

/* "row 3: ", or "". */
static const char *place(int row, char text[32])
{
    text[0] = 0;
    if (row >= 0)
        snprintf(text, 32, "row %d: ", row);
    return text;
}

static int is_object(struct request *request, const json_t *value, int row)
{
    char text[32];
    if (json_is_object(value))
        return 1;
    request_fail(request, 400, "BAD_REQUEST", NULL, "%sexpected an object", place(row, text));
    return 0;
}

int entity_take_time(struct request *request, const json_t *object, const char *field, int row, int64_t *time)
{
    const json_t *value = json_object_get(object, field);
    const char *text = json_string_value(value);
    char where[32];
    int fine = 1;

    if (!value || json_is_null(value) || (text && !*text))
        return 1;
    if (text && !strcmp(text, NO_TIME))
        *time = STORE_NO_TIME;
    else if (text)
        fine = stamp_parse(text, strlen(text), time);
    else
        fine = json_is_number(value) && stamp_number(json_number_value(value), time);
    if (!fine)
        request_fail(request, 400, "BAD_REQUEST", field, "%s%s: found %.60s, expected " STAMP_EXPECTED,
                     place(row, where), field, text ? text : "something else");
    return fine;
}

/* A text of limited length; *text is "" where there is none. */
static int take_text(struct request *request, const json_t *object, const char *field, size_t limit, int row,
                     const char **text)
{
    const json_t *value = json_object_get(object, field);
    const char *found = json_string_value(value);
    char where[32];

    *text = "";
    if (!value || json_is_null(value))
        return 1;
    if (!found || strlen(found) > limit) {
        request_fail(request, 400, "BAD_REQUEST", field, "%s%s: expected a string of at most %zu bytes",
                     place(row, where), field, limit);
        return 0;
    }
    *text = found;
    return 1;
}

/* A JSON value as text; *text is usual where there is none. only_strings: an array of at most so many strings. */
static int take_value(struct request *request, const json_t *object, const char *field, size_t only_strings,
                      int row, const char *usual, const char **text)
{
    const json_t *value = json_object_get(object, field);
    char where[32];
    size_t n;
    json_t *one;
    int fine = 1;

    *text = usual;
    if (!value || json_is_null(value))
        return 1;
    if (only_strings) {
        fine = json_is_array(value) && json_array_size(value) <= only_strings;
        json_array_foreach(value, n, one)
            fine &=
                json_is_string(one) && json_string_length(one) > 0 && json_string_length(one) <= REQUEST_ID_LIMIT;
        if (!fine)
            request_fail(request, 400, "BAD_REQUEST", field,
                         "%s%s: expected an array of at most %zu strings of 1 to %d bytes", place(row, where),
                         field, only_strings, REQUEST_ID_LIMIT);
    }
    if (fine && !(*text = request_dump(request, value)))
        fine = 0;
    if (fine && strlen(*text) > LABELS_LIMIT) {
        request_fail(request, 400, "BAD_REQUEST", field, "%s%s: found more than %d bytes", place(row, where), field,
                     LABELS_LIMIT);
        fine = 0;
    }
    return fine;
}

int entity_take_feedback(struct request *request, const json_t *object, enum store_deed deed, int row)
{
    struct store_change *change;
    struct store_feedback feedback = {.time = STORE_NO_TIME};

    if (!is_object(request, object, row) || !(feedback.type = request_id(request, object, "FeedbackType", row)) ||
        !(feedback.user = request_id(request, object, "UserId", row)) ||
        !(feedback.item = request_id(request, object, "ItemId", row)) ||
        !take_text(request, object, "Comment", COMMENT_LIMIT, row, &feedback.comment) ||
        !entity_take_time(request, object, "Timestamp", row, &feedback.time) || !(change = request_change(request)))
        return 0;
    if (feedback.time == STORE_NO_TIME)
        feedback.time = stamp_now();
    change->deed = deed;
    change->feedback = feedback;
    return 1;
}

int entity_take_item(struct request *request, const json_t *object, int row)
{
    struct store_change *change;
    struct store_item item = {.time = STORE_NO_TIME};
    const json_t *hidden = json_object_get(object, "IsHidden");

    if (!is_object(request, object, row) || !(item.id = request_id(request, object, "ItemId", row)))
        return 0;
    if (hidden && !json_is_null(hidden) && !json_is_boolean(hidden)) {
        request_fail(request, 400, "BAD_REQUEST", "IsHidden", "IsHidden: expected true or false");
        return 0;
    }
    item.hidden = json_is_true(hidden);
    if (!entity_take_time(request, object, "Timestamp", row, &item.time) ||
        !take_value(request, object, "Categories", CATEGORIES_LIMIT, row, "[]", &item.categories) ||
        !take_value(request, object, "Labels", 0, row, "null", &item.labels) ||
        !take_text(request, object, "Comment", COMMENT_LIMIT, row, &item.comment) ||
        !(change = request_change(request)))
        return 0;
    change->deed = STORE_PUT_ITEM;
    change->item = item;
    return 1;
}

int entity_take_user(struct request *request, const json_t *object, int row)
{
    struct store_change *change;
    struct store_user user = {0};

    if (!is_object(request, object, row) || !(user.id = request_id(request, object, "UserId", row)) ||
        !take_value(request, object, "Labels", 0, row, "null", &user.labels) ||
        !take_value(request, object, "Subscribe", CATEGORIES_LIMIT, row, "null", &user.subscribe) ||
        !take_text(request, object, "Comment", COMMENT_LIMIT, row, &user.comment) ||
        !(change = request_change(request)))
        return 0;
    change->deed = STORE_PUT_USER;
    change->user = user;
    return 1;
}

/* ---- Out ----------------------------------------------------------------------------------------------------- */

static void put(struct inmo_text *out, const char *text)
{
    inmo_text_add(out, text, strlen(text));
}

static void put_time(struct inmo_text *out, int64_t time)
{
    char text[STAMP_SIZE];
    put(out, "\"");
    put(out, time != STORE_NO_TIME && stamp_format(time, text) ? text : NO_TIME);
    put(out, "\"");
}

void entity_put_feedback(struct inmo_text *out, const struct store_feedback *feedback)
{
    put(out, "{\"FeedbackType\":");
    inmo_text_json_string(out, feedback->type);
    put(out, ",\"UserId\":");
    inmo_text_json_string(out, feedback->user);
    put(out, ",\"ItemId\":");
    inmo_text_json_string(out, feedback->item);
    put(out, ",\"Timestamp\":");
    put_time(out, feedback->time);
    put(out, ",\"Comment\":");
    inmo_text_json_string(out, feedback->comment);
    put(out, "}");
}

void entity_put_item(struct inmo_text *out, const struct store_item *item)
{
    put(out, "{\"ItemId\":");
    inmo_text_json_string(out, item->id);
    put(out, item->hidden ? ",\"IsHidden\":true" : ",\"IsHidden\":false");
    put(out, ",\"Categories\":");
    put(out, item->categories);
    put(out, ",\"Timestamp\":");
    put_time(out, item->time);
    put(out, ",\"Labels\":");
    put(out, item->labels);
    put(out, ",\"Comment\":");
    inmo_text_json_string(out, item->comment);
    put(out, "}");
}

void entity_put_user(struct inmo_text *out, const struct store_user *user)
{
    put(out, "{\"UserId\":");
    inmo_text_json_string(out, user->id);
    put(out, ",\"Labels\":");
    put(out, user->labels);
    put(out, ",\"Subscribe\":");
    put(out, user->subscribe);
    put(out, ",\"Comment\":");
    inmo_text_json_string(out, user->comment);
    put(out, "}");
}

void entity_put_title(struct request *request, const char *item)
{
    const char *title = ledger_title(live_ledger(request->server->live), item);
    if (title) {
        put(&request->out, ",\"title\":");
        inmo_text_json_string(&request->out, title);
    }
}

/* ---- Pages --------------------------------------------------------------------------------------------------- */

const char *entity_cursor(const struct request *request)
{
    const char *cursor = request_query(request, "cursor");
    cursor = cursor ? cursor : request_query(request, "Cursor");
    return cursor ? cursor : "";
}

void entity_separate(struct inmo_text *text)
{
    if (text->length && text->data[text->length - 1] != '[')
        put(text, ",");
}

/* The cursor stands first in gorse's answers, and is known last. */
void entity_answer_rows(struct request *request, const char *name, const struct inmo_text *rows, const char *next)
{
    if (name) {
        put(&request->out, "{\"Cursor\":");
        inmo_text_json_string(&request->out, next);
        inmo_text_format(&request->out, ",\"%s\":", name);
    }
    inmo_text_add(&request->out, rows->data, rows->length);
    put(&request->out, name ? "]}" : "]");
    request->out.failed |= rows->failed;
    request_answer(request, 200);
}
