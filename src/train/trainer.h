/* trainer.h - the state of a run between steps: what a checkpoint must hold, and nothing else changes. */
#ifndef INMO_TRAIN_TRAINER_H
#define INMO_TRAIN_TRAINER_H

#include "data/dataset.h"
#include "train/learner.h"

struct inmo_trainer {
    const struct inmo_dataset *data;
    const struct inmo_train_options *options;
    struct inmo_learner *learner; /* what takes the steps */
    uint64_t fingerprint;         /* of the data and of the options that must not change between pieces */

    int32_t pretraining; /* epochs that come before --epochs; they are not validated */
    int32_t epoch;       /* running, from 0 */
    int64_t step;        /* done in all */
    int64_t steps_per_epoch;
    double loss_sum;    /* over the steps of the running epoch */
    double final_loss;  /* mean of the last whole epoch */
    int32_t best_epoch; /* -1: none yet */
    double best_score;
    float *best;   // as the block: parameters of the best epoch; NULL without validation
    char *record;  // JSON lines of the epochs so far, without the brackets
    size_t record_size, record_capacity;
};

/* Appends an epoch to the record. score NaN: not validated. */
enum inmo_status inmo_trainer_note_epoch(struct inmo_trainer *trainer, double loss, double score,
                                         struct inmo_error *error);
/* Of what training and validation see of the data. */
uint64_t inmo_trainer_data_hash(const struct inmo_dataset *data);
/* graph: the run's, in whatever order its nodes are. */
enum inmo_status inmo_trainer_fingerprint(const struct inmo_dataset *data, const struct inmo_graph *graph,
                                          const struct inmo_train_options *options, uint64_t *fingerprint,
                                          struct inmo_error *error);

/* Written aside and renamed. Resuming from what save wrote goes on to the same bytes as if never interrupted. */
enum inmo_status inmo_checkpoint_save(const struct inmo_trainer *trainer, const char *path,
                                      struct inmo_error *error);
/* Whether a checkpoint is of a training of this model. */
enum inmo_status inmo_checkpoint_is_of(const char *path, const char *model, int *is, struct inmo_error *error);
/* FORMAT when it is damaged or belongs to other data or options. */
enum inmo_status inmo_checkpoint_load(struct inmo_trainer *trainer, const char *path, struct inmo_error *error);

static inline size_t inmo_block_size(const struct inmo_block *block)
{
    return (size_t)block->rows * (size_t)block->dim;
}
/* Parameters of the best epoch, the last without validation. */
static inline const float *inmo_trainer_parameters(const struct inmo_trainer *trainer)
{
    return trainer->best && trainer->best_epoch >= 0 ? trainer->best : trainer->learner->block.parameter;
}

/* The normalization exponent of an epoch. */
double inmo_alpha_of_epoch(const struct inmo_train_options *options, int32_t epoch);
/* The learning rate of a step, by the schedule over so many epochs. */
double inmo_learning_rate_at(const struct inmo_train_options *options, int64_t step, int64_t steps_per_epoch,
                             int32_t epochs);

#endif
