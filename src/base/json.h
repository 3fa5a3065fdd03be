/* json.h - parsing JSON with jansson, and telling text that is wrong from memory that is short: jansson calls an
 * allocation that fails inside a string an invalid token. */
#ifndef INMO_BASE_JSON_H
#define INMO_BASE_JSON_H

#include "base/status.h"

#include <jansson.h>

/* OK with the value in *json (the caller's to json_decref), MEMORY, or FORMAT with the reason in wrong (may be
 * NULL). No error is filled in: the caller knows what was parsed. flags: as of json_loadb. */
enum inmo_status inmo_json_parse(const char *text, size_t length, size_t flags, json_t **json, json_error_t *wrong);

/* Whether the text is one JSON value, as far as the grammar goes; allocates nothing. */
int inmo_json_is_sound(const char *text, size_t length);

#endif
