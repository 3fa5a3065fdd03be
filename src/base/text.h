/* text.h - a growing string, with JSON strings and numbers; UTF-8; lists of words.
 *
 * Adding never reports an error. If memory runs out, inmo_text_take returns NULL at the end, so a writer needs only
 * one check. */
#ifndef INMO_BASE_TEXT_H
#define INMO_BASE_TEXT_H

#include "base/memory.h"
#include "base/number.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct inmo_text { /* starts as {0} */
    char *data;    // (capacity) NUL-terminated once anything was added
    size_t length, capacity;
    int failed;
};

static inline void inmo_text_add(struct inmo_text *text, const char *bytes, size_t count)
{
    if (!text->failed && text->length + count >= text->capacity) {
        size_t capacity = 2 * (text->length + count) + 64;
        char *data = inmo_resize(text->data, text->length, capacity, 1);
        if (data) {
            text->data = data;
            text->capacity = capacity;
        } else {
            text->failed = 1;
        }
    }
    if (!text->failed) {
        memcpy(text->data + text->length, bytes, count);
        text->length += count;
        text->data[text->length] = 0;
    }
}

/* For short pieces: names, numbers, punctuation. */
__attribute__((format(printf, 2, 3))) static inline void inmo_text_format(struct inmo_text *text,
                                                                          const char *format, ...)
{
    char piece[512];
    va_list arguments;
    int length;
    va_start(arguments, format);
    length = inmo_vformat(piece, sizeof piece, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof piece)
        text->failed = 1;
    else
        inmo_text_add(text, piece, (size_t)length);
}

/* A number with up to `digits` significant digits (17 keep every bit); null when it is not
 * finite. */
static inline void inmo_text_number(struct inmo_text *text, double number, int digits)
{
    if (number - number != 0) {
        inmo_text_add(text, "null", 4);
        return;
    }
    inmo_text_format(text, "%.*g", digits, number);
}

/* Bytes of the UTF-8 sequence at s, 0 if it is invalid (stray, cut, overlong, surrogate, beyond U+10FFFF). */
static inline size_t inmo_utf8_length(const unsigned char *s)
{
    size_t length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    for (size_t n = 1; n < length; n++)
        if ((s[n] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

/* A JSON string with its quotes; NULL becomes null. File names may be any bytes: invalid UTF-8 becomes U+FFFD. */
static inline void inmo_text_json_string(struct inmo_text *text, const char *string)
{
    if (!string) {
        inmo_text_add(text, "null", 4);
        return;
    }
    inmo_text_add(text, "\"", 1);
    for (const unsigned char *c = (const unsigned char *)string; *c;) {
        size_t length = inmo_utf8_length(c);
        if (*c == '"' || *c == '\\')
            inmo_text_format(text, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7f)
            inmo_text_format(text, "\\u%04x", *c);
        else if (length == 0)
            inmo_text_add(text, "\\ufffd", 6);
        else
            inmo_text_add(text, (const char *)c, length);
        c += length ? length : 1;
    }
    inmo_text_add(text, "\"", 1);
}

/* 1 if the word is one of the list "view,click"; spaces around the words of the list do not count. */
static inline int inmo_list_has(const char *list, const char *word, size_t length)
{
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',') {
        const char *begin = at + strspn(at, " "), *end = at + strcspn(at, ",");
        while (end > begin && end[-1] == ' ')
            end--;
        if ((size_t)(end - begin) == length && memcmp(begin, word, length) == 0)
            return 1;
    }
    return 0;
}

static inline void inmo_text_free(struct inmo_text *text)
{
    inmo_free(text->data);
    *text = (struct inmo_text){0};
}

/* Returns the string, to be freed with inmo_free; NULL if memory ran out at any time. Resets the text. */
static inline char *inmo_text_take(struct inmo_text *text)
{
    char *data;
    inmo_text_add(text, "", 0);
    data = text->failed ? NULL : text->data;
    if (text->failed)
        inmo_free(text->data);
    *text = (struct inmo_text){0};
    return data;
}

#endif
