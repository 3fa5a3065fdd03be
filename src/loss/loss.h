/* loss.h - the interface between a training step and the loss it minimises.
 *
 *     draw:   step number            -> the nodes of its batch (users, positives, negatives, ...)
 *     judge:  r by rows of the batch -> loss, and dr by the same rows
 *
 * A step knows nothing else about the loss. A loss is one file that defines this structure, and one line in the
 * table of loss.c, which gives --loss its choices and its help.
 *
 * Scores are dot products of rows of r, unless the model has a head (model/head.h), which scores pairs. A loss
 * with judge_pairs works on the scores of pairs, whatever computes them, so it fits models with a head. A loss
 * with judge_pairs alone works on pairs in every model, with the dot product as the head. */
#ifndef INMO_LOSS_LOSS_H
#define INMO_LOSS_LOSS_H

#include "base/csr.h"
#include "graph/graph.h"
#include "loss/batch.h"
#include "loss/triples.h"

/* What L2 applies to. */
enum inmo_l2_place {
    INMO_L2_BY_MODEL,    /* e or r, as provider and backbone choose */
    INMO_L2_FUSED,       /* the same, but r where r is e: judge adds it in passing, which saves a pass */
    INMO_L2_ALWAYS_ON_R, /* r in every model */
};

struct inmo_loss_setup {
    const struct inmo_train_options *options;
    const struct inmo_graph *graph; /* in training's numbers */
    const struct inmo_csr *train;   /* (users, items) the same interactions, in the data set's numbers */
    int width;                      /* columns of r */
    int adds_l2;                    /* 1: L2 applies to r, and judge adds it */
    int all_users;                  /* 1: a batch that names items names all users, too */
    const struct inmo_graph
        *local; /* a rank's part of the graph (graph/share.h), whose nodes r has; NULL: not cut */
};

struct inmo_loss_state;
struct inmo_loss {
    const char *name, *help; /* the name for --loss, and a short description */
    /* 1: --batch counts users, and create adapts it to the log; 0: positives, adapted beforehand */
    int batch_is_users;
    /* 1: a batch is some of the users and all items, or all nodes where the setup wants it, in the order of the
     * graph; on several ranks, those of a rank's part. Such batches are not made ahead. */
    int names_items;
    /* 1: the mean is over all pairs, not over positives, so the place of an item has that much less weight */
    int mean_over_pairs;
    enum inmo_l2_place l2;

    /* The number of places in a batch: nodes it names, counting repeats. The first --batch of them are users. */
    int32_t (*places)(const struct inmo_train_options *options, const struct inmo_graph *graph);
    /* Negatives of each positive, for judge_pairs; NULL without judge_pairs. */
    int32_t (*negatives)(const struct inmo_train_options *options);

    /* Allocates everything a step needs. */
    enum inmo_status (*create)(const struct inmo_loss_setup *setup, struct inmo_loss_state **state,
                               struct inmo_error *error);
    void (*destroy)(struct inmo_loss_state *state);
    int64_t (*steps_per_epoch)(const struct inmo_loss_state *state);
    /* Draws the batch of a step, a function of (seed, step). Called from several threads at once for different
     * steps, unless names_items. */
    void (*draw)(struct inmo_loss_state *state, int64_t step, struct inmo_grouping *grouping);
    /* The loss of the batch last drawn into this grouping. r, dr: (rows of the grouping, width). Sets all of dr. */
    double (*judge)(struct inmo_loss_state *state, const struct inmo_grouping *grouping, const float *r, float *dr);
    /* See struct inmo_pairs (model/head.h); the context is the state. The step adds L2. */
    double (*judge_pairs)(const void *state, int32_t first, int32_t positives, const float *score, float *ds);
    /* The weight of each row in the mean over the batch, times factor; for losses that a provider adds. */
    void (*weigh)(const struct inmo_loss_state *state, const struct inmo_grouping *grouping, double factor,
                  float *weight);
    /* The same loss as triples of rows of x, including l2, for a step that updates a row while it is in the cache
     * (train/pairwise.h). NULL: the loss does not consist of triples. */
    struct inmo_triples (*triples)(const struct inmo_loss_state *state, const struct inmo_grouping *grouping,
                                   const float *x);
};

extern const struct inmo_loss inmo_loss_bpr, inmo_loss_softmax, inmo_loss_listwise, inmo_loss_bce,
    inmo_loss_directau;

const struct inmo_loss *inmo_loss_find(const char *name);
/* From the table: all names, "a|b|c"; the help of --loss; the losses that fit a model with a head, "a or b". */
const char *inmo_loss_names(void);
const char *inmo_loss_help(void);
const char *inmo_loss_names_for_heads(void);

/* Shared by several losses: */

/* Steps of an epoch: together they have as many positives as there are interactions. */
int64_t inmo_loss_steps(const struct inmo_graph *graph, int32_t batch);
/* Ends draw. The first `users` places hold users and the others items, both in the data set's numbers; turns them
 * into nodes and groups them. */
void inmo_loss_name_nodes(const struct inmo_graph *graph, int32_t users, int32_t places,
                          struct inmo_grouping *grouping);
/* Ends judge: dr[n] is the sum of gradient (places, dim) over the places of row n. */
void inmo_loss_sum_places(const struct inmo_grouping *grouping, int dim, const float *gradient, float *dr);
/* Implements weigh: the first `counted` places have weight of_user or of_item each, the others none. */
void inmo_loss_weigh_places(const struct inmo_grouping *grouping, int32_t users, int32_t counted, double of_user,
                            double of_item, float *weight);

#endif
