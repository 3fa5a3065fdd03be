/* listwise.h - softmax loss over all positives of a batch of users: the expectation of the softmax loss that draws
 * one positive per user.
 *
 *     loss = 1/B Σ_u 1/d_u Σ_{i in N_u} ( log( e^{s_ui/T} + Σ_j e^{s_uj/T} ) - s_ui/T ),   j the shared negatives
 *          + λ/B Σ_u ( ‖r_u‖² + 1/d_u Σ_{i in N_u} ‖r_i‖² )
 *
 * With weights, 1/d_u is w_ui / Σ_j w_uj: the share of i among what the user chose.
 *
 * Drawing one positive per user would cost the same products with the negatives and the same passes over the
 * graph, but learn from one interaction instead of d_u. An epoch visits every user once, in users / batch steps,
 * each a pass over the whole graph. most_steps bounds their number (the batch grows with the users), so an epoch
 * is linear.
 *
 * Deterministic: users are in fixed blocks, blocks in a fixed number of groups with one sum each. Gradients of the
 * positives are gathered item by item; the weight of an interaction is recomputed, not stored. */
#ifndef INMO_LOSS_LISTWISE_H
#define INMO_LOSS_LISTWISE_H

#include "base/status.h"
#include "graph/graph.h"

#include <stdint.h>

struct inmo_listwise {
    const struct inmo_graph *graph;
    int dim;
    int32_t batch, negatives;
    double temperature, l2; /* l2: lambda */
    int32_t *who;           // (batch) users of the step
    int32_t count;          // of these
    int32_t *drawn;         // (negatives) items of the step
    int32_t *order;         // (users) permutation of the current epoch
    int64_t order_epoch;
    int32_t *eligible, eligible_count;  // users with an interaction, by their numbers in the data set
    double *rest;       // (users) log of the sum of the negatives' exponentials; set for users of the step
    uint8_t *in_batch;  // (users)
    int all_users;      /* 1: r has all users, 0: those of the step; in the order of the nodes, before all items */
    int32_t *row;       // (users of local, or of graph) the row of r of each user; negative: it has none
    int32_t user_rows;  /* how many users r has */
    float *negative;    // (negatives, dim)
    float *block;       // (GROUPS, block users, dim + negatives) copies and scores
    float *sum;         // (GROUPS, negatives, dim) gradients of the negatives
    double *term;       // (batch)
    double *strength;   // (users) sum of w_ui; NULL: no weights
    const struct inmo_graph *local;     // a rank's part of the graph; NULL: it is not cut
    struct inmo_listwise_ranks *ranks;  // what it needs then (listwise_ranks.c)
};

enum inmo_status inmo_listwise_make(const struct inmo_graph *graph, int32_t batch, int32_t least_steps,
                                    int32_t most_steps, int32_t negatives, int dim, double temperature, double l2,
                                    struct inmo_listwise *listwise, struct inmo_error *error);
void inmo_listwise_free(struct inmo_listwise *listwise);
int64_t inmo_listwise_steps(const struct inmo_listwise *listwise); /* in an epoch */
/* The most users of a step. */
int32_t inmo_listwise_batch(const struct inmo_graph *graph, int32_t batch, int32_t least_steps, int32_t most_steps);
/* Chooses the users and negatives of a step. node: the nodes that r has, in order; NULL: not wanted. Returns their
 * number. */
int32_t inmo_listwise_draw(struct inmo_listwise *listwise, uint64_t seed, int64_t step, int32_t *node);
/* r, dr: (rows, dim) of the nodes named. Returns the loss and sets all of dr. */
double inmo_listwise_run(struct inmo_listwise *listwise, const float *r, float *dr);
/* weight (rows): the coefficient of each squared norm in the loss, with factor instead of λ. */
void inmo_listwise_weights(const struct inmo_listwise *listwise, double factor, float *weight);

/* Shared by the two ways to run it, on one rank (listwise.c) and on several (listwise_ranks.c). Groups of
 * blocks have a sum each, whichever rank computes it; users in a block: as many as keep its scores in a core's
 * cache. */
enum { INMO_LISTWISE_GROUPS = 8 };
int32_t inmo_listwise_block(int32_t negatives);
/* Turns the scores of the negatives of batch user n into exponentials, sets rest, and returns their sum. */
double inmo_listwise_negatives(struct inmo_listwise *listwise, int32_t n, float *score);
/* Sets the user's gradient to that of the positives; returns the loss and the weight of the negatives'
 * gradients. u: the user's node in graph, in which its neighbours are. */
double inmo_listwise_positives(const struct inmo_listwise *listwise, const struct inmo_graph *graph, int32_t n,
                               int32_t u, const float *r, float *dr, double *spread);
/* Sets the gradients of the graph's own items to that of the positives. */
void inmo_listwise_pull_items(const struct inmo_listwise *listwise, const struct inmo_graph *graph, const float *r,
                              float *dr);

enum inmo_status inmo_listwise_ranks_make(struct inmo_listwise *listwise, struct inmo_error *error);
void inmo_listwise_ranks_free(struct inmo_listwise *listwise);
/* The row of r of an item of graph, which is its node v. */
static inline size_t inmo_listwise_item(const struct inmo_listwise *listwise, const struct inmo_graph *graph,
                                        int32_t v)
{
    return (size_t)(listwise->user_rows + (v - graph->users));
}
/* inmo_listwise_run with r and dr of local nodes; r has the halo, too. */
double inmo_listwise_run_ranks(struct inmo_listwise *listwise, const float *r, float *dr);

#endif
