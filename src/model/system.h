/* system.h - the interface of standalone models ("systems"), which do not consist of provider and backbone
 * (seam.h).
 *
 * A system is a few named tensors and a function that scores all items for a few histories at a time:
 *
 *     closed form   fit:   graph, options -> tensors
 *     by steps      learn: one block of parameters that holds all tensors, one after the other. The common trainer
 *                   owns it and handles epochs, validation, early stopping and checkpoints
 *     on a graph    open:  tensors, graph -> a state; score: histories -> scores. Systems whose score is a dot
 *                   product give the vectors of all nodes instead, and fold in unseen users
 *
 * Ranking, validation, recommendation, explanation and files use nothing else. A new system is one file that
 * defines this structure, and one row in table.c. */
#ifndef INMO_MODEL_SYSTEM_H
#define INMO_MODEL_SYSTEM_H

#include "base/tensorfile.h"
#include "graph/graph.h"
#include "kernel/kernel.h"
#include "model/recipe.h"

struct inmo_model;
struct inmo_model_binding;

/* The history of one person: items node[n] - first of the graph, ascending. */
struct inmo_history {
    int32_t user; /* in the graph, or -1 */
    int32_t count, first;
    const int32_t *node;  // (count)
    const float *r;       // the representation, for models with a head; NULL for systems
    const float *weight;  // (count) NULL: 1
};
static inline int32_t inmo_history_item(const struct inmo_history *history, int32_t n)
{
    return history->node[n] - history->first;
}

/* A tensor in the model file: its name, type, and whether it is a matrix. */
struct inmo_tensor_rule {
    const char *name;
    enum inmo_dtype dtype;
    int matrix;
};
enum { INMO_SYSTEM_TENSORS = 16 };

struct inmo_learning_state;
struct inmo_learning {
    int adam; /* 1: the block has Adam's moments; 0: they are NULL */
    /* Sets the rows and columns of each tensor, in the order of the rules. All are F32. */
    void (*shape)(const struct inmo_graph *graph, const struct inmo_train_options *options,
                  struct inmo_tensor *tensor);
    /* Sets the starting parameters and allocates everything a step needs. graph is the model's. */
    enum inmo_status (*create)(const struct inmo_graph *graph, const struct inmo_train_options *options,
                               float *parameter, struct inmo_learning_state **learner, struct inmo_error *error);
    void (*destroy)(struct inmo_learning_state *learner);
    int64_t (*steps_per_epoch)(const struct inmo_learning_state *learner);
    /* Takes step 0, 1, ... of the run, which changes the block. Returns the loss; if it is not finite, the run
     * ends. */
    double (*step)(struct inmo_learning_state *learner, const struct inmo_block *block, int64_t step,
                   double learning_rate);
    /* A warm start: replaces the starting parameters by those of an earlier model of the same dim. item (items):
     * its number of each item, or -1. NULL: there is none. */
    void (*take)(const struct inmo_model *earlier, const int32_t *item, int32_t items, float *parameter);
};

struct inmo_system_state;
struct inmo_system {
    int personal;  /* 0: all users get the same scores */
    int new_users; /* 1: serves any user with a history */
    int new_items; /* 1: recommends items that were not in the training data */
    int weights;   /* 1: it heeds the weights of interactions */
    /* 1: the score is a sum over the history, so it can be split, and one item alone finds similar items */
    int additive;
    int users; /* best number of users to score at once */
    const struct inmo_tensor_rule *tensor;
    size_t tensors;
    /* Changes the default options, after those of the recipe; NULL: no changes. */
    void (*defaults)(struct inmo_train_options *options, enum inmo_recipe recipe);

    /* One of fit and learn is set, or neither if there is nothing to learn. fit adds its tensors to the model
     * (inmo_model_add_tensor); graph is the model's training graph. */
    enum inmo_status (*fit)(struct inmo_model *model, const struct inmo_graph *graph,
                            const struct inmo_train_options *options, const struct inmo_hooks *hooks,
                            struct inmo_error *error);
    const struct inmo_learning *learning;

    /* Returns what is wrong with the tensors of a file, or NULL. Names and types have been checked. NULL: no
     * tensors. */
    const char *(*check)(const struct inmo_model *model);
    enum inmo_status (*open)(const struct inmo_model *model, const struct inmo_model_binding *bound,
                             struct inmo_system_state **state, struct inmo_error *error);
    void (*close)(struct inmo_system_state *state);
    /* Fills score (count, items of the graph). Called from several threads, each with its own scratch, zeroed
     * before the first call. Items that are not on offer may get any score. */
    void (*score)(const struct inmo_system_state *state, const struct inmo_history *who, int32_t count,
                  void *scratch, float *score);
    size_t (*scratch_bytes)(const struct inmo_system_state *state); /* NULL: none */
    /* The score of an item outside the graph, from its users in the graph (users outside it are skipped). NULL:
     * such items are not scored until the graph has them. */
    float (*score_unseen)(const struct inmo_system_state *state, const struct inmo_history *who,
                          const int32_t *user, int32_t count);

    /* Used instead of score if the score is the dot product of two vectors of the model's dim. */
    enum inmo_status (*vectors)(struct inmo_system_state *state, float *r /* (nodes, dim) */,
                                struct inmo_error *error);
    /* The vector of a history as a sum: term (count, dim) has one row for each of its items. */
    enum inmo_status (*fold)(const struct inmo_system_state *state, const struct inmo_history *who, float *term,
                             struct inmo_error *error);
};

extern const struct inmo_system inmo_system_popular, inmo_system_knn, inmo_system_ease, inmo_system_ials,
    inmo_system_gfcf, inmo_system_mult_vae;

#endif
