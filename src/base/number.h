/* number.h - numbers as text, with a decimal point whatever locale the program has set. printf, strtod and their
 * relatives follow setlocale(LC_NUMERIC): under a German locale 0.5 is written "0,5" and "0.5" is read as 0, and
 * model files, settings and messages would depend on who loads the library. So everything that writes or reads a
 * real number goes through here (tests/check_layers.py); whole numbers may use snprintf. */
#ifndef INMO_BASE_NUMBER_H
#define INMO_BASE_NUMBER_H

#include <stdarg.h>
#include <stddef.h>

/* snprintf and vsnprintf in the C locale. */
int inmo_format(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int inmo_vformat(char *text, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
/* strtod in the C locale. */
double inmo_real(const char *text, char **end);

#endif
