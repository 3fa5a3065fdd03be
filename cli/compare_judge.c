/* compare_judge.c - inmo compare: scores of each model on both parts of the data, and whether it may be judged. */
#include "compare.h"
#include "lab/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A model that was trained on what it is to predict is not judged. */
static enum inmo_status check_leaks(const struct inmo_model *model, const struct inmo_dataset *dataset,
                                    struct inmo_error *error)
{
    struct inmo_leaks leaks = {0};
    enum inmo_status status = inmo_evaluate_leaks(model, dataset, "test", &leaks, error);

    if (!status && leaks.trained > 0)
        status = cli_fail(error, INMO_INPUT, "it was trained on %lld of the %lld test interactions",
                          (long long)leaks.trained, (long long)leaks.interactions);
    else if (!status && leaks.validated > 0)
        status = cli_fail(error, INMO_INPUT, "it was validated with %lld of the %lld test interactions",
                          (long long)leaks.validated, (long long)leaks.interactions);
    return status;
}

/* The best is chosen by the validation part: inmo_evaluate knows who was trained on it, and who has it only in the
 * graph. There is nothing like --allow-leaks here to point to. */
static void say_valid_leaks(const struct inmo_model *model, const struct inmo_dataset *dataset,
                            struct inmo_error *error)
{
    struct inmo_leaks leaks = {0};
    if (!inmo_evaluate_leaks(model, dataset, "valid", &leaks, NULL) && leaks.trained > 0)
        cli_fail(error, INMO_INPUT, "it was trained on %lld of the %lld validation interactions",
                 (long long)leaks.trained, (long long)leaks.interactions);
}

static enum inmo_status judge_part(const struct inmo_model *model, const struct inmo_dataset *dataset,
                                   const struct compare_settings *settings, const char *part,
                                   struct inmo_report **report, struct inmo_error *error)
{
    struct inmo_eval_options eval;
    char *ks = cli_format("%d", settings->k);
    enum inmo_status status;
    inmo_eval_options_init(&eval);
    eval.part = part;
    eval.ks = ks;
    status = inmo_evaluate(model, dataset, &eval, cli_hooks(), report, error);
    free(ks);
    return status;
}

static void note_training(struct contestant *one)
{
    static const char *const names[] = {"seconds", "peak_rss_mb", "epochs", "parameters", "stopped"};
    json_t *report = one->report ? json_load_file(one->report, 0, NULL) : NULL;
    struct stat found;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (json_object_get(report, names[n]))
            json_object_set(one->row, names[n], json_object_get(report, names[n]));
    json_decref(report);
    json_object_set_new(one->row, "bytes", json_integer(stat(one->model, &found) ? 0 : (json_int_t)found.st_size));
}

enum inmo_status cli_compare_judge(struct contestant *one, const struct inmo_dataset *dataset,
                                   const struct compare_settings *settings, struct inmo_error *error)
{
    struct inmo_model *model = NULL;
    struct inmo_report *valid = NULL, *test = NULL;
    struct inmo_dataset_info info;
    struct inmo_model_info about;
    enum inmo_status status = inmo_model_load(one->model, &model, error);

    inmo_dataset_info(dataset, &info);
    if (!status) {
        inmo_model_info(model, &about);
        json_object_set_new(one->row, "model", cli_json_text(about.name));
    }
    if (!status)
        status = check_leaks(model, dataset, error);
    if (!status) {
        status = judge_part(model, dataset, settings, "valid", &valid, error);
        if (status == INMO_INPUT)
            say_valid_leaks(model, dataset, error);
    }
    if (!status)
        status = judge_part(model, dataset, settings, "test", &test, error);
    if (!status) {
        one->valid = valid->group[0].at[0].ndcg;
        one->user_ndcg = cli_allocate((size_t)info.users + 1, sizeof(float));
        memcpy(one->user_ndcg, test->user_ndcg, (size_t)info.users * sizeof(float));
        json_object_set_new(one->row, "valid", cli_json_number(one->valid));
        json_object_set_new(one->row, "metrics", cli_metrics_json(&test->group[0], test->k_count));
        note_training(one);
    }
    inmo_report_free(test);
    inmo_report_free(valid);
    inmo_model_free(model);
    return status;
}

enum inmo_status cli_compare_score(struct contestant *all, size_t count, int64_t users, struct inmo_error *error)
{
    const float **judged = cli_allocate(count + 1, sizeof *judged);
    struct inmo_compare_score *score = cli_allocate(count + 1, sizeof *score);
    size_t *who = cli_allocate(count + 1, sizeof *who), systems = 0, best = 0;
    enum inmo_status status = INMO_OK;

    for (size_t n = 0; n < count; n++)
        if (all[n].user_ndcg) {
            who[systems] = n;
            judged[systems] = all[n].user_ndcg;
            best = systems && !(all[n].valid > all[who[best]].valid) ? best : systems;
            systems++;
        }
    if (!systems)
        status = cli_fail(error, INMO_INPUT, "no model could be judged");
    else
        status = inmo_compare_scores(judged, systems, users, best, score, error);
    for (size_t s = 0; s < systems && !status; s++) {
        json_t *row = all[who[s]].row;
        json_object_set_new(row, "best", json_boolean(s == best));
        json_object_set_new(row, "users", json_integer(score[s].users));
        json_object_set_new(row, "score", cli_json_number(score[s].mean));
        json_object_set_new(row, "low", cli_json_number(score[s].low));
        json_object_set_new(row, "high", cli_json_number(score[s].high));
        json_object_set_new(row, "behind", cli_json_number(s == best ? 0 : score[s].difference));
        json_object_set_new(row, "p", cli_json_number(score[s].p));
    }
    free(who);
    free(score);
    free(judged);
    return status;
}
