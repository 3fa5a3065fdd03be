/* train.c - the loop: epochs of steps, a validation after each, the best one kept. The steps are those of
 * provider and backbone (step.h) or of a system of its own shape (own.h); a closed form is one fit and one
 * validation.
 *
 * The run between two steps is struct inmo_trainer; a checkpoint is that structure in a file. Time appears only
 * in what is reported, never in what is computed or saved. */
#include "base/memory.h"
#include "base/threads.h"
#include "eval/validate.h"
#include "graph/order.h"
#include "score/head_source.h"
#include "train/keys.h"
#include "train/own.h"
#include "train/settings.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { VALIDATION_K = 20 };

double inmo_alpha_of_epoch(const struct inmo_train_options *options, int32_t epoch)
{
    return options->annealing > 0 ? 1 - 0.5 * pow(options->annealing, epoch) : 1;
}

/* What one call of inmo_train has at hand besides the state of the run. */
struct run {
    struct inmo_trainer trainer;
    struct inmo_train_options options; /* the caller's, with the batch that this log takes */
    const struct inmo_model_kind *kind;
    const struct inmo_hooks *hooks;
    struct inmo_graph *graph;
    struct inmo_model *keys;  // of a first stage that has just ended, else NULL
    struct inmo_validation *validation;
    float *r;                  // (nodes, width) for validation
    struct inmo_walks *walks;  // from the first validation on; NULL: none
    struct inmo_graph *walk_graph;
    double start, step_seconds; /* begin of the call; spent in steps */
    double last_shown, last_saved, last_score;
    int64_t steps_here;
    const char *stopped; /* NULL: goes on */
};

static int32_t all_epochs(const struct inmo_trainer *trainer)
{
    return trainer->pretraining + trainer->options->epochs;
}

static void show(struct run *run, int always)
{
    const struct inmo_trainer *trainer = &run->trainer;
    int64_t in_epoch = trainer->step - (int64_t)trainer->epoch * trainer->steps_per_epoch;
    double now = inmo_now();
    if (!always && now - run->last_shown < 0.2)
        return;
    run->last_shown = now;
    struct inmo_progress progress = {
        .stage = "training",
        .done = (double)trainer->step / (double)trainer->steps_per_epoch,
        .total = all_epochs(trainer),
        .unit = "epochs",
        .seconds = now - run->start,
        .loss = in_epoch > 0 ? trainer->loss_sum / (double)in_epoch : trainer->final_loss,
        .score = run->last_score,
        .best_score = trainer->best_epoch >= 0 ? trainer->best_score : NAN,
    };
    inmo_report_progress(run->hooks, &progress);
}

static enum inmo_status save_checkpoint(struct run *run, struct inmo_error *error)
{
    const char *path = run->trainer.options->checkpoint;
    run->last_saved = inmo_now();
    return path ? inmo_checkpoint_save(&run->trainer, path, error) : INMO_OK;
}

/* In the data set's numbers, as a ranking is. */
static enum inmo_status prepare_walks(struct run *run, struct inmo_error *error)
{
    const struct inmo_train_options *options = run->trainer.options;
    const struct inmo_csr *lists[1] = {&run->trainer.data->train};
    enum inmo_status status =
        inmo_graph_build(run->graph->users, run->graph->items, lists, 1, &run->walk_graph, error);
    if (!status)
        status = inmo_walks_make(run->walk_graph, options->walks, options->popularity, options->walk_neighbours,
                                 NULL, &run->walks, error);
    return status;
}

static enum inmo_status validate(struct run *run, double *score, struct inmo_error *error)
{
    const struct inmo_trainer *trainer = &run->trainer;
    const struct inmo_train_options *options = trainer->options;
    const struct inmo_stepper *stepper = trainer->stepper;
    double alpha = strcmp(options->eval_alpha, "one") == 0 ? 1 : inmo_alpha_of_epoch(options, trainer->epoch);
    struct inmo_rank source = {.user = run->r};
    struct inmo_head_source head = {0};
    enum inmo_status status;
    if (trainer->own)
        return inmo_own_validate(trainer->own, run->validation, NULL, score, error);
    if (options->walks > 0 && !run->walks) {
        status = prepare_walks(run, error);
        if (status)
            return status;
    }
    source.dim = stepper->width;
    source.walks = run->walks;
    source.item = run->r + (size_t)run->graph->users * (size_t)stepper->width;
    status = inmo_represent(run->kind, &stepper->binding, options->layers, stepper->parameter,
                            inmo_stepper_own(stepper), alpha, options->popularity, run->r, NULL, error);
    if (!status)
        status =
            inmo_order_restore(run->graph, stepper->width, run->r, error); /* items of equal scores rank as ever */
    if (!status && run->kind->head) {
        status = inmo_head_source_open(&head, run->kind->head, stepper->width, inmo_stepper_head(stepper), run->r,
                                       run->graph->users, run->graph->items, error);
        source.fill = &head.fill;
    }
    /* Not interruptible: a validation is short, and a run that stops between steps resumes exactly. */
    if (!status)
        status = inmo_validation_ndcg(run->validation, &source, NULL, score, error);
    inmo_head_source_close(&head);
    return status;
}

