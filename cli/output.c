/* output.c - results: files written aside and renamed, JSON, tab-separated ids. */
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_standard_output(const char *path)
{
    return !path || !strcmp(path, "-");
}

/* The folder of a path, as a copy. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return cli_copy(".");
    return slash == path ? cli_copy("/") : cli_format("%.*s", (int)(slash - path), path);
}

enum inmo_status cli_check_output(const char *path, int force, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    struct stat found;
    char *folder = NULL, *probe = NULL;
    int descriptor = -1;

    if (is_standard_output(path))
        return INMO_OK;
    folder = folder_of(path);
    probe = cli_format("%s/.inmo-probe-XXXXXX", folder);
    if (!stat(path, &found) && !force) {
        status = cli_fail(error, INMO_EXISTS, "%s exists already; --force replaces it", path);
    } else if (stat(folder, &found)) {
        status = cli_fail(error, INMO_IO, "cannot write %s: %s: %s", path, folder, strerror(errno));
    } else if (!S_ISDIR(found.st_mode)) {
        status = cli_fail(error, INMO_IO, "cannot write %s: %s is not a directory", path, folder);
    } else {
        /* access() says yes where a quota or a read-only mount says no; a file that was made says the truth. */
        descriptor = mkstemp(probe);
        if (descriptor < 0)
            status = cli_fail(error, INMO_IO, "cannot write in %s: %s", folder, strerror(errno));
    }
    if (descriptor >= 0) {
        close(descriptor);
        unlink(probe);
    }
    free(probe);
    free(folder);
    return status;
}

enum inmo_status cli_output_open(struct cli_output *output, const char *path, int force, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;

    *output = (struct cli_output){.stream = stdout};
    if (is_standard_output(path))
        return INMO_OK;
    status = cli_check_output(path, force, error);
    if (!status) {
        output->path = cli_copy(path);
        output->aside = cli_format("%s.part-%ld", path, (long)getpid());
        output->stream = fopen(output->aside, "wb");
        if (!output->stream)
            status = cli_fail(error, INMO_IO, "cannot write %s: %s", output->aside, strerror(errno));
    }
    if (status) {
        output->stream = NULL;
        cli_output_abandon(output);
    }
    return status;
}

enum inmo_status cli_output_commit(struct cli_output *output, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    int failed = fflush(output->stream) || ferror(output->stream);

    if (output->aside) {
        failed = failed || fsync(fileno(output->stream));
        failed = fclose(output->stream) || failed;
        output->stream = NULL;
        failed = failed || rename(output->aside, output->path);
    }
    if (failed)
        status = cli_fail(error, INMO_IO, "cannot write %s: %s", output->path ? output->path : "standard output",
                          strerror(errno ? errno : EIO));
    if (output->aside && !failed) {
        char *folder = folder_of(output->path);
        int descriptor = open(folder, O_RDONLY | O_DIRECTORY);
        if (descriptor >= 0) {
            fsync(descriptor); /* the rename itself; a file system that cannot is no reason to fail now */
            close(descriptor);
        }
        free(output->aside);
        output->aside = NULL;
        free(folder);
    }
    cli_output_abandon(output);
    return status;
}

void cli_output_abandon(struct cli_output *output)
{
    if (output->stream && output->stream != stdout)
        fclose(output->stream);
    if (output->aside)
        unlink(output->aside);
    free(output->aside);
    free(output->path);
    *output = (struct cli_output){0};
}

/* ---- JSON ---------------------------------------------------------------------------------------------------- */

json_t *cli_json_text(const char *text)
{
    json_t *string = json_string(text);
    if (!string) {
        /* Longest replacement is 3 bytes for 1. */
        char *clean = cli_allocate(3 * strlen(text) + 1, 1), *out = clean;
        while (*text) {
            size_t length = 1;
            json_t *piece = NULL;
            for (; length <= 4 && strnlen(text, length) == length; length++) {
                piece = json_stringn(text, length);
                if (piece)
                    break;
            }
            if (piece) {
                memcpy(out, text, length);
                out += length;
                text += length;
            } else {
                memcpy(out, "\xef\xbf\xbd", 3);
                out += 3;
                text++;
            }
            json_decref(piece);
        }
        string = json_string(clean);
        free(clean);
    }
    return string;
}

json_t *cli_json_number(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

json_t *cli_json_parsed(const char *text)
{
    json_t *value = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    return value ? value : json_null();
}

void cli_json_put(FILE *stream, json_t *value, int pretty)
{
    size_t flags = JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(10) | (pretty ? JSON_INDENT(2) : JSON_COMPACT);
    json_dumpf(value, stream, flags);
    fputc('\n', stream);
    json_decref(value);
}

void cli_put_id(FILE *stream, const char *id)
{
    for (; *id; id++) {
        if (*id == '\t')
            fputs("\\t", stream);
        else if (*id == '\n')
            fputs("\\n", stream);
        else if (*id == '\r')
            fputs("\\r", stream);
        else
            fputc(*id, stream);
    }
}

int cli_decimals(double largest)
{
    int decimals = 3 - (fabs(largest) > 0 && isfinite(largest) ? (int)floor(log10(fabs(largest))) : 0);
    return decimals < 1 ? 1 : decimals > 12 ? 12 : decimals;
}

const char *cli_thousands(int64_t number, char text[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)number);
    char *out = text;
    for (int n = 0; n < length; n++) {
        if (n && digits[n - 1] != '-' && (length - n) % 3 == 0)
            *out++ = ',';
        *out++ = digits[n];
    }
    *out = 0;
    return text;
}
