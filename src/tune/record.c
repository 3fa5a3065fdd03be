/* record.c - see record.h. */
#include "tune/record.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD "trials.jsonl"
enum { LARGEST_RECORD = 1 << 28 /* bytes */ };

/* ---- Lines -------------------------------------------------------------------------------------------------- */

/* The searched settings of a trial, with numbers as JSON numbers. */
static void add_settings(struct inmo_text *line, const struct inmo_arms *arms, int trial)
{
    const struct inmo_arm *arm = &arms->arm[inmo_arms_find(arms, trial)];
    inmo_text_add(line, "{", 1);
    if (arms->count > 1)
        inmo_text_format(line, "\"model\": \"%s\"", arm->model);
    for (size_t n = 0; n < arm->space.axis_count; n++) {
        const struct inmo_setting *row = arm->space.axis[n].row;
        char buffer[INMO_VALUE_SIZE];
        const char *value = inmo_arms_value(arms, trial, n, buffer);
        inmo_text_format(line, "%s\"%s\": ", n || arms->count > 1 ? ", " : "", row->name);
        if (row->type == 's' || row->type == 'b' || strcmp(value, "auto") == 0)
            inmo_text_json_string(line, value);
        else
            inmo_text_add(line, value, strlen(value));
    }
    inmo_text_add(line, "}", 1);
}

static char *line_of(const struct inmo_arms *arms, const struct inmo_outcome *outcome)
{
    struct inmo_text line = {0};
    inmo_text_format(&line,
                     "{\"trial\": %d, \"epochs\": %d, \"seed\": %" PRIu64 ", \"settings\": ", outcome->trial + 1,
                     outcome->epochs, outcome->seed);
    add_settings(&line, arms, outcome->trial);
    inmo_text_add(&line, ", \"ndcg@20\": ", 13);
    inmo_text_number(&line, outcome->score, 17);
    inmo_text_format(&line, ", \"best_epoch\": %d, \"seconds\": ", outcome->best_epoch);
    inmo_text_number(&line, outcome->seconds, 6);
    inmo_text_format(&line, ", \"code\": %d, \"error\": ", (int)outcome->code);
    inmo_text_json_string(&line, outcome->error);
    inmo_text_add(&line, "}\n", 2);
    return inmo_text_take(&line);
}

/* Whether the settings of a line are those the trial has now: OK, FORMAT or MEMORY. They differ when the line was
 * changed by hand or written by a version that draws otherwise. */
static enum inmo_status settings_agree(const struct inmo_arms *arms, int trial, const json_t *found)
{
    struct inmo_text text = {0};
    char *expected;
    json_t *parsed = NULL;
    enum inmo_status status = INMO_MEMORY;
    add_settings(&text, arms, trial);
    expected = inmo_text_take(&text);
    if (expected)
        status = inmo_json_parse(expected, strlen(expected), 0, &parsed, NULL);
    if (!status && !json_equal(parsed, (json_t *)found))
        status = INMO_FORMAT;
    json_decref(parsed);
    inmo_free(expected);
    return status;
}

/* Stores the outcome and takes ownership of outcome->error. */
static enum inmo_status keep(struct inmo_tune_record *record, const struct inmo_outcome *outcome,
                             struct inmo_error *error)
{
    struct inmo_outcome *grown = inmo_resize(record->outcome, record->count, record->count + 1, sizeof *grown);
    if (!grown) {
        inmo_free(outcome->error);
        return inmo_fail_memory(error, "the record of the search");
    }
    record->outcome = grown;
    record->outcome[record->count++] = *outcome;
    return INMO_OK;
}

static enum inmo_status take_line(struct inmo_tune_record *record, const json_t *line, int number,
                                  struct inmo_error *error)
{
    struct inmo_outcome outcome = {.score = NAN};
    json_int_t seed = 0;
    int code = 0;
    json_t *settings, *score;
    const char *sentence = NULL;
    enum inmo_status status = INMO_OK;

    if (json_unpack((json_t *)line, "{si si sI so so si sF si}", "trial", &outcome.trial, "epochs", &outcome.epochs,
                    "seed", &seed, "settings", &settings, "ndcg@20", &score, "best_epoch", &outcome.best_epoch,
                    "seconds", &outcome.seconds, "code", &code) ||
        --outcome.trial < 0 || outcome.trial >= INMO_MOST_TRIALS || outcome.epochs < 1 || seed < 0 ||
        outcome.best_epoch < -1 || outcome.seconds < 0 || code < 0 || code > INMO_INTERRUPTED ||
        (code == INMO_OK) != json_is_number(score))
        status = INMO_FORMAT;
    else
        status = settings_agree(record->arms, outcome.trial, settings);
    if (status == INMO_MEMORY)
        return inmo_fail_memory(error, "the record of the search");
    if (status)
        return inmo_fail(error, INMO_FORMAT, "%s, line %d: not a training of this search; the file was changed",
                         record->path, number);
    outcome.seed = (uint64_t)seed;
    outcome.code = (enum inmo_status)code;
    if (json_is_number(score))
        outcome.score = json_number_value(score);
    sentence = json_string_value(json_object_get(line, "error"));
    if (outcome.code) {
        outcome.error = inmo_copy_string(sentence ? sentence : "");
        if (!outcome.error)
            return inmo_fail_memory(error, "the record of the search");
    }
    return keep(record, &outcome, error);
}

