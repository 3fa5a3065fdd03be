/* page.c - the results for readers: Markdown, and one self-contained HTML page. Both are made from the same JSON
 * (findings.c). */
#include "lab/figures.h"

#include "base/number.h"
#include "base/plot.h"
#include "lab/lab.h"
#include "lab/json_get.h"

/* Adds text and escapes what HTML or Markdown would interpret. */
static void add_words(struct inmo_text *text, const char *words, int html)
{
    for (; *words; words++) {
        const char *as = !html           ? (*words == '|'    ? "\\|"
                                            : *words == '*'  ? "\\*"
                                            : *words == '\\' ? "\\\\"
                                                             : NULL)
                         : *words == '<' ? "&lt;"
                         : *words == '>' ? "&gt;"
                         : *words == '&' ? "&amp;"
                                         : NULL;
        inmo_text_add(text, as ? as : words, as ? strlen(as) : 1);
    }
}

static void add_count(struct inmo_text *text, double value)
{
    char digits[32], *at = digits;
    inmo_format(digits, sizeof digits, "%.0f", value);
    for (size_t left = strlen(digits); *at; at++, left--) {
        inmo_text_add(text, at, 1);
        if (left > 1 && (left - 1) % 3 == 0)
            add(text, ",");
    }
}

/* ---- Cells --------------------------------------------------------------------------------------------------- */

static void add_cell(struct inmo_text *text, const json_t *cell, int html)
{
    double mean = real(cell, "mean"), deviation = real(cell, "deviation"), paper = real(cell, "paper");
    int best = json_is_true(json_object_get(cell, "best"));
    if (json_object_get(cell, "count")) {
        add_count(text, real(cell, "count"));
    } else if (json_object_get(cell, "density")) {
        inmo_text_format(text, "%.5f", real(cell, "density"));
    } else if (!isfinite(mean)) {
        add(text, html ? "\\" : "\\\\");
    } else {
        inmo_text_format(text, "%s%.2f%s", best ? (html ? "<b>" : "**") : "", mean,
                         best ? (html ? "</b>" : "**") : "");
        if (isfinite(deviation))
            inmo_text_format(text, html ? " <small>± %.2f</small>" : " ± %.2f", deviation);
    }
    if (isfinite(paper)) {
        inmo_text_format(text, html ? "<br><small>paper %.2f" : ", paper %.2f", paper);
        if (isfinite(mean))
            inmo_text_format(text, " (%+.2f)", mean - paper);
        add(text, html ? "</small>" : "");
    }
}

/* "d 128, listwise loss, fast, 36 epochs" */
static void add_training(struct inmo_text *text, const json_t *trained)
{
    if (!*string(trained, "loss")) {
        inmo_text_format(text, "closed form, %s", string(trained, "recipe"));
        return;
    }
    inmo_text_format(text, "d %.0f, %s loss, %s, %.*f epochs", real(trained, "dim"), string(trained, "loss"),
                     string(trained, "recipe"), real(trained, "epochs") != floor(real(trained, "epochs")),
                     real(trained, "epochs"));
}

static void add_table(struct inmo_text *text, const json_t *experiment, int html)
{
    const json_t *columns = json_object_get(experiment, "columns"), *rows = json_object_get(experiment, "rows");
    json_t *row, *cell, *column;
    size_t r, c;
    int has_training = json_object_get(json_array_get(rows, 0), "trained") != NULL;
    add(text, html ? "<div class=\"wide\"><table><thead><tr><th></th>" : "| |");
    json_array_foreach((json_t *)columns, c, column) {
        add(text, html ? "<th>" : " ");
        add_words(text, json_string_value(column), html);
        add(text, html ? "</th>" : " |");
    }
    if (has_training)
        add(text, html ? "<th class=\"how\">Trained</th>" : " Trained |");
    add(text, html ? "</tr></thead><tbody>\n" : "\n|---|");
    for (c = 0; !html && c < json_array_size(columns); c++)
        add(text, "---:|");
    add(text, html ? "" : has_training ? "---|\n" : "\n");
    json_array_foreach((json_t *)rows, r, row) {
        add(text, html ? "<tr><th>" : "| ");
        add_words(text, string(row, "label"), html);
        add(text, html ? "</th>" : " |");
        json_array_foreach(json_object_get(row, "cells"), c, cell) {
            add(text, html ? "<td>" : " ");
            add_cell(text, cell, html);
            add(text, html ? "</td>" : " |");
        }
        if (has_training) {
            add(text, html ? "<td class=\"how\">" : " ");
            add_training(text, json_object_get(row, "trained"));
            add(text, html ? "</td>" : " |");
        }
        add(text, html ? "</tr>\n" : "\n");
    }
    add(text, html ? "</tbody></table></div>\n" : "\n");
    /* Explains each backslash. */
    json_array_foreach((json_t *)rows, r, row)
        if (*string(row, "reason")) {
            add(text, html ? "<p class=\"note\">\\ " : "\\\\ ");
            add_words(text, string(row, "label"), html);
            add(text, ": ");
            add_words(text, string(row, "reason"), html);
            add(text, html ? "</p>\n" : ".  \n");
        }
}

