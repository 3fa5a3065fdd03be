/* test_report.c - the paper's claims, tables and figures from results made by hand: what is claimed when it is
 * true, when it is false and when a result is missing; and what the page says.
 *
 *     test_report               the tests
 *     test_report --write DIR   DIR/report.json, .html and .md of the same results, for check_page.py */
#include "support.h"

#include "lab/lab.h"

#include <jansson.h>

enum { USERS = 60, SEEDS = 2 };

/* ---- A lab with results for every row ------------------------------------------------------------------------ */

/* NDCG of a system: rows of the paper's claims get these, the others something between. */
static const struct {
    const char *label;
    double ndcg;
} chosen[] = {
    {"INMO-LGCN", 0.50}, {"LightGCN", 0.30}, /* a claim that holds */
    {"INMO-MF", 0.20},   {"MF", 0.40},       /* one that is false */
    {"INMO-MF*", 0.40},                      /* neither: the same as MF */
};

static double ndcg_of(const struct inmo_lab_row *row, size_t number)
{
    for (size_t n = 0; n < COUNT(chosen); n++)
        if (strcmp(row->label, chosen[n].label) == 0)
            return chosen[n].ndcg;
    return 0.1 + 0.001 * (double)(number % 97);
}

static json_t *result_of(const struct inmo_lab_row *row, double ndcg, size_t seed)
{
    static const char *const group[] = {"all", "new-users", "new-items", "old-users", "old-items"};
    json_t *groups = json_object(), *record = json_array(), *result;
    for (size_t n = 0; n < COUNT(group); n++)
        json_object_set_new(groups, group[n],
                            json_pack("{si sf sf sf}", "users", USERS, "recall", ndcg / 2, "precision", ndcg / 10,
                                      "ndcg", ndcg + 0.01 * (double)seed));
    for (int epoch = 0; epoch < 50; epoch++)
        json_array_append_new(record, json_pack("{si sf so}", "epoch", epoch, "loss", 0.7, "ndcg@20",
                                                epoch % 2 ? json_null() : json_real(ndcg * epoch / 50)));
    result = json_pack("{ss s[{ss sf sf so}] si si sf sf sf ss si so}", "system", row->label, "evaluations", "name",
                       row->evaluation, "seconds", 0.5, "inference_seconds", 0.003, "groups", groups, "epochs", 50,
                       "best_epoch", 48, "valid", ndcg, "seconds", 12.5, "seconds_per_epoch", 0.25, "stopped",
                       "epochs", "parameters", 1234567, "record", record);
    assert_non_null(result);
    return result;
}

struct made {
    struct inmo_lab lab;
    struct inmo_reproduce_options options;
};

static void make_lab(struct made *made, const char *const *experiment, size_t count)
{
    struct inmo_error error = {0};
    struct inmo_lab *lab = &made->lab;
    *made = (struct made){0};
    inmo_reproduce_options_init(&made->options);
    lab->options = &made->options;
    lab->source = "a<b> & \"c\" | *d*.tsv";
    lab->data.log = grouped_log(40, 24, 8, 5);
    lab->users = USERS;
    lab->items = 24;
    lab->interactions = 320;
    lab->seeds = SEEDS;
    lab->seed[0] = 1;
    lab->seed[1] = 7;
    lab->row = inmo_alloc(4096, sizeof *lab->row);
    for (size_t n = 0; n < count; n++)
        for (size_t k = 0; inmo_lab_experiment_at(k); k++)
            if (strcmp(inmo_lab_experiment_at(k)->name, experiment[n]) == 0) {
                struct inmo_lab_row *row = NULL;
                size_t rows = 0;
                lab->experiment[lab->experiments++] = inmo_lab_experiment_at(k);
                must(inmo_lab_rows(inmo_lab_experiment_at(k), &row, &rows, &error));
                assert_true(lab->rows + rows <= 4096);
                memcpy(lab->row + lab->rows, row, rows * sizeof *row);
                lab->rows += rows;
                inmo_free(row);
            }
    assert_int_equal(lab->experiments, count);
    lab->runs = lab->rows * SEEDS;
    lab->run = inmo_alloc_zero(lab->runs, sizeof *lab->run);
    lab->run_of = inmo_alloc(lab->runs, sizeof *lab->run_of);
    for (size_t n = 0; n < lab->runs; n++) {
        struct inmo_lab_run *run = &lab->run[n];
        const struct inmo_lab_row *row = &lab->row[n / SEEDS];
        double ndcg = ndcg_of(row, n / SEEDS);
        lab->run_of[n] = n;
        run->system = row->system;
        run->recipe = row->system.paper_recipe ? "paper:gowalla" : "fast";
        must(inmo_train_options_init(&run->options, row->system.model, run->recipe, &error));
        run->seed = lab->seed[n % SEEDS];
        snprintf(run->name, sizeof run->name, "%016zx", n);
        run->users = USERS;
        run->ndcg[0] = inmo_alloc(USERS, sizeof(float));
        run->is_new = inmo_alloc(USERS, 1);
        for (int u = 0; u < USERS; u++) {
            run->ndcg[0][u] = (float)(ndcg + 0.001 * (u % 5));
            run->is_new[u] = u % 3 == 0;
        }
        run->result = result_of(row, ndcg, n % SEEDS);
    }
}

