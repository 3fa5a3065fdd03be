/* result.c - from the state of a run to a model that stands on its own: only users and items that had training
 * interactions, renumbered, with copies of their ids, interactions and parameters. */
#include "base/memory.h"
#include "base/setting.h"
#include "train/settings.h"
#include "train/trainer.h"

#include <stdio.h>
#include <string.h>

/* new number of each of count old ones with a neighbour in the graph, from first; -1 for the others. */
static int32_t renumber(const struct inmo_csr *train, const int32_t *item_degree, int32_t count, int32_t *number)
{
    int32_t kept = 0;
    for (int32_t n = 0; n < count; n++) {
        int64_t degree = item_degree ? item_degree[n] : inmo_csr_degree(train, n);
        number[n] = degree > 0 ? kept++ : -1;
    }
    return kept;
}

static enum inmo_status copy_ids(const struct inmo_idmap *from, const int32_t *number, int32_t kept,
                                 struct inmo_idmap *to, struct inmo_error *error)
{
    int64_t *offset = inmo_alloc((size_t)kept + 1, sizeof *offset), size = 0;
    char *text = NULL;
    if (!offset)
        return inmo_fail_memory(error, "the ids");
    for (int32_t n = 0; n < from->count; n++)
        if (number[n] >= 0) {
            offset[number[n]] = size;
            size += (int64_t)strlen(inmo_idmap_id(from, n)) + 1;
        }
    offset[kept] = size;
    text = inmo_alloc((size_t)size, 1);
    if (!text) {
        inmo_free(offset);
        return inmo_fail_memory(error, "the ids");
    }
    for (int32_t n = 0; n < from->count; n++)
        if (number[n] >= 0)
            strcpy(text + offset[number[n]], inmo_idmap_id(from, n));
    *to = (struct inmo_idmap){.count = kept, .offset = offset, .text = text};
    return INMO_OK;
}

/* The interactions between users and items that are kept. */
static enum inmo_status copy_list(const struct inmo_csr *from, const int32_t *user, const int32_t *item,
                                  int32_t users, int32_t items, struct inmo_csr *to, struct inmo_error *error)
{
    int64_t *offset = inmo_alloc_zero((size_t)users + 1, sizeof *offset), count = 0;
    int32_t *column = inmo_alloc((size_t)inmo_csr_count(from), sizeof *column);
    if (!offset || !column) {
        inmo_free(column);
        inmo_free(offset);
        return inmo_fail_memory(error, "the interactions");
    }
    for (int32_t u = 0; from->offset && u < from->rows; u++) {
        if (user[u] < 0)
            continue;
        for (int64_t e = from->offset[u]; e < from->offset[u + 1]; e++)
            if (item[from->column[e]] >= 0)
                column[count++] = item[from->column[e]];
        offset[user[u] + 1] = count;
    }
    *to = (struct inmo_csr){users, items, offset, column};
    return INMO_OK;
}

static int32_t new_node(const struct inmo_dataset *data, const int32_t *user, const int32_t *item, int32_t users,
                        int32_t node)
{
    int32_t i;
    if (node < data->users.count)
        return user[node];
    i = item[node - data->users.count];
    return i < 0 ? -1 : users + i;
}

/* Parameters of the kept nodes, and which node each row has. */
static enum inmo_status copy_parameters(const struct inmo_trainer *trainer, const int32_t *user,
                                        const int32_t *item, struct inmo_model *model, struct inmo_error *error)
{
    const struct inmo_stepper *stepper = trainer->stepper;
    const float *from = inmo_trainer_parameters(trainer);
    size_t dim = (size_t)model->dim, extra = (size_t)model->kind->provider->extra_rows;
    int32_t users = model->users.count, rows = 0, bound = stepper->binding.rows;
    int32_t *node_of_row = inmo_alloc((size_t)bound, sizeof *node_of_row);
    float *parameter = inmo_alloc(((size_t)bound + extra) * dim, sizeof *parameter);
    size_t own_size = (size_t)(stepper->parameter_rows - stepper->provider_rows) * dim;
    float *own = inmo_alloc(own_size, sizeof *own);
    if (!node_of_row || !parameter || !own) {
        inmo_free(own);
        inmo_free(parameter);
        inmo_free(node_of_row);
        return inmo_fail_memory(error, "the model");
    }
    for (int32_t v = 0; v < stepper->graph->nodes; v++) { /* in the data set's order, whatever training's was */
        int32_t node = new_node(trainer->data, user, item, users, v), r = inmo_stepper_row(stepper, v);
        if (node < 0 || r < 0)
            continue;
        node_of_row[rows] = node;
        memcpy(parameter + (size_t)rows * dim, from + (size_t)r * dim, dim * sizeof *parameter);
        rows++;
    }
    memcpy(parameter + (size_t)rows * dim, from + (size_t)bound * dim, extra * dim * sizeof *parameter);
    memcpy(own, from + (size_t)stepper->provider_rows * dim, own_size * sizeof *own);
    model->rows = rows;
    model->own = own;
    model->parameter = parameter;
    model->node_of_row = node_of_row;
    if (!model->kind->provider->templates) { /* a row for every node, in order */
        inmo_free(node_of_row);
        model->node_of_row = NULL;
    }
    return INMO_OK;
}

