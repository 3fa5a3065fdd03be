/* output.c - results: files written aside and renamed, tab-separated ids; JSON is in json.c. */
#define _GNU_SOURCE /* fopencookie */
#include "common.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int is_standard_output(const char *path)
{
    return !path || !strcmp(path, "-");
}

enum inmo_status cli_check_output(const char *path, int force, struct inmo_error *error)
{
    return is_standard_output(path) ? INMO_OK : inmo_new_file_check(path, force, error);
}

enum inmo_status cli_check_apart(const struct cli_options *options, const char *path, struct inmo_error *error)
{
    struct stat output, input;
    if (is_standard_output(path) || stat(path, &output))
        return INMO_OK;
    for (size_t n = 0; n < options->argument.count; n++)
        if (!stat(options->argument.value[n], &input) && input.st_dev == output.st_dev &&
            input.st_ino == output.st_ino)
            return cli_fail(error, INMO_EXISTS, "%s is what %s reads: it is not replaced, not even with --force",
                            path, options->command->name);
    return INMO_OK;
}

/* A stream whose bytes are packed. What went wrong is kept for the commit: a stream only knows that something
 * did. */
struct cli_packed {
    struct inmo_output *output;
    struct inmo_error error;
};

static ssize_t write_packed(void *cookie, const char *data, size_t size)
{
    struct cli_packed *packed = cookie;
    return inmo_output_write(packed->output, data, size, &packed->error) ? 0 : (ssize_t)size;
}

static int is_packed(const char *path)
{
    size_t length = strlen(path);
    return (length > 3 && !strcmp(path + length - 3, ".gz")) || (length > 4 && !strcmp(path + length - 4, ".zst"));
}

static enum inmo_status open_packed(struct cli_output *output, const char *path, int force,
                                    struct inmo_error *error)
{
    enum inmo_status status;
    output->packed = cli_allocate(1, sizeof *output->packed);
    status = inmo_output_open(path, force, &output->packed->output, error);
    if (!status) {
        output->stream = fopencookie(output->packed, "w", (cookie_io_functions_t){.write = write_packed});
        if (!output->stream)
            cli_end_for_memory();
        setvbuf(output->stream, NULL, _IOFBF, 1 << 16);
    }
    return status;
}

/* With commit, the file takes its place. */
static enum inmo_status close_packed(struct cli_packed *packed, FILE *stream, int commit, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    if (stream && fclose(stream) && commit)
        status = packed->error.code ? cli_fail(error, packed->error.code, "%s", packed->error.message)
                                    : cli_fail(error, INMO_IO, "cannot write: %s", strerror(errno ? errno : EIO));
    if (!status && commit)
        status = inmo_output_commit(packed->output, error);
    inmo_output_close(packed->output);
    free(packed);
    return status;
}

enum inmo_status cli_output_open(struct cli_output *output, const char *path, int force, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;

    *output = (struct cli_output){0};
    if (is_standard_output(path)) {
        output->stream = stdout;
    } else {
        status = cli_check_output(path, force, error);
        if (!status && is_packed(path))
            return open_packed(output, path, force, error);
        if (!status)
            status = inmo_new_file_open(&output->file, path, force, error);
        output->stream = output->file.stream;
    }
    return status;
}

enum inmo_status cli_output_commit(struct cli_output *output, size_t count, struct inmo_error *error)
{
    struct inmo_new_file file[2];
    enum inmo_status status = cli_check_memory(error);
    size_t files = 0;

    for (size_t n = 0; n < count; n++) {
        if (output[n].packed) { /* never one of two */
            struct cli_output packed = output[n];
            output[n] = (struct cli_output){0};
            status = status ? (close_packed(packed.packed, packed.stream, 0, NULL), status)
                            : close_packed(packed.packed, packed.stream, 1, error);
            continue;
        }
        if (output[n].file.path)
            file[files++] = output[n].file;
        else if (!status && (fflush(output[n].stream) || ferror(output[n].stream)))
            status = cli_fail(error, INMO_IO, "cannot write standard output: %s", strerror(errno ? errno : EIO));
        output[n] = (struct cli_output){0};
    }
    if (!status)
        status = inmo_new_files_commit(file, files, error);
    else
        for (size_t n = 0; n < files; n++)
            inmo_new_file_abandon(&file[n]);
    return status;
}

void cli_output_abandon(struct cli_output *output)
{
    if (output->packed)
        close_packed(output->packed, output->stream, 0, NULL);
    else
        inmo_new_file_abandon(&output->file);
    *output = (struct cli_output){0};
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