/* ---- Which search it is ------------------------------------------------------------------------------------- */

/* The first key in which two objects differ, also one level down; NULL if they agree. */
static const char *difference(json_t *found, json_t *expected, json_t **found_value, json_t **expected_value)
{
    const char *key, *inner;
    json_t *value;
    json_object_foreach(expected, key, value) {
        json_t *other = json_object_get(found, key);
        if (json_equal(other, value))
            continue;
        if (json_is_object(value) && json_is_object(other)) {
            inner = difference(other, value, found_value, expected_value);
            if (inner)
                return inner;
        }
        *found_value = other;
        *expected_value = value;
        return key;
    }
    return NULL;
}

static enum inmo_status check_search(const char *path, json_t *found, const char *search, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    json_t *expected = json_loads(search, 0, NULL), *was = NULL, *is = NULL; /* ours: only memory can be wrong */
    const char *key = expected ? difference(found, expected, &was, &is) : NULL;
    char *was_text = NULL, *is_text = NULL;

    if (!expected) {
        status = inmo_fail_memory(error, "the record of the search");
    } else if (key) {
        was_text = was ? json_dumps(was, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)) : NULL;
        is_text = json_dumps(is, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        status =
            inmo_fail(error, INMO_EXISTS,
                      "%s belongs to another search: its %s is %.200s, now it is %.200s; another directory keeps "
                      "them apart",
                      path, key, was_text ? was_text : "absent", is_text ? is_text : "?");
        free(is_text);
        free(was_text);
    }
    json_decref(expected);
    return status;
}

/* ---- The file ----------------------------------------------------------------------------------------------- */

static enum inmo_status write_line(const struct inmo_tune_record *record, const char *line,
                                   struct inmo_error *error)
{
    size_t length = strlen(line), done = 0;
    while (done < length) {
        ssize_t count = write(record->descriptor, line + done, length - done);
        if (count < 0 && errno != EINTR)
            return inmo_fail_errno(error, "write", record->path);
        done += count > 0 ? (size_t)count : 0;
    }
    /* EINVAL and ENOTSUP: this file system does not support sync. */
    if (fsync(record->descriptor) != 0 && errno != EINVAL && errno != ENOTSUP)
        return inmo_fail_errno(error, "write", record->path);
    return INMO_OK;
}

static enum inmo_status read_whole(const struct inmo_tune_record *record, char **text, size_t *size,
                                   struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct stat found;
    char *buffer = NULL;
    size_t done = 0;

    if (fstat(record->descriptor, &found) != 0)
        return inmo_fail_errno(error, "read", record->path);
    if (found.st_size > LARGEST_RECORD)
        return inmo_fail(error, INMO_FORMAT, "%s: %lld bytes are no record of a search", record->path,
                         (long long)found.st_size);
    buffer = inmo_alloc((size_t)found.st_size + 1, 1);
    if (!buffer)
        return inmo_fail_memory(error, "the record of the search");
    while (done < (size_t)found.st_size && !status) {
        ssize_t count = pread(record->descriptor, buffer + done, (size_t)found.st_size - done, (off_t)done);
        if (count < 0 && errno != EINTR)
            status = inmo_fail_errno(error, "read", record->path);
        else if (count == 0)
            break;
        done += count > 0 ? (size_t)count : 0;
    }
    if (status) {
        inmo_free(buffer);
        return status;
    }
    *text = buffer;
    *size = done;
    return INMO_OK;
}

/* Reads the complete lines; *good is where they end. */
static enum inmo_status read_lines(struct inmo_tune_record *record, const char *text, size_t size,
                                   const char *search, size_t *good, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    const char *end;
    int number = 0;

    *good = 0;
    while (!status && (end = memchr(text + *good, '\n', size - *good))) {
        size_t length = (size_t)(end - text) - *good;
        json_t *line = NULL;
        /* A line must not be taken for torn, and cut off, because memory was short. */
        if (inmo_json_parse(text + *good, length, JSON_REJECT_DUPLICATES, &line, NULL) == INMO_MEMORY)
            return inmo_fail_memory(error, "the record of the search");
        number++;
        /* A file system may extend a file before its bytes are written: an invalid last line counts as torn. */
        if (!line && *good + length + 1 == size && number > 1)
            break;
        if (!line)
            status = inmo_fail(error, INMO_FORMAT, "%s, line %d: found \"%.*s\", expected a JSON object",
                               record->path, number, (int)(length < 60 ? length : 60), text + *good);
        else if (number == 1)
            status = check_search(record->path, line, search, error);
        else
            status = take_line(record, line, number, error);
        json_decref(line);
        if (!status)
            *good += length + 1;
    }
    return status;
}

