/* value.c - see value.h. Pure functions without allocation; checking an id takes a few nanoseconds. */
#include "data/value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void trim(const char **text, size_t *length)
{
    while (*length > 0 && (*text)[0] == ' ') {
        ++*text;
        --*length;
    }
    while (*length > 0 && (*text)[*length - 1] == ' ')
        --*length;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* value = mantissa 10^exponent. Exact if the mantissa has at most 15 digits and |exponent| <= 22, because both are
 * then exact doubles and one rounding remains. That covers every rating and time seen in practice. */
static double scale_by_ten(double mantissa, long exponent)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (mantissa == 0)
        return 0;
    if (exponent > 400)
        return INFINITY;
    if (exponent < -400)
        return 0;
    for (; exponent > 22; exponent -= 22)
        mantissa *= power[22];
    for (; exponent < -22; exponent += 22)
        mantissa /= power[22];
    return exponent >= 0 ? mantissa * power[exponent] : mantissa / power[-exponent];
}

int inmo_parse_number(const char *text, size_t length, double *value)
{
    enum { DIGITS_KEPT = 18 };
    uint64_t mantissa = 0;
    long exponent = 0, written = 0;
    int digits = 0, kept = 0, negative = 0, negative_exponent = 0, after_point = 0;
    size_t n = 0;
    double result;
    trim(&text, &length);
    if (length > 0 && (text[0] == '-' || text[0] == '+'))
        negative = text[n++] == '-';
    for (; n < length && (is_digit(text[n]) || (text[n] == '.' && !after_point)); n++) {
        if (text[n] == '.') {
            after_point = 1;
            continue;
        }
        digits++;
        if (kept < DIGITS_KEPT) {
            mantissa = mantissa * 10 + (uint64_t)(text[n] - '0');
            kept += mantissa != 0;
            exponent -= after_point;
        } else {
            exponent += !after_point;
        }
    }
    if (digits == 0)
        return 0;
    if (n < length && (text[n] == 'e' || text[n] == 'E')) {
        if (++n < length && (text[n] == '-' || text[n] == '+'))
            negative_exponent = text[n++] == '-';
        if (n == length)
            return 0;
        for (; n < length && is_digit(text[n]); n++)
            written = written < 100000 ? written * 10 + (text[n] - '0') : written;
        exponent += negative_exponent ? -written : written;
    }
    if (n != length)
        return 0;
    result = scale_by_ten((double)mantissa, exponent);
    if (!isfinite(result))
        return 0;
    *value = negative ? -result : result;
    return 1;
}

/* Reads width digits at *text; -1 if there are fewer. */
static int take_digits(const char **text, const char *end, int width)
{
    int value = 0;
    if (end - *text < width)
        return -1;
    for (int n = 0; n < width; n++, ++*text) {
        if (!is_digit(**text))
            return -1;
        value = value * 10 + (**text - '0');
    }
    return value;
}

static int take(const char **text, const char *end, char c)
{
    if (*text == end || **text != c)
        return 0;
    ++*text;
    return 1;
}

