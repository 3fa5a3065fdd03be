/* train.c - the training loop: epochs of steps, validation between them, the best epoch kept. A learner
 * (learner.h) takes the steps, whatever the model; a closed form is one fit and one validation. Validation scores
 * the current parameters with the scorer that also serves requests.
 *
 * One pass: inmo_train (refit.h) makes one or two.
 *
 * struct inmo_trainer is the state between two steps; a checkpoint is that structure in a file. Time affects only
 * what is reported and when to stop, never what is computed. */
#include "base/memory.h"
#include "base/threads.h"
#include "eval/validate.h"
#include "loss/loss.h"
#include "ranks/ranks.h"
#include "train/beside_vectors.h"
#include "train/choose.h"
#include "train/export.h"
#include "train/first_stage.h"
#include "train/run.h"
#include "train/settings.h"
#include "train/trainer.h"

#include <math.h>
#include <string.h>

/* The epochs to train: a second pass ends where the first was best. */
static int32_t epochs_of(const struct inmo_run *run)
{
    return run->pass->before ? run->pass->epochs : inmo_trainer_epochs(&run->trainer);
}

static void show(struct inmo_run *run, int always)
{
    const struct inmo_trainer *trainer = &run->trainer;
    int64_t in_epoch = trainer->step - (int64_t)trainer->epoch * trainer->steps_per_epoch;
    double now = inmo_now();
    if (!always && now - run->last_shown < 0.2)
        return;
    run->last_shown = now;
    struct inmo_progress progress = {
        .stage = run->pass->before ? "training again" : "training",
        .done = (double)trainer->step / (double)trainer->steps_per_epoch,
        .total = epochs_of(run),
        .unit = "epochs",
        .seconds = now - run->start,
        .loss = in_epoch > 0 ? trainer->loss_sum / (double)in_epoch : trainer->final_loss,
        .score = run->last_score,
        .best_score = trainer->best_epoch >= 0 ? trainer->best_score : NAN,
    };
    inmo_report_progress(run->hooks, &progress);
}

static enum inmo_status validate(struct inmo_run *run, const struct inmo_hooks *hooks, double *score,
                                 struct inmo_error *error)
{
    const struct inmo_train_options *options = run->trainer.options;
    double alpha =
        strcmp(options->eval_alpha, "one") == 0 ? 1 : inmo_run_alpha_after(&run->trainer, run->trainer.epoch);
    double begin = inmo_now();
    enum inmo_status status;
    inmo_run_set_stage(&run->trainer);
    if (run->trainer.learner->type->rest)
        run->trainer.learner->type->rest(run->trainer.learner);
    status = inmo_scorer_refresh(&run->scorer, alpha, error);
    if (!status)
        status =
            inmo_beside_weigh(options, run->validation, INMO_WEIGH_USERS, 0, &run->scorer, &run->beside, error);
    if (!status)
        status = inmo_validation_ndcg(run->validation, &run->scorer, hooks, score, error);
    if (run->trainer.learner->type->rest) /* the next validation has other vectors */
        inmo_scorer_rest(&run->scorer);
    inmo_run_rest_data(run);
    run->valid_seconds = inmo_now() - begin;
    return status;
}

/* Whether `max-seconds` leaves no time for another step and for what follows the last one: weighing beside the
 * best vectors, three times if there are two sets of links to choose from, each time taking no longer than a
 * validation, and links of all interactions. As long as nothing was validated, links are not chosen once more, and
 * half of their time at the start is the guess (0.3 to 0.4 on a log of Gowalla's size). */
static int time_is_up(const struct inmo_run *run)
{
    const struct inmo_trainer *trainer = &run->trainer;
    double valid = run->valid_seconds > 0 ? run->valid_seconds : run->beside.seconds / 2;
    int is_last = trainer->step + 1 == ((int64_t)trainer->epoch + 1) * trainer->steps_per_epoch;
    int weighings = run->beside.chooses * (run->beside.other_weight && run->valid_seconds > 0 ? 3 : 1);
    int validations = weighings + (run->validation && is_last && inmo_epoch_is_validated(trainer));
    double links = run->pass->exported != trainer->data ? run->beside.seconds_alone : 0;
    double limit = trainer->options->max_seconds;
    return limit > 0 && inmo_now() - run->start + validations * valid + links >= limit;
}

/* Without validation nothing says when to stop. */
static int out_of_patience(const struct inmo_run *run)
{
    return run->validation && inmo_trainer_out_of_patience(&run->trainer);
}

