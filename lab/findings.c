/* findings.c - the results as one JSON object: tables of means and deviations, series of figures, claims, and every
 * run with its recipe, budget, seed and epochs. */
#include "base/memory.h"
#include "lab/lab.h"
#include "lab/paper.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Mean and standard deviation of a row over the seeds, or the reason why there are none. */
struct summary {
    double mean, deviation;
    int seeds;
    const char *reason;
};

static struct summary sum_up(const struct inmo_lab *lab, size_t row, const char *group, const char *metric)
{
    struct summary found = {NAN, NAN, 0, NULL};
    size_t seeds = inmo_lab_seeds_of(lab, lab->row[row].experiment);
    double sum = 0, squares = 0;
    /* If no candidate can be recommended the score would be 0, which looks like a poor result. Give the reason
     * instead. */
    if (strcmp(group, "new-items") == 0 && lab->row[row].trained == INMO_NEW_USERS_ITEMS &&
        inmo_kind_serves_unseen(inmo_model_kind_find(lab->row[row].system.model)) &&
        !inmo_kind_offers_unseen(inmo_model_kind_find(lab->row[row].system.model))) {
        found.reason = "it offers only items that were there in training";
        return found;
    }
    for (size_t s = 0; s < seeds; s++) {
        const struct inmo_lab_run *run = &lab->run[lab->run_of[row * lab->seeds + s]];
        double value = inmo_lab_run_value(run, lab->row[row].evaluation, group, metric);
        const json_t *evaluation;
        if (!isfinite(value)) {
            inmo_lab_run_evaluation(run, lab->row[row].evaluation, &evaluation, &found.reason);
            continue;
        }
        found.seeds++;
        sum += value;
    }
    if (found.seeds > 0)
        found.mean = sum / found.seeds;
    for (size_t s = 0; s < seeds && found.seeds > 1; s++) {
        double value = inmo_lab_run_value(&lab->run[lab->run_of[row * lab->seeds + s]], lab->row[row].evaluation,
                                          group, metric);
        squares += isfinite(value) ? (value - found.mean) * (value - found.mean) : 0;
    }
    if (found.seeds > 1)
        found.deviation = sqrt(squares / (found.seeds - 1));
    return found;
}

/* ---- Tables -------------------------------------------------------------------------------------------------- */

static void add_statistics_row(json_t *rows, const char *label, double users, double items, double interactions)
{
    json_array_append_new(rows,
                          json_pack("{ss s[{sf}{sf}{sf}{sf}]}", "label", label, "cells", "count", users, "count",
                                    items, "count", interactions, "density", interactions / users / items));
}

static void add_statistics(const struct inmo_lab *lab, json_t *experiment)
{
    json_t *rows = json_array();
    const char *name;
    double value[3];
    add_statistics_row(rows, lab->source, (double)lab->users, (double)lab->items, (double)lab->interactions);
    for (size_t n = 0; inmo_paper_statistics(n, &name, value); n++) {
        char label[64];
        snprintf(label, sizeof label, "%s (the paper's)", name);
        add_statistics_row(rows, label, value[0], value[1], value[2]);
    }
    json_object_set_new(experiment, "columns", json_pack("[ssss]", "Users", "Items", "Interactions", "Density"));
    json_object_set_new(experiment, "rows", rows);
}

static int is_of(const struct inmo_lab *lab, size_t row, const struct inmo_lab_experiment *experiment)
{
    return lab->row[row].experiment == experiment;
}

/* The best value of a column is printed in bold. Retrained systems have seen more data and do not compete. */
static double best_of(const struct inmo_lab *lab, const struct inmo_lab_experiment *experiment, size_t column)
{
    double best = -INFINITY;
    for (size_t r = 0; r < lab->rows; r++)
        if (is_of(lab, r, experiment) && !strstr(lab->row[r].label, "-retrain")) {
            double mean = sum_up(lab, r, experiment->column[column].group, experiment->column[column].metric).mean;
            if (mean > best)
                best = mean;
        }
    return best;
}

/* What is trained by steps has a loss; a standalone model has its own. */
static const char *loss_of(const struct inmo_lab_run *run)
{
    const struct inmo_model_kind *kind = inmo_model_kind_find(run->system.model);
    return !kind->system ? run->options.loss : kind->system->learning ? "its own" : NULL;
}

