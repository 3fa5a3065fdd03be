/* refit.c - see refit.h. */
#include "train/refit.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/threads.h"
#include "data/hold_out.h"
#include "train/alike.h"
#include "train/choose.h"
#include "train/learner.h"
#include "train/settings.h"
#include "train/trainer.h"
#include "train/warm.h"

#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* A log that is trained on twice in a few seconds. */
enum { FEW_INTERACTIONS = 1 << 17 };
/* So many are enough to choose by; the vectors of a longer log are the better for the others. */
enum { MOST_HELD_OUT = 1 << 14 };

/* The share of the training interactions that is held out. */
static double share_of(const struct inmo_train_options *options, const struct inmo_dataset *data)
{
    return fmin(options->hold_out, MOST_HELD_OUT / (double)inmo_csr_count(&data->train));
}

/* 1: without a validation part the model would have nothing to stop or choose by. */
static int wants_validation(const struct inmo_model_kind *kind, const struct inmo_train_options *options)
{
    return !inmo_learner_type_of(kind)->fit ||
           (inmo_choice_open(options) && kind->choice && kind->choice->trials > 0);
}

/* By measurement (docs/choices.md): to train again is always a little better than a new graph, and costs as much as
 * the first pass. But a validation part that somebody made is theirs to evaluate on, and vectors do not see it. */
static const char *how_to_refit(const struct inmo_model_kind *kind, const struct inmo_train_options *options,
                                int64_t interactions, int is_held_out)
{
    if (strcmp(options->refit, "auto") != 0)
        return options->refit;
    if (inmo_is_hurried(options))
        return "none";
    if (is_held_out)
        return inmo_refits_by_graph(kind) && interactions > FEW_INTERACTIONS ? "graph" : "train";
    return inmo_refits_by_graph(kind) ? "graph" : "none";
}

enum inmo_status inmo_refit_note(const struct inmo_train_pass *pass, int32_t epochs, double score, char **record,
                                 struct inmo_error *error)
{
    static const char chosen[] = "{\"chosen\": ";
    const char *written = *record;
    int has_chosen = strncmp(written, chosen, strlen(chosen)) == 0;
    struct inmo_text text = {0};
    char *whole;
    inmo_text_format(&text, "{\"refit\": {\"how\": \"%s\", \"held-out\": %lld", pass->options->refit,
                     (long long)pass->held_out);
    if (epochs > 0)
        inmo_text_format(&text, ", \"epochs\": %d", epochs);
    inmo_text_format(&text, ", \"ndcg@20\": ");
    inmo_text_number(&text, score, 9);
    inmo_text_format(&text, "}, %s", has_chosen ? "" : *written ? "\"chosen\": {}},\n" : "\"chosen\": {}}");
    written += has_chosen;
    inmo_text_add(&text, written, strlen(written));
    whole = inmo_text_take(&text);
    if (!whole)
        return inmo_fail_memory(error, "the training record");
    inmo_free(*record);
    *record = whole;
    return INMO_OK;
}

/* The record of a model is a list; that of a run is without the brackets. */
static char *record_of(const struct inmo_model *model)
{
    char *copy = inmo_copy_string(model->record + 1);
    if (copy)
        copy[strlen(copy) - 1] = 0;
    return copy;
}

/* Reads how many epochs the second pass has, and the score of the first. A checkpoint may say anything. */
static enum inmo_status read_note(const char *before, const struct inmo_train_options *options, int32_t *epochs,
                                  double *score, struct inmo_error *error)
{
    size_t length = strcspn(before, "\n");
    json_t *first = NULL;
    const json_t *found;
    int64_t most = (int64_t)inmo_train_pretraining(options) + options->epochs;
    enum inmo_status status = INMO_OK;
    length -= length > 0 && before[length - 1] == ',';
    status = inmo_json_parse(before, length, 0, &first, NULL);
    found = json_object_get(json_object_get(first, "refit"), "epochs");
    if (status == INMO_MEMORY)
        status = inmo_fail_memory(error, "the training record");
    else if (status || !json_is_integer(found) || json_integer_value(found) < 1 || json_integer_value(found) > most)
        status = inmo_fail(error, INMO_FORMAT, "%s is not a checkpoint of this run: its refit cannot be",
                           options->checkpoint ? options->checkpoint : "the record");
    else
        *epochs = (int32_t)json_integer_value(found);
    if (!status)
        *score = json_number_value(json_object_get(json_object_get(first, "refit"), "ndcg@20"));
    json_decref(first);
    return status;
}