/* Asked between epochs. Only an epoch that was validated can end the patience: with a patience shorter than the
 * time between validations a run would otherwise stop before the first one. */
static int out_of_patience(const struct run *run)
{
    const struct inmo_trainer *trainer = &run->trainer;
    const struct inmo_train_options *options = trainer->options;
    return run->validation && trainer->best_epoch >= 0 &&
           (trainer->epoch - trainer->pretraining) % options->eval_every == 0 &&
           trainer->epoch - 1 - trainer->best_epoch >= options->patience;
}

/* The end of an epoch: record, validation, the best one kept, early stopping. */
static enum inmo_status end_epoch(struct run *run, struct inmo_error *error)
{
    struct inmo_trainer *trainer = &run->trainer;
    const struct inmo_train_options *options = trainer->options;
    int32_t done = trainer->epoch + 1 - trainer->pretraining;
    double score = NAN;
    enum inmo_status status = INMO_OK;
    trainer->final_loss = trainer->loss_sum / (double)trainer->steps_per_epoch;
    trainer->loss_sum = 0;
    if (trainer->stepper)
        inmo_stepper_settle(
            trainer->stepper); /* after every epoch, validated or not, so that all runs do it alike */
    if (run->validation && done > 0 && (done % options->eval_every == 0 || done == options->epochs)) {
        status = validate(run, &score, error);
        if (status)
            return status;
        run->last_score = score;
        if (trainer->best_epoch < 0 || score > trainer->best_score) {
            trainer->best_epoch = trainer->epoch;
            trainer->best_score = score;
            memcpy(trainer->best, trainer->block.parameter, inmo_block_size(&trainer->block) * sizeof(float));
        }
    }
    status = inmo_trainer_note_epoch(trainer, trainer->final_loss, score, error);
    trainer->epoch++;
    if (out_of_patience(run))
        run->stopped = "patience";
    return status;
}

static double learning_rate_at(const struct inmo_trainer *trainer)
{
    const struct inmo_train_options *options = trainer->options;
    double share = (double)trainer->step / ((double)all_epochs(trainer) * (double)trainer->steps_per_epoch);
    double eager = strcmp(options->schedule, "eager") == 0
                       ? pow(0.25, (double)trainer->step / (double)trainer->steps_per_epoch)
                       : 0;
    if (strcmp(options->schedule, "constant") == 0)
        return options->learning_rate;
    return options->learning_rate * (1 + eager) * 0.5 * (1 + cos(3.141592653589793 * (share < 1 ? share : 1)));
}

static enum inmo_status fail_numeric(const struct inmo_trainer *trainer, struct inmo_error *error)
{
    const struct inmo_train_options *options = trainer->options;
    if (trainer->own && !trainer->block.m) /* solved, not descended: no learning rate */
        return inmo_fail(
            error, INMO_NUMERIC,
            "the solution is not finite in epoch %d (step %lld); try a larger `l2` (now %g) or a larger "
            "`unobserved` (now %g)",
            trainer->epoch, (long long)trainer->step, options->l2, options->unobserved);
    return inmo_fail(error, INMO_NUMERIC,
                     "the loss is not finite in epoch %d (step %lld); try a smaller `learning-rate` (now %g) or a "
                     "larger `l2` (now %g)",
                     trainer->epoch, (long long)trainer->step, options->learning_rate, options->l2);
}

static enum inmo_status take_step(struct run *run, struct inmo_error *error)
{
    struct inmo_trainer *trainer = &run->trainer;
    double begin = inmo_now(), rate = learning_rate_at(trainer);
    double loss = trainer->own ? inmo_own_step(trainer->own, &trainer->block, trainer->step, rate)
                               : inmo_stepper_run(trainer->stepper, trainer->step,
                                                  inmo_alpha_of_epoch(trainer->options, trainer->epoch), rate);
    run->step_seconds += inmo_now() - begin;
    if (!isfinite(loss))
        return fail_numeric(trainer, error);
    trainer->loss_sum += loss;
    trainer->step++;
    run->steps_here++;
    return INMO_OK;
}

