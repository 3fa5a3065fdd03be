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

size_t inmo_size(const char *structure)
{
#define SIZE(name)                                                                                                 \
    {                                                                                                              \
#name, sizeof(struct name)                                                                                 \
    }
    static const struct {
        const char *name;
        size_t size;
    } known[] = {
        SIZE(inmo_error),           SIZE(inmo_progress),      SIZE(inmo_hooks),
        SIZE(inmo_setting),         SIZE(inmo_read_options),  SIZE(inmo_ids),
        SIZE(inmo_prepare_options), SIZE(inmo_dataset_info),  SIZE(inmo_interactions),
        SIZE(inmo_id_table),        SIZE(inmo_synth_options), SIZE(inmo_train_options),
        SIZE(inmo_train_report),    SIZE(inmo_model_info),    SIZE(inmo_tune_options),
        SIZE(inmo_tune_trial),      SIZE(inmo_tune_report),   SIZE(inmo_eval_options),
        SIZE(inmo_metrics),         SIZE(inmo_group),         SIZE(inmo_report),
        SIZE(inmo_event),           SIZE(inmo_freshness),     SIZE(inmo_query),
        SIZE(inmo_rows_query),      SIZE(inmo_entry),         SIZE(inmo_list),
        SIZE(inmo_explanation),     SIZE(inmo_matrix),        SIZE(inmo_tensor_info),
        SIZE(inmo_leaks),           SIZE(inmo_titles_info),   SIZE(inmo_rule_options),
    };
#undef SIZE
    for (size_t n = 0; n < sizeof known / sizeof *known; n++)
        if (strcmp(structure, known[n].name) == 0)
            return known[n].size;
    return 0;
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
