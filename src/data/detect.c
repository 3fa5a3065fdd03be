/* detect.c - see detect.h. A few rules in a fixed order over at most 50 lines. Options are never overruled; if
 * the rules cannot decide, the error says which option to give.
 *
 *     1. '{' first: JSON lines.
 *     2. The separator: the first of tab, ::, comma, semicolon, bar, space that cuts most lines into as many
 *        columns as the first line.
 *     3. Spaces and lines of different lengths, or long ones: lists.
 *     4. The header: well-known names, after # or // if need be, or words where the next line has numbers.
 *     5. The columns: --columns, else the header, else user,item[,rating[,time]] by their number, but
 *        user,item,time if all of the third are clearly times. */
#include "data/detect.h"

#include "data/value.h"

#include <stdio.h>
#include <string.h>

/* Names of separators for --separator and messages, in the order they are tried. */
static const struct {
    const char *name, *text;
    int tried;
} separators[] = {{"tab", "\t", 1},  {"::", "::", 1},  {"comma", ",", 1}, {"semicolon", ";", 1}, {"bar", "|", 1},
                  {"space", " ", 1}, {"\\t", "\t", 0}, {"pipe", "|", 0},  {"colon", ":", 0}};
enum { SEPARATORS = sizeof separators / sizeof separators[0] };

/* What the name of a format implies; NULL: to be detected. */
static const struct {
    const char *format;
    enum inmo_layout layout;
    const char *separator, *columns, *header;
} presets[] = {
    {"delimited", INMO_LAYOUT_DELIMITED, NULL, NULL, NULL},
    {"list", INMO_LAYOUT_LIST, " ", NULL, NULL},
    {"inter", INMO_LAYOUT_DELIMITED, "\t", NULL, "yes"},
    {"movielens", INMO_LAYOUT_DELIMITED, "::", "user,item,rating,time", NULL},
    {"gowalla", INMO_LAYOUT_DELIMITED, "\t", "user,time,-,-,item", NULL},
    {"amazon", INMO_LAYOUT_DELIMITED, ",", "user,item,rating,time", NULL},
    {"yelp", INMO_LAYOUT_JSON, NULL, NULL, NULL},
};

static void set_separator(struct inmo_plan *plan, const char *text)
{
    plan->separator_length = strlen(text);
    memcpy(plan->separator, text, plan->separator_length + 1);
    plan->quotes = strcmp(text, "\t") != 0;
}

static enum inmo_status parse_separator(const char *option, struct inmo_plan *plan, struct inmo_error *error)
{
    const char *text = option;
    for (int n = 0; n < SEPARATORS; n++)
        if (strcmp(option, separators[n].name) == 0)
            text = separators[n].text;
    if (!*text || strlen(text) > INMO_SEPARATOR_MOST || strpbrk(text, "\"\r\n")) {
        char shown[INMO_SHOWN];
        return inmo_fail(error, INMO_USAGE,
                         "`separator`: found %s, expected tab, comma, semicolon, bar, space, colon or 1 to %d "
                         "characters other than quotes and line ends",
                         inmo_show(shown, option, strlen(option)), INMO_SEPARATOR_MOST);
    }
    set_separator(plan, text);
    return INMO_OK;
}

/* Number of sample lines with as many columns as the first; 0 if the first has only one. */
static size_t lines_that_agree(const struct inmo_plan *plan, const struct inmo_line *sample, size_t count)
{
    size_t agree = 0, columns = inmo_split_line(plan, &sample[0], NULL, 0);
    for (size_t n = 0; columns > 1 && n < count; n++)
        agree += inmo_split_line(plan, &sample[n], NULL, 0) == columns;
    return agree;
}

/* The first separator on which most lines agree; else the first one in the first line; else tab. */
static void find_separator(struct inmo_plan *plan, const struct inmo_line *sample, size_t count)
{
    const char *chosen = NULL;
    for (int n = 0; n < SEPARATORS; n++) {
        size_t agree;
        if (!separators[n].tried)
            continue;
        set_separator(plan, separators[n].text);
        agree = lines_that_agree(plan, sample, count);
        if (2 * agree > count)
            return;
        if (agree > 0 && !chosen)
            chosen = separators[n].text;
    }
    set_separator(plan, chosen ? chosen : "\t");
}

