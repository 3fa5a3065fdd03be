/* finish.c - from the parameters that are kept to the model: see run.h. */
#include "train/export.h"
#include "train/run.h"

/* The epoch that the model's parameters come from. */
static int32_t epoch_kept(const struct inmo_trainer *trainer)
{
    int is_between = trainer->step == (int64_t)trainer->epoch * trainer->steps_per_epoch;
    return trainer->best_epoch >= 0 ? trainer->best_epoch : trainer->epoch - (is_between && trainer->epoch > 0);
}

/* Chooses the weights of walks, links and popularity beside the vectors that are kept, which need not be the
 * last. */
static enum inmo_status weigh_best(struct inmo_run *run, struct inmo_error *error)
{
    struct inmo_trainer *trainer = &run->trainer;
    const struct inmo_train_options *options = trainer->options;
    double alpha = strcmp(options->eval_alpha, "one") == 0 ? 1 : inmo_run_alpha_after(trainer, epoch_kept(trainer));
    int32_t users = options->max_seconds > 0 ? INMO_WEIGH_USERS : INMO_WEIGH_IN_END; /* as time_is_up expects */
    enum inmo_status status;
    if (!run->beside.chooses)
        return INMO_OK;
    if (trainer->best && trainer->best_epoch >= 0)
        inmo_learner_copy(trainer->learner, trainer->best, trainer->learner->block.parameter);
    status = inmo_scorer_refresh(&run->scorer, alpha, error);
    if (!status && trainer->best_epoch >= 0)
        status = inmo_beside_choose_links(options, run->validation, &run->scorer, &run->beside, error);
    if (!status)
        status = inmo_beside_weigh(options, run->validation, users, 1, &run->scorer, &run->beside, error);
    if (!status && trainer->best_epoch >= 0 &&
        (run->beside.swapped || (options->prior < 0 && run->beside.weights.prior > 0)))
        /* epochs were judged without a prior, or by other links */
        status = inmo_validation_ndcg(run->validation, &run->scorer, NULL, &trainer->best_score, error);
    return status;
}

enum inmo_status inmo_run_finish(struct inmo_run *run, struct inmo_model **out, struct inmo_error *error)
{
    struct inmo_trainer *trainer = &run->trainer;
    struct inmo_model *model = NULL;
    struct inmo_links *links = NULL;
    const char *record = trainer->record;
    enum inmo_status status;
    inmo_run_set_stage(trainer);
    status = weigh_best(run, error);
    if (!status && inmo_kind_takes_walks(run->kind))
        status = inmo_beside_tell(&run->options, &run->beside, run->hooks, &trainer->record, error);
    if (!status && run->validation && strcmp(trainer->options->refit, "none") != 0)
        status = inmo_refit_note(run->pass, trainer->best_epoch + 1, trainer->best_score, &trainer->record, error);
    record = run->pass->before ? run->pass->before : trainer->record;
    links = run->scorer.beside.links;
    run->scorer.beside.links = NULL;
    inmo_scorer_close(&run->scorer);                      /* export_model may hand over the model it scores with */
    if (status || run->pass->exported != trainer->data) { /* links of all interactions are solved anew */
        inmo_links_free(links);
        links = NULL;
    }
    if (status)
        return status;
    status =
        trainer->learner->type->export_model(trainer->learner, inmo_trainer_parameters(trainer), &model, error);
    if (!status)
        status = inmo_beside_finish(run->pass->exported, run->hooks, links, &run->beside, model, error);
    else
        inmo_links_free(links);
    if (!status)
        status = inmo_export_stamp(model, inmo_run_alpha_after(trainer, epoch_kept(trainer)), record, error);
    if (!status)
        status = inmo_export_origin(model, trainer->data, run->warm->fingerprint, error);
    if (!status) {
        model->refitted = run->pass->before                        ? INMO_REFIT_TRAIN
                          : run->pass->exported != run->pass->data ? INMO_REFIT_GRAPH
                                                                   : INMO_REFIT_NONE;
        *out = model;
    } else {
        inmo_model_free(model);
    }
    return status;
}
