/* recipe.h - default settings of a model: those of the paper's authors, and the fast ones. A row of the table of
 * models (table.c) has both. */
#ifndef INMO_MODEL_RECIPE_H
#define INMO_MODEL_RECIPE_H

#include "base/status.h"

struct inmo_model_kind;

/* The fast recipe, or the paper's for one of its three data sets. */
enum inmo_recipe { INMO_RECIPE_FAST, INMO_RECIPE_GOWALLA, INMO_RECIPE_YELP, INMO_RECIPE_AMAZON_BOOK };

/* The authors' settings for one data set. init NULL: there are none; for Yelp and Amazon-Book: Gowalla's. */
struct inmo_paper_recipe {
    double learning_rate, l2, dropout, graph_dropout, self_weight;
    const char *init;
};

/* A fast way to train, and the values that a search by validation found for this model (docs/choices.md). */
struct inmo_fast_recipe {
    void (*take)(struct inmo_train_options *options, const struct inmo_model_kind *kind);
    double learning_rate, temperature, graph_dropout, l2;
    int dim;
    double walks, links;
    int layers; /* 0: as in the paper */
};

/* All positives of a user at once against shared negatives, with a spectral start and few passes over the graph. */
void inmo_recipe_listwise(struct inmo_train_options *options, const struct inmo_model_kind *kind);
/* The same start, but pairs of a positive and a negative, in large batches. */
void inmo_recipe_pairwise(struct inmo_train_options *options, const struct inmo_model_kind *kind);
/* For models with a head, whose loss works on pairs. */
void inmo_recipe_head(struct inmo_train_options *options, const struct inmo_model_kind *kind);
/* For standalone models trained with Adam. */
void inmo_recipe_standalone(struct inmo_train_options *options, const struct inmo_model_kind *kind);

/* Neutral values of all options, which recipes start from. */
void inmo_recipe_plain(struct inmo_train_options *options, const struct inmo_model_kind *kind);
/* Applies a recipe on top of them. */
void inmo_recipe_take(struct inmo_train_options *options, const struct inmo_model_kind *kind,
                      enum inmo_recipe recipe);
/* Finds "fast", "paper" (Gowalla's), "paper:gowalla", "paper:yelp" or "paper:amazon-book"; NULL is "fast". Returns
 * 0 for any other name. */
int inmo_recipe_find(const char *name, enum inmo_recipe *recipe);

#endif
