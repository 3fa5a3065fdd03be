/* claims.c - see lab.h. A user's NDCG@20 is averaged over the seeds before the test: one user on several splits is
 * not several users. */
#include "base/memory.h"
#include "lab/lab.h"
#include "lab/paper.h"
#include "lab/significance.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *claim, *experiment, *better, *worse; /* rows; worse NULL: the best of the paper's other systems */
    int of_new_users;
    double x; /* of the row `better`, in a figure */
} claims[] = {
    {"INMO-LGCN beats LightGCN", "table2", "INMO-LGCN", "LightGCN", 0, 0},
    {"INMO-MF beats MF", "table2", "INMO-MF", "MF", 0, 0},
    {"INMO-LGCN with 30 % of the parameters keeps LightGCN's quality", "table2", "INMO-LGCN*", "LightGCN", 0, 0},
    {"INMO-MF with 30 % of the parameters keeps MF's quality", "table2", "INMO-MF*", "MF", 0, 0},
    {"INMO-LGCN with 20 % of the templates beats LightGCN", "templates", "INMO-LGCN, error-sort", "LightGCN", 0,
     0.2},
    {"INMO-LGCN is best of all the paper's systems", "table2", "INMO-LGCN", NULL, 0, 0},
    {"INMO-LGCN is best of all the paper's systems with new users and items", "table4", "INMO-LGCN", NULL, 0, 0},
    {"With new interactions INMO-LGCN beats LightGCN", "table3", "INMO-LGCN-new", "LightGCN-new", 0, 0},
    {"New interactions are used without retraining", "table3", "INMO-LGCN-new", "INMO-LGCN", 0, 0},
    {"New users are served without retraining: better than by popularity", "table4", "INMO-LGCN", "Popular", 1, 0},
    {"New users are served without retraining: better than by averaged vectors", "table4", "INMO-LGCN", "IMC-LGCN",
     1, 0},
    {"Short walks beside the vectors help", "table2", "INMO-LGCN with walks", "INMO-LGCN", 0, 0},
    {"Short walks beside the vectors help new users", "table4", "INMO-LGCN with walks", "INMO-LGCN", 1, 0},
    {"Retraining would still help new users", "table4", "INMO-LGCN-retrain", "INMO-LGCN", 1, 0},
};

static const size_t NONE = (size_t)-1;

static size_t find_row(const struct inmo_lab *lab, const char *experiment, const char *label, double x)
{
    for (size_t n = 0; n < lab->rows; n++)
        if (strcmp(lab->row[n].experiment->name, experiment) == 0 && strcmp(lab->row[n].label, label) == 0 &&
            lab->row[n].x == x)
            return n;
    return NONE;
}

/* The best by NDCG@20 among the paper's systems in its table but one; NONE unless all of them have results. */
static size_t find_best_rival(const struct inmo_lab *lab, const char *experiment, const char *of)
{
    size_t best = NONE;
    double highest = -INFINITY;
    const char *label;
    for (size_t n = 0; (label = inmo_paper_system(experiment, n)); n++) {
        size_t row = find_row(lab, experiment, label, 0);
        double sum = 0;
        if (strcmp(label, of) == 0)
            continue;
        for (size_t s = 0; s < lab->seeds; s++)
            sum += row == NONE ? NAN
                               : inmo_lab_run_value(&lab->run[lab->run_of[row * lab->seeds + s]],
                                                    lab->row[row].evaluation, "all", "ndcg");
        if (!isfinite(sum))
            return NONE;
        if (sum > highest) {
            highest = sum;
            best = row;
        }
    }
    return best;
}

/* NDCG of each user in the evaluation of a row, or NULL. */
static const float *of_users(const struct inmo_lab *lab, size_t row, size_t seed, const struct inmo_lab_run **run)
{
    const json_t *found;
    const char *reason;
    int number;
    *run = &lab->run[lab->run_of[row * lab->seeds + seed]];
    number = inmo_lab_run_evaluation(*run, lab->row[row].evaluation, &found, &reason);
    return found && number >= 0 ? (*run)->ndcg[number] : NULL;
}

/* difference (users): mean over the seeds in which the user counts, so many of them in seeds (users); NAN where
 * there is none. 0: a system has no result. */
static int differences(const struct inmo_lab *lab, size_t better, size_t worse, int of_new_users,
                       double *difference, int *seeds)
{
    int complete = 1;
    memset(difference, 0, (size_t)lab->users * sizeof *difference);
    memset(seeds, 0, (size_t)lab->users * sizeof *seeds);
    for (size_t s = 0; s < lab->seeds && complete; s++) {
        const struct inmo_lab_run *a, *b;
        const float *x = of_users(lab, better, s, &a), *y = of_users(lab, worse, s, &b);
        complete = x && y && a->users == lab->users && b->users == lab->users && (!of_new_users || b->is_new);
        for (int64_t u = 0; u < lab->users && complete; u++)
            if (isfinite(x[u]) && isfinite(y[u]) && (!of_new_users || b->is_new[u])) {
                difference[u] += (double)x[u] - (double)y[u];
                seeds[u]++;
            }
    }
    for (int64_t u = 0; u < lab->users && complete; u++)
        difference[u] = seeds[u] > 0 ? difference[u] / seeds[u] : NAN;
    return complete;
}

enum inmo_status inmo_lab_claims(const struct inmo_lab *lab, json_t *list, struct inmo_error *error)
{
    double *difference = inmo_alloc((size_t)lab->users, sizeof *difference);
    int *seeds = inmo_alloc((size_t)lab->users, sizeof *seeds);
    enum inmo_status status = difference && seeds ? INMO_OK : inmo_fail_memory(error, "the tests");
    for (size_t n = 0; n < sizeof claims / sizeof *claims && !status; n++) {
        size_t better = find_row(lab, claims[n].experiment, claims[n].better, claims[n].x);
        size_t worse = claims[n].worse ? find_row(lab, claims[n].experiment, claims[n].worse, 0)
                                       : find_best_rival(lab, claims[n].experiment, claims[n].better);
        struct inmo_paired_test test;
        if (better == NONE || worse == NONE ||
            !differences(lab, better, worse, claims[n].of_new_users, difference, seeds))
            continue;
        status = inmo_paired_test(difference, lab->users, &test, error);
        if (!status)
            json_array_append_new(list, json_pack("{ss ss ss ss sI sf sf sf sf}", "claim", claims[n].claim,
                                                  "experiment", claims[n].experiment, "better", claims[n].better,
                                                  "worse", lab->row[worse].label, "users", (json_int_t)test.users,
                                                  "mean", 100 * test.mean, "low", 100 * test.low, "high",
                                                  100 * test.high, "p", test.p));
    }
    inmo_free(seeds);
    inmo_free(difference);
    return status;
}
