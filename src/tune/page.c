/* page.c - the trials of a search as one self-contained HTML page: which models came how far, how the score depends
 * on each setting, and a table of all. */
#include "base/file.h"
#include "base/memory.h"
#include "base/plot.h"
#include "base/text.h"
#include "tune/tune.h"

#include <math.h>
#include <string.h>

enum { MOST_WORDS = 32, LEAST_MARKS = 4 /* fewer show nothing */ };

static void add(struct inmo_text *text, const char *words)
{
    inmo_text_add(text, words, strlen(words));
}

static void add_words(struct inmo_text *text, const char *words)
{
    for (; *words; words++) {
        const char *as = *words == '<' ? "&lt;" : *words == '>' ? "&gt;" : *words == '&' ? "&amp;" : NULL;
        inmo_text_add(text, as ? as : words, as ? strlen(as) : 1);
    }
}

/* The value as a number; NaN: it is a word. */
static double number_of(const char *value)
{
    const char *end = NULL;
    double number = *value ? inmo_real(value, (char **)&end) : NAN;
    return *value && end && !*end ? number : NAN;
}

/* ---- Charts -------------------------------------------------------------------------------------------------- */

/* Scores by the number of the trial, a series for each model. */
static int draw_trials(struct inmo_text *text, const struct inmo_tune_report *report)
{
    size_t count = report->trial_count, models = 0;
    struct inmo_plot_series series[INMO_MOST_ARMS] = {{0}};
    double *x = inmo_alloc(2 * count, sizeof *x), *y = x ? x + count : NULL;
    struct inmo_plot plot = {.title = "Trials", .x = "trial", .y = "validation NDCG@20", .series = series};
    size_t at = 0;
    if (!x)
        return 0;
    for (size_t n = 0; n < count; n++) {
        size_t m = 0;
        while (m < models && strcmp(series[m].label, report->trial[n].model) != 0)
            m++;
        if (m == models && models < INMO_MOST_ARMS)
            series[models++].label = report->trial[n].model;
    }
    for (size_t m = 0; m < models; m++) {
        series[m].x = x + at;
        series[m].y = y + at;
        series[m].marks_only = 1;
        for (size_t n = 0; n < count; n++)
            if (strcmp(series[m].label, report->trial[n].model) == 0) {
                x[at] = report->trial[n].number;
                y[at++] = report->trial[n].score;
                series[m].count++;
            }
    }
    plot.series_count = models;
    inmo_plot_lines(text, &plot);
    inmo_free(x);
    return 1;
}

/* The best score of each model, or of each word that a setting has; the best of all is marked. */
static void draw_words(struct inmo_text *text, const struct inmo_tune_report *report, size_t setting)
{
    struct inmo_plot_step step[MOST_WORDS];
    char title[128];
    size_t count = 0;
    for (size_t n = 0; n < report->trial_count; n++) { /* best first */
        const char *word = report->trial[n].value[setting];
        size_t m = 0;
        while (m < count && strcmp(step[m].label, word) != 0)
            m++;
        if (m < count || count == MOST_WORDS || !*word || !isfinite(report->trial[n].score))
            continue;
        step[m] = (struct inmo_plot_step){word, 100 * report->trial[n].score, NAN, NAN, m == 0};
        count++;
    }
    snprintf(title, sizeof title, "Best validation NDCG@20 × 100 by %s", report->setting[setting]);
    if (count > 1)
        inmo_plot_ladder(text, title, step, count);
}

/* Scores of the best trial's model by the value of a setting. */
static int draw_numbers(struct inmo_text *text, const struct inmo_tune_report *report, size_t setting)
{
    size_t count = report->trial_count, shown = 0;
    double *x = inmo_alloc(2 * count, sizeof *x), *y = x ? x + count : NULL, low = INFINITY, high = -INFINITY;
    struct inmo_plot_series series = {.label = report->trial[0].model, .x = x, .y = y, .marks_only = 1};
    struct inmo_plot plot = {
        .title = report->setting[setting], .x = report->setting[setting], .y = "validation NDCG@20"};
    if (!x)
        return 0;
    for (size_t n = 0; n < count; n++) {
        double value = number_of(report->trial[n].value[setting]);
        if (!isfinite(value) || !isfinite(report->trial[n].score) ||
            strcmp(report->trial[n].model, report->trial[0].model) != 0)
            continue;
        x[shown] = value;
        y[shown++] = report->trial[n].score;
        low = fmin(low, value);
        high = fmax(high, value);
    }
    series.count = shown;
    plot.series = &series;
    plot.series_count = 1;
    plot.log_x = low > 0 && high / low >= 4;
    if (shown >= LEAST_MARKS && high > low)
        inmo_plot_lines(text, &plot);
    inmo_free(x);
    return 1;
}

