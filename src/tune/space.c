/* space.c - see space.h.
 *
 * A sampled real has four significant digits: finer differences do not matter to a search, and the command line
 * that repeats a trial stays short and exact. */
#include "tune/space.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/setting.h"
#include "base/text.h"
#include "train/settings.h"

#include <ctype.h>
#include <stdlib.h>

enum { MOST_VALUES = 10000 };
#define FIELD(name) offsetof(struct inmo_train_options, name)

/* ---- Reading ------------------------------------------------------------------------------------------------ */

/* Why a setting cannot be searched, or NULL. */
static const char *obstacle(const struct inmo_setting *row, int halving)
{
    if (row->offset == FIELD(model))
        return "the other settings' defaults depend on it; search each model by itself";
    if (row->offset == FIELD(seed))
        return "a good seed is luck; `seeds` takes the mean over several";
    if (halving && row->offset == FIELD(epochs))
        return "`method` halving sets it";
    if (halving && row->offset == FIELD(eval_every))
        return "`method` halving validates every trial at the same epochs";
    return NULL;
}

static enum inmo_status find_row(const char *name, int halving, const struct inmo_setting **row,
                                 struct inmo_error *error)
{
    enum inmo_status status;
    size_t all, count = inmo_train_settings_of_model();
    const struct inmo_setting *table = inmo_train_settings(&all), *found = inmo_setting_find(table, count, name);
    struct inmo_text names = {0};
    char *list;

    if (found && !obstacle(found, halving)) {
        *row = found;
        return INMO_OK;
    }
    if (found)
        return inmo_fail(error, INMO_USAGE, "`search`: %s cannot be searched: %s", name, obstacle(found, halving));
    for (size_t n = 0; n < count; n++)
        if (!obstacle(table + n, halving))
            inmo_text_format(&names, "%s%s", names.length ? ", " : "", table[n].name);
    list = inmo_text_take(&names);
    if (!list)
        return inmo_fail_memory(error, "the search");
    status =
        inmo_fail(error, INMO_USAGE, "`search`: found \"%.60s\", expected the name of a setting: %s", name, list);
    inmo_free(list);
    return status;
}

static enum inmo_status fail_value(const struct inmo_setting *row, const char *found, struct inmo_error *error)
{
    char expected[512];
    inmo_setting_expected(row, expected, sizeof expected);
    return inmo_fail(error, INMO_USAGE, "`search`: %s: found \"%.60s\", expected %s", row->name, found, expected);
}

/* Adds a value in canonical spelling. twice_is_wrong: 1 if a repeated value is an error, 0 if it is skipped. */
static enum inmo_status add_value(struct inmo_axis *axis, const char *text, int twice_is_wrong,
                                  struct inmo_error *error)
{
    struct inmo_train_options scratch = {0};
    char spelled[256], *copy, **grown;

    if (!inmo_setting_set(axis->row, &scratch, text))
        return fail_value(axis->row, text, error);
    inmo_setting_text(axis->row, &scratch, spelled, sizeof spelled);
    for (size_t n = 0; n < axis->count; n++)
        if (strcmp(axis->value[n], spelled) == 0)
            return twice_is_wrong
                       ? inmo_fail(error, INMO_USAGE, "`search`: %s: %s stands twice", axis->row->name, spelled)
                       : INMO_OK;
    copy = inmo_copy_string(spelled);
    grown = copy ? inmo_resize(axis->value, axis->count, axis->count + 1, sizeof *grown) : NULL;
    if (!grown) {
        inmo_free(copy);
        return inmo_fail_memory(error, "the search");
    }
    axis->value = grown;
    axis->value[axis->count++] = copy;
    return INMO_OK;
}

/* Point at share in [0, 1] between least and most. */
static double between(double least, double most, int logarithmic, double share)
{
    return logarithmic ? exp(log(least) + share * (log(most) - log(least))) : least + share * (most - least);
}

/* A number of a range as text. */
static void write_exactly(const struct inmo_axis *axis, double number, char text[INMO_VALUE_SIZE])
{
    struct inmo_train_options scratch = {0};
    char *field = (char *)&scratch + axis->row->offset;
    if (axis->row->type == 'i')
        *(int *)field = (int)number;
    else
        *(double *)field = number;
    inmo_setting_text(axis->row, &scratch, text, INMO_VALUE_SIZE);
}

/* The same, rounded: whole, or to four significant digits. */
static void write_number(const struct inmo_axis *axis, double number, char text[INMO_VALUE_SIZE])
{
    if (axis->row->type == 'i') {
        number = floor(number + 0.5);
    } else {
        inmo_format(text, INMO_VALUE_SIZE, "%.4g", number);
        number = inmo_real(text, NULL);
    }
    write_exactly(axis, number < axis->least ? axis->least : number > axis->most ? axis->most : number, text);
}

