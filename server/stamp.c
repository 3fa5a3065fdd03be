/* stamp.c - points in time as text. timegm, strptime and gmtime_r would do some of it, but timegm repairs 30
 * February to 2 March instead of refusing it, and strptime follows the locale. So days are counted here. */
#include "server/stamp.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR };

static const int64_t first = INT64_C(-62135596800000), /* 0001-01-01T00:00:00Z */
    last = INT64_C(253402300799999);                   /* 9999-12-31T23:59:59.999Z */

/* Days since 1970-01-01 in the Gregorian calendar. The year is taken to begin in March, so that the leap day is its
 * last; 400 years have 146,097 days, and the months from March on have (153 m + 2) / 5 days before them. */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400, of_era = y - 400 * era;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int days_in(int year, int month)
{
    static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

/* The next `digits` digits as a number from least to most; -1 if they are not there. */
static int take(const char **at, const char *end, int digits, int least, int most)
{
    int value = 0;
    if (end - *at < digits)
        return -1;
    for (int n = 0; n < digits; n++) {
        if ((*at)[n] < '0' || (*at)[n] > '9')
            return -1;
        value = 10 * value + ((*at)[n] - '0');
    }
    *at += digits;
    return value >= least && value <= most ? value : -1;
}

/* Steps over one of the characters. */
static int skip(const char **at, const char *end, const char *any_of)
{
    int there = *at < end && **at && strchr(any_of, **at) != NULL;
    *at += there;
    return there;
}

/* The digits after a point, in thousandths; -1 if there is none. */
static int take_thousandths(const char **at, const char *end)
{
    const char *start = *at;
    int value = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
        if (*at - start < 3)
            value = 10 * value + (**at - '0');
    for (ptrdiff_t n = *at - start; n < 3; n++)
        value *= 10;
    return *at > start ? value : -1;
}

/* HH:MM[:SS[.fraction]][Z|+HH[[:]MM]] to the end of the text, in milliseconds; 0 when it is something else. */
static int parse_clock(const char *at, const char *end, int64_t *milliseconds)
{
    int hour = take(&at, end, 2, 0, 23), minute, second = 0, thousandths = 0, sign = 0;
    int64_t offset = 0;
    if (hour < 0 || !skip(&at, end, ":") || (minute = take(&at, end, 2, 0, 59)) < 0)
        return 0;
    if (skip(&at, end, ":") && ((second = take(&at, end, 2, 0, 60)) < 0 ||
                                (skip(&at, end, ".") && (thousandths = take_thousandths(&at, end)) < 0)))
        return 0;
    if (!skip(&at, end, "Zz"))
        sign = skip(&at, end, "+") ? 1 : skip(&at, end, "-") ? -1 : 0;
    if (sign) {
        int hours = take(&at, end, 2, 0, 23), minutes;
        minutes = at == end ? 0 : (skip(&at, end, ":"), take(&at, end, 2, 0, 59));
        if (hours < 0 || minutes < 0)
            return 0;
        offset = sign * ((int64_t)hours * HOUR + (int64_t)minutes * MINUTE);
    }
    *milliseconds = (int64_t)hour * HOUR + (int64_t)minute * MINUTE + second * SECOND + thousandths - offset;
    return at == end;
}

static int parse_date(const char *at, const char *end, int64_t *milliseconds)
{
    int year = take(&at, end, 4, 1, 9999), month, day;
    int64_t clock = 0, value;
    if (year < 0 || !skip(&at, end, "-") || (month = take(&at, end, 2, 1, 12)) < 0 || !skip(&at, end, "-") ||
        (day = take(&at, end, 2, 1, days_in(year, month))) < 0)
        return 0;
    if (at < end && (!skip(&at, end, "Tt ") || !parse_clock(at, end, &clock)))
        return 0;
    value = days_of(year, month, day) * DAY + clock;
    if (value < first || value > last) /* by the offset */
        return 0;
    *milliseconds = value;
    return 1;
}

/* A decimal number without an exponent. In whole numbers: a double would round the last milliseconds' digit. */
static int parse_number(const char *at, const char *end, int64_t *milliseconds)
{
    int negative = skip(&at, end, "-"), thousandths = 0;
    const char *start = at;
    int64_t whole = 0, value;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (whole > last)
            return 0;
        whole = 10 * whole + (*at - '0');
    }
    if (at == start || (skip(&at, end, ".") && (thousandths = take_thousandths(&at, end)) < 0) || at != end)
        return 0;
    value = whole < INT64_C(100000000000) ? whole * SECOND + thousandths : whole;
    value = negative ? -value : value;
    if (value < first || value > last)
        return 0;
    *milliseconds = value;
    return 1;
}

int stamp_parse(const char *text, size_t length, int64_t *milliseconds)
{
    const char *end = text + length;
    return parse_date(text, end, milliseconds) || parse_number(text, end, milliseconds);
}

int stamp_number(double number, int64_t *milliseconds)
{
    double value = fabs(number) < 1e11 ? number * SECOND : number;
    if (!(value >= (double)first && value <= (double)last)) /* also NaN */
        return 0;
    *milliseconds = llround(value); /* 1659831000.123 * 1000 is a little below ...123 */
    return 1;
}

size_t stamp_format(int64_t milliseconds, char text[STAMP_SIZE])
{
    int64_t days, rest, day_of_era, year_of_era, day_of_year, shifted;
    int year, month, day, fields[6], widths[6] = {4, 2, 2, 2, 2, 2};
    size_t length = 0;
    text[0] = '\0';
    if (milliseconds < first || milliseconds > last)
        return 0;
    days = milliseconds / DAY - (milliseconds % DAY < 0);
    rest = milliseconds - days * DAY;
    /* The reverse of days_of; the smallest day, 0001-01-01, is within era 0. */
    days += 719468;
    day_of_era = days % 146097;
    year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    shifted = (5 * day_of_year + 2) / 153;
    day = (int)(day_of_year - (153 * shifted + 2) / 5 + 1);
    month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
    year = (int)(year_of_era + days / 146097 * 400 + (month <= 2));
    fields[0] = year, fields[1] = month, fields[2] = day;
    fields[3] = (int)(rest / HOUR), fields[4] = (int)(rest / MINUTE % 60), fields[5] = (int)(rest / SECOND % 60);
    for (int n = 0; n < 6; n++) {
        for (int k = widths[n] - 1, value = fields[n]; k >= 0; k--, value /= 10)
            text[length + (size_t)k] = (char)('0' + value % 10);
        length += (size_t)widths[n];
        text[length++] = "--T::."[n];
    }
    if (rest % SECOND == 0) {
        length--; /* the point */
    } else {
        text[length++] = (char)('0' + rest % SECOND / 100);
        text[length++] = (char)('0' + rest % 100 / 10);
        text[length++] = (char)('0' + rest % 10);
    }
    text[length++] = 'Z';
    text[length] = '\0';
    return length;
}

int64_t stamp_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec / 1000000;
}
