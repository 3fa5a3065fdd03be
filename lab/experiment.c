/* experiment.c - see experiment.h. A new experiment is a line in the first list and its rows in the second. New
 * models appear in the tables automatically. */
#include "lab/experiment.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

static const struct inmo_lab_column accuracy[] = {
    {"all", "recall", "Recall@20", 0},
    {"all", "precision", "Precision@20", 1},
    {"all", "ndcg", "NDCG@20", 2},
};
static const struct inmo_lab_column by_novelty[] = {
    {"new-users", "ndcg", "New users", 0},  {"new-items", "ndcg", "New items", 1},  {"all", "ndcg", "Over all", 2},
    {"old-users", "ndcg", "Old users", -1}, {"old-items", "ndcg", "Old items", -1},
};
enum { ACCURACY = sizeof accuracy / sizeof *accuracy, BY_NOVELTY = sizeof by_novelty / sizeof *by_novelty };

#define EPOCHS "epoch", "validation NDCG@20" /* the axes of training curves */
static const struct inmo_lab_experiment experiments[] = {
    {"table1", "The data", INMO_LAB_STATISTICS, NULL, NULL, NULL, 0, NULL},
    {"table2", "Transductive recommendation", INMO_LAB_TABLE, EPOCHS, accuracy, ACCURACY,
     "* has 30 % of the users and items as templates, and so 30 % of the parameters."},
    {"table3", "New interactions", INMO_LAB_TABLE, EPOCHS, accuracy, ACCURACY,
     "Trained without a fifth of each user's training items. -new: they are then observed, without retraining. "
     "-retrain: trained on all items."},
    {"table4", "New users and new items", INMO_LAB_TABLE, EPOCHS, by_novelty, BY_NOVELTY,
     "NDCG@20. A fifth of the users and items are absent from training; then everything is observed. New items: "
     "only new items are candidates and targets. -retrain: trained on everything."},
    {"table5", "Ablation of annealing and dropping", INMO_LAB_TABLE, EPOCHS, by_novelty, BY_NOVELTY,
     "NDCG@20 with new users and items. No annealing: the normalization exponent is 1 from the start. No dropping: "
     "no interaction is dropped from the sums in training."},
    {"error", "Error term against the share of non-templates", INMO_LAB_ERRORS, "share of non-templates",
     "share of the squared error term", NULL, 0,
     "The squared Frobenius norm of the error that dropping templates adds in Theorem 2, for users and items; "
     "first seed. As in the paper, error-sort is the theorem's indicator. The simplified rule, our default, is "
     "made for normalised interactions and ignores the singular vectors."},
    {"time", "Retraining or inference", INMO_LAB_BARS, NULL, "seconds", NULL, 0,
     "When new users and items arrive: the time to retrain, or the time a trained INMO model needs to build the "
     "graph and the representations of all users and items from the lists of interactions. Wall time on the "
     "machine of these runs."},
    {"templates", "NDCG against the share of templates", INMO_LAB_LINES,
     "share of users and items that are templates", "NDCG@20", NULL, 0, NULL},
    {"beta", "NDCG against the weight of the self-enhanced loss", INMO_LAB_LINES,
     "beta (0 is drawn at the left edge)", "NDCG@20", NULL, 0,
     "With the paper's recipe, whatever the other experiments have: this loss belongs to its training."},
    {"annealing", "Training with and without annealing", INMO_LAB_CURVES, EPOCHS, NULL, 0,
     "First seed. No annealing: the normalization exponent is 1 from the start. The paper's figure is of models "
     "that "
     "were trained without the new users and items."},
};

const struct inmo_lab_experiment *inmo_lab_experiment_at(size_t n)
{
    return n < sizeof experiments / sizeof *experiments ? experiments + n : NULL;
}

/* ---- Rows ---------------------------------------------------------------------------------------------------- */

/* EACH: a row for every model; EACH_INMO: for every model with the INMO module. */
#define EACH "*"
#define EACH_INMO "inmo*"

