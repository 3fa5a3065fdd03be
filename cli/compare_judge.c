/* compare_judge.c - inmo compare: scores of each model on both parts of the data, and whether it may be judged. */
#include "compare.h"
#include "lab/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* number[n] of the second table's n-th id in the first, or -1. By sorting: the interface has no index. */
static int32_t *match(const struct inmo_id_table *to, const struct inmo_id_table *from)
{
    struct named {
        const char *id;
        int32_t number;
    } *sorted = cli_allocate((size_t)to->count + 1, sizeof *sorted), wanted, *found;
    int32_t *number = cli_allocate((size_t)from->count + 1, sizeof *number);
    for (int64_t n = 0; n < to->count; n++)
        sorted[n] = (struct named){to->text + to->offset[n], (int32_t)n};
    qsort(sorted, (size_t)to->count, sizeof *sorted, by_text);
    for (int64_t n = 0; n < from->count; n++) {
        wanted.id = from->text + from->offset[n];
        found = bsearch(&wanted, sorted, (size_t)to->count, sizeof *sorted, by_text);
        number[n] = found ? found->number : -1;
    }
    free(sorted);
    return number;
}

/* Test interactions that the model was trained or validated on. */
static int64_t count_leaks(const struct inmo_model *model, const struct inmo_dataset *dataset)
{
    struct inmo_id_table users[2], items[2];
    struct inmo_interactions known[2], test;
    int32_t *user, *item;
    int64_t leaks = 0;

    inmo_model_ids(model, &users[0], &items[0]);
    inmo_dataset_ids(dataset, &users[1], &items[1]);
    inmo_model_interactions(model, &known[0], &known[1]);
    user = match(&users[1], &users[0]);
    item = match(&items[1], &items[0]);
    if (!inmo_dataset_part(dataset, "test", &test))
        test.users = 0;
    for (int part = 0; part < 2; part++)
        for (int64_t u = 0; u < known[part].users; u++)
            for (int64_t e = known[part].offset[u]; test.users && user[u] >= 0 && e < known[part].offset[u + 1];
                 e++)
                for (int64_t t = test.offset[user[u]]; t < test.offset[user[u] + 1]; t++)
                    leaks += test.item[t] == item[known[part].item[e]];
    free(item);
    free(user);
    return leaks;
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
    int64_t leaks = 0;

    inmo_dataset_info(dataset, &info);
    if (!status) {
        leaks = count_leaks(model, dataset);
        inmo_model_info(model, &about);
        json_object_set_new(one->row, "model", cli_json_text(about.name));
    }
    if (!status && leaks)
        status = cli_fail(error, INMO_INPUT, "it was trained on %lld of the %lld test interactions",
                          (long long)leaks, (long long)info.test);
    if (!status)
        status = judge_part(model, dataset, settings, "valid", &valid, error);
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
