/* read.c - reads files into one log. Each file is opened, inspected, planned and read in turn. Ids are numbered by
 * first appearance, so the same files in the same order give the same log.
 *
 * Cost: 8 bytes per interaction (8 more with times, 1 more with a split column) plus the ids; two buffers of 1
 * MB. */
#include "base/memory.h"
#include "base/setting.h"
#include "base/text.h"
#include "base/threads.h"
#include "data/decode.h"
#include "data/record.h"
#include "data/spill.h"
#include "data/unpack.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define FIELD(name) offsetof(struct inmo_read_options, name)

static const struct inmo_setting settings[] = {
    {"format", 's', FIELD(format), 0, 0, "auto|delimited|list|inter|movielens|gowalla|amazon|yelp", "Reading",
     "FORMAT", "Format of the file; auto detects it from the first lines."},
    {"columns", 's', FIELD(columns), 0, 0, NULL, "Reading", "NAMES",
     "Names of the columns in order: user,item,rating,time,split,event,weight; - ignores a column."},
    {"separator", 's', FIELD(separator), 0, 0, NULL, "Reading", "TEXT",
     "Separator between columns: tab, comma, semicolon, bar, space, colon, or the characters themselves."},
    {"header", 's', FIELD(header), 0, 0, "auto|yes|no", "Reading", "WHETHER",
     "Whether the first line is a header."},
    {"min-rating", 'r', FIELD(min_rating), -1e300, 1e300, "auto", "Reading", "X",
     "If there are ratings, those of at least this are positive; lower ones are only seen: never trained on, "
     "never recommended to that user. auto: above 3."},
    {"keep-all-ratings", 'b', FIELD(keep_all_ratings), 0, 1, NULL, "Reading", NULL,
     "Ratings of any height are positive."},
    {"positive", 's', FIELD(positive), 0, 0, NULL, "Reading", "TYPES",
     "With a column of event types: those that are interactions, such as buy,like; others are ignored. Default: "
     "all that are named neither as seen nor as negative."},
    {"seen", 's', FIELD(seen), 0, 0, NULL, "Reading", "TYPES",
     "Event types that are only seen, such as view: never trained on, never recommended to that user."},
    {"negative", 's', FIELD(negative), 0, 0, NULL, "Reading", "TYPES",
     "Event types that take an interaction back, such as return: the pair is only seen."},
    {"skip-bad", 'u', FIELD(skip_bad), 0, 0x1p62, NULL, "Reading", "N",
     "Skip up to this many bad lines; one more is an error."},
    {"encoding", 's', FIELD(encoding), 0, 0, NULL, "Reading", "NAME",
     "Encoding of the text: utf-8 (UTF-16 and UTF-32 are then recognised), latin-1, windows-1252, or another name "
     "that iconv -l lists."},
    {"weight", 's', FIELD(weight), 0, 0, NULL, "Reading", "COLUMN",
     "How much an interaction counts: a column by its name in the header or its number (quantity, plays, hours), "
     "rating, or count for the number of repeats. Repeats are added up; 0 is only seen."},
};
/* The record of a log leaves out what came later, from weight on, where it is not used. */
enum { SETTINGS = sizeof settings / sizeof settings[0], ALWAYS_TOLD = SETTINGS - 1 };

void inmo_read_options_init_sized(struct inmo_read_options *options, size_t size)
{
    const struct inmo_read_options defaults = {
        .format = "auto", .header = "auto", .min_rating = INMO_AUTO, .encoding = "utf-8"};
    inmo_sized_fill(options, size, &defaults, sizeof defaults);
}

const struct inmo_setting *inmo_read_settings(size_t *count)
{
    *count = SETTINGS;
    return settings;
}

/* Progress over all files, in bytes on disk; total is 0 if one of them is not a regular file. */
struct meter {
    const struct inmo_hooks *hooks;
    double began, reported;
    int64_t before, total;
};

static void report(struct meter *meter, int64_t bytes, double now)
{
    struct inmo_progress progress = {
        .stage = "reading", .unit = "bytes", .loss = NAN, .score = NAN, .best_score = NAN};
    progress.done = (double)(meter->before + bytes);
    progress.total = (double)meter->total;
    progress.seconds = now - meter->began;
    inmo_report_progress(meter->hooks, &progress);
    meter->reported = now;
}