static const struct rule {
    const char *experiment, *model;
    const char *suffix; /* of the label */
    enum inmo_scenario trained;
    const char *evaluation;
    double templates, x;
    const char *rule;
    double annealing, dropout, self_weight;
    double walks;
    int paper_recipe;
} rules[] = {
#define PLAIN(experiment, model, suffix, trained, evaluation, templates)                                           \
    {                                                                                                              \
        experiment, model, suffix, trained, evaluation, templates, 0, NULL, -1, -1, -1, 0, 0                       \
    }
/* Not in the paper: our default. */
#define WALKS(experiment, suffix, trained)                                                                         \
    {                                                                                                              \
        experiment, "inmo-lightgcn", suffix " with walks", trained, "test", 0, 0, NULL, -1, -1, -1, 4, 0           \
    }
    PLAIN("table2", EACH, "", INMO_TRANSDUCTIVE, "test", 0),
    PLAIN("table2", EACH_INMO, "*", INMO_TRANSDUCTIVE, "test", 0.3),

    WALKS("table2", "", INMO_TRANSDUCTIVE),

    PLAIN("table3", "inmo-lightgcn", "-retrain", INMO_TRANSDUCTIVE, "test", 0),
    PLAIN("table3", EACH, "", INMO_NEW_INTERACTIONS, "without-new", 0),
    PLAIN("table3", EACH, "-new", INMO_NEW_INTERACTIONS, "test", 0),
    PLAIN("table3", EACH_INMO, "*-new", INMO_NEW_INTERACTIONS, "test", 0.3),
    WALKS("table3", "-new", INMO_NEW_INTERACTIONS),

    PLAIN("table4", "inmo-lightgcn", "-retrain", INMO_TRANSDUCTIVE, "new-users-items", 0),
    PLAIN("table4", EACH, "", INMO_NEW_USERS_ITEMS, "test", 0),
    PLAIN("table4", EACH_INMO, "*", INMO_NEW_USERS_ITEMS, "test", 0.3),
    WALKS("table4", "", INMO_NEW_USERS_ITEMS),

#define ABLATION(model)                                                                                            \
    PLAIN("table5", model, "", INMO_NEW_USERS_ITEMS, "test", 0),                                                   \
        {"table5", model, ", no annealing", INMO_NEW_USERS_ITEMS, "test", 0, 0, NULL, 0, -1, -1, 0, 0},            \
        {"table5", model, ", no dropping", INMO_NEW_USERS_ITEMS, "test", 0, 0, NULL, -1, 0, -1, 0, 0},             \
    {                                                                                                              \
        "table5", model, ", no annealing, no dropping", INMO_NEW_USERS_ITEMS, "test", 0, 0, NULL, 0, 0, -1, 0, 0   \
    }
    ABLATION("inmo-mf"),
    ABLATION("inmo-lightgcn"),

    PLAIN("time", "mf", ", retrained", INMO_TRANSDUCTIVE, "test", 0),
    PLAIN("time", "lightgcn", ", retrained", INMO_TRANSDUCTIVE, "test", 0),
    PLAIN("time", "inmo-mf", ", retrained", INMO_TRANSDUCTIVE, "test", 0),
    PLAIN("time", "inmo-lightgcn", ", retrained", INMO_TRANSDUCTIVE, "test", 0),
    PLAIN("time", "inmo-mf", ", inference", INMO_NEW_USERS_ITEMS, "test", 0),
    PLAIN("time", "inmo-lightgcn", ", inference", INMO_NEW_USERS_ITEMS, "test", 0),

#define SHARE(model, rule, share)                                                                                  \
    {                                                                                                              \
        "templates", model, ", " rule, INMO_TRANSDUCTIVE, "test", share, share, rule, -1, -1, -1, 0, 0             \
    }
#define SHARES(model, rule)                                                                                        \
    SHARE(model, rule, 0.1), SHARE(model, rule, 0.2), SHARE(model, rule, 0.3), SHARE(model, rule, 0.4),            \
        SHARE(model, rule, 0.5), SHARE(model, rule, 0.6), SHARE(model, rule, 0.7), SHARE(model, rule, 0.8),        \
        SHARE(model, rule, 0.9), SHARE(model, rule, 1)
    /* A model without templates is a line in the picture before it. */
    SHARES("inmo-mf", "error-sort"),
    SHARES("inmo-mf", "degree"),
    SHARES("inmo-mf", "page-rank"),
    PLAIN("templates", "mf", "", INMO_TRANSDUCTIVE, "test", 0),
    SHARES("inmo-lightgcn", "error-sort"),
    SHARES("inmo-lightgcn", "degree"),
    SHARES("inmo-lightgcn", "page-rank"),
    PLAIN("templates", "lightgcn", "", INMO_TRANSDUCTIVE, "test", 0),

#define BETA(model, beta)                                                                                          \
    {                                                                                                              \
        "beta", model, "", INMO_TRANSDUCTIVE, "test", 0, beta, NULL, -1, -1, beta, 0, 1                            \
    }
#define BETAS(model) BETA(model, 0), BETA(model, 0.001), BETA(model, 0.01), BETA(model, 0.1), BETA(model, 1)
    BETAS("inmo-mf"),
    BETAS("inmo-lightgcn"),

#define CURVES(model, trained)                                                                                     \
    PLAIN("annealing", model, "", trained, "test", 0),                                                             \
    {                                                                                                              \
        "annealing", model, ", no annealing", trained, "test", 0, 0, NULL, 0, -1, -1, 0, 0                         \
    }
    CURVES("inmo-mf", INMO_NEW_USERS_ITEMS),
    CURVES("inmo-lightgcn", INMO_NEW_USERS_ITEMS),
    CURVES("inmo-mf", INMO_TRANSDUCTIVE),
    CURVES("inmo-lightgcn", INMO_TRANSDUCTIVE),
};

