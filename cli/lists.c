/* lists.c - see lists.h.
 *
 * Lines for other programs are put together in a buffer of their own: with a call of the stream for each character,
 * writing the lists of everybody would take longer than making them. */
#include "lists.h"

#include <stdlib.h>
#include <string.h>

static int ends_with(const char *text, size_t length, const char *end)
{
    size_t size = strlen(end);
    return length > size && !strncmp(text + length - size, end, size);
}

enum cli_list_form cli_list_form(const char *path, int json)
{
    size_t length = path ? strlen(path) : 0;
    enum cli_list_form form = json ? CLI_JSON_LINES : path ? CLI_PLAIN : CLI_HUMAN;

    if (ends_with(path, length, ".gz"))
        length -= 3;
    else if (ends_with(path, length, ".zst"))
        length -= 4;
    if (ends_with(path, length, ".json"))
        form = CLI_JSON_ARRAY;
    else if (ends_with(path, length, ".jsonl") || ends_with(path, length, ".ndjson"))
        form = CLI_JSON_LINES;
    else if (!json && ends_with(path, length, ".csv"))
        form = CLI_CSV;
    else if (!json && ends_with(path, length, ".tsv"))
        form = CLI_TSV;
    return form;
}

/* Titles of items that came before: everybody's lists have the same items most of the time, and looking
 * one up among all touches memory far apart. */
enum { RECENT = 1 << 16, RECENT_ID = 24 };
struct cli_recent {
    char id[RECENT_ID]; /* "" in an empty place */
    const char *title;
};

enum inmo_status cli_lists_open(struct cli_lists *lists, const char *path, int force, struct inmo_error *error)
{
    enum inmo_status status = cli_output_open(&lists->output, path, force, error);
    char separator = lists->form == CLI_CSV ? ',' : '\t';
    FILE *stream = lists->output.stream;

    if (!status && lists->titles->shown)
        lists->recent = cli_allocate(RECENT, sizeof *lists->recent);
    if (!status && (lists->form == CLI_CSV || lists->form == CLI_TSV)) {
        fprintf(stream, "user%crank%citem%cscore", separator, separator, separator);
        if (lists->titles->shown)
            fprintf(stream, "%ctitle", separator);
        for (int n = 1; n <= lists->because; n++)
            fprintf(stream, "%cbecause_%d%ccontribution_%d", separator, n, separator, n);
        fputc('\n', stream);
    } else if (!status && lists->form == CLI_JSON_ARRAY) {
        fputs("[\n", stream);
    }
    return status;
}

/* The reasons for an item; *why is NULL if none were asked for. */
static enum inmo_status reasons(const struct cli_lists *lists, const char *item, struct inmo_explanation **why,
                                struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    *why = NULL;
    if (lists->because)
        status = lists->explain(lists->context, item, why, error);
    if (!status && *why && (*why)->count > (size_t)lists->because)
        (*why)->count = (size_t)lists->because;
    return status;
}

/* ---- JSON ---------------------------------------------------------------------------------------------------- */

static void put_object(struct cli_lists *lists, json_t *object)
{
    if (lists->form == CLI_JSON_ARRAY && lists->count)
        fputs(",", lists->output.stream);
    cli_json_put(lists->output.stream, object, 0);
    lists->count++;
}

static enum inmo_status put_json(struct cli_lists *lists, const struct cli_recipient *to,
                                 const struct inmo_list *list, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    json_t *object = json_object(), *items = json_array();

    json_object_set_new(object, "user", to->name ? cli_json_text(to->name) : json_null());
    for (size_t n = 0; n < list->count && !status; n++) {
        struct inmo_explanation *why = NULL;
        json_t *item = json_pack("{sI so so}", "rank", (json_int_t)n + 1, "item", cli_json_text(list->entry[n].id),
                                 "score", cli_json_number(list->entry[n].score));
        cli_json_title(item, lists->titles, list->entry[n].id);
        status = reasons(lists, list->entry[n].id, &why, error);
        if (why) {
            json_t *parts = json_array();
            for (size_t p = 0; p < why->count; p++) {
                json_t *part = json_pack("{so so}", "item", cli_json_text(why->part[p].id), "contribution",
                                         cli_json_number(why->part[p].score));
                cli_json_title(part, lists->titles, why->part[p].id);
                json_array_append_new(parts, part);
            }
            json_object_set_new(item, "because", parts);
        }
        json_array_append_new(items, item);
        inmo_explanation_free(why);
    }
    json_object_set_new(object, "items", items);
    json_object_set_new(object, "coverage", cli_json_number(list->coverage));
    json_object_set_new(object, "unknown_items", json_integer(list->unknown_items));
    json_object_set_new(object, "fallback", json_boolean(list->fallback));
    if (status)
        json_decref(object);
    else
        put_object(lists, object);
    return status ? status : cli_check_memory(error);
}