static enum inmo_status step(void *context, int64_t bytes, struct inmo_error *error)
{
    struct meter *meter = context;
    double now = inmo_now();
    if (inmo_is_interrupted(meter->hooks))
        return inmo_fail(error, INMO_INTERRUPTED, "reading was stopped on request");
    if (now - meter->reported > 0.2)
        report(meter, bytes, now);
    return INMO_OK;
}

/* Finds missing files before the first is read. */
static enum inmo_status measure(const char *const *path, size_t path_count, int64_t *total,
                                struct inmo_error *error)
{
    int64_t sum = 0;
    int known = 1;
    for (size_t n = 0; n < path_count; n++) {
        struct stat about;
        if (strcmp(path[n], "-") == 0) {
            known = 0;
            continue;
        }
        if (stat(path[n], &about) != 0)
            return inmo_fail_errno(error, "open", path[n]);
        if (S_ISDIR(about.st_mode)) {
            errno = EISDIR;
            return inmo_fail_errno(error, "read", path[n]);
        }
        known = known && S_ISREG(about.st_mode);
        sum += about.st_size;
    }
    *total = known ? sum : 0;
    return INMO_OK;
}

/* ---- Files that are unpacked ahead --------------------------------------------------------------------------- */

/* The file that is parsed and those after it, open and unpacked by a thread each, as far as their buffers take. */
enum { AHEAD_MOST = 16, AHEAD_BYTES = 16 << 20 };

struct queue {
    const char *const *path;
    size_t path_count, next;  // next: the first that is not open
    size_t at_once, memory;   // files, and bytes of each
    struct {
        struct inmo_unpack *unpack;
        enum inmo_status status; /* of opening: told when it is the file's turn */
        struct inmo_error error;
    } file[AHEAD_MOST];  // (path_count % AHEAD_MOST)
};

static void queue_begin(struct queue *queue, const char *const *path, size_t path_count,
                        const struct inmo_spill *spill)
{
    size_t threads = (size_t)inmo_threads();
    queue->path = path;
    queue->path_count = path_count;
    queue->at_once = threads < AHEAD_MOST ? threads : AHEAD_MOST;
    queue->memory = AHEAD_BYTES;
    if (spill) { /* a sixteenth of the bound for all of them, and their decoders */
        queue->at_once = spill->memory < 256 << 20 ? 1 : queue->at_once < 4 ? queue->at_once : 4;
        queue->memory = spill->memory / 64;
    }
}

/* The file of number n, whose turn it is; opens those after it. */
static enum inmo_status queue_take(struct queue *queue, size_t n, struct inmo_unpack **unpack,
                                   struct inmo_error *error)
{
    enum inmo_status status;
    for (; queue->next < queue->path_count && queue->next < n + queue->at_once; queue->next++) {
        size_t at = queue->next % AHEAD_MOST;
        struct stat about;
        /* Whoever writes into a pipe may wait for us to read the one before it. */
        if (queue->next > n && (strcmp(queue->path[queue->next], "-") == 0 ||
                                stat(queue->path[queue->next], &about) != 0 || !S_ISREG(about.st_mode)))
            break;
        queue->file[at].unpack = NULL;
        queue->file[at].status =
            inmo_unpack_open(queue->path[queue->next], &queue->file[at].unpack, &queue->file[at].error);
        if (queue->file[at].status == INMO_OK && inmo_threads() > 1)
            inmo_unpack_ahead(queue->file[at].unpack, queue->memory);
    }
    status = queue->file[n % AHEAD_MOST].status;
    if (status == INMO_OK)
        *unpack = queue->file[n % AHEAD_MOST].unpack;
    else if (error)
        *error = queue->file[n % AHEAD_MOST].error;
    queue->file[n % AHEAD_MOST].unpack = NULL;
    return status;
}

static void queue_end(struct queue *queue)
{
    for (size_t at = 0; at < AHEAD_MOST; at++)
        inmo_unpack_close(queue->file[at].unpack);
}