static char *joined(const char *directory, const char *name)
{
    struct inmo_text path = {0};
    inmo_text_add(&path, directory, strlen(directory));
    inmo_text_add(&path, "/", 1);
    inmo_text_add(&path, name, strlen(name));
    return inmo_text_take(&path);
}

/* Checks a directory: without a record it must be empty; beside a record, temporary files of a killed run are
 * removed. */
static enum inmo_status check_directory(const char *directory, int has_record, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    DIR *stream = opendir(directory);
    struct dirent *entry;
    if (!stream)
        return inmo_fail_errno(error, "read", directory);
    while (!status && (entry = readdir(stream))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (!has_record)
            status =
                inmo_fail(error, INMO_EXISTS,
                          "%s exists already and is not the directory of a search: it has %.100s and no " RECORD,
                          directory, entry->d_name);
        else if (strstr(entry->d_name, ".inmo-part-"))
            unlinkat(dirfd(stream), entry->d_name, 0);
    }
    closedir(stream);
    return status;
}

static enum inmo_status open_file(struct inmo_tune_record *record, const char *directory, struct inmo_error *error)
{
    enum inmo_status status;
    struct stat found;

    record->path = joined(directory, RECORD);
    if (!record->path)
        return inmo_fail_memory(error, "a file name");
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return inmo_fail_errno(error, "make", directory);
    if (stat(record->path, &found) != 0) {
        status = check_directory(directory, 0, error);
        if (status)
            return status;
    }
    record->descriptor = open(record->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (record->descriptor < 0)
        return inmo_fail_errno(error, "write", record->path);
    if (flock(record->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return inmo_fail(error, INMO_IO, "%s is in use: another inmo is searching there", record->path);
    return check_directory(directory, 1, error);
}

enum inmo_status inmo_tune_record_open(struct inmo_tune_record *record, const char *directory, const char *search,
                                       const struct inmo_arms *arms, struct inmo_error *error)
{
    enum inmo_status status;
    struct inmo_text first = {0};
    char *text = NULL, *header = NULL;
    size_t size = 0, good = 0;

    *record = (struct inmo_tune_record){.arms = arms, .descriptor = -1};
    if (!directory)
        return INMO_OK;
    status = open_file(record, directory, error);
    if (!status)
        status = read_whole(record, &text, &size, error);
    if (!status)
        status = read_lines(record, text, size, search, &good, error);
    if (status)
        goto done;
    if (good < size && ftruncate(record->descriptor, (off_t)good) != 0)
        status = inmo_fail_errno(error, "write", record->path);
    if (!status && good == 0) {
        inmo_text_add(&first, search, strlen(search));
        inmo_text_add(&first, "\n", 1);
        header = inmo_text_take(&first);
        status = header ? write_line(record, header, error) : inmo_fail_memory(error, "the record of the search");
        inmo_sync_folder(directory);
    }
done:
    inmo_free(header);
    inmo_free(text);
    if (status)
        inmo_tune_record_close(record);
    return status;
}

void inmo_tune_record_close(struct inmo_tune_record *record)
{
    for (size_t n = 0; n < record->count; n++)
        inmo_free(record->outcome[n].error);
    inmo_free(record->outcome);
    if (record->descriptor >= 0)
        close(record->descriptor);
    inmo_free(record->path);
    *record = (struct inmo_tune_record){.descriptor = -1};
}

const struct inmo_outcome *inmo_tune_record_find(const struct inmo_tune_record *record, int trial, int epochs,
                                                 uint64_t seed)
{
    for (size_t n = 0; n < record->count; n++)
        if (record->outcome[n].trial == trial && record->outcome[n].epochs == epochs &&
            record->outcome[n].seed == seed)
            return &record->outcome[n];
    return NULL;
}

enum inmo_status inmo_tune_record_add(struct inmo_tune_record *record, const struct inmo_outcome *outcome,
                                      struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    char *line = record->descriptor < 0 ? NULL : line_of(record->arms, outcome);
    if (record->descriptor >= 0)
        status = line ? write_line(record, line, error) : inmo_fail_memory(error, "the record of the search");
    inmo_free(line);
    if (status)
        inmo_free(outcome->error);
    else
        status = keep(record, outcome, error);
    return status;
}
