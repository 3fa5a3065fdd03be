/* setting.c - see setting.h. Field n of a structure is what lies at table[n].offset, of the type table[n].type; a
 * new kind of setting is one more case in each of the two switches. */
#include "base/setting.h"

#include "base/memory.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

const struct inmo_setting *inmo_setting_find(const struct inmo_setting *table, size_t count, const char *name)
{
    for (size_t n = 0; n < count; n++)
        if (strcmp(table[n].name, name) == 0)
            return &table[n];
    return NULL;
}

/* Whether value is one of the words of "one|two|three". */
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

/* "--dim is -1; it must be between 1 and 4096". An infinite bound is no bound. */
static enum inmo_status fail_bounds(const struct inmo_setting *row, const char *value, struct inmo_error *error)
{
    if (isfinite(row->least) && isfinite(row->most))
        return inmo_fail(error, INMO_USAGE, "--%s is %s; it must be between %.15g and %.15g", row->name, value,
                         row->least, row->most);
    if (isfinite(row->least))
        return inmo_fail(error, INMO_USAGE, "--%s is %s; it must be a finite number, at least %.15g", row->name,
                         value, row->least);
    if (isfinite(row->most))
        return inmo_fail(error, INMO_USAGE, "--%s is %s; it must be a finite number, at most %.15g", row->name,
                         value, row->most);
    return inmo_fail(error, INMO_USAGE, "--%s is %s; it must be a finite number", row->name, value);
}

static enum inmo_status check_row(const struct inmo_setting *row, const void *field, struct inmo_error *error)
{
    char written[64] = "";
    double number = row->least;
    const char *text;
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
        snprintf(written, sizeof written, "%.15g", number);
        break;
    case 's':
        text = *(const char *const *)field;
        if (text && row->choices && !is_choice(row->choices, text))
            return inmo_fail(error, INMO_USAGE, "--%s is \"%s\"; it must be one of %s", row->name, text,
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