/* Reads a bound of a range; it must be valid for the setting. */
static enum inmo_status read_bound(const struct inmo_setting *row, const char *text, double *bound,
                                   struct inmo_error *error)
{
    struct inmo_train_options scratch = {0};
    const char *field = (const char *)&scratch + row->offset;
    if (!inmo_setting_set(row, &scratch, text))
        return fail_value(row, text, error);
    *bound = row->type == 'i' ? *(const int *)field : *(const double *)field;
    return INMO_OK;
}

/* ":log" and ":5" after a range, in any order. */
static enum inmo_status read_range_words(struct inmo_axis *axis, char *words, long *points,
                                         struct inmo_error *error)
{
    *points = 0;
    while (words) {
        char *next = strchr(words, ':'), *end = NULL;
        if (next)
            *next++ = 0;
        if (strcmp(words, "log") == 0) {
            axis->logarithmic = 1;
        } else {
            *points = strtol(words, &end, 10);
            if (!isdigit((unsigned char)*words) || *end || *points < 2 || *points > MOST_VALUES)
                return inmo_fail(error, INMO_USAGE,
                                 "`search`: %s: found \":%.60s\", expected :log or the number of values, :2 to :%d",
                                 axis->row->name, words, MOST_VALUES);
        }
        words = next;
    }
    return INMO_OK;
}

/* A range with a number of values becomes a list. */
static enum inmo_status list_range(struct inmo_axis *axis, const char *least, const char *most, long points,
                                   struct inmo_error *error)
{
    enum inmo_status status = add_value(axis, least, 0, error);
    for (long n = 1; n + 1 < points && !status; n++) {
        char text[INMO_VALUE_SIZE];
        write_number(axis, between(axis->least, axis->most, axis->logarithmic, (double)n / (double)(points - 1)),
                     text);
        status = add_value(axis, text, 0, error);
    }
    return status ? status : add_value(axis, most, 0, error);
}

static enum inmo_status read_range(struct inmo_axis *axis, char *least, char *most, struct inmo_error *error)
{
    char *words = strchr(most, ':');
    long points;
    enum inmo_status status;

    if (words)
        *words++ = 0;
    if (axis->row->type != 'i' && axis->row->type != 'r')
        return inmo_fail(error, INMO_USAGE, "`search`: %s is not a number; separate its values with |",
                         axis->row->name);
    status = read_bound(axis->row, least, &axis->least, error);
    if (!status)
        status = read_bound(axis->row, most, &axis->most, error);
    if (!status)
        status = read_range_words(axis, words, &points, error);
    if (status)
        return status;
    if (!(axis->least < axis->most))
        return inmo_fail(error, INMO_USAGE, "`search`: %s: found %s..%s, expected the smaller number first",
                         axis->row->name, least, most);
    if (axis->logarithmic && axis->least <= 0)
        return inmo_fail(error, INMO_USAGE, "`search`: %s: a range with :log must begin above 0, found %s",
                         axis->row->name, least);
    /* A short range of whole numbers is a list. */
    if (!points && axis->row->type == 'i' && !axis->logarithmic && axis->most - axis->least < MOST_VALUES)
        points = (long)(axis->most - axis->least) + 1;
    return points ? list_range(axis, least, most, points, error) : INMO_OK;
}

/* Trims white space at both ends, in place. */
static char *trimmed(char *text)
{
    char *end;
    while (isspace((unsigned char)*text))
        text++;
    end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1]))
        *--end = 0;
    return text;
}

/* "name=values" */
static enum inmo_status read_axis(struct inmo_space *space, char *piece, int halving, struct inmo_error *error)
{
    struct inmo_axis *axis = &space->axis[space->axis_count];
    char *values = strchr(piece, '='), *dots;
    enum inmo_status status;

    if (!values)
        return inmo_fail(error, INMO_USAGE,
                         "`search`: found \"%.60s\", expected NAME=FROM..TO, NAME=FROM..TO:log or NAME=VALUE|VALUE",
                         piece);
    *values++ = 0;
    values = trimmed(values);
    status = find_row(trimmed(piece), halving, &axis->row, error);
    if (status)
        return status;
    for (size_t n = 0; n < space->axis_count; n++)
        if (space->axis[n].row == axis->row)
            return inmo_fail(error, INMO_USAGE, "`search`: %s stands twice", axis->row->name);
    space->axis_count++;
    dots = strstr(values, "..");
    if (dots) {
        *dots = 0;
        return read_range(axis, values, dots + 2, error);
    }
    while (values && !status) {
        char *next = strchr(values, '|');
        if (next)
            *next++ = 0;
        status = add_value(axis, trimmed(values), 1, error);
        values = next;
    }
    return status;
}

