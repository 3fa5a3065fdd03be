/* setting.c - see setting.h. Row n describes the field at table[n].offset, of type table[n].type. A new type needs
 * one more case in each switch. */
#include "base/setting.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void inmo_sized_fill(void *structure, size_t size, const void *defaults, size_t known)
{
    memset(structure, 0, size);
    memcpy(structure, defaults, size < known ? size : known);
    memcpy(structure, &size, size < sizeof size ? size : sizeof size);
}

enum inmo_status inmo_fail_size(struct inmo_error *error, const char *name, size_t size, size_t known)
{
    return inmo_fail(error, INMO_USAGE,
                     "struct %s: found a size of %zu bytes, expected the %zu of version " INMO_VERSION
                     "; was it filled by its init call, and the caller compiled against the same version?",
                     name, size, known);
}

enum inmo_status inmo_sized_check(const void *structure, size_t known, const char *name, struct inmo_error *error)
{
    size_t size;
    memcpy(&size, structure, sizeof size);
    return size == known ? INMO_OK : inmo_fail_size(error, name, size, known);
}

const struct inmo_setting *inmo_setting_find(const struct inmo_setting *table, size_t count, const char *name)
{
    for (size_t n = 0; n < count; n++)
        if (strcmp(table[n].name, name) == 0)
            return &table[n];
    return NULL;
}

/* 1 if value is one of the words of "one|two|three". */
static int is_choice(const char *choices, const char *value)
{
    size_t length = strlen(value);
    for (const char *word = choices; *word;) {
        size_t word_length = strcspn(word, "|");
        if (word_length == length && memcmp(word, value, length) == 0)
            return 1;
        word += word_length;
        word += *word == '|';
    }
    return 0;
}

/* "--dim is -1; it must be between 1 and 4096". An infinite bound is not mentioned. */
static enum inmo_status fail_bounds(const struct inmo_setting *row, const char *value, struct inmo_error *error)
{
    if (isfinite(row->least) && isfinite(row->most))
        return inmo_fail(error, INMO_USAGE, "`%s` is %s; it must be between %.15g and %.15g", row->name, value,
                         row->least, row->most);
    if (isfinite(row->least))
        return inmo_fail(error, INMO_USAGE, "`%s` is %s; it must be a finite number, at least %.15g", row->name,
                         value, row->least);
    if (isfinite(row->most))
        return inmo_fail(error, INMO_USAGE, "`%s` is %s; it must be a finite number, at most %.15g", row->name,
                         value, row->most);
    return inmo_fail(error, INMO_USAGE, "`%s` is %s; it must be a finite number", row->name, value);
}

/* Whether the number is left open, in a row that allows it. */
static int is_auto(const struct inmo_setting *row, const void *field)
{
    if (!row->choices || (row->type != 'i' && row->type != 'r'))
        return 0;
    return row->type == 'i' ? *(const int *)field == INMO_AUTO : *(const double *)field == INMO_AUTO;
}

static enum inmo_status check_row(const struct inmo_setting *row, const void *field, struct inmo_error *error)
{
    char written[64] = "";
    double number = row->least;
    const char *text;
    if (is_auto(row, field))
        return INMO_OK;
    switch (row->type) {
    case 'i':
        number = *(const int *)field;
        snprintf(written, sizeof written, "%d", *(const int *)field);
        break;
    case 'u':
        number = (double)*(const uint64_t *)field;
        snprintf(written, sizeof written, "%" PRIu64, *(const uint64_t *)field);
        break;
    case 'r':
        number = *(const double *)field;
        inmo_format(written, sizeof written, "%.15g", number);
        break;
    case 's':
        text = *(const char *const *)field;
        if (text && row->choices && !is_choice(row->choices, text))
            return inmo_fail(error, INMO_USAGE, "`%s` is \"%s\"; it must be one of %s", row->name, text,
                             row->choices);
        return INMO_OK;
    case 'b': return INMO_OK;
    default:
        return inmo_fail(error, INMO_INTERNAL, "the setting %s has the unknown type '%c'", row->name, row->type);
    }
    /* Written so that a NaN fails. */
    if (!(isfinite(number) && number >= row->least && number <= row->most))
        return fail_bounds(row, written, error);
    return INMO_OK;
}

