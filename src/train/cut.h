/* cut.h - a stepper on several ranks (graph/share.h): each has the rows of parameters of its own nodes, and
 * copies of its neighbours'. Rows are in the order of the rank's nodes, so own ones are in two stretches, users
 * and items; extra rows are on every rank, with the same values. */
#ifndef INMO_TRAIN_CUT_H
#define INMO_TRAIN_CUT_H

#include "graph/share.h"
#include "graph/svd.h"
#include "model/start.h"
#include "train/step.h"

struct inmo_cut {
    struct inmo_graph *graph;            // the rank's own; stepper->graph
    struct inmo_binding whole;           // of all nodes
    int32_t *row_of_node, *node_of_row;  // of the rank's; NULL for lookup
    int32_t *sides;             // (2, ranks + 1) first row of each block of users and of items, of all nodes
    int32_t first[2], count[2]; /* the own rows among the rank's: users, items */
    struct inmo_svd *svd;       // of the rank's nodes, until the start; NULL: a random start
    /* For batches that do not name all nodes: */
    int32_t *mine, *near;  // (places) the rank's own nodes among them, and those that it has at all
    struct inmo_rows mine_rows, near_rows;
    int32_t *index;        // (places) which of mine
    float *r, *scratch;    // (places, width) of all of the batch
    float *near_gradient;  // (places, width)
    float *item_scale;     // (items of all) scales of the readout; NULL: 1
};

/* Whether training is cut: there are several ranks. The reason why it cannot be is an error. */
enum inmo_status inmo_cut_check(const struct inmo_train_options *options, struct inmo_error *error);
/* Cuts stepper->graph and stepper->binding, which are of all nodes, and keeps the latter. Computes the spectral
 * start if there is one, as the whole graph is needed for it. */
enum inmo_status inmo_cut_make(struct inmo_stepper *stepper, const struct inmo_hooks *hooks,
                               struct inmo_error *error);
/* Allocates what steps need, once it is known how large a batch is. */
enum inmo_status inmo_cut_buffers(struct inmo_stepper *stepper, struct inmo_error *error);
void inmo_cut_free(struct inmo_cut *cut);
/* number (provider rows): the numbers of the rank's rows if all nodes had the data set's numbers. */
void inmo_cut_number_rows(const struct inmo_stepper *stepper, int64_t *number);

/* A step, as inmo_stepper_run without ranks. */
double inmo_cut_step(struct inmo_stepper *stepper, int64_t step, double alpha, double learning_rate);

/* Rows of all nodes and extra ones, from or to the ranks' rows. to: rank 0's, elsewhere NULL. */
void inmo_cut_collect(const struct inmo_stepper *stepper, const float *rows, float *to);
int64_t inmo_cut_rows(const struct inmo_stepper *stepper);

#endif
