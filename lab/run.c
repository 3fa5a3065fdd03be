/* run.c - see run.h. */
#include "lab/run.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/tensorfile.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { RUN_VERSION = 1 };

/* ---- Data sets ----------------------------------------------------------------------------------------------- */

enum inmo_status inmo_lab_dataset(struct inmo_lab_data *data, enum inmo_scenario scenario, uint64_t seed,
                                  const struct inmo_dataset **dataset, struct inmo_error *error)
{
    struct inmo_prepare_options options;
    enum inmo_status status = INMO_OK;
    if (seed != data->seed)
        inmo_lab_data_free(data);
    data->seed = seed;
    if (!data->dataset[scenario]) {
        inmo_prepare_options_init(&options);
        options.k_core = data->k_core;
        options.by = "random";
        options.seed = seed;
        options.scenario = inmo_scenario_name(scenario);
        options.new_choice = data->new_choice;
        status = inmo_dataset_prepare(data->log, &options, &data->dataset[scenario], error);
    }
    if (!status)
        *dataset = data->dataset[scenario];
    return status;
}

void inmo_lab_data_free(struct inmo_lab_data *data)
{
    for (int n = 0; n < 3; n++) {
        inmo_dataset_free(data->dataset[n]);
        data->dataset[n] = NULL;
    }
}

void inmo_lab_run_free(struct inmo_lab_run *run)
{
    json_decref(run->result);
    inmo_free(run->is_new);
    inmo_free(run->ndcg[1]);
    inmo_free(run->ndcg[0]);
    inmo_free(run->identity);
    *run = (struct inmo_lab_run){0};
}

/* ---- The file ------------------------------------------------------------------------------------------------ */

static char *path_of(const struct inmo_lab_run *run, const char *folder, const char *ending)
{
    struct inmo_text path = {0};
    inmo_text_add(&path, folder, strlen(folder));
    inmo_text_format(&path, "/%s.%s", run->name, ending);
    return inmo_text_take(&path);
}

static const char *const array_name[] = {"ndcg.0", "ndcg.1"};

static enum inmo_status save(const struct inmo_lab_run *run, const char *folder, struct inmo_error *error)
{
    char *path = path_of(run, folder, "run"), *result = json_dumps(run->result, JSON_REAL_PRECISION(17));
    struct inmo_metadata metadata[] = {{"identity", run->identity}, {"result", result}};
    struct inmo_tensor array[3];
    size_t arrays = 0;
    enum inmo_status status = path && result ? INMO_OK : inmo_fail_memory(error, "a run");
    for (int n = 0; n < 2; n++)
        if (run->ndcg[n])
            array[arrays++] = (struct inmo_tensor){array_name[n], INMO_F32, run->users, 0, run->ndcg[n]};
    if (run->is_new)
        array[arrays++] = (struct inmo_tensor){"users.new", INMO_U8, run->users, 0, run->is_new};
    if (!status)
        status = inmo_tensorfile_write(path, 1, "run", RUN_VERSION, metadata, 2, array, arrays, error);
    free(result);
    inmo_free(path);
    return status;
}

/* The arrays that the file has: vectors over the same users. 0 in *sound: something else stands there. */
static enum inmo_status take_arrays(struct inmo_lab_run *run, const struct inmo_tensorfile *file, int *sound,
                                    struct inmo_error *error)
{
    size_t count = inmo_tensorfile_count(file);
    *sound = 1;
    for (size_t n = 0; n < count && *sound; n++) {
        const struct inmo_tensor *found = inmo_tensorfile_at(file, n);
        int is_flag = strcmp(found->name, "users.new") == 0, second = strcmp(found->name, array_name[1]) == 0;
        size_t size = is_flag ? sizeof *run->is_new : sizeof **run->ndcg;
        void *copy;
        *sound = (is_flag || second || strcmp(found->name, array_name[0]) == 0) &&
                 found->dtype == (is_flag ? INMO_U8 : INMO_F32) && found->columns == 0 &&
                 found->rows <= INT32_MAX && (n == 0 || found->rows == run->users);
        for (int64_t u = 0; *sound && is_flag && u < found->rows; u++)
            *sound = ((const uint8_t *)found->data)[u] <= 1;
        if (!*sound)
            break;
        copy = inmo_alloc((size_t)found->rows, size);
        if (!copy)
            return inmo_fail_memory(error, "a run");
        memcpy(copy, found->data, (size_t)found->rows * size);
        run->users = (int32_t)found->rows;
        if (is_flag)
            run->is_new = copy;
        else
            run->ndcg[second] = copy;
    }
    return INMO_OK;
}

/* What the tables and figures look up in it is looked up by name and type; this much must be there. */
static int is_result_json(const json_t *result)
{
    const json_t *evaluations = json_object_get(result, "evaluations"),
                 *seconds = json_object_get(result, "seconds");
    return json_is_object(result) && json_is_array(evaluations) &&
           (json_is_null(seconds) || (json_is_number(seconds) && json_number_value(seconds) >= 0)) &&
           json_is_array(json_object_get(result, "record"));
}