enum inmo_status inmo_settings_check(const struct inmo_setting *table, size_t count, const void *structure,
                                     struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    for (size_t n = 0; n < count && status == INMO_OK; n++)
        status = check_row(&table[n], (const char *)structure + table[n].offset, error);
    return status;
}

char *inmo_settings_json(const struct inmo_setting *table, size_t count, const void *structure)
{
    struct inmo_text json = {0};
    inmo_text_add(&json, "{", 1);
    for (size_t n = 0; n < count; n++) {
        const void *field = (const char *)structure + table[n].offset;
        if (n > 0)
            inmo_text_add(&json, ", ", 2);
        inmo_text_json_string(&json, table[n].name);
        inmo_text_add(&json, ": ", 2);
        if (is_auto(table + n, field)) {
            inmo_text_json_string(&json, "auto");
            continue;
        }
        switch (table[n].type) {
        case 'i': inmo_text_format(&json, "%d", *(const int *)field); break;
        case 'u': inmo_text_format(&json, "%" PRIu64, *(const uint64_t *)field); break;
        case 'r': inmo_text_number(&json, *(const double *)field, 17); break;
        case 's': inmo_text_json_string(&json, *(const char *const *)field); break;
        case 'b': inmo_text_format(&json, "%s", *(const int *)field ? "true" : "false"); break;
        default: inmo_text_add(&json, "null", 4); break;
        }
    }
    inmo_text_add(&json, "}", 1);
    return inmo_text_take(&json);
}

size_t inmo_settings_told(const struct inmo_setting *table, size_t least, size_t count, const void *structure,
                          const void *defaults)
{
    char is[64], was[64];
    for (; count > least; count--) {
        inmo_setting_text(table + count - 1, structure, is, sizeof is);
        inmo_setting_text(table + count - 1, defaults, was, sizeof was);
        if (strcmp(is, was) != 0)
            break;
    }
    return count;
}

/* ---- As on the command line ------------------------------------------------------------------------------- */

void inmo_setting_expected(const struct inmo_setting *row, char *text, size_t size)
{
    int is_number = row->type == 'i' || row->type == 'r';
    const char *what = row->type == 'r' ? "a number" : "a whole number";
    /* A bound too large for a double to count exactly only stands for the limit of the type; do not print it. */
    int has_least = row->least > -9e15, has_most = row->most < 9e15;

    if (is_number && row->choices)
        what = row->type == 'r' ? "auto, or a number" : "auto, or a whole number";
    if (row->choices && !is_number) {
        size_t used = (size_t)snprintf(text, size, "one of ");
        for (const char *c = row->choices; *c && used + 3 < size; c++) {
            if (*c == '|')
                text[used++] = ',', text[used++] = ' ';
            else
                text[used++] = *c;
        }
        text[used] = 0;
    } else if (row->type == 'b') {
        snprintf(text, size, "yes or no");
    } else if (row->type != 'i' && row->type != 'u' && row->type != 'r') {
        snprintf(text, size, "%s", row->value ? row->value : "a text");
    } else if (row->type == 'i' && row->most >= INT_MAX) {
        inmo_format(text, size, "%s of at least %.15g", what, row->least);
    } else if (has_least && has_most) {
        inmo_format(text, size, "%s from %.15g to %.15g", what, row->least, row->most);
    } else if (has_least) {
        inmo_format(text, size, "%s of at least %.15g", what, row->least);
    } else if (has_most) {
        inmo_format(text, size, "%s of at most %.15g", what, row->most);
    } else {
        snprintf(text, size, "%s", what);
    }
}

