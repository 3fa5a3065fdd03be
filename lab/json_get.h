/* json_get.h - short accessors for the JSON of the results. Used only inside lab/. */
#ifndef INMO_LAB_JSON_GET_H
#define INMO_LAB_JSON_GET_H

#include "base/text.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static inline const char *string(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

/* NAN if it is not a number. */
static inline double real(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static inline void add(struct inmo_text *text, const char *words)
{
    inmo_text_add(text, words, strlen(words));
}

#endif