/* How a row was trained; epochs: the mean over the seeds. */
static json_t *training_of(const struct inmo_lab *lab, size_t row)
{
    const struct inmo_lab_run *run = &lab->run[lab->run_of[row * lab->seeds]];
    size_t seeds = inmo_lab_seeds_of(lab, lab->row[row].experiment);
    double epochs = 0;
    for (size_t s = 0; s < seeds; s++)
        epochs += json_number_value(json_object_get(lab->run[lab->run_of[row * lab->seeds + s]].result, "epochs"));
    return json_pack("{si ss? ss sf}", "dim", run->options.dim, "loss", loss_of(run), "recipe", run->recipe,
                     "epochs", epochs / (double)seeds);
}

static void add_table(const struct inmo_lab *lab, const struct inmo_lab_experiment *from, json_t *experiment)
{
    json_t *columns = json_array(), *rows = json_array();
    double best[8];
    for (size_t c = 0; c < from->columns; c++) {
        json_array_append_new(columns, json_string(from->column[c].title));
        best[c] = best_of(lab, from, c);
    }
    for (size_t r = 0; r < lab->rows; r++) {
        json_t *cells;
        const char *reason = NULL;
        if (!is_of(lab, r, from))
            continue;
        cells = json_array();
        for (size_t c = 0; c < from->columns; c++) {
            struct summary found = sum_up(lab, r, from->column[c].group, from->column[c].metric);
            reason = found.reason ? found.reason : reason;
            json_array_append_new(cells,
                                  json_pack("{so so si sb so}", "mean", number(found.mean), "deviation",
                                            number(found.deviation), "seeds", found.seeds, "best",
                                            found.mean == best[c], "paper",
                                            number(inmo_paper_value(lab->paper_data, from->name, lab->row[r].label,
                                                                    from->column[c].paper))));
        }
        json_array_append_new(rows, json_pack("{ss so so ss?}", "label", lab->row[r].label, "cells", cells,
                                              "trained", training_of(lab, r), "reason", reason));
    }
    json_object_set_new(experiment, "columns", columns);
    json_object_set_new(experiment, "rows", rows);
}

/* ---- Figures ------------------------------------------------------------------------------------------------- */

/* The series with that label, added if missing. */
static json_t *series_of(json_t *list, const char *label)
{
    json_t *series;
    size_t n;
    json_array_foreach(list, n, series)
        if (strcmp(json_string_value(json_object_get(series, "label")), label) == 0)
            return series;
    json_array_append_new(list, json_pack("{ss s[] s[] s[] s[]}", "label", label, "x", "y", "spread", "paper"));
    return json_array_get(list, json_array_size(list) - 1);
}

static void add_point(json_t *list, const char *label, double x, double y, double spread, double paper)
{
    json_t *series = series_of(list, label);
    json_array_append_new(json_object_get(series, "x"), json_real(x));
    json_array_append_new(json_object_get(series, "y"), number(y));
    json_array_append_new(json_object_get(series, "spread"), number(spread));
    json_array_append_new(json_object_get(series, "paper"), number(paper));
}

static void add_panel(json_t *panels, const char *title, json_t *series)
{
    json_array_append_new(panels, json_pack("{ss so}", "title", title, "series", series));
}

/* 1 if row n belongs to the panel that begins with row r: the same model, or the one that it replaces, which is a
 * line from end to end. */
static int is_in_panel(const struct inmo_lab *lab, size_t r, size_t n, int *is_line)
{
    const struct inmo_model_kind *first = inmo_model_kind_find(lab->row[r].system.model),
                                 *here = inmo_model_kind_find(lab->row[n].system.model);
    *is_line = !inmo_lab_has_module(here);
    return is_of(lab, n, lab->row[r].experiment) &&
           (here == first || (*is_line && here->backbone == first->backbone));
}

/* One panel per model, because their scales differ. */
static void add_lines(const struct inmo_lab *lab, const struct inmo_lab_experiment *from, json_t *panels)
{
    for (size_t r = 0; r < lab->rows; r++) {
        const char *model = lab->row[r].system.model;
        double low = INFINITY, high = -INFINITY;
        int is_line;
        json_t *series;
        if (!is_of(lab, r, from) || !inmo_lab_has_module(inmo_model_kind_find(model)) ||
            (r > 0 && is_of(lab, r - 1, from) && strcmp(lab->row[r - 1].system.model, model) == 0))
            continue;
        series = json_array();
        for (size_t n = r; n < lab->rows && is_in_panel(lab, r, n, &is_line); n++) {
            struct summary found = sum_up(lab, n, "all", "ndcg");
            const char *label = lab->row[n].label;
            double x = lab->row[n].x;
            if (is_line) {
                add_point(series, label, low, found.mean, found.deviation,
                          inmo_paper_point(lab->paper_data, from->name, label, low));
                x = high;
            }
            if (!is_line || high > low)
                add_point(series, label, x, found.mean, found.deviation,
                          inmo_paper_point(lab->paper_data, from->name, label, x));
            low = fmin(low, x);
            high = fmax(high, x);
        }
        add_panel(panels, inmo_lab_model_label(model), series);
    }
}

