/* titles_read.c - a file about items: their ids, what people call them, and further columns (movies.csv,
 * artists.dat, u.item, a product table). Lines come from input.h, so it may be compressed; separator, header and
 * columns are found by looking.
 *
 * A cell that is not UTF-8 is taken for Latin-1: files of titles are old more often than logs, and a wrong accent
 * harms nobody. */
#include "base/idmap.h"
#include "base/text.h"
#include "data/detect.h"
#include "data/titles.h"
#include "data/value.h"

#include <string.h>

/* Guards against endless files: all of it is kept in memory. */
enum { MOST_ROWS = 20000000, CELL_LIMIT = 1 << 16 };
static const size_t most_bytes = (size_t)1 << 30;

/* 1 if a header calls a column of titles so; the id's names are those of a log's item column, and "id". */
static int is_title_name(const char *text, size_t length)
{
    static const char *const name[] = {"title",      "name",        "label",      "product",     "product_name",
                                       "item_name",  "movie_title", "artist",     "artist_name", "track",
                                       "track_name", "song",        "book_title", "description"};
    for (size_t n = 0; n < sizeof name / sizeof *name; n++)
        if (inmo_same_word(text, length, name[n], strlen(name[n])))
            return 1;
    return 0;
}

static int is_id_name(const char *text, size_t length)
{
    return inmo_same_word(text, length, "id", 2) || inmo_role_of_name(text, length) == INMO_ROLE_ITEM;
}

/* Without the spaces around it. */
static struct inmo_field bare(struct inmo_field field)
{
    while (field.length && field.text[0] == ' ')
        field.text++, field.length--;
    while (field.length && field.text[field.length - 1] == ' ')
        field.length--;
    return field;
}

/* Fields come without their quotes; before any other field there is a separator. */
static int is_quoted(const struct inmo_plan *plan, const struct inmo_line *line, struct inmo_field field)
{
    return plan->quotes && field.text > line->text && field.text[-1] == '"';
}

/* Whether the last field of a line is in quotes that the line does not close. */
static int is_open(const struct inmo_plan *plan, const struct inmo_line *line, struct inmo_field last)
{
    return is_quoted(plan, line, last) && last.text + last.length == line->text + line->length;
}

static int has_odd_quotes(const struct inmo_line *line)
{
    int odd = 0;
    for (size_t n = 0; n < line->length; n++)
        odd ^= line->text[n] == '"';
    return odd;
}

/* The first of the usual separators that gives every line of the sample the same number of fields, two at least;
 * else the first that gives every line two at least. A title may have a comma that nobody quoted. */
static int choose_separator(const struct inmo_line *sample, size_t count, struct inmo_plan *plan)
{
    static const char *const usual[] = {"\t", "::", ",", ";", "|"};
    for (int strict = 1; strict >= 0; strict--)
        for (size_t s = 0; s < sizeof usual / sizeof *usual; s++) {
            struct inmo_field field[INMO_COLUMNS_MOST];
            size_t columns = 0, n;
            int open = 0;
            plan->separator_length = strlen(usual[s]);
            memcpy(plan->separator, usual[s], plan->separator_length + 1);
            plan->quotes = *usual[s] != '\t';
            for (n = 0; n < count; n++) {
                size_t found;
                if (open) { /* the line goes on with a quoted title */
                    open = !has_odd_quotes(sample + n);
                    continue;
                }
                found = inmo_split_line(plan, sample + n, field, INMO_COLUMNS_MOST);
                if (found > INMO_COLUMNS_MOST)
                    break;
                open = is_open(plan, sample + n, field[found - 1]);
                if (!open && (found < 2 || (strict && columns > 0 && found != columns)))
                    break;
                columns = !open && (columns == 0 || found < columns) ? found : columns;
            }
            if (n == count && columns > 0) {
                plan->columns.count = (int)columns;
                return 1;
            }
        }
    return 0;
}

static int is_number(struct inmo_field field)
{
    double value;
    return inmo_parse_number(field.text, field.length, &value);
}

