/* entity.h - users, items and feedback as JSON in gorse's shape, in and out; shared by the routes. */
#ifndef INMO_SERVER_ENTITY_H
#define INMO_SERVER_ENTITY_H

#include "server/request.h"

/* Feedback, an item or a user from JSON into a new change; row: its place in the body, negative for a single one.
 * 0: the request has been answered. */
int entity_take_feedback(struct request *request, const json_t *object, enum store_deed deed, int row);
int entity_take_item(struct request *request, const json_t *object, int row);
int entity_take_user(struct request *request, const json_t *object, int row);
/* A time in a member: text or number; *time keeps its value when there is none. 0: answered. */
int entity_take_time(struct request *request, const json_t *object, const char *field, int row, int64_t *time);

void entity_put_feedback(struct inmo_text *out, const struct store_feedback *feedback);
void entity_put_item(struct inmo_text *out, const struct store_item *item);
void entity_put_user(struct inmo_text *out, const struct store_user *user);

/* ,"title":"..." of the item, if it has one. */
void entity_put_title(struct request *request, const char *item);

/* ---- Pages of rows ---- */
enum { ENTITY_PAGE_USUAL = 100, ENTITY_PAGE_MOST = 1000 };
/* "cursor" of the query, also as gorsejs spells it; "" for the first page. */
const char *entity_cursor(const struct request *request);
/* Between two rows of an array, a comma; text begins with "[". */
void entity_separate(struct inmo_text *text);
/* {"Cursor":next,"name":rows]}, or rows alone where name is NULL. */
void entity_answer_rows(struct request *request, const char *name, const struct inmo_text *rows, const char *next);

#endif