enum inmo_status inmo_lab_run_load(struct inmo_lab_run *run, const char *folder, const struct inmo_hooks *hooks,
                                   struct inmo_error *error)
{
    struct inmo_tensorfile *file = NULL;
    struct inmo_error found = {0};
    const char *identity, *text;
    json_t *result = NULL;
    int sound = 0;
    char *path = path_of(run, folder, "run");
    enum inmo_status status = path ? INMO_OK : inmo_fail_memory(error, "a run");
    if (status || access(path, F_OK) != 0)
        goto done;
    status = inmo_tensorfile_open(path, "run", RUN_VERSION, &file, &found);
    if (status == INMO_MEMORY) {
        inmo_fail_memory(error, "a run");
        goto done;
    }
    if (status) {
        status = INMO_OK;
        inmo_note(hooks, INMO_WARNING, "%s; it is trained again", found.message);
        goto done;
    }
    identity = inmo_tensorfile_metadata(file, "identity");
    text = inmo_tensorfile_metadata(file, "result");
    if (!identity || !text || strcmp(identity, run->identity) != 0) {
        inmo_note(hooks, INMO_WARNING, "%s is another run than its name says; it is trained again", path);
        goto done;
    }
    status = take_arrays(run, file, &sound, error);
    if (status)
        goto done;
    if (inmo_json_parse(text, strlen(text), 0, &result, NULL) == INMO_MEMORY) {
        status = inmo_fail_memory(error, "a run");
    } else if (!sound || !is_result_json(result)) {
        inmo_note(hooks, INMO_WARNING, "%s cannot be read; it is trained again", path);
    } else {
        run->result = result;
        result = NULL;
    }
done:
    if (!run->result) {
        inmo_free(run->is_new);
        inmo_free(run->ndcg[1]);
        inmo_free(run->ndcg[0]);
        run->is_new = NULL;
        run->ndcg[0] = run->ndcg[1] = NULL;
    }
    json_decref(result);
    inmo_tensorfile_close(file);
    inmo_free(path);
    return status;
}

/* ---- Training and judging ------------------------------------------------------------------------------------ */

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* NULL when memory is short: a file with a group missing would be taken for a finished run. */
static json_t *groups_json(const struct inmo_report *report)
{
    json_t *groups = json_object();
    for (size_t g = 0; g < report->group_count && groups; g++) {
        const struct inmo_metrics *at = report->group[g].at;
        if (json_object_set_new(groups, report->group[g].name,
                                json_pack("{sI so so so}", "users", (json_int_t)report->group[g].users, "recall",
                                          number(at->recall), "precision", number(at->precision), "ndcg",
                                          number(at->ndcg)))) {
            json_decref(groups);
            groups = NULL;
        }
    }
    return groups;
}

/* Adds an evaluation to the result: its metrics, or why the system cannot do it. */
static enum inmo_status judge(struct inmo_lab_run *run, const struct inmo_model *model,
                              const struct inmo_dataset *dataset, const char *name, json_t *evaluations,
                              const struct inmo_hooks *hooks, struct inmo_error *error)
{
    size_t number_of_it = json_array_size(evaluations);
    struct inmo_eval_options options;
    struct inmo_report *report = NULL;
    struct inmo_error found = {0};
    enum inmo_status status;
    inmo_eval_options_init(&options);
    options.without_new = strcmp(name, "without-new") == 0;
    status = inmo_evaluate(model, dataset, &options, hooks, &report, &found);
    if (status == INMO_UNSUPPORTED)
        return json_array_append_new(evaluations, json_pack("{ss ss}", "name", name, "error", found.message))
                   ? inmo_fail_memory(error, "a run")
                   : INMO_OK;
    if (status)
        return inmo_fail(error, status, "%s: %.900s", run->what, found.message);
    if (json_array_append_new(evaluations, json_pack("{ss sf sf so}", "name", name, "seconds", report->seconds,
                                                     "inference_seconds", report->inference_seconds, "groups",
                                                     groups_json(report)))) {
        inmo_report_free(report);
        return inmo_fail_memory(error, "a run");
    }
    run->users = dataset->users.count;
    run->ndcg[number_of_it] = inmo_alloc((size_t)run->users, sizeof(float));
    if (dataset->scenario == INMO_NEW_USERS_ITEMS)
        run->is_new = inmo_alloc((size_t)run->users, 1);
    if (!run->ndcg[number_of_it] || (dataset->scenario == INMO_NEW_USERS_ITEMS && !run->is_new))
        status = inmo_fail_memory(error, "a run");
    else
        memcpy(run->ndcg[number_of_it], report->user_ndcg, (size_t)run->users * sizeof(float));
    if (!status && run->is_new)
        memcpy(run->is_new, dataset->new_user, (size_t)run->users);
    inmo_report_free(report);
    return status;
}

int inmo_lab_run_judges_unseen(const struct inmo_lab_run *run)
{
    return run->trained == INMO_NEW_USERS_ITEMS ||
           (run->trained == INMO_TRANSDUCTIVE && inmo_lab_has_module(inmo_model_kind_find(run->system.model)));
}