/* ---- Claims and runs ----------------------------------------------------------------------------------------- */

/* The result of the test in one word. */
static const char *verdict(const json_t *claim)
{
    return real(claim, "p") > 0.05 ? "undecided" : real(claim, "mean") > 0 ? "yes" : "no";
}

static void add_claims(struct inmo_text *text, const json_t *claims, int html)
{
    json_t *claim;
    size_t n;
    if (json_array_size(claims) == 0)
        return;
    add(text, html ? "<h2 id=\"claims\">Claims, tested</h2>\n" : "## Claims, tested\n\n");
    add(text, html ? "<p class=\"note\">" : "");
    add(text, "Difference of NDCG@20 (times 100) over the same users, averaged over the seeds; 95 % interval; "
              "two-sided p from "
              "9,999 random sign flips.");
    add(text,
        html
            ? "</p>\n<div class=\"wide\"><table><thead><tr><th>Claim</th><th></th><th>Difference</th><th>Users</th>"
              "<th>p</th></tr></thead><tbody>\n"
            : "\n\n| claim | | difference | users | p |\n|---|---|---:|---:|---:|\n");
    json_array_foreach((json_t *)claims, n, claim) {
        add(text, html ? "<tr><th>" : "| ");
        add_words(text, string(claim, "claim"), html);
        inmo_text_format(text,
                         html ? "<br><small>%s, %s against %s</small></th><td class=\"" : " (%s, %s against %s) | ",
                         string(claim, "experiment"), string(claim, "better"), string(claim, "worse"));
        if (html)
            inmo_text_format(text, "%c\">", *verdict(claim));
        inmo_text_format(text, "%s%s", verdict(claim), html ? "</td>" : " |");
        inmo_text_format(text,
                         html ? "<td>%+.2f<br><small>%+.2f … %+.2f</small></td><td>" : " %+.2f (%+.2f … %+.2f) | ",
                         real(claim, "mean"), real(claim, "low"), real(claim, "high"));
        add_count(text, real(claim, "users"));
        inmo_text_format(text, html ? "</td><td>%.4f</td></tr>\n" : " | %.4f |\n", real(claim, "p"));
    }
    add(text, html ? "</tbody></table></div>\n" : "\n");
}

static void add_runs(struct inmo_text *text, const json_t *findings, int html)
{
    json_t *run;
    size_t n;
    if (json_array_size(json_object_get(findings, "runs")) == 0)
        return;
    add(text,
        html ? "<h2 id=\"runs\">Runs</h2>\n<details><summary>Every training: recipe, budget, seed, "
               "epochs</summary>\n"
               "<div "
               "class=\"wide\"><table><thead><tr><th>Run</th><th>Recipe</th><th>d</th><th>Loss</th><th>Epochs</"
               "th><th>Best</th>"
               "<th>Validation</th><th>Seconds</th><th>Stopped by</th><th>Parameters</th><th>File</th></tr></thead>"
               "<tbody>\n"
             : "## Runs\n\n| run | recipe | d | loss | epochs (of at most) | best | validation | seconds | stopped "
               "by | "
               "parameters "
               "| file |\n|---|---|---:|---|---:|---:|---:|---:|---|---:|---|\n");
    json_array_foreach(json_object_get(findings, "runs"), n, run) {
        const char *next = html ? "</td><td>" : " | ";
        double valid = 100 * real(run, "valid");
        add(text, html ? "<tr><th>" : "| ");
        add_words(text, string(run, "system"), html);
        inmo_text_format(text, "%s%s%s%.0f%s%s%s%.0f (%.0f)%s", html ? "</th><td>" : " | ", string(run, "recipe"),
                         next, real(run, "dim"), next, *string(run, "loss") ? string(run, "loss") : "closed form",
                         next, real(run, "epochs"), real(run, "most_epochs"), next);
        if (real(run, "best_epoch") >= 0)
            inmo_text_format(text, "%.0f", real(run, "best_epoch") + 1);
        add(text, next);
        if (isfinite(valid))
            inmo_text_format(text, "%.2f", valid);
        inmo_text_format(text, "%s%.1f%s%s%s", next, real(run, "seconds"), next, string(run, "stopped"), next);
        add_count(text, real(run, "parameters"));
        inmo_text_format(text, "%s%s%s", next, string(run, "run"), html ? "</td></tr>\n" : " |\n");
    }
    add(text, html ? "</tbody></table></div></details>\n" : "\n");
}

