/* routes_entity.c - users and items: one, many, pages, changes, deletion. */
#include "server/entity.h"
#include "server/route.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

/* Deleting somebody counts as one row, whatever went along. */
static void answer_affected(struct request *request)
{
    enum store_deed deed = request->job.count ? request->change[0].deed : STORE_PUT_ITEM;
    int64_t rows = request->job.affected;
    if (deed == STORE_DELETE_USER || deed == STORE_DELETE_ITEM)
        rows = rows > 0;
    metrics_count(request->server->metrics,
                  deed == STORE_PUT_USER || deed == STORE_DELETE_USER ? METRICS_USERS_CHANGED
                                                                      : METRICS_ITEMS_CHANGED,
                  (uint64_t)rows);
    request_affected(request, rows);
}

/* One object, or an array of them. */
static void put_all(struct request *request, json_type type,
                    int (*take)(struct request *request, const json_t *object, int row))
{
    json_t *body = request_json(request, type), *object;
    size_t n;
    int fine = body != NULL;
    if (type == JSON_OBJECT)
        fine = fine && take(request, body, -1);
    else
        json_array_foreach(body, n, object)
            fine = fine && take(request, object, (int)n);
    if (fine)
        request_write(request, answer_affected);
}

void route_put_user(struct request *request)
{
    put_all(request, JSON_OBJECT, entity_take_user);
}

void route_put_users(struct request *request)
{
    put_all(request, JSON_ARRAY, entity_take_user);
}

void route_put_item(struct request *request)
{
    put_all(request, JSON_OBJECT, entity_take_item);
}

void route_put_items(struct request *request)
{
    put_all(request, JSON_ARRAY, entity_take_item);
}

/* ---- One ----------------------------------------------------------------------------------------------------- */

struct stored {
    struct inmo_text text; /* as JSON */
    int64_t seq;
};

static int put_user_row(void *context, const struct store_user *user)
{
    struct stored *stored = context;
    entity_put_user(&stored->text, user);
    stored->seq = user->seq;
    return 1;
}

static int put_item_row(void *context, const struct store_item *item)
{
    struct stored *stored = context;
    entity_put_item(&stored->text, item);
    stored->seq = item->seq;
    return 1;
}

/* What is stored of the user or the item. 0: answered with an error. The text is the caller's to free. */
static int read_user(struct request *request, struct stored *stored)
{
    struct inmo_error error = {0};
    int found = 0;
    if (store_user(request->server->store, request->param[0], put_user_row, stored, &found, &error))
        request_fail_status(request, &error);
    else if (!found)
        request_fail(request, 404, "NOT_FOUND", NULL, "there is no user %.200s", request->param[0]);
    else
        return 1;
    return 0;
}

static int read_item(struct request *request, struct stored *stored)
{
    struct inmo_error error = {0};
    int found = 0;
    if (store_item(request->server->store, request->param[0], put_item_row, stored, &found, &error))
        request_fail_status(request, &error);
    else if (!found)
        request_fail(request, 404, "NOT_FOUND", NULL, "there is no item %.200s", request->param[0]);
    else
        return 1;
    return 0;
}

static void answer_stored(struct request *request, int (*read)(struct request *request, struct stored *stored))
{
    struct stored stored = {0};
    if (read(request, &stored)) {
        inmo_text_free(&request->out);
        request->out = stored.text;
        request_answer(request, 200);
    } else {
        inmo_text_free(&stored.text);
    }
}

void route_get_user(struct request *request)
{
    answer_stored(request, read_user);
}

void route_get_item(struct request *request)
{
    answer_stored(request, read_item);
}

/* ---- Parts of one -------------------------------------------------------------------------------------------- */

/* What is stored, with the members of patch in place of its own, and its seq; NULL: answered. It replaces
 * request->json. */
static json_t *merged(struct request *request, int (*read)(struct request *request, struct stored *stored),
                      const char *id_field, const json_t *patch, int64_t *seq)
{
    struct stored found = {0};
    json_t *whole = NULL, *id = NULL;

    if (read(request, &found)) {
        if (inmo_json_parse(found.text.data, found.text.length, 0, &whole, NULL) ||
            !(id = json_string(request->param[0])) || json_object_update(whole, (json_t *)patch) ||
            json_object_set(whole, id_field, id)) {
            request_fail_memory(request);
            json_decref(whole);
            whole = NULL;
        }
    }
    json_decref(id);
    inmo_text_free(&found.text);
    *seq = found.seq;
    if (whole) {
        json_decref(request->json);
        request->json = whole;
    }
    return whole;
}