static enum inmo_status train_loop(struct run *run, struct inmo_error *error)
{
    struct inmo_trainer *trainer = &run->trainer;
    const struct inmo_train_options *options = trainer->options;
    enum inmo_status status = INMO_OK;
    show(run, 1);
    if (out_of_patience(run))
        run->stopped = "patience"; /* resumed after it had stopped */
    while (!status && !run->stopped && trainer->epoch < all_epochs(trainer)) {
        int64_t end = ((int64_t)trainer->epoch + 1) * trainer->steps_per_epoch;
        while (!status && trainer->step < end) {
            if (inmo_is_interrupted(run->hooks)) {
                status = save_checkpoint(run, error);
                if (!status)
                    status = inmo_fail(error, INMO_INTERRUPTED, "training stopped on request in epoch %d",
                                       trainer->epoch);
                return status;
            }
            if (options->max_seconds > 0 && inmo_now() - run->start >= options->max_seconds) {
                run->stopped = "max-seconds";
                return INMO_OK;
            }
            status = take_step(run, error);
            if (!status && options->checkpoint && inmo_now() - run->last_saved > options->checkpoint_seconds)
                status = save_checkpoint(run, error);
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

/* What takes the steps: trainer->block is set afterwards, unless there are none to take. */
static enum inmo_status set_up_steps(struct run *run, struct inmo_error *error)
{
    struct inmo_trainer *trainer = &run->trainer;
    const struct inmo_dataset *data = trainer->data;
    enum inmo_status status;
    if (run->kind->system) {
        status = inmo_own_new(trainer, run->kind, run->graph, error);
        if (!status && run->kind->system->learning)
            trainer->steps_per_epoch = inmo_own_steps_per_epoch(trainer->own);
        return status;
    }
    status = inmo_stepper_new(run->kind, trainer->options, run->graph, &data->train, run->hooks, &trainer->stepper,
                              error);
    if (!status && run->keys)
        status = inmo_keys_take(run->keys, data, trainer->stepper, error);
    if (!status) {
        const struct inmo_stepper *stepper = trainer->stepper;
        trainer->block = (struct inmo_block){stepper->parameter_rows, stepper->binding.dim, stepper->parameter,
                                             stepper->m, stepper->root};
        trainer->steps_per_epoch = inmo_stepper_steps_per_epoch(stepper);
    }
    return status;
}

/* Everything is allocated here, before the first step. */
static enum inmo_status set_up(struct run *run, struct inmo_error *error)
{
    struct inmo_trainer *trainer = &run->trainer;
    const struct inmo_dataset *data = trainer->data;
    const struct inmo_train_options *options = trainer->options;
    const struct inmo_csr *lists[1] = {&data->train};
    enum inmo_status status = inmo_graph_build(data->users.count, data->items.count, lists, 1, &run->graph, error);
    if (!status && inmo_steps_over_graph(run->kind))
        status = inmo_graph_order(&run->graph, options->order, run->hooks, error);
    if (!status)
        status = set_up_steps(run, error);
    if (status)
        return status;
    if (inmo_csr_count(&data->valid) > 0)
        status = inmo_validation_new(&data->valid, &data->train, VALIDATION_K,
                                     !inmo_kind_offers_unchosen(run->kind), &run->validation, error);
    if (!status && run->validation)
        inmo_validation_sample(run->validation, options->valid_users, options->seed);
    if (status || !trainer->block.parameter)
        return status;
    status = inmo_trainer_fingerprint(data, run->graph, options, &trainer->fingerprint, error);
    if (status)
        return status;
    trainer->record = inmo_copy_string("");
    trainer->record_capacity = 1;
    if (!trainer->record)
        return inmo_fail_memory(error, "the training record");
    if (run->validation) {
        size_t size = inmo_block_size(&trainer->block);
        size_t width = trainer->own ? 0 : (size_t)trainer->stepper->width;
        trainer->best = inmo_alloc(size, sizeof(float));
        run->r = inmo_alloc((size_t)run->graph->nodes * width, sizeof(float));
        if (!trainer->best || !run->r)
            return inmo_fail_memory(error, "training");
        memcpy(trainer->best, trainer->block.parameter, size * sizeof(float));
    } else {
        inmo_note(
            run->hooks, INMO_WARNING,
            "the data set has no validation part, so nothing says when to stop: all %d epochs will be run and the "
            "last one kept; inmo prepare `split` 80/10/10 makes a validation part of a log",
            all_epochs(trainer));
    }
    if (!status && run->keys)
        status = save_checkpoint(run, error); /* the first stage is over for good */
    if (!status && options->resume && !run->keys) {
        if (access(options->checkpoint, F_OK) == 0) {
            status = inmo_checkpoint_load(trainer, options->checkpoint, error);
            if (!status)
                inmo_note(run->hooks, INMO_NOTE, "going on from %s: epoch %d, step %lld", options->checkpoint,
                          trainer->epoch, (long long)trainer->step);
        } else if (errno != ENOENT) {
            status = inmo_fail_errno(error, "read", options->checkpoint);
        } else {
            inmo_note(run->hooks, INMO_NOTE, "%s does not exist: starting anew", options->checkpoint);
        }
    }
    return status;
}

static void tear_down(struct run *run)
{
    inmo_walks_free(run->walks);
    inmo_graph_free(run->walk_graph);
    inmo_model_free(run->keys);
    inmo_validation_free(run->validation);
    inmo_free(run->r);
    inmo_free(run->trainer.record);
    inmo_free(run->trainer.best);
    inmo_own_free(run->trainer.own);
    inmo_stepper_free(run->trainer.stepper);
    inmo_graph_free(run->graph);
}

static void fill_report(const struct run *run, struct inmo_train_report *report)
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

/* A closed form: all at once, validated only to be reported. */
static enum inmo_status solve(struct run *run, struct inmo_error *error)
{
    struct inmo_trainer *trainer = &run->trainer;
    enum inmo_status status = inmo_own_fit(trainer->own, trainer->options, run->hooks, error);
    if (!status && run->validation)
        status = inmo_own_validate(trainer->own, run->validation, run->hooks, &trainer->best_score, error);
    run->stopped = "closed-form";
    return status;
}

static enum inmo_status finish(struct run *run, struct inmo_model **out, struct inmo_error *error)
{
    struct inmo_model *model = NULL;
    enum inmo_status status;
    if (run->trainer.own)
        return inmo_own_take(run->trainer.own, &run->trainer, out, error);
    inmo_stepper_settle(run->trainer.stepper); /* after the checkpoint: a run that goes on has not done it here */
    status = inmo_trainer_shell(&run->trainer, run->kind, &model, error);
    if (!status)
        status = inmo_trainer_sign(&run->trainer, model, error);
    if (!status)
        *out = model;
    else
        inmo_model_free(model);
    return status;
}

enum inmo_status inmo_train(const struct inmo_dataset *data, const struct inmo_train_options *options,
                            const struct inmo_hooks *hooks, struct inmo_model **model,
                            struct inmo_train_report *report, struct inmo_error *error)
{
    struct run run = {.hooks = hooks, .start = inmo_now(), .last_score = NAN};
    struct inmo_trainer *trainer = &run.trainer;
    enum inmo_status status = inmo_train_options_check(options, error);
    inmo_blas_hold();
    if (status)
        goto done;
    run.kind = inmo_model_kind_find(options->model);
    run.last_saved = run.start;
    trainer->data = data;
    run.options = *options;
    if (run.kind->backbone && !inmo_loss_find(options->loss)->batch_is_users)
        run.options.batch = inmo_batch_within(options->batch, inmo_csr_count(&data->train), options->least_steps);
    trainer->options = &run.options;
    trainer->pretraining = inmo_train_pretraining(options);
    trainer->best_epoch = -1;
    trainer->best_score = NAN;
    trainer->final_loss = NAN;
    if (inmo_csr_count(&data->train) == 0) {
        status = inmo_fail(error, INMO_INPUT, "the data set has no training interactions");
        goto done;
    }
    if (run.kind->provider && run.kind->provider->frozen_from)
        status = inmo_keys_train(run.kind, data, options, hooks, &run.keys, error);
    if (!status)
        status = set_up(&run, error);
    if (!status && trainer->block.parameter)
        status = train_loop(&run, error);
    else if (!status)
        status = solve(&run, error);
    if (!status && trainer->block.parameter && strcmp(run.stopped, "patience") != 0)
        status = save_checkpoint(&run, error); /* so that a later call can go farther */
    if (!status)
        status = finish(&run, model, error);
    if (!status && report)
        fill_report(&run, report);
done:
    tear_down(&run);
    inmo_blas_release();
    return status;
}
