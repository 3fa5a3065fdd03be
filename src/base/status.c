/* status.c - see status.h. */
#include "base/status.h"

#include "base/number.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *inmo_version(void)
{
    return INMO_VERSION;
}

int inmo_abi(void)
{
    return INMO_ABI;
}

const char *inmo_status_name(enum inmo_status status)
{
    switch (status) {
#define CASE(name, code, meaning)                                                                                  \
    case INMO_##name: return #name;
        INMO_STATUS_LIST(CASE)
#undef CASE
    }
    return "INTERNAL";
}

const char *inmo_status_meaning(enum inmo_status status)
{
    switch (status) {
#define CASE(name, code, meaning)                                                                                  \
    case INMO_##name: return meaning;
        INMO_STATUS_LIST(CASE)
#undef CASE
    }
    return "a status inmo does not have";
}

enum inmo_status inmo_fail(struct inmo_error *error, enum inmo_status code, const char *format, ...)
{
    if (error) {
        va_list arguments;
        error->code = code;
        va_start(arguments, format);
        inmo_vformat(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return code;
}

enum inmo_status inmo_fail_memory(struct inmo_error *error, const char *what)
{
    return inmo_fail(error, INMO_MEMORY, "not enough memory for %s", what);
}

enum inmo_status inmo_fail_errno(struct inmo_error *error, const char *verb, const char *path)
{
    int cause = errno;
    if (cause == ENOMEM)
        return inmo_fail(error, INMO_MEMORY, "not enough memory to %s %s", verb, path);
    return inmo_fail(error, INMO_IO, "cannot %s %s: %s", verb, path, strerror(cause));
}

void inmo_note(const struct inmo_hooks *hooks, enum inmo_level level, const char *format, ...)
{
    char sentence[1024];
    va_list arguments;
    if (!hooks || !hooks->log)
        return;
    va_start(arguments, format);
    inmo_vformat(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    hooks->log(hooks->context, level, sentence);
}

void inmo_report_progress(const struct inmo_hooks *hooks, const struct inmo_progress *progress)
{
    if (hooks && hooks->progress)
        hooks->progress(hooks->context, progress);
}

int inmo_is_interrupted(const struct inmo_hooks *hooks)
{
    return hooks && hooks->interrupted && hooks->interrupted(hooks->context);
}