/* Somebody else changed it after it was read: reads it again. Each time another one has come through, so this
 * ends. */
static void answer_or_repeat(struct request *request)
{
    if (request->job.affected)
        answer_affected(request);
    else
        request_again(request);
}

void route_patch_user(struct request *request)
{
    int64_t seq;
    json_t *patch = request_json(request, JSON_OBJECT);
    json_t *whole = patch ? merged(request, read_user, "UserId", patch, &seq) : NULL;
    if (whole && entity_take_user(request, whole, -1)) {
        request->change[0].user.seq = seq;
        request_write(request, answer_or_repeat);
    }
}

/* Writes the item in place of the one with that seq. */
static void replace_item(struct request *request, const json_t *whole, int64_t seq)
{
    if (entity_take_item(request, whole, -1)) {
        request->change[0].item.seq = seq;
        request_write(request, answer_or_repeat);
    }
}

void route_patch_item(struct request *request)
{
    int64_t seq;
    json_t *patch = request_json(request, JSON_OBJECT);
    json_t *whole = patch ? merged(request, read_item, "ItemId", patch, &seq) : NULL;
    if (whole)
        replace_item(request, whole, seq);
}

void route_delete_user(struct request *request)
{
    struct store_change *change = request_change(request);
    if (change) {
        change->deed = STORE_DELETE_USER;
        change->user.id = request->param[0];
        request_write(request, answer_affected);
    }
}

void route_delete_item(struct request *request)
{
    struct store_change *change = request_change(request);
    if (change) {
        change->deed = STORE_DELETE_ITEM;
        change->item.id = request->param[0];
        request_write(request, answer_affected);
    }
}

/* ---- Categories ---------------------------------------------------------------------------------------------- */

/* The item with the category added or removed. */
static void change_category(struct request *request, int add)
{
    int64_t seq;
    json_t *none = request->json = json_object();
    json_t *whole = none ? merged(request, read_item, "ItemId", none, &seq) : NULL;
    json_t *categories = json_object_get(whole, "Categories");
    size_t n = 0;

    if (!none)
        request_fail_memory(request);
    if (!whole)
        return;
    while (n < json_array_size(categories) &&
           strcmp(json_string_value(json_array_get(categories, n)), request->param[1]) != 0)
        n++;
    if (add && n == json_array_size(categories))
        json_array_append_new(categories, json_string(request->param[1]));
    else if (!add && n < json_array_size(categories))
        json_array_remove(categories, n);
    replace_item(request, whole, seq);
}

void route_put_category(struct request *request)
{
    change_category(request, 1);
}

void route_delete_category(struct request *request)
{
    change_category(request, 0);
}

/* ---- Pages --------------------------------------------------------------------------------------------------- */

static int add_user_row(void *context, const struct store_user *user)
{
    entity_separate(context);
    entity_put_user(context, user);
    return 1;
}

static int add_item_row(void *context, const struct store_item *item)
{
    entity_separate(context);
    entity_put_item(context, item);
    return 1;
}

static void get_page(struct request *request, int of_users)
{
    const char *cursor = entity_cursor(request);
    struct inmo_text rows = {0};
    struct inmo_error error = {0};
    char *next = malloc(STORE_CURSOR);
    enum inmo_status status = INMO_OK;
    int64_t most;

    if (!next) {
        request_fail_memory(request);
    } else if (request_number(request, "n", ENTITY_PAGE_USUAL, 1, ENTITY_PAGE_MOST, &most)) {
        inmo_text_add(&rows, "[", 1);
        if (of_users)
            status = store_users(request->server->store, cursor, (int)most, add_user_row, &rows, next, &error);
        else
            status = store_items(request->server->store, cursor, (int)most, add_item_row, &rows, next, &error);
        if (status)
            request_fail_status(request, &error);
        else
            entity_answer_rows(request, of_users ? "Users" : "Items", &rows, next);
    }
    free(next);
    inmo_text_free(&rows);
}

void route_get_users(struct request *request)
{
    get_page(request, 1);
}

void route_get_items(struct request *request)
{
    get_page(request, 0);
}