static void catch_up(const struct inmo_trainer *trainer)
{
    if (trainer->learner->type->catch_up)
        trainer->learner->type->catch_up(trainer->learner);
}

/* Ends an epoch: validates, keeps the best parameters, writes the record, checks early stopping. */
static enum inmo_status end_epoch(struct inmo_run *run, struct inmo_error *error)
{
    struct inmo_trainer *trainer = &run->trainer;
    double score = NAN;
    enum inmo_status status = INMO_OK;
    trainer->final_loss = trainer->loss_sum / (double)trainer->steps_per_epoch;
    trainer->loss_sum = 0;
    catch_up(trainer); /* after every epoch, validated or not: the result must not depend on when it is validated */
    if (run->validation && inmo_epoch_is_validated(trainer)) {
        /* no hooks: validation is short, and a run must stop between steps to resume exactly */
        status = validate(run, NULL, &score, error);
        if (status)
            return status;
        run->last_score = score;
        if (trainer->best_epoch < 0 || score > trainer->best_score) {
            trainer->best_epoch = trainer->epoch;
            trainer->best_score = score;
            inmo_learner_copy(trainer->learner, trainer->learner->block.parameter, trainer->best);
        }
    }
    status = inmo_trainer_note_epoch(trainer, trainer->final_loss, score, error);
    inmo_trainer_next_epoch(trainer);
    if (out_of_patience(run))
        run->stopped = "patience";
    return status;
}

static enum inmo_status fail_numeric(const struct inmo_trainer *trainer, struct inmo_error *error)
{
    const struct inmo_train_options *options = trainer->options;
    if (!trainer->learner->block.m) /* a solver, without a learning rate */
        return inmo_fail(
            error, INMO_NUMERIC,
            "the solution is not finite in epoch %d (step %lld); try a larger `l2` (now %g) or a larger "
            "`unobserved` (now %g)",
            trainer->epoch + 1, (long long)trainer->step, options->l2, options->unobserved);
    return inmo_fail(error, INMO_NUMERIC,
                     "the loss is not finite in epoch %d (step %lld); try a smaller `learning-rate` (now %g) or a "
                     "larger `l2` (now %g)",
                     trainer->epoch + 1, (long long)trainer->step, options->learning_rate, options->l2);
}

static enum inmo_status take_step(struct inmo_run *run, struct inmo_error *error)
{
    struct inmo_trainer *trainer = &run->trainer;
    int32_t skipped = trainer->skipped;
    double begin = inmo_now(),
           rate = inmo_learning_rate_at(trainer->options, trainer->step + skipped * trainer->steps_per_epoch,
                                        trainer->steps_per_epoch, skipped + inmo_trainer_epochs(trainer));
    double loss = trainer->learner->type->step(trainer->learner, trainer->step,
                                               inmo_run_alpha(trainer, trainer->epoch), rate);
    run->step_seconds += inmo_now() - begin;
    if (!isfinite(loss))
        return fail_numeric(trainer, error);
    trainer->loss_sum += loss;
    trainer->step++;
    run->steps_here++;
    return INMO_OK;
}

/* What is asked of the run between two steps. All ranks must do the same: stop if one is asked to, and take the
 * time of rank 0. */
struct asked {
    int32_t stop, late;
};
static struct asked ask(const struct inmo_run *run)
{
    struct asked asked = {inmo_is_interrupted(run->pass->asked), inmo_own_rank() == 0 && time_is_up(run)};
    inmo_ranks_most(&asked.stop, sizeof asked / sizeof asked.stop);
    return asked;
}

static enum inmo_status train_loop(struct inmo_run *run, struct inmo_error *error)
{
    struct inmo_trainer *trainer = &run->trainer;
    const struct inmo_train_options *options = trainer->options;
    enum inmo_status status = INMO_OK;
    show(run, 1);
    if (out_of_patience(run))
        run->stopped = "patience"; /* the resumed run had stopped already */
    while (!status && !run->stopped && trainer->epoch < epochs_of(run)) {
        int64_t end = ((int64_t)trainer->epoch + 1) * trainer->steps_per_epoch;
        while (!status && trainer->step < end) {
            struct asked asked = ask(run);
            if (asked.stop) {
                status = inmo_run_save(run, error);
                if (!status)
                    status = inmo_fail(error, INMO_INTERRUPTED, "training stopped on request in epoch %d",
                                       trainer->epoch + 1);
                return status;
            }
            if (asked.late) {
                run->stopped = "max-seconds";
                return INMO_OK;
            }
            status = take_step(run, error);
            if (!status && options->checkpoint &&
                inmo_ranks_agree(inmo_now() - run->last_saved > options->checkpoint_seconds))
                status = inmo_run_save(run, error);
            show(run, 0);
        }
        if (!status)
            status = end_epoch(run, error);
        show(run, 1);
    }
    if (!status && !run->stopped)
        run->stopped = "epochs";
    return status;
}

