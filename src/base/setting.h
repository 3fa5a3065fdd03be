/* setting.h - what can be done with a table of settings (struct inmo_setting) and the structure it describes. */
#ifndef INMO_BASE_SETTING_H
#define INMO_BASE_SETTING_H

#include "base/status.h"

/* Row called name, or NULL. */
const struct inmo_setting *inmo_setting_find(const struct inmo_setting *table, size_t count, const char *name);
/* Checks every field against its row: USAGE with a sentence that names the option, its value and what may be. A
 * number that is not finite is out of bounds. */
enum inmo_status inmo_settings_check(const struct inmo_setting *table, size_t count, const void *structure,
                                     struct inmo_error *error);
/* The structure as a JSON object, keys in table order, numbers as %.17g; NULL when memory is short. Freed with
 * inmo_free. */
char *inmo_settings_json(const struct inmo_setting *table, size_t count, const void *structure);

#endif