/* 1 for space-separated lines that are not a table of up to four columns. */
static int looks_like_lists(const struct inmo_plan *plan, const struct inmo_line *sample, size_t count)
{
    size_t columns = inmo_split_line(plan, &sample[0], NULL, 0);
    return strcmp(plan->separator, " ") == 0 && (columns > 4 || lines_that_agree(plan, sample, count) < count);
}

/* user TAB 2010-10-19T23:55:27Z TAB latitude TAB longitude TAB location */
static int looks_like_check_ins(const struct inmo_field *field, size_t columns)
{
    double number;
    int64_t time;
    return columns == 5 && field[1].length >= 19 && field[1].text[10] == 'T' &&
           inmo_parse_time(field[1].text, field[1].length, &time) &&
           inmo_parse_number(field[2].text, field[2].length, &number) &&
           inmo_parse_number(field[3].text, field[3].length, &number);
}

/* 1 if every sample line has a date in the third column, or seconds after 1973 (no rating is that high). */
static int third_is_time(const struct inmo_plan *plan, const struct inmo_line *sample, size_t count)
{
    int all = 1;
    for (size_t n = 0; n < count && all; n++) {
        struct inmo_field field[3];
        int64_t time;
        all = inmo_split_line(plan, &sample[n], field, 3) == 3 &&
              inmo_parse_time(field[2].text, field[2].length, &time) &&
              (time >= 100000000 || memchr(field[2].text + 1, '-', field[2].length - 1));
    }
    return all;
}

/* 1 if every rating, time and split field is valid. */
static int values_parse(const struct inmo_columns *columns, const struct inmo_field *field, size_t count)
{
    double number;
    int64_t time;
    uint8_t part;
    if (count != (size_t)columns->count)
        return 0;
    for (size_t n = 0; n < count; n++) {
        enum inmo_role role = (enum inmo_role)columns->role[n];
        if ((role == INMO_ROLE_RATING && !inmo_parse_number(field[n].text, field[n].length, &number)) ||
            (role == INMO_ROLE_TIME && !inmo_parse_time(field[n].text, field[n].length, &time)) ||
            (role == INMO_ROLE_SPLIT && !inmo_parse_part(field[n].text, field[n].length, &part)))
            return 0;
    }
    return 1;
}

/* 1 if line 1 does not fit the columns but line 2 does. */
static int words_over_numbers(const struct inmo_plan *plan, const struct inmo_columns *columns,
                              const struct inmo_line *sample, size_t count)
{
    struct inmo_field first[INMO_COLUMNS_MOST], second[INMO_COLUMNS_MOST];
    size_t first_count, second_count;
    if (count < 2)
        return 0;
    first_count = inmo_split_line(plan, &sample[0], first, INMO_COLUMNS_MOST);
    second_count = inmo_split_line(plan, &sample[1], second, INMO_COLUMNS_MOST);
    return first_count == second_count && !values_parse(columns, first, first_count) &&
           values_parse(columns, second, second_count);
}

/* Of several columns with a name for times, the first that can be parsed. */
static void take_readable_time(const struct inmo_plan *plan, const struct inmo_field *name,
                               const struct inmo_line *line, struct inmo_columns *columns)
{
    struct inmo_field field[INMO_COLUMNS_MOST];
    int64_t time;
    int chosen = -1;
    if (inmo_split_line(plan, line, field, INMO_COLUMNS_MOST) != (size_t)columns->count)
        return;
    for (int n = 0; n < columns->count && chosen < 0; n++)
        if (inmo_role_of_name(name[n].text, name[n].length) == INMO_ROLE_TIME &&
            inmo_parse_time(field[n].text, field[n].length, &time))
            chosen = n;
    for (int n = 0; n < columns->count && chosen >= 0; n++)
        if (n == chosen || columns->role[n] == INMO_ROLE_TIME)
            columns->role[n] = n == chosen ? INMO_ROLE_TIME : INMO_ROLE_NONE;
}