static void free_lab(struct made *made)
{
    for (size_t n = 0; n < made->lab.runs; n++)
        inmo_lab_run_free(&made->lab.run[n]);
    inmo_free(made->lab.run);
    inmo_free(made->lab.run_of);
    inmo_free(made->lab.row);
    inmo_lab_data_free(&made->lab.data);
    inmo_log_free((struct inmo_log *)made->lab.data.log);
}

static struct inmo_lab_run *run_of(struct made *made, const char *label, size_t seed)
{
    for (size_t r = 0; r < made->lab.rows; r++)
        if (strcmp(made->lab.row[r].label, label) == 0)
            return &made->lab.run[r * SEEDS + seed];
    fail_msg("no row %s", label);
    return NULL;
}

/* The system cannot do it: no numbers, and a reason. */
static void take_result(struct made *made, const char *label, const char *reason)
{
    for (size_t s = 0; s < SEEDS; s++) {
        struct inmo_lab_run *run = run_of(made, label, s);
        json_object_set_new(run->result, "evaluations", json_array());
        json_object_set_new(run->result, "error", json_string(reason));
    }
}

/* ---- Claims -------------------------------------------------------------------------------------------------- */

static const json_t *claim_of(const json_t *claims, const char *better, const char *worse)
{
    json_t *claim;
    size_t n;
    json_array_foreach((json_t *)claims, n, claim) {
        if (strcmp(json_string_value(json_object_get(claim, "better")), better) == 0 &&
            strcmp(json_string_value(json_object_get(claim, "worse")), worse) == 0)
            return claim;
    }
    return NULL;
}

static double number_in(const json_t *claim, const char *key)
{
    assert_non_null(claim);
    return json_number_value(json_object_get(claim, key));
}

static void test_claims(void **state)
{
    static const char *const table2[] = {"table2"};
    struct inmo_error error = {0};
    struct made made;
    json_t *claims = json_array();
    const json_t *claim;
    (void)state;
    make_lab(&made, table2, 1);
    take_result(&made, "INMO-LGCN*", "it cannot");
    must(inmo_lab_claims(&made.lab, claims, &error));
    claim = claim_of(claims, "INMO-LGCN", "LightGCN"); /* true: 20 more of 100 for everybody */
    assert_near(number_in(claim, "mean"), 20, 1e-5);
    assert_int_equal(number_in(claim, "users"), USERS);
    assert_true(number_in(claim, "p") < 0.001);
    claim = claim_of(claims, "INMO-MF", "MF"); /* false */
    assert_near(number_in(claim, "mean"), -20, 1e-5);
    assert_true(number_in(claim, "p") < 0.001 && number_in(claim, "high") < 0);
    claim = claim_of(claims, "INMO-MF*", "MF"); /* no difference */
    assert_near(number_in(claim, "mean"), 0, 1e-12);
    assert_near(number_in(claim, "p"), 1, 0);
    assert_null(claim_of(claims, "INMO-LGCN*", "LightGCN")); /* a result is missing */
    assert_null(claim_of(claims, "INMO-LGCN", "Popular"));   /* table 4 was not asked for */
    json_decref(claims);
    free_lab(&made);
}

