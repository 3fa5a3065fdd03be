/* value.h - parses fields (numbers, times, ids) and formats them for messages.
 *
 * Independent of the locale (with a German one strtod would read "3.5" as 3). */
#ifndef INMO_DATA_VALUE_H
#define INMO_DATA_VALUE_H

#include <stddef.h>
#include <stdint.h>

enum { INMO_ID_LIMIT = 4096, INMO_SHOWN = 200 };

/* Ends the sentence about bytes that are not UTF-8. */
#define INMO_ENCODING_HINT "; `encoding` names another one, such as latin-1"

/* A decimal number, with spaces around it allowed. Returns 1 and *value, or 0 (also for nan, inf and overflow). */
int inmo_parse_number(const char *text, size_t length, double *value);

/* Seconds since 1970: an integer, a decimal number (floored), YYYY-MM-DD, or YYYY-MM-DD and HH:MM[:SS[.fraction]]
 * with a space or T between and Z or +HH:MM after it (UTC when neither is there); or "MM D, YYYY", as Amazon's
 * reviews have it. 1 and *time, or 0. */
int inmo_parse_time(const char *text, size_t length, int64_t *time);

/* 0 or train, 1 or test, 2 or valid or validation. Returns 1 and *part, or 0. */
int inmo_parse_part(const char *text, size_t length, uint8_t *part);

/* Whether text can be an id: 1 to INMO_ID_LIMIT bytes of UTF-8 without NUL. If not, fault gets what was found and
 * what was expected ("found an empty user, expected an id"), with what ("user", "item") as its name. */
int inmo_id_is_good(const char *text, size_t length);
/* 1 when the fault is that the bytes are not UTF-8, which may be text in another encoding. */
int inmo_id_fault(const char *text, size_t length, const char *what, char fault[INMO_SHOWN]);

/* "text" in quotes, shortened; bytes that are not printable ASCII or valid UTF-8 become \xNN. */
const char *inmo_show(char shown[INMO_SHOWN], const char *text, size_t length);

#endif
