/* plot.h - small charts as SVG text inside a page: lines over x, bars, and ladders of systems. Colours are
 * classes of the page's style (s0 to s7), so that they change with it between light and dark; every series also
 * has a mark of its own. */
#ifndef INMO_LAB_PLOT_H
#define INMO_LAB_PLOT_H

#include "base/text.h"

struct inmo_plot_series {
    const char *label;
    const double *x, *y;   // (count) x ascending; a y that is not finite leaves a gap
    const double *spread;  // (count) drawn as a bar up and down; NULL: none
    size_t count;
};
struct inmo_plot {
    const char *title, *x, *y;
    int log_x; /* logarithmic; 0 is drawn one decade left of the smallest other x */
    const struct inmo_plot_series *series;
    size_t series_count;
};
void inmo_plot_lines(struct inmo_text *text, const struct inmo_plot *plot);
/* Horizontal bars on a logarithmic axis, one for each label. */
void inmo_plot_bars(struct inmo_text *text, const char *title, const char *unit, const char *const *label,
                    const double *value, size_t count);

struct inmo_plot_step {
    const char *label;
    double value, spread, other; /* spread, and a value to compare with: NAN: none */
    int marked;                  /* in colour */
};
/* Horizontal bars from 0, one for each label in the order given; other values are diamonds. */
void inmo_plot_ladder(struct inmo_text *text, const char *title, const struct inmo_plot_step *step, size_t count);

#endif
