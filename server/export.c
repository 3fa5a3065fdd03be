/* export.c - GET /api/export: all feedback as CSV that `inmo prepare` and POST /api/import read, page by page,
 * while it is sent. */
#include "server/import.h"
#include "server/route.h"
#include "server/stamp.h"

#include "base/memory.h"

#include <string.h>

enum { ROWS_AT_ONCE = 5000 };

struct export
{
    char cursor[STORE_CURSOR], next[STORE_CURSOR];
    int begun;
};

/* Quoted when it has to be. */
static void put_field(struct inmo_text *text, const char *field)
{
    if (!strpbrk(field, ",\"\r\n")) {
        inmo_text_add(text, field, strlen(field));
        return;
    }
    inmo_text_add(text, "\"", 1);
    for (const char *c = field; *c; c++)
        inmo_text_add(text, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
    inmo_text_add(text, "\"", 1);
}

static int add_row(void *context, const struct store_feedback *feedback)
{
    struct inmo_text *text = context;
    char time[STAMP_SIZE] = "";
    put_field(text, feedback->user);
    inmo_text_add(text, ",", 1);
    put_field(text, feedback->item);
    inmo_text_add(text, ",", 1);
    put_field(text, feedback->type);
    inmo_text_add(text, ",", 1);
    if (feedback->time != STORE_NO_TIME)
        stamp_format(feedback->time, time);
    inmo_text_add(text, time, strlen(time));
    inmo_text_add(text, "\n", 1);
    return 1;
}

int export_more(struct request *request, struct inmo_text *text)
{
    struct export *export = request->stream;
    if (!export->begun)
        inmo_text_add(text, "user,item,type,time\n", 20);
    else if (!*export->cursor)
        return 0;
    export->begun = 1;
    if (store_feedback(request->server->store, request_query(request, "type"), NULL, NULL, export->cursor,
                       ROWS_AT_ONCE, add_row, text, export->next, NULL) ||
        text->failed)
        return -1;
    memcpy(export->cursor, export->next, sizeof export->cursor);
    return 1;
}

void export_free(struct request *request)
{
    inmo_free(request->stream);
    request->stream = NULL;
}

void route_export(struct request *request)
{
    request->stream = inmo_alloc_zero(1, sizeof(struct export));
    if (!request->stream) {
        request_fail_memory(request);
        return;
    }
    request->status = 200;
    request->out_type = "text/csv; charset=utf-8";
    request->state = REQUEST_STREAMS;
}
