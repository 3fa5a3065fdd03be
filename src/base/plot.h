/* plot.h - small SVG charts for a page: lines, bars, and ladders of systems. Colours are classes of the page's
 * style (s0 to s7) and follow light or dark mode; each series also has its own mark. */
#ifndef INMO_BASE_PLOT_H
#define INMO_BASE_PLOT_H

#include "base/text.h"

struct inmo_plot_series {
    const char *label;
    const double *x, *y;   // (count) x ascending; a non-finite y leaves a gap
    const double *spread;  // (count) drawn as an error bar; NULL: none
    const double *other;   // (count) reference values, drawn as diamonds; NULL or not finite: none
    size_t count;
    int marks_only; /* 1: no line between the marks, x in any order */
};
struct inmo_plot {
    const char *title, *x, *y;
    int log_x; /* logarithmic; 0 is drawn one decade left of the smallest other x */
    const struct inmo_plot_series *series;
    size_t series_count;
};
void inmo_plot_lines(struct inmo_text *text, const struct inmo_plot *plot);
/* Horizontal bars on a logarithmic axis, one per label; reference values (not finite: none) are diamonds. */
void inmo_plot_bars(struct inmo_text *text, const char *title, const char *unit, const char *const *label,
                    const double *value, const double *other, size_t count);

struct inmo_plot_step {
    const char *label;
    double value, spread, other; /* error bar and reference value; NAN: none */
    int marked;                  /* drawn in colour */
};
/* Horizontal bars from 0, one per label in the given order; reference values are diamonds. */
void inmo_plot_ladder(struct inmo_text *text, const char *title, const struct inmo_plot_step *step, size_t count);

/* Style sheet of a page with such charts. */
extern const char inmo_plot_style[];

#endif
