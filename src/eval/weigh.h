/* weigh.h - how much walks, links and popularity weigh beside the vectors, decided by a validation part.
 *
 * The product of the vectors is computed once for each user of a sample; then any number of weights is tried at the
 * cost of the items that walks and links reach. Nothing is trained. */
#ifndef INMO_EVAL_WEIGH_H
#define INMO_EVAL_WEIGH_H

#include "base/csr.h"
#include "score/scorer.h"

enum {
    INMO_WEIGH_USERS = 4096,     /* a sample of at most so many users decides, to judge an epoch */
    INMO_WEIGH_IN_END = 1 << 14, /* and for the model: pairs of weights are often close */
};

struct inmo_weighing {
    const struct inmo_scorer *scorer; /* refreshed; the factors of its walks and links do not matter, nor that
                                         of its prior; NULL parts weigh nothing */
    const struct inmo_csr *truth, *seen;
    const int32_t *who;  // (count) users with truth items
    int32_t count;
    int k;
    int only_seen;       /* 1: items without training interactions are no candidates */
    double walks, links; /* given weights; negative: to be chosen */
    double prior;        /* the same; chosen, it is 0 unless another weight is clearly better */
    float *ndcg;         // (count) of each user by the weights in the end; NULL: not asked for
};
struct inmo_weights {
    double walks, links, prior;
    double ndcg; /* of the sample, by these weights */
};
/* Errors: MEMORY. */
enum inmo_status inmo_weigh(const struct inmo_weighing *weighing, struct inmo_weights *weights,
                            struct inmo_error *error);
/* NDCG@k (count) of each user by the links alone, to choose among several. */
enum inmo_status inmo_weigh_links_alone(const struct inmo_weighing *weighing, const struct inmo_links *links,
                                        float *ndcg, struct inmo_error *error);

#endif