/* Only those who are new count in a claim about new users. */
static void test_claims_of_new_users(void **state)
{
    static const char *const table4[] = {"table4"};
    struct inmo_error error = {0};
    struct made made;
    json_t *claims = json_array();
    (void)state;
    make_lab(&made, table4, 1);
    for (size_t s = 0; s < SEEDS; s++)
        for (int u = 0; u < USERS; u++) /* the others lose by far */
            run_of(&made, "INMO-LGCN", s)->ndcg[0][u] = u % 3 == 0 ? 0.9f : 0;
    must(inmo_lab_claims(&made.lab, claims, &error));
    assert_int_equal(number_in(claim_of(claims, "INMO-LGCN", "Popular"), "users"), USERS / 3);
    assert_true(number_in(claim_of(claims, "INMO-LGCN", "Popular"), "low") > 50);
    json_array_clear(claims);
    for (size_t s = 0; s < SEEDS; s++) { /* a run that does not say who is new decides nothing */
        inmo_free(run_of(&made, "Popular", s)->is_new);
        run_of(&made, "Popular", s)->is_new = NULL;
    }
    must(inmo_lab_claims(&made.lab, claims, &error));
    assert_null(claim_of(claims, "INMO-LGCN", "Popular"));
    json_decref(claims);
    free_lab(&made);
}

/* A user's difference is the mean over the seeds in which the user counts. */
static void test_seeds_of_a_user(void **state)
{
    static const char *const table2[] = {"table2"};
    struct inmo_error error = {0};
    struct made made;
    json_t *claims = json_array();
    (void)state;
    make_lab(&made, table2, 1);
    for (int u = 0; u < USERS; u++) {
        run_of(&made, "INMO-MF", 0)->ndcg[0][u] = u ? 0.5f : NAN;
        run_of(&made, "INMO-MF", 1)->ndcg[0][u] = u ? NAN : 0.7f;
        run_of(&made, "MF", 0)->ndcg[0][u] = run_of(&made, "MF", 1)->ndcg[0][u] = u < USERS - 1 ? 0.4f : NAN;
    }
    must(inmo_lab_claims(&made.lab, claims, &error));
    assert_int_equal(number_in(claim_of(claims, "INMO-MF", "MF"), "users"), USERS - 1);
    assert_near(number_in(claim_of(claims, "INMO-MF", "MF"), "mean"), (30 + 10 * (USERS - 2)) / (USERS - 1.0),
                1e-4);
    json_decref(claims);
    free_lab(&made);
}

/* Memory that is short is an error, not a claim that is missing. */
static void test_claims_without_memory(void **state)
{
    static const char *const table2[] = {"table2"};
    struct made made;
    enum inmo_status status = INMO_MEMORY;
    (void)state;
    make_lab(&made, table2, 1);
    for (long n = 0; status == INMO_MEMORY; n++) {
        struct inmo_error error = {0};
        json_t *claims = json_array();
        inmo_alloc_fail_after(n);
        status = inmo_lab_claims(&made.lab, claims, &error);
        inmo_alloc_fail_after(-1);
        assert_true(status == INMO_MEMORY || (status == INMO_OK && json_array_size(claims) > 4));
        json_decref(claims);
    }
    free_lab(&made);
}

/* ---- What the page is made of -------------------------------------------------------------------------------- */

static const char *const everything[] = {"table1", "table2", "table3",    "table4", "table5",
                                         "error",  "time",   "templates", "beta",   "annealing"};

static void find_everything(struct made *made, json_t **findings)
{
    struct inmo_error error = {0};
    make_lab(made, everything, COUNT(everything));
    made->lab.paper_data = "Gowalla";
    take_result(made, "NGCF", "<no> & \"never\" | *ever*");
    must(inmo_lab_findings(&made->lab, findings, &error));
}