static enum inmo_status fail_header(const char *name, const struct inmo_line *line,
                                    const struct inmo_columns *named, struct inmo_error *error)
{
    const char *without = named->has[INMO_ROLE_USER]   ? " without an item"
                          : named->has[INMO_ROLE_ITEM] ? " without a user"
                                                       : "";
    struct inmo_columns guess = *named;
    char shown[INMO_SHOWN], columns[200];
    if (guess.count < 2)
        return inmo_fail(error, INMO_INPUT,
                         "%s:%lld: found the header %s, which is one column, expected at least a user and an item",
                         name, (long long)line->number, inmo_show(shown, line->text, line->length));
    /* Names that nobody knows: the first of them may be the user, the next the item. */
    for (int n = 0; n < guess.count; n++)
        for (int role = INMO_ROLE_USER; role <= INMO_ROLE_ITEM && guess.role[n] == INMO_ROLE_NONE; role++)
            if (!guess.has[role]) {
                guess.role[n] = (uint8_t)role;
                guess.has[role] = 1;
            }
    return inmo_fail(
        error, INMO_INPUT,
        "%s:%lld: found the header %s%s, expected names such as user, item, rating, time; say which of "
        "the %d columns is which, such as `columns` %s",
        name, (long long)line->number, inmo_show(shown, line->text, line->length), without, guess.count,
        inmo_columns_show(&guess, columns, sizeof columns));
}

static enum inmo_status fail_comment(const char *name, const struct inmo_line *line, struct inmo_error *error)
{
    char shown[INMO_SHOWN];
    return inmo_fail(error, INMO_INPUT,
                     "%s:%lld: found the comment %s, expected an interaction or a header with names such as user, "
                     "item; with `columns` it is passed over, with `header` no it is read",
                     name, (long long)line->number, inmo_show(shown, line->text, line->length));
}

/* Steps 4 and 5. columns_option and header_option include those of a preset. */
static enum inmo_status plan_columns(const char *name, const char *columns_option, const char *header_option,
                                     const struct inmo_line *sample, size_t count, struct inmo_plan *plan,
                                     struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_field field[INMO_COLUMNS_MOST];
    struct inmo_columns named = {0};
    size_t found = inmo_split_line(plan, &sample[0], field, INMO_COLUMNS_MOST);
    int automatic = strcmp(header_option, "auto") == 0, has_names;
    if (found > INMO_COLUMNS_MOST)
        return inmo_fail(error, INMO_INPUT, "%s:%lld: found %zu columns, expected at most %d", name,
                         (long long)sample[0].number, found, INMO_COLUMNS_MOST);
    inmo_columns_from_names(field, (int)found, &named);
    has_names = named.has[INMO_ROLE_USER] && named.has[INMO_ROLE_ITEM];
    /* A well-known name for the user column is enough: an item may be called "book", but no user is called
     * "user_id". */
    plan->header = strcmp(header_option, "yes") == 0 || (automatic && named.has[INMO_ROLE_USER]);
    if (columns_option) {
        status = inmo_columns_parse(columns_option, &plan->columns, error);
        if (status == INMO_OK && automatic && !plan->header)
            plan->header = words_over_numbers(plan, &plan->columns, sample, count);
    } else if (plan->header) {
        if (count > 1)
            take_readable_time(plan, field, &sample[1], &named);
        plan->columns = named;
        if (!has_names)
            status = fail_header(name, &sample[0], &named, error);
    } else if (found < 2) {
        char shown[INMO_SHOWN];
        status = inmo_fail(error, INMO_INPUT,
                           "%s:%lld: found 1 column in %s, expected at least a user and an item; `separator` says "
                           "what stands between them",
                           name, (long long)sample[0].number, inmo_show(shown, sample[0].text, sample[0].length));
    } else if (found > 4) {
        status = inmo_fail(error, INMO_INPUT,
                           "%s:%lld: found %zu columns without a header, expected 2 to 4 (user,item,rating,time); "
                           "`columns` says which column is which",
                           name, (long long)sample[0].number, found);
    } else {
        if (found == 3 && third_is_time(plan, sample, count))
            status = inmo_columns_parse("user,item,time", &plan->columns, error);
        else
            inmo_columns_usual((int)found, &plan->columns);
        if (automatic && words_over_numbers(plan, &plan->columns, sample, count))
            status = fail_header(name, &sample[0], &named, error);
    }
    return status;
}