/* ---- One file after the other -------------------------------------------------------------------------------- */

/* The first file decides whether the log has times and parts; the others must match. */
static enum inmo_status match_log(struct inmo_reader *reader, const char *first_name, struct inmo_error *error)
{
    static const enum inmo_role role[2] = {INMO_ROLE_TIME, INMO_ROLE_SPLIT};
    const uint8_t *has = reader->plan.columns.has;
    if (!reader->log) {
        reader->log = inmo_log_new(has[INMO_ROLE_TIME], has[INMO_ROLE_SPLIT]);
        if (!reader->log)
            return inmo_fail_memory(error, "the log");
        reader->log->spill = reader->spill;
        reader->log->has_weight = reader->plan.columns.weighing != INMO_UNWEIGHTED;
        if (reader->spill && reader->log->has_weight)
            return inmo_fail(error, INMO_USAGE, "weights need the whole log: expected `weight` without `memory`");
        return INMO_OK;
    }
    for (int n = 0; n < 2; n++) {
        int first_has = n == 0 ? reader->log->has_time : reader->log->has_part;
        if (has[role[n]] != first_has)
            return inmo_fail(error, INMO_INPUT,
                             "%s has %s %s column and %s has %s, expected files alike; `columns` can make them so",
                             reader->name, has[role[n]] ? "a" : "no", inmo_role_name(role[n]), first_name,
                             first_has ? "one" : "none");
    }
    return INMO_OK;
}

static enum inmo_status read_one(struct inmo_reader *reader, struct queue *queue, size_t n, struct meter *meter,
                                 struct inmo_error *error)
{
    struct inmo_unpack *unpack = NULL;
    enum inmo_status status = INMO_OK;
    struct inmo_watch watch = {step, meter};
    struct inmo_line sample[INMO_SAMPLE_LINES];
    size_t count = 0;
    char shown[300];
    reader->input = NULL;
    if (reader->source)
        status = inmo_input_open_source(reader->source, &watch, &reader->input, error);
    else if ((status = queue_take(queue, n, &unpack, error)) == INMO_OK)
        status = inmo_input_open_on(unpack, reader->options.encoding, &watch, &reader->input, error);
    if (status != INMO_OK)
        return status;
    reader->name = inmo_input_name(reader->input);
    status = inmo_input_peek(reader->input, sample, INMO_SAMPLE_LINES, &count, error);
    if (status == INMO_OK && count == 0)
        status = inmo_fail(error, INMO_INPUT, "%s is empty", reader->name);
    if (status == INMO_OK && sample[0].too_long)
        status =
            inmo_fail(error, INMO_INPUT, "%s:%" PRId64 ": found a line longer than %d MB, expected at most that",
                      reader->name, sample[0].number, INMO_LINE_LIMIT >> 20);
    if (status == INMO_OK) {
        struct inmo_read_options options = reader->options;
        if (reader->source) { /* what it is, is known; the description has what the caller said */
            options.format = "delimited";
            options.separator = "comma";
            options.header = "yes";
        }
        status = inmo_plan_make(reader->name, &options, sample, count, &reader->plan, error);
    }
    /* For a file that is not text at all, the details would mislead. */
    if (status == INMO_INPUT && count > 0 && memchr(sample[0].text, 0, sample[0].length))
        status = inmo_fail(error, INMO_INPUT, "%s:%" PRId64 ": found a NUL byte, expected text", reader->name,
                           sample[0].number);
    if (status == INMO_OK)
        status = match_log(reader, queue->path[0], error);
    if (status == INMO_OK) {
        const char *encoding = inmo_input_encoding(reader->input);
        inmo_note(meter->hooks, INMO_NOTE, "reading %s as %s%s%s", reader->name,
                  inmo_plan_show(&reader->plan, shown, sizeof shown), encoding ? ", decoded from " : "",
                  encoding ? encoding : "");
        if (reader->plan.columns.unread_events)
            inmo_note(meter->hooks, INMO_NOTE,
                      "%s has a column of event types, which is not read: all its lines count alike (`positive`, "
                      "`seen`)",
                      reader->name);
        if (reader->plan.layout == INMO_LAYOUT_JSON)
            status = inmo_read_json(reader, error);
        else if (reader->plan.layout == INMO_LAYOUT_LIST)
            status = inmo_read_list(reader, error);
        else
            status = inmo_read_delimited(reader, error);
    }
    inmo_input_close(reader->input);
    return status;
}

