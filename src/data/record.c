/* record.c - see record.h. The hot path is one id check, one comparison with the last user and one table lookup for
 * the item; only new ids are copied. Order is preserved. */
#include "data/record.h"

#include "base/number.h"
#include "base/text.h"
#include "data/spill.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum inmo_status inmo_record_bad(struct inmo_reader *reader, int64_t line, struct inmo_error *error,
                                 const char *format, ...)
{
    char sentence[400];
    va_list arguments;
    va_start(arguments, format);
    inmo_vformat(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if ((uint64_t)reader->log->bad_lines >= reader->options.skip_bad)
        return inmo_fail(error, INMO_INPUT, "%s:%lld: %s", reader->name, (long long)line, sentence);
    if (reader->log->bad_lines++ == 0)
        snprintf(reader->first_bad, sizeof reader->first_bad, "%.100s:%lld: %s", reader->name, (long long)line,
                 sentence);
    return INMO_OK;
}

enum inmo_status inmo_record_too_long(struct inmo_reader *reader, int64_t line, struct inmo_error *error)
{
    return inmo_record_bad(reader, line, error, "found a line longer than %d MB, expected at most that",
                           INMO_LINE_LIMIT >> 20);
}

enum inmo_status inmo_record_check_id(struct inmo_reader *reader, int64_t line, const struct inmo_field *id,
                                      enum inmo_role role, int *good, struct inmo_error *error)
{
    char fault[INMO_SHOWN];
    int other_encoding;
    *good = inmo_id_is_good(id->text, id->length);
    if (*good)
        return INMO_OK;
    other_encoding = inmo_id_fault(id->text, id->length, inmo_role_name(role), fault);
    return inmo_record_bad(reader, line, error, "%s%s", fault, other_encoding ? INMO_ENCODING_HINT : "");
}

enum inmo_kind inmo_record_event(const struct inmo_reader *reader, const struct inmo_field *type)
{
    const struct inmo_read_options *options = &reader->options;
    if (inmo_list_has(options->negative, type->text, type->length))
        return INMO_CANCELLED;
    if (inmo_list_has(options->seen, type->text, type->length))
        return INMO_SEEN;
    return !options->positive || inmo_list_has(options->positive, type->text, type->length) ? INMO_POSITIVE
                                                                                            : INMO_IGNORED;
}

static enum inmo_status fail_intern(const struct inmo_idtable *table, const char *what, struct inmo_error *error)
{
    if (inmo_idtable_map(table).count == INT32_MAX)
        return inmo_fail(error, INMO_INPUT, "found more than %d different %s, expected fewer", INT32_MAX, what);
    return inmo_fail_memory(error, what);
}

/* Decides what the line says, and counts it where it is not positive. */
static enum inmo_kind classify(struct inmo_reader *reader, const struct inmo_values *values)
{
    struct inmo_log *log = reader->log;
    log->seen_lines += values->kind == INMO_SEEN;
    log->cancelled_lines += values->kind == INMO_CANCELLED;
    log->ignored_lines += values->kind == INMO_IGNORED;
    if (values->kind == INMO_POSITIVE && reader->plan.columns.has[INMO_ROLE_RATING] &&
        !inmo_log_rate(log, &reader->options, values->rating))
        return INMO_SEEN;
    if (values->kind == INMO_POSITIVE && log->has_weight && (float)values->weight == 0) {
        log->weightless_lines++;
        return INMO_SEEN;
    }
    return values->kind;
}

enum inmo_status inmo_record_weigh(struct inmo_reader *reader, int64_t line, struct inmo_values *values, int *good,
                                   struct inmo_error *error)
{
    switch ((enum inmo_weighing)reader->plan.columns.weighing) {
    case INMO_UNWEIGHTED: return INMO_OK;
    case INMO_WEIGHT_COUNT: values->weight = 1; break;
    case INMO_WEIGHT_RATING: values->weight = values->rating; break;
    case INMO_WEIGHT_COLUMN: break;
    }
    *good = values->weight >= 0 && values->weight <= INMO_WEIGHT_MOST;
    if (*good)
        return INMO_OK;
    return inmo_record_bad(reader, line, error, "found the weight %.15g, expected a number from 0 to %g",
                           values->weight, INMO_WEIGHT_MOST);
}

enum inmo_status inmo_record_keep(struct inmo_reader *reader, const struct inmo_field *user,
                                  const struct inmo_field *item, const struct inmo_values *values,
                                  struct inmo_error *error)
{
    struct inmo_log *log = reader->log;
    uint32_t item_hash = inmo_idtable_hint(log->items, item->text, item->length);
    int32_t item_number;
    enum inmo_kind kind = classify(reader, values);
    if (kind == INMO_IGNORED)
        return INMO_OK;
    if (log->spill && inmo_spill_is_full(log->spill, log)) {
        enum inmo_status status = inmo_spill_turn(log->spill, log, 0, error);
        if (status != INMO_OK)
            return status;
        reader->last_length = 0;
    }
    if (user->length != reader->last_length || memcmp(user->text, reader->last_user, user->length) != 0) {
        int32_t number = inmo_idtable_intern(log->users, user->text, user->length);
        if (number < 0)
            return fail_intern(log->users, "users", error);
        reader->last_number = number;
        reader->last_length = user->length;
        memcpy(reader->last_user, user->text, user->length);
    }
    item_number = inmo_idtable_intern_hashed(log->items, item->text, item->length, item_hash);
    if (item_number < 0)
        return fail_intern(log->items, "items", error);
    if (log->spill)
        return inmo_spill_add(log->spill, log, reader->last_number, item_number, values->time, values->part, kind,
                              error);
    if ((kind == INMO_POSITIVE ? inmo_log_add(log, reader->last_number, item_number, values->time, values->part)
                               : inmo_log_add_seen(log, reader->last_number, item_number, kind)) != 0)
        return inmo_fail_memory(error, "the log");
    if (log->has_weight && kind == INMO_POSITIVE)
        inmo_log_weigh_last(log, values->weight);
    return INMO_OK;
}

/* Parses the fields that are not ids; *good is 0 for a bad line. */
static enum inmo_status parse_values(struct inmo_reader *reader, int64_t line,
                                     const struct inmo_field field[INMO_ROLES], struct inmo_values *values,
                                     int *good, struct inmo_error *error)
{
    const uint8_t *has = reader->plan.columns.has;
    const struct inmo_field *value;
    char shown[INMO_SHOWN];
    *good = 0;
    value = &field[INMO_ROLE_RATING];
    if (has[INMO_ROLE_RATING] && !inmo_parse_number(value->text, value->length, &values->rating))
        return inmo_record_bad(reader, line, error, "found the rating %s, expected a finite number",
                               inmo_show(shown, value->text, value->length));
    value = &field[INMO_ROLE_TIME];
    if (has[INMO_ROLE_TIME] && !inmo_parse_time(value->text, value->length, &values->time))
        return inmo_record_bad(reader, line, error,
                               "found the time %s, expected seconds or a date such as 2024-01-31 or "
                               "2024-01-31T23:59:59Z",
                               inmo_show(shown, value->text, value->length));
    value = &field[INMO_ROLE_SPLIT];
    if (has[INMO_ROLE_SPLIT] && !inmo_parse_part(value->text, value->length, &values->part))
        return inmo_record_bad(reader, line, error,
                               "found the split %s, expected 0 or train, 1 or test, 2 or valid",
                               inmo_show(shown, value->text, value->length));
    if (has[INMO_ROLE_EVENT])
        values->kind = inmo_record_event(reader, &field[INMO_ROLE_EVENT]);
    value = &field[INMO_ROLE_WEIGHT];
    if (has[INMO_ROLE_WEIGHT] && !inmo_parse_number(value->text, value->length, &values->weight))
        return inmo_record_bad(reader, line, error, "found the weight %s, expected a number from 0 to %g",
                               inmo_show(shown, value->text, value->length), INMO_WEIGHT_MOST);
    *good = 1;
    return inmo_record_weigh(reader, line, values, good, error);
}

enum inmo_status inmo_record_add(struct inmo_reader *reader, int64_t line,
                                 const struct inmo_field field[INMO_ROLES], struct inmo_error *error)
{
    enum inmo_status status;
    const struct inmo_columns *columns = &reader->plan.columns;
    struct inmo_values values = {.weight = 1};
    int good;
    status = inmo_record_check_id(reader, line, &field[INMO_ROLE_USER], INMO_ROLE_USER, &good, error);
    if (good)
        status = inmo_record_check_id(reader, line, &field[INMO_ROLE_ITEM], INMO_ROLE_ITEM, &good, error);
    /* More than user and item. */
    if (good && columns->count > 2)
        status = parse_values(reader, line, field, &values, &good, error);
    if (good)
        status = inmo_record_keep(reader, &field[INMO_ROLE_USER], &field[INMO_ROLE_ITEM], &values, error);
    return status;
}