/* "a, b, c": a space after every comma or semicolon of the sample belongs to the separator, not to an id. */
static void take_spaces(struct inmo_plan *plan, const struct inmo_line *sample, size_t count)
{
    size_t seen = 0;
    if (strcmp(plan->separator, ",") != 0 && strcmp(plan->separator, ";") != 0)
        return;
    for (size_t n = 0; n < count; n++) {
        const char *at = sample[n].text, *end = at + sample[n].length;
        if (memchr(at, '"', sample[n].length))
            return;
        while ((at = memchr(at, plan->separator[0], (size_t)(end - at)))) {
            if (++at == end || *at != ' ')
                return;
            seen++;
        }
    }
    if (seen > 0) {
        plan->separator[1] = ' ';
        plan->separator[2] = 0;
        plan->separator_length = 2;
    }
}

/* "[" alone, or before an object. */
static int looks_like_json_array(const struct inmo_line *line)
{
    size_t n = 1;
    while (n < line->length && line->text[n] == ' ')
        n++;
    return line->length > 0 && line->text[0] == '[' && (n == line->length || line->text[n] == '{');
}

/* The first line without its comment mark and the spaces after it; returns whether it has one. A mark without a
 * space may be part of an id. */
static int take_mark(struct inmo_line *line, int *with_space)
{
    size_t length = line->length, mark = 0;
    while (mark < length && line->text[mark] == '#')
        mark++;
    if (mark == 0 && length >= 2 && memcmp(line->text, "//", 2) == 0)
        mark = 2;
    *with_space = mark > 0 && (mark == length || line->text[mark] == ' ');
    line->text += mark;
    line->length -= mark;
    for (; mark > 0 && line->length > 0 && line->text[0] == ' '; line->length--)
        line->text++;
    return mark > 0;
}

/* 1 if the first line names a user and an item as it is. */
static int names_columns(const char *separator, const struct inmo_line *sample, size_t count)
{
    struct inmo_plan plan = {0};
    struct inmo_field field[INMO_COLUMNS_MOST];
    struct inmo_columns named = {0};
    size_t found;
    if (!separator)
        find_separator(&plan, sample, count);
    else if (parse_separator(separator, &plan, NULL) != INMO_OK)
        return 0;
    found = inmo_split_line(&plan, &sample[0], field, INMO_COLUMNS_MOST);
    if (found <= INMO_COLUMNS_MOST)
        inmo_columns_from_names(field, (int)found, &named);
    return named.has[INMO_ROLE_USER] && named.has[INMO_ROLE_ITEM];
}

static enum inmo_status find_weight(const char *name, const char *weight, const struct inmo_line *line,
                                    struct inmo_plan *plan, struct inmo_error *error)
{
    struct inmo_field field[INMO_COLUMNS_MOST];
    size_t found =
        plan->layout == INMO_LAYOUT_DELIMITED ? inmo_split_line(plan, line, field, INMO_COLUMNS_MOST) : 0;
    int named = plan->header && found == (size_t)plan->columns.count;
    return inmo_columns_weigh(name, weight, named ? field : NULL, found > 0 ? plan->columns.count : 0,
                              &plan->columns, error);
}