/* ---- The pages ----------------------------------------------------------------------------------------------- */

static void add_head(struct inmo_text *text, const json_t *findings, int html)
{
    const json_t *data = json_object_get(findings, "data");
    double seconds = real(findings, "max_seconds"), epochs = real(findings, "epochs");
    add(text, html ? "<p>Data: <b>" : "Data: ");
    add_words(text, string(data, "source"), html);
    add(text, html ? "</b>, " : ", ");
    add_count(text, real(data, "users"));
    add(text, " users, ");
    add_count(text, real(data, "items"));
    add(text, " items, ");
    add_count(text, real(data, "interactions"));
    add(text, " interactions");
    if (real(data, "k_core") > 0)
        inmo_text_format(text, " (%.0f-core)", real(data, "k_core"));
    inmo_text_format(text, ". Split 70/10/20 by seed. Recipe: %s. Seeds: ", string(findings, "recipe"));
    for (size_t n = 0; n < json_array_size(json_object_get(findings, "seeds")); n++)
        inmo_text_format(text, "%s%lld", n ? ", " : "",
                         (long long)json_integer_value(json_array_get(json_object_get(findings, "seeds"), n)));
    if (strcmp(string(findings, "new_choice"), "last") == 0)
        add(text, ". New users and items: the last ones to appear");
    if (strcmp(string(findings, "storage"), "half") == 0)
        add(text, ". Graph layers are stored in half precision during training");
    add(text, ". Budget of a training: ");
    if (epochs > 0)
        inmo_text_format(text, "%.0f epochs", epochs);
    else
        add(text, "the recipe's epochs");
    if (seconds > 0)
        inmo_text_format(text, ", %g seconds", seconds);
    add(text, ". Numbers are times 100; ± is the standard deviation over the seeds.");
    if (*string(data, "paper"))
        inmo_text_format(text, " The paper's numbers are those of its %s.", string(data, "paper"));
    else
        add(text, " The data is none of the paper's, so its numbers are not beside ours.");
    add(text, html ? "</p>\n" : "\n\n");
}

char *inmo_lab_markdown(const json_t *findings)
{
    struct inmo_text text = {0};
    json_t *experiment;
    size_t n;
    add(&text, "# INMO, reproduced\n\n");
    add_head(&text, findings, 0);
    json_array_foreach(json_object_get(findings, "experiments"), n, experiment) {
        inmo_text_format(&text, "## %s: %s\n\n", string(experiment, "name"), string(experiment, "title"));
        if (*string(experiment, "note")) {
            add_words(&text, string(experiment, "note"), 0);
            add(&text, "\n\n");
        }
        if (json_object_get(experiment, "rows"))
            add_table(&text, experiment, 0);
        else
            inmo_figures_list(&text, experiment);
        add(&text, "\n");
    }
    add_claims(&text, json_object_get(findings, "claims"), 0);
    add_runs(&text, findings, 0);
    return inmo_text_take(&text);
}

char *inmo_lab_html(const json_t *findings)
{
    struct inmo_text text = {0};
    json_t *experiment;
    size_t n;
    add(&text,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>INMO, reproduced</title>\n"
        "<style>\n");
    add(&text, inmo_plot_style);
    add(&text, "</style></head><body>\n<h1>INMO, reproduced</h1>\n");
    add_head(&text, findings, 1);
    add(&text, "<nav>");
    json_array_foreach(json_object_get(findings, "experiments"), n, experiment)
        inmo_text_format(&text, "<a href=\"#%s\">%s</a>", string(experiment, "name"), string(experiment, "name"));
    add(&text, "</nav>\n");
    add_claims(&text, json_object_get(findings, "claims"), 1);
    json_array_foreach(json_object_get(findings, "experiments"), n, experiment) {
        inmo_text_format(&text, "<h2 id=\"%s\">%s</h2>\n<p class=\"note\">", string(experiment, "name"),
                         string(experiment, "title"));
        add_words(&text, string(experiment, "note"), 1);
        add(&text, "</p>\n");
        if (json_object_get(experiment, "rows"))
            add_table(&text, experiment, 1);
        inmo_figures_draw(&text, experiment);
    }
    add_runs(&text, findings, 1);
    add(&text, "</body></html>\n");
    return inmo_text_take(&text);
}