/* What a model has besides parameters. user and item become the model's numbers of the data set's, or -1. */
static enum inmo_status make_shell(const struct inmo_trainer *trainer, const struct inmo_model_kind *kind,
                                   int32_t *user, int32_t *item, struct inmo_model *model, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    const struct inmo_dataset *data = trainer->data;
    const struct inmo_train_options *options = trainer->options;
    size_t setting_count;
    const struct inmo_setting *settings = inmo_train_settings(&setting_count);
    int32_t *item_degree = inmo_alloc_zero((size_t)data->items.count, sizeof *item_degree), users, items;
    if (!item_degree)
        return inmo_fail_memory(error, "the model");
    for (int64_t e = 0; e < inmo_csr_count(&data->train); e++)
        item_degree[data->train.column[e]]++;
    users = renumber(&data->train, NULL, data->users.count, user);
    items = renumber(NULL, item_degree, data->items.count, item);
    inmo_free(item_degree);
    model->kind = kind;
    model->dim = kind->provider || kind->system->vectors ? inmo_head_embedding(kind->head, options->dim) : 1;
    model->layers = kind->backbone && kind->backbone->needs_all ? options->layers : 0;
    model->alpha_one = strcmp(options->eval_alpha, "one") == 0;
    model->configuration = inmo_settings_json(settings, inmo_train_settings_of_model(), options);
    if (!model->configuration)
        return inmo_fail_memory(error, "the model");
    status = copy_ids(&data->users, user, users, &model->users, error);
    if (!status)
        status = copy_ids(&data->items, item, items, &model->items, error);
    if (!status)
        status = copy_list(&data->train, user, item, users, items, &model->train, error);
    if (!status)
        status = copy_list(&data->valid, user, item, users, items, &model->valid, error);
    return status;
}

enum inmo_status inmo_trainer_shell(const struct inmo_trainer *trainer, const struct inmo_model_kind *kind,
                                    struct inmo_model **out, struct inmo_error *error)
{
    enum inmo_status status = INMO_OK;
    const struct inmo_dataset *data = trainer->data;
    struct inmo_model *model = inmo_alloc_zero(1, sizeof *model);
    int32_t *user = inmo_alloc((size_t)data->users.count, sizeof *user);
    int32_t *item = inmo_alloc((size_t)data->items.count, sizeof *item);
    if (!model || !user || !item)
        status = inmo_fail_memory(error, "the model");
    else
        status = make_shell(trainer, kind, user, item, model, error);
    if (!status && kind->provider)
        status = copy_parameters(trainer, user, item, model, error);
    if (!status) {
        *out = model;
        model = NULL;
    }
    inmo_free(item);
    inmo_free(user);
    inmo_model_free(model);
    return status;
}

enum inmo_status inmo_trainer_sign(const struct inmo_trainer *trainer, struct inmo_model *model,
                                   struct inmo_error *error)
{
    size_t record_size = trainer->record ? trainer->record_size : 0;
    int is_between = trainer->step == (int64_t)trainer->epoch * trainer->steps_per_epoch;
    int32_t epoch =
        trainer->best_epoch >= 0 ? trainer->best_epoch : trainer->epoch - (is_between && trainer->epoch > 0);
    model->popularity = trainer->options->popularity;
    model->walks = trainer->options->walks;
    model->walk_neighbours = trainer->options->walk_neighbours;
    model->alpha_reached = inmo_alpha_of_epoch(trainer->options, epoch);
    model->record = inmo_alloc(record_size + 3, 1);
    if (!model->record)
        return inmo_fail_memory(error, "the model");
    snprintf(model->record, record_size + 3, "[%s]", trainer->record ? trainer->record : "");
    return INMO_OK;
}