void cli_lists_put_problem(struct cli_lists *lists, const char *name, const struct inmo_error *problem)
{
    char text[CLI_SENTENCE];
    if (lists->form == CLI_JSON_ARRAY || lists->form == CLI_JSON_LINES)
        put_object(lists, json_pack("{so so}", "user", cli_json_text(name), "error",
                                    cli_json_error(problem->code, cli_flags(problem->message, text))));
}

/* ---- Lines --------------------------------------------------------------------------------------------------- */

/* A line that is being put together. */
struct line {
    FILE *stream;
    size_t used;
    char text[1 << 14];
};

static void flush_line(struct line *line)
{
    fwrite(line->text, 1, line->used, line->stream);
    line->used = 0;
}

static void add(struct line *line, char c)
{
    if (line->used == sizeof line->text)
        flush_line(line);
    line->text[line->used++] = c;
}

/* CSV (RFC 4180): in quotes if need be. TSV: tab, line feed, carriage return become \t, \n, \r. */
static void add_text(struct line *line, enum cli_list_form form, const char *text)
{
    if (form == CLI_CSV) {
        int quoted = text[strcspn(text, ",\"\r\n")] != 0 || *text == ' ';
        if (quoted)
            add(line, '"');
        for (; *text; text++) {
            if (*text == '"')
                add(line, '"');
            add(line, *text);
        }
        if (quoted)
            add(line, '"');
        return;
    }
    for (; *text; text++) {
        char letter = *text == '\t' ? 't' : *text == '\n' ? 'n' : *text == '\r' ? 'r' : 0;
        if (letter)
            add(line, '\\');
        add(line, letter ? letter : *text);
    }
}

static void add_number(struct line *line, const char *format, double number)
{
    if (sizeof line->text - line->used < 64)
        flush_line(line);
    line->used += (size_t)snprintf(line->text + line->used, 64, format, number);
}

static void add_rank(struct line *line, size_t rank)
{
    char digits[24];
    int count = 0;
    for (; rank || !count; rank /= 10)
        digits[count++] = (char)('0' + rank % 10);
    while (count > 0)
        add(line, digits[--count]);
}

static const char *title_of(const struct cli_lists *lists, const char *id)
{
    struct cli_recent *recent;
    size_t length = 0;
    uint32_t hash = 2166136261u;

    for (; id[length] && length < RECENT_ID; length++)
        hash = (hash ^ (unsigned char)id[length]) * 16777619u;
    if (!lists->recent || length == RECENT_ID || !length)
        return cli_title(lists->titles, id);
    recent = &lists->recent[(hash ^ hash >> 15) % RECENT];
    if (memcmp(recent->id, id, length + 1)) {
        memcpy(recent->id, id, length + 1);
        recent->title = cli_title(lists->titles, id);
    }
    return recent->title;
}

static enum inmo_status put_lines(struct cli_lists *lists, const struct cli_recipient *to,
                                  const struct inmo_list *list, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    enum cli_list_form form = lists->form;
    char separator = form == CLI_CSV ? ',' : '\t';
    struct line line = {.stream = lists->output.stream};

    for (size_t n = 0; n < list->count && !status; n++) {
        const struct inmo_entry *entry = &list->entry[n];
        struct inmo_explanation *why = NULL;
        status = reasons(lists, entry->id, &why, error);
        add_text(&line, form, to->name ? to->name : "");
        add(&line, separator);
        if (form != CLI_PLAIN) {
            add_rank(&line, n + 1);
            add(&line, separator);
        }
        add_text(&line, form, entry->id);
        add(&line, separator);
        add_number(&line, "%.9g", entry->score);
        if (lists->titles->shown) {
            const char *title = title_of(lists, entry->id);
            add(&line, separator);
            add_text(&line, form, title ? title : "");
        }
        for (size_t p = 0; p < (size_t)lists->because && (form != CLI_PLAIN || (why && p < why->count)); p++) {
            add(&line, separator);
            if (why && p < why->count)
                add_text(&line, form, why->part[p].id);
            add(&line, separator);
            if (why && p < why->count)
                add_number(&line, "%.9g", why->part[p].score);
        }
        add(&line, '\n');
        inmo_explanation_free(why);
    }
    flush_line(&line);
    lists->count++;
    return status;
}

