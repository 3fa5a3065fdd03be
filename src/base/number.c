/* number.c - see number.h. A locale object is switched on for the calling thread alone and off again: others, and
 * the program's own setlocale, are not touched. It is made once and never freed. */
#include "base/number.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static locale_t plain; /* the C locale; 0 if it could not be made: then the program's is used */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_plain(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t enter(void)
{
    pthread_once(&once, make_plain);
    return uselocale(plain); /* 0 only asks */
}

int inmo_vformat(char *text, size_t size, const char *format, va_list arguments)
{
    locale_t before = enter();
    int length = vsnprintf(text, size, format, arguments);
    uselocale(before);
    return length;
}

int inmo_format(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    int length;
    va_start(arguments, format);
    length = inmo_vformat(text, size, format, arguments);
    va_end(arguments);
    return length;
}

double inmo_real(const char *text, char **end)
{
    locale_t before = enter();
    double number = strtod(text, end);
    uselocale(before);
    return number;
}
