/* export.c - inmo export: the representations, as numpy's .npy with a file of ids, or as tab-separated text.
 *
 *     .npy   "\x93NUMPY" 1 0, length of the header (2 bytes, little-endian), the header: a Python dictionary padded
 *            with spaces so that the numbers begin at a multiple of 64; then rows x columns floats, row-major
 *     .ids   the id of each row, one per line
 *     .tsv   id, then the numbers
 */
#include "common.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct export_settings {
    struct cli_common common;
    struct cli_view_options view;
    const char *output, *what, *format;
};

#define AT(member) offsetof(struct export_settings, member)
static const struct inmo_setting rows[] = {
    {"output", 's', AT(output), 0, 0, NULL, "Output", "FILE",
     "File to write; .npy or .tsv is added if it has no suffix. The ids of an .npy file go to a file that ends in "
     ".ids."},
    {"what", 's', AT(what), 0, 0, "items|users", "Output", "WHAT", "Representations to export."},
    {"format", 's', AT(format), 0, 0, "npy|tsv", "Output", "FORMAT", "Form of the file."},
};

static void declare(struct cli_options *options, void *structure)
{
    struct export_settings *settings = structure;
    settings->what = "items";
    settings->format = "npy";
    cli_add_table(options, rows, sizeof rows / sizeof *rows, settings);
    /* --format is the output format here. */
    cli_add_view(options, &settings->view, 0);
    cli_add_common(options, &settings->common, CLI_FORCE);
}

struct source {
    const struct inmo_view *view;
    struct inmo_matrix matrix;
    const char *(*id)(const struct inmo_view *view, int64_t row);
};

static void put_npy(FILE *stream, const struct source *source)
{
    const uint16_t one = 1;
    const char *order = *(const unsigned char *)&one ? "<f4" : ">f4"; /* byte order of this machine */
    char header[256];
    int used = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%lld, %d), }",
                        order, (long long)source->matrix.rows, source->matrix.columns);
    int padded = (10 + used + 1 + 63) / 64 * 64 - 10;

    memset(header + used, ' ', (size_t)(padded - used));
    header[padded - 1] = '\n';
    fwrite("\x93NUMPY\x01\x00", 1, 8, stream);
    fputc(padded & 255, stream);
    fputc(padded >> 8, stream);
    fwrite(header, 1, (size_t)padded, stream);
    for (int64_t row = 0; row < source->matrix.rows && !cli_interrupted(); row++)
        fwrite(source->matrix.value + row * source->matrix.columns, sizeof(float), (size_t)source->matrix.columns,
               stream);
}

static void put_ids(FILE *stream, const struct source *source)
{
    for (int64_t row = 0; row < source->matrix.rows && !cli_interrupted(); row++) {
        cli_put_id(stream, source->id(source->view, row));
        fputc('\n', stream);
    }
}

static void put_tsv(FILE *stream, const struct source *source)
{
    const float *value = source->matrix.value;
    for (int64_t row = 0; row < source->matrix.rows && !cli_interrupted(); row++) {
        cli_put_id(stream, source->id(source->view, row));
        for (int column = 0; column < source->matrix.columns; column++)
            fprintf(stream, "\t%.9g", (double)*value++);
        fputc('\n', stream);
    }
}

/* The numbers, and for .npy the ids beside them (ids_path NULL: none). Both are written before either takes its
 * place: a full disk must not leave new numbers beside old ids. */
static enum inmo_status write_files(const char *path, const char *ids_path, int force, const struct source *source,
                                    void (*put)(FILE *, const struct source *), struct inmo_error *error)
{
    struct cli_output output[2] = {0};
    enum inmo_status status = cli_output_open(&output[0], path, force, error);
    if (!status && ids_path)
        status = cli_output_open(&output[1], ids_path, force, error);
    if (!status) {
        put(output[0].stream, source);
        if (ids_path)
            put_ids(output[1].stream, source);
        if (cli_interrupted())
            status = cli_fail(error, INMO_INTERRUPTED, "stopped on request");
        else
            status = cli_output_commit(output, ids_path ? 2 : 1, error);
    }
    cli_output_abandon(&output[1]);
    cli_output_abandon(&output[0]);
    return status;
}

/* The file name: unchanged if it has a suffix or is standard output, else with the suffix of the format. */
static char *file_name(const struct export_settings *settings)
{
    const char *slash = strrchr(settings->output, '/');
    const char *last = slash ? slash + 1 : settings->output;
    int complete = !strcmp(settings->output, "-") || strchr(last, '.');
    return cli_format("%s%s%s", settings->output, complete ? "" : ".", complete ? "" : settings->format);
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    struct export_settings *settings = structure;
    struct cli_view view = {0};
    struct source source = {0};
    int npy = !strcmp(settings->format, "npy"), standard_output = !strcmp(settings->output, "-");
    char *path = file_name(settings);
    size_t stem = strlen(path) > 4 && !strcmp(path + strlen(path) - 4, ".npy") ? strlen(path) - 4 : strlen(path);
    char *ids_path = cli_format("%.*s.ids", (int)stem, path);
    enum inmo_status status = cli_check_apart(options, path, error);

    if (!status)
        status = cli_check_output(path, settings->common.force, error);
    if (!status && npy && !standard_output)
        status = cli_check_output(ids_path, settings->common.force, error);
    if (!status)
        status = cli_open_view(options->argument.value[0], &settings->view, &view, error);
    if (!status) {
        int users = !strcmp(settings->what, "users");
        source.view = view.view;
        source.id = users ? inmo_view_user_id : inmo_view_item_id;
        (users ? inmo_view_users : inmo_view_items)(view.view, &source.matrix);
        if (!source.matrix.columns)
            status =
                cli_fail(error, INMO_UNSUPPORTED,
                         "%s has no representations to export; its tensors are in the model file, which numpy and "
                         "others read (docs/formats.md)",
                         options->argument.value[0]);
    }
    if (!status)
        status = write_files(path, npy && !standard_output ? ids_path : NULL, settings->common.force, &source,
                             npy ? put_npy : put_tsv, error);
    if (!status && !standard_output)
        printf("%s: %lld rows of %d numbers%s%s\n", path, (long long)source.matrix.rows, source.matrix.columns,
               npy ? "; ids in " : "", npy ? ids_path : "");
    cli_close_view(&view);
    free(ids_path);
    free(path);
    return status;
}

const struct cli_command cli_export = {
    .name = "export",
    .arguments = "MODEL",
    .summary = "export representations as .npy or tab-separated text",
    .description = "Writes the final representations of users or items. The score of a user and an item is the dot "
                   "product of their rows, to which a model may add walks, links and a prior (inmo info); that of "
                   "neumf is none. The row ids of an .npy file (for "
                   "numpy.load) are in a second file that ends in .ids.",
    .examples = "  inmo export model.inmo -o items --what items --format npy\n"
                "  inmo export model.inmo -o - --what users --format tsv\n",
    .least_arguments = 1,
    .most_arguments = 1,
    .required = "output",
    .settings_size = sizeof(struct export_settings),
    .declare = declare,
    .run = run,
};
