/* stamp.h - points in time: text or a number in, milliseconds since 1970 in UTC, RFC 3339 out.
 *
 * Independent of the process's time zone and locale. Years 0001 to 9999, as written and in UTC. */
#ifndef INMO_SERVER_STAMP_H
#define INMO_SERVER_STAMP_H

#include <stddef.h>
#include <stdint.h>

/* For sentences: found "yesterday", expected ... */
#define STAMP_EXPECTED                                                                                             \
    "a time such as \"2022-08-07T00:26:46Z\", a date such as \"2022-08-07\", or seconds or milliseconds since "    \
    "1970"

/* Reads any of
 *     2022-08-07T00:26:46Z        RFC 3339; T may be t or a space, Z may be z
 *     2022-08-07T02:26:46+02:00   an offset, also +0200 and +02; without one the time is UTC
 *     2022-08-07 00:26:46.123456  digits after the third are cut off
 *     2022-08-07 00:26            no seconds
 *     2022-08-07                  midnight
 *     1659831000, 1659831000.5    a number, as stamp_number takes it
 *     2022-06-30T23:59:60Z        a leap second is the first second of the next minute
 * Returns 1 and *milliseconds, or 0 and nothing for anything else: month 13, 30 February, 24:00, spaces around
 * it. */
int stamp_parse(const char *text, size_t length, int64_t *milliseconds);

/* Seconds since 1970 when smaller than 1e11 (until the year 5138), else milliseconds (from 1973 on). Returns 0 when
 * the result is outside the years above. */
int stamp_number(double number, int64_t *milliseconds);

/* "2022-08-07T00:26:46Z", "2022-08-07T00:26:46.123Z" when there are milliseconds. Returns the length; 0 and ""
 * outside the years above. */
enum { STAMP_SIZE = 25 };
size_t stamp_format(int64_t milliseconds, char text[STAMP_SIZE]);

/* Now, by the system's clock. */
int64_t stamp_now(void);

#endif
