/* self_enhanced.h - the paper's self-enhanced loss for INMO: BPR on the template vectors, between templates that
 * have interacted, with a learned diagonal w.
 *
 *     β/B Σ_b softplus( t_u · diag(w) · (t_neg - t_pos) )
 *
 * A step adds it to its main loss (loss.h). */
#ifndef INMO_LOSS_SELF_ENHANCED_H
#define INMO_LOSS_SELF_ENHANCED_H

#include "loss/batch.h"
#include "loss/sampler.h"

struct inmo_self_enhanced {
    const struct inmo_binding *binding;
    int64_t diagonal; /* the row of w in the block */
    int32_t batch;
    uint64_t seed;
    double weight;                /* β */
    struct inmo_csr list;         // (template users, template items) by position
    struct inmo_sampler sampler;  // empty: no templates have interacted; the loss is 0
    float *gradient;              // (3 batch, dim) by rows of the grouping
    float *partial;               // (batch / CHUNK + 1, dim) sums for w
    float *coefficient;           // (batch)
    double *term;                 // (3 batch / CHUNK + 2)
    /* On several ranks (train/cut.h), by rows of the grouping; else NULL: */
    float *row;             // (3 batch, dim) their parameters, brought together
    int32_t *node, *index;  // (3 batch) their nodes, and the rank's own rows
};

/* The rows of binding are templates. binding must outlive self. */
enum inmo_status inmo_self_enhanced_make(const struct inmo_binding *binding, int64_t diagonal,
                                         const struct inmo_train_options *options, struct inmo_self_enhanced *self,
                                         struct inmo_error *error);
void inmo_self_enhanced_free(struct inmo_self_enhanced *self);
/* Draws the 3 batch parameter rows of a step. May be called from several threads at once for different steps. */
void inmo_self_enhanced_draw(const struct inmo_self_enhanced *self, int64_t step, struct inmo_grouping *grouping);
/* Adds to the gradient of the block, sets the gradient of w, and returns the loss. */
double inmo_self_enhanced_run(const struct inmo_self_enhanced *self, const struct inmo_grouping *grouping,
                              const float *parameter, float *gradient);
/* The same with parameters by rows of the grouping, and w apart. Adds the gradient of row n to row index[n] of
 * gradient unless that is negative, and sets dw. */
double inmo_self_enhanced_run_rows(const struct inmo_self_enhanced *self, const struct inmo_grouping *grouping,
                                   const float *row, const float *w, const int32_t *index, float *gradient,
                                   float *dw);

#endif