/* 1 if an earlier row of the experiment shows the same run. */
static int is_shown(const struct inmo_lab *lab, size_t row)
{
    for (size_t r = 0; r < row; r++)
        if (is_of(lab, r, lab->row[row].experiment) && lab->run_of[r * lab->seeds] == lab->run_of[row * lab->seeds])
            return 1;
    return 0;
}

/* The validations of a run of the first seed, thinned out to some points. Beside a table, fewer than three are no
 * curve. */
static void add_curve(const struct inmo_lab *lab, size_t row, json_t *series)
{
    enum { MOST = 200 };
    size_t fewest = lab->row[row].experiment->shape == INMO_LAB_TABLE ? 3 : 1;
    const json_t *record = json_object_get(lab->run[lab->run_of[row * lab->seeds]].result, "record");
    size_t validations = 0, seen = 0;
    for (size_t n = 0; n < json_array_size(record); n++)
        validations += json_is_number(json_object_get(json_array_get(record, n), "ndcg@20"));
    for (size_t n = 0; n < json_array_size(record) && validations >= fewest; n++) {
        const json_t *epoch = json_array_get(record, n), *score = json_object_get(epoch, "ndcg@20");
        if (!json_is_number(score))
            continue;
        if (seen % (validations / MOST + 1) == 0 || seen + 1 == validations)
            add_point(series, lab->row[row].label, json_number_value(json_object_get(epoch, "epoch")) + 1,
                      100 * json_number_value(score), NAN, NAN);
        seen++;
    }
}

/* A panel for each scenario. */
static void add_curves(const struct inmo_lab *lab, const struct inmo_lab_experiment *from, json_t *panels)
{
    static const char *const title[] = {[INMO_TRANSDUCTIVE] = "Validation over the epochs, transductive",
                                        [INMO_NEW_INTERACTIONS] = "Validation without the new interactions",
                                        [INMO_NEW_USERS_ITEMS] = "Validation without the new users and items"};
    static const enum inmo_scenario scenario[] = {INMO_NEW_USERS_ITEMS, INMO_NEW_INTERACTIONS, INMO_TRANSDUCTIVE};
    for (size_t k = 0; k < sizeof scenario / sizeof *scenario; k++) {
        json_t *series = json_array();
        for (size_t r = 0; r < lab->rows; r++)
            if (is_of(lab, r, from) && lab->row[r].trained == scenario[k] && !is_shown(lab, r))
                add_curve(lab, r, series);
        if (json_array_size(series) > 0) /* with --finished there may be none */
            add_panel(panels, title[scenario[k]], series);
        else
            json_decref(series);
    }
}

static void add_bars(const struct inmo_lab *lab, const struct inmo_lab_experiment *from, json_t *experiment)
{
    json_t *bars = json_array();
    for (size_t r = 0; r < lab->rows; r++) {
        size_t seeds = inmo_lab_seeds_of(lab, from);
        double sum = 0;
        if (!is_of(lab, r, from))
            continue;
        for (size_t s = 0; s < seeds; s++) {
            const struct inmo_lab_run *run = &lab->run[lab->run_of[r * lab->seeds + s]];
            const json_t *evaluation;
            const char *reason;
            inmo_lab_run_evaluation(run, lab->row[r].evaluation, &evaluation, &reason);
            sum += json_number_value(lab->row[r].trained == INMO_TRANSDUCTIVE
                                         ? json_object_get(run->result, "seconds")
                                         : json_object_get(evaluation, "inference_seconds"));
        }
        json_array_append_new(
            bars, json_pack("{ss sf so}", "label", lab->row[r].label, "value", sum / (double)seeds, "paper",
                            number(inmo_paper_point(lab->paper_data, from->name, lab->row[r].label, 0))));
    }
    json_object_set_new(experiment, "bars", bars);
}

