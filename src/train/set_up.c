/* set_up.c - what a run needs before its first step, and the end of it: see run.h. */
#include "base/memory.h"
#include "base/tensorfile.h"
#include "base/threads.h"
#include "eval/validate.h"
#include "train/run.h"

#include <errno.h>
#include <unistd.h>
#include <xxhash.h>

enum { VALIDATION_K = 20 };

enum inmo_status inmo_run_save(struct inmo_run *run, struct inmo_error *error)
{
    const char *path = run->trainer.options->checkpoint;
    run->last_saved = inmo_now();
    return path ? inmo_checkpoint_save(&run->trainer, path, error) : INMO_OK;
}

void inmo_run_rest_data(const struct inmo_run *run)
{
    const struct inmo_dataset *data = run->trainer.data;
    if (data->file)
        inmo_tensorfile_rest(data->file);
}

static enum inmo_status set_up_validation(struct inmo_run *run, struct inmo_error *error)
{
    const struct inmo_trainer *trainer = &run->trainer;
    const struct inmo_dataset *data = trainer->data;
    enum inmo_status status;
    if (inmo_csr_count(&data->valid) == 0)
        return inmo_beside_start(trainer->options, trainer->learner, run->warm->model, NULL, run->hooks,
                                 &run->scorer, &run->beside, error);
    status = inmo_validation_new(&data->valid, &data->train, VALIDATION_K, !inmo_kind_offers_unchosen(run->kind),
                                 &run->validation, error);
    if (!status)
        inmo_validation_sample(run->validation, trainer->options->valid_users, trainer->options->seed);
    if (!status)
        status = inmo_scorer_make(&run->scorer, trainer->learner->model, trainer->learner->bound, 0, error);
    if (!status)
        status = inmo_beside_start(trainer->options, trainer->learner, run->warm->model, run->validation,
                                   run->hooks, &run->scorer, &run->beside, error);
    return status;
}

/* Sets up what a run by steps needs besides the learner: fingerprint, record, and the best epoch's parameters. */
static enum inmo_status set_up_steps(struct inmo_run *run, struct inmo_error *error)
{
    struct inmo_trainer *trainer = &run->trainer;
    const struct inmo_block *block = &trainer->learner->block;
    enum inmo_status status = inmo_trainer_fingerprint(trainer->data, trainer->learner->graph, trainer->options,
                                                       &trainer->fingerprint, error);
    if (status)
        return status;
    trainer->fingerprint += run->warm->fingerprint; /* of another warm start is another run */
    if (trainer->before)                            /* the same choice, too */
        trainer->fingerprint = XXH3_64bits_withSeed(trainer->before, strlen(trainer->before), trainer->fingerprint);
    trainer->steps_per_epoch = trainer->learner->steps_per_epoch;
    if (!run->validation && run->pass->before)
        return INMO_OK;
    if (!run->validation) {
        inmo_note(run->hooks, INMO_WARNING,
                  "%s, so nothing says when to stop: all %d epochs will be run and the last one kept%s",
                  run->warm->model ? "nothing is new since the earlier model, and what it knows cannot validate"
                                   : "the data set has no validation part",
                  inmo_trainer_epochs(trainer),
                  run->warm->model                   ? ""
                  : run->pass->options->hold_out > 0 ? ", and too few interactions to hold some out"
                                                     : "; `hold-out` 0.1 lets training hold one out");
        return INMO_OK;
    }
    trainer->best = inmo_alloc(inmo_block_size(block), sizeof(float));
    if (!trainer->best)
        return inmo_fail_memory(error, "training");
    inmo_learner_copy(trainer->learner, block->parameter, trainer->best);
    return INMO_OK;
}

/* Resumes from the checkpoint, if there is one. */
static enum inmo_status resume(struct inmo_run *run, struct inmo_error *error)
{
    struct inmo_trainer *trainer = &run->trainer;
    const char *path = trainer->options->checkpoint;
    enum inmo_status status = INMO_OK;
    if (access(path, F_OK) == 0) {
        status = inmo_checkpoint_load(trainer, path, error);
        if (!status)
            inmo_note(run->hooks, INMO_NOTE, "going on from %s: epoch %d, step %lld", path, trainer->epoch + 1,
                      (long long)trainer->step);
    } else if (errno != ENOENT) {
        status = inmo_fail_errno(error, "read", path);
    } else {
        inmo_note(run->hooks, INMO_NOTE, "%s does not exist: starting anew", path);
    }
    return status;
}

enum inmo_status inmo_run_set_up(struct inmo_run *run, struct inmo_error *error)
{
    struct inmo_trainer *trainer = &run->trainer;
    struct inmo_learner_setup setup = {trainer->data, run->pass->exported, trainer->options, run->kind,
                                       run->hooks,    run->first_stage,    run->warm};
    enum inmo_status status = inmo_learner_type_of(run->kind)->create(&setup, &trainer->learner, error);
    if (!status)
        status = set_up_validation(run, error);
    if (status || trainer->learner->type->fit)
        return status;
    status = set_up_steps(run, error);
    inmo_run_rest_data(run);
    if (!status && run->first_stage)
        status = inmo_run_save(run, error); /* from here on a resumed run skips the first stage */
    else if (!status && trainer->options->resume)
        status = resume(run, error);
    return status;
}

void inmo_run_tear_down(struct inmo_run *run)
{
    inmo_scorer_close(&run->scorer);
    inmo_free(run->beside.other_weight);
    inmo_validation_free(run->validation);
    inmo_free(run->trainer.record);
    inmo_free(run->trainer.best);
    if (run->trainer.learner)
        run->trainer.learner->type->destroy(run->trainer.learner);
    inmo_model_free(run->first_stage);
}
