/* text.c - error sentences, strings and lists of them, and the nearest spelling. */
#include "options.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum inmo_status cli_fail(struct inmo_error *error, enum inmo_status code, const char *format, ...)
{
    if (error) {
        va_list arguments;
        error->code = code;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return code;
}

void cli_add_hint(struct inmo_error *error, const char *format, ...)
{
    if (error) {
        size_t used = strlen(error->message);
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message + used, sizeof error->message - used, format, arguments);
        va_end(arguments);
    }
}

const char *cli_flags(const char *sentence, char text[CLI_SENTENCE])
{
    char *at = text;
    snprintf(text, CLI_SENTENCE, "%s", sentence);
    while ((at = strchr(at, '`'))) {
        size_t length = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz0123456789-");
        if (length && at[1] != '-' && at[1 + length] == '`') { /* `name` and --name are equally long */
            memmove(at + 2, at + 1, length);
            at[0] = at[1] = '-';
            at += length;
        }
        at++;
    }
    return text;
}

void cli_end_for_memory(void)
{
    fputs("inmo: not enough memory\n", stderr);
    exit(INMO_MEMORY);
}

void *cli_allocate(size_t count, size_t size)
{
    void *block = calloc(count ? count : 1, size ? size : 1);
    if (!block)
        cli_end_for_memory();
    return block;
}

char *cli_copy(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(cli_allocate(size, 1), text, size);
}

char *cli_format(const char *format, ...)
{
    va_list arguments;
    char *text;
    int length;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        cli_end_for_memory();
    text = cli_allocate((size_t)length + 1, 1);
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

void cli_strings_add(struct cli_strings *strings, const char *text)
{
    /* Grows at powers of two, so no capacity is stored. */
    if ((strings->count & (strings->count - 1)) == 0) {
        size_t capacity = strings->count ? 2 * strings->count : 1;
        const char **grown = cli_allocate(capacity, sizeof *grown);
        if (strings->count)
            memcpy(grown, strings->value, strings->count * sizeof *grown);
        free(strings->value);
        strings->value = grown;
    }
    strings->value[strings->count++] = text;
}

void cli_strings_free(struct cli_strings *strings, int with_text)
{
    if (with_text)
        for (size_t n = 0; n < strings->count; n++)
            free((char *)strings->value[n]);
    free(strings->value);
    *strings = (struct cli_strings){0};
}

void cli_split(const char *text, char separator, struct cli_strings *pieces)
{
    while (*text) {
        const char *end = strchr(text, separator);
        size_t length = end ? (size_t)(end - text) : strlen(text);
        if (length)
            cli_strings_add(pieces, cli_format("%.*s", (int)length, text));
        text += length + (end != NULL);
    }
}

char *cli_joined(const struct cli_strings *strings)
{
    size_t size = 1;
    char *text, *at;
    for (size_t n = 0; n < strings->count; n++)
        size += strlen(strings->value[n]) + 1;
    text = at = cli_allocate(size, 1);
    for (size_t n = 0; n < strings->count; n++) {
        if (n)
            *at++ = ',';
        at = stpcpy(at, strings->value[n]);
    }
    return text;
}

size_t cli_width(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* Letters to insert, delete, change or swap with their neighbour to get from one word to the other. */
static size_t distance(const char *a, const char *b)
{
    enum { LONGEST = 64 };
    size_t cost[LONGEST + 1][LONGEST + 1];
    size_t rows = strlen(a), columns = strlen(b);

    if (rows > LONGEST || columns > LONGEST)
        return LONGEST;
    for (size_t i = 0; i <= rows; i++) {
        for (size_t j = 0; j <= columns; j++) {
            size_t best;
            if (!i || !j) {
                cost[i][j] = i + j;
                continue;
            }
            best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (cost[i - 1][j] + 1 < best)
                best = cost[i - 1][j] + 1;
            if (cost[i][j - 1] + 1 < best)
                best = cost[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && cost[i - 2][j - 2] + 1 < best)
                best = cost[i - 2][j - 2] + 1;
            cost[i][j] = best;
        }
    }
    return cost[rows][columns];
}

const char *cli_nearest(const char *word, const char *const *candidate, size_t count)
{
    const char *nearest = NULL;
    size_t length = strlen(word);
    size_t least = length / 3 + 2; /* limit (exclusive) for a close match */

    for (size_t n = 0; n < count; n++) {
        size_t d = distance(word, candidate[n]);
        if (d < least) {
            least = d;
            nearest = candidate[n];
        }
    }
    /* "--learning" is far from "--learning-rate" in letters, but clearly meant. */
    for (size_t n = 0; !nearest && length >= 3 && n < count; n++)
        if (!strncmp(candidate[n], word, length))
            nearest = candidate[n];
    return nearest;
}
