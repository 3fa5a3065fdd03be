/* recipe.h - the settings a model starts from: those of the paper's authors, and the fast ones. A row of the table
 * of models (table.c) has both. */
#ifndef INMO_MODEL_RECIPE_H
#define INMO_MODEL_RECIPE_H

#include "base/status.h"

struct inmo_model_kind;

/* What the paper's authors settled on for Gowalla; init NULL: they have no such settings for the model. */
struct inmo_paper_recipe {
    double learning_rate, l2, dropout, graph_dropout, self_weight;
    const char *init;
};

/* A way to train fast, and what a search by validation found for this model (docs/results.md). */
struct inmo_fast_recipe {
    void (*take)(struct inmo_train_options *options, const struct inmo_model_kind *kind);
    double learning_rate, temperature, graph_dropout, l2;
    int dim;
    double walks;
};

/* All positives of a user at once against shared negatives, from a spectral start, with few passes over the
 * graph. */
void inmo_recipe_listwise(struct inmo_train_options *options, const struct inmo_model_kind *kind);
/* The same start, but pairs of a positive and a negative, in large batches. */
void inmo_recipe_pairwise(struct inmo_train_options *options, const struct inmo_model_kind *kind);
/* For heads, whose loss goes by pairs. */
void inmo_recipe_head(struct inmo_train_options *options, const struct inmo_model_kind *kind);
/* For standalone models that learn by Adam. */
void inmo_recipe_standalone(struct inmo_train_options *options, const struct inmo_model_kind *kind);

/* What recipes start from: every option neutral. */
void inmo_recipe_plain(struct inmo_train_options *options, const struct inmo_model_kind *kind);
/* Settings of a recipe, "fast" or "paper", over those. */
void inmo_recipe_take(struct inmo_train_options *options, const struct inmo_model_kind *kind, int fast);

#endif
