/* record.c - see record.h. The hot path is one id check, one comparison with the last user and one table lookup for
 * the item; only new ids are copied. Order is preserved. */
#include "data/record.h"

#include "base/number.h"

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

int inmo_record_rating_passes(struct inmo_reader *reader, double rating)
{
    struct inmo_log *log = reader->log;
    if (!(rating <= log->highest_rating))
        log->highest_rating = rating;
    if (reader->options.keep_all_ratings || rating > reader->options.min_rating)
        return 1;
    log->low_rating_lines++;
    return 0;
}

static enum inmo_status fail_intern(const struct inmo_idtable *table, const char *what, struct inmo_error *error)
{
    if (inmo_idtable_map(table).count == INT32_MAX)
        return inmo_fail(error, INMO_INPUT, "found more than %d different %s, expected fewer", INT32_MAX, what);
    return inmo_fail_memory(error, what);
}

enum inmo_status inmo_record_keep(struct inmo_reader *reader, const struct inmo_field *user,
                                  const struct inmo_field *item, int64_t time, uint8_t part,
                                  struct inmo_error *error)
{
    struct inmo_log *log = reader->log;
    uint32_t item_hash = inmo_idtable_hint(log->items, item->text, item->length);
    int32_t item_number;
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
    if (inmo_log_add(log, reader->last_number, item_number, time, part) != 0)
        return inmo_fail_memory(error, "the log");
    return INMO_OK;
}

/* Parses the fields that are not ids; *good is 0 for a bad line. */
static enum inmo_status parse_values(struct inmo_reader *reader, int64_t line,
                                     const struct inmo_field field[INMO_ROLES], double *rating, int64_t *time,
                                     uint8_t *part, int *good, struct inmo_error *error)
{
    const uint8_t *has = reader->plan.columns.has;
    const struct inmo_field *value;
    char shown[INMO_SHOWN];
    *good = 0;
    value = &field[INMO_ROLE_RATING];
    if (has[INMO_ROLE_RATING] && !inmo_parse_number(value->text, value->length, rating))
        return inmo_record_bad(reader, line, error, "found the rating %s, expected a finite number",
                               inmo_show(shown, value->text, value->length));
    value = &field[INMO_ROLE_TIME];
    if (has[INMO_ROLE_TIME] && !inmo_parse_time(value->text, value->length, time))
        return inmo_record_bad(reader, line, error,
                               "found the time %s, expected seconds or a date such as 2024-01-31 or "
                               "2024-01-31T23:59:59Z",
                               inmo_show(shown, value->text, value->length));
    value = &field[INMO_ROLE_SPLIT];
    if (has[INMO_ROLE_SPLIT] && !inmo_parse_part(value->text, value->length, part))
        return inmo_record_bad(reader, line, error,
                               "found the split %s, expected 0 or train, 1 or test, 2 or valid",
                               inmo_show(shown, value->text, value->length));
    *good = 1;
    return INMO_OK;
}

enum inmo_status inmo_record_add(struct inmo_reader *reader, int64_t line,
                                 const struct inmo_field field[INMO_ROLES], struct inmo_error *error)
{
    enum inmo_status status;
    const struct inmo_columns *columns = &reader->plan.columns;
    double rating = 0;
    int64_t time = 0;
    uint8_t part = 0;
    int good;
    status = inmo_record_check_id(reader, line, &field[INMO_ROLE_USER], INMO_ROLE_USER, &good, error);
    if (good)
        status = inmo_record_check_id(reader, line, &field[INMO_ROLE_ITEM], INMO_ROLE_ITEM, &good, error);
    /* More than user and item. */
    if (good && columns->count > 2)
        status = parse_values(reader, line, field, &rating, &time, &part, &good, error);
    if (good && (!columns->has[INMO_ROLE_RATING] || inmo_record_rating_passes(reader, rating)))
        status = inmo_record_keep(reader, &field[INMO_ROLE_USER], &field[INMO_ROLE_ITEM], time, part, error);
    return status;
}