/* Adds a cell to the block: quotes undone, at most CELL_LIMIT bytes, always UTF-8, no NUL inside. */
static void add_cell(struct inmo_text *block, struct inmo_field field, int quoted)
{
    struct inmo_field inner = bare(field);
    char text[CELL_LIMIT + 8];
    size_t kept = 0;
    int good = 1;
    for (size_t n = 0; n < inner.length && kept < CELL_LIMIT; n++) {
        if (inner.text[n] == 0)
            continue;
        text[kept++] = inner.text[n];
        if (quoted && inner.text[n] == '"' && n + 1 < inner.length && inner.text[n + 1] == '"')
            n++;
    }
    text[kept] = 0;
    for (size_t n = 0, length; n < kept && good; n += length) {
        length = inmo_utf8_length((const unsigned char *)text + n);
        good = length > 0;
        length += !length;
    }
    for (size_t n = 0; !good && n < kept; n++) {
        unsigned char c = (unsigned char)text[n];
        char two[2] = {(char)(0xc0 | c >> 6), (char)(0x80 | (c & 0x3f))};
        inmo_text_add(block, c < 0x80 ? text + n : two, c < 0x80 ? 1 : 2);
    }
    inmo_text_add(block, text, good ? kept : 0);
    inmo_text_add(block, "", 1);
}

/* Which columns are what, and the head of the block. */
static enum inmo_status begin(const char *name, const struct inmo_line *sample, size_t count,
                              struct inmo_plan *plan, int *id, struct inmo_text *block, struct inmo_error *error)
{
    struct inmo_field field[INMO_COLUMNS_MOST];
    char shown[INMO_SHOWN];
    int title = -1, columns;
    if (!choose_separator(sample, count, plan))
        return inmo_fail(error, INMO_INPUT,
                         "%s: found %s, expected ids and titles with a tab, comma, semicolon, | or :: between",
                         name, inmo_show(shown, sample->text, sample->length));
    columns = plan->columns.count;
    inmo_split_line(plan, sample, field, INMO_COLUMNS_MOST);
    *id = -1;
    for (int c = columns - 1; c >= 0; c--) /* "artist" may be an id or a title, "id" only the one */
        *id = inmo_same_word(bare(field[c]).text, bare(field[c]).length, "id", 2) ? c : *id;
    for (int c = 0; c < columns; c++) {
        struct inmo_field word = bare(field[c]);
        if (*id < 0 && is_id_name(word.text, word.length))
            *id = c;
        else if (title < 0 && c != *id && is_title_name(word.text, word.length))
            title = c;
    }
    plan->header = *id >= 0 || title >= 0;
    /* Names that nobody knows above a column of numbers. */
    if (!plan->header && count > 1 && !is_number(bare(field[0]))) {
        struct inmo_field next[INMO_COLUMNS_MOST];
        inmo_split_line(plan, sample + 1, next, INMO_COLUMNS_MOST);
        plan->header = is_number(bare(next[0]));
    }
    if (*id < 0)
        *id = title == 0 ? 1 : 0;
    if (title < 0)
        title = *id == 0 ? 1 : 0;
    inmo_text_format(block, "%d %d %d", columns, *id, title);
    inmo_text_add(block, "", 1);
    for (int c = 0; c < columns; c++) {
        if (plan->header) {
            add_cell(block, field[c], is_quoted(plan, sample, field[c]));
        } else {
            inmo_text_format(block, c == *id ? "id" : c == title ? "title" : "column%d", c + 1);
            inmo_text_add(block, "", 1);
        }
    }
    return INMO_OK;
}

/* Splits a record, which goes on in the next line while a quote is open. Returns the number of fields in *found. */
static enum inmo_status split(struct inmo_input *input, const struct inmo_plan *plan, struct inmo_line *line,
                              struct inmo_field *field, size_t *found, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    int extended = 1;
    while (!status) {
        *found = inmo_split_line(plan, line, field, INMO_COLUMNS_MOST);
        if (!extended || *found > INMO_COLUMNS_MOST || !is_open(plan, line, field[*found - 1]))
            break;
        status = inmo_input_extend(input, line, &extended, error);
        if (!status && !extended) /* never closed: the text from there to the end of its own line is the field */
            inmo_input_retract(input, line);
    }
    return status;
}