static char *join_paths(const char *const *path, size_t path_count)
{
    struct inmo_text text = {0};
    for (size_t n = 0; n < path_count; n++) {
        inmo_text_add(&text, ",", n > 0);
        inmo_text_add(&text, path[n], strlen(path[n]));
    }
    return inmo_text_take(&text);
}

enum inmo_status inmo_log_read(const char *const *path, size_t path_count, const struct inmo_read_options *options,
                               const struct inmo_hooks *hooks, struct inmo_log **result, struct inmo_error *error)
{
    return inmo_log_read_into(path, path_count, NULL, NULL, options, hooks, result, error);
}

enum inmo_status inmo_log_read_source(const struct inmo_source *source, const struct inmo_read_options *options,
                                      const struct inmo_hooks *hooks, struct inmo_log **log,
                                      struct inmo_error *error)
{
    return inmo_log_read_into(&source->name, 1, source, NULL, options, hooks, log, error);
}

enum inmo_status inmo_log_read_into(const char *const *path, size_t path_count, const struct inmo_source *source,
                                    struct inmo_spill *spill, const struct inmo_read_options *options,
                                    const struct inmo_hooks *hooks, struct inmo_log **result,
                                    struct inmo_error *error)
{
    enum inmo_status status;
    struct inmo_read_options defaults;
    struct meter meter = {.hooks = hooks, .began = inmo_now()};
    struct inmo_reader *reader = NULL;
    struct queue queue = {0};
    struct stat about;

    inmo_read_options_init(&defaults);
    if (!options)
        options = &defaults;
    status = inmo_sized_check(options, sizeof *options, "inmo_read_options", error);
    if (status == INMO_OK)
        status = inmo_settings_check(settings, SETTINGS, options, error);
    if (status == INMO_OK && path_count == 0)
        status =
            inmo_fail(error, INMO_USAGE, "found no file to read, expected one or more, or - for standard input");
    if (status == INMO_OK)
        status = inmo_encoding_check(options->encoding, error);
    if (status == INMO_OK && !source)
        status = measure(path, path_count, &meter.total, error);
    if (status != INMO_OK)
        return status;
    reader = inmo_alloc_zero(1, sizeof *reader);
    if (!reader)
        return inmo_fail_memory(error, "reading files");
    reader->options = *options;
    reader->source = source;
    reader->spill = spill;
    reader->options.format = options->format ? options->format : defaults.format;
    reader->options.header = options->header ? options->header : defaults.header;
    meter.reported = meter.began;
    queue_begin(&queue, path, path_count, spill);
    for (size_t n = 0; n < path_count && status == INMO_OK; n++) {
        status = read_one(reader, &queue, n, &meter, error);
        if (status == INMO_OK && meter.total > 0 && stat(path[n], &about) == 0)
            meter.before += about.st_size;
    }
    if (status == INMO_OK) {
        size_t count;
        const struct inmo_setting *table = inmo_read_settings(&count);
        reader->log->sources = join_paths(path, path_count);
        reader->log->reading = inmo_settings_json(
            table, inmo_settings_told(table, ALWAYS_TOLD, count, &reader->options, &defaults), &reader->options);
        if (!reader->log->sources || !reader->log->reading)
            status = inmo_fail_memory(error, "the names of the files");
    }
    if (status == INMO_OK) {
        report(&meter, 0, inmo_now());
        if (reader->log->bad_lines > 0)
            inmo_note(hooks, INMO_WARNING, "passed over %" PRId64 " bad line%s of %" PRId64 "; the first: %s",
                      reader->log->bad_lines, reader->log->bad_lines == 1 ? "" : "s", reader->log->lines,
                      reader->first_bad);
        *result = reader->log;
    } else {
        inmo_log_free(reader->log);
    }
    queue_end(&queue);
    inmo_free(reader);
    return status;
}
