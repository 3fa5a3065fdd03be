/* first_stage.c - see first_stage.h. */
#include "train/first_stage.h"

#include "train/trainer.h"

#include <string.h>
#include <unistd.h>

/* Hooks that pass everything on to the caller's, with the name of the stage. */
static void log_stage(void *context, enum inmo_level level, const char *sentence)
{
    inmo_note(context, level, "%s", sentence);
}

static void show_stage(void *context, const struct inmo_progress *progress)
{
    struct inmo_progress shown = *progress;
    if (strcmp(progress->stage, "training") == 0)
        shown.stage = "training the keys";
    inmo_report_progress(context, &shown);
}

static int is_stage_interrupted(void *context)
{
    return inmo_is_interrupted(context);
}

/* Whether there is a checkpoint to resume from that is not of the first stage. It is of the second, or the second
 * will refuse it. */
static enum inmo_status is_past(const struct inmo_train_options *first, int *past, struct inmo_error *error)
{
    int is_first = 1;
    enum inmo_status status = INMO_OK;
    if (first->resume && access(first->checkpoint, F_OK) == 0)
        status = inmo_checkpoint_is_of(first->checkpoint, first->model, &is_first, error);
    *past = !is_first;
    return status;
}

enum inmo_status inmo_first_stage_train(const struct inmo_model_kind *kind, const struct inmo_dataset *data,
                                        const struct inmo_train_options *options, const struct inmo_hooks *hooks,
                                        struct inmo_model **model, struct inmo_error *error)
{
    struct inmo_hooks staged = {(void *)hooks, log_stage, show_stage, is_stage_interrupted};
    struct inmo_train_options first = *options;
    struct inmo_train_report report;
    int past = 0;
    enum inmo_status status;
    first.model = kind->provider->frozen_from;
    first.from = NULL;
    first.from_epochs = 0;
    first.max_seconds = options->max_seconds / 2;
    first.refit = "none";
    if (options->key_learning_rate > 0)
        first.learning_rate = options->key_learning_rate;
    status = is_past(&first, &past, error);
    if (status || past)
        return status;
    if (inmo_csr_count(&data->valid) == 0 && options->hold_out > 0) {
        /* Training again on everything: this stage, too, chooses by a part that it holds out and then goes through
         * all interactions, so that every template has a key. A checkpoint could not tell its passes from those of
         * the whole training. */
        first.refit = "train";
        first.checkpoint = NULL;
        first.resume = 0;
    }
    status = inmo_train(data, &first, &staged, model, &report, error);
    if (!status && report.best_epoch >= 0)
        inmo_note(hooks, INMO_NOTE, "keys: %s, validation NDCG@20 %.4f, %d epochs in %.1f s", first.model,
                  report.best_score, report.epochs, report.seconds);
    return status;
}

enum inmo_status inmo_first_stage_copy(const struct inmo_model *model, const struct inmo_dataset *data,
                                       struct inmo_stepper *stepper, struct inmo_error *error)
{
    struct inmo_model_binding bound;
    size_t dim = (size_t)stepper->binding.dim;
    enum inmo_status status = inmo_model_bind(model, stepper->graph, &data->users, &data->items, &bound, error);
    if (status)
        return status;
    for (int32_t v = 0; v < stepper->graph->nodes; v++) { /* v: the data set's numbers, not training's */
        int32_t r = inmo_stepper_row(stepper, v), key = bound.row_of_node[v];
        if (r >= 0 && key >= 0) /* if time was up before all had one, some templates keep their start */
            memcpy(stepper->parameter + (size_t)r * dim, model->parameter + (size_t)key * dim, dim * sizeof(float));
    }
    inmo_model_unbind(&bound);
    return INMO_OK;
}
