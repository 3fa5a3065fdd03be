/* trainer.h - the state of a run between steps: everything that changes, and so everything a checkpoint holds. */
#ifndef INMO_TRAIN_TRAINER_H
#define INMO_TRAIN_TRAINER_H

#include "data/dataset.h"
#include "train/learner.h"

struct inmo_trainer {
    const struct inmo_dataset *data;
    const struct inmo_train_options *options;
    struct inmo_learner *learner; /* takes the steps */
    const char *before;           /* the record of the first pass, in a second one (refit.h); else NULL */
    uint64_t fingerprint;         /* of the data, and of the options that must not change when a run is resumed */

    int32_t pretraining; /* epochs of the stages before those of --epochs */
    int32_t epochs;      /* after pretraining, at most: --epochs, or those of a warm start */
    int32_t skipped;     /* epochs of the schedule that a warm start leaves out before its first */
    double alpha;        /* of all epochs of a warm start: that of the earlier model; 0: annealed */
    int32_t epoch;       /* the current one, from 0 */
    int64_t step;        /* steps done so far */
    int64_t steps_per_epoch;
    double loss_sum;    /* over the steps of the current epoch */
    double final_loss;  /* mean over the last complete epoch */
    int32_t best_epoch; /* -1: none yet */
    double best_score;
    float *best;   // parameters of the best epoch, laid out like the block; NULL without validation
    char *record;  // JSON lines of what was chosen, if anything, and of the epochs so far, without the brackets
    size_t record_size, record_capacity;
    int slot; /* on several ranks: which of two sets of files the last checkpoint is in (checkpoint_parts.c) */
};

/* stage.c: a model whose parts are first trained alone (model/head.h) has several stages, each of which keeps its
 * best epoch; any other has one. */
struct inmo_stage {
    int number;            /* for set_stage and end_stage of the learner */
    int32_t first, epochs; /* its first epoch, and how many it has at most */
};
struct inmo_stage inmo_stage_at(const struct inmo_trainer *trainer, int32_t epoch);
/* Of all stages. */
int32_t inmo_trainer_epochs(const struct inmo_trainer *trainer);
/* Whether the current epoch is validated when it ends. */
int inmo_epoch_is_validated(const struct inmo_trainer *trainer);
/* Goes on to the next epoch. A new stage begins with the best parameters of the one before. */
void inmo_trainer_next_epoch(struct inmo_trainer *trainer);
/* Whether early stopping ends the run; asked between epochs. */
int inmo_trainer_out_of_patience(const struct inmo_trainer *trainer);

/* Appends an epoch to the record. score NaN: not validated. */
enum inmo_status inmo_trainer_note_epoch(struct inmo_trainer *trainer, double loss, double score,
                                         struct inmo_error *error);
/* Hash of the training and validation data. */
uint64_t inmo_trainer_data_hash(const struct inmo_dataset *data);
/* graph: the graph of the run, in its order of nodes. */
enum inmo_status inmo_trainer_fingerprint(const struct inmo_dataset *data, const struct inmo_graph *graph,
                                          const struct inmo_train_options *options, uint64_t *fingerprint,
                                          struct inmo_error *error);

/* Writes a temporary file and renames it. A resumed run gives the same bytes as one that was never interrupted. */
enum inmo_status inmo_checkpoint_save(struct inmo_trainer *trainer, const char *path, struct inmo_error *error);
/* The arrays of a run in the order of the file: at most INMO_CHECKPOINT_ARRAYS. Saving reads them in place; loading
 * writes them there. */
enum { INMO_CHECKPOINT_VERSION = 2, INMO_CHECKPOINT_ARRAYS = 4 + INMO_LEARNER_ARRAYS };
size_t inmo_checkpoint_arrays(const struct inmo_trainer *trainer, struct inmo_tensor *array);
/* On several ranks a checkpoint is a set of files: one for each rank with its rows, and one that names the set
 * and has everything else. checkpoint_parts.c: */
struct inmo_tensorfile;
/* Saves this rank's rows into the set that is not in use, and returns when all have; then the set may be named. */
enum inmo_status inmo_checkpoint_save_part(const struct inmo_trainer *trainer, const char *path, int slot,
                                           struct inmo_error *error);
/* Loads the arrays by row from the set that this file names, or from the file itself; there may have been another
 * number of ranks. */
enum inmo_status inmo_checkpoint_load_rows(struct inmo_trainer *trainer, const struct inmo_tensorfile *file,
                                           const char *path, struct inmo_error *error);

/* Whether a checkpoint is from training this model. */
enum inmo_status inmo_checkpoint_is_of(const char *path, const char *model, int *is, struct inmo_error *error);
/* The record in a checkpoint, which the caller frees; nothing else in the file is looked at. */
enum inmo_status inmo_checkpoint_record(const char *path, char **record, struct inmo_error *error);
/* The record of the first pass in the checkpoint of a second one, which the caller frees; NULL if it is none. */
enum inmo_status inmo_checkpoint_before(const char *path, char **before, struct inmo_error *error);
/* Errors: FORMAT if the file is damaged or belongs to other data or options. */
enum inmo_status inmo_checkpoint_load(struct inmo_trainer *trainer, const char *path, struct inmo_error *error);

static inline size_t inmo_block_size(const struct inmo_block *block)
{
    return (size_t)block->rows * (size_t)block->dim;
}
/* Parameters of the best epoch; without validation, of the last. */
static inline const float *inmo_trainer_parameters(const struct inmo_trainer *trainer)
{
    return trainer->best && trainer->best_epoch >= 0 ? trainer->best : trainer->learner->block.parameter;
}

/* The normalization exponent of an epoch. */
double inmo_alpha_of_epoch(const struct inmo_train_options *options, int32_t epoch);
/* Alpha for validation and for the model after that epoch, unless it is 1: the epoch's, or already the next
 * one's. */
double inmo_alpha_reached(const struct inmo_train_options *options, int32_t epoch);
/* The learning rate of a step, by the schedule over all epochs. */
double inmo_learning_rate_at(const struct inmo_train_options *options, int64_t step, int64_t steps_per_epoch,
                             int32_t epochs);

#endif
