/* config.c - options from a file: a JSON object, or lines "name = value" with # comments.
 *
 * The result is a list of assignments like that of the command line (options.h), placed before it, so the command
 * line takes precedence. The settings object that `inmo train --json` prints is such a file. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_CONFIG = 1 << 20 };

static enum inmo_status read_whole(const char *path, char **text, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    FILE *stream = fopen(path, "rb");
    char *buffer = cli_allocate(LARGEST_CONFIG + 1, 1);
    size_t size = 0;

    if (stream)
        size = fread(buffer, 1, LARGEST_CONFIG + 1, stream);
    if (!stream || ferror(stream))
        status = cli_fail(error, INMO_IO, "cannot read %s: %s", path, strerror(errno));
    else if (size > LARGEST_CONFIG)
        status = cli_fail(error, INMO_INPUT, "%s: a configuration file of more than 1 MB", path);
    else if (memchr(buffer, 0, size))
        status = cli_fail(error, INMO_INPUT, "%s: found a NUL byte, expected a text file", path);
    if (stream)
        fclose(stream);
    if (status)
        free(buffer);
    else
        *text = buffer;
    return status;
}

/* Finds the option and adds the assignment. */
static enum inmo_status take(struct cli_options *options, const char *where, const char *name, const char *value,
                             struct inmo_error *error)
{
    const struct inmo_setting *row = cli_find(options, name);
    enum inmo_status status = INMO_OK;

    if (!row)
        status = cli_unknown_option(options, where, name, error);
    else if (!strcmp(row->name, "config"))
        status = cli_fail(error, INMO_USAGE, "%s: a configuration file cannot name another", where);
    else
        cli_assign(options, row, value, where, 1);
    return status;
}

/* A JSON scalar as on the command line, or NULL. */
static char *scalar_text(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING: return cli_copy(json_string_value(value));
    case JSON_INTEGER: return cli_format("%lld", (long long)json_integer_value(value));
    case JSON_REAL: return cli_format("%.17g", json_real_value(value));
    case JSON_TRUE: return cli_copy("yes");
    case JSON_FALSE: return cli_copy("no");
    default: return NULL;
    }
}

static enum inmo_status take_json(struct cli_options *options, const char *path, const char *name,
                                  const json_t *value, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    char *where = cli_format("%s: %s", path, name);
    size_t count = json_is_array(value) ? json_array_size(value) : 1;

    /* null means "not given" in the settings of a model file. */
    for (size_t n = 0; n < count && !json_is_null(value) && !status; n++) {
        char *text = scalar_text(json_is_array(value) ? json_array_get(value, n) : value);
        if (text)
            status = take(options, where, name, text, error);
        else
            status = cli_fail(error, INMO_USAGE, "%s: expected a string, a number, true or false", where);
        free(text);
    }
    free(where);
    return status;
}

static enum inmo_status read_json(struct cli_options *options, const char *path, const char *text,
                                  struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    json_error_t wrong;
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &wrong);
    const char *name;
    json_t *value;

    if (!object)
        status = cli_fail(error, INMO_INPUT, "%s, line %d: %s", path, wrong.line, wrong.text);
    else
        json_object_foreach(object, name, value) {
            status = take_json(options, path, name, value, error);
            if (status)
                break;
        }
    json_decref(object);
    return status;
}

/* Trims white space at both ends, in place. */
static char *trimmed(char *text)
{
    char *end;
    while (isspace((unsigned char)*text))
        text++;
    end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1]))
        *--end = 0;
    return text;
}

static enum inmo_status read_lines(struct cli_options *options, const char *path, char *text,
                                   struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    int number = 0;

    while (text && !status) {
        char *next = strchr(text, '\n');
        char *equals, *line;
        if (next)
            *next++ = 0;
        number++;
        line = trimmed(text);
        equals = strchr(line, '=');
        if (*line && *line != '#') {
            char *where = NULL;
            if (!equals) {
                status = cli_fail(error, INMO_INPUT, "%s, line %d: found \"%.60s\", expected name = value", path,
                                  number, line);
            } else {
                *equals = 0;
                line = trimmed(line);
                where = cli_format("%s, line %d: %s", path, number, line);
                status = take(options, where, line, trimmed(equals + 1), error);
            }
            free(where);
        }
        text = next;
    }
    return status;
}

enum inmo_status cli_read_config(struct cli_options *options, const char *path, struct inmo_error *error)
{
    /* The command line has already been parsed; its assignments go after those of the file. */
    struct cli_assignment *given = options->assignment;
    size_t given_count = options->assignment_count;
    char *text = NULL;
    enum inmo_status status = read_whole(path, &text, error);

    options->assignment = NULL;
    options->assignment_count = 0;
    if (!status)
        status =
            *trimmed(text) == '{' ? read_json(options, path, text, error) : read_lines(options, path, text, error);
    for (size_t n = 0; n < given_count; n++) {
        cli_assign(options, given[n].row, given[n].text, given[n].where, 0);
        free(given[n].text);
        free(given[n].where);
    }
    free(given);
    free(text);
    return status;
}