enum inmo_status inmo_plan_make(const char *name, const struct inmo_read_options *options,
                                const struct inmo_line *sample, size_t count, struct inmo_plan *result,
                                struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_plan plan = {0};
    struct inmo_field field[5];
    struct inmo_line unmarked[INMO_SAMPLE_LINES];
    int comment = 0, passed = 0;
    const char *separator = options->separator, *columns = options->columns, *header = options->header;
    int automatic = strcmp(options->format, "auto") == 0;

    for (size_t n = 0; n < sizeof presets / sizeof presets[0]; n++) {
        if (strcmp(options->format, presets[n].format) == 0) {
            plan.layout = presets[n].layout;
            separator = separator ? separator : presets[n].separator;
            columns = columns ? columns : presets[n].columns;
            header = presets[n].header && strcmp(header, "auto") == 0 ? presets[n].header : header;
        }
    }
    if (automatic && sample[0].length > 0 && sample[0].text[0] == '{')
        plan.layout = INMO_LAYOUT_JSON;
    if (automatic && looks_like_json_array(&sample[0]))
        return inmo_fail(error, INMO_INPUT,
                         "%s:%lld: found a JSON array, expected an object a line; jq -c '.[]' writes them so", name,
                         (long long)sample[0].number);
    memcpy(unmarked, sample, count * sizeof *sample);
    if (plan.layout != INMO_LAYOUT_JSON && strcmp(header, "no") != 0 && take_mark(&unmarked[0], &comment)) {
        if (plan.layout == INMO_LAYOUT_DELIMITED && names_columns(separator, unmarked, count))
            sample = unmarked;
        else if (comment && (!columns || count == 1))
            return fail_comment(name, &sample[0], error);
        else if (comment) {
            passed = 1;
            sample++;
            count--;
        }
    }
    if (plan.layout == INMO_LAYOUT_DELIMITED) {
        if (separator)
            status = parse_separator(separator, &plan, error);
        else
            find_separator(&plan, sample, count);
        if (!separator)
            take_spaces(&plan, sample, count);
        if (status == INMO_OK && automatic && !columns && !separator && looks_like_lists(&plan, sample, count))
            plan.layout = INMO_LAYOUT_LIST;
        else if (status == INMO_OK && automatic && !columns &&
                 looks_like_check_ins(field, inmo_split_line(&plan, &sample[0], field, 5)))
            columns = "user,time,-,-,item";
    }
    if (status != INMO_OK)
        return status;
    if (plan.layout != INMO_LAYOUT_DELIMITED && options->columns)
        return inmo_fail(error, INMO_USAGE, "`columns`: found %s, expected none because %s is read as %s",
                         options->columns, name, plan.layout == INMO_LAYOUT_LIST ? "lists" : "JSON lines");
    if (plan.layout == INMO_LAYOUT_JSON)
        status = inmo_json_columns(name, options->weight, &sample[0], &plan.columns, error);
    else if (plan.layout == INMO_LAYOUT_LIST)
        inmo_columns_usual(2, &plan.columns);
    else
        status = plan_columns(name, columns, header, sample, count, &plan, error);
    if (status == INMO_OK && plan.layout != INMO_LAYOUT_JSON)
        status = find_weight(name, options->weight, &sample[0], &plan, error);
    if (status == INMO_OK)
        status = inmo_columns_fit(name, options, &plan.columns, error);
    plan.header += passed;
    if (status == INMO_OK)
        *result = plan;
    return status;
}

const char *inmo_plan_show(const struct inmo_plan *plan, char *text, size_t room)
{
    const char *separator = plan->separator;
    char columns[200];
    for (int n = SEPARATORS - 1; n >= 0; n--)
        if (strcmp(plan->separator, separators[n].text) == 0 ||
            (plan->separator[0] == separators[n].text[0] && strcmp(plan->separator + 1, " ") == 0))
            separator = separators[n].name;
    inmo_columns_show(&plan->columns, columns, sizeof columns);
    if (plan->layout == INMO_LAYOUT_LIST)
        snprintf(text, room, "lists, a user and its items a line");
    else if (plan->layout == INMO_LAYOUT_JSON)
        snprintf(text, room, "JSON lines with %s", columns);
    else
        snprintf(text, room, "%s-separated %s %s header", separator, columns, plan->header ? "with" : "without");
    return text;
}
