/* plot.c - see plot.h. Coordinates are units of the view box, which the page scales. */
#include "base/plot.h"

#include "base/number.h"

#include <math.h>

enum {
    WIDTH = 640,
    HEIGHT = 380,
    LEFT = 64,
    RIGHT = 16,
    TOP = 36,
    BOTTOM = 50,
    LINE = 18,
    COLOURS = 8,
    MOST_TICKS = 12
};

static void escaped(struct inmo_text *text, const char *words)
{
    for (; *words; words++) {
        const char *as = *words == '<' ? "&lt;" : *words == '&' ? "&amp;" : NULL;
        inmo_text_add(text, as ? as : words, as ? strlen(as) : 1);
    }
}

static void words(struct inmo_text *text, double x, double y, const char *style, const char *what)
{
    inmo_text_format(text, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, style);
    escaped(text, what);
    inmo_text_format(text, "</text>\n");
}

/* ---- Axes ---------------------------------------------------------------------------------------------------- */

struct axis {
    double low, high;        /* range of the data (logarithms on a logarithmic axis) */
    double from, to;         /* range in the picture */
    double tick[MOST_TICKS]; /* positions of the ticks, as low and high */
    char name[MOST_TICKS][16];
    int ticks;
};

static double place(const struct axis *axis, double value)
{
    return axis->from + (value - axis->low) / (axis->high - axis->low) * (axis->to - axis->from);
}

/* Ticks at multiples of 1, 2 or 5 times a power of ten, three to six of them. */
static void choose_ticks(struct axis *axis)
{
    double span, step;
    if (!(axis->high > axis->low)) {
        axis->low -= 0.5;
        axis->high += 0.5;
    }
    span = axis->high - axis->low;
    step = pow(10, floor(log10(span / 3)));
    if (span / step > 12)
        step *= 5;
    else if (span / step > 6)
        step *= 2;
    for (double t = ceil(axis->low / step - 1e-9) * step; t <= axis->high + 1e-9 * span && axis->ticks < MOST_TICKS;
         t += step) {
        axis->tick[axis->ticks] = t;
        inmo_format(axis->name[axis->ticks++], sizeof *axis->name, "%.6g", fabs(t) < 1e-9 * span ? 0 : t);
    }
}

/* One tick per decade; zero, if present, is drawn one decade before the first. */
static void choose_decades(struct axis *axis, int has_zero)
{
    axis->low = floor(axis->low + 1e-9) - (has_zero ? 1 : 0);
    axis->high = fmax(ceil(axis->high - 1e-9), axis->low + 1);
    for (double t = axis->low; t <= axis->high && axis->ticks < MOST_TICKS; t++) {
        axis->tick[axis->ticks] = t;
        inmo_format(axis->name[axis->ticks++], sizeof *axis->name, "%g",
                    has_zero && t == axis->low ? 0 : pow(10, t));
    }
}

static double drawn_x(const struct inmo_plot *plot, const struct axis *axis, double x)
{
    return !plot->log_x ? x : x > 0 ? log10(x) : axis->low;
}

static void measure(const struct inmo_plot *plot, struct axis *x, struct axis *y)
{
    int has_zero = 0;
    *x = (struct axis){.low = INFINITY, .high = -INFINITY, .from = LEFT, .to = WIDTH - RIGHT};
    *y = (struct axis){.low = INFINITY, .high = -INFINITY, .from = HEIGHT - BOTTOM, .to = TOP};
    for (size_t s = 0; s < plot->series_count; s++)
        for (size_t n = 0; n < plot->series[s].count; n++) {
            double spread =
                plot->series[s].spread && isfinite(plot->series[s].spread[n]) ? plot->series[s].spread[n] : 0;
            double at = plot->series[s].x[n], value = plot->series[s].y[n];
            double other = plot->series[s].other ? plot->series[s].other[n] : NAN;
            if (!isfinite(value))
                continue;
            if (isfinite(other)) {
                y->low = fmin(y->low, other);
                y->high = fmax(y->high, other);
            }
            if (plot->log_x && at <= 0) {
                has_zero = 1;
            } else {
                at = plot->log_x ? log10(at) : at;
                x->low = fmin(x->low, at);
                x->high = fmax(x->high, at);
            }
            y->low = fmin(y->low, value - spread);
            y->high = fmax(y->high, value + spread);
        }
    if (!isfinite(x->low))
        x->low = x->high = 0;
    if (!isfinite(y->low))
        y->low = y->high = 0;
    y->low -= 0.05 * (y->high - y->low);
    y->high += 0.05 * (y->high - y->low);
    if (plot->log_x)
        choose_decades(x, has_zero);
    else
        choose_ticks(x);
    choose_ticks(y);
}

