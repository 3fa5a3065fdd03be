/* store_events.c - typed events of a file into a store, line by line, in transactions of many. Memory is that of
 * one transaction, however long the file is. */
#include "server/events.h"
#include "server/store.h"

#include "base/memory.h"
#include "base/status.h"

#include <string.h>

enum { TOGETHER = 5000 };

/* Events that wait for their transaction, with their texts one after the other. */
struct batch {
    struct store_change change[TOGETHER];
    size_t place[TOGETHER][4]; /* of user, item, type and comment: the text moves while it grows */
    size_t count;
    struct inmo_text text;
    int64_t added, done;
    uint64_t bad;
};

static size_t keep(struct batch *batch, const char *text)
{
    size_t at = batch->text.length;
    inmo_text_add(&batch->text, text, strlen(text) + 1);
    return at;
}

static int take(void *context, const struct event *event)
{
    struct batch *batch = context;
    size_t *place = batch->place[batch->count];
    place[0] = keep(batch, event->user);
    place[1] = keep(batch, event->item);
    place[2] = keep(batch, event->type);
    place[3] = keep(batch, event->comment);
    batch->change[batch->count++] =
        (struct store_change){.deed = STORE_ADD_FEEDBACK, .feedback = {.time = event->time}};
    return batch->count < TOGETHER;
}

static enum inmo_status flush(struct store *store, struct batch *batch, const struct inmo_hooks *hooks,
                              struct inmo_error *error)
{
    struct inmo_progress progress = {.stage = "importing", .unit = "events"};
    enum inmo_status status = INMO_OK;

    for (size_t n = 0; n < batch->count && !batch->text.failed; n++) {
        struct store_feedback *feedback = &batch->change[n].feedback;
        feedback->user = batch->text.data + batch->place[n][0];
        feedback->item = batch->text.data + batch->place[n][1];
        feedback->type = batch->text.data + batch->place[n][2];
        feedback->comment = batch->text.data + batch->place[n][3];
    }
    if (batch->text.failed)
        status = inmo_fail_memory(error, "an import");
    else if (inmo_is_interrupted(hooks))
        status = inmo_fail(error, INMO_INTERRUPTED,
                           "the import was stopped after %lld events; starting it again goes on",
                           (long long)batch->done);
    else if (batch->count)
        status = store_write(store, batch->change, batch->count, error);
    for (size_t n = 0; !status && n < batch->count; n++)
        batch->added += batch->change[n].affected;
    if (!status) {
        batch->done += (int64_t)batch->count;
        batch->count = batch->text.length = 0;
        progress.done = (double)batch->done;
        inmo_report_progress(hooks, &progress);
    }
    return status;
}

static enum inmo_status judge(const struct events *events, const struct store_lines *lines, struct batch *batch,
                              enum events_result result, struct inmo_error *error)
{
    if (result == EVENTS_MEMORY)
        return inmo_fail_memory(error, "an import");
    if (result == EVENTS_BAD && batch->bad++ >= events->options->skip_bad)
        return inmo_fail(error, INMO_INPUT, "%s:%lld: %s", lines->name, (long long)events->lines, events->why);
    return INMO_OK;
}

static void tell(const struct events *events, const char *name, const struct inmo_hooks *hooks)
{
    int has_types = !events->is_csv || events->column[EVENTS_TYPE] >= 0;
    int has_ratings = events->is_csv && events->column[EVENTS_RATING] >= 0 && !events->options->keep_all_ratings;
    inmo_note(hooks, INMO_NOTE, "reading %s %s%s%s%s", name,
              has_types ? "with the types of its events" : "with its ratings",
              has_ratings ? "; low ratings are " : "",
              !has_ratings        ? ""
              : *events->low_type ? "of the type "
                                  : "left out",
              has_ratings ? events->low_type : "");
}

/* What low ratings are: a type that only marks as seen, "seen" itself if it is among them; "": none is. */
static char *type_of_low(const char *seen)
{
    const char *begin = seen ? seen + strspn(seen, " ,") : "";
    char *type = inmo_copy_string(inmo_list_has(seen, "seen", 4) ? "seen" : begin);
    if (type)
        type[strcspn(type, " ,")] = 0;
    return type;
}

enum inmo_status store_import_lines(struct store *store, const struct store_lines *lines,
                                    const struct inmo_read_options *options, const char *type, const char *seen,
                                    const struct inmo_hooks *hooks, int *typed, int64_t *added,
                                    struct inmo_error *error)
{
    struct batch *batch = inmo_alloc_zero(1, sizeof *batch);
    char *low = type_of_low(seen);
    struct events events = {.type = type, .low_type = low};
    enum events_result result = EVENTS_MORE;
    const char *line = NULL;
    size_t length = 0;
    int first = 1;
    enum inmo_status status = batch && low ? INMO_OK : inmo_fail_memory(error, "an import");

    *typed = 1;
    while (!status && *typed) {
        status = lines->next(lines->context, &line, &length, error);
        if (status || !line)
            break;
        *typed = !first || events_begin(&events, line, length, options);
        if (first && *typed)
            tell(&events, lines->name, hooks);
        first = 0;
        for (int part = 0; part < 2 && *typed && !status; part++) { /* the line, and its end */
            const char *data = part ? "\n" : line;
            size_t size = part ? 1 : length, at = 0;
            while (at < size && !status) {
                at += events_feed(&events, data + at, size - at, take, batch, &result);
                status = judge(&events, lines, batch, result, error);
                if (!status && (batch->count == TOGETHER || batch->text.failed))
                    status = flush(store, batch, hooks, error);
            }
        }
    }
    if (!status && *typed && !first)
        status = judge(&events, lines, batch, events_end(&events, take, batch), error);
    if (!status && *typed)
        status = flush(store, batch, hooks, error);
    if (!status && *typed && batch->bad)
        inmo_note(hooks, INMO_WARNING, "passed over %llu bad lines of %s; the last: %s",
                  (unsigned long long)batch->bad, lines->name, events.why);
    if (!status)
        *added = batch->added;
    if (batch)
        inmo_text_free(&batch->text);
    events_free(&events);
    inmo_free(low);
    inmo_free(batch);
    return status;
}