enum inmo_status inmo_space_parse(const char *text, int halving, struct inmo_space *space, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct inmo_space fresh = {.size = 1};
    char *copy = inmo_copy_string(text ? text : ""), *piece = copy;

    if (!copy)
        return inmo_fail_memory(error, "the search");
    if (!*trimmed(copy))
        status =
            inmo_fail(error, INMO_USAGE, "`search`: nothing to search; expected NAME=FROM..TO or NAME=VALUE|VALUE");
    while (piece && !status) {
        char *next = strchr(piece, ',');
        if (next)
            *next++ = 0;
        if (fresh.axis_count == INMO_SPACE_MOST_AXES)
            status = inmo_fail(error, INMO_USAGE, "`search`: more than %d settings", INMO_SPACE_MOST_AXES);
        else
            status = read_axis(&fresh, trimmed(piece), halving, error);
        piece = next;
    }
    for (size_t n = 0; n < fresh.axis_count; n++)
        if (__builtin_mul_overflow(fresh.size, (uint64_t)fresh.axis[n].count, &fresh.size))
            fresh.size = 0; /* too many to count: treated as a range */
    if (status)
        inmo_space_free(&fresh);
    else
        *space = fresh;
    inmo_free(copy);
    return status;
}

void inmo_space_free(struct inmo_space *space)
{
    for (size_t n = 0; n < space->axis_count; n++) {
        for (size_t v = 0; v < space->axis[n].count; v++)
            inmo_free(space->axis[n].value[v]);
        inmo_free(space->axis[n].value);
    }
    *space = (struct inmo_space){0};
}

char *inmo_space_text(const struct inmo_space *space)
{
    struct inmo_text text = {0};
    for (size_t n = 0; n < space->axis_count; n++) {
        const struct inmo_axis *axis = &space->axis[n];
        char least[INMO_VALUE_SIZE], most[INMO_VALUE_SIZE];
        inmo_text_format(&text, "%s%s=", n ? "," : "", axis->row->name);
        for (size_t v = 0; v < axis->count; v++)
            inmo_text_format(&text, "%s%s", v ? "|" : "", axis->value[v]);
        if (axis->count)
            continue;
        write_exactly(axis, axis->least, least);
        write_exactly(axis, axis->most, most);
        inmo_text_format(&text, "%s..%s%s", least, most, axis->logarithmic ? ":log" : "");
    }
    return inmo_text_take(&text);
}

/* ---- Trials ------------------------------------------------------------------------------------------------- */

/* A permutation of [0, size) without memory: a Feistel network on an even number of bits, repeated until the result
 * is below size. */
static uint64_t permute(uint64_t seed, uint64_t size, uint64_t n)
{
    uint64_t key = inmo_key(seed, INMO_STREAM_TUNE), mask;
    int half = 1;
    while (half < 31 && (1ull << (2 * half)) < size)
        half++;
    mask = (1ull << half) - 1;
    do {
        for (uint64_t turn = 0; turn < 6; turn++) {
            uint64_t left = n >> half, right = n & mask;
            n = right << half | (left ^ (inmo_random(key, turn << 32 | right) & mask));
        }
    } while (n >= size);
    return n;
}

const char *inmo_space_value(const struct inmo_space *space, size_t a, uint64_t trial, char buffer[INMO_VALUE_SIZE])
{
    const struct inmo_axis *axis = &space->axis[a];
    int whole = axis->row->type == 'i';
    double share;

    if (space->size > 0 && space->size <= 1ull << 62) {
        uint64_t point = trial % space->size;
        if (!space->in_order)
            point = permute(space->seed, space->size, point);
        for (size_t n = space->axis_count - 1; n > a; n--)
            point /= space->axis[n].count;
        return axis->value[point % axis->count];
    }
    share =
        inmo_random_unit(inmo_random(inmo_key(space->seed, INMO_STREAM_TUNE), trial * INMO_SPACE_MOST_AXES + a));
    if (axis->count)
        return axis->value[(size_t)(share * (double)axis->count)];
    /* Every whole number, also the first and the last, gets an interval of the same width. */
    write_number(axis, between(axis->least - 0.5 * whole, axis->most + 0.5 * whole, axis->logarithmic, share),
                 buffer);
    return buffer;
}

void inmo_space_apply(const struct inmo_space *space, uint64_t trial, struct inmo_train_options *options)
{
    for (size_t n = 0; n < space->axis_count; n++) {
        char buffer[INMO_VALUE_SIZE];
        /* Cannot fail: values were checked when the space was read. Numbers are copied; strings belong to the
         * space. */
        inmo_setting_set(space->axis[n].row, options, inmo_space_value(space, n, trial, buffer));
    }
}