static void open_picture(struct inmo_text *text, const char *title, int height)
{
    inmo_text_format(text, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, height);
    escaped(text, title);
    inmo_text_format(text, "\">\n");
    words(text, LEFT, 20, "class=\"title\"", title);
}

static void draw_axes(struct inmo_text *text, const struct inmo_plot *plot, const struct axis *x,
                      const struct axis *y)
{
    for (int n = 0; n < y->ticks; n++) {
        double at = place(y, y->tick[n]);
        inmo_text_format(text, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT,
                         WIDTH - RIGHT, at, at);
        words(text, LEFT - 10, at + 4, "text-anchor=\"end\"", y->name[n]);
    }
    for (int n = 0; n < x->ticks; n++) {
        double at = place(x, x->tick[n]);
        inmo_text_format(text, "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", at, at,
                         HEIGHT - BOTTOM, HEIGHT - BOTTOM + 5);
        words(text, at, HEIGHT - BOTTOM + 19, "text-anchor=\"middle\"", x->name[n]);
    }
    inmo_text_format(text, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", LEFT, WIDTH - RIGHT,
                     HEIGHT - BOTTOM, HEIGHT - BOTTOM);
    words(text, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 10, "text-anchor=\"middle\"", plot->x);
    inmo_text_format(text, "<text transform=\"translate(14 %.1f) rotate(-90)\" text-anchor=\"middle\">",
                     (TOP + HEIGHT - BOTTOM) / 2.0);
    escaped(text, plot->y);
    inmo_text_format(text, "</text>\n");
}

/* ---- Lines --------------------------------------------------------------------------------------------------- */

static void draw_mark(struct inmo_text *text, size_t series, double x, double y)
{
    if (series % 3 == 0)
        inmo_text_format(text, "<circle class=\"s%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>\n", series % COLOURS, x,
                         y);
    else if (series % 3 == 1)
        inmo_text_format(text, "<rect class=\"s%zu\" x=\"%.1f\" y=\"%.1f\" width=\"7\" height=\"7\"/>\n",
                         series % COLOURS, x - 3.5, y - 3.5);
    else
        inmo_text_format(text, "<path class=\"s%zu\" d=\"M%.1f %.1fl4.5 8h-9z\"/>\n", series % COLOURS, x, y - 5);
}

static int has_others(const struct inmo_plot_series *series)
{
    for (size_t n = 0; n < series->count; n++)
        if (series->other && isfinite(series->other[n]))
            return 1;
    return 0;
}

static void draw_diamond(struct inmo_text *text, const char *style, double x, double y)
{
    inmo_text_format(text, "<path class=\"paper\"%s d=\"M%.1f %.1fl5 5l-5 5l-5 -5z\"/>\n", style, x, y - 5);
}

static void draw_series(struct inmo_text *text, const struct inmo_plot *plot, size_t s, const struct axis *x,
                        const struct axis *y)
{
    const struct inmo_plot_series *series = &plot->series[s];
    int is_down = 0;
    inmo_text_format(text, "<path class=\"line s%zu\" d=\"", s % COLOURS);
    for (size_t n = 0; n < series->count && !series->marks_only; n++) {
        if (isfinite(series->y[n]))
            inmo_text_format(text, "%c%.1f %.1f", is_down ? 'L' : 'M', place(x, drawn_x(plot, x, series->x[n])),
                             place(y, series->y[n]));
        is_down = isfinite(series->y[n]);
    }
    inmo_text_format(text, "\"/>\n");
    for (size_t n = 0; n < series->count; n++) {
        double at = place(x, drawn_x(plot, x, series->x[n]));
        if (!isfinite(series->y[n]))
            continue;
        if (series->spread && isfinite(series->spread[n]) && series->spread[n] > 0)
            inmo_text_format(text, "<path class=\"line s%zu\" d=\"M%.1f %.1fV%.1f\"/>\n", s % COLOURS, at,
                             place(y, series->y[n] - series->spread[n]),
                             place(y, series->y[n] + series->spread[n]));
        if (series->other && isfinite(series->other[n])) {
            char style[48];
            snprintf(style, sizeof style, " style=\"stroke:var(--c%zu)\"", s % COLOURS);
            draw_diamond(text, style, at, place(y, series->other[n]));
        }
        if (series->count <= 40 || series->marks_only) /* a long curve needs no marks */
            draw_mark(text, s, at, place(y, series->y[n]));
    }
}