const char *inmo_lab_model_label(const char *model)
{
    const struct inmo_model_kind *kind = inmo_model_kind_find(model);
    return kind ? kind->label : model;
}

static int is_for_all(const struct rule *rule)
{
    return strcmp(rule->model, EACH) == 0 || strcmp(rule->model, EACH_INMO) == 0;
}

static void make_row(const struct inmo_lab_experiment *experiment, const struct rule *rule, const char *model,
                     struct inmo_lab_row *row)
{
    *row = (struct inmo_lab_row){
        .experiment = experiment,
        .system = {model, rule->templates, rule->rule, rule->annealing, rule->dropout, rule->self_weight,
                   rule->walks, rule->paper_recipe},
        .trained = rule->trained,
        .evaluation = rule->evaluation,
        .x = rule->x,
    };
    snprintf(row->label, sizeof row->label, "%s%s", inmo_lab_model_label(model), rule->suffix);
}

enum inmo_status inmo_lab_rows(const struct inmo_lab_experiment *experiment, struct inmo_lab_row **row,
                               size_t *count, struct inmo_error *error)
{
    size_t kinds = 0, found = 0, most = sizeof rules / sizeof *rules;
    struct inmo_lab_row *made;
    while (inmo_model_kind_at(kinds))
        kinds++;
    made = inmo_alloc(most * kinds, sizeof *made);
    if (!made)
        return inmo_fail_memory(error, "the list of experiments");
    for (size_t n = 0; n < most; n++)
        if (strcmp(rules[n].experiment, experiment->name) == 0 && !is_for_all(&rules[n]) && rules[n].walks == 0)
            make_row(experiment, &rules[n], rules[n].model, &made[found++]);
    /* The list of models has the best one first; a table has it last. */
    for (size_t k = kinds; k-- > 0;) {
        const struct inmo_model_kind *kind = inmo_model_kind_at(k);
        for (size_t n = 0; n < most; n++)
            if (strcmp(rules[n].experiment, experiment->name) == 0 && is_for_all(&rules[n]) &&
                (strcmp(rules[n].model, EACH) == 0 || inmo_lab_has_module(kind)))
                make_row(experiment, &rules[n], kind->name, &made[found++]);
    }
    for (size_t n = 0; n < most; n++)
        if (strcmp(rules[n].experiment, experiment->name) == 0 && rules[n].walks > 0)
            make_row(experiment, &rules[n], rules[n].model, &made[found++]);
    *row = made;
    *count = found;
    return INMO_OK;
}
