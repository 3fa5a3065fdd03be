/* json.c - see json.h. Text that the grammar allows and jansson does not take, without naming another reason, was
 * too much for the memory. */
#include "base/json.h"

#include <ctype.h>
#include <string.h>

enum { MOST_DEPTH = 2048 }; /* as jansson has it */

static const char *skip_space(const char *c, const char *end)
{
    while (c < end && (*c == ' ' || *c == '\t' || *c == '\n' || *c == '\r'))
        c++;
    return c;
}

/* Each returns what follows the thing at c, or NULL when it is none. */
static const char *skip_string(const char *c, const char *end)
{
    if (c == end || *c++ != '"')
        return NULL;
    while (c < end && *c != '"') {
        if ((unsigned char)*c < 0x20)
            return NULL;
        if (*c++ != '\\')
            continue;
        if (c == end || !strchr("\"\\/bfnrtu", *c) || !*c)
            return NULL;
        if (*c == 'u')
            for (int n = 0; n < 4; n++)
                if (++c == end || !isxdigit((unsigned char)*c))
                    return NULL;
        c++;
    }
    return c < end ? c + 1 : NULL;
}

static const char *skip_digits(const char *c, const char *end)
{
    const char *first = c;
    while (c < end && isdigit((unsigned char)*c))
        c++;
    return c > first ? c : NULL;
}

static const char *skip_number(const char *c, const char *end)
{
    c += *c == '-';
    if (c < end && *c == '0')
        c++;
    else
        c = skip_digits(c, end);
    if (c && c < end && *c == '.')
        c = skip_digits(c + 1, end);
    if (c && c < end && (*c == 'e' || *c == 'E')) {
        c++;
        c += c < end && (*c == '+' || *c == '-');
        c = skip_digits(c, end);
    }
    return c;
}

static const char *skip_word(const char *c, const char *end, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(end - c) >= length && memcmp(c, word, length) == 0 ? c + length : NULL;
}

static const char *skip_value(const char *c, const char *end, int depth);

/* The members between the brackets. */
static const char *skip_members(const char *c, const char *end, char closing, int depth)
{
    c = skip_space(c + 1, end);
    if (c < end && *c == closing)
        return c + 1;
    while (c && c < end) {
        if (closing == '}') {
            c = skip_string(skip_space(c, end), end);
            c = c ? skip_space(c, end) : NULL;
            if (!c || c == end || *c++ != ':')
                return NULL;
        }
        c = skip_value(skip_space(c, end), end, depth + 1);
        c = c ? skip_space(c, end) : NULL;
        if (!c || c == end)
            return NULL;
        if (*c == closing)
            return c + 1;
        if (*c++ != ',')
            return NULL;
    }
    return NULL;
}

static const char *skip_value(const char *c, const char *end, int depth)
{
    if (c == end || depth > MOST_DEPTH)
        return NULL;
    switch (*c) {
    case '{': return skip_members(c, end, '}', depth);
    case '[': return skip_members(c, end, ']', depth);
    case '"': return skip_string(c, end);
    case 't': return skip_word(c, end, "true");
    case 'f': return skip_word(c, end, "false");
    case 'n': return skip_word(c, end, "null");
    default: return *c == '-' || isdigit((unsigned char)*c) ? skip_number(c, end) : NULL;
    }
}

int inmo_json_is_sound(const char *text, size_t length)
{
    const char *end = text + length, *c = skip_value(skip_space(text, end), end, 1);
    return c && skip_space(c, end) == end;
}

enum inmo_status inmo_json_parse(const char *text, size_t length, size_t flags, json_t **json, json_error_t *wrong)
{
    json_error_t found = {0};
    json_t *parsed = json_loadb(text, length, flags, &found);
    enum json_error_code code = json_error_code(&found);
    const char *first = skip_space(text, text + length);
    int may_begin = (flags & JSON_DECODE_ANY) || (first < text + length && (*first == '{' || *first == '['));
    if (wrong)
        *wrong = found;
    if (parsed) {
        *json = parsed;
        return INMO_OK;
    }
    if (code == json_error_out_of_memory || !found.text[0])
        return INMO_MEMORY;
    return code == json_error_invalid_syntax && may_begin && inmo_json_is_sound(text, length) ? INMO_MEMORY
                                                                                              : INMO_FORMAT;
}