void inmo_plot_lines(struct inmo_text *text, const struct inmo_plot *plot)
{
    struct axis x, y;
    int height = HEIGHT + LINE * (int)((plot->series_count + 1) / 2) + 8, others = 0;
    for (size_t s = 0; s < plot->series_count; s++)
        others |= has_others(&plot->series[s]);
    if (others)
        height += LINE;
    measure(plot, &x, &y);
    open_picture(text, plot->title, height);
    draw_axes(text, plot, &x, &y);
    for (size_t s = 0; s < plot->series_count; s++) {
        double left = LEFT + (s % 2 ? (WIDTH - LEFT) / 2.0 : 0), at = HEIGHT + LINE * (double)(s / 2) + 8;
        draw_series(text, plot, s, &x, &y);
        inmo_text_format(text, "<path class=\"line s%zu\" d=\"M%.1f %.1fh24\"/>\n", s % COLOURS, left, at);
        draw_mark(text, s, left + 12, at);
        words(text, left + 32, at + 4, "", plot->series[s].label);
    }
    if (others) {
        draw_diamond(text, "", LEFT + 12, height - 14);
        words(text, LEFT + 32, height - 10, "", "the paper's");
    }
    inmo_text_format(text, "</svg>\n");
}

/* ---- Bars ---------------------------------------------------------------------------------------------------- */

void inmo_plot_bars(struct inmo_text *text, const char *title, const char *unit, const char *const *label,
                    const double *value, const double *other, size_t count)
{
    enum { NAMES = 190, BAR = 34 };
    struct axis axis = {.low = INFINITY, .high = -INFINITY, .from = NAMES, .to = WIDTH - 90};
    int bottom = TOP + BAR * (int)count, others = 0;
    for (size_t n = 0; n < count; n++) {
        double both[] = {value[n], other[n]};
        for (int k = 0; k < 2; k++)
            if (isfinite(both[k]) && both[k] > 0) {
                axis.low = fmin(axis.low, log10(both[k]));
                axis.high = fmax(axis.high, log10(both[k]));
                others |= k;
            }
    }
    if (!isfinite(axis.low))
        axis.low = axis.high = 0;
    axis.low = floor(axis.low) == axis.low ? axis.low - 1 : axis.low; /* a bar of length 0 would be invisible */
    choose_decades(&axis, 0);
    open_picture(text, title, bottom + BOTTOM + (others ? LINE : 0));
    for (int n = 0; n < axis.ticks; n++) {
        double at = place(&axis, axis.tick[n]);
        inmo_text_format(text, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", at, at, TOP,
                         bottom);
        words(text, at, bottom + 17, "text-anchor=\"middle\"", axis.name[n]);
    }
    words(text, (axis.from + axis.to) / 2, bottom + 38, "text-anchor=\"middle\"", unit);
    if (others) {
        draw_diamond(text, "", NAMES + 5, bottom + 53);
        words(text, NAMES + 16, bottom + 57, "", "the paper's");
    }
    for (size_t n = 0; n < count; n++) {
        double top = TOP + BAR * (double)n + 6, right = axis.from;
        char number[32];
        words(text, NAMES - 8, top + 15, "text-anchor=\"end\"", label[n]);
        if (!isfinite(value[n]) || value[n] <= 0)
            continue;
        right = place(&axis, log10(value[n]));
        inmo_text_format(text, "<rect class=\"s%zu\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n",
                         n % COLOURS, axis.from, top, place(&axis, log10(value[n])) - axis.from, BAR - 12);
        if (isfinite(other[n]) && other[n] > 0) {
            double at = place(&axis, log10(other[n]));
            draw_diamond(text, "", at, top + (BAR - 12) / 2.0);
            right = at + 5 > right && at < right + 60 ? at + 5 : right;
        }
        inmo_format(number, sizeof number, "%.3g s", value[n]);
        words(text, right + 6, top + 15, "", number);
    }
    inmo_text_format(text, "</svg>\n");
}

/* ---- Ladders ------------------------------------------------------------------------------------------------- */

