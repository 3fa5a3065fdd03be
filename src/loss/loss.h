/* loss.h - the seam between a training step and the loss it minimises.
 *
 *     draw:   step number          -> the nodes its batch names (users, positives, negatives, ...)
 *     judge:  r by rows of the batch -> loss and dr by the same rows
 *
 * A step knows nothing of the loss but this structure. A loss is one file that defines one such structure, and its
 * line in the table of loss.c, from which --loss takes its choices and its help.
 *
 * Scores are dot products of rows of r, unless the model has a head (model/head.h), which scores pairs by itself. A
 * loss that can judge any scores of pairs has judge_pairs and fits models with a head; one that has nothing but
 * judge_pairs goes by pairs in every model, with the dot product as the head. */
#ifndef INMO_LOSS_LOSS_H
#define INMO_LOSS_LOSS_H

#include "base/csr.h"
#include "graph/graph.h"
#include "loss/batch.h"
#include "loss/triples.h"

/* Where L2 falls. */
enum inmo_l2_place {
    INMO_L2_BY_MODEL,    /* on e or on r, as provider and backbone say */
    INMO_L2_FUSED,       /* the same, but on r wherever r is e: judge adds it on its way, which spares a pass */
    INMO_L2_ALWAYS_ON_R, /* on r in every model */
};

struct inmo_loss_setup {
    const struct inmo_train_options *options;
    const struct inmo_graph *graph; /* in training's numbers */
    const struct inmo_csr *train;   /* (users, items) the same interactions in the data set's numbers */
    int width;                      /* columns of r */
    int adds_l2;                    /* L2 falls on r, and judge adds it */
};

struct inmo_loss_state;
struct inmo_loss {
    const char *name, *help; /* as --loss has it, and a few words */
    int batch_is_users; /* --batch counts users, and create fits it to the log; 0: positives, fitted beforehand */
    int names_all;      /* a batch is all nodes in order, so that r and dr have a row for every node; such batches
                                are not made ahead */
    /* the mean is over all pairs and not over positives: an item's place counts that much less */
    int mean_over_pairs;
    enum inmo_l2_place l2;

    /* Places of a batch: how many nodes it names, repeats included. The first --batch of them are users. */
    int32_t (*places)(const struct inmo_train_options *options, const struct inmo_graph *graph);
    /* Negatives of each positive, where judge_pairs is used; NULL without judge_pairs. */
    int32_t (*negatives)(const struct inmo_train_options *options);

    /* Everything a step needs is allocated here. */
    enum inmo_status (*create)(const struct inmo_loss_setup *setup, struct inmo_loss_state **state,
                               struct inmo_error *error);
    void (*destroy)(struct inmo_loss_state *state);
    int64_t (*steps_per_epoch)(const struct inmo_loss_state *state);
    /* The batch of a step, a function of (seed, step). Called from several threads at once for different steps,
     * unless names_all. */
    void (*draw)(struct inmo_loss_state *state, int64_t step, struct inmo_grouping *grouping);
    /* Loss of the batch drawn last into this grouping; r, dr: (rows of the grouping, width); dr is written
     * whole. */
    double (*judge)(struct inmo_loss_state *state, const struct inmo_grouping *grouping, const float *r, float *dr);
    /* See struct inmo_pairs (model/head.h); the context is the state. L2 is the step's. */
    double (*judge_pairs)(const void *state, int32_t first, int32_t positives, const float *score, float *ds);
    /* What each row counts in the mean over the batch, times factor, for losses that a provider adds. */
    void (*weigh)(const struct inmo_loss_state *state, const struct inmo_grouping *grouping, double factor,
                  float *weight);
    /* The same loss as triples of rows of x, l2 included, for a step that goes on with a row while it is in the
     * cache (train/pairwise.h); NULL: it does not consist of triples. */
    struct inmo_triples (*triples)(const struct inmo_loss_state *state, const struct inmo_grouping *grouping,
                                   const float *x);
};

extern const struct inmo_loss inmo_loss_bpr, inmo_loss_softmax, inmo_loss_listwise, inmo_loss_bce,
    inmo_loss_directau;

const struct inmo_loss *inmo_loss_find(const char *name);
/* Of the table: all names, "a|b|c"; the help of --loss; those that fit a model with a head, "a or b". */
const char *inmo_loss_names(void);
const char *inmo_loss_help(void);
const char *inmo_loss_names_for_heads(void);

/* What several losses share. */

/* Steps in which every interaction is a positive once, in number. */
int64_t inmo_loss_steps(const struct inmo_graph *graph, int32_t batch);
/* Ends draw: of the places, the first `users` hold numbers of users and the others of items, as the data set has
 * them. Makes nodes of them and groups them. */
void inmo_loss_name_nodes(const struct inmo_graph *graph, int32_t users, int32_t places,
                          struct inmo_grouping *grouping);
/* Ends judge, where gradient (places, dim) is that of each place: dr[n] is the sum over the places of row n. */
void inmo_loss_sum_places(const struct inmo_grouping *grouping, int dim, const float *gradient, float *dr);
/* weigh, where only the first `counted` places count, each of_user or of_item. */
void inmo_loss_weigh_places(const struct inmo_grouping *grouping, int32_t users, int32_t counted, double of_user,
                            double of_item, float *weight);

#endif
