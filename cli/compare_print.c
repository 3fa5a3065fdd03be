/* compare_print.c - inmo compare: the results as a table, as JSON and as a page. */
#include "compare.h"
#include "lab/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double number(const json_t *row, const char *name)
{
    const json_t *value = json_object_get(row, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void put_number(const char *format, int width, double value)
{
    if (isfinite(value))
        printf(format, width, value);
    else
        printf("  %*s", width, "-");
}

void cli_compare_print(const struct compare_settings *settings, const json_t *models)
{
    static const char *const more[] = {"recall", "coverage", "novelty", "diversity"};
    json_t *row;
    size_t n, widest = strlen("model");

    json_array_foreach((json_t *)models, n, row)
        if (json_string_length(json_object_get(row, "name")) > widest)
            widest = json_string_length(json_object_get(row, "name"));
    printf("  %-*s  %7s  %7s  %15s  %8s  %6s", (int)widest, "model", "valid", "ndcg", "95 % interval", "behind",
           "p");
    for (size_t m = 0; m < sizeof more / sizeof *more; m++)
        printf("  %9s", more[m]);
    printf("  %8s  %7s  %7s\n", "seconds", "MB", "file MB");
    json_array_foreach((json_t *)models, n, row) {
        int best = json_is_true(json_object_get(row, "best"));
        printf("%c %-*s", best ? '*' : ' ', (int)widest, json_string_value(json_object_get(row, "name")));
        if (json_object_get(row, "error")) {
            printf("  %s\n", json_string_value(json_object_get(row, "error")));
            continue;
        }
        put_number("  %*.4f", 7, number(row, "valid"));
        put_number("  %*.4f", 7, number(row, "score"));
        printf("  %6.4f ..%7.4f", number(row, "low"), number(row, "high"));
        put_number("  %*.4f", 8, best ? NAN : number(row, "behind"));
        put_number("  %*.4f", 6, best ? NAN : number(row, "p"));
        for (size_t m = 0; m < sizeof more / sizeof *more; m++) {
            char *name = cli_format("%s@%d", more[m], settings->k);
            put_number("  %*.4f", 9, number(json_object_get(row, "metrics"), name));
            free(name);
        }
        put_number("  %*.1f", 8, number(row, "seconds"));
        put_number("  %*.0f", 7, number(row, "peak_rss_mb"));
        put_number("  %*.1f", 7, number(row, "bytes") / 1e6);
        putchar('\n');
    }
    printf("\n* best by validation; behind: less than it, over the same users; %s/compare.html\n",
           settings->output);
}

enum inmo_status cli_compare_write(const struct compare_settings *settings, json_t *result,
                                   struct inmo_error *error)
{
    char *path[2] = {cli_format("%s/compare.json", settings->output),
                     cli_format("%s/compare.html", settings->output)};
    struct cli_output file[2] = {{0}};
    char *text = json_dumps(result, JSON_INDENT(1) | JSON_REAL_PRECISION(10));
    enum inmo_status status = text ? cli_output_open(&file[0], path[0], 1, error) : cli_check_memory(error);

    if (!status)
        status = cli_output_open(&file[1], path[1], 1, error);
    if (!status) {
        fprintf(file[0].stream, "%s\n", text);
        status = inmo_compare_page(text, file[1].stream, error);
    }
    if (!status)
        status = cli_output_commit(file, 2, error);
    for (int n = 0; n < 2; n++) {
        cli_output_abandon(&file[n]);
        free(path[n]);
    }
    free(text);
    return status;
}
