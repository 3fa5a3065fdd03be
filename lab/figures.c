/* figures.c - see figures.h. */
#include "lab/figures.h"

#include "base/memory.h"
#include "base/plot.h"
#include "lab/json_get.h"

enum { MOST_SERIES = 64, MOST_STEPS = 64 };

static double *numbers_of(const json_t *list)
{
    size_t count = json_array_size(list);
    double *number = inmo_alloc(count, sizeof *number);
    for (size_t n = 0; n < count && number; n++)
        number[n] = json_is_number(json_array_get(list, n)) ? json_number_value(json_array_get(list, n)) : NAN;
    return number;
}

static void draw_panel(struct inmo_text *text, const json_t *experiment, const json_t *panel)
{
    struct inmo_plot_series series[MOST_SERIES];
    double *owned[4 * MOST_SERIES];
    const json_t *list = json_object_get(panel, "series");
    struct inmo_plot plot = {.title = string(panel, "title"),
                             .x = string(experiment, "x"),
                             .y = string(experiment, "y"),
                             .log_x = strcmp(string(experiment, "name"), "beta") == 0,
                             .series = series};
    for (size_t n = 0; n < json_array_size(list) && n < MOST_SERIES; n++) {
        const json_t *from = json_array_get(list, n);
        double **part = owned + 4 * n;
        part[0] = numbers_of(json_object_get(from, "x"));
        part[1] = numbers_of(json_object_get(from, "y"));
        part[2] = numbers_of(json_object_get(from, "spread"));
        part[3] = numbers_of(json_object_get(from, "paper"));
        if (!part[0] || !part[1] || !part[2] || !part[3])
            text->failed = 1;
        series[n] = (struct inmo_plot_series){string(from, "label"),
                                              part[0],
                                              part[1],
                                              part[2],
                                              part[3],
                                              json_array_size(json_object_get(from, "x")),
                                              0};
        plot.series_count++;
    }
    if (!text->failed)
        inmo_plot_lines(text, &plot);
    for (size_t n = 0; n < 4 * plot.series_count; n++)
        inmo_free(owned[n]);
}

/* For a table: the columns that the paper discusses, with all systems, best first. */
static void draw_ladder(struct inmo_text *text, const json_t *experiment, size_t column)
{
    static const char *const shown[] = {"NDCG@20", "Over all", "New users"};
    const char *title = json_string_value(json_array_get(json_object_get(experiment, "columns"), column));
    struct inmo_plot_step step[MOST_STEPS];
    size_t count = 0, n = 0;
    json_t *row;
    while (n < sizeof shown / sizeof *shown && strcmp(shown[n], title ? title : "") != 0)
        n++;
    if (n == sizeof shown / sizeof *shown)
        return;
    json_array_foreach(json_object_get(experiment, "rows"), n, row) {
        const json_t *cell = json_array_get(json_object_get(row, "cells"), column);
        struct inmo_plot_step here = {string(row, "label"), real(cell, "mean"), real(cell, "deviation"),
                                      real(cell, "paper"), strncmp(string(row, "label"), "INMO", 4) == 0};
        size_t at = count;
        if (!isfinite(here.value) || count == MOST_STEPS)
            continue;
        for (; at > 0 && step[at - 1].value < here.value; at--) /* keeps equal ones in the order of the table */
            step[at] = step[at - 1];
        step[at] = here;
        count++;
    }
    if (count > 1)
        inmo_plot_ladder(text, title, step, count);
}

void inmo_figures_draw(struct inmo_text *text, const json_t *experiment)
{
    const json_t *panels = json_object_get(experiment, "panels"), *bars = json_object_get(experiment, "bars");
    size_t columns = json_array_size(json_object_get(experiment, "columns"));
    add(text, "<div class=\"figures\">\n");
    for (size_t column = 0; column < columns; column++)
        draw_ladder(text, experiment, column);
    for (size_t n = 0; n < json_array_size(panels); n++)
        draw_panel(text, experiment, json_array_get(panels, n));
    if (json_array_size(bars) > 0) {
        const char *label[MOST_SERIES];
        double value[MOST_SERIES], other[MOST_SERIES];
        size_t count = 0;
        for (; count < json_array_size(bars) && count < MOST_SERIES; count++) {
            label[count] = string(json_array_get(bars, count), "label");
            value[count] = real(json_array_get(bars, count), "value");
            other[count] = real(json_array_get(bars, count), "paper");
        }
        inmo_plot_bars(text, string(experiment, "title"), string(experiment, "y"), label, value, other, count);
    }
    add(text, "</div>\n");
}

void inmo_figures_list(struct inmo_text *text, const json_t *experiment)
{
    json_t *panel, *series, *bar;
    size_t p, s, n;
    json_array_foreach(json_object_get(experiment, "bars"), n, bar) {
        inmo_text_format(text, "- %s: %.3g s", string(bar, "label"), real(bar, "value"));
        if (isfinite(real(bar, "paper")))
            inmo_text_format(text, " (paper %g s)", real(bar, "paper"));
        add(text, "\n");
    }
    json_array_foreach(json_object_get(experiment, "panels"), p, panel) {
        inmo_text_format(text, "%s%s (%s: %s)\n\n", p ? "\n" : "", string(panel, "title"), string(experiment, "x"),
                         string(experiment, "y"));
        json_array_foreach(json_object_get(panel, "series"), s, series) {
            const json_t *x = json_object_get(series, "x"), *y = json_object_get(series, "y"),
                         *paper = json_object_get(series, "paper");
            inmo_text_format(text, "- %s:", string(series, "label"));
            for (n = 0; n < json_array_size(x); n++)
                if (json_is_number(json_array_get(y, n))) {
                    inmo_text_format(text, "%s %g: %.4g", n ? "," : "", json_number_value(json_array_get(x, n)),
                                     json_number_value(json_array_get(y, n)));
                    if (json_is_number(json_array_get(paper, n)))
                        inmo_text_format(text, " (paper %.2f)", json_number_value(json_array_get(paper, n)));
                }
            add(text, "\n");
        }
    }
    add(text, "\n");
}
