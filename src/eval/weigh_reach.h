/* weigh_reach.h - the items that walks, links and popularity reach from a user's history, with what each adds to
 * their scores by a weight of 1. */
#ifndef INMO_EVAL_WEIGH_REACH_H
#define INMO_EVAL_WEIGH_REACH_H

#include "score/links.h"
#include "score/prior.h"
#include "score/walk.h"

/* What is weighed; a part that is NULL reaches nothing. */
struct inmo_reach {
    const struct inmo_graph *graph;
    const struct inmo_csr *seen;
    const struct inmo_walks *walks;
    const struct inmo_links *links;
    const struct inmo_prior *prior;
    uint8_t *closed;  // (items) no candidates; NULL: all are
};

/* The memory of one thread. */
struct inmo_reach_space {
    struct inmo_sums sums;
    int32_t *walk_item, *link_item, *item;  // (items)
    int32_t *place;                         // (items) see struct inmo_reached
    float *walk_value, *link_value;         // (items)
    float *product, *walk, *link, *prior;   // (items) of the items that one of them reaches
};

/* 0, or -1 when memory is short; to be freed either way. */
int inmo_reach_space_make(struct inmo_reach_space *space, int32_t items);
void inmo_reach_space_free(struct inmo_reach_space *space);

/* Puts the items that user u reaches into space->item, with the parts of their scores, and takes them, like items
 * the user has, out of score (items), which has the products of the vectors. Returns how many there are. */
int32_t inmo_reach_gather(const struct inmo_reach *reach, int32_t u, float *score, struct inmo_reach_space *space);

#endif