void inmo_plot_ladder(struct inmo_text *text, const char *title, const struct inmo_plot_step *step, size_t count)
{
    enum { NAMES = 210, BAR = 22 };
    struct axis axis = {.low = 0, .high = 0, .from = NAMES, .to = WIDTH - 60};
    int bottom = TOP + BAR * (int)count, others = 0;
    for (size_t n = 0; n < count; n++) {
        axis.high = fmax(axis.high, step[n].value + (isfinite(step[n].spread) ? step[n].spread : 0));
        if (isfinite(step[n].other)) {
            axis.high = fmax(axis.high, step[n].other);
            others++;
        }
    }
    choose_ticks(&axis);
    open_picture(text, title, bottom + 30 + (others ? 22 : 0));
    for (int n = 0; n < axis.ticks; n++) {
        double at = place(&axis, axis.tick[n]);
        inmo_text_format(text, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", at, at, TOP,
                         bottom);
        words(text, at, bottom + 17, "text-anchor=\"middle\"", axis.name[n]);
    }
    for (size_t n = 0; n < count; n++) {
        double middle = TOP + BAR * ((double)n + 0.5), end = place(&axis, step[n].value), right = end;
        char number[32];
        words(text, NAMES - 8, middle + 4, "text-anchor=\"end\"", step[n].label);
        inmo_text_format(text, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n",
                         step[n].marked ? "s0" : "plain", axis.from, middle - 7, fmax(end - axis.from, 0), 14);
        if (isfinite(step[n].spread) && step[n].spread > 0) {
            right = place(&axis, step[n].value + step[n].spread);
            inmo_text_format(text, "<path class=\"whisker\" d=\"M%.1f %.1fH%.1f\"/>\n",
                             place(&axis, step[n].value - step[n].spread), middle, right);
        }
        if (isfinite(step[n].other)) {
            double at = place(&axis, step[n].other);
            right = fmax(right, at + 5);
            draw_diamond(text, "", at, middle);
        }
        inmo_format(number, sizeof number, "%.2f", step[n].value);
        words(text, right + 6, middle + 4, "", number);
    }
    if (others) {
        draw_diamond(text, "", NAMES + 5, bottom + 32);
        words(text, NAMES + 16, bottom + 36, "", "the paper's");
    }
    inmo_text_format(text, "</svg>\n");
}

/* ---- The page ------------------------------------------------------------------------------------------------ */

const char inmo_plot_style[] =
    ":root{color-scheme:light dark;--ink:#1a1f2b;--soft:#5c6675;--back:#fff;--card:#f6f7f9;--rule:#dfe3e8;"
    "--c0:#2563eb;--c1:#d9480f;--c2:#0b8457;--c3:#8b3fc7;--c4:#b7791f;--c5:#c2255c;--c6:#0c8599;--c7:#5c6675}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e8ebf0;--soft:#9aa5b5;--back:#12161d;--card:#1a2029;--rule:#"
    "2d3644;"
    "--c0:#6ea8fe;--c1:#ff922b;--c2:#51cf90;--c3:#c79bf2;--c4:#ffd43b;--c5:#faa2c1;--c6:#66d9e8;--c7:#adb5bd}}\n"
    "body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);max-width:72rem;margin:0 auto;"
    "padding:2rem 1.2rem}h1{font-size:2rem;margin:0 0 .5rem}h2{font-size:1.3rem;margin:2.6rem 0 .4rem}"
    ".note,small{color:var(--soft)}.note{font-size:.9rem;margin:.3rem 0}.wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;margin:.8rem 0;font-variant-numeric:tabular-nums}"
    "th,td{padding:.3rem .9rem;border-bottom:1px solid var(--rule);text-align:right;vertical-align:top}"
    "tbody th{text-align:left;font-weight:500}thead th{color:var(--soft);font-weight:600}"
    "th:first-child{text-align:left;padding-left:0}tbody tr:hover{background:var(--card)}b{color:var(--c0)}"
    ".how.how{text-align:left}td.how{color:var(--soft);font-size:.85rem}td.y{color:var(--c2);font-weight:600}td.n{"
    "color:var("
    "--c1)}td.u{color:var(--soft)}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(26rem,1fr));gap:1.2rem;margin:1rem 0}"
    "svg{width:100%;max-width:44rem;background:var(--card);border-radius:8px}svg text{font:12px "
    "system-ui,sans-serif;"
    "fill:var(--soft)}svg text.title{font-size:15px;font-weight:600;fill:var(--ink)}"
    ".grid{stroke:var(--rule)}.axis{stroke:var(--soft)}.line{fill:none!important;stroke-width:2}"
    "nav a{color:var(--c0);margin-right:1rem}\n"
    ".s0{fill:var(--c0);stroke:var(--c0)}.s1{fill:var(--c1);stroke:var(--c1)}.s2{fill:var(--c2);stroke:var(--c2)}"
    ".s3{fill:var(--c3);stroke:var(--c3)}.s4{fill:var(--c4);stroke:var(--c4)}.s5{fill:var(--c5);stroke:var(--c5)}"
    ".s6{fill:var(--c6);stroke:var(--c6)}.s7{fill:var(--c7);stroke:var(--c7)}"
    ".plain{fill:var(--c7);opacity:.45}.paper{fill:var(--back);stroke:var(--ink);stroke-width:1.5}.whisker{stroke:"
    "var(--ink)}\n"
    "@media(max-width:30rem){.figures{grid-template-columns:1fr}}\n";