static enum inmo_status gather(struct inmo_input *input, const struct inmo_plan *plan, int id,
                               struct inmo_text *block, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    const char *name = inmo_input_name(input);
    struct inmo_idtable *known = inmo_idtable_new();
    struct inmo_field field[INMO_COLUMNS_MOST];
    struct inmo_line line = {0};
    size_t bytes = 0;
    int32_t rows = 0;
    int header = plan->header;
    if (!known)
        return inmo_fail_memory(error, "the titles");
    while (!(status = inmo_input_next(input, &line, error)) && line.text) {
        struct inmo_field item;
        size_t found, before = block->length;
        int32_t number;
        bytes += line.length + 1;
        if (inmo_line_is_blank(&line) && bytes <= most_bytes)
            continue;
        if (header) {
            header = 0;
            continue;
        }
        if (line.too_long || bytes > most_bytes || rows == MOST_ROWS) {
            status = inmo_fail(error, INMO_INPUT, "%s:%lld: found more than %s, expected a table of items", name,
                               (long long)line.number,
                               line.too_long       ? "8 MB in a line"
                               : rows == MOST_ROWS ? "20 million items"
                                                   : "1 GB");
            break;
        }
        if ((status = split(input, plan, &line, field, &found, error)))
            break;
        item = found > (size_t)id ? bare(field[id]) : (struct inmo_field){"", 0};
        if (found < 2 || !inmo_id_is_good(item.text, item.length)) {
            char shown[INMO_SHOWN];
            status = inmo_fail(error, INMO_INPUT, "%s:%lld: found %s, expected an id in column %d of %d", name,
                               (long long)line.number, inmo_show(shown, line.text, line.length), id + 1,
                               plan->columns.count);
            break;
        }
        number = inmo_idtable_intern(known, item.text, item.length);
        if (number == rows) { /* of an item that is there twice, the first line counts */
            for (int c = 0; c < plan->columns.count; c++) {
                struct inmo_field cell = (size_t)c < found ? field[c] : (struct inmo_field){"", 0};
                /* More fields than columns: an unquoted separator in the last one, so it has the rest. */
                int quoted = (size_t)c < found && is_quoted(plan, &line, cell);
                if (c + 1 == plan->columns.count && found > (size_t)plan->columns.count && !quoted)
                    cell.length = (size_t)(line.text + line.length - cell.text);
                add_cell(block, c == id ? item : cell, quoted);
            }
            rows++;
        }
        if (number < 0 || block->failed) {
            block->length = before;
            status = inmo_fail_memory(error, "the titles");
            break;
        }
    }
    if (!status && rows == 0)
        status = inmo_fail(error, INMO_INPUT, "%s: found no items, expected ids and titles", name);
    inmo_idtable_free(known);
    return status;
}

enum inmo_status inmo_titles_read(const char *path, const char *encoding, struct inmo_titles **titles,
                                  struct inmo_error *error)
{
    struct inmo_input *input = NULL;
    struct inmo_text block = {0};
    struct inmo_plan plan = {0};
    struct inmo_line sample[INMO_SAMPLE_LINES];
    size_t count = 0, size;
    int id = 0;
    char *text;
    enum inmo_status status = inmo_input_open(path, encoding, NULL, &input, error);
    if (!status)
        status = inmo_input_peek(input, sample, INMO_SAMPLE_LINES, &count, error);
    if (!status && count == 0)
        status = inmo_fail(error, INMO_INPUT, "%s is empty, expected ids and titles", inmo_input_name(input));
    if (!status)
        status = begin(inmo_input_name(input), sample, count, &plan, &id, &block, error);
    if (!status)
        status = gather(input, &plan, id, &block, error);
    if (!status) {
        size = block.length;
        text = inmo_text_take(&block);
        status = text ? inmo_titles_make(inmo_input_name(input), text, size, titles, error)
                      : inmo_fail_memory(error, "the titles");
    }
    inmo_text_free(&block);
    inmo_input_close(input);
    return status;
}
