/* head.h - the third part of a model, after provider and backbone (seam.h): how a pair of representations is
 * scored.
 *
 *     score of (u, i) = head(r_u, r_i)
 *
 * Models without one score by the dot product. A head sees representations alone, so it stands on any provider
 * and backbone. Its own parameters, of any shapes, follow the backbone's in the block, filled up with zeros to
 * whole rows. It may ask for wider embeddings than --dim, and have stages: parts that are first trained alone. */
#ifndef INMO_MODEL_HEAD_H
#define INMO_MODEL_HEAD_H

#include "model/seam.h"

/* Some columns of r. */
struct inmo_columns {
    int first, count;
};

/* The pairs of a batch: each of B positives with its k negatives, k + 1 pairs one after the other, the positive
 * first. They are given as places of rows of r: users (B), positives (B), negatives (B, k). */
struct inmo_pairs {
    int32_t batch, negatives;       /* B, k */
    const int32_t *row;             // (2 B + k B) row of each place
    int32_t rows, user_rows;        /* the first user_rows rows are users, the others items */
    const int32_t *offset, *entry;  // (rows + 1), (2 B + k B) places of each row, ascending
    const float *r;                 // (rows, width)
    /* Loss of the pairs of some positives from first on, and its derivative by each score; ds may be score.
     * Called from several threads at once. */
    double (*judge)(const void *context, int32_t first, int32_t positives, const float *score, float *ds);
    const void *context;
};

struct inmo_head_state;
struct inmo_head_scores;
struct inmo_head {
    const char *name;
    int stages;                /* parts that can be trained alone; 0: none */
    int (*embedding)(int dim); /* columns of e; NULL: dim */
    /* Part n of its own parameters, and 1; 0 past the last. NULL: it has none. */
    int (*part)(int width, int n, struct inmo_part *part);
    void (*start)(int width, uint64_t key, float *own);
    /* Columns of r that stage n trains. */
    struct inmo_columns (*trains)(int width, int stage);

    struct inmo_head_state *(*create)(int width, int32_t batch, int32_t negatives);
    void (*destroy)(struct inmo_head_state *state);
    /* Loss of the pairs; leaves dr (rows, width). stage: as above, or stages for the whole. */
    double (*run)(struct inmo_head_state *state, const float *own, int stage, const struct inmo_pairs *pairs,
                  float *dr);
    /* Of its own parameters, after run. */
    const float *(*own_gradient)(const struct inmo_head_state *state);

    /* Full ranking: what is computed once for all items, (items, width); and the scores (count, items) of users
     * (count, width) at most `users` at a time. score is called from several threads; scratch is the caller's
     * own. */
    struct inmo_head_scores *(*open)(int width, const float *own, const float *item, int32_t items);
    void (*close)(struct inmo_head_scores *scores);
    void (*score)(const struct inmo_head_scores *scores, const float *user, int32_t count, void *scratch,
                  float *score);
    size_t (*scratch_bytes)(int width);
    int users;
    /* One pair, as the formula has it: the twin of run and score. */
    double (*pair)(int width, const float *own, const float *user, const float *item);
};

/* The dot product, for losses that need a head. It has no parameters and is no source of rankings. */
extern const struct inmo_head inmo_head_dot;
extern const struct inmo_head inmo_head_neumf;

/* Columns of e that a model with --dim has; rows of so many numbers that the head's own parameters take. NULL: no
 * head. */
int inmo_head_embedding(const struct inmo_head *head, int dim);
int32_t inmo_head_rows(const struct inmo_head *head, int width, int dim);
int64_t inmo_part_size(const struct inmo_part *part, int dim);

#endif