int cli_lists_tell(const struct cli_lists *lists)
{
    return lists->form == CLI_HUMAN || lists->form == CLI_JSON_ARRAY || lists->form == CLI_JSON_LINES;
}

char *cli_list_sentence(const char *name, const struct inmo_query *query, const struct inmo_list *list)
{
    char *who = query->user || name ? cli_format("for %s", query->user ? query->user : name)
                                    : cli_format("for somebody with %zu item%s", query->item_count,
                                                 query->item_count == 1 ? "" : "s");
    char *known = NULL, *sentence;

    if (!query->user && !query->allow && !query->deny)
        known = cli_format(": %zu of %zu items of the history are known",
                           query->item_count - (size_t)list->unknown_items, query->item_count);
    else if (list->unknown_items)
        known = cli_format(": skipped %d unknown item%s of the history, allow and deny lists", list->unknown_items,
                           list->unknown_items == 1 ? "" : "s");
    if (list->fallback)
        sentence = cli_format("%s%s; nothing to go on, so the list is by popularity", who, known ? known : "");
    else
        sentence = cli_format("%s%s; the model uses %.0f %% of the history", who, known ? known : "",
                              100 * list->coverage);
    free(known);
    free(who);
    return sentence;
}

/* ---- For people ---------------------------------------------------------------------------------------------- */

static enum inmo_status put_table(struct cli_lists *lists, const struct cli_recipient *to,
                                  const struct inmo_list *list, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    FILE *stream = lists->output.stream;
    int widest = 0, title_width = 0, decimals = cli_decimals(list->count ? list->entry[0].score : 0);

    for (size_t n = 0; n < list->count; n++) {
        const char *title = cli_title(lists->titles, list->entry[n].id);
        if ((int)strlen(list->entry[n].id) > widest)
            widest = (int)strlen(list->entry[n].id);
        if (title && (int)cli_width(title) > title_width)
            title_width = (int)cli_width(title);
    }
    fprintf(stream, "%s\n", to->sentence);
    for (size_t n = 0; n < list->count && !status; n++) {
        const struct inmo_entry *entry = &list->entry[n];
        const char *title = cli_title(lists->titles, entry->id);
        struct inmo_explanation *why = NULL;
        status = reasons(lists, entry->id, &why, error);
        fprintf(stream, "%4zu  %-*s  %*.*f", n + 1, widest, entry->id, decimals + 5, decimals, entry->score);
        if (title_width) {
            fprintf(stream, "  %s", title ? title : "");
            if (why && why->count)
                fprintf(stream, "%*s", title_width - (title ? (int)cli_width(title) : 0), "");
        }
        for (size_t p = 0; why && p < why->count; p++)
            fprintf(stream, "%s%s %.*f", p ? ", " : "  because of ",
                    cli_title_or_id(lists->titles, why->part[p].id), decimals, why->part[p].score);
        fputc('\n', stream);
        inmo_explanation_free(why);
    }
    lists->count++;
    return status;
}

enum inmo_status cli_lists_put(struct cli_lists *lists, const struct cli_recipient *to,
                               const struct inmo_list *list, struct inmo_error *error)
{
    switch (lists->form) {
    case CLI_HUMAN: return put_table(lists, to, list, error);
    case CLI_JSON_ARRAY:
    case CLI_JSON_LINES: return put_json(lists, to, list, error);
    default: return put_lines(lists, to, list, error);
    }
}

enum inmo_status cli_lists_commit(struct cli_lists *lists, struct inmo_error *error)
{
    if (lists->form == CLI_JSON_ARRAY)
        fputs("]\n", lists->output.stream);
    return cli_output_commit(&lists->output, 1, error);
}

void cli_lists_abandon(struct cli_lists *lists)
{
    free(lists->recent);
    lists->recent = NULL;
    cli_output_abandon(&lists->output);
}