static void test_findings(void **state)
{
    struct made made;
    json_t *findings = NULL, *table, *row;
    size_t n, bold = 0;
    (void)state;
    find_everything(&made, &findings);
    assert_int_equal(json_array_size(json_object_get(findings, "experiments")), COUNT(everything));
    table = json_array_get(json_object_get(findings, "experiments"), 1);
    json_array_foreach(json_object_get(table, "rows"), n, row) {
        const char *label = json_string_value(json_object_get(row, "label"));
        json_t *cell = json_array_get(json_object_get(row, "cells"), 2); /* NDCG@20 */
        bold += json_is_true(json_object_get(cell, "best"));
        if (strcmp(label, "INMO-LGCN") == 0) { /* seeds 0.50 and 0.51 */
            assert_near(number_in(cell, "mean"), 50.5, 1e-9);
            assert_near(number_in(cell, "deviation"), sqrt(0.5), 1e-9);
            assert_true(json_is_true(json_object_get(cell, "best")));
        }
        if (strcmp(label, "NGCF") == 0) {
            assert_true(json_is_null(json_object_get(cell, "mean")));
            assert_non_null(json_object_get(row, "reason"));
        }
    }
    assert_int_equal(bold, 1);
    json_decref(findings);
    free_lab(&made);
}

static const json_t *experiment_in(const json_t *findings, const char *name)
{
    json_t *experiment;
    size_t n;
    json_array_foreach(json_object_get(findings, "experiments"), n, experiment)
        if (strcmp(json_string_value(json_object_get(experiment, "name")), name) == 0)
            return experiment;
    return NULL;
}

static const json_t *series_in(const json_t *experiment, size_t panel, const char *label)
{
    json_t *series, *panels = json_object_get(experiment, "panels");
    size_t n;
    json_array_foreach(json_object_get(json_array_get(panels, panel), "series"), n, series)
        if (strcmp(json_string_value(json_object_get(series, "label")), label) == 0)
            return series;
    return NULL;
}

