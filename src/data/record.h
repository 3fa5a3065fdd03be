/* record.h - common to all formats once the fields of a line are known: check them, apply the rating threshold,
 * intern the ids, add to the log, and count bad lines. */
#ifndef INMO_DATA_RECORD_H
#define INMO_DATA_RECORD_H

#include "base/status.h"
#include "data/columns.h"
#include "data/detect.h"
#include "data/input.h"
#include "data/log.h"
#include "data/value.h"

struct inmo_spill;

struct inmo_reader {
    const struct inmo_source *source; /* NULL: files */
    struct inmo_spill *spill;         /* NULL: into memory */
    struct inmo_input *input;
    const char *name; /* of the input, for messages */
    struct inmo_read_options options;
    struct inmo_plan plan;
    struct inmo_log *log;
    char first_bad[512]; /* the error of the first skipped line */
    /* The user of the last interaction: most logs are sorted by user, so this saves a lookup per line. */
    char last_user[INMO_ID_LIMIT];
    size_t last_length;
    int32_t last_number;
};

/* Adds a line whose fields, by role, are text. A bad line is INPUT, or is counted and skipped. */
enum inmo_status inmo_record_add(struct inmo_reader *reader, int64_t line,
                                 const struct inmo_field field[INMO_ROLES], struct inmo_error *error);

/* Its two halves, for formats whose ratings and times are not text. Check an id before it is kept. */
enum inmo_status inmo_record_check_id(struct inmo_reader *reader, int64_t line, const struct inmo_field *id,
                                      enum inmo_role role, int *good, struct inmo_error *error);
/* What a line says beside its ids. kind is that of the event; a low rating makes a positive one a seen one. */
struct inmo_values {
    double rating;
    int64_t time;
    uint8_t part;
    enum inmo_kind kind;
    double weight; /* if the plan has weights; a pair of weight 0 is only seen */
};
enum inmo_status inmo_record_keep(struct inmo_reader *reader, const struct inmo_field *user,
                                  const struct inmo_field *item, const struct inmo_values *values,
                                  struct inmo_error *error);
/* Checks the weight, or takes it from where the plan says. *good is 0 for a bad line. */
enum inmo_status inmo_record_weigh(struct inmo_reader *reader, int64_t line, struct inmo_values *values, int *good,
                                   struct inmo_error *error);
/* What the options say about a type of event. */
enum inmo_kind inmo_record_event(const struct inmo_reader *reader, const struct inmo_field *type);

/* A bad line: "NAME:LINE: found ..., expected ...". OK while skip_bad allows it. */
enum inmo_status inmo_record_bad(struct inmo_reader *reader, int64_t line, struct inmo_error *error,
                                 const char *format, ...) __attribute__((format(printf, 4, 5)));
enum inmo_status inmo_record_too_long(struct inmo_reader *reader, int64_t line, struct inmo_error *error);

/* inmo_log_read (path) or inmo_log_read_source (source), into memory or, unless spill is NULL, into temporary
 * files; then the log has no interactions, and the spill is not ended. */
enum inmo_status inmo_log_read_into(const char *const *path, size_t path_count, const struct inmo_source *source,
                                    struct inmo_spill *spill, const struct inmo_read_options *options,
                                    const struct inmo_hooks *hooks, struct inmo_log **log,
                                    struct inmo_error *error);

/* Readers of the three layouts: read all lines of reader->input by reader->plan into reader->log. */
enum inmo_status inmo_read_delimited(struct inmo_reader *reader, struct inmo_error *error);
enum inmo_status inmo_read_list(struct inmo_reader *reader, struct inmo_error *error);
enum inmo_status inmo_read_json(struct inmo_reader *reader, struct inmo_error *error);

#endif