static enum inmo_status add_errors(struct inmo_lab *lab, json_t *panels, struct inmo_error *error)
{
    static const struct {
        const char *rule, *label;
    } curve[] = {{"error-sort-svd", "error-sort (Theorem 2)"},
                 {"degree", "degree"},
                 {"page-rank", "page-rank"},
                 {"error-sort", "error-sort, simplified"}};
    const struct inmo_dataset *dataset = NULL;
    struct inmo_train_options options;
    struct inmo_graph *graph = NULL;
    enum inmo_status status = inmo_train_options_init(&options, "inmo-mf", lab->options->recipe, error);
    if (!status)
        status = inmo_lab_dataset(&lab->data, INMO_TRANSDUCTIVE, lab->seed[0], &dataset, error);
    if (!status) {
        const struct inmo_csr *train = &dataset->train;
        status = inmo_graph_build(dataset->users.count, dataset->items.count, &train, 1, &graph, error);
    }
    for (int of_items = 0; of_items < 2 && !status; of_items++) {
        json_t *series = json_array();
        for (size_t n = 0; n < sizeof curve / sizeof *curve && !status; n++) {
            double share[INMO_LAB_POINTS], value[INMO_LAB_POINTS];
            status = inmo_lab_error_curve(graph, options.dim, curve[n].rule, of_items, share, value, error);
            for (int p = 0; p < INMO_LAB_POINTS && !status; p++)
                add_point(series, curve[n].label, share[p], value[p], NAN, NAN);
        }
        add_panel(panels, of_items ? "Items" : "Users", series);
    }
    inmo_graph_free(graph);
    return status;
}

/* ---- All of it ----------------------------------------------------------------------------------------------- */

static json_t *runs_json(const struct inmo_lab *lab)
{
    static const char *const kept[] = {"system",  "epochs",  "best_epoch", "valid",
                                       "seconds", "stopped", "parameters"};
    json_t *runs = json_array();
    for (size_t n = 0; n < lab->runs; n++) {
        json_t *run;
        if (!lab->run[n].result) /* not finished and not requested */
            continue;
        run = json_pack("{ss ss ss si ss? sI si}", "run", lab->run[n].name, "model", lab->run[n].system.model,
                        "recipe", lab->run[n].recipe, "dim", lab->run[n].options.dim, "loss", loss_of(&lab->run[n]),
                        "seed", (json_int_t)lab->run[n].seed, "most_epochs", lab->run[n].options.epochs);
        for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
            json_object_set(run, kept[k], json_object_get(lab->run[n].result, kept[k]));
        json_array_append_new(runs, run);
    }
    return runs;
}

static enum inmo_status add_experiment(struct inmo_lab *lab, const struct inmo_lab_experiment *from, json_t *list,
                                       struct inmo_error *error)
{
    json_t *experiment = json_pack("{ss ss ss? ss? ss?}", "name", from->name, "title", from->title, "note",
                                   from->note, "x", from->x, "y", from->y);
    json_t *panels = json_array();
    enum inmo_status status = INMO_OK;
    switch (from->shape) {
    case INMO_LAB_STATISTICS: add_statistics(lab, experiment); break;
    case INMO_LAB_TABLE:
        add_table(lab, from, experiment);
        add_curves(lab, from, panels);
        break;
    case INMO_LAB_LINES: add_lines(lab, from, panels); break;
    case INMO_LAB_CURVES: add_curves(lab, from, panels); break;
    case INMO_LAB_BARS: add_bars(lab, from, experiment); break;
    case INMO_LAB_ERRORS: status = add_errors(lab, panels, error); break;
    }
    if (json_array_size(panels) > 0)
        json_object_set(experiment, "panels", panels);
    json_decref(panels);
    json_array_append_new(list, experiment);
    return status;
}

enum inmo_status inmo_lab_findings(struct inmo_lab *lab, json_t **findings, struct inmo_error *error)
{
    json_t *experiments = json_array(), *claims = json_array(), *seeds = json_array();
    enum inmo_status status = INMO_OK;
    for (size_t n = 0; n < lab->seeds; n++)
        json_array_append_new(seeds, json_integer((json_int_t)lab->seed[n]));
    for (size_t n = 0; n < lab->experiments && !status; n++)
        status = add_experiment(lab, lab->experiment[n], experiments, error);
    if (!status)
        status = inmo_lab_claims(lab, claims, error);
    if (!status) {
        *findings = json_pack("{si s{ss ss? sI sI sI si} ss ss ss? si sf sO sO sO so}", "inmo.reproduce", 1, "data",
                              "source", lab->source, "paper", lab->paper_data, "users", (json_int_t)lab->users,
                              "items", (json_int_t)lab->items, "interactions", (json_int_t)lab->interactions,
                              "k_core", lab->options->k_core, "recipe", lab->options->recipe, "new_choice",
                              lab->options->new_choice, "storage", lab->options->storage, "epochs",
                              lab->options->epochs, "max_seconds", lab->options->max_seconds, "seeds", seeds,
                              "experiments", experiments, "claims", claims, "runs", runs_json(lab));
        if (!*findings)
            status = inmo_fail_memory(error, "the report");
    }
    json_decref(seeds);
    json_decref(claims);
    json_decref(experiments);
    return status;
}