static double value_at(const json_t *series, const char *list, size_t n)
{
    const json_t *value = json_array_get(json_object_get(series, list), n);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* The paper's numbers stand beside ours, models without templates are lines, and rows say how they were trained. */
static void test_figures(void **state)
{
    static const char *const kept[] = {"dim", "loss", "recipe", "epochs"};
    struct made made;
    json_t *findings = NULL, *row, *run;
    const json_t *templates, *beta, *series;
    size_t n, of_paper = 0;
    (void)state;
    find_everything(&made, &findings);
    templates = experiment_in(findings, "templates");
    assert_int_equal(json_array_size(json_object_get(templates, "panels")), 2);
    series = series_in(templates, 1, "INMO-LGCN, error-sort");
    assert_int_equal(json_array_size(json_object_get(series, "x")), 10);
    assert_near(value_at(series, "x", 1), 0.2, 1e-9);
    assert_near(value_at(series, "paper", 1), 14.47, 1e-9);
    series = series_in(templates, 1, "LightGCN"); /* from end to end */
    assert_int_equal(json_array_size(json_object_get(series, "x")), 2);
    assert_near(value_at(series, "x", 0), 0.1, 1e-9);
    assert_near(value_at(series, "x", 1), 1, 1e-9);
    assert_near(value_at(series, "y", 0), value_at(series, "y", 1), 1e-9);
    assert_near(value_at(series, "paper", 1), 14.04, 1e-9);
    assert_non_null(series_in(templates, 0, "MF"));
    assert_null(series_in(templates, 0, "LightGCN"));
    beta = experiment_in(findings, "beta");
    assert_near(value_at(series_in(beta, 0, "INMO-MF"), "paper", 2), 14.20, 1e-9);
    assert_int_equal(json_array_size(json_object_get(experiment_in(findings, "annealing"), "panels")), 2);
    assert_non_null(series_in(experiment_in(findings, "annealing"), 0, "INMO-MF, no annealing"));
    series = series_in(experiment_in(findings, "table2"), 0, "INMO-LGCN"); /* a table has its training curves */
    assert_int_equal(json_array_size(json_object_get(series, "x")), 25);
    assert_near(value_at(series, "x", 1), 3, 1e-9);
    assert_true(value_at(series, "y", 1) > 0);
    assert_int_equal(json_array_size(json_object_get(experiment_in(findings, "table3"), "panels")), 2);
    row = json_array_get(json_object_get(experiment_in(findings, "time"), "bars"), 1);
    assert_near(number_in(row, "paper"), 8007, 1e-9);
    json_array_foreach(json_object_get(experiment_in(findings, "table2"), "rows"), n, row)
        for (size_t k = 0; k < COUNT(kept); k++)
            assert_non_null(json_object_get(json_object_get(row, "trained"), kept[k]) ||
                                    (k == 1 && strstr("EASE iALS GF-CF ItemKNN Popular",
                                                      json_string_value(json_object_get(row, "label"))))
                                ? row
                                : NULL);
    json_array_foreach(json_object_get(findings, "runs"), n, run) {
        const char *recipe = json_string_value(json_object_get(run, "recipe"));
        of_paper += strcmp(recipe, "paper:gowalla") == 0;
        assert_true(json_is_integer(json_object_get(run, "dim")));
    }
    assert_int_equal(of_paper, 2 * 5 * SEEDS); /* two models, five weights */
    json_decref(findings);
    free_lab(&made);
}

/* Claims about the paper's other systems, and about a point of a figure. */
static void test_claims_of_the_text(void **state)
{
    struct made made;
    json_t *claims = json_array();
    struct inmo_error error = {0};
    const json_t *claim;
    (void)state;
    make_lab(&made, everything, COUNT(everything));
    must(inmo_lab_claims(&made.lab, claims, &error));
    claim = claim_of(claims, "INMO-LGCN", "MF"); /* the best rival, 0.40 */
    assert_non_null(claim);
    assert_near(number_in(claim, "mean"), 10, 1e-4);
    assert_non_null(claim_of(claims, "INMO-LGCN-new", "LightGCN-new"));
    claim = claim_of(claims, "INMO-LGCN, error-sort", "LightGCN");
    assert_non_null(claim);
    assert_true(number_in(claim, "mean") < 0); /* 0.1 and a bit against 0.3 */
    json_array_clear(claims);
    take_result(&made, "IDCF-LGCN", "no"); /* without all of them nobody is the best */
    must(inmo_lab_claims(&made.lab, claims, &error));
    assert_null(claim_of(claims, "INMO-LGCN", "MF"));
    json_decref(claims);
    free_lab(&made);
}

/* The weight of the self-enhanced loss is varied under the paper's recipe, whatever the others have. */
static void test_paper_recipe_of_a_row(void **state)
{
    struct inmo_error error = {0};
    struct inmo_reproduce_options options;
    struct inmo_lab_data data = {.paper_recipe = "paper:yelp"};
    struct inmo_lab_run run = {.system = {"inmo-mf", 0, NULL, -1, -1, 0.1, 0, 1}, .seed = 1};
    (void)state;
    inmo_reproduce_options_init(&options);
    must(inmo_lab_run_plan(&run, &data, &options, &error));
    assert_string_equal(run.recipe, "paper:yelp");
    assert_string_equal(run.options.loss, "bpr");
    assert_true(run.options.dropout == 0.5 && run.options.self_weight == 0.1);
    inmo_lab_run_free(&run);
}

/* ---- A run while memory is short ----------------------------------------------------------------------------- */

static long json_left = -1; /* allocations of jansson until one fails; negative: none does */

static void *short_allocation(size_t size)
{
    return json_left-- == 0 ? NULL : malloc(size);
}

/* Whatever allocation of jansson fails, the run fails, or has the result it has otherwise. */
static void test_run_without_memory(void **state)
{
    struct inmo_reproduce_options options;
    struct inmo_lab_data data = {.log = grouped_log(40, 24, 8, 5)};
    json_t *expected = NULL;
    int done = 0;
    (void)state;
    inmo_reproduce_options_init(&options);
    for (long n = -1; !done; n++) { /* first without a failure */
        struct inmo_error error = {0};
        struct inmo_lab_run run = {.system = {"popular", 0, NULL, -1, -1, -1, 0, 0},
                                   .trained = INMO_NEW_USERS_ITEMS};
        enum inmo_status status;
        const json_t *found;
        const char *reason;
        run.seed = 1;
        must(inmo_lab_run_plan(&run, &data, &options, &error));
        json_left = n;
        status = inmo_lab_run_do(&run, &data, ".", NULL, &error);
        done = n >= 0 && json_left >= 0;
        json_left = -1;
        assert_true(status == INMO_OK || (status == INMO_MEMORY && n >= 0));
        if (status == INMO_OK) {
            inmo_lab_run_evaluation(&run, "test", &found, &reason);
            assert_non_null(found);
            if (!expected)
                expected = json_deep_copy(json_object_get(found, "groups"));
            assert_true(json_object_size(expected) > 3);
            assert_true(json_equal(json_object_get(found, "groups"), expected));
        }
        inmo_lab_run_free(&run);
    }
    json_decref(expected);
    inmo_lab_data_free(&data);
    inmo_log_free((struct inmo_log *)data.log);
}

static void identity_of(const char *model, double templates, enum inmo_scenario trained, const char *choice,
                        char identity[4096])
{
    struct inmo_error error = {0};
    struct inmo_reproduce_options options;
    struct inmo_lab_data data = {.hash = 1, .new_choice = choice};
    struct inmo_lab_run run = {.system = {model, templates, NULL, -1, -1, -1, 0, 0}, .trained = trained, .seed = 1};
    inmo_reproduce_options_init(&options);
    must(inmo_lab_run_plan(&run, &data, &options, &error));
    snprintf(identity, 4096, "%s", run.identity);
    inmo_lab_run_free(&run);
}

/* Who is new belongs to a run that is judged on them, and the default is not said: older runs are found. */
static void test_choice_in_identity(void **state)
{
    static const struct {
        const char *model;
        enum inmo_scenario trained;
        int counts;
    } runs[] = {{"popular", INMO_NEW_USERS_ITEMS, 1},
                {"inmo-mf", INMO_NEW_USERS_ITEMS, 1},
                {"inmo-mf", INMO_TRANSDUCTIVE, 1},
                {"mf", INMO_TRANSDUCTIVE, 0},
                {"inmo-mf", INMO_NEW_INTERACTIONS, 0}};
    char plain[4096], drawn[4096], last[4096];
    (void)state;
    for (size_t n = 0; n < COUNT(runs); n++) {
        identity_of(runs[n].model, 0, runs[n].trained, NULL, plain);
        identity_of(runs[n].model, 0, runs[n].trained, "random", drawn);
        identity_of(runs[n].model, 0, runs[n].trained, "last", last);
        assert_string_equal(drawn, plain);
        assert_null(strstr(drawn, "new-choice"));
        assert_int_equal(strcmp(last, drawn) != 0, runs[n].counts);
        assert_int_equal(strstr(last, "\"new-choice\": \"last\"") != NULL, runs[n].counts);
    }
}

/* Runs with a share of the templates from before these were counted among those in training are other runs. */
static void test_templates_in_identity(void **state)
{
    char all[4096], share[4096], whole[4096];
    (void)state;
    identity_of("inmo-mf", 0, INMO_TRANSDUCTIVE, NULL, all);
    identity_of("inmo-mf", 0.3, INMO_TRANSDUCTIVE, NULL, share);
    identity_of("inmo-mf", 1, INMO_TRANSDUCTIVE, NULL, whole);
    assert_null(strstr(all, "\"templates\": "));
    assert_non_null(strstr(share, "\"templates\": 2"));
    assert_string_equal(whole, all);
}

/* ---- For check_page.py --------------------------------------------------------------------------------------- */

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[4096];
    assert_non_null(text);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    write_bytes(path, text, strlen(text));
}

static int write_report(const char *folder)
{
    struct made made;
    json_t *findings = NULL;
    char *json, *html, *markdown;
    find_everything(&made, &findings);
    json = json_dumps(findings, JSON_REAL_PRECISION(17));
    html = inmo_lab_html(findings);
    markdown = inmo_lab_markdown(findings);
    write_text(folder, "report.json", json);
    write_text(folder, "report.html", html);
    write_text(folder, "report.md", markdown);
    inmo_free(markdown);
    inmo_free(html);
    free(json);
    json_decref(findings);
    free_lab(&made);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_claims_of_new_users),
        cmocka_unit_test(test_seeds_of_a_user),
        cmocka_unit_test(test_claims_without_memory),
        cmocka_unit_test(test_findings),
        cmocka_unit_test(test_choice_in_identity),
        cmocka_unit_test(test_templates_in_identity),
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_claims_of_the_text),
        cmocka_unit_test(test_paper_recipe_of_a_row),
        cmocka_unit_test_setup_teardown(test_run_without_memory, enter_directory, leave_directory),
    };
    json_set_alloc_funcs(short_allocation, free);
    if (argc == 3 && strcmp(argv[1], "--write") == 0)
        return write_report(argv[2]);
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