static int has_words(const struct inmo_tune_report *report, size_t setting)
{
    for (size_t n = 0; n < report->trial_count; n++) {
        const char *value = report->trial[n].value[setting];
        if (*value && strcmp(value, "auto") != 0 && isnan(number_of(value)))
            return 1;
    }
    return 0;
}

/* ---- The table ----------------------------------------------------------------------------------------------- */

static void add_table(struct inmo_text *text, const struct inmo_tune_report *report)
{
    add(text, "<h2>All trials</h2>\n<div class=\"wide\"><table><thead><tr><th>trial</th>");
    for (size_t s = 0; s < report->setting_count; s++)
        inmo_text_format(text, "<th>%s</th>", report->setting[s]);
    add(text, "<th>epochs</th><th>NDCG@20</th><th>deviation</th><th>seconds</th></tr></thead><tbody>\n");
    for (size_t n = 0; n < report->trial_count; n++) {
        const struct inmo_tune_trial *trial = &report->trial[n];
        inmo_text_format(text, "<tr><th>%d</th>", trial->number);
        for (size_t s = 0; s < report->setting_count; s++) {
            add(text, "<td>");
            add_words(text, trial->value[s]);
            add(text, "</td>");
        }
        if (trial->epochs)
            inmo_text_format(text, "<td>%d</td>", trial->epochs);
        else
            add(text, "<td></td>"); /* a closed form */
        if (trial->error) {
            add(text, "<td colspan=\"2\">failed: ");
            add_words(text, trial->error);
            add(text, "</td>");
        } else {
            inmo_text_format(text, n ? "<td>%.5f</td>" : "<td><b>%.5f</b></td>", trial->score);
            if (isfinite(trial->deviation))
                inmo_text_format(text, "<td>%.5f</td>", trial->deviation);
            else
                add(text, "<td></td>");
        }
        inmo_text_format(text, "<td>%.1f</td></tr>\n", trial->seconds);
    }
    add(text, "</tbody></table></div>\n");
}

/* ---- The page ------------------------------------------------------------------------------------------------ */

static char *page_of(const struct inmo_tune_report *report)
{
    struct inmo_text text = {0};
    int whole = 1, any = report->trial_count > 0 && !report->trial[0].error;
    add(&text, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>Search</title>\n"
               "<style>\n");
    add(&text, inmo_plot_style);
    add(&text, "</style></head><body>\n<h1>Search</h1>\n");
    inmo_text_format(&text, "<p>%zu of %d trials are finished.", report->trial_count, report->planned);
    if (any)
        inmo_text_format(&text, " The best is trial %d, %s, with validation NDCG@20 <b>%.5f</b>.",
                         report->trial[0].number, report->trial[0].model, report->trial[0].score);
    if (report->best_model)
        add(&text, " Its model is in best.inmo.");
    add(&text, "</p>\n<div class=\"figures\">\n");
    if (any) {
        whole = draw_trials(&text, report);
        for (size_t s = 0; s < report->setting_count && whole; s++)
            if (!has_words(report, s))
                whole = draw_numbers(&text, report, s);
            else if (s == 0 || strcmp(report->setting[0], "model") != 0) /* else it is of one model among others */
                draw_words(&text, report, s);
    }
    add(&text, "</div>\n");
    add_table(&text, report);
    add(&text, "</body></html>\n");
    text.failed |= !whole;
    return inmo_text_take(&text);
}

enum inmo_status inmo_tune_page_write(const struct inmo_tune_report *report, const char *path,
                                      struct inmo_error *error)
{
    struct inmo_new_file file = {0};
    char *page = page_of(report);
    enum inmo_status status =
        page ? inmo_new_file_open(&file, path, 1, error) : inmo_fail_memory(error, "the page of the search");
    if (!status)
        status = inmo_new_file_write(&file, page, strlen(page), error);
    if (!status)
        status = inmo_new_file_commit(&file, error);
    inmo_new_file_abandon(&file);
    inmo_free(page);
    return status;
}
