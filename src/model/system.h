/* system.h - the second seam: models of their own shape, beside provider x backbone (seam.h).
 *
 * A system is a few named tensors and a function that scores all items for a few histories at a time:
 *
 *     closed form   fit:   graph, options -> tensors
 *     by steps      learn: one block of parameters, in which the tensors stand one after the other; the trainer
 *                   that all models share owns it, and does epochs, validation, early stopping and checkpoints
 *     on a graph    open:  tensors, graph -> a state; score: histories -> scores. Or, where a score is a dot
 *                   product after all, vectors of all nodes, and of somebody unseen by folding in
 *
 * Ranking, validation, recommendation, explanation and files see nothing else. A new system is one file with one
 * of these structures, and its row in table.c. */
#ifndef INMO_MODEL_SYSTEM_H
#define INMO_MODEL_SYSTEM_H

#include "base/tensorfile.h"
#include "graph/graph.h"
#include "kernel/kernel.h"

struct inmo_model;
struct inmo_model_binding;

/* What somebody has taken: items node[n] - first of the graph, ascending. */
struct inmo_history {
    int32_t user; /* in the graph, or -1 */
    int32_t count, first;
    const int32_t *node;  // (count)
    const float *r;       // what a model with a head scores by; NULL for systems
};
static inline int32_t inmo_history_item(const struct inmo_history *history, int32_t n)
{
    return history->node[n] - history->first;
}

/* A tensor of the model file: its name, type, and whether it is a matrix. */
struct inmo_tensor_rule {
    const char *name;
    enum inmo_dtype dtype;
    int matrix;
};
enum { INMO_SYSTEM_TENSORS = 16 };

struct inmo_learning_state;
struct inmo_learning {
    int adam; /* 1: the block has moments; 0: they are NULL */
    /* Rows and columns of each tensor, in the order of the rules. All are F32. */
    void (*shape)(const struct inmo_graph *graph, const struct inmo_train_options *options,
                  struct inmo_tensor *tensor);
    /* Fills the starting parameters; everything a step needs is allocated here. The graph is that of the model. */
    enum inmo_status (*create)(const struct inmo_graph *graph, const struct inmo_train_options *options,
                               float *parameter, struct inmo_learning_state **learner, struct inmo_error *error);
    void (*destroy)(struct inmo_learning_state *learner);
    int64_t (*steps_per_epoch)(const struct inmo_learning_state *learner);
    /* Step 0, 1, ... of the run, which changes the block. Returns the loss; one that is not finite ends the run. */
    double (*step)(struct inmo_learning_state *learner, const struct inmo_block *block, int64_t step,
                   double learning_rate);
};

struct inmo_system_state;
struct inmo_system {
    int personal;  /* 0: everybody gets the same scores */
    int new_users; /* serves anybody with a history */
    int new_items; /* offers items that were not there in training */
    int additive;  /* the score is a sum over the history: it can be taken apart, and item j alone finds its like */
    int users;     /* scored at once, at best */
    const struct inmo_tensor_rule *tensor;
    size_t tensors;
    /* Changes the options' defaults, for the recipes "fast" and "paper" alike; NULL: leaves them. */
    void (*defaults)(struct inmo_train_options *options);

    /* One of the two, or neither where there is nothing to learn. fit adds its tensors to the model
     * (inmo_model_add_tensor), whose training graph is given. */
    enum inmo_status (*fit)(struct inmo_model *model, const struct inmo_graph *graph,
                            const struct inmo_train_options *options, const struct inmo_hooks *hooks,
                            struct inmo_error *error);
    const struct inmo_learning *learning;

    /* What is wrong with the tensors of a file, or NULL. Their names and types are right already. NULL: no
     * tensors. */
    const char *(*check)(const struct inmo_model *model);
    enum inmo_status (*open)(const struct inmo_model *model, const struct inmo_model_binding *bound,
                             struct inmo_system_state **state, struct inmo_error *error);
    void (*close)(struct inmo_system_state *state);
    /* score (count, items of the graph). Called from several threads; scratch is the caller's own, zero at
     * first. An item that is not on offer may get any number. */
    void (*score)(const struct inmo_system_state *state, const struct inmo_history *who, int32_t count,
                  void *scratch, float *score);
    size_t (*scratch_bytes)(const struct inmo_system_state *state); /* NULL: none */
    /* The score of an item that is not in the graph, from its users there (numbers beyond the graph's are passed
     * over). NULL: it waits until the graph has it. */
    float (*score_unseen)(const struct inmo_system_state *state, const struct inmo_history *who,
                          const int32_t *user, int32_t count);

    /* Instead of score, where the score is the dot product of two vectors of length dim of the model. */
    enum inmo_status (*vectors)(struct inmo_system_state *state, float *r /* (nodes, dim) */,
                                struct inmo_error *error);
    /* The vector of a history as a sum: term (count, dim), one row for each of its items. */
    enum inmo_status (*fold)(const struct inmo_system_state *state, const struct inmo_history *who, float *term,
                             struct inmo_error *error);
};

extern const struct inmo_system inmo_system_popular, inmo_system_knn, inmo_system_ease, inmo_system_ials,
    inmo_system_gfcf, inmo_system_mult_vae;

#endif