/* Days from 1970-01-01 in the Gregorian calendar, by counting years from March so that leap days come last. */
static int64_t days_of_date(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

static int parse_date(const char *text, size_t length, int64_t *time)
{
    const char *at = text, *end = text + length;
    int hour = 0, minute = 0, second = 0, offset = 0;
    int year = take_digits(&at, end, 4), month, day;
    if (year < 0 || !take(&at, end, '-') || (month = take_digits(&at, end, 2)) < 1 || month > 12 ||
        !take(&at, end, '-') || (day = take_digits(&at, end, 2)) < 1 || day > days_in_month(year, month))
        return 0;
    if (at < end) {
        if (!take(&at, end, 'T') && !take(&at, end, ' '))
            return 0;
        hour = take_digits(&at, end, 2);
        if (hour < 0 || hour > 23 || !take(&at, end, ':') || (minute = take_digits(&at, end, 2)) < 0 || minute > 59)
            return 0;
        if (take(&at, end, ':')) {
            second = take_digits(&at, end, 2);
            if (second < 0 || second > 60)
                return 0;
            if (take(&at, end, '.'))
                while (at < end && is_digit(*at))
                    at++;
        }
        if (at < end && (*at == '+' || *at == '-')) {
            int sign = *at++ == '-' ? -1 : 1;
            int hours = take_digits(&at, end, 2), minutes = 0;
            take(&at, end, ':');
            if (hours < 0 || hours > 23 || (at < end && ((minutes = take_digits(&at, end, 2)) < 0 || minutes > 59)))
                return 0;
            offset = sign * (hours * 3600 + minutes * 60);
        } else {
            take(&at, end, 'Z');
        }
    }
    if (at != end)
        return 0;
    *time = days_of_date(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset;
    return 1;
}

/* "09 1, 2016", "09 01, 2016" */
static int parse_review_date(const char *text, size_t length, int64_t *time)
{
    const char *at = text, *end = text + length;
    int month = take_digits(&at, end, 2), day, year;
    if (month < 1 || month > 12 || !take(&at, end, ' '))
        return 0;
    day = take_digits(&at, end, at + 1 < end && is_digit(at[1]) ? 2 : 1);
    if (day < 1 || !take(&at, end, ',') || !take(&at, end, ' ') || (year = take_digits(&at, end, 4)) < 0 ||
        at != end || day > days_in_month(year, month))
        return 0;
    *time = days_of_date(year, month, day) * 86400;
    return 1;
}

int inmo_parse_time(const char *text, size_t length, int64_t *time)
{
    size_t n, first;
    int64_t whole = 0;
    int negative, fraction = 0;
    double number;
    trim(&text, &length);
    if (length >= 10 && text[4] == '-' && text[7] == '-')
        return parse_date(text, length, time);
    if (length >= 10 && text[2] == ' ')
        return parse_review_date(text, length, time);
    negative = length > 0 && text[0] == '-';
    first = n = length > 0 && (text[0] == '-' || text[0] == '+');
    /* Integers of up to 18 digits, and the whole part of a decimal number, are exact. */
    for (; n < length && n - first < 18 && is_digit(text[n]); n++)
        whole = whole * 10 + (text[n] - '0');
    if (n > first && n < length && text[n] == '.')
        for (n++; n < length && is_digit(text[n]); n++)
            fraction |= text[n] != '0';
    if (n > first && n == length) {
        *time = negative ? -whole - fraction : whole;
        return 1;
    }
    if (!inmo_parse_number(text, length, &number) || fabs(number) >= 0x1p63)
        return 0;
    *time = (int64_t)floor(number);
    return 1;
}

int inmo_parse_part(const char *text, size_t length, uint8_t *part)
{
    static const struct {
        const char *word;
        uint8_t part;
    } known[] = {{"0", 0}, {"1", 1}, {"2", 2}, {"train", 0}, {"test", 1}, {"valid", 2}, {"validation", 2}};
    trim(&text, &length);
    for (size_t n = 0; n < sizeof known / sizeof known[0]; n++) {
        if (strlen(known[n].word) == length && memcmp(known[n].word, text, length) == 0) {
            *part = known[n].part;
            return 1;
        }
    }
    return 0;
}

/* Length of the valid UTF-8 character at text, or 0 (RFC 3629: no overlong forms, no surrogates, nothing above
 * U+10FFFF). */
static size_t utf8_character(const unsigned char *text, size_t length)
{
    unsigned char first = text[0], low = 0x80, high = 0xbf;
    size_t size = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (size == 0 || size > length)
        return 0;
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    for (size_t n = 1; n < size; n++) {
        if (text[n] < low || text[n] > high)
            return 0;
        low = 0x80;
        high = 0xbf;
    }
    return size;
}

/* Offset of the first byte that is NUL or not UTF-8, or length. */
static size_t first_bad_byte(const char *text, size_t length)
{
    size_t n = 0;
    while (n < length) {
        size_t size = utf8_character((const unsigned char *)text + n, length - n);
        if (size == 0 || text[n] == 0)
            break;
        n += size;
    }
    return n;
}

int inmo_id_is_good(const char *text, size_t length)
{
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    uint64_t word, suspect = 0;
    if (length - 1 >= INMO_ID_LIMIT)
        return 0;
    /* Eight bytes at a time. w - 1 borrows into the top bit of a byte only if the byte is 0, and w has the top bit
     * set only in a non-ASCII byte. The last word overlaps, so there is no tail. */
    if (length >= 8) {
        for (size_t n = 0; n + 8 <= length; n += 8) {
            memcpy(&word, text + n, 8);
            suspect |= (word - ones) | word;
        }
        memcpy(&word, text + length - 8, 8);
        suspect |= (word - ones) | word;
        suspect &= tops;
    } else {
        for (size_t n = 0; n < length; n++)
            suspect |= (unsigned char)text[n] - 1u >= 0x7f;
    }
    return !suspect || first_bad_byte(text, length) == length;
}

int inmo_id_fault(const char *text, size_t length, const char *what, char fault[INMO_SHOWN])
{
    int other_encoding = 0;
    if (length == 0) {
        snprintf(fault, INMO_SHOWN, "found an empty %s, expected an id", what);
    } else if (length > INMO_ID_LIMIT) {
        snprintf(fault, INMO_SHOWN, "found %s %s of %zu bytes, expected at most %d", what[0] == 'i' ? "an" : "a",
                 what, length, INMO_ID_LIMIT);
    } else {
        size_t bad = first_bad_byte(text, length);
        other_encoding = bad < length && text[bad] != 0;
        if (bad < length && text[bad] == 0)
            snprintf(fault, INMO_SHOWN, "found a NUL byte in the %s, expected text", what);
        else if (bad < length)
            snprintf(fault, INMO_SHOWN, "found the byte 0x%02x in the %s, expected UTF-8 text",
                     (unsigned char)text[bad], what);
        else
            snprintf(fault, INMO_SHOWN, "found a good %s", what);
    }
    return other_encoding;
}

const char *inmo_show(char shown[INMO_SHOWN], const char *text, size_t length)
{
    enum { BYTES_SHOWN = 40 };
    size_t at = 0, n = 0;
    shown[at++] = '"';
    while (n < length && n < BYTES_SHOWN) {
        size_t size = utf8_character((const unsigned char *)text + n, length - n);
        unsigned char c = (unsigned char)text[n];
        if (size == 0 || (size == 1 && (c < 0x20 || c == 0x7f))) {
            at += (size_t)snprintf(shown + at, 5, "\\x%02x", c);
            n++;
        } else {
            memcpy(shown + at, text + n, size);
            at += size;
            n += size;
        }
    }
    memcpy(shown + at, n < length ? "...\"" : "\"", n < length ? 5 : 2);
    return shown;
}
