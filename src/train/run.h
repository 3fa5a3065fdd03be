/* run.h - one pass of training on its way, for set_up.c, train.c (the loop) and finish.c (its model). */
#ifndef INMO_TRAIN_RUN_H
#define INMO_TRAIN_RUN_H

#include "train/beside_vectors.h"
#include "train/refit.h"
#include "train/trainer.h"
#include "train/warm.h"

#include <string.h>

/* What one pass needs besides the state of the run. */
struct inmo_run {
    const struct inmo_train_pass *pass;
    struct inmo_trainer trainer;
    /* the caller's, with what was chosen (choose.h) and the batch size adapted to the log */
    struct inmo_train_options options;
    const struct inmo_model_kind *kind;
    const struct inmo_hooks *hooks;
    struct inmo_model *first_stage;      // the model of a first stage that has just ended, else NULL
    struct inmo_warm *warm;              // its model is NULL: no warm start
    struct inmo_validation *validation;  // NULL: there is no validation data
    struct inmo_beside_choice beside;    // walks and links
    struct inmo_scorer scorer;           // scores the learner's model; refreshed for each validation
    double start, step_seconds;          /* time of the call; seconds spent in steps */
    double valid_seconds;                /* of the last validation */
    double last_shown, last_saved, last_score;
    int64_t steps_here;
    const char *stopped; /* why the run stopped; NULL: it goes on */
};

/* The stage of the current epoch is that of the best one, too: each stage begins without. */
static inline void inmo_run_set_stage(const struct inmo_trainer *trainer)
{
    if (trainer->learner->type->set_stage)
        trainer->learner->type->set_stage(trainer->learner, inmo_stage_at(trainer, trainer->epoch).number,
                                          trainer->epoch);
}

static inline double inmo_run_alpha(const struct inmo_trainer *trainer, int32_t epoch)
{
    return trainer->alpha > 0 ? trainer->alpha : inmo_alpha_of_epoch(trainer->options, epoch);
}

static inline double inmo_run_alpha_after(const struct inmo_trainer *trainer, int32_t epoch)
{
    return trainer->alpha > 0 ? trainer->alpha : inmo_alpha_reached(trainer->options, epoch);
}

/* set_up.c: allocates everything before the first step, and resumes if it is asked to. */
enum inmo_status inmo_run_set_up(struct inmo_run *run, struct inmo_error *error);
void inmo_run_tear_down(struct inmo_run *run);
/* Writes a checkpoint, if there are any. */
enum inmo_status inmo_run_save(struct inmo_run *run, struct inmo_error *error);
/* Gives back what was read of the data set: steps have a graph of their own, and only bpr draws from the list. */
void inmo_run_rest_data(const struct inmo_run *run);

/* finish.c: the model of what was trained, with walks and links beside its vectors. */
enum inmo_status inmo_run_finish(struct inmo_run *run, struct inmo_model **out, struct inmo_error *error);

#endif