/* Trains again on everything. *model is the first pass's (NULL if a resumed run is past it) and is replaced. */
static enum inmo_status second_pass(const struct inmo_train_pass *first, const char *before, double seconds_left,
                                    struct inmo_model **model, struct inmo_train_report *report,
                                    struct inmo_error *error)
{
    struct inmo_train_options options = *first->options;
    struct inmo_train_pass pass = *first;
    struct inmo_train_report second;
    struct inmo_model *refitted = NULL;
    int by_steps = !inmo_learner_type_of(inmo_model_kind_find(options.model))->fit;
    double score = NAN;
    enum inmo_status status = INMO_OK;
    inmo_choice_recall(before, &options);
    options.max_seconds = seconds_left;
    if (*model)
        options.resume = 0; /* the checkpoint that there may be is the first pass's */
    pass.data = first->exported;
    pass.options = &options;
    pass.before = before;
    if (by_steps)
        status = read_note(before, &options, &pass.epochs, &score, error);
    if (!status)
        status = inmo_train_once(&pass, &refitted, &second, error);
    if (status)
        return status;
    if (*model && by_steps && second.epochs < pass.epochs) {
        inmo_note(first->hooks, INMO_NOTE,
                  "`max-seconds` was up before the model was trained again on everything: it is the one that "
                  "validation chose");
        inmo_model_free(refitted);
        return INMO_OK;
    }
    if (!*model) { /* what is left to say of the first pass */
        second.best_epoch = pass.epochs - 1;
        second.best_score = score;
        *report = second;
    }
    inmo_model_free(*model);
    *model = refitted;
    report->final_loss = second.final_loss;
    return INMO_OK;
}

/* A resumed run that is past its first pass has the record of that in its checkpoint. */
static enum inmo_status find_before(const struct inmo_train_options *options, char **before,
                                    struct inmo_error *error)
{
    if (!options->resume || access(options->checkpoint, F_OK) != 0)
        return INMO_OK;
    return inmo_checkpoint_before(options->checkpoint, before, error);
}

static enum inmo_status passes(const struct inmo_train_pass *first, struct inmo_model **out,
                               struct inmo_train_report *report, struct inmo_error *error)
{
    int again = strcmp(first->options->refit, "train") == 0;
    double start = inmo_now(), limit = first->options->max_seconds, left;
    struct inmo_train_options options = *first->options;
    struct inmo_train_pass pass = *first;
    struct inmo_model *model = NULL;
    char *before = NULL;
    enum inmo_status status = again ? find_before(&options, &before, error) : INMO_OK;
    pass.options = &options;
    if (again)
        pass.exported = pass.data;
    if (again && limit > 0)
        options.max_seconds = limit / 2;
    if (!status && !before)
        status = inmo_train_once(&pass, &model, report, error);
    if (!status && again && model && (report->best_epoch >= 0 || strcmp(report->stopped, "closed-form") == 0)) {
        before = record_of(model);
        status = before ? INMO_OK : inmo_fail_memory(error, "the training record");
    }
    left = limit > 0 ? fmax(limit - (inmo_now() - start), 0.001) : 0;
    if (!status)
        inmo_ranks_broadcast(0, &left, sizeof left);
    if (!status && before)
        status = second_pass(first, before, left, &model, report, error);
    if (!status)
        *out = model;
    else
        inmo_model_free(model);
    inmo_free(before);
    return status;
}

/* Of a table without a graph, only the listwise loss has weights to heed. */
static int heeds_weights(const struct inmo_model_kind *kind, const struct inmo_train_options *options)
{
    int bare = kind->provider && kind->provider->is_table && kind->backbone->passes_through;
    return inmo_kind_takes_weights(kind) && (!bare || strcmp(options->loss, "listwise") == 0);
}

