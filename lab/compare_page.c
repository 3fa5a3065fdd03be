/* compare_page.c - the page of inmo compare, from its JSON: a table, the scores with their intervals, and quality
 * against time. */
#include "lab/compare.h"

#include "base/json.h"
#include "base/plot.h"
#include "lab/figures.h"
#include "lab/json_get.h"
#include "lab/lab.h"

enum { MOST = 64 };

static void add_words(struct inmo_text *text, const char *words)
{
    for (; *words; words++)
        add(text, *words == '<'   ? "&lt;"
                  : *words == '>' ? "&gt;"
                  : *words == '&' ? "&amp;"
                  : *words == '"' ? "&quot;"
                                  : (char[]){*words, 0});
}

static void add_number(struct inmo_text *text, double value, const char *format)
{
    char number[64];
    add(text, "<td>");
    if (isfinite(value)) {
        inmo_format(number, sizeof number, format, value);
        add(text, number);
    }
    add(text, "</td>");
}

static double metric(const json_t *row, const char *name)
{
    return real(json_object_get(row, "metrics"), name);
}

static void add_table(struct inmo_text *text, const json_t *rows, const char *const *more, const char *const *title)
{
    json_t *row;
    size_t n;
    add(text, "<div class=\"wide\"><table><thead><tr><th>Model</th><th>Validation</th><th>NDCG</th><th>95 % "
              "interval</th><th>Behind</th><th>p</th>");
    for (size_t m = 0; more[m]; m++)
        inmo_text_format(text, "<th>%s</th>", title[m]);
    add(text, "<th>Seconds</th><th>Memory, MB</th><th>File, MB</th></tr></thead><tbody>\n");
    json_array_foreach((json_t *)rows, n, row) {
        int best = json_is_true(json_object_get(row, "best"));
        add(text, best ? "<tr><th><b>" : "<tr><th>");
        add_words(text, string(row, "name"));
        add(text, best ? "</b></th>" : "</th>");
        if (*string(row, "error")) {
            add(text, "<td class=\"how\" colspan=\"20\">");
            add_words(text, string(row, "error"));
            add(text, "</td></tr>\n");
            continue;
        }
        add_number(text, real(row, "valid"), "%.4f");
        add_number(text, real(row, "score"), "%.4f");
        inmo_text_format(text, "<td>%.4f … %.4f</td>", real(row, "low"), real(row, "high"));
        add_number(text, best ? NAN : real(row, "behind"), "%.4f");
        add_number(text, best ? NAN : real(row, "p"), "%.4f");
        for (size_t m = 0; more[m]; m++)
            add_number(text, metric(row, more[m]), "%.4f");
        add_number(text, real(row, "seconds"), "%.1f");
        add_number(text, real(row, "peak_rss_mb"), "%.0f");
        add_number(text, real(row, "bytes") / 1e6, "%.1f");
        add(text, "</tr>\n");
    }
    add(text, "</tbody></table></div>\n");
}

static void draw(struct inmo_text *text, const json_t *rows)
{
    struct inmo_plot_step step[MOST];
    struct inmo_plot_series series[MOST];
    double x[MOST], y[MOST], spread[MOST];
    size_t steps = 0, points = 0, n;
    json_t *row;
    json_array_foreach((json_t *)rows, n, row) {
        double score = real(row, "score"), seconds = real(row, "seconds");
        if (!isfinite(score) || steps == MOST)
            continue;
        spread[steps] = (real(row, "high") - real(row, "low")) / 2;
        step[steps] = (struct inmo_plot_step){string(row, "name"), 100 * score, 100 * spread[steps], NAN,
                                              json_is_true(json_object_get(row, "best"))};
        if (isfinite(seconds)) {
            x[points] = fmax(seconds, 0.01);
            y[points] = score;
            series[points] =
                (struct inmo_plot_series){string(row, "name"), x + points, y + points, spread + steps, NULL, 1, 1};
            points++;
        }
        steps++;
    }
    add(text, "<div class=\"figures\">\n");
    inmo_plot_ladder(text, "Test NDCG times 100, with 95 % intervals", step, steps);
    if (points > 0) {
        struct inmo_plot plot = {"Quality against training time", "seconds", "NDCG", 1, series, points};
        inmo_plot_lines(text, &plot);
    }
    add(text, "</div>\n");
}

enum inmo_status inmo_compare_page(const char *json, FILE *stream, struct inmo_error *error)
{
    static const char *const wanted[] = {"recall", "hit_rate", "coverage", "novelty", "diversity"};
    static const char *const heading[] = {"Recall", "Hit rate", "Coverage", "Novelty, bits", "Diversity"};
    const char *more[6] = {NULL}, *title[6] = {NULL};
    char name[5][32];
    struct inmo_text text = {0};
    json_t *result = NULL;
    size_t count = 0;
    char *page;
    enum inmo_status status = inmo_json_parse(json, strlen(json), 0, &result, NULL);
    if (status)
        return inmo_fail(error, status, "the comparison is not JSON, or memory is short");
    for (size_t m = 0; m < 5; m++) {
        const json_t *first = NULL;
        for (size_t n = 0; n < json_array_size(json_object_get(result, "models")) && !first; n++)
            first = json_object_get(json_array_get(json_object_get(result, "models"), n), "metrics");
        snprintf(name[m], sizeof name[m], "%s@%d", wanted[m], (int)real(result, "k"));
        if (json_object_get(first, name[m])) { /* a metric of this version of the program */
            more[count] = name[m];
            title[count++] = heading[m];
        }
    }
    add(&text, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>Models "
               "compared</title>\n<style>\n");
    add(&text, inmo_plot_style);
    add(&text, "th,td{white-space:nowrap;padding:.3rem .6rem}</style></head><body>\n<h1>Models "
               "compared</h1>\n<p>Data: <b>");
    add_words(&text, string(result, "data"));
    inmo_text_format(&text,
                     "</b>, %.0f users, %.0f items, %.0f training and %.0f test interactions. Lists of %.0f.</p>\n",
                     real(result, "users"), real(result, "items"), real(result, "train"), real(result, "test"),
                     real(result, "k"));
    add(&text,
        "<p class=\"note\">The best by validation is marked; the test part had no say in it. Behind: how much less "
        "than the marked one over the same users; p from 9,999 random sign flips, for several comparisons "
        "(Holm). Intervals from 2,000 resamples of the users. Seconds and memory are those of the training "
        "process.</p>\n");
    add_table(&text, json_object_get(result, "models"), more, title);
    draw(&text, json_object_get(result, "models"));
    add(&text, "</body></html>\n");
    page = inmo_text_take(&text);
    status = page ? INMO_OK : inmo_fail_memory(error, "the page");
    if (page)
        fputs(page, stream);
    inmo_free(page);
    json_decref(result);
    return status;
}