static enum inmo_status judge_all(struct inmo_lab_run *run, struct inmo_lab_data *data,
                                  const struct inmo_model *model, const struct inmo_dataset *dataset,
                                  json_t *evaluations, const struct inmo_hooks *hooks, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    if (run->trained == INMO_NEW_INTERACTIONS)
        status = judge(run, model, dataset, "without-new", evaluations, hooks, error);
    if (!status)
        status = judge(run, model, dataset, "test", evaluations, hooks, error);
    if (!status && run->trained == INMO_TRANSDUCTIVE && inmo_lab_run_judges_unseen(run)) {
        status = inmo_lab_dataset(data, INMO_NEW_USERS_ITEMS, run->seed, &dataset, error);
        if (!status)
            status = judge(run, model, dataset, "new-users-items", evaluations, hooks, error);
    }
    return status;
}

/* 1 for a failure that would repeat and says something about the system. */
static int is_result(enum inmo_status status)
{
    return status == INMO_UNSUPPORTED || status == INMO_NUMERIC || status == INMO_USAGE;
}

enum inmo_status inmo_lab_run_do(struct inmo_lab_run *run, struct inmo_lab_data *data, const char *folder,
                                 const struct inmo_hooks *hooks, struct inmo_error *error)
{
    const struct inmo_model_kind *kind = inmo_model_kind_find(run->system.model);
    const struct inmo_dataset *dataset = NULL;
    struct inmo_model *model = NULL;
    struct inmo_model_info info = {.record = "[]"};
    struct inmo_train_report report = {.best_epoch = -1, .best_score = NAN, .stopped = "not trained"};
    struct inmo_error found = {0};
    struct inmo_train_options options = run->options;
    json_t *evaluations = json_array(), *reason = NULL;
    char *checkpoint = path_of(run, folder, "checkpoint");
    enum inmo_status status = inmo_lab_dataset(data, run->trained, run->seed, &dataset, error);
    if (status)
        goto done;
    if (run->trained == INMO_NEW_USERS_ITEMS && !inmo_kind_serves_unseen(kind)) {
        inmo_fail(&found, INMO_UNSUPPORTED,
                  "%s has a learned vector for each user and item of the training and none for others", kind->name);
    } else {
        options.checkpoint = checkpoint;
        options.resume = 1;
        status = inmo_train(dataset, &options, hooks, &model, &report, &found);
        if (status == INMO_FORMAT) { /* checkpoint of another version, or damaged */
            inmo_note(hooks, INMO_WARNING, "%s; its training begins anew", found.message);
            unlink(checkpoint);
            found = (struct inmo_error){0};
            status = inmo_train(dataset, &options, hooks, &model, &report, &found);
        }
        if (status && !is_result(status)) {
            inmo_fail(error, status, "%s: %.900s", run->what, found.message);
            goto done;
        }
    }
    if (model) {
        inmo_model_info(model, &info);
        status = judge_all(run, data, model, dataset, evaluations, hooks, error);
        if (status)
            goto done;
    }
    if (*found.message && !(reason = json_string(found.message))) {
        status = inmo_fail_memory(error, "a run");
        goto done;
    }
    run->result = json_pack("{ss so* sO si si so so so ss sI so}", "system", run->what, "error", reason,
                            "evaluations", evaluations, "epochs", report.epochs, "best_epoch", report.best_epoch,
                            "valid", number(report.best_score), "seconds", number(report.seconds),
                            "seconds_per_epoch", number(report.seconds_per_epoch), "stopped", report.stopped,
                            "parameters", (json_int_t)info.parameters, "record", json_loads(info.record, 0, NULL));
    status = run->result ? save(run, folder, error) : inmo_fail_memory(error, "a run");
    if (!status && checkpoint)
        unlink(checkpoint);
done:
    inmo_free(checkpoint);
    json_decref(evaluations);
    inmo_model_free(model);
    return status;
}

/* ---- Looking things up --------------------------------------------------------------------------------------- */

int inmo_lab_run_evaluation(const struct inmo_lab_run *run, const char *name, const json_t **found,
                            const char **reason)
{
    json_t *evaluations = json_object_get(run->result, "evaluations"), *evaluation;
    size_t n;
    *found = NULL;
    *reason = json_string_value(json_object_get(run->result, "error"));
    json_array_foreach(evaluations, n, evaluation) {
        const char *its_name = json_string_value(json_object_get(evaluation, "name"));
        if (!its_name || strcmp(its_name, name) != 0)
            continue;
        *reason = json_string_value(json_object_get(evaluation, "error"));
        if (!*reason)
            *found = evaluation;
        return n < 2 ? (int)n : -1;
    }
    return -1;
}

double inmo_lab_run_value(const struct inmo_lab_run *run, const char *evaluation, const char *group,
                          const char *metric)
{
    const json_t *found, *value;
    const char *reason;
    inmo_lab_run_evaluation(run, evaluation, &found, &reason);
    value = json_object_get(json_object_get(json_object_get(found, "groups"), group), metric);
    return json_is_number(value) ? 100 * json_number_value(value) : NAN;
}