enum inmo_status inmo_train(const struct inmo_dataset *data, const struct inmo_train_options *options,
                            const struct inmo_hooks *hooks, struct inmo_model **model,
                            struct inmo_train_report *report, struct inmo_error *error)
{
    struct inmo_dataset held = {0}, joined = {0}, plain;
    struct inmo_warm warm = {0};
    struct inmo_train_options resolved;
    struct inmo_train_report own = {.best_epoch = -1, .best_score = NAN, .final_loss = NAN};
    struct inmo_hooks steady = hooks ? *hooks : (struct inmo_hooks){0};
    struct inmo_train_pass pass = {
        .data = data, .exported = data, .options = &resolved, .hooks = hooks, .asked = hooks, .warm = &warm};
    const struct inmo_model_kind *kind = NULL;
    double start = inmo_now();
    int64_t validated;
    enum inmo_status status = inmo_train_options_check(options, error);
    if (!status && inmo_csr_count(&data->train) == 0)
        status = inmo_fail(error, INMO_INPUT, "the data set has no training interactions");
    if (!status)
        status = inmo_alike_check(data, options, error);
    if (status)
        return status;
    steady.interrupted = NULL;
    if (inmo_ranks() > 1)
        pass.hooks = hooks = &steady;
    resolved = *options;
    kind = inmo_model_kind_find(options->model);
    if (data->train.weight && !heeds_weights(kind, options)) {
        plain = *data;
        plain.train.weight = plain.valid.weight = plain.later.weight = NULL;
        pass.data = pass.exported = data = &plain;
        inmo_note(hooks, INMO_NOTE, "%s%s does not heed weights: all interactions count alike", kind->name,
                  inmo_kind_takes_weights(kind) ? " with this `loss`" : "");
    }
    if (inmo_csr_count(&data->valid) == 0 && options->hold_out > 0 && wants_validation(kind, options)) {
        status = inmo_dataset_hold_out(data, share_of(options, data), options->seed, &held, error);
        pass.held_out = inmo_csr_count(&held.valid);
        if (!status && pass.held_out > 0) {
            pass.data = pass.exported = &held;
            inmo_note(hooks, INMO_NOTE, "%lld of %lld interactions are held out to choose by (`hold-out` %g)",
                      (long long)pass.held_out, (long long)inmo_csr_count(&data->train), options->hold_out);
        }
    }
    if (!status)
        status = inmo_warm_open(pass.data, options, hooks, &warm, error);
    if (warm.model) {
        resolved.layers = resolved.layers == INMO_AUTO ? warm.model->layers : resolved.layers;
        pass.data = pass.exported = &warm.data;
        if (pass.held_out > 0)
            pass.held_out = inmo_csr_count(&warm.data.valid);
    }
    validated = inmo_csr_count(&pass.data->valid);
    resolved.refit = "none";
    if (validated > 0)
        resolved.refit =
            how_to_refit(kind, options, inmo_csr_count(&pass.data->train) + validated, pass.held_out > 0);
    if (!status && pass.held_out > 0 && strcmp(resolved.refit, options->refit) != 0 &&
        strcmp(resolved.refit, "none") == 0)
        inmo_note(hooks, INMO_NOTE, "`max-seconds` is below %d: what is held out stays out of the model (`refit`)",
                  INMO_LEAST_SECONDS);
    if (!status && strcmp(resolved.refit, "none") != 0) {
        pass.exported = pass.held_out > 0 ? data : &joined;
        if (pass.held_out == 0)
            status = inmo_dataset_join(pass.data, &joined, error);
    }
    if (!status)
        status = passes(&pass, model, &own, error);
    if (!status && report) {
        own.seconds = inmo_now() - start;
        *report = own;
    }
    inmo_dataset_drop_parts(&joined);
    inmo_warm_close(&warm);
    inmo_dataset_drop_parts(&held);
    return status;
}
