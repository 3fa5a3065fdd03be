/* ids.c - lists of ids, one per line: histories, allow lists, deny lists. Lines come from input.h, so a list may be
 * compressed and encoded like a log.
 *
 * The limits guard against endless files (a device, a pipe, a decompression bomb), because a list is kept in
 * memory. */
#include "base/memory.h"
#include "base/text.h"
#include "data/input.h"
#include "data/value.h"

#include <string.h>

/* At most INMO_IDS_MOST ids and INMO_IDS_BYTES bytes, as documented in inmo.h and docs/formats-input.md. */
struct list {
    struct inmo_ids shown;  // first: the caller's pointer is to the whole
    const char **id;        // (count)
    char *text;             // the ids, each with a NUL
};

static enum inmo_status fail_line(const char *name, const struct inmo_line *line, struct inmo_error *error)
{
    char fault[INMO_SHOWN];
    int other_encoding;
    if (line->too_long && !memchr(line->text, 0, line->length))
        return inmo_fail(error, INMO_INPUT,
                         "%s:%lld: found a line longer than %d MB, expected an id of at most %d bytes", name,
                         (long long)line->number, INMO_LINE_LIMIT >> 20, INMO_ID_LIMIT);
    if (memchr(line->text, 0, line->length))
        return inmo_fail(error, INMO_INPUT, "%s:%lld: found a NUL byte, expected one id a line", name,
                         (long long)line->number);
    other_encoding = inmo_id_fault(line->text, line->length, "id", fault);
    return inmo_fail(error, INMO_INPUT, "%s:%lld: %s%s", name, (long long)line->number, fault,
                     other_encoding ? INMO_ENCODING_HINT : "");
}

/* All ids, each with a NUL, into text. */
static enum inmo_status gather(struct inmo_input *input, struct inmo_text *text, size_t *count,
                               struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    const char *name = inmo_input_name(input);
    struct inmo_line line = {0};
    size_t bytes = 0, ids = 0;
    for (;;) {
        status = inmo_input_next(input, &line, error);
        if (status != INMO_OK || !line.text)
            break;
        bytes += line.length + 1; /* counts blank lines, too: they may be endless */
        if (bytes > INMO_IDS_BYTES || ids == INMO_IDS_MOST)
            status =
                inmo_fail(error, INMO_INPUT, "%s:%lld: found more than %s in a list of ids, expected at most that",
                          name, (long long)line.number, ids == INMO_IDS_MOST ? "20 million ids" : "256 MB");
        else if (inmo_line_is_blank(&line))
            continue;
        else if (line.too_long || !inmo_id_is_good(line.text, line.length))
            status = fail_line(name, &line, error);
        if (status != INMO_OK)
            break;
        inmo_text_add(text, line.text, line.length);
        inmo_text_add(text, "", 1);
        ids++;
        if (text->failed) {
            status = inmo_fail_memory(error, "a list of ids");
            break;
        }
    }
    if (status == INMO_OK && ids == 0)
        status = inmo_fail(error, INMO_INPUT, "%s is empty, expected one id a line", name);
    *count = ids;
    return status;
}

enum inmo_status inmo_ids_read(const char *path, const char *encoding, struct inmo_ids **ids,
                               struct inmo_error *error)
{
    struct inmo_input *input = NULL;
    struct inmo_text text = {0};
    struct list *list = NULL;
    size_t count = 0;
    enum inmo_status status = inmo_input_open(path, encoding, NULL, &input, error);
    if (status == INMO_OK)
        status = gather(input, &text, &count, error);
    if (status != INMO_OK)
        goto done;
    list = inmo_alloc_zero(1, sizeof *list);
    if (list)
        list->id = inmo_alloc(count, sizeof *list->id);
    if (!list || !list->id) {
        status = inmo_fail_memory(error, "a list of ids");
        goto done;
    }
    list->text = inmo_text_take(&text);
    for (size_t n = 0, at = 0; n < count; n++) {
        list->id[n] = list->text + at;
        at += strlen(list->id[n]) + 1;
    }
    list->shown = (struct inmo_ids){.count = count, .id = list->id};
    *ids = &list->shown;
    list = NULL;
done:
    inmo_ids_free(list ? &list->shown : NULL);
    inmo_text_free(&text);
    inmo_input_close(input);
    return status;
}

void inmo_ids_free(struct inmo_ids *ids)
{
    struct list *list = (struct list *)ids;
    if (!list)
        return;
    inmo_free(list->text);
    inmo_free(list->id);
    inmo_free(list);
}