/* The fewest digits, at least 15, that read back as the same number. */
static void write_real(double number, char *text, size_t size)
{
    for (int digits = 15; digits <= 17; digits++) {
        inmo_format(text, size, "%.*g", digits, number);
        if (inmo_real(text, NULL) == number)
            break;
    }
}

void inmo_setting_text(const struct inmo_setting *row, const void *structure, char *text, size_t size)
{
    const char *field = (const char *)structure + row->offset;

    text[0] = 0;
    if (is_auto(row, field)) {
        snprintf(text, size, "auto");
        return;
    }
    switch (row->type) {
    case 'i': snprintf(text, size, "%d", *(const int *)field); break;
    case 'u': snprintf(text, size, "%" PRIu64, *(const uint64_t *)field); break;
    case 'r': write_real(*(const double *)field, text, size); break;
    case 'b': snprintf(text, size, "%s", *(const int *)field ? "yes" : "no"); break;
    case 's':
        if (*(const char *const *)field)
            snprintf(text, size, "%s", *(const char *const *)field);
        break;
    default: break;
    }
}

/* "yes", "no" or NULL. */
static const char *yes_or_no(const char *text)
{
    static const char *const yes[] = {"yes", "true", "on", "1"}, *const no[] = {"no", "false", "off", "0"};
    for (size_t n = 0; n < 4; n++) {
        if (!strcmp(text, yes[n]))
            return "yes";
        if (!strcmp(text, no[n]))
            return "no";
    }
    return NULL;
}

/* A whole number: digits, or a real that is whole ("1e6"). Returns 0 if text is neither. */
static int whole_number(const char *text, int negative_allowed, uint64_t *magnitude, int *negative)
{
    char *end = NULL;
    const char *digits = text + (*text == '-' || *text == '+');
    double real;

    *negative = *text == '-';
    if (!isdigit((unsigned char)*digits) || (*negative && !negative_allowed))
        return 0;
    errno = 0;
    *magnitude = strtoull(digits, &end, 10);
    if (!*end && !errno)
        return 1;
    real = inmo_real(digits, &end);
    if (*end || !(real <= 9007199254740992.0) || real != floor(real))
        return 0;
    *magnitude = (uint64_t)real;
    return 1;
}

int inmo_setting_set(const struct inmo_setting *row, void *structure, const char *text)
{
    char *field = (char *)structure + row->offset;
    uint64_t magnitude = 0;
    int negative = 0, good = 1;
    double real = 0;
    char *end = NULL;

    if (row->choices && row->type != 's' && strcmp(text, "auto") == 0) {
        if (row->type == 'i')
            *(int *)field = INMO_AUTO;
        else
            *(double *)field = INMO_AUTO;
        return 1;
    }
    switch (row->type) {
    case 'i':
        good = whole_number(text, 1, &magnitude, &negative) && magnitude <= INT_MAX;
        real = negative ? -(double)magnitude : (double)magnitude;
        good = good && real >= row->least && real <= row->most;
        if (good)
            *(int *)field = (int)real;
        break;
    case 'u':
        good = whole_number(text, 0, &magnitude, &negative) && (double)magnitude >= row->least &&
               (row->most < row->least || (double)magnitude <= row->most);
        if (good)
            *(uint64_t *)field = magnitude;
        break;
    case 'r':
        real = inmo_real(text, &end);
        good = end != text && !*end && !isspace((unsigned char)*text) && isfinite(real) && real >= row->least &&
               real <= row->most;
        if (good)
            *(double *)field = real;
        break;
    case 'b':
        good = yes_or_no(text) != NULL;
        if (good)
            *(int *)field = !strcmp(yes_or_no(text), "yes");
        break;
    case 's':
        good = !row->choices || is_choice(row->choices, text);
        if (good)
            *(const char **)field = text;
        break;
    default: good = 0; break;
    }
    return good;
}