static void fill_report(const struct inmo_run *run, struct inmo_train_report *report)
{
    const struct inmo_trainer *trainer = &run->trainer;
    double epochs_here =
        trainer->steps_per_epoch > 0 ? (double)run->steps_here / (double)trainer->steps_per_epoch : 0;
    *report = (struct inmo_train_report){
        .epochs = trainer->epoch,
        .best_epoch = trainer->best_epoch,
        .steps = trainer->step,
        .seconds = inmo_now() - run->start,
        .seconds_per_epoch = epochs_here > 0 ? run->step_seconds / epochs_here : 0,
        .best_score = trainer->best_score,
        .final_loss = trainer->final_loss,
        .stopped = run->stopped,
    };
}

/* Fits a closed form; validation is only for the report. */
static enum inmo_status solve(struct inmo_run *run, struct inmo_error *error)
{
    struct inmo_trainer *trainer = &run->trainer;
    enum inmo_status status = trainer->learner->type->fit(trainer->learner, run->hooks, error);
    if (!status && run->validation)
        status = validate(run, run->hooks, &trainer->best_score, error);
    run->stopped = "closed-form";
    return status;
}

/* Trains by steps, to the end or until time is up. */
static enum inmo_status run_steps(struct inmo_run *run, struct inmo_error *error)
{
    enum inmo_status status = train_loop(run, error);
    if (!status && run->trainer.step == 0 && strcmp(run->stopped, "max-seconds") == 0)
        inmo_note(
            run->hooks, INMO_WARNING,
            "`max-seconds` was up before the first step: the model has the parameters that training starts from");
    if (!status && strcmp(run->stopped, "patience") != 0)
        status = inmo_run_save(run, error); /* so that a later call can train further */
    if (!status)
        catch_up(&run->trainer); /* after the checkpoint: an uninterrupted run would not catch up here */
    return status;
}

enum inmo_status inmo_train_once(const struct inmo_train_pass *pass, struct inmo_model **model,
                                 struct inmo_train_report *report, struct inmo_error *error)
{
    const struct inmo_dataset *data = pass->data;
    const struct inmo_train_options *options = pass->options;
    const struct inmo_hooks *hooks = pass->hooks;
    struct inmo_run run = {
        .pass = pass, .warm = pass->warm, .hooks = hooks, .start = inmo_now(), .last_score = NAN};
    struct inmo_trainer *trainer = &run.trainer;
    enum inmo_status status = INMO_OK;
    inmo_blas_hold();
    run.kind = inmo_model_kind_find(options->model);
    run.last_saved = run.start;
    trainer->data = data;
    trainer->options = &run.options;
    trainer->pretraining = run.warm->model ? 0 : inmo_train_pretraining(options);
    trainer->epochs = run.warm->model ? run.warm->epochs : options->epochs;
    trainer->skipped = run.warm->skipped;
    trainer->alpha = run.warm->model ? run.warm->model->alpha_reached : 0;
    trainer->best_epoch = -1;
    trainer->best_score = NAN;
    trainer->final_loss = NAN;
    trainer->before = pass->before;
    status = inmo_choose(run.kind, data, options, pass->asked, &run.options, &trainer->record, error);
    if (status)
        goto done;
    if (run.warm->model)
        run.options.pretrain = 0; /* its parts are trained */
    trainer->record_size = strlen(trainer->record);
    trainer->record_capacity = trainer->record_size + 1;
    if (run.kind->backbone && !inmo_loss_find(options->loss)->batch_is_users)
        run.options.batch = inmo_batch_within(options->batch, inmo_csr_count(&data->train), options->least_steps);
    if (run.kind->provider && run.kind->provider->frozen_from)
        status = inmo_first_stage_train(run.kind, data, options, hooks, &run.first_stage, error);
    if (!status)
        status = inmo_run_set_up(&run, error);
    if (!status && run.warm->model && !pass->before)
        inmo_warm_tell(run.warm, hooks);
    if (!status)
        status = trainer->learner->type->fit ? solve(&run, error) : run_steps(&run, error);
    if (!status)
        status = inmo_run_finish(&run, model, error);
    if (!status)
        fill_report(&run, report);
done:
    inmo_run_tear_down(&run);
    inmo_blas_release();
    return status;
}
