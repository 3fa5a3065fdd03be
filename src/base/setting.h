/* setting.h - operations on a table of settings (struct inmo_setting) and the structure it describes. */
#ifndef INMO_BASE_SETTING_H
#define INMO_BASE_SETTING_H

#include "base/status.h"

/* ---- Structures that know their size (inmo.h, conventions): the first field is a size_t ---------------------- */

/* Fills a caller's structure of `size` bytes, whatever version it is of: never more than size bytes, defaults as
 * far as they go, zeros behind them, and the size itself. */
void inmo_sized_fill(void *structure, size_t size, const void *defaults, size_t known);
/* USAGE unless the structure says it has the known size. To be asked before anything else of it is read. */
enum inmo_status inmo_sized_check(const void *structure, size_t known, const char *name, struct inmo_error *error);
enum inmo_status inmo_fail_size(struct inmo_error *error, const char *name, size_t size, size_t known);

/* ---- Tables -------------------------------------------------------------------------------------------------- */

/* Row called name, or NULL. */
const struct inmo_setting *inmo_setting_find(const struct inmo_setting *table, size_t count, const char *name);
/* Checks every field against its row. Errors: USAGE, naming the option, its value and what is allowed. A non-finite
 * number is out of bounds. */
enum inmo_status inmo_settings_check(const struct inmo_setting *table, size_t count, const void *structure,
                                     struct inmo_error *error);
/* How many rows a record has to tell: at least so many, and all up to the last that differs from its default. */
size_t inmo_settings_told(const struct inmo_setting *table, size_t least, size_t count, const void *structure,
                          const void *defaults);
/* The structure as a JSON object, keys in table order, numbers as %.17g; NULL if out of memory. Free it with
 * inmo_free. */
char *inmo_settings_json(const struct inmo_setting *table, size_t count, const void *structure);

#endif
