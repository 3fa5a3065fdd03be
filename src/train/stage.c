/* stage.c - which epoch belongs to which stage, when it is validated, and when a stage or the run ends. */
#include "train/trainer.h"

#include <math.h>

struct inmo_stage inmo_stage_at(const struct inmo_trainer *trainer, int32_t epoch)
{
    int32_t each = trainer->options->pretrain;
    if (epoch < trainer->pretraining)
        return (struct inmo_stage){epoch / each, epoch / each * each, each};
    return (struct inmo_stage){each > 0 ? trainer->pretraining / each : 0, trainer->pretraining, trainer->epochs};
}

int32_t inmo_trainer_epochs(const struct inmo_trainer *trainer)
{
    return trainer->pretraining + trainer->epochs;
}

int inmo_epoch_is_validated(const struct inmo_trainer *trainer)
{
    struct inmo_stage stage = inmo_stage_at(trainer, trainer->epoch);
    int32_t done = trainer->epoch + 1 - stage.first;
    return done % trainer->options->eval_every == 0 || done == stage.epochs;
}

void inmo_trainer_next_epoch(struct inmo_trainer *trainer)
{
    const struct inmo_learner *learner = trainer->learner;
    struct inmo_stage stage = inmo_stage_at(trainer, trainer->epoch);
    trainer->epoch++;
    if (trainer->epoch < stage.first + stage.epochs || trainer->epoch > trainer->pretraining)
        return;
    learner->type->end_stage(trainer->learner, stage.number, trainer->best_epoch >= 0 ? trainer->best : NULL);
    trainer->best_epoch = -1;
    trainer->best_score = NAN;
}

/* Only a validated epoch can exhaust the patience; otherwise a run whose patience is shorter than the interval
 * between validations would stop before the first one. A stage of pretraining has all its epochs. */
int inmo_trainer_out_of_patience(const struct inmo_trainer *trainer)
{
    const struct inmo_train_options *options = trainer->options;
    int32_t done = trainer->epoch - trainer->pretraining;
    return done > 0 && trainer->best_epoch >= 0 && done % options->eval_every == 0 &&
           trainer->epoch - 1 - trainer->best_epoch >= options->patience;
}
