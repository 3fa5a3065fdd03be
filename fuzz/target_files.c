/* target_files.c - prepared data sets and model files: opened, and every part of what they hold used. */
#include "fuzz.h"

#include "data/dataset.h"
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

/* ---- Prepared data ------------------------------------------------------------------------------------------- */

/* Trains what needs nothing but counts, and judges it: all lists are walked through. */
static void use_dataset(const struct inmo_dataset *dataset)
{
    struct inmo_error error = {0};
    struct inmo_dataset_info info;
    struct inmo_train_options options;
    struct inmo_model *model = NULL;
    struct inmo_report *report = NULL;
    inmo_dataset_info(dataset, &info);
    if (!info.scenario || !info.description)
        inmo_fuzz_broken("a data set without a scenario or a description");
    inmo_fuzz_train_options(&options, "popular");
    if (inmo_fuzz_ended("inmo_train", inmo_train(dataset, &options, NULL, &model, NULL, &error), &error) &&
        inmo_fuzz_ended("inmo_evaluate", inmo_evaluate(model, dataset, NULL, NULL, &report, &error), &error))
        inmo_report_free(report);
    inmo_model_free(model);
}

void inmo_fuzz_dataset(const uint8_t *data, size_t size)
{
    struct inmo_error error = {0};
    struct inmo_dataset *dataset = NULL;
    uint8_t *sealed = inmo_fuzz_resealed(data, size);
    inmo_set_threads(1);
    inmo_fuzz_file("data.safetensors", sealed, size);
    free(sealed);
    if (inmo_fuzz_ended("inmo_dataset_open", inmo_dataset_open(inmo_fuzz_folder(), &dataset, &error), &error)) {
        use_dataset(dataset);
        inmo_fuzz_used();
        inmo_dataset_free(dataset);
    }
}

/* ---- Models -------------------------------------------------------------------------------------------------- */

/* A list for somebody unseen, one for the first user, what is like the first item, and why. */
static void use_view(const struct inmo_view *view)
{
    struct inmo_error error = {0};
    struct inmo_matrix users, items;
    struct inmo_query query;
    struct inmo_list *list = NULL;
    struct inmo_explanation *explanation = NULL;
    const char *item = inmo_view_item_id(view, 0), *user = inmo_view_user_id(view, 0);
    inmo_view_users(view, &users);
    inmo_view_items(view, &items);
    inmo_query_init(&query);
    query.k = 5;
    query.items = &item;
    query.item_count = item ? 1 : 0;
    if (inmo_fuzz_ended("inmo_recommend", inmo_recommend(view, &query, &list, &error), &error))
        inmo_list_free(list);
    if (item && inmo_fuzz_ended("inmo_explain", inmo_explain(view, &query, item, &explanation, &error), &error))
        inmo_explanation_free(explanation);
    if (user) {
        query.user = user;
        if (inmo_fuzz_ended("inmo_recommend", inmo_recommend(view, &query, &list, &error), &error))
            inmo_list_free(list);
    }
    if (item && inmo_fuzz_ended("inmo_similar", inmo_similar(view, item, NULL, 3, &list, &error), &error))
        inmo_list_free(list);
}

void inmo_fuzz_model(const uint8_t *data, size_t size)
{
    struct inmo_error error = {0};
    struct inmo_model *model = NULL;
    struct inmo_view *view = NULL;
    struct inmo_model_info info;
    struct inmo_tensor_info tensor;
    uint8_t *sealed = inmo_fuzz_resealed(data, size);
    const char *path = inmo_fuzz_file("model", sealed, size);
    free(sealed);
    inmo_set_threads(1);
    if (!inmo_fuzz_ended("inmo_model_load", inmo_model_load(path, &model, &error), &error))
        return;
    inmo_model_info(model, &info);
    if (!info.name || !info.configuration || !info.record)
        inmo_fuzz_broken("a model without a name, a configuration or a record");
    for (size_t n = 0; inmo_model_tensor(model, n, &tensor); n++)
        if (tensor.rows < 0 || tensor.columns < 0)
            inmo_fuzz_broken("a tensor of a negative size");
    if (inmo_fuzz_ended("inmo_view_create", inmo_view_create(model, NULL, &view, &error), &error)) {
        use_view(view);
        inmo_fuzz_used();
        inmo_view_free(view);
    }
    inmo_model_free(model);
}
