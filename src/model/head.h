/* head.h - the third part of a model, after provider and backbone (seam.h): scores a pair of representations.
 *
 *     score of (u, i) = head(r_u, r_i)
 *
 * Models without a head score by the dot product. A head sees only representations, so it works with any provider
 * and backbone. Its own parameters, of any shape, follow the backbone's in the block, padded with zeros to whole
 * rows. It may ask for wider embeddings than --dim, and have stages: parts that are first trained alone. */
#ifndef INMO_MODEL_HEAD_H
#define INMO_MODEL_HEAD_H

#include "model/seam.h"

/* A range of columns of r. */
struct inmo_columns {
    int first, count;
};

/* The pairs of a batch: for each of B positives k + 1 pairs, the positive first, then its k negatives. The places
 * of a batch refer to rows of r: users (B), positives (B), negatives (B, k). */
struct inmo_pairs {
    int32_t batch, negatives;       /* B, k */
    const int32_t *row;             // (2 B + k B) row of each place
    int32_t rows, user_rows;        /* the first user_rows rows are users, the others items */
    const int32_t *offset, *entry;  // (rows + 1), (2 B + k B) places of each row, ascending
    const float *r;                 // (rows, width)
    double
        l2; /* weight of the squared norm of each pair's vector, whose sum is the score; 0 for heads without one */
    /* Returns the loss of the pairs of some positives from first on, and sets ds to its derivative by each score;
     * ds may be score. Called from several threads at once. */
    double (*judge)(const void *context, int32_t first, int32_t positives, const float *score, float *ds);
    const void *context;
};

struct inmo_head_state;
struct inmo_head_scores;
struct inmo_head {
    const char *name;
    int stages;                /* number of parts that can be trained alone */
    int pair_norms;            /* 1: run adds pairs->l2 times the squared norms of the pairs' vectors */
    int (*embedding)(int dim); /* columns of e; NULL: dim */
    /* Sets *part to part n of its own parameters and returns 1; returns 0 after the last. NULL: it has none. */
    int (*part)(int width, int n, struct inmo_part *part);
    void (*start)(int width, uint64_t key, float *own);
    /* The columns of r that a stage trains. */
    struct inmo_columns (*trains)(int width, int stage);
    /* Changes its own parameters so that scores are those of a stage alone. NULL: it has no stages. */
    void (*keep_stage)(int width, int stage, float *own);

    struct inmo_head_state *(*create)(int width, int32_t batch, int32_t negatives);
    void (*destroy)(struct inmo_head_state *state);
    /* Returns the loss of the pairs and sets dr (rows, width). stage: the stage to train; `stages` for the whole
     * head. */
    double (*run)(struct inmo_head_state *state, const float *own, int stage, const struct inmo_pairs *pairs,
                  float *dr);
    /* The gradient of its own parameters, after run. */
    const float *(*own_gradient)(const struct inmo_head_state *state);

    /* Full ranking. open computes once what depends on the items alone, (items, width); score fills the scores
     * (count, items) of users (count, width), at most `users` at a time. score is called from several threads,
     * each with its own scratch. */
    struct inmo_head_scores *(*open)(int width, const float *own, const float *item, int32_t items);
    void (*close)(struct inmo_head_scores *scores);
    void (*score)(const struct inmo_head_scores *scores, const float *user, int32_t count, void *scratch,
                  float *score);
    size_t (*scratch_bytes)(int width);
    int users;
    /* The score of one pair straight from the formula: the naive twin of run and score. */
    double (*pair)(int width, const float *own, const float *user, const float *item);
};

/* The dot product, for losses that need a head. It has no parameters and is not used for ranking. */
extern const struct inmo_head inmo_head_dot;
extern const struct inmo_head inmo_head_neumf;

/* The columns of e in a model with this --dim; and the rows of dim numbers that the head's parameters need. head
 * may be NULL. */
int inmo_head_embedding(const struct inmo_head *head, int dim);
int32_t inmo_head_rows(const struct inmo_head *head, int width, int dim);
int64_t inmo_part_size(const struct inmo_part *part, int dim);

#endif
